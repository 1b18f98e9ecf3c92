//! `qk_norm`, and vectors of a known length.

use super::arrays_in::{self, Draw, Typed};
use super::literal::Cells;
use super::random::Stream;
use super::reader::{Node, Reader};
use super::sizes::Sizes;
use crate::fault::counted;
use crate::plan::spec::{NormScope, QkNorm};

/// A norm of queries and keys before the sizes are known.
#[derive(Debug, Clone)]
pub(super) struct TypedNorm {
    eps: f64,
    q: Option<Typed>,
    k: Option<Typed>,
    scope: NormScope,
}

/// Reads `qk_norm`.
pub(super) fn read(node: &Node, reader: &mut Reader) -> Option<TypedNorm> {
    let section = node.section(&["eps", "q", "k", "scope"], reader)?;
    let eps = section.given("eps", reader, |node, reader| match node.number(reader)? {
        eps if eps >= 0.0 => Some(eps),
        eps => {
            let what = format!("{} is {eps}, but it must not be negative", node.spot);
            reader.fault(&node.spot, what, "it is added to the mean square", "usually 1.0e-6")
        }
    });
    let mut gain = |key: &str| {
        section.given(key, reader, |node, reader| arrays_in::read(node, reader, Cells::Finite)).optional()
    };
    let (q, k) = (gain("q"), gain("k"));
    let scope = section.given("scope", reader, |node, reader| {
        node.word(reader, &[("head", NormScope::Head), ("full", NormScope::Full)])
    });
    Some(TypedNorm { eps: eps.or(1e-6)?, q: q?, k: k?, scope: scope.or(NormScope::Head)? })
}

/// Settles the gains now that the sizes are known.
pub(super) fn settle(typed: &TypedNorm, sizes: &Sizes, reader: &mut Reader) -> Option<QkNorm> {
    let mut gain = |gain: &Option<Typed>, heads: usize, whole_row: &str, stream: Stream| {
        let (count, what) = match typed.scope {
            NormScope::Head => (sizes.d_k, "one a column of a head (d_k)"),
            NormScope::Full => (heads * sizes.d_k, whole_row),
        };
        match gain {
            None => Some(vec![1.0; count]),
            Some(gain) => {
                let draw = Draw { stream: stream.in_layer(sizes.layer), std: 1.0 };
                vector(gain, count, what, draw, reader)
            }
        }
    };
    let q_gain = gain(&typed.q, sizes.num_heads, "one a column of Q (num_heads · d_k)", Stream::Q_GAIN);
    let k_gain = gain(&typed.k, sizes.num_kv_heads, "one a column of K (num_kv_heads · d_k)", Stream::K_GAIN);
    Some(QkNorm { eps: typed.eps, q_gain: q_gain?, k_gain: k_gain?, scope: typed.scope })
}

/// An array as a list of `count` numbers, whatever its rank; `what` says what they are.
pub(super) fn vector(
    typed: &Typed,
    count: usize,
    what: &str,
    draw: Draw,
    reader: &mut Reader,
) -> Option<Vec<f64>> {
    let spot = &typed.spot;
    let remedy = format!("give {}", counted(count, "number"));
    match typed.source.fill(&[count], draw) {
        Some(array) if array.data.len() == count => Some(array.data),
        Some(array) => {
            let found = array.data.len();
            reader.fault(
                spot,
                format!("{spot} has {}, but it needs {count}", counted(found, "number")),
                what,
                remedy,
            )
        }
        None => reader.fault(spot, format!("{spot} must be {}", counted(count, "number")), what, remedy),
    }
}
