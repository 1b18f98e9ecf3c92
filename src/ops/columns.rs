//! The columns that belong to one head.

use nalgebra::DMatrix;

use super::{Arithmetic, Cost, Expr, Formula, Layout, Operation, Real, Role, Shape, Signs, Told, View};

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
        let lines = match told.layout {
            Layout::Rows => "columns",
            Layout::Columns => "rows",
        };
        let (from, to) = (self.from + 1, self.from + self.width);
        let block = if from == to {
            format!("{} {from}", &lines[..lines.len() - 1])
        } else {
            format!("{lines} {from} to {to}")
        };
        let blank = |r: &usize| told.value.row(*r).iter().all(|v| *v == 0.0);
        let blanks: Vec<&str> = (0..told.value.nrows())
            .filter(blank)
            .map(|r| told.rows.get(r).map_or("", String::as_str))
            .collect();
        let zero = match blanks.len() {
            0 => String::new(),
            1 if told.value.nrows() == 1 => " All zero: nothing of the token is left here.".to_owned(),
            count if count == told.value.nrows() => {
                " All zero: nothing of these tokens is left here.".to_owned()
            }
            1 => format!(" Here {} is the zero vector.", blanks[0]),
            _ => format!(" Here {} are zero vectors.", super::list(blanks)),
        };
        match told.role {
            Role::HeadQueries(head) => format!("Head {} owns {block}.{zero}", head + 1),
            Role::HeadKeys(head) | Role::HeadValues(head) => {
                format!("Head {} reads {block}.{zero}", head + 1)
            }
            _ => format!("A view of {block}: nothing is copied."),
        }
    }
}
