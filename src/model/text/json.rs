//! A `tokenizer.json`, read without what is never used: truncation and padding are passed over unread.
//!
//! The crate's own reader copies the vocabulary twice on its way, because the kind of a vocabulary may stand behind it. Here the
//! kind is read first where it stands first, as all published files have it, and the vocabulary goes straight into its
//! table. Where that fails the crate's own reader has its say.

use std::cell::Cell;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Value};
use tokenizers::models::{
    ModelWrapper, bpe::BPE, unigram::Unigram, wordlevel::WordLevel, wordpiece::WordPiece,
};
use tokenizers::{
    AddedToken, DecoderWrapper, NormalizerWrapper, PostProcessorWrapper, PreTokenizerWrapper, Tokenizer,
};

use crate::limits;

/// The tokenizer, and how many times longer its replacements can make a text; or why there is none.
pub(super) fn tokenizer(text: &[u8]) -> Result<(Tokenizer, f64), String> {
    let parts = match Parts::read(text, Reader::Straight) {
        Ok(parts) => parts,
        // Of two faults the first says more: the crate tries one kind of vocabulary after the other.
        Err(first) => Parts::read(text, Reader::OfTheCrate).map_err(|_| first.to_string())?,
    };
    let mut bounds = Bounds { steps: 0, lengthening: 1.0 };
    for part in [&parts.normalizer, &parts.pre_tokenizer, &parts.post_processor, &parts.decoder] {
        bounds.look_at("", part)?;
    }
    let mut model =
        parts.model.ok_or("it has no model: the vocabulary, and how words are looked up in it")?;
    tame(&mut model)?;
    build(model, [parts.normalizer, parts.pre_tokenizer, parts.post_processor, parts.decoder], parts.added)
        .map(|tokenizer| (tokenizer, bounds.lengthening))
        .map_err(|error| error.to_string())
}

fn build(model: ModelWrapper, parts: [Value; 4], added: Vec<AddedToken>) -> tokenizers::Result<Tokenizer> {
    let [normalizer, pre_tokenizer, post_processor, decoder] = parts;
    let mut tokenizer = Tokenizer::new(model);
    tokenizer.with_normalizer(serde_json::from_value::<Option<NormalizerWrapper>>(normalizer)?)?;
    tokenizer.with_pre_tokenizer(serde_json::from_value::<Option<PreTokenizerWrapper>>(pre_tokenizer)?);
    tokenizer.with_post_processor(serde_json::from_value::<Option<PostProcessorWrapper>>(post_processor)?);
    tokenizer.with_decoder(serde_json::from_value::<Option<DecoderWrapper>>(decoder)?);
    tokenizer.add_tokens(added)?;
    Ok(tokenizer)
}

/// Makes a vocabulary answer the same each time, and in time.
fn tame(model: &mut ModelWrapper) -> Result<(), String> {
    let is_long =
        |text: &Option<String>| text.as_ref().is_some_and(|text| text.len() > limits::TOKENIZER_STRING_BYTES);
    match model {
        // Drops merges at random, to make training harder.
        ModelWrapper::BPE(bpe) => bpe.dropout = None,
        ModelWrapper::WordPiece(pieces) if pieces.max_input_chars_per_word > limits::WORD_CHARACTERS => {
            return Err(format!("its words have up to {} characters", pieces.max_input_chars_per_word));
        }
        _ => {}
    }
    match model {
        ModelWrapper::BPE(bpe)
            if is_long(&bpe.continuing_subword_prefix) || is_long(&bpe.end_of_word_suffix) =>
        {
            Err("the mark of a word's parts is longer than any word".to_owned())
        }
        _ => Ok(()),
    }
}

/// What the steps before and after the vocabulary ask for, all together.
struct Bounds {
    steps: usize,
    /// Times that replacements lengthen a text at most.
    lengthening: f64,
}

impl Bounds {
    fn look_at(&mut self, key: &str, part: &Value) -> Result<(), String> {
        match part {
            Value::String(text) => {
                let most = match key {
                    "precompiled_charsmap" => limits::CHARACTERS_MAP_BYTES,
                    _ => limits::TOKENIZER_STRING_BYTES,
                };
                if text.len() > most {
                    return Err(format!("{key} is {} KiB long", text.len().div_ceil(1 << 10)));
                }
            }
            Value::Array(parts) => parts.iter().try_for_each(|part| self.look_at(key, part))?,
            Value::Object(parts) => {
                self.steps += usize::from(parts.contains_key("type"));
                if self.steps > limits::TOKENIZER_STEPS {
                    return Err(format!("it has more than {} steps", limits::TOKENIZER_STEPS));
                }
                if parts.get("type").is_some_and(|kind| kind == "Replace") {
                    self.lengthening *= lengthening(parts);
                }
                parts.iter().try_for_each(|(key, part)| self.look_at(key, part))?;
            }
            _ => {}
        }
        Ok(())
    }
}

/// Times that a replacement lengthens a text at most.
fn lengthening(replace: &Map<String, Value>) -> f64 {
    let content = replace.get("content").and_then(Value::as_str).map_or(0, str::len) as f64;
    match replace.get("pattern").and_then(|pattern| pattern.get("String")).and_then(Value::as_str) {
        Some(text) if !text.is_empty() => (content / text.len() as f64).max(1.0),
        // Beside every character there is an empty place, which an expression may match.
        _ => 1.0 + content,
    }
}

/// How a vocabulary is read.
#[derive(Clone, Copy)]
enum Reader {
    Straight,
    OfTheCrate,
}

/// What a `tokenizer.json` says.
#[derive(Default)]
struct Parts {
    normalizer: Value,
    pre_tokenizer: Value,
    post_processor: Value,
    decoder: Value,
    added: Vec<AddedToken>,
    model: Option<ModelWrapper>,
}

impl Parts {
    fn read(text: &[u8], reader: Reader) -> serde_json::Result<Self> {
        let mut deserializer = serde_json::Deserializer::from_slice(text);
        let parts = deserializer.deserialize_map(PartsVisitor(reader))?;
        deserializer.end()?;
        Ok(parts)
    }
}

struct PartsVisitor(Reader);

impl<'de> Visitor<'de> for PartsVisitor {
    type Value = Parts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tokenizer: an object with a model")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parts, A::Error> {
        let mut parts = Parts::default();
        let values = Cell::new(limits::TOKENIZER_VALUES);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "model" => parts.model = Some(map.next_value_seed(ModelSeed(self.0))?),
                "added_tokens" => parts.added = map.next_value::<Option<_>>()?.unwrap_or_default(),
                "normalizer" => parts.normalizer = map.next_value_seed(Small(&values))?,
                "pre_tokenizer" => parts.pre_tokenizer = map.next_value_seed(Small(&values))?,
                "post_processor" => parts.post_processor = map.next_value_seed(Small(&values))?,
                "decoder" => parts.decoder = map.next_value_seed(Small(&values))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(parts)
    }
}

struct ModelSeed(Reader);

impl<'de> DeserializeSeed<'de> for ModelSeed {
    type Value = ModelWrapper;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<ModelWrapper, D::Error> {
        match self.0 {
            Reader::Straight => deserializer.deserialize_map(ModelVisitor),
            Reader::OfTheCrate => ModelWrapper::deserialize(deserializer),
        }
    }
}

struct ModelVisitor;

impl<'de> Visitor<'de> for ModelVisitor {
    type Value = ModelWrapper;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a model whose type stands first")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ModelWrapper, A::Error> {
        let kind = match map.next_entry::<String, String>()? {
            Some((key, kind)) if key == "type" => kind,
            _ => return Err(A::Error::custom("its model has no type")),
        };
        let rest = MapAccessDeserializer::new(map);
        Ok(match kind.as_str() {
            "BPE" => BPE::deserialize(rest)?.into(),
            "WordPiece" => WordPiece::deserialize(rest)?.into(),
            "WordLevel" => WordLevel::deserialize(rest)?.into(),
            "Unigram" => Unigram::deserialize(rest)?.into(),
            _ => {
                let known = "known are BPE, WordPiece, WordLevel and Unigram";
                return Err(A::Error::custom(format!("its model is of the type {kind}, and {known}")));
            }
        })
    }
}

/// JSON of so many values.
struct Small<'a>(&'a Cell<usize>);

impl Small<'_> {
    fn one_more<E: Error>(&self) -> Result<(), E> {
        let left = self.0.get().checked_sub(1);
        self.0.set(left.ok_or_else(|| E::custom("a step of it is longer than a vocabulary"))?);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Small<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.one_more()?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Small<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(Small(self.0))? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            values.insert(key, map.next_value_seed(Small(self.0))?);
        }
        Ok(Value::Object(values))
    }
}
