//! How much of a model is believed and read at most; all are far above what published models need.

/// Bytes of a `tokenizer.json` or another file of a vocabulary: Gemma's, with 262,144 tokens, takes 33 million.
pub const TOKENIZER_BYTES: u64 = 64 << 20;

/// Steps of a tokenizer before and after its vocabulary (normalizer, pre-tokenizer, post-processor); real ones have
/// up to about twenty.
pub const TOKENIZER_STEPS: usize = 256;

/// Bytes of a string in such a step; regular expressions take up to a thousand.
pub const TOKENIZER_STRING_BYTES: usize = 4 << 10;

/// Bytes of a table of characters (`precompiled_charsmap`) in base 64; T5's and XLM-R's take 316,720.
pub const CHARACTERS_MAP_BYTES: usize = 4 << 20;

/// Bytes that a tokenizer's replacements may make of a text; a blank that becomes `▁` makes three.
pub const LENGTHENED_BYTES: f64 = 4_194_304.0;

/// Characters of a word that WordPiece looks up in its vocabulary; usual are 100.
pub const WORD_CHARACTERS: usize = 1_000;

/// Bytes of a text: sixteen times what [`TOKENS`] tokens of English take.
pub const TEXT_BYTES: usize = 256 << 10;

/// Tokens of a text. One matrix of attention weights of so many takes 64 MiB.
pub const TOKENS: usize = 4_096;

/// Numbers read at once from a tensor (1 GiB as f32); the largest matrix of a layer of Llama 3 70B has 235 million.
pub const READ_NUMBERS: usize = 1 << 28;

/// Bytes of a file that are read before they are turned into numbers: what stays in a processor's cache.
pub const CHUNK_BYTES: usize = 256 << 10;
