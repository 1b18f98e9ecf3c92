//! What was given: embeddings, projections, biases.

use nalgebra::DMatrix;

use super::{Arithmetic, Cost, Expr, Formula, Layout, Operation, Real, Role, Shape, Signs, Told, View, list};

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
        Formula { equation: format!("{} given", signs.out), sizes: super::size(signs.facing(self.shape)) }
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
            let many = if count == 1 { "1 token".to_owned() } else { format!("{count} tokens") };
            let each = if count == 1 { "" } else { "each " };
            let numbers = if columns == 1 { "number" } else { "numbers" };
            format!("{many}: {}; {each}a {line} of {columns} {numbers}.", tokens())
        };
        match told.role {
            Role::Input => tokens_of(rows),
            Role::Source => format!("The other sequence, {}", tokens_of(rows)),
            Role::Projection(letter) if is_identity(&told.value) => {
                format!("The identity: W_{letter} passes its input through unchanged.")
            }
            Role::Projection(letter) if told.value.iter().all(|v| *v == 0.0) => {
                format!("All zeros: W_{letter} lets nothing through.")
            }
            Role::Projection(letter) => {
                let (input, output) = match told.layout {
                    Layout::Rows => ("row", "column"),
                    Layout::Columns => ("column", "row"),
                };
                format!(
                    "W_{letter} as given: one {input} for each number that goes in, one {output} for each that comes out."
                )
            }
            Role::Bias => format!("Added to every token's {line}."),
            Role::Queries | Role::Keys | Role::Values => "Given already projected.".to_owned(),
            _ => "Given.".to_owned(),
        }
    }
}

pub(super) fn is_identity(value: &View<'_, f64>) -> bool {
    value.is_square()
        && (0..value.nrows())
            .all(|r| (0..value.ncols()).all(|c| value[(r, c)] == f64::from(u8::from(r == c))))
}
