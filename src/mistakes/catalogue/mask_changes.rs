//! How a mask is changed into another: which keys it hides, and by what.

use std::sync::Arc;

use nalgebra::DMatrix;

use super::super::Draft;
use crate::ops::{self, Bias, FullyMaskedRows, Op, Reweighed, Softmax};
use crate::plan::spec::{Alignment, Mask};
use crate::plan::{Head, HeadStep};
use crate::words::t;

/// One of several masks that apply together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Padding,
    Causal,
}

/// How far the triangle of a causal mask is shifted to the right: of one that is called so, and of one that was given
/// cell by cell.
fn triangle(mask: &Mask, (n_q, n_kv): (usize, usize)) -> Option<i64> {
    let by_cells = |keeps: &dyn Fn(usize, usize) -> bool| {
        let offsets = [0, n_kv as i64 - n_q as i64];
        let is =
            |offset: i64| (0..n_q).all(|r| (0..n_kv).all(|c| keeps(r, c) == (c as i64 <= r as i64 + offset)));
        let hides = (0..n_q).any(|r| (0..n_kv).any(|c| !keeps(r, c)));
        offsets.into_iter().find(|offset| hides && is(*offset))
    };
    match mask {
        Mask::Causal(alignment) => Some(alignment.offset(n_q, n_kv)),
        Mask::Allow(matrices) => match matrices.as_slice() {
            [one] if one.shape() == (n_q, n_kv) => by_cells(&|r, c| one[(r, c)]),
            _ => None,
        },
        Mask::Add(matrices) => match matrices.as_slice() {
            [one]
                if one.shape() == (n_q, n_kv)
                    && one.iter().all(|cell| *cell == 0.0 || *cell == f64::NEG_INFINITY) =>
            {
                by_cells(&|r, c| one[(r, c)] == 0.0)
            }
            _ => None,
        },
        Mask::Window { .. } | Mask::KeyPadding(_) => None,
    }
}

/// Puts another mask (or none) in place of each causal one; `with` is given its offset and both lengths.
pub(super) fn causal_as(
    draft: &mut Draft<'_>,
    with: impl Fn(i64, (usize, usize)) -> Option<Mask>,
) -> Option<()> {
    let lengths = draft.lengths()?;
    draft.remask(|masks| {
        let mut found = None;
        let old = std::mem::take(masks);
        for mask in old {
            match triangle(&mask, lengths) {
                Some(offset) => {
                    masks.extend(with(offset, lengths));
                    found = Some(());
                }
                None => masks.push(mask),
            }
        }
        found
    })
}

pub(super) fn mirrored(draft: &mut Draft<'_>) -> Option<()> {
    causal_as(draft, |offset, _| {
        Some(Mask::Window { left: Some(0), right: None, alignment: Alignment::Offset(offset) })
    })
}

pub(super) fn strict(draft: &mut Draft<'_>, empty: FullyMaskedRows) -> Option<()> {
    causal_as(draft, |offset, _| Some(Mask::Causal(Alignment::Offset(offset - 1))))?;
    empty_rows(draft, empty)
}

/// Aligns the triangle in the other way; only where queries and keys are not equally many is there another.
pub(super) fn realigned(draft: &mut Draft<'_>, to: Alignment) -> Option<()> {
    let (n_q, n_kv) = draft.lengths()?;
    let from = match to {
        Alignment::TopLeft => Alignment::BottomRight,
        _ => Alignment::TopLeft,
    }
    .offset(n_q, n_kv);
    if n_q == n_kv {
        return None;
    }
    causal_as(draft, |offset, _| {
        Some(Mask::Causal(if offset == from { to } else { Alignment::Offset(offset) }))
    })
}

pub(super) fn window_of(draft: &mut Draft<'_>, change: impl Fn(usize) -> Option<usize>) -> Option<()> {
    draft.remask(|masks| {
        let mut found = None;
        for mask in masks {
            if let Mask::Window { left: Some(left), .. } = mask {
                *left = change(*left)?;
                found = Some(());
            }
        }
        found
    })
}

/// Says what a row that sees nothing holds.
pub(super) fn empty_rows(draft: &mut Draft<'_>, empty_rows: FullyMaskedRows) -> Option<()> {
    draft.each_head(HeadStep::Weights, |_, op, inputs| {
        let Op::Softmax(Softmax { sink, .. }) = op else { return None };
        Some((Softmax { empty_rows, sink: *sink }.into(), inputs.to_vec()))
    })
}

/// Changes the operation that hides, given which cells may be seen.
fn hiding(draft: &mut Draft<'_>, mut with: impl FnMut(&DMatrix<bool>, &ops::Mask) -> Op) -> Option<()> {
    draft.each_head(HeadStep::MaskedScores, |_, op, inputs| {
        let Op::Mask(mask) = op else { return None };
        Some((with(&mask.allowed, mask), inputs.to_vec()))
    })
}

/// The mask that lets these cells be seen.
fn mask_of(allowed: DMatrix<bool>, reasons: &str) -> ops::Mask {
    let hidden_by = Arc::new(allowed.map(|allowed| u32::from(!allowed)));
    ops::Mask { allowed: Arc::new(allowed), reasons: reasons.to_owned(), hidden_by }
}

/// Exchanges seen and hidden, in the whole mask or in one of several parts of it.
pub(super) fn inverted(draft: &mut Draft<'_>, part: Option<Part>, empty: FullyMaskedRows) -> Option<()> {
    let Some(part) = part else {
        hiding(draft, |allowed, _| mask_of(allowed.map(|cell| !cell), &t!("the mask inverted")).into())?;
        return empty_rows(draft, empty);
    };
    if draft.attention.masks.len() < 2 {
        return None; // the part is the whole
    }
    match part {
        Part::Causal => causal_as(draft, |offset, lengths| Some(later_only(offset, lengths)))?,
        Part::Padding => draft.remask(|masks| {
            let mut found = None;
            for mask in masks {
                if let Mask::KeyPadding(rows) = mask {
                    rows.iter_mut().flatten().for_each(|real| *real = !*real);
                    found = Some(());
                }
            }
            found
        })?,
    }
    empty_rows(draft, empty)
}

/// Only keys after the query's own position.
fn later_only(offset: i64, (n_q, n_kv): (usize, usize)) -> Mask {
    Mask::Allow(vec![DMatrix::from_fn(n_q, n_kv, |r, c| c as i64 > r as i64 + offset)])
}

pub(super) fn after_softmax(draft: &mut Draft<'_>) -> Option<()> {
    let mut kept: Vec<(Option<usize>, Head, Arc<DMatrix<f64>>)> = Vec::new();
    draft.each_head(HeadStep::MaskedScores, |id, op, inputs| {
        let Op::Mask(mask) = op else { return None };
        let factors = mask.allowed.map(|allowed| if allowed { 1.0 } else { 0.0 });
        kept.push((id.sequence, id.head()?, Arc::new(factors)));
        let all = mask.allowed.map(|_| true);
        Some((mask_of(all, &t!("nothing is hidden yet")).into(), inputs.to_vec()))
    })?;
    let mut kept = kept.into_iter();
    draft.each_head(HeadStep::Weights, |id, op, inputs| {
        let Op::Softmax(softmax) = op else { return None };
        let (sequence, head, factors) = kept.next()?;
        if (sequence, Some(head)) != (id.sequence, id.head()) {
            return None;
        }
        Some((Reweighed { softmax: softmax.clone(), factors, said: "keep" }.into(), inputs.to_vec()))
    })
}

/// Adds 1 to the scores of the cells that are kept, or of those that should be hidden.
pub(super) fn added(draft: &mut Draft<'_>, to_kept: bool) -> Option<()> {
    hiding(draft, |allowed, _| {
        let add = allowed.map(|allowed| if allowed == to_kept { 1.0 } else { 0.0 });
        Bias { alibi: None, add: Some(Arc::new(add)) }.into()
    })
}

/// Hides the rows of padded tokens instead of their columns.
pub(super) fn on_queries(draft: &mut Draft<'_>, empty: FullyMaskedRows) -> Option<()> {
    let (n_q, n_kv) = draft.lengths()?;
    if n_q != n_kv {
        return None;
    }
    let mut padding: Vec<Vec<Vec<bool>>> = Vec::new();
    draft.remask(|masks| {
        masks.retain(|mask| match mask {
            Mask::KeyPadding(rows) => {
                padding.push(rows.clone());
                false
            }
            _ => true,
        });
        (!padding.is_empty()).then_some(())
    })?;
    draft.each_head(HeadStep::MaskedScores, |id, op, inputs| {
        let Op::Mask(mask) = op else { return None };
        let mut allowed = (*mask.allowed).clone();
        for rows in &padding {
            let real = rows.get(id.sequence.unwrap_or(0)).or(rows.first())?;
            for (r, _) in real.iter().enumerate().take(n_q).filter(|(_, real)| !**real) {
                allowed.row_mut(r).fill(false);
            }
        }
        Some((mask_of(allowed, &t!("padding along the queries")).into(), inputs.to_vec()))
    })?;
    empty_rows(draft, empty)
}

/// Takes the mask of sequence (b·h + i) mod B for head i of sequence b.
pub(super) fn tiled(draft: &mut Draft<'_>) -> Option<()> {
    let batch = draft.call.batch.filter(|batch| *batch > 1)?;
    let h = draft.heads();
    let masks: Vec<Op> = (0..batch)
        .map(|sequence| {
            let id = Head(0).step(HeadStep::MaskedScores).in_sequence(Some(sequence));
            draft.get(id).map(|step| step.op.clone())
        })
        .collect::<Option<_>>()?;
    draft.each_head(HeadStep::MaskedScores, |id, _, inputs| {
        let mask = masks.get((id.sequence? * h + id.head()?.0) % batch)?;
        Some((mask.clone(), inputs.to_vec()))
    })
}
