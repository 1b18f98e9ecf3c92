//! Tokenizers of folders without a `tokenizer.json`: what stands in `vocab.txt`, or in `vocab.json` and `merges.txt`.

use std::io::Read;
use std::path::Path;

use serde_json::{Value, json};
use tokenizers::models::bpe::BPE;
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::bert::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::processors::bert::BertProcessing;
use tokenizers::processors::roberta::RobertaProcessing;
use tokenizers::{AddedToken, Tokenizer};

use super::Tokens;
use super::tokens::{too_large, unusable};
use crate::arrays::document::Document;
use crate::arrays::{self, Opened, failed_read};
use crate::fault::Outcome;
use crate::limits;

impl Tokens {
    /// The tokenizer of a model's folder: its `tokenizer.json`; else, in the families that have had them, `vocab.txt` (BERT,
    /// DistilBERT) or `vocab.json` and `merges.txt` (GPT-2, RoBERTa). `None` where there is none of these.
    ///
    /// # Errors
    /// One of them is there and cannot be read or used.
    pub fn in_folder(folder: &Path, model_type: &str) -> Outcome<Option<Self>> {
        let file = |name: &str| Some(folder.join(name)).filter(|path| path.exists());
        if let Some(path) = file("tokenizer.json") {
            return Self::from_json(&bytes(&path)?, &path.display().to_string()).map(Some);
        }
        match (model_type, file("vocab.txt"), file("vocab.json"), file("merges.txt")) {
            ("bert" | "distilbert", Some(words), ..) => {
                let is_lower = is_lower_case(folder)?;
                let text = bytes(&words)?;
                let built = Self::built(&words.display().to_string(), || pieces_of_words(&text, is_lower));
                built.map(Some)
            }
            ("gpt2" | "roberta", _, Some(vocabulary), Some(merges)) => {
                let source = vocabulary.display().to_string();
                let (vocabulary, merges) = (bytes(&vocabulary)?, bytes(&merges)?);
                let merges = String::from_utf8(merges).map_err(|_| {
                    unusable("it is no UTF-8", &folder.join("merges.txt").display().to_string())
                })?;
                let is_roberta = model_type == "roberta";
                Self::built(&source, || merged_bytes(&vocabulary, &merges, is_roberta)).map(Some)
            }
            _ => Ok(None),
        }
    }
}

fn bytes(path: &Path) -> Outcome<Vec<u8>> {
    let Opened { file, bytes } = arrays::open(path)?;
    if bytes > limits::TOKENIZER_BYTES {
        return Err(too_large(bytes).at(arrays::place(path)).into());
    }
    let mut read = Vec::new();
    file.take(limits::TOKENIZER_BYTES)
        .read_to_end(&mut read)
        .map_err(|error| failed_read(&error).at(arrays::place(path)))?;
    Ok(read)
}

/// Whether capitals are written small before words are looked up, as BERT does unless its folder says otherwise.
fn is_lower_case(folder: &Path) -> Outcome<bool> {
    let path = folder.join("tokenizer_config.json");
    if !path.exists() {
        return Ok(true);
    }
    Ok(Document::read(&path)?.value.get("do_lower_case").and_then(Value::as_bool).unwrap_or(true))
}

/// BERT's: a token a line, the line's number its id.
fn pieces_of_words(vocabulary: &[u8], is_lower: bool) -> tokenizers::Result<Tokenizer> {
    let mut tokenizer =
        Tokenizer::new(WordPiece::builder().vocab(WordPiece::read_bytes(vocabulary)?).build()?);
    tokenizer.with_normalizer(Some(BertNormalizer::new(true, true, None, is_lower)))?;
    tokenizer.with_pre_tokenizer(Some(BertPreTokenizer));
    let [sep, cls] = [id(&tokenizer, "[SEP]")?, id(&tokenizer, "[CLS]")?];
    tokenizer.with_post_processor(Some(BertProcessing::new(sep, cls)));
    special(&mut tokenizer, &["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])?;
    Ok(tokenizer)
}

/// GPT-2's and RoBERTa's: `{"token": id}`, and a merge a line.
fn merged_bytes(vocabulary: &[u8], merges: &str, is_roberta: bool) -> tokenizers::Result<Tokenizer> {
    let vocabulary: Value = serde_json::from_slice(vocabulary)?;
    let lines = merges.lines().filter(|line| !line.is_empty() && !line.starts_with("#version"));
    let merges: Vec<&str> = lines.collect();
    let model: BPE = serde_json::from_value(json!({"vocab": vocabulary, "merges": merges}))?;
    let mut tokenizer = Tokenizer::new(model);
    tokenizer.with_pre_tokenizer(Some(ByteLevel::new(false, true, true)));
    tokenizer.with_decoder(Some(ByteLevel::default()));
    if is_roberta {
        let [sep, cls] = [id(&tokenizer, "</s>")?, id(&tokenizer, "<s>")?];
        tokenizer.with_post_processor(Some(RobertaProcessing::new(sep, cls)));
        special(&mut tokenizer, &["<s>", "<pad>", "</s>", "<unk>", "<mask>"])?;
    } else {
        special(&mut tokenizer, &["<|endoftext|>"])?;
    }
    Ok(tokenizer)
}

fn id(tokenizer: &Tokenizer, token: &str) -> tokenizers::Result<(String, u32)> {
    let id = tokenizer.token_to_id(token).ok_or_else(|| format!("its vocabulary has no {token}"))?;
    Ok((token.to_owned(), id))
}

/// Marks those of these that the vocabulary has, so that they are found in a text as they are.
fn special(tokenizer: &mut Tokenizer, tokens: &[&str]) -> tokenizers::Result<()> {
    let known: Vec<AddedToken> = tokens
        .iter()
        .filter(|token| tokenizer.token_to_id(token).is_some())
        .map(|token| AddedToken::from(*token, true))
        .collect();
    tokenizer.add_tokens(known)?;
    Ok(())
}
