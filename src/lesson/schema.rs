//! The lesson file as a JSON Schema, by which an editor completes keys, explains them and marks what is wrong.
//!
//! It says of form what the reader says; what the numbers have to be together only `mha lessons validate` can tell.

/// The schema of version 1 (JSON Schema, draft 2020-12).
pub const SCHEMA: &str = include_str!("schema.json");
