//! Exercises for paper: a problem, then every step as a table whose numbers are printed or left to the learner; the key
//! apart.
//!
//! ```text
//! a lesson, or `random:…` ──> draw ──> Problem ──> Trace ──> sheet (tables with blanks) ──> table, markdown, latex, html
//!                                                                                    └────> fill (yaml, csv for mha check)
//! ```

pub mod draw;
pub mod drawing;
pub mod fill;
pub mod html;
pub mod latex;
pub mod markdown;
pub mod sheet;
pub mod table;
mod words;

pub use drawing::Drawing;
pub use sheet::{Blanks, Exercise, Sheet};
