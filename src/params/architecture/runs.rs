//! Layers listed as runs of equal ones: never averaged, never repeated.

use super::model::{Attention, Group, Model, Stack, Tensor};
use crate::fault::Outcome;
use crate::params::figure::sum;

/// Equal layers that follow each other.
#[derive(Debug, Clone)]
pub struct Run {
    /// The first, as the stack numbers it from 1.
    pub from: usize,
    /// The last.
    pub to: usize,
    /// The first of them over all stacks.
    pub layer: usize,
    /// Parameters of each; tensors shared with another layer count here too.
    pub parameters_each: u64,
    /// Attention parameters of each.
    pub attention_each: u64,
}

impl Run {
    /// How many layers.
    pub fn count(&self) -> usize {
        self.to - self.from + 1
    }
}

impl Model {
    /// The stack that a layer (from 1 over all stacks) stands in.
    pub fn stack_of(&self, layer: usize) -> Option<&Stack> {
        self.stacks.iter().find(|stack| (stack.first..stack.first + stack.layers).contains(&layer))
    }

    /// The attention modules of a layer.
    pub fn layer_attention(&self, layer: usize) -> impl Iterator<Item = &Attention> {
        self.attention.iter().filter(move |attention| attention.layer == Some(layer))
    }

    /// A stack as runs of equal layers: the same tensors under the same names, attention of the same kind.
    ///
    /// # Errors
    /// A count does not fit in 64 bits.
    pub fn runs(&self, stack: &Stack) -> Outcome<Vec<Run>> {
        let mut by_layer: Vec<Vec<&Tensor>> = vec![Vec::new(); stack.layers];
        let index = |layer: usize| layer.checked_sub(stack.first).filter(|at| *at < stack.layers);
        for tensor in &self.tensors {
            if let Some(at) = tensor.layer.and_then(index) {
                by_layer[at].push(tensor);
            }
        }
        let mut attends: Vec<Vec<&Attention>> = vec![Vec::new(); stack.layers];
        for attention in &self.attention {
            if let Some(at) = attention.layer.and_then(index) {
                attends[at].push(attention);
            }
        }
        let mut runs: Vec<Run> = Vec::new();
        for at in 0..stack.layers {
            let like_before = at > 0
                && equal(&by_layer[at - 1], &by_layer[at], stack, at)
                && attends[at - 1].len() == attends[at].len()
                && attends[at - 1].iter().zip(&attends[at]).all(|(a, b)| same_kind(a, b));
            match runs.last_mut() {
                Some(run) if like_before => run.to = at + 1,
                _ => runs.push(Run {
                    from: at + 1,
                    to: at + 1,
                    layer: stack.first + at,
                    parameters_each: sum(by_layer[at].iter().map(|t| t.count), "a layer's parameters")?,
                    attention_each: sum(
                        by_layer[at].iter().filter(|t| t.group == Group::Attention).map(|t| t.count),
                        "a layer's attention parameters",
                    )?,
                }),
            }
        }
        Ok(runs)
    }

    /// A tensor's name inside its layer: `self_attn.q_proj.weight`.
    pub fn name_in_layer<'t>(&self, tensor: &'t Tensor) -> &'t str {
        let stack = tensor.layer.and_then(|layer| self.stack_of(layer));
        match stack {
            Some(stack) => after_number(&tensor.name[(stack.path.len() + 1).min(tensor.name.len())..]),
            None => &tensor.name,
        }
    }
}

/// What follows the number that a layer's name begins with.
fn after_number(name: &str) -> &str {
    name.split_once('.').map_or(name, |(_, rest)| rest)
}

fn equal(a: &[&Tensor], b: &[&Tensor], stack: &Stack, at: usize) -> bool {
    let (before, here) = (digits(at - 1), digits(at));
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| {
            let skip = stack.path.len() + 1;
            a.count == b.count
                && a.shape == b.shape
                && a.experts == b.experts
                && a.name.get(skip + before..) == b.name.get(skip + here..)
        })
}

fn digits(number: usize) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}

fn same_kind(a: &Attention, b: &Attention) -> bool {
    a.window == b.window
        && a.num_heads == b.num_heads
        && a.num_kv_heads == b.num_kv_heads
        && a.d_k == b.d_k
        && a.d_v == b.d_v
        && a.cache == b.cache
        && a.cross == b.cross
}
