//! RMS norm of queries or keys (QK-norm).

use nalgebra::DMatrix;

use super::{Arithmetic, Cost, Expr, Formula, Function, Operation, Real, Shape, Signs, Told, View, equal};
use crate::words::t;

/// x / √(mean(x²) + eps) · gain, over each row.
#[derive(Debug, Clone, PartialEq)]
pub struct RmsNorm {
    /// Added to the mean square, so that a zero row stays finite.
    pub eps: f64,
    /// One factor a column.
    pub gain: Vec<f64>,
}

impl RmsNorm {
    /// Whether the gain changes anything.
    fn has_gain(&self) -> bool {
        self.gain.iter().any(|gain| *gain != 1.0)
    }
}

impl Operation for RmsNorm {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        let [shape] = inputs else { return Err("a norm has one input".to_owned()) };
        equal("columns and gains of the norm", shape.1, self.gain.len())?;
        Ok(*shape)
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], _: Arithmetic) -> DMatrix<T> {
        let x = inputs[0];
        let mut squares = vec![T::zero(); x.nrows()];
        for column in x.column_iter() {
            for (sum, value) in squares.iter_mut().zip(column.iter()) {
                *sum += *value * *value;
            }
        }
        let (count, eps) = (T::of(x.ncols() as f64), T::of(self.eps));
        let root: Vec<T> = squares.into_iter().map(|sum| (sum / count + eps).sqrt()).collect();
        DMatrix::from_fn(x.nrows(), x.ncols(), |r, c| x[(r, c)] / root[r] * T::of(self.gain[c]))
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let x = &signs.inputs[0];
        let gain = if self.has_gain() { " · gain" } else { "" };
        signs.formula(format!("{x} / √(mean({x}²) + ε){gain}"), "", &signs.facing_inputs())
    }

    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        let width = inputs[0].ncols();
        let square = |c| Expr::Product(vec![Expr::cell(0, row, c), Expr::cell(0, row, c)]);
        let mean = Expr::Sum((0..width).map(square).collect()).over(Expr::Number(width as f64));
        let root = Expr::Sum(vec![mean, Expr::Number(self.eps)]).apply(Function::Sqrt);
        Expr::Product(vec![Expr::cell(0, row, column).over(root), Expr::Number(self.gain[column])])
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        let (rows, cells) = inputs.first().map_or((0, 0), |(r, c)| (*r as u128, *r as u128 * *c as u128));
        Cost {
            other_multiplications: 2 * cells,
            additions: cells,
            divisions: cells + 2 * rows,
            ..Cost::default()
        }
    }

    fn tell(&self, told: &Told<'_>) -> String {
        let line = told.line();
        if self.has_gain() {
            t!("Each token's %{line} is divided by its root mean square, then multiplied by the gain.", line)
        } else {
            t!("Each token's %{line} is divided by its root mean square.", line)
        }
    }
}
