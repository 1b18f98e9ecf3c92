//! Byte-level BPE: merges of bytes, after the text was cut by the rules of a family.

use tokenizers::models::bpe::BPE;
use tokenizers::normalizers::unicode::NFC;
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::tokenizer::SplitDelimiterBehavior;
use tokenizers::{Result, Tokenizer};

use super::Vocabulary;

/// How a text is cut before anything is merged, under the names that files have for it (`tokenizer.ggml.pre`).
struct Cut {
    names: &'static [&'static str],
    rule: Rule,
    /// Composed characters (NFC) first.
    composes: bool,
    /// A word that is a token is that token, whatever the merges would make of it.
    keeps_words: bool,
    /// Every text begins with the mark of beginning, where the file does not say whether.
    begins: bool,
}

enum Rule {
    /// GPT-2's.
    Words,
    /// GPT-2's, after every digit was cut off.
    WordsAndDigits,
    /// The matches of this expression.
    Matches(&'static str),
}

/// Contractions, letters with a character before them, one to three digits, punctuation, line ends, blanks.
const LLAMA_3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// The same with single digits.
const QWEN_2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

const CUTS: [Cut; 4] = [
    Cut {
        names: &[
            "",
            "default",
            "gpt-2",
            "phi-2",
            "mpt",
            "olmo",
            "roberta-bpe",
            "jina-es",
            "jina-de",
            "gpt3-finnish",
        ],
        rule: Rule::Words,
        composes: false,
        keeps_words: false,
        begins: false,
    },
    Cut {
        names: &["starcoder", "refact", "command-r", "smollm", "codeshell"],
        rule: Rule::WordsAndDigits,
        composes: false,
        keeps_words: false,
        begins: false,
    },
    Cut {
        names: &["llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral"],
        rule: Rule::Matches(LLAMA_3),
        composes: false,
        keeps_words: true,
        begins: true,
    },
    Cut {
        names: &["qwen2", "deepseek-r1-qwen", "megrez"],
        rule: Rule::Matches(QWEN_2),
        composes: true,
        keeps_words: false,
        begins: false,
    },
];

pub(super) fn tokenizer(vocabulary: &Vocabulary<'_>) -> Result<Tokenizer> {
    let name = vocabulary.metadata.plain("tokenizer.ggml.pre").unwrap_or_default();
    let Some(cut) = CUTS.iter().find(|cut| cut.names.contains(&name)) else {
        let known = CUTS.iter().flat_map(|cut| cut.names).filter(|name| !name.is_empty());
        let known = known.copied().collect::<Vec<_>>().join(", ");
        return Err(format!("it cuts texts by the rules of {name}; known are {known}").into());
    };
    let ids = vocabulary.ids();
    let merges = vocabulary.listed_merges(&ids)?;
    let model = BPE::builder().vocab_and_merges(ids, merges).ignore_merges(cut.keeps_words);
    let mut tokenizer = Tokenizer::new(model.build()?);
    if cut.composes {
        tokenizer.with_normalizer(Some(NFC))?;
    }
    let plain = ByteLevel::new(false, false, false);
    let words = ByteLevel::new(false, false, true);
    let rule: PreTokenizerWrapper = match cut.rule {
        Rule::Words => words.into(),
        Rule::WordsAndDigits => Sequence::new(vec![Digits::new(true).into(), words.into()]).into(),
        Rule::Matches(expression) => {
            let pattern = SplitPattern::Regex(expression.to_owned());
            let split = Split::new(pattern, SplitDelimiterBehavior::Isolated, false)?;
            Sequence::new(vec![split.into(), plain.into()]).into()
        }
    };
    tokenizer.with_pre_tokenizer(Some(rule));
    tokenizer.with_decoder(Some(ByteLevel::default()));
    vocabulary.mark(&mut tokenizer)?;
    vocabulary.frame(&mut tokenizer, cut.begins)?;
    Ok(tokenizer)
}
