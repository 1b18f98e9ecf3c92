//! (X · W) / h + b: the mean over heads where their sum is due.

use nalgebra::DMatrix;

use super::project::{add_bias, bias_cost, bias_sign, with_bias};
use super::{
    Arithmetic, Cost, Expr, Formula, Layout, Operation, Project, Real, Shape, Signs, Told, View, dot, product,
};
use crate::words::t;

/// The output projection with the heads' shares averaged: inputs x (n × a), w (a × b), and perhaps a bias (1 × b);
/// gives n × b, which is x · w over the number of heads, plus the bias.
///
/// x · w is the sum of what each head contributes; dividing it makes it their mean.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectMean {
    /// How many heads; from 1.
    pub heads: usize,
}

impl Operation for ProjectMean {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        if self.heads == 0 {
            return Err("a mean needs at least one head".to_owned());
        }
        Project.shape(inputs)
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], arithmetic: Arithmetic) -> DMatrix<T> {
        let mut result = product(inputs[0], inputs[1], arithmetic);
        let heads = T::of(self.heads as f64);
        result.apply(|cell| *cell /= heads);
        add_bias(&mut result, inputs);
        result
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let [x, w] = [&signs.inputs[0], &signs.inputs[1]];
        let after = format!(" / {}{}", self.heads, bias_sign(signs));
        let sizes = signs.facing_inputs();
        match signs.layout {
            Layout::Rows => signs.formula(format!("{x} {w}{after}"), " · ", &[sizes[0], sizes[1]]),
            Layout::Columns => signs.formula(format!("{w} {x}{after}"), " · ", &[sizes[1], sizes[0]]),
        }
    }

    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        let sum = dot(0, row, 1, column, inputs[0].ncols(), false);
        with_bias(sum.over(Expr::Number(self.heads as f64)), column, inputs)
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        let [x, w, ..] = inputs else { return Cost::default() };
        let divisions = x.0 as u128 * w.1 as u128;
        Cost::product(x.0, x.1, w.1) + bias_cost(inputs, (x.0, w.1)) + Cost { divisions, ..Cost::default() }
    }

    fn tell(&self, _: &Told<'_>) -> String {
        t!("What %{heads} heads contribute is averaged here, not added up.", heads = self.heads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (1 2) · (3 4)ᵀ = 11; over two heads 5.5; plus 10 is 15.5: the bias is not divided.
    #[test]
    fn the_sum_is_divided_and_the_bias_is_not() {
        let x = DMatrix::from_row_slice(1, 2, &[1.0, 2.0]);
        let w = DMatrix::from_row_slice(2, 1, &[3.0, 4.0]);
        let b = DMatrix::from_element(1, 1, 10.0);
        let mean = ProjectMean { heads: 2 };
        let result = mean.compute(&[x.as_view(), w.as_view(), b.as_view()], Arithmetic::Ordered);
        assert_eq!(result[(0, 0)], 15.5);
        assert!(ProjectMean { heads: 0 }.shape(&[(1, 2), (2, 1)]).is_err());
    }
}
