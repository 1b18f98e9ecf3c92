//! A blueprint in the making: every tensor is looked for, and its shape compared with what the config says.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::super::{Blueprint, Checkpoint, Stored};
use super::keys::{Keys, Size};
use crate::fault::{Fault, Outcome};
use crate::ops::{LayerNorm, RmsNorm};
use crate::plan::{FfnStep, Name, Norm, Projection, StepId};

/// Tensors that checkpoints hold beside what was learned: masks and frequencies, which follow from the config.
const FOLLOWS: [&str; 4] = [".attn.bias", ".masked_bias", ".attention.bias", "rotary_emb.inv_freq"];

/// Collects what a checkpoint holds for a model.
pub(super) struct Builder<'a> {
    pub(super) keys: &'a Keys,
    checkpoint: &'a dyn Checkpoint,
    matrices: BTreeMap<StepId, Stored>,
    read: BTreeSet<String>,
}

/// Where a learned matrix stands, and its bias.
#[derive(Clone)]
pub(super) struct Dense<'s> {
    /// Its tensors are `tensor.weight` and `tensor.bias`.
    pub(super) tensor: String,
    pub(super) inputs: &'s Size,
    /// All outputs of the tensor, also where others share it.
    pub(super) outputs: &'s Size,
    /// Which outputs, where others share it.
    pub(super) part: Option<Vec<Range<usize>>>,
    pub(super) rows: Rows,
    pub(super) has_bias: bool,
}

/// What the rows of a tensor are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    /// Outputs, as in PyTorch's `nn.Linear`.
    Outputs,
    /// Inputs, as in GPT-2.
    Inputs,
}

impl<'s> Dense<'s> {
    /// A matrix that has a tensor of its own, outputs in rows.
    pub(super) fn whole(tensor: impl Into<String>, [inputs, outputs]: [&'s Size; 2], has_bias: bool) -> Self {
        Self { tensor: tensor.into(), inputs, outputs, part: None, rows: Rows::Outputs, has_bias }
    }

    /// Only these outputs of it.
    pub(super) fn part(self, outputs: Range<usize>) -> Self {
        Self { part: Some(std::iter::once(outputs).collect()), ..self }
    }
}

/// The names of a projection and of its bias.
pub(super) fn projection(projection: Projection) -> [Name; 2] {
    [Name::W(projection), Name::B(projection)]
}

/// The names of the feed-forward network's matrices and of their biases.
pub(super) const UP: [Name; 2] = [Name::Ffn(FfnStep::W1), Name::Ffn(FfnStep::B1)];
pub(super) const GATE: [Name; 2] = [Name::Ffn(FfnStep::WGate), Name::Ffn(FfnStep::BGate)];
pub(super) const DOWN: [Name; 2] = [Name::Ffn(FfnStep::W2), Name::Ffn(FfnStep::B2)];

impl<'a> Builder<'a> {
    pub(super) fn new(keys: &'a Keys, checkpoint: &'a dyn Checkpoint) -> Self {
        Self { keys, checkpoint, matrices: BTreeMap::new(), read: BTreeSet::new() }
    }

    /// Whether there is a tensor of that name.
    pub(super) fn has(&self, tensor: &str) -> bool {
        self.checkpoint.tensors().contains_key(tensor)
    }

    /// The first of some beginnings with which there is a tensor; the first of all where there is none.
    pub(super) fn prefix(&self, prefixes: &[&'static str], tensor: &str) -> &'static str {
        let there = prefixes.iter().find(|prefix| self.has(&format!("{prefix}{tensor}")));
        there.or(prefixes.first()).copied().unwrap_or("")
    }

    /// How many layers there are. Each has tensors of its own, so there are fewer of them than of tensors.
    pub(super) fn layers(&self) -> Outcome<usize> {
        const KEY: &str = "num_hidden_layers";
        let (layers, tensors) = (self.keys.size(KEY)?, self.checkpoint.tensors().len());
        if layers.value > tensors {
            let what = format!("{} is {}, and there are {tensors} tensors in all", layers.keys, layers.value);
            let remedy = "take the config.json that belongs to these weights";
            return Err(self.keys.at(KEY, what, "each layer has tensors of its own", remedy));
        }
        Ok(layers.value)
    }

    /// A tensor of that shape is there; gives its name back.
    pub(super) fn tensor(&mut self, name: impl Into<String>, shape: &[&Size]) -> Outcome<String> {
        let name = name.into();
        let found = self.checkpoint.shape(&name)?;
        if found.iter().ne(shape.iter().map(|size| &size.value)) {
            let sides = |sides: Vec<String>| sides.join(" × ");
            let found = sides(found.iter().map(ToString::to_string).collect());
            let needed = sides(shape.iter().map(|size| size.value.to_string()).collect());
            let keys = sides(shape.iter().map(|size| size.keys.clone()).collect());
            let what = format!("tensor {name} is {found}, and config.json makes it {needed}");
            let why = format!("its sides are {keys}");
            let remedy = "take the config.json that belongs to these weights";
            return Err(Fault::new(what, why, remedy).in_source(self.checkpoint.source()).into());
        }
        self.read.insert(name.clone());
        Ok(name)
    }

    /// Puts a learned matrix and its bias under the names of their steps in a layer (from 0).
    pub(super) fn dense(&mut self, layer: usize, [w, b]: [Name; 2], dense: Dense<'_>) -> Outcome<()> {
        let Dense { tensor, inputs, outputs, part, rows, has_bias } = dense;
        let sides = match rows {
            Rows::Outputs => [outputs, inputs],
            Rows::Inputs => [inputs, outputs],
        };
        let weight = self.tensor(format!("{tensor}.weight"), &sides)?;
        if has_bias {
            let bias = self.tensor(format!("{tensor}.bias"), &[outputs])?;
            self.put(layer, b, Stored::Bias { tensor: bias, outputs: part.clone() });
        }
        let stored = match rows {
            Rows::Outputs => Stored::Linear { tensor: weight, outputs: part },
            Rows::Inputs => Stored::Conv { tensor: weight, outputs: part },
        };
        self.put(layer, w, stored);
        Ok(())
    }

    fn put(&mut self, layer: usize, name: Name, stored: Stored) {
        self.matrices.insert(StepId::from(name).in_layer(Some(layer)), stored);
    }

    /// A few numbers, read now.
    pub(super) fn vector(&mut self, name: impl Into<String>, length: &Size) -> Outcome<Vec<f64>> {
        let name = self.tensor(name, &[length])?;
        Ok(self.checkpoint.rows(&name, 0..length.value)?.into_iter().map(f64::from).collect())
    }

    /// A layer norm; its tensors are `tensor.weight` and `tensor.bias`, in old checkpoints `gamma` and `beta`.
    pub(super) fn layer_norm(&mut self, tensor: &str, width: &Size, eps: f64) -> Outcome<Norm> {
        let is_old = !self.has(&format!("{tensor}.weight")) && self.has(&format!("{tensor}.gamma"));
        let [gain, shift] = if is_old { ["gamma", "beta"] } else { ["weight", "bias"] };
        let gain = self.vector(format!("{tensor}.{gain}"), width)?;
        let shift = self.vector(format!("{tensor}.{shift}"), width)?;
        Ok(Norm::Layer(LayerNorm { eps, gain: Some(gain), shift: Some(shift) }))
    }

    /// An RMS norm; its tensor is `tensor.weight`. In Gemma the gain is 1 more than what stands there.
    pub(super) fn rms_norm(
        &mut self,
        tensor: &str,
        width: &Size,
        eps: f64,
        one_more: bool,
    ) -> Outcome<RmsNorm> {
        let mut gain = self.vector(format!("{tensor}.weight"), width)?;
        if one_more {
            gain.iter_mut().for_each(|gain| *gain += 1.0);
        }
        Ok(RmsNorm { eps, gain })
    }

    /// Nothing in the stack of layers was left unread; then what was collected.
    ///
    /// A tensor that nobody reads is a part that the config does not describe: a bias, another layer, a quantised matrix's
    /// scales. Without it the numbers would be another model's.
    pub(super) fn matrices(self, stack: &str) -> Outcome<BTreeMap<StepId, Stored>> {
        let unread = self.checkpoint.tensors().keys().find(|name| {
            name.starts_with(stack)
                && !self.read.contains(*name)
                && !FOLLOWS.iter().any(|end| name.ends_with(end))
        });
        match unread {
            None => Ok(self.matrices),
            Some(name) => {
                let what = format!("tensor {name} is a part that config.json does not describe");
                let model_type = &self.keys.model_type;
                let why = format!(
                    "a {model_type} with the config's sizes and switches has no such tensor, and without it every number would be wrong"
                );
                let remedy = "take the config.json that belongs to these weights";
                Err(Fault::new(what, why, remedy).in_source(self.checkpoint.source()).into())
            }
        }
    }
}

/// How a family is built.
pub(super) type Build = fn(&Keys, &dyn Checkpoint) -> Outcome<Blueprint>;
