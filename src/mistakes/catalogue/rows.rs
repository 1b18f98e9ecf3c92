//! Rows that see nothing.

use super::super::{Draft, Form, Mistake};
use super::mask_changes::empty_rows;
use crate::ops::{FullyMaskedRows, Op};
use crate::plan::{Head, HeadStep, Name, Stack};

/// See [`super`].
pub(super) const ALL: &[Mistake] = &[
    Mistake {
        name: "masked-row-nan",
        summary: "NaN in a row that sees nothing",
        right: "A = 0 in a row that sees nothing",
        wrong: "A = softmax(−∞, …, −∞) = 0/0 there",
        cause: "A row whose keys are all hidden is −∞ throughout, and a softmax of that is 0/0. Padding on the left together with a causal mask makes such rows, and so does an empty sequence.",
        symptom: "NaN in whole rows, which the next layers carry into everything.",
        visible: "Where some query sees nothing and the lesson fills such rows with zeros.",
        fix: "Write zeros into such rows after the softmax, or do not compute them at all.",
        code: "weights = scores.softmax(dim=-1).masked_fill(~keep.any(dim=-1, keepdim=True), 0.0)",
        reports: (12, 8),
        forms: &[Form::new("", WEIGHTS, |draft| blind(draft, FullyMaskedRows::Nan))],
    },
    Mistake {
        name: "masked-row-uniform",
        summary: "even weights in a row that sees nothing",
        right: "A = 0 in a row that sees nothing",
        wrong: "A = softmax of equal numbers = 1/n_kv there",
        cause: "Hidden scores are filled with a large finite number such as -1e9 instead of −∞. In a row where everything is hidden they are all equal, and equal scores share evenly.",
        symptom: "Such a row has 1/n_kv in every column, and its output is the mean of all values, padding included. All other rows are right.",
        visible: "Where some query sees nothing and the lesson fills such rows with zeros.",
        fix: "Write zeros into such rows after the softmax, or do not compute them at all.",
        code: "weights = weights * keep.any(axis=-1, keepdims=True)  or  weights = weights.masked_fill(~keep.any(dim=-1, keepdim=True), 0.0)",
        reports: (2, 0),
        forms: &[Form::new("", WEIGHTS, |draft| blind(draft, FullyMaskedRows::Uniform))],
    },
];

const WEIGHTS: Name = Name::Stack(Stack::Weights);

/// Fills rows that see nothing with something else; `None` where every row sees something.
fn blind(draft: &mut Draft<'_>, with: FullyMaskedRows) -> Option<()> {
    let hides_a_row = |op: &Op| match op {
        Op::Mask(mask) => mask.allowed.row_iter().any(|row| row.iter().all(|allowed| !allowed)),
        _ => false,
    };
    let mut steps = draft.sequences().into_iter().flat_map(|sequence| {
        (0..draft.heads()).map(move |head| Head(head).step(HeadStep::MaskedScores).in_sequence(sequence))
    });
    if !steps.any(|id| draft.get(id).is_some_and(|step| hides_a_row(&step.op))) {
        return None;
    }
    empty_rows(draft, with)
}
