//! `--explain`: which numbers are meant.

use std::ops::Range;

use super::select;
use crate::fault::{Fault, Outcome};
use crate::plan::{Plan, StepId};
use crate::trace::Cell;

/// The most cells that one page explains.
const MOST: usize = 400;

/// The cells that a text names: `head.1.scores[3,3]`, a row `head.1.scores[3]` or `[3,*]`, a column `[*,3]`, or the
/// whole step. Names without a sequence mean `sequence` (from 0) of a batch.
///
/// # Errors
/// No such step, row or column; more cells than a page holds.
pub(super) fn cells(text: &str, plan: &Plan, sequence: Option<usize>) -> Outcome<Vec<Cell>> {
    let text = text.trim();
    let (name, place) = match text.strip_suffix(']').and_then(|text| text.split_once('[')) {
        Some((name, place)) => (name.trim(), Some(place)),
        None => (text, None),
    };
    let step = name
        .parse::<StepId>()
        .ok()
        .and_then(|id| plan.get(id).or_else(|| plan.get(id.in_sequence(sequence))))
        .ok_or_else(|| {
            let ids: Vec<StepId> = plan.steps().iter().map(|step| step.id).collect();
            select::nothing_matches(name, &ids, FLAG)
        })?;
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
            Some(at) => (at < length).then_some(at..at + 1),
        }
    };
    let (Some(rows_meant), Some(columns_meant)) = (line(row, rows), line(column, columns)) else {
        let why = format!("{} has {rows} rows and {columns} columns, counted from 1", step.id);
        let remedy = format!("choose up to {}[{rows},{columns}]", step.id);
        return Err(Fault::new(format!("there is no {text}"), why, remedy).in_source(FLAG).into());
    };
    if rows_meant.len().saturating_mul(columns_meant.len()) > MOST {
        let why = format!("{} is {rows} × {columns}, and a page explains at most {MOST} numbers", step.id);
        let remedy = format!("name one, as {}[1,1], or a row, as {}[1]", step.id, step.id);
        return Err(Fault::new(format!("{text} is too much to explain"), why, remedy).in_source(FLAG).into());
    }
    let id = step.id;
    Ok(rows_meant
        .flat_map(|row| columns_meant.clone().map(move |column| Cell { step: id, row, column }))
        .collect())
}

const FLAG: &str = "--explain";

/// A row or a column from 1; `None` for `*`, all of them.
fn number(typed: &str, whole: &str) -> Outcome<Option<usize>> {
    match typed.trim() {
        "*" | ":" => Ok(None),
        digits => match digits.parse::<usize>() {
            Ok(number) if number > 0 => Ok(Some(number - 1)),
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
