//! What was found out about a person's tensors of a whole stack of layers, as a report and as JSON.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::check::{
    Shown, capital, explanations, figures, layouts, left_out, partly, side_by_side, sizes, status,
    table_of_steps, to_confirm, tone, verdict_of_right,
};
use super::check_json::{checked, index};
use super::grid::Side;
use super::json_text::quiet;
use super::mistakes::mend;
use super::part::{Part, Table};
use crate::answers::{Known, Layered};
use crate::fault::visible;
use crate::mistakes::diagnose::{At, Checked, Explanation, Status};
use crate::mistakes::difference::Whose;
use crate::mistakes::layers::{Slip, Slips, StackDiagnosis};
use crate::ops::list;
use crate::plan::{Name, StepId};
use crate::words::{say, t};

/// A diagnosis of a stack to be told.
pub struct Report<'a> {
    /// The model's name, or the lesson's title.
    pub title: &'a str,
    /// The words that name the model and its text in a command; `None` on a lesson.
    pub model: Option<&'a [String]>,
    /// The steps that there are.
    pub known: &'a Known,
    /// What was handed over.
    pub answers: &'a Layered,
    /// What was found out.
    pub diagnosis: &'a StackDiagnosis,
}

/// One tensor and its layer.
type Step = (Option<usize>, Checked);

/// `layer.4.scores`
fn id(layer: Option<usize>, name: Name) -> String {
    StepId::from(name).in_layer(layer).to_string()
}

/// Where a step is off the most: the name of the step stands in front of the row.
fn place(at: At) -> String {
    let (row, column) = (at.row + 1, at.column + 1);
    match at.head {
        Some(head) => t!("head %{head} [%{row},%{column}]", head = head + 1, row, column),
        None => format!("[{row},{column}]"),
    }
}

/// The report: a line a layer, the steps of the layer in which something is wrong, the verdict, and what explains it.
pub fn parts(report: &Report<'_>) -> Vec<Part> {
    let steps = &report.diagnosis.steps;
    let mut parts = vec![Part::Title(t!(
        "%{lesson}: your tensors beside the right ones",
        lesson = visible(report.title)
    ))];
    parts.extend(
        report.answers.remarks.iter().map(|remark| Part::Say(t!("%{words}.", words = visible(remark)))),
    );
    parts.push(Part::Table(table(report.diagnosis)));
    let own: Vec<Checked> = steps.iter().map(|(_, step)| step.clone()).collect();
    parts.extend(layouts(&own).map(Part::Say));
    parts.extend(left_out(&report.answers.left_out).map(Part::Say));
    match report.diagnosis.first_wrong.and_then(|first| steps.get(first)) {
        None => parts.extend(verdict_of_right(&steps.iter().map(|(_, step)| step).collect::<Vec<_>>())),
        Some(first) => wrong(report, first, &mut parts),
    }
    parts
}

/// A row a layer, where all of it is right or it comes after the first wrong one; else a row a step.
fn table(diagnosis: &StackDiagnosis) -> Table {
    let mut table = table_of_steps();
    let steps = &diagnosis.steps;
    let wrong_layer = diagnosis.first_wrong.and_then(|first| steps.get(first)).map(|(layer, _)| *layer);
    let mut at = 0;
    while let Some((layer, step)) = steps.get(at) {
        let count = steps[at..].iter().take_while(|(of, _)| of == layer).count();
        match layer {
            Some(number) if count > 1 && wrong_layer != Some(*layer) => {
                let name = t!("layer %{layer}: %{count} steps", layer = number + 1, count);
                let worst = &worst(&steps[at..at + count]).1;
                table.judged(tone(worst.status), name, row(worst, true));
                at += count;
            }
            _ => {
                table.judged(tone(step.status), id(*layer, step.name), row(step, false));
                at += 1;
            }
        }
    }
    table
}

/// Of the steps of a layer the first wrong one, else the one that comes nearest to what it may be off.
fn worst(steps: &[Step]) -> &Step {
    let is_wrong = |step: &&Step| matches!(step.1.status, Status::Wrong | Status::Shape);
    let share = |step: &Step| {
        let off = step.1.measured.map_or(0.0, |measured| measured.largest / step.1.tolerance);
        (u8::from(step.1.status == Status::Rounding), off)
    };
    let nearest =
        steps.iter().fold(&steps[0], |best, step| if share(step) > share(best) { step } else { best });
    steps.iter().find(is_wrong).unwrap_or(nearest)
}

/// What is told of a step; with its name, where it stands for all of its layer.
fn row(step: &Checked, named: bool) -> Vec<String> {
    let mut cells = vec![status(step.status)];
    match (step.status, step.measured) {
        (Status::Shape, _) | (_, None) if !step.scaled => {
            cells.extend([
                t!("is %{size}", size = sizes(&step.shape)),
                t!("should be %{size}", size = sizes(&step.expected)),
                String::new(),
            ]);
        }
        (_, None) => cells.extend([String::new(), String::new(), String::new()]),
        (status, Some(measured)) => {
            let [off, mut at, count] = figures(step.name, status, &measured);
            if !named && !at.is_empty() {
                at = place(measured.at);
            }
            cells.extend([off, at, count]);
        }
    }
    cells
}

fn wrong(report: &Report<'_>, (layer, first): &Step, parts: &mut Vec<Part>) {
    let diagnosis = report.diagnosis;
    parts.push(Part::Title(t!("First wrong step: %{step}", step = id(*layer, first.name))));
    let said = match (&diagnosis.difference, first.status) {
        (Some(difference), Status::Wrong) => capital(&difference.told(first.name, &Whose::Right)),
        _ => t!(
            "Yours is %{size}, and it should be %{expected}",
            size = sizes(&first.shape),
            expected = sizes(&first.expected)
        ),
    };
    let so_far = match diagnosis.first_wrong.unwrap_or(0) {
        0 => String::new(),
        1 => t!(" %{step} before it is right.", step = id(diagnosis.steps[0].0, diagnosis.steps[0].1.name)),
        many => t!(" The %{many} steps before it are right.", many),
    };
    parts.push(Part::Say(t!("%{said}.%{so_far}", said, so_far)));
    let shown = match (report.model, layer) {
        (Some(model), Some(layer)) => Shown::Layer(model, *layer),
        _ => Shown::Nowhere,
    };
    if let Some(alone) = &diagnosis.attention {
        if !alone.explanations.is_empty() {
            return explanations(alone, shown, parts);
        }
        if partly(alone, shown, parts) {
            return;
        }
    }
    match diagnosis.slips.found.as_slice() {
        [] => unexplained(report, (*layer, first), parts),
        _ => slipped(&diagnosis.slips, shown, parts),
    }
}

/// What around attention, or inside it, gives these numbers.
fn slipped(slips: &Slips, shown: Shown<'_>, parts: &mut Vec<Part>) {
    if slips.found.len() > 1 {
        parts.push(Part::Title(t!(
            "%{count} explanations that your tensors cannot tell apart",
            count = slips.found.len()
        )));
    }
    for slip in &slips.found {
        parts.push(Part::Title(t!("The mistake: %{one}", one = slip.name())));
        parts.push(Part::Say(match slips.give_all {
            true => t!("With it mha computes what you have of this layer, from this step on."),
            false => {
                t!("With it mha computes this step; after it in this layer something else is wrong, too.")
            }
        }));
        let mut table = Table::new(slip.name(), &[("", Side::Left)]);
        match slip {
            Slip::Around(around, detail) => {
                let summary = say(around.summary);
                match detail.is_empty() {
                    true => table.line(&t!("mistake"), &[summary]),
                    false => {
                        let words = t!("%{mistake}: %{detail}", mistake = summary, detail);
                        table.row(t!("mistake"), vec![words]);
                    }
                }
                table.line(&t!("right"), &[around.right]);
                table.line(&t!("yours"), &[around.wrong]);
                table.line(&t!("fix"), &[say(around.fix)]);
                parts.push(Part::Table(table));
            }
            Slip::Attention(mistake) => {
                table.line(&t!("mistake"), &[say(mistake.summary)]);
                table.line(&t!("right"), &[say(mistake.right)]);
                table.line(&t!("yours"), &[say(mistake.wrong)]);
                mend(mistake, &mut table);
                parts.push(Part::Table(table));
                side_by_side(shown, mistake.name, "", parts);
            }
        }
    }
    parts.push(Part::Say(to_confirm()));
}

fn unexplained(report: &Report<'_>, (layer, first): (Option<usize>, &Checked), parts: &mut Vec<Part>) {
    if first.status == Status::Shape {
        return;
    }
    let diagnosis = report.diagnosis;
    parts.push(Part::Title(t!("No known mistake")));
    let alone = diagnosis.attention.as_ref().map_or(0, |alone| alone.tried.forms);
    parts.push(Part::Say(t!(
        "Nothing that is known to go wrong gives exactly these numbers, so no mistake is named. Tried: %{count} ways.",
        count = alone + diagnosis.slips.tried
    )));
    let missing: Vec<String> = diagnosis.missing.iter().map(|name| id(layer, *name)).collect();
    parts.push(Part::Say(match missing.as_slice() {
        [] if diagnosis.first_wrong == Some(0) => return,
        [] => t!("Every step before it is right, so it is this step itself that goes wrong."),
        missing => t!(
            "Give %{steps} as well: the first wrong step may be found further up.",
            steps = list(missing.iter().rev().take(2).map(String::as_str))
        ),
    }));
}

/// The same as JSON; places count from 1.
///
/// # Errors
/// What the writer refuses.
pub fn write_json(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let diagnosis = report.diagnosis;
    let first = diagnosis.first_wrong.and_then(|first| diagnosis.steps.get(first));
    let names = |all: &[Explanation]| -> Vec<Vec<&str>> { all.iter().map(Explanation::names).collect() };
    let alone = diagnosis.attention.as_ref();
    let mut explained = alone.map(|alone| names(&alone.explanations)).unwrap_or_default();
    explained.extend(diagnosis.slips.found.iter().map(|slip| vec![slip.name()]));
    let details: Vec<&str> = diagnosis
        .slips
        .found
        .iter()
        .map(|slip| match slip {
            Slip::Around(_, detail) => detail.as_str(),
            Slip::Attention(_) => "",
        })
        .collect();
    let report = json!({
        "mha": 1,
        "title": report.title,
        "verdict": if first.is_none() { "right" } else { "wrong" },
        "first_wrong": first.map(|(layer, step)| json!({
            "step": id(*layer, step.name),
            "index": step.measured.map(|measured| index(measured.first)),
        })),
        "explanations": explained,
        "details": details,
        "partly": alone.and_then(|alone| alone.partly.as_ref()).map(|partly| names(&partly.explanations)),
        "steps": steps(report),
        "remarks": report.answers.remarks,
        "left_out": report.answers.left_out.iter().map(|(name, why)| json!({"name": name, "why": why})).collect::<Vec<_>>(),
    });
    writeln!(out, "{}", quiet(&report))
}

/// Every step of the stack: what was found out about it, or that it was not given.
fn steps(report: &Report<'_>) -> Vec<Value> {
    let given = &report.diagnosis.steps;
    let told = |layer: Option<usize>, name: Name| {
        let found = given.iter().find(|(of, step)| *of == layer && step.name == name);
        match found {
            None => {
                json!({"step": id(layer, name), "status": "missing", "max_difference": null, "tolerance": null})
            }
            Some((_, step)) => {
                let mut told = checked(step);
                told["step"] = json!(id(layer, name));
                told
            }
        }
    };
    let outside =
        |last: bool| report.known.outside.iter().filter(move |name| (**name == Name::Final) == last);
    let layers = report.known.layers.iter().enumerate();
    let inside = layers.flat_map(|(layer, names)| names.iter().map(move |name| (Some(layer), *name)));
    let before = outside(false).map(|name| (None, *name));
    let after = outside(true).map(|name| (None, *name));
    before.chain(inside).chain(after).map(|(layer, name)| told(layer, name)).collect()
}
