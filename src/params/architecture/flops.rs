//! What one pass multiplies: matrix products of the whole model, and of attention among them.

use super::model::{Attention, Cache, Group, Model, Positions, Side};
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
    /// The multiplications of one pass, over every pair of positions.
    ///
    /// # Errors
    /// They do not fit in 64 bits.
    pub fn products(&self, lengths: Lengths) -> Outcome<Products> {
        self.counted(lengths, false, every_pair)
    }

    /// The same, where a causal mask and windows leave out what nobody looks at.
    ///
    /// # Errors
    /// They do not fit in 64 bits.
    pub fn causal_products(&self, lengths: Lengths) -> Outcome<Products> {
        self.counted(lengths, false, pairs_left)
    }

    /// One step of decoding: as [`Model::causal_products`], but heads that share a latent compare with the latent itself
    /// (their up-projections are absorbed into queries and outputs, DeepSeek-AI 2024, §2.1.2) instead of expanding it.
    ///
    /// # Errors
    /// They do not fit in 64 bits.
    pub fn decoding_products(&self, lengths: Lengths) -> Outcome<Products> {
        self.counted(lengths, true, pairs_left)
    }

    fn counted(
        &self,
        lengths: Lengths,
        absorbed: bool,
        pairs: impl Fn(&Attention, u64, u64) -> u128,
    ) -> Outcome<Products> {
        let mut all = Products::default();
        for tensor in &self.tensors {
            let Some(product) = tensor.product else { continue };
            let through = positions(product.positions, lengths.target, lengths.source);
            let mut count = u128::from(tensor.count) * u128::from(through);
            count = count.checked_mul(u128::from(product.applied)).ok_or_else(too_many)?;
            if let Some(routed) = tensor.experts {
                count = count.checked_mul(u128::from(routed.active.min(routed.of))).ok_or_else(too_many)?;
                count /= u128::from(routed.of.max(1));
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
            let applied = u128::from(attention.product.applied);
            let pairs = pairs(attention, asks, sees).checked_mul(applied).ok_or_else(too_many)?;
            let heads = u128::from(attention.num_heads.value());
            let (d_k, d_v) = match attention.cache {
                Cache::Latent { rank, rope, .. } if absorbed => {
                    (u128::from(rank) + u128::from(rope), u128::from(rank))
                }
                _ => (u128::from(attention.d_k.value()), u128::from(attention.d_v.value())),
            };
            let widths = heads.checked_mul(d_k + d_v);
            let widths = widths.ok_or_else(too_many)? + u128::from(attention.scores);
            let extra = u128::from(asks) * u128::from(attention.extra);
            add(&mut all.attention_scores, pairs.checked_mul(widths).ok_or_else(too_many)?)?;
            add(&mut all.attention_scores, extra.checked_mul(applied).ok_or_else(too_many)?)?;
            add(&mut all.exponentials, pairs.checked_mul(heads).ok_or_else(too_many)?)?;
        }
        Ok(all)
    }
}

fn every_pair(_: &Attention, asks: u64, sees: u64) -> u128 {
    u128::from(asks) * u128::from(sees)
}

/// The pairs that a causal mask and windows leave; an encoder's window reaches to both sides.
fn pairs_left(attention: &Attention, asks: u64, sees: u64) -> u128 {
    if attention.causal {
        return seen_pairs(asks, sees, attention.window);
    }
    let reach = if attention.cross { u64::MAX } else { attention.window.unwrap_or(u64::MAX) };
    every_pair(attention, asks, sees.min(reach))
}

/// Pairs of a position and one at or before it, no more than a window back: Σ min(i, w) over the positions i that ask,
/// which are the last ones.
fn seen_pairs(asks: u64, sees: u64, window: Option<u64>) -> u128 {
    let upto = |n: u64| {
        let (n, w) = (u128::from(n), u128::from(window.unwrap_or(u64::MAX)));
        if n <= w { n * (n + 1) / 2 } else { w * (w + 1) / 2 + (n - w) * w }
    };
    upto(sees.max(asks)) - upto(sees.max(asks) - asks)
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
    Fault::new("the multiplications are too many to count", "counts are kept in 64 bits", "give fewer tokens")
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four positions see 1 + 2 + 3 + 4; with a window of 2, 1 + 2 + 2 + 2; the last of ten sees ten, or its window.
    #[test]
    fn a_causal_mask_leaves_the_lower_triangle_and_a_window_a_band() {
        assert_eq!(seen_pairs(4, 4, None), 10);
        assert_eq!(seen_pairs(4, 4, Some(2)), 7);
        assert_eq!(seen_pairs(1, 10, None), 10);
        assert_eq!(seen_pairs(1, 10, Some(3)), 3);
    }
}
