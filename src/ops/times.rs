//! Every number times the same.

use nalgebra::DMatrix;

use super::{Arithmetic, Cost, Expr, Formula, Operation, Real, Scale, Shape, Signs, Told, View};
use crate::words::t;

/// Every cell of its input times a number: queries that are scaled before the product in place of the scores after it.
#[derive(Debug, Clone, PartialEq)]
pub struct Times {
    /// The number.
    pub factor: Scale,
    /// Width of a query, for 1/√d_k.
    pub d_k: usize,
}

impl Operation for Times {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        match inputs {
            [shape] => Ok(*shape),
            _ => Err("one matrix is scaled at a time".to_owned()),
        }
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], _: Arithmetic) -> DMatrix<T> {
        let factor = T::of(self.factor.value(self.d_k));
        inputs[0].map(|cell| cell * factor)
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let right = format!("{}{}", signs.inputs[0], self.factor.sign());
        signs.formula(right, "", &signs.facing_inputs())
    }

    fn explain(&self, row: usize, column: usize, _: &[View<'_, f64>]) -> Expr {
        Expr::Product(vec![Expr::cell(0, row, column), self.factor.explained(self.d_k)])
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        self.factor.cost(inputs.first().map_or(0, |(r, c)| *r as u128 * *c as u128))
    }

    fn tell(&self, told: &Told<'_>) -> String {
        t!("Every number times %{factor}.", factor = told.number(self.factor.value(self.d_k)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1/√4 = 1/2: 6 and −3 become 3 and −1.5.
    #[test]
    fn every_number_is_scaled() {
        let x = DMatrix::from_row_slice(1, 2, &[6.0, -3.0]);
        for factor in [Scale::RootOfDk, Scale::Given(0.5)] {
            let scaled = Times { factor, d_k: 4 }.compute(&[x.as_view()], Arithmetic::Ordered);
            assert_eq!(scaled, DMatrix::from_row_slice(1, 2, &[3.0, -1.5]));
        }
    }
}
