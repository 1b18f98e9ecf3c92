//! A figure that a lesson speaks of, as an expression over its steps: `entropy(head.1.weights[3]@one) - 1`.

use nalgebra::DMatrix;

use crate::plan::StepId;

/// An expression over the steps of a lesson and of its runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantity {
    /// As it was written.
    pub text: String,
}

/// What an expression comes to.
#[derive(Debug, Clone, PartialEq)]
pub enum Amount {
    /// One number.
    Number(f64),
    /// Several: a row, a column, or a whole step.
    Matrix(DMatrix<f64>),
    /// What a comparison says.
    Truth(bool),
}

/// Where an expression's numbers come from.
pub trait Numbers {
    /// The value of a step in a run (`None`: the lesson itself).
    ///
    /// # Errors
    /// There is no such run or step; the run cannot be computed. In words.
    fn step(&self, step: StepId, run: Option<&str>) -> Result<DMatrix<f64>, String>;
}
