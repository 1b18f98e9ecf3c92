//! Two people's tensors beside each other, as a report and as JSON.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::check::{capital, cell, distance, left_out, sizes, table_of_steps};
use super::json_text::quiet;
use super::part::Part;
use crate::answers::Answers;
use crate::fault::visible;
use crate::mistakes::against::{Against, Compared};
use crate::mistakes::diagnose::At;
use crate::mistakes::difference::Whose;
use crate::ops::list;
use crate::words::{say, t};

/// The report. `files` are what the two sides are called, `answers` what they hold.
pub fn parts(against: &Against, files: [&str; 2], answers: [&Answers; 2]) -> Vec<Part> {
    let mut parts =
        vec![Part::Title(t!("%{one} beside %{other}", one = visible(files[0]), other = visible(files[1])))];
    for (file, answers) in files.iter().zip(answers) {
        let of_file = |said: String| Part::Say(t!("In %{file}: %{said}", file = visible(file), said));
        parts.extend(answers.remarks.iter().map(|remark| of_file(t!("%{words}.", words = visible(remark)))));
        parts.extend(left_out(&answers.left_out).map(of_file));
    }
    let mut table = table_of_steps();
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
            parts.push(Part::Say(t!(
                "Only in %{file}: %{steps}.",
                file = visible(file),
                steps = list(names.iter().map(String::as_str))
            )));
        }
    }
    for step in against.steps.iter().filter(|step| !step.how.is_empty()) {
        let how: Vec<&str> = step.how.iter().map(|layout| say(layout.told())).collect();
        parts.push(Part::Say(t!(
            "%{step} of %{file} was read in another layout: %{how}.",
            step = step.name,
            file = visible(files[0]),
            how = list(how)
        )));
    }
    match against.first_different.and_then(|first| against.steps.get(first)) {
        None => {
            parts.push(Part::Title(t!("Verdict")));
            parts.push(Part::Say(t!("They agree, as closely as their precisions can tell.")));
        }
        Some(step) => {
            parts.push(Part::Title(t!("First different step: %{step}", step = step.name)));
            parts.push(Part::Say(t!("%{words}.", words = told(step, files))));
            parts.push(Part::Say(t!(
                "Which of the two is right, only a lesson can say: mha check LESSON FILE."
            )));
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
        None => t!(
            "In %{one} it is %{size}, in %{other} %{other_size}",
            one = visible(files[0]),
            size = sizes(&step.shapes[0]),
            other = visible(files[1]),
            other_size = sizes(&step.shapes[1])
        ),
    }
}

fn row(step: &Compared) -> Vec<String> {
    let Some(measured) = step.measured else {
        let [one, other] = &step.shapes;
        return vec![
            t!("other shape"),
            t!("is %{size}", size = sizes(one)),
            t!("beside %{size}", size = sizes(other)),
            String::new(),
        ];
    };
    let place = if measured.largest > 0.0 { cell(step.name, measured.at) } else { String::new() };
    vec![
        if step.agree { t!("agrees") } else { t!("differs") },
        distance(measured.largest),
        place,
        t!("%{count} of %{all}", count = measured.cells, all = measured.of),
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
