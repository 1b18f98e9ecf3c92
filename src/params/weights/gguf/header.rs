//! The header of a GGUF file: two counts, the metadata, the tensors.

use std::collections::{BTreeMap, HashSet};
use std::io::{Read, Seek};

use super::bytes::Bytes;
use super::value::{self, List};
use crate::arrays::AGAIN;
use crate::fault::{Fault, Place};
use crate::limits;
use crate::params::weights::ggml::GgmlType;
use crate::params::weights::{StoredTensor, doubled_tensor};

/// What a header says.
#[derive(Debug, Default)]
pub(super) struct Header {
    pub(super) metadata: Vec<(String, String)>,
    pub(super) tensors: Vec<StoredTensor>,
    /// Where each tensor's bytes begin in the file.
    pub(super) starts: Vec<u64>,
    /// The lists that were asked for.
    pub(super) lists: BTreeMap<String, List>,
    /// Whether the most significant byte of a number comes first.
    pub(super) big_endian: bool,
}

impl Header {
    /// The metadata under a key.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.metadata.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// The metadata under a key, where it is a whole number.
    pub(super) fn number(&self, key: &str) -> Option<u64> {
        self.text(key)?.parse().ok()
    }
}

/// Reads the header of a file of `length` bytes, and holds the lists under these keys whole; the place of a fault is
/// the path inside the file.
pub(super) fn read<R: Read + Seek>(source: R, length: u64, lists: &[&str]) -> Result<Header, Fault> {
    let mut bytes = Bytes::new(source, length);
    version(&mut bytes)?;
    let tensors = count(&mut bytes, "tensors", 8 + 4 + 8 + 4 + 8, limits::TENSORS as u64)?;
    let entries = count(&mut bytes, "metadata entries", 8 + 4 + 1, limits::GGUF_ENTRIES)?;
    let mut header = Header { big_endian: bytes.big_endian, ..Header::default() };
    (header.metadata, header.lists) = metadata(&mut bytes, entries, lists)?;
    let alignment = alignment(&header)?;

    let mut starts = Vec::new();
    for number in 1..=tensors {
        let (tensor, start) = tensor(&mut bytes, number)?;
        starts.push(start);
        header.tensors.push(tensor);
    }
    if let Some(name) = doubled(header.tensors.iter().map(|tensor| tensor.name.as_str())) {
        return Err(doubled_tensor(name));
    }
    let data_start = bytes.at().next_multiple_of(alignment);
    fits(&header.tensors, &starts, alignment, length.saturating_sub(data_start))?;
    header.starts = starts.into_iter().map(|start| data_start + start).collect();
    Ok(header)
}

/// The first name that stands twice.
pub(super) fn doubled<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut seen = HashSet::new();
    names.into_iter().find(|name| !seen.insert(*name))
}

/// Checks what the file begins with, and learns the order of its bytes from the version.
fn version<R: Read + Seek>(bytes: &mut Bytes<R>) -> Result<(), Fault> {
    let magic = bytes.magic()?;
    if &magic != b"GGUF" {
        let older = [b"lmgg", b"fmgg", b"tjgg", b"algg"].contains(&&magic);
        let why =
            if older { "it is of a format older than GGUF (2023)" } else { "a GGUF file begins with GGUF" };
        return Err(Fault::new(
            "this is not a GGUF file",
            why,
            "convert the model again with a current llama.cpp",
        ));
    }
    let version = bytes.u32()?;
    // Version 3 of a big-endian file is 3 · 2^24 to who reads it the other way round.
    bytes.big_endian = version & 0xffff == 0;
    match if bytes.big_endian { version.swap_bytes() } else { version } {
        2 | 3 => Ok(()),
        other => Err(Fault::new(
            format!("the file is of GGUF version {other}"),
            "versions 2 and 3 are read; version 1 was given up in 2023",
            "convert the model again with a current llama.cpp",
        )),
    }
}

/// A count of things of at least `least` bytes each, which the file is long enough for.
fn count<R: Read + Seek>(bytes: &mut Bytes<R>, things: &str, least: u64, limit: u64) -> Result<u64, Fault> {
    let count = bytes.u64()?;
    if count.checked_mul(least).is_none_or(|all| all > bytes.left()) {
        let why = format!("they take {least} bytes each at least, and {} are left", bytes.left());
        return Err(Fault::new(format!("the header says that {count} {things} follow"), why, AGAIN));
    }
    if count > limit {
        return Err(too_many(count, things, limit));
    }
    Ok(count)
}

/// More tensors than are read.
pub(super) fn too_many_tensors(count: u64) -> Fault {
    too_many(count, "tensors", limits::TENSORS as u64)
}

fn too_many(count: u64, things: &str, limit: u64) -> Fault {
    let why = format!("no model needs so many; up to {limit} are read");
    Fault::new(format!("the header says that {count} {things} follow"), why, "name a file with fewer")
}

/// Entries as text by their keys, and lists that are held whole.
type Metadata = (Vec<(String, String)>, BTreeMap<String, List>);

fn metadata<R: Read + Seek>(bytes: &mut Bytes<R>, entries: u64, hold: &[&str]) -> Result<Metadata, Fault> {
    let mut metadata: Vec<(String, String)> = Vec::new();
    let mut lists = BTreeMap::new();
    let mut held = 0;
    for number in 1..=entries {
        let entry = || inside(format!("metadata entry {number} of {entries}"));
        let key = bytes
            .string("a metadata key", limits::GGUF_KEY_BYTES)
            .and_then(|key| if key.is_empty() { Err(nameless("a metadata key")) } else { Ok(key) })
            .map_err(|fault| fault.at(entry()))?;
        let in_value = |fault: Fault| fault.at(inside(format!("metadata {key}")));
        let value = if hold.contains(&key.as_str()) {
            let list = value::held(bytes).map_err(in_value)?;
            let text = list.described();
            lists.insert(key.clone(), list);
            text
        } else {
            value::read(bytes).map_err(in_value)?
        };
        held += key.len() + value.len();
        if held > limits::METADATA_BYTES {
            let why = format!(
                "at most {} KiB of it are held, lists of tokens not counted",
                limits::METADATA_BYTES >> 10
            );
            return Err(Fault::new("the metadata is too long", why, AGAIN).at(entry()));
        }
        metadata.push((key, value));
    }
    match doubled(metadata.iter().map(|(key, _)| key.as_str())) {
        Some(key) => Err(Fault::new(
            format!("the metadata names {key} twice"),
            "which of them is meant cannot be known",
            "write the file again, each key once",
        )),
        None => Ok((metadata, lists)),
    }
}

fn nameless(what: &str) -> Fault {
    Fault::new(format!("{what} is empty"), "", AGAIN)
}

/// Each tensor begins at a multiple of this many bytes.
fn alignment(header: &Header) -> Result<u64, Fault> {
    const KEY: &str = "general.alignment";
    let Some(stated) = header.text(KEY) else { return Ok(32) };
    match stated.parse::<u32>() {
        Ok(alignment) if alignment.is_power_of_two() => Ok(u64::from(alignment)),
        _ => {
            let fault =
                Fault::new(format!("the alignment is {stated}"), "it is a power of two, usually 32", AGAIN);
            Err(fault.at(inside(format!("metadata {KEY}"))))
        }
    }
}

/// The next tensor, and where its bytes begin after the header.
fn tensor<R: Read + Seek>(bytes: &mut Bytes<R>, number: u64) -> Result<(StoredTensor, u64), Fault> {
    let name = bytes
        .string("a tensor's name", limits::GGUF_NAME_BYTES)
        .and_then(|name| if name.is_empty() { Err(nameless("a tensor's name")) } else { Ok(name) })
        .map_err(|fault| fault.at(inside(format!("tensor {number}"))))?;
    described(bytes, &name).map_err(|fault| fault.at(in_tensor(&name)))
}

fn described<R: Read + Seek>(bytes: &mut Bytes<R>, name: &str) -> Result<(StoredTensor, u64), Fault> {
    let axes = bytes.u32()?;
    if !(1..=4).contains(&axes) {
        return Err(Fault::new(format!("the tensor has {axes} axes"), "a tensor of ggml has 1 to 4", AGAIN));
    }
    // ggml writes the fastest axis first: the length of a row, then the number of rows.
    let mut shape: Vec<u64> = (0..axes).map(|_| bytes.u64()).collect::<Result<_, _>>()?;
    let id = bytes.u32()?;
    let start = bytes.u64()?;

    let ggml = GgmlType::of_id(id).ok_or_else(|| unknown_type(id))?;
    let row = shape.first().copied().unwrap_or_default();
    let (count, stored) = size(&shape, ggml).ok_or_else(|| impossible(&shape, ggml))?;
    if row % ggml.elements != 0 {
        return Err(Fault::new(
            format!("a row has {row} numbers, and {} stores blocks of {}", ggml.name, ggml.elements),
            "a row is a whole number of blocks",
            AGAIN,
        ));
    }
    shape.reverse();
    let dtype = ggml.name.to_owned();
    Ok((StoredTensor { name: name.to_owned(), shape, count, dtype, bytes: stored }, start))
}

/// Numbers and bytes of a tensor; none where an axis is 0, or either is more than a file can hold (2^63).
fn size(shape: &[u64], ggml: &GgmlType) -> Option<(u64, u64)> {
    let count = shape.iter().try_fold(1_u64, |product, axis| product.checked_mul(*axis))?;
    let bytes = (count / ggml.elements).checked_mul(ggml.bytes)?;
    let possible = 1..=i64::MAX as u64;
    (possible.contains(&count) && bytes <= i64::MAX as u64).then_some((count, bytes))
}

fn impossible(shape: &[u64], ggml: &GgmlType) -> Fault {
    let sizes = shape.iter().map(u64::to_string).collect::<Vec<_>>().join(" × ");
    let why = if shape.contains(&0) { "an axis is 0 long" } else { "that is more than any file can hold" };
    Fault::new(format!("the tensor is {sizes} numbers of {}", ggml.name), why, AGAIN)
}

fn unknown_type(id: u32) -> Fault {
    let what = format!("the tensor is of ggml's type {id}");
    match id {
        4 | 5 | 36..=38 => Fault::new(
            what,
            "ggml has given this type up",
            "convert the model again with a current llama.cpp",
        ),
        _ => Fault::new(
            what,
            "no such type is known: the file is damaged, from a fork of llama.cpp, or newer than this program",
            "name a file in a common type such as Q4_K or F16",
        ),
    }
}

/// The tensors stand in the file one after the other.
fn fits(tensors: &[StoredTensor], starts: &[u64], alignment: u64, data_bytes: u64) -> Result<(), Fault> {
    let mut in_order: Vec<(u64, &StoredTensor)> = starts.iter().copied().zip(tensors).collect();
    in_order.sort_by_key(|(start, _)| *start);
    let mut free = 0;
    for (start, tensor) in in_order {
        let fault = |what: String, why: &str| Err(Fault::new(what, why, AGAIN).at(in_tensor(&tensor.name)));
        if start % alignment != 0 {
            return fault(
                format!("the tensor begins at byte {start} of the data"),
                "it is no multiple of the alignment",
            );
        }
        if start < free {
            return fault(
                format!("the tensor begins at byte {start} of the data, inside the one before it"),
                "tensors stand one after the other, each as long as its shape and type say",
            );
        }
        free = match start.checked_add(tensor.bytes) {
            Some(end) if end <= data_bytes => end,
            _ => {
                return fault(
                    format!(
                        "the tensor takes {} bytes from byte {start} of the data, but only {data_bytes} follow the header",
                        tensor.bytes
                    ),
                    "the file was cut short on its way, or is still being written",
                );
            }
        };
    }
    Ok(())
}

fn in_tensor(name: &str) -> Place {
    inside(format!("tensor {name}"))
}

fn inside(path: String) -> Place {
    Place { path, ..Place::default() }
}
