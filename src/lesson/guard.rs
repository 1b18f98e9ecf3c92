//! What is refused before serde_yaml sees it.
//!
//! serde_yaml's scanner takes quadratic time for deeply nested brackets, expands aliases, and keeps no places.
//! The events of saphyr-parser come one by one, without recursion and in linear time (checked up to
//! 200,000 brackets, dashes and question marks), so one walk over them settles all of that first.

use std::borrow::Cow;
use std::collections::HashMap;

use saphyr_parser::{Event, Marker, Parser, ScanError};

use super::grammar;
use super::places::{LineColumn, line, line_column};
use super::reader::clipped;
use crate::fault::{Fault, Place};
use crate::limits::{LESSON_BYTES, LESSON_DEPTH, LESSON_VALUES};

/// So many doubled keys are told.
const DOUBLED_TOLD: usize = 20;

/// What a text is meant to be: what it is called in faults, and whether it may be a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Guarded {
    /// A lesson: keys with values.
    #[default]
    Lesson,
    /// A file of arrays: names with lists of numbers, or one such list.
    Arrays,
}

impl Guarded {
    fn noun(self) -> &'static str {
        match self {
            Self::Lesson => "the lesson",
            Self::Arrays => "the file",
        }
    }

    fn plural(self) -> &'static str {
        match self {
            Self::Lesson => "lessons",
            Self::Arrays => "files of arrays",
        }
    }

    fn too_long(self) -> &'static str {
        match self {
            Self::Lesson => "keep large arrays in files of their own: {file: w.npy}",
            Self::Arrays => "save large arrays as .npz or .safetensors",
        }
    }

    fn wrong_root(self, kind: &str) -> Fault {
        let what = format!("{} is {kind}, but it needs keys with values", self.noun());
        let remedy = match self {
            Self::Lesson => "write attention: and inputs:, as `mha lessons show two-heads` does",
            Self::Arrays => "write each array under its name: {output: [[0.5, 1.5]]}",
        };
        Fault::new(what, "", remedy)
    }
}

/// Everything about the text that is refused before its meaning is looked at.
///
/// # Errors
/// Text too long, hidden line breaks, control characters, broken YAML, nesting deeper than 32, anchors, aliases, tags, a second document, and keys
/// that are doubled or are not words (all of those at once).
pub(super) fn check(text: &str, source: &str, guarded: Guarded) -> Result<(), Vec<Fault>> {
    let noun = guarded.noun();
    let place = |at: LineColumn| Place {
        source: source.to_owned(),
        line_column: Some(at),
        path: String::new(),
        text: line(text, at.0),
    };
    if text.len() > LESSON_BYTES {
        let what = format!("{noun} is {} bytes long, and at most {LESSON_BYTES} are read", text.len());
        return Err(vec![Fault::new(what, "", guarded.too_long()).in_source(source)]);
    }
    // Each value has one of these before or behind it. Counted before the parser comes, which looks ahead to the end of a
    // list in brackets, and keeps all of it.
    let values = text.bytes().filter(|byte| matches!(byte, b',' | b'[' | b'{' | b'\n')).count();
    if values > LESSON_VALUES {
        return Err(vec![too_many(guarded).in_source(source)]);
    }
    if let Some((index, _)) = text.char_indices().find(|(_, c)| *c == '\u{feff}') {
        let fault = Fault::new(
            format!("{noun} holds a byte order mark (U+FEFF)"),
            "only the start of a file may",
            "remove it",
        );
        return Err(vec![fault.at(place(line_column_of(text, index)))]);
    }
    // YAML 1.1 ends a line (and a comment) at these, YAML 1.2 does not: what the guard took for a comment
    // would be read as content.
    if let Some((index, c)) =
        text.char_indices().find(|(_, c)| matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}'))
    {
        let code = format!("{:04x}", c as u32);
        return Err(vec![
            Fault::new(
                format!("{noun} holds a hidden line break (U+{})", code.to_uppercase()),
                "YAML readers disagree on whether a line ends there",
                format!("remove it, or write \\u{code} in a text in double quotes"),
            )
            .at(place(line_column_of(text, index))),
        ]);
    }
    // Said here, because neither reader says where it is.
    if let Some((index, c)) =
        text.char_indices().find(|(_, c)| c.is_control() && !matches!(c, '\t' | '\n' | '\r'))
    {
        let code = format!("{:04X}", c as u32);
        return Err(vec![
            Fault::new(
                format!("{noun} holds a control character (U+{code})"),
                "a terminal could obey it, and YAML does not allow it",
                format!("remove it, or write \\u{} in a text in double quotes", code.to_lowercase()),
            )
            .at(place(line_column_of(text, index))),
        ]);
    }
    let mut watch = Watch { guarded, ..Watch::default() };
    for event in Parser::new_from_str(text) {
        let outcome = event
            .map_err(|error| not_yaml(&error, guarded))
            .and_then(|(event, span)| watch.see(event, &span.start));
        if let Err((fault, at)) = outcome {
            return Err(vec![fault.at(place(at))]);
        }
    }
    if watch.faults.is_empty() {
        return Ok(());
    }
    Err(watch.faults.into_iter().map(|(fault, at)| fault.at(place(at))).collect())
}

/// The values of a text that has passed [`check`].
///
/// # Errors
/// What serde_yaml alone refuses, such as a whole number beyond 64 bits.
pub(super) fn value(text: &str, source: &str) -> Result<serde_yaml::Value, Fault> {
    serde_yaml::from_str(text).map_err(|error| {
        let at = error.location().map(|location| (location.line(), location.column()));
        let message = error.to_string();
        let fault = match message.split('`').nth(1).filter(|_| message.contains("128")) {
            Some(number) => Fault::new(
                format!("the whole number {number} is too large"),
                "whole numbers have at most 64 bits",
                "no size is that large; as a number of a matrix, write it with a point",
            ),
            None => grammar::fault(&message),
        };
        fault.at(Place {
            source: source.to_owned(),
            line_column: at,
            path: String::new(),
            text: at.and_then(|at| line(text, at.0)),
        })
    })
}

/// A fault and where it is.
type Found = (Fault, LineColumn);

/// What the walk remembers: the open lists and mappings, and what was wrong so far.
#[derive(Default)]
struct Watch<'t> {
    guarded: Guarded,
    open: Vec<Open<'t>>,
    documents: usize,
    faults: Vec<Found>,
}

enum Open<'t> {
    List,
    Mapping { keys: HashMap<Cow<'t, str>, LineColumn>, at_key: bool },
}

impl<'t> Watch<'t> {
    fn see(&mut self, event: Event<'t>, marker: &Marker) -> Result<(), Found> {
        let at = line_column(marker);
        let (anchor, tagged) = match &event {
            Event::Scalar(_, _, anchor, tag) => (*anchor, tag.is_some()),
            Event::SequenceStart(anchor, tag) | Event::MappingStart(anchor, tag) => (*anchor, tag.is_some()),
            Event::Alias(anchor) => (*anchor, false),
            _ => (0, false),
        };
        if anchor > 0 {
            return Err((anchored(self.guarded), at));
        }
        if tagged {
            return Err((
                Fault::new(
                    format!("tags (!) are not used in {}", self.guarded.plural()),
                    "",
                    "put the text in quotes, or remove the tag",
                ),
                at,
            ));
        }
        let root = match &event {
            _ if !self.open.is_empty() => None,
            Event::Scalar(..) => Some("a text"),
            Event::SequenceStart(..) if self.guarded == Guarded::Lesson => Some("a list"),
            _ => None,
        };
        if let Some(kind) = root {
            // Not only for the message: to serde_yaml, what follows a | without indentation is no longer text.
            return Err((self.guarded.wrong_root(kind), at));
        }
        match event {
            Event::DocumentStart(_) => self.documents += 1,
            Event::Scalar(text, ..) => self.scalar(text, at),
            Event::SequenceStart(..) => self.go_down(Open::List, at)?,
            Event::MappingStart(..) => {
                self.go_down(Open::Mapping { keys: HashMap::new(), at_key: true }, at)?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.open.pop();
            }
            _ => {}
        }
        if self.documents > 1 {
            let fault = Fault::new(
                "a second document starts here",
                match self.guarded {
                    Guarded::Lesson => "a lesson is one YAML document",
                    Guarded::Arrays => "such a file is one YAML document",
                },
                "remove the line ---",
            );
            return Err((fault, at));
        }
        Ok(())
    }

    fn scalar(&mut self, text: Cow<'t, str>, at: LineColumn) {
        let told = self.faults.len();
        let Some(Open::Mapping { keys, at_key }) = self.open.last_mut() else { return };
        if *at_key {
            if let Some((line, column)) = keys.get(&text).filter(|_| told < DOUBLED_TOLD) {
                let what = clipped(&format!("the key {text} stands twice"));
                let why = format!("first at line {line}, column {column}");
                self.faults.push((Fault::new(what, why, "keep one of the two"), at));
            } else {
                keys.entry(text).or_insert(at);
            }
        }
        *at_key = !*at_key;
    }

    fn go_down(&mut self, inner: Open<'t>, at: LineColumn) -> Result<(), Found> {
        if let Some(Open::Mapping { at_key, .. }) = self.open.last_mut() {
            if *at_key {
                let fault = Fault::new(
                    "a key is a list or a mapping",
                    "keys are words",
                    "did you forget quotes or a colon?",
                );
                return Err((fault, at));
            }
            *at_key = true;
        }
        self.open.push(inner);
        if self.open.len() > LESSON_DEPTH {
            return Err((too_deep(), at));
        }
        Ok(())
    }
}

fn too_many(guarded: Guarded) -> Fault {
    let what = format!("{} holds more than {LESSON_VALUES} values", guarded.noun());
    Fault::new(what, "a matrix of 512 × 512 holds 262144 of them", guarded.too_long())
}

fn too_deep() -> Fault {
    let what = format!("lists and mappings are nested deeper than {LESSON_DEPTH}");
    Fault::new(what, "arrays of attention have at most 4 axes", "close a bracket")
}

fn anchored(guarded: Guarded) -> Fault {
    let why = "a few of them can stand for millions of numbers";
    let what = format!("anchors (&) and aliases (*) are not used in {}", guarded.plural());
    Fault::new(what, why, "write the value out")
}

fn not_yaml(error: &ScanError, guarded: Guarded) -> Found {
    if error.info().contains("anchor") {
        return (anchored(guarded), line_column(error.marker()));
    }
    // the parser looks ahead by up to 256 brackets, and stops there
    if error.info().contains("recursion limit") {
        return (too_deep(), line_column(error.marker()));
    }
    (grammar::fault(error.info()), line_column(error.marker()))
}

/// Line and column of a byte, both from 1.
pub(super) fn line_column_of(text: &str, byte: usize) -> LineColumn {
    let before = &text[..byte];
    let start = before.rfind('\n').map_or(0, |index| index + 1);
    (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
}

/// JSON writers may split a character beyond U+FFFF into two escapes (`\ud83d\ude00`), which YAML does not know:
/// puts the character itself there.
pub(super) fn join_surrogates(text: &str) -> Cow<'_, str> {
    let escape = |at: usize| -> Option<u32> {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(digits, 16).ok()
    };
    let mut joined = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = text[at..].find('\\') {
        let start = at + found;
        let pair = (escape(start), escape(start + 6));
        if let (Some(high @ 0xD800..=0xDBFF), Some(low @ 0xDC00..=0xDFFF)) = pair {
            joined.push_str(&text[copied..start]);
            joined.extend(char::from_u32(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)));
            copied = start + 12;
            at = copied;
        } else {
            // a backslash and what it escapes: \\ is no start of a new escape
            let escaped = text[start + 1..].chars().next().map_or(0, char::len_utf8);
            at = start + 1 + escaped;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    joined.push_str(&text[copied..]);
    Cow::Owned(joined)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn first(text: &str) -> String {
        let faults = check(text, "l.yaml", Guarded::Lesson).unwrap_err();
        faults[0].to_string()
    }

    #[test]
    fn hostile_texts_are_refused_at_once() {
        let started = Instant::now();
        assert!(
            first(&"[".repeat(200_000)).starts_with("error: lists and mappings are nested deeper than 32")
        );
        assert!(
            first(&"{a: ".repeat(100_000)).starts_with("error: lists and mappings are nested deeper than 32")
        );
        assert!(
            first(&format!("a:\n  {}", "- ".repeat(100_000)))
                .starts_with("error: lists and mappings are nested deeper than 32")
        );
        assert!(first(&"? ".repeat(100_000)).starts_with("error: a key is a list or a mapping"));
        let stairs: String = (0..1000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
        assert!(first(&stairs).starts_with("error: lists and mappings are nested deeper than 32"));
        assert!(first(&" ".repeat(LESSON_BYTES + 1)).starts_with("error: the lesson is 4194305 bytes long"));
        assert!(started.elapsed() < Duration::from_secs(60), "a minute is waiting, however busy the machine");
    }

    #[test]
    fn exploding_aliases_are_refused_before_they_are_read() {
        let laughs = "a: &a [1, 1]\nb: &b [*a, *a]\nc: [*b, *b]\n";
        assert!(
            first(laughs).starts_with(
                "error: anchors (&) and aliases (*) are not used in lessons\n  --> l.yaml:1:4\n"
            )
        );
    }

    /// To serde_yaml the comment ends at U+2028, and what follows would be content that the guard never saw.
    #[test]
    fn nothing_hides_behind_a_line_break_that_only_one_reader_sees() {
        let text = "a: 1\nb: 2 # x\u{2028}c: [[[[";
        assert!(
            first(text)
                .starts_with("error: the lesson holds a hidden line break (U+2028)\n  --> l.yaml:2:9\n")
        );
    }

    /// A block text at the root may start without indentation for the one reader, and not for the other.
    #[test]
    fn a_lesson_that_is_one_text_or_one_list_never_reaches_serde_yaml() {
        let hidden = format!("|\n{}", "[".repeat(100_000));
        assert!(first(&hidden).starts_with("error: the lesson is a text, but it needs keys with values\n"));
        assert!(first("[1, 2]").starts_with("error: the lesson is a list, but it needs keys with values\n"));
        assert!(
            first("a: \u{feff}1")
                .starts_with("error: the lesson holds a byte order mark (U+FEFF)\n  --> l.yaml:1:4")
        );
    }

    #[test]
    fn a_file_of_arrays_may_be_one_list_but_no_text() {
        let told = |text: &str| check(text, "a.yaml", Guarded::Arrays).unwrap_err()[0].to_string();
        assert_eq!(check("- [1, 2]\n- [3, .nan]\n", "a.yaml", Guarded::Arrays), Ok(()));
        assert!(told("|\n[[[").starts_with("error: the file is a text, but it needs keys with values\n"));
        assert!(told("q: &a [1]\nk: *a").contains("aliases (*) are not used in files of arrays\n"));
    }

    #[test]
    fn a_doubled_key_names_both_places() {
        let text = "inputs:\n  x: 1\n  y: 2\n  x: 3\n";
        assert_eq!(
            first(text),
            "error: the key x stands twice\n  --> l.yaml:4:3\n   |\n 4 |   x: 3\n   |   ^\n  why: first at line 2, \
             column 3\n  try: keep one of the two\n"
        );
        assert!(check("a: {x: 1}\nb: {x: 1}", "l.yaml", Guarded::Lesson).is_ok());
    }

    #[test]
    fn a_pair_of_json_escapes_is_one_character() {
        assert_eq!(join_surrogates(r#"{"t": "\ud83d\ude00!"}"#), r#"{"t": "😀!"}"#);
        assert_eq!(join_surrogates(r#""\\ud83d\ude00""#), r#""\\ud83d\ude00""#);
        assert_eq!(join_surrogates("plain"), "plain");
        assert_eq!(join_surrogates("\\"), "\\");
    }
}
