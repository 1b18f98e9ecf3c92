//! What other implementations computed, step by step, against what `mha` computes: they decide what is right.
//!
//! Each case becomes the text of a lesson, so that the loader, the plan and the operations are all on trial.

#[path = "common/case.rs"]
mod case;
#[path = "common/compare.rs"]
mod compare;
#[path = "common/onnx.rs"]
mod onnx;
#[path = "common/packing.rs"]
mod packing;

use std::path::Path;

use mha::lesson::{self, Problem};
use mha::ops::Arithmetic;
use mha::plan::StepId;
use mha::trace::Keep;
use nalgebra::DMatrix;
use serde_json::{Map, Value};

use case::Case;
use compare::{Allowed, Report, matrices};

/// Looks a step up in a trace of either precision.
type Find<'a> = &'a dyn Fn(StepId) -> Option<DMatrix<f64>>;

/// Outcome of one case: everything that does not agree.
type Checked = Result<(), Vec<String>>;

/// The last step before the softmax; which one that is depends on what the case has.
const BEFORE_SOFTMAX: &[&str] = &["masked_scores", "biased_scores", "capped_scores", "scores"];

#[test]
fn the_worked_example_agrees_at_every_step() {
    let cases = Case::all("article");
    assert_eq!(cases.len(), 1);
    let mut report = Report::default();
    for case in &cases {
        let problem = match parse(&case.lesson(&case.own_projections()), &case.folder) {
            Ok(problem) => problem,
            Err(failures) => {
                report.add(&case.name, Err(failures));
                continue;
            }
        };
        report.add(&case.name, every_step_in_double_precision(case, &problem));
        report.add(&case.name, every_step_in_single_precision(case, &problem));
        report.add(&case.name, twenty_digits(case, &problem));
    }
    report.finish();
}

#[test]
fn every_variant_agrees_at_every_step() {
    let cases = Case::all("variants");
    assert_eq!(cases.len(), 145);
    let mut report = Report::default();
    for case in &cases {
        match parse(&case.lesson(&case.own_projections()), &case.folder) {
            Ok(problem) => {
                report.add(&case.name, every_step_in_double_precision(case, &problem));
                report.add(&case.name, every_step_in_single_precision(case, &problem));
            }
            Err(failures) => report.add(&case.name, Err(failures)),
        }
    }
    report.finish();
}

#[test]
fn every_packing_is_unpacked_as_its_library_does() {
    let (refused, read): (Vec<Case>, Vec<Case>) =
        Case::all("packing").into_iter().partition(|case| case.name == "torch_mha_bias_kv");
    assert_eq!((read.len(), refused.len()), (20, 1));
    let mut report = Report::default();
    for case in &read {
        match parse(&case.lesson(&packing::projections(case)), &case.folder) {
            Ok(problem) => {
                report.add(&case.name, projections_are_as_unpacked(case, &problem));
                report.add(&case.name, every_step_in_double_precision(case, &problem));
                report.add(&case.name, every_step_in_single_precision(case, &problem));
            }
            Err(failures) => report.add(&case.name, Err(failures)),
        }
    }
    for case in &refused {
        let refusal = match parse(&case.lesson(&packing::projections(case)), &case.folder) {
            Err(faults) if faults.join("\n").contains("bias_k") => Ok(()),
            Err(faults) => Err(vec![format!("is refused without naming bias_k:\n{}", faults.join("\n"))]),
            Ok(_) => Err(vec!["has a bias_k, which must not be ignored in silence".to_owned()]),
        };
        report.add(&case.name, refusal);
    }
    report.finish();
}

#[test]
fn every_onnx_case_agrees() {
    let cases = onnx::all();
    assert_eq!(cases.len(), 56);
    let mut report = Report::default();
    for case in &cases {
        for lesson in case.lessons() {
            report.add(&case.name, onnx_lesson(case, &lesson));
        }
    }
    report.finish();
}

/// The reference's steps that have no counterpart are known by name; no other may be left out.
#[test]
fn only_the_bias_itself_is_left_out_of_the_comparison() {
    let cases: Vec<Case> = ["article", "variants", "packing"].into_iter().flat_map(Case::all).collect();
    let names = || cases.iter().flat_map(Case::steps);
    let left_out = names().filter(|name| counterparts(name).is_empty()).count();
    let biases = names().filter(|name| name.starts_with("head.") && name.ends_with(".bias")).count();
    assert_eq!((left_out, biases), (47, 47));
    assert_eq!(names().count(), STEPS_IN_ALL);
}

/// Steps of all cases in `article`, `variants` and `packing`.
const STEPS_IN_ALL: usize = 4956;

fn parse(text: &str, folder: &Path) -> Result<Problem, Vec<String>> {
    lesson::parse(text, "case.json", folder, &lesson::Options::default())
        .map_err(|faults| vec![faults.to_string()])
}

fn every_step_in_double_precision(case: &Case, problem: &Problem) -> Checked {
    let trace =
        problem.run::<f64>(&Keep::All, Arithmetic::Ordered).map_err(|faults| vec![faults.to_string()])?;
    every_step(case, "float64_abs", &|id| trace.get(id).map(|value| value.into_owned()))
}

fn every_step_in_single_precision(case: &Case, problem: &Problem) -> Checked {
    let trace = problem
        .run::<f32>(&Keep::All, Arithmetic::Fast { threads: 2 })
        .map_err(|faults| vec![format!("in single precision: {faults}")])?;
    every_step(case, "float32_abs", &|id| trace.get(id).map(|value| value.map(f64::from))).map_err(
        |failures| failures.into_iter().map(|failure| format!("in single precision: {failure}")).collect(),
    )
}

fn every_step(case: &Case, precision: &str, find: Find) -> Checked {
    let mut failures = Vec::new();
    for name in case.steps() {
        let ours = counterparts(name);
        if ours.is_empty() {
            continue;
        }
        let allowed = case.allowed(precision, name);
        failures.extend(one_step(&ours, &case.step(name), &allowed, find).err());
    }
    if failures.is_empty() { Ok(()) } else { Err(failures) }
}

/// Our names for a step of the reference: the first that the trace has is the one to compare with.
fn counterparts(name: &str) -> Vec<String> {
    match name.rsplit_once('.') {
        // Its sum with the scores is a step of ours, it alone is not.
        Some((_, "bias")) => Vec::new(),
        // The reference has this step with or without a mask.
        Some((head, "masked_scores")) => BEFORE_SOFTMAX.iter().map(|step| format!("{head}.{step}")).collect(),
        _ => vec![name.to_owned()],
    }
}

fn one_step(ours: &[String], want: &DMatrix<f64>, allowed: Allowed, find: Find) -> Result<(), String> {
    for name in ours {
        let id: StepId = name.parse().map_err(|fault| format!("{fault}"))?;
        if let Some(got) = find(id) {
            return matrices(&got, want, allowed).map_err(|failure| format!("{name} {failure}"));
        }
    }
    Err(format!("the trace has no {}", ours.join(" or ")))
}

/// Decimal strings from arithmetic with fifty digits.
fn twenty_digits(case: &Case, problem: &Problem) -> Checked {
    let trace =
        problem.run::<f64>(&Keep::All, Arithmetic::Ordered).map_err(|faults| vec![faults.to_string()])?;
    let find = |id: StepId| trace.get(id).map(|value| value.into_owned());
    let mut failures = Vec::new();
    for (name, rows) in case.json["twenty_digits"].as_object().into_iter().flatten() {
        let want = case::matrix(&in_double_precision(rows));
        failures.extend(one_step(std::slice::from_ref(name), &want, &|_| 1e-15, &find).err());
    }
    if failures.is_empty() { Ok(()) } else { Err(failures) }
}

fn in_double_precision(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(in_double_precision).collect(),
        Value::String(digits) => digits.parse::<f64>().map_or(Value::Null, Value::from),
        other => other.clone(),
    }
}

/// What the loader made of the file, to the last bit, and nothing beside it.
fn projections_are_as_unpacked(case: &Case, problem: &Problem) -> Checked {
    let unpacked = &case.json["unpacked"];
    let mut failures = Vec::new();
    for (name, value) in unpacked.as_object().into_iter().flatten() {
        let mut want = case::matrix(value);
        if name.starts_with("b_") {
            want = want.transpose();
        }
        let id: Result<StepId, _> = name.parse();
        match id.ok().and_then(|id| problem.inputs.get(&id)) {
            Some(got) => {
                let outcome = matrices(got, &want, &|_| 0.0);
                failures.extend(outcome.err().map(|failure| format!("unpacked {name} {failure}")));
            }
            None => failures.push(format!("the loader found no {name}")),
        }
    }
    let known = unpacked.as_object().map_or(0, Map::len);
    let found = problem.inputs.keys().filter(|id| is_projection(**id)).count();
    if found > known {
        failures.push(format!("the loader found {found} projections and biases, but the file has {known}"));
    }
    if failures.is_empty() { Ok(()) } else { Err(failures) }
}

fn is_projection(id: StepId) -> bool {
    let name = id.to_string();
    name.starts_with("w_") || name.starts_with("b_")
}

fn onnx_lesson(case: &onnx::OnnxCase, lesson: &onnx::OnnxLesson) -> Checked {
    let problem = parse(&lesson.text, Path::new("."))?;
    let trace =
        problem.run::<f64>(&Keep::All, Arithmetic::Ordered).map_err(|faults| vec![faults.to_string()])?;
    let find = |id: StepId| trace.get(id).map(|value| value.into_owned());
    let mut failures = Vec::new();
    for (entry, prefix) in &lesson.entries {
        for official in [false, true] {
            let allowed = case.allowed(official);
            let concat = [format!("{prefix}concat")];
            failures.extend(one_step(&concat, &case.y(*entry, official), &allowed, &find).err());
            for (head, steps, want) in case.score_steps(*entry, official) {
                let names: Vec<String> =
                    steps.iter().map(|step| format!("{prefix}head.{}.{step}", head + 1)).collect();
                failures.extend(one_step(&names, &want, &allowed, &find).err());
            }
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures) }
}
