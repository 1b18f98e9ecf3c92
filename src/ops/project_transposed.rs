//! X · Wᵀ + b: the projection the other way round.

use nalgebra::DMatrix;

use super::project::{WITHOUT, add_bias, bias_cost, bias_fits, bias_sign, with_bias};
use super::{
    Arithmetic, Cost, Expr, Formula, Layout, Operation, Real, Shape, Signs, Told, View, dot, equal, product,
};
use crate::words::t;

/// A linear map of every token by the transpose: inputs x (n × a), w (b × a), and perhaps a bias (1 × b); gives n × b.
///
/// PyTorch's `nn.Linear` holds a weight as outputs × inputs. A square one taken for the other kind raises no error.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectTransposed;

impl Operation for ProjectTransposed {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        let [x, w, bias @ ..] = inputs else { return Err(WITHOUT.to_owned()) };
        equal("columns of the input and columns of the projection", x.1, w.1)?;
        bias_fits(bias, w.0)?;
        Ok((x.0, w.0))
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], arithmetic: Arithmetic) -> DMatrix<T> {
        let mut result = product(inputs[0], inputs[1].transpose().as_view(), arithmetic);
        add_bias(&mut result, inputs);
        result
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let [x, w] = [&signs.inputs[0], &signs.inputs[1]];
        let bias = bias_sign(signs);
        let [x_shape, w_shape] = [signs.shapes[0], signs.shapes[1]];
        match signs.layout {
            Layout::Rows => {
                signs.formula(format!("{x} {w}ᵀ{bias}"), " · ", &[x_shape, (w_shape.1, w_shape.0)])
            }
            Layout::Columns => {
                signs.formula(format!("{w}ᵀ {x}{bias}"), " · ", &[w_shape, (x_shape.1, x_shape.0)])
            }
        }
    }

    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        with_bias(dot(0, row, 1, column, inputs[0].ncols(), true), column, inputs)
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        let [x, w, ..] = inputs else { return Cost::default() };
        Cost::product(x.0, x.1, w.0) + bias_cost(inputs, (x.0, w.0))
    }

    fn tell(&self, told: &Told<'_>) -> String {
        match told.layout {
            Layout::Rows => t!(
                "Every token times the transpose of the matrix: its rows are used where its columns should be."
            ),
            Layout::Columns => t!(
                "Every token times the transpose of the matrix: its columns are used where its rows should be."
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (1 2) times the transpose of [[3, 4], [5, 6], [7, 8]], plus (10 20 30):
    /// 1·3 + 2·4 + 10 = 21, 1·5 + 2·6 + 20 = 37, 1·7 + 2·8 + 30 = 53.
    #[test]
    fn rows_of_the_matrix_meet_the_token() {
        let x = DMatrix::from_row_slice(1, 2, &[1.0, 2.0]);
        let w = DMatrix::from_row_slice(3, 2, &[3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        let b = DMatrix::from_row_slice(1, 3, &[10.0, 20.0, 30.0]);
        assert_eq!(ProjectTransposed.shape(&[(1, 2), (3, 2), (1, 3)]), Ok((1, 3)));
        let inputs = [x.as_view(), w.as_view(), b.as_view()];
        let result = ProjectTransposed.compute(&inputs, Arithmetic::Ordered);
        assert_eq!(result, DMatrix::from_row_slice(1, 3, &[21.0, 37.0, 53.0]));
        assert!(ProjectTransposed.shape(&[(1, 2), (2, 3)]).is_err());
    }
}
