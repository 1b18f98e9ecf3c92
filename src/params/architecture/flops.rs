//! What one pass multiplies: matrix products of the whole model, and of attention among them.

use super::model::{Group, Model, Positions, Side};
use crate::fault::{Fault, Outcome};

/// Multiplications of one pass over one sequence (a multiply–add counts once).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Products {
    /// Projections of attention.
    pub attention_linear: u64,
    /// Q·Kᵀ and A·V over the whole square of positions.
    pub attention_scores: u64,
    /// Everything else but the head: feed-forward layers, mixers, routers, experts as far as a token uses them.
    pub rest: u64,
    /// What the class adds: the language head.
    pub head: u64,
    /// Exponentials of the softmaxes.
    pub exponentials: u64,
}

impl Products {
    /// All of them.
    ///
    /// # Errors
    /// They do not fit in 64 bits.
    pub fn all(&self) -> Outcome<u64> {
        crate::params::figure::sum(
            [self.attention_linear, self.attention_scores, self.rest, self.head],
            "the multiplications of one pass",
        )
    }
}

/// How long the sequences are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lengths {
    /// New positions that go through the model (the decoder of an encoder–decoder model).
    pub target: u64,
    /// Positions that these can look at, themselves included.
    pub context: u64,
    /// Positions of the encoder; 0 where it does not run.
    pub source: u64,
    /// Positions that cross-attention looks at.
    pub source_context: u64,
}

impl Model {
    /// The multiplications of one pass.
    ///
    /// # Errors
    /// They do not fit in 64 bits.
    pub fn products(&self, lengths: Lengths) -> Outcome<Products> {
        let mut all = Products::default();
        for tensor in &self.tensors {
            let Some(product) = tensor.product else { continue };
            let mut count = u128::from(tensor.count)
                * u128::from(positions(product.positions, lengths.target, lengths.source))
                * u128::from(product.applied);
            if let Some(routed) = tensor.experts {
                count = count * u128::from(routed.active.min(routed.of)) / u128::from(routed.of.max(1));
            }
            let sum = match tensor.group {
                Group::Attention => &mut all.attention_linear,
                Group::Head => &mut all.head,
                _ => &mut all.rest,
            };
            add(sum, count)?;
        }
        for attention in &self.attention {
            let own = attention.product.positions;
            let asks = positions(own, lengths.target, lengths.source);
            let sees = match (attention.cross, own.side) {
                (true, _) => lengths.source_context,
                (false, Side::Target) => positions(own, lengths.context, lengths.source),
                (false, Side::Source) => asks,
            };
            let pairs = u128::from(asks) * u128::from(sees) * u128::from(attention.product.applied);
            let heads = u128::from(attention.num_heads.value());
            let widths = heads * u128::from(attention.d_k.value() + attention.d_v.value())
                + u128::from(attention.scores);
            let extra =
                u128::from(asks) * u128::from(attention.extra) * u128::from(attention.product.applied);
            add(&mut all.attention_scores, pairs.checked_mul(widths).ok_or_else(too_many)?)?;
            add(&mut all.attention_scores, extra)?;
            add(&mut all.exponentials, pairs.checked_mul(heads).ok_or_else(too_many)?)?;
        }
        Ok(all)
    }
}

fn positions(of: Positions, target: u64, source: u64) -> u64 {
    let sequence = match of.side {
        Side::Target => target,
        Side::Source => source,
    };
    of.times.saturating_mul(sequence).saturating_add(of.plus)
}

fn add(sum: &mut u64, count: u128) -> Outcome<()> {
    *sum = u64::try_from(count).ok().and_then(|count| sum.checked_add(count)).ok_or_else(too_many)?;
    Ok(())
}

fn too_many() -> crate::fault::Faults {
    Fault::new("the multiplications are too many to count", "counts are kept in 64 bits", "fewer tokens")
        .into()
}
