//! The numbers of an expression from one trace: of a lesson that has no runs.

use nalgebra::DMatrix;

use super::{Figure, Numbers};
use crate::plan::{Attention, Head, Name, Plan, StepId};
use crate::trace::Trace;

/// A trace to which expressions are put.
#[derive(Debug, Clone, Copy)]
pub struct OfTrace<'a> {
    /// The numbers.
    pub trace: &'a Trace<f64>,
    /// The attention call.
    pub attention: &'a Attention,
    /// What steps without a sequence mean, where the input has a batch axis.
    pub sequence: Option<usize>,
}

impl Numbers for OfTrace<'_> {
    fn step(&self, step: StepId, run: Option<&str>) -> Result<DMatrix<f64>, String> {
        no_run(run)?;
        [step, step.in_sequence(self.sequence)]
            .into_iter()
            .find_map(|step| value(self.trace, step))
            .ok_or_else(|| format!("there is no step {step}"))
    }

    fn figure(&self, figure: Figure, run: Option<&str>) -> Result<f64, String> {
        no_run(run)?;
        let plan = self.trace.plan();
        let cost = plan.cost(self.sequence);
        let Attention { num_kv_heads, d_k, d_v, .. } = *self.attention;
        Ok(match figure {
            Figure::Parameters => plan.parameters(),
            Figure::Multiplications => cost.multiplications,
            Figure::Additions => cost.additions,
            Figure::Exponentials => cost.exponentials,
            Figure::Cached => num_kv_heads as u128 * (d_k as u128 + d_v as u128),
        } as f64)
    }

    fn count(&self, _: &str, _: &str) -> Result<f64, String> {
        Err("models are counted by mha learn".to_owned())
    }

    fn slope(&self, _: (StepId, Option<&str>), _: StepId) -> Result<f64, String> {
        Err("slopes are computed by mha learn".to_owned())
    }

    fn variable(&self) -> Option<f64> {
        None
    }
}

fn no_run(run: Option<&str>) -> Result<(), String> {
    match run {
        None => Ok(()),
        Some(run) => Err(format!("the run {run} is computed by mha learn")),
    }
}

/// The numbers of a step that a trace holds. A stack that the plan does not have (`weights`) is put together from its
/// heads, one above the other.
pub fn value(trace: &Trace<f64>, step: StepId) -> Option<DMatrix<f64>> {
    if let Some(value) = trace.get(step) {
        return Some(value.into_owned());
    }
    let heads: Vec<_> = sheets(trace.plan(), step).filter_map(|step| trace.get(step)).collect();
    let (rows, columns) = heads.first()?.shape();
    if heads.iter().any(|head| head.shape() != (rows, columns)) {
        return None;
    }
    let mut stacked = DMatrix::zeros(heads.len() * rows, columns);
    for (index, head) in heads.iter().enumerate() {
        stacked.rows_mut(index * rows, rows).copy_from(head);
    }
    Some(stacked)
}

/// The steps of the heads that a stack is put together from; none where the step is no stack.
pub fn sheets(plan: &Plan, step: StepId) -> impl Iterator<Item = StepId> {
    let name = move |head: usize| match step.name {
        Name::Stack(stack) => Some(StepId { name: Name::Head(Head(head), stack.of_a_head()), ..step }),
        _ => None,
    };
    (0..).map_while(name).take_while(|step| plan.get(*step).is_some())
}
