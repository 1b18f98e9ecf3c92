//! Files of numbers in and out; one format a file. Knows nothing of attention.
//!
//! Whatever a file says of itself is checked against what is there before memory is taken for it; [`limits`] is
//! the table of what is accepted. Not-a-number and infinities are legal here: who reads decides.

use std::collections::HashMap;
use std::path::Path;

mod array;
pub mod csv;
pub mod document;
mod file;
#[cfg(test)]
mod hostile;
mod inputs;
pub mod json;
mod nest;
pub mod npy;
pub mod npz;
mod numbers;
pub mod safetensors;
#[cfg(test)]
mod witnesses;

pub use array::{Array, BLANK, Kind, is_blank};
pub use document::Document;
pub(crate) use file::{
    AGAIN, Opened, TO_UTF8, UTF16, could_wait_for_ever, did_you_mean, failed_read, is_utf16, open, place,
    text, text_of_stdin,
};
pub(crate) use inputs::{reads, was_read};
pub(crate) use nest::{nested_with_blanks, stands_for_a_blank};

use crate::fault::{Fault, Outcome, Place, nearest};
use crate::limits;

/// A way of writing arrays into a file, told by the file's ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One array, as `numpy.save` writes it.
    Npy,
    /// Named arrays, as `numpy.savez` and `savez_compressed` write them.
    Npz,
    /// Named tensors, as checkpoints hold them.
    Safetensors,
    /// One matrix as text.
    Csv,
    /// Nested lists, or an object of them.
    Json,
}

impl Format {
    /// The format that the file's ending names, in capitals or not.
    ///
    /// # Errors
    /// Where the ending is none of the five.
    pub fn of(path: &Path) -> Outcome<Self> {
        let ending = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
        Ok(match ending.as_str() {
            "npy" => Self::Npy,
            "npz" => Self::Npz,
            "safetensors" => Self::Safetensors,
            "csv" => Self::Csv,
            "json" => Self::Json,
            _ => return Err(unknown_format(path, &ending).into()),
        })
    }
}

/// One array of a file. `name` picks it in formats that hold several; `None` is enough where the file holds
/// exactly one. Only that array is read from an npz or safetensors file.
///
/// # Errors
/// Where the file, or the array in it, is missing, damaged, too large, or no array of numbers.
pub fn read(path: &Path, name: Option<&str>) -> Outcome<Array> {
    match Format::of(path)? {
        Format::Npy => only(path, name, npy::read(path)?),
        Format::Csv => only(path, name, csv::read(path)?),
        Format::Npz => npz::read(path, name),
        Format::Safetensors => safetensors::read(path, name),
        Format::Json => {
            let mut arrays = json::read_all(path)?;
            let names: Vec<&str> = arrays.iter().map(|(name, _)| name.as_str()).collect();
            let index = choose(&names, name, file::place(path))?;
            Ok(arrays.swap_remove(index).1)
        }
    }
}

/// The shape of one array of a file, where its headers tell; `None` in text formats, which have none.
///
/// # Errors
/// Where the file, or the array in it, is missing, or damaged as far as it is read.
pub fn shape(path: &Path, name: Option<&str>) -> Outcome<Option<Vec<usize>>> {
    match Format::of(path)? {
        Format::Npy => npy::shape(path).map(Some),
        Format::Npz => npz::shape(path, name).map(Some),
        Format::Safetensors => safetensors::shape(path, name).map(Some),
        Format::Csv | Format::Json => Ok(None),
    }
}

/// All arrays of a file by name, in the file's order (a format without names: one, under the file's stem).
///
/// # Errors
/// Where the file or any array of it is missing, damaged, too large, or no array of numbers.
pub fn read_all(path: &Path) -> Outcome<Vec<(String, Array)>> {
    match Format::of(path)? {
        Format::Npy => Ok(vec![(file::stem(path), npy::read(path)?)]),
        Format::Csv => Ok(vec![(file::stem(path), csv::read(path)?)]),
        Format::Npz => npz::read_all(path),
        Format::Safetensors => safetensors::read_all(path),
        Format::Json => json::read_all(path),
    }
}

/// Names and shapes of a file's arrays, in the file's order. Of an npy, npz or safetensors file only the headers
/// are read, so arrays of a type that cannot be read are listed as well.
///
/// # Errors
/// Where the file is missing, or damaged as far as it is read.
pub fn list(path: &Path) -> Outcome<Vec<(String, Vec<usize>)>> {
    match Format::of(path)? {
        Format::Npy => Ok(vec![(file::stem(path), npy::shape(path)?)]),
        Format::Npz => npz::list(path),
        Format::Safetensors => safetensors::list(path),
        Format::Csv | Format::Json => {
            Ok(read_all(path)?.into_iter().map(|(name, array)| (name, array.shape)).collect())
        }
    }
}

/// The one array of a format without names, where no other is asked for.
fn only(path: &Path, name: Option<&str>, array: Array) -> Outcome<Array> {
    choose(&[&file::stem(path)], name, file::place(path))?;
    Ok(array)
}

/// The index of the array that is meant.
fn choose(names: &[&str], wanted: Option<&str>, place: Place) -> Result<usize, Fault> {
    let present = || {
        let shown = names.iter().take(limits::SHOWN).copied().collect::<Vec<_>>().join(", ");
        let more = names.len().saturating_sub(limits::SHOWN);
        if more > 0 { format!("{shown} and {more} more") } else { shown }
    };
    let fault = match (wanted, names) {
        (_, []) => Fault::new("the file holds no arrays", "", "save at least one array in it"),
        (None, [_]) => return Ok(0),
        (None, _) => Fault::new(
            format!("the file holds {} arrays, and none is named", names.len()),
            format!("it holds {}", present()),
            "name the one that is meant",
        ),
        (Some(wanted), _) => match names.iter().position(|name| *name == wanted) {
            Some(index) => return Ok(index),
            None => Fault::new(
                format!("the file has no array {wanted}"),
                format!("it holds {}", present()),
                match nearest(wanted, names.iter().copied()) {
                    Some(near) => format!("did you mean {near}?"),
                    None => "give one of these names".to_owned(),
                },
            ),
        },
    };
    Err(fault.at(place))
}

/// The first name that stands twice.
fn doubled<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut seen = HashMap::new();
    names.into_iter().find(|name| seen.insert(*name, ()).is_some())
}

/// Two arrays of one name: readers disagree on which of them counts.
fn doubled_name(name: &str) -> Fault {
    Fault::new(
        format!("the file holds two arrays named {name}"),
        "which of them is meant cannot be known, and other tools silently take one",
        "give each array a name of its own",
    )
}

/// Refuses files whose arrays are too many numbers together.
fn within_memory(shapes: &[Vec<usize>], place: impl Fn() -> Place) -> Outcome<()> {
    let mut total = 0_usize;
    for shape in shapes {
        total = total.saturating_add(array::checked_count(shape).map_err(|fault| fault.at(place()))?);
    }
    if total <= limits::NUMBERS {
        return Ok(());
    }
    Err(Fault::new(
        format!("the file holds {total} numbers in {} arrays", shapes.len()),
        format!("at most {} are read from one file at once", limits::NUMBERS),
        "name the one array that is needed, or save fewer",
    )
    .at(place())
    .into())
}

fn unknown_format(path: &Path, ending: &str) -> Fault {
    let what = if ending.is_empty() {
        "the file's name has no ending that says what it holds".to_owned()
    } else {
        format!("arrays are not read from .{ending} files")
    };
    let remedy = match ending {
        "pt" | "pth" | "bin" | "ckpt" => "save it with `safetensors.torch.save_file`",
        "pkl" | "pickle" | "mat" | "h5" | "hdf5" => "save it with `numpy.savez`",
        "txt" | "tsv" | "xlsx" | "xls" => "save it as .csv, with commas between the numbers",
        _ => "save the numbers in one of these",
    };
    Fault::new(what, "known are .npy, .npz, .safetensors, .csv and .json", remedy).at(file::place(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_tells_the_format_in_capitals_or_not() {
        for (name, format) in [
            ("a/w_q.npy", Format::Npy),
            ("ALL.NPZ", Format::Npz),
            ("model.safetensors", Format::Safetensors),
            ("c029.output.csv", Format::Csv),
            ("steps.Json", Format::Json),
        ] {
            assert_eq!(Format::of(Path::new(name)), Ok(format), "{name}");
        }
    }

    #[test]
    fn an_unknown_ending_is_answered_with_the_five_known_ones() {
        for (name, advice) in [("model.pt", "safetensors.torch.save_file"), ("weights", "one of these")] {
            let faults = Format::of(Path::new(name)).unwrap_err().to_string();
            for known in [".npy", ".npz", ".safetensors", ".csv", ".json", advice] {
                assert!(faults.contains(known), "{faults}");
            }
        }
    }

    #[test]
    fn a_name_that_is_not_there_is_answered_with_those_that_are() {
        let names: Vec<String> = (1..=12).map(|i| format!("layer_{i}")).chain(["w_query".into()]).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let fault = choose(&names, Some("w_qury"), Place::default()).unwrap_err();
        assert_eq!(fault.what, "the file has no array w_qury");
        assert!(fault.why.ends_with("layer_10 and 3 more"), "{}", fault.why);
        assert_eq!(fault.remedy, "did you mean w_query?");
        assert_eq!(choose(&["a", "b"], Some("b"), Place::default()), Ok(1));
        assert!(choose(&["a", "b"], None, Place::default()).unwrap_err().what.contains("2 arrays"));
        assert_eq!(choose(&["a"], None, Place::default()), Ok(0));
    }
}
