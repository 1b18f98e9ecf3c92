//! A head that does not choose: even weights over what each query may see.

use super::super::{HeadStep, Plan};
use super::HeadPlace;
use crate::fault::Fault;
use crate::ops::{Even, Op};

/// The plan in which one head gives every key that a query may see the same weight, in every sequence of a batch; its
/// values stay.
///
/// # Errors
/// The plan has no such head, or the head's weights are no softmax of its scores any more.
pub fn uniform_head(plan: &Plan, head: HeadPlace) -> Result<Plan, Fault> {
    let mut even = plan.clone();
    for id in head.steps(plan, HeadStep::Weights)? {
        let Some(step) = plan.get(id) else { continue };
        let Op::Softmax(softmax) = &step.op else {
            let why = "another rewrite has put something in the place of the softmax of its scores";
            return Err(Fault::new(
                format!("the weights of {head} cannot be made even"),
                why,
                "leave one of the two out",
            ));
        };
        even.replace(id, Even { softmax: softmax.clone() }, &step.inputs)?;
    }
    Ok(even)
}
