//! Between (n × h·d) and (h, n, d): how production code brings the heads forward and puts them back.
//!
//! A stack (h, n, d) is held as a matrix of h·n rows: head 1's rows, then head 2's, and so on.

use nalgebra::DMatrix;

use super::{Arithmetic, Cost, Expr, Formula, Operation, Real, Shape, Signs, Told, View};
use crate::words::t;

/// (n × h·d) → (h, n, d): view as (n, h, d), then swap the first two axes. Nothing is computed.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitHeads {
    /// h
    pub heads: usize,
}

/// (h, n, d) → (n × h·d): swap the first two axes back, then read as rows.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeHeads {
    /// h
    pub heads: usize,
}

impl Operation for SplitHeads {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        match inputs {
            [(rows, columns)] if self.heads > 0 && columns.is_multiple_of(self.heads) => {
                Ok((rows * self.heads, columns / self.heads))
            }
            _ => Err(format!("{inputs:?} does not split into {} heads", self.heads)),
        }
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], _: Arithmetic) -> DMatrix<T> {
        let (n, d) = (inputs[0].nrows(), inputs[0].ncols() / self.heads);
        let mut stack = DMatrix::zeros(self.heads * n, d);
        for head in 0..self.heads {
            stack.rows_mut(head * n, n).copy_from(&inputs[0].columns(head * d, d));
        }
        stack
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let ((n, wide), (_, d)) = (signs.shapes[0], signs.out_shape);
        let h = self.heads;
        Formula {
            equation: format!("{} = {}.reshape(n, h, d).transpose(0, 1)", signs.out, signs.inputs[0]),
            sizes: format!("{n}×{wide} → ({n}, {h}, {d}) → ({h}, {n}, {d})"),
        }
    }

    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        let (n, d) = (inputs[0].nrows(), inputs[0].ncols() / self.heads);
        Expr::cell(0, row % n, (row / n) * d + column)
    }

    fn cost(&self, _: &[Shape]) -> Cost {
        Cost::default()
    }

    fn tell(&self, _: &Told<'_>) -> String {
        t!(
            "Each head's columns become a sheet of its own. First the view, then the swap: a reshape straight to (h, n, d) \
             would run, and scramble tokens and heads."
        )
    }
}

impl Operation for MergeHeads {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        match inputs {
            [(rows, columns)] if self.heads > 0 && rows.is_multiple_of(self.heads) => {
                Ok((rows / self.heads, columns * self.heads))
            }
            _ => Err(format!("{inputs:?} is no stack of {} heads", self.heads)),
        }
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], _: Arithmetic) -> DMatrix<T> {
        let (n, d) = (inputs[0].nrows() / self.heads, inputs[0].ncols());
        let mut whole = DMatrix::zeros(n, self.heads * d);
        for head in 0..self.heads {
            whole.columns_mut(head * d, d).copy_from(&inputs[0].rows(head * n, n));
        }
        whole
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let ((n, wide), (_, d)) = (signs.out_shape, signs.shapes[0]);
        let h = self.heads;
        Formula {
            equation: format!("{} = {}.transpose(0, 1).reshape(n, h·d)", signs.out, signs.inputs[0]),
            sizes: format!("({h}, {n}, {d}) → ({n}, {h}, {d}) → {n}×{wide}"),
        }
    }

    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        let (n, d) = (inputs[0].nrows() / self.heads, inputs[0].ncols());
        Expr::cell(0, (column / d) * n + row, column % d)
    }

    fn cost(&self, _: &[Shape]) -> Cost {
        Cost::default()
    }

    fn tell(&self, _: &Told<'_>) -> String {
        t!(
            "The head axis goes back beside the numbers, and the rows are copied into one run of memory. Without the swap \
             the reshape would run, and scramble tokens and heads."
        )
    }
}
