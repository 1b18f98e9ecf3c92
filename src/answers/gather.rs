//! One head's or one sequence's tensors (`head.1.scores`, `batch.2.output`) put together into the whole step.

use super::names::Part;
use crate::arrays::{Array, Kind};

/// One tensor that is a part of a step.
pub(super) struct Piece {
    pub(super) part: Part,
    pub(super) array: Array,
}

/// The whole step, heads and sequences in order; and whether they were counted from 0.
///
/// # Errors
/// Why they make no whole: one is missing, or they differ in shape.
pub(super) fn gathered(mut pieces: Vec<Piece>) -> Result<(Array, bool), String> {
    pieces.sort_by_key(|piece| (piece.part.sequence, piece.part.head));
    let heads = counted(pieces.iter().map(|piece| piece.part.head), "head")?;
    let sequences = counted(pieces.iter().map(|piece| piece.part.sequence), "batch")?;
    let Some(first) = pieces.first() else { return Err("there is nothing to put together".to_owned()) };
    if heads.count.unwrap_or(1) * sequences.count.unwrap_or(1) != pieces.len() {
        return Err("not every sequence has the same heads".to_owned());
    }
    if pieces.iter().any(|piece| piece.array.shape != first.array.shape) {
        return Err("its parts differ in shape".to_owned());
    }
    let kind = pieces.iter().map(|piece| piece.array.kind).max_by_key(|kind| fineness(*kind));
    let kind = kind.unwrap_or(Kind::F64);
    let front = sequences.count.into_iter().chain(heads.count);
    let shape = front.chain(first.array.shape.iter().copied()).collect();
    let data = pieces.into_iter().flat_map(|piece| piece.array.data).collect();
    let whole = Array::new(shape, data, kind).map_err(|fault| fault.what)?;
    Ok((whole, heads.from_zero || sequences.from_zero))
}

struct Counted {
    /// How many there are; `None` where the parts do not say which one they are.
    count: Option<usize>,
    from_zero: bool,
}

/// Whether the numbers run from 1 (or from 0) without a gap.
fn counted(numbers: impl Iterator<Item = Option<usize>>, kind: &str) -> Result<Counted, String> {
    let all: Vec<Option<usize>> = numbers.collect();
    let mut numbers: Vec<usize> = all.iter().copied().flatten().collect();
    if numbers.is_empty() {
        return Ok(Counted { count: None, from_zero: false });
    }
    if numbers.len() != all.len() {
        return Err(format!("some of its parts name a {kind}, and some do not"));
    }
    numbers.sort_unstable();
    numbers.dedup();
    let first = numbers[0].min(1);
    match numbers.iter().zip(first..).find(|(number, place)| **number != *place) {
        Some((_, missing)) => Err(format!("{kind}.{missing} is missing, and all of them are needed")),
        None => Ok(Counted { count: Some(numbers.len()), from_zero: first == 0 }),
    }
}

/// Which of two kinds tells its numbers more finely.
fn fineness(kind: Kind) -> u8 {
    match kind {
        Kind::Bool => 0,
        Kind::Integer => 1,
        Kind::Bf16 => 2,
        Kind::F16 => 3,
        Kind::F32 => 4,
        Kind::F64 => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Name, Stack};

    fn piece(sequence: Option<usize>, head: Option<usize>, data: &[f64]) -> Piece {
        let part = Part { name: Name::Stack(Stack::Scores), sequence, head };
        Piece { part, array: Array::new(vec![1, data.len()], data.to_vec(), Kind::F32).unwrap() }
    }

    #[test]
    fn heads_are_stacked_in_order_from_one_or_from_zero() {
        let (whole, from_zero) =
            gathered(vec![piece(None, Some(2), &[3.0, 4.0]), piece(None, Some(1), &[1.0, 2.0])]).unwrap();
        assert_eq!((whole.shape, whole.data, from_zero), (vec![2, 1, 2], vec![1.0, 2.0, 3.0, 4.0], false));
        let (whole, from_zero) =
            gathered(vec![piece(None, Some(0), &[1.0]), piece(None, Some(1), &[2.0])]).unwrap();
        assert_eq!((whole.shape, from_zero), (vec![2, 1, 1], true));
    }

    #[test]
    fn sequences_stand_before_heads() {
        let pieces = [(2, 1, 3.0), (1, 2, 2.0), (2, 2, 4.0), (1, 1, 1.0)];
        let pieces = pieces.map(|(b, h, number)| piece(Some(b), Some(h), &[number]));
        let (whole, _) = gathered(pieces.into()).unwrap();
        assert_eq!((whole.shape, whole.data), (vec![2, 2, 1, 1], vec![1.0, 2.0, 3.0, 4.0]));
    }

    #[test]
    fn what_is_missing_is_named() {
        let told = |pieces: Vec<Piece>| gathered(pieces).unwrap_err();
        assert_eq!(
            told(vec![piece(None, Some(1), &[1.0]), piece(None, Some(3), &[1.0])]),
            "head.2 is missing, and all of them are needed"
        );
        assert_eq!(told(vec![piece(None, Some(2), &[1.0])]), "head.1 is missing, and all of them are needed");
        let uneven = vec![piece(None, Some(1), &[1.0]), piece(None, Some(2), &[1.0, 2.0])];
        assert_eq!(told(uneven), "its parts differ in shape");
        let square = vec![
            piece(Some(1), Some(1), &[1.0]),
            piece(Some(1), Some(2), &[1.0]),
            piece(Some(2), Some(1), &[1.0]),
        ];
        assert_eq!(told(square), "not every sequence has the same heads");
        let mixed = vec![piece(Some(1), None, &[1.0]), piece(Some(1), Some(1), &[1.0])];
        assert!(told(mixed).starts_with("some of its parts name a head"));
    }
}
