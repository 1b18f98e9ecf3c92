//! Where the numbers of each step lie: shape, strides, and whether a step only looks or moves memory.
//!
//! As a row-major library (PyTorch, NumPy) keeps them; strides count numbers, not bytes.

use std::collections::HashMap;

use super::{Plan, StepId};
use crate::ops::{Op, Operation};

/// How one step's result lies in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// Sizes of the axes.
    pub dims: Vec<usize>,
    /// How many numbers lie between neighbours along each axis.
    pub strides: Vec<usize>,
    /// Where the first number lies in its buffer.
    pub start: usize,
    /// Whether the step made the buffer.
    pub kind: Kind,
}

/// Whether a step moves numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It was given.
    Given,
    /// The step computes new numbers.
    New,
    /// The same numbers seen another way: nothing moves.
    View,
    /// The same numbers, moved into one run (`contiguous`).
    Copy,
}

impl Memory {
    fn rows(dims: &[usize], kind: Kind) -> Self {
        let mut strides = vec![1; dims.len()];
        for axis in (0..dims.len().saturating_sub(1)).rev() {
            strides[axis] = strides[axis + 1] * dims[axis + 1];
        }
        Self { dims: dims.to_vec(), strides, start: 0, kind }
    }

    /// The axes from the slowest to the fastest in memory.
    pub fn order(&self) -> Vec<usize> {
        let mut axes: Vec<usize> = (0..self.dims.len()).collect();
        axes.sort_by_key(|axis| std::cmp::Reverse(self.strides[*axis]));
        axes
    }

    /// Whether the numbers lie in one run, in the order of the axes.
    pub fn contiguous(&self) -> bool {
        let run = Self::rows(&self.dims, self.kind);
        self.dims
            .iter()
            .zip(self.strides.iter().zip(&run.strides))
            .all(|(dim, (is, run))| *dim == 1 || is == run)
    }
}

/// The memory of every step, in order.
pub fn of(plan: &Plan) -> Vec<(StepId, Memory)> {
    let mut known: HashMap<StepId, Memory> = HashMap::new();
    let mut all = Vec::with_capacity(plan.steps().len());
    for step in plan.steps() {
        let before = step.inputs.first().and_then(|input| known.get(input));
        let (rows, columns) = step.shape;
        let new = || Memory::rows(&[rows, columns], Kind::New);
        let memory = match (&step.op, before) {
            (Op::Given(_), _) => Memory::rows(&[rows, columns], Kind::Given),
            (Op::Same(_), Some(whole)) => Memory { kind: Kind::View, ..whole.clone() },
            (Op::Columns(block), Some(whole)) if whole.dims.len() == 2 => Memory {
                dims: vec![rows, columns],
                strides: whole.strides.clone(),
                start: whole.start + block.from,
                kind: Kind::View,
            },
            (Op::SplitHeads(split), Some(whole)) if whole.dims.len() == 2 => Memory {
                dims: vec![split.heads, rows / split.heads.max(1), columns],
                strides: vec![columns, whole.strides[0], 1],
                start: whole.start,
                kind: Kind::View,
            },
            (Op::Batched(batched), _) => {
                let heads = batched.ops.len().max(1);
                Memory::rows(&[heads, rows / heads, columns], Kind::New)
            }
            (Op::MergeHeads(_) | Op::Concat(_), _) => Memory::rows(&[rows, columns], Kind::Copy),
            _ => new(),
        };
        debug_assert!(step.op.shape(&plan.shapes(step)).is_ok());
        known.insert(step.id, memory.clone());
        all.push((step.id, memory));
    }
    all
}
