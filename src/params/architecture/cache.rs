//! What a model keeps of each token while it decodes.

use super::model::{Attention, Cache, Model};
use crate::fault::{Fault, Outcome};
use crate::limits::COUNTED_LAYERS;

/// Equal layers of a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// How it grows.
    pub kind: Kind,
    /// Heads and width of what is kept as keys; of a latent, 1 and its width.
    pub k: (u64, u64),
    /// The same of values; of a latent, 1 and the width of the rotated part.
    pub v: (u64, u64),
    /// Heads, and what each would keep if the latent were expanded; zeros where there is no latent.
    pub expanded: (u64, u64),
    /// The layers, as the stack numbers them from 1.
    pub layers: Vec<usize>,
}

/// How a layer's cache grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// With every token.
    Full,
    /// Until so many tokens are kept.
    Sliding(u64),
    /// With every token, by one vector for all heads.
    Latent,
}

impl Kind {
    /// The word on pages and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Sliding(_) => "sliding",
            Self::Latent => "latent",
        }
    }
}

impl Row {
    /// Numbers kept of one token by one layer.
    pub fn numbers(&self) -> u64 {
        let part = |(heads, width): (u64, u64)| heads.saturating_mul(width);
        part(self.k).saturating_add(part(self.v))
    }

    /// Tokens kept of so many.
    pub fn kept(&self, tokens: u64) -> u64 {
        match self.kind {
            Kind::Sliding(window) => tokens.min(window),
            _ => tokens,
        }
    }
}

/// Everything that a model caches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Of the sequence being written.
    pub own: Vec<Row>,
    /// Of the sequence that an encoder has read.
    pub cross: Vec<Row>,
}

impl Plan {
    /// What each of so many devices keeps: its part of the heads, at least one, and a latent whole.
    #[must_use]
    pub fn on_each_of(mut self, devices: u64) -> Self {
        for row in self.own.iter_mut().chain(&mut self.cross).filter(|row| row.kind != Kind::Latent) {
            row.k.0 = row.k.0.div_ceil(devices.max(1));
            row.v.0 = row.v.0.div_ceil(devices.max(1));
        }
        self
    }
}

impl Model {
    /// What is cached, layer by layer; `None` where nothing is, or where it is not modelled.
    pub fn cache(&self) -> Option<Plan> {
        let mut plan = Plan::default();
        for attention in &self.attention {
            let rows = if attention.cross { &mut plan.cross } else { &mut plan.own };
            match attention.cache {
                Cache::None => {}
                // nothing comes from an encoder
                _ if attention.cross && attention.product.positions.never() => {}
                Cache::Unknown => return None,
                _ => self.add(rows, attention),
            }
        }
        (!plan.own.is_empty() || !plan.cross.is_empty()).then_some(plan)
    }

    fn add(&self, rows: &mut Vec<Row>, attention: &Attention) {
        let layer = attention
            .layer
            .map_or(0, |layer| layer + 1 - self.stack_of(layer).map_or(1, |stack| stack.first));
        let (h, g) = (attention.num_heads.value(), attention.num_kv_heads.value());
        let (d_k, d_v) = (attention.d_k.value(), attention.d_v.value());
        let mut row = Row {
            kind: attention.window.map_or(Kind::Full, Kind::Sliding),
            k: (g, d_k),
            v: (g, d_v),
            expanded: (0, 0),
            layers: Vec::new(),
        };
        if let Cache::Latent { rank, rope, nope } = attention.cache {
            row = Row {
                kind: Kind::Latent,
                k: (1, rank),
                v: (1, rope),
                expanded: (h, nope.saturating_add(rope).saturating_add(d_v)),
                ..row
            };
        }
        let same = |known: &&mut Row| {
            (known.kind, known.k, known.v, known.expanded) == (row.kind, row.k, row.v, row.expanded)
        };
        let times =
            usize::try_from(attention.product.applied).unwrap_or(usize::MAX).min(COUNTED_LAYERS as usize);
        match rows.iter_mut().find(same) {
            Some(known) => known.layers.extend(std::iter::repeat_n(layer, times)),
            None => rows.push(Row { layers: vec![layer; times], ..row }),
        }
    }
}

/// Numbers that rows keep of so many tokens of one sequence.
///
/// # Errors
/// They do not fit in 64 bits.
pub fn numbers(rows: &[Row], tokens: u64) -> Outcome<u64> {
    total(rows.iter().map(|row| (row.layers.len() as u64, row.numbers(), row.kept(tokens))))
}

/// Numbers that rows keep of one more token once their windows are full.
///
/// # Errors
/// They do not fit in 64 bits.
pub fn numbers_beyond_windows(rows: &[Row]) -> Outcome<u64> {
    let growing = rows.iter().filter(|row| !matches!(row.kind, Kind::Sliding(_)));
    total(growing.map(|row| (row.layers.len() as u64, row.numbers(), 1)))
}

/// Numbers of one token where every head keeps its own keys and values instead of a latent.
///
/// # Errors
/// They do not fit in 64 bits.
pub fn expanded_numbers(rows: &[Row]) -> Outcome<u64> {
    total(rows.iter().map(|row| {
        let expanded = row.expanded.0.saturating_mul(row.expanded.1);
        (row.layers.len() as u64, if expanded > 0 { expanded } else { row.numbers() }, 1)
    }))
}

fn total(parts: impl Iterator<Item = (u64, u64, u64)>) -> Outcome<u64> {
    let mut sum: u64 = 0;
    for (layers, numbers, tokens) in parts {
        let part = layers.checked_mul(numbers).and_then(|product| product.checked_mul(tokens));
        sum = part.and_then(|part| sum.checked_add(part)).ok_or_else(|| {
            Fault::new(
                "the KV cache is too large to count",
                "counts are kept in 64 bits",
                "give fewer tokens",
            )
        })?;
    }
    Ok(sum)
}
