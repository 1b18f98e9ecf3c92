//! `.gguf`: what llama.cpp reads. Counted from the header; the parts of a split file are put together.
//!
//! The reader is our own. Of the published ones the best kept (gguf-rs-lib 0.3) holds every token of the vocabulary:
//! of a header with 262,144 tokens and their merges it makes 45 MB and a quarter of a second, where passing over them
//! takes 4 ms and no memory. Others bring terminal libraries (gguf-rs), need `unsafe` and the whole file at once (ggus),
//! or have stood still (gguf). The format is small: two counts, then entries that say how long they are.

mod bytes;
mod header;
#[cfg(test)]
pub(super) mod hostile;
mod value;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::folder::part_of;
use super::{Kind, WeightFile, doubled_tensor, file_name, ggml};
use crate::arrays::{self, Opened};
use crate::fault::{Fault, Faults, Outcome, Place, counted};
use crate::limits;
use header::Header;
pub(crate) use value::List;

/// A GGUF file with what a model needs beyond its counts.
#[derive(Debug)]
pub(crate) struct Gguf {
    /// Tensors and metadata.
    pub(crate) file: WeightFile,
    /// The lists that were asked for, by key.
    pub(crate) lists: BTreeMap<String, List>,
    /// Where each tensor's bytes begin: in which of the parts, and at which byte.
    pub(crate) starts: Vec<(usize, u64)>,
    /// The file, or its parts.
    pub(crate) parts: Vec<PathBuf>,
    /// Whether the most significant byte of a number comes first.
    pub(crate) big_endian: bool,
}

/// All tensors of a GGUF file, of every part where it is split.
pub(super) fn open(path: &Path) -> Outcome<WeightFile> {
    Ok(open_holding(path, &[])?.file)
}

/// The same, with the lists under these keys held whole, and where each tensor stands.
pub(crate) fn open_holding(path: &Path, lists: &[&str]) -> Outcome<Gguf> {
    let mut first = read(path, lists)?;
    let (mut starts, mut parts) = (Vec::new(), vec![path.to_owned()]);
    let mut kind = Kind::Gguf;
    if let Some(count) = first.number("split.count").filter(|parts| *parts > 1) {
        kind = Kind::SplitGguf;
        parts = paths_of_parts(path, count).map_err(|fault| fault.at(arrays::place(path)))?;
        first = whole(path, &parts, lists, &mut starts)?;
    } else {
        starts.extend(first.starts.iter().map(|start| (0, *start)));
    }
    let notes = notes(&first, path);
    let Header { metadata, tensors, lists, big_endian, .. } = first;
    let file = WeightFile { kind, path: path.to_owned(), tensors, metadata, packed: None, notes };
    Ok(Gguf { file, lists, starts, parts, big_endian })
}

fn read(path: &Path, lists: &[&str]) -> Outcome<Header> {
    let Opened { file, bytes } = arrays::open(path)?;
    Ok(header::read(file, bytes, lists).map_err(|fault| in_file(fault, path))?)
}

/// The fault, in this file; a place inside it is kept.
fn in_file(fault: Fault, path: &Path) -> Fault {
    let inside = fault.place.clone().map(|place| place.path).unwrap_or_default();
    fault.at(Place { path: inside, ..arrays::place(path) })
}

/// All parts of a split file: the metadata of the first, the tensors of all, and where they stand.
fn whole(path: &Path, paths: &[PathBuf], lists: &[&str], starts: &mut Vec<(usize, u64)>) -> Outcome<Header> {
    let parts = paths.len() as u64;
    let missing: Vec<Fault> =
        paths.iter().filter(|part| !part.is_file()).map(|part| a_missing_part(part)).collect();
    if !missing.is_empty() {
        return Err(Faults(missing.into_iter().take(limits::SHOWN).collect()));
    }
    let mut whole: Option<Header> = None;
    for (index, part) in paths.iter().enumerate() {
        let number = index as u64;
        let header = read(part, lists)?;
        if (header.number("split.no"), header.number("split.count")) != (Some(number), Some(parts)) {
            return Err(a_foreign_part(part, number + 1, parts).into());
        }
        starts.extend(header.starts.iter().map(|start| (index, *start)));
        match &mut whole {
            None => whole = Some(header),
            Some(whole) => whole.tensors.extend(header.tensors),
        }
        let tensors = whole.as_ref().map_or(0, |whole| whole.tensors.len());
        if tensors > limits::TENSORS {
            return Err(header::too_many_tensors(tensors as u64).at(arrays::place(path)).into());
        }
    }
    let whole = whole.unwrap_or_default();
    complete(&whole).map_err(|fault| fault.at(arrays::place(path)))?;
    Ok(whole)
}

/// Every tensor once, and as many as the first part says there are.
fn complete(whole: &Header) -> Result<(), Fault> {
    if let Some(name) = header::doubled(whole.tensors.iter().map(|tensor| tensor.name.as_str())) {
        return Err(doubled_tensor(name));
    }
    let there = whole.tensors.len() as u64;
    match whole.number("split.tensors.count") {
        Some(stated) if stated != there => Err(Fault::new(
            format!("the parts hold {there} tensors, the first says that there are {stated}"),
            "the parts are not of one file",
            "download all parts of the same revision",
        )),
        _ => Ok(()),
    }
}

/// Where all parts stand, told by the name of one: `…-00001-of-00003.gguf`.
fn paths_of_parts(path: &Path, parts: u64) -> Result<Vec<PathBuf>, Fault> {
    let name = file_name(path);
    match part_of(&name).filter(|part| u64::from(part.of) == parts) {
        Some(part) => {
            let name = |number: u64| format!("{}-{number:05}-of-{parts:05}.{}", part.stem, part.ending);
            Ok((1..=parts).map(|number| path.with_file_name(name(number))).collect())
        }
        None => Err(Fault::new(
            format!("this is one of {parts} parts, and its name does not say where the others are"),
            format!("llama.cpp finds them by names that end in -00001-of-{parts:05}.gguf"),
            "give the parts their own names again",
        )),
    }
}

fn a_missing_part(part: &Path) -> Fault {
    let why = "the file is split, and only all parts together are the model";
    Fault::new("a part of the file is missing", why, "download it into the same folder")
        .at(arrays::place(part))
}

fn a_foreign_part(part: &Path, number: u64, parts: u64) -> Fault {
    Fault::new(
        format!("the header does not say that this is part {number} of {parts}"),
        "its split.no and split.count say something else than its name",
        "download all parts of the same file",
    )
    .at(arrays::place(part))
}

/// What a person should know of the counts of this file.
fn notes(header: &Header, path: &Path) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(name) = header.number("general.file_type").and_then(ggml::file_type) {
        notes.push(format!("Most tensors are stored as {name} (general.file_type)."));
    }
    let kind = header.text("general.type").unwrap_or("model");
    if kind != "model" {
        notes.push(format!("The file calls itself a {kind} (general.type): it is not a whole model."));
    }
    if header.tensors.is_empty() {
        notes.push("The file holds no tensors; such files bring a vocabulary.".to_owned());
    }
    let factors = header.tensors.iter().filter(|tensor| tensor.name.contains("rope_f")).collect::<Vec<_>>();
    let numbers = factors.iter().fold(0_u64, |sum, tensor| sum.saturating_add(tensor.count));
    if numbers > 0 {
        notes.push(format!(
            "{} with {numbers} numbers {} factors of the rotary positions, which are computed, not learned.",
            counted(factors.len(), "tensor"),
            if factors.len() == 1 { "holds" } else { "hold" }
        ));
    }
    if let Some(part) = part_of(&file_name(path)).filter(|_| header.number("split.count").is_none()) {
        notes.push(format!(
            "The file's name says part {} of {}, its header does not: it is counted alone.",
            part.number, part.of
        ));
    }
    notes
}
