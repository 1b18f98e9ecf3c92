//! Q, K, V packed into one matrix, as checkpoints have them.

use super::arrays_in::{Typed, sizes, transposed};
use super::checkpoint;
use super::literal::{Cells, literal};
use super::reader::{Node, Reader, Section, Spot};
use super::sizes::Sizes;
use crate::arrays::Array;

/// How the rows of the packed matrix (out × in) are shared out among queries, keys and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// All queries, then all keys, then all values (PyTorch, Phi-3, MPT).
    Torch,
    /// The same, but stored in × out, so that they are columns (GPT-2's Conv1D).
    Gpt2,
    /// Head by head its query, key and value (GPT-NeoX).
    Neox,
    /// As GPT-NeoX (BLOOM).
    Bloom,
    /// Key/value head by key/value head the queries that share it, its key, its value (Falcon).
    Falcon,
}

const LAYOUTS: [(&str, Layout); 5] = [
    ("torch", Layout::Torch),
    ("gpt2", Layout::Gpt2),
    ("neox", Layout::Neox),
    ("bloom", Layout::Bloom),
    ("falcon", Layout::Falcon),
];

/// A packed projection, read but not yet shared out.
#[derive(Debug, Clone)]
pub(super) struct Packed {
    /// How it is shared out.
    pub(super) layout: Layout,
    /// The matrix, or three of them where the library splits it for sources of unequal width.
    pub(super) weight: Weight,
    /// One number a row of the matrix.
    pub(super) bias: Option<Array>,
    /// W_O from the same file, already (h·d_v × d_model).
    pub(super) w_o: Option<Typed>,
    /// Its bias.
    pub(super) b_o: Option<Typed>,
    /// Where it stands in the lesson.
    pub(super) spot: Spot,
}

/// The packed numbers.
#[derive(Debug, Clone)]
pub(super) enum Weight {
    /// (out × in), turned for GPT-2.
    Whole(Array),
    /// Each (out × in).
    Apart([Array; 3]),
}

/// W_Q, W_K, W_V (in × out) and their biases.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Unpacked {
    /// The projections.
    pub(super) weights: [Array; 3],
    /// The biases, where there are any.
    pub(super) biases: Option<[Array; 3]>,
}

/// Reads `in_proj`.
pub(super) fn read(node: &Node, reader: &mut Reader) -> Option<Packed> {
    let section = node.section(&["file", "layout", "tensor", "array", "bias", "prefix"], reader)?;
    let Some(layout) = section.get("layout") else {
        let what = format!("{} has no layout", section.spot);
        let why = "libraries pack Q, K and V in different orders";
        return reader.fault(&section.spot, what, why, "write layout: torch, gpt2, neox, bloom or falcon");
    };
    let layout = layout.word(reader, &LAYOUTS)?;
    match section.get("array").filter(|node| section.get("file").is_none() && node.value.is_sequence()) {
        Some(array) => typed_out(&section, &array, layout, reader),
        None => checkpoint::from_file(&section, layout, reader),
    }
}

fn typed_out(section: &Section, array: &Node, layout: Layout, reader: &mut Reader) -> Option<Packed> {
    let weight = turned(literal(array, reader, Cells::Finite)?, layout, &array.spot, reader)?;
    let bias = match section.get("bias").filter(|node| node.value.as_bool() != Some(false)) {
        Some(node) => Some(literal(&node, reader, Cells::Finite)?),
        None => None,
    };
    for key in ["tensor", "prefix"] {
        if let Some(node) = section.get(key) {
            let what = format!("{} means nothing without a file", node.spot);
            return reader.fault(&node.spot, what, "", format!("remove {key}"));
        }
    }
    let (weight, spot) = (Weight::Whole(weight), section.spot.clone());
    Some(Packed { layout, weight, bias, w_o: None, b_o: None, spot })
}

/// (out × in), whatever the layout stores.
pub(super) fn turned(array: Array, layout: Layout, spot: &Spot, reader: &mut Reader) -> Option<Array> {
    match (layout, array.shape.len()) {
        (Layout::Gpt2, 2) => transposed(&array),
        (_, 2) => Some(array),
        _ => {
            let what = format!("{spot} is {}, but a packed projection is a matrix", sizes(&array.shape));
            reader.fault(
                spot,
                what,
                "its rows or columns are those of W_Q, W_K and W_V",
                "name another array of the file",
            )
        }
    }
}

impl Packed {
    /// Shares the packed matrix out.
    pub(super) fn unpack(&self, sizes: &Sizes, reader: &mut Reader) -> Option<Unpacked> {
        let spot = &self.spot;
        let (h, g, d_k, d_v) = (sizes.num_heads, sizes.num_kv_heads, sizes.d_k, sizes.d_v);
        let per_head = matches!(self.layout, Layout::Neox | Layout::Bloom);
        if per_head && h != g {
            let what = format!(
                "{spot}: this layout has a key and a value for each query head, but num_kv_heads is {g}"
            );
            return reader.fault(spot, what, format!("num_heads is {h}"), "choose layout: falcon or torch");
        }
        if !matches!(self.layout, Layout::Torch | Layout::Gpt2) && d_k != d_v {
            let what = format!("{spot}: in this layout d_v equals d_k, but they are {d_v} and {d_k}");
            return reader.fault(spot, what, "", "choose layout: torch, or remove attention.d_v");
        }
        let heights = [h * d_k, g * d_k, g * d_v];
        let weights = match &self.weight {
            Weight::Whole(weight) => self.shared_out(weight, sizes, heights, reader)?,
            Weight::Apart(weights) => from_three(weights)?,
        };
        let biases = match &self.bias {
            None => None,
            Some(bias) => {
                let total: usize = heights.iter().sum();
                if bias.data.len() != total {
                    let what = format!(
                        "{spot}: the packed bias has {} numbers, but Q, K and V need {total}",
                        bias.data.len()
                    );
                    let why =
                        format!("h·d_k + g·d_k + g·d_v = {} + {} + {}", heights[0], heights[1], heights[2]);
                    return reader.fault(spot, what, why, "give bias: false to leave it out");
                }
                Some(rows_of(self.layout, sizes).map(|rows| Array {
                    shape: vec![rows.len()],
                    data: rows.iter().map(|row| bias.data[*row]).collect(),
                    kind: bias.kind,
                }))
            }
        };
        Some(Unpacked { weights, biases })
    }

    fn shared_out(
        &self,
        weight: &Array,
        wanted: &Sizes,
        heights: [usize; 3],
        reader: &mut Reader,
    ) -> Option<[Array; 3]> {
        let spot = &self.spot;
        let total: usize = heights.iter().sum();
        if wanted.d_kv_model != wanted.d_model {
            let what = format!(
                "{spot}: one packed matrix cannot serve x with {} columns and x_kv with {}",
                wanted.d_model, wanted.d_kv_model
            );
            return reader.fault(
                spot,
                what,
                "Q, K and V all have its width",
                "give w_q, w_k and w_v one by one",
            );
        }
        if *weight.shape != [total, wanted.d_model] {
            let stored = |shape: &[usize]| match (self.layout, shape) {
                (Layout::Gpt2, [out, width]) => sizes(&[*width, *out]),
                _ => sizes(shape),
            };
            let what = format!(
                "{spot} is {}, but its layout needs {}",
                stored(&weight.shape),
                stored(&[total, wanted.d_model])
            );
            let why = format!(
                "h·d_k + g·d_k + g·d_v = {} + {} + {} and d_model = {}",
                heights[0], heights[1], heights[2], wanted.d_model
            );
            let turned = *weight.shape == [wanted.d_model, total];
            let remedy = match (turned, self.layout) {
                (true, Layout::Gpt2) => "it is stored out × in: choose layout: torch",
                (true, _) => "it is stored in × out: choose layout: gpt2 if its columns are Q, K, V",
                _ => "set num_heads, num_kv_heads, d_k and d_v as in the model's configuration",
            };
            return reader.fault(spot, what, why, remedy);
        }
        let width = wanted.d_model;
        Some(rows_of(self.layout, wanted).map(|rows| {
            let data = (0..width)
                .flat_map(|column| rows.iter().map(move |row| (row, column)))
                .map(|(row, column)| weight.data[row * width + column])
                .collect();
            Array { shape: vec![width, rows.len()], data, kind: weight.kind }
        }))
    }
}

fn from_three(weights: &[Array; 3]) -> Option<[Array; 3]> {
    let [q, k, v] = weights;
    Some([transposed(q)?, transposed(k)?, transposed(v)?])
}

/// Which rows of the packed matrix are queries, keys and values.
fn rows_of(layout: Layout, sizes: &Sizes) -> [Vec<usize>; 3] {
    let (h, g, d_k, d_v) = (sizes.num_heads, sizes.num_kv_heads, sizes.d_k, sizes.d_v);
    match layout {
        Layout::Torch | Layout::Gpt2 => {
            let (q, k, v) = (h * d_k, g * d_k, g * d_v);
            [(0..q).collect(), (q..q + k).collect(), (q + k..q + k + v).collect()]
        }
        Layout::Neox | Layout::Bloom | Layout::Falcon => {
            let sharing = h / g.max(1);
            let mut rows = [Vec::new(), Vec::new(), Vec::new()];
            let mut next = 0..;
            for _ in 0..g {
                for (kind, heads) in [sharing, 1, 1].into_iter().enumerate() {
                    rows[kind].extend(next.by_ref().take(heads * d_k));
                }
            }
            rows
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(num_heads: usize, num_kv_heads: usize, d_k: usize, d_v: usize) -> Sizes {
        Sizes {
            d_model: 2,
            d_kv_model: 2,
            num_heads,
            num_kv_heads,
            d_k,
            d_v,
            n_q: 1,
            n_kv: 1,
            batch: None,
            layer: 0,
        }
    }

    #[test]
    fn blocks_may_have_unequal_heights() {
        // 2 query heads of 1, 1 key head of 1, 1 value head of 3
        let [q, k, v] = rows_of(Layout::Torch, &sizes(2, 1, 1, 3));
        assert_eq!((q, k, v), (vec![0, 1], vec![2], vec![3, 4, 5]));
    }

    #[test]
    fn neox_goes_head_by_head() {
        // head 1: q 0-1, k 2-3, v 4-5; head 2: q 6-7, k 8-9, v 10-11
        let [q, k, v] = rows_of(Layout::Neox, &sizes(2, 2, 2, 2));
        assert_eq!((q, k, v), (vec![0, 1, 6, 7], vec![2, 3, 8, 9], vec![4, 5, 10, 11]));
    }

    #[test]
    fn falcon_keeps_the_queries_that_share_a_key_together() {
        // group 1: q 0, q 1, k 2, v 3; group 2: q 4, q 5, k 6, v 7
        let [q, k, v] = rows_of(Layout::Falcon, &sizes(4, 2, 1, 1));
        assert_eq!((q, k, v), (vec![0, 1, 4, 5], vec![2, 6], vec![3, 7]));
    }
}
