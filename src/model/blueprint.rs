//! What an architecture makes of a config: layers, and which tensor each of their matrices is.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use nalgebra::DMatrix;

use super::Checkpoint;
use super::readout::Readout;
use crate::fault::{Fault, Outcome};
use crate::ops::{RopeScaling, Shape};
use crate::plan::spec::{Positions, RopeSpec};
use crate::plan::{Layers, StepId};

/// A model's layers, and which tensor each of their matrices is.
#[derive(Debug, Clone)]
pub struct Blueprint {
    /// The family as people call it: `BERT`, `Llama`.
    pub family: &'static str,
    /// The layers of a text of no length: rotary positions are empty until the text is known ([`Blueprint::layers`]).
    pub layers: Layers,
    /// Where the rows of the embedding stand.
    pub embeddings: Embeddings,
    /// The tensor of every learned matrix, by the name of its step (`layer.1.w_q`).
    pub matrices: BTreeMap<StepId, Stored>,
    /// The language head; `None` where the checkpoint has none.
    pub readout: Option<Readout>,
    /// Tokens that a text may have at most, where positions are learned or the config sets a limit.
    pub most_tokens: Option<usize>,
    /// Whether a query sees only what stands before it.
    pub is_causal: bool,
    /// What long texts do to the rotary positions of a layer (from 0), where they do something.
    pub stretch: BTreeMap<usize, Stretch>,
}

/// What a text longer than those that a model was first trained on does to its rotary positions.
#[derive(Debug, Clone, PartialEq)]
pub enum Stretch {
    /// Beyond so many tokens pairs turn at other frequencies (LongRoPE: Ding et al. 2024).
    Beyond {
        /// The last length to which nothing changes.
        tokens: usize,
        /// What then takes the place of the layer's own frequencies.
        scaling: RopeScaling,
    },
    /// Beyond so many tokens the base grows with every further one (`dynamic` in transformers): in a text of n tokens it
    /// is theta · (factor · n / tokens − factor + 1)^(dims / (dims − 2)).
    Growing {
        /// The last length to which nothing changes.
        tokens: usize,
        /// How quickly the base grows.
        factor: f64,
    },
}

impl Stretch {
    /// The frequencies in a text of so many tokens, where they are others.
    fn scaling(&self, rope: &RopeSpec, length: usize) -> Option<RopeScaling> {
        match self {
            Self::Beyond { tokens, scaling } => (length > *tokens).then(|| scaling.clone()),
            Self::Growing { tokens, factor } => (length > *tokens).then(|| {
                let dims = rope.dims as f64;
                let grown = factor * length as f64 / *tokens as f64 - (factor - 1.0);
                let theta = rope.theta * libm::pow(grown, dims / (dims - 2.0));
                let frequency = |pair| libm::pow(theta, -2.0 * pair as f64 / dims);
                RopeScaling { frequencies: (0..rope.dims / 2).map(frequency).collect(), factor: 1.0 }
            }),
        }
    }

    /// Tokens that the stretched model reads, where this says more about it than its config's own limit.
    pub fn most_tokens(&self) -> Option<usize> {
        match self {
            Self::Beyond { .. } => None,
            Self::Growing { tokens, factor } => Some((*tokens as f64 * factor.max(1.0)) as usize),
        }
    }
}

/// Where the rows of the embedding stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Embeddings {
    /// The tensor of the vocabulary (vocabulary × d_model).
    pub tokens: String,
    /// The tensor of the positions, and the row of the first one (RoBERTa: 2).
    pub positions: Option<(String, usize)>,
    /// The token that takes no position of its own, but the row before the first (RoBERTa's padding).
    pub padding: Option<u32>,
    /// The tensor of the segments.
    pub segments: Option<String>,
}

impl Embeddings {
    /// The tensor of the positions, and the row of each token.
    pub fn position_rows(&self, ids: &[u32]) -> Option<(&str, Vec<usize>)> {
        let (tensor, first) = self.positions.as_ref()?;
        let mut next = *first;
        let row = |id: &u32| {
            if self.padding == Some(*id) {
                return first.saturating_sub(1);
            }
            next += 1;
            next - 1
        };
        Some((tensor, ids.iter().map(row).collect()))
    }
}

/// How a learned matrix stands in a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stored {
    /// Outputs in rows (out × in), as PyTorch's `nn.Linear` has it; these rows one after the other, all where it is `None`.
    Linear {
        /// The tensor.
        tensor: String,
        /// Which outputs.
        outputs: Option<Vec<Range<usize>>>,
    },
    /// Inputs in rows (in × out), as GPT-2 has it; these columns one after the other, all where it is `None`.
    Conv {
        /// The tensor.
        tensor: String,
        /// Which outputs.
        outputs: Option<Vec<Range<usize>>>,
    },
    /// A bias: these numbers of a tensor with one axis, all where it is `None`.
    Bias {
        /// The tensor.
        tensor: String,
        /// Which outputs.
        outputs: Option<Vec<Range<usize>>>,
    },
}

impl Stored {
    /// All of an `nn.Linear`'s weight.
    pub fn linear(tensor: impl Into<String>) -> Self {
        Self::Linear { tensor: tensor.into(), outputs: None }
    }

    /// All of a bias.
    pub fn bias(tensor: impl Into<String>) -> Self {
        Self::Bias { tensor: tensor.into(), outputs: None }
    }

    fn parts(&self) -> (&str, Option<&[Range<usize>]>) {
        match self {
            Self::Linear { tensor, outputs }
            | Self::Conv { tensor, outputs }
            | Self::Bias { tensor, outputs } => (tensor, outputs.as_deref()),
        }
    }

    /// The shape of the matrix as a step reads it (in × out; a bias 1 × out).
    ///
    /// # Errors
    /// There is no such tensor, or it has another number of axes, or fewer outputs.
    pub fn shape(&self, checkpoint: &dyn Checkpoint) -> Outcome<Shape> {
        let (tensor, outputs) = self.parts();
        let shape = checkpoint.shape(tensor)?;
        let (inputs, all) = match (self, shape) {
            (Self::Linear { .. }, [out, inputs]) | (Self::Conv { .. }, [inputs, out]) => (*inputs, *out),
            (Self::Bias { .. }, [out]) => (1, *out),
            _ => {
                let axes = if matches!(self, Self::Bias { .. }) { "one axis" } else { "two axes" };
                let what = format!("tensor {tensor} has the shape {shape:?}, and needs {axes}");
                return Err(refused(checkpoint, what, "its config.json says so"));
            }
        };
        let Some(outputs) = outputs else { return Ok((inputs, all)) };
        if outputs.iter().any(|range| range.start > range.end || range.end > all) {
            let last = outputs.iter().map(|range| range.end).max().unwrap_or(0);
            let what = format!("tensor {tensor} has {all} outputs, and needs {last}");
            return Err(refused(checkpoint, what, "queries, keys and values are packed in it"));
        }
        Ok((inputs, outputs.iter().map(ExactSizeIterator::len).sum()))
    }

    /// The matrix as a step reads it (in × out; a bias 1 × out).
    ///
    /// # Errors
    /// What [`Stored::shape`] refuses; the file cannot be read.
    pub fn read(&self, checkpoint: &dyn Checkpoint) -> Outcome<DMatrix<f32>> {
        let (inputs, out) = self.shape(checkpoint)?;
        let (tensor, outputs) = self.parts();
        let first = checkpoint.shape(tensor)?.first().copied().unwrap_or(0);
        Ok(match self {
            // Rows of outputs, read as columns: the transposed matrix without moving a number.
            Self::Linear { .. } | Self::Bias { .. } => {
                let numbers = match &ranges(outputs, first)[..] {
                    [range] => checkpoint.rows(tensor, range.clone())?,
                    ranges => {
                        let mut numbers = Vec::with_capacity(inputs * out);
                        for range in ranges {
                            numbers.extend(checkpoint.rows(tensor, range.clone())?);
                        }
                        numbers
                    }
                };
                DMatrix::from_vec(inputs, out, numbers)
            }
            Self::Conv { .. } => {
                let all = checkpoint.rows(tensor, 0..inputs)?;
                let stride = all.len() / inputs.max(1);
                let columns: Vec<usize> = ranges(outputs, stride).into_iter().flatten().collect();
                DMatrix::from_fn(inputs, out, |r, c| all[r * stride + columns[c]])
            }
        })
    }
}

/// These outputs, or all of them.
fn ranges(outputs: Option<&[Range<usize>]>, all: usize) -> Vec<Range<usize>> {
    outputs.map_or_else(|| std::iter::once(0..all).collect(), <[_]>::to_vec)
}

impl Blueprint {
    /// The layers for a text of so many tokens.
    pub fn layers(&self, tokens: usize) -> Layers {
        let mut layers = self.layers.clone();
        let positions: Vec<f64> = (0..tokens).map(|position| position as f64).collect();
        for (number, layer) in layers.layers.iter_mut().enumerate() {
            if let Positions::Rope(rope) = &mut layer.attention.positions {
                rope.q_positions.clone_from(&positions);
                rope.k_positions.clone_from(&positions);
                let scaling = self.stretch.get(&number).and_then(|stretch| stretch.scaling(rope, tokens));
                if scaling.is_some() {
                    rope.scaling = scaling;
                }
            }
        }
        layers
    }

    /// The matrix of a step.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn matrix(&self, checkpoint: &dyn Checkpoint, id: StepId) -> Outcome<Option<Arc<DMatrix<f32>>>> {
        self.matrices.get(&id).map(|stored| stored.read(checkpoint).map(Arc::new)).transpose()
    }
}

fn refused(checkpoint: &dyn Checkpoint, what: String, why: &str) -> crate::fault::Faults {
    let remedy = "download the weights that belong to this config.json";
    Fault::new(what, why, remedy).in_source(checkpoint.source()).into()
}
