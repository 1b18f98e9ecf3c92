//! Tokenizers that lie, that belong to another model, or that were written to do harm.

use std::fs;

use mha::model::Tokens;
use serde_json::{Value, json};

use super::{change, opened, read, reference, refused, right, tells};

type Change = fn(&mut Value);

/// The tokens of "The animal." by the right tokenizer.
const RIGHT: [&str; 5] = ["[CLS]", "the", "animal", ".", "[SEP]"];

/// What is said of padding and truncation is never asked for, however wrong it is.
#[test]
fn padding_and_truncation_are_left_out() {
    let truncation = |max_length: u64, stride: u64| json!({"direction": "Right", "max_length": max_length, "strategy": "LongestFirst", "stride": stride});
    let padding = json!({"strategy": {"Fixed": 1_000_000_000_000_u64}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"});
    for (key, value) in [
        ("truncation", truncation(3, 0)),
        ("truncation", truncation(1, 5)),
        ("truncation", json!("nonsense")),
        ("padding", padding),
        ("version", json!("2.0")),
        ("a key of the future", json!([[]])),
    ] {
        let room = right();
        change(room.path(), "tokenizer.json", |tokenizer| tokenizer[key] = value.clone());
        assert_eq!(read(&opened(room.path()), "The animal.").unwrap().labels, RIGHT, "{key}: {value}");
    }
}

/// Refused when it is opened, or at the latest when a text is split; never a panic, and never a long wait.
#[test]
fn a_tokenizer_that_lies_is_refused() {
    let rows: [(&str, Change, &[&str]); 16] = [
        ("no model", |t| t["model"] = Value::Null, &["expected a model"]),
        ("no object", |t| *t = json!([1]), &["a tokenizer: an object with a model"]),
        ("an unknown kind", |t| t["model"]["type"] = "Magic".into(), &["of the type Magic", "known are BPE"]),
        ("a negative id", |t| t["model"]["vocab"]["the"] = json!(-1), &[]),
        (
            "no unknown token",
            |t| drop(t["model"].as_object_mut().unwrap().remove("unk_token")),
            &["unk_token"],
        ),
        (
            "a map of characters that is none",
            |t| t["normalizer"] = json!({"type": "Precompiled", "precompiled_charsmap": "AAAA"}),
            &[],
        ),
        (
            "a map of characters that ends early",
            |t| t["normalizer"] = json!({"type": "Precompiled", "precompiled_charsmap": "/////w=="}),
            &[],
        ),
        (
            "a template that names what is not there",
            |t| t["post_processor"]["single"][0]["SpecialToken"]["id"] = "[NOWHERE]".into(),
            &[],
        ),
        (
            "a merge that is shorter than its mark",
            |t| {
                t["model"] = json!({"type": "BPE", "continuing_subword_prefix": "####", "vocab": {"a": 0, "b": 1, "ab": 2},
                    "merges": [["a", "b"]]});
            },
            &["no outcome could be reached"],
        ),
        (
            "a merge of what is not there",
            |t| {
                t["model"] =
                    json!({"type": "BPE", "vocab": {"a": 0, "b": 1, "abc": 2}, "merges": [["a", "b"]]})
            },
            &["`ab`", "vocabulary"],
        ),
        (
            "much before each word",
            |t| t["normalizer"] = json!({"type": "Prepend", "prepend": "x".repeat(5_000)}),
            &["prepend is 5 KiB long"],
        ),
        (
            "a text that doubles forty times",
            |t| {
                let double = json!({"type": "Replace", "pattern": {"String": "e"}, "content": "ee"});
                t["normalizer"] = json!({"type": "Sequence", "normalizers": vec![double; 40]});
            },
            &["1099511627776 times longer"],
        ),
        (
            "steps without end",
            |t| {
                let step = json!({"type": "Lowercase"});
                t["normalizer"] = json!({"type": "Sequence", "normalizers": vec![step; 1_000]});
            },
            &["more than 256 steps"],
        ),
        ("a step longer than a vocabulary", |t| t["decoder"] = json!(vec![0; 100_000]), &["a step of it"]),
        (
            "words without end",
            |t| t["model"]["max_input_chars_per_word"] = json!(1_u64 << 40),
            &["1099511627776"],
        ),
        (
            "an expression that is none",
            |t| {
                t["pre_tokenizer"] = json!({"type": "Split", "pattern": {"Regex": "(a"}, "behavior": "Isolated", "invert": false});
            },
            &[],
        ),
    ];
    for (promise, spoil, words) in rows {
        let room = right();
        change(room.path(), "tokenizer.json", spoil);
        let bytes = fs::read(room.path().join("tokenizer.json")).unwrap();
        let split = Tokens::from_json(&bytes, "tokenizer.json").and_then(|t| t.split("The animal ☕.", None));
        let told = split.err().unwrap_or_else(|| panic!("{promise}: split")).to_string();
        tells(promise, &told, words);
        tells(promise, &told, &["the tokenizer cannot be used", "--> tokenizer.json", "--tokens 5,8,13"]);
    }
}

/// The rows above once more, in a process of their own: of the panics among them nobody sees a word.
#[test]
fn nothing_of_a_panic_is_seen() {
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "tokenizers::a_tokenizer_that_lies_is_refused", "--nocapture"]);
    let output = again.output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_file_that_is_no_tokenizer_is_refused() {
    let rows: [(&str, &[u8], &str); 4] = [
        ("nothing", b"", "the file is empty"),
        ("half of one", b"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\"", "the tokenizer cannot be used"),
        ("bytes", &[0xFF; 100], "the tokenizer cannot be used"),
        ("an escape", b"{\"model\": {\"type\": \"\\u001b[2J\"}}", "the tokenizer cannot be used"),
    ];
    for (promise, bytes, words) in rows {
        let room = right();
        fs::write(room.path().join("tokenizer.json"), bytes).unwrap();
        refused(promise, room.path(), &[words, "tokenizer.json"]);
    }
    let room = right();
    let deep = format!("{{\"normalizer\": {}", "[".repeat(100_000));
    fs::write(room.path().join("tokenizer.json"), deep).unwrap();
    refused("lists in lists", room.path(), &["recursion limit"]);
    let file = fs::File::create(room.path().join("tokenizer.json")).unwrap();
    file.set_len((100 << 20) + 1).unwrap();
    refused("101 MiB", room.path(), &["the tokenizer is 101 MiB large", "up to 64 MiB"]);
}

/// GPT-2's folder has 300 tokens, and this BERT 140 rows.
#[test]
fn a_tokenizer_of_another_model_is_refused() {
    let room = right();
    fs::copy(reference("gpt2-tiny").join("tokenizer.json"), room.path().join("tokenizer.json")).unwrap();
    let words = ["the tokenizer has 300 tokens", "embedding 140 rows", "belongs to another model"];
    refused("larger", room.path(), &words);
    change(room.path(), "tokenizer.json", |tokenizer| {
        tokenizer["model"] =
            json!({"type": "WordLevel", "vocab": {"[UNK]": 0, "the": 1}, "unk_token": "[UNK]"});
    });
    refused("smaller", room.path(), &["the tokenizer has 2 tokens", "embedding 140 rows"]);
}

/// A word that was added to the tokenizer, and never to the model: other texts can be read.
#[test]
fn a_token_beyond_the_embedding_is_told_when_it_is_met() {
    let room = right();
    change(room.path(), "tokenizer.json", |tokenizer| {
        let added = json!({"id": 140, "content": "zebra\u{1b}[2J", "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": false});
        tokenizer["added_tokens"].as_array_mut().unwrap().push(added);
    });
    let model = opened(room.path());
    assert_eq!(read(&model, "The animal.").unwrap().labels, RIGHT);
    let told = read(&model, "the zebra\u{1b}[2J").unwrap_err();
    tells("beyond", &told, &["gives zebra\\e[2J the id 140", "141 tokens", "140 rows"]);
}

/// Merges that are left out at random are for training.
#[test]
fn a_text_is_split_the_same_way_each_time() {
    let mut json: Value =
        serde_json::from_slice(&fs::read(reference("gpt2-tiny").join("tokenizer.json")).unwrap()).unwrap();
    let split = |json: &Value| {
        let tokens = Tokens::from_json(json.to_string().as_bytes(), "tokenizer.json").unwrap();
        tokens.split("The animal didn't cross the street", None).unwrap()
    };
    let expected = split(&json);
    json["model"]["dropout"] = json!(0.9);
    assert_eq!(split(&json), expected);
}

/// The vocabulary goes straight into its table where its kind stands first, and the crate's own way where not.
#[test]
fn the_order_of_a_file_does_not_matter() {
    let room = right();
    change(room.path(), "tokenizer.json", |tokenizer| {
        let model = tokenizer["model"].as_object_mut().unwrap();
        let kind = model.shift_remove("type").unwrap();
        model.insert("a key of the future".to_owned(), json!(1));
        model.insert("type".to_owned(), kind);
        assert_ne!(model.keys().next().unwrap(), "type");
    });
    assert_eq!(read(&opened(room.path()), "The animal.").unwrap().labels, RIGHT);
}

/// The text has a word that no token stands for; that is no fault of the file.
#[test]
fn a_word_without_a_token_is_told_as_such() {
    let room = right();
    change(room.path(), "tokenizer.json", |t| t["model"]["unk_token"] = "[NOTHING]".into());
    let bytes = fs::read(room.path().join("tokenizer.json")).unwrap();
    let tokens = Tokens::from_json(&bytes, "tokenizer.json").unwrap();
    let told = tokens.split("The animal ☕.", None).unwrap_err().to_string();
    tells("an unknown word", &told, &["“☕” in the text has no token", "140 tokens", "--> tokenizer.json"]);
}
