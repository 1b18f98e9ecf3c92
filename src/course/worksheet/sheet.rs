//! A sheet before it is set in any format: exercises, their tables, and which of the cells are left to the learner.

use crate::fault::{Fault, Outcome};
use crate::lesson::Problem;
use crate::limits::{PAPER_SIDE, PAPER_STEPS};
use crate::ops::{Layout, Op, Scale};
use crate::plan::{Attention, HeadStep, Name, Step, StepId, names};
use crate::trace::{Cell, Trace};
use crate::views::derivation::Derivation;
use crate::views::number::digits_for;
use crate::views::page::shorten;
use crate::views::sheet;

use super::words;

/// Which steps are left to the learner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blanks {
    /// None: a worked example.
    None,
    /// What comes after the scores: the attention weights and all that is made of them.
    LastSteps,
    /// Everything that is computed.
    All,
}

/// Several exercises, ready to be written.
#[derive(Debug, Clone)]
pub struct Sheet {
    /// The exercises, a page each.
    pub exercises: Vec<Exercise>,
    /// Digits after the point.
    pub digits: usize,
    /// Whether this is the key: the answers stand where the sheet has blanks.
    pub is_key: bool,
}

/// One exercise.
#[derive(Debug, Clone)]
pub struct Exercise {
    /// Its name on the sheet, such as `7-1`; the lesson's name where it was not drawn.
    pub label: String,
    /// The lesson's title; text from a file.
    pub title: String,
    /// The command that makes it again.
    pub again: String,
    /// The lesson as a command names it.
    pub lesson: String,
    /// Sizes and scale, a line each.
    pub facts: Vec<String>,
    /// What is given, then every step that is more than a copy, each in the order of the computation.
    pub tables: Vec<Table>,
}

/// One step of an exercise.
#[derive(Debug, Clone)]
pub struct Table {
    /// Its place on the sheet, from 1.
    pub number: usize,
    /// The step's name, as a file with answers has it.
    pub id: String,
    /// What it is, in words.
    pub title: String,
    /// Its sign in formulas.
    pub sign: String,
    /// How it is computed; nothing where it is given.
    pub equation: Option<String>,
    /// `3×2 · 2×3 → 3×3`; empty where it is given.
    pub sizes: String,
    /// Blocks of columns that heads take of what was computed before: `Q₁ = Q[:, 1…2]`.
    pub copies: Vec<String>,
    /// Names of the rows; text from a file.
    pub rows: Vec<String>,
    /// Names of the columns; text from a file.
    pub columns: Vec<String>,
    /// Every number as the key has it.
    pub numbers: Vec<Vec<String>>,
    /// Where the numbers come from.
    pub filled: Filled,
    /// The arithmetic of the first number, in the key's digits.
    pub worked: Option<String>,
}

/// Who fills a table in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filled {
    /// The problem gives it.
    Given,
    /// Computed, and printed on the sheet.
    Printed,
    /// Left to the learner.
    Blank,
}

impl Table {
    /// What stands in a cell (from 0) of the sheet or of its key; nothing where it is left to the learner.
    pub fn cell(&self, row: usize, column: usize, is_key: bool) -> Option<&str> {
        let is_shown = is_key || self.filled != Filled::Blank;
        self.numbers.get(row).and_then(|row| row.get(column)).map(String::as_str).filter(|_| is_shown)
    }
}

/// Most letters of a row's or a column's name.
const ROOM_OF_NAMES: usize = 12;

/// Sees to it that an exercise has a size for paper, before anything is computed.
///
/// # Errors
/// A step of more than 16 rows or columns; too many steps.
pub fn fits_paper(steps: &[Step]) -> Outcome<()> {
    let remedy = "take a smaller lesson: up to 8 tokens and d_model = 16 make a good sheet";
    if let Some(step) = steps.iter().find(|step| step.shape.0.max(step.shape.1) > PAPER_SIDE) {
        let (rows, columns) = step.shape;
        let what = format!("{} is {rows} × {columns}, too large for a sheet of paper", step.id);
        let why = format!(
            "a page holds tables of up to {PAPER_SIDE} × {PAPER_SIDE} numbers that a person can fill in"
        );
        return Err(Fault::new(what, why, remedy).in_source("LESSON").into());
    }
    if steps.len() > PAPER_STEPS {
        let what = format!("the lesson has {} steps, too many for a sheet of paper", steps.len());
        let why = format!("up to {PAPER_STEPS} are computed by hand");
        return Err(Fault::new(what, why, remedy).in_source("LESSON").into());
    }
    Ok(())
}

/// An exercise of a lesson whose plan [`fits_paper`] and was run.
pub fn exercise(
    problem: &Problem,
    trace: &Trace<f64>,
    (label, again, lesson): (String, String, String),
    blanks: Blanks,
    digits: usize,
) -> Exercise {
    let mut tables: Vec<Table> = Vec::new();
    let mut copies = Vec::new();
    for step in trace.plan().steps() {
        if matches!(step.op, Op::Columns(_)) {
            copies.push(trace.plan().formula(step, Layout::Rows).equation);
            continue;
        }
        if let Some(table) = table(problem, trace, step, blanks, digits) {
            let is_given = table.filled == Filled::Given;
            let copies = if is_given { Vec::new() } else { std::mem::take(&mut copies) };
            tables.push(Table { copies, ..table });
        }
    }
    // The problem stands before the steps; their order is kept.
    tables.sort_by_key(|table| table.filled != Filled::Given);
    for (table, number) in tables.iter_mut().zip(1..) {
        table.number = number;
    }
    let facts = facts(&problem.attention, problem.labels.queries.len(), problem.labels.keys.len());
    Exercise { label, title: problem.title.clone(), again, lesson, facts, tables }
}

fn table(problem: &Problem, trace: &Trace<f64>, step: &Step, blanks: Blanks, digits: usize) -> Option<Table> {
    let value = trace.get(step.id)?;
    let filled = match blanks {
        _ if step.inputs.is_empty() => Filled::Given,
        Blanks::All => Filled::Blank,
        Blanks::LastSteps if is_late(step.id) => Filled::Blank,
        Blanks::LastSteps | Blanks::None => Filled::Printed,
    };
    // What is given is printed in full as far as people type numbers: nobody can compute with less.
    let most = if filled == Filled::Given { digits.max(4) } else { digits };
    let digits_here = digits_for(value.iter(), most);
    let digits_here = if filled == Filled::Given { shortest(value.iter(), digits_here) } else { digits_here };
    let numbers = value
        .row_iter()
        .map(|row| row.iter().map(|number| written(*number, digits_here)).collect())
        .collect();
    let formula = trace.plan().formula(step, Layout::Rows);
    let (rows, columns) = sheet::names(step, &problem.labels);
    let short = |names: Vec<String>| names.iter().map(|name| shorten(name, ROOM_OF_NAMES)).collect();
    let first = Cell { step: step.id, row: 0, column: 0 };
    let is_blank = filled == Filled::Blank;
    let derivation = Derivation::of(trace, first, digits).filter(|_| is_blank);
    let worked = derivation.map(|derivation| format!("{first} = {}", derivation.in_short()));
    Some(Table {
        number: 0,
        id: step.id.to_string(),
        title: names::title(step.id.name),
        sign: names::sign(step.id.name),
        equation: (filled != Filled::Given).then_some(formula.equation),
        sizes: formula.sizes,
        copies: Vec::new(),
        rows: short(rows),
        columns: short(columns),
        numbers,
        filled,
        worked,
    })
}

/// Whether a step comes after the scores.
fn is_late(id: StepId) -> bool {
    match id.name {
        Name::Head(_, step) => {
            matches!(step, HeadStep::Weights | HeadStep::SinkWeight | HeadStep::Output)
        }
        Name::Concat | Name::Average | Name::Output => true,
        _ => false,
    }
}

/// Fewest digits, up to `most`, with which every number is written exactly; `most` where none is enough.
fn shortest<'a>(numbers: impl Iterator<Item = &'a f64> + Clone, most: usize) -> usize {
    let is_enough = |digits: usize| {
        numbers
            .clone()
            .all(|number| !number.is_finite() || format!("{number:.digits$}").parse::<f64>() == Ok(*number))
    };
    (0..most).find(|digits| is_enough(*digits)).unwrap_or(most)
}

/// A number as a person writes it down: so many digits after the point, no −0, and 0.00 for what is that small.
pub(super) fn written(number: f64, digits: usize) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "∞" } else { "−∞" }.to_owned();
    }
    let text = format!("{number:.digits$}");
    match text.strip_prefix('-') {
        Some(zero) if zero.bytes().all(|byte| matches!(byte, b'0' | b'.')) => zero.to_owned(),
        _ => text,
    }
}

fn facts(attention: &Attention, queries: usize, keys: usize) -> Vec<String> {
    let mut facts = vec![words::sizes(attention, queries, keys)];
    let root = (attention.d_k as f64).sqrt();
    facts.push(match attention.scale {
        Scale::RootOfDk => words::root(attention.d_k, root),
        Scale::Given(scale) => words::scale(scale),
    });
    facts
}
