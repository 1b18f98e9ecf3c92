//! Whether a lesson is true: every step it speaks of is there, and every claim is what comes out.

use crate::fault::Fault;
use crate::ops::View;
use crate::plan::StepId;
use crate::trace::Trace;

use super::quantity::of_trace::OfTrace;
use super::reader::{FAULTS_TOLD, Spot};
use super::{Answer, Claim, Piece, Problem, Quantity, pieces, places};

/// What is wrong with a lesson's story, claims and quiz, given its numbers; `source` is the file's name.
///
/// Where the lesson is a batch, a step without a sequence means that of sequence 1.
pub fn check(problem: &Problem, trace: &Trace<f64>, source: &str) -> Vec<Fault> {
    let mut found: Vec<(Fault, Spot)> = Vec::new();
    let value = |id: StepId| trace.get(id).or_else(|| trace.get(id.in_sequence(problem.batch.map(|_| 0))));
    let item = |list: &str, index: usize, key: &str| Spot::root().key(list).item(index).key(key);
    for (index, saying) in problem.story.iter().enumerate() {
        if value(saying.at).is_none() {
            found.push((no_step(saying.at), item("story", index, "at")));
        }
        for piece in pieces(&saying.say) {
            let fault = match piece {
                Piece::Text(_) => None,
                Piece::Cell(id, row, column) => no_cell(id, row, column, value(id)),
                Piece::Amount(quantity, _) => no_amount(&quantity, problem, trace),
            };
            found.extend(fault.map(|fault| (fault, item("story", index, "say"))));
        }
    }
    for (index, question) in problem.quiz.iter().enumerate() {
        if let Answer::Cell(id, row, column) = question.answer
            && let Some(fault) = no_cell(id, row, column, value(id))
        {
            found.push((fault, item("quiz", index, "cell")));
        }
    }
    for (index, claim) in problem.claims.iter().enumerate() {
        if let Some(fault) = untrue(claim, value(claim.step)) {
            found.push((fault, item("claims", index, "equals")));
        }
    }
    let untold = found.len().saturating_sub(FAULTS_TOLD);
    found.truncate(FAULTS_TOLD);
    places::told(&problem.text, source, found, untold)
}

/// The questions of the quiz with their answers, as a teacher wants to see them.
pub fn answers(problem: &Problem, trace: &Trace<f64>) -> Vec<String> {
    let value = |id: StepId| trace.get(id).or_else(|| trace.get(id.in_sequence(problem.batch.map(|_| 0))));
    let answer = |question: &super::Question| match &question.answer {
        Answer::Cell(id, row, column) => value(*id)
            .and_then(|value| value.get((*row, *column)).copied())
            .map_or("?".to_owned(), |v| v.to_string()),
        Answer::Choice(choices, right) => choices.get(*right).cloned().unwrap_or_default(),
        Answer::Value(_) | Answer::Shape(_) | Answer::Computed(..) => "?".to_owned(),
    };
    problem.quiz.iter().map(|question| format!("{} {}", question.ask, answer(question))).collect()
}

fn no_step(id: StepId) -> Fault {
    Fault::new(
        format!("this lesson has no step {id}"),
        "a step is there only where the attention call needs it",
        "run mha trace --summary on the lesson to see its steps",
    )
}

/// What an expression lacks that the lesson's own steps should give.
fn no_amount(quantity: &Quantity, problem: &Problem, trace: &Trace<f64>) -> Option<Fault> {
    let numbers = OfTrace { trace, attention: &problem.attention, sequence: problem.batch.map(|_| 0) };
    let why = quantity.number(&numbers).err().filter(|_| quantity.is_of_the_lesson())?;
    let remedy = "run mha trace --summary on the lesson to see its steps and their shapes";
    Some(Fault::new(format!("{quantity} comes to nothing"), why, remedy))
}

fn no_cell(id: StepId, row: usize, column: usize, value: Option<View<'_, f64>>) -> Option<Fault> {
    let Some(value) = value else { return Some(no_step(id)) };
    if row < value.nrows() && column < value.ncols() {
        return None;
    }
    Some(Fault::new(
        format!("{id} has no cell [{},{}]", row + 1, column + 1),
        format!("it is {} × {}", value.nrows(), value.ncols()),
        "rows and columns count from 1",
    ))
}

/// What is untrue about a claim, if anything.
fn untrue(claim: &Claim, value: Option<View<'_, f64>>) -> Option<Fault> {
    let Some(value) = value else { return Some(no_step(claim.step)) };
    let (from_row, from_column) = (claim.row.unwrap_or(0), claim.column.unwrap_or(0));
    let rows = claim.row.map_or(value.nrows(), |_| 1);
    let columns = claim.column.map_or(value.ncols(), |_| 1);
    let claimed = (claim.equals.len(), claim.equals.first().map_or(0, Vec::len));
    if from_row + rows > value.nrows() || from_column + columns > value.ncols() {
        return no_cell(claim.step, from_row, from_column, Some(value));
    }
    if claimed != (rows, columns) {
        return Some(Fault::new(
            format!("the claim about {} has {} × {} numbers", claim.step, claimed.0, claimed.1),
            format!("what it speaks of has {rows} × {columns}"),
            "claim a cell, a row, a column or the whole matrix",
        ));
    }
    for (r, line) in claim.equals.iter().enumerate() {
        for (c, said) in line.iter().enumerate() {
            let is = value[(from_row + r, from_column + c)];
            let same = is == *said || (is.is_nan() && said.is_nan()) || (is - said).abs() <= claim.tolerance;
            if !same {
                return Some(Fault::new(
                    format!(
                        "the lesson claims {}[{},{}] = {said}, but it is {is}",
                        claim.step,
                        from_row + r + 1,
                        from_column + c + 1
                    ),
                    format!(
                        "the difference is {:.1e}; at most {:.1e} is allowed",
                        (is - said).abs(),
                        claim.tolerance
                    ),
                    "mend the claim, or the numbers it follows from",
                ));
            }
        }
    }
    None
}
