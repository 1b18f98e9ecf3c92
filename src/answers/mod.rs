//! A person's own tensors in, by the names of the steps.
//!
//! ```text
//! files ──> read (arrays by name) ──> names (theirs into ours) ──> gather (heads into stacks) ──> Answers
//!                                                    layout: the ways in which one of them can be read
//!                                                    grain: how finely its numbers are told
//! ```
//!
//! Nothing here knows what is right: a tensor of an unexpected shape, or full of NaN, is an answer like any other.

mod claim;
mod files;
mod gather;
mod grain;
mod grid;
mod layers;
mod layout;
#[cfg(test)]
mod layout_tests;
mod names;
mod sheet;
#[cfg(test)]
mod tests;
mod told;

use std::path::PathBuf;

pub use grain::Grain;
pub use layers::{Known, Layered, Placed, read_layers};
pub use layout::{Expected, Layout, Plain, Reading, each_reading, plain, readings};

use crate::arrays::Array;
use crate::fault::{Fault, Faults, Outcome};
use crate::limits;
use crate::plan::{Name, Stack};

/// The steps that can be handed over, in the order of the computation.
pub const ORDER: &[Name] = &[
    Name::Q,
    Name::K,
    Name::V,
    Name::QNorm,
    Name::KNorm,
    Name::Stack(Stack::QHeads),
    Name::Stack(Stack::KHeads),
    Name::Stack(Stack::VHeads),
    Name::Stack(Stack::QNorm),
    Name::Stack(Stack::KNorm),
    Name::Stack(Stack::QRot),
    Name::Stack(Stack::KRot),
    Name::Stack(Stack::Scores),
    Name::Stack(Stack::CappedScores),
    Name::Stack(Stack::BiasedScores),
    Name::Stack(Stack::MaskedScores),
    Name::Stack(Stack::Weights),
    Name::Stack(Stack::Heads),
    Name::Concat,
    Name::Output,
];

/// One tensor that was handed over, under the step that it claims to hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// The step, one of [`ORDER`].
    pub name: Name,
    /// What the person called it: the name in the file, or the file's where it names none.
    pub called: String,
    /// The file, as the person named it.
    pub file: String,
    /// The numbers as they stand in the file, of whatever shape.
    pub array: Array,
    /// How finely they are told.
    pub grain: Grain,
}

/// Everything that was handed over.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answers {
    /// The steps, in the order of the computation; each at most once.
    pub tensors: Vec<Tensor>,
    /// What was recognised under another name: "attn_weights is taken as weights".
    pub remarks: Vec<String>,
    /// Arrays that are not compared: their name, and why.
    pub left_out: Vec<(String, String)>,
}

/// Reads the steps out of a person's files (.npz, .npy, .safetensors, .json, .yaml, .csv).
///
/// `names` gives arrays, or files that hold one without a name, the names of steps (theirs, ours); `known` are the steps
/// that the lesson has. An array that is no step, or none of this lesson, is left out with a reason; scores after a mask
/// or a bias that the lesson does not have are taken as the scores before it, which they equal.
///
/// # Errors
/// Everything that is wrong at once: files that cannot be read, a step that stands twice, a file whose step nobody
/// knows, `names` that do not fit the files, more numbers than are read from one file; or nothing that is a step.
pub fn read(files: &[PathBuf], names: &[(String, String)], known: &[Name]) -> Outcome<Answers> {
    claim::answers(all_held(files)?, names, known)
}

/// What all files hold.
fn all_held(files: &[PathBuf]) -> Outcome<Vec<files::Held>> {
    let mut held = Vec::new();
    let mut faults = Vec::new();
    let mut numbers = 0_usize;
    for path in files {
        match files::held(path) {
            Ok(file) => {
                numbers = numbers.saturating_add(file.arrays.iter().map(|(_, array)| array.len()).sum());
                held.push(file);
            }
            Err(found) => faults.extend(found.0),
        }
        if numbers > limits::NUMBERS {
            faults.push(too_many().in_source(path.display().to_string()));
            break;
        }
    }
    if faults.is_empty() { Ok(held) } else { Err(Faults(faults)) }
}

fn too_many() -> Fault {
    Fault::new(
        format!("the files hold more than {} numbers", limits::NUMBERS),
        "so many are not held at once",
        "hand over fewer tensors",
    )
}
