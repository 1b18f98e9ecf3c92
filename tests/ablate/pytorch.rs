//! Tiny models with heads switched off, beside PyTorch with a hook before the output projection.

use std::path::{Path, PathBuf};

use mha::ablate::{Measured, Predicted, Reader, Study};
use mha::model::checkpoint::safetensors::Safetensors;
use mha::model::readout::{Readout, Transform};
use mha::model::task::arithmetic;
use mha::model::{Checkpoint, Model, Task, Text};
use mha::ops::{Activation, LayerNorm};
use mha::plan::Norm;
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

/// The head of a masked BERT, as its checkpoint names it; the last matrix is the embedding's.
fn bert_head(model: &Model) -> Readout {
    let prefix = "cls.predictions";
    let vector = |name: &str| {
        let name = format!("{prefix}.transform.LayerNorm.{name}");
        let length = model.checkpoint.shape(&name).unwrap()[0];
        Some(model.checkpoint.rows(&name, 0..length).unwrap().into_iter().map(f64::from).collect())
    };
    let norm = LayerNorm { eps: 1e-12, gain: vector("weight"), shift: vector("bias") };
    Readout {
        transform: Some(Transform {
            weight: format!("{prefix}.transform.dense.weight"),
            bias: Some(format!("{prefix}.transform.dense.bias")),
            activation: Activation::Gelu,
            norm: Norm::Layer(norm),
        }),
        tensor: "bert.embeddings.word_embeddings.weight".to_owned(),
        bias: Some(format!("{prefix}.bias")),
        softcap: None,
    }
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

/// Every replacement, in one layer and across layers: outputs, hidden states, loss; and with a token hidden the guess.
#[test]
fn bert_without_heads_is_what_pytorch_makes_of_it() {
    let name = "bert-tiny";
    let expected = expected(name);
    let mut model = Model::open(folder(name).to_str().unwrap()).unwrap();
    model.blueprint.readout = Some(bert_head(&model));
    let mut passage = model.read(&Text::Ids(ids(&expected["ids"]))).unwrap();
    let last = passage.ids.len() - 1;
    (passage.is_special[0], passage.is_special[last]) = (true, true);

    let place = expected["masked"].as_u64().unwrap() as usize - 1;
    let hidden = mha::ablate::masked::masked(&model, &passage, &[place]).unwrap();
    assert_eq!(hidden.labels[place], "[MASK]");
    let seen = Reader::new(&model, &passage, &[], 5).unwrap();
    let guess = Reader::new(&model, &hidden, &[(place, passage.ids[place])], 5).unwrap();
    assert_eq!((seen.measured, guess.measured), (Measured::Seen, Measured::Hidden));
    assert_eq!((seen.count, guess.count), (last - 1, 1));

    let (task, masked_task) =
        (Task::new(&model, passage).unwrap(), Task::new(&model, hidden.clone()).unwrap());
    let mut study = Study::new(task.plan.clone(), &task, None, arithmetic()).unwrap();
    let mut masked = Study::new(masked_task.plan.clone(), &masked_task, None, arithmetic()).unwrap();
    let [before] = seen.read([&*study.value(study.last()).unwrap()]).unwrap();
    same_loss(&before, &expected["before"], "as it is");
    let [before] = guess.read([&*masked.value(masked.last()).unwrap()]).unwrap();
    same_loss(&before, &expected["masked_before"], "as it is, masked");
    same_top(&before.at[0].top, &expected["masked_before"], "as it is, masked");

    for case in expected["cases"].as_array().unwrap() {
        let heads: Vec<HeadPlace> = case["heads"]
            .as_array()
            .unwrap()
            .iter()
            .map(|head| head.as_str().unwrap().parse().unwrap())
            .collect();
        let with = match case["with"].as_str().unwrap() {
            "zero" => Replacement::Zero,
            "mean" => Replacement::Mean,
            _ => Replacement::Uniform,
        };
        let what = format!("{} {with}", case["heads"]);
        let layers = study.of_heads(&heads).unwrap();
        study.learn_layers(&layers, with).unwrap();
        let ablated = study.ablate(&heads, with).unwrap();
        let (outputs, end) = study.changes(&ablated).unwrap();
        assert_eq!(outputs.len(), case["outputs"].as_array().unwrap().len());
        for (change, want) in
            outputs.iter().zip(case["outputs"].as_array().unwrap()).chain([(&end, &case["last"])])
        {
            for (moved, want) in change.tokens.iter().zip(numbers(&want["change"])) {
                near(moved.change, want, &what);
            }
            for (moved, want) in change.tokens.iter().zip(numbers(&want["cosine"])) {
                near(moved.cosine.unwrap(), want, &what);
            }
        }
        let [after] = seen.read([&ablated.last]).unwrap();
        same_loss(&after, &case["after"], &what);

        let ablated = masked.ablate(&heads, with).unwrap();
        let [after] = guess.read([&ablated.last]).unwrap();
        same_loss(&after, &case["masked_after"], &what);
        same_top(&after.at[0].top, &case["masked_after"], &what);
    }
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
    near(ranked["last"].as_f64().unwrap(), all["relative"].as_f64().unwrap(), "at the end");
    near(ranked["cosine"].as_f64().unwrap(), all["cosine"].as_f64().unwrap(), "cosine");
    let text = super::page(&[&model[..], &["--heads", "L0H1"]].concat());
    assert!(text.starts_with("bert-tiny: layer 1 head 2 (L0H1) set to zero\n"), "{text}");
    let said = super::refused(&[&model[..], &["--head", "1", "--layer", "1", "--mask", "99"]].concat());
    assert!(said.contains("there is no token 99"), "{said}");
}

/// The language heads of causal models: tied and untied, and Gemma 2's, which is capped. Hidden states are PyTorch's own.
#[test]
fn language_heads_give_the_loss_and_the_likeliest_tokens() {
    for (name, tensor, softcap) in [
        ("llama-tiny", "lm_head.weight", None),
        ("qwen2-tiny", "lm_head.weight", None),
        ("gemma2-tiny", "model.embed_tokens.weight", Some("final_logit_softcapping")),
    ] {
        let expected = expected(name);
        let folder = folder(name);
        let config: Value =
            serde_json::from_slice(&std::fs::read(folder.join("config.json")).unwrap()).unwrap();
        let checkpoint = Safetensors::open(&[folder.join("model.safetensors")]).unwrap();
        let tensor =
            if checkpoint.tensors().contains_key(tensor) { tensor } else { "model.embed_tokens.weight" };
        let readout = Readout {
            transform: None,
            tensor: tensor.to_owned(),
            bias: None,
            softcap: softcap.map(|key| config[key].as_f64().unwrap()),
        };
        let rows: Vec<Vec<f64>> = expected["last"].as_array().unwrap().iter().map(numbers).collect();
        let hidden = DMatrix::from_fn(rows.len(), rows[0].len(), |row, column| rows[row][column] as f32);
        let targets: Vec<Option<u32>> =
            ids(&expected["ids"]).into_iter().skip(1).map(Some).chain([None]).collect();
        let readings = readout.read(&checkpoint, &hidden, &targets, 5, arithmetic()).unwrap();
        let losses: Vec<f64> = readings.iter().filter_map(|reading| reading.loss()).collect();
        let loss = losses.iter().sum::<f64>() / losses.len() as f64;
        near(loss, expected["before"]["loss"].as_f64().unwrap(), name);
        let last = readings.last().unwrap();
        let top: Vec<(u32, f64)> =
            last.top.iter().map(|(id, score)| (*id, last.probability(*score))).collect();
        same_top(&top, &expected["before"], name);
    }
}

/// A head that belongs to another model is refused with what does not fit.
#[test]
fn a_language_head_of_another_width_is_refused() {
    let folder = folder("bert-tiny");
    let model = Model::open(folder.to_str().unwrap()).unwrap();
    let readout = bert_head(&model);
    let read = |width: usize, target: u32| {
        let hidden = DMatrix::zeros(1, width);
        readout.read(&*model.checkpoint, &hidden, &[Some(target)], 1, arithmetic())
    };
    assert!(read(31, 0).unwrap_err().to_string().contains("hidden states are 31 wide"));
    assert!(read(32, 140).unwrap_err().to_string().contains("there is no token 140 among 140"));
    assert!(read(32, 139).is_ok());
}
