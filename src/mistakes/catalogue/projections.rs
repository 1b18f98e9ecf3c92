//! Queries, keys and values made wrongly.

use super::super::{Draft, Form, Mistake};
use crate::ops::{Concat, Op, Place, Project, ProjectBlocks, ProjectTransposed, Rearrange, Scale, Times};
use crate::plan::{Name, Projection, StepId};
use crate::words::n;

/// See [`super`].
pub(super) const ALL: &[Mistake] = &[
    Mistake {
        name: "q-k-swapped",
        summary: "query and key projections exchanged",
        right: "Q = X W_Q + b_Q, K = X W_K + b_K",
        wrong: "Q = X W_K + b_K, K = X W_Q + b_Q",
        cause: "Three projections of the same shape are passed by position or copied under each other's names, and nothing complains when the first two are exchanged.",
        symptom: "q holds what k should hold, and k what q should. Every head's scores come out transposed; the rows still sum to 1 and look plausible.",
        visible: "Where W_Q and W_K (or their biases) differ.",
        fix: "Pass projections by name, and compare q with X W_Q + b_Q before anything else.",
        code: "q, k = x @ w_q + b_q, x @ w_k + b_k",
        reports: (3, 1),
        forms: &[Form::new("", Name::Q, |draft| reorder(draft, [K, Q, V]))],
    },
    Mistake {
        name: "k-v-swapped",
        summary: "key and value projections exchanged",
        right: "K = X W_K + b_K, V = X W_V + b_V",
        wrong: "K = X W_V + b_V, V = X W_K + b_K",
        cause: "Keys and values mostly travel together (`kv`, `k_proj`, `v_proj`, a packed block), and the two are unpacked in the wrong order. A model that was trained with the exchange works; given weights do not.",
        symptom: "q is right, and nothing after it is: k equals the right v, and v the right k.",
        visible: "Where W_K and W_V have the same shape and differ.",
        fix: "Unpack in the order in which the weights were packed, keys before values.",
        code: "k, v = context @ w_k + b_k, context @ w_v + b_v",
        reports: (2, 2),
        forms: &[Form::new("", Name::K, |draft| reorder(draft, [Q, V, K]))],
    },
    Mistake {
        name: "packed-qkv-wrong-order",
        summary: "the blocks of a packed Q, K, V matrix read in another order",
        right: "Q, K, V = the 1st, 2nd and 3rd block",
        wrong: "Q, K, V = the blocks in another order",
        cause: "One matrix holds all three projections, and the code that reads it takes the blocks in another order than the code that wrote it. PyTorch's `in_proj_weight` is q, k, v from top to bottom; other programs differ.",
        symptom: "All three projections are wrong, and yet each is one of the right ones under another name.",
        visible: "Where Q, K and V are equally wide, so that any block fits any name.",
        fix: "Look up the order that the weights were saved in. With fewer key/value heads the blocks are not equally wide: cut at the widths, never into three equal parts.",
        code: "q, k, v = (x @ w_qkv).split([h * d_k, g * d_k, g * d_v], dim=-1)",
        reports: (6, 2),
        forms: &[
            Form::new("read as v, q, k", Name::Q, |draft| reorder(draft, [V, Q, K])),
            Form::new("read as k, v, q", Name::Q, |draft| reorder(draft, [K, V, Q])),
            Form::new("read as v, k, q", Name::Q, |draft| reorder(draft, [V, K, Q])),
        ],
    },
    Mistake {
        name: "packed-qkv-interleaved",
        summary: "a packed [Q | K | V] read as if it were packed head by head",
        right: "P = X [W_Q | W_K | W_V]: Q = the first third of P's columns",
        wrong: "P as (n, h, 3, d_k) or (n, h, d_k, 3): Q = columns from every part of P",
        cause: "Checkpoints pack in two ways: [all of Q | all of K | all of V] as GPT-2 does, or q, k, v of one head after the other as GPT-NeoX, Megatron and BLOOM do. Viewing the first as (n, h, 3, d_k) mixes the three up.",
        symptom: "q, k and v are each made of columns of all three. If they are read head by head, the first head's q is still right.",
        visible: "Where there are two heads or more and Q, K and V are equally wide; read column by column, also with one head.",
        fix: "Cut into Q, K and V first and into heads afterwards, or rearrange the weights once while loading.",
        code: "q, k, v = (t.view(n, h, d_k).transpose(0, 1) for t in (x @ w_qkv).chunk(3, dim=-1))",
        reports: (5, 4),
        forms: &[
            Form::new("[q k v] per head", Name::Q, |draft| {
                interleaved(draft, |part, head, column, d| head * 3 * d + part * d + column)
            }),
            Form::new("(q k v) per column", Name::Q, |draft| {
                interleaved(draft, |part, head, column, d| (head * d + column) * 3 + part)
            }),
        ],
    },
    Mistake {
        name: "proj-weight-transposed",
        summary: "multiplied by a projection's transpose, Wᵀ",
        right: "Q = X W_Q + b_Q",
        wrong: "Q = X W_Qᵀ + b_Q",
        cause: "`nn.Linear` keeps its weight as (out, in) and multiplies by its transpose, while GPT-2's `Conv1D`, Keras and most textbooks keep (in, out). Weights carried from one to the other have to be turned.",
        symptom: "q (or k, or v) is wrong in every cell, but its numbers have the usual size; a square matrix gives no error about shapes.",
        visible: "Where the projection is square and not symmetric.",
        fix: "Decide on x @ W with W as (in, out), and transpose what comes from an `nn.Linear` exactly once.",
        code: "w_q = q_proj.weight.T; q = x @ w_q + b_q",
        reports: (8, 3),
        forms: &[
            Form::new("q, k and v", Name::Q, |draft| transposed(draft, &[Q, K, V])),
            Form::new("v only", Name::V, |draft| transposed(draft, &[V])),
            Form::new("q and k", Name::Q, |draft| transposed(draft, &[Q, K])),
            Form::new("q only", Name::Q, |draft| transposed(draft, &[Q])),
            Form::new("k only", Name::K, |draft| transposed(draft, &[K])),
        ],
    },
    Mistake {
        name: "qkv-bias-missing",
        summary: "a projection's bias left out",
        right: "Q = X W_Q + b_Q",
        wrong: "Q = X W_Q",
        cause: "The weights are loaded and the biases are not: a layer built with `bias=False`, names that `load_state_dict(strict=False)` passed over in silence, or a model family that has biases on some projections only.",
        symptom: "q, k or v is off by one and the same row in every token: that row is the missing bias.",
        visible: "Where the bias is not zero. A missing b_Q or b_V reaches the output; a missing b_K shows in k and in the scores, and the softmax then takes it away again unless RoPE stands between.",
        fix: "Load the biases and add them; compare X W_Q + b_Q with q.",
        code: "q, k, v = x @ w_q + b_q, context @ w_k + b_k, context @ w_v + b_v",
        reports: (6, 3),
        forms: &[
            Form::new("q, k and v", Name::Q, |draft| without_bias(draft, &[Q, K, V])),
            Form::new("q", Name::Q, |draft| without_bias(draft, &[Q])),
            Form::new("v", Name::V, |draft| without_bias(draft, &[V])),
            Form::new("k", Name::K, |draft| without_bias(draft, &[K])),
        ],
    },
    Mistake {
        name: "kv-from-query-input",
        summary: "keys and values made from the queries' input instead of the context",
        right: "K = X_kv W_K + b_K, V = X_kv W_V + b_V",
        wrong: "K = X W_K + b_K, V = X W_V + b_V",
        cause: "A self-attention layer is copied for cross-attention, and `x` stays where the encoder's output belongs: `attn(x, x, x)` for `attn(x, memory, memory)`.",
        symptom: "k has as many rows as q. The output stays the same whatever the context is.",
        visible: "In cross-attention whose context is as wide as the input, and whose mask (if any) fits the other length.",
        fix: "Make queries from x, keys and values from the context.",
        code: "k, v = context @ w_k + b_k, context @ w_v + b_v",
        reports: (4, 2),
        forms: &[Form::new("", Name::K, |draft| sources(draft, [Name::X, Name::X, Name::X]))],
    },
    Mistake {
        name: "query-from-memory",
        summary: "the two inputs of cross-attention exchanged",
        right: "Q from X; K and V from X_kv",
        wrong: "Q from X_kv; K and V from X",
        cause: "The arguments of a cross-attention call are given in the wrong order, `attn(memory, x, x)` for `attn(x, memory, memory)`, mostly in a decoder layer.",
        symptom: "The output has a row for each token of the context instead of one for each token of x.",
        visible: "In cross-attention. Where the two sequences have different lengths the shape alone gives it away.",
        fix: "Queries come from the sequence that is being written, keys and values from the one that is looked at.",
        code: "q, k, v = x @ w_q + b_q, context @ w_k + b_k, context @ w_v + b_v",
        reports: (2, 1),
        forms: &[Form::new("", Name::Q, |draft| sources(draft, [Name::XKv, Name::X, Name::X]))],
    },
    Mistake {
        name: "input-split-before-projection",
        summary: "the input cut into heads first, and each piece projected by itself",
        right: "Q = X W_Q + b_Q, then cut into heads",
        wrong: "Q[:, block i] = X[:, block i] W_Q[block i, block i]",
        cause: "Each head is taken for a small attention of its own on its slice of the embedding: x is reshaped to (n, h, d_k) first, and a small linear layer is applied to each slice.",
        symptom: "q uses only the diagonal blocks of W_Q: a head's queries do not change with the columns of x that belong to other heads.",
        visible: "Where there are two heads or more, d_model = h · d_k, and the blocks beside the diagonal are not zero.",
        fix: "Project whole rows and cut afterwards, so that every head sees all of x.",
        code: "q = (x @ w_q + b_q).reshape(n, h, d_k).swapaxes(0, 1)",
        reports: (5, 3),
        forms: &[Form::new("", Name::Q, split_first)],
    },
];

const Q: Projection = Projection::Q;
const K: Projection = Projection::K;
const V: Projection = Projection::V;

/// The step that a projection makes.
fn made(projection: Projection) -> Name {
    match projection {
        Projection::Q => Name::Q,
        Projection::K => Name::K,
        Projection::V => Name::V,
        Projection::O => Name::Output,
    }
}

/// A projection in every sequence: its id, how it is made, and from what (x, w, and perhaps b).
fn projected(draft: &Draft<'_>, projection: Projection) -> Option<Vec<(StepId, Op, Vec<StepId>)>> {
    let ids = draft.sequences().into_iter().map(|sequence| StepId::of(sequence, made(projection)));
    ids.map(|id| {
        let step = draft.get(id)?;
        let is_product = matches!(step.op, Op::Project(_) | Op::ProjectTransposed(_) | Op::ProjectBlocks(_));
        is_product.then(|| (id, step.op.clone(), step.inputs.clone()))
    })
    .collect()
}

/// Makes Q, K and V, in this order, with the weights and biases of these projections.
fn reorder(draft: &mut Draft<'_>, with: [Projection; 3]) -> Option<()> {
    for (role, other) in [Q, K, V].into_iter().zip(with) {
        if role == other {
            continue;
        }
        let weights = draft.get(Name::W(other).into())?.id;
        let bias = draft.get(Name::B(other).into()).map(|bias| bias.id);
        for (id, op, inputs) in projected(draft, role)? {
            let inputs: Vec<StepId> = [*inputs.first()?, weights].into_iter().chain(bias).collect();
            draft.set(id, op, &inputs)?;
        }
    }
    Some(())
}

/// Takes the columns of Q, K and V from the packed product by `column(part, head, column of the head, d_k)`.
fn interleaved(draft: &mut Draft<'_>, column: fn(usize, usize, usize, usize) -> usize) -> Option<()> {
    let (h, d) = (draft.attention.num_heads, draft.attention.d_k);
    if draft.attention.num_kv_heads != h || draft.attention.d_v != d {
        return None;
    }
    let parts = [Q, K, V].map(|part| projected(draft, part));
    let [Some(q), Some(k), Some(v)] = parts else { return None };
    draft.put(Name::WQkv.into(), Concat, &[Q, K, V].map(|part| StepId::from(Name::W(part))));
    let biases = [Q, K, V].map(|part| StepId::from(Name::B(part)));
    let some_bias = biases.into_iter().find(|bias| draft.get(*bias).is_some());
    if let Some(some) = some_bias {
        // A part without a bias has zeros in the packed one.
        for bias in biases {
            if draft.get(bias).is_none() {
                draft.put(bias, Times { factor: Scale::Given(0.0), d_k: 1 }, &[some]);
            }
        }
        draft.put(Name::BQkv.into(), Concat, &biases);
    }
    for ((q, k), v) in q.into_iter().zip(k).zip(v) {
        let x = *q.2.first()?;
        if k.2.first() != Some(&x) || v.2.first() != Some(&x) {
            return None; // nothing is packed where keys come from another input
        }
        let rows = draft.get(q.0)?.shape.0;
        let packed = StepId::of(q.0.sequence, Name::Qkv);
        let bias = some_bias.map(|_| StepId::from(Name::BQkv));
        let inputs: Vec<StepId> = [x, Name::WQkv.into()].into_iter().chain(bias).collect();
        draft.put(packed, Project, &inputs);
        for (part, (id, ..)) in [q, k, v].into_iter().enumerate() {
            let taken =
                Rearrange::new(rows, h * d, n!("columns dealt out of {0} in the wrong layout"), |r, c| {
                    Place::of(0, r, column(part, c / d, c % d, d))
                });
            draft.set(id, taken, &[packed])?;
        }
    }
    Some(())
}

fn transposed(draft: &mut Draft<'_>, which: &[Projection]) -> Option<()> {
    for projection in which {
        for (id, _, inputs) in projected(draft, *projection)? {
            draft.set(id, ProjectTransposed, &inputs)?;
        }
    }
    Some(())
}

fn without_bias(draft: &mut Draft<'_>, which: &[Projection]) -> Option<()> {
    let mut found = None;
    for projection in which {
        for (id, op, inputs) in projected(draft, *projection)? {
            if let [x, w, _] = inputs[..] {
                draft.set(id, op, &[x, w])?;
                found = Some(());
            }
        }
    }
    found
}

/// Makes Q, K and V from these inputs; only in cross-attention is there a choice.
fn sources(draft: &mut Draft<'_>, from: [Name; 3]) -> Option<()> {
    let mut lengths = None;
    for (projection, source) in [Q, K, V].into_iter().zip(from) {
        for (id, op, inputs) in projected(draft, projection)? {
            let x = StepId::of(id.sequence, Name::X);
            let other = StepId::of(id.sequence, Name::XKv);
            let (n_q, n_kv) = (draft.get(x)?.shape.0, draft.get(other)?.shape.0);
            let rows = |name| if name == Name::X { n_q } else { n_kv };
            lengths = Some((rows(from[0]), rows(from[1])));
            let inputs: Vec<StepId> =
                std::iter::once(StepId::of(id.sequence, source)).chain(inputs.into_iter().skip(1)).collect();
            draft.set(id, op, &inputs)?;
        }
    }
    let (n_q, n_kv) = lengths?;
    draft.resize(n_q, n_kv)?;
    draft.set_lengths(n_q, n_kv);
    Some(())
}

fn split_first(draft: &mut Draft<'_>) -> Option<()> {
    let h = draft.attention.num_heads;
    if h < 2 || draft.attention.num_kv_heads != h {
        return None;
    }
    for projection in [Q, K, V] {
        for (id, _, inputs) in projected(draft, projection)? {
            draft.set(id, ProjectBlocks { blocks: h }, &inputs)?;
        }
    }
    Some(())
}
