//! A JSON file that is read as it stands, such as a `config.json`, and where in it each key is.

use std::collections::HashSet;
use std::io::Read;
use std::path::Path;

use serde_json::Value;

use super::{file, json};
use crate::fault::{Fault, Faults, Outcome, Place, no_json};
use crate::limits;

/// A JSON file with its text.
#[derive(Debug, Clone)]
pub struct Document {
    /// What it says.
    pub value: Value,
    text: String,
    source: String,
}

impl Document {
    /// Reads a file of at most [`limits::DOCUMENT_BYTES`]; `NaN` and `Infinity` as Python writes them are taken too.
    ///
    /// # Errors
    /// It cannot be read, is no JSON, is nested more than 128 deep, or says a key twice.
    pub fn read(path: &Path) -> Outcome<Self> {
        let at = || file::place(path);
        if std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() == 0) {
            let fault = Fault::new(
                "the file is empty",
                "a JSON file holds at least {}",
                "see whether it was written whole",
            );
            return Err(fault.at(at()).into());
        }
        let file::Opened { file, bytes } = file::open(path)?;
        let mut read = Vec::new();
        let limit = limits::DOCUMENT_BYTES;
        file.take(limit + 1).read_to_end(&mut read).map_err(|error| file::failed_read(&error).at(at()))?;
        if read.len() as u64 > limit {
            let what = format!("the file is {} MiB large", bytes.max(limit + 1).div_ceil(1 << 20));
            let why = format!("a config takes a few kilobytes, and up to {} MiB are read", limit >> 20);
            return Err(Fault::new(what, why, "see whether it is the right file").at(at()).into());
        }
        let text = String::from_utf8(read).map_err(|error| {
            let why = format!("byte {} is no UTF-8", error.utf8_error().valid_up_to() + 1);
            Fault::new("this is not JSON", why, "save it as UTF-8, or see whether it is the right file")
                .at(at())
        })?;
        let text = text.strip_prefix('\u{feff}').map(ToOwned::to_owned).unwrap_or(text);
        Self::parse(text, &path.display().to_string())
    }

    /// The same from standard input.
    ///
    /// # Errors
    /// As [`Document::read`].
    pub fn from_stdin() -> Outcome<Self> {
        let mut read = Vec::new();
        let limit = limits::DOCUMENT_BYTES;
        let source = "standard input";
        let failed = |error| Faults::from(file::failed_read(&error).in_source(source));
        std::io::stdin().lock().take(limit + 1).read_to_end(&mut read).map_err(failed)?;
        match String::from_utf8(read) {
            Ok(text) if text.len() as u64 <= limit => Self::parse(text, source),
            _ => {
                let what = format!("standard input is no JSON of up to {} MiB", limit >> 20);
                Err(Fault::new(what, "", "pipe a config.json into it").in_source(source).into())
            }
        }
    }

    /// The same of a text; `source` names it in faults.
    ///
    /// # Errors
    /// As [`Document::read`].
    pub fn parse(text: String, source: &str) -> Outcome<Self> {
        let value = serde_json::from_str(&json::quote_bare_words(&text)).map_err(|error| {
            let why = no_json(&error);
            let place = Place {
                source: source.to_owned(),
                line_column: Some((error.line().max(1), error.column().max(1))),
                text: line_of(&text, error.line()),
                ..Place::default()
            };
            Fault::new("this is not JSON", why, "see whether the file is whole, and is the right one")
                .at(place)
        })?;
        let document = Self { value, text, source: source.to_owned() };
        if let Some(key) = doubled(&document.text) {
            let what = format!("{} stands twice", key.path);
            let why = "programs differ in which of the two they take";
            return Err(Fault::new(what, why, "leave one of them out").at(document.at(&key)).into());
        }
        Ok(document)
    }

    /// The place of a key by its path (`text_config.hidden_size`); of the whole file where it has no such key.
    pub fn place(&self, path: &str) -> Place {
        match keys(&self.text).find(|key| key.path == path) {
            Some(key) => self.at(&key),
            None => Place { source: self.source.clone(), ..Place::default() },
        }
    }

    fn at(&self, key: &Key) -> Place {
        let before = &self.text[..key.start];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Place {
            source: self.source.clone(),
            line_column: Some((line, column)),
            path: String::new(),
            text: line_of(&self.text, line),
        }
    }
}

/// A line by its number from 1, unless it is a very long one.
fn line_of(text: &str, number: usize) -> Option<String> {
    let line = text.lines().nth(number.checked_sub(1)?)?;
    (line.len() <= 400).then(|| line.to_owned())
}

/// The first key that stands twice in one map.
fn doubled(text: &str) -> Option<Key> {
    // one set of words for each map that is open; paths are only written for the key that is at fault
    let mut open: Vec<Option<HashSet<&str>>> = Vec::new();
    let mut at = 0;
    while let Some(next) = text.get(at..)?.find(['"', '{', '}', '[', ']']) {
        let start = at + next;
        at = start + 1;
        match text.as_bytes()[start] {
            b'{' => open.push(Some(HashSet::new())),
            b'[' => open.push(None),
            b'}' | b']' => _ = open.pop(),
            _ => {
                at = start + json::string_length(&text[start..]);
                let is_key = text.get(at..)?.trim_start().starts_with(':');
                if let (true, Some(Some(seen))) = (is_key, open.last_mut())
                    && !seen.insert(&text[start..at])
                {
                    return keys(text).find(|key| key.start == start);
                }
            }
        }
    }
    None
}

struct Key {
    path: String,
    /// The byte at which its quotation mark stands.
    start: usize,
}

/// Every key of a valid JSON text, in order, with the keys and positions it stands under.
fn keys(text: &str) -> impl Iterator<Item = Key> + '_ {
    enum Inside {
        Map { key: usize },
        List { item: usize, length: usize },
    }
    let (mut at, mut path, mut inside) = (0, String::new(), Vec::<Inside>::new());
    std::iter::from_fn(move || {
        loop {
            let rest = text.get(at..)?;
            let next = rest.find(['"', '{', '}', '[', ']', ','])?;
            let start = at + next;
            at = start + 1;
            match rest.as_bytes()[next] {
                b'{' => inside.push(Inside::Map { key: path.len() }),
                b'[' => {
                    inside.push(Inside::List { item: 0, length: path.len() });
                    path.push_str("[0]");
                }
                b'}' | b']' => {
                    if let Some(Inside::Map { key: length } | Inside::List { length, .. }) = inside.pop() {
                        path.truncate(length);
                    }
                }
                b',' => match inside.last_mut() {
                    Some(Inside::Map { key }) => path.truncate(*key),
                    Some(Inside::List { item, length }) => {
                        *item += 1;
                        path.truncate(*length);
                        path.push_str(&format!("[{item}]"));
                    }
                    None => {}
                },
                _ => {
                    let length = json::string_length(&text[start..]);
                    at = start + length;
                    let is_key = text[at..].trim_start().starts_with(':');
                    if is_key && matches!(inside.last(), Some(Inside::Map { .. })) {
                        let word = serde_json::from_str::<String>(&text[start..at]).unwrap_or_default();
                        if !path.is_empty() {
                            path.push('.');
                        }
                        path.push_str(&word);
                        return Some(Key { path: path.clone(), start });
                    }
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_its_line_and_column() {
        let text = "{\n  \"a\": {\"b\": 1, \"c\": [{\"d\": \"x{,\"}, {\"d\": 2}]},\n  \"e\": 3\n}";
        let document = Document::parse(text.into(), "config.json").unwrap();
        assert_eq!(document.place("a").line_column, Some((2, 3)));
        assert_eq!(document.place("a.c").line_column, Some((2, 17)));
        assert_eq!(document.place("a.c[1].d").line_column, Some((2, 38)));
        assert_eq!(document.place("e").line_column, Some((3, 3)));
        assert_eq!(document.place("f").line_column, None);
    }

    #[test]
    fn a_key_that_stands_twice_is_refused_and_bare_infinity_is_not() {
        let twice = Document::parse("{\"a\": 1,\n \"a\": 2}".into(), "config.json").unwrap_err();
        assert_eq!(twice.0[0].what, "a stands twice");
        assert_eq!(twice.0[0].place.as_ref().unwrap().line_column, Some((2, 2)));
        assert!(Document::parse("{\"a\": [0.0, Infinity], \"b\": NaN}".into(), "config.json").is_ok());
        for text in ["", "{", "[1,", "{\"a\" 1}", "{'a': 1}", &"[".repeat(100_000)] {
            assert!(Document::parse(text.into(), "config.json").is_err());
        }
    }
}
