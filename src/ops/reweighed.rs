//! A softmax, and then a factor for each weight.

use std::sync::Arc;

use nalgebra::DMatrix;

use super::told::constant;
use super::{Arithmetic, Cost, Expr, Formula, Operation, Real, Shape, Signs, Softmax, Told, View, equal};
use crate::words::t;

/// Weights that are multiplied by factors after the softmax (n_q × n_kv in, the same out): 0 and 1 for a mask that comes
/// too late, 0 and 1/(1 − p) for dropout. Rows then need not sum to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Reweighed {
    /// The softmax before it.
    pub softmax: Softmax,
    /// One a weight (n_q × n_kv).
    pub factors: Arc<DMatrix<f64>>,
    /// What the factors are called in a formula: `keep`.
    pub said: &'static str,
}

impl Operation for Reweighed {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        let shape = self.softmax.shape(inputs)?;
        equal("rows of the scores and of the factors", shape.0, self.factors.nrows())?;
        equal("columns of the scores and of the factors", shape.1, self.factors.ncols())?;
        Ok(shape)
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], arithmetic: Arithmetic) -> DMatrix<T> {
        let mut weights = self.softmax.compute(inputs, arithmetic);
        weights.zip_apply(&*self.factors, |weight, factor| *weight *= T::of(factor));
        weights
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let sink = self.softmax.sink.map(|sink| t!(", with a sink of %{sink}", sink = constant(sink)));
        let right = format!("softmax({}) ⊙ {}{}", signs.inputs[0], self.said, sink.unwrap_or_default());
        signs.formula(right, "", &signs.facing_inputs())
    }

    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        let factor = Expr::Number(self.factors[(row, column)]);
        Expr::Product(vec![self.softmax.explain(row, column, inputs), factor])
    }

    fn reason(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Option<String> {
        let late = || t!("multiplied by 0 after the softmax: %{factors}", factors = self.said);
        let is_zero = self.factors[(row, column)] == 0.0;
        self.softmax.reason(row, column, inputs).or_else(|| is_zero.then(late))
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        let cells = self.factors.len() as u128;
        self.softmax.cost(inputs) + Cost { other_multiplications: cells, ..Cost::default() }
    }

    fn tell(&self, told: &Told<'_>) -> String {
        let zeros = self.factors.iter().filter(|factor| **factor == 0.0).count();
        let (all, line) = (self.factors.len(), told.line());
        match zeros {
            1 => t!(
                "1 of %{all} weight is set to 0 after the softmax, so a %{line} need not sum to 1.",
                all,
                line
            ),
            _ => t!(
                "%{zeros} of %{all} weights are set to 0 after the softmax, so a %{line} need not sum to 1.",
                zeros,
                all,
                line
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::FullyMaskedRows;

    fn reweighed(empty_rows: FullyMaskedRows, factors: [f64; 2]) -> Reweighed {
        let factors = Arc::new(DMatrix::from_row_slice(1, 2, &factors));
        Reweighed { softmax: Softmax { empty_rows, sink: None }, factors, said: "keep" }
    }

    /// Scores 0 and ln 3 make weights 1/4 and 3/4; times 0 and 2 they are 0 and 3/2.
    #[test]
    fn factors_come_after_the_softmax() {
        let scores = DMatrix::from_row_slice(1, 2, &[0.0, 3f64.ln()]);
        let dropped = reweighed(FullyMaskedRows::Error, [0.0, 2.0]);
        let weights = dropped.compute(&[scores.as_view()], Arithmetic::Ordered);
        assert_eq!(weights[(0, 0)], 0.0);
        assert!((weights[(0, 1)] - 1.5).abs() < 1e-15);
        assert!(dropped.reason(0, 0, &[scores.as_view()]).is_some());
        assert_eq!(dropped.reason(0, 1, &[scores.as_view()]), None);
    }

    /// 0 · NaN is NaN, as in code that masks by multiplying.
    #[test]
    fn zero_does_not_wipe_out_what_is_not_a_number() {
        let scores = DMatrix::from_element(1, 2, f64::NEG_INFINITY);
        let late = reweighed(FullyMaskedRows::Nan, [0.0, 1.0]);
        let weights = late.compute(&[scores.as_view()], Arithmetic::Ordered);
        assert!(weights.iter().all(|weight| weight.is_nan()));
    }
}
