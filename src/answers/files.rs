//! A person's files as arrays with names; one function for all formats.

use std::path::Path;

use serde_yaml::Value;

use super::{sheet, told};
use crate::arrays::{self, Array, Format};
use crate::fault::{Fault, Faults, Outcome, Place};
use crate::lesson;
use crate::limits;

/// What one file holds.
#[derive(Debug)]
pub(super) struct Held {
    /// The file, as the person named it.
    pub(super) file: String,
    /// Its arrays, in the file's order.
    pub(super) arrays: Vec<(String, Array)>,
    /// Whether its one array has no name of its own, and goes by the file's stem.
    pub(super) nameless: bool,
    /// Whether its numbers were written as text.
    pub(super) text: bool,
}

/// Reads all arrays of a file; its ending tells the format. `-` is standard input: JSON or YAML.
///
/// # Errors
/// Where the ending is unknown, the file is missing, damaged or too large, or holds something else than numbers.
pub(super) fn held(path: &Path) -> Outcome<Held> {
    if path.as_os_str() == "-" {
        return from_stdin();
    }
    let file = path.display().to_string();
    if path.is_dir() {
        let fault = Fault::new(
            "this is a directory",
            "tensors are read from files",
            "name the files in it, one after the other",
        );
        return Err(fault.at(arrays::place(path)).into());
    }
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    if ["yaml", "yml"].contains(&ending.as_str()) {
        let arrays = yaml(&arrays::text(path, limits::TEXT_BYTES)?, &stem, &file)?;
        return Ok(named(file, arrays, &stem, true));
    }
    let format = Format::of(path).map_err(with_yaml)?;
    if format == Format::Csv {
        let text = arrays::text(path, limits::TEXT_BYTES)?;
        if let Some(arrays) = sheet::arrays(&text, &arrays::place(path))? {
            return Ok(Held { file, arrays, nameless: false, text: true });
        }
    }
    Ok(named(file, arrays::read_all(path)?, &stem, matches!(format, Format::Csv | Format::Json)))
}

/// What standard input holds: JSON where it starts like it, else YAML.
fn from_stdin() -> Outcome<Held> {
    const SOURCE: &str = "standard input";
    let text = arrays::text_of_stdin(limits::TEXT_BYTES)?;
    let arrays = match text.trim_start().starts_with(['{', '[']) {
        true => arrays::json::parse(&text, "", &Place { source: SOURCE.to_owned(), ..Place::default() })?,
        false => yaml(&text, "", SOURCE)?,
    };
    Ok(named(SOURCE.to_owned(), arrays, "", true))
}

/// Formats without names give their one array the file's stem.
fn named(file: String, arrays: Vec<(String, Array)>, stem: &str, text: bool) -> Held {
    let nameless = matches!(arrays.as_slice(), [(name, _)] if name == stem);
    Held { file, arrays, nameless, text }
}

/// The formats that are known where tensors are handed over: one more than files of arrays have.
fn with_yaml(faults: Faults) -> Faults {
    let add = |fault: Fault| Fault { why: fault.why.replace(" and .json", ", .json and .yaml"), ..fault };
    Faults(faults.0.into_iter().map(add).collect())
}

/// The arrays of a YAML text: names with nested lists, or one such list.
fn yaml(text: &str, stem: &str, source: &str) -> Outcome<Vec<(String, Array)>> {
    let array = |name: &str, value: Value| {
        let path = if name == stem { String::new() } else { format!("array {name}") };
        let place = Place { source: source.to_owned(), path, ..Place::default() };
        arrays::nested_with_blanks(value)
            .map(|array| (name.to_owned(), array))
            .map_err(|fault| fault.at(place))
    };
    let refused = |fault: Fault| Err(Faults::from(fault.in_source(source)));
    match lesson::guarded_arrays(text, source)? {
        Value::Mapping(names) if names.len() > limits::ARRAYS => refused(Fault::new(
            format!("the file names more than {} arrays", limits::ARRAYS),
            "so many are not read from one file",
            "save fewer arrays in it",
        )),
        Value::Mapping(names) if names.is_empty() => refused(empty()),
        Value::Mapping(names) if ["attention", "inputs"].iter().all(|key| names.contains_key(*key)) => {
            refused(a_lesson())
        }
        Value::Null => refused(empty()),
        Value::Mapping(names) => {
            let mut arrays = Vec::with_capacity(names.len());
            let is_given = |value: &Value| !value.is_null();
            if !names.values().any(is_given) {
                return refused(told::nothing_filled_in());
            }
            for (name, value) in names {
                match name.as_str() {
                    Some(_) if !is_given(&value) => {}
                    Some(name) => arrays.push(array(name, value)?),
                    None => return refused(no_word()),
                }
            }
            Ok(arrays)
        }
        list => Ok(vec![array(stem, list)?]),
    }
}

fn empty() -> Fault {
    Fault::new("the file holds no arrays", "", "write each array under its name: {output: [[0.5, 1.5]]}")
}

fn a_lesson() -> Fault {
    let why = "it says what attention is given, and tensors are what your own code has computed from it";
    Fault::new("this is a lesson, not tensors", why, "name it first, and then the files with your tensors")
}

fn no_word() -> Fault {
    Fault::new("one of its names is no word", "tensors go by the names of steps", "put the name in quotes")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrays(text: &str) -> Outcome<Vec<(String, Array)>> {
        yaml(text, "stem", "stem.yaml")
    }

    #[test]
    fn yaml_is_names_with_lists_or_one_list() {
        let named = arrays("q: [[1, 2.5]]\nscores:\n- [.nan, -.inf]\n- [\"-Infinity\", NaN]\n").unwrap();
        assert_eq!((named[0].0.as_str(), &named[0].1.data), ("q", &vec![1.0, 2.5]));
        let scores = &named[1].1;
        assert_eq!(scores.shape, [2, 2]);
        assert!(scores.data[0].is_nan() && scores.data[3].is_nan());
        assert_eq!(scores.data[1..3], [f64::NEG_INFINITY; 2]);
        let list = arrays("- [1, 2]\n- [3, 4]").unwrap();
        assert_eq!((list[0].0.as_str(), list[0].1.shape.as_slice()), ("stem", &[2, 2][..]));
    }

    #[test]
    fn what_is_left_blank_in_yaml_is_a_blank() {
        let arrays = arrays("q: [[_, 2.5], [~, ___], [\"\", -1]]\nk:\nv:\n- -\n  - 1\n").unwrap();
        assert_eq!(arrays.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["q", "v"]);
        let blank = arrays[0].1.data.iter().map(|number| arrays::is_blank(*number)).collect::<Vec<_>>();
        assert_eq!(blank, [true, false, true, true, true, false]);
        assert_eq!((arrays[0].1.shape.as_slice(), arrays[1].1.shape.as_slice()), (&[3, 2][..], &[1, 2][..]));
        assert!(!arrays::is_blank(f64::NAN));
    }

    #[test]
    fn yaml_that_is_no_array_is_refused() {
        for (text, message) in [
            ("q: &a [1]\nk: *a", "aliases"),
            ("q: [1]\nq: [2]", "stands twice"),
            ("q: [[1, 2], [3]]", "row 2 has 1 number"),
            ("q: [1, two]", "the text \"two\""),
            ("q: {a: 1}", "is an object"),
            ("q:\nk: ~", "nothing is filled in"),
            ("q: hello", "the text \"hello\""),
            ("", "holds no arrays"),
            ("{}", "holds no arrays"),
            ("2: [1]", "no word"),
            ("hello", "the file is a text"),
            ("[1, 2", "not YAML"),
            ("[[[[[[[[[1]]]]]]]]]", "nested more than 8 deep"),
            (&"[".repeat(100_000), "nested deeper than 32"),
            ("- !!float 1", "tags"),
        ] {
            let faults = arrays(text).unwrap_err().to_string();
            assert!(faults.contains(message), "{text:.40}: {faults}");
            assert!(faults.contains("--> stem.yaml"), "{faults}");
        }
    }
}
