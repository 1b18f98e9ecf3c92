//! Where a model's tensors stand: one kind of file a module.

pub mod gguf;
pub mod memory;
pub mod safetensors;

use std::collections::BTreeMap;
use std::ops::Range;

use crate::fault::{Fault, Outcome};

/// Tensors by name, read by rows and as f32, whatever they are stored as.
pub trait Checkpoint: Send + Sync {
    /// Every tensor with its shape, the slowest axis first (as PyTorch prints it).
    fn tensors(&self) -> &BTreeMap<String, Vec<usize>>;

    /// How a tensor is stored, as the file names it (`F32`, `BF16`, `Q4_K`).
    fn stored_as(&self, name: &str) -> Option<String>;

    /// Some rows of a tensor along its first axis, one after the other; a tensor with one axis has a row a number.
    ///
    /// # Errors
    /// There is no such tensor or no such rows; the file cannot be read or is of a type that is not.
    fn rows(&self, name: &str, rows: Range<usize>) -> Outcome<Vec<f32>>;

    /// What the file is called in faults.
    fn source(&self) -> String;

    /// The shape of a tensor.
    ///
    /// # Errors
    /// There is no such tensor: with the nearest name.
    fn shape(&self, name: &str) -> Outcome<&[usize]> {
        match self.tensors().get(name) {
            Some(shape) => Ok(shape),
            None => {
                let near = crate::fault::nearest(name, self.tensors().keys().map(String::as_str));
                let remedy = match near {
                    Some(near) => format!("the nearest that there is: {near}"),
                    None => "download the weights that belong to this config.json".to_owned(),
                };
                let why = "the config.json describes a model that has it";
                Err(Fault::new(format!("there is no tensor {name}"), why, remedy)
                    .in_source(self.source())
                    .into())
            }
        }
    }
}
