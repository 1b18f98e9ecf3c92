//! What a person is told whose folder is no model, whose tokenizer lies, or whose text does not fit. Each row changes one
//! thing in a folder that is right, and says what is told then.

#![expect(clippy::unwrap_used, reason = "a test that cannot make its files has nothing to tell")]

#[path = "bad_models/folders.rs"]
mod folders;
#[path = "bad_models/texts.rs"]
mod texts;
#[path = "bad_models/tokenizers.rs"]
mod tokenizers;

use std::fs;
use std::path::{Path, PathBuf};

use mha::model::{Model, Passage, Text};
use serde_json::Value;

/// A folder that is right: a tiny BERT, in a place of its own.
fn right() -> tempfile::TempDir {
    let room = tempfile::tempdir().unwrap();
    for file in ["config.json", "model.safetensors", "tokenizer.json"] {
        fs::copy(reference("bert-tiny").join(file), room.path().join(file)).unwrap();
    }
    room
}

fn reference(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/models").join(name)
}

/// Changes a JSON file of the folder.
fn change(folder: &Path, file: &str, change: impl FnOnce(&mut Value)) {
    let path = folder.join(file);
    let mut value: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut value);
    fs::write(path, value.to_string()).unwrap();
}

/// The model of a path that must be right.
#[track_caller]
fn opened(path: &Path) -> Model {
    Model::open(path.to_str().unwrap()).unwrap_or_else(|faults| panic!("{faults}"))
}

fn read(model: &Model, text: &str) -> Result<Passage, String> {
    model.read(&Text::One(text.to_owned())).map_err(|faults| faults.to_string())
}

/// What is told says all of these, where it is, and what to try; nothing in it commands a terminal.
#[track_caller]
fn tells(promise: &str, told: &str, words: &[&str]) {
    for word in words {
        assert!(told.contains(word), "{promise}: no {word:?} in\n{told}");
    }
    let folded = told.replace('\n', " ");
    assert!(folded.contains("-->") && folded.contains("try:"), "{promise}: no place or no remedy in\n{told}");
    assert!(!told.chars().any(|c| c.is_control() && c != '\n'), "{promise}: {told:?}");
}

/// The path is refused as a model.
#[track_caller]
fn refused(promise: &str, path: &Path, words: &[&str]) {
    let told = Model::open(path.to_str().unwrap()).err().unwrap_or_else(|| panic!("{promise}: opened"));
    tells(promise, &told.to_string(), words);
}
