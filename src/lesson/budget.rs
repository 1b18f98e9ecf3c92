//! What a lesson may ask to compute: sizes are multiplied out, with checks, before anything is allocated.

use super::arrays_in::Source;
use super::file::File;
use super::reader::{Reader, Spot};
use super::sizes::Sizes;
use crate::fault::counted;
use crate::limits::{KEPT_NUMBERS, LESSON_HEADS, MATRIX_NUMBERS};

/// Refuses problems too large to compute, matrix by matrix and all together.
pub(super) fn keep(file: &File, sizes: &Sizes, reader: &mut Reader) -> Option<()> {
    one_by_one(file, sizes, reader)?;
    altogether(file, sizes, reader)
}

/// Refuses sizes whose matrices would be too large, before any of them is made.
fn one_by_one(file: &File, sizes: &Sizes, reader: &mut Reader) -> Option<()> {
    let Sizes { d_model, d_kv_model, num_heads: h, num_kv_heads: g, d_k, d_v, n_q, n_kv, .. } = *sizes;
    let (queries, keys, values) = ((h, d_k), (g, d_k), (g, d_v));
    let mut matrices = vec![
        ("Q", "n_q × num_heads · d_k", n_q, queries),
        ("K", "n_kv × num_kv_heads · d_k", n_kv, keys),
        ("V", "n_kv × num_kv_heads · d_v", n_kv, values),
        ("the concatenation", "n_q × num_heads · d_v", n_q, (h, d_v)),
        ("the matrix of scores", "n_q × n_kv", n_q, (1, n_kv)),
    ];
    if file.inputs.x.good().is_some() {
        matrices.extend([
            ("W_Q", "d_model × num_heads · d_k", d_model, queries),
            ("W_K", "d_kv_model × num_kv_heads · d_k", d_kv_model, keys),
            ("W_V", "d_kv_model × num_kv_heads · d_v", d_kv_model, values),
        ]);
    }
    if file.projections.w[3].good().is_some_and(|w_o| w_o.source != Source::None) {
        matrices.push(("W_O", "d_model × num_heads · d_v", d_model, (h, d_v)));
    }
    for (name, shape, rows, (heads, width)) in matrices {
        let cells = heads.checked_mul(width).and_then(|columns| columns.checked_mul(rows));
        if cells.is_some_and(|cells| cells <= MATRIX_NUMBERS) {
            continue;
        }
        let count = cells.map_or("too many".into(), |cells| cells.to_string());
        let what = format!(
            "{name} ({shape}) would have {count} numbers, more than the {MATRIX_NUMBERS} of the largest matrix"
        );
        let why = format!(
            "d_model {d_model}, num_heads {h}, num_kv_heads {g}, d_k {d_k}, d_v {d_v}, n_q {n_q}, n_kv {n_kv}"
        );
        return reader.fault(&file.attention.spot, what, why, "take smaller sizes");
    }
    Some(())
}

/// Refuses problems of many heads or sequences whose matrices are small enough one by one, but not all together.
fn altogether(file: &File, sizes: &Sizes, reader: &mut Reader) -> Option<()> {
    let keys = &file.attention;
    let batch = sizes.batch.unwrap_or(1);
    let heads = batch.saturating_mul(sizes.num_heads);
    let per = sizes.batch.map_or(String::new(), |batch| format!("{batch} sequences of "));
    if heads > LESSON_HEADS {
        let in_all = if sizes.batch.is_some() { format!(" are {heads} heads,") } else { " are".to_owned() };
        let these = counted(sizes.num_heads, "head");
        let what = format!("{per}{these}{in_all} more than the {LESSON_HEADS} of the largest lesson");
        let spot = if sizes.num_heads > LESSON_HEADS {
            keys.spot.key("num_heads")
        } else {
            file.inputs.spot.clone()
        };
        let why = "each head has scores, weights and an output of its own";
        return reader.fault(&spot, what, why, "take fewer heads or sequences");
    }
    let kept = kept(file, sizes);
    if kept > KEPT_NUMBERS {
        let what = format!(
            "the steps would have {kept} numbers in all, more than the {KEPT_NUMBERS} that are kept at once"
        );
        let why = format!(
            "{per}{}, each with scores and weights of {} × {}",
            counted(sizes.num_heads, "head"),
            sizes.n_q,
            sizes.n_kv
        );
        return reader.fault(&file.inputs.spot, what, why, "take fewer tokens, heads or sequences");
    }
    Some(())
}

/// How many numbers the steps of an attention call have together.
fn kept(file: &File, sizes: &Sizes) -> u128 {
    let keys = &file.attention;
    // scores and weights, and what stands between them
    let stages = 2 + [!keys.mask.is_absent(), !keys.positions.is_absent(), !keys.softcap.is_absent()]
        .into_iter()
        .map(u128::from)
        .sum::<u128>();
    let [h, n_q, n_kv, d_k, d_v, d_model] =
        [sizes.num_heads, sizes.n_q, sizes.n_kv, sizes.d_k, sizes.d_v, sizes.d_model]
            .map(|size| size as u128);
    // each factor is at most a million, and one_by_one knows the pairs: far from the end of 128 bits
    let head = n_q * n_kv * stages + (n_q + n_kv) * (2 * d_k + d_v);
    sizes.batch.unwrap_or(1) as u128 * (h * head + n_q * (2 * d_model + h * (d_k + d_v)))
}

/// What the layers of a stack take together, counted layer by layer: a stack that is too large is refused before the rest
/// of it is even looked at.
#[derive(Debug)]
pub(super) struct StackBudget {
    /// How many layers there will be.
    all: usize,
    layers: usize,
    heads: usize,
    numbers: u128,
}

impl StackBudget {
    /// Of a stack of so many layers, none of which is counted yet.
    pub(super) fn new(all: usize) -> Self {
        Self { all, layers: 0, heads: 0, numbers: 0 }
    }

    /// Counts a layer: its steps, and what is learned in it. `d_ff` is the width of its feed-forward network, 0 where it
    /// has none.
    pub(super) fn add(
        &mut self,
        file: &File,
        sizes: &Sizes,
        d_ff: usize,
        spot: &Spot,
        reader: &mut Reader,
    ) -> Option<()> {
        one_by_one(file, sizes, reader)?;
        let [d_model, d_ff, n] = [sizes.d_model, d_ff, sizes.n_q].map(|size| size as u128);
        for (name, rows) in
            [("W_1 and W_2 (d_model × d_ff)", d_model), ("the feed-forward network (n × d_ff)", n)]
        {
            if rows * d_ff > MATRIX_NUMBERS as u128 {
                let what = format!(
                    "{name} would have {} numbers, more than the {MATRIX_NUMBERS} of the largest matrix",
                    rows * d_ff
                );
                let why = format!("d_model {d_model}, d_ff {d_ff}, n {n}");
                return reader.fault(spot, what, why, "take a smaller d_ff");
            }
        }
        let [h, g, d_k, d_v] =
            [sizes.num_heads, sizes.num_kv_heads, sizes.d_k, sizes.d_v].map(|size| size as u128);
        let learned = d_model * (h * (d_k + d_v) + g * (d_k + d_v) + 2 * d_ff);
        self.layers += 1;
        self.heads += sizes.num_heads;
        self.numbers += kept(file, sizes) + learned + n * (6 * d_model + 2 * d_ff);
        let these = match self.layers {
            all if all == self.all => counted(all, "layer"),
            some => format!("the first {some} of {} layers", self.all),
        };
        if self.heads > LESSON_HEADS {
            let what = format!(
                "{these} have {} heads, more than the {LESSON_HEADS} of the largest lesson",
                self.heads
            );
            let why = "each head has scores, weights and an output of its own";
            return reader.fault(spot, what, why, "take fewer layers or heads");
        }
        if self.numbers > KEPT_NUMBERS {
            let what = format!(
                "{these} would have {} numbers in all, more than the {KEPT_NUMBERS} that are kept at once",
                self.numbers
            );
            let why = "every layer has steps and matrices of its own";
            return reader.fault(spot, what, why, "take fewer layers or tokens, or smaller sizes");
        }
        Some(())
    }
}
