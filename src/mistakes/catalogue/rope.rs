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
        right: "Qᵣ = R(position) Q, Kᵣ = R(position) K",
        wrong: "Qᵣ = Q, Kᵣ = K",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (1, 0),
        forms: &[Form::new("", Q_ROT, |draft| {
            unrotated(draft, HeadStep::QRot)?;
            unrotated(draft, HeadStep::KRot)
        })],
    },
    Mistake {
        name: "rope-layout-swapped",
        summary: "half-split pairs where interleaved ones are meant, or the other way round",
        right: "pairs (t, t + d_k/2), or (2t, 2t + 1): as the weights were made for",
        wrong: "the other pairing",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
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
        right: "both are rotated",
        wrong: "one of them is left as it was",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (1, 1),
        forms: &[
            Form::new("q only", K_ROT, |draft| unrotated(draft, HeadStep::KRot)),
            Form::new("k only", Q_ROT, |draft| unrotated(draft, HeadStep::QRot)),
        ],
    },
    Mistake {
        name: "rope-applied-to-values",
        summary: "values rotated as well",
        right: "headᵢ = Aᵢ Vᵢ",
        wrong: "headᵢ = Aᵢ R(position) Vᵢ",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (1, 1),
        forms: &[Form::new("", Name::Stack(Stack::Heads), values_too)],
    },
    Mistake {
        name: "rope-base-wrong",
        summary: "another base than the configured one",
        right: "angle = position · base^(−2t/d_k)",
        wrong: "angle = position · 10000^(−2t/d_k)",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
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
        right: "query t stands at position start + t",
        wrong: "query t stands at position t",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (7, 4),
        forms: &[Form::new("", Q_ROT, offset_missing)],
    },
    Mistake {
        name: "rope-before-split",
        summary: "the whole row rotated before it is cut into heads",
        right: "each head is rotated with its own d_k/2 angles",
        wrong: "the row of h·d_k numbers is rotated as one",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (3, 1),
        forms: &[Form::new("", Q_ROT, before_split)],
    },
    Mistake {
        name: "rope-direction-reversed",
        summary: "rotated by minus the angle",
        right: "(x₁, x₂) → (x₁ cos − x₂ sin, x₂ cos + x₁ sin)",
        wrong: "(x₁, x₂) → (x₁ cos + x₂ sin, x₂ cos − x₁ sin)",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
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
        let Op::Rope(rope) = op else { return None };
        let mut rope = rope.clone();
        change(&mut rope);
        Some((rope.into(), inputs.to_vec()))
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

fn values_too(draft: &mut Draft<'_>) -> Option<()> {
    let RopeSpec { theta, layout, dims, k_positions, .. } = spec(draft)?;
    let Attention { d_k, d_v, .. } = draft.attention;
    let dims = if dims == d_k { d_v } else { dims.min(d_v) };
    let positions: Arc<[f64]> = k_positions.into();
    for sequence in draft.sequences() {
        for head in 0..draft.heads() {
            let step = |step| Head(head).step(step).in_sequence(sequence);
            let rope = Rope { theta, layout, dims, positions: positions.clone() };
            draft.put(step(HeadStep::VRot), rope, &[step(HeadStep::V)]);
            draft.set(step(HeadStep::Output), Mix, &[step(HeadStep::Weights), step(HeadStep::VRot)])?;
        }
    }
    Some(())
}

fn offset_missing(draft: &mut Draft<'_>) -> Option<()> {
    let RopeSpec { q_positions, k_positions, .. } = spec(draft)?;
    if *q_positions.first()? == 0.0 || q_positions.first() == k_positions.first() {
        return None;
    }
    let first = q_positions[0];
    rotations(draft, HeadStep::QRot, |rope| {
        rope.positions = rope.positions.iter().map(|position| position - first).collect();
    })
}

fn before_split(draft: &mut Draft<'_>) -> Option<()> {
    let RopeSpec { theta, layout, dims, q_positions, k_positions } = spec(draft)?;
    let attention = draft.attention.clone();
    let d_k = attention.d_k;
    let normed = attention.qk_norm.as_ref().is_some_and(|norm| norm.scope == NormScope::Head);
    if dims != d_k || attention.num_heads < 2 || normed {
        return None;
    }
    for sequence in draft.sequences() {
        for head in 0..attention.num_heads {
            let step = |step| Head(head).step(step).in_sequence(sequence);
            for (split, rotated, positions, sheets, sheet) in [
                (HeadStep::Q, HeadStep::QRot, &q_positions, attention.num_heads, head),
                (HeadStep::K, HeadStep::KRot, &k_positions, attention.num_kv_heads, attention.kv_head(head)),
            ] {
                let whole: Vec<StepId> = draft.get(step(split))?.inputs.clone();
                let rope = Rope { theta, layout, dims: sheets * d_k, positions: positions.as_slice().into() };
                draft.set(step(rotated), RopeWide { rope, from: sheet * d_k, width: d_k }, &whole)?;
            }
        }
    }
    Some(())
}
