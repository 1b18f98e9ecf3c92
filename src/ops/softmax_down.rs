//! The softmax along the wrong axis.

use nalgebra::DMatrix;

use super::{
    Arithmetic, Cost, Expr, Formula, FullyMaskedRows, Function, Layout, Operation, Real, Shape, Signs,
    Softmax, Told, View,
};
use crate::words::t;

/// Turns each column of scores, all that ask one key, into shares that sum to 1 (n_q × n_kv in, the same out).
///
/// A softmax along the query axis, where the key axis is meant: every query should share out its attention.
#[derive(Debug, Clone, PartialEq)]
pub struct SoftmaxDown {
    /// What a column that is all −∞ holds; `Error` gives NaN here.
    pub empty: FullyMaskedRows,
}

/// A column of more scores than this has its largest named as one cell, not as the largest of all of them.
const SHORT: usize = 16;

impl SoftmaxDown {
    /// The same along each row.
    fn across(&self) -> Softmax {
        Softmax { empty_rows: self.empty, sink: None }
    }
}

fn is_empty(column: usize, scores: &View<'_, f64>) -> bool {
    scores.column(column).iter().all(|score| *score == f64::NEG_INFINITY)
}

/// The largest score of a column.
fn largest(column: usize, scores: &View<'_, f64>) -> Expr {
    let cells = scores.column(column);
    if cells.len() <= SHORT {
        return Expr::Max((0..cells.len()).map(|row| Expr::cell(0, row, column)).collect());
    }
    let larger = |best: usize, row: usize| if cells[row] > cells[best] { row } else { best };
    Expr::cell(0, (0..cells.len()).fold(0, larger), column)
}

impl Operation for SoftmaxDown {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        self.across().shape(inputs)
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], arithmetic: Arithmetic) -> DMatrix<T> {
        self.across().compute(&[inputs[0].transpose().as_view()], arithmetic).transpose()
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let way = match signs.layout {
            Layout::Rows => t!("column by column"),
            Layout::Columns => t!("row by row"),
        };
        signs.formula(format!("softmax({}), {way}", signs.inputs[0]), "", &signs.facing_inputs())
    }

    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        let scores = &inputs[0];
        let rows = scores.nrows();
        if is_empty(column, scores) {
            return match self.empty {
                FullyMaskedRows::Uniform => Expr::Number(1.0).over(Expr::Number(rows as f64)),
                _ => Expr::Number(self.across().empty(rows)),
            };
        }
        let most = largest(column, scores);
        let power = |row| Expr::cell(0, row, column).minus(most.clone()).apply(Function::Exp);
        power(row).over(Expr::Sum((0..rows).map(power).collect()))
    }

    fn reason(&self, _: usize, column: usize, inputs: &[View<'_, f64>]) -> Option<String> {
        let told = self.across().told_of_empty();
        is_empty(column, &inputs[0]).then(|| t!("no query sees this key: %{held}", held = told))
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        let turned: Vec<Shape> = inputs.iter().map(|shape| (shape.1, shape.0)).collect();
        self.across().cost(&turned)
    }

    fn tell(&self, told: &Told<'_>) -> String {
        match told.layout {
            Layout::Rows => {
                t!("Every column sums to 1, so queries compete for each key; it is rows that should.")
            }
            Layout::Columns => {
                t!("Every row sums to 1, so queries compete for each key; it is columns that should.")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns (0, ln 3) and (5, 5): e^0 : e^(ln 3) is 1 : 3, so 1/4 and 3/4; equal scores get 1/2 each.
    #[test]
    fn columns_sum_to_one() {
        let scores = DMatrix::from_row_slice(2, 2, &[0.0, 5.0, 3f64.ln(), 5.0]);
        let down = SoftmaxDown { empty: FullyMaskedRows::Error };
        let shares = down.compute(&[scores.as_view()], Arithmetic::Ordered);
        let by_hand = DMatrix::from_row_slice(2, 2, &[0.25, 0.5, 0.75, 0.5]);
        assert!((&shares - by_hand).amax() < 1e-15, "{shares}");
    }

    #[test]
    fn a_key_that_nobody_sees_gets_what_was_asked() {
        let scores = DMatrix::from_row_slice(2, 2, &[f64::NEG_INFINITY, 1.0, f64::NEG_INFINITY, 1.0]);
        let first = |empty| SoftmaxDown { empty }.compute(&[scores.as_view()], Arithmetic::Ordered)[(1, 0)];
        assert_eq!(first(FullyMaskedRows::Zeros), 0.0);
        assert_eq!(first(FullyMaskedRows::Uniform), 0.5);
        assert!(first(FullyMaskedRows::Nan).is_nan() && first(FullyMaskedRows::Error).is_nan());
    }

    /// Above and below the length at which the largest score is named as one cell: rows 0, 1, 2 … of one column.
    #[test]
    fn long_columns_are_explained_as_truly_as_short_ones() {
        for rows in [SHORT, SHORT + 1] {
            let scores = DMatrix::from_fn(rows, 1, |r, _| r as f64 * 0.5);
            let inputs = [scores.as_view()];
            let down = SoftmaxDown { empty: FullyMaskedRows::Error };
            let shares = down.compute(&inputs, Arithmetic::Ordered);
            for row in 0..rows {
                assert_eq!(down.explain(row, 0, &inputs).value(&inputs), shares[(row, 0)]);
            }
        }
    }
}
