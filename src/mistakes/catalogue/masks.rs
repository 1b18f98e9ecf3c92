//! Masks that hide the wrong keys.

use std::sync::Arc;

use nalgebra::DMatrix;

use super::super::{Draft, Form, Mistake};
use crate::ops::{self, Bias, FullyMaskedRows, MaskTimes, Op, Reweighed, Softmax};
use crate::plan::spec::{Alignment, Mask};
use crate::plan::{Head, HeadStep, Name, Stack};

/// See [`super`].
pub(super) const ALL: &[Mistake] = &[
    Mistake {
        name: "causal-mask-missing",
        summary: "no causal mask",
        right: "query i sees key j only if j ≤ i",
        wrong: "every query sees every key",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (17, 11),
        forms: &[Form::new("", MASKED, |draft| causal_as(draft, |_, _| None))],
    },
    Mistake {
        name: "padding-mask-missing",
        summary: "padding attended to",
        right: "hidden keys get weight 0",
        wrong: "padded keys count like any other",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (5, 4),
        forms: &[Form::new("", MASKED, |draft| {
            draft.remask(|masks| {
                let before = masks.len();
                masks.retain(|mask| !matches!(mask, Mask::KeyPadding(_)));
                (masks.len() < before).then_some(())
            })
        })],
    },
    Mistake {
        name: "mask-inverted",
        summary: "seen and hidden exchanged",
        right: "hidden where the mask is false",
        wrong: "hidden where the mask is true",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (16, 7),
        forms: &[
            Form::new("empty rows 0", MASKED, |draft| inverted(draft, None, FullyMaskedRows::Zeros)),
            Form::new("empty rows NaN", MASKED, |draft| inverted(draft, None, FullyMaskedRows::Nan)),
            Form::new("empty rows even", MASKED, |draft| inverted(draft, None, FullyMaskedRows::Uniform)),
            Form::new("the padding, empty rows 0", MASKED, |draft| {
                inverted(draft, Some(Part::Padding), FullyMaskedRows::Zeros)
            }),
            Form::new("the padding, empty rows NaN", MASKED, |draft| {
                inverted(draft, Some(Part::Padding), FullyMaskedRows::Nan)
            }),
            Form::new("the padding, empty rows even", MASKED, |draft| {
                inverted(draft, Some(Part::Padding), FullyMaskedRows::Uniform)
            }),
            Form::new("the triangle, empty rows 0", MASKED, |draft| {
                inverted(draft, Some(Part::Causal), FullyMaskedRows::Zeros)
            }),
            Form::new("the triangle, empty rows NaN", MASKED, |draft| {
                inverted(draft, Some(Part::Causal), FullyMaskedRows::Nan)
            }),
            Form::new("the triangle, empty rows even", MASKED, |draft| {
                inverted(draft, Some(Part::Causal), FullyMaskedRows::Uniform)
            }),
        ],
    },
    Mistake {
        name: "mask-after-softmax",
        summary: "weights zeroed after the softmax",
        right: "A = softmax(masked S)",
        wrong: "A = softmax(S) ⊙ keep",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (8, 3),
        forms: &[Form::new("", MASKED, after_softmax)],
    },
    Mistake {
        name: "mask-multiplied-scores",
        summary: "scores multiplied by 0 and 1",
        right: "−∞ where hidden",
        wrong: "S ⊙ keep: hidden scores become 0",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (4, 1),
        forms: &[Form::new("", MASKED, |draft| {
            draft.each_head(HeadStep::MaskedScores, |_, op, inputs| {
                let Op::Mask(ops::Mask { allowed, reasons, .. }) = op else { return None };
                let times = MaskTimes { allowed: allowed.clone(), reasons: reasons.clone() };
                Some((times.into(), inputs.to_vec()))
            })
        })],
    },
    Mistake {
        name: "mask-added-as-0-1",
        summary: "a mask of 0 and 1 added to the scores as numbers",
        right: "0 or −∞ is added",
        wrong: "0 or 1 is added",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (10, 3),
        forms: &[
            Form::new("1 where kept", MASKED, |draft| added(draft, true)),
            Form::new("1 where hidden", MASKED, |draft| added(draft, false)),
        ],
    },
    Mistake {
        name: "causal-transposed",
        summary: "the mirrored triangle",
        right: "query i sees key j ≤ i",
        wrong: "query i sees key j ≥ i",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (4, 2),
        forms: &[
            Form::new("empty rows as they are", MASKED, mirrored),
            Form::new("empty rows 0", MASKED, |draft| {
                mirrored(draft)?;
                empty_rows(draft, FullyMaskedRows::Zeros)
            }),
            Form::new("empty rows even", MASKED, |draft| {
                mirrored(draft)?;
                empty_rows(draft, FullyMaskedRows::Uniform)
            }),
        ],
    },
    Mistake {
        name: "causal-strict",
        summary: "the diagonal hidden too",
        right: "query i sees key j ≤ i",
        wrong: "query i sees key j < i",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (3, 1),
        forms: &[
            Form::new("first row 0", MASKED, |draft| strict(draft, FullyMaskedRows::Zeros)),
            Form::new("first row NaN", MASKED, |draft| strict(draft, FullyMaskedRows::Nan)),
            Form::new("first row even", MASKED, |draft| strict(draft, FullyMaskedRows::Uniform)),
        ],
    },
    Mistake {
        name: "causal-peeks-one",
        summary: "one key of the future visible",
        right: "query i sees key j ≤ i",
        wrong: "query i sees key j ≤ i + 1",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (2, 0),
        forms: &[Form::new("", MASKED, |draft| {
            causal_as(draft, |offset, _| Some(Mask::Causal(Alignment::Offset(offset + 1))))
        })],
    },
    Mistake {
        name: "causal-top-left",
        summary: "the triangle aligned top-left where bottom-right is meant",
        right: "query i sees key j ≤ i + (n_kv − n_q)",
        wrong: "query i sees key j ≤ i",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (10, 3),
        forms: &[Form::new("", MASKED, |draft| realigned(draft, Alignment::TopLeft))],
    },
    Mistake {
        name: "causal-bottom-right",
        summary: "the triangle aligned bottom-right where top-left is meant",
        right: "query i sees key j ≤ i",
        wrong: "query i sees key j ≤ i + (n_kv − n_q)",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (5, 2),
        forms: &[Form::new("", MASKED, |draft| realigned(draft, Alignment::BottomRight))],
    },
    Mistake {
        name: "padding-on-queries",
        summary: "key padding spread along the query axis",
        right: "padding hides columns",
        wrong: "padding hides rows",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (9, 2),
        forms: &[
            Form::new("-1e9, rows even", MASKED, |draft| on_queries(draft, FullyMaskedRows::Uniform)),
            Form::new("-inf, rows NaN", MASKED, |draft| on_queries(draft, FullyMaskedRows::Nan)),
            Form::new("rows 0", MASKED, |draft| on_queries(draft, FullyMaskedRows::Zeros)),
        ],
    },
    Mistake {
        name: "mask-tiled-across-batch",
        summary: "a sequence gets another sequence's mask",
        right: "sequence b, head i uses mask b",
        wrong: "sequence b, head i uses mask (b·h + i) mod B",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (8, 6),
        forms: &[Form::new("", MASKED, tiled)],
    },
    Mistake {
        name: "window-off-by-one",
        summary: "a sliding window one key too wide or too narrow",
        right: "a window of w keys, the query's own included",
        wrong: "a window of w + 1 or w − 1 keys",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (7, 0),
        forms: &[
            Form::new("one key too wide", MASKED, |draft| window_of(draft, |left| left.checked_add(1))),
            Form::new("one key too narrow", MASKED, |draft| window_of(draft, |left| left.checked_sub(1))),
        ],
    },
];

const MASKED: Name = Name::Stack(Stack::MaskedScores);

/// One of several masks that apply together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Padding,
    Causal,
}

/// How far the triangle of a causal mask is shifted to the right: of one that is called so, and of one that was given
/// cell by cell.
fn triangle(mask: &Mask, (n_q, n_kv): (usize, usize)) -> Option<i64> {
    let by_cells = |keeps: &dyn Fn(usize, usize) -> bool| {
        let offsets = [0, n_kv as i64 - n_q as i64];
        let is = |offset: i64| {
            (0..n_q).all(|r| (0..n_kv).all(|c| keeps(r, c) == (c as i64 <= r as i64 + offset)))
        };
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
            [one] if one.shape() == (n_q, n_kv) && one.iter().all(|cell| *cell == 0.0 || *cell == f64::NEG_INFINITY) => {
                by_cells(&|r, c| one[(r, c)] == 0.0)
            }
            _ => None,
        },
        Mask::Window { .. } | Mask::KeyPadding(_) => None,
    }
}

/// Puts another mask (or none) in place of each causal one; `with` is given its offset and both lengths.
fn causal_as(draft: &mut Draft<'_>, with: impl Fn(i64, (usize, usize)) -> Option<Mask>) -> Option<()> {
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

fn mirrored(draft: &mut Draft<'_>) -> Option<()> {
    causal_as(draft, |offset, _| {
        Some(Mask::Window { left: Some(0), right: None, alignment: Alignment::Offset(offset) })
    })
}

fn strict(draft: &mut Draft<'_>, empty: FullyMaskedRows) -> Option<()> {
    causal_as(draft, |offset, _| Some(Mask::Causal(Alignment::Offset(offset - 1))))?;
    empty_rows(draft, empty)
}

/// Aligns the triangle in the other way; only where queries and keys are not equally many is there another.
fn realigned(draft: &mut Draft<'_>, to: Alignment) -> Option<()> {
    let (n_q, n_kv) = draft.lengths()?;
    let from = match to {
        Alignment::TopLeft => Alignment::BottomRight,
        _ => Alignment::TopLeft,
    }
    .offset(n_q, n_kv);
    if n_q == n_kv {
        return None;
    }
    causal_as(draft, |offset, _| Some(Mask::Causal(if offset == from { to } else { Alignment::Offset(offset) })))
}

fn window_of(draft: &mut Draft<'_>, change: impl Fn(usize) -> Option<usize>) -> Option<()> {
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
fn hiding(
    draft: &mut Draft<'_>,
    mut with: impl FnMut(&DMatrix<bool>, &ops::Mask) -> Op,
) -> Option<()> {
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
fn inverted(draft: &mut Draft<'_>, part: Option<Part>, empty: FullyMaskedRows) -> Option<()> {
    let Some(part) = part else {
        hiding(draft, |allowed, _| mask_of(allowed.map(|cell| !cell), "the mask inverted").into())?;
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

fn after_softmax(draft: &mut Draft<'_>) -> Option<()> {
    let mut kept: Vec<(Option<usize>, Head, Arc<DMatrix<f64>>)> = Vec::new();
    draft.each_head(HeadStep::MaskedScores, |id, op, inputs| {
        let Op::Mask(mask) = op else { return None };
        let factors = mask.allowed.map(|allowed| if allowed { 1.0 } else { 0.0 });
        kept.push((id.sequence, id.head()?, Arc::new(factors)));
        let all = mask.allowed.map(|_| true);
        Some((mask_of(all, "nothing is hidden yet").into(), inputs.to_vec()))
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
fn added(draft: &mut Draft<'_>, to_kept: bool) -> Option<()> {
    hiding(draft, |allowed, _| {
        let add = allowed.map(|allowed| if allowed == to_kept { 1.0 } else { 0.0 });
        Bias { alibi: None, add: Some(Arc::new(add)) }.into()
    })
}

/// Hides the rows of padded tokens instead of their columns.
fn on_queries(draft: &mut Draft<'_>, empty: FullyMaskedRows) -> Option<()> {
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
        Some((mask_of(allowed, "padding along the queries").into(), inputs.to_vec()))
    })?;
    empty_rows(draft, empty)
}

/// Takes the mask of sequence (b·h + i) mod B for head i of sequence b.
fn tiled(draft: &mut Draft<'_>) -> Option<()> {
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
