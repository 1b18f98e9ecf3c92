//! One `.safetensors` file, counted from its header.

use std::path::Path;

use super::{Kind, StoredTensor, WeightFile, clipped, packed};
use crate::arrays;
use crate::arrays::safetensors::{Described, contents};
use crate::fault::{Fault, Outcome};
use crate::limits;

/// All tensors of one file.
pub(super) fn open(path: &Path) -> Outcome<WeightFile> {
    let contents = contents(path)?;
    if contents.tensors.is_empty() {
        let fault = Fault::new("the file holds no tensors", "", "name the file that holds the weights");
        return Err(fault.at(arrays::place(path)).into());
    }
    let tensors =
        contents.tensors.into_iter().map(|tensor| stored(tensor, path)).collect::<Result<Vec<_>, _>>()?;
    let (packed, notes) = packed::found_in(&tensors);
    Ok(WeightFile {
        kind: Kind::Safetensors,
        path: path.to_owned(),
        tensors,
        metadata: short(contents.metadata),
        packed,
        notes,
    })
}

/// The tensor with its numbers counted.
pub(super) fn stored(tensor: Described, path: &Path) -> Result<StoredTensor, Fault> {
    let Described { name, shape, dtype, bytes, .. } = tensor;
    let shape: Vec<u64> = shape.into_iter().map(|axis| axis as u64).collect();
    // The reader has multiplied them already; a product that is asked for again is checked again.
    let count =
        shape.iter().try_fold(1_u64, |product, axis| product.checked_mul(*axis)).ok_or_else(|| {
            Fault::new(format!("tensor {name} is larger than any memory"), "", arrays::AGAIN)
                .at(arrays::place(path))
        })?;
    Ok(StoredTensor { name, shape, count, dtype, bytes })
}

/// Metadata with its values clipped, as far as [`limits::METADATA_BYTES`] go.
fn short(metadata: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut held = 0;
    metadata
        .into_iter()
        .map(|(key, value)| (clipped(&key), clipped(&value)))
        .take_while(|(key, value)| {
            held += key.len() + value.len();
            held <= limits::METADATA_BYTES
        })
        .collect()
}
