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
        cause: "The product of queries and keys goes straight into the softmax: the division is forgotten, or stood in a helper that was taken out.",
        symptom: "Scores are √d_k times too large. The softmax comes close to choosing a single key, and a model that trains this way gets hardly any gradient.",
        visible: "Where d_k is above 1 and the lesson does not set the scale to 1.",
        fix: "Divide by the root of a head's width. `F.scaled_dot_product_attention` does so by itself.",
        code: "scores = q @ k.transpose(-2, -1) / math.sqrt(d_k)  or  scores = q @ k.swapaxes(-2, -1) / np.sqrt(d_k)",
        reports: (6, 3),
        forms: &[Form::new("", SCORES, |draft| scaled(draft, 1.0))],
    },
    Mistake {
        name: "scale-sqrt-d-model",
        summary: "scores divided by √d_model",
        right: "S = Q Kᵀ / √d_k",
        wrong: "S = Q Kᵀ / √d_model",
        cause: "The width is taken from the embedding (`x.shape[-1]`, `config.hidden_size`) instead of from a head after the cut.",
        symptom: "Scores are too small by √h where d_model = h · d_k, and the weights too even. With one head all is right.",
        visible: "Where d_k and d_model differ.",
        fix: "Take the last axis of the queries after they are cut into heads.",
        code: "scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])",
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
        cause: "The root is forgotten, or the root is divided by twice: once on the queries, and again in the attention call.",
        symptom: "Scores are too small by √d_k, and the weights too even.",
        visible: "Where d_k is above 1. It cannot be told from the root of d_model where d_k² = d_model.",
        fix: "Scale once. Where the queries are scaled already, tell the call to leave the scores as they are.",
        code: "scores = q @ k.transpose(-2, -1) / math.sqrt(d_k)  or  out = F.scaled_dot_product_attention(q * d_k ** -0.5, k, v, scale=1.0)",
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
        cause: "A variable called `scale` holds d_k ** -0.5, which is made to be multiplied by, and the code divides by it.",
        symptom: "Scores are d_k times too large, and nearly every row of weights is one 1 among zeros.",
        visible: "Where d_k is above 1, or a scale other than 1 is given.",
        fix: "Multiply by the small number or divide by the large one, and let the name say which of the two it is.",
        code: "scores = q @ k.transpose(-2, -1) * d_k ** -0.5",
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
        cause: "A model sets its own scale (Gemma's `query_pre_attn_scalar`, Granite's `attention_multiplier`, T5's 1), and one of several attention backends is called without it.",
        symptom: "All scores are off by one factor, scale · √d_k; the result differs between backends.",
        visible: "Where the lesson gives a scale other than 1/√d_k.",
        fix: "Hand the scale to every path, and compare the paths with each other.",
        code: "out = F.scaled_dot_product_attention(q, k, v, scale=scale)",
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
        cause: "The product is made in half precision and scaled after that. Sums beyond 65504 have no half-precision number; large activations get there, and so do masks filled with -1e9.",
        symptom: "∞ in the scores, and NaN in the weights and outputs of those rows; other rows are right to three digits.",
        visible: "Where a query and a key have a product beyond 65504 before it is scaled.",
        fix: "Scale the queries first, or make scores and softmax in single precision; take a mask's fill from `torch.finfo`.",
        code: "scores = (q * d_k ** -0.5) @ k.transpose(-2, -1)  or  scores = q.float() @ k.float().transpose(-2, -1) / math.sqrt(d_k)",
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
