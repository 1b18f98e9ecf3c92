//! What an attention sink takes of each row.

use nalgebra::DMatrix;

use super::{Arithmetic, Cost, Expr, Formula, Function, Operation, Real, Shape, Signs, Told, View};
use crate::words::t;

/// The share of the softmax that goes to the sink: n_q × n_kv scores in, n_q × 1 out.
#[derive(Debug, Clone, PartialEq)]
pub struct SinkWeight {
    /// The sink's logit.
    pub sink: f64,
}

impl Operation for SinkWeight {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        inputs.first().map(|shape| (shape.0, 1)).ok_or_else(|| "a sink needs scores".to_owned())
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], _: Arithmetic) -> DMatrix<T> {
        let sink = T::of(self.sink);
        DMatrix::from_fn(inputs[0].nrows(), 1, |r, _| {
            let largest =
                inputs[0].row(r).iter().fold(sink, |most, score| if *score > most { *score } else { most });
            let own = (sink - largest).exponential();
            own / inputs[0].row(r).iter().fold(own, |sum, score| sum + (*score - largest).exponential())
        })
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let scores = &signs.inputs[0];
        let right = format!("e^{0} / (e^{0} + Σ e^{scores})", self.sink);
        signs.formula(right, "", &signs.facing_inputs())
    }

    fn explain(&self, row: usize, _: usize, inputs: &[View<'_, f64>]) -> Expr {
        let logits =
            || (0..inputs[0].ncols()).map(|c| Expr::cell(0, row, c)).chain([Expr::Number(self.sink)]);
        let largest = || Expr::Max(vec![Expr::RowMax { input: 0, row }, Expr::Number(self.sink)]);
        let power = |x: Expr| x.minus(largest()).apply(Function::Exp);
        power(Expr::Number(self.sink)).over(Expr::Sum(logits().map(power).collect()))
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        // The softmax has computed the sum already: one division a row is left.
        Cost { divisions: inputs.first().map_or(0, |shape| shape.0 as u128), ..Cost::default() }
    }

    fn tell(&self, told: &Told<'_>) -> String {
        match told.largest_of(&(0..told.value.nrows()).collect::<Vec<_>>()) {
            Some((most, r, ..)) => t!(
                "The sink has no value to hand on; its largest share is %{share}, of %{token}.",
                share = told.number(most),
                token = told.row(r)
            ),
            None => t!("The sink has no value to hand on."),
        }
    }
}
