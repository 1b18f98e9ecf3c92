//! The numbers on the bench: what the lesson gave, what was changed since, and the trace that follows.

use std::collections::HashSet;
use std::sync::Arc;

use crate::exact::Exact;
use crate::fault::{Fault, Faults, Outcome};
use crate::lesson::Problem;
use crate::limits::STEPPER_NUMBERS;
use crate::ops::Arithmetic;
use crate::plan::{Call, Inputs, Plan, StepId, attention};
use crate::trace::{Cell, Keep, Trace, run_plan};

/// A problem that can be changed; the trace always follows from what is given.
pub(super) struct Bench {
    /// The lesson, as it was read.
    pub(super) problem: Problem,
    call: Call,
    trace: Trace<f64>,
    /// The same in exact numbers, where they are asked for.
    exact: Option<Exact>,
    /// What was given before each edit, the latest last; matrices that an edit left alone are shared.
    earlier: Vec<Inputs>,
    /// The trace before the last change, and the steps in which the two differ.
    before: Option<(Trace<f64>, HashSet<StepId>)>,
}

impl Bench {
    /// The lesson's own numbers.
    ///
    /// # Errors
    /// The trace is too large to be computed again while a person waits; or it cannot be computed at all.
    pub(super) fn new(problem: Problem) -> Outcome<Self> {
        let call = problem.call();
        let plan = attention::plan(&call).map_err(Faults::from)?;
        let numbers: u128 = plan.steps().iter().map(|step| step.shape.0 as u128 * step.shape.1 as u128).sum();
        if numbers > STEPPER_NUMBERS {
            let what = format!(
                "its steps hold {numbers} numbers, too many to step through ({STEPPER_NUMBERS} are the most)"
            );
            let why = "everything is computed again after each edit, while you wait";
            let remedy = "leave out --interactive, and narrow the page with --steps or --summary";
            return Err(Fault::new(what, why, remedy).into());
        }
        let trace = ran(plan, &call)?;
        Ok(Self { problem, call, trace, exact: None, earlier: Vec::new(), before: None })
    }

    pub(super) fn trace(&self) -> &Trace<f64> {
        &self.trace
    }

    pub(super) fn exact(&self) -> Option<&Exact> {
        self.exact.as_ref()
    }

    /// Works the numbers out exactly, or leaves it.
    pub(super) fn toggle_exact(&mut self) {
        self.exact = match self.exact {
            None => Some(Exact::of(&self.trace)),
            Some(_) => None,
        };
    }

    /// How many edits can be undone.
    pub(super) fn edits(&self) -> usize {
        self.earlier.len()
    }

    /// Whether a step was given, so that its numbers can be changed.
    pub(super) fn is_given(&self, id: StepId) -> bool {
        self.call.inputs.contains_key(&id)
    }

    /// Whether the numbers are the lesson's own, of which its story tells.
    pub(super) fn is_as_told(&self) -> bool {
        self.mask() != Masks::Off && self.call.inputs == self.problem.inputs
    }

    /// The number that the lesson gave.
    pub(super) fn original(&self, cell: Cell) -> Option<f64> {
        self.problem.inputs.get(&cell.step)?.get((cell.row, cell.column)).copied()
    }

    /// Whether the lesson hides anything, and whether it is hidden now.
    pub(super) fn mask(&self) -> Masks {
        let is_bare = |call: &Call| call.attentions().all(|attention| attention.masks.is_empty());
        match (is_bare(&self.problem.call()), is_bare(&self.call)) {
            (true, _) => Masks::None,
            (false, false) => Masks::On,
            (false, true) => Masks::Off,
        }
    }

    /// Gives another number; everything follows.
    ///
    /// # Errors
    /// The cell was not given, or nothing can be computed from that number; all stays as it was.
    pub(super) fn edit(&mut self, cell: Cell, value: f64) -> Outcome<()> {
        let mut inputs = self.call.inputs.clone();
        let number = inputs
            .get_mut(&cell.step)
            .and_then(|matrix| Arc::make_mut(matrix).get_mut((cell.row, cell.column)));
        let Some(number) = number else {
            let why = "only what was given can be changed";
            return Err(Fault::new(format!("{cell} is computed"), why, "edit x, or a projection").into());
        };
        *number = value;
        self.give(inputs)
    }

    /// Gives the lesson's own numbers again; that too can be undone.
    pub(super) fn reset(&mut self) -> Outcome<()> {
        self.give(self.problem.inputs.clone())
    }

    fn give(&mut self, inputs: Inputs) -> Outcome<()> {
        let earlier = self.call.inputs.clone();
        self.follow(Call { inputs, ..self.call.clone() })?;
        self.earlier.push(earlier);
        Ok(())
    }

    /// Takes the last edit back; says whether there was one.
    pub(super) fn undo(&mut self) -> Outcome<bool> {
        let Some(inputs) = self.earlier.last().cloned() else { return Ok(false) };
        self.follow(Call { inputs, ..self.call.clone() })?;
        self.earlier.pop();
        Ok(true)
    }

    /// Takes all masks away, or puts the lesson's back.
    pub(super) fn toggle_masks(&mut self) -> Outcome<()> {
        let mut call = Call { inputs: self.call.inputs.clone(), ..self.problem.call() };
        if self.mask() == Masks::On {
            call.attention.masks.clear();
            let layers = call.layers.iter_mut().flat_map(|stack| &mut stack.layers);
            layers.for_each(|layer| layer.attention.masks.clear());
        }
        self.follow(call)
    }

    /// The trace of another call in place of this one; where it cannot be computed, all stays as it is.
    fn follow(&mut self, call: Call) -> Outcome<()> {
        let plan = attention::plan(&call).map_err(Faults::from)?;
        let trace = ran(plan, &call)?;
        let before = std::mem::replace(&mut self.trace, trace);
        let differs = |id: &StepId| match (before.get(*id), self.trace.get(*id)) {
            (Some(then), Some(now)) => {
                then.shape() != now.shape() || then.iter().zip(now.iter()).any(|(a, b)| is_other(*a, *b))
            }
            _ => false,
        };
        let steps = self.trace.plan().steps().iter().map(|step| step.id).filter(differs).collect();
        self.exact = self.exact.as_ref().map(|_| Exact::of(&self.trace));
        self.before = Some((before, steps));
        self.call = call;
        Ok(())
    }

    /// Forgets what the last change changed.
    pub(super) fn forget_changes(&mut self) {
        self.before = None;
    }

    /// The steps in which the last change changed a number.
    pub(super) fn changed_steps(&self) -> Option<&HashSet<StepId>> {
        self.before.as_ref().map(|(_, steps)| steps)
    }

    /// Whether the last change changed this number.
    pub(super) fn is_changed(&self, cell: Cell) -> bool {
        let Some((before, steps)) = &self.before else { return false };
        steps.contains(&cell.step)
            && match (before.cell(cell), self.trace.cell(cell)) {
                (Some(then), Some(now)) => is_other(then, now),
                _ => false,
            }
    }
}

/// Whether a lesson's masks are at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Masks {
    /// The lesson has none.
    None,
    /// They hide.
    On,
    /// They were taken away.
    Off,
}

/// Whether a person would see another number: 0 and −0 are shown alike, and NaN stays NaN.
fn is_other(then: f64, now: f64) -> bool {
    then != now && !(then.is_nan() && now.is_nan())
}

fn ran(plan: Plan, call: &Call) -> Outcome<Trace<f64>> {
    run_plan(Arc::new(plan), &call.inputs, &Keep::All, Arithmetic::Ordered)
}
