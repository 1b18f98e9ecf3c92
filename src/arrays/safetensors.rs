//! `.safetensors`: named tensors, as checkpoints hold them. A JSON header says where in the file each stands.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use ::safetensors::tensor::{Dtype, Metadata, SafeTensorError, TensorInfo};
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};

use super::file::{self, AGAIN, Opened, failed_read};
use super::numbers::{self, FirstByte, Stored};
use super::{Array, array, choose, doubled, doubled_name, within_memory};
use crate::fault::{Fault, Outcome, no_json};
use crate::limits;

pub(super) fn read(path: &Path, name: Option<&str>) -> Outcome<Array> {
    let mut checkpoint = Checkpoint::open(path)?;
    let names: Vec<&str> = checkpoint.tensors.iter().map(|(name, _)| name.as_str()).collect();
    let chosen = choose(&names, name, file::place(path))?;
    checkpoint.array(chosen)
}

pub(super) fn shape(path: &Path, name: Option<&str>) -> Outcome<Vec<usize>> {
    let checkpoint = Checkpoint::open(path)?;
    let names: Vec<&str> = checkpoint.tensors.iter().map(|(name, _)| name.as_str()).collect();
    let chosen = choose(&names, name, file::place(path))?;
    Ok(checkpoint.tensors[chosen].1.shape.clone())
}

pub(super) fn read_all(path: &Path) -> Outcome<Vec<(String, Array)>> {
    let mut checkpoint = Checkpoint::open(path)?;
    let shapes: Vec<Vec<usize>> = checkpoint.tensors.iter().map(|(_, info)| info.shape.clone()).collect();
    within_memory(&shapes, || file::place(path))?;
    (0..checkpoint.tensors.len())
        .map(|chosen| Ok((checkpoint.tensors[chosen].0.clone(), checkpoint.array(chosen)?)))
        .collect()
}

pub(super) fn list(path: &Path) -> Outcome<Vec<(String, Vec<usize>)>> {
    Ok(Checkpoint::open(path)?.tensors.into_iter().map(|(name, info)| (name, info.shape)).collect())
}

/// What a file's header says of its tensors, of types that cannot be read as well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// In the order of their bytes.
    pub tensors: Vec<Described>,
    /// What the writer of the file said of it (`format`: `pt`), by key.
    pub metadata: Vec<(String, String)>,
}

/// One tensor as the header describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    /// Its name in the checkpoint.
    pub name: String,
    /// Numbers along each axis; none for a single number.
    pub shape: Vec<usize>,
    /// The type as the file names it (`BF16`, `F8_E4M3`).
    pub dtype: String,
    /// Where in the file its first byte stands.
    pub start: u64,
    /// Bytes in the file: as many as shape and type ask for.
    pub bytes: u64,
}

/// The header of a file; no tensor is read.
///
/// # Errors
/// Where the file is missing or its header damaged, or where the tensors do not fill the rest of the file.
pub fn contents(path: &Path) -> Outcome<Contents> {
    let Checkpoint { tensors, metadata, data_start, .. } = Checkpoint::open(path)?;
    let tensors = tensors.into_iter().map(|(name, info)| Described {
        name,
        start: data_start + info.data_offsets.0 as u64,
        dtype: info.dtype.to_string(),
        bytes: (info.data_offsets.1 - info.data_offsets.0) as u64,
        shape: info.shape,
    });
    let mut metadata: Vec<(String, String)> = metadata.into_iter().flatten().collect();
    metadata.sort();
    Ok(Contents { tensors: tensors.collect(), metadata })
}

/// An open file whose header has been read and checked; tensors are read one by one.
struct Checkpoint<'a> {
    path: &'a Path,
    file: File,
    /// In the order of their bytes.
    tensors: Vec<(String, TensorInfo)>,
    metadata: Option<HashMap<String, String>>,
    /// Where the first tensor begins.
    data_start: u64,
}

impl<'a> Checkpoint<'a> {
    fn open(path: &'a Path) -> Outcome<Self> {
        let Opened { mut file, bytes } = file::open(path)?;
        let header = header_text(&mut file, bytes).map_err(|fault| fault.at(file::place(path)))?;
        let data_start = 8 + header.len() as u64;
        let Header { metadata, tensors } = checked(&header, bytes.saturating_sub(data_start))
            .map_err(|fault| fault.at(file::place(path)))?;
        Ok(Self { path, file, tensors, metadata, data_start })
    }

    fn array(&mut self, chosen: usize) -> Outcome<Array> {
        let (name, info) = &self.tensors[chosen];
        let start = self.data_start + info.data_offsets.0 as u64;
        Ok(tensor(&mut self.file, start, info)
            .map_err(|fault| fault.at(file::array_place(self.path, name)))?)
    }
}

/// Reads the one tensor whose bytes begin at `start`; its offsets have been compared with its shape.
fn tensor(file: &mut File, start: u64, info: &TensorInfo) -> Result<Array, Fault> {
    let stored = stored(info.dtype)?;
    let count = array::checked_count(&info.shape)?;
    file.seek(SeekFrom::Start(start)).map_err(|error| failed_read(&error))?;
    let data = numbers::read(BufReader::new(file), count, stored, FirstByte::Lowest)?;
    Array::new(info.shape.clone(), data, stored.kind())
}

/// The header: its length in 8 bytes, then so many bytes of JSON.
fn header_text(file: &mut File, bytes: u64) -> Result<Vec<u8>, Fault> {
    let mut length = [0; 8];
    file.read_exact(&mut length).map_err(|_| not_safetensors(format!("it is only {bytes} bytes long")))?;
    let length = u64::from_le_bytes(length);
    if length > bytes.saturating_sub(8) {
        return Err(not_safetensors(format!("its header would be {length} bytes long, the file is {bytes}")));
    }
    if length > limits::SAFETENSORS_HEADER_BYTES {
        return Err(Fault::new(
            format!("the header is {} MiB long", length.div_ceil(1 << 20)),
            format!("headers are read up to {} MiB", limits::SAFETENSORS_HEADER_BYTES >> 20),
            "save the tensors that are needed in a file of their own",
        ));
    }
    let mut header = Vec::new();
    file.take(length).read_to_end(&mut header).map_err(|error| failed_read(&error))?;
    if (header.len() as u64) < length {
        return Err(failed_read(&std::io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(header)
}

/// A header whose tensors, in the order of their bytes, fill `data_bytes` without gap or overlap.
fn checked(header: &[u8], data_bytes: u64) -> Result<Header, Fault> {
    let Header { metadata, mut tensors } = serde_json::from_slice(header)
        .map_err(|error| not_safetensors(format!("its header is broken: {}", no_json(&error))))?;
    if tensors.len() > limits::TENSORS {
        return Err(Fault::new(
            format!("the header names more than {} tensors", limits::TENSORS),
            "no model needs so many",
            "save the tensors that are needed in a file of their own",
        ));
    }
    if let Some((name, info)) = tensors.iter().find(|(_, info)| info.shape.len() > limits::AXES) {
        return Err(Fault::new(
            format!("tensor {name} has {} axes", info.shape.len()),
            format!("at most {} axes are read", limits::AXES),
            "merge axes before saving (`reshape` in PyTorch)",
        ));
    }
    if let Some(name) = doubled(tensors.iter().map(|(name, _)| name.as_str())) {
        return Err(doubled_name(name));
    }
    tensors.sort_by_key(|(_, info)| info.data_offsets);
    let described = tensors.last().map_or(0, |(_, info)| info.data_offsets.1 as u64);
    Metadata::new(None, tensors.clone()).map_err(|error| lies(&error))?;
    if described != data_bytes {
        return Err(wrong_length(described, data_bytes));
    }
    Ok(Header { metadata, tensors })
}

/// The header as it stands: a map type would silently keep the last of two tensors with one name.
struct Header {
    metadata: Option<HashMap<String, String>>,
    tensors: Vec<(String, TensorInfo)>,
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(HeaderVisitor)
    }
}

struct HeaderVisitor;

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = Header;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object that names tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Header, A::Error> {
        let mut header = Header { metadata: None, tensors: Vec::new() };
        while let Some(name) = map.next_key::<String>()? {
            if name == "__metadata__" {
                if header.metadata.replace(map.next_value()?).is_some() {
                    return Err(A::Error::custom("__metadata__ stands twice"));
                }
            } else {
                header.tensors.push((name, map.next_value()?));
                if header.tensors.len() > limits::TENSORS {
                    // The rest is left unread; `checked` words the fault.
                    while map.next_entry::<serde::de::IgnoredAny, serde::de::IgnoredAny>()?.is_some() {}
                }
            }
        }
        Ok(header)
    }
}

fn stored(dtype: Dtype) -> Result<Stored, Fault> {
    Ok(match dtype {
        Dtype::BOOL => Stored::Bool,
        Dtype::I8 => Stored::Signed(1),
        Dtype::I16 => Stored::Signed(2),
        Dtype::I32 => Stored::Signed(4),
        Dtype::I64 => Stored::Signed(8),
        Dtype::U8 => Stored::Unsigned(1),
        Dtype::U16 => Stored::Unsigned(2),
        Dtype::U32 => Stored::Unsigned(4),
        Dtype::U64 => Stored::Unsigned(8),
        Dtype::F16 => Stored::F16,
        Dtype::BF16 => Stored::Bf16,
        Dtype::F32 => Stored::F32,
        Dtype::F64 => Stored::F64,
        other => {
            return Err(Fault::new(
                format!("the tensor is of type {other}"),
                "read are BOOL, I8 to I64, U8 to U64, F16, BF16, F32 and F64",
                "convert it before saving: `tensor.to(torch.float32)`; quantised weights need their scales",
            ));
        }
    })
}

fn not_safetensors(reason: String) -> Fault {
    Fault::new("this is not a safetensors file, or only a part of one", reason, AGAIN)
}

fn lies(error: &SafeTensorError) -> Fault {
    let what = match error {
        SafeTensorError::InvalidOffset(name) => {
            format!("tensor {name} does not begin where the one before it ends")
        }
        SafeTensorError::TensorInvalidInfo => "a tensor's shape does not fit its bytes".to_owned(),
        SafeTensorError::ValidationOverflow => "a tensor's shape is larger than any memory".to_owned(),
        other => format!("the header cannot be right: {other}"),
    };
    Fault::new(what, "tensors stand one after the other, each as long as its shape and type say", AGAIN)
}

fn wrong_length(described: u64, there: u64) -> Fault {
    let why = if described > there {
        "the file was cut short on its way, or is still being written"
    } else {
        "something was appended to the file"
    };
    Fault::new(format!("the tensors take {described} bytes, but {there} follow the header"), why, AGAIN)
}
