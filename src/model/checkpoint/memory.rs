//! A `.safetensors` file in memory: the weights of the models inside the binary.

use std::collections::BTreeMap;
use std::ops::Range;

use half::f16;
use safetensors::{Dtype, SafeTensors};

use super::Checkpoint;
use crate::fault::{Fault, Outcome};

/// Tensors in bytes that last as long as the program.
pub struct Memory {
    source: String,
    shapes: BTreeMap<String, Vec<usize>>,
    tensors: SafeTensors<'static>,
}

impl Memory {
    /// Reads the header; of the tensors nothing is copied.
    ///
    /// # Errors
    /// The bytes are no `.safetensors` file.
    pub fn new(bytes: &'static [u8], source: impl Into<String>) -> Outcome<Self> {
        let source = source.into();
        let tensors = SafeTensors::deserialize(bytes).map_err(|error| {
            Fault::new("the weights cannot be read", error.to_string(), "").in_source(source.clone())
        })?;
        let shapes =
            tensors.iter().map(|(name, tensor)| (name.to_owned(), tensor.shape().to_vec())).collect();
        Ok(Self { source, shapes, tensors })
    }
}

impl Checkpoint for Memory {
    fn tensors(&self) -> &BTreeMap<String, Vec<usize>> {
        &self.shapes
    }

    fn stored_as(&self, name: &str) -> Option<String> {
        self.tensors.tensor(name).ok().map(|tensor| tensor.dtype().to_string())
    }

    fn rows(&self, name: &str, rows: Range<usize>) -> Outcome<Vec<f32>> {
        let shape = self.shape(name)?;
        let width: usize = shape.iter().skip(1).product();
        let refused = |what: String, why: String| {
            crate::fault::Faults::from(Fault::new(what, why, "").in_source(self.source()))
        };
        let tensor = self.tensors.tensor(name).map_err(|error| refused(error.to_string(), String::new()))?;
        if tensor.dtype() != Dtype::F16 {
            let what = format!("tensor {name} is stored as {}", tensor.dtype());
            return Err(refused(what, "models inside the binary hold F16".to_owned()));
        }
        let bytes = tensor.data().get(rows.start * width * 2..rows.end * width * 2).ok_or_else(|| {
            let all = shape.first().copied().unwrap_or(1);
            refused(format!("{name} has no rows {} to {}", rows.start + 1, rows.end), format!("it has {all}"))
        })?;
        Ok(bytes.as_chunks().0.iter().map(|bytes| f16::from_le_bytes(*bytes).to_f32()).collect())
    }

    fn source(&self) -> String {
        self.source.clone()
    }
}
