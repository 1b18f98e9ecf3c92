//! Attention weights · V.

use nalgebra::DMatrix;

use super::{
    Arithmetic, Cost, Expr, Formula, Layout, Operation, Real, Shape, Signs, Told, View, dot, equal, product,
    times,
};
use crate::words::t;

/// Each query's blend of the values: inputs weights (n_q × n_kv), v (n_kv × d_v); gives n_q × d_v.
#[derive(Debug, Clone, PartialEq)]
pub struct Mix;

impl Operation for Mix {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        let [weights, v] = inputs else { return Err("a mix needs weights and values".to_owned()) };
        equal("columns of the weights and rows of the values", weights.1, v.0)?;
        Ok((weights.0, v.1))
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], arithmetic: Arithmetic) -> DMatrix<T> {
        product(inputs[0], inputs[1], arithmetic)
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let [weights, v] = [&signs.inputs[0], &signs.inputs[1]];
        let sizes = signs.facing_inputs();
        match signs.layout {
            Layout::Rows => signs.formula(times(weights, v), " · ", &[sizes[0], sizes[1]]),
            Layout::Columns => signs.formula(times(v, weights), " · ", &[sizes[1], sizes[0]]),
        }
    }

    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        dot(0, row, 1, column, inputs[0].ncols(), false)
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        let [weights, v] = inputs else { return Cost::default() };
        Cost::product(weights.0, weights.1, v.1)
    }

    fn tell(&self, told: &Told<'_>) -> String {
        // A query that saw nothing has weights of zero, or none that are numbers: it blends nothing.
        let saw = |weights: &View<'_, f64>, r: usize| weights.row(r).iter().sum::<f64>() > 0.0;
        let weights = told.inputs.first();
        let saw_something = |r: &usize| weights.is_none_or(|weights| saw(weights, *r));
        let rows = told.value.nrows();
        let line = told.line();
        match (0..rows).filter(saw_something).count() {
            0 => t!("No query saw anything: there is nothing to blend."),
            all if all == rows => t!(
                "What this head found: each %{line} is a blend of the values, in the proportions of its weights.",
                line
            ),
            _ => t!(
                "What this head found: each %{line} that saw a key is a blend of the values, in the proportions of its \
                 weights.",
                line
            ),
        }
    }
}
