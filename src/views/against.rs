//! Two people's tensors beside each other, as a report and as JSON.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::check::{COLUMNS, capital, cell, distance, left_out, sizes};
use super::json::quiet;
use super::part::{Part, Table};
use crate::answers::Answers;
use crate::fault::visible;
use crate::mistakes::against::{Against, Compared};
use crate::mistakes::diagnose::At;
use crate::mistakes::difference::Whose;
use crate::ops::list;

/// The report. `files` are what the two sides are called, `answers` what they hold.
pub fn parts(against: &Against, files: [&str; 2], answers: [&Answers; 2]) -> Vec<Part> {
    let mut parts = vec![Part::Title(format!("{} beside {}", visible(files[0]), visible(files[1])))];
    for (file, answers) in files.iter().zip(answers) {
        let of_file = |said: String| Part::Say(format!("In {}: {said}", visible(file)));
        parts.extend(answers.remarks.iter().map(|remark| of_file(format!("{}.", visible(remark)))));
        parts.extend(left_out(&answers.left_out).map(of_file));
    }
    let mut table = Table::new("step", &COLUMNS);
    for step in &against.steps {
        table.row(step.name.to_string(), row(step));
    }
    parts.push(Part::Table(table));
    for (side, file) in files.iter().enumerate() {
        let names: Vec<String> = against
            .alone
            .iter()
            .filter(|(_, first)| *first == (side == 0))
            .map(|(name, _)| name.to_string())
            .collect();
        if !names.is_empty() {
            parts.push(Part::Say(format!(
                "Only in {}: {}.",
                visible(file),
                list(names.iter().map(String::as_str))
            )));
        }
    }
    for step in against.steps.iter().filter(|step| !step.how.is_empty()) {
        let how: Vec<&str> = step.how.iter().map(|layout| layout.told()).collect();
        parts.push(Part::Say(format!(
            "{} of {} was read in another layout: {}.",
            step.name,
            visible(files[0]),
            list(how)
        )));
    }
    match against.first_different.and_then(|first| against.steps.get(first)) {
        None => {
            parts.push(Part::Title("Verdict".to_owned()));
            parts.push(Part::Say("They agree, as closely as their precisions can tell.".to_owned()));
        }
        Some(step) => {
            parts.push(Part::Title(format!("First different step: {}", step.name)));
            parts.push(Part::Say(format!("{}.", told(step, files))));
            parts.push(Part::Say(
                "Which of the two is right, only a lesson can say: mha check LESSON FILE.".to_owned(),
            ));
        }
    }
    parts
}

fn told(step: &Compared, files: [&str; 2]) -> String {
    match &step.difference {
        Some(difference) => {
            let said = difference.told(step.name, &Whose::Files { theirs: files[0], ours: files[1] });
            visible(&capital(&said))
        }
        None => format!(
            "In {} it is {}, in {} {}",
            visible(files[0]),
            sizes(&step.shapes[0]),
            visible(files[1]),
            sizes(&step.shapes[1])
        ),
    }
}

fn row(step: &Compared) -> Vec<String> {
    let Some(measured) = step.measured else {
        let [one, other] = &step.shapes;
        return vec![
            "other shape".to_owned(),
            format!("is {}", sizes(one)),
            format!("beside {}", sizes(other)),
            String::new(),
        ];
    };
    let place = if measured.largest > 0.0 { cell(step.name, measured.at) } else { String::new() };
    vec![
        if step.agree { "agrees" } else { "differs" }.to_owned(),
        distance(measured.largest),
        place,
        format!("{} of {}", measured.cells, measured.of),
    ]
}

/// The same as JSON; places count from 1.
///
/// # Errors
/// What the writer refuses.
pub fn write_json(against: &Against, files: [&str; 2], out: &mut dyn Write) -> io::Result<()> {
    let place = |at: At| -> Vec<usize> {
        let leading = at.sequence.into_iter().chain(at.head);
        leading.chain([at.row, at.column]).map(|place| place + 1).collect()
    };
    let number = |value: f64| if value.is_finite() { json!(value) } else { json!("Infinity") };
    let steps: Vec<Value> = against
        .steps
        .iter()
        .map(|step| {
            json!({
                "step": step.name.to_string(),
                "called": step.called,
                "agree": step.agree,
                "max_difference": step.measured.map(|measured| number(measured.largest)),
                "index": step.measured.map(|measured| place(measured.at)),
                "cells": step.measured.map(|measured| measured.cells),
                "of": step.measured.map(|measured| measured.of),
                "tolerance": step.tolerance,
                "shapes": step.shapes,
                "told": (!step.agree).then(|| told(step, files)),
            })
        })
        .collect();
    let first = against.first_different.and_then(|first| against.steps.get(first));
    let report = json!({
        "mha": 1,
        "files": files,
        "verdict": if first.is_none() { "agree" } else { "differ" },
        "first_different": first.map(|step| json!({
            "step": step.name.to_string(),
            "index": step.measured.map(|measured| place(measured.first)),
        })),
        "steps": steps,
        "alone": against.alone.iter().map(|(name, first)| json!({
            "step": name.to_string(),
            "in": files[usize::from(!*first)],
        })).collect::<Vec<_>>(),
    });
    writeln!(out, "{}", quiet(&report))
}
