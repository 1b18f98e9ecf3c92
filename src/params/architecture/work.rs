//! What running a model takes: one pass over a prompt, one step of decoding, and how both grow.

use super::cache;
use super::flops::{Lengths, Products};
use super::model::{Model, Side};
use crate::fault::{Fault, Faults, Outcome};
use crate::params::Dtype;

/// Longest sequence that is looked at when a crossing is searched.
const LONGEST: u64 = 1 << 40;

/// How a model is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// n: tokens of a sequence (the decoder's, where there is an encoder).
    pub seq_len: u64,
    /// Tokens that the encoder reads, where there is one.
    pub source_len: u64,
    /// B: sequences at a time.
    pub batch: u64,
    /// What weights are stored in.
    pub dtype: Dtype,
    /// What the KV cache is stored in.
    pub kv_dtype: Dtype,
    /// Devices that heads are shared between; 1 for a whole model on one.
    pub devices: u64,
    /// Bytes of each device's memory, where that is known.
    pub memory: Option<u64>,
}

/// What fits beside the weights into each device's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Bytes of a device.
    pub memory: u64,
    /// Bytes of weights on each.
    pub weights: u64,
    /// What is left for the cache; `None` where not even the weights fit.
    pub left: Option<u64>,
    /// The longest context of the batch; `None` where nothing is cached or not even one token fits.
    pub longest: Option<u64>,
    /// The most sequences of the length that is run; `None` where nothing is cached.
    pub most: Option<u64>,
}

/// One step of decoding: one new token of every sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decoding {
    /// Multiplications of one sequence.
    pub products: Products,
    /// Sequences at a time.
    pub batch: u64,
    /// Bytes of weights that a step reads, once for the whole batch; of routed experts those that some token of the batch
    /// is expected to use.
    pub weight_bytes: u64,
    /// Bytes of cache that it reads, of one sequence.
    pub cache_bytes: u64,
}

impl Decoding {
    /// FLOPs for each byte that is read.
    pub fn intensity(&self) -> f64 {
        let batch = self.batch as f64;
        let flops = 2.0 * self.products.all().unwrap_or(u64::MAX) as f64 * batch;
        flops / (self.weight_bytes as f64 + self.cache_bytes as f64 * batch)
    }
}

impl Model {
    /// Whether an encoder reads a sequence of its own.
    pub fn has_source(&self) -> bool {
        self.attention
            .iter()
            .any(|attention| attention.product.positions.side == Side::Source || attention.cross)
    }

    /// Whether it writes a token at a time: something is cached.
    pub fn decodes(&self) -> bool {
        self.attention.iter().any(|attention| attention.cache != super::Cache::None)
    }

    /// One pass over the whole prompt; with `causal`, only the pairs of positions that a causal mask and windows leave
    /// are counted.
    ///
    /// # Errors
    /// The counts do not fit in 64 bits.
    pub fn prefill(&self, run: &Run, causal: bool) -> Outcome<Products> {
        let lengths = Lengths {
            target: run.seq_len,
            context: run.seq_len,
            source: run.source_len,
            source_context: run.source_len,
        };
        if causal { self.causal_products(lengths) } else { self.products(lengths) }
    }

    /// One step of decoding when so many tokens can be looked at.
    ///
    /// # Errors
    /// The counts do not fit in 64 bits.
    pub fn decoding(&self, run: &Run) -> Outcome<Decoding> {
        let lengths = Lengths { target: 1, context: run.seq_len, source: 0, source_context: run.source_len };
        let plan = self.cache().unwrap_or_default();
        let cached = cache::numbers(&plan.own, run.seq_len)?
            .saturating_add(cache::numbers(&plan.cross, run.source_len)?);
        Ok(Decoding {
            products: self.decoding_products(lengths)?,
            batch: run.batch,
            weight_bytes: run.dtype.bytes(self.read_by(run.batch))?,
            cache_bytes: run.kv_dtype.bytes(cached)?,
        })
    }

    /// Parameters that a step of decoding reads for so many sequences: all matrices that a token uses (of tables only a row,
    /// which is left out), and nothing of the encoder.
    ///
    /// Different tokens use different experts: if each picks k of E at random, E·(1 − (1 − k/E)^B) of them are expected to be
    /// read.
    fn read_by(&self, batch: u64) -> u64 {
        let mut sum: u128 = 0;
        for tensor in &self.tensors {
            let Some(product) = tensor.product else { continue };
            if product.positions.side == Side::Source || product.positions.never() {
                continue;
            }
            let part = tensor.experts.map_or(1.0, |routed| {
                let used = routed.active.min(routed.of) as f64 / routed.of.max(1) as f64;
                1.0 - (1.0 - used).powf(batch as f64)
            });
            sum += (tensor.count as f64 * part).round() as u128;
        }
        u64::try_from(sum).unwrap_or(u64::MAX)
    }

    /// From which length on the products of scores (Q·Kᵀ, A·V) of the pairs that masks and windows leave outweigh all others of
    /// a pass; `None` where they never do.
    ///
    pub fn crossing(&self, run: &Run) -> Option<u64> {
        if self.attention.is_empty() {
            return None;
        }
        let outweighs = |n: u64| {
            let products = self.prefill(&Run { seq_len: n, source_len: n, ..*run }, true).ok()?;
            let others =
                u128::from(products.attention_linear) + u128::from(products.rest) + u128::from(products.head);
            Some(u128::from(products.attention_scores) > others)
        };
        first_where(LONGEST, outweighs).filter(|n| outweighs(*n).is_some())
    }

    /// Bytes that a whole batch caches on each device, of its own sequence and of the encoder's.
    ///
    /// # Errors
    /// The counts do not fit in 64 bits.
    pub fn cached_bytes(&self, run: &Run) -> Outcome<u64> {
        let plan = self.cache().unwrap_or_default().on_each_of(run.devices);
        let one = cache::numbers(&plan.own, run.seq_len)?
            .saturating_add(cache::numbers(&plan.cross, run.source_len)?);
        run.kv_dtype.bytes(one.checked_mul(run.batch).ok_or_else(too_large)?)
    }

    /// What fits into each device's memory, where that is known.
    ///
    /// # Errors
    /// The counts do not fit in 64 bits.
    pub fn room(&self, run: &Run) -> Outcome<Option<Room>> {
        let Some(memory) = run.memory else { return Ok(None) };
        let parameters =
            if run.devices > 1 { self.share(run.devices)?.parameters } else { self.parameters()? };
        let weights = run.dtype.bytes(parameters)?;
        let left = memory.checked_sub(weights);
        let caches = left.filter(|_| self.cache().is_some());
        Ok(Some(Room {
            memory,
            weights,
            left,
            longest: caches.and_then(|left| self.longest_within(run, left)),
            most: caches.map(|left| self.most_within(run, left)),
        }))
    }

    /// The longest sequence whose cache fits into so many bytes; `None` where not even one token does, and
    /// [`u64::MAX`] where the cache stops growing.
    pub fn longest_within(&self, run: &Run, bytes: u64) -> Option<u64> {
        let fits =
            |n: u64| self.cached_bytes(&Run { seq_len: n, ..*run }).is_ok_and(|needed| needed <= bytes);
        if !fits(1) {
            return None;
        }
        match first_where(LONGEST, |n| Some(!fits(n))) {
            Some(n) => Some(n - 1),
            None => Some(u64::MAX),
        }
    }

    /// The most sequences whose caches fit into so many bytes.
    pub fn most_within(&self, run: &Run, bytes: u64) -> u64 {
        let fits = |batch: u64| self.cached_bytes(&Run { batch, ..*run }).is_ok_and(|needed| needed <= bytes);
        match first_where(1 << 32, |batch| Some(!fits(batch))) {
            Some(batch) => batch - 1,
            None => u64::MAX,
        }
    }
}

fn too_large() -> Faults {
    Fault::new(
        "the KV cache is too large to count",
        "counts are kept in 64 bits",
        "give fewer tokens or sequences",
    )
    .into()
}

/// The smallest number from 1 to `most` of which something holds that holds of all larger ones too; what cannot be
/// counted any more is taken as holding.
fn first_where(most: u64, holds: impl Fn(u64) -> Option<bool>) -> Option<u64> {
    let holds = |n: u64| holds(n).unwrap_or(true);
    if !holds(most) {
        return None;
    }
    let (mut low, mut high) = (0, most);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}
