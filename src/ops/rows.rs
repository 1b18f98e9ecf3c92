//! A run of rows: one tile of keys or values.

use nalgebra::DMatrix;

use super::{Arithmetic, Cost, Expr, Formula, Layout, Operation, Real, Shape, Signs, Told, View};
use crate::words::t;

/// A block of rows of its input, not copied.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// The first row, from 0.
    pub from: usize,
    /// How many.
    pub height: usize,
}

impl Operation for Rows {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        match inputs {
            [(rows, columns)] if self.from + self.height <= *rows => Ok((self.height, *columns)),
            _ => Err(format!("rows {} to {} are not there", self.from + 1, self.from + self.height)),
        }
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], _: Arithmetic) -> DMatrix<T> {
        inputs[0].rows(self.from, self.height).into_owned()
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let whole = &signs.inputs[0];
        let run = match self.height {
            1 => format!("{}", self.from + 1),
            height => format!("{}…{}", self.from + 1, self.from + height),
        };
        let run = match signs.layout {
            Layout::Rows => format!("{whole}[{run}, :]"),
            Layout::Columns => format!("{whole}[:, {run}]"),
        };
        signs.formula(run, "", &signs.facing_inputs())
    }

    fn explain(&self, row: usize, column: usize, _: &[View<'_, f64>]) -> Expr {
        Expr::cell(0, self.from + row, column)
    }

    fn cost(&self, _: &[Shape]) -> Cost {
        Cost::default()
    }

    fn tell(&self, told: &Told<'_>) -> String {
        t!("The tile holds %{keys}.", keys = super::list(told.rows.iter().map(String::as_str)))
    }
}
