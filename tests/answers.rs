//! What `mha trace --format npz` writes is an answer: every step is found again under its name, as it stands.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

#[path = "common/run.rs"]
#[expect(dead_code, reason = "no shell is needed here")]
mod run;

use std::fs;
use std::path::Path;

use mha::answers::{Expected, ORDER, Reading, read, readings};
use mha::lesson::{Options, Problem, builtin, load};
use mha::ops::Arithmetic;
use mha::plan::{Head, HeadStep, Name, StepId};
use mha::trace::Keep;
use nalgebra::DMatrix;

/// The steps of one sequence that a name stands for, one a matrix: key/value heads once each.
fn ids(problem: &Problem, name: Name) -> Vec<StepId> {
    let attention = &problem.attention;
    let Name::Stack(stack) = name else { return vec![StepId::from(name)] };
    let step = stack.of_a_head();
    let shared = matches!(step, HeadStep::K | HeadStep::V | HeadStep::KNorm | HeadStep::KRot);
    let heads = (0..attention.num_heads)
        .filter(|head| !shared || *head == 0 || attention.kv_head(*head) != attention.kv_head(head - 1));
    heads.map(|head| Head(head).step(step)).collect()
}

#[track_caller]
fn found_again(name: &str, problem: &Problem, folder: &Path) {
    let run = run::run(folder, &["trace", name, "--format", "npz", "--output", "all.npz", "--force"]);
    assert_eq!(run.status, Some(0), "{name}: {}", run.err);
    let trace = problem.run::<f64>(&Keep::All, Arithmetic::Ordered).unwrap();
    let known: Vec<Name> = trace.steps().map(|(step, _)| step.id.name).collect();
    let answers = read(&[folder.join("all.npz")], &[], &known).unwrap();
    for (array, reason) in &answers.left_out {
        let expected = ["an input, not a step", "a step that is not compared"].contains(&reason.as_str());
        assert!(expected, "{name}: {array}: {reason}");
    }
    assert_eq!(answers.remarks, Vec::<String>::new(), "{name}");
    let sequence = problem.batch.map(|_| 0);
    let there = |step: &&Name| trace.get(ids(problem, **step)[0].in_sequence(sequence)).is_some();
    let steps: Vec<Name> = ORDER.iter().filter(there).copied().collect();
    assert_eq!(answers.tensors.iter().map(|tensor| tensor.name).collect::<Vec<_>>(), steps, "{name}");
    for tensor in &answers.tensors {
        let ids = ids(problem, tensor.name);
        let sequences = problem.batch.map_or(vec![None], |count| (0..count).map(Some).collect());
        let sheets: Vec<DMatrix<f64>> = sequences
            .iter()
            .flat_map(|sequence| ids.iter().map(|id| id.in_sequence(*sequence)))
            .map(|id| {
                let view = trace.get(id).unwrap();
                let (rows, columns) = view.shape();
                DMatrix::from_fn(rows, columns, |r, c| view[(r, c)] + 0.0)
            })
            .collect();
        let (rows, columns) = sheets[0].shape();
        let stacked = matches!(tensor.name, Name::Stack(_)).then_some(ids.len());
        let expected = Expected { batch: problem.batch, sheets: stacked, rows, columns };
        let first: Vec<Reading> = readings(&tensor.array, &expected).into_iter().take(1).collect();
        assert_eq!(first, [Reading { sheets, how: vec![] }], "{name}: {}", tensor.name);
    }
}

#[test]
fn every_step_of_the_built_in_lessons_is_found_again() {
    let folder = tempfile::tempdir().unwrap();
    for lesson in builtin::all() {
        let problem = builtin::load(lesson, &Options::default()).unwrap();
        // The answers of a stack are read layer by layer: tests/check_model.rs.
        if problem.layers.is_some() {
            continue;
        }
        found_again(lesson.name, &problem, folder.path());
    }
}

/// A batch, rotated positions, a norm of each head, a cap, a bias and shared key/value heads, all at once.
#[test]
fn every_step_that_there_is_is_found_again() {
    let folder = tempfile::tempdir().unwrap();
    for scope in ["head", "full"] {
        let lesson = format!(
            "
attention:
  {{num_heads: 4, num_kv_heads: 2, d_model: 8, softcap: 5.0, positions: rope,
    mask: [causal, {{add: [[0.5, 0.25], [1, 0]]}}], qk_norm: {{scope: {scope}}}}}
inputs:
  x: [[[1, 0, 2, 1, 0, 1, 1, 3], [0, 1, 1, 2, 1, 0, 2, 1]], [[2, 1, 0, 1, 3, 0, 1, 0], [1, 1, 0, 2, 0, 1, 0, 2]]]
projections:
  w_q: {{random: {{seed: 1, std: 0.5}}}}
  w_k: {{random: {{seed: 2, std: 0.5}}}}
  w_v: {{random: {{seed: 3, std: 0.5}}}}
  w_o: {{random: {{seed: 4, std: 0.5}}}}
"
        );
        let path = folder.path().join("lesson.yaml");
        fs::write(&path, lesson).unwrap();
        let problem = load(&path, &Options::default()).unwrap();
        found_again("lesson.yaml", &problem, folder.path());
    }
}
