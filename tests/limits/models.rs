//! Real weights, their tokenizers, and texts.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::room::{Room, words};
use super::{At, LITTLE, Over, over};

/// A small model of the reference files.
fn reference(name: &str, file: &str) -> Vec<u8> {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/models");
    fs::read(models.join(name).join(file)).unwrap()
}

fn reference_json(name: &str, file: &str) -> Value {
    serde_json::from_slice(&reference(name, file)).unwrap()
}

/// `m`: a tiny BERT whose tokenizer is changed, on a text.
fn tokenizer(room: &Room, text: &str, change: impl FnOnce(&mut Value)) -> Vec<String> {
    for file in ["config.json", "model.safetensors"] {
        room.write(&format!("m/{file}"), reference("bert-tiny", file));
    }
    let mut tokenizer = reference_json("bert-tiny", "tokenizer.json");
    change(&mut tokenizer);
    room.write("m/tokenizer.json", tokenizer.to_string());
    on_text(text)
}

fn on_text(text: &str) -> Vec<String> {
    [words("trace --model m --text"), vec![text.to_owned()]].concat()
}

/// `m`: a Llama of two layers with these sizes, all of its weights zero and none of them on the disk.
fn llama(room: &Room, heads: u64, d_ff: u64) {
    let mut config = reference_json("llama-tiny", "config.json");
    for (key, value) in
        [("num_attention_heads", heads), ("intermediate_size", d_ff), ("max_position_embeddings", 1 << 20)]
    {
        config[key] = value.into();
    }
    let (d_model, kv, all) = (32, 2 * 8, 8 * heads);
    let mut tensors =
        vec![("model.embed_tokens".to_owned(), vec![376, d_model]), ("model.norm".to_owned(), vec![d_model])];
    for layer in 0..2 {
        for (name, shape) in [
            ("input_layernorm", vec![d_model]),
            ("post_attention_layernorm", vec![d_model]),
            ("self_attn.q_proj", vec![all, d_model]),
            ("self_attn.k_proj", vec![kv, d_model]),
            ("self_attn.v_proj", vec![kv, d_model]),
            ("self_attn.o_proj", vec![d_model, all]),
            ("mlp.gate_proj", vec![d_ff, d_model]),
            ("mlp.up_proj", vec![d_ff, d_model]),
            ("mlp.down_proj", vec![d_model, d_ff]),
        ] {
            tensors.push((format!("model.layers.{layer}.{name}"), shape));
        }
    }
    let mut end = 0;
    let mut header = serde_json::Map::new();
    for (name, shape) in tensors {
        let start = end;
        end += 2 * shape.iter().product::<u64>();
        let tensor = json!({"dtype": "F16", "shape": shape, "data_offsets": [start, end]});
        header.insert(format!("{name}.weight"), tensor);
    }
    let header = Value::Object(header).to_string();
    let beginning = [(header.len() as u64).to_le_bytes().as_slice(), header.as_bytes()].concat();
    room.sparse("m/model.safetensors", &beginning, beginning.len() as u64 + end);
    room.write("m/config.json", config.to_string());
    room.write("m/tokenizer.json", reference("llama-tiny", "tokenizer.json"));
}

/// So many tokens by their ids.
fn tokens(count: usize) -> String {
    vec!["5"; count].join(",")
}

pub(crate) const OVER: &[Over] = &[
    over(
        "TOKENIZER_BYTES",
        |room| {
            let asked = tokenizer(room, "a", |_| ());
            room.sparse("m/tokenizer.json", b"{", (64 << 20) + 1);
            asked
        },
        "tokenizers are read up to 64 MiB",
    ),
    over(
        "TOKENIZER_STEPS",
        |room| {
            let steps = vec![json!({"type": "Lowercase"}); 257];
            tokenizer(room, "a", |all| all["normalizer"] = json!({"type": "Sequence", "normalizers": steps}))
        },
        "it has more than 256 steps",
    ),
    over(
        "TOKENIZER_VALUES",
        |room| {
            let many = vec![0; (1 << 16) + 1];
            tokenizer(room, "a", |all| all["normalizer"] = json!({"type": "Lowercase", "more": many}))
        },
        "a step of it is longer than a vocabulary",
    ),
    over(
        "TOKENIZER_STRING_BYTES",
        |room| {
            let long = "x".repeat((4 << 10) + 1);
            tokenizer(room, "a", |all| all["normalizer"] = json!({"type": "Prepend", "prepend": long}))
        },
        "prepend is 5 KiB long",
    ),
    over(
        "CHARACTERS_MAP_BYTES",
        |room| {
            let long = "A".repeat((4 << 20) + 4);
            let step = json!({"type": "Precompiled", "precompiled_charsmap": long});
            tokenizer(room, "a", |all| all["normalizer"] = step)
        },
        "precompiled_charsmap is 4097 KiB long",
    ),
    // Each letter becomes 4,096, and each of those 4,096 again.
    over(
        "LENGTHENED_BYTES",
        |room| {
            let long = json!({"type": "Replace", "pattern": {"String": "a"}, "content": "a".repeat(4 << 10)});
            let steps = json!({"type": "Sequence", "normalizers": [long, long]});
            tokenizer(room, "a", |all| all["normalizer"] = steps)
        },
        "its replacements can make a text 16777216 times longer",
    ),
    over(
        "WORD_CHARACTERS",
        |room| tokenizer(room, "a", |all| all["model"]["max_input_chars_per_word"] = 1_001.into()),
        "its words have up to 1001 characters",
    ),
    over(
        "PROMPT_BYTES",
        |room| {
            llama(room, 4, 48);
            room.write("lines.txt", "a".repeat((256 << 10) + 1));
            words("heads --model m --texts lines.txt")
        },
        "the text is 257 KiB long",
    ),
    over(
        "TOKENS",
        |room| {
            llama(room, 4, 48);
            [words("trace --model m --tokens"), vec![tokens(4_097)]].concat()
        },
        "4097 tokens",
    ),
    // 2 layers · 200 heads · 4000² are 6.4 thousand millions.
    over(
        "SURVEYED_WEIGHTS",
        |room| {
            llama(room, 200, 48);
            [words("heads --model m --tokens"), vec![tokens(4_000)]].concat()
        },
        "the maps of this text hold 6400000000 weights: layers · heads · 4000²",
    ),
    over(
        "KEPT_NUMBERS",
        |room| {
            llama(room, 200, 48);
            [words("trace --model m --layer all --steps * --tokens"), vec![tokens(1_500)]].concat()
        },
        "at most 268435456 are kept",
    ),
    // 2²³ + 1 rows of 32 numbers, in a file of three gigabytes that takes no place.
    over(
        "READ_NUMBERS",
        |room| {
            llama(room, 4, (1 << 23) + 1);
            words("trace --model m --layer 2 --head 1 --steps head.1.weights --tokens 5,6")
        },
        "at most 268435456 are held at once",
    ),
    over(
        "TEXTS_BYTES",
        |room| {
            llama(room, 4, 48);
            room.sparse("lines.txt", b"a\n", (64 << 20) + 1);
            words("heads --model m --texts lines.txt")
        },
        "at most 67108864 bytes are read",
    ),
    // Gemma says of each layer whether it slides.
    over(
        "LAYERS",
        |room| {
            let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/gguf");
            let mut bytes = fs::read(models.join("gemma3.gguf")).unwrap();
            let key = b"gemma3.block_count";
            let at = bytes.windows(key.len()).position(|window| window == key).unwrap() + key.len() + 4;
            bytes[at..at + 4].copy_from_slice(&1_001_u32.to_le_bytes());
            room.write("m.gguf", bytes);
            words("trace --model m.gguf --text a")
        },
        "at most 1000 are read",
    ),
];

pub(crate) const AT: &[At] = &[(
    "a thousand tokens",
    |room| {
        llama(room, 4, 48);
        [words("trace --model m --layer 1 --head 1 --summary --tokens"), vec![tokens(1_000)]].concat()
    },
    LITTLE,
)];
