//! A head's output, taken away.

use nalgebra::DMatrix;

use super::{Arithmetic, Cost, Expr, Formula, Operation, Real, Shape, Signs, Told, View, equal};
use crate::words::t;

/// Zeros in place of what a head found: inputs weights (n_q × n_kv), v (n_kv × d_v), as for the blend that they would
/// make; gives n_q × d_v of 0 (the ablation of Michel et al. 2019, §2).
#[derive(Debug, Clone, PartialEq)]
pub struct Zero;

impl Operation for Zero {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        let [weights, v] = inputs else { return Err("a head's output has weights and values".to_owned()) };
        equal("columns of the weights and rows of the values", weights.1, v.0)?;
        Ok((weights.0, v.1))
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], _: Arithmetic) -> DMatrix<T> {
        DMatrix::zeros(inputs[0].nrows(), inputs[1].ncols())
    }

    fn formula(&self, signs: &Signs) -> Formula {
        signs.formula("0", " · ", &signs.facing_inputs())
    }

    fn explain(&self, _: usize, _: usize, _: &[View<'_, f64>]) -> Expr {
        Expr::Number(0.0)
    }

    fn reason(&self, _: usize, _: usize, _: &[View<'_, f64>]) -> Option<String> {
        Some(t!("the head is set to zero"))
    }

    fn cost(&self, _: &[Shape]) -> Cost {
        Cost::default()
    }

    fn tell(&self, _: &Told<'_>) -> String {
        t!("This head is set to zero: nothing of what it found goes on.")
    }
}
