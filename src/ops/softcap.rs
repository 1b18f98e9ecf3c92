//! Soft-capping of scores (Gemma 2).

use nalgebra::DMatrix;

use super::told::constant;
use super::{Arithmetic, Cost, Expr, Formula, Function, Operation, Real, Shape, Signs, Told, View};
use crate::words::t;

/// cap · tanh(s / cap): small scores pass, large ones stop short of ±cap.
#[derive(Debug, Clone, PartialEq)]
pub struct Softcap {
    /// What no score exceeds.
    pub cap: f64,
}

impl Operation for Softcap {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        inputs.first().copied().ok_or_else(|| "a cap needs scores".to_owned())
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], _: Arithmetic) -> DMatrix<T> {
        let cap = T::of(self.cap);
        inputs[0].map(|score| cap * (score / cap).hyperbolic_tangent())
    }

    fn formula(&self, signs: &Signs) -> Formula {
        signs.formula(
            format!("{0} · tanh({1} / {0})", constant(self.cap), signs.inputs[0]),
            "",
            &signs.facing_inputs(),
        )
    }

    fn explain(&self, row: usize, column: usize, _: &[View<'_, f64>]) -> Expr {
        let inner = Expr::cell(0, row, column).over(Expr::Number(self.cap));
        Expr::Product(vec![Expr::Number(self.cap), inner.apply(Function::Tanh)])
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        let cells = inputs.first().map_or(0, |(r, c)| *r as u128 * *c as u128);
        Cost { other_multiplications: cells, divisions: cells, other_functions: cells, ..Cost::default() }
    }

    fn tell(&self, told: &Told<'_>) -> String {
        let changed =
            told.inputs[0].iter().zip(told.value.iter()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        t!(
            "No score can pass ±%{cap}; the largest change is %{change}.",
            cap = constant(self.cap),
            change = told.number(changed)
        )
    }
}
