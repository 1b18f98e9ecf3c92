//! `mha` lets a person see every number in multi-head attention.
//!
//! ```text
//! lesson file ──> load ──> Problem (a plan: named steps, each an Op; and its inputs)
//!                             └──> run ──> Trace (the same steps, with values) ──> View
//! ```
//!
//! Read [`plan::attention`] first: it is the paper's algebra, one line a step. Arrows between the rooms
//! run downwards only:
//!
//! - [`cli`]: what was typed; one short file a verb
//! - [`stepper`]: a trace in the terminal, one step at a time, with a cursor
//! - [`course`]: lessons told part by part: runs, figures, questions and tasks, computed and checked; the dialogue, pages and
//!   worksheets made of them
//! - [`views`]: a trace in, one format out
//! - [`mistakes`]: the catalogue of known mistakes, as changes of the right plan, and the diagnosis of a person's tensors
//! - [`ablate`]: heads switched off, and what that changes
//! - [`answers`]: a person's own tensors in, by the names of the steps
//! - [`lesson`]: a lesson file in, a [`lesson::Problem`] out
//! - [`exact`]: a trace once more, in fractions, roots and powers of e where its numbers allow it; stands on `ops`
//!   and `trace`
//! - [`heads`]: what each head of a model does on a text: measures, types, claims of the literature
//! - [`model`]: real weights and a text in, the same kind of plan out; one architecture a file
//! - [`trace`]: running a plan and keeping what was asked for
//! - [`plan`]: steps, the attention builder, stacks of layers, rewrites (variants, ablations)
//! - [`ops`]: one operation a file: compute, formula, explanation, cost
//! - [`arrays`], [`params`], [`number`], [`fault`], [`limits`], [`words`]: files of numbers, counting, how numbers are
//!   written, what to say when something is wrong, how much of anything is taken at most, and in which language
//!
//! Conventions: row vectors, a token is a row; `X · W + b`; head *i* owns the contiguous column block *i*.
//! Code counts from 0, people from 1.

pub mod ablate;
pub mod answers;
pub mod arrays;
pub mod cli;
pub mod course;
pub mod exact;
pub mod fault;
pub mod heads;
#[cfg(test)]
mod hostile;
pub mod lesson;
pub mod limits;
pub mod mistakes;
pub mod model;
pub mod number;
pub mod ops;
pub mod params;
pub mod plan;
pub mod stepper;
pub mod trace;
pub mod views;
pub mod words;
