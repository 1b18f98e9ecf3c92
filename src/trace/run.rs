//! The engine: steps in order, heads side by side on several threads where that is asked for.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use nalgebra::DMatrix;

use super::{Trace, Value};
use crate::fault::{Fault, Faults, Outcome};
use crate::lesson::Problem;
use crate::ops::{Arithmetic, Op, Operation, Real, View};
use crate::plan::{HeadStep, Inputs, Name, Plan, Stack, Step, StepId, TileStep, attention};

/// Which values a trace keeps.
#[derive(Debug, Clone)]
pub enum Keep {
    /// Every step's.
    All,
    /// Those of these steps; nothing is computed that they do not need, and what they need is dropped after use.
    Only(HashSet<StepId>),
}

/// Plans a problem and runs the plan.
///
/// # Errors
/// What [`attention::plan`] and [`run_plan`] refuse.
pub fn run<T: Real>(problem: &Problem, keep: &Keep, arithmetic: Arithmetic) -> Outcome<Trace<T>> {
    let call = problem.call();
    let plan = attention::plan(&call).map_err(Faults::from)?;
    run_plan(Arc::new(plan), &call.inputs, keep, arithmetic)
}

/// Computes a plan's steps from its inputs.
///
/// # Errors
/// A number that is too large for the type.
pub fn run_plan<T: Real>(
    plan: Arc<Plan>,
    inputs: &Inputs,
    keep: &Keep,
    arithmetic: Arithmetic,
) -> Outcome<Trace<T>> {
    let mut engine = Engine::new(&plan, keep, arithmetic);
    let mut from = 0;
    while from < plan.steps().len() {
        let to = run_of_heads(&plan, from);
        if to > from {
            engine.run_heads(from..to)?;
            from = to;
        } else {
            let value = engine.compute(&plan.steps()[from], from, inputs, None, arithmetic)?;
            engine.settle(from, value);
            from += 1;
        }
    }
    let values = engine.finish();
    Ok(Trace { plan, values })
}

/// The end of the run of steps from `from` on that belong to heads.
fn run_of_heads(plan: &Plan, from: usize) -> usize {
    let heads = |step: &&Step| step.id.head().is_some() && !step.inputs.is_empty();
    from + plan.steps()[from..].iter().take_while(heads).count()
}

struct Engine<'a, T: Real> {
    plan: &'a Plan,
    arithmetic: Arithmetic,
    /// Whether a step has to be computed at all.
    wanted: Vec<bool>,
    /// Whether its value is kept at the end.
    kept: Vec<bool>,
    /// Which values nothing reads after a step, by the step's place.
    expire: Vec<Vec<usize>>,
    values: Vec<Option<Value<T>>>,
}

/// What one lane of heads has computed, by place.
type Lane<T> = BTreeMap<usize, Value<T>>;

impl<'a, T: Real> Engine<'a, T> {
    fn new(plan: &'a Plan, keep: &Keep, arithmetic: Arithmetic) -> Self {
        let steps = plan.steps();
        let kept: Vec<bool> = steps
            .iter()
            .map(|step| match keep {
                Keep::All => true,
                Keep::Only(ids) => ids.contains(&step.id),
            })
            .collect();
        let mut wanted = kept.clone();
        let mut last_use: Vec<usize> = (0..steps.len()).collect();
        for place in (0..steps.len()).rev() {
            if wanted[place] {
                for input in steps[place].inputs.iter().filter_map(|id| plan.place(*id)) {
                    wanted[input] = true;
                    last_use[input] = last_use[input].max(place);
                }
            }
        }
        // A block lives in the step it was cut from, which must last as long.
        for place in (0..steps.len()).rev() {
            if let (Op::Columns(_) | Op::Rows(_), Some(whole)) =
                (&steps[place].op, steps[place].inputs.first())
                && wanted[place]
                && let Some(whole) = plan.place(*whole)
            {
                let until = if kept[place] { usize::MAX } else { last_use[place] };
                last_use[whole] = last_use[whole].max(until);
            }
        }
        let mut expire = vec![Vec::new(); steps.len()];
        for (place, last) in last_use.into_iter().enumerate() {
            if !kept[place] && last < steps.len() {
                expire[last].push(place);
            }
        }
        Self { plan, arithmetic, wanted, kept, expire, values: (0..steps.len()).map(|_| None).collect() }
    }

    /// Computes a run of head steps: heads do not read each other, so each thread takes some of them.
    fn run_heads(&mut self, run: std::ops::Range<usize>) -> Outcome<()> {
        let threads = match self.arithmetic {
            Arithmetic::Ordered => 1,
            Arithmetic::Fast { threads } => threads.max(1),
        };
        let inner = match self.arithmetic {
            Arithmetic::Ordered => Arithmetic::Ordered,
            Arithmetic::Fast { .. } => Arithmetic::Fast { threads: 1 },
        };
        let mut lanes: Vec<Vec<usize>> = vec![Vec::new(); threads];
        for place in run.clone() {
            let head = self.plan.steps()[place].id.head().map_or(0, |head| head.0);
            lanes[head % threads].push(place);
        }
        if threads == 1 || lanes.iter().filter(|lane| !lane.is_empty()).count() < 2 {
            for place in run {
                let value =
                    self.compute(&self.plan.steps()[place], place, &Inputs::new(), None, self.arithmetic)?;
                self.settle(place, value);
            }
            return Ok(());
        }
        let this = &*self;
        let done: Vec<Outcome<Lane<T>>> = std::thread::scope(|scope| {
            let started: Vec<_> =
                lanes.iter().map(|places| scope.spawn(move || this.run_lane(places, inner))).collect();
            started
                .into_iter()
                .map(|lane| lane.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        for lane in done {
            for (place, value) in lane? {
                self.settle(place, Some(value));
            }
        }
        Ok(())
    }

    fn run_lane(&self, places: &[usize], arithmetic: Arithmetic) -> Outcome<Lane<T>> {
        let mut lane = Lane::new();
        for place in places {
            let step = &self.plan.steps()[*place];
            if let Some(value) = self.compute(step, *place, &Inputs::new(), Some(&lane), arithmetic)? {
                lane.insert(*place, value);
            }
            for done in &self.expire[*place] {
                lane.remove(done);
            }
        }
        Ok(lane)
    }

    fn compute(
        &self,
        step: &Step,
        place: usize,
        inputs: &Inputs,
        lane: Option<&Lane<T>>,
        arithmetic: Arithmetic,
    ) -> Outcome<Option<Value<T>>> {
        if !self.wanted[place] {
            return Ok(None);
        }
        if let Some(given) = inputs.get(&step.id).filter(|_| step.inputs.is_empty()) {
            return Ok(Some(Value::Own(Arc::new(given.map(T::of)))));
        }
        if let Some(block) = self.block(step, lane) {
            return Ok(Some(block));
        }
        let views: Vec<View<'_, T>> =
            step.inputs.iter().filter_map(|id| self.view(self.plan.place(*id)?, lane)).collect();
        if views.len() != step.inputs.len() {
            // Given, but without numbers (a plan that is only counted), or an input that was itself left out.
            return Ok(None);
        }
        let value = step.op.compute(&views, arithmetic);
        refuse_overflow(step, &views, &value)?;
        Ok(Some(Value::Own(Arc::new(value))))
    }

    /// A step that only looks at a part of another, as a place in that one's buffer.
    fn block(&self, step: &Step, lane: Option<&Lane<T>>) -> Option<Value<T>> {
        let (row, column) = match &step.op {
            Op::Columns(block) => (0, block.from),
            Op::Rows(block) => (block.from, 0),
            _ => return None,
        };
        let whole = self.plan.place(*step.inputs.first()?)?;
        match self.value(whole, lane)? {
            Value::Own(_) => Some(Value::Block { of: whole, row, column }),
            Value::Block { of, row: r, column: c } => {
                Some(Value::Block { of: *of, row: r + row, column: c + column })
            }
        }
    }

    fn value<'b>(&'b self, place: usize, lane: Option<&'b Lane<T>>) -> Option<&'b Value<T>> {
        lane.and_then(|lane| lane.get(&place)).or(self.values[place].as_ref())
    }

    fn view<'b>(&'b self, place: usize, lane: Option<&'b Lane<T>>) -> Option<View<'b, T>> {
        match self.value(place, lane)? {
            Value::Own(matrix) => Some(matrix.as_view()),
            Value::Block { of, row, column } => match self.value(*of, lane)? {
                Value::Own(matrix) => Some(matrix.view((*row, *column), self.plan.steps()[place].shape)),
                Value::Block { .. } => None,
            },
        }
    }

    /// Puts a value in its place, and drops those that no later step and no view needs.
    fn settle(&mut self, place: usize, value: Option<Value<T>>) {
        self.values[place] = value;
        for done in &self.expire[place] {
            self.values[*done] = None;
        }
    }

    /// What is kept; a block whose whole is not kept becomes a matrix of its own.
    fn finish(mut self) -> Vec<Option<Value<T>>> {
        for place in 0..self.values.len() {
            let Some(Value::Block { of, .. }) = self.values[place] else { continue };
            if self.kept[place] && !self.kept[of] {
                let own = self.view(place, None).map(|view| Value::Own(Arc::new(view.into_owned())));
                self.values[place] = own;
            }
        }
        for (value, kept) in self.values.iter_mut().zip(&self.kept) {
            if !kept {
                *value = None;
            }
        }
        self.values
    }
}

/// Finite inputs can overflow in a product or a sum; nothing after that would mean anything.
fn refuse_overflow<T: Real>(step: &Step, inputs: &[View<'_, T>], value: &DMatrix<T>) -> Outcome<()> {
    if !can_overflow(step.id.name) {
        return Ok(());
    }
    // A bias holds −∞ where it hides.
    let biased = step.id.name.to_string().ends_with("biased_scores");
    let kept = |cell: &T| cell.is_finite() || (biased && *cell < T::zero());
    let Some(at) = value.iter().position(|cell| !kept(cell)) else { return Ok(()) };
    // −∞ that hides a key and NaN rows that a lesson asked for are handed on.
    if inputs.iter().any(|input| input.iter().any(|cell| !cell.is_finite())) {
        return Ok(());
    }
    let (row, column) = (at % value.nrows().max(1), at / value.nrows().max(1));
    Err(Fault::new(
        format!("{}[{},{}] is too large to compute", step.id, row + 1, column + 1),
        "a sum on the way to it passes the largest number there is",
        "scale the inputs or the projections down",
    )
    .into())
}

/// Steps that multiply or add; others choose, move or average what is there.
fn can_overflow(name: Name) -> bool {
    match name {
        Name::Q
        | Name::K
        | Name::V
        | Name::Qkv
        | Name::QNorm
        | Name::KNorm
        | Name::Average
        | Name::Output => true,
        Name::Head(_, step) => matches!(
            step,
            HeadStep::QNorm
                | HeadStep::KNorm
                | HeadStep::QRot
                | HeadStep::KRot
                | HeadStep::Scores
                | HeadStep::BiasedScores
        ),
        Name::Tile(_, _, step) => matches!(step, TileStep::Scores | TileStep::BiasedScores),
        Name::Stack(stack) => matches!(
            stack,
            Stack::QNorm | Stack::KNorm | Stack::QRot | Stack::KRot | Stack::Scores | Stack::BiasedScores
        ),
        _ => false,
    }
}
