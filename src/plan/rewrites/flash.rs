//! FlashAttention's way: tile by tile with a running maximum and sum (Dao et al. 2022).
//!
//! Tiles run over the keys. The published kernel also takes the queries in tiles, to fit the processor's fast
//! memory; rows do not depend on each other, so that changes no number.

use std::sync::Arc;

use super::super::{Axis, Head, HeadStep, Name, Plan, Step, StepId, TileStep};
use crate::fault::Fault;
use crate::ops::{Alibi, Bias, FinishSoftmax, Mask, OnlineSoftmax, Op, Rows};

/// Every head's scores, softmax and mix replaced by a pass over tiles of `tile` keys.
pub(super) fn rewrite(loop_plan: &Plan, tile: Option<usize>) -> Result<Plan, Fault> {
    let mut plan = Plan::default();
    for step in loop_plan.steps() {
        match step.id.name {
            Name::Head(_, HeadStep::Output) => add_tiles(&mut plan, loop_plan, step, tile)?,
            Name::Head(_, within) if replaced(within) => {}
            _ => plan.push(step.clone()),
        }
    }
    Ok(plan)
}

/// Steps that hold an n × n matrix, or follow from one.
fn replaced(step: HeadStep) -> bool {
    matches!(
        step,
        HeadStep::Scores
            | HeadStep::CappedScores
            | HeadStep::BiasedScores
            | HeadStep::MaskedScores
            | HeadStep::Weights
            | HeadStep::SinkWeight
    )
}

/// A tile that shows something on small problems, and is near a real kernel's on large ones.
fn fitting(keys: usize) -> usize {
    match keys {
        0..=8 => 2,
        9..=128 => 16,
        _ => 64,
    }
}

fn add_tiles(plan: &mut Plan, loop_plan: &Plan, output: &Step, tile: Option<usize>) -> Result<(), Fault> {
    let Name::Head(head, _) = output.id.name else { return Ok(()) };
    let of = |step: HeadStep| loop_plan.get(head.step(step).in_sequence(output.id.sequence));
    let (Some(scores), Some(weights)) = (of(HeadStep::Scores), of(HeadStep::Weights)) else { return Ok(()) };
    let (q, k, v) = (scores.inputs[0], scores.inputs[1], output.inputs[1]);
    let Op::Softmax(softmax) = &weights.op else { return Ok(()) };
    let keys = scores.shape.1;
    let tile = tile.unwrap_or_else(|| fitting(keys)).min(keys.max(1));
    let between: Vec<&Step> = [HeadStep::CappedScores, HeadStep::BiasedScores, HeadStep::MaskedScores]
        .into_iter()
        .filter_map(of)
        .collect();

    let mut before: Option<StepId> = None;
    for (number, from) in (0..keys).step_by(tile).enumerate() {
        let height = tile.min(keys - from);
        let own = |step| StepId { name: Name::Tile(head, number, step), ..output.id };
        let tile_axes = (Axis::KeysFrom(from), Axis::Features);
        let scored = (Axis::Queries, Axis::KeysFrom(from));

        let k = plan.add(own(TileStep::K), Rows { from, height }, &[k])?; // tile × d_k
        plan.axes(k, tile_axes);
        let v = plan.add(own(TileStep::V), Rows { from, height }, &[v])?; // tile × d_v
        plan.axes(v, tile_axes);
        let mut scores = plan.add(own(TileStep::Scores), scores.op.clone(), &[q, k])?; // n_q × tile
        plan.axes(scores, scored);
        for step in &between {
            let Some((name, op)) = in_tile(step, from, height) else { continue };
            scores = plan.add(own(name), op, &[scores])?;
            plan.axes(scores, scored);
        }
        let online = OnlineSoftmax { sink: softmax.sink };
        let inputs: Vec<StepId> = [scores, v].into_iter().chain(before).collect();
        before = Some(plan.add(own(TileStep::State), online, &inputs)?); // n_q × (2 + d_v)
    }
    let Some(state) = before else { return Ok(()) };
    plan.add(output.id, FinishSoftmax { empty_rows: softmax.empty_rows }, &[state, v])?;
    Ok(())
}

/// What a step between scores and softmax does to the keys of one tile.
fn in_tile(step: &Step, from: usize, height: usize) -> Option<(TileStep, Op)> {
    let Name::Head(Head(_), within) = step.id.name else { return None };
    match (within, &step.op) {
        (HeadStep::CappedScores, op) => Some((TileStep::CappedScores, op.clone())),
        (HeadStep::BiasedScores, Op::Bias(bias)) => {
            let alibi = bias.alibi.map(|alibi| Alibi { offset: alibi.offset - from as i64, ..alibi });
            let add = bias.add.as_ref().map(|add| Arc::new(add.columns(from, height).into_owned()));
            Some((TileStep::BiasedScores, Bias { alibi, add }.into()))
        }
        (HeadStep::MaskedScores, Op::Mask(mask)) => {
            let allowed = Arc::new(mask.allowed.columns(from, height).into_owned());
            let hidden_by = Arc::new(mask.hidden_by.columns(from, height).into_owned());
            Some((TileStep::MaskedScores, Mask { allowed, reasons: mask.reasons.clone(), hidden_by }.into()))
        }
        _ => None,
    }
}
