//! Heat maps: the same panels and colours for a terminal and for figures.

pub mod palette;
pub mod panels;
