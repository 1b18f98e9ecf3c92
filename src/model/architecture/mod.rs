//! Families of models, one a file: a config in, a [`Blueprint`] out.
//!
//! A family is data where it can be: `encoder.rs` and `decoder.rs` know how encoders after BERT and decoders after Llama are
//! put together, and `bert.rs`, `llama.rs`, `gemma.rs` say what each of them calls its tensors and which switches it has.

mod attention_only;
mod bert;
mod builder;
mod decoder;
mod distilbert;
mod encoder;
mod gemma;
mod gpt2;
mod gpt_neox;
mod keys;
mod llama;
mod opt;
mod phi3;
mod qwen;
mod roberta;
mod rope;
mod smollm3;
mod starcoder2;
mod windows;

use serde_json::Value;

use super::{Blueprint, Checkpoint};
use crate::fault::{Fault, Faults, Outcome, Place, nearest};
use builder::Build;
use keys::Keys;

/// The types of models that are computed, as `model_type` names them, and how each is built.
const TYPES: &[(&str, Build)] = &[
    ("bert", |keys, checkpoint| encoder::blueprint(&bert::BERT, keys, checkpoint)),
    ("roberta", |keys, checkpoint| encoder::blueprint(&roberta::ROBERTA, keys, checkpoint)),
    ("xlm-roberta", |keys, checkpoint| encoder::blueprint(&roberta::ROBERTA, keys, checkpoint)),
    ("camembert", |keys, checkpoint| encoder::blueprint(&roberta::ROBERTA, keys, checkpoint)),
    ("distilbert", |keys, checkpoint| encoder::blueprint(&distilbert::DISTILBERT, keys, checkpoint)),
    ("gpt2", gpt2::blueprint),
    ("gpt_neox", gpt_neox::blueprint),
    ("opt", opt::blueprint),
    ("llama", |keys, checkpoint| decoder::blueprint(&llama::LLAMA, keys, checkpoint)),
    ("mistral", |keys, checkpoint| decoder::blueprint(&llama::MISTRAL, keys, checkpoint)),
    ("qwen2", |keys, checkpoint| decoder::blueprint(&qwen::QWEN2, keys, checkpoint)),
    ("qwen3", |keys, checkpoint| decoder::blueprint(&qwen::QWEN3, keys, checkpoint)),
    ("smollm3", smollm3::blueprint),
    ("gemma", |keys, checkpoint| decoder::blueprint(&gemma::GEMMA, keys, checkpoint)),
    ("gemma2", |keys, checkpoint| decoder::blueprint(&gemma::GEMMA2, keys, checkpoint)),
    ("gemma3", |keys, checkpoint| decoder::blueprint(&gemma::GEMMA3, keys, checkpoint)),
    ("gemma3_text", |keys, checkpoint| decoder::blueprint(&gemma::GEMMA3, keys, checkpoint)),
    ("phi3", |keys, checkpoint| decoder::blueprint(&phi3::PHI3, keys, checkpoint)),
    ("starcoder2", |keys, checkpoint| decoder::blueprint(&starcoder2::STARCODER2, keys, checkpoint)),
    ("attention_only", attention_only::blueprint),
];

fn names() -> impl Iterator<Item = &'static str> {
    TYPES.iter().map(|(name, _)| *name)
}

/// The types, as a person is told them.
fn supported() -> String {
    format!("supported are {}", names().collect::<Vec<_>>().join(", "))
}

/// The blueprint that a config describes; of the checkpoint names and shapes are looked at, and norms are read.
///
/// # Errors
/// An architecture that is not supported, with what was found and which are; a key that asks for something that is not
/// computed here; sizes that are missing, absurd or do not fit together; tensors that are missing, of another shape than
/// the config says, or of a part that it does not describe.
pub fn blueprint(config: &Value, checkpoint: &dyn Checkpoint) -> Outcome<Blueprint> {
    let built = |config: &Value| {
        let keys = Keys::new(config)?;
        match TYPES.iter().find(|(name, _)| *name == keys.model_type) {
            Some((_, build)) => {
                keys.refuse_what_is_not_computed()?;
                build(&keys, checkpoint)
            }
            None => Err(unsupported(&keys.model_type)),
        }
    };
    built(config).map_err(|faults| faults.in_source("config.json"))
}

fn unsupported(model_type: &str) -> Faults {
    let what = format!("a model of type {model_type} is not computed");
    let remedy = match nearest(model_type, names()) {
        Some(near) => format!("choose one of these; the nearest name is {near}"),
        None => "choose one of these".to_owned(),
    };
    Fault::new(what, supported(), remedy).at(Place { path: "model_type".into(), ..Place::default() }).into()
}
