//! One `.gguf` file, or the parts of a split one, as llama.cpp reads it: tensors, config and tokenizer together.
//!
//! ```text
//! metadata ── config ──> what config.json would say ─┐
//! tensors ── names, arrangement ──> the tensors that  ├─ architecture ──> Blueprint
//!                                   the model's own   ─┘
//!                                   code knows; blocks unpacked as rows are asked for
//! vocabulary ──> a tokenizer
//! ```
//!
//! The header is read by [`params::weights`](crate::params::weights), which compares every length with the file's
//! before it takes memory; candle unpacks the blocks.

mod arrangement;
mod blocks;
mod config;
mod metadata;
mod names;
#[cfg(test)]
mod tests;
mod vocabulary;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::Checkpoint;
use crate::arrays;
use crate::fault::{Fault, Faults, Outcome, reason};
use crate::limits::READ_NUMBERS;
use crate::model::{Model, architecture};
use crate::params::weights::gguf::{Gguf as Contents, open_holding};
use crate::params::weights::{GgmlType, StoredTensor};
use arrangement::Arrangement;
use blocks::{Buffer, Storage};
use metadata::Metadata;
use names::{Converted, Family, Part};

/// Opens a model that stands in one `.gguf` file, or in the parts of one.
///
/// # Errors
/// The file is missing, damaged, cut short or contradicts itself; it is of a family or of a type of numbers that is not
/// read; its config does not fit its tensors.
pub fn open(path: &Path) -> Outcome<Model> {
    let source = path.display().to_string();
    let contents = open_holding(path, &vocabulary::LISTS)?;
    read(path, &contents).map_err(|faults| faults.in_source(&source))
}

fn read(path: &Path, contents: &Contents) -> Outcome<Model> {
    if contents.big_endian {
        let why = "its numbers have their most significant byte first";
        let remedy = "convert the model again without --big-endian";
        return Err(Fault::new("the file is made for big-endian machines", why, remedy).into());
    }
    let metadata = Metadata::of(&contents.file)?;
    let Some(family) = Family::named(metadata.architecture()) else {
        let supported = names::FAMILIES.each_ref().map(|family| family.architecture).join(", ");
        let what = format!("the file holds a model of architecture {}", metadata.architecture());
        return Err(Fault::new(what, format!("supported are {supported}"), "choose another model").into());
    };
    let checkpoint = Arc::new(Gguf::new(contents, family, &metadata)?);
    let config = config::config(&metadata, family, &checkpoint)?;
    let blueprint = architecture::blueprint(&config, &*checkpoint).map_err(of_metadata)?;
    let tokens = vocabulary::tokenizer(&metadata, &contents.lists, &path.display().to_string())?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Model { name, blueprint, checkpoint, tokens })
}

/// Faults of a config that was made of the metadata: there is no config.json to point at, only its key.
fn of_metadata(faults: Faults) -> Faults {
    let placed = |mut fault: Fault| {
        if let Some(place) = fault.place.as_mut().filter(|place| place.source == "config.json") {
            place.source.clear();
        }
        fault
    };
    Faults(faults.0.into_iter().map(placed).collect())
}

/// The tensors of a file that stays open, under the names of a Hugging Face checkpoint.
struct Gguf {
    path: PathBuf,
    parts: Vec<Mutex<File>>,
    shapes: BTreeMap<String, Vec<usize>>,
    places: BTreeMap<String, Tensor>,
    /// Tensors that are no weights of the model, by their names in the file: factors of rotary angles.
    beside: BTreeMap<String, Tensor>,
}

/// Where a tensor stands, and what becomes of it.
struct Tensor {
    part: usize,
    start: u64,
    ggml: &'static GgmlType,
    /// Its shape in the file, the slowest axis first.
    shape: Vec<usize>,
    arrangement: Arrangement,
}

impl Gguf {
    fn new(contents: &Contents, family: &Family, metadata: &Metadata<'_>) -> Outcome<Self> {
        let mut parts = Vec::new();
        for part in &contents.parts {
            parts.push(Mutex::new(arrays::open(part)?.file));
        }
        let mut this = Self {
            path: contents.file.path.clone(),
            parts,
            shapes: BTreeMap::new(),
            places: BTreeMap::new(),
            beside: BTreeMap::new(),
        };
        for (stored, (part, start)) in contents.file.tensors.iter().zip(&contents.starts) {
            let tensor = |arrangement| Tensor::of(stored, *part, *start, arrangement);
            match family.part(&stored.name) {
                Part::Beside => {
                    this.beside.insert(stored.name.clone(), tensor(Arrangement::Same)?);
                }
                Part::Weight(name) => {
                    let tensor = tensor(arrangement_of(stored, family, metadata)?)?;
                    let mut shape = tensor.shape.clone();
                    if tensor.arrangement == Arrangement::Transposed {
                        shape.reverse();
                    }
                    this.shapes.insert(name.clone(), shape);
                    this.places.insert(name, tensor);
                }
                Part::Unknown => {
                    let what = format!(
                        "the tensor {} is no part of a {} that is known",
                        stored.name, family.architecture
                    );
                    let why = "a model computed without it would be another one";
                    return Err(Fault::new(what, why, "choose another model").into());
                }
            }
        }
        Ok(this)
    }

    /// All numbers of a tensor that is no weight, where the file has it.
    fn beside(&self, name: &str) -> Outcome<Option<Vec<f32>>> {
        let Some(tensor) = self.beside.get(name) else { return Ok(None) };
        self.unpacked(name, tensor, 0..tensor.rows()).map(Some)
    }

    /// Rows as they stand in the file.
    fn unpacked(&self, name: &str, tensor: &Tensor, rows: Range<usize>) -> Outcome<Vec<f32>> {
        let refused = |what: String, why: String, remedy: &str| {
            Err(Fault::new(what, why, remedy).in_source(self.source()).into())
        };
        let ggml = tensor.ggml;
        let Some(storage) = Storage::named(ggml.name) else {
            let why = format!("read are {}", Storage::names());
            return refused(
                format!("the tensor {name} is stored as {}", ggml.name),
                why,
                "name a file of the same model in one of these types",
            );
        };
        let count = (rows.end - rows.start).saturating_mul(tensor.width());
        if count > READ_NUMBERS {
            let why = format!("at most {READ_NUMBERS} are unpacked at once");
            return refused(
                format!("{count} numbers of the tensor {name} are asked for"),
                why,
                "choose a smaller model",
            );
        }
        let (block, size) = (ggml.elements as usize, ggml.bytes as usize);
        let at_once = (BYTES_AT_ONCE / size).clamp(1, (count / block).max(1));
        let mut buffer = Buffer::new(at_once * size);
        let mut numbers = Vec::with_capacity(count);
        let skipped = (rows.start * tensor.width() / block * size) as u64;
        let part = &self.parts[tensor.part];
        let mut file = part.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut left = count / block;
        let failed = |error: &std::io::Error| {
            let what = format!("the tensor {name} cannot be read");
            Fault::new(what, reason(error), "copy the file, and try with the copy").in_source(self.source())
        };
        file.seek(SeekFrom::Start(tensor.start + skipped)).map_err(|error| failed(&error))?;
        while left > 0 {
            let blocks = left.min(at_once);
            let bytes = buffer.first(blocks * size);
            file.read_exact(bytes).map_err(|error| failed(&error))?;
            if storage.unpack(bytes, blocks * block, &mut numbers).is_none() {
                return refused(
                    format!("the tensor {name} cannot be unpacked from {}", ggml.name),
                    "its blocks are damaged".to_owned(),
                    "download the file again",
                );
            }
            left -= blocks;
        }
        Ok(numbers)
    }
}

/// Bytes that are read and unpacked at once, so that they stay in the processor's cache.
const BYTES_AT_ONCE: usize = 256 << 10;

impl Tensor {
    fn of(stored: &StoredTensor, part: usize, start: u64, arrangement: Arrangement) -> Result<Self, Fault> {
        let too_large = || {
            let what = format!("the tensor {} is too large for this machine", stored.name);
            Fault::new(what, "its sides do not fit the machine's addresses", "choose a smaller model")
        };
        let axes = stored.shape.iter().map(|axis| usize::try_from(*axis).ok()).collect::<Option<_>>();
        let ggml = GgmlType::of_name(&stored.dtype).ok_or_else(too_large)?;
        Ok(Self { part, start, ggml, shape: axes.ok_or_else(too_large)?, arrangement })
    }

    /// Numbers of a row; a tensor with one axis is one row.
    fn width(&self) -> usize {
        match self.shape.as_slice() {
            [_, rest @ ..] if !rest.is_empty() => rest.iter().product(),
            _ => self.shape.first().copied().unwrap_or(1),
        }
    }

    /// Rows in the file; a tensor with one axis is one row.
    fn rows(&self) -> usize {
        if self.shape.len() > 1 { self.shape[0] } else { 1 }
    }
}

/// How a tensor is put right again after the converter.
fn arrangement_of(stored: &StoredTensor, family: &Family, metadata: &Metadata<'_>) -> Outcome<Arrangement> {
    let name = stored.name.as_str();
    let rows = stored.shape.first().copied().unwrap_or(0);
    // Rows of one of so many heads, where that comes out even and a half of it too.
    let head = |heads: u64, parts: u64, multiple: u64| -> Outcome<usize> {
        let head = rows / heads.saturating_mul(parts).max(1);
        if heads == 0 || rows % heads.saturating_mul(parts) != 0 || !head.is_multiple_of(multiple) {
            let what = format!("the tensor {name} has {rows} rows, and there are {heads} heads");
            return Err(Fault::new(what, "each head has as many of them", "download the file again").into());
        }
        Ok(head as usize)
    };
    let is = |middle: &str| name.contains(middle);
    Ok(match family.converted {
        Converted::Interleaved if is(".attn_q.") => {
            Arrangement::Halves { head: head(metadata.heads()?, 1, 2)? }
        }
        Converted::Interleaved if is(".attn_k.") => {
            Arrangement::Halves { head: head(metadata.kv_heads()?, 1, 2)? }
        }
        Converted::NormsPlusOne if name.ends_with("norm.weight") => Arrangement::LessOne,
        Converted::Transposed
            if [".attn_qkv.weight", ".attn_output.weight", ".ffn_up.weight", ".ffn_down.weight"]
                .iter()
                .any(|end| name.ends_with(end)) =>
        {
            Arrangement::Transposed
        }
        Converted::Unpacked if is(".attn_qkv.") => {
            let heads = metadata.heads()?;
            Arrangement::HeadByHead { heads: heads as usize, head: head(heads, 3, 1)? }
        }
        _ => Arrangement::Same,
    })
}

impl Checkpoint for Gguf {
    fn tensors(&self) -> &BTreeMap<String, Vec<usize>> {
        &self.shapes
    }

    fn stored_as(&self, name: &str) -> Option<String> {
        self.places.get(name).map(|tensor| tensor.ggml.name.to_owned())
    }

    fn rows(&self, name: &str, rows: Range<usize>) -> Outcome<Vec<f32>> {
        let shape = self.shape(name)?;
        let all = shape.first().copied().unwrap_or(1);
        if rows.start > rows.end || rows.end > all {
            let what =
                format!("rows {} to {} of {name} are asked for, which has {all}", rows.start + 1, rows.end);
            return Err(Fault::new(what, "", "").in_source(self.source()).into());
        }
        let tensor = &self.places[name];
        let arrangement = tensor.arrangement;
        if shape.len() < 2 {
            let numbers = self.unpacked(name, tensor, 0..1)?;
            return Ok(rows.map(|row| arrangement.value(numbers[arrangement.stored_row(row)])).collect());
        }
        let width = tensor.width();
        match arrangement {
            Arrangement::Same => self.unpacked(name, tensor, rows),
            Arrangement::Transposed => {
                let numbers = self.unpacked(name, tensor, 0..tensor.rows())?;
                let columns = tensor.rows();
                let cell = |row: usize, column: usize| numbers[column * width + row];
                Ok(rows
                    .flat_map(|row| (0..columns).map(move |column| (row, column)))
                    .map(|(r, c)| cell(r, c))
                    .collect())
            }
            Arrangement::LessOne | Arrangement::Halves { .. } | Arrangement::HeadByHead { .. } => {
                let stored = arrangement.stored_rows(rows.clone());
                let numbers = self.unpacked(name, tensor, stored.clone())?;
                let mut arranged = Vec::with_capacity(rows.len() * width);
                for row in rows {
                    let at = (arrangement.stored_row(row) - stored.start) * width;
                    arranged.extend(numbers[at..at + width].iter().map(|number| arrangement.value(*number)));
                }
                Ok(arranged)
            }
        }
    }

    fn source(&self) -> String {
        self.path.display().to_string()
    }
}
