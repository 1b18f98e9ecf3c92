//! Running a plan, and keeping what was asked for.

pub mod measure;
pub mod origin;
mod overflow;
mod run;
pub mod term;

use std::sync::Arc;

use nalgebra::DMatrix;

pub use origin::Cell;
pub use run::{Keep, run_plan};

use crate::ops::{Real, View};
use crate::plan::{Plan, Step, StepId};

/// A plan with a value for each step that was asked for.
#[derive(Debug, Clone)]
pub struct Trace<T: Real> {
    plan: Arc<Plan>,
    values: Vec<Option<Value<T>>>,
}

/// Where a step's numbers are.
#[derive(Debug, Clone)]
enum Value<T> {
    /// Its own.
    Own(Arc<DMatrix<T>>),
    /// A block of another step's: a head's columns are not copied.
    Block { of: usize, row: usize, column: usize },
}

impl Trace<f32> {
    /// The same numbers in double precision, for the views. Each matrix goes as it is copied, so that not all of them are
    /// there twice.
    pub fn widened(self) -> Trace<f64> {
        let wide = |value: Value<f32>| match value {
            Value::Own(matrix) => Value::Own(Arc::new(matrix.map(f64::from))),
            Value::Block { of, row, column } => Value::Block { of, row, column },
        };
        let values = self.values.into_iter().map(|value| value.map(wide)).collect();
        Trace { plan: self.plan, values }
    }
}

impl Trace<f64> {
    /// The same numbers as those of another plan's steps, by their names.
    pub fn over(&self, plan: Arc<Plan>) -> Self {
        let own = |id: StepId| self.get(id).map(|value| Value::Own(Arc::new(value.into_owned())));
        let values = plan.ids().into_iter().map(own).collect();
        Self { plan, values }
    }
}

impl<T: Real> Trace<T> {
    /// The plan that was run.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The numbers of a step, where it is there and was asked for.
    pub fn get(&self, id: StepId) -> Option<View<'_, T>> {
        self.at(self.plan.place(id)?)
    }

    /// The steps that have values, in order.
    pub fn steps(&self) -> impl Iterator<Item = (&Step, View<'_, T>)> {
        self.plan.steps().iter().enumerate().filter_map(|(place, step)| Some((step, self.at(place)?)))
    }

    /// The numbers of a step's inputs, where all of them were kept.
    pub fn inputs(&self, step: &Step) -> Option<Vec<View<'_, T>>> {
        step.inputs.iter().map(|input| self.get(*input)).collect()
    }

    /// Some rows of a step, where it holds numbers of its own.
    pub fn rows(&self, id: StepId, from: usize, height: usize) -> Option<View<'_, T>> {
        self.part(self.plan.place(id)?, from, height)
    }

    /// Some rows of the step at a place.
    fn part(&self, place: usize, from: usize, height: usize) -> Option<View<'_, T>> {
        match self.values[place].as_ref()? {
            Value::Own(matrix) => Some(matrix.rows(from, height)),
            Value::Block { .. } => None,
        }
    }

    fn at(&self, place: usize) -> Option<View<'_, T>> {
        match self.values[place].as_ref()? {
            Value::Own(matrix) => Some(matrix.as_view()),
            Value::Block { of, row, column } => match self.values[*of].as_ref()? {
                Value::Own(matrix) => Some(matrix.view((*row, *column), self.plan.steps()[place].shape)),
                Value::Block { .. } => None,
            },
        }
    }
}
