//! What was given: embeddings, projections, biases.

use nalgebra::DMatrix;

use super::{Arithmetic, Cost, Expr, Formula, Layout, Operation, Real, Role, Shape, Signs, Told, View, list};
use crate::words::t;

/// A matrix that the problem brings along; nothing computes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// Its shape.
    pub shape: Shape,
}

impl Operation for Given {
    fn shape(&self, _: &[Shape]) -> Result<Shape, String> {
        Ok(self.shape)
    }

    fn compute<T: Real>(&self, _: &[View<'_, T>], _: Arithmetic) -> DMatrix<T> {
        // A trace takes given values from the problem; this is only what is left when there is none.
        DMatrix::zeros(self.shape.0, self.shape.1)
    }

    fn formula(&self, signs: &Signs) -> Formula {
        Formula {
            equation: t!("%{sign} given", sign = signs.out),
            sizes: super::size(signs.facing(self.shape)),
        }
    }

    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        // A given number has no arithmetic behind it; whoever asks passes its own matrix as the only input.
        inputs.first().map_or(Expr::Number(0.0), |own| Expr::Number(own[(row, column)]))
    }

    fn cost(&self, _: &[Shape]) -> Cost {
        Cost::default()
    }

    fn tell(&self, told: &Told<'_>) -> String {
        let (rows, columns) = told.value.shape();
        let line = told.line();
        let tokens = || list(told.rows.iter().map(String::as_str));
        let tokens_of = |count: usize| {
            let (line, tokens) = (&line, tokens());
            match (count, columns) {
                (1, 1) => t!("1 token: %{tokens}; a %{line} of 1 number.", tokens, line),
                (1, _) => t!("1 token: %{tokens}; a %{line} of %{columns} numbers.", tokens, line, columns),
                (_, 1) => t!("%{count} tokens: %{tokens}; each a %{line} of 1 number.", count, tokens, line),
                _ => t!(
                    "%{count} tokens: %{tokens}; each a %{line} of %{columns} numbers.",
                    count,
                    tokens,
                    line,
                    columns
                ),
            }
        };
        match told.role {
            Role::Input => tokens_of(rows),
            Role::Source => t!("The other sequence, %{tokens}", tokens = tokens_of(rows)),
            Role::Projection(letter) if is_identity(&told.value) => {
                t!("The identity: W_%{letter} passes its input through unchanged.", letter)
            }
            Role::Projection(letter) if told.value.iter().all(|v| *v == 0.0) => {
                t!("All zeros: W_%{letter} lets nothing through.", letter)
            }
            Role::Projection(letter) => match told.layout {
                Layout::Rows => t!(
                    "W_%{letter} as given: one row for each number that goes in, one column for each that comes out.",
                    letter
                ),
                Layout::Columns => t!(
                    "W_%{letter} as given: one column for each number that goes in, one row for each that comes out.",
                    letter
                ),
            },
            Role::Bias => t!("Added to every token's %{line}.", line),
            Role::Queries | Role::Keys | Role::Values => t!("Given already projected."),
            _ => t!("Given."),
        }
    }
}

pub(super) fn is_identity(value: &View<'_, f64>) -> bool {
    value.is_square()
        && (0..value.nrows())
            .all(|r| (0..value.ncols()).all(|c| value[(r, c)] == f64::from(u8::from(r == c))))
}
