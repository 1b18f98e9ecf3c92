//! Real weights and a text in, a plan of the whole model out: the same steps as a lesson's, in every layer.
//!
//! ```text
//! folder, .gguf, built in ──> Checkpoint (tensors, read by rows) ─┐
//! config ──> architecture ──> Blueprint (layers; which tensor     ├─> Model ── text ──> Passage (tokens)
//!                             each learned matrix is)            ─┘               └──> Task (a plan, and where its numbers are)
//! ```
//!
//! Nothing is read before a step asks for it, and of the vocabulary only the rows of the tokens in the text. Numbers are
//! f32, as in the reference implementations.

pub mod architecture;
pub mod blueprint;
pub mod builtin;
pub mod checkpoint;
mod folder;
pub mod layer;
pub mod readout;
pub mod task;
pub mod text;

use std::sync::Arc;

pub use blueprint::{Blueprint, Embeddings, Stored};
pub use checkpoint::Checkpoint;
pub use layer::{Naming, head_title};
pub use task::Task;
pub use text::{Passage, Text, Tokens};

use crate::fault::Outcome;

/// A model: how it is built, where its tensors stand, and how it splits a text.
pub struct Model {
    /// What it is called in titles: the folder's or file's name, or the built-in one's.
    pub name: String,
    /// Its layers, and which tensor each of their matrices is.
    pub blueprint: Blueprint,
    /// Its tensors.
    pub checkpoint: Arc<dyn Checkpoint>,
    /// How it splits a text; `None` where the folder holds no tokenizer (ids can still be given).
    pub tokens: Option<Tokens>,
}

impl Model {
    /// Opens a model: a built-in one by its name, a folder as Hugging Face lays it out, or a `.gguf` file.
    ///
    /// # Errors
    /// There is no such model; its config, tensors or tokenizer cannot be read, or are of a kind that is not supported.
    pub fn open(name: &str) -> Outcome<Self> {
        let model = match builtin::find(name) {
            Some(builtin) => builtin::open(builtin),
            None => folder::open(std::path::Path::new(name)),
        }?;
        text::agrees(&model)?;
        Ok(model)
    }

    /// The text in tokens.
    ///
    /// # Errors
    /// No tokenizer, an id beyond the vocabulary, no token at all, more tokens than the model has positions.
    pub fn read(&self, text: &Text) -> Outcome<Passage> {
        text::read(self, text)
    }
}
