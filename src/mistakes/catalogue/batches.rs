//! Sequences of a batch mixed up.

use super::super::{Draft, Form, Mistake, Turn};
use super::heads::{Chain, is_plain};
use crate::ops::{Columns, Op, Place, Rearrange};
use crate::plan::{Attention, Head, HeadStep, Name, Stack, StepId};
use crate::words::n;

/// See [`super`].
pub(super) const ALL: &[Mistake] = &[Mistake {
    name: "batch-first-confused",
    summary: "the batch axis taken for the sequence",
    right: "each token attends to the tokens of its own sequence",
    wrong: "(B, n, d) read as (n, B, d): each token attends to the same token of the other sequences",
    cause: "`nn.MultiheadAttention` and `nn.Transformer` expect (n, B, d_model) unless they are built with `batch_first=True`; most data comes as (B, n, d_model). Both have three axes, and neither gives an error.",
    symptom: "A sequence's output changes with the other sequences of the batch, and does not change with its own other tokens. Weights are B × B for each token.",
    visible: "In batches; of a single sequence, given as (1, n, d_model), every token attends to itself alone.",
    fix: "Say that the batch comes first when the layer is built, or exchange the axes before and after the call.",
    code: "mha = nn.MultiheadAttention(d_model, h, batch_first=True)",
    reports: (9, 5),
    forms: &[Form::new("", Name::Stack(Stack::QHeads), across_the_batch).at(Turn::Last)],
}];

fn across_the_batch(draft: &mut Draft<'_>) -> Option<()> {
    // A single sequence is a batch of one: each token is then alone with itself.
    let sequences = draft.sequences();
    let batch = sequences.len();
    let (n, n_kv) = draft.lengths()?;
    if n != n_kv || n < 2 || !is_plain(draft) {
        return None;
    }
    let Attention { num_heads: h, d_v, .. } = draft.attention;
    let chain = Chain::of(draft)?;
    // Which columns each head reads, as the draft has them now.
    let block = |head: usize, step: HeadStep| match &draft
        .get(Head(head).step(step).in_sequence(*sequences.first()?))?
        .op
    {
        Op::Columns(columns) => Some(columns.clone()),
        _ => None,
    };
    let blocks = (0..h)
        .map(|head| Some([block(head, HeadStep::Q)?, block(head, HeadStep::K)?, block(head, HeadStep::V)?]))
        .collect::<Option<Vec<[Columns; 3]>>>()?;
    draft.retain(|step| step.id.head().is_none());
    let of_all = |name: Name| -> Vec<StepId> {
        sequences.iter().map(|sequence| StepId::of(*sequence, name)).collect()
    };
    for token in 0..n {
        for (head, [q, k, v]) in blocks.iter().enumerate() {
            let rows = |block: &Columns, name: Name| {
                let from = block.from;
                let rows = Rearrange::new(batch, block.width, n!("one token's rows of [{*}]"), |r, c| {
                    Place::of(r, token, from + c)
                });
                (rows, of_all(name))
            };
            let parts = [rows(q, Name::Q), rows(k, Name::K), rows(v, Name::V)];
            chain.put(draft, |step| Head(head).step(step).in_sequence(Some(token)), parts);
        }
    }
    let outputs: Vec<StepId> = (0..n)
        .flat_map(|token| (0..h).map(move |head| Head(head).step(HeadStep::Output).in_sequence(Some(token))))
        .collect();
    for (row, sequence) in sequences.iter().enumerate() {
        let merged = Rearrange::new(n, h * d_v, n!("this sequence's rows of [{*}]"), |r, c| {
            Place::of(r * h + c / d_v, row, c % d_v)
        });
        draft.set(StepId::of(*sequence, Name::Concat), merged, &outputs)?;
    }
    Some(())
}
