//! Other numbers of heads on the same matrices.

use std::sync::Arc;

use nalgebra::DMatrix;

use super::super::spec::{Mask, NormScope, Positions, alibi_slopes};
use super::super::{Call, Name, Projection};
use crate::fault::Fault;

/// Every query head with a key/value head of its own: those of a group repeated. The same numbers as before.
pub(super) fn expanded(call: &Call) -> Call {
    let Call { attention, .. } = call;
    let (h, g) = (attention.num_heads, attention.num_kv_heads.max(1));
    if h == g {
        return call.clone();
    }
    regrouped(call, h, |head| vec![head * g / h])
}

/// `groups` key/value heads, each the mean of its query heads' own (Ainslie et al. 2023, §2.1).
pub(super) fn pooled(call: &Call, groups: usize) -> Result<Call, Fault> {
    let call = expanded(call);
    let h = call.attention.num_heads;
    if groups == 0 || !h.is_multiple_of(groups) {
        let fit: Vec<String> = (1..=h).filter(|g| h.is_multiple_of(*g)).map(|g| g.to_string()).collect();
        return Err(Fault::new(
            format!("{h} query heads do not share {groups} key/value heads evenly"),
            "every key/value head serves the same number of query heads",
            format!("choose one of {}", fit.join(", ")),
        ));
    }
    let size = h / groups;
    Ok(regrouped(&call, groups, |group| (group * size..(group + 1) * size).collect()))
}

/// One head as wide as all of them.
pub(super) fn single(call: &Call) -> Result<Call, Fault> {
    let mut call = expanded(call);
    let attention = &mut call.attention;
    let h = attention.num_heads;
    if h == 1 {
        return Ok(call);
    }
    let own_masks = attention.masks.iter().any(|mask| match mask {
        Mask::Allow(matrices) => matrices.len() > 1,
        Mask::Add(matrices) => matrices.len() > 1,
        _ => false,
    });
    for (there, what) in [(attention.sinks.is_some(), "sinks"), (own_masks, "masks of single heads")] {
        if there {
            return Err(Fault::new(
                format!("a single head cannot stand for {h} with {what}"),
                "each head has its own, and a single head has one",
                format!("leave single-head out, or take the {what} from the lesson"),
            ));
        }
    }
    attention.num_heads = 1;
    attention.num_kv_heads = 1;
    attention.d_k *= h;
    attention.d_v *= h;
    match &mut attention.positions {
        Positions::None => {}
        Positions::Rope(rope) => rope.dims *= h,
        Positions::Alibi { slopes, .. } => *slopes = alibi_slopes(1),
    }
    if let Some(norm) = attention.qk_norm.as_mut().filter(|norm| norm.scope == NormScope::Head) {
        norm.q_gain = norm.q_gain.repeat(h);
        norm.k_gain = norm.k_gain.repeat(h);
    }
    Ok(call)
}

/// Key/value head `new` of `count` is the mean of the heads that `members` names.
fn regrouped(call: &Call, count: usize, members: impl Fn(usize) -> Vec<usize>) -> Call {
    let mut call = call.clone();
    let (d_k, d_v) = (call.attention.d_k, call.attention.d_v);
    for (id, value) in &mut call.inputs {
        let width = match id.name {
            Name::W(Projection::K) | Name::B(Projection::K) | Name::K => d_k,
            Name::W(Projection::V) | Name::B(Projection::V) | Name::V => d_v,
            _ => continue,
        };
        *value = Arc::new(blend(value, width, count, &members));
    }
    if let Some(norm) = call.attention.qk_norm.as_mut().filter(|norm| norm.scope == NormScope::Full) {
        let gain = DMatrix::from_row_slice(1, norm.k_gain.len(), &norm.k_gain);
        norm.k_gain = blend(&gain, d_k, count, &members).iter().copied().collect();
    }
    call.attention.num_kv_heads = count;
    call
}

fn blend(
    value: &DMatrix<f64>,
    width: usize,
    count: usize,
    members: &impl Fn(usize) -> Vec<usize>,
) -> DMatrix<f64> {
    DMatrix::from_fn(value.nrows(), width * count, |row, column| {
        let among = members(column / width);
        let sum: f64 = among.iter().map(|head| value[(row, head * width + column % width)]).sum();
        sum / among.len() as f64
    })
}
