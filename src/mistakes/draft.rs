//! A plan that is being changed into a wrong one.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use nalgebra::DMatrix;

use crate::ops::{self, FullyMaskedRows, Op};
use crate::plan::attention::sequences;
use crate::plan::spec::Mask;
use crate::plan::{Attention, Axis, Call, Head, HeadStep, Name, Plan, Step, StepId, masks, names};
use crate::words::t;

/// A right plan, open to changes of its steps; [`Draft::finish`] puts them in order again and checks that they fit.
///
/// Changes take back `None` where they have no meaning for the problem (no mask to forget, one head only, …).
pub struct Draft<'a> {
    /// The call that the right plan was built from.
    pub call: &'a Call,
    /// Its attention; changes of masks start from what earlier changes left.
    pub attention: Attention,
    /// What the person has, for the one mistake that chance has a part in; see [`super::Mistake`].
    pub seen: Option<&'a Seen>,
    steps: Vec<Step>,
    places: HashMap<StepId, usize>,
    /// For each key/value head, the query head whose keys and values are shown for it.
    kv_sheets: Vec<usize>,
}

/// Attention weights as a person has them and as they should be: one matrix (n_q × n_kv) a head, sequences in order.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The person's.
    pub theirs: Vec<DMatrix<f64>>,
    /// The right ones.
    pub right: Vec<DMatrix<f64>>,
}

/// A wrong plan, complete.
#[derive(Debug, Clone)]
pub struct Wrong {
    /// Its steps, in an order that can be run.
    pub plan: Plan,
    /// For each key/value head, the query head whose keys and values are shown for it.
    pub kv_sheets: Vec<usize>,
}

impl Wrong {
    /// The right plan itself, seen in the same way.
    pub fn right(call: &Call, plan: &Plan) -> Self {
        Self { plan: plan.clone(), kv_sheets: call.attention.kv_sheets() }
    }

    /// The steps that make up a stacked name, sequences first, then heads; `None` for the heads where the name is not
    /// stacked over them. Nothing where the plan has no such step.
    pub fn sheets(&self, name: Name) -> Option<(Vec<StepId>, Option<usize>)> {
        let first = |name: Name| {
            [None, Some(0)]
                .into_iter()
                .map(|sequence| StepId::of(sequence, name))
                .find(|id| self.plan.get(*id).is_some())
        };
        let whole = |start: StepId| -> Vec<StepId> {
            match start.sequence {
                None => vec![start],
                Some(_) => (0..)
                    .map(|sequence| start.in_sequence(Some(sequence)))
                    .take_while(|id| self.plan.get(*id).is_some())
                    .collect(),
            }
        };
        if let Some(start) = first(name) {
            return Some((whole(start), None));
        }
        let Name::Stack(stack) = name else { return None };
        let step = stack.of_a_head();
        let start = first(Name::Head(Head(0), step))?;
        let heads: Vec<usize> = match step {
            HeadStep::K | HeadStep::V | HeadStep::KNorm | HeadStep::KRot => self.kv_sheets.clone(),
            _ => (0..)
                .take_while(|head| {
                    self.plan.get(Head(*head).step(step).in_sequence(start.sequence)).is_some()
                })
                .collect(),
        };
        let ids = whole(start)
            .iter()
            .flat_map(|id| heads.iter().map(|head| Head(*head).step(step).in_sequence(id.sequence)))
            .collect();
        Some((ids, Some(heads.len())))
    }
}

impl<'a> Draft<'a> {
    /// A draft that is still right.
    pub fn new(call: &'a Call, right: &Plan, seen: Option<&'a Seen>) -> Self {
        let steps = right.steps().to_vec();
        let places = steps.iter().enumerate().map(|(place, step)| (step.id, place)).collect();
        let attention = call.attention.clone();
        let kv_sheets = attention.kv_sheets();
        Self { call, attention, seen, steps, places, kv_sheets }
    }

    /// Starts again from another right plan: what a mistake about the whole call does.
    pub fn restart(&mut self, attention: Attention, plan: &Plan) {
        self.kv_sheets = attention.kv_sheets();
        self.attention = attention;
        self.steps = plan.steps().to_vec();
        self.reindex();
    }

    fn reindex(&mut self) {
        self.places = self.steps.iter().enumerate().map(|(place, step)| (step.id, place)).collect();
    }

    /// The sequences of the call, as step ids name them.
    pub fn sequences(&self) -> Vec<Option<usize>> {
        sequences(self.call)
    }

    /// How many heads the draft has.
    pub fn heads(&self) -> usize {
        self.attention.num_heads
    }

    /// Sets how many heads there are, each with keys and values of its own.
    pub fn set_heads(&mut self, heads: usize) {
        self.attention.num_heads = heads;
        self.attention.num_kv_heads = heads;
        self.kv_sheets = (0..heads).collect();
    }

    /// A step, where it is there.
    pub fn get(&self, id: StepId) -> Option<&Step> {
        self.places.get(&id).map(|place| &self.steps[*place])
    }

    /// Changes a step; `None` where it is not there.
    pub fn set(&mut self, id: StepId, op: impl Into<Op>, inputs: &[StepId]) -> Option<()> {
        let step = self.steps.get_mut(*self.places.get(&id)?)?;
        change(step, op.into(), inputs.to_vec());
        Some(())
    }

    /// Puts a step in place of one of the same name, or at the end.
    pub fn put(&mut self, id: StepId, op: impl Into<Op>, inputs: &[StepId]) {
        let op = op.into();
        match self.places.get(&id) {
            Some(place) => {
                change(&mut self.steps[*place], op, inputs.to_vec());
            }
            None => {
                self.places.insert(id, self.steps.len());
                let axes = names::axes(id.name);
                let inputs = inputs.to_vec();
                // The shape is worked out when the draft is finished.
                let step = Step { id, op, inputs, shape: (0, 0), axes, note: String::new(), repeats: false };
                self.steps.push(step);
            }
        }
    }

    /// Puts a step in place whose rows and columns stand for something else than its name says.
    pub fn put_in(&mut self, id: StepId, op: impl Into<Op>, inputs: &[StepId], axes: (Axis, Axis)) {
        self.put(id, op, inputs);
        if let Some(place) = self.places.get(&id) {
            self.steps[*place].axes = axes;
        }
    }

    /// Takes out every step that is not kept.
    pub fn retain(&mut self, keep: impl Fn(&Step) -> bool) {
        self.steps.retain(|step| keep(step));
        self.reindex();
    }

    /// Changes the operation of every step of a kind in every head; `None` where there is no such step.
    pub fn each_head(
        &mut self,
        step: HeadStep,
        mut wrong: impl FnMut(StepId, &Op, &[StepId]) -> Option<(Op, Vec<StepId>)>,
    ) -> Option<()> {
        let mut found = None;
        for entry in &mut self.steps {
            if matches!(entry.id.name, Name::Head(_, own) if own == step) {
                let (op, inputs) = wrong(entry.id, &entry.op, &entry.inputs)?;
                change(entry, op, inputs);
                found = Some(());
            }
        }
        found
    }

    /// Rows of queries and of keys.
    pub fn lengths(&self) -> Option<(usize, usize)> {
        let sequence = *self.sequences().first()?;
        let rows = |name| self.get(StepId::of(sequence, name)).map(|step| step.shape.0);
        Some((rows(Name::Q)?, rows(Name::K)?))
    }

    /// Says how many queries and keys there are now, for changes that come after.
    pub fn set_lengths(&mut self, n_q: usize, n_kv: usize) {
        for step in &mut self.steps {
            match step.id.name {
                Name::Q => step.shape.0 = n_q,
                Name::K | Name::V => step.shape.0 = n_kv,
                _ => {}
            }
        }
    }

    /// Lets masks that follow the diagonal follow it for other lengths; masks that were given for the lesson's own
    /// lengths stay, and fit or do not.
    pub fn resize(&mut self, n_q: usize, n_kv: usize) -> Option<()> {
        if self.lengths() == Some((n_q, n_kv)) || self.attention.masks.is_empty() {
            return Some(());
        }
        let follows = |mask: &Mask| matches!(mask, Mask::Causal(_) | Mask::Window { .. });
        if !self.attention.masks.iter().all(follows) {
            return None;
        }
        self.mask_as(n_q, n_kv)
    }

    /// Hides what other masks would hide, in every head; the scores themselves stay. `None` where there is no mask.
    pub fn remask(&mut self, change: impl FnOnce(&mut Vec<Mask>) -> Option<()>) -> Option<()> {
        let (n_q, n_kv) = self.lengths()?;
        change(&mut self.attention.masks)?;
        self.mask_as(n_q, n_kv)
    }

    /// Resolves the draft's masks for these lengths.
    fn mask_as(&mut self, n_q: usize, n_kv: usize) -> Option<()> {
        let attention = Attention { fully_masked_rows: FullyMaskedRows::Zeros, ..self.attention.clone() };
        let mut resolved: BTreeMap<Option<usize>, Vec<masks::ScoreChanges>> = BTreeMap::new();
        for sequence in self.sequences() {
            resolved.insert(sequence, masks::resolve(&attention, n_q, n_kv, sequence).ok()?);
        }
        self.each_head(HeadStep::MaskedScores, |id, _, inputs| {
            let of_head = resolved.get(&id.sequence)?.get(id.head()?.0)?;
            let mask = of_head.mask.clone().unwrap_or_else(|| nothing_hidden(n_q, n_kv));
            Some((mask.into(), inputs.to_vec()))
        })
    }

    /// The finished plan: steps in an order that can be run, shapes worked out anew. `None` where they do not fit.
    pub fn finish(self) -> Option<Wrong> {
        let mut plan = Plan::default();
        let mut state = vec![Visit::New; self.steps.len()];
        for place in 0..self.steps.len() {
            self.visit(place, &mut state, &mut plan)?;
        }
        Some(Wrong { plan, kv_sheets: self.kv_sheets })
    }

    fn visit(&self, place: usize, state: &mut [Visit], plan: &mut Plan) -> Option<()> {
        match state[place] {
            Visit::Done => return Some(()),
            Visit::Open => return None, // a circle: not a plan
            Visit::New => state[place] = Visit::Open,
        }
        let step = &self.steps[place];
        for input in &step.inputs {
            self.visit(*self.places.get(input)?, state, plan)?;
        }
        plan.add(step.id, step.op.clone(), &step.inputs).ok()?;
        plan.axes(step.id, step.axes);
        plan.note(step.id, step.note.clone());
        plan.repeats(step.id, step.repeats);
        state[place] = Visit::Done;
        Some(())
    }
}

/// Changes a step; what its note said of it may no longer hold.
fn change(step: &mut Step, op: Op, inputs: Vec<StepId>) {
    (step.op, step.inputs, step.repeats) = (op, inputs, false);
    step.note.clear();
}

/// Whether a step was reached while a plan is put in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visit {
    New,
    Open,
    Done,
}

/// A mask that lets every query see every key.
fn nothing_hidden(n_q: usize, n_kv: usize) -> ops::Mask {
    ops::Mask {
        allowed: Arc::new(DMatrix::from_element(n_q, n_kv, true)),
        reasons: t!("nothing is hidden"),
        hidden_by: Arc::new(DMatrix::from_element(n_q, n_kv, 0)),
    }
}
