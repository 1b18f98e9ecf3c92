//! One head run h times and averaged: the myth of "the same attention several times".

use super::super::{Call, Head, Name, Plan, Step, StepId, attention};
use super::heads;
use crate::fault::Fault;
use crate::ops::Average;

/// The single head's steps, once for each head, and their mean in place of the concatenation.
pub(super) fn rewrite(call: &Call) -> Result<(Call, Plan), Fault> {
    let single = heads::single(call)?;
    let once = attention::plan(&single)?;
    let mut plan = Plan::default();
    for step in once.steps() {
        match step.id.name {
            Name::Head(..) => {
                for head in 0..call.attention.num_heads {
                    plan.push(Step {
                        id: of_head(step.id, head),
                        inputs: step.inputs.iter().map(|input| of_head(*input, head)).collect(),
                        ..step.clone()
                    });
                }
            }
            Name::Concat => {
                let heads: Vec<StepId> = step
                    .inputs
                    .iter()
                    .flat_map(|input| (0..call.attention.num_heads).map(|head| of_head(*input, head)))
                    .collect();
                plan.add(StepId { name: Name::Average, ..step.id }, Average, &heads)?;
            }
            _ => {
                let average = |id: &StepId| match id.name {
                    Name::Concat => StepId { name: Name::Average, ..*id },
                    _ => *id,
                };
                plan.push(Step { inputs: step.inputs.iter().map(average).collect(), ..step.clone() });
            }
        }
    }
    Ok((single, plan))
}

fn of_head(id: StepId, head: usize) -> StepId {
    match id.name {
        Name::Head(_, step) => StepId { name: Name::Head(Head(head), step), ..id },
        _ => id,
    }
}
