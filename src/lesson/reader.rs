//! Walking the values of a lesson while collecting everything that is wrong with them.

use std::fmt;
use std::path::Path;

use serde_yaml::{Mapping, Value};

use super::{Language, Options};
use crate::fault::{self, Fault};
use crate::limits::FAULTS;

/// Where in the file a value stands: `projections.w_q[2][3]` is the third number of the second row.
///
/// Like every place a person reads, it counts from 1.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) struct Spot(String);

impl Spot {
    /// The file as a whole.
    pub(super) fn root() -> Self {
        Self::default()
    }

    /// The value at a path, as it is shown.
    pub(super) fn at(path: String) -> Self {
        Self(path)
    }

    /// The value under a key.
    pub(super) fn key(&self, key: &str) -> Self {
        let mut inner = self.clone();
        inner.push_key(key);
        inner
    }

    /// An item of a list, from 0.
    pub(super) fn item(&self, index: usize) -> Self {
        let mut inner = self.clone();
        inner.push_item(index);
        inner
    }

    /// Goes down to the value under a key; undone by [`Spot::cut`].
    pub(super) fn push_key(&mut self, key: &str) {
        if !self.0.is_empty() {
            self.0.push('.');
        }
        self.0.push_str(key);
    }

    /// Goes down to an item of a list (from 0); undone by [`Spot::cut`].
    pub(super) fn push_item(&mut self, index: usize) {
        self.0.push_str(&format!("[{}]", index + 1));
    }

    /// Back to an ancestor whose text was this long.
    pub(super) fn cut(&mut self, length: usize) {
        self.0.truncate(length);
    }

    /// The list or section that it stands in.
    pub(super) fn parent(&self) -> Option<Self> {
        if self.0.is_empty() {
            return None;
        }
        Some(Self(self.0[..self.0.rfind(['.', '[']).unwrap_or(0)].to_owned()))
    }

    /// The text, as shown.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "the lesson" } else { &self.0 })
    }
}

/// What a key holds: nothing, something wrong (already noted), or a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Given<T> {
    /// The key is not there.
    Absent,
    /// The key is there and its fault is noted: say nothing more about it.
    Faulty,
    /// The value.
    Yes(T),
}

impl<T> Given<T> {
    /// The value, with `default` for an absent key; `None` where a fault is noted.
    pub(super) fn or(self, default: T) -> Option<T> {
        match self {
            Self::Absent => Some(default),
            Self::Faulty => None,
            Self::Yes(value) => Some(value),
        }
    }

    /// The value or its absence; `None` where a fault is noted.
    pub(super) fn optional(self) -> Option<Option<T>> {
        match self {
            Self::Absent => Some(None),
            Self::Faulty => None,
            Self::Yes(value) => Some(Some(value)),
        }
    }

    /// The value, where there is a good one.
    pub(super) fn good(&self) -> Option<&T> {
        match self {
            Self::Yes(value) => Some(value),
            _ => None,
        }
    }

    /// Whether the key was left out.
    pub(super) fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }
}

/// Reads a lesson, and keeps what is wrong with it until everything has been looked at.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    /// What files named in the lesson are relative to.
    pub(super) folder: &'a Path,
    /// What the caller allows.
    pub(super) options: &'a Options,
    faults: Vec<(Fault, Spot)>,
    untold: usize,
}

impl<'a> Reader<'a> {
    /// A reader that has met no fault.
    pub(super) fn new(folder: &'a Path, options: &'a Options) -> Self {
        Self { folder, options, faults: Vec::new(), untold: 0 }
    }

    /// Notes a fault at a value; gives nothing, so that a reading can end with it.
    pub(super) fn fault<T>(
        &mut self,
        spot: &Spot,
        what: impl Into<String>,
        why: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Option<T> {
        if self.faults.len() == FAULTS {
            self.untold += 1;
            return None;
        }
        let fault = (Fault::new(clipped(&what.into()), why, remedy), spot.clone());
        // What all layers of a stack share is looked at once a layer, and told once.
        if !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
        None
    }

    /// Whether nothing was wrong so far.
    pub(super) fn is_content(&self) -> bool {
        self.faults.is_empty()
    }

    /// Every fault that is told, and the value it is about; and how many are not told.
    pub(super) fn into_faults(self) -> (Vec<(Fault, Spot)>, usize) {
        (self.faults, self.untold)
    }
}

/// A value and its place in the file.
#[derive(Debug, Clone)]
pub(super) struct Node<'a> {
    /// What stands there.
    pub(super) value: &'a Value,
    /// Where it stands.
    pub(super) spot: Spot,
}

impl<'a> Node<'a> {
    /// What it holds instead of what it should, noted.
    pub(super) fn refuse<T>(&self, reader: &mut Reader, needs: &str, remedy: impl Into<String>) -> Option<T> {
        let what = format!("{} is {}, but it needs {needs}", self.spot, describe(self.value));
        reader.fault(&self.spot, what, "", remedy)
    }

    /// A section with keys; keys that are not among the known ones are noted.
    pub(super) fn section(&self, known: &'static [&'static str], reader: &mut Reader) -> Option<Section<'a>> {
        let Value::Mapping(entries) = self.value else {
            return self.refuse(reader, "keys with values", format!("its keys are {}", known.join(", ")));
        };
        for key in entries.keys() {
            let shown = key.as_str().map_or_else(|| describe(key), str::to_owned);
            if !known.contains(&shown.as_str()) || !key.is_string() {
                unknown_key(&self.spot, &shown, known, reader);
            }
        }
        Some(Section { entries, spot: self.spot.clone() })
    }

    /// The items of a list.
    pub(super) fn items(&self, reader: &mut Reader, needs: &str, remedy: &str) -> Option<Vec<Node<'a>>> {
        let Value::Sequence(items) = self.value else {
            return self.refuse(reader, needs, remedy);
        };
        Some(
            items
                .iter()
                .enumerate()
                .map(|(index, value)| Node { value, spot: self.spot.item(index) })
                .collect(),
        )
    }

    /// A whole number within limits (both included).
    pub(super) fn whole(&self, reader: &mut Reader, from: usize, to: usize) -> Option<usize> {
        match whole_number(self.value) {
            Some(number) if (from as i128..=to as i128).contains(&number) => usize::try_from(number).ok(),
            Some(_) => {
                let typed = describe(self.value);
                let what = format!("{} is {typed}, but it must be between {from} and {to}", self.spot);
                reader.fault(&self.spot, what, "", format!("write a number from {from} to {to}"))
            }
            None => self.refuse(reader, "a whole number", self.how_to_write(from)),
        }
    }

    /// A finite number.
    pub(super) fn number(&self, reader: &mut Reader) -> Option<f64> {
        match self.value.as_f64() {
            Some(number) if number.is_finite() => Some(number),
            Some(_) => self.refuse(reader, "a finite number", "write a finite number"),
            None => self.refuse(reader, "a number", self.how_to_write(0.5)),
        }
    }

    /// What to try where a number should stand, with an example.
    pub(super) fn how_to_write(&self, example: impl fmt::Display) -> String {
        match self.value {
            Value::String(text) if text.trim().parse::<f64>().is_ok_and(f64::is_finite) => {
                "remove the quotes".to_owned()
            }
            _ => format!("write it in digits, for example {example}"),
        }
    }

    /// One of a few words.
    pub(super) fn word<T: Copy>(&self, reader: &mut Reader, known: &[(&str, T)]) -> Option<T> {
        let typed = self.value.as_str();
        if let Some((_, meaning)) = known.iter().find(|(word, _)| Some(*word) == typed) {
            return Some(*meaning);
        }
        let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
        let near = typed.and_then(|typed| near(typed, words.iter().copied()));
        let what = format!("{} is {}, but it must be {}", self.spot, describe(self.value), or_list(&words));
        reader.fault(
            &self.spot,
            what,
            "",
            near.map_or_else(
                || format!("write one of {}", words.join(", ")),
                |near| format!("did you mean {near}?"),
            ),
        )
    }

    /// A text in the reader's language: a string, or one a language.
    pub(super) fn text(&self, reader: &mut Reader) -> Option<String> {
        let texts = self.texts(reader)?;
        let wanted = match reader.options.language {
            Language::En => 0,
            Language::Zh => 1,
        };
        let [en, zh] = texts;
        let (first, second) = if wanted == 0 { (en, zh) } else { (zh, en) };
        first.or(second)
    }

    /// The text in English and in Chinese; one that was written without a language counts as English.
    pub(super) fn texts(&self, reader: &mut Reader) -> Option<[Option<String>; 2]> {
        if let Value::String(text) = self.value {
            return Some([Some(text.clone()), None]);
        }
        if !self.value.is_mapping() {
            return self.refuse(reader, "a text", "put it in quotes, or write {en: …, zh: …}");
        }
        let section = self.section(&["en", "zh"], reader)?;
        let mut texts = [None, None];
        for (text, language) in texts.iter_mut().zip(["en", "zh"]) {
            if let Some(node) = section.get(language) {
                match node.value {
                    Value::String(written) => *text = Some(written.clone()),
                    _ => return node.refuse(reader, "a text", "put it in quotes"),
                }
            }
        }
        if texts == [None, None] {
            if section.keys().next().is_some() {
                return None; // its unknown keys are noted
            }
            return self.refuse(reader, "a text in one language at least", "write {en: …, zh: …}");
        }
        Some(texts)
    }
}

/// A mapping whose keys are known.
#[derive(Debug, Clone)]
pub(super) struct Section<'a> {
    entries: &'a Mapping,
    /// Where it stands.
    pub(super) spot: Spot,
}

impl<'a> Section<'a> {
    /// The value under a key.
    pub(super) fn get(&self, key: &str) -> Option<Node<'a>> {
        self.entries.get(key).map(|value| Node { value, spot: self.spot.key(key) })
    }

    /// What `read` makes of the value under a key.
    pub(super) fn given<T>(
        &self,
        key: &str,
        reader: &mut Reader,
        read: impl FnOnce(&Node<'a>, &mut Reader) -> Option<T>,
    ) -> Given<T> {
        match self.get(key) {
            None => Given::Absent,
            Some(node) => read(&node, reader).map_or(Given::Faulty, Given::Yes),
        }
    }

    /// The keys that stand in it, in the order of the file.
    pub(super) fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.entries.keys().filter_map(Value::as_str)
    }
}

fn unknown_key(spot: &Spot, key: &str, known: &[&str], reader: &mut Reader) {
    let list = known.join(", ");
    let remedy = match near(key, known.iter().copied()) {
        Some(near) => format!("did you mean {near}? Known: {list}"),
        None => format!("known: {list}"),
    };
    reader.fault::<()>(&spot.key(key), format!("{spot} has no key {key}"), "", remedy);
}

/// The known word that was probably meant; a text as long as a page is no typo, and is not compared.
pub(super) fn near<'k>(typed: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    if typed.len() > 100 { None } else { fault::nearest(typed, known) }
}

/// A text short enough for a message.
pub(super) fn clipped(text: &str) -> String {
    const LONGEST: usize = 400;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// `none, rope or alibi`.
fn or_list(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [all @ .., last] => format!("{} or {last}", all.join(", ")),
    }
}

/// A whole number, also where it is written 4.0.
pub(super) fn whole_number(value: &Value) -> Option<i128> {
    let Value::Number(number) = value else { return None };
    if let Some(number) = number.as_u64() {
        return Some(i128::from(number));
    }
    if let Some(number) = number.as_i64() {
        return Some(i128::from(number));
    }
    number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 1e38).map(|number| number as i128)
}

/// A value in words, short enough for a sentence.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "empty".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => {
            let start: String = text.chars().take(40).collect();
            let more = if start.len() < text.len() { "…" } else { "" };
            format!("\"{start}{more}\"")
        }
        Value::Sequence(items) => format!("a list of {}", items.len()),
        Value::Mapping(_) => "a mapping".into(),
        Value::Tagged(_) => "a tagged value".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spot_counts_from_one_and_knows_its_parent() {
        let spot = Spot::root().key("projections").key("w_q").item(1).item(2);
        assert_eq!(spot.to_string(), "projections.w_q[2][3]");
        assert_eq!(spot.parent().map(|spot| spot.to_string()).as_deref(), Some("projections.w_q[2]"));
        assert_eq!(Spot::root().key("x").parent(), Some(Spot::root()));
        assert_eq!(Spot::root().parent(), None);
    }

    #[test]
    fn a_whole_number_may_be_written_with_a_point() {
        let number = |text: &str| whole_number(&serde_yaml::from_str(text).unwrap());
        assert_eq!(number("4"), Some(4));
        assert_eq!(number("4.0"), Some(4));
        assert_eq!(number("-3"), Some(-3));
        assert_eq!(number("4.5"), None);
        assert_eq!(number("four"), None);
    }

    #[test]
    fn a_text_is_given_in_the_language_asked_for_or_in_the_one_there_is() {
        fn case(yaml: &str, language: Language, expected: &str) {
            let value = serde_yaml::from_str(yaml).unwrap();
            let options = Options { language, ..Options::default() };
            let mut reader = Reader::new(Path::new("."), &options);
            let node = Node { value: &value, spot: Spot::root().key("title") };
            assert_eq!(node.text(&mut reader).as_deref(), Some(expected));
        }
        case("plain", Language::Zh, "plain");
        case("{en: heads, zh: 头}", Language::Zh, "头");
        case("{en: heads, zh: 头}", Language::En, "heads");
        case("{zh: 头}", Language::En, "头");
    }
}
