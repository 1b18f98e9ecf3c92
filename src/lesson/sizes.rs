//! The sizes of a problem: what the lesson gives, what its inputs imply, and whether the two agree.

use super::arrays_in::{Draw, Source, Typed, sizes};
use super::budget;
use super::file::File;
use super::random::Stream;
use super::reader::{Given, Reader, Spot};
use crate::arrays::Array;
use crate::fault::counted;

/// Every size of an attention call; products of them are known to be small enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) d_model: usize,
    pub(super) d_kv_model: usize,
    pub(super) num_heads: usize,
    pub(super) num_kv_heads: usize,
    pub(super) d_k: usize,
    pub(super) d_v: usize,
    pub(super) n_q: usize,
    pub(super) n_kv: usize,
    pub(super) batch: Option<usize>,
    /// Which layer of a stack, from 0: its random numbers are its own. 0 where there is no stack.
    pub(super) layer: usize,
}

/// An input: one matrix, or one a sequence.
#[derive(Debug, Clone)]
pub(super) struct Sequences {
    /// How many sequences, where there is a batch axis.
    pub(super) batch: Option<usize>,
    /// Tokens.
    pub(super) rows: usize,
    /// Width.
    pub(super) columns: usize,
    /// Row-major, sequence after sequence.
    pub(super) data: Vec<f64>,
}

/// What attention starts from.
#[derive(Debug, Clone)]
pub(super) enum Start {
    /// Embeddings; `x_kv` in cross-attention.
    Embeddings {
        /// Where queries come from.
        x: Sequences,
        /// Where keys and values come from, if from elsewhere.
        x_kv: Option<Sequences>,
    },
    /// Queries, keys and values, already projected.
    Projected {
        /// Q, K and V.
        qkv: Box<[Sequences; 3]>,
    },
}

/// Settles what the inputs are and every size; `None` where a fault leaves one of them open.
pub(super) fn settle(file: &File, reader: &mut Reader) -> Option<(Start, Sizes)> {
    let start = start(file, reader)?;
    let heads = heads(file, reader);
    let (start, (num_heads, num_kv_heads)) = (start?, heads?);
    let sizes = match &start {
        Start::Embeddings { x, x_kv } => {
            from_embeddings(file, x, x_kv.as_ref(), num_heads, num_kv_heads, reader)
        }
        Start::Projected { qkv } => from_projected(file, qkv, num_heads, num_kv_heads, reader),
    }?;
    budget::keep(file, &sizes, reader)?;
    Some((start, sizes))
}

/// The x that a stack of layers starts from.
pub(super) fn embedding(file: &File, reader: &mut Reader) -> Option<Sequences> {
    match start(file, reader)?? {
        Start::Embeddings { x, x_kv: None } => Some(x),
        _ => None, // refused before
    }
}

/// The sizes of one layer of a stack, with keys of its own; nothing is multiplied out yet.
pub(super) fn of_layer(file: &File, x: &Sequences, layer: usize, reader: &mut Reader) -> Option<Sizes> {
    let (num_heads, num_kv_heads) = heads(file, reader)?;
    let sizes = from_embeddings(file, x, None, num_heads, num_kv_heads, reader)?;
    Some(Sizes { layer, ..sizes })
}

/// What the inputs are; nothing where it is not even clear which of them count.
fn start(file: &File, reader: &mut Reader) -> Option<Option<Start>> {
    Some(match kind(file, reader)? {
        Kind::Embeddings => embeddings(file, reader),
        Kind::Projected => projected(file, reader),
    })
}

enum Kind {
    Embeddings,
    Projected,
}

fn kind(file: &File, reader: &mut Reader) -> Option<Kind> {
    let inputs = &file.inputs;
    let spot = &inputs.spot;
    let projected = [("q", &inputs.q), ("k", &inputs.k), ("v", &inputs.v)];
    let missing: Vec<&str> =
        projected.iter().filter(|(_, given)| given.is_absent()).map(|(name, _)| *name).collect();
    match (inputs.x.is_absent(), missing.len()) {
        (false, 3) => Some(Kind::Embeddings),
        (true, 0) if inputs.x_kv.is_absent() => Some(Kind::Projected),
        (true, 0) => {
            let what = "inputs.x_kv is given beside k and v, which are already projected";
            reader.fault(
                &spot.key("x_kv"),
                what,
                "x_kv would not be used",
                "remove x_kv, or give x and x_kv instead of q, k and v",
            )
        }
        (false, _) => {
            let what = "inputs give both x and already projected q, k or v";
            let why = "q, k and v are either computed from x or given";
            reader.fault(spot, what, why, "remove x, or remove q, k and v")
        }
        (true, 3) => {
            let remedy = "give x: [[1, 0], [0, 1]], or q, k and v";
            reader.fault(spot, "inputs have no x", "there is nothing to compute from", remedy)
        }
        (true, _) => {
            let what = format!("inputs have no {}", missing.join(" and no "));
            reader.fault(
                spot,
                what,
                "without x, all of q, k and v are needed",
                format!("give {}", missing.join(" and ")),
            )
        }
    }
}

fn embeddings(file: &File, reader: &mut Reader) -> Option<Start> {
    let d_model = file.attention.d_model.good().copied();
    let count = |labels: &Given<Vec<String>>| labels.good().map(Vec::len);
    let tokens = count(&file.tokens);
    let x = input(&file.inputs.x, tokens.zip(d_model), Stream::X, reader);
    let kv_tokens = count(&file.kv_tokens);
    let x_kv = match &file.inputs.x_kv {
        Given::Absent => Some(None),
        given => input(given, kv_tokens.zip(d_model), Stream::X_KV, reader).map(Some),
    };
    let (x, x_kv) = (x?, x_kv?);
    if let Some(other) = x_kv.as_ref().filter(|other| other.batch != x.batch) {
        return unequal_batches(&file.inputs.spot.key("x_kv"), ("x_kv", other.batch), ("x", x.batch), reader);
    }
    Some(Start::Embeddings { x, x_kv })
}

fn projected(file: &File, reader: &mut Reader) -> Option<Start> {
    let inputs = &file.inputs;
    let q = input(&inputs.q, None, Stream::Q, reader);
    let k = input(&inputs.k, None, Stream::K, reader);
    let v = input(&inputs.v, None, Stream::V, reader);
    let (q, k, v) = (q?, k?, v?);
    for (name, other) in [("k", &k), ("v", &v)] {
        if other.batch != q.batch {
            return unequal_batches(&inputs.spot.key(name), (name, other.batch), ("q", q.batch), reader);
        }
    }
    if k.rows != v.rows {
        let what = format!("inputs.v has {}, but inputs.k has {}", counted(v.rows, "row"), k.rows);
        return reader.fault(
            &inputs.spot.key("v"),
            what,
            "each key has one value",
            "give k and v the same number of rows",
        );
    }
    Some(Start::Projected { qkv: Box::new([q, k, v]) })
}

fn unequal_batches<T>(
    spot: &Spot,
    one: (&str, Option<usize>),
    other: (&str, Option<usize>),
    reader: &mut Reader,
) -> Option<T> {
    let in_words =
        |batch: Option<usize>| batch.map_or("no batch axis".into(), |batch| format!("a batch of {batch}"));
    let what =
        format!("inputs.{} has {}, but inputs.{} has {}", one.0, in_words(one.1), other.0, in_words(other.1));
    reader.fault(
        spot,
        what,
        "sequence b of the one belongs to sequence b of the other",
        "give all inputs the same batch axis",
    )
}

/// An input's numbers; `default` is the shape of a random one that names none.
fn input(
    given: &Given<Typed>,
    default: Option<(usize, usize)>,
    stream: Stream,
    reader: &mut Reader,
) -> Option<Sequences> {
    let typed = given.good()?;
    let spot = &typed.spot;
    let array = match &typed.source {
        Source::Ready(array) => array.clone(),
        Source::Random(random) => {
            let default = default.map(|(rows, columns)| vec![rows, columns]);
            let Some(shape) = random.shape.clone().or(default) else {
                let what = format!("{spot} is random, but nothing says how large it is");
                return reader.fault(
                    spot,
                    what,
                    "",
                    "write {random: {seed: 7, shape: [3, 4]}}: rows (tokens), columns",
                );
            };
            if !super::arrays_in::few_enough(&shape, spot, reader) {
                return None;
            }
            typed.source.fill(&shape, Draw { stream, std: 1.0 })?
        }
        _ => {
            let what = format!("{spot} must be numbers: a word does not say how many rows it has");
            return reader.fault(
                spot,
                what,
                "",
                "write its rows, {file: x.npy} or {random: {seed: 7, shape: [3, 4]}}",
            );
        }
    };
    sequences(array, spot, reader)
}

fn sequences(array: Array, spot: &Spot, reader: &mut Reader) -> Option<Sequences> {
    let (batch, rows, columns) = match *array.shape {
        [rows, columns] => (None, rows, columns),
        [batch, rows, columns] => (Some(batch), rows, columns),
        _ => {
            let what = format!("{spot} is {}, but it needs a row for each token", sizes(&array.shape));
            return reader.fault(spot, what, "", "write [[…], […]], or a list of such matrices for a batch");
        }
    };
    Some(Sequences { batch, rows, columns, data: array.data })
}

fn heads(file: &File, reader: &mut Reader) -> Option<(usize, usize)> {
    let attention = &file.attention;
    let num_heads = attention.num_heads.clone().or(1)?;
    let num_kv_heads = attention.num_kv_heads.clone().or(num_heads)?;
    if num_heads.is_multiple_of(num_kv_heads) {
        return Some((num_heads, num_kv_heads));
    }
    let spot = attention.spot.key("num_kv_heads");
    let what = format!("num_heads = {num_heads} cannot be shared out among num_kv_heads = {num_kv_heads}");
    let why = "each key/value head serves the same number of query heads";
    let remedy = format!("write num_kv_heads: {}", neighbours(num_heads, num_kv_heads));
    reader.fault(&spot, what, why, remedy)
}

/// The divisors of `number` on both sides of `near`: `2 or 5`.
fn neighbours(number: usize, near: usize) -> String {
    let divides = |divisor: &usize| number.is_multiple_of(*divisor);
    let below = (1..near.min(number + 1)).rev().find(divides);
    let above = (near + 1..=number).find(divides);
    match (below, above) {
        (Some(below), Some(above)) => format!("{below} or {above}"),
        (Some(one), None) | (None, Some(one)) => one.to_string(),
        (None, None) => "1".into(),
    }
}

fn from_embeddings(
    file: &File,
    x: &Sequences,
    x_kv: Option<&Sequences>,
    num_heads: usize,
    num_kv_heads: usize,
    reader: &mut Reader,
) -> Option<Sizes> {
    let attention = &file.attention;
    let d_model = attention.d_model.clone().or(x.columns)?;
    if d_model != x.columns {
        let what =
            format!("inputs.x has {}, but attention.d_model is {d_model}", counted(x.columns, "column"));
        let why = "d_model is the width of x";
        return reader.fault(
            &file.inputs.x.good()?.spot,
            what,
            why,
            format!("give x {d_model} columns, or leave d_model out"),
        );
    }
    let d_k = match attention.d_k.clone().optional()? {
        Some(d_k) => d_k,
        None if d_model.is_multiple_of(num_heads) => d_model / num_heads,
        None => {
            let what = format!("num_heads = {num_heads} does not divide d_model = {d_model}");
            let why = "d_k = d_model / num_heads unless it is given";
            let remedy = format!("write num_heads: {}, or set attention.d_k", neighbours(d_model, num_heads));
            return reader.fault(&attention.spot.key("num_heads"), what, why, remedy);
        }
    };
    Some(Sizes {
        d_model,
        d_kv_model: x_kv.map_or(d_model, |x_kv| x_kv.columns),
        num_heads,
        num_kv_heads,
        d_k,
        d_v: attention.d_v.clone().or(d_k)?,
        n_q: x.rows,
        n_kv: x_kv.unwrap_or(x).rows,
        batch: x.batch,
        layer: 0,
    })
}

fn from_projected(
    file: &File,
    qkv: &[Sequences; 3],
    num_heads: usize,
    num_kv_heads: usize,
    reader: &mut Reader,
) -> Option<Sizes> {
    let [q, k, v] = qkv;
    let attention = &file.attention;
    // d_k columns a head for each of q and k, d_v for v: where the lesson gives no width, the matrix implies it
    let mut width =
        |name: &str, of: &Sequences, word: &str, heads: usize, head_word: &str, given: Option<usize>| {
            let spot = file.inputs.spot.key(name);
            let why = format!("its columns are {heads} blocks of {word}, one a head");
            match given {
                Some(width) if heads.checked_mul(width) != Some(of.columns) => {
                    let what = format!(
                        "{spot} has {} columns, but {head_word} · {word} is {heads} · {width}",
                        of.columns
                    );
                    reader.fault(
                        &spot,
                        what,
                        why,
                        format!("give {name} other columns, or change {head_word} or {word}"),
                    )
                }
                Some(width) => Some(width),
                None if of.columns.is_multiple_of(heads) => Some(of.columns / heads),
                None => {
                    let what = format!(
                        "{spot} has {}, which {head_word} = {heads} does not divide",
                        counted(of.columns, "column")
                    );
                    reader.fault(
                        &spot,
                        what,
                        why,
                        format!("write {head_word}: {}", neighbours(of.columns, heads)),
                    )
                }
            }
        };
    let d_k = width("q", q, "d_k", num_heads, "num_heads", attention.d_k.clone().optional()?)?;
    let d_k_of_keys = width("k", k, "d_k", num_kv_heads, "num_kv_heads", Some(d_k));
    let d_v = width("v", v, "d_v", num_kv_heads, "num_kv_heads", attention.d_v.clone().optional()?);
    let (_, d_v) = (d_k_of_keys?, d_v?);
    let written = file.projections.w[3].good().map(|typed| &typed.source);
    let implied = match written {
        Some(Source::Ready(array)) => array.shape.last().copied().unwrap_or(1),
        // identity needs a square W_O
        Some(Source::Identity) => num_heads.checked_mul(d_v)?,
        _ => q.columns,
    };
    let d_model = attention.d_model.clone().or(implied)?;
    Some(Sizes {
        d_model,
        d_kv_model: d_model,
        num_heads,
        num_kv_heads,
        d_k,
        d_v,
        n_q: q.rows,
        n_kv: k.rows,
        batch: q.batch,
        layer: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_divisors_on_both_sides_are_offered() {
        assert_eq!(neighbours(10, 4), "2 or 5");
        assert_eq!(neighbours(10, 3), "2 or 5");
        assert_eq!(neighbours(4, 9), "4");
        assert_eq!(neighbours(7, 3), "1 or 7");
    }
}
