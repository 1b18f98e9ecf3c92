//! A result averaged over its rows.

use nalgebra::DMatrix;

use super::{Arithmetic, Cost, Expr, Formula, Op, Operation, Real, Shape, Signs, Told, View};
use crate::words::t;

/// An operation each of whose rows gives way to the mean of all of them: what a head finds on average over the tokens of
/// this passage, whichever token asks (mean ablation). The shape stays.
#[derive(Debug, Clone, PartialEq)]
pub struct RowMean {
    /// What makes the rows.
    pub of: Box<Op>,
}

impl Operation for RowMean {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        self.of.shape(inputs)
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], arithmetic: Arithmetic) -> DMatrix<T> {
        let mut rows = self.of.compute(inputs, arithmetic);
        let count = T::of(rows.nrows() as f64);
        for mut column in rows.column_iter_mut() {
            let sum = column.iter().fold(T::zero(), |sum, x| sum + *x);
            column.fill(sum / count);
        }
        rows
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let Formula { equation, sizes } = self.of.formula(signs);
        Formula { equation: t!("%{equation}, averaged over the tokens", equation), sizes }
    }

    fn explain(&self, _: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        let rows = inputs.first().map_or(0, View::nrows);
        let each = (0..rows).map(|row| self.of.explain(row, column, inputs)).collect();
        Expr::Sum(each).over(Expr::Number(rows as f64))
    }

    fn reason(&self, _: usize, _: usize, _: &[View<'_, f64>]) -> Option<String> {
        Some(t!("the head's mean over all tokens"))
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        let (rows, columns) = self.of.shape(inputs).unwrap_or((0, 0));
        let added = rows.saturating_sub(1) as u128 * columns as u128;
        let own = Cost { additions: added, divisions: columns as u128, ..Cost::default() };
        [self.of.cost(inputs), own].into_iter().sum()
    }

    fn tell(&self, told: &Told<'_>) -> String {
        t!(
            "Every %{line} is the mean of what this head finds for the tokens of this passage.",
            line = told.line()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Mix;

    /// Each query takes its own key's value: rows (1, 2) and (3, 6), whose mean is (2, 4).
    #[test]
    fn every_row_becomes_the_mean_of_all_rows() {
        let weights = DMatrix::<f64>::identity(2, 2);
        let v = DMatrix::from_row_slice(2, 2, &[1.0, 2.0, 3.0, 6.0]);
        let inputs = [weights.as_view(), v.as_view()];
        let mean = RowMean { of: Box::new(Mix.into()) };
        assert_eq!(
            mean.compute(&inputs, Arithmetic::Ordered),
            DMatrix::from_row_slice(2, 2, &[2.0, 4.0, 2.0, 4.0])
        );
        for (row, column, expected) in [(0, 0, 2.0), (1, 1, 4.0)] {
            assert_eq!(mean.explain(row, column, &inputs).value(&inputs), expected);
        }
        assert!(mean.shape(&[(2, 3), (2, 2)]).is_err());
    }
}
