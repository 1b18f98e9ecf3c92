//! A folder as Hugging Face lays it out.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::checkpoint::safetensors::Safetensors;
use super::{Model, Tokens, architecture};
use crate::fault::{Fault, Outcome, reason};

/// Opens `config.json`, `model.safetensors` and `tokenizer.json`.
pub(super) fn open(path: &Path) -> Outcome<Model> {
    let unreadable = |file: &Path, error: &std::io::Error| {
        Fault::new(format!("{} cannot be read", file.display()), reason(error), "check the path")
            .in_source(file.display().to_string())
    };
    let config_path = path.join("config.json");
    let text = std::fs::read(&config_path).map_err(|error| unreadable(&config_path, &error))?;
    let config: serde_json::Value = serde_json::from_slice(&text)
        .map_err(|error| Fault::new("config.json is not JSON", error.to_string(), ""))?;
    let paths: [PathBuf; 1] = [path.join("model.safetensors")];
    let checkpoint = Arc::new(Safetensors::open(&paths)?);
    let blueprint = architecture::blueprint(&config, &*checkpoint)?;
    let tokenizer = path.join("tokenizer.json");
    let tokens = match std::fs::read(&tokenizer) {
        Ok(bytes) => Some(Tokens::from_json(&bytes, &tokenizer.display().to_string())?),
        Err(_) => None,
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Model { name, blueprint, checkpoint, tokens })
}
