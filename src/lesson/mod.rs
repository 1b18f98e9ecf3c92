//! A lesson file in, a [`Problem`] out.

use std::collections::BTreeMap;
use std::sync::Arc;

use nalgebra::DMatrix;

use crate::plan::{Attention, StepId};

/// A worked example, read and checked: nobody downstream looks at its shapes again.
#[derive(Debug, Clone)]
pub struct Problem {
    /// Shown above everything.
    pub title: String,
    /// One sentence on what to notice; may be empty.
    pub summary: String,
    /// Where the example comes from; may be empty.
    pub source: String,
    /// The attention call.
    pub attention: Attention,
    /// How many sequences stand in the batch; `None` where the input had no batch axis.
    pub batch: Option<usize>,
    /// What was given: `x`, `x_kv` or `q`, `k`, `v` (a name each sequence in a batch), `w_q` … and `b_q` …
    /// (1 × width, shared by all sequences). No `w_o` where the lesson stops at concat.
    pub inputs: BTreeMap<StepId, Arc<DMatrix<f64>>>,
    /// Names of rows.
    pub labels: Labels,
    /// Told at a step, in order.
    pub story: Vec<Saying>,
    /// Checked whenever lessons are validated.
    pub claims: Vec<Claim>,
    /// Questions whose answers are computed.
    pub quiz: Vec<Question>,
}

/// Names of the tokens.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Labels {
    /// One a query (n_q).
    pub queries: Vec<String>,
    /// One a key (n_kv).
    pub keys: Vec<String>,
}

/// A sentence told at a step; `{step[r,c]}` stands for a computed number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saying {
    /// The step at which it is told.
    pub at: StepId,
    /// The sentence.
    pub say: String,
}

/// Something a lesson states about its own numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The step it is about.
    pub step: StepId,
    /// The row, from 0; `None` means the whole matrix.
    pub row: Option<usize>,
    /// The column, from 0.
    pub column: Option<usize>,
    /// The numbers claimed: rows of equal length.
    pub equals: Vec<Vec<f64>>,
    /// How far off a number may be: half a unit of the last digit typed.
    pub tolerance: f64,
    /// Line and column in the lesson file, from 1.
    pub place: Option<(usize, usize)>,
}

/// A question of the lesson's quiz.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The question.
    pub ask: String,
    /// How it is answered.
    pub answer: Answer,
    /// Said after the answer; may be empty.
    pub because: String,
}

/// How a question is answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// By one computed number: step, row, column (from 0).
    Cell(StepId, usize, usize),
    /// By one of several choices (index from 0).
    Choice(Vec<String>, usize),
}

impl Problem {
    /// The attention call with its numbers; matrices are shared, not copied.
    pub fn call(&self) -> crate::plan::Call {
        crate::plan::Call {
            attention: self.attention.clone(),
            batch: self.batch,
            inputs: self.inputs.clone(),
        }
    }
}
