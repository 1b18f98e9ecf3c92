//! Two matrices, number by number.

use nalgebra::DMatrix;

use super::{Arithmetic, Cost, Expr, Formula, Operation, Real, Shape, Signs, Told, View, equal};
use crate::words::t;

/// a ∘ b, both n × d_ff: a gated feed-forward network multiplies what it found by its gate (Shazeer 2020, §2).
#[derive(Debug, Clone, PartialEq)]
pub struct Multiply;

impl Operation for Multiply {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        let [a, b] = inputs else { return Err("two matrices are multiplied".to_owned()) };
        equal("rows of what is multiplied", a.0, b.0)?;
        equal("columns of what is multiplied", a.1, b.1)?;
        Ok(*a)
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], _: Arithmetic) -> DMatrix<T> {
        inputs[0].component_mul(&inputs[1])
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let [a, b] = [&signs.inputs[0], &signs.inputs[1]];
        signs.formula(format!("{a} ∘ {b}"), " ∘ ", &signs.facing_inputs())
    }

    fn explain(&self, row: usize, column: usize, _: &[View<'_, f64>]) -> Expr {
        Expr::Product(vec![Expr::cell(0, row, column), Expr::cell(1, row, column)])
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        let other_multiplications = inputs.first().map_or(0, |(r, c)| *r as u128 * *c as u128);
        Cost { other_multiplications, ..Cost::default() }
    }

    fn tell(&self, told: &Told<'_>) -> String {
        let closed = told.inputs.first().map_or(0, |gate| gate.iter().filter(|g| **g == 0.0).count());
        match closed {
            0 => t!("Number by number: the gate says how much of each passes."),
            _ => t!("Number by number: the gate says how much of each passes; %{closed} are shut.", closed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 · 10 and −2 · 0.5.
    #[test]
    fn a_gate_lets_a_part_of_each_number_through() {
        let (a, b) =
            (DMatrix::from_row_slice(1, 2, &[1.0, -2.0]), DMatrix::from_row_slice(1, 2, &[10.0, 0.5]));
        let product = Multiply.compute(&[a.as_view(), b.as_view()], Arithmetic::Ordered);
        assert_eq!(product.as_slice(), [10.0, -1.0]);
        assert!(Multiply.shape(&[(3, 2), (3, 4)]).is_err());
    }
}
