//! A text in tokens, as the model's own tokenizer splits it.

mod guard;
mod json;
mod spelling;
mod tokens;
mod vocabulary;

use tokenizers::normalizer::SplitDelimiterBehavior;
use tokenizers::pre_tokenizers::punctuation::Punctuation;
use tokenizers::{OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer};

pub use spelling::BLANK;
pub use tokens::Tokens;

use super::Model;
use crate::fault::{Fault, Outcome};
use crate::limits;

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
    /// What each is called in the vocabulary, in its own spelling: `Ġanimal`, `▁animal`, `##ed` (n).
    pub pieces: Vec<String>,
    /// What each is called in tables (n): `␣animal` with the blank before it, `<E2>` for a byte that is only a part
    /// of a character, `#5` where the vocabulary has no name for the id. Several may be called the same. No character
    /// in it commands a terminal.
    pub labels: Vec<String>,
    /// Whether each marks a place and stands for no text: `[CLS]`, `[SEP]`, `<s>`; not `[UNK]`, which stands for some (n).
    pub is_special: Vec<bool>,
}

/// Tokens that end a text, or stand between two.
const SEPARATORS: [&str; 11] = [
    "[SEP]",
    "<sep>",
    "</s>",
    "<eos>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<end_of_turn>",
    "<｜end▁of▁sentence｜>",
];

impl Passage {
    /// Whether token `i` (from 0) ends a text or stands between two: `[SEP]`, `</s>`, `<|endoftext|>`.
    pub fn is_separator(&self, i: usize) -> bool {
        self.pieces.get(i).is_some_and(|piece| SEPARATORS.contains(&piece.as_str()))
    }

    /// Whether token `i` (from 0) is punctuation and nothing else, as BERT's tokenizer understands it: `.`, `,`, `–`, `。`,
    /// also `$` and `+`; a blank beside it does not count.
    pub fn is_punctuation(&self, i: usize) -> bool {
        let Some(label) = self.labels.get(i).filter(|_| !self.is_special[i]) else { return false };
        let word = label.trim_matches(BLANK);
        let mut text = PreTokenizedString::from(word);
        let removed = Punctuation::new(SplitDelimiterBehavior::Removed).pre_tokenize(&mut text);
        let is_left = |(part, ..): &(&str, _, _)| !part.is_empty();
        !word.is_empty()
            && removed.is_ok()
            && !text.get_splits(OffsetReferential::Original, OffsetType::None).iter().any(is_left)
    }

    /// The tokens (from 0) that are this word: blanks beside them do not count, and capitals only where some
    /// token has the very same. None where the word is in several tokens, or is not there.
    pub fn find(&self, word: &str) -> Vec<usize> {
        let is = |same: &dyn Fn(&str) -> bool| -> Vec<usize> {
            let labels = self.labels.iter().enumerate();
            labels
                .filter(|(_, label)| same(label) || same(label.trim_matches(BLANK)))
                .map(|(i, _)| i)
                .collect()
        };
        let word = word.trim();
        match is(&|label| label == word) {
            none if none.is_empty() => is(&|label| label.to_lowercase() == word.to_lowercase()),
            found => found,
        }
    }
}

/// Refuses a tokenizer that belongs to another model, as far as its size tells.
pub(super) fn agrees(model: &Model) -> Outcome<()> {
    let Some(tokens) = &model.tokens else { return Ok(()) };
    let (named, rows) = (tokens.vocabulary(), rows(model)?);
    // Tables are often longer than the vocabulary, padded to a round number; added tokens may lie beyond them unused.
    if named <= rows && named >= rows / 2 {
        return Ok(());
    }
    let what = format!("the tokenizer has {named} tokens, and the model's embedding {rows} rows");
    let why = "every token has a row of its own, so the tokenizer belongs to another model";
    let remedy = "take the tokenizer from where the weights are from";
    Err(Fault::new(what, why, remedy).in_source(tokens.source()).into())
}

/// Rows of the embedding.
fn rows(model: &Model) -> Outcome<usize> {
    let shape = model.checkpoint.shape(&model.blueprint.embeddings.tokens)?;
    Ok(shape.first().copied().unwrap_or(0))
}

/// The text in tokens.
pub(super) fn read(model: &Model, text: &Text) -> Outcome<Passage> {
    let flag = if matches!(text, Text::Ids(_)) { "--tokens" } else { "--text" };
    let none = |why: &str| {
        let fault = Fault::new("there is no token in the text", why, "give a text with a word in it");
        Err(fault.in_source(flag).into())
    };
    let is_blank = match text {
        Text::One(text) => text.trim().is_empty(),
        Text::Pair(first, second) => [first, second].iter().any(|text| text.trim().is_empty()),
        Text::Ids(_) => false,
    };
    if is_blank {
        return none("it is blank, and what a tokenizer puts around a text means nothing by itself");
    }
    let passage = split(model, text).map_err(|faults| faults.in_source(flag))?;
    if passage.ids.is_empty() {
        return none("the tokenizer makes nothing of it, and attention needs something to attend to");
    }
    fits(model, &passage).map_err(|fault| fault.in_source(flag))?;
    let rows = rows(model)?;
    let beyond = passage.ids.iter().enumerate().find(|(_, id)| **id as usize >= rows);
    if let Some((i, id)) = beyond {
        let (what, why) = match &model.tokens {
            Some(tokens) if flag == "--text" => (
                format!("the tokenizer gives {} the id {id}", passage.labels[i]),
                format!(
                    "the tokenizer has {} tokens, and the model's embedding {rows} rows",
                    tokens.all_tokens()
                ),
            ),
            _ => (
                format!("there is no token {id}"),
                format!("the model's embedding has {rows} rows, so ids end at {}", rows.saturating_sub(1)),
            ),
        };
        let remedy = "choose ids of this model, and the tokenizer that belongs to its weights";
        return Err(Fault::new(what, why, remedy).in_source(flag).into());
    }
    of_segments(model, passage)
}

fn split(model: &Model, text: &Text) -> Outcome<Passage> {
    let (first, second) = match text {
        Text::One(text) => (text, None),
        Text::Pair(first, second) => (first, Some(second.as_str())),
        Text::Ids(ids) => return Ok(of_ids(model, ids)),
    };
    let Some(tokens) = &model.tokens else {
        let what = format!("{} has no tokenizer, so it cannot read a text", model.name);
        let why = "there is no tokenizer.json beside its weights";
        let remedy = "put its tokenizer.json into its folder, or give ids: --tokens 5,8,13";
        return Err(Fault::new(what, why, remedy).into());
    };
    let length = first.len() + second.map_or(0, str::len);
    if length > limits::PROMPT_BYTES {
        let what = format!("the text is {} KiB long", length.div_ceil(1 << 10));
        let why = format!("texts are read up to {} KiB", limits::PROMPT_BYTES >> 10);
        return Err(Fault::new(what, why, "give a part of it").into());
    }
    if second.is_some() && model.blueprint.is_causal {
        let what = format!("this model ({}) reads one text, not a pair", model.blueprint.family);
        let why = "pairs are for models that tell two segments apart, as BERT does; this one only reads on";
        return Err(Fault::new(what, why, "write both into --text").in_source("--pair").into());
    }
    tokens.split(first, second)
}

/// Ids as they are, with the names that the model has for them.
fn of_ids(model: &Model, ids: &[u32]) -> Passage {
    let tokens = model.tokens.as_ref();
    let names = |name: fn(&Tokens, u32) -> Option<String>| -> Vec<String> {
        let name = |id: &u32| tokens.and_then(|tokens| name(tokens, *id)).unwrap_or_else(|| format!("#{id}"));
        ids.iter().map(name).collect()
    };
    Passage {
        ids: ids.to_vec(),
        segments: vec![0; ids.len()],
        pieces: names(Tokens::name_of),
        labels: names(Tokens::label),
        is_special: ids.iter().map(|id| tokens.is_some_and(|tokens| tokens.is_special(*id))).collect(),
    }
}

/// Refuses a passage that is longer than the model's positions, or than any that is read.
fn fits(model: &Model, passage: &Passage) -> Result<(), Fault> {
    let n = passage.ids.len();
    let (most, why) = match model.blueprint.most_tokens {
        Some(most) if most < limits::TOKENS => (most, format!("the model has {most} positions")),
        _ => {
            let why = format!(
                "attention has n² weights a head, and texts are read up to {} tokens",
                limits::TOKENS
            );
            (limits::TOKENS, why)
        }
    };
    if n <= most {
        return Ok(());
    }
    Err(Fault::new(format!("the text has {n} tokens"), why, format!("give at most {most} tokens")))
}

/// The passage with segments that the model knows.
fn of_segments(model: &Model, mut passage: Passage) -> Outcome<Passage> {
    let Some(tensor) = &model.blueprint.embeddings.segments else {
        passage.segments.fill(0);
        return Ok(passage);
    };
    let known = model.checkpoint.shape(tensor)?.first().copied().unwrap_or(0);
    let last = passage.segments.iter().max().copied().unwrap_or(0);
    if last < known {
        return Ok(passage);
    }
    let what = format!("the tokenizer puts the second text into segment {}", last + 1);
    let why = format!("the model knows {known}");
    Err(Fault::new(what, why, "write both into --text").in_source("--pair").into())
}
