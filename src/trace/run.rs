//! The engine: steps in order, heads side by side on several threads where that is asked for.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::overflow::refuse_overflow;
use super::{Trace, Value};
use crate::fault::{Fault, Outcome};
use crate::limits::KEPT_NUMBERS;
use crate::ops::{Arithmetic, Op, Operation, Real, View};
use crate::plan::{Inputs, Plan, Source, Step, StepId};

/// Which values a trace keeps.
#[derive(Debug, Clone)]
pub enum Keep {
    /// Every step's.
    All,
    /// Those of these steps; nothing is computed that they do not need, and what they need is dropped after use.
    Only(HashSet<StepId>),
}

/// Computes a plan's steps from its inputs.
///
/// # Errors
/// A number that is too large for the type; inputs that cannot be read.
pub fn run_plan<T: Real>(
    plan: Arc<Plan>,
    inputs: &dyn Source<T>,
    keep: &Keep,
    arithmetic: Arithmetic,
) -> Outcome<Trace<T>> {
    let mut engine = Engine::new(&plan, keep, arithmetic);
    engine.refuse_more_than_memory_holds()?;
    match arithmetic.threads() {
        1 => engine.run(inputs)?,
        // Among the threads that share the work out, so that none has to be woken for a step.
        _ => rayon::scope(|_| engine.run(inputs))?,
    }
    let values = engine.finish()?;
    Ok(Trace { plan, values })
}

/// The end of the run of steps from `from` on that belong to heads.
fn run_of_heads(plan: &Plan, from: usize) -> usize {
    let heads = |step: &&Step| step.id.head().is_some() && !step.inputs.is_empty();
    from + plan.steps()[from..].iter().take_while(heads).count()
}

/// Whether an operation only looks at a part of its input.
fn looks_only(op: &Op) -> bool {
    matches!(op, Op::Columns(_) | Op::Rows(_) | Op::Same(_))
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
            if let Some(whole) = steps[place].inputs.first()
                && looks_only(&steps[place].op)
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

    /// Computes the steps that are wanted, in order.
    fn run(&mut self, inputs: &dyn Source<T>) -> Outcome<()> {
        let plan = self.plan;
        let mut from = 0;
        while from < plan.steps().len() {
            let to = run_of_heads(plan, from);
            if to > from {
                self.run_heads(from..to)?;
                from = to;
            } else {
                let value = self.compute_here(from, inputs)?;
                self.settle(from, value);
                from += 1;
            }
        }
        Ok(())
    }

    /// Computes a step of which no lane knows.
    fn compute_here(&mut self, place: usize, inputs: &dyn Source<T>) -> Outcome<Option<Value<T>>> {
        if let Some(input) = self.spent(place)
            && let Some(done) = over(&self.plan.steps()[place].op, &mut self.values[input], self.arithmetic)
        {
            return Ok(Some(done));
        }
        self.compute(place, inputs, None, self.arithmetic)
    }

    /// The only input of a step, where nothing reads that afterwards.
    fn spent(&self, place: usize) -> Option<usize> {
        let [input] = &self.plan.steps()[place].inputs[..] else { return None };
        let input = self.plan.place(*input)?;
        (self.wanted[place] && self.expire[place].contains(&input)).then_some(input)
    }

    /// Counts what is to be kept before anything is allocated.
    fn refuse_more_than_memory_holds(&self) -> Outcome<()> {
        let kept =
            self.plan.steps().iter().zip(&self.kept).filter(|(step, kept)| **kept && !looks_only(&step.op));
        let numbers: u128 = kept.map(|(step, _)| step.shape.0 as u128 * step.shape.1 as u128).sum();
        if numbers <= KEPT_NUMBERS {
            return Ok(());
        }
        let gibibytes = |numbers: u128| numbers as f64 * size_of::<T>() as f64 / f64::from(1u32 << 30);
        Err(Fault::new(
            format!("this would hold {numbers} numbers at once ({:.1} GiB)", gibibytes(numbers)),
            format!("at most {KEPT_NUMBERS} are kept ({:.1} GiB)", gibibytes(KEPT_NUMBERS)),
            "choose fewer steps (--steps), heads (--heads) or variants, or larger tiles",
        )
        .into())
    }

    /// Whether a head in this run reads another one's steps of the same run: only where attention is computed wrongly.
    fn heads_read_each_other(&self, run: std::ops::Range<usize>) -> bool {
        let of_another = |step: &Step, input: &StepId| {
            input.head().is_some()
                && input.head() != step.id.head()
                && self.plan.place(*input).is_some_and(|place| run.contains(&place))
        };
        let steps = &self.plan.steps()[run.clone()];
        steps.iter().any(|step| step.inputs.iter().any(|input| of_another(step, input)))
    }

    /// Computes a run of head steps: where heads do not read each other, each thread takes some of them.
    fn run_heads(&mut self, run: std::ops::Range<usize>) -> Outcome<()> {
        let threads = match self.arithmetic.threads() {
            threads if threads > 1 && self.heads_read_each_other(run.clone()) => 1,
            threads => threads,
        };
        let mut lanes: Vec<Vec<usize>> = vec![Vec::new(); threads];
        for place in run.clone() {
            let head = self.plan.steps()[place].id.head().map_or(0, |head| head.0);
            lanes[head % threads].push(place);
        }
        if threads == 1 || lanes.iter().filter(|lane| !lane.is_empty()).count() < 2 {
            for place in run {
                let value = self.compute_here(place, &Inputs::<T>::new())?;
                self.settle(place, value);
            }
            return Ok(());
        }
        let busy = lanes.iter().filter(|lane| !lane.is_empty()).count();
        let inner = Arithmetic::Fast { threads: threads / busy };
        let this = &*self;
        let mut done: Vec<Outcome<Lane<T>>> = lanes.iter().map(|_| Ok(Lane::new())).collect();
        rayon::scope(|scope| {
            for (places, done) in lanes.iter().zip(&mut done) {
                scope.spawn(move |_| *done = this.run_lane(places, inner));
            }
        });
        for lane in done {
            for (place, value) in lane? {
                self.values[place] = Some(value);
            }
        }
        for place in run {
            self.drop_expired(place);
        }
        Ok(())
    }

    fn run_lane(&self, places: &[usize], arithmetic: Arithmetic) -> Outcome<Lane<T>> {
        let mut lane = Lane::new();
        for place in places {
            let spent = self.spent(*place).and_then(|input| lane.remove_entry(&input));
            let value = match spent {
                None => None,
                Some((input, value)) => {
                    let mut value = Some(value);
                    let done = over(&self.plan.steps()[*place].op, &mut value, arithmetic);
                    lane.extend(value.map(|value| (input, value)));
                    done
                }
            };
            let value = match value {
                Some(value) => Some(value),
                None => self.compute(*place, &Inputs::<T>::new(), Some(&lane), arithmetic)?,
            };
            lane.extend(value.map(|value| (*place, value)));
            for done in &self.expire[*place] {
                lane.remove(done);
            }
        }
        Ok(lane)
    }

    fn compute(
        &self,
        place: usize,
        inputs: &dyn Source<T>,
        lane: Option<&Lane<T>>,
        arithmetic: Arithmetic,
    ) -> Outcome<Option<Value<T>>> {
        let step = &self.plan.steps()[place];
        if !self.wanted[place] {
            return Ok(None);
        }
        if step.inputs.is_empty()
            && let Some(given) = inputs.matrix(step.id)?
        {
            return Ok(Some(Value::Own(given)));
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
            Op::Same(_) => (0, 0),
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
        self.drop_expired(place);
    }

    fn drop_expired(&mut self, place: usize) {
        for done in &self.expire[place] {
            self.values[*done] = None;
        }
    }

    /// What is kept; a block whose whole is not kept becomes a matrix of its own.
    fn finish(mut self) -> Outcome<Vec<Option<Value<T>>>> {
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
        match self.values.iter().zip(&self.kept).position(|(value, kept)| *kept && value.is_none()) {
            None => Ok(self.values),
            Some(place) => Err(Fault::new(
                format!("{} was asked for and has no value", self.plan.steps()[place].id),
                "something that it is made from was not given",
                "give every input that the plan names",
            )
            .into()),
        }
    }
}

/// The value of a step in the memory of its spent input, where its operation can do that; else the input stays.
fn over<T: Real>(op: &Op, input: &mut Option<Value<T>>, arithmetic: Arithmetic) -> Option<Value<T>> {
    let Some(Value::Own(matrix)) = input else { return None };
    if !op.compute_over(Arc::get_mut(matrix)?, arithmetic) {
        return None;
    }
    input.take()
}
