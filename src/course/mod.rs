//! Lessons told part by part: their runs, figures, questions and tasks, computed and checked.
//!
//! [`Workshop`] computes a lesson and whatever its parts speak of, each run once; [`validate`] sees whether all of it is
//! true; [`command`] says which commands a lesson may show. [`dialogue`] teaches it, reads what is typed ([`answer`]), keeps
//! what is done ([`progress`]), and knows five [`myths`]; [`pages`] sets it as pages, and [`worksheet`] as exercises for paper.

pub mod answer;
pub mod command;
pub mod dialogue;
mod figures;
mod lookup;
pub mod myths;
pub mod pages;
pub mod progress;
mod run;
mod slips;
#[cfg(test)]
mod tests;
pub mod topics;
pub mod validate;
pub mod work;
pub mod worksheet;
mod workshop;

pub use figures::{Curve, Timed};
pub use run::Ran;
pub use slips::Caught;
pub use workshop::{Counter, Right, Workshop};
