//! Attention that does not choose.

use nalgebra::DMatrix;

use super::{Arithmetic, Cost, Expr, Formula, Operation, Real, Shape, Signs, Softmax, Told, View};
use crate::words::t;

/// The same weight for every key that a query may see, in place of a softmax of its scores (n_q × n_kv in, the same out).
///
/// A key that a mask hides (a score of −∞) has none. A row sums to what the softmax's would: 1, or what a sink leaves.
#[derive(Debug, Clone, PartialEq)]
pub struct Even {
    /// What it stands in place of.
    pub softmax: Softmax,
}

/// How many scores of a row are not hidden.
fn seen<T: Real>(scores: &View<'_, T>, row: usize) -> usize {
    let hidden = T::of(f64::NEG_INFINITY);
    scores.row(row).iter().filter(|score| **score != hidden).count()
}

impl Operation for Even {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        self.softmax.shape(inputs)
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], arithmetic: Arithmetic) -> DMatrix<T> {
        let scores = inputs[0];
        let hidden = T::of(f64::NEG_INFINITY);
        let left = self.softmax.sink.map(|_| self.softmax.compute(inputs, arithmetic));
        let mut weights = DMatrix::zeros(scores.nrows(), scores.ncols());
        for row in 0..scores.nrows() {
            let count = seen(&scores, row);
            if count == 0 {
                weights.row_mut(row).fill(match self.softmax.sink {
                    Some(_) => T::zero(),
                    None => self.softmax.empty(scores.ncols()),
                });
                continue;
            }
            let sum = left
                .as_ref()
                .map_or(T::one(), |left| left.row(row).iter().fold(T::zero(), |sum, weight| sum + *weight));
            let share = sum / T::of(count as f64);
            for (weight, score) in weights.row_mut(row).iter_mut().zip(scores.row(row).iter()) {
                *weight = if *score == hidden { T::zero() } else { share };
            }
        }
        weights
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let scores = &signs.inputs[0];
        signs.formula(t!("even over what %{scores} leaves to be seen", scores), "", &signs.facing_inputs())
    }

    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        let scores = inputs[0];
        let count = seen(&scores, row);
        if count == 0 {
            return self.softmax.explain(row, column, inputs);
        }
        if scores[(row, column)] == f64::NEG_INFINITY {
            return Expr::Number(0.0);
        }
        let all = match self.softmax.sink {
            None => Expr::Number(1.0),
            Some(_) => {
                Expr::Sum((0..scores.ncols()).map(|key| self.softmax.explain(row, key, inputs)).collect())
            }
        };
        all.over(Expr::Number(count as f64))
    }

    fn reason(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Option<String> {
        match inputs.first()?.get((row, column))? {
            score if *score == f64::NEG_INFINITY => None,
            _ => Some(t!("even over what this query may see")),
        }
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        match self.softmax.sink {
            Some(_) => self.softmax.cost(inputs),
            None => Cost { divisions: inputs.first().map_or(0, |shape| shape.0 as u128), ..Cost::default() },
        }
    }

    fn tell(&self, _: &Told<'_>) -> String {
        t!("This head does not choose: every query gives the same weight to every key that it may see.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::FullyMaskedRows;

    const HIDDEN: f64 = f64::NEG_INFINITY;

    /// Two keys are left of three: a half each. With a sink of 0 beside scores ln 2 and 0, the softmax of 2, 1 and 1 leaves
    /// three quarters: three eighths each.
    #[test]
    fn what_may_be_seen_is_seen_evenly() {
        let scores = DMatrix::from_row_slice(2, 3, &[2f64.ln(), 0.0, HIDDEN, HIDDEN, HIDDEN, HIDDEN]);
        let inputs = [scores.as_view()];
        for (sink, share) in [(None, 0.5), (Some(0.0), 0.375)] {
            let softmax = Softmax { empty_rows: FullyMaskedRows::Zeros, sink };
            let even = Even { softmax };
            let weights = even.compute(&inputs, Arithmetic::Ordered);
            for (column, expected) in [share, share, 0.0].into_iter().enumerate() {
                assert!((weights[(0, column)] - expected).abs() < 1e-15);
                assert!((even.explain(0, column, &inputs).value(&inputs) - expected).abs() < 1e-15);
                assert_eq!(weights[(1, column)], 0.0, "a row that sees nothing");
            }
        }
    }

    #[test]
    fn a_row_that_sees_nothing_is_what_the_softmax_makes_of_it() {
        let scores = DMatrix::from_element(1, 4, HIDDEN);
        let even = |empty_rows| {
            let softmax = Softmax { empty_rows, sink: None };
            Even { softmax }.compute(&[scores.as_view()], Arithmetic::Ordered)[(0, 3)]
        };
        assert_eq!(even(FullyMaskedRows::Uniform), 0.25);
        assert!(even(FullyMaskedRows::Nan).is_nan());
    }
}
