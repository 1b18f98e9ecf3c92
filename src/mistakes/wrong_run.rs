//! A problem computed right and computed wrongly, and where the two differ.

use std::collections::HashMap;
use std::sync::Arc;

use super::fit::distance;
use super::{Form, Mistake, Wrong};
use crate::fault::Outcome;
use crate::ops::{Arithmetic, View};
use crate::plan::{Attention, Call, Head, HeadStep, Name, Plan, StepId};
use crate::trace::measure::rounding;
use crate::trace::{Keep, Trace, run_plan};

/// A mistake made on a problem, beside the right computation.
#[derive(Debug, Clone)]
pub struct WrongRun {
    /// The mistake.
    pub mistake: &'static Mistake,
    /// The way in which it is made here.
    pub form: &'static Form,
    /// Every step as it should be.
    pub right: Trace<f64>,
    /// Every step as it is with the mistake.
    pub wrong: Trace<f64>,
    /// For each key/value head of the wrong run, the query head whose keys and values are shown for it.
    pub kv_sheets: Vec<usize>,
    /// Every step of either run and how it differs, in the order of the right one.
    pub steps: Vec<(StepId, Difference)>,
}

/// How a step of the wrong run differs from the right one.
#[derive(Debug, Clone, PartialEq)]
pub enum Difference {
    /// In no cell, but for rounding.
    None,
    /// In some cells.
    Cells(Cells),
    /// In its shape.
    Shape,
    /// The wrong run has no such step.
    Missing,
    /// The right run has no such step.
    Extra,
}

/// Which cells of a step differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Cells {
    /// How many.
    pub count: usize,
    /// Of how many.
    pub of: usize,
    /// Row and column of the first, from 0, reading row by row.
    pub first: (usize, usize),
    /// By how much they differ at most; infinite where one side has a number and the other has none.
    pub largest: f64,
    tolerance: f64,
}

impl Cells {
    /// Whether two numbers of the same cell differ by more than rounding.
    pub fn differ(&self, right: f64, wrong: f64) -> bool {
        distance(wrong, right) > self.tolerance
    }

    /// The cells in which two matrices of one shape differ; `None` where it is only rounding.
    fn of(right: &View<'_, f64>, wrong: &View<'_, f64>) -> Option<Self> {
        let mut cells =
            Self { count: 0, of: right.len(), first: (0, 0), largest: 0.0, tolerance: rounding(right) };
        for row in 0..right.nrows() {
            for column in 0..right.ncols() {
                let (is, should) = (wrong[(row, column)], right[(row, column)]);
                if !cells.differ(should, is) {
                    continue;
                }
                if cells.count == 0 {
                    cells.first = (row, column);
                }
                cells.count += 1;
                cells.largest = cells.largest.max(distance(is, should));
            }
        }
        (cells.count > 0).then_some(cells)
    }
}

impl WrongRun {
    /// Makes a mistake in the first of these forms that applies and changes a number; where none changes any, in the
    /// first that applies. `None` where none applies.
    ///
    /// # Errors
    /// A number that is too large for either run.
    pub fn of(
        mistake: &'static Mistake,
        forms: &'static [Form],
        call: &Call,
        plan: &Arc<Plan>,
    ) -> Outcome<Option<Self>> {
        let mut right = None;
        let mut idle = None;
        for form in forms {
            let Some(Wrong { plan: wrong, kv_sheets }) = form.apply(call, plan) else { continue };
            let run = |plan| run_plan(plan, &call.inputs, &Keep::All, Arithmetic::Ordered);
            let right = match &right {
                Some(right) => right,
                None => right.insert(run(plan.clone())?),
            };
            let wrong = run(Arc::new(wrong))?;
            let steps = steps(right, &wrong);
            let found = Self { mistake, form, right: right.clone(), wrong, kv_sheets, steps };
            if found.changes_a_number() {
                return Ok(Some(found));
            }
            idle.get_or_insert(found);
        }
        Ok(idle)
    }

    /// Whether any number comes out otherwise. A step more changes none by itself, unless nothing reads it: then it is
    /// something that is handed out.
    pub fn changes_a_number(&self) -> bool {
        let wrong = self.wrong.plan().steps();
        self.steps.iter().any(|(id, difference)| match difference {
            Difference::None => false,
            Difference::Extra => !wrong.iter().any(|step| step.inputs.contains(id)),
            Difference::Cells(_) | Difference::Shape | Difference::Missing => true,
        })
    }

    /// The call's attention with the heads and sizes that the wrong run has.
    pub fn attention(&self, call: &Call) -> Attention {
        let steps = self.wrong.plan().steps();
        let num_heads = steps.iter().filter_map(|step| step.id.head()).map(|head| head.0 + 1).max();
        let width = |wanted: HeadStep, usual: usize| {
            let step = steps.iter().find(|step| step.id.name == Name::Head(Head(0), wanted));
            step.map_or(usual, |step| step.shape.1)
        };
        Attention {
            num_heads: num_heads.unwrap_or(call.attention.num_heads),
            num_kv_heads: self.kv_sheets.len(),
            d_k: width(HeadStep::Q, call.attention.d_k),
            d_v: width(HeadStep::V, call.attention.d_v),
            ..call.attention.clone()
        }
    }

    /// The first step that differs.
    pub fn first(&self) -> Option<(StepId, &Difference)> {
        self.steps.iter().find(|(_, difference)| *difference != Difference::None).map(|(id, how)| (*id, how))
    }
}

/// Compares the runs step by step. A step that only the wrong one has stands behind the step that it follows there.
fn steps(right: &Trace<f64>, wrong: &Trace<f64>) -> Vec<(StepId, Difference)> {
    let mut extra: HashMap<Option<StepId>, Vec<StepId>> = HashMap::new();
    let mut before = None;
    for id in wrong.plan().steps().iter().map(|step| step.id) {
        match right.plan().get(id) {
            Some(_) => before = Some(id),
            None => extra.entry(before).or_default().push(id),
        }
    }
    let mut steps = Vec::new();
    let mut follow = |id: Option<StepId>, steps: &mut Vec<(StepId, Difference)>| {
        steps.extend(extra.remove(&id).into_iter().flatten().map(|id| (id, Difference::Extra)));
    };
    follow(None, &mut steps);
    for (step, value) in right.steps() {
        let difference = match wrong.get(step.id) {
            None => Difference::Missing,
            Some(theirs) if theirs.shape() != value.shape() => Difference::Shape,
            Some(theirs) => Cells::of(&value, &theirs).map_or(Difference::None, Difference::Cells),
        };
        steps.push((step.id, difference));
        follow(Some(step.id), &mut steps);
    }
    steps
}
