//! One `.safetensors` file, or the shards of one checkpoint: only the bytes that are asked for are read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use half::{bf16, f16};

use super::Checkpoint;
use crate::arrays::safetensors::{Described, contents};
use crate::fault::{Fault, Outcome, reason};

/// Tensors in files that stay open.
pub struct Safetensors {
    files: Vec<(PathBuf, Mutex<File>)>,
    shapes: BTreeMap<String, Vec<usize>>,
    places: BTreeMap<String, (usize, Described)>,
}

impl Safetensors {
    /// Opens the files of one checkpoint; of each only its header is read.
    ///
    /// # Errors
    /// A file that is missing or damaged; a tensor that stands in two of them.
    pub fn open(paths: &[PathBuf]) -> Outcome<Self> {
        let mut this = Self { files: Vec::new(), shapes: BTreeMap::new(), places: BTreeMap::new() };
        for path in paths {
            for tensor in contents(path)?.tensors {
                this.shapes.insert(tensor.name.clone(), tensor.shape.clone());
                this.places.insert(tensor.name.clone(), (this.files.len(), tensor));
            }
            let file = File::open(path).map_err(|error| unreadable(path, &error))?;
            this.files.push((path.clone(), Mutex::new(file)));
        }
        Ok(this)
    }
}

impl Checkpoint for Safetensors {
    fn tensors(&self) -> &BTreeMap<String, Vec<usize>> {
        &self.shapes
    }

    fn stored_as(&self, name: &str) -> Option<String> {
        self.places.get(name).map(|(_, tensor)| tensor.dtype.clone())
    }

    fn rows(&self, name: &str, rows: Range<usize>) -> Outcome<Vec<f32>> {
        let shape = self.shape(name)?;
        let (file, tensor) = &self.places[name];
        let (path, file) = &self.files[*file];
        let width: usize = shape.iter().skip(1).product();
        let all = shape.first().copied().unwrap_or(1);
        if rows.start > rows.end || rows.end > all {
            let what = format!("rows {} to {} of {name}, which has {all}", rows.start + 1, rows.end);
            return Err(Fault::new(what, "", "").in_source(self.source()).into());
        }
        let size = match tensor.dtype.as_str() {
            "F32" => 4,
            "F16" | "BF16" => 2,
            "F64" => 8,
            other => {
                let what = format!("tensor {name} is stored as {other}");
                let why = "read are F32, F16, BF16 and F64";
                return Err(Fault::new(what, why, "convert the model to one of these")
                    .in_source(self.source())
                    .into());
            }
        };
        let mut bytes = vec![0; (rows.end - rows.start) * width * size];
        let start = tensor.start + (rows.start * width * size) as u64;
        let mut file = file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.seek(SeekFrom::Start(start)).map_err(|error| unreadable(path, &error))?;
        file.read_exact(&mut bytes).map_err(|error| unreadable(path, &error))?;
        drop(file);
        Ok(match tensor.dtype.as_str() {
            "F32" => numbers(&bytes, f32::from_le_bytes),
            "F16" => numbers(&bytes, |number| f16::from_le_bytes(number).to_f32()),
            "BF16" => numbers(&bytes, |number| bf16::from_le_bytes(number).to_f32()),
            _ => numbers(&bytes, |number| f64::from_le_bytes(number) as f32),
        })
    }

    fn source(&self) -> String {
        self.files.first().map_or_else(String::new, |(path, _)| path.display().to_string())
    }
}

/// Numbers of `SIZE` bytes each.
fn numbers<const SIZE: usize>(bytes: &[u8], number: impl Fn([u8; SIZE]) -> f32) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|bytes| number(*bytes)).collect()
}

fn unreadable(path: &Path, error: &std::io::Error) -> Fault {
    Fault::new(format!("{} cannot be read", path.display()), reason(error), "copy it, and try with the copy")
        .in_source(path.display().to_string())
}
