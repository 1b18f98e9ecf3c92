//! Grouped queries that read the wrong key/value head.

use super::super::{Draft, Form, Mistake};
use crate::ops::{Columns, Op};
use crate::plan::{Attention, HeadStep, Name, Stack};

/// See [`super`].
pub(super) const ALL: &[Mistake] = &[
    Mistake {
        name: "gqa-tiled",
        summary: "key/value heads tiled instead of repeated",
        right: "h = 4, g = 2: query heads 1, 2, 3, 4 read key/value heads 1, 1, 2, 2",
        wrong: "h = 4, g = 2: query heads 1, 2, 3, 4 read key/value heads 1, 2, 1, 2",
        cause: "Key/value heads are copied with `Tensor.repeat`, `np.tile` or `expand` on the wrong axis, which lays out 1, 2, 1, 2 where grouped queries need 1, 1, 2, 2.",
        symptom: "k and v are right. The first and the last query head are right too, and others in between read a neighbour's keys and values.",
        visible: "Where there are fewer key/value heads than heads, and more than one.",
        fix: "Repeat each key/value head h/g times before the next one begins.",
        code: "k = k.repeat_interleave(h // g, dim=0)  or  k = np.repeat(k, h // g, axis=0)",
        reports: (7, 3),
        forms: &[Form::new("", Name::Stack(Stack::Scores), |draft| {
            read(draft, |head, groups| head % groups)
        })],
    },
    Mistake {
        name: "gqa-first-kv-head",
        summary: "all query heads read the first key/value head",
        right: "h = 4, g = 2: query heads 1, 2, 3, 4 read key/value heads 1, 1, 2, 2",
        wrong: "every query head reads key/value head 1",
        cause: "Code for a single shared key/value head (MQA) meets a model with several, or a kernel's pointer to the keys never moves on with the head.",
        symptom: "Query heads of the first group are right. All others have the scores and the values of key/value head 1.",
        visible: "Where there are fewer key/value heads than heads, and more than one.",
        fix: "Work out the key/value head from the query head's number.",
        code: "kv = i // (h // g); scores[i] = q[i] @ k[kv].T / np.sqrt(d_k)",
        reports: (6, 3),
        forms: &[Form::new("", Name::Stack(Stack::Scores), |draft| read(draft, |_, _| 0))],
    },
];

/// Lets query head i read key/value head `which(i, g)`. The heads themselves, as `k_heads` shows them, stay right: the
/// first wrong step is the scores.
fn read(draft: &mut Draft<'_>, which: fn(usize, usize) -> usize) -> Option<()> {
    let Attention { num_heads, num_kv_heads, d_k, d_v, .. } = draft.attention;
    if num_kv_heads < 2 || num_kv_heads >= num_heads {
        return None;
    }
    for (step, width) in [(HeadStep::K, d_k), (HeadStep::V, d_v)] {
        draft.each_head(step, |id, op, inputs| {
            let from = which(id.head()?.0, num_kv_heads) * width;
            matches!(op, Op::Columns(_)).then(|| (Columns { from, width }.into(), inputs.to_vec()))
        })?;
    }
    Some(())
}
