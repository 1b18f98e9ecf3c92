//! Real weights beside what PyTorch and transformers compute from the same files: `tests/reference/models` (seven tiny
//! models and MiniLM) and `tests/models` (one tiny model for each other family and way to rotate, made by
//! `tests/models/generate.py`).
#![expect(clippy::unwrap_used, reason = "a test that cannot read its own data has nothing else to do")]

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use mha::arrays::{Array, read_all};
use mha::model::{Model, Passage, Task, Text};
use mha::ops::{Arithmetic, Operation};
use mha::plan::Norm;
use mha::plan::StepId;
use mha::trace::Trace;
use nalgebra::DMatrix;
use serde_json::Value;

#[path = "models/real_configs.rs"]
mod real_configs;
#[path = "models/refusals.rs"]
mod refusals;

/// How far numbers may be from the framework's: attention weights, hidden states, steps (times the larger of 1 and the
/// step's number). The reasons stand in `tests/reference/models/README.md`.
#[derive(Clone, Copy)]
struct Tolerance {
    attentions: f64,
    hidden: f64,
    steps: f64,
}

const TINY: Tolerance = Tolerance { attentions: 1e-5, hidden: 5e-5, steps: 5e-5 };

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn ids(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|id| u32::try_from(id.as_u64().unwrap()).unwrap()).collect()
}

fn arrays(path: &Path) -> BTreeMap<String, Array> {
    read_all(path).unwrap().into_iter().collect()
}

/// Every step of a passage.
fn run(model: &Model, passage: Passage) -> (Task<'_>, Trace<f32>) {
    let task = Task::new(model, passage).unwrap();
    let keep: HashSet<StepId> = task.plan.ids().into_iter().collect();
    let trace = task.run(keep).unwrap();
    (task, trace)
}

/// The step's matrix, row by row.
fn cells(trace: &Trace<f32>, id: &str) -> Vec<f64> {
    let id: StepId = id.parse().unwrap();
    let matrix = trace.get(id).unwrap_or_else(|| panic!("there is no {id}"));
    matrix.transpose().iter().map(|cell| f64::from(*cell)).collect()
}

fn compare(what: &str, is: &[f64], want: &[f64], tolerance: impl Fn(f64) -> f64) {
    assert_eq!(is.len(), want.len(), "{what}");
    for (at, (is, want)) in is.iter().zip(want).enumerate() {
        let same = is == want || (is - want).abs() <= tolerance(*want);
        assert!(same, "{what}[{at}]: {is}, the framework has {want}");
    }
}

/// Attention weights and hidden states of all layers, and every step that the file has.
fn check(model: &Model, passage: Passage, expected: &BTreeMap<String, Array>, tolerance: Tolerance) {
    let (task, trace) = run(model, passage);
    let attentions = &expected["attentions"];
    let [layers, heads, n, _] = attentions.shape[..] else { panic!("attentions are 4 axes") };
    for (number, want) in attentions.data.chunks(n * n).enumerate() {
        let id = format!("layer.{}.head.{}.weights", number / heads + 1, number % heads + 1);
        compare(&id, &cells(&trace, &id), want, |_| tolerance.attentions);
    }
    // The last of them is after the final norm, where there is one.
    let ends = model.blueprint.layers.last.is_some();
    let states = &expected["hidden_states"];
    for (number, want) in states.data.chunks(states.data.len() / (layers + 1)).enumerate() {
        let id = match number {
            0 => "embedding".to_owned(),
            last if last == layers && ends => "final".to_owned(),
            layer => format!("layer.{layer}.hidden"),
        };
        compare(&id, &cells(&trace, &id), want, |_| tolerance.hidden);
    }
    check_steps(&task, &trace, expected, tolerance);
}

fn check_steps(
    task: &Task<'_>,
    trace: &Trace<f32>,
    expected: &BTreeMap<String, Array>,
    tolerance: Tolerance,
) {
    for (name, array) in expected {
        let Ok(id) = name.parse::<StepId>() else {
            assert!(!name.starts_with("layer."), "{name} is no step of ours");
            continue;
        };
        if task.plan.get(id).is_none() {
            assert!(
                name.ends_with("masked_scores"),
                "{name}: only where nothing is masked is there no such step"
            );
            continue;
        }
        let want = &array.data;
        compare(name, &cells(trace, name), want, |want| tolerance.steps * want.abs().max(1.0));
    }
}

/// All texts of a tiny model.
fn check_folder(name: &str) -> Model {
    let folder = folder(name);
    let model = Model::open(folder.to_str().unwrap()).unwrap_or_else(|faults| panic!("{name}: {faults}"));
    let expected = json(&folder.join("expected.json"));
    for text in expected["texts"].as_array().unwrap() {
        let passage = model.read(&Text::Ids(ids(&text["ids"]))).unwrap();
        let file = folder.join(text["file"].as_str().unwrap());
        let expected = arrays(&file);
        check(&model, passage.clone(), &expected, TINY);
        if let Some(want) = expected.get("logits") {
            let is = logits(&model, passage);
            compare("logits", &is, &want.data, |want| 5e-5 * want.abs().max(1.0));
        }
    }
    model
}

/// logits = transform(hidden) · Wᵀ + bias, capped, as the readout says (n × vocabulary), row by row.
fn logits(model: &Model, passage: Passage) -> Vec<f64> {
    let (_, trace) = run(model, passage);
    let layers = &model.blueprint.layers;
    let last = match layers.last {
        Some(_) => "final".to_owned(),
        None => format!("layer.{}.hidden", layers.layers.len()),
    };
    let readout = model.blueprint.readout.as_ref().unwrap();
    let tensor = |name: &str| {
        let shape = model.checkpoint.shape(name).unwrap().to_vec();
        let numbers = model.checkpoint.rows(name, 0..shape[0]).unwrap();
        DMatrix::from_row_slice(shape[0], numbers.len() / shape[0], &numbers)
    };
    let plus = |x: DMatrix<f32>, bias: &Option<String>| {
        let bias = bias.as_ref().map(|name| tensor(name));
        DMatrix::from_fn(x.nrows(), x.ncols(), |r, c| {
            x[(r, c)] + bias.as_ref().map_or(0.0, |bias| bias[(c, 0)])
        })
    };
    let mut hidden = trace.get(last.parse().unwrap()).unwrap().into_owned();
    if let Some(transform) = &readout.transform {
        let dense = plus(&hidden * tensor(&transform.weight).transpose(), &transform.bias);
        let bent = transform.activation.compute(&[dense.as_view()], Arithmetic::Ordered);
        hidden = match &transform.norm {
            Norm::Layer(norm) => norm.compute(&[bent.as_view()], Arithmetic::Ordered),
            Norm::Rms(norm) => norm.compute(&[bent.as_view()], Arithmetic::Ordered),
        };
    }
    let logits = plus(hidden * tensor(&readout.tensor).transpose(), &readout.bias);
    let capped = |logit: f64| readout.softcap.map_or(logit, |cap| cap * (logit / cap).tanh());
    logits.transpose().iter().map(|logit| capped(f64::from(*logit))).collect()
}

#[test]
fn bert_is_computed_as_transformers_computes_it() {
    let model = check_folder("reference/models/bert-tiny");
    assert!(!model.blueprint.is_causal);
    assert_eq!(model.blueprint.most_tokens, Some(64));
    let readout = model.blueprint.readout.unwrap();
    assert_eq!(readout.tensor, "bert.embeddings.word_embeddings.weight");
    assert_eq!(readout.bias.as_deref(), Some("cls.predictions.bias"));
}

/// Inputs in rows, queries, keys and values packed, names without `transformer.`; also the bare model reads its vocabulary
/// off the embedding.
#[test]
fn gpt2_is_computed_as_transformers_computes_it() {
    let model = check_folder("reference/models/gpt2-tiny");
    assert!(model.blueprint.is_causal);
    assert_eq!(model.blueprint.readout.unwrap().tensor, "wte.weight");
}

#[test]
fn llama_is_computed_as_transformers_computes_it() {
    let model = check_folder("reference/models/llama-tiny");
    assert_eq!(model.blueprint.readout.unwrap().tensor, "model.embed_tokens.weight");
}

#[test]
fn qwen2_is_computed_as_transformers_computes_it() {
    check_folder("reference/models/qwen2-tiny");
}

#[test]
fn qwen3_is_computed_as_transformers_computes_it() {
    check_folder("reference/models/qwen3-tiny");
}

#[test]
fn gemma2_is_computed_as_transformers_computes_it() {
    let model = check_folder("reference/models/gemma2-tiny");
    assert_eq!(model.blueprint.readout.unwrap().softcap, Some(30.0));
}

#[test]
fn gemma3_is_computed_as_transformers_computes_it() {
    check_folder("reference/models/gemma3-tiny");
}

/// Norms are called gamma and beta, as in the first checkpoints; the activation is ReLU.
#[test]
fn bert_with_its_old_names_is_computed_as_transformers_computes_it() {
    check_folder("models/bert-old-names");
}

/// The sixth token is padding: it takes no position, and those after it count on as if it were not there.
#[test]
fn roberta_is_computed_as_transformers_computes_it() {
    let model = check_folder("models/roberta");
    assert_eq!(model.blueprint.most_tokens, Some(30), "rows 1 and 2 of 32 are no positions");
    let rows = model.blueprint.embeddings.position_rows(&[9, 1, 8]).unwrap().1;
    assert_eq!(rows, [2, 1, 3]);
}

#[test]
fn distilbert_is_computed_as_transformers_computes_it() {
    check_folder("models/distilbert");
}

/// Names with `transformer.`, and scores of layer L divided by L.
#[test]
fn gpt2_with_a_scale_a_layer_is_computed_as_transformers_computes_it() {
    let model = check_folder("models/gpt2-by-layer");
    let scales: Vec<f64> = model.blueprint.layers.layers.iter().map(|l| l.attention.scale_value()).collect();
    let root = 6f64.sqrt();
    assert!((scales[0] - 1.0 / root).abs() < 1e-15 && (scales[1] - 0.5 / root).abs() < 1e-15);
}

/// Positions from the third row of their table; three heads, biases, ReLU.
#[test]
fn opt_is_computed_as_transformers_computes_it() {
    let model = check_folder("models/opt");
    assert!(model.blueprint.is_causal);
    assert_eq!(model.blueprint.most_tokens, Some(32), "rows 1 and 2 of 34 are no positions");
    assert_eq!(model.blueprint.readout.unwrap().tensor, "model.decoder.embed_tokens.weight");
}

/// Norms after each part and none at the end, no biases, GELU, a vocabulary of its own.
#[test]
fn opt_with_norms_after_its_parts_is_computed_as_transformers_computes_it() {
    let model = check_folder("models/opt-post-norm");
    assert_eq!(model.blueprint.readout.unwrap().tensor, "lm_head.weight");
}

/// Half of each head's columns rotate; attention and feed-forward network side by side.
#[test]
fn parallel_gpt_neox_is_computed_as_transformers_computes_it() {
    check_folder("models/neox-parallel");
}

/// A quarter rotates; one part after the other, attention without biases.
#[test]
fn sequential_gpt_neox_is_computed_as_transformers_computes_it() {
    check_folder("models/neox-sequential");
}

/// Every bias, one key/value head, a head wider than its share of d_model, a language head of its own.
#[test]
fn llama_with_its_own_scaling_is_computed_as_transformers_computes_it() {
    let model = check_folder("models/llama-llama3");
    assert_eq!(model.blueprint.readout.unwrap().tensor, "lm_head.weight");
}

#[test]
fn linear_scaling_is_computed_as_transformers_computes_it() {
    check_folder("models/llama-linear");
}

/// Up to 8 tokens nothing is scaled; at 14 the base is another.
#[test]
fn dynamic_scaling_is_computed_as_transformers_computes_it() {
    let model = check_folder("models/llama-dynamic");
    let scaled = |tokens: usize| match &model.blueprint.layers(tokens).layers[1].attention.positions {
        mha::plan::spec::Positions::Rope(rope) => rope.scaling.clone(),
        _ => panic!("it rotates"),
    };
    assert_eq!(scaled(8), None);
    // 4 · 16 / 8 − 3 = 5, to the power 6 / (6 − 2), times 100: the base at 16 tokens; the second of three pairs turns by
    // its −1/3rd power.
    let base = 100.0 * 5f64.powf(1.5);
    assert!((scaled(16).unwrap().frequencies[1] - base.powf(-1.0 / 3.0)).abs() < 1e-15);
    assert_eq!(model.blueprint.most_tokens, Some(32));
}

#[test]
fn mistral_is_computed_as_transformers_computes_it() {
    check_folder("models/mistral");
}

/// YaRN, which also lengthens queries and keys, and a window in the second layer only.
#[test]
fn qwen2_with_yarn_is_computed_as_transformers_computes_it() {
    check_folder("models/qwen2-yarn");
}

#[test]
fn gemma_is_computed_as_transformers_computes_it() {
    check_folder("models/gemma");
}

/// A pattern in place of a list of layers, a scaling that holds for full layers only, capped logits.
#[test]
fn gemma3_with_an_older_config_is_computed_as_transformers_computes_it() {
    check_folder("models/gemma3-old-config");
}

/// The same model in a checkpoint that also sees pictures.
#[test]
fn the_text_model_inside_gemma3_is_computed_as_transformers_computes_it() {
    check_folder("models/gemma3-nested");
}

/// Packed matrices; up to 8 tokens pairs turn at one set of frequencies, beyond at another.
#[test]
fn phi3_with_longrope_is_computed_as_transformers_computes_it() {
    check_folder("models/phi3-longrope");
}

/// The first layer rotates, the second does not.
#[test]
fn smollm3_is_computed_as_transformers_computes_it() {
    check_folder("models/smollm3");
}

#[test]
fn starcoder2_is_computed_as_transformers_computes_it() {
    check_folder("models/starcoder2");
}

/// Norms before attention and at the end, a bias, a vocabulary of its own.
#[test]
fn attention_alone_is_computed_as_pytorch_computes_it() {
    check_folder("models/attention-only");
}

/// No norm anywhere; the vocabulary is the embedding's.
#[test]
fn attention_alone_without_norms_is_computed_as_pytorch_computes_it() {
    check_folder("models/attention-only-bare");
}

/// Sizes, windows and scales as `expected.json` tells them of every layer.
#[test]
fn every_layer_is_what_its_config_says() {
    for name in ["bert", "gpt2", "llama", "qwen2", "qwen3", "gemma2", "gemma3"] {
        let folder = folder(&format!("reference/models/{name}-tiny"));
        let model = Model::open(folder.to_str().unwrap()).unwrap();
        let expected = json(&folder.join("expected.json"));
        for (layer, want) in model.blueprint.layers.layers.iter().zip(expected["layers"].as_array().unwrap())
        {
            let is = &layer.attention;
            let sizes = [is.num_heads, is.num_kv_heads, is.d_k, is.d_v].map(|size| size as u64);
            let wanted = ["heads", "kv_heads", "d_k", "d_v"].map(|key| want[key].as_u64().unwrap());
            assert_eq!(sizes, wanted, "{name}");
            assert!((is.scale_value() - want["scale"].as_f64().unwrap()).abs() < 1e-12, "{name}");
            assert_eq!(is.softcap, want["softcap"].as_f64(), "{name}");
            let window = is.masks.iter().find_map(|mask| match mask {
                mha::plan::spec::Mask::Window { left, .. } => left.map(|left| left as u64 + 1),
                _ => None,
            });
            assert_eq!(window, want["window"].as_u64(), "{name}");
        }
    }
}

/// The real one: every sentence, every head, and each step of layer 4 of the first.
#[test]
#[ignore = "needs MHA_MINILM: the folder of all-MiniLM-L6-v2"]
fn minilm_is_computed_as_transformers_computes_it() {
    let model = Model::open(&std::env::var("MHA_MINILM").unwrap()).unwrap();
    let folder = folder("reference/models/minilm");
    let sentences = json(&folder.join("sentences.json"));
    let mut computed = 0;
    for sentence in sentences["sentences"].as_array().unwrap() {
        let name = sentence["id"].as_str().unwrap();
        let Some(file) = sentence["file"].as_str() else { continue };
        let segments = ids(&sentence["token_type_ids"]).into_iter().map(|id| id as usize).collect();
        let passage = Passage { segments, ..model.read(&Text::Ids(ids(&sentence["ids"]))).unwrap() };
        let (task, trace) = run(&model, passage);
        let expected = arrays(&folder.join(file));
        let close = if name == "long" { 3e-5 } else { 2e-5 };
        let attentions = &expected["attentions"];
        let [layers, heads, n, _] = attentions.shape[..] else { panic!("attentions are 4 axes") };
        for (number, want) in attentions.data.chunks(n * n).enumerate() {
            let id = format!("layer.{}.head.{}.weights", number / heads + 1, number % heads + 1);
            compare(&format!("{name}: {id}"), &cells(&trace, &id), want, |_| close);
        }
        for (layer, want) in expected["hidden_states_first8"].data.chunks(n * 8).enumerate() {
            let id = if layer == 0 { "embedding".to_owned() } else { format!("layer.{layer}.hidden") };
            let all = cells(&trace, &id);
            let first: Vec<f64> = all.chunks(all.len() / n).flat_map(|row| row[..8].to_vec()).collect();
            compare(&format!("{name}: {id}"), &first, want, |_| 1e-4);
        }
        let last = cells(&trace, &format!("layer.{layers}.hidden"));
        let norms: Vec<f64> =
            last.chunks(last.len() / n).map(|row| row.iter().map(|x| x * x).sum::<f64>().sqrt()).collect();
        compare(&format!("{name}: lengths"), &norms, &expected["last_hidden_row_norms"].data, |_| 1e-3);
        if let Some(steps) = sentence["steps_file"].as_str() {
            let steps: BTreeMap<String, Array> = arrays(&folder.join(steps))
                .into_iter()
                .map(|(step, array)| {
                    (if step.starts_with("layer.") { step } else { format!("layer.4.{step}") }, array)
                })
                .collect();
            assert!(steps.len() > 12 * 6);
            check_steps(&task, &trace, &steps, Tolerance { attentions: close, hidden: 1e-4, steps: 1e-4 });
        }
        computed += 1;
    }
    assert!(computed >= 5);
}
