//! The models inside the binary.

use super::Model;
use crate::fault::Outcome;

/// A model that ships with `mha`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builtin {
    /// What it is called (`induction`).
    pub name: &'static str,
}

/// All of them.
pub fn all() -> &'static [Builtin] {
    &[]
}

/// The models by name.
pub fn find(_name: &str) -> Option<&'static Builtin> {
    None
}

/// Opens one.
///
/// # Errors
/// None that a person can cause.
pub fn open(_builtin: &Builtin) -> Outcome<Model> {
    Err(crate::fault::Fault::new("no model ships yet", "", "").into())
}
