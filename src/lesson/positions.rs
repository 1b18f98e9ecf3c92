//! `positions`: none, RoPE, ALiBi.

use serde_yaml::Value;

use super::arrays_in::{self, Draw, Typed};
use super::literal::Cells;
use super::masks::signed;
use super::norm::vector;
use super::random::Stream;
use super::reader::{Given, Node, Reader, Section, Spot};
use super::sizes::Sizes;
use crate::limits::LESSON_SIZE;
use crate::plan::spec::{Alignment, Positions, RopeLayout, RopeSpec, alibi_slopes};

/// Positions before the sizes are known.
#[derive(Debug, Clone)]
pub(super) enum TypedPositions {
    /// Scores know nothing of positions.
    None,
    /// Rotations.
    Rope(TypedRope),
    /// A bias that grows with the distance.
    Alibi {
        /// h of them, unless the usual ones are meant.
        slopes: Option<Typed>,
        /// Where query 1 stands among the keys.
        alignment: Alignment,
    },
}

/// RoPE before the sizes are known.
#[derive(Debug, Clone)]
pub(super) struct TypedRope {
    theta: f64,
    layout: RopeLayout,
    dims: Option<usize>,
    q: Places,
    k: Places,
    spot: Spot,
}

/// Where tokens stand: one after the other from a start, or each as listed.
#[derive(Debug, Clone)]
enum Places {
    From(f64),
    Listed(Typed),
}

/// Reads `positions`.
pub(super) fn read(node: &Node, reader: &mut Reader) -> Option<TypedPositions> {
    if !node.value.is_mapping() {
        let rope = TypedRope {
            theta: 10000.0,
            layout: RopeLayout::HalfSplit,
            dims: None,
            q: Places::From(0.0),
            k: Places::From(0.0),
            spot: node.spot.clone(),
        };
        return match node.word(reader, &[("none", 0), ("rope", 1), ("alibi", 2)])? {
            0 => Some(TypedPositions::None),
            1 => Some(TypedPositions::Rope(rope)),
            _ => Some(TypedPositions::Alibi { slopes: None, alignment: Alignment::BottomRight }),
        };
    }
    let section = node.section(&["rope", "alibi"], reader)?;
    match (section.get("rope"), section.get("alibi")) {
        (Some(rope), None) => read_rope(&rope, reader).map(TypedPositions::Rope),
        (None, Some(alibi)) => read_alibi(&alibi, reader),
        (Some(_), Some(_)) => {
            let what = format!("{} names both rope and alibi", node.spot);
            reader.fault(
                &node.spot,
                what,
                "an attention call has one way to know positions",
                "keep one of the two",
            )
        }
        (None, None) => {
            node.refuse(reader, "rope or alibi", "write positions: rope, or {rope: {theta: 10000}}")
        }
    }
}

fn read_alibi(node: &Node, reader: &mut Reader) -> Option<TypedPositions> {
    let section = node.section(&["slopes", "offset"], reader)?;
    let slopes = section
        .given("slopes", reader, |node, reader| arrays_in::read(node, reader, Cells::Finite))
        .optional()?;
    let alignment = match section.given("offset", reader, signed).optional()? {
        Some(offset) => Alignment::Offset(offset),
        None => Alignment::BottomRight,
    };
    Some(TypedPositions::Alibi { slopes, alignment })
}

fn read_rope(node: &Node, reader: &mut Reader) -> Option<TypedRope> {
    let section = node
        .section(&["theta", "layout", "dims", "q_start", "k_start", "q_positions", "k_positions"], reader)?;
    let theta = section.given("theta", reader, |node, reader| match node.number(reader)? {
        theta if theta > 0.0 => Some(theta),
        theta => {
            let what = format!("{} is {theta}, but it must be more than 0", node.spot);
            reader.fault(&node.spot, what, "it is the base of the frequencies", "usually 10000")
        }
    });
    let layout = section.given("layout", reader, |node, reader| {
        node.word(reader, &[("half-split", RopeLayout::HalfSplit), ("interleaved", RopeLayout::Interleaved)])
    });
    let dims = section.given("dims", reader, |node, reader| {
        let dims = node.whole(reader, 2, LESSON_SIZE)?;
        if dims % 2 == 0 {
            return Some(dims);
        }
        let what = format!("{} is {dims}, but columns rotate in pairs", node.spot);
        reader.fault(&node.spot, what, "", format!("write {} or {}", dims - 1, dims + 1))
    });
    let q = places(&section, "q_start", "q_positions", reader);
    let k = places(&section, "k_start", "k_positions", reader);
    Some(TypedRope {
        theta: theta.or(10000.0)?,
        layout: layout.or(RopeLayout::HalfSplit)?,
        dims: dims.optional()?,
        q: q?,
        k: k?,
        spot: node.spot.clone(),
    })
}

fn places(section: &Section, start: &str, positions: &str, reader: &mut Reader) -> Option<Places> {
    let from = section.given(start, reader, Node::number);
    let listed = section.given(positions, reader, |node, reader| match node.value {
        Value::String(_) => node.refuse(reader, "a list of positions", "write [0, 1, 2]"),
        _ => arrays_in::read(node, reader, Cells::Finite),
    });
    match (from, listed) {
        (Given::Yes(_), Given::Yes(typed)) => {
            let what = format!("{} is given twice: by {start} and by {positions}", typed.spot);
            reader.fault(&typed.spot, what, "", "keep one of the two")
        }
        (from, Given::Absent) => from.or(0.0).map(Places::From),
        (Given::Absent, Given::Yes(typed)) => Some(Places::Listed(typed)),
        _ => None,
    }
}

/// Settles positions now that the sizes are known.
pub(super) fn settle(typed: &TypedPositions, sizes: &Sizes, reader: &mut Reader) -> Option<Positions> {
    match typed {
        TypedPositions::None => Some(Positions::None),
        TypedPositions::Alibi { slopes, alignment } => {
            let slopes = match slopes {
                None => alibi_slopes(sizes.num_heads),
                Some(typed) => {
                    let draw = Draw { stream: Stream::SLOPES, std: 1.0 };
                    vector(typed, sizes.num_heads, "one a head (num_heads)", draw, reader)?
                }
            };
            Some(Positions::Alibi { slopes, alignment: *alignment })
        }
        TypedPositions::Rope(rope) => settle_rope(rope, sizes, reader).map(Positions::Rope),
    }
}

fn settle_rope(rope: &TypedRope, sizes: &Sizes, reader: &mut Reader) -> Option<RopeSpec> {
    let d_k = sizes.d_k;
    if rope.dims.is_none() && d_k % 2 == 1 {
        let what = format!("{} cannot rotate all d_k = {d_k} columns: they rotate in pairs", rope.spot);
        let remedy =
            if d_k > 2 { format!("write rope: {{dims: {}}}", d_k - 1) } else { "take an even d_k".into() };
        return reader.fault(&rope.spot, what, "", remedy);
    }
    if let Some(dims) = rope.dims.filter(|dims| *dims > d_k) {
        let spot = rope.spot.key("dims");
        return reader.fault(
            &spot,
            format!("{spot} is {dims}, but a head has only d_k = {d_k} columns"),
            "the columns that rotate are the head's own",
            format!("write dims: {}, or leave it out for all columns", d_k - d_k % 2),
        );
    }
    let mut listed = |places: &Places, count: usize, what: &str| match places {
        Places::From(start) => Some((0..count).map(|index| start + index as f64).collect()),
        Places::Listed(typed) => {
            vector(typed, count, what, Draw { stream: Stream::SLOPES, std: 1.0 }, reader)
        }
    };
    let q_positions = listed(&rope.q, sizes.n_q, "one a query (n_q)");
    let k_positions = listed(&rope.k, sizes.n_kv, "one a key (n_kv)");
    Some(RopeSpec {
        theta: rope.theta,
        layout: rope.layout,
        dims: rope.dims.unwrap_or(d_k),
        scaling: None,
        q_positions: q_positions?,
        k_positions: k_positions?,
    })
}
