//! Heads put together wrongly, and the output projection.

use super::super::{Draft, Form, Mistake};
use super::heads::merged_straight;
use crate::ops::{Average, Columns, Concat, Op, ProjectMean, ProjectTransposed};
use crate::plan::{Head, HeadStep, Name, StepId};

/// See [`super`].
pub(super) const ALL: &[Mistake] = &[
    Mistake {
        name: "merge-no-transpose",
        summary: "(h, n, d_v) reshaped straight to (n, h·d_v)",
        right: "heads.transpose(0, 1).reshape(n, h·d_v)",
        wrong: "heads.reshape(n, h·d_v)",
        cause: "`heads.reshape(n, h * d_v)` on a tensor that is still (h, n, d_v); `view` would have refused after a transpose, `reshape` never does.",
        symptom: "Heads are right and concat is not: its first row is made of the first head's first rows. Its first d_v numbers are right.",
        visible: "Where there are two heads or more and two tokens or more.",
        fix: "Bring the tokens in front again, then put the heads side by side.",
        code: "concat = heads.swapaxes(0, 1).reshape(n, h * d_v)",
        reports: (14, 7),
        forms: &[Form::new("", Name::Concat, merged_straight)],
    },
    Mistake {
        name: "heads-averaged",
        summary: "the mean over heads instead of their concatenation",
        right: "concat = [head₁ | … | head_h]",
        wrong: "the mean of the heads, or of what W_O makes of each",
        cause: "Heads are taken for an ensemble: `heads.mean(dim=0)`, or a mean over what W_O makes of each head where a sum belongs.",
        symptom: "All blocks of concat are the same; or the output, without b_O, is exactly 1/h of what it should be.",
        visible: "Where there are two heads or more.",
        fix: "Put the heads side by side. (Adding up heads[i] @ W_O[block i] without dividing is right, and the same.)",
        code: "concat = np.concatenate(list(heads), axis=-1)  or  concat = torch.cat(list(heads), dim=-1)",
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
                    let average = StepId::of(sequence, Name::Average);
                    draft.put(average, Average, &heads);
                    draft.set(StepId::of(sequence, Name::Concat), Concat, &vec![average; h])?;
                }
                Some(())
            }),
            Form::new("the heads' projections averaged", Name::Output, |draft| {
                let heads = draft.heads();
                if heads < 2 {
                    return None;
                }
                projected(draft, |_, inputs| Some((ProjectMean { heads }.into(), inputs.to_vec())))
            }),
        ],
    },
    Mistake {
        name: "wo-missing",
        summary: "no output projection",
        right: "output = concat W_O + b_O",
        wrong: "output = concat",
        cause: "Many sketches of attention end at the concatenation, and a layer written after one never gets its output projection.",
        symptom: "The output equals concat; where h · d_v and d_model differ, it has the wrong width.",
        visible: "Where the lesson has a W_O that is not the identity.",
        fix: "Multiply the concatenation by W_O, and add b_O.",
        code: "output = concat @ w_o + b_o",
        reports: (12, 3),
        forms: &[Form::new("", Name::Output, |draft| {
            let width = draft.heads() * draft.attention.d_v;
            projected(draft, |_, inputs| Some((Columns { from: 0, width }.into(), vec![*inputs.first()?])))
        })],
    },
    Mistake {
        name: "wo-transposed",
        summary: "multiplied by W_Oᵀ instead of W_O",
        right: "output = concat W_O + b_O",
        wrong: "output = concat W_Oᵀ + b_O",
        cause: "W_O is taken from an `nn.Linear`, which keeps (out, in), and used as if it were (in, out); or the other way round.",
        symptom: "Concat is right, and the output is wrong in every cell, with numbers of the usual size.",
        visible: "Where W_O is square and not symmetric.",
        fix: "Transpose a weight of `nn.Linear` exactly once.",
        code: "output = concat @ out_proj.weight.T + b_o",
        reports: (1, 0),
        forms: &[Form::new("", Name::Output, |draft| {
            projected(draft, |_, inputs| Some((ProjectTransposed.into(), inputs.to_vec())))
        })],
    },
    Mistake {
        name: "output-bias-missing",
        summary: "b_O left out",
        right: "output = concat W_O + b_O",
        wrong: "output = concat W_O",
        cause: "b_O is not loaded, or the layer is built with `bias=False` although the checkpoint has one.",
        symptom: "The output is off by one and the same row in every token: that row is b_O.",
        visible: "Where b_O is not zero.",
        fix: "Add it once, after the heads are put together, and not once a head.",
        code: "output = concat @ w_o + b_o",
        reports: (1, 0),
        forms: &[Form::new("", Name::Output, |draft| {
            projected(draft, |op, inputs| match *inputs {
                [concat, w, _] => Some((op.clone(), vec![concat, w])),
                _ => None,
            })
        })],
    },
];

/// Changes the output projection of every sequence; `None` where there is none.
fn projected(
    draft: &mut Draft<'_>,
    wrong: impl Fn(&Op, &[StepId]) -> Option<(Op, Vec<StepId>)>,
) -> Option<()> {
    for sequence in draft.sequences() {
        let id = StepId::of(sequence, Name::Output);
        let step = draft.get(id)?;
        if !matches!(step.op, Op::Project(_) | Op::ProjectTransposed(_) | Op::ProjectMean(_)) {
            return None;
        }
        let (op, inputs) = wrong(&step.op, &step.inputs)?;
        draft.set(id, op, &inputs)?;
    }
    Some(())
}
