//! `--explain`: which numbers are meant.

use std::num::IntErrorKind;
use std::ops::Range;

use crate::fault::{Fault, Outcome, nearest};
use crate::limits::EXPLAINED_NUMBERS;
use crate::plan::{Plan, StepId};
use crate::trace::Cell;
use crate::views::stacked::file_name;

/// The cells that a text names: `head.1.scores[3,3]`, a row `head.1.scores[3]` or `[3,*]`, a column `[*,3]`, or the
/// whole step. Names without a sequence mean `sequence` (from 0) of a batch, those without a layer `layer` (from 0) of a
/// model.
///
/// # Errors
/// No such step, row or column; more cells than a page holds.
pub(super) fn cells(
    text: &str,
    plan: &Plan,
    sequence: Option<usize>,
    layer: Option<usize>,
) -> Outcome<Vec<Cell>> {
    let text = text.trim();
    let (name, place) = match text.strip_suffix(']').and_then(|text| text.split_once('[')) {
        Some((name, place)) => (name.trim(), Some(place)),
        None => (text, None),
    };
    let step = name
        .parse::<StepId>()
        .ok()
        .and_then(|id| {
            let here = id.in_sequence(sequence);
            plan.get(id).or_else(|| plan.get(here)).or_else(|| plan.get(here.in_layer(layer)))
        })
        .ok_or_else(|| no_step(name, plan))?;
    let (rows, columns) = step.shape;
    let (row, column) = match place {
        None => (None, None),
        Some(place) => match place.split_once(',') {
            Some((row, column)) => (number(row, text)?, number(column, text)?),
            None => (number(place, text)?, None),
        },
    };
    let line = |at: Option<usize>, length: usize| -> Option<Range<usize>> {
        match at {
            None => Some(0..length),
            Some(at) => (at < length).then(|| at..at + 1),
        }
    };
    let (Some(rows_meant), Some(columns_meant)) = (line(row, rows), line(column, columns)) else {
        let why = format!("{} has {rows} rows and {columns} columns, counted from 1", step.id);
        let remedy = format!("choose up to {}[{rows},{columns}]", step.id);
        return Err(Fault::new(format!("there is no {text}"), why, remedy).in_source(FLAG).into());
    };
    if rows_meant.len().saturating_mul(columns_meant.len()) > EXPLAINED_NUMBERS {
        let why = format!(
            "{} is {rows} × {columns}, and a page explains at most {EXPLAINED_NUMBERS} numbers",
            step.id
        );
        let remedy = match columns {
            0..=EXPLAINED_NUMBERS => format!("name one, as {}[1,1], or a row, as {}[1]", step.id, step.id),
            _ => format!("name one, as {}[1,1]", step.id),
        };
        return Err(Fault::new(format!("{text} is too much to explain"), why, remedy).in_source(FLAG).into());
    }
    let id = step.id;
    Ok(rows_meant
        .flat_map(|row| columns_meant.clone().map(move |column| Cell { step: id, row, column }))
        .collect())
}

/// What to say about several names that are too much together, though each one is not.
pub(super) fn too_many(numbers: usize) -> Fault {
    let why = format!("a page explains at most {EXPLAINED_NUMBERS}");
    let what = format!("{numbers} numbers are too much to explain");
    Fault::new(what, why, "explain them on several pages").in_source(FLAG)
}

const FLAG: &str = "--explain";

/// What to say about a name that is no step's: one of all heads at once, several with a glob, or a typo.
fn no_step(name: &str, plan: &Plan) -> Fault {
    let what = format!("no step is called {name}");
    let one_head = plan.steps().iter().find(|step| file_name(step.id).is_some_and(|file| file == name));
    if let Some(step) = one_head {
        let why = format!("{name} is what files call all heads' numbers together");
        return Fault::new(what, why, format!("name one head's, as {}[1,1]", step.id)).in_source(FLAG);
    }
    if name.contains('[') {
        let why = "row and column stand in brackets behind the step: [row,column]";
        let remedy = "close the bracket, with nothing behind it: 'head.1.scores[3,1]'";
        return Fault::new(format!("{name} is not a step and a place in it"), why, remedy).in_source(FLAG);
    }
    if name.contains(['*', '?', ',']) {
        let why = "an explanation is of one step's numbers; globs and lists are for --steps";
        let remedy = "name one step, and give --explain again for another";
        return Fault::new(what, why, remedy).in_source(FLAG);
    }
    let names: Vec<String> = plan.steps().iter().map(|step| step.id.within().to_string()).collect();
    let remedy = match nearest(name, names.iter().map(String::as_str)) {
        Some(near) => format!("did you mean {near}?"),
        None => "use names as mha trace --summary lists them: head.1.scores[1,1]".to_owned(),
    };
    Fault::new(what, "a number is named by its step, its row and its column", remedy).in_source(FLAG)
}

/// A row or a column from 1; `None` for `*`, all of them.
fn number(typed: &str, whole: &str) -> Outcome<Option<usize>> {
    match typed.trim() {
        "*" | ":" => Ok(None),
        digits => match digits.parse::<usize>() {
            Ok(number) if number > 0 => Ok(Some(number - 1)),
            Err(error) if *error.kind() == IntErrorKind::PosOverflow => Ok(Some(usize::MAX)),
            _ => Err(Fault::new(
                format!("{whole} names no number"),
                "rows and columns count from 1",
                "write 'head.1.scores[3,1]', or 'head.1.scores[3]' for the whole row",
            )
            .in_source(FLAG)
            .into()),
        },
    }
}
