//! As production code computes it: no loop over heads.

use super::super::attention::sequences;
use super::super::{Axis, Call, Head, HeadStep, Name, Plan, Projection, Stack, StepId};
use crate::fault::Fault;
use crate::ops::{Batched, Columns, Concat, MergeHeads, Op, Project, SplitHeads};

/// One packed product, heads brought forward, every step of all heads in one call, heads put back, W_O.
pub(super) fn rewrite(call: &Call, loop_plan: &Plan) -> Result<Plan, Fault> {
    let mut plan = Plan::default();
    for step in loop_plan.steps().iter().filter(|step| step.inputs.is_empty() && step.id.sequence.is_none()) {
        plan.push(step.clone());
    }
    for sequence in sequences(call) {
        add_sequence(&mut plan, call, loop_plan, sequence)?;
    }
    Ok(plan)
}

fn add_sequence(
    plan: &mut Plan,
    call: &Call,
    loop_plan: &Plan,
    sequence: Option<usize>,
) -> Result<(), Fault> {
    let own = |name: Name| StepId::of(sequence, name);
    let (h, g) = (call.attention.num_heads, call.attention.num_kv_heads);
    for step in loop_plan.steps().iter().filter(|step| step.inputs.is_empty() && step.id.sequence == sequence)
    {
        plan.push(step.clone());
    }
    project(plan, call, loop_plan, sequence)?;
    for name in [Name::QNorm, Name::KNorm] {
        if let Some(step) = loop_plan.get(own(name)) {
            plan.push(step.clone());
        }
    }
    let first =
        |name: Name, normed: Name| if plan.get(own(normed)).is_some() { own(normed) } else { own(name) };
    let (q, k) = (first(Name::Q, Name::QNorm), first(Name::K, Name::KNorm));
    for (stack, heads, from) in
        [(Stack::QHeads, h, q), (Stack::KHeads, g, k), (Stack::VHeads, g, own(Name::V))]
    {
        let id = plan.add(own(Name::Stack(stack)), SplitHeads { heads }, &[from])?;
        plan.axes(id, axes(stack, heads));
    }
    for step in HeadStep::ALL {
        let Some(stack) = stack_of(*step) else { continue };
        add_batched(plan, loop_plan, sequence, *step, stack, h, g)?;
    }
    let heads = own(Name::Stack(Stack::Heads));
    plan.add(own(Name::Concat), MergeHeads { heads: h }, &[heads])?;
    if let Some(output) = loop_plan.get(own(Name::Output)) {
        plan.push(output.clone());
    }
    Ok(())
}

/// Q, K and V as one product where they come from one input; as three where they do not.
fn project(plan: &mut Plan, call: &Call, loop_plan: &Plan, sequence: Option<usize>) -> Result<(), Fault> {
    let own = |name: Name| StepId::of(sequence, name);
    let three = [(Name::Q, Projection::Q), (Name::K, Projection::K), (Name::V, Projection::V)];
    let steps: Vec<_> = three.iter().filter_map(|(name, _)| loop_plan.get(own(*name))).collect();
    let projected = steps.len() == 3 && steps.iter().all(|step| step.op == Op::Project(Project));
    let one_input = steps.windows(2).all(|pair| pair[0].inputs.first() == pair[1].inputs.first());
    let biases = three.iter().filter(|(_, p)| call.inputs.contains_key(&Name::B(*p).into())).count();
    if !projected || !one_input || (biases != 0 && biases != 3) {
        for step in steps {
            plan.push(step.clone());
        }
        return Ok(());
    }
    let w = plan.add(Name::WQkv.into(), Concat, &three.map(|(_, p)| StepId::from(Name::W(p))))?;
    let mut inputs = vec![own(Name::X), w];
    if biases == 3 {
        inputs.push(plan.add(Name::BQkv.into(), Concat, &three.map(|(_, p)| StepId::from(Name::B(p))))?);
    }
    let qkv = plan.add(own(Name::Qkv), Project, &inputs)?;
    let mut from = 0;
    for step in steps {
        plan.add(step.id, Columns { from, width: step.shape.1 }, &[qkv])?;
        from += step.shape.1;
    }
    Ok(())
}

/// One step of all heads in one call.
fn add_batched(
    plan: &mut Plan,
    loop_plan: &Plan,
    sequence: Option<usize>,
    step: HeadStep,
    stack: Stack,
    h: usize,
    g: usize,
) -> Result<(), Fault> {
    let of = |head: usize| loop_plan.get(Head(head).step(step).in_sequence(sequence));
    let Some(one) = of(0) else { return Ok(()) };
    let sheets = if on_keys(stack) { g } else { h };
    let ops: Vec<Op> =
        (0..sheets).filter_map(|sheet| of(sheet * h / sheets.max(1))).map(|step| step.op.clone()).collect();
    let inputs: Vec<(StepId, usize)> = one
        .inputs
        .iter()
        .filter_map(|input| match input.name {
            Name::Head(_, step) => {
                let from = stack_for(step);
                Some((StepId::of(sequence, Name::Stack(from)), if on_keys(from) { g } else { h }))
            }
            _ => None,
        })
        .collect();
    let ids: Vec<StepId> = inputs.iter().map(|(id, _)| *id).collect();
    let batched = Batched { ops, sheets: inputs.iter().map(|(_, sheets)| *sheets).collect() };
    let id = plan.add(StepId::of(sequence, Name::Stack(stack)), batched, &ids)?;
    plan.axes(id, axes(stack, sheets));
    Ok(())
}

/// The stack that a head's step becomes, where it is computed for all heads at once.
fn stack_of(step: HeadStep) -> Option<Stack> {
    match step {
        // Rotated values are a mistake, which has no fused form.
        HeadStep::Q | HeadStep::K | HeadStep::V | HeadStep::VRot | HeadStep::SinkWeight => None,
        other => Some(stack_for(other)),
    }
}

fn stack_for(step: HeadStep) -> Stack {
    match step {
        HeadStep::VRot => Stack::VHeads,
        HeadStep::SinkWeight => Stack::Weights,
        // Every other step of a head has a stack of its own.
        step => Stack::ALL.iter().copied().find(|stack| stack.of_a_head() == step).unwrap_or(Stack::Heads),
    }
}

/// Whether a stack has a sheet a key/value head rather than a query head.
fn on_keys(stack: Stack) -> bool {
    matches!(stack, Stack::KHeads | Stack::VHeads | Stack::KNorm | Stack::KRot)
}

fn axes(stack: Stack, heads: usize) -> (Axis, Axis) {
    match stack {
        _ if on_keys(stack) => (Axis::StackedKeys(heads), Axis::Features),
        Stack::Scores | Stack::CappedScores | Stack::BiasedScores | Stack::MaskedScores | Stack::Weights => {
            (Axis::StackedQueries(heads), Axis::Keys)
        }
        _ => (Axis::StackedQueries(heads), Axis::Features),
    }
}
