//! Rows that see nothing.

use super::super::{Draft, Form, Mistake};
use super::masks::empty_rows;
use crate::ops::{FullyMaskedRows, Op};
use crate::plan::{Head, HeadStep, Name, Stack};

/// See [`super`].
pub(super) const ALL: &[Mistake] = &[
    Mistake {
        name: "masked-row-nan",
        summary: "NaN in a row that sees nothing",
        right: "a row of zeros",
        wrong: "softmax of nothing but −∞: 0/0",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (12, 8),
        forms: &[Form::new("", WEIGHTS, |draft| blind(draft, FullyMaskedRows::Nan))],
    },
    Mistake {
        name: "masked-row-uniform",
        summary: "even weights in a row that sees nothing",
        right: "a row of zeros",
        wrong: "softmax of equal numbers: 1/n_kv each",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
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
