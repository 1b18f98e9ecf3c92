//! A diagnosis as JSON.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::json_text::quiet;
use crate::answers::Answers;
use crate::mistakes::diagnose::{At, Checked, Diagnosis, Explanation, Status};
use crate::plan::Name;

/// Writes a diagnosis; places count from 1: sequence (in a batch), head (of a stack), row, column. `known` are the steps
/// that the lesson has, in the order of the computation: those that were not given are listed as missing.
///
/// # Errors
/// What the writer refuses.
pub fn write(
    title: &str,
    known: &[Name],
    answers: &Answers,
    diagnosis: &Diagnosis,
    out: &mut dyn Write,
) -> io::Result<()> {
    let names = |explanations: &[Explanation]| -> Vec<Vec<&str>> {
        explanations.iter().map(Explanation::names).collect()
    };
    let forms = |explanations: &[Explanation]| -> Vec<Vec<&str>> {
        let forms = |one: &Explanation| one.mistakes.iter().map(|(_, form)| form.name).collect();
        explanations.iter().map(forms).collect()
    };
    let step = |at: usize| diagnosis.steps.get(at).map(|step| step.name.to_string());
    let first = diagnosis.first_wrong.and_then(|at| diagnosis.steps.get(at));
    let report = json!({
        "mha": 1,
        "title": title,
        "verdict": if first.is_none() { "right" } else { "wrong" },
        "first_wrong": first.map(|first| json!({
            "step": first.name.to_string(),
            "index": first.measured.map(|measured| index(measured.first)),
        })),
        "explanations": names(&diagnosis.explanations),
        "forms": forms(&diagnosis.explanations),
        "otherwise": names(&diagnosis.otherwise),
        "partly": diagnosis.partly.as_ref().map(|partly| json!({
            "explanations": names(&partly.explanations),
            "wrong_from": step(partly.wrong_from),
        })),
        "after": diagnosis.after.as_ref().map(|after| json!({
            "next_wrong": after.next_wrong.and_then(step),
            "explanations": names(&after.explanations),
        })),
        "telling": diagnosis.telling.map(|name| name.to_string()),
        "steps": steps(known, &diagnosis.steps),
        "remarks": answers.remarks,
        "left_out": answers.left_out.iter().map(|(name, why)| json!({"name": name, "why": why})).collect::<Vec<_>>(),
    });
    writeln!(out, "{}", quiet(&report))
}

pub(super) fn index(at: At) -> Vec<usize> {
    let leading = at.sequence.into_iter().chain(at.head);
    leading.chain([at.row, at.column]).map(|place| place + 1).collect()
}

/// Every step of the lesson: what was found out about it, or that it was not given.
fn steps(known: &[Name], given: &[Checked]) -> Vec<Value> {
    let missing = |name: &Name| json!({"step": name.to_string(), "status": "missing", "max_difference": null, "tolerance": null});
    let told =
        |name: &Name| given.iter().find(|step| step.name == *name).map_or_else(|| missing(name), checked);
    known.iter().map(told).collect()
}

pub(super) fn checked(step: &Checked) -> Value {
    let status = match step.status {
        Status::Right | Status::Rounding => "right",
        Status::Wrong => "wrong",
        Status::Shape => "shape",
    };
    let number = |value: f64| if value.is_finite() { json!(value) } else { json!("Infinity") };
    json!({
        "step": step.name.to_string(),
        "called": step.called,
        "status": status,
        "within_rounding": step.status == Status::Rounding,
        "max_difference": step.measured.map(|measured| number(measured.largest)),
        "index": step.measured.map(|measured| index(measured.at)),
        "cells": step.measured.map(|measured| measured.cells),
        "of": step.measured.map(|measured| measured.of),
        "tolerance": step.tolerance,
        "precision": step.grain.name(),
        "shape": step.shape,
        "expected_shape": step.expected,
        "layout": step.how.iter().map(|layout| layout.told()).collect::<Vec<_>>(),
    })
}
