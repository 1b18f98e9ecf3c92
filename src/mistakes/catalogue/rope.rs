//! Rotary positions applied wrongly.

use std::sync::Arc;

use super::super::{Draft, Form, Mistake};
use crate::ops::{Columns, Mix, Op, Rope, RopeLayout, RopeWide};
use crate::plan::spec::{NormScope, Positions, RopeSpec};
use crate::plan::{Attention, Head, HeadStep, Name, Stack, StepId};

/// See [`super`].
pub(super) const ALL: &[Mistake] = &[
    Mistake {
        name: "rope-missing",
        summary: "queries and keys not rotated",
        right: "Qʳ = RoPE(Q), Kʳ = RoPE(K)",
        wrong: "Qʳ = Q, Kʳ = K",
        cause: "The rotation lives outside the attention layer (a cache of cos and sin, a patched forward pass), and one way through the code does not call it.",
        symptom: "q_rot and k_rot equal q_heads and k_heads. Exchanging two keys with their values changes nothing but the mask's part.",
        visible: "Where the lesson has RoPE and some position other than 0 matters; what stands at position 0 is right in any case.",
        fix: "Rotate the queries and keys of every head after the cut and before the scores.",
        code: "q, k = apply_rope(q, cos, sin), apply_rope(k, cos, sin)",
        reports: (1, 0),
        forms: &[Form::new("", Q_ROT, |draft| {
            unrotated(draft, HeadStep::QRot)?;
            unrotated(draft, HeadStep::KRot)
        })],
    },
    Mistake {
        name: "rope-layout-swapped",
        summary: "half-split pairs where interleaved ones are meant, or the other way round",
        right: "pairs of columns (t, t + d_k/2), or (2t − 1, 2t): as the weights were made for",
        wrong: "the other pairing",
        cause: "Two ways of pairing columns are in use: halves (GPT-NeoX, Hugging Face's Llama) and neighbours (RoFormer, GPT-J, Meta's own Llama). Weights made for one and code for the other do not go together unless W_Q and W_K are permuted.",
        symptom: "Position 0 is right, and the error grows with the position; a language model starts well and soon writes nonsense.",
        visible: "Where d_k is 4 or more (with 2 there is one pair only) and positions go beyond 0.",
        fix: "Use the pairing that the weights were made for, or permute the columns of W_Q and W_K within each head once.",
        code: "x1, x2 = x.chunk(2, dim=-1)  or  x1, x2 = x[..., 0::2], x[..., 1::2]",
        reports: (14, 6),
        forms: &[Form::new("", Q_ROT, |draft| {
            both(draft, |rope| {
                rope.layout = match rope.layout {
                    RopeLayout::HalfSplit => RopeLayout::Interleaved,
                    RopeLayout::Interleaved => RopeLayout::HalfSplit,
                };
            })
        })],
    },
    Mistake {
        name: "rope-one-side-only",
        summary: "only queries or only keys rotated",
        right: "Qʳ = RoPE(Q), Kʳ = RoPE(K)",
        wrong: "Kʳ = K, or Qʳ = Q",
        cause: "The call for k is left out or its result thrown away, often because keys come from a cache that is believed to be rotated already.",
        symptom: "One of q_rot and k_rot is right, and the other is its own input. Scores depend on where tokens stand, and no longer on how far apart they are alone.",
        visible: "Where the side that is left out has positions other than 0.",
        fix: "Rotate both, and say of a cache whether it holds rotated keys.",
        code: "q, k = apply_rope(q, cos, sin), apply_rope(k, cos, sin)",
        reports: (1, 1),
        forms: &[
            Form::new("q only", K_ROT, |draft| unrotated(draft, HeadStep::KRot)),
            Form::new("k only", Q_ROT, |draft| unrotated(draft, HeadStep::QRot)),
        ],
    },
    Mistake {
        name: "rope-applied-to-values",
        summary: "values rotated as well",
        right: "head = A V",
        wrong: "head = A RoPE(V)",
        cause: "q, k and v are stacked in one tensor and rotated together, since the function accepts all three.",
        symptom: "Scores and weights are right and the heads are not, except for what the value at position 0 adds.",
        visible: "Where positions go beyond 0.",
        fix: "Leave the values alone: positions matter to who looks at whom, and not to what is handed over.",
        code: "q, k = apply_rope(q, cos, sin), apply_rope(k, cos, sin)",
        reports: (1, 1),
        forms: &[Form::new("", Name::Stack(Stack::Heads), values_too)],
    },
    Mistake {
        name: "rope-base-wrong",
        summary: "another base than the configured one",
        right: "angle of pair t = position · base^(−2(t − 1)/d_k)",
        wrong: "angle of pair t = position · 10000^(−2(t − 1)/d_k), or of another base",
        cause: "The base is a constant in the code (10000, the paper's) while the model's config says something else: `rope_theta` is 500000 in Llama 3 and 1000000 in many Qwen and Mistral models. A config key under a new name has the same effect.",
        symptom: "The first pair of columns is right, since its angle does not depend on the base. The others are off, little at small positions and more at large ones.",
        visible: "Where the lesson's base is another one and d_k is 4 or more.",
        fix: "Read the base from the config, and fail where it is missing.",
        code: "inv_freq = config.rope_theta ** (-torch.arange(0, d_k, 2) / d_k)",
        reports: (7, 4),
        forms: &[
            Form::new("10000", Q_ROT, |draft| both(draft, |rope| rope.theta = 10_000.0)),
            Form::new("500000", Q_ROT, |draft| both(draft, |rope| rope.theta = 500_000.0)),
            Form::new("1000000", Q_ROT, |draft| both(draft, |rope| rope.theta = 1_000_000.0)),
        ],
    },
    Mistake {
        name: "rope-position-offset-missing",
        summary: "queries counted from 0 although a cache precedes them",
        right: "queries stand at positions start, start + 1, …",
        wrong: "queries stand at positions 0, 1, …",
        cause: "With a key/value cache the queries of a step are the newest tokens, but positions are made with `arange(n_q)` and start at 0 again.",
        symptom: "k_rot is right. In q_rot each pair of columns is turned too little, by the same angle in every row. The first call without a cache is right.",
        visible: "Where queries start at a position other than 0 and other than the keys' first.",
        fix: "Start counting at the length of the cache.",
        code: "positions = torch.arange(past_len, past_len + n_q)",
        reports: (7, 4),
        forms: &[Form::new("", Q_ROT, offset_missing)],
    },
    Mistake {
        name: "rope-before-split",
        summary: "the whole row rotated before it is cut into heads",
        right: "each head is rotated with its own d_k/2 angles",
        wrong: "the row of h·d_k numbers is rotated as one",
        cause: "The rotation is applied to the output of the projection, (n, h·d_k), because that is where the tensor is at hand.",
        symptom: "Angles go on across all heads, so that only some columns of the first head turn as they should; with half-split pairs a pair even lies in two different heads.",
        visible: "Where there are two heads or more.",
        fix: "Cut into heads first; each head has its own d_k/2 angles, the same for all heads.",
        code: "q_rot = apply_rope(q.view(n, h, d_k).transpose(0, 1), cos, sin)",
        reports: (3, 1),
        forms: &[Form::new("", Q_ROT, before_split)],
    },
    Mistake {
        name: "rope-direction-reversed",
        summary: "rotated by minus the angle",
        right: "(x₁, x₂) → (x₁ cos − x₂ sin, x₂ cos + x₁ sin)",
        wrong: "(x₁, x₂) → (x₁ cos + x₂ sin, x₂ cos − x₁ sin)",
        cause: "The minus sign stands at the wrong sine, or a complex number is multiplied by its conjugate. If queries and keys are turned alike, training does not notice.",
        symptom: "Distances keep their size and change their sign: a key two places back is treated as one two places ahead. Position 0 is right.",
        visible: "Where positions go beyond 0. A model trained this way works, one with given weights does not.",
        fix: "The first number of a pair loses the second's sine, and the second gains the first's.",
        code: "x = torch.cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin), dim=-1)",
        reports: (2, 0),
        forms: &[Form::new("", Q_ROT, |draft| {
            both(draft, |rope| rope.positions = rope.positions.iter().map(|position| -position).collect())
        })],
    },
];

const Q_ROT: Name = Name::Stack(Stack::QRot);
const K_ROT: Name = Name::Stack(Stack::KRot);

fn spec(draft: &Draft<'_>) -> Option<RopeSpec> {
    match &draft.attention.positions {
        Positions::Rope(rope) => Some(rope.clone()),
        _ => None,
    }
}

/// Changes the rotation of every head.
fn rotations(draft: &mut Draft<'_>, step: HeadStep, change: impl Fn(&mut Rope)) -> Option<()> {
    draft.each_head(step, |_, op, inputs| {
        let mut op = op.clone();
        match &mut op {
            Op::Rope(rope) => change(rope),
            Op::RopeWide(wide) => change(&mut wide.rope),
            _ => return None,
        }
        Some((op, inputs.to_vec()))
    })
}

fn both(draft: &mut Draft<'_>, change: impl Fn(&mut Rope)) -> Option<()> {
    rotations(draft, HeadStep::QRot, &change)?;
    rotations(draft, HeadStep::KRot, &change)
}

/// Hands on what should have been rotated.
fn unrotated(draft: &mut Draft<'_>, step: HeadStep) -> Option<()> {
    let width = draft.attention.d_k;
    draft.each_head(step, |_, _, inputs| Some((Columns { from: 0, width }.into(), inputs.to_vec())))
}

/// The rotation of a step as the draft has it now, right or wrong.
fn rotation(draft: &Draft<'_>, id: StepId) -> Option<Rope> {
    match &draft.get(id)?.op {
        Op::Rope(rope) => Some(rope.clone()),
        _ => None,
    }
}

fn values_too(draft: &mut Draft<'_>) -> Option<()> {
    let RopeSpec { theta, layout, dims: of_keys, scaling, k_positions, .. } = spec(draft)?;
    let Attention { d_k, d_v, .. } = draft.attention;
    let dims = if of_keys == d_k { d_v } else { of_keys.min(d_v) };
    // Scaled frequencies are given pair by pair: there are none for other pairs.
    if scaling.is_some() && dims != of_keys {
        return None;
    }
    let positions: Arc<[f64]> = k_positions.into();
    for sequence in draft.sequences() {
        for head in 0..draft.heads() {
            let step = |step| Head(head).step(step).in_sequence(sequence);
            let keys = rotation(draft, step(HeadStep::KRot));
            let rope = keys.unwrap_or_else(|| Rope {
                theta,
                layout,
                dims,
                scaling: scaling.clone(),
                positions: positions.clone(),
            });
            draft.put(step(HeadStep::VRot), Rope { dims, ..rope }, &[step(HeadStep::V)]);
            draft.set(step(HeadStep::Output), Mix, &[step(HeadStep::Weights), step(HeadStep::VRot)])?;
        }
    }
    Some(())
}

fn offset_missing(draft: &mut Draft<'_>) -> Option<()> {
    let first = *spec(draft)?.q_positions.first()?;
    if first == 0.0 {
        return None;
    }
    rotations(draft, HeadStep::QRot, |rope| {
        rope.positions = rope.positions.iter().map(|position| position - first).collect();
    })
}

fn before_split(draft: &mut Draft<'_>) -> Option<()> {
    let RopeSpec { dims, scaling, .. } = spec(draft)?;
    let attention = draft.attention.clone();
    let d_k = attention.d_k;
    let normed = attention.qk_norm.as_ref().is_some_and(|norm| norm.scope == NormScope::Head);
    if dims != d_k || scaling.is_some() || attention.num_heads < 2 || normed {
        return None;
    }
    for sequence in draft.sequences() {
        for head in 0..attention.num_heads {
            let step = |step| Head(head).step(step).in_sequence(sequence);
            for (split, rotated, sheets, sheet) in [
                (HeadStep::Q, HeadStep::QRot, attention.num_heads, head),
                (HeadStep::K, HeadStep::KRot, attention.num_kv_heads, attention.kv_head(head)),
            ] {
                let whole: Vec<StepId> = draft.get(step(split))?.inputs.clone();
                let rope = Rope { dims: sheets * d_k, ..rotation(draft, step(rotated))? };
                draft.set(step(rotated), RopeWide { rope, from: sheet * d_k, width: d_k }, &whole)?;
            }
        }
    }
    Some(())
}
