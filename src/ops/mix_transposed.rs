//! Attention weightsᵀ · V.

use nalgebra::DMatrix;

use super::{
    Arithmetic, Cost, Expr, Formula, Layout, Operation, Real, Shape, Signs, Told, View, equal, product, times,
};
use crate::words::t;

/// The values blended by the columns of the weights: inputs weights (n_q × n_kv), v (n_kv × d_v), with n_q = n_kv; gives
/// n_kv × d_v.
///
/// Each key collects from the queries that look at it, where each query should collect from its keys.
#[derive(Debug, Clone, PartialEq)]
pub struct MixTransposed;

impl Operation for MixTransposed {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        let [weights, v] = inputs else { return Err("a mix needs weights and values".to_owned()) };
        equal("rows and columns of the weights", weights.0, weights.1)?;
        equal("rows of the weights and of the values", weights.0, v.0)?;
        Ok((weights.1, v.1))
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], arithmetic: Arithmetic) -> DMatrix<T> {
        product(inputs[0].transpose().as_view(), inputs[1], arithmetic)
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let turned = format!("{}ᵀ", signs.inputs[0]);
        let v = &signs.inputs[1];
        let sizes = signs.facing_inputs();
        match signs.layout {
            Layout::Rows => signs.formula(times(&turned, v), " · ", &[sizes[0], sizes[1]]),
            Layout::Columns => signs.formula(times(v, &turned), " · ", &[sizes[1], sizes[0]]),
        }
    }

    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        let term = |k| Expr::Product(vec![Expr::cell(0, k, row), Expr::cell(1, k, column)]);
        Expr::Sum((0..inputs[0].nrows()).map(term).collect())
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        let [weights, v] = inputs else { return Cost::default() };
        Cost::product(weights.1, weights.0, v.1)
    }

    fn tell(&self, told: &Told<'_>) -> String {
        match told.layout {
            Layout::Rows => t!("Values blended by each column of the weights, which should be by each row."),
            Layout::Columns => {
                t!("Values blended by each row of the weights, which should be by each column.")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weights [[1, 0], [1/4, 3/4]] transposed are [[1, 1/4], [0, 3/4]]; times (8 4)ᵀ that is (9 3)ᵀ.
    #[test]
    fn columns_of_the_weights_blend() {
        let weights = DMatrix::from_row_slice(2, 2, &[1.0, 0.0, 0.25, 0.75]);
        let v = DMatrix::from_row_slice(2, 1, &[8.0, 4.0]);
        let blend = MixTransposed.compute(&[weights.as_view(), v.as_view()], Arithmetic::Ordered);
        assert_eq!(blend, DMatrix::from_row_slice(2, 1, &[9.0, 3.0]));
        assert!(MixTransposed.shape(&[(2, 3), (3, 1)]).is_err());
    }
}
