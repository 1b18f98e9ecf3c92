//! What TeX is told: formulas in maths, words as text; for Markdown's maths and for LaTeX.

mod formula;
mod letters;

pub use formula::formula;
pub use letters::{prose, text};
