//! The softmax made wrongly, and what is done with its weights.

use std::sync::Arc;

use nalgebra::DMatrix;

use super::super::{Draft, Form, Mistake};
use crate::ops::{
    Average, Columns, FullyMaskedRows, MixTransposed, Op, Reweighed, RowShare, SoftmaxDown, SoftmaxInTwos,
    SoftmaxOverHeads,
};
use crate::plan::{Head, HeadStep, Name, Stack, StepId};

/// See [`super`].
pub(super) const ALL: &[Mistake] = &[
    Mistake {
        name: "softmax-over-queries",
        summary: "softmax along the query axis",
        right: "every row sums to 1",
        wrong: "every column sums to 1",
        cause: "`softmax(dim=-2)`, or a dim counted without the batch or head axis: `dim=1` in (h, n_q, n_kv). Columns are normalised where rows should be.",
        symptom: "Columns sum to 1 and rows do not. Without a mask the numbers can be deceptively close; a causal mask shows it at once.",
        visible: "Where there are two queries or more. Columns that are hidden as a whole give NaN.",
        fix: "Normalise over keys, the last axis.",
        code: "weights = scores.softmax(dim=-1)",
        reports: (6, 4),
        forms: &[
            Form::new("hidden columns NaN", WEIGHTS, |draft| down(draft, FullyMaskedRows::Nan)),
            Form::new("hidden columns 0", WEIGHTS, |draft| down(draft, FullyMaskedRows::Zeros)),
            Form::new("hidden columns even", WEIGHTS, |draft| down(draft, FullyMaskedRows::Uniform)),
        ],
    },
    Mistake {
        name: "softmax-over-heads",
        summary: "softmax along the head axis",
        right: "every row sums to 1",
        wrong: "at every (query, key) the heads' weights sum to 1",
        cause: "`dim=0` or `dim=1` hits the head axis, and so did `F.softmax` of three axes in old versions of PyTorch if no dim was given.",
        symptom: "At each pair of query and key the weights of all heads sum to 1. With one head every weight is 1.",
        visible: "Where there are two heads or more.",
        fix: "Normalise over keys, the last axis.",
        code: "weights = scores.softmax(dim=-1)",
        reports: (7, 6),
        forms: &[Form::new("", WEIGHTS, over_heads)],
    },
    Mistake {
        name: "softmax-missing",
        summary: "raw scores used as weights",
        right: "A = softmax(S)",
        wrong: "A = S, or S divided by its row sums",
        cause: "The softmax line is lost, mostly while a fused function is taken apart, or rows are divided by their sums without the exponential.",
        symptom: "Weights that are negative or above 1, or equal to the scores.",
        visible: "Everywhere; with −∞ in the scores the output is ∞ or NaN.",
        fix: "Take the exponential of each score, and divide by the row's sum.",
        code: "weights = scores.softmax(dim=-1)  or  weights = np.exp(scores - scores.max(-1, keepdims=True)); weights /= weights.sum(-1, keepdims=True)",
        reports: (1, 1),
        forms: &[
            Form::new("raw scores", WEIGHTS, |draft| {
                let width = draft.lengths()?.1;
                draft.each_head(HeadStep::Weights, |_, _, inputs| {
                    Some((Columns { from: 0, width }.into(), inputs.to_vec()))
                })
            }),
            Form::new("scores over their sum", WEIGHTS, |draft| {
                draft.each_head(HeadStep::Weights, |_, _, inputs| Some((RowShare.into(), inputs.to_vec())))
            }),
        ],
    },
    Mistake {
        name: "softmax-base-2",
        summary: "powers of 2 in place of powers of e",
        right: "A = e^S / Σ e^S",
        wrong: "A = 2^S / Σ 2^S",
        cause: "Fast kernels take powers of 2 and put the factor log₂ e into the scale. One path does without the factor, or `exp` was exchanged for `exp2` and nothing else.",
        symptom: "Scores are right, rows sum to 1, and every row is too even: it is the softmax of 0.693 times the scores.",
        visible: "Where a row has two scores that differ.",
        fix: "Multiply the scores by log₂ e before powers of 2 are taken of them, or take powers of e.",
        code: "weights = scores.softmax(dim=-1)  or  weights = torch.exp2((scores - scores.amax(-1, keepdim=True)) * math.log2(math.e)); weights /= weights.sum(-1, keepdim=True)",
        reports: (0, 0),
        forms: &[Form::new("", WEIGHTS, |draft| {
            draft.each_head(HeadStep::Weights, |_, op, inputs| {
                let Op::Softmax(softmax) = op else { return None };
                Some((SoftmaxInTwos { softmax: softmax.clone() }.into(), inputs.to_vec()))
            })
        })],
    },
    Mistake {
        name: "weights-averaged-over-heads",
        summary: "the weights handed out are the mean over heads",
        right: "one matrix a head: (h, n_q, n_kv)",
        wrong: "one matrix for all: (n_q, n_kv)",
        cause: "`nn.MultiheadAttention` hands out the mean over heads unless it is told otherwise. The weights that it computes with are right.",
        symptom: "The weights have no head axis and equal the mean of all heads; the output is right.",
        visible: "Where there are two heads or more.",
        fix: "Ask for the weights of each head.",
        code: "out, weights = mha(x, x, x, average_attn_weights=False)",
        reports: (8, 0),
        forms: &[Form::new("", WEIGHTS, averaged)],
    },
    Mistake {
        name: "dropout-left-on",
        summary: "dropout still active",
        right: "A = softmax(S)",
        wrong: "A = softmax(S) with some weights 0, the others divided by 1 − p",
        cause: "The model was never put into eval mode, or `dropout_p` is passed to `F.scaled_dot_product_attention`, which drops in either mode.",
        symptom: "Each weight is 0 or 1/(1 − p) times what it should be, rows do not sum to 1, and every run gives another result.",
        visible: "Where p is above 0 and the weights themselves are at hand: from the output alone chance cannot be told from a mistake.",
        fix: "Switch to eval mode, and pass a dropout of 0 outside training.",
        code: "model.eval()  or  out = F.scaled_dot_product_attention(q, k, v, dropout_p=p if self.training else 0.0)",
        reports: (11, 5),
        forms: &[Form::new("", WEIGHTS, dropped).read_off()],
    },
    Mistake {
        name: "values-weighted-transposed",
        summary: "values summed over queries instead of keys",
        right: "head = A V",
        wrong: "head = Aᵀ V",
        cause: "An einsum that sums over the wrong index ('hqk,hqd->hkd'), or a transpose too many on the weights. With equally many queries and keys the shapes fit.",
        symptom: "Weights are right, and no head output is: each row collects what its token was given by the queries.",
        visible: "Where queries and keys are equally many and the weights are not symmetric.",
        fix: "Sum over keys: row i of the weights times the values.",
        code: "heads = np.einsum('hqk,hkd->hqd', weights, v)  or  heads = weights @ v",
        reports: (4, 1),
        forms: &[Form::new("", Name::Stack(Stack::Heads), |draft| {
            let (n_q, n_kv) = draft.lengths()?;
            if n_q != n_kv {
                return None;
            }
            draft.each_head(HeadStep::Output, |_, _, inputs| Some((MixTransposed.into(), inputs.to_vec())))
        })],
    },
];

const WEIGHTS: Name = Name::Stack(Stack::Weights);

/// Whether every query is kept from some key: its column is hidden as a whole.
fn hides_a_column(draft: &Draft<'_>) -> bool {
    let hides = |op: &Op| match op {
        Op::Mask(mask) => mask.allowed.column_iter().any(|column| column.iter().all(|allowed| !allowed)),
        _ => false,
    };
    draft.sequences().into_iter().any(|sequence| {
        let id = Head(0).step(HeadStep::MaskedScores).in_sequence(sequence);
        draft.get(id).is_some_and(|step| hides(&step.op))
    })
}

fn down(draft: &mut Draft<'_>, empty: FullyMaskedRows) -> Option<()> {
    if empty != FullyMaskedRows::Nan && !hides_a_column(draft) {
        return None; // nothing is empty: the three forms are one
    }
    draft.each_head(HeadStep::Weights, |_, op, inputs| {
        matches!(op, Op::Softmax(_)).then(|| (SoftmaxDown { empty }.into(), inputs.to_vec()))
    })
}

fn over_heads(draft: &mut Draft<'_>) -> Option<()> {
    let h = draft.heads();
    if h < 2 {
        return None;
    }
    let mut scores: Vec<(Option<usize>, Vec<StepId>)> = Vec::new();
    for sequence in draft.sequences() {
        let of = |head| draft.get(Head(head).step(HeadStep::Weights).in_sequence(sequence));
        let all = (0..h).map(|head| of(head)?.inputs.first().copied()).collect::<Option<Vec<StepId>>>()?;
        scores.push((sequence, all));
    }
    draft.each_head(HeadStep::Weights, |id, op, _| {
        let (_, all) = scores.iter().find(|(sequence, _)| *sequence == id.sequence)?;
        let head = id.head()?.0;
        matches!(op, Op::Softmax(_)).then(|| (SoftmaxOverHeads { head }.into(), all.clone()))
    })
}

/// Hands out one matrix of weights for all heads; everything else stays right.
fn averaged(draft: &mut Draft<'_>) -> Option<()> {
    let h = draft.heads();
    if h < 2 {
        return None;
    }
    for sequence in draft.sequences() {
        let heads: Vec<StepId> =
            (0..h).map(|head| Head(head).step(HeadStep::Weights).in_sequence(sequence)).collect();
        draft.put(StepId::of(sequence, WEIGHTS), Average, &heads);
    }
    Some(())
}

/// The largest p that is taken for dropout.
const MOST_DROPPED: f64 = 0.95;

/// Every weight 0, or 1/(1 − p) times what it should be: read off a person's weights, where they are there; else every
/// fifth one is dropped, for show.
fn dropped(draft: &mut Draft<'_>) -> Option<()> {
    let factors: Vec<DMatrix<f64>> = match draft.seen {
        Some(seen) => {
            let kept = kept_factor(&seen.theirs, &seen.right)?;
            let factor = |theirs: f64, right: f64| match theirs == 0.0 && right != 0.0 {
                true => 0.0,
                false => kept,
            };
            seen.theirs.iter().zip(&seen.right).map(|(theirs, right)| theirs.zip_map(right, factor)).collect()
        }
        None => {
            let (n_q, n_kv) = draft.lengths()?;
            let show = |head: usize| {
                DMatrix::from_fn(n_q, n_kv, |r, c| if (head + r + 2 * c) % 5 == 4 { 0.0 } else { 1.25 })
            };
            (0..draft.heads() * draft.sequences().len()).map(show).collect()
        }
    };
    let mut factors = factors.into_iter();
    draft.each_head(HeadStep::Weights, |_, op, inputs| {
        let Op::Softmax(softmax) = op else { return None };
        let factors = Arc::new(factors.next()?);
        Some((Reweighed { softmax: softmax.clone(), factors, said: "dropout" }.into(), inputs.to_vec()))
    })
}

/// 1/(1 − p), if some weights are 0 and the others larger than they should be by one and the same factor.
///
/// Some must be left in two rows at least: what a mask leaves of one row is larger by one factor, too.
fn kept_factor(theirs: &[DMatrix<f64>], right: &[DMatrix<f64>]) -> Option<f64> {
    let same = theirs.len() == right.len() && theirs.iter().zip(right).all(|(a, b)| a.shape() == b.shape());
    if !same {
        return None;
    }
    let cells = || theirs.iter().zip(right).flat_map(|(theirs, right)| theirs.iter().zip(right.iter()));
    let dropped = cells().filter(|(theirs, right)| **theirs == 0.0 && **right > 0.0).count();
    let (above, below) = cells()
        .filter(|(theirs, _)| **theirs != 0.0)
        .fold((0.0, 0.0), |(above, below), (theirs, right)| (above + theirs * right, below + right * right));
    let factor = above / below;
    let rows = theirs.iter().zip(right).flat_map(|(theirs, right)| theirs.row_iter().zip(right.row_iter()));
    let kept = |theirs: f64, right: f64| theirs != 0.0 && right > 0.0;
    let rows_kept = rows.filter(|(theirs, right)| theirs.iter().zip(right.iter()).any(|(a, b)| kept(*a, *b)));
    (dropped > 0 && rows_kept.count() > 1 && factor > 1.0 && factor <= 1.0 / (1.0 - MOST_DROPPED))
        .then_some(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of square matrices, row by row.
    fn factor(theirs: &[f64], right: &[f64]) -> Option<f64> {
        let size = theirs.len().isqrt();
        let matrix = |cells: &[f64]| DMatrix::from_row_slice(size, size, cells);
        kept_factor(&[matrix(theirs)], &[matrix(right)])
    }

    /// One weight of three is dropped, and the others are 1 / (1 − 0.2) = 1.25 times what they should be.
    #[test]
    fn dropout_is_one_factor_for_all_that_is_left() {
        assert_eq!(factor(&[1.25, 0.0, 0.0, 0.9375], &[1.0, 0.0, 0.25, 0.75]), Some(1.25));
    }

    /// The first token is padding. A causal mask that hides the diagonal, too, leaves one weight: 1 in place of 0.4.
    /// That is 2.5 times as much, but so would be anything else by some factor.
    #[test]
    fn one_row_that_is_left_is_no_sign_of_dropout() {
        let right = [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.4, 0.6];
        let theirs = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        assert_eq!(factor(&theirs, &right), None);
    }
}
