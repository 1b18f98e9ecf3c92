//! Numbers added to scores: ALiBi's distances, or an additive mask.

use std::sync::Arc;

use nalgebra::DMatrix;

use super::told::constant;
use super::{Arithmetic, Cost, Expr, Formula, Layout, Operation, Real, Shape, Signs, Told, View, equal};
use crate::words::t;

/// scores + bias (n_q × n_kv).
#[derive(Debug, Clone, PartialEq)]
pub struct Bias {
    /// −slope · |i + offset − j|.
    pub alibi: Option<Alibi>,
    /// A matrix of numbers, all finite.
    pub add: Option<Arc<DMatrix<f64>>>,
}

/// ALiBi in one head (Press et al. 2022).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Alibi {
    /// How much each step of distance costs.
    pub slope: f64,
    /// Query i stands at key position i + offset.
    pub offset: i64,
}

impl Alibi {
    fn at(self, row: usize, column: usize) -> f64 {
        -self.slope * self.distance(row, column)
    }

    fn distance(self, row: usize, column: usize) -> f64 {
        (row as f64 + self.offset as f64 - column as f64).abs()
    }
}

impl Bias {
    /// What is added to a cell.
    fn at(&self, row: usize, column: usize) -> f64 {
        self.alibi.map_or(0.0, |alibi| alibi.at(row, column))
            + self.add.as_ref().map_or(0.0, |m| m[(row, column)])
    }
}

impl Operation for Bias {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        let [shape] = inputs else { return Err("a bias is added to scores".to_owned()) };
        if let Some(add) = &self.add {
            equal("rows of the scores and of the bias", shape.0, add.nrows())?;
            equal("columns of the scores and of the bias", shape.1, add.ncols())?;
        }
        Ok(*shape)
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], _: Arithmetic) -> DMatrix<T> {
        let scores = inputs[0];
        DMatrix::from_fn(scores.nrows(), scores.ncols(), |r, c| scores[(r, c)] + T::of(self.at(r, c)))
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let scores = &signs.inputs[0];
        let alibi = self.alibi.map(|alibi| {
            let (i, j) = match signs.layout {
                Layout::Rows => (t!("row"), t!("column")),
                Layout::Columns => (t!("column"), t!("row")),
            };
            let offset = match alibi.offset {
                0 => String::new(),
                offset if offset > 0 => format!(" + {offset}"),
                offset => format!(" − {}", offset.unsigned_abs()),
            };
            let sign = if alibi.slope < 0.0 { '+' } else { '−' };
            format!(" {sign} {} · |{i}{offset} − {j}|", constant(alibi.slope.abs()))
        });
        let add = self.add.as_ref().map(|_| " + bias".to_owned());
        let right = format!("{scores}{}{}", alibi.unwrap_or_default(), add.unwrap_or_default());
        signs.formula(right, "", &signs.facing_inputs())
    }

    fn explain(&self, row: usize, column: usize, _: &[View<'_, f64>]) -> Expr {
        let mut terms = vec![Expr::cell(0, row, column)];
        if let Some(alibi) = self.alibi {
            let parts = vec![Expr::Number(-alibi.slope), Expr::Number(alibi.distance(row, column))];
            terms.push(Expr::Product(parts));
        }
        if let Some(add) = &self.add {
            terms.push(Expr::Number(add[(row, column)]));
        }
        Expr::Sum(terms)
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        let cells = inputs.first().map_or(0, |(r, c)| *r as u128 * *c as u128);
        let each = u128::from(self.alibi.is_some());
        let added = each + u128::from(self.add.is_some());
        Cost { other_multiplications: each * cells, additions: added * cells, ..Cost::default() }
    }

    fn tell(&self, _: &Told<'_>) -> String {
        match (&self.alibi, &self.add) {
            (Some(alibi), None) if alibi.slope < 0.0 => {
                t!(
                    "ALiBi: every step of distance between query and key adds %{slope}.",
                    slope = constant(alibi.slope.abs())
                )
            }
            (Some(alibi), None) => {
                t!(
                    "ALiBi: every step of distance between query and key costs %{slope}.",
                    slope = constant(alibi.slope)
                )
            }
            (None, _) => t!("A number for each pair of query and key is added to its score."),
            (Some(_), Some(_)) => {
                t!("ALiBi's distances and a number for each pair are added to the scores.")
            }
        }
    }
}
