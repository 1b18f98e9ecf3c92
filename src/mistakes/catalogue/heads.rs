//! The cut into heads made wrongly.

use super::super::{Draft, Form, Mistake, Turn};
use crate::ops::{Columns, Op, Place, Rearrange, Scale};
use crate::plan::spec::{Positions, RopeSpec};
use crate::plan::{Attention, Axis, Call, Head, HeadStep, Name, Stack, StepId, attention};
use crate::words::n;

/// See [`super`].
pub(super) const ALL: &[Mistake] = &[
    Mistake {
        name: "split-reshape-no-transpose",
        summary: "reshaped to (h, n, d_k) without a transpose",
        right: "Q.reshape(n, h, d_k).transpose(0, 1)",
        wrong: "Q.reshape(h, n, d_k)",
        cause: "`view(h, n, d_k)` or `reshape` straight to the shape that is wanted. The shape comes out right, but reshape only re-reads the numbers in their old order.",
        symptom: "The first head holds whole rows of the first n/h tokens, in pieces. Nothing fails, and such a model can even be trained.",
        visible: "Where there are two heads or more and two tokens or more.",
        fix: "Reshape to (n, h, d_k), so that only the columns are cut, and then exchange the first two axes.",
        code: "q_heads = q.reshape(n, h, d_k).swapaxes(0, 1)",
        reports: (7, 1),
        forms: &[
            Form::new("split and merge", Q_HEADS, |draft| {
                reshaped(draft)?;
                merged_straight(draft)
            }),
            Form::new("split only", Q_HEADS, reshaped),
        ],
    },
    Mistake {
        name: "split-interleaved-columns",
        summary: "columns dealt out to the heads one by one",
        right: "head i = columns (i − 1)·d_k + 1 to i·d_k",
        wrong: "head i = columns i, i + h, i + 2h, …",
        cause: "Columns are read as d_k groups of h instead of h groups of d_k: `reshape(n, d_k, h)`, or an einops pattern with `(d h)` where `(h d)` is meant.",
        symptom: "q is right, and every head holds some columns of each right head.",
        visible: "Where there are two heads or more and d_k is 2 or more.",
        fix: "The head is the slower of the two axes: (n, h, d_k).",
        code: "q_heads = q.reshape(n, h, d_k).swapaxes(0, 1)",
        reports: (0, 0),
        forms: &[Form::new("", Q_HEADS, |draft| {
            split(draft, "columns i, i + h, … of {0}", |row, column, sheet, (_, sheets, _)| {
                (row, column * sheets + sheet)
            })
        })],
    },
    Mistake {
        name: "heads-not-split",
        summary: "one wide head instead of several",
        right: "h heads, each d_k wide",
        wrong: "one head, h·d_k wide",
        cause: "The number of heads is kept as a setting and never used in the forward pass, so that Q, K and V go into the scores in their full width.",
        symptom: "There is one matrix of scores and one pattern of attention weights for all columns of the values.",
        visible: "Where there are two heads or more.",
        fix: "Cut Q, K and V into heads before the scores, and merge the heads afterwards.",
        code: "q, k, v = (t.reshape(n, h, d_k).swapaxes(0, 1) for t in (q, k, v))",
        reports: (3, 1),
        forms: &[
            Form::new("scaled by √(h·d_k)", Q_HEADS, |draft| {
                let scale = draft.attention.scale;
                one_wide_head(draft, scale)
            })
            .at(Turn::First),
            Form::new("scaled by √d_k", Q_HEADS, |draft| match draft.attention.scale {
                Scale::RootOfDk => {
                    let scale = Scale::Given(draft.attention.scale_value());
                    one_wide_head(draft, scale)
                }
                Scale::Given(_) => None,
            })
            .at(Turn::First),
        ],
    },
    Mistake {
        name: "attention-across-heads",
        summary: "the head axis taken for the sequence: each token mixes its own heads",
        right: "scores over tokens, one matrix a head: (h, n_q, n_k)",
        wrong: "scores over heads, one matrix a token: (n, h, h)",
        cause: "q, k, v are cut to (n, h, d_k) and handed on without the transpose. `F.scaled_dot_product_attention` attends over the axis before the last, which is then the heads; xformers, the other way round, wants (B, n, h, d_k).",
        symptom: "Weights are h × h for each token. Merged in place, a token's output does not change with any other token.",
        visible: "Where there are two heads or more.",
        fix: "Bring the heads in front of the tokens before the scores: (h, n, d_k).",
        code: "q, k, v = (t.swapaxes(-3, -2) for t in (q, k, v))",
        reports: (6, 2),
        forms: &[
            Form::new("merged in place", Q_HEADS, |draft| {
                across(draft, |flat, (_, h, d)| (flat / (h * d), flat / d % h, flat % d))
            })
            .at(Turn::Last),
            // (n, h, d) with its first two axes exchanged is (h, n, d), then read as rows of h·d numbers.
            Form::new("merged after a transpose", Q_HEADS, |draft| {
                across(draft, |flat, (n, _, d)| (flat / d % n, flat / (n * d), flat % d))
            })
            .at(Turn::Last),
        ],
    },
    Mistake {
        name: "one-head-reused",
        summary: "every head is the same head",
        right: "head i uses its own columns",
        wrong: "all heads use the columns of one",
        cause: "A loop over heads whose body does not use the loop's number, a closure that sees its last value only, or a view with stride 0 where a copy was meant.",
        symptom: "All heads have the same weights and the same output.",
        visible: "Where there are two heads or more that differ.",
        fix: "Take the columns of head i inside the loop, or cut all heads at once.",
        code: "q_heads = [q[:, i * d_k:(i + 1) * d_k] for i in range(h)]",
        reports: (2, 0),
        forms: &[
            Form::new("the first head", Q_HEADS, |draft| reused(draft, 0)),
            Form::new("the last head", Q_HEADS, |draft| reused(draft, draft.heads().checked_sub(1)?)),
        ],
    },
];

/// Where a cell (row, column) of a sheet comes from, given (rows, sheets, width): its row and column in the whole.
type Cut = fn(usize, usize, usize, (usize, usize, usize)) -> (usize, usize);

/// Where a cell comes from, given its place in a row-major output and (n, h, d_v): token, head, column.
type Merge = fn(usize, (usize, usize, usize)) -> (usize, usize, usize);

const Q_HEADS: Name = Name::Stack(Stack::QHeads);

/// Cuts Q, K and V in another way: `place(row, column, sheet, (rows, sheets, width))` is where a cell comes from.
fn split(draft: &mut Draft<'_>, said: &'static str, place: Cut) -> Option<()> {
    let Attention { num_heads, num_kv_heads, d_k, d_v, .. } = draft.attention;
    if num_heads < 2 {
        return None;
    }
    let (n_q, n_kv) = draft.lengths()?;
    let kv_heads: Vec<usize> = (0..num_heads).map(|head| draft.attention.kv_head(head)).collect();
    for (step, rows, sheets, width) in [
        (HeadStep::Q, n_q, num_heads, d_k),
        (HeadStep::K, n_kv, num_kv_heads, d_k),
        (HeadStep::V, n_kv, num_kv_heads, d_v),
    ] {
        draft.each_head(step, |id, _, inputs| {
            let head = id.head()?.0;
            let sheet = if step == HeadStep::Q { head } else { *kv_heads.get(head)? };
            let cut = Rearrange::new(rows, width, said, |r, c| {
                let (row, column) = place(r, c, sheet, (rows, sheets, width));
                Place::of(0, row, column)
            });
            Some((cut.into(), inputs.to_vec()))
        })?;
    }
    Some(())
}

fn reshaped(draft: &mut Draft<'_>) -> Option<()> {
    split(draft, "{0}.reshape(h, n, d)[i]", |row, column, sheet, (rows, sheets, width)| {
        let flat = (sheet * rows + row) * width + column;
        (flat / (sheets * width), flat % (sheets * width))
    })
}

/// Reads the stacked heads (h, n, d_v) straight as rows of h·d_v numbers.
pub(super) fn merged_straight(draft: &mut Draft<'_>) -> Option<()> {
    let (h, d) = (draft.heads(), draft.attention.d_v);
    if h < 2 {
        return None;
    }
    let (n, _) = draft.lengths()?;
    for sequence in draft.sequences() {
        let id = StepId::of(sequence, Name::Concat);
        let heads: Vec<StepId> =
            (0..h).map(|head| Head(head).step(HeadStep::Output).in_sequence(sequence)).collect();
        let merged = Rearrange::new(n, h * d, "[{*}].reshape(n, h·d_v)", |r, c| {
            let flat = r * h * d + c;
            Place::of(flat / (n * d), flat / d % n, flat % d)
        });
        draft.set(id, merged, &heads)?;
    }
    Some(())
}

/// One head as wide as all of them.
fn one_wide_head(draft: &mut Draft<'_>, scale: Scale) -> Option<()> {
    let old = &draft.attention;
    let h = old.num_heads;
    if h < 2 || old.num_kv_heads != h || old.sinks.is_some() || old.qk_norm.is_some() {
        return None;
    }
    let positions = match &old.positions {
        Positions::None => Positions::None,
        Positions::Rope(rope) if rope.dims == old.d_k && rope.scaling.is_none() => {
            Positions::Rope(RopeSpec { dims: h * old.d_k, ..rope.clone() })
        }
        _ => return None,
    };
    let wide = Attention {
        num_heads: 1,
        num_kv_heads: 1,
        d_k: h * old.d_k,
        d_v: h * old.d_v,
        scale,
        positions,
        ..old.clone()
    };
    let call = Call { attention: wide.clone(), ..draft.call.clone() };
    let plan = attention::plan(&call).ok()?;
    draft.restart(wide, &plan);
    Some(())
}

/// Leaves Q, K, V as (n, h, d): one "head" a token, whose rows are the heads. `merge(flat place in a row-major output,
/// (n, h, d_v))` says which token, head and column a cell of concat comes from.
fn across(draft: &mut Draft<'_>, merge: Merge) -> Option<()> {
    let Attention { num_heads: h, num_kv_heads, d_k, d_v, .. } = draft.attention;
    let (n, n_kv) = draft.lengths()?;
    if h < 2 || num_kv_heads != h || n != n_kv || !is_plain(draft) {
        return None;
    }
    let chain = Chain::of(draft)?;
    draft.retain(|step| step.id.head().is_none());
    draft.set_heads(n);
    for sequence in draft.sequences() {
        let own = |name: Name| StepId::of(sequence, name);
        for token in 0..n {
            let heads = |width: usize| {
                Rearrange::new(h, width, n!("a token's row of {0} as (h, d)"), |r, c| {
                    Place::of(0, token, r * width + c)
                })
            };
            let parts = [(Name::Q, d_k), (Name::K, d_k), (Name::V, d_v)];
            let parts = parts.map(|(name, width)| (heads(width), vec![own(name)]));
            chain.put(draft, |step| Head(token).step(step).in_sequence(sequence), parts);
        }
        let tokens: Vec<StepId> =
            (0..n).map(|token| Head(token).step(HeadStep::Output).in_sequence(sequence)).collect();
        let merged = Rearrange::new(n, h * d_v, n!("[{*}] read as rows of h·d_v"), |r, c| {
            let (token, head, column) = merge(r * h * d_v + c, (n, h, d_v));
            Place::of(token, head, column)
        });
        draft.set(own(Name::Concat), merged, &tokens)?;
    }
    Some(())
}

/// What a head does between its queries, keys and values and its output: scores, weights, and the weighted sum, right or
/// wrong.
pub(super) struct Chain {
    scores: Op,
    weights: Op,
    output: Op,
}

impl Chain {
    /// That of the draft's heads; `None` where one head looks at another.
    pub(super) fn of(draft: &Draft<'_>) -> Option<Self> {
        let sequence = *draft.sequences().first()?;
        let op = |step, inputs: usize| {
            let step = draft.get(Head(0).step(step).in_sequence(sequence))?;
            (step.inputs.len() == inputs).then(|| step.op.clone())
        };
        Some(Self {
            scores: op(HeadStep::Scores, 2)?,
            weights: op(HeadStep::Weights, 1)?,
            output: op(HeadStep::Output, 2)?,
        })
    }

    /// The same for other queries, keys and values.
    pub(super) fn put(
        &self,
        draft: &mut Draft<'_>,
        id: impl Fn(HeadStep) -> StepId,
        parts: [(Rearrange, Vec<StepId>); 3],
    ) {
        let axes = (Axis::Features, Axis::Features);
        for (step, (op, inputs)) in [HeadStep::Q, HeadStep::K, HeadStep::V].into_iter().zip(parts) {
            draft.put_in(id(step), op, &inputs, axes);
        }
        let (q, k, v) = (id(HeadStep::Q), id(HeadStep::K), id(HeadStep::V));
        let (scores, weights) = (id(HeadStep::Scores), id(HeadStep::Weights));
        draft.put_in(scores, self.scores.clone(), &[q, k], axes);
        draft.put_in(weights, self.weights.clone(), &[scores], axes);
        draft.put_in(id(HeadStep::Output), self.output.clone(), &[weights, v], axes);
    }
}

/// Whether nothing but scores and a softmax stands between the heads and their outputs.
pub(super) fn is_plain(draft: &Draft<'_>) -> bool {
    let attention = &draft.attention;
    attention.masks.is_empty()
        && attention.positions == Positions::None
        && attention.softcap.is_none()
        && attention.qk_norm.is_none()
        && attention.sinks.is_none()
}

fn reused(draft: &mut Draft<'_>, head: usize) -> Option<()> {
    if draft.heads() < 2 {
        return None;
    }
    let Attention { d_k, d_v, .. } = draft.attention;
    let kv_head = draft.attention.kv_head(head);
    for (step, from, width) in
        [(HeadStep::Q, head * d_k, d_k), (HeadStep::K, kv_head * d_k, d_k), (HeadStep::V, kv_head * d_v, d_v)]
    {
        draft.each_head(step, |_, op, inputs| {
            matches!(op, Op::Columns(_)).then(|| (Columns { from, width }.into(), inputs.to_vec()))
        })?;
    }
    Some(())
}
