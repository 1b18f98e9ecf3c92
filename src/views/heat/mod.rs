//! Heat maps: the same panels and colours for a terminal and for figures.

pub mod paint;
pub mod palette;
pub mod panels;
mod plate;
pub mod terminal;
