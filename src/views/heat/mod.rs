//! Heat maps: the same panels and colours for a terminal and for figures.

pub mod figure;
mod legend;
pub mod paint;
pub mod palette;
pub mod panels;
mod plate;
pub mod png;
pub(super) mod ruler;
pub mod svg;
pub mod terminal;
