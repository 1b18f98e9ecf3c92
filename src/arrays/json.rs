//! `.json`: nested lists of numbers, or an object that gives such lists names.
//!
//! `[[1, 2], [3, 4]]` is a 2 × 2 array under the file's stem; `{"q": […], "k": […]}` holds two. Lists may be nested
//! to any rank up to [`limits::AXES`], and all lists of one level are equally long. Not-a-number and infinities are
//! the bare words `NaN`, `Infinity` and `-Infinity`, as Python writes them, or the same words (also `inf`, `-inf`)
//! as strings. An array of nothing but `true` and `false` is boolean.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::path::Path;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::nest::{INFINITY, MINUS_INFINITY, NAN, Nest};
use super::{Array, doubled_name, file};
use crate::fault::{self, Fault, Outcome, Place};
use crate::limits;

/// All arrays of a JSON file, in the file's order.
///
/// # Errors
/// Where the file is missing or too large, is no JSON, or holds something else than arrays of numbers.
pub fn read_all(path: &Path) -> Outcome<Vec<(String, Array)>> {
    parse(&file::text(path, limits::TEXT_BYTES)?, &file::stem(path), &file::place(path))
}

/// The arrays of a JSON text; one without a name gets `unnamed`. Faults point into `place`.
///
/// # Errors
/// Where the text is no JSON or holds something else than arrays of numbers.
pub fn parse(text: &str, unnamed: &str, place: &Place) -> Outcome<Vec<(String, Array)>> {
    let mut document = Document { unnamed, arrays: Vec::new(), reading: String::new(), trouble: None };
    let quoted = quote_bare_words(text);
    let mut json = serde_json::Deserializer::from_str(&quoted);
    match (&mut document).deserialize(&mut json).and_then(|()| json.end()) {
        Ok(()) => Ok(document.arrays),
        Err(error) => {
            let fault = document.trouble.unwrap_or_else(|| no_json(&error));
            let path = match document.reading.as_str() {
                "" => String::new(),
                name => format!("array {name}"),
            };
            let at = Place { path, ..place_of(&error, text, place) };
            Err(fault.at(at).into())
        }
    }
}

/// Python writes NaN and Infinity as bare words, which JSON does not know. They are put into quotes without moving
/// anything, so that lines and columns stay right; a control character keeps them apart from people's strings.
pub(super) fn quote_bare_words(text: &str) -> Cow<'_, str> {
    if !text.contains("NaN") && !text.contains("Infinity") {
        return Cow::Borrowed(text);
    }
    let mut quoted = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.find(['"', 'N', 'I', '-']) {
        quoted.push_str(&rest[..next]);
        rest = &rest[next..];
        let words = [("NaN", NAN), ("Infinity", INFINITY), ("-Infinity", MINUS_INFINITY)];
        if let Some((word, inside)) = words.into_iter().find(|(word, _)| rest.starts_with(word)) {
            quoted.push('"');
            quoted.push_str(inside);
            quoted.push('"');
            rest = &rest[word.len()..];
        } else {
            let length = if rest.starts_with('"') { string_length(rest) } else { 1 };
            quoted.push_str(&rest[..length]);
            rest = &rest[length..];
        }
    }
    quoted.push_str(rest);
    Cow::Owned(quoted)
}

/// Bytes of the string that `text` begins with, quotes included; all of them where it never ends.
pub(super) fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (index, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return index + 1,
            _ => {}
        }
    }
    text.len()
}

/// Reads the whole text: one nested list, or an object of them.
struct Document<'a> {
    unnamed: &'a str,
    arrays: Vec<(String, Array)>,
    /// The name of the array that is being read.
    reading: String,
    trouble: Option<Fault>,
}

impl Document<'_> {
    fn fail<E: Error>(&mut self, fault: Fault) -> E {
        self.trouble.get_or_insert(fault);
        E::custom("")
    }

    fn take<E: Error>(&mut self, name: String, nest: Nest) -> Result<(), E> {
        let array = nest.into_array().map_err(|fault| self.fail(fault))?;
        self.arrays.push((name, array));
        Ok(())
    }

    /// Reads the one array of a text that names none.
    fn unnamed<E: Error>(&mut self, read: impl FnOnce(&mut Nest) -> Result<(), E>) -> Result<(), E> {
        let mut nest = Nest::default();
        let outcome = read(&mut nest);
        self.trouble = nest.trouble.take();
        outcome?;
        self.take(self.unnamed.to_owned(), nest)
    }
}

impl<'de> DeserializeSeed<'de> for &mut Document<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Document<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nested lists of numbers, or an object that names them")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if !seen.insert(name.clone()) {
                return Err(self.fail(doubled_name(&name)));
            }
            if seen.len() > limits::ARRAYS {
                return Err(self.fail(too_many_arrays()));
            }
            self.reading.clone_from(&name);
            let mut nest = Nest::default();
            if let Err(error) = map.next_value_seed(&mut nest) {
                self.trouble = nest.trouble;
                return Err(error);
            }
            self.take(name, nest)?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<(), A::Error> {
        self.unnamed(|nest| nest.visit_seq(list))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        self.unnamed(|nest| nest.visit_f64(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.unnamed(|nest| nest.visit_i64(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.unnamed(|nest| nest.visit_u64(number))
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<(), E> {
        self.unnamed(|nest| nest.visit_bool(truth))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.unnamed(|nest| nest.visit_str(text))
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.unnamed(|nest| nest.visit_unit())
    }
}

fn no_json(error: &serde_json::Error) -> Fault {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    if error.is_data() {
        let why = "a file of arrays is nested lists, or an object that names them";
        return Fault::new(message, why, "write numbers in lists");
    }
    Fault::new(
        "this is not JSON",
        fault::no_json(error),
        "mend it there, or write the file with a JSON library (`json.dump` in Python)",
    )
}

fn too_many_arrays() -> Fault {
    Fault::new(
        format!("the file names more than {} arrays", limits::ARRAYS),
        "so many are not read from one file",
        "save fewer arrays in it",
    )
}

/// Where serde_json stopped: it counts columns in bytes, people in characters.
fn place_of(error: &serde_json::Error, text: &str, place: &Place) -> Place {
    let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    let column = line.char_indices().take_while(|(byte, _)| byte + 1 < error.column()).count() + 1;
    Place { line_column: Some((error.line().max(1), column)), text: Some(line.to_owned()), ..place.clone() }
}

#[cfg(test)]
mod tests {
    use super::super::Kind;
    use super::*;

    fn arrays(text: &str) -> Outcome<Vec<(String, Array)>> {
        parse(text, "stem", &Place { source: "a.json".into(), ..Place::default() })
    }

    #[track_caller]
    fn case(text: &str, shape: &[usize], data: &[f64], kind: Kind) {
        let arrays = arrays(text).unwrap();
        let [(name, array)] = arrays.as_slice() else { panic!("{arrays:?}") };
        assert_eq!((name.as_str(), array.shape.as_slice(), array.kind), ("stem", shape, kind));
        assert!(array.data.iter().zip(data).all(|(a, b)| a == b || a.is_nan() && b.is_nan()), "{array:?}");
        assert_eq!(array.len(), data.len());
    }

    #[test]
    fn nested_lists_are_arrays_of_any_rank() {
        case("[[1, 2, 3], [4, 5, 6]]", &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], Kind::Integer);
        case("[[[1.5]], [[-0.25]]]", &[2, 1, 1], &[1.5, -0.25], Kind::F64);
        case("[1, 2.5]", &[2], &[1.0, 2.5], Kind::F64);
        case("[[true, false]]", &[1, 2], &[1.0, 0.0], Kind::Bool);
        case("7", &[], &[7.0], Kind::Integer);
        case("[]", &[0], &[], Kind::F64);
        case("[[], []]", &[2, 0], &[], Kind::F64);
    }

    /// What `json.dumps([nan, inf, -inf])` gives in Python, and the same words as strings.
    #[test]
    fn not_a_number_and_infinities_are_bare_words_or_strings() {
        let all = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        case("[NaN, Infinity, -Infinity]", &[3], &all, Kind::F64);
        case("[\"NaN\", \"Infinity\", \"-Infinity\"]", &[3], &all, Kind::F64);
        case("[\"inf\", \"-inf\", -1]", &[3], &[f64::INFINITY, f64::NEG_INFINITY, -1.0], Kind::F64);
    }

    #[test]
    fn a_name_may_contain_the_bare_words_and_quotes() {
        let named = arrays(r#"{"NaN \" NaN": [1], "Infinity": [NaN], "é": [-Infinity]}"#).unwrap();
        let names: Vec<&str> = named.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["NaN \" NaN", "Infinity", "é"]);
        assert!(named[1].1.data[0].is_nan());
    }

    #[track_caller]
    fn refused(text: &str, message: &str, place: (usize, usize)) {
        let faults = arrays(text).unwrap_err();
        assert!(faults.to_string().contains(message), "{faults}");
        assert_eq!(faults.0[0].place.as_ref().unwrap().line_column, Some(place), "{faults}");
    }

    /// serde_json points at the last character that it has read.
    #[test]
    fn each_fault_names_the_row_and_the_place() {
        refused("[[1, 2],\n [3]]", "row 2 has 1 number, but row 1 has 2", (2, 4));
        refused(
            "[[[1, 2], [3, 4]], [[5, 6], [7]]]",
            "row [2, 2] has 1 number, but row [1, 1] has 2",
            (1, 31),
        );
        refused("[[1], [2, 3], [4]]", "row 2 has 2 numbers, but row 1 has 1", (1, 12));
        refused("[[1], 2]", "nested deeper or less deep", (1, 7));
        refused("[1, [2]]", "nested deeper or less deep", (1, 5));
        refused("[[1, null]]", "row 1, column 2 is null", (1, 9));
        refused("[[NaN, \"a\"]]", "row 1, column 2 is the text \"a\"", (1, 10));
        refused("{\"q\": [1, \"2\"]}", "write the number without quotes", (1, 13));
        refused("{\"q\": {\"a\": 1}}", "is an object", (1, 7));
        refused("[true, 1]", "mixes numbers with true and false", (1, 8));
        refused("[9007199254740993]", "beyond ±2^53", (1, 17));
        refused("[1e999]", "a number is too large", (1, 6));
        refused("{\"q\": [1],\n \"q\": [2]}", "two arrays named q", (2, 4));
        refused("[1, 2", "it ends before every bracket and quote is closed", (1, 5));
        refused("[1] [2]", "something follows behind its end", (1, 5));
        refused("[[[[[[[[[1]]]]]]]]]", "nested more than 8 deep", (1, 9));
    }
}
