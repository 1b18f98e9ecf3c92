//! What an attention call is: sizes, scale, masks, positions. The plan's builder turns it into steps.

use nalgebra::DMatrix;

pub use crate::ops::{FullyMaskedRows, RopeLayout, RopeScaling, Scale};

/// One attention call, in the field's words. Shapes that do not fit are refused when its plan is built.
#[derive(Debug, Clone, PartialEq)]
pub struct Attention {
    /// Width of `x` and of the output.
    pub d_model: usize,
    /// Width of `x_kv`; `d_model` in self-attention.
    pub d_kv_model: usize,
    /// h, the query heads.
    pub num_heads: usize,
    /// g, the key/value heads; divides h. Query head i reads key/value head ⌊i / (h/g)⌋.
    pub num_kv_heads: usize,
    /// Width of a head's queries and keys.
    pub d_k: usize,
    /// Width of a head's values.
    pub d_v: usize,
    /// What scores are multiplied by.
    pub scale: Scale,
    /// All of them hide together.
    pub masks: Vec<Mask>,
    /// How scores come to know about positions.
    pub positions: Positions,
    /// s ← c · tanh(s / c), before bias and mask.
    pub softcap: Option<f64>,
    /// RMS norm of queries and keys.
    pub qk_norm: Option<QkNorm>,
    /// One extra softmax logit a head (h numbers).
    pub sinks: Option<Vec<f64>>,
    /// What a row with nothing to attend to means.
    pub fully_masked_rows: FullyMaskedRows,
}

impl Attention {
    /// Multi-head self-attention as in the paper: g = h, d_k = d_v = d_model / h, no mask.
    pub fn multi_head(d_model: usize, num_heads: usize) -> Self {
        let d_k = d_model / num_heads.max(1);
        Self {
            d_model,
            d_kv_model: d_model,
            num_heads,
            num_kv_heads: num_heads,
            d_k,
            d_v: d_k,
            scale: Scale::RootOfDk,
            masks: Vec::new(),
            positions: Positions::None,
            softcap: None,
            qk_norm: None,
            sinks: None,
            fully_masked_rows: FullyMaskedRows::Error,
        }
    }

    /// The number that scores are multiplied by.
    pub fn scale_value(&self) -> f64 {
        self.scale.value(self.d_k)
    }

    /// The key/value head that a query head reads, both from 0.
    pub fn kv_head(&self, head: usize) -> usize {
        head / (self.num_heads / self.num_kv_heads.max(1)).max(1)
    }

    /// For each key/value head, the first query head that reads it, all from 0.
    pub fn kv_sheets(&self) -> Vec<usize> {
        let group = (self.num_heads / self.num_kv_heads.max(1)).max(1);
        (0..self.num_kv_heads).map(|kv_head| kv_head * group).collect()
    }
}

/// A reason why a key is hidden from a query, or a number added to its score.
#[derive(Debug, Clone, PartialEq)]
pub enum Mask {
    /// Query i sees keys j ≤ i + offset.
    Causal(Alignment),
    /// Query i sees keys from i + offset − left to i + offset + right; `None` is open.
    Window {
        /// Keys before the query's own position.
        left: Option<usize>,
        /// Keys after it.
        right: Option<usize>,
        /// Where the diagonal lies.
        alignment: Alignment,
    },
    /// One row a sequence, or one for all: true = a real token (n_kv).
    KeyPadding(Vec<Vec<bool>>),
    /// True = may attend (n_q × n_kv): one matrix, or one a head.
    Allow(Vec<DMatrix<bool>>),
    /// Added to the scores, −∞ hides (n_q × n_kv): one matrix, or one a head.
    Add(Vec<DMatrix<f64>>),
}

/// Which corner a diagonal starts from when n_q ≠ n_kv.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alignment {
    /// The last query sees every key, as when a cache holds the past: offset n_kv − n_q.
    BottomRight,
    /// The first query sees the first key only: offset 0.
    TopLeft,
    /// Query i stands at key position i + offset.
    Offset(i64),
}

impl Alignment {
    /// How far the diagonal is shifted to the right.
    pub fn offset(self, n_q: usize, n_kv: usize) -> i64 {
        match self {
            Self::BottomRight => n_kv as i64 - n_q as i64,
            Self::TopLeft => 0,
            Self::Offset(offset) => offset,
        }
    }
}

/// How scores come to know about positions.
#[derive(Debug, Clone, PartialEq)]
pub enum Positions {
    /// They do not.
    None,
    /// Queries and keys are rotated (Su et al. 2021).
    Rope(RopeSpec),
    /// −slope · |i + offset − j| is added (Press et al. 2022); h slopes.
    Alibi {
        /// One a head.
        slopes: Vec<f64>,
        /// Where query 1 stands among the keys.
        alignment: Alignment,
    },
}

/// Rotary position embedding.
#[derive(Debug, Clone, PartialEq)]
pub struct RopeSpec {
    /// Base of the frequencies, usually 10000.
    pub theta: f64,
    /// Which columns form a pair.
    pub layout: RopeLayout,
    /// How many of the d_k columns rotate; even.
    pub dims: usize,
    /// Frequencies in place of those of theta, where a model was stretched to longer texts.
    pub scaling: Option<RopeScaling>,
    /// Position of each query (n_q).
    pub q_positions: Vec<f64>,
    /// Position of each key (n_kv).
    pub k_positions: Vec<f64>,
}

/// RMS norm of queries and keys: x / √(mean(x²) + eps) · gain.
#[derive(Debug, Clone, PartialEq)]
pub struct QkNorm {
    /// Added to the mean square.
    pub eps: f64,
    /// Gains of the queries: d_k numbers (head) or h·d_k (full).
    pub q_gain: Vec<f64>,
    /// Gains of the keys: d_k numbers (head) or g·d_k (full).
    pub k_gain: Vec<f64>,
    /// Over each head, or over the whole row before the split.
    pub scope: NormScope,
}

/// What a q/k norm runs over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NormScope {
    /// After the split, over d_k.
    Head,
    /// Before the split, over the whole row.
    Full,
}

/// ALiBi's slopes for h heads (Press et al. 2022): 2^(−8i/h) for a power of two, else those of the power below
/// followed by every other one of the power above.
pub fn alibi_slopes(num_heads: usize) -> Vec<f64> {
    let of_power = |count: usize| (1..=count).map(move |i| libm::exp2(-8.0 * i as f64 / count as f64));
    let below =
        if num_heads.is_power_of_two() { num_heads } else { (num_heads.max(1).next_power_of_two()) / 2 };
    of_power(below).chain(of_power(2 * below).step_by(2).take(num_heads - below)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_powers_of_two_and_fill_up_from_the_next_power() {
        assert_eq!(alibi_slopes(4), [0.25, 0.0625, 0.015625, 0.00390625]);
        // 6 heads: the 4 of above, then 1st and 3rd of 8: 2^-1, 2^-3
        assert_eq!(alibi_slopes(6), [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125]);
        assert_eq!(alibi_slopes(1), [libm::exp2(-8.0)]);
    }

    #[test]
    fn four_query_heads_share_two_key_heads_in_pairs() {
        let gqa = Attention { num_kv_heads: 2, ..Attention::multi_head(8, 4) };
        assert_eq!([0, 1, 2, 3].map(|head| gqa.kv_head(head)), [0, 0, 1, 1]);
    }
}
