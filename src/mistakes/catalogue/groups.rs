//! Grouped queries that read the wrong key/value head.

use super::super::{Draft, Form, Mistake};
use crate::ops::{Columns, Op};
use crate::plan::{Attention, HeadStep, Name, Stack};

/// See [`super`].
pub(super) const ALL: &[Mistake] = &[
    Mistake {
        name: "gqa-tiled",
        summary: "key/value heads tiled instead of repeated",
        right: "query head i reads key/value head ⌊i / (h/g)⌋",
        wrong: "query head i reads key/value head i mod g",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
        reports: (7, 3),
        forms: &[Form::new("", Name::Stack(Stack::Scores), |draft| read(draft, |head, groups| head % groups))],
    },
    Mistake {
        name: "gqa-first-kv-head",
        summary: "all query heads read the first key/value head",
        right: "query head i reads key/value head ⌊i / (h/g)⌋",
        wrong: "every query head reads key/value head 1",
        cause: "",
        symptom: "",
        visible: "",
        fix: "",
        code: "",
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
