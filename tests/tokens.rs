//! Texts in tokens beside what transformers makes of the same tokenizers (`tests/reference/models`).

#![expect(clippy::unwrap_used, reason = "a test whose reference data cannot be read has nothing to tell")]

use std::path::{Path, PathBuf};

use mha::model::{Model, Passage, Text, Tokens};
use serde_json::Value;

fn reference(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/models").join(name)
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn tokens_in(folder: &Path) -> Tokens {
    Tokens::in_folder(folder, "").unwrap().unwrap()
}

/// The text of a reference: one, or a pair as a list of two.
fn split(tokens: &Tokens, text: &Value) -> Passage {
    match text.as_array() {
        Some(pair) => tokens.split(pair[0].as_str().unwrap(), pair[1].as_str()),
        None => tokens.split(text.as_str().unwrap(), None),
    }
    .unwrap()
}

/// Ids and pieces are those of the reference.
#[track_caller]
fn same(passage: &Passage, expected: &Value) {
    let ids: Vec<Value> = passage.ids.iter().map(|id| Value::from(*id)).collect();
    assert_eq!(Value::from(ids), expected["ids"], "{}", expected["text"]);
    assert_eq!(Value::from(passage.pieces.clone()), expected["tokens"], "{}", expected["text"]);
}

#[test]
fn texts_are_split_as_transformers_splits_them() {
    let mut texts = 0;
    for folder in std::fs::read_dir(reference("")).unwrap() {
        let folder = folder.unwrap().path();
        if !folder.join("tokenizer.json").exists() {
            continue;
        }
        let tokens = tokens_in(&folder);
        for expected in json(&folder.join("expected.json"))["texts"].as_array().unwrap() {
            same(&split(&tokens, &expected["text"]), expected);
            texts += 1;
        }
    }
    assert_eq!(texts, 21, "seven models, three texts each");
}

/// MiniLM's own tokenizer, which asks for 128 tokens whatever the text's length; nothing here is padded or cut.
#[test]
#[ignore = "needs MiniLM: MHA_MINILM names its folder"]
fn a_real_vocabulary_splits_as_transformers_splits() {
    let folder = PathBuf::from(std::env::var("MHA_MINILM").unwrap());
    let sentences = json(&reference("minilm").join("sentences.json"));
    let from_json = tokens_in(&folder);
    let sentences = sentences["sentences"].as_array().unwrap();
    for expected in sentences {
        let passage = split(&from_json, &expected["text"]);
        same(&passage, expected);
        if let Some(segments) = expected.get("token_type_ids").filter(|segments| segments.is_array()) {
            let is: Vec<Value> = passage.segments.iter().map(|segment| Value::from(*segment)).collect();
            assert_eq!(&Value::from(is), segments);
        }
    }
    assert!(sentences.iter().any(|sentence| sentence["text"].is_array()), "a pair is among them");

    // The same folder as older ones are: a vocabulary, and no tokenizer.json.
    let room = tempfile::tempdir().unwrap();
    for file in ["vocab.txt", "tokenizer_config.json"] {
        std::fs::copy(folder.join(file), room.path().join(file)).unwrap();
    }
    let from_words = Tokens::in_folder(room.path(), "bert").unwrap().unwrap();
    for expected in sentences {
        same(&split(&from_words, &expected["text"]), expected);
    }
}

/// By hand, with the vocabulary of bert-tiny: [CLS] the animal [SEP] it was [SEP], and the second text's tokens
/// are in segment 2, its [SEP] too.
#[test]
fn a_pair_has_two_segments_and_a_separator_after_each() {
    let model = Model::open(reference("bert-tiny").to_str().unwrap()).unwrap();
    let passage = model.read(&Text::Pair("The animal".to_owned(), "it was.".to_owned())).unwrap();
    assert_eq!(passage.labels, ["[CLS]", "the", "animal", "[SEP]", "it", "was", ".", "[SEP]"]);
    assert_eq!(passage.segments, [0, 0, 0, 0, 1, 1, 1, 1]);
    assert_eq!(passage.is_special, [true, false, false, true, false, false, false, true]);
    let those = |is: fn(&Passage, usize) -> bool| -> Vec<usize> {
        (0..passage.ids.len()).filter(|i| is(&passage, *i)).collect()
    };
    assert_eq!(those(Passage::is_separator), [3, 7]);
    assert_eq!(those(Passage::is_punctuation), [6]);
    assert_eq!(passage.find("it"), [4]);
    assert_eq!(passage.find("IT"), [4], "capitals count only where a token has them");
    assert!(passage.find("animals").is_empty());
}

/// What the vocabulary cannot spell is no mark: it stands for text.
#[test]
fn an_unknown_word_is_not_special_and_ids_are_as_special_as_a_text() {
    let model = Model::open(reference("bert-tiny").to_str().unwrap()).unwrap();
    let text = model.read(&Text::One("The ☕ [SEP]".to_owned())).unwrap();
    assert_eq!(text.labels, ["[CLS]", "the", "[UNK]", "[SEP]", "[SEP]"]);
    assert_eq!(text.is_special, [true, false, false, true, true]);
    let ids = model.read(&Text::Ids(text.ids.clone())).unwrap();
    assert_eq!(ids, text, "nothing is added to ids, and they have the same names");
}

/// A blank before a word, a character in several tokens, the end of a text; as GPT-2 spells them.
#[test]
fn labels_of_bytes_are_read_as_people_write() {
    let tokens = tokens_in(&reference("gpt2-tiny"));
    let passage = tokens.split("The street é.\n<|endoftext|>", None).unwrap();
    let labels = ["The", "␣s", "t", "ree", "t", "␣", "<C3>", "<A9>", ".", "\\n", "<|endoftext|>"];
    assert_eq!(passage.labels, labels);
    assert_eq!(passage.pieces[1], "Ġs");
    assert!(passage.is_punctuation(8) && !passage.is_punctuation(0) && !passage.is_punctuation(5));
    assert!(passage.is_separator(10) && passage.is_special[10] && !passage.is_punctuation(10));
    assert_eq!(passage.find("s"), [1], "the blank before a word is no part of it");
    assert_eq!(passage.find("t"), [2, 4]);
}

/// The same as Llama spells it, with blanks after words; the apostrophe and é are bytes to this vocabulary.
#[test]
fn labels_of_sentencepiece_are_read_as_people_write() {
    let tokens = tokens_in(&reference("llama-tiny"));
    let passage = tokens.split("The animal's é", None).unwrap();
    assert_eq!(passage.labels, ["<s>", "␣The␣", "anim", "al", "'", "s␣", "<C3>", "<A9>"]);
    assert_eq!(passage.find("the"), [1]);
    assert!(passage.is_punctuation(4));
}

/// GPT-2's folders of old hold the two halves of its tokenizer.json apart.
#[test]
fn a_vocabulary_and_its_merges_are_a_tokenizer() {
    let folder = reference("gpt2-tiny");
    let tokenizer = json(&folder.join("tokenizer.json"));
    let room = tempfile::tempdir().unwrap();
    std::fs::write(room.path().join("vocab.json"), tokenizer["model"]["vocab"].to_string()).unwrap();
    let merges: Vec<String> = tokenizer["model"]["merges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|merge| match merge.as_array() {
            Some(pair) => format!("{} {}", pair[0].as_str().unwrap(), pair[1].as_str().unwrap()),
            None => merge.as_str().unwrap().to_owned(),
        })
        .collect();
    std::fs::write(room.path().join("merges.txt"), format!("#version: 0.2\n{}\n", merges.join("\n")))
        .unwrap();
    let tokens = Tokens::in_folder(room.path(), "gpt2").unwrap().unwrap();
    for expected in json(&folder.join("expected.json"))["texts"].as_array().unwrap() {
        same(&split(&tokens, &expected["text"]), expected);
    }
    assert!(Tokens::in_folder(room.path(), "llama").unwrap().is_none());
}
