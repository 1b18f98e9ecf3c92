//! A trace in exact numbers: fractions, roots of whole numbers, and powers of e, as a reader writes them by hand.
//!
//! No operation is defined a second time: each cell is what its operation's own explanation
//! ([`crate::ops::Operation::explain`]) comes to in exact arithmetic. Nothing is guessed from decimals: a step whose
//! numbers do not allow it says why, and so does every step that is made from it.

mod evaluate;
mod form;
mod number;
mod powers;
mod rational;
mod surd;
mod why;
mod written;

use std::collections::HashMap;

pub use form::Form;
pub use number::Number;
pub use powers::Powers;
pub use rational::Rational;
pub use surd::Surd;
pub use why::Why;

use crate::ops::{Op, Operation};
use crate::plan::{Step, StepId};
use crate::trace::Trace;
use crate::words::t;
use evaluate::{Evaluator, Matrix, Work};

/// Characters of the longest cell that is still a help to a reader.
const WIDEST: usize = 60;

/// What is known exactly about the steps of a trace.
#[derive(Debug, Clone, Default)]
pub struct Exact {
    steps: HashMap<StepId, Known>,
}

/// What is known exactly about a step.
#[derive(Debug, Clone)]
enum Known {
    /// Its numbers, and how they are written or why they are not.
    Numbers { matrix: Matrix, forms: Result<Vec<Form>, String> },
    /// Why it has none, and the step that first had none.
    Nothing { first: StepId, why: String },
}

impl Exact {
    /// Works out the steps that the trace has kept, as far as the numbers allow. A step can only be exact where all
    /// that it is made from was kept.
    pub fn of(trace: &Trace<f64>) -> Self {
        let mut exact = Self::default();
        let mut work = Work::new();
        for (step, value) in trace.steps() {
            let known = match exact.first_without(step) {
                Some((first, why)) => Known::Nothing { first, why },
                None => match exact.evaluate(trace, step, value.shape(), &mut work) {
                    Ok(matrix) => {
                        let forms = written(&matrix).map_err(|why| format!("{} {why}", step.id));
                        Known::Numbers { matrix, forms }
                    }
                    Err(why) => Known::Nothing { first: step.id, why: format!("{} {why}", step.id) },
                },
            };
            exact.steps.insert(step.id, known);
        }
        exact
    }

    /// A cell as it is written, row and column from 0; nothing where its step shows decimals.
    pub fn form(&self, id: StepId, row: usize, column: usize) -> Option<&Form> {
        match self.steps.get(&id)? {
            Known::Numbers { matrix, forms: Ok(forms) } if column < matrix.columns => {
                forms.get(row * matrix.columns + column)
            }
            _ => None,
        }
    }

    /// The exact number of a cell, also where it is too long to be shown.
    pub fn number(&self, id: StepId, row: usize, column: usize) -> Option<&Number> {
        match self.steps.get(&id)? {
            Known::Numbers { matrix, .. } if column < matrix.columns => {
                matrix.cells.get(row * matrix.columns + column)
            }
            _ => None,
        }
    }

    /// Why a step shows decimals, as a sentence without its full stop that begins with a step's name; nothing where
    /// it is exact.
    pub fn why_not(&self, id: StepId) -> Option<&str> {
        match self.steps.get(&id)? {
            Known::Numbers { forms: Ok(_), .. } => None,
            Known::Numbers { forms: Err(why), .. } | Known::Nothing { why, .. } => Some(why),
        }
    }

    /// The step that first had no exact form among all that a step is made from, with what to say of it.
    fn first_without(&self, step: &Step) -> Option<(StepId, String)> {
        step.inputs.iter().find_map(|input| match self.steps.get(input) {
            Some(Known::Numbers { .. }) => None,
            Some(Known::Nothing { first, .. }) => Some((
                *first,
                t!("%{step} is made from %{first}, which has no exact form", step = step.id, first),
            )),
            None => {
                Some((*input, t!("%{step} is made from %{input}, which was not kept", step = step.id, input)))
            }
        })
    }

    fn evaluate(
        &self,
        trace: &Trace<f64>,
        step: &Step,
        (rows, columns): (usize, usize),
        work: &mut Work,
    ) -> Result<Matrix, Why> {
        let matrices = step.inputs.iter().filter_map(|input| match self.steps.get(input) {
            Some(Known::Numbers { matrix, .. }) => Some(matrix),
            _ => None,
        });
        let matrices: Vec<&Matrix> = matrices.collect();
        // What was given explains itself by its own numbers.
        let views = match step.op {
            Op::Given(_) => trace.get(step.id).map(|own| vec![own]),
            _ => trace.inputs(step),
        };
        let views = views.unwrap_or_default();
        let mut evaluator = Evaluator::new(&matrices, work);
        let mut cells = Vec::new();
        for row in 0..rows {
            for column in 0..columns {
                cells.push(evaluator.value(&step.op.explain(row, column, &views))?);
            }
        }
        Ok(Matrix { columns, cells })
    }
}

/// Every cell as it is written, or why the step is better off with decimals.
fn written(matrix: &Matrix) -> Result<Vec<Form>, String> {
    let mut forms = Vec::with_capacity(matrix.cells.len());
    let mut widest = 0;
    for number in &matrix.cells {
        let form =
            number.form().ok_or("is exact, but in whole numbers of too many digits to be written out")?;
        widest = widest.max(form.width());
        forms.push(form);
    }
    if widest > WIDEST {
        return Err(format!("is exact, but one of its cells would be {widest} characters long"));
    }
    Ok(forms)
}
