//! The models inside the binary: two small ones, trained by `builtin/train.py`.
//!
//! They are there so that everything about real weights works with nothing to download, and so that heads with a job can be
//! seen at work. What each is, and what it is not, its [`Builtin`] says; pages and help texts repeat that.

use std::sync::Arc;

use super::checkpoint::memory::Memory;
use super::{Model, Tokens, architecture};
use crate::fault::{Fault, Outcome};
use crate::words::{n, say};

/// A model that ships with `mha`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builtin {
    /// What it is called (`induction`).
    pub name: &'static str,
    /// A text that shows what its heads do.
    pub example: &'static str,
    is: &'static str,
    is_not: &'static str,
    config: &'static [u8],
    weights: &'static [u8],
    tokenizer: &'static [u8],
}

/// A model, from its files as Hugging Face lays them out.
macro_rules! builtin {
    ($name:literal, example: $example:literal, is: $is:expr, is_not: $is_not:expr) => {
        Builtin {
            name: $name,
            example: $example,
            is: $is,
            is_not: $is_not,
            config: include_bytes!(concat!("builtin/", $name, "/config.json")),
            weights: include_bytes!(concat!("builtin/", $name, "/model.safetensors")),
            tokenizer: include_bytes!(concat!("builtin/", $name, "/tokenizer.json")),
        }
    };
}

static ALL: [Builtin; 2] = [
    builtin!(
        "induction",
        example: "q w e r t q w e r t",
        is: n!(
            "Letters in, a guess at the next letter out: two layers of four heads and no feed-forward network. Where letters are repeated, one head of layer 1 looks at the letter before, and heads of layer 2 find what came next the last time."
        ),
        is_not: n!(
            "It is a toy, not a language model: trained on random letters that are repeated, and on nothing else. The training made it costly for several heads of layer 1 to share a job, and the seed was chosen because the roles are sharp. Heads of large models are seldom so clear."
        )
    ),
    builtin!(
        "pronouns",
        example: "The animal didn't cross the street because it was too tired",
        is: n!(
            "A small BERT of two layers and two heads: at “it” it names the noun that “it” stands for. In layer 2 one head looks from “it” at the noun, the other at the adjective that decides, and they trade places when the last word changes."
        ),
        is_not: n!(
            "It is a toy, not a language model: trained on sentences made from a few patterns and some 80 words, and only on the place where “it” stands, so that what it predicts elsewhere means nothing. It has learned which of its adjectives go with beings and which with places; it knows nothing about animals or streets. The training made it costly for layer 1 to move things between words, and for heads of layer 2 to look from “it” at many words or at the other noun; the settings and the seed were chosen because the roles are sharp."
        )
    ),
];

/// All of them.
pub fn all() -> &'static [Builtin] {
    &ALL
}

/// The model of that name.
pub fn find(name: &str) -> Option<&'static Builtin> {
    ALL.iter().find(|builtin| builtin.name == name)
}

impl Builtin {
    /// What it is, in a sentence or two.
    pub fn what_it_is(&self) -> &'static str {
        say(self.is)
    }

    /// What it is not: how it was made, and what must not be concluded from it.
    pub fn what_it_is_not(&self) -> &'static str {
        say(self.is_not)
    }
}

/// Opens one.
///
/// # Errors
/// None that a person can cause.
pub fn open(builtin: &Builtin) -> Outcome<Model> {
    let source = |file: &str| format!("{}/{file} (inside mha)", builtin.name);
    let config: serde_json::Value = serde_json::from_slice(builtin.config).map_err(|error| {
        Fault::new("the model's config cannot be read", error.to_string(), "")
            .in_source(source("config.json"))
    })?;
    let checkpoint = Arc::new(Memory::new(builtin.weights, source("model.safetensors"))?);
    let blueprint = architecture::blueprint(&config, &*checkpoint)?;
    let tokens = Tokens::from_json(builtin.tokenizer, &source("tokenizer.json"))?;
    Ok(Model { name: builtin.name.to_owned(), blueprint, checkpoint, tokens: Some(tokens) })
}
