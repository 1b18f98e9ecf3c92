//! Attention that looks elsewhere: two keys of a head trade their weights.

use super::super::{HeadStep, Plan};
use super::HeadPlace;
use crate::fault::Fault;
use crate::ops::Swapped;

/// The plan in which two keys (from 0) of one head trade their attention weights in every row, in every sequence of a
/// batch (after Jain & Wallace 2019, §4.2).
///
/// # Errors
/// The plan has no such head, no such key, or the two keys are one.
pub fn swap_keys(plan: &Plan, head: HeadPlace, keys: (usize, usize)) -> Result<Plan, Fault> {
    let mut swapped = plan.clone();
    for id in head.steps(plan, HeadStep::Weights)? {
        let Some(step) = plan.get(id) else { continue };
        let count = step.shape.1;
        if let Some(beyond) = [keys.0, keys.1].into_iter().find(|key| *key >= count) {
            return Err(Fault::new(
                format!("{head} has no key {}", beyond.saturating_add(1)),
                format!("it attends to {count}, counted from 1"),
                format!("choose two from 1 to {count}"),
            ));
        }
        if keys.0 == keys.1 {
            return Err(Fault::new(
                format!("key {} cannot trade places with itself", keys.0 + 1),
                "the weights of two different keys are exchanged",
                "name two different keys",
            ));
        }
        let weights = Box::new(step.op.clone());
        swapped.replace(id, Swapped { weights, keys }, &step.inputs)?;
    }
    Ok(swapped)
}
