//! A model's tokenizer: the tokenizers crate behind one guarded edge.

use tokenizers::models::ModelWrapper;
use tokenizers::{DecoderWrapper, EncodeInput, Encoding, PreTokenizerWrapper, Tokenizer};

use super::guard::guarded;
use super::spelling::Spelling;
use super::{Passage, json};
use crate::fault::{Fault, Outcome};
use crate::limits;

/// A model's tokenizer.
pub struct Tokens {
    tokenizer: Tokenizer,
    spelling: Spelling,
    /// What it is called in faults: its file.
    source: String,
    /// Times that its replacements lengthen a text at most.
    lengthening: f64,
}

impl Tokens {
    /// A `tokenizer.json`; what it says of padding and truncation is left out. `source` names it in faults.
    ///
    /// # Errors
    /// It is too large, cannot be read, contradicts itself, or asks for what no text needs.
    pub fn from_json(text: &[u8], source: &str) -> Outcome<Self> {
        if text.len() as u64 > limits::TOKENIZER_BYTES {
            return Err(too_large(text.len() as u64).in_source(source).into());
        }
        let read = guarded(|| json::tokenizer(text)).unwrap_or_else(|| Err(STOPPED.to_owned()));
        let (tokenizer, lengthening) = read.map_err(|why| unusable(&why, source))?;
        Ok(Self { lengthening, ..Self::new(tokenizer, source) })
    }

    /// A tokenizer put together of a vocabulary, as a `.gguf` file or a `vocab.txt` holds it. `source` names it in faults.
    ///
    /// # Errors
    /// It cannot be put together.
    pub fn built(source: &str, build: impl FnOnce() -> tokenizers::Result<Tokenizer>) -> Outcome<Self> {
        let built = guarded(|| build().map_err(|error| error.to_string()));
        let built = built.unwrap_or_else(|| Err(STOPPED.to_owned()));
        // A blank becomes the three bytes of `▁`.
        built
            .map(|tokenizer| Self { lengthening: 3.0, ..Self::new(tokenizer, source) })
            .map_err(|why| unusable(&why, source).into())
    }

    fn new(mut tokenizer: Tokenizer, source: &str) -> Self {
        tokenizer.with_padding(None);
        Self { spelling: spelling_of(&tokenizer), source: source.to_owned(), lengthening: 1.0, tokenizer }
    }

    /// What it is called in faults.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Tokens of the vocabulary, without those that were added to it later.
    pub fn vocabulary(&self) -> usize {
        self.tokenizer.get_vocab_size(false)
    }

    /// Tokens in all.
    pub fn all_tokens(&self) -> usize {
        self.tokenizer.get_vocab_size(true)
    }

    /// The id of a token that the vocabulary writes so.
    pub fn id_of(&self, token: &str) -> Option<u32> {
        self.tokenizer.token_to_id(token)
    }

    /// What the vocabulary writes for an id, in its own spelling; it may hold control characters. `None` for an id without a name.
    pub fn name_of(&self, id: u32) -> Option<String> {
        self.tokenizer.id_to_token(id)
    }

    /// A token as people read it; `None` for an id without a name.
    pub fn label(&self, id: u32) -> Option<String> {
        self.name_of(id).map(|piece| self.label_of(&piece))
    }

    fn label_of(&self, piece: &str) -> String {
        // What was added later stands as it is in every kind of vocabulary.
        let is_added = self.tokenizer.get_added_vocabulary().get_vocab().contains_key(piece);
        let spelling = if is_added { Spelling::Plain } else { self.spelling };
        spelling.label(piece)
    }

    /// Whether a token marks a place and stands for no text: `[CLS]`, `[SEP]`, `<s>`; not `[UNK]`, which stands for some.
    pub fn is_special(&self, id: u32) -> bool {
        let added = self.tokenizer.get_added_vocabulary().get_added_tokens_decoder().get(&id);
        added.is_some_and(|token| token.special && self.unknown() != Some(token.content.as_str()))
    }

    /// What stands for text that the vocabulary cannot spell.
    fn unknown(&self) -> Option<&str> {
        match self.tokenizer.get_model() {
            ModelWrapper::BPE(bpe) => bpe.unk_token.as_deref(),
            ModelWrapper::WordPiece(pieces) => Some(&pieces.unk_token),
            ModelWrapper::WordLevel(words) => Some(&words.unk_token),
            ModelWrapper::Unigram(_) => Some("<unk>"),
        }
    }

    /// A text in tokens, or a pair of them.
    ///
    /// # Errors
    /// The tokenizer contradicts itself, or could make of the text what no memory holds.
    pub fn split(&self, first: &str, second: Option<&str>) -> Outcome<Passage> {
        let length = first.len() + second.map_or(0, str::len);
        let input: EncodeInput<'_> = match second {
            Some(second) => (first, second).into(),
            None => first.into(),
        };
        if length as f64 * self.lengthening > limits::LENGTHENED_BYTES {
            let why = format!("its replacements can make a text {:.0} times longer", self.lengthening);
            return Err(unusable(&why, &self.source).into());
        }
        let split = guarded(|| self.tokenizer.encode(input, true).map_err(|error| error.to_string()));
        let encoding = split
            .unwrap_or_else(|| Err(STOPPED.to_owned()))
            .map_err(|why| self.unsplit(&why, [first, second.unwrap_or_default()]))?;
        Ok(self.passage(&encoding))
    }

    /// Why a text could not be split: something in it has no token, or the tokenizer is at fault.
    fn unsplit(&self, why: &str, texts: [&str; 2]) -> Fault {
        // Of vocabularies of words and of their pieces, where nothing stands for what is unknown.
        if !why.contains("token from the vocabulary") {
            return unusable(why, &self.source);
        }
        let why =
            format!("the vocabulary has {} tokens, and none for what it does not know", self.vocabulary());
        let fails = |part: &str| guarded(|| self.tokenizer.encode(part, false).is_err()).unwrap_or(true);
        let word = texts.iter().flat_map(|text| text.split_whitespace()).find(|word| fails(word));
        let letter = word.and_then(|word| word.chars().find(|letter| fails(&letter.to_string())));
        let what = match (letter, word) {
            (Some(letter), _) => format!("“{letter}” in the text has no token"),
            (None, Some(word)) => format!("“{word}” in the text has no token"),
            (None, None) => "something in the text has no token".to_owned(),
        };
        Fault::new(what, why, "leave out what the model was not trained on").in_source(&self.source)
    }

    fn passage(&self, encoding: &Encoding) -> Passage {
        let pieces = encoding.get_tokens();
        let mask = encoding.get_special_tokens_mask().iter();
        Passage {
            ids: encoding.get_ids().to_vec(),
            segments: encoding.get_type_ids().iter().map(|id| *id as usize).collect(),
            labels: pieces.iter().map(|piece| self.label_of(piece)).collect(),
            pieces: pieces.to_vec(),
            is_special: mask
                .zip(encoding.get_ids())
                .map(|(mask, id)| *mask == 1 || self.is_special(*id))
                .collect(),
        }
    }
}

/// How its vocabulary is spelled, told by how it is read back.
fn spelling_of(tokenizer: &Tokenizer) -> Spelling {
    let spelled = |decoder: &DecoderWrapper| match decoder {
        DecoderWrapper::ByteLevel(_) => Some(Spelling::Bytes),
        DecoderWrapper::Metaspace(_) | DecoderWrapper::Replace(_) | DecoderWrapper::ByteFallback(_) => {
            Some(Spelling::Blanks)
        }
        _ => None,
    };
    let decoded = match tokenizer.get_decoder() {
        Some(DecoderWrapper::Sequence(parts)) => parts.get_decoders().iter().find_map(spelled),
        Some(decoder) => spelled(decoder),
        None => None,
    };
    let split = match tokenizer.get_pre_tokenizer() {
        Some(PreTokenizerWrapper::ByteLevel(_)) => Some(Spelling::Bytes),
        Some(PreTokenizerWrapper::Metaspace(_)) => Some(Spelling::Blanks),
        _ => None,
    };
    decoded.or(split).unwrap_or(Spelling::Plain)
}

/// Why there is no outcome where the crate panicked.
const STOPPED: &str = "what it says contradicts itself, and no outcome could be reached";

/// A file of a vocabulary that is longer than any.
pub(super) fn too_large(bytes: u64) -> Fault {
    let what = format!("the tokenizer is {} MiB large", bytes.div_ceil(1 << 20));
    let why = format!("tokenizers are read up to {} MiB", limits::TOKENIZER_BYTES >> 20);
    Fault::new(what, why, "see whether it is the right file; ids can be given without it: --tokens 5,8,13")
}

/// A tokenizer that cannot be used.
pub(super) fn unusable(why: &str, source: &str) -> Fault {
    const SHOWN: usize = 200;
    let mut told: String = why.chars().take(SHOWN).collect();
    if told.len() < why.len() {
        told.push('…');
    }
    let remedy =
        "download it again from where the weights are from; ids can be given without it: --tokens 5,8,13";
    Fault::new("the tokenizer cannot be used", told, remedy).in_source(source)
}
