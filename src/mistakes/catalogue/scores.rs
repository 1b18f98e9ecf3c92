//! Scores scaled wrongly.

use super::super::{Draft, Form, Mistake};
use crate::ops::{Op, Scale, Scores, ScoresInHalf};
use crate::plan::{HeadStep, Name, Stack};

/// See [`super`].
pub(super) const ALL: &[Mistake] = &[
    Mistake {
        name: "scale-missing",
        summary: "scores not divided by √d_k",
        right: "S = Q Kᵀ / √d_k",
        wrong: "S = Q Kᵀ",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (6, 3),
        forms: &[Form::new("", SCORES, |draft| scaled(draft, 1.0))],
    },
    Mistake {
        name: "scale-sqrt-d-model",
        summary: "scores divided by √d_model",
        right: "S = Q Kᵀ / √d_k",
        wrong: "S = Q Kᵀ / √d_model",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (11, 4),
        forms: &[Form::new("", SCORES, |draft| {
            let scale = 1.0 / (draft.attention.d_model as f64).sqrt();
            scaled(draft, scale)
        })],
    },
    Mistake {
        name: "scale-dk-no-sqrt",
        summary: "scores divided by d_k",
        right: "S = Q Kᵀ / √d_k",
        wrong: "S = Q Kᵀ / d_k",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (4, 3),
        forms: &[Form::new("", SCORES, |draft| {
            let scale = 1.0 / draft.attention.d_k as f64;
            scaled(draft, scale)
        })],
    },
    Mistake {
        name: "scale-inverted",
        summary: "scores multiplied by √d_k",
        right: "S = Q Kᵀ / √d_k",
        wrong: "S = Q Kᵀ · √d_k",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (1, 1),
        forms: &[
            Form::new("multiplied by √d_k", SCORES, |draft| {
                let scale = (draft.attention.d_k as f64).sqrt();
                scaled(draft, scale)
            }),
            Form::new("divided by the given scale", SCORES, |draft| match draft.attention.scale {
                Scale::Given(scale) => scaled(draft, 1.0 / scale),
                Scale::RootOfDk => None,
            }),
        ],
    },
    Mistake {
        name: "scale-config-ignored",
        summary: "1/√d_k used although another scale is given",
        right: "S = Q Kᵀ · scale",
        wrong: "S = Q Kᵀ / √d_k",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (5, 3),
        forms: &[Form::new("", SCORES, |draft| {
            let root = Scale::RootOfDk.value(draft.attention.d_k);
            match draft.attention.scale {
                Scale::Given(_) => scaled(draft, root),
                Scale::RootOfDk => None,
            }
        })],
    },
    Mistake {
        name: "fp16-overflow",
        summary: "products beyond half precision before they are scaled",
        right: "Q Kᵀ summed in single precision, or scaled first",
        wrong: "Q Kᵀ rounded to half precision: beyond 65504 it is ∞",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (11, 6),
        forms: &[Form::new("", SCORES, |draft| {
            draft.each_head(HeadStep::Scores, |_, op, inputs| {
                let Op::Scores(Scores { scale, d_k }) = *op else { return None };
                Some((ScoresInHalf { scale, d_k }.into(), inputs.to_vec()))
            })
        })],
    },
];

const SCORES: Name = Name::Stack(Stack::Scores);

/// Multiplies every head's products by another number; `None` where it is the right one.
fn scaled(draft: &mut Draft<'_>, factor: f64) -> Option<()> {
    if !factor.is_finite() || (factor - draft.attention.scale_value()).abs() <= 1e-12 * factor.abs() {
        return None;
    }
    draft.each_head(HeadStep::Scores, |_, op, inputs| {
        let d_k = match op {
            Op::Scores(scores) => scores.d_k,
            _ => return None,
        };
        Some((Scores { scale: Scale::Given(factor), d_k }.into(), inputs.to_vec()))
    })
}
