//! The columns that belong to one head.

use nalgebra::DMatrix;

use super::{Arithmetic, Cost, Expr, Formula, Layout, Operation, Real, Role, Shape, Signs, Told, View};
use crate::words::t;

/// A block of columns of its input, not copied: head i owns columns i·d_k to (i+1)·d_k.
#[derive(Debug, Clone, PartialEq)]
pub struct Columns {
    /// The first column, from 0.
    pub from: usize,
    /// How many.
    pub width: usize,
}

impl Operation for Columns {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        match inputs {
            [(rows, columns)] if self.from + self.width <= *columns => Ok((*rows, self.width)),
            [(_, columns)] => {
                Err(format!("columns {} to {} of {columns}", self.from + 1, self.from + self.width))
            }
            _ => Err("a block of columns is taken from one matrix".to_owned()),
        }
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], _: Arithmetic) -> DMatrix<T> {
        inputs[0].columns(self.from, self.width).into_owned()
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let whole = &signs.inputs[0];
        let block = match self.width {
            1 => format!("{}", self.from + 1),
            width => format!("{}…{}", self.from + 1, self.from + width),
        };
        let block = match signs.layout {
            Layout::Rows => format!("{whole}[:, {block}]"),
            Layout::Columns => format!("{whole}[{block}, :]"),
        };
        signs.formula(block, "", &signs.facing_inputs())
    }

    fn explain(&self, row: usize, column: usize, _: &[View<'_, f64>]) -> Expr {
        Expr::cell(0, row, self.from + column)
    }

    fn cost(&self, _: &[Shape]) -> Cost {
        Cost::default()
    }

    fn tell(&self, told: &Told<'_>) -> String {
        let (from, to) = (self.from + 1, self.from + self.width);
        let block = match told.layout {
            Layout::Rows if from == to => t!("column %{at}", at = from),
            Layout::Columns if from == to => t!("row %{at}", at = from),
            Layout::Rows => t!("columns %{from} to %{to}", from, to),
            Layout::Columns => t!("rows %{from} to %{to}", from, to),
        };
        let blank = |r: &usize| told.value.row(*r).iter().all(|v| *v == 0.0);
        let blanks: Vec<&str> = (0..told.value.nrows())
            .filter(blank)
            .map(|r| told.rows.get(r).map_or("", String::as_str))
            .collect();
        let zero = match blanks.len() {
            0 => String::new(),
            1 if told.value.nrows() == 1 => t!(" All zero: nothing of the token is left here."),
            count if count == told.value.nrows() => {
                t!(" All zero: nothing of these tokens is left here.")
            }
            1 => t!(" Here %{token} is the zero vector.", token = blanks[0]),
            _ => t!(" Here %{tokens} are zero vectors.", tokens = super::list(blanks)),
        };
        match told.role {
            Role::HeadQueries(head) => {
                t!("Head %{head} owns %{block}.%{zero}", head = head + 1, block, zero)
            }
            Role::HeadKeys(head) | Role::HeadValues(head) => {
                t!("Head %{head} reads %{block}.%{zero}", head = head + 1, block, zero)
            }
            _ => t!("A view of %{block}: nothing is copied.", block),
        }
    }
}
