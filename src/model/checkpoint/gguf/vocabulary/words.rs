//! BERT's WordPiece, whose pieces llama.cpp's converter spells in its own way.

use tokenizers::decoders::DecoderWrapper;
use tokenizers::decoders::wordpiece::WordPiece as Decoder;
use tokenizers::models::bpe::Vocab;
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::bert::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::processors::bert::BertProcessing;
use tokenizers::{AddedToken, Result, Tokenizer};

use super::Vocabulary;

pub(super) fn tokenizer(vocabulary: &Vocabulary<'_>) -> Result<Tokenizer> {
    let tokens: Vec<String> = vocabulary.tokens.iter().map(|token| spelled(token)).collect();
    // The file does not say whether capitals are written small first: a vocabulary without capitals does.
    let is_mark = |token: &str| token.starts_with('[') && token.ends_with(']');
    let is_lower =
        !tokens.iter().any(|token| !is_mark(token) && token.chars().any(|c| c.is_ascii_uppercase()));
    let ids: Vocab = tokens.into_iter().zip(0..).collect();
    let named = |keys: [&str; 2], otherwise: &str| -> Result<(String, u32)> {
        let found = keys.iter().find_map(|key| vocabulary.named(key));
        let found = found.or_else(|| Some((otherwise.to_owned(), *ids.get(otherwise)?)));
        found.ok_or_else(|| format!("its vocabulary has no {otherwise}").into())
    };
    let cls = named(["cls_token_id", "bos_token_id"], "[CLS]")?;
    // llama.cpp's key was misspelt, and is so in all files of its time.
    let sep = named(["seperator_token_id", "eos_token_id"], "[SEP]")?;
    let (unknown, _) = named(["unknown_token_id", "unk_token_id"], "[UNK]")?;
    let marks = [&cls.0, &sep.0, &unknown].map(|token| AddedToken::from(token.as_str(), true));
    let mask = ids.contains_key("[MASK]").then(|| AddedToken::from("[MASK]", true));
    let mut tokenizer = Tokenizer::new(WordPiece::builder().vocab(ids).unk_token(unknown).build()?);
    tokenizer.with_normalizer(Some(BertNormalizer::new(true, true, None, is_lower)))?;
    tokenizer.with_pre_tokenizer(Some(BertPreTokenizer));
    tokenizer.with_post_processor(Some(BertProcessing::new(sep, cls)));
    tokenizer.with_decoder(Some(DecoderWrapper::WordPiece(Decoder::default())));
    tokenizer.add_tokens(marks.into_iter().chain(mask))?;
    Ok(tokenizer)
}

/// BERT's own spelling: the converter writes `▁word` for `word`, and `ed` for `##ed`.
fn spelled(token: &str) -> String {
    match token.strip_prefix('▁') {
        Some(word) => word.to_owned(),
        None if token.starts_with('[') && token.ends_with(']') => token.to_owned(),
        None => format!("##{token}"),
    }
}
