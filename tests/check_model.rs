//! `mha check --model`: ports of tiny models beside the models, right ones and wrong ones.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

#[path = "check_model/port.rs"]
mod port;
#[path = "common/run.rs"]
#[expect(dead_code, reason = "no shell is needed here")]
mod run;

use std::fs::File;
use std::path::{Path, PathBuf};

use mha::arrays::{self, Array, Kind, npz};
use mha::lesson::{Options, builtin};
use port::{Port, Slip};
use serde_json::Value;

fn reference(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/models").join(name)
}

/// The first text of a tiny model, and its ids.
fn text(folder: &Path) -> (String, Vec<usize>) {
    let file = std::fs::read(folder.join("expected.json")).unwrap();
    let expected: Value = serde_json::from_slice(&file).unwrap();
    let text = &expected["texts"][0];
    let ids = text["ids"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as usize);
    (text["text"].as_str().unwrap().to_owned(), ids.collect())
}

/// `mha check --model bert-tiny --text … port.npz MORE`, for a port's tensors.
#[track_caller]
fn checked(arrays: &[(String, Array)], more: &[&str]) -> run::Run {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("port.npz");
    npz::write(File::create(&path).unwrap(), arrays.iter().cloned()).unwrap();
    let model = reference("bert-tiny");
    let (text, _) = text(&model);
    let mut args = vec!["check", "--model", model.to_str().unwrap(), "--text", &text, "port.npz"];
    args.extend(more);
    run::run(folder.path(), &args)
}

/// The same as JSON, with the exit status that goes with its verdict.
#[track_caller]
fn told(arrays: &[(String, Array)], more: &[&str]) -> Value {
    let run = checked(arrays, &[&["--format", "json"], more].concat());
    let told: Value = serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{}{}", run.out, run.err));
    assert_eq!(run.status, Some(i32::from(told["verdict"] == "wrong")), "{}", run.out);
    told
}

fn ported(slip: Slip) -> Vec<(String, Array)> {
    let model = reference("bert-tiny");
    Port::new(&model, slip).run(&text(&model).1, 1)
}

fn only(arrays: Vec<(String, Array)>, names: &[&str]) -> Vec<(String, Array)> {
    arrays.into_iter().filter(|(name, _)| names.contains(&name.as_str())).collect()
}

/// First wrong step and explanations, as `layer.2.scores: scale-missing`.
fn verdict(told: &Value) -> String {
    let names = told["explanations"].as_array().unwrap().iter().map(|names| {
        names.as_array().unwrap().iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" + ")
    });
    let step = told["first_wrong"]["step"].as_str().unwrap_or("right");
    format!("{step}: {}", names.collect::<Vec<_>>().join(", "))
}

#[test]
fn what_the_framework_computed_is_right() {
    for family in
        ["bert-tiny", "gpt2-tiny", "llama-tiny", "qwen2-tiny", "qwen3-tiny", "gemma2-tiny", "gemma3-tiny"]
    {
        let model = reference(family);
        let (text, _) = text(&model);
        let file = model.join("expected_1.npz");
        let args =
            ["--model", model.to_str().unwrap(), "--text", &text, file.to_str().unwrap(), "--width", "120"];
        let run = run::run(Path::new("."), &[&["check"], &args[..]].concat());
        assert_eq!(run.status, Some(0), "{family}: {}{}", run.out, run.err);
        assert!(run.out.contains("as closely as float32 can tell"), "{family}: {}", run.out);
        assert!(run.out.contains("layer 1: ") && run.out.contains("layer 2: "), "{}", run.out);
    }
}

#[test]
fn a_right_port_is_right_in_every_step() {
    let told = told(&ported(Slip::Nothing), &[]);
    assert_eq!(told["verdict"], "right");
    let steps = told["steps"].as_array().unwrap();
    let of = |status: &str| steps.iter().filter(|step| step["status"] == status).count();
    assert_eq!((of("wrong"), of("shape")), (0, 0));
    // 15 steps a layer, and the embedding.
    assert_eq!(of("right"), 31);
    assert!(steps.iter().all(|step| step["within_rounding"] != true), "float32 needs no excuse");
}

/// Every mistake at the step where it is made, by its name.
#[test]
fn a_mistake_is_found_in_its_layer_and_named() {
    for (slip, expected) in [
        (Slip::NoScale, "layer.2.scores: scale-missing"),
        (Slip::HeadsNotSplit, "layer.2.scores: split-reshape-no-transpose"),
        (Slip::Tanh, "layer.2.ffn.activation: activation"),
        (Slip::NoResidual, "layer.2.attention_residual: residual-missing"),
        (Slip::Eps, "embedding: norm-eps"),
        (Slip::NoGain, "embedding: norm-gain-missing"),
        (Slip::Unbiased, "embedding: norm-unbiased"),
        (Slip::Positions, "embedding: positions-shifted"),
        (Slip::OnePercent, "layer.2.scores: "),
    ] {
        let told = told(&ported(slip), &[]);
        assert_eq!(verdict(&told), expected, "{slip:?}");
    }
}

/// Names given with --map count from 1, however the rest of the file counts.
#[test]
fn a_map_counts_from_one_beside_layers_that_count_from_zero() {
    let model = reference("bert-tiny");
    let mut arrays = Port::new(&model, Slip::Nothing).run(&text(&model).1, 0);
    for (name, _) in &mut arrays {
        if name == "layer.1.hidden" {
            *name = "at_the_end".to_owned();
        }
    }
    let arrays = only(arrays, &["layer.0.scores", "at_the_end"]);
    let found = told(&arrays, &["--map", "at_the_end=layer.2.hidden"]);
    assert_eq!(verdict(&found), "right: ");
    let given: Vec<&str> = found["steps"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|step| step["status"] == "right")
        .filter_map(|step| step["step"].as_str())
        .collect();
    assert_eq!(given, ["layer.1.scores", "layer.2.hidden"]);
}

/// What transformers returns is enough to find the layer, and often the mistake.
#[test]
fn hidden_states_alone_find_the_layer() {
    for (slip, expected) in [
        (Slip::Nothing, "right: "),
        (Slip::NoScale, "layer.2.hidden: scale-missing"),
        (Slip::Tanh, "layer.2.hidden: activation"),
        (Slip::NoResidual, "layer.2.hidden: residual-missing"),
        (Slip::Positions, "embedding: positions-shifted"),
    ] {
        let told = told(&only(ported(slip), &["hidden_states"]), &[]);
        assert_eq!(verdict(&told), expected, "{slip:?}");
    }
}

#[test]
fn an_error_of_one_percent_in_one_head_is_found_and_placed() {
    let told = told(&ported(Slip::OnePercent), &[]);
    assert_eq!(told["first_wrong"]["index"][0], 2, "the head");
    let run = checked(&ported(Slip::OnePercent), &[]);
    assert!(
        run.out.contains("Only in head 2, your scores are about 1.01 times the right ones"),
        "{}",
        run.out
    );
}

/// A vocabulary stored in half precision says nothing of how the port computes: the weights of llama-tiny are numbers of
/// float16, its run is float32, and 0.2 % is far beyond what float32 loses.
#[test]
fn weights_stored_in_half_precision_excuse_nothing() {
    let model = reference("llama-tiny");
    let (text, _) = text(&model);
    let mut arrays = arrays::read_all(&model.join("expected_1.npz")).unwrap();
    for (name, array) in &mut arrays {
        if name == "layer.2.head.2.scores" {
            array.data.iter_mut().for_each(|score| *score *= 1.002);
        }
    }
    let folder = tempfile::tempdir().unwrap();
    npz::write(File::create(folder.path().join("port.npz")).unwrap(), arrays).unwrap();
    let args = ["check", "--model", model.to_str().unwrap(), "--text", &text, "port.npz", "--format", "json"];
    let run = run::run(folder.path(), &args);
    let told: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(told["first_wrong"]["step"], "layer.2.scores", "{}", run.out);
    assert_eq!(told["first_wrong"]["index"][0], 2, "the head");
}

/// A port that computes in half precision is right but for rounding; the same mistakes are still found.
#[test]
fn noise_is_told_from_mistakes_in_half_precision() {
    let model = reference("bert-tiny");
    let (_, ids) = text(&model);
    type Rounding = fn(f32) -> f32;
    let kinds: [(Rounding, &str); 2] = [
        (|number| half::f16::from_f32(number).to_f32(), "float16"),
        (|number| half::bf16::from_f32(number).to_f32(), "bfloat16"),
    ];
    for (round, name) in kinds {
        let in_half = |slip: Slip| {
            let mut port = Port::new(&model, slip);
            port.round = round;
            port.run(&ids, 1)
        };
        let told_right = told(&in_half(Slip::Nothing), &[]);
        assert_eq!(verdict(&told_right), "right: ", "{name}");
        let embedding =
            told_right["steps"].as_array().unwrap().iter().find(|step| step["step"] == "layer.2.hidden");
        assert_eq!(embedding.unwrap()["precision"], name);
        for (slip, expected) in [
            (Slip::NoScale, "layer.2.scores: scale-missing"),
            (Slip::NoResidual, "layer.2.attention_residual: residual-missing"),
            (Slip::Positions, "embedding: positions-shifted"),
        ] {
            assert_eq!(verdict(&told(&in_half(slip), &[])), expected, "{name} {slip:?}");
        }
    }
}

#[test]
fn layers_that_count_from_zero_are_recognised() {
    let model = reference("bert-tiny");
    let arrays = Port::new(&model, Slip::NoScale).run(&text(&model).1, 0);
    let found = told(&arrays, &[]);
    assert_eq!(verdict(&found), "layer.2.scores: scale-missing");
    assert!(checked(&arrays, &[]).out.contains("your layers count from 0; mha counts from 1."));
}

#[test]
fn shapes_unknown_names_and_maps_are_told() {
    let mut arrays = only(ported(Slip::Nothing), &["layer.1.q", "layer.1.scores", "layer.2.hidden"]);
    let wrong = Array::new(vec![2, 3], vec![0.5; 6], Kind::F32).unwrap();
    arrays.push(("layer.1.weights".to_owned(), wrong.clone()));
    arrays.push(("layer.7.scores".to_owned(), wrong.clone()));
    arrays.push(("layer.1.ffn.gate".to_owned(), wrong.clone()));
    arrays.push(("scores".to_owned(), wrong));
    let found = told(&arrays, &[]);
    assert_eq!(verdict(&found), "layer.1.weights: ");
    let left_out = found["left_out"].to_string();
    assert!(left_out.contains("there is no layer 7: 2 in all"), "{left_out}");
    assert!(left_out.contains("of which layer?"), "{left_out}");
    assert!(left_out.contains("layer.1.ffn.gate"), "{left_out}");
    let run = checked(&arrays, &[]);
    assert!(run.out.contains("Yours is 2 × 3, and it should be 4 × "), "{}", run.out);

    let arrays = only(ported(Slip::Nothing), &["layer.2.hidden"]);
    let renamed = vec![("after_two".to_owned(), arrays[0].1.clone())];
    assert_eq!(told(&renamed, &["--map", "after_two=layer.2.hidden"])["verdict"], "right");
    let run = checked(&renamed, &[]);
    assert_eq!(run.status, Some(2));
    assert!(run.err.contains("no tensor is a step of these layers"), "{}", run.err);
    let run = checked(&renamed, &["--map", "after_two=hidden"]);
    assert!(run.err.contains("hidden names no layer"), "{}", run.err);
}

/// The report stays within the page, says where to see the mistake, and speaks Chinese.
#[test]
fn the_report_is_readable() {
    let run = checked(&ported(Slip::NoScale), &["--width", "100"]);
    for words in [
        "bert-tiny: your tensors beside the right ones",
        "layer 1: 15 steps",
        "First wrong step: layer.2.scores",
        "The mistake: scale-missing",
        "--layer 2 --variants multi-head,scale-missing",
    ] {
        let in_one_line = run.out.replace("\\\n    ", "");
        assert!(in_one_line.contains(words), "{words}: {}", run.out);
    }
    let longest = run.out.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(longest <= 100, "{longest}");
    assert!(!run.out.contains('\u{1b}'), "no colours in a pipe");
    let run = checked(&ported(Slip::Tanh), &["--format", "markdown"]);
    assert!(run.out.contains("## The mistake: activation") && run.out.contains("GELU (tanh)"), "{}", run.out);
    let run = checked(&ported(Slip::Tanh), &["--lang", "zh"]);
    assert!(run.out.contains("前馈网络用了另一种激活函数"), "{}", run.out);
    let run = checked(&ported(Slip::Tanh), &["--ascii"]);
    assert!(run.out.is_ascii(), "{}", run.out);
}

/// Lessons that are stacks of layers are checked in the same way: their own trace is right, and a changed number is found.
#[test]
fn a_lesson_of_several_layers_is_checked_like_a_model() {
    let folder = tempfile::tempdir().unwrap();
    let mut checked = 0;
    for lesson in builtin::all() {
        let problem = builtin::load(lesson, &Options::default()).unwrap();
        let Some(layers) = &problem.layers else { continue };
        checked += 1;
        let file = folder.path().join(format!("{}.npz", lesson.name));
        let traced = run::run(
            folder.path(),
            &["trace", lesson.name, "--format", "npz", "--output", file.to_str().unwrap()],
        );
        assert_eq!(traced.status, Some(0), "{}", traced.err);
        let right = run::run(folder.path(), &["check", lesson.name, file.to_str().unwrap()]);
        assert_eq!(right.status, Some(0), "{}: {}{}", lesson.name, right.out, right.err);
        let mut arrays = arrays::read_all(&file).unwrap();
        let last = format!("layer.{}.hidden", layers.layers.len());
        let hidden = arrays.iter_mut().find(|(name, _)| *name == last).unwrap();
        hidden.1.data[0] += 0.01;
        let changed = folder.path().join("changed.npz");
        npz::write(File::create(&changed).unwrap(), arrays).unwrap();
        let wrong = run::run(folder.path(), &["check", lesson.name, "changed.npz"]);
        assert_eq!(wrong.status, Some(1), "{}: {}", lesson.name, wrong.err);
        assert!(wrong.out.contains(&format!("First wrong step: {last}")), "{}", wrong.out);
    }
    assert!(checked > 0);
}

/// The real model; `MHA_MINILM` is its folder.
#[test]
#[ignore = "needs the 90 MB of MiniLM"]
fn minilm_is_right_layer_by_layer() {
    let model = std::env::var("MHA_MINILM").unwrap();
    let given = reference("minilm");
    let steps: Vec<(String, Array)> = arrays::read_all(&given.join("animal_ascii_layer4_steps.npz")).unwrap();
    let named = |(name, array): (String, Array)| match name.starts_with("layer.") {
        true => (name, array),
        false => (format!("layer.4.{name}"), array),
    };
    let all = arrays::read_all(&given.join("animal_ascii.npz")).unwrap();
    let attentions = all.into_iter().filter(|(name, _)| name == "attentions");
    let folder = tempfile::tempdir().unwrap();
    let file = File::create(folder.path().join("port.npz")).unwrap();
    npz::write(file, steps.into_iter().map(named).chain(attentions)).unwrap();
    let text = "The animal didn't cross the street because it was too tired";
    let run = run::run(folder.path(), &["check", "--model", &model, "--text", text, "port.npz"]);
    assert_eq!(run.status, Some(0), "{}{}", run.out, run.err);
    assert!(run.out.contains("layer 4: "), "{}", run.out);
}
