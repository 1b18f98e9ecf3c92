//! X · W + b.

use nalgebra::DMatrix;

use super::given::is_identity;
use super::{
    Arithmetic, Cost, Expr, Formula, Layout, Operation, Real, Role, Shape, Signs, Told, View, dot, equal,
    product_and_bias,
};
use crate::words::t;

/// A linear map of every token: inputs x (n × a), w (a × b), and perhaps a bias (1 × b); gives n × b.
///
/// Vaswani et al. 2017, §3.2.2: Q · Wᵢ_Q for all heads side by side, and concat · W_O.
#[derive(Debug, Clone, PartialEq)]
pub struct Project;

impl Operation for Project {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        let [x, w, bias @ ..] = inputs else { return Err(WITHOUT.to_owned()) };
        equal("columns of the input and rows of the projection", x.1, w.0)?;
        bias_fits(bias, w.1)?;
        Ok((x.0, w.1))
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], arithmetic: Arithmetic) -> DMatrix<T> {
        product_and_bias(inputs[0], inputs[1], inputs.get(2), arithmetic)
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let [x, w] = [&signs.inputs[0], &signs.inputs[1]];
        let bias = bias_sign(signs);
        let sizes = signs.facing_inputs();
        match signs.layout {
            Layout::Rows => signs.formula(format!("{x} {w}{bias}"), " · ", &[sizes[0], sizes[1]]),
            Layout::Columns => signs.formula(format!("{w} {x}{bias}"), " · ", &[sizes[1], sizes[0]]),
        }
    }

    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        with_bias(dot(0, row, 1, column, inputs[0].ncols(), false), column, inputs)
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        let [x, w, ..] = inputs else { return Cost::default() };
        Cost::product(x.0, x.1, w.1) + bias_cost(inputs, (x.0, w.1))
    }

    fn tell(&self, told: &Told<'_>) -> String {
        let line = told.line();
        match told.role {
            Role::Queries => {
                t!("Queries: what each token looks for, all heads side by side in its %{line}.", line)
            }
            Role::Keys => {
                t!("Keys: what each token can be found by, all heads side by side in its %{line}.", line)
            }
            Role::Values => {
                t!("Values: what each token hands on when it is attended to, all heads in its %{line}.", line)
            }
            Role::Packed => t!("One product for queries, keys and values of all heads."),
            Role::Output if told.inputs.get(1).is_some_and(is_identity) => {
                t!("W_O is where heads can mix; it is the identity here, and hands on what it gets.")
            }
            Role::Output if told.inputs.get(1).is_some_and(|w| w.iter().all(|number| *number == 0.0)) => {
                t!("W_O is all zeros here: nothing of what the heads found comes through.")
            }
            Role::Output => t!("W_O combines what the heads found, in the width of the model."),
            Role::Widened => t!(
                "Every token by itself: W_1 makes %{wide} numbers of its %{narrow}.",
                wide = told.value.ncols(),
                narrow = told.inputs.first().map_or(0, |x| x.ncols())
            ),
            Role::Narrowed => t!("Every token by itself: W_2 brings it back to the width of the model."),
            _ => t!("Every token times the same matrix."),
        }
    }
}

/// What is said of a projection that lacks its inputs.
pub(super) const WITHOUT: &str = "a projection needs x and w";

/// Refuses a bias that is not as wide as the result.
pub(super) fn bias_fits(bias: &[Shape], width: usize) -> Result<(), String> {
    bias.first().map_or(Ok(()), |bias| equal("the bias and the columns of the projection", bias.1, width))
}

/// Adds the bias, the third input, to every row; nothing where there is none.
pub(super) fn add_bias<T: Real>(result: &mut DMatrix<T>, inputs: &[View<'_, T>]) {
    if let Some(bias) = inputs.get(2) {
        for (mut column, bias) in result.column_iter_mut().zip(bias.iter()) {
            column.add_scalar_mut(*bias);
        }
    }
}

/// ` + b_Q`, where there is a bias.
pub(super) fn bias_sign(signs: &Signs) -> String {
    signs.inputs.get(2).map(|b| format!(" + {b}")).unwrap_or_default()
}

/// What a cell is before the bias, and the bias, where there is one.
pub(super) fn with_bias(before: Expr, column: usize, inputs: &[View<'_, f64>]) -> Expr {
    match inputs.get(2) {
        Some(_) => Expr::Sum(vec![before, Expr::cell(2, 0, column)]),
        None => before,
    }
}

/// An addition a cell of the result, where there is a bias.
pub(super) fn bias_cost(inputs: &[Shape], result: Shape) -> Cost {
    let additions = if inputs.len() > 2 { result.0 as u128 * result.1 as u128 } else { 0 };
    Cost { additions, ..Cost::default() }
}
