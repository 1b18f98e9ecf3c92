//! A text in tokens, as the model's own tokenizer splits it.

use super::Model;
use crate::fault::{Fault, Outcome};

/// What a person gave to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Text {
    /// One text.
    One(String),
    /// Two, as models of sentence pairs take them.
    Pair(String, String),
    /// Token ids as they are; nothing is added.
    Ids(Vec<u32>),
}

/// A text in tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// Their ids in the vocabulary (n).
    pub ids: Vec<u32>,
    /// Which sentence of a pair each belongs to, from 0 (n).
    pub segments: Vec<usize>,
    /// What each is called in tables: as the vocabulary writes it, control characters shown (n).
    pub labels: Vec<String>,
    /// Whether each was put in by the tokenizer: [CLS], [SEP], `<s>` (n).
    pub is_special: Vec<bool>,
}

/// A model's tokenizer.
pub struct Tokens {
    tokenizer: tokenizers::Tokenizer,
}

impl Tokens {
    /// A `tokenizer.json`, with padding and truncation off.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn from_json(text: &[u8], source: &str) -> Outcome<Self> {
        let broken = |error: &dyn std::fmt::Display| {
            Fault::new(format!("{source} cannot be read"), error.to_string(), "download it again")
                .in_source(source)
        };
        let mut tokenizer = tokenizers::Tokenizer::from_bytes(text).map_err(|error| broken(&error))?;
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(|error| broken(&error))?;
        Ok(Self { tokenizer })
    }
}

/// The text in tokens.
pub(super) fn read(model: &Model, text: &Text) -> Outcome<Passage> {
    let refused = |what: &str, why: String, remedy: &str| Fault::new(what, why, remedy).in_source("--text");
    let encoding = match (text, &model.tokens) {
        (Text::Ids(ids), tokens) => {
            let name = |id: &u32| tokens.as_ref().and_then(|tokens| tokens.tokenizer.id_to_token(*id));
            let labels = ids.iter().map(|id| name(id).unwrap_or_else(|| id.to_string())).collect();
            return Ok(Passage {
                ids: ids.clone(),
                segments: vec![0; ids.len()],
                labels,
                is_special: vec![false; ids.len()],
            });
        }
        (_, None) => return Err(refused("the model has no tokenizer", String::new(), "give --tokens").into()),
        (Text::One(text), Some(tokens)) => tokens.tokenizer.encode(text.as_str(), true),
        (Text::Pair(a, b), Some(tokens)) => tokens.tokenizer.encode((a.as_str(), b.as_str()), true),
    };
    let encoding = encoding.map_err(|error| refused("the text cannot be split", error.to_string(), ""))?;
    Ok(Passage {
        ids: encoding.get_ids().to_vec(),
        segments: encoding.get_type_ids().iter().map(|id| *id as usize).collect(),
        labels: encoding.get_tokens().to_vec(),
        is_special: encoding.get_special_tokens_mask().iter().map(|mask| *mask == 1).collect(),
    })
}
