//! Attention weights of two keys, exchanged.

use nalgebra::DMatrix;

use super::{Arithmetic, Cost, Expr, Formula, Layout, Op, Operation, Real, Shape, Signs, Told, View};
use crate::words::t;

/// An operation whose columns `keys.0` and `keys.1` (from 0) trade places in every row of its result: attention that looks
/// elsewhere, with rows that still sum to 1 (after Jain & Wallace 2019, §4.2).
#[derive(Debug, Clone, PartialEq)]
pub struct Swapped {
    /// What makes the weights.
    pub weights: Box<Op>,
    /// The two columns.
    pub keys: (usize, usize),
}

impl Swapped {
    /// The column of the weights that stands at `column` of the result.
    fn before(&self, column: usize) -> usize {
        match column {
            column if column == self.keys.0 => self.keys.1,
            column if column == self.keys.1 => self.keys.0,
            column => column,
        }
    }
}

impl Operation for Swapped {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        let shape = self.weights.shape(inputs)?;
        match self.keys.0.max(self.keys.1) {
            last if last < shape.1 => Ok(shape),
            last => Err(format!("there is no key {} among {}", last + 1, shape.1)),
        }
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], arithmetic: Arithmetic) -> DMatrix<T> {
        let mut weights = self.weights.compute(inputs, arithmetic);
        weights.swap_columns(self.keys.0, self.keys.1);
        weights
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let Formula { equation, sizes } = self.weights.formula(signs);
        let (first, second) = (self.keys.0 + 1, self.keys.1 + 1);
        let equation = match signs.layout {
            Layout::Rows => {
                t!("%{equation}, columns %{first} and %{second} exchanged", equation, first, second)
            }
            Layout::Columns => {
                t!("%{equation}, rows %{first} and %{second} exchanged", equation, first, second)
            }
        };
        Formula { equation, sizes }
    }

    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        self.weights.explain(row, self.before(column), inputs)
    }

    fn reason(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Option<String> {
        let before = self.before(column);
        let own = self.weights.reason(row, before, inputs);
        own.or_else(|| {
            (before != column).then(|| t!("exchanged with the weight of key %{key}", key = before + 1))
        })
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        self.weights.cost(inputs)
    }

    fn tell(&self, told: &Told<'_>) -> String {
        t!(
            "In every %{line} the weights of the keys %{first} and %{second} have traded places.",
            line = told.line(),
            first = told.column(self.keys.0),
            second = told.column(self.keys.1)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::{FullyMaskedRows, Softmax};

    /// Scores 0, ln 2, 0 make weights ¼, ½, ¼; with keys 1 and 2 exchanged ½, ¼, ¼.
    #[test]
    fn two_keys_trade_their_weights() {
        let scores = DMatrix::from_row_slice(1, 3, &[0.0, 2f64.ln(), 0.0]);
        let softmax = Softmax { empty_rows: FullyMaskedRows::Error, sink: None };
        let swapped = Swapped { weights: Box::new(softmax.into()), keys: (0, 1) };
        let weights = swapped.compute(&[scores.as_view()], Arithmetic::Ordered);
        for (column, expected) in [0.5, 0.25, 0.25].into_iter().enumerate() {
            assert!((weights[(0, column)] - expected).abs() < 1e-15);
            let explained = swapped.explain(0, column, &[scores.as_view()]).value(&[scores.as_view()]);
            assert!((explained - expected).abs() < 1e-15);
        }
        assert!(swapped.shape(&[(1, 1)]).is_err());
    }
}
