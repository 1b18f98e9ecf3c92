//! The tokenizer that a GGUF file holds, from its vocabulary: what stands in `tokenizer.json` elsewhere.

mod bytes;
mod pieces;
mod words;

use std::collections::BTreeMap;

use tokenizers::models::bpe::{Merges, Vocab};
use tokenizers::processors::template::{SpecialToken, TemplateProcessing};
use tokenizers::{AddedToken, Result, Tokenizer};

use super::metadata::Metadata;
use crate::fault::{Fault, Outcome};
use crate::model::Tokens;
use crate::params::weights::gguf::List;

const TOKENS: &str = "tokenizer.ggml.tokens";
const SCORES: &str = "tokenizer.ggml.scores";
const TYPES: &str = "tokenizer.ggml.token_type";
const MERGES: &str = "tokenizer.ggml.merges";

/// The lists of the metadata that a tokenizer is made from.
pub(super) const LISTS: [&str; 4] = [TOKENS, SCORES, TYPES, MERGES];

/// The tokenizer of a file; `None` where it has none. `source` names it in faults.
///
/// # Errors
/// A kind that is not read; a vocabulary that contradicts itself.
pub(super) fn tokenizer(
    metadata: &Metadata<'_>,
    lists: &BTreeMap<String, List>,
    source: &str,
) -> Outcome<Option<Tokens>> {
    let kind = match metadata.plain("tokenizer.ggml.model") {
        None | Some("none" | "no_vocab") => return Ok(None),
        Some(kind) => kind,
    };
    let build: fn(&Vocabulary<'_>) -> Result<Tokenizer> = match kind {
        "llama" => pieces::tokenizer,
        "gpt2" => bytes::tokenizer,
        "bert" => words::tokenizer,
        _ => {
            let why = "read are llama (SentencePiece), gpt2 (byte-level BPE) and bert (WordPiece)";
            return Err(Fault::new(
                format!("the tokenizer is of the kind {kind}"),
                why,
                "choose another model",
            )
            .into());
        }
    };
    let vocabulary = Vocabulary::of(metadata, lists)?;
    Tokens::built(source, || build(&vocabulary)).map(Some)
}

/// A vocabulary as the file lists it.
struct Vocabulary<'a> {
    metadata: &'a Metadata<'a>,
    tokens: &'a [String],
    kinds: Vec<Kind>,
    /// How early a piece is merged: the higher the earlier; empty where the file has no scores.
    scores: &'a [f64],
    /// Pairs with a blank between them, the earliest first; empty where the file has none.
    merges: &'a [String],
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A piece of text.
    Normal,
    /// What stands for text that no other token spells.
    Unknown,
    /// A mark that is no text: `<s>`.
    Control,
    /// Text that is one token wherever it stands.
    Whole,
    /// Never met.
    Unused,
    /// One byte, for text that no piece spells.
    Byte,
}

impl Kind {
    fn of(number: f64) -> Option<Self> {
        const KINDS: [Kind; 6] =
            [Kind::Normal, Kind::Unknown, Kind::Control, Kind::Whole, Kind::Unused, Kind::Byte];
        KINDS.iter().zip(1..).find(|(_, known)| f64::from(*known) == number).map(|(kind, _)| *kind)
    }
}

impl<'a> Vocabulary<'a> {
    fn of(metadata: &'a Metadata<'a>, lists: &'a BTreeMap<String, List>) -> Outcome<Self> {
        let texts = |key: &str| match lists.get(key) {
            Some(List::Texts(texts)) => texts.as_slice(),
            _ => &[],
        };
        let numbers = |key: &str| match lists.get(key) {
            Some(List::Numbers(numbers)) => numbers.as_slice(),
            _ => &[],
        };
        let (tokens, scores, types) = (texts(TOKENS), numbers(SCORES), numbers(TYPES));
        if tokens.is_empty() {
            let why = "a tokenizer is named, and its tokens are not listed";
            return Err(
                Fault::new(format!("the metadata has no {TOKENS}"), why, "download the file again").into()
            );
        }
        for (key, list) in [(SCORES, scores), (TYPES, types)] {
            if !list.is_empty() && list.len() != tokens.len() {
                let what =
                    format!("the metadata {key} has {} numbers for {} tokens", list.len(), tokens.len());
                return Err(Fault::new(what, "every token has one", "download the file again").into());
            }
        }
        let mut kinds = vec![Kind::Normal; tokens.len()];
        for (kind, number) in kinds.iter_mut().zip(types) {
            *kind = Kind::of(*number).ok_or_else(|| {
                let what = format!("the metadata {TYPES} names a type {number}");
                Fault::new(what, "the types of tokens are 1 to 6", "download the file again")
            })?;
        }
        Ok(Self { metadata, tokens, kinds, scores, merges: texts(MERGES) })
    }

    /// Tokens by their text.
    fn ids(&self) -> Vocab {
        self.tokens.iter().cloned().zip(0..).collect()
    }

    /// The merges as the file lists them.
    fn listed_merges(&self, ids: &Vocab) -> Result<Merges> {
        let pair = |merge: &String| match merge.split_once(' ') {
            // The crate takes it for granted that what a merge makes is a token.
            Some((left, right)) if ids.contains_key(&format!("{left}{right}")) => {
                Ok((left.to_owned(), right.to_owned()))
            }
            Some((left, right)) => Err(format!("its merge of {left} and {right} makes no token").into()),
            None => Err(format!("its merge {merge} has no blank").into()),
        };
        self.merges.iter().map(pair).collect()
    }

    /// A token named under a key (`bos_token_id`), where the file names one that there is.
    fn named(&self, key: &str) -> Option<(String, u32)> {
        let id = self.metadata.token(key)?;
        Some((self.tokens.get(id as usize)?.clone(), id))
    }

    /// Makes marks and whole tokens be found in a text as they are.
    fn mark(&self, tokenizer: &mut Tokenizer) -> Result<()> {
        let marked = self.tokens.iter().zip(&self.kinds).filter_map(|(token, kind)| match kind {
            Kind::Control | Kind::Unknown => Some(AddedToken::from(token.as_str(), true)),
            Kind::Whole => Some(AddedToken::from(token.as_str(), false).normalized(false)),
            Kind::Normal | Kind::Unused | Kind::Byte => None,
        });
        tokenizer.add_tokens(marked.filter(|token| !token.content.is_empty()))?;
        Ok(())
    }

    /// Puts the marks of beginning and end around every text, as the file says, or else as llama.cpp does.
    fn frame(&self, tokenizer: &mut Tokenizer, begins: bool) -> Result<()> {
        let frame = |flag: &str, otherwise: bool, key: &str| {
            self.metadata.tokenizer_flag(flag).unwrap_or(otherwise).then(|| self.named(key)).flatten()
        };
        let marks = [
            ("begin", frame("add_bos_token", begins, "bos_token_id")),
            ("end", frame("add_eos_token", false, "eos_token_id")),
        ];
        let names = marks.each_ref().map(|(name, mark)| mark.as_ref().map_or("", |_| name));
        let framed = |text: &str, segment: u8| {
            let [begin, end] = names.map(|name| match name {
                "" => String::new(),
                name => format!("{name}:{segment}"),
            });
            format!("{begin} {text}:{segment} {end}").trim().to_owned()
        };
        let single = framed("$A", 0);
        let pair = format!("{single} {}", framed("$B", 1));
        let mut known = Vec::new();
        for (name, mark) in marks {
            if let Some((token, id)) = mark {
                known.push(SpecialToken::new(name.to_owned(), vec![id], vec![token])?);
            }
        }
        if !known.is_empty() {
            let template = TemplateProcessing::builder()
                .try_single(single)
                .map_err(|error| error.to_string())?
                .try_pair(pair)
                .map_err(|error| error.to_string())?
                .special_tokens(known)
                .build()
                .map_err(|error| error.to_string())?;
            tokenizer.with_post_processor(Some(template));
        }
        Ok(())
    }
}
