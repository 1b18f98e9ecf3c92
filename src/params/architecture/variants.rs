//! The same model with one size changed: shared keys and values, sweeps.

use serde_json::Value as Json;

use super::cache::{self, Kind};
use super::change::changed;
use super::model::{Attention, Group, Model};
use super::work::Run;
use super::{Asked, build};
use crate::fault::{Fault, Outcome};
use crate::limits::SWEEP_TENSORS;
use crate::params::sweep::SweepOver;
use crate::params::{Key, Layer, report};

/// The model with another number of key/value heads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sharing {
    /// g
    pub num_kv_heads: u64,
    /// Whether it is the model itself.
    pub is_this: bool,
    /// All parameters; `None` where the type has no key for g.
    pub parameters: Option<u64>,
    /// Bytes cached of one token, while every layer still grows.
    pub cache_per_token: u64,
}

/// One value of a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swept {
    /// The value.
    pub value: u64,
    /// Width of a head in the layers that cache, or in the first.
    pub d_k: u64,
    /// All parameters.
    pub parameters: u64,
    /// Attention parameters.
    pub attention_parameters: u64,
    /// Multiply-adds of a pass, over every pair of positions.
    pub multiply_adds: u64,
    /// Exponentials of a pass.
    pub exponentials: u64,
    /// Bytes of the whole cache.
    pub cache: u64,
}

impl Model {
    /// The attention that stands for the model: the first that caches, or the first.
    pub fn main_attention(&self) -> Option<&Attention> {
        let caches = |attention: &&Attention| attention.cache != super::Cache::None && !attention.cross;
        self.attention.iter().find(caches).or(self.attention.first())
    }
}

/// The model beside itself with more and with fewer key/value heads; empty where heads share nothing (a latent, one head).
///
/// # Errors
/// A count does not fit in 64 bits.
pub fn sharing(config: &Json, asked: &Asked, model: &Model, run: &Run) -> Outcome<Vec<Sharing>> {
    let (Some(main), Some(plan)) = (model.main_attention(), model.cache()) else { return Ok(Vec::new()) };
    let (h, g) = (main.num_heads.value(), main.num_kv_heads.value());
    let mixed = model.attention.iter().any(|one| {
        !one.cross
            && one.cache != super::Cache::None
            && (one.num_heads != main.num_heads || one.num_kv_heads != main.num_kv_heads)
    });
    if h == 1 || mixed || plan.own.is_empty() || plan.own.iter().any(|row| row.kind == Kind::Latent) {
        return Ok(Vec::new());
    }
    let layer = Layer::multi_head(h, h).with_kv_heads(g);
    let own = cache::numbers(&plan.own, 1)?;
    let total = model.parameters()?;
    let with = |count: u64| {
        let other = changed(config, asked, Key::NumKvHeads, count).and_then(|config| build(&config, asked));
        other.and_then(|model| model.parameters()).ok()
    };
    // keys and values are as wide as their heads together, so parameters grow by as many for each; two other models tell
    // how many, and that it is so here
    let each = match (with(1), with(h)) {
        (Some(one), Some(all)) if all > one && (all - one).is_multiple_of(h - 1) => {
            let each = (all - one) / (h - 1);
            (one + each * (g - 1) == total).then_some((one, each))
        }
        _ => None,
    };
    report::kv_head_counts(&layer)
        .into_iter()
        .map(|count| {
            let parameters = match each {
                _ if count == g => Some(total),
                Some((one, each)) => Some(one + each * (count - 1)),
                None => with(count),
            };
            let numbers = u128::from(own) * u128::from(count) / u128::from(g);
            Ok(Sharing {
                num_kv_heads: count,
                is_this: count == g,
                parameters,
                cache_per_token: run.kv_dtype.bytes(u64::try_from(numbers).unwrap_or(u64::MAX))?,
            })
        })
        .collect()
}

/// One size takes several values.
///
/// # Errors
/// The type has no such size, a value makes no model, a count does not fit in 64 bits, all values together take too long.
pub fn sweep(config: &Json, asked: &Asked, run: &Run, over: &SweepOver) -> Outcome<Vec<Swept>> {
    let mut tensors = 0;
    over.values
        .iter()
        .map(|value| {
            let mut run = *run;
            let model = match over.key {
                Key::SeqLen => {
                    run = Run { seq_len: *value, ..run };
                    build(config, asked)?
                }
                Key::Batch => {
                    run = Run { batch: *value, ..run };
                    build(config, asked)?
                }
                key => build(&changed(config, asked, key, *value)?, asked)?,
            };
            // Known from the first value on, unless it is the layers that change.
            let of_this = model.tensors.len();
            tensors = match over.key {
                Key::Layers => tensors + of_this,
                _ => of_this.saturating_mul(over.values.len()),
            };
            if tensors > SWEEP_TENSORS {
                return Err(too_long(of_this, over.values.len()).into());
            }
            let products = model.prefill(&run, false)?;
            Ok(Swept {
                value: *value,
                d_k: model.main_attention().map_or(0, |attention| attention.d_k.value()),
                parameters: model.parameters()?,
                attention_parameters: model.sum(|tensor| tensor.group == Group::Attention)?,
                multiply_adds: times(products.all()?, run.batch)?,
                exponentials: times(products.exponentials, run.batch)?,
                cache: model.cached_bytes(&run)?,
            })
        })
        .collect()
}

/// What to say about a sweep that would take minutes.
fn too_long(tensors: usize, values: usize) -> Fault {
    let what = format!("a sweep of {values} values over {tensors} tensors takes too long");
    let why = format!("each value counts them all anew, and at most {SWEEP_TENSORS} are counted");
    Fault::new(what, why, "fewer values, or fewer layers")
}

fn times(count: u64, batch: u64) -> Outcome<u64> {
    count.checked_mul(batch).ok_or_else(|| {
        Fault::new(
            "too large to count: the work of a whole batch",
            "counts are kept in 64 bits",
            "give fewer sequences",
        )
        .into()
    })
}
