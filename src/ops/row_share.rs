//! Scores over their sum, without an exponential.

use nalgebra::DMatrix;

use super::{Arithmetic, Cost, Expr, Formula, Layout, Operation, Real, Shape, Signs, Told, View};
use crate::words::t;

/// Each cell over the sum of its row (n_q × n_kv in, the same out): a softmax without its exponential.
///
/// A row sums to 1 as it should, but negative scores give negative weights, and a sum of 0 divides by 0.
#[derive(Debug, Clone, PartialEq)]
pub struct RowShare;

impl Operation for RowShare {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        inputs.first().copied().ok_or_else(|| "shares are taken of scores".to_owned())
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], _: Arithmetic) -> DMatrix<T> {
        let mut shares = inputs[0].into_owned();
        let mut sums = vec![T::zero(); shares.nrows()];
        for column in shares.column_iter() {
            sums.iter_mut().zip(column.iter()).for_each(|(sum, score)| *sum += *score);
        }
        for mut column in shares.column_iter_mut() {
            column.iter_mut().zip(&sums).for_each(|(score, sum)| *score /= *sum);
        }
        shares
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let way = match signs.layout {
            Layout::Rows => t!("row by row"),
            Layout::Columns => t!("column by column"),
        };
        let scores = &signs.inputs[0];
        signs.formula(format!("{scores} / (Σ {scores}), {way}"), "", &signs.facing_inputs())
    }

    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        let cells = (0..inputs[0].ncols()).map(|c| Expr::cell(0, row, c)).collect();
        Expr::cell(0, row, column).over(Expr::Sum(cells))
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        let (rows, columns) = inputs.first().map_or((0, 0), |(r, c)| (*r as u128, *c as u128));
        Cost { additions: rows * columns.saturating_sub(1), divisions: rows * columns, ..Cost::default() }
    }

    fn tell(&self, told: &Told<'_>) -> String {
        let negative = told.value.iter().filter(|share| **share < 0.0).count();
        let below = match negative {
            0 => String::new(),
            1 => t!(" One weight is negative, which no softmax gives."),
            _ => t!(" Some weights are negative, which no softmax gives."),
        };
        t!("Each score over the sum of its %{line}: no exponential.%{below}", line = told.line(), below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 + 2 + 5 = 8, and 3 − 1 = 2: (1/8, 2/8, 5/8), and 3/2 beside −1/2.
    #[test]
    fn rows_sum_to_one_even_with_negative_shares() {
        let scores = DMatrix::from_row_slice(2, 3, &[1.0, 2.0, 5.0, 3.0, -1.0, 0.0]);
        let shares = RowShare.compute(&[scores.as_view()], Arithmetic::Ordered);
        assert_eq!(shares, DMatrix::from_row_slice(2, 3, &[0.125, 0.25, 0.625, 1.5, -0.5, 0.0]));
    }
}
