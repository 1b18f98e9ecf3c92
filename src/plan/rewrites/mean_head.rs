//! A head that says the same to every token: its mean over the passage.

use super::super::{HeadStep, Plan};
use super::HeadPlace;
use crate::fault::Fault;
use crate::ops::RowMean;

/// The plan in which what one head finds gives way to its own mean over the tokens, column by column, in every sequence
/// of a batch by itself.
///
/// # Errors
/// The plan has no such head.
pub fn mean_head(plan: &Plan, head: HeadPlace) -> Result<Plan, Fault> {
    let mut averaged = plan.clone();
    for id in head.steps(plan, HeadStep::Output)? {
        let Some(step) = plan.get(id) else { continue };
        averaged.replace(id, RowMean { of: Box::new(step.op.clone()) }, &step.inputs)?;
    }
    Ok(averaged)
}
