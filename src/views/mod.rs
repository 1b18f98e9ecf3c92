//! A trace in, one format out. A view computes nothing about attention.

pub mod grid;
pub mod number;
pub mod page;
pub mod params;
pub mod params_csv;
pub mod params_json;
mod params_memory;
pub mod presets;
