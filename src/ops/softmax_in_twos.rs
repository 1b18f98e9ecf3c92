//! The softmax with 2 in place of e.

use std::f64::consts::LN_2;

use nalgebra::DMatrix;

use super::{
    Arithmetic, Cost, Expr, Formula, Function, Layout, Operation, Real, Shape, Signs, Softmax, Told, View,
};
use crate::words::t;

/// Powers of 2 over their row's sum (n_q × n_kv in, the same out): the softmax of ln 2 times the scores.
///
/// Fast kernels take powers of 2, which a processor makes in one step, of scores times log₂ e, since
/// e^s = 2^(s · log₂ e). This is what comes out where that factor is missing. A sink's logit is taken in the same way.
#[derive(Debug, Clone, PartialEq)]
pub struct SoftmaxInTwos {
    /// The softmax that should have been made.
    pub softmax: Softmax,
}

impl SoftmaxInTwos {
    /// The same as a softmax of scores that are multiplied by ln 2.
    fn of_smaller(&self) -> Softmax {
        Softmax { sink: self.softmax.sink.map(|sink| sink * LN_2), ..self.softmax.clone() }
    }
}

impl Operation for SoftmaxInTwos {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        self.softmax.shape(inputs)
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], arithmetic: Arithmetic) -> DMatrix<T> {
        let mut weights = inputs[0].map(|score| score * T::of(LN_2));
        self.of_smaller().compute_over(&mut weights, arithmetic);
        weights
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let way = match signs.layout {
            Layout::Rows => t!("row by row"),
            Layout::Columns => t!("column by column"),
        };
        let sink = self.softmax.sink.map(|sink| format!(" + 2^{}", super::told::constant(sink)));
        let scores = &signs.inputs[0];
        let right = format!("2^{scores} / (Σ 2^{scores}{}), {way}", sink.unwrap_or_default());
        signs.formula(right, "", &signs.facing_inputs())
    }

    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        let scores = inputs[0];
        if self.softmax.sink.is_none() && scores.row(row).iter().all(|score| *score == f64::NEG_INFINITY) {
            return self.softmax.explain(row, column, inputs);
        }
        let smaller = |x: Expr| Expr::Product(vec![x, Expr::Number(LN_2)]);
        let sink = || self.softmax.sink.map(|sink| Expr::Number(sink * LN_2));
        let largest = || {
            let of_row = smaller(Expr::RowMax { input: 0, row });
            match sink() {
                None => of_row,
                Some(sink) => Expr::Max(vec![of_row, sink]),
            }
        };
        let power = |x: Expr| x.minus(largest()).apply(Function::Exp);
        let cells = (0..scores.ncols()).map(|c| smaller(Expr::cell(0, row, c)));
        power(smaller(Expr::cell(0, row, column))).over(Expr::Sum(cells.chain(sink()).map(power).collect()))
    }

    fn reason(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Option<String> {
        self.softmax.reason(row, column, inputs)
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        self.softmax.cost(inputs)
    }

    fn tell(&self, told: &Told<'_>) -> String {
        t!("2 stands in place of e, so every %{line} is more even than it should be.", line = told.line())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::FullyMaskedRows;

    fn weights(scores: &[f64], sink: Option<f64>) -> Vec<f64> {
        let op = SoftmaxInTwos { softmax: Softmax { empty_rows: FullyMaskedRows::Zeros, sink } };
        let scores = DMatrix::from_row_slice(1, scores.len(), scores);
        let inputs = [scores.as_view()];
        let weights = op.compute(&inputs, Arithmetic::Ordered);
        for (column, weight) in weights.iter().enumerate() {
            assert_eq!(op.explain(0, column, &inputs).value(&inputs), *weight, "column {column}");
        }
        weights.iter().copied().collect()
    }

    #[track_caller]
    fn case(scores: &[f64], sink: Option<f64>, by_hand: &[f64]) {
        for (is, expected) in weights(scores, sink).iter().zip(by_hand) {
            assert!((is - expected).abs() < 1e-15, "{is} is not {expected}");
        }
    }

    /// 2⁰ + 2¹ + 2² = 7; a hidden key adds nothing; with a sink of 0 the sum is 8; in a row that sees nothing all is 0.
    #[test]
    fn powers_of_two_share_out_the_row() {
        case(&[0.0, 1.0, 2.0], None, &[1.0 / 7.0, 2.0 / 7.0, 4.0 / 7.0]);
        case(&[1.0, f64::NEG_INFINITY, 2.0], None, &[1.0 / 3.0, 0.0, 2.0 / 3.0]);
        case(&[0.0, 1.0, 2.0], Some(0.0), &[0.125, 0.25, 0.5]);
        case(&[f64::NEG_INFINITY; 2], None, &[0.0, 0.0]);
    }
}
