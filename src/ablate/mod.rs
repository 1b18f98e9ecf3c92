//! Heads switched off, and what that changes: in their layer's output, at the end, and in what a model predicts.
//!
//! ```text
//! Study (a plan and its numbers) ── heads, Replacement ──> Ablated ──> Change (norms, cosines)
//!                                                             └──────> Reader ──> Predicted (loss, top tokens)
//! ```
//!
//! An ablation is a rewrite of the plan ([`crate::plan::rewrites::Replacement`]); what it does not reach is computed once.

pub mod change;
pub mod contributions;
pub mod each;
mod held;
pub mod masked;
pub mod predicted;
pub mod study;

pub use change::Change;
pub use contributions::Contributions;
pub use each::{Ranked, Sort};
pub use predicted::{Measured, Predicted, Reader};
pub use study::{Ablated, AttentionLayer, Study};
