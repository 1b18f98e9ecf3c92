//! One family of models a file: a config in, a [`Blueprint`] out.

mod bert;

use serde_json::Value;

use super::{Blueprint, Checkpoint};
use crate::fault::{Fault, Outcome};

/// The blueprint that a config describes.
///
/// # Errors
/// An architecture that is not supported: with what was found and which are; sizes that are missing or do not fit.
pub fn blueprint(config: &Value, checkpoint: &dyn Checkpoint) -> Outcome<Blueprint> {
    match config.get("model_type").and_then(Value::as_str) {
        Some("bert") => bert::blueprint(config, checkpoint),
        other => {
            let what = format!("a model of type {}", other.unwrap_or("unknown"));
            Err(Fault::new(what, "supported are bert", "choose another model").into())
        }
    }
}
