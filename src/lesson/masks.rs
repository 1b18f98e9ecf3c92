//! Masks: what may be typed, and what it means once the sizes are known.

use nalgebra::DMatrix;
use serde_yaml::Value;

use super::arrays_in::{self, Draw, Typed, sizes};
use super::literal::Cells;
use super::random::Stream;
use super::reader::{Node, Reader, Spot, near, whole_number};
use super::sizes::Sizes;
use crate::arrays::Array;
use crate::fault::counted;
use crate::limits::MASK_REACH;
use crate::plan::spec::{Alignment, Mask};

/// A mask before the sizes are known.
#[derive(Debug, Clone)]
pub(super) enum TypedMask {
    /// Nothing left to settle.
    Ready(Mask),
    /// n_kv flags, or a row of them a sequence.
    KeyPadding(Typed),
    /// One matrix, one a head in one array, or a list with one a head.
    Allow(Vec<Typed>, Spot),
    /// The same, of numbers.
    Add(Vec<Typed>, Spot),
}

const FORMS: &str = "causal, {causal: top-left}, {causal: {offset: 2}}, {window: 3}, {window: {left: 2, right: 0}}, \
                     {key_padding: […]}, {allow: [[…]]}, {add: [[…]]}, or a list of them";

/// Reads one mask or a list of masks.
pub(super) fn read(node: &Node, reader: &mut Reader) -> Option<Vec<TypedMask>> {
    if !node.value.is_sequence() {
        return Some(vec![one(node, reader)?]);
    }
    if node.value.as_sequence().is_some_and(|items| items.iter().any(Value::is_sequence)) {
        let remedy = "write mask: {allow: [[…]]} for a matrix of true (or 1) where a query may see a key, or \
                      mask: {add: [[…]]} for numbers that are added to the scores";
        return node.refuse(reader, "a mask, not a matrix", remedy);
    }
    let items = node.items(reader, "a list of masks", "")?;
    let masks: Vec<_> = items.iter().map(|item| one(item, reader)).collect();
    masks.into_iter().collect()
}

fn one(node: &Node, reader: &mut Reader) -> Option<TypedMask> {
    if node.value.as_str() == Some("causal") {
        return Some(TypedMask::Ready(Mask::Causal(Alignment::BottomRight)));
    }
    if !node.value.is_mapping() {
        let near = node.value.as_str().and_then(|typed| near(typed, ["causal"]));
        let near = near.map_or(String::new(), |near| format!("did you mean {near}? "));
        return node.refuse(reader, "a mask", format!("{near}A mask is {FORMS}"));
    }
    let section = node.section(&["causal", "window", "key_padding", "allow", "add"], reader)?;
    let keys: Vec<&str> = section.keys().collect();
    let [key] = keys.as_slice() else {
        let what = format!("{} holds {} masks in one item", node.spot, keys.len());
        return reader.fault(&node.spot, what, "", "write one mask an item: mask: [causal, {window: 3}]");
    };
    let inner = section.get(key)?;
    match *key {
        "causal" => causal(&inner, reader),
        "window" => window(&inner, reader),
        "key_padding" => Some(TypedMask::KeyPadding(arrays_in::read(&inner, reader, Cells::Flags)?)),
        "allow" => Some(TypedMask::Allow(matrices(&inner, reader, Cells::Flags)?, inner.spot)),
        "add" => Some(TypedMask::Add(matrices(&inner, reader, Cells::Additive)?, inner.spot)),
        // noted as unknown by `section`
        _ => None,
    }
}

fn causal(node: &Node, reader: &mut Reader) -> Option<TypedMask> {
    let alignment = if node.value.is_mapping() {
        let section = node.section(&["offset"], reader)?;
        match section.get("offset") {
            Some(offset) => Alignment::Offset(signed(&offset, reader)?),
            None => return node.refuse(reader, "an offset", "write {causal: {offset: 2}}"),
        }
    } else {
        node.word(reader, &[("top-left", Alignment::TopLeft), ("bottom-right", Alignment::BottomRight)])?
    };
    Some(TypedMask::Ready(Mask::Causal(alignment)))
}

/// A whole number that may be negative: the offset of a diagonal.
pub(super) fn signed(node: &Node, reader: &mut Reader) -> Option<i64> {
    match whole_number(node.value) {
        Some(number) if (-MASK_REACH..=MASK_REACH).contains(&number) => i64::try_from(number).ok(),
        Some(number) => {
            let what =
                format!("{} is {number}, but it must be between {} and {MASK_REACH}", node.spot, -MASK_REACH);
            reader.fault(&node.spot, what, "", "an offset of a few tokens is enough")
        }
        None => node.refuse(reader, "a whole number", node.how_to_write(2)),
    }
}

fn window(node: &Node, reader: &mut Reader) -> Option<TypedMask> {
    if !node.value.is_mapping() {
        if whole_number(node.value) == Some(0) {
            let what = format!("{} is 0, so no query would see a key", node.spot);
            return reader.fault(
                &node.spot,
                what,
                "a window of 1 is the query's own key",
                "write {window: 1} or more",
            );
        }
        let keys = node.whole(reader, 1, MASK_REACH as usize)?;
        let mask = Mask::Window { left: Some(keys - 1), right: Some(0), alignment: Alignment::BottomRight };
        return Some(TypedMask::Ready(mask));
    }
    let section = node.section(&["left", "right", "offset"], reader)?;
    let reach = |key: &str, reader: &mut Reader| {
        section.given(key, reader, |node, reader| node.whole(reader, 0, MASK_REACH as usize))
    };
    let (left, right) = (reach("left", reader), reach("right", reader));
    let offset = section.given("offset", reader, signed);
    if left.is_absent() && right.is_absent() {
        let what = format!("{} is open on both sides, so it hides nothing", node.spot);
        return reader.fault(&node.spot, what, "", "give left, right, or both");
    }
    let alignment = match offset.optional()? {
        Some(offset) => Alignment::Offset(offset),
        None => Alignment::BottomRight,
    };
    Some(TypedMask::Ready(Mask::Window { left: left.optional()?, right: right.optional()?, alignment }))
}

/// One array, or a list of arrays from files (one a head).
fn matrices(node: &Node, reader: &mut Reader, cells: Cells) -> Option<Vec<Typed>> {
    let apart = node.value.as_sequence().is_some_and(|items| items.first().is_some_and(Value::is_mapping));
    if !apart {
        return Some(vec![arrays_in::read(node, reader, cells)?]);
    }
    let items = node.items(reader, "a list of arrays", "")?;
    let arrays: Vec<_> = items.iter().map(|item| arrays_in::read(item, reader, cells)).collect();
    arrays.into_iter().collect()
}

/// Settles a mask whose shapes are now known.
pub(super) fn settle(mask: &TypedMask, sizes: &Sizes, reader: &mut Reader) -> Option<Mask> {
    match mask {
        TypedMask::Ready(mask) => Some(mask.clone()),
        TypedMask::KeyPadding(typed) => key_padding(typed, sizes, reader),
        TypedMask::Allow(typed, spot) => {
            let matrices = one_or_one_a_head(typed, spot, sizes, reader)?;
            Some(Mask::Allow(matrices.iter().map(|matrix| matrix.map(|flag| flag != 0.0)).collect()))
        }
        TypedMask::Add(typed, spot) => Some(Mask::Add(one_or_one_a_head(typed, spot, sizes, reader)?)),
    }
}

fn key_padding(typed: &Typed, wanted: &Sizes, reader: &mut Reader) -> Option<Mask> {
    let (spot, n_kv) = (&typed.spot, wanted.n_kv);
    let Some(array) = typed.source.ready() else {
        return reader.fault(
            spot,
            format!("{spot} needs {}, one a key", counted(n_kv, "flag")),
            "",
            "write [true, false, …]",
        );
    };
    let rows = match *array.shape {
        [n] if n == n_kv => 1,
        [rows, n] if n == n_kv && (rows == 1 || Some(rows) == wanted.batch) => rows,
        _ => {
            let batch = wanted.batch.map_or(String::new(), |batch| format!(", or {batch} × {n_kv}"));
            let what =
                format!("{spot} is {}, but it needs {}{batch}", sizes(&array.shape), counted(n_kv, "flag"));
            return reader.fault(
                spot,
                what,
                format!("one a key, and n_kv = {n_kv}"),
                format!("give {}: true for a real token, false for padding", counted(n_kv, "flag")),
            );
        }
    };
    let width = array.data.len() / rows;
    Some(Mask::KeyPadding(
        array.data.chunks(width).map(|row| row.iter().map(|flag| *flag != 0.0).collect()).collect(),
    ))
}

fn one_or_one_a_head(
    typed: &[Typed],
    spot: &Spot,
    wanted: &Sizes,
    reader: &mut Reader,
) -> Option<Vec<DMatrix<f64>>> {
    let (n_q, n_kv, heads) = (wanted.n_q, wanted.n_kv, wanted.num_heads);
    let mut matrices = Vec::new();
    for one in typed {
        let draw = Draw { stream: Stream::ADDED, std: 1.0 };
        let Some(array) = one.source.fill(&[n_q, n_kv], draw) else {
            return reader.fault(
                &one.spot,
                format!("{} needs a matrix of {n_q} × {n_kv}", one.spot),
                "",
                "write its rows",
            );
        };
        matrices.extend(layers(&array, &one.spot, n_q, n_kv, reader)?);
    }
    if matrices.len() == 1 || matrices.len() == heads {
        return Some(matrices);
    }
    let what = format!("{spot} has {} matrices for {}", matrices.len(), counted(heads, "head"));
    reader.fault(
        spot,
        what,
        "a mask is one matrix for all heads, or one a head",
        format!("give 1 or {heads}"),
    )
}

/// The matrices of an array of rank 2 or 3.
fn layers(
    array: &Array,
    spot: &Spot,
    n_q: usize,
    n_kv: usize,
    reader: &mut Reader,
) -> Option<Vec<DMatrix<f64>>> {
    match *array.shape {
        [r, c] | [_, r, c] if r == n_q && c == n_kv => {
            Some(array.data.chunks(r * c).map(|matrix| DMatrix::from_row_slice(r, c, matrix)).collect())
        }
        _ => {
            let what = format!("{spot} is {}, but the scores are {n_q} × {n_kv}", sizes(&array.shape));
            let why = format!("one row a query (n_q = {n_q}), one column a key (n_kv = {n_kv})");
            reader.fault(spot, what, why, format!("give {n_q} rows of {n_kv}, or one such matrix a head"))
        }
    }
}
