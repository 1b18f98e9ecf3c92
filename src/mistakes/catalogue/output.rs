//! Heads put together wrongly, and the output projection.

use super::super::{Draft, Form, Mistake};
use super::heads::merged_straight;
use crate::ops::{Average, Columns, Concat, Op, Project, ProjectMean, ProjectTransposed};
use crate::plan::{Head, HeadStep, Name, StepId};

/// See [`super`].
pub(super) const ALL: &[Mistake] = &[
    Mistake {
        name: "merge-no-transpose",
        summary: "(h, n, d_v) reshaped straight to (n, h·d_v)",
        right: "heads.transpose(0, 1).reshape(n, h·d_v)",
        wrong: "heads.reshape(n, h·d_v)",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (14, 7),
        forms: &[Form::new("", Name::Concat, merged_straight)],
    },
    Mistake {
        name: "heads-averaged",
        summary: "the mean over heads instead of their concatenation",
        right: "concat = [head₁ | … | head_h]",
        wrong: "the mean of the heads, or of what W_O makes of each",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (5, 0),
        forms: &[
            Form::new("the mean head in every slot", Name::Concat, |draft| {
                let h = draft.heads();
                if h < 2 {
                    return None;
                }
                for sequence in draft.sequences() {
                    let heads: Vec<StepId> =
                        (0..h).map(|head| Head(head).step(HeadStep::Output).in_sequence(sequence)).collect();
                    let average = StepId { sequence, name: Name::Average };
                    draft.put(average, Average, &heads);
                    draft.set(StepId { sequence, name: Name::Concat }, Concat, &vec![average; h])?;
                }
                Some(())
            }),
            Form::new("the heads' projections averaged", Name::Output, |draft| {
                let heads = draft.heads();
                if heads < 2 {
                    return None;
                }
                projected(draft, |inputs| Some((ProjectMean { heads }.into(), inputs.to_vec())))
            }),
        ],
    },
    Mistake {
        name: "wo-missing",
        summary: "no output projection",
        right: "output = concat W_O + b_O",
        wrong: "output = concat",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (12, 3),
        forms: &[Form::new("", Name::Output, |draft| {
            let width = draft.heads() * draft.attention.d_v;
            projected(draft, |inputs| Some((Columns { from: 0, width }.into(), vec![*inputs.first()?])))
        })],
    },
    Mistake {
        name: "wo-transposed",
        summary: "multiplied by W_Oᵀ instead of W_O",
        right: "output = concat W_O + b_O",
        wrong: "output = concat W_Oᵀ + b_O",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (1, 0),
        forms: &[Form::new("", Name::Output, |draft| {
            projected(draft, |inputs| Some((ProjectTransposed.into(), inputs.to_vec())))
        })],
    },
    Mistake {
        name: "output-bias-missing",
        summary: "b_O left out",
        right: "output = concat W_O + b_O",
        wrong: "output = concat W_O",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (1, 0),
        forms: &[Form::new("", Name::Output, |draft| {
            projected(draft, |inputs| match *inputs {
                [concat, w, _] => Some((Project.into(), vec![concat, w])),
                _ => None,
            })
        })],
    },
];

/// Changes the output projection of every sequence; `None` where there is none.
fn projected(
    draft: &mut Draft<'_>,
    wrong: impl Fn(&[StepId]) -> Option<(Op, Vec<StepId>)>,
) -> Option<()> {
    for sequence in draft.sequences() {
        let id = StepId { sequence, name: Name::Output };
        let step = draft.get(id)?;
        if !matches!(step.op, Op::Project(_)) {
            return None;
        }
        let (op, inputs) = wrong(&step.inputs)?;
        draft.set(id, op, &inputs)?;
    }
    Some(())
}
