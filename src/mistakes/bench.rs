//! Many plans that differ little, computed together: a step that two of them share is computed once.

use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};
use std::sync::Arc;

use nalgebra::DMatrix;

use super::fit;
use crate::ops::{Arithmetic, Op, Operation, View};
use crate::plan::{Inputs, Plan, StepId};

/// The number under which a value is kept.
pub(super) type Value = usize;

/// Values by what made them: the operation and its inputs.
pub(super) struct Bench<'a> {
    inputs: &'a Inputs,
    arithmetic: Arithmetic,
    values: Vec<Arc<DMatrix<f64>>>,
    /// The largest size and the smallest number of values that were asked for them.
    extremes: HashMap<Value, (f64, f64)>,
    given: HashMap<StepId, Value>,
    made: HashMap<Key, Vec<(Op, Value)>>,
    /// In which order they were made, to forget the newest first.
    log: Vec<Key>,
    numbers: usize,
}

type Key = (Discriminant<Op>, Vec<Value>);

/// Steps whose values are someone's own instead of computed.
pub(super) type Own = HashMap<StepId, Value>;

/// How many numbers are kept at most before the newest are forgotten: 512 MiB.
const MOST_NUMBERS: usize = 1 << 26;

/// A place to go back to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    values: usize,
    log: usize,
}

impl<'a> Bench<'a> {
    pub(super) fn new(inputs: &'a Inputs, arithmetic: Arithmetic) -> Self {
        Self {
            inputs,
            arithmetic,
            values: Vec::new(),
            extremes: HashMap::new(),
            given: HashMap::new(),
            made: HashMap::new(),
            log: Vec::new(),
            numbers: 0,
        }
    }

    /// The numbers of a value.
    pub(super) fn get(&self, value: Value) -> &DMatrix<f64> {
        &self.values[value]
    }

    /// The largest size and the smallest of all numbers in some values.
    pub(super) fn extremes(&mut self, values: &[Value]) -> (f64, f64) {
        values.iter().fold((0.0, f64::INFINITY), |(largest, least), value| {
            let matrix = &self.values[*value];
            let (l, s) =
                *self.extremes.entry(*value).or_insert_with(|| fit::extremes(std::iter::once(&**matrix)));
            (largest.max(l), least.min(s))
        })
    }

    /// Keeps numbers that nothing here made.
    pub(super) fn keep(&mut self, matrix: DMatrix<f64>) -> Value {
        self.store(Arc::new(matrix))
    }

    fn store(&mut self, matrix: Arc<DMatrix<f64>>) -> Value {
        self.numbers += matrix.len();
        self.values.push(matrix);
        self.values.len() - 1
    }

    /// The values of some steps of a plan; `None` where an input was not given.
    pub(super) fn run(&mut self, plan: &Plan, own: &Own, ids: &[StepId]) -> Option<Vec<Value>> {
        let mut known = vec![None; plan.steps().len()];
        ids.iter().map(|id| self.value(plan, own, plan.place(*id)?, &mut known)).collect()
    }

    /// The value of the step at a place; `known` are those of the plan that are known.
    pub(super) fn value(
        &mut self,
        plan: &Plan,
        own: &Own,
        place: usize,
        known: &mut [Option<Value>],
    ) -> Option<Value> {
        if let Some(value) = known[place] {
            return Some(value);
        }
        let step = &plan.steps()[place];
        let value = match own.get(&step.id) {
            Some(value) => *value,
            None if step.inputs.is_empty() => self.input(step.id)?,
            None => {
                let inputs = step
                    .inputs
                    .iter()
                    .map(|input| self.value(plan, own, plan.place(*input)?, known))
                    .collect::<Option<Vec<Value>>>()?;
                self.make(&step.op, inputs)
            }
        };
        known[place] = Some(value);
        Some(value)
    }

    fn input(&mut self, id: StepId) -> Option<Value> {
        if let Some(value) = self.given.get(&id) {
            return Some(*value);
        }
        let value = self.store(self.inputs.get(&id)?.clone());
        self.given.insert(id, value);
        Some(value)
    }

    /// The value of an operation on values.
    pub(super) fn make(&mut self, op: &Op, inputs: Vec<Value>) -> Value {
        let key = (discriminant(op), inputs);
        if let Some(made) = self.made.get(&key)
            && let Some((_, value)) = made.iter().find(|(known, _)| known == op)
        {
            return *value;
        }
        let views: Vec<View<'_, f64>> = key.1.iter().map(|input| self.values[*input].as_view()).collect();
        let matrix = op.compute(&views, self.arithmetic);
        let value = self.store(Arc::new(matrix));
        self.made.entry(key.clone()).or_default().push((op.clone(), value));
        self.log.push(key);
        value
    }

    /// Where things stand now.
    pub(super) fn mark(&self) -> Mark {
        Mark { values: self.values.len(), log: self.log.len() }
    }

    /// Forgets what came after a mark, if there is too much to keep.
    pub(super) fn release(&mut self, mark: Mark) {
        if self.numbers <= MOST_NUMBERS {
            return;
        }
        for key in self.log.drain(mark.log..).rev() {
            if let Some(made) = self.made.get_mut(&key) {
                made.pop();
            }
        }
        self.given.retain(|_, value| *value < mark.values);
        // Their numbers are never given out again: what was found out about a value stays true.
        let nothing = Arc::new(DMatrix::zeros(0, 0));
        for matrix in &mut self.values[mark.values..] {
            self.numbers -= matrix.len();
            *matrix = nothing.clone();
        }
    }
}
