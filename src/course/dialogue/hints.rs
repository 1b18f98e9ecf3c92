//! Help with a question: what the lesson gives, and where it gives nothing, what follows from the plan.

use crate::course::{Ran, Workshop};
use crate::lesson::{Answer, Question};
use crate::ops::Layout;
use crate::plan::{StepId, names};
use crate::trace::Cell;
use crate::trace::origin::Source;
use crate::views::derivation::Derivation;
use crate::words::t;

/// The layers of help before the answer, in order.
pub(super) fn layers(question: &Question, workshop: &Workshop, digits: usize) -> Vec<String> {
    let filled = |text: &Option<String>| text.as_ref().map(|text| workshop.filled(text, digits));
    let hint = filled(&question.hints.hint).or_else(|| nudge(question, workshop));
    let place = filled(&question.hints.place).or_else(|| place(question, workshop));
    let why = filled(&question.hints.why).or_else(|| why(question, workshop, digits));
    [hint, place, why].into_iter().flatten().collect()
}

/// The step that a question is about, with the run that it is read in.
fn step(question: &Question) -> Option<(StepId, Option<&str>)> {
    match &question.answer {
        Answer::Cell(step, ..) | Answer::Shape(step) => Some((*step, None)),
        Answer::Value(quantity) => quantity.slice(),
        Answer::Choice(..) | Answer::Computed(..) => None,
    }
}

/// The cell that a question asks for, as the lesson's trace has it.
fn cell(question: &Question, ran: &Ran) -> Option<Cell> {
    let (step, row, column) = match &question.answer {
        Answer::Cell(step, row, column) => (*step, *row, *column),
        Answer::Value(quantity) => quantity.cell()?,
        _ => return None,
    };
    let cell = Cell { step: ran.placed(step), row, column };
    ran.trace.cell(cell).map(|_| cell)
}

/// What the step is that the question is about.
fn nudge(question: &Question, workshop: &Workshop) -> Option<String> {
    let (id, run) = step(question)?;
    let ran = workshop.ran(run).ok()?;
    let id = ran.sheets(id).first().copied()?;
    let formula = ran.plan.formula(ran.plan.get(id)?, Layout::Rows);
    Some(t!(
        "%{step} is the step “%{title}”: %{formula}",
        step = id,
        title = names::title(id),
        formula = formula.equation
    ))
}

/// Which rows and cells it is made from.
fn place(question: &Question, workshop: &Workshop) -> Option<String> {
    let ran = workshop.ran(None).ok()?;
    let cell = cell(question, &ran)?;
    let sources: Vec<String> = ran.trace.sources(cell).iter().map(|source| block(source, &ran)).collect();
    Some(match sources.as_slice() {
        [] => t!("The lesson gives it: it stands in %{step}.", step = cell.step),
        [one] => t!("It is made from %{source}.", source = one),
        [before @ .., last] => {
            t!("It is made from %{sources} and %{last}.", sources = before.join(&t!(", ")), last = last)
        }
    })
}

/// A block of a step in words: `row 1 of head.1.q`.
fn block(source: &Source, ran: &Ran) -> String {
    let (rows, columns) = ran.plan.get(source.step).map_or((0, 0), |step| step.shape);
    let whole = (source.rows.len() == rows, source.columns.len() == columns);
    let range = |range: &std::ops::Range<usize>| match range.len() {
        1 => range.end.to_string(),
        _ => format!("{}–{}", range.start + 1, range.end),
    };
    match whole {
        (true, true) => source.step.to_string(),
        (_, true) if source.rows.len() == 1 => {
            t!("row %{row} of %{step}", row = source.rows.end, step = source.step)
        }
        (true, _) if source.columns.len() == 1 => {
            t!("column %{column} of %{step}", column = source.columns.end, step = source.step)
        }
        _ => format!("{}[{},{}]", source.step, range(&source.rows), range(&source.columns)),
    }
}

/// The arithmetic line by line, all but the number that it comes to.
fn why(question: &Question, workshop: &Workshop, digits: usize) -> Option<String> {
    let ran = workshop.ran(None).ok()?;
    let cell = cell(question, &ran)?;
    if let Some(reason) = ran.trace.reason(cell) {
        return Some(t!("A rule sets it, not arithmetic: %{reason}.", reason = reason));
    }
    let derivation = Derivation::of(&ran.trace, cell, digits)?;
    let (_, before) = derivation.lines.split_last()?;
    if before.is_empty() {
        return None;
    }
    let mut lines = vec![cell.to_string()];
    lines.extend(before.iter().map(|line| format!("= {line}")));
    if let Some((names, number)) = &derivation.largest {
        lines.push(t!("where m = %{names} = %{number}, the largest", names = names, number = number));
    }
    Some(lines.join("\n"))
}
