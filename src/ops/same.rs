//! The same numbers under another name.

use nalgebra::DMatrix;

use super::{Arithmetic, Cost, Expr, Formula, Operation, Real, Shape, Signs, Told, View};
use crate::words::t;

/// Its input, not copied: what one part of a layer hands to the next.
#[derive(Debug, Clone, PartialEq)]
pub struct Same;

impl Operation for Same {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        match inputs {
            [shape] => Ok(*shape),
            _ => Err("one matrix is handed on".to_owned()),
        }
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], _: Arithmetic) -> DMatrix<T> {
        inputs[0].into_owned()
    }

    fn formula(&self, signs: &Signs) -> Formula {
        signs.formula(&signs.inputs[0], "", &signs.facing_inputs())
    }

    fn explain(&self, row: usize, column: usize, _: &[View<'_, f64>]) -> Expr {
        Expr::cell(0, row, column)
    }

    fn cost(&self, _: &[Shape]) -> Cost {
        Cost::default()
    }

    fn tell(&self, _: &Told<'_>) -> String {
        t!("The same numbers, handed on as they are.")
    }
}
