//! X · W + b.

use nalgebra::DMatrix;

use super::given::is_identity;
use super::{
    Arithmetic, Cost, Expr, Formula, Layout, Operation, Real, Role, Shape, Signs, Told, View, dot, equal,
    product,
};

/// A linear map of every token: inputs x (n × a), w (a × b), and perhaps a bias (1 × b); gives n × b.
///
/// Vaswani et al. 2017, §3.2.2: Q · Wᵢ_Q for all heads side by side, and concat · W_O.
#[derive(Debug, Clone, PartialEq)]
pub struct Project;

impl Operation for Project {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        let [x, w, bias @ ..] = inputs else { return Err("a projection needs x and w".to_owned()) };
        equal("columns of the input and rows of the projection", x.1, w.0)?;
        if let [bias, ..] = bias {
            equal("the bias and the columns of the projection", bias.1, w.1)?;
        }
        Ok((x.0, w.1))
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], arithmetic: Arithmetic) -> DMatrix<T> {
        let mut result = product(inputs[0], inputs[1], arithmetic);
        if let Some(bias) = inputs.get(2) {
            for (column, bias) in result.column_iter_mut().zip(bias.iter()) {
                let mut column = column;
                column.add_scalar_mut(*bias);
            }
        }
        result
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let [x, w] = [&signs.inputs[0], &signs.inputs[1]];
        let bias = signs.inputs.get(2).map(|b| format!(" + {b}")).unwrap_or_default();
        let sizes = signs.facing_inputs();
        match signs.layout {
            Layout::Rows => signs.formula(format!("{x} {w}{bias}"), " · ", &[sizes[0], sizes[1]]),
            Layout::Columns => signs.formula(format!("{w} {x}{bias}"), " · ", &[sizes[1], sizes[0]]),
        }
    }

    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        let sum = dot(0, row, 1, column, inputs[0].ncols(), false);
        match (sum, inputs.get(2)) {
            (Expr::Sum(terms), Some(_)) => Expr::Sum(vec![Expr::Sum(terms), Expr::cell(2, 0, column)]),
            (sum, _) => sum,
        }
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        let [x, w, ..] = inputs else { return Cost::default() };
        let bias = if inputs.len() > 2 { (x.0 * w.1) as u128 } else { 0 };
        Cost::product(x.0, x.1, w.1) + Cost { additions: bias, ..Cost::default() }
    }

    fn tell(&self, told: &Told<'_>) -> String {
        let line = told.line();
        match told.role {
            Role::Queries => {
                format!("Queries: what each token looks for, all heads side by side in its {line}.")
            }
            Role::Keys => {
                format!("Keys: what each token can be found by, all heads side by side in its {line}.")
            }
            Role::Values => {
                format!("Values: what each token hands on when it is attended to, all heads in its {line}.")
            }
            Role::Packed => "One product for queries, keys and values of all heads.".to_owned(),
            Role::Output if told.inputs.get(1).is_some_and(is_identity) => {
                "W_O is where heads can mix; it is the identity here, and hands on what it gets.".to_owned()
            }
            Role::Output if told.inputs.get(1).is_some_and(|w| w.iter().all(|number| *number == 0.0)) => {
                "W_O is all zeros here: nothing of what the heads found comes through.".to_owned()
            }
            Role::Output => "W_O combines what the heads found, in the width of the model.".to_owned(),
            _ => "Every token times the same matrix.".to_owned(),
        }
    }
}
