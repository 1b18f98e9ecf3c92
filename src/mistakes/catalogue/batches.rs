//! Sequences of a batch mixed up.

use super::super::{Draft, Form, Mistake};
use super::heads::is_plain;
use crate::ops::{Mix, Place, Rearrange, Scores, Softmax};
use crate::plan::{Attention, Axis, Head, HeadStep, Name, Stack, StepId};

/// See [`super`].
pub(super) const ALL: &[Mistake] = &[Mistake {
    name: "batch-first-confused",
    summary: "the batch axis taken for the sequence",
    right: "each token attends to the tokens of its own sequence",
    wrong: "(B, n, d) read as (n, B, d): each token attends to the same token of the other sequences",
    cause: "`nn.MultiheadAttention` and `nn.Transformer` expect (n, B, d_model) unless they are built with `batch_first=True`; most data comes as (B, n, d_model). Both have three axes, and neither gives an error.",
    symptom: "A sequence's output changes with the other sequences of the batch, and does not change with its own other tokens. Weights are B × B for each token.",
    visible: "In batches of two sequences or more.",
    fix: "Say that the batch comes first when the layer is built, or exchange the axes before and after the call.",
    code: "mha = nn.MultiheadAttention(d_model, h, batch_first=True)",
    reports: (9, 5),
    forms: &[Form::rebuild("", Name::Stack(Stack::QHeads), across_the_batch)],
}];

fn across_the_batch(draft: &mut Draft<'_>) -> Option<()> {
    let batch = draft.call.batch.filter(|batch| *batch > 1)?;
    let (n, n_kv) = draft.lengths()?;
    if n != n_kv || !is_plain(draft) {
        return None;
    }
    let Attention { num_heads: h, d_k, d_v, scale, .. } = draft.attention;
    let kv_heads: Vec<usize> = (0..h).map(|head| draft.attention.kv_head(head)).collect();
    draft.retain(|step| step.id.head().is_none());
    let of_all = |name: Name| -> Vec<StepId> {
        (0..batch).map(|sequence| StepId { sequence: Some(sequence), name }).collect()
    };
    for token in 0..n {
        for (head, kv_head) in kv_heads.iter().copied().enumerate() {
            let step = |step| Head(head).step(step).in_sequence(Some(token));
            for (part, from, block, width) in [
                (HeadStep::Q, Name::Q, head, d_k),
                (HeadStep::K, Name::K, kv_head, d_k),
                (HeadStep::V, Name::V, kv_head, d_v),
            ] {
                let rows = Rearrange::new(batch, width, "one token's rows of [{*}]", |r, c| {
                    Place::of(r, token, block * width + c)
                });
                draft.put_in(step(part), rows, &of_all(from), (Axis::Features, Axis::Features));
            }
            let axes = (Axis::Features, Axis::Features);
            let scores = Scores { scale, d_k };
            draft.put_in(step(HeadStep::Scores), scores, &[step(HeadStep::Q), step(HeadStep::K)], axes);
            let softmax = Softmax { empty_rows: draft.attention.fully_masked_rows, sink: None };
            draft.put_in(step(HeadStep::Weights), softmax, &[step(HeadStep::Scores)], axes);
            draft.put_in(step(HeadStep::Output), Mix, &[step(HeadStep::Weights), step(HeadStep::V)], axes);
        }
    }
    let outputs: Vec<StepId> = (0..n)
        .flat_map(|token| {
            (0..h).map(move |head| Head(head).step(HeadStep::Output).in_sequence(Some(token)))
        })
        .collect();
    for sequence in 0..batch {
        let merged = Rearrange::new(n, h * d_v, "this sequence's rows of [{*}]", |r, c| {
            Place::of(r * h + c / d_v, sequence, c % d_v)
        });
        draft.set(StepId { sequence: Some(sequence), name: Name::Concat }, merged, &outputs)?;
    }
    Some(())
}
