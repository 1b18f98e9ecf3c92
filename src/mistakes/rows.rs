//! A few query rows of a plan, computed without the others: enough to see that a large plan is not the one.
//!
//! Most operations between a head's queries and the output work row by row. Where one does not (a softmax down the
//! columns, heads merged in another order), there is no short cut.

use std::collections::HashMap;
use std::sync::Arc;

use super::bench::{Bench, Own, Value};
use crate::ops::{Bias, Mask, MaskTimes, Op, Place, Rearrange, Reweighed, Rope};
use crate::plan::{HeadStep, Name, Plan, Stack, StepId};

/// Whether the rows of a step are queries, and belong to the part that is computed for a few of them only.
fn is_restricted(name: Name) -> bool {
    match name {
        Name::Head(_, step) => {
            !matches!(step, HeadStep::K | HeadStep::V | HeadStep::KNorm | HeadStep::KRot | HeadStep::VRot)
        }
        Name::Concat | Name::Average | Name::Output | Name::Stack(Stack::Weights) => true,
        _ => false,
    }
}

/// The operation on these rows alone; `None` where it needs the others.
fn restricted(op: &Op, rows: &[usize]) -> Option<Op> {
    Some(match op {
        Op::Mask(Mask { allowed, reasons, hidden_by }) => Mask {
            allowed: Arc::new(allowed.select_rows(rows)),
            reasons: reasons.clone(),
            hidden_by: Arc::new(hidden_by.select_rows(rows)),
        }
        .into(),
        Op::MaskTimes(MaskTimes { allowed, reasons }) => {
            MaskTimes { allowed: Arc::new(allowed.select_rows(rows)), reasons: reasons.clone() }.into()
        }
        Op::Reweighed(Reweighed { softmax, factors, said }) => {
            Reweighed { softmax: softmax.clone(), factors: Arc::new(factors.select_rows(rows)), said }.into()
        }
        Op::Bias(Bias { alibi: None, add }) => {
            Bias { alibi: None, add: add.as_ref().map(|add| Arc::new(add.select_rows(rows))) }.into()
        }
        Op::Rope(rope) => {
            let positions =
                rows.iter().map(|row| rope.positions.get(*row).copied()).collect::<Option<_>>()?;
            Rope { positions, ..rope.clone() }.into()
        }
        Op::Columns(_)
        | Op::RmsNorm(_)
        | Op::Scores(_)
        | Op::ScoresInHalf(_)
        | Op::Softcap(_)
        | Op::Softmax(_)
        | Op::SoftmaxOverHeads(_)
        | Op::RowShare(_)
        | Op::Mix(_)
        | Op::Concat(_)
        | Op::Average(_)
        | Op::Project(_)
        | Op::ProjectTransposed(_)
        | Op::ProjectMean(_) => op.clone(),
        _ => return None,
    })
}

/// Whether a step can be computed for a few query rows alone.
pub(super) fn has_short_cut(plan: &Plan, own: &Own, id: StepId) -> bool {
    if !is_restricted(id.name) || matches!(id.name, Name::Head(_, HeadStep::Q)) || own.contains_key(&id) {
        return true;
    }
    plan.get(id).is_some_and(|step| {
        restricted(&step.op, &[]).is_some()
            && step.inputs.iter().all(|input| has_short_cut(plan, own, *input))
    })
}

impl Bench<'_> {
    /// These rows of some steps of a plan; `None` where the plan cannot be computed for some rows alone.
    pub(super) fn run_rows(
        &mut self,
        plan: &Plan,
        own: &Own,
        ids: &[StepId],
        rows: &[usize],
    ) -> Option<Vec<Value>> {
        let mut few = Few { plan, own, rows, whole: vec![None; plan.steps().len()], known: HashMap::new() };
        ids.iter().map(|id| few.value(self, *id)).collect()
    }
}

/// One plan, as far as its rows are known.
struct Few<'p> {
    plan: &'p Plan,
    own: &'p Own,
    rows: &'p [usize],
    whole: Vec<Option<Value>>,
    known: HashMap<StepId, Value>,
}

impl Few<'_> {
    fn value(&mut self, bench: &mut Bench<'_>, id: StepId) -> Option<Value> {
        if let Some(value) = self.known.get(&id) {
            return Some(*value);
        }
        let place = self.plan.place(id)?;
        let step = &self.plan.steps()[place];
        let value = if !is_restricted(id.name) {
            bench.value(self.plan, self.own, place, &mut self.whole)?
        } else if matches!(id.name, Name::Head(_, HeadStep::Q)) || self.own.contains_key(&id) {
            // Here the few rows begin.
            let whole = bench.value(self.plan, self.own, place, &mut self.whole)?;
            let columns = bench.get(whole).ncols();
            if self.rows.iter().any(|row| *row >= bench.get(whole).nrows()) {
                return None;
            }
            let rows = self.rows;
            let few = Rearrange::new(rows.len(), columns, "", |r, c| Place::of(0, rows[r], c));
            bench.make(&few.into(), vec![whole])
        } else {
            let op = restricted(&step.op, self.rows)?;
            let inputs =
                step.inputs.iter().map(|input| self.value(bench, *input)).collect::<Option<Vec<_>>>()?;
            bench.make(&op, inputs)
        };
        self.known.insert(id, value);
        Some(value)
    }
}
