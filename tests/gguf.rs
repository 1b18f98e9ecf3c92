//! Models in `.gguf` files, beside what transformers, the `gguf` package and SentencePiece make of the same files
//! (`tests/gguf/generate.py`).

#![expect(clippy::unwrap_used, reason = "a test may stop where something is missing")]

#[path = "gguf/bad.rs"]
mod bad;

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use mha::model::{Model, Task, Text};
use mha::plan::StepId;
use serde_json::Value;

fn reference(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/reference/gguf").join(file)
}

fn json(file: &str) -> Value {
    serde_json::from_slice(&std::fs::read(reference(file)).unwrap()).unwrap()
}

fn ids(text: &Value) -> Vec<u32> {
    text["ids"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect()
}

fn open(file: &str) -> Model {
    Model::open(reference(file).to_str().unwrap()).unwrap_or_else(|faults| panic!("{faults}"))
}

/// The largest difference between a step and the rows given one after the other.
fn difference(trace: &mha::trace::Trace<f32>, step: &str, rows: &[f64]) -> f64 {
    let is = trace.get(step.parse().unwrap()).unwrap_or_else(|| panic!("{step}"));
    assert_eq!(is.len(), rows.len(), "{step}");
    let width = is.ncols();
    rows.iter()
        .enumerate()
        .map(|(at, want)| (f64::from(is[(at / width, at % width)]) - want).abs())
        .fold(0.0, f64::max)
}

/// Tokens, attention weights of every head and hidden states of every layer of one of the small models.
#[track_caller]
fn is_computed_as_transformers_computes_it(name: &str, heads: usize) {
    let model = open(&format!("{name}.gguf"));
    compare(&model, name, heads);
}

#[track_caller]
fn compare(model: &Model, name: &str, heads: usize) {
    let arrays: BTreeMap<String, mha::arrays::Array> =
        mha::arrays::read_all(&reference(&format!("{name}.npz"))).unwrap().into_iter().collect();
    let texts = json(&format!("{name}.json"));
    for (number, text) in (1..).zip(texts["texts"].as_array().unwrap()) {
        let passage = model.read(&Text::One(text["text"].as_str().unwrap().to_owned())).unwrap();
        assert_eq!(passage.ids, ids(text), "{name}: the tokens of {text}");
        let n = passage.ids.len();
        let task = Task::new(model, passage).unwrap();
        let keep: HashSet<StepId> = task.plan.ids().into_iter().collect();
        let trace = task.run(keep).unwrap();

        let attentions = &arrays[&format!("attentions_{number}")];
        let layers = attentions.shape[0];
        for (at, weights) in attentions.data.chunks(n * n).enumerate() {
            let step = format!("layer.{}.head.{}.weights", at / heads + 1, at % heads + 1);
            let off = difference(&trace, &step, weights);
            assert!(off < 1e-5, "{name}: {step} is off by {off}");
        }
        // transformers' first hidden states are the embedding; its last ones stand after the last norm, where there is one.
        let hidden = &arrays[&format!("hidden_{number}")];
        let has_final = task.plan.get("final".parse().unwrap()).is_some();
        for (layer, rows) in hidden.data.chunks(hidden.data.len() / (layers + 1)).enumerate() {
            let step = match layer {
                0 => "embedding".to_owned(),
                last if last == layers && has_final => "final".to_owned(),
                layer => format!("layer.{layer}.hidden"),
            };
            let largest = rows.iter().fold(1.0_f64, |largest, number| largest.max(number.abs()));
            let off = difference(&trace, &step, rows) / largest;
            assert!(off < 2e-5, "{name}: {step} is off by {off}");
        }
    }
}

/// Queries and keys interleaved for llama.cpp's rotary pairs; Q8_0; SentencePiece with bytes.
#[test]
fn llama_is_computed_as_transformers_computes_it() {
    is_computed_as_transformers_computes_it("llama", 4);
}

/// A factor a rotary pair in the file, which is split in two; Q5_1; byte-level BPE by Llama 3's rules, which begins every
/// text with a mark.
#[test]
fn llama_3_in_two_parts_is_computed_as_transformers_computes_it() {
    for part in 1..=2 {
        compare(&open(&format!("llama3-0000{part}-of-00002.gguf")), "llama3", 2);
    }
}

/// Norms with their 1 added, five layers of six with a window of 4, two rotary bases; Q5_0.
#[test]
fn gemma_3_is_computed_as_transformers_computes_it() {
    is_computed_as_transformers_computes_it("gemma3", 2);
}

/// Normed queries and keys, tied vocabulary; Q4_1; byte-level BPE by Qwen's rules.
#[test]
fn qwen_3_is_computed_as_transformers_computes_it() {
    is_computed_as_transformers_computes_it("qwen3", 4);
}

/// Transposed matrices; F16; byte-level BPE by GPT-2's rules.
#[test]
fn gpt_2_is_computed_as_transformers_computes_it() {
    is_computed_as_transformers_computes_it("gpt2", 4);
}

/// Queries, keys and values packed head by head, a quarter of each head turned; BF16.
#[test]
fn gpt_neox_is_computed_as_transformers_computes_it() {
    is_computed_as_transformers_computes_it("gptneox", 2);
}

/// Token types; F32; WordPiece in llama.cpp's spelling.
#[test]
fn bert_is_computed_as_transformers_computes_it() {
    is_computed_as_transformers_computes_it("bert", 4);
}

/// The real Gemma 3 270M in Q4_K_M, beside transformers on the same file, unpacked to float32.
#[test]
#[ignore = "needs MHA_GEMMA_GGUF: gemma-3-270m-Q4_K_M.gguf"]
fn the_real_gemma_3_is_computed_as_transformers_computes_it() {
    let model =
        Model::open(&std::env::var("MHA_GEMMA_GGUF").unwrap()).unwrap_or_else(|faults| panic!("{faults}"));
    for text in json("gemma3-270m.json")["texts"].as_array().unwrap() {
        let passage = model.read(&Text::One(text["text"].as_str().unwrap().to_owned())).unwrap();
        assert_eq!(passage.ids, ids(text), "{text}");
        let n = passage.ids.len();
        let task = Task::new(&model, passage).unwrap();
        let keep: HashSet<StepId> = task.plan.ids().into_iter().collect();
        let trace = task.run(keep).unwrap();
        let step = |name: &str| trace.get(name.parse().unwrap()).unwrap_or_else(|| panic!("{name}"));
        let numbers = |value: &Value| -> Vec<f64> {
            value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
        };
        let layers = text["last_row"].as_array().unwrap();
        let (mut off_weights, mut off_hidden) = (0.0_f64, 0.0_f64);
        for (layer, heads) in layers.iter().enumerate() {
            for (head, row) in heads.as_array().unwrap().iter().enumerate() {
                let weights = step(&format!("layer.{}.head.{}.weights", layer + 1, head + 1));
                for (column, want) in numbers(row).iter().enumerate() {
                    off_weights = off_weights.max((f64::from(weights[(n - 1, column)]) - want).abs());
                }
                for (row, most) in numbers(&text["arg_max"][layer][head]).iter().enumerate() {
                    let largest =
                        weights.row(row).iter().fold(0.0_f32, |largest, weight| largest.max(*weight));
                    let theirs = weights[(row, *most as usize)];
                    assert!(
                        largest - theirs < 1e-4,
                        "layer {layer} head {head} row {row}: {largest} {theirs}"
                    );
                }
            }
        }
        for (layer, rows) in text["hidden"].as_array().unwrap().iter().enumerate() {
            let name = match layer {
                0 => "embedding".to_owned(),
                last if last == layers.len() => "final".to_owned(),
                layer => format!("layer.{layer}.hidden"),
            };
            let is = step(&name);
            // Beside the largest number of its row: Gemma's grow to thousands in a few columns.
            for (row, want) in rows.as_array().unwrap().iter().enumerate() {
                let largest = is.row(row).iter().fold(1.0_f32, |largest, number| largest.max(number.abs()));
                for (column, want) in numbers(want).iter().enumerate() {
                    let off = (f64::from(is[(row, column)]) - want).abs() / f64::from(largest);
                    off_hidden = off_hidden.max(off);
                }
            }
        }
        assert!(off_weights < 1e-4, "weights are off by {off_weights}");
        assert!(off_hidden < 1e-4, "hidden states are off by {off_hidden}");
    }
}
