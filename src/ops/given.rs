//! What was given: embeddings, projections, biases.

use nalgebra::DMatrix;

use super::{Arithmetic, Cost, Expr, Formula, Layout, Operation, Real, Shape, Signs, Told, View, list};
use crate::plan::{Name, Projection};

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
        // A given number has no arithmetic behind it: its own value, where the caller knows it.
        inputs.first().map_or(Expr::Number(0.0), |own| Expr::Number(own[(row, column)]))
    }

    fn cost(&self, _: &[Shape]) -> Cost {
        Cost::default()
    }

    fn tell(&self, told: &Told<'_>) -> String {
        let (rows, columns) = told.value.shape();
        let line = told.line();
        let tokens = || list(told.rows.iter().map(String::as_str));
        match told.id.name {
            Name::X => format!("{rows} tokens ({}), each a {line} of {columns} numbers.", tokens()),
            Name::XKv => {
                format!(
                    "The other sequence: {rows} tokens ({}), each a {line} of {columns} numbers.",
                    tokens()
                )
            }
            Name::W(projection) if is_identity(&told.value) => {
                format!("The identity: {} passes its input through unchanged.", sign(projection))
            }
            Name::W(projection) => {
                let (input, output) = match told.layout {
                    Layout::Rows => ("row", "column"),
                    Layout::Columns => ("column", "row"),
                };
                format!(
                    "{}, learned: one {input} an input number, one {output} an output number.",
                    sign(projection)
                )
            }
            Name::B(_) => format!("Added to every token's {line}."),
            _ => "Given already projected.".to_owned(),
        }
    }
}

fn sign(projection: Projection) -> String {
    format!("W_{}", projection.letter().to_ascii_uppercase())
}

fn is_identity(value: &View<'_, f64>) -> bool {
    value.is_square()
        && (0..value.nrows())
            .all(|r| (0..value.ncols()).all(|c| value[(r, c)] == f64::from(u8::from(r == c))))
}
