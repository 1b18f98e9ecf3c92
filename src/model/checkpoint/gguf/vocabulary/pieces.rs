//! SentencePiece: pieces with scores, `▁` for a blank, bytes for what no piece spells.

use tokenizers::decoders::DecoderWrapper;
use tokenizers::models::bpe::{BPE, Merges, Vocab};
use tokenizers::normalizers::{NormalizerWrapper, Prepend, Replace, Sequence};
use tokenizers::{Result, Tokenizer};

use super::{Kind, Vocabulary};

const BLANK: &str = "▁";

/// Merges in the order of their scores: each time the neighbours that make the piece with the highest one.
pub(super) fn tokenizer(vocabulary: &Vocabulary<'_>) -> Result<Tokenizer> {
    let ids = vocabulary.ids();
    let merges = if vocabulary.merges.is_empty() {
        by_score(vocabulary, &ids)
    } else {
        vocabulary.listed_merges(&ids)?
    };
    let has_bytes = vocabulary.kinds.contains(&Kind::Byte);
    let mut model = BPE::builder().vocab_and_merges(ids, merges).fuse_unk(true).byte_fallback(has_bytes);
    if let Some((unknown, _)) = vocabulary.named("unknown_token_id") {
        model = model.unk_token(unknown);
    }
    let mut tokenizer = Tokenizer::new(model.build()?);
    let blanks = Replace::new(" ", BLANK)?;
    let begins_with_blank = vocabulary.metadata.tokenizer_flag("add_space_prefix").unwrap_or(true);
    let normalizer: NormalizerWrapper = if begins_with_blank {
        Sequence::new(vec![Prepend::new(BLANK.to_owned()).into(), blanks.into()]).into()
    } else {
        blanks.into()
    };
    tokenizer.with_normalizer(Some(normalizer))?;
    tokenizer.with_decoder(Some(DecoderWrapper::Replace(Replace::new(BLANK, " ")?)));
    vocabulary.mark(&mut tokenizer)?;
    vocabulary.frame(&mut tokenizer, true)?;
    Ok(tokenizer)
}

/// Every pair of pieces that makes a piece, the one with the highest score first.
fn by_score(vocabulary: &Vocabulary<'_>, ids: &Vocab) -> Merges {
    let mut pairs: Vec<(f64, u32, u32)> = Vec::new();
    for (index, (token, kind)) in vocabulary.tokens.iter().zip(&vocabulary.kinds).enumerate() {
        if *kind != Kind::Normal {
            continue;
        }
        let score = vocabulary.scores.get(index).copied().unwrap_or(0.0);
        for (at, _) in token.char_indices().skip(1) {
            let (left, right) = token.split_at(at);
            if let Some(left) = ids.get(left)
                && let Some(right) = ids.get(right)
            {
                pairs.push((score, *left, *right));
            }
        }
    }
    pairs.sort_by(|(a, a_left, a_right), (b, b_left, b_right)| {
        b.total_cmp(a).then_with(|| (a_left, a_right).cmp(&(b_left, b_right)))
    });
    let text = |id: u32| vocabulary.tokens[id as usize].clone();
    pairs.into_iter().map(|(_, left, right)| (text(left), text(right))).collect()
}
