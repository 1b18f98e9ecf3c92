//! Masks that hide the wrong keys.

use super::super::{Form, Mistake};
use super::mask_changes::{
    Part, added, after_softmax, causal_as, empty_rows, inverted, mirrored, on_queries, realigned, strict,
    tiled, window_of,
};
use crate::ops::{self, FullyMaskedRows, MaskTimes, Op};
use crate::plan::spec::{Alignment, Mask};
use crate::plan::{HeadStep, Name, Stack};

const MASKED: Name = Name::Stack(Stack::MaskedScores);

/// See [`super`]. Two of them together are applied in this order: first which keys are hidden, then how.
pub(super) const ALL: &[Mistake] = &[
    Mistake {
        name: "causal-mask-missing",
        summary: "no causal mask",
        right: "query i sees key j ≤ i",
        wrong: "every query sees every key",
        cause: "A mask that is built and not passed on, `is_causal` left at its default, or a backend that ignores the flag.",
        symptom: "Weights to the right of the diagonal are not zero; the last row is right where queries and keys are equally many. In training the loss is far too low, and what the model then writes is useless.",
        visible: "Where the lesson has a causal mask and two keys or more.",
        fix: "Hide what comes later, on every path; check that a later token cannot change an earlier output.",
        code: "scores = scores.masked_fill(torch.ones(n_q, n_kv, dtype=torch.bool).triu(1 + n_kv - n_q), -torch.inf)",
        reports: (17, 11),
        forms: &[Form::new("", MASKED, |draft| causal_as(draft, |_, _| None))],
    },
    Mistake {
        name: "padding-mask-missing",
        summary: "padding attended to",
        right: "hidden keys get weight 0",
        wrong: "padded keys count like any other",
        cause: "The tokenizer's `attention_mask` is not handed to the model, or only a causal mask is built.",
        symptom: "Columns of padded keys have weights, and the same sentence gives another result when more padding follows it.",
        visible: "Where the lesson has key padding that is not empty.",
        fix: "Hide the columns of padded keys in every row.",
        code: "scores = scores.masked_fill(~key_is_real[:, None, None, :], -torch.inf)",
        reports: (5, 4),
        forms: &[Form::new("", MASKED, |draft| {
            draft.remask(|masks| {
                let before = masks.len();
                masks.retain(|mask| !matches!(mask, Mask::KeyPadding(_)));
                (masks.len() < before).then_some(())
            })
        })],
    },
    Mistake {
        name: "causal-transposed",
        summary: "the mirrored triangle",
        right: "query i sees key j ≤ i",
        wrong: "query i sees key j ≥ i",
        cause: "`triu` in place of `tril`, or a mask that says what is hidden taken for one that says what is kept.",
        symptom: "The first row sees every key and the last only its own: the zeros are below the diagonal.",
        visible: "Where the lesson has a causal mask and two tokens or more.",
        fix: "Keep the lower triangle, or hide the upper one without its diagonal.",
        code: "keep = torch.ones(n, n, dtype=torch.bool).tril()  or  keep = np.tril(np.ones((n, n), dtype=bool))",
        reports: (4, 2),
        forms: &[
            Form::new("empty rows as they are", MASKED, mirrored),
            Form::new("empty rows 0", MASKED, |draft| {
                mirrored(draft)?;
                empty_rows(draft, FullyMaskedRows::Zeros)
            }),
            Form::new("empty rows even", MASKED, |draft| {
                mirrored(draft)?;
                empty_rows(draft, FullyMaskedRows::Uniform)
            }),
        ],
    },
    Mistake {
        name: "causal-strict",
        summary: "the diagonal hidden too",
        right: "query i sees key j ≤ i",
        wrong: "query i sees key j < i",
        cause: "`triu` without `diagonal=1` for what is hidden, or `<` for `≤` in a comparison of positions.",
        symptom: "The diagonal of the weights is 0. Where queries and keys are equally many, the first row sees nothing: zeros, NaN or even weights.",
        visible: "Where the lesson has a causal mask.",
        fix: "Let a query see its own position: what is hidden begins one column right of the diagonal.",
        code: "hide = torch.ones(n, n, dtype=torch.bool).triu(diagonal=1)",
        reports: (3, 1),
        forms: &[
            Form::new("first row 0", MASKED, |draft| strict(draft, FullyMaskedRows::Zeros)),
            Form::new("first row NaN", MASKED, |draft| strict(draft, FullyMaskedRows::Nan)),
            Form::new("first row even", MASKED, |draft| strict(draft, FullyMaskedRows::Uniform)),
        ],
    },
    Mistake {
        name: "causal-peeks-one",
        summary: "one key of the future visible",
        right: "query i sees key j ≤ i",
        wrong: "query i sees key j ≤ i + 1",
        cause: "The triangle starts one column too far to the right: `tril(diagonal=1)`, or `triu(diagonal=2)` for what is hidden.",
        symptom: "Each row has one weight beyond the diagonal; the last row is right. A language model can copy the answer and learns nothing else.",
        visible: "Where the lesson has a causal mask and some key lies ahead of a query.",
        fix: "Keep the triangle up to the diagonal and no further.",
        code: "keep = torch.ones(n, n, dtype=torch.bool).tril(diagonal=0)",
        reports: (2, 0),
        forms: &[Form::new("", MASKED, |draft| {
            causal_as(draft, |offset, _| Some(Mask::Causal(Alignment::Offset(offset + 1))))
        })],
    },
    Mistake {
        name: "causal-top-left",
        summary: "the triangle aligned top-left where bottom-right is meant",
        right: "query i sees key j ≤ i + (n_kv − n_q)",
        wrong: "query i sees key j ≤ i",
        cause: "With a cache there are more keys than queries, and the triangle is drawn from the wrong corner. PyTorch's `is_causal` and ONNX start top-left; flash-attention from 2.1 on and MLX bottom-right.",
        symptom: "A new token sees the oldest keys only; a single query sees nothing but the first key.",
        visible: "Where the mask is causal, aligned bottom-right, and there are more keys than queries.",
        fix: "Draw the triangle for all positions and take the last n_q rows, or ask for `causal_lower_right`.",
        code: "keep = torch.ones(n_q, n_kv, dtype=torch.bool).tril(diagonal=n_kv - n_q)",
        reports: (10, 3),
        forms: &[Form::new("", MASKED, |draft| realigned(draft, Alignment::TopLeft))],
    },
    Mistake {
        name: "causal-bottom-right",
        summary: "the triangle aligned bottom-right where top-left is meant",
        right: "query i sees key j ≤ i",
        wrong: "query i sees key j ≤ i + (n_kv − n_q)",
        cause: "The reference aligns its triangle top-left (ONNX's Attention, `is_causal`), and the kernel that stands in for it bottom-right.",
        symptom: "Rows see n_kv − n_q keys more than they should.",
        visible: "Where the mask is causal, aligned top-left, and there are more keys than queries.",
        fix: "Draw the triangle from the first query and the first key.",
        code: "keep = torch.ones(n_q, n_kv, dtype=torch.bool).tril(diagonal=0)",
        reports: (5, 2),
        forms: &[Form::new("", MASKED, |draft| realigned(draft, Alignment::BottomRight))],
    },
    Mistake {
        name: "window-off-by-one",
        summary: "a sliding window one key too wide or too narrow",
        right: "a window of w keys, the query's own included",
        wrong: "a window of w + 1 or w − 1 keys",
        cause: "Libraries count windows differently: a `sliding_window` of w includes the query's own key, flash-attention's `window_size=(left, 0)` counts the keys before it. Handing w on without taking 1 away gives w + 1 keys.",
        symptom: "Each row far enough down has one weight too many, or one too few, at the old end of its window; the first rows are right.",
        visible: "Where the lesson has a window and more keys than fit into it.",
        fix: "Say whether the query's own key counts: w keys are the own one and the w − 1 before it.",
        code: "keep = (j <= i) & (j > i - window)  or  keep = torch.ones(n, n, dtype=torch.bool).tril().triu(1 - window)",
        reports: (6, 1),
        forms: &[
            Form::new("one key too wide", MASKED, |draft| window_of(draft, |left| left.checked_add(1))),
            Form::new("one key too narrow", MASKED, |draft| window_of(draft, |left| left.checked_sub(1))),
        ],
    },
    Mistake {
        name: "padding-on-queries",
        summary: "key padding spread along the query axis",
        right: "padding hides columns",
        wrong: "padding hides rows",
        cause: "The padding mask (B, n) is given its new axis at the wrong place, `mask[:, :, None]` for `mask[:, None, :]`. With equally many queries and keys both fit.",
        symptom: "Padded keys have weights in the rows of real tokens, while the rows of padded queries see nothing: even weights, NaN or zeros.",
        visible: "Where the lesson has key padding that is not empty, and queries and keys are equally many.",
        fix: "Keys are the last axis: let the mask spread over heads and queries.",
        code: "keep = key_is_real[:, None, None, :]",
        reports: (9, 2),
        forms: &[
            Form::new("-1e9, rows even", MASKED, |draft| on_queries(draft, FullyMaskedRows::Uniform)),
            Form::new("-inf, rows NaN", MASKED, |draft| on_queries(draft, FullyMaskedRows::Nan)),
            Form::new("rows 0", MASKED, |draft| on_queries(draft, FullyMaskedRows::Zeros)),
        ],
    },
    Mistake {
        name: "mask-inverted",
        summary: "seen and hidden exchanged",
        right: "hidden where the mask is false",
        wrong: "hidden where the mask is true",
        cause: "True means hidden in `nn.MultiheadAttention` and `nn.Transformer`, and kept in `F.scaled_dot_product_attention` and in Hugging Face's `attention_mask`. A mask made for one is handed to the other.",
        symptom: "Weights are 0 exactly where they should not be. A row that saw everything is left with nothing: zeros, NaN or even weights, depending on the library.",
        visible: "Where the lesson has a mask.",
        fix: "Call the mask after what True means (`keep`, `hide`), and turn it round at the border between two conventions.",
        code: "out = F.scaled_dot_product_attention(q, k, v, attn_mask=~hide)  or  out, _ = mha(x, x, x, attn_mask=~keep)",
        reports: (16, 7),
        forms: &[
            Form::new("empty rows 0", MASKED, |draft| inverted(draft, None, FullyMaskedRows::Zeros)),
            Form::new("empty rows NaN", MASKED, |draft| inverted(draft, None, FullyMaskedRows::Nan)),
            Form::new("empty rows even", MASKED, |draft| inverted(draft, None, FullyMaskedRows::Uniform)),
            Form::new("the padding, empty rows 0", MASKED, |draft| {
                inverted(draft, Some(Part::Padding), FullyMaskedRows::Zeros)
            }),
            Form::new("the padding, empty rows NaN", MASKED, |draft| {
                inverted(draft, Some(Part::Padding), FullyMaskedRows::Nan)
            }),
            Form::new("the padding, empty rows even", MASKED, |draft| {
                inverted(draft, Some(Part::Padding), FullyMaskedRows::Uniform)
            }),
            Form::new("the triangle, empty rows 0", MASKED, |draft| {
                inverted(draft, Some(Part::Causal), FullyMaskedRows::Zeros)
            }),
            Form::new("the triangle, empty rows NaN", MASKED, |draft| {
                inverted(draft, Some(Part::Causal), FullyMaskedRows::Nan)
            }),
            Form::new("the triangle, empty rows even", MASKED, |draft| {
                inverted(draft, Some(Part::Causal), FullyMaskedRows::Uniform)
            }),
        ],
    },
    Mistake {
        name: "mask-tiled-across-batch",
        summary: "a sequence gets another sequence's mask",
        right: "sequence b uses mask b in every head",
        wrong: "sequence b uses mask ((b − 1)·h + i − 1) mod B + 1 in head i",
        cause: "Three-axis masks of `nn.MultiheadAttention` are (B·h, n_q, n_kv) with the heads of one sequence next to each other. `mask.repeat(h, 1, 1)` puts the sequences next to each other.",
        symptom: "A batch of one is right. With different padding a sequence is hidden where another one is padded, and its result depends on its neighbours.",
        visible: "In batches whose sequences have different masks.",
        fix: "Repeat each sequence's mask h times before the next one's, or let it spread from (B, 1, 1, n_kv).",
        code: "mask = mask.repeat_interleave(h, dim=0)  or  mask = np.repeat(mask, h, axis=0)",
        reports: (8, 6),
        forms: &[Form::new("", MASKED, tiled)],
    },
    Mistake {
        name: "mask-multiplied-scores",
        summary: "scores multiplied by 0 and 1",
        right: "Sᵐ = S, and −∞ where hidden",
        wrong: "Sᵐ = S ⊙ keep: 0 where hidden",
        cause: "A mask of 0 and 1 is multiplied into the scores, in the belief that a score of 0 means no attention. But e^0 is 1.",
        symptom: "A hidden key weighs as much as one with a score of 0, and more than any visible key with a negative score. Rows sum to 1.",
        visible: "Where the lesson has a mask.",
        fix: "Set hidden scores to −∞, which the softmax turns into 0.",
        code: "scores = np.where(keep, scores, -np.inf)  or  scores = scores.masked_fill(~keep, -torch.inf)",
        reports: (4, 1),
        forms: &[Form::new("", MASKED, |draft| {
            draft.each_head(HeadStep::MaskedScores, |_, op, inputs| {
                let Op::Mask(ops::Mask { allowed, reasons, .. }) = op else { return None };
                let times = MaskTimes { allowed: allowed.clone(), reasons: reasons.clone() };
                Some((times.into(), inputs.to_vec()))
            })
        })],
    },
    Mistake {
        name: "mask-added-as-0-1",
        summary: "a mask of 0 and 1 added to the scores as numbers",
        right: "Sᵐ = S + mask of 0 and −∞",
        wrong: "Sᵐ = S + mask of 0 and 1",
        cause: "A float mask is added to the scores by `nn.MultiheadAttention` and by `F.scaled_dot_product_attention`. `torch.tril(torch.ones(n, n))`, or an integer mask turned into floats, therefore adds 1 and hides nothing.",
        symptom: "Nothing is hidden: keys with a 1 weigh e ≈ 2.718 times as much against the others as they should.",
        visible: "Where the lesson has a mask.",
        fix: "Make the mask boolean, or put 0 and −∞ in place of 1 and 0.",
        code: "mask = torch.zeros(n_q, n_kv).masked_fill(~keep, -torch.inf)  or  out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask.bool())",
        reports: (10, 3),
        forms: &[
            Form::new("1 where kept", MASKED, |draft| added(draft, true)),
            Form::new("1 where hidden", MASKED, |draft| added(draft, false)),
        ],
    },
    Mistake {
        name: "mask-after-softmax",
        summary: "weights zeroed after the softmax",
        right: "A = softmax(Sᵐ)",
        wrong: "A = softmax(S) ⊙ keep",
        cause: "The mask is multiplied into the weights, where hiding looks simplest. By then the hidden scores have taken their share of the sum.",
        symptom: "Rows sum to less than 1. The weights that are kept are too small, all by the same factor within a row.",
        visible: "Where some key is hidden from a query that sees another.",
        fix: "Put −∞ into the scores, before the softmax. (Dividing each row by its sum again afterwards would come to the same.)",
        code: "weights = scores.masked_fill(~keep, -torch.inf).softmax(dim=-1)",
        reports: (8, 3),
        forms: &[Form::new("", MASKED, after_softmax)],
    },
];
