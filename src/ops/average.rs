//! The mean of matrices: what multi-head attention is not.

use nalgebra::DMatrix;

use super::{Arithmetic, Cost, Expr, Formula, Operation, Real, Shape, Signs, Told, View};
use crate::words::t;

/// The mean of its inputs, all of one shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Average;

impl Operation for Average {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        match inputs {
            [first, rest @ ..] if rest.iter().all(|shape| shape == first) => Ok(*first),
            _ => Err("a mean is taken over matrices of one shape".to_owned()),
        }
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], _: Arithmetic) -> DMatrix<T> {
        let mut sum = inputs[0].into_owned();
        for input in &inputs[1..] {
            sum += input;
        }
        let count = T::of(inputs.len() as f64);
        sum.apply(|cell| *cell /= count);
        sum
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let (first, last) = (signs.inputs.first(), signs.inputs.last());
        let sum = match (first, last) {
            (Some(first), Some(last)) if signs.inputs.len() > 2 => format!("{first} + … + {last}"),
            _ => signs.inputs.join(" + "),
        };
        let count = signs.inputs.len();
        let mut formula = signs.formula(format!("({sum}) / {count}"), "", &signs.facing_inputs()[..1]);
        formula.sizes = t!("%{count} of %{sizes}", count, sizes = formula.sizes);
        formula
    }

    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        let cells = (0..inputs.len()).map(|input| Expr::cell(input, row, column)).collect();
        Expr::Sum(cells).over(Expr::Number(inputs.len() as f64))
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        let cells = inputs.first().map_or(0, |(r, c)| *r as u128 * *c as u128);
        let added = cells * inputs.len().saturating_sub(1) as u128;
        Cost { additions: added, divisions: cells, ..Cost::default() }
    }

    fn tell(&self, _: &Told<'_>) -> String {
        t!("The mean of equal heads is one head: running it again has found nothing new.")
    }
}
