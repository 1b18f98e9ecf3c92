//! What went in, and what was found: the residual stream.

use nalgebra::DMatrix;

use super::{Arithmetic, Cost, Expr, Formula, Operation, Real, Shape, Signs, Told, View, equal};
use crate::words::t;

/// a + b, and + c where there are three, all n × d_model: a layer's part adds what it found to what it was given (He et al. 2016; Vaswani et al. 2017,
/// §3.1).
#[derive(Debug, Clone, PartialEq)]
pub struct Add;

impl Operation for Add {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        let [a, others @ ..] = inputs else { return Err("matrices are added".to_owned()) };
        for b in others {
            equal("rows of what is added", a.0, b.0)?;
            equal("columns of what is added", a.1, b.1)?;
        }
        Ok(*a)
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], _: Arithmetic) -> DMatrix<T> {
        let [a, others @ ..] = inputs else { return DMatrix::zeros(0, 0) };
        let [b, others @ ..] = others else { return a.into_owned() };
        let mut sum = a + b;
        for input in others {
            sum += input;
        }
        sum
    }

    fn formula(&self, signs: &Signs) -> Formula {
        signs.formula(signs.inputs.join(" + "), " + ", &signs.facing_inputs())
    }

    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        Expr::Sum((0..inputs.len()).map(|input| Expr::cell(input, row, column)).collect())
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        let each = inputs.first().map_or(0, |(r, c)| *r as u128 * *c as u128);
        let additions = each * inputs.len().saturating_sub(1) as u128;
        Cost { additions, ..Cost::default() }
    }

    fn tell(&self, told: &Told<'_>) -> String {
        let adds_nothing = told.inputs.get(1).is_some_and(|b| b.iter().all(|v| *v == 0.0));
        match adds_nothing {
            true => t!("All that is added here is 0: the residual stream goes on as it was."),
            false => t!("What was found is added to what was there: the residual stream."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 + 10 and −2 + 0.5.
    #[test]
    fn what_was_found_is_added() {
        let (a, b) =
            (DMatrix::from_row_slice(1, 2, &[1.0, -2.0]), DMatrix::from_row_slice(1, 2, &[10.0, 0.5]));
        let sum = Add.compute(&[a.as_view(), b.as_view()], Arithmetic::Ordered);
        assert_eq!(sum.as_slice(), [11.0, -1.5]);
        assert!(Add.shape(&[(3, 2), (3, 4)]).is_err());
    }
}
