//! Tiny models with heads switched off, beside PyTorch with a hook before the output projection.

use std::path::{Path, PathBuf};

use mha::ablate::{Measured, Predicted, Reader, Study};
use mha::model::task::arithmetic;
use mha::model::{Model, Task, Text};
use mha::plan::rewrites::{HeadPlace, Replacement};
use nalgebra::DMatrix;
use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn folder(name: &str) -> PathBuf {
    root().join("tests/reference/models").join(name)
}

fn expected(name: &str) -> Value {
    let text = std::fs::read(root().join("tests/ablate/expected.json")).unwrap();
    serde_json::from_slice::<Value>(&text).unwrap()[name].take()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn ids(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|x| u32::try_from(x.as_u64().unwrap()).unwrap()).collect()
}

/// Two layers in float32, by two implementations: the README of the reference allows hidden states 5e-5.
fn near(is: f64, want: f64, what: &str) {
    assert!((is - want).abs() <= 1e-4 * want.abs().max(1.0), "{what}: {is}, and PyTorch has {want}");
}

fn same_top(is: &[(u32, f64)], want: &Value, what: &str) {
    assert_eq!(is.iter().map(|(id, _)| *id).collect::<Vec<_>>(), ids(&want["ids"]), "{what}");
    for ((_, p), want) in is.iter().zip(numbers(&want["p"])) {
        near(*p, want, what);
    }
}

fn same_loss(is: &Predicted, want: &Value, what: &str) {
    near(is.loss.unwrap(), want["loss"].as_f64().unwrap(), what);
}

/// A study of a passage and a reader of its ends.
fn one<'m>(model: &'m Model, task: &'m Task<'m>, hidden: &[(usize, u32)]) -> (Study<'m, f32>, Reader<'m>) {
    let study = Study::new(task.plan.clone(), task, None, arithmetic()).unwrap();
    (study, Reader::new(model, &task.passage, hidden, 5).unwrap())
}

/// Every replacement, in one layer and across layers: outputs, hidden states, loss and likeliest tokens; of a masked model
/// also the guess at a token that is hidden.
fn compare(name: &str) {
    let expected = expected(name);
    let model = Model::open(folder(name).to_str().unwrap()).unwrap();
    let passage = model.read(&Text::Ids(ids(&expected["ids"]))).unwrap();
    let masked = expected["masked"].as_u64().map(|place| place as usize - 1);
    let guessed = masked.map(|place| {
        let hidden = mha::ablate::masked::masked(&model, &passage, &[place]).unwrap();
        assert_eq!((&*hidden.labels[place], &*hidden.pieces[place]), ("[MASK]", "[MASK]"));
        (Task::new(&model, hidden).unwrap(), [(place, passage.ids[place])])
    });
    let task = Task::new(&model, passage).unwrap();
    let (mut study, reader) = one(&model, &task, &[]);
    let tokens = task.passage.ids.len();
    let [before] = reader.read([&*study.value(study.last()).unwrap()]).unwrap();
    same_loss(&before, &expected["before"], name);
    match masked {
        // all but [CLS] and [SEP]; nothing is hidden, so that no place is shown
        Some(_) => {
            assert_eq!((reader.measured, reader.count, before.at.len()), (Measured::Seen, tokens - 2, 0))
        }
        None => {
            assert_eq!((reader.measured, reader.count), (Measured::Next, tokens - 1));
            same_top(&before.at[0].top, &expected["before"], name);
        }
    }
    let mut guess = guessed.as_ref().map(|(task, hidden)| one(&model, task, hidden));
    if let Some((study, reader)) = &mut guess {
        assert_eq!((reader.measured, reader.count), (Measured::Hidden, 1));
        let [before] = reader.read([&*study.value(study.last()).unwrap()]).unwrap();
        same_loss(&before, &expected["masked_before"], "masked");
        same_top(&before.at[0].top, &expected["masked_before"], "masked");
    }
    for case in expected["cases"].as_array().unwrap() {
        let named = case["heads"].as_array().unwrap();
        let heads: Vec<HeadPlace> =
            named.iter().map(|head| head.as_str().unwrap().parse().unwrap()).collect();
        let with = match case["with"].as_str().unwrap() {
            "zero" => Replacement::Zero,
            "mean" => Replacement::Mean,
            _ => Replacement::Uniform,
        };
        let what = format!("{name}: {} {with}", case["heads"]);
        let layers = study.of_heads(&heads).unwrap();
        study.learn_layers(&layers, with).unwrap();
        let ablated = study.ablate(&heads, with).unwrap();
        let (outputs, end) = study.changes(&ablated).unwrap();
        let want = case["outputs"].as_array().unwrap();
        assert_eq!(outputs.len(), want.len());
        for (change, want) in outputs.iter().zip(want).chain([(&end, &case["last"])]) {
            for (moved, want) in change.tokens.iter().zip(numbers(&want["change"])) {
                near(moved.change, want, &what);
            }
            for (moved, want) in change.tokens.iter().zip(numbers(&want["cosine"])) {
                near(moved.cosine.unwrap(), want, &what);
            }
        }
        let [after] = reader.read([&ablated.last]).unwrap();
        same_loss(&after, &case["after"], &what);
        for at in &after.at {
            same_top(&at.top, &case["after"], &what);
        }
        if let Some((study, reader)) = &guess {
            let [after] = reader.read([&study.ablate(&heads, with).unwrap().last]).unwrap();
            same_loss(&after, &case["masked_after"], &what);
            same_top(&after.at[0].top, &case["masked_after"], &what);
        }
    }
}

/// Post-LN, a dense layer and a norm before the vocabulary, tokens as they stand and one that is hidden.
#[test]
fn bert_without_heads_is_what_pytorch_makes_of_it() {
    compare("bert-tiny");
}

/// Rotary positions, four query heads on two key/value heads, a causal mask: even weights see only what stands before.
#[test]
fn llama_without_heads_is_what_pytorch_makes_of_it() {
    compare("llama-tiny");
    compare("qwen2-tiny");
}

/// Norms around, capped scores and capped logits, a sliding window.
#[test]
fn gemma_without_heads_is_what_pytorch_makes_of_it() {
    compare("gemma2-tiny");
}

/// The same from the command line: token ids in, numbers out, both countings told; `--each` says the same of the head.
#[test]
fn the_verb_says_the_same() {
    let expected = expected("bert-tiny");
    let tokens: Vec<String> = ids(&expected["ids"]).iter().map(ToString::to_string).collect();
    let (folder, tokens) = (folder("bert-tiny"), tokens.join(","));
    let model = ["ablate", "--model", folder.to_str().unwrap(), "--tokens", &tokens];
    let case = &expected["cases"][0];
    assert_eq!(case["heads"][0], "layer.1.head.2");
    let report = super::json(&[&model[..], &["--layer", "1", "--head", "2"]].concat());
    assert_eq!(report["heads"][0]["name"], "L0H1");
    let told = &report["prediction"];
    assert_eq!(told["measured"], "tokens-as-they-stand");
    near(told["loss_before"].as_f64().unwrap(), expected["before"]["loss"].as_f64().unwrap(), "loss");
    near(told["loss_after"].as_f64().unwrap(), case["after"]["loss"].as_f64().unwrap(), "loss");
    let guess = super::json(&[&model[..], &["--heads", "L0H1", "--mask", "5"]].concat());
    let at = &guess["prediction"]["at"][0];
    assert_eq!((at["position"].as_u64(), guess["prediction"]["tokens"].as_u64()), (Some(5), Some(1)));
    assert_eq!(at["after"][0]["id"], case["masked_after"]["ids"][0]);
    assert_eq!(report["layers"][0]["contributions"]["adds_up"], true);
    for (is, want) in [(&report["layers"][0], &case["outputs"][0]), (&report["last"], &case["last"])] {
        let is = is["change"]["tokens"].as_array().unwrap();
        for (is, (change, cosine)) in
            is.iter().zip(numbers(&want["change"]).into_iter().zip(numbers(&want["cosine"])))
        {
            near(is["change"].as_f64().unwrap(), change, "change");
            near(is["cosine"].as_f64().unwrap(), cosine, "cosine");
        }
    }
    let each = super::json(&[&model[..], &["--each", "--sort", "layer"]].concat());
    assert_eq!(each["heads"].as_array().unwrap().len(), 8);
    let ranked = &each["heads"][1];
    assert_eq!(ranked["name"], "L0H1");
    let all = &report["last"]["change"]["all"];
    let grown = case["after"]["loss"].as_f64().unwrap() - expected["before"]["loss"].as_f64().unwrap();
    near(ranked["loss"].as_f64().unwrap(), grown, "growth of the loss");
    near(ranked["last"].as_f64().unwrap(), all["relative"].as_f64().unwrap(), "at the end");
    near(ranked["cosine"].as_f64().unwrap(), all["cosine"].as_f64().unwrap(), "cosine");
    let text = super::page(&[&model[..], &["--heads", "L0H1"]].concat());
    assert!(text.starts_with("bert-tiny: layer 1 head 2 (L0H1) set to zero\n"), "{text}");
    let said = super::refused(&[&model[..], &["--head", "1", "--layer", "1", "--mask", "99"]].concat());
    assert!(said.contains("there is no token 99"), "{said}");
}

/// A head that belongs to another model is refused with what does not fit.
#[test]
fn a_language_head_of_another_width_is_refused() {
    let folder = folder("bert-tiny");
    let model = Model::open(folder.to_str().unwrap()).unwrap();
    let readout = model.blueprint.readout.clone().unwrap();
    let read = |width: usize, target: u32| {
        let hidden = DMatrix::zeros(1, width);
        readout.read(&*model.checkpoint, &hidden, &[Some(target)], 1, arithmetic())
    };
    assert!(read(31, 0).unwrap_err().to_string().contains("hidden states are 31 wide"));
    assert!(read(32, 140).unwrap_err().to_string().contains("there is no token 140 among 140"));
    assert!(read(32, 139).is_ok());
}
