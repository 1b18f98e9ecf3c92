//! Finding the weights in a model's folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::{WeightFile, format, listed, open};
use crate::arrays;
use crate::fault::{Fault, Outcome, reason};
use crate::limits;

/// The weights of a model's folder: `model.safetensors`, else the shards of its index, else the only other
/// `.safetensors` or `.gguf` file (a split one counts as one). `None` where there are no weights.
///
/// # Errors
/// Where the folder cannot be listed, where several files could be meant, or where there are only pickles; and
/// what [`open`] says of the file.
pub fn in_folder(dir: &Path) -> Outcome<Option<WeightFile>> {
    let names = names_in(dir)?;
    let has = |wanted: &&&str| names.iter().any(|name| name == **wanted);
    if let Some(usual) = ["model.safetensors", "model.safetensors.index.json"].iter().find(has) {
        return open(&dir.join(usual)).map(Some);
    }
    let candidates = candidates(&names);
    let fault = match candidates.as_slice() {
        [one] => match part_of(one) {
            Some(part) if part.ending == "safetensors" => an_index_is_missing(one, &part),
            _ => return open(&dir.join(one)).map(Some),
        },
        [] => match names.iter().find(|name| format::is_pickled_model(name)) {
            Some(pickle) => format::a_pickle(&format!("the folder's weights are a pickle: {pickle}")),
            None => return Ok(None),
        },
        several => Fault::new(
            format!("the folder holds {} files of weights", several.len()),
            format!("it holds {}", listed(several)),
            "name the one that is meant",
        ),
    };
    Err(fault.at(arrays::place(dir)).into())
}

/// The names in a folder, sorted; those that begin with a dot are left out.
fn names_in(dir: &Path) -> Outcome<Vec<String>> {
    let entries = fs::read_dir(dir).map_err(|error| {
        Fault::new("the folder cannot be listed", reason(&error), "check the path").at(arrays::place(dir))
    })?;
    let entries: Vec<_> = entries.take(limits::FOLDER_ENTRIES + 1).flatten().collect();
    if entries.len() > limits::FOLDER_ENTRIES {
        let what = format!("the folder holds more than {} files", limits::FOLDER_ENTRIES);
        let why = "a model takes a few, and all of them would be looked at";
        return Err(Fault::new(what, why, "name the file itself").at(arrays::place(dir)).into());
    }
    let mut names: Vec<String> = entries
        .into_iter()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort_unstable();
    Ok(names)
}

/// The files that could be meant, one for all parts of a whole: the index of shards, the first part of a split.
fn candidates(names: &[String]) -> Vec<&str> {
    let mut wholes: BTreeMap<(&str, u32, &str), &str> = BTreeMap::new();
    for name in names {
        let name = name.as_str();
        let is_weights =
            [".gguf", ".safetensors", ".safetensors.index.json"].iter().any(|end| name.ends_with(end));
        if !is_weights {
            continue;
        }
        let whole = match part_of(name) {
            Some(Part { stem, ending: "safetensors", .. }) if has_index(names, stem) => continue,
            Some(part) => (part.stem, part.of, part.ending),
            None => (name, 0, ""),
        };
        wholes.entry(whole).or_insert(name);
    }
    wholes.into_values().collect()
}

fn has_index(names: &[String], stem: &str) -> bool {
    let index = format!("{stem}.safetensors.index.json");
    names.binary_search(&index).is_ok()
}

/// A part of a whole by its name: `model-00002-of-00003.safetensors`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part<'a> {
    /// What stands before the numbers: `model`.
    pub(super) stem: &'a str,
    /// Which part, from 1.
    pub(super) number: u32,
    /// How many parts there are.
    pub(super) of: u32,
    /// `safetensors` or `gguf`.
    pub(super) ending: &'a str,
}

/// The part that a file's name says it is.
pub(super) fn part_of(name: &str) -> Option<Part<'_>> {
    let (rest, ending) = name.rsplit_once('.')?;
    let (rest, of) = rest.rsplit_once("-of-")?;
    let (stem, number) = rest.rsplit_once('-')?;
    let digits = |text: &str| {
        let all = text.len() == 5 && text.bytes().all(|digit| digit.is_ascii_digit());
        all.then(|| text.parse().ok()).flatten()
    };
    Some(Part { stem, number: digits(number)?, of: digits(of)?, ending })
}

fn an_index_is_missing(name: &str, part: &Part) -> Fault {
    Fault::new(
        format!("{name} is a part of {}, and there is no index of the parts", part.of),
        format!("{}.safetensors.index.json says which tensors belong to the model", part.stem),
        "download the index beside the parts, or name one part",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_says_which_of_how_many_it_is() {
        let part = Part { stem: "grok-1-q4", number: 2, of: 9, ending: "gguf" };
        assert_eq!(part_of("grok-1-q4-00002-of-00009.gguf"), Some(part));
        for whole in ["model.safetensors", "a-1-of-2.gguf", "a-00001-of-0000x.gguf", "out-of-here.gguf", ""] {
            assert_eq!(part_of(whole), None, "{whole}");
        }
    }

    #[test]
    fn parts_of_a_whole_are_one_candidate() {
        let case = |names: &[&str], expected: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(candidates(&names), expected);
        };
        case(&["a-00001-of-00002.gguf", "a-00002-of-00002.gguf", "readme.md"], &["a-00001-of-00002.gguf"]);
        case(
            &["a-00001-of-00002.gguf", "b-00001-of-00002.gguf"],
            &["a-00001-of-00002.gguf", "b-00001-of-00002.gguf"],
        );
        case(&["a.gguf", "mmproj.gguf"], &["a.gguf", "mmproj.gguf"]);
        let sharded =
            ["m-00001-of-00002.safetensors", "m-00002-of-00002.safetensors", "m.safetensors.index.json"];
        case(&sharded, &["m.safetensors.index.json"]);
        case(&sharded[..2], &["m-00001-of-00002.safetensors"]);
    }
}
