//! One matrix with the names of its rows and columns, facing the way the page's layout wants it.

use super::cell;
use super::number::number;
use super::page::{Layout, Page, shorten, width};
use crate::exact::{Exact, Form};
use crate::fault::visible;
use crate::lesson::Labels;
use crate::ops::View;
use crate::plan::{Axis, Step, StepId};
use crate::words::t;

/// A matrix to be shown: rows and columns are those of the page.
pub struct Sheet<'a> {
    value: View<'a, f64>,
    layout: Layout,
    exact: Option<(&'a Exact, StepId)>,
    /// Names of the rows.
    pub rows: Vec<String>,
    /// Names of the columns.
    pub columns: Vec<String>,
}

impl<'a> Sheet<'a> {
    /// The value of a step, turned to face the layout.
    pub fn new(step: &Step, value: View<'a, f64>, labels: &Labels, layout: Layout) -> Self {
        let (rows, columns) = names(step, labels);
        match layout {
            Layout::Rows => Self { value, layout, exact: None, rows, columns },
            Layout::Columns => Self { value, layout, exact: None, rows: columns, columns: rows },
        }
    }

    /// A matrix that belongs to no step, with names for its rows and columns.
    pub fn of_matrix(value: View<'a, f64>, rows: Vec<String>, columns: Vec<String>) -> Self {
        Self { value, layout: Layout::Rows, exact: None, rows, columns }
    }

    /// The same sheet with what is known exactly about the step, where that was asked for.
    #[must_use]
    pub fn with_exact(self, exact: Option<&'a Exact>, id: StepId) -> Self {
        Self { exact: exact.map(|exact| (exact, id)), ..self }
    }

    /// The text of the cell at a row and a column of the page: exact where it can be, else with `digits` decimals.
    pub fn text(&self, row: usize, column: usize, digits: usize) -> String {
        self.form(row, column).map_or_else(|| number(self.at(row, column), digits), Form::to_string)
    }

    /// The same cell in LaTeX, for maths mode.
    pub fn latex(&self, row: usize, column: usize, digits: usize) -> String {
        self.form(row, column).map_or_else(|| cell::latex(&number(self.at(row, column), digits)), Form::latex)
    }

    /// How the exact number at a row and a column of the page is written; nothing where there is none.
    pub fn form(&self, row: usize, column: usize) -> Option<&'a Form> {
        let (exact, id) = self.exact?;
        match self.layout {
            Layout::Rows => exact.form(id, row, column),
            Layout::Columns => exact.form(id, column, row),
        }
    }

    /// Columns that the widest exact form takes on a page; 0 where there is none.
    pub fn widest_form(&self, page: &Page) -> usize {
        let (rows, columns) = self.shape();
        let forms = (0..rows).flat_map(|r| (0..columns).filter_map(move |c| self.form(r, c)));
        forms.map(|form| width(&page.letters(&form.to_string()))).max().unwrap_or(0)
    }

    /// Why the sheet shows decimals: nothing where exact numbers were not asked for, or are there.
    pub fn why_not_exact(&self) -> Option<&'a str> {
        self.exact.and_then(|(exact, id)| exact.why_not(id))
    }

    /// Whether exact numbers were asked for.
    pub fn wants_exact(&self) -> bool {
        self.exact.is_some()
    }

    /// The number at a row and a column of the page; −0 is 0.
    pub fn at(&self, row: usize, column: usize) -> f64 {
        let value = match self.layout {
            Layout::Rows => self.value[(row, column)],
            Layout::Columns => self.value[(column, row)],
        };
        if value == 0.0 { 0.0 } else { value }
    }

    /// All numbers, in no order.
    pub fn numbers(&self) -> impl Iterator<Item = &f64> {
        self.value.iter()
    }

    /// Rows and columns as shown.
    pub fn shape(&self) -> (usize, usize) {
        (self.rows.len(), self.columns.len())
    }
}

/// Names of a step's rows and columns, tokens in rows.
pub fn names(step: &Step, labels: &Labels) -> (Vec<String>, Vec<String>) {
    (axis(step.axes.0, step.shape.0, labels), axis(step.axes.1, step.shape.1, labels))
}

/// Names of a step's rows and columns as a sentence uses them: safe to show, and words set apart by quotes.
pub fn spoken(step: &Step, labels: &Labels) -> (Vec<String>, Vec<String>) {
    let (rows, columns) = names(step, labels);
    let spoken = |names: Vec<String>, axis: Axis| names.iter().map(|name| set_apart(name, axis)).collect();
    (spoken(rows, step.axes.0), spoken(columns, step.axes.1))
}

/// Most columns that a name takes in a sentence.
const ROOM: usize = 24;

fn set_apart(name: &str, axis: Axis) -> String {
    let name = shorten(&visible(name), ROOM);
    let is_token = !matches!(axis, Axis::Features | Axis::State | Axis::One);
    match name.parse::<f64>() {
        Ok(_) if is_token => t!("token %{name}", name),
        Err(_) if is_token && !is_a_letter(&name) => format!("“{name}”"),
        _ => name,
    }
}

/// Whether a name is a single letter, which a sentence can do without quotes; a comma or a blank cannot.
fn is_a_letter(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(char::is_alphabetic) && letters.next().is_none()
}

fn axis(axis: Axis, length: usize, labels: &Labels) -> Vec<String> {
    let token = |names: &[String], at: usize| names.get(at).cloned().unwrap_or_else(|| (at + 1).to_string());
    let stacked = |names: &[String], heads: usize, at: usize| {
        let height = (length / heads.max(1)).max(1);
        format!("h{} {}", at / height + 1, token(names, at % height))
    };
    let name = |at: usize| match axis {
        Axis::Queries => token(&labels.queries, at),
        Axis::Keys => token(&labels.keys, at),
        Axis::KeysFrom(from) => token(&labels.keys, from + at),
        Axis::Features => (at + 1).to_string(),
        Axis::StackedQueries(heads) => stacked(&labels.queries, heads, at),
        Axis::StackedKeys(heads) => stacked(&labels.keys, heads, at),
        Axis::State => match at {
            0 => "m".to_owned(),
            1 => "ℓ".to_owned(),
            at => format!("o{}", crate::plan::names::subscript(at - 1)),
        },
        Axis::One => String::new(),
    };
    (0..length).map(name).collect()
}
