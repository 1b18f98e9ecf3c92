//! What is known of a model's sizes, where each came from, and the layer that follows.

use std::collections::BTreeMap;

use super::presets::{BASE, Preset};
use super::{Biases, Layer, neighbours};
use crate::fault::{Fault, Faults, Outcome};
use crate::limits::{COUNTED_LAYERS, COUNTED_SIZE};
use crate::words::{n, t};

/// A size that can be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// Width of the input and the output.
    DModel,
    /// h, query heads.
    NumHeads,
    /// g, key/value heads.
    NumKvHeads,
    /// Width of a head's queries and keys.
    DK,
    /// Width of a head's values.
    DV,
    /// Width of the source of keys and values.
    DKvModel,
    /// Layers of this kind.
    Layers,
    /// n, tokens of a sequence.
    SeqLen,
    /// B, sequences at a time.
    Batch,
}

impl Key {
    /// All of them, in the order of the page.
    pub const ALL: [Self; 9] = [
        Self::DModel,
        Self::NumHeads,
        Self::NumKvHeads,
        Self::DK,
        Self::DV,
        Self::DKvModel,
        Self::Layers,
        Self::SeqLen,
        Self::Batch,
    ];

    /// The name in files and on pages.
    pub fn name(self) -> &'static str {
        match self {
            Self::DModel => "d_model",
            Self::NumHeads => "num_heads",
            Self::NumKvHeads => "num_kv_heads",
            Self::DK => "d_k",
            Self::DV => "d_v",
            Self::DKvModel => "d_kv_model",
            Self::Layers => "layers",
            Self::SeqLen => "seq_len",
            Self::Batch => "batch",
        }
    }

    /// The letter in formulas.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::NumHeads => "h",
            Self::NumKvHeads => "g",
            Self::SeqLen => "n",
            Self::Batch => "B",
            other => other.name(),
        }
    }

    /// The flag that gives it.
    pub fn flag(self) -> &'static str {
        match self {
            Self::DModel => "--d-model",
            Self::NumHeads => "--num-heads",
            Self::NumKvHeads => "--num-kv-heads",
            Self::DK => "--d-k",
            Self::DV => "--d-v",
            Self::DKvModel => "--d-kv-model",
            Self::Layers => "--layers",
            Self::SeqLen => "--seq-len",
            Self::Batch => "--batch",
        }
    }

    /// The largest that is counted. Every layer is listed in JSON, so there are fewer of those.
    pub fn largest(self) -> u64 {
        if self == Self::Layers { COUNTED_LAYERS } else { COUNTED_SIZE }
    }

    /// Reads what stood behind a flag.
    ///
    /// # Errors
    /// It is no whole number from 1 to [`Key::largest`].
    pub fn parse(self, text: &str) -> Outcome<u64> {
        let fault = |what: String| {
            let why = format!("{} is a whole number from 1 to {}", self.name(), self.largest());
            Faults::from(Fault::new(what, why, format!("for example {} {}", self.flag(), self.example())))
        };
        let shown: String = text.chars().take(40).collect();
        let name = self.name();
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(fault(format!(
                "{name} cannot be {}",
                if text.is_empty() { "empty" } else { &shown }
            )));
        }
        match text.parse::<u64>() {
            Ok(0) => Err(fault(format!("{name} cannot be 0"))),
            Ok(value) if value <= self.largest() => Ok(value),
            _ => Err(fault(format!("{name} cannot be as large as {shown}"))),
        }
    }

    fn example(self) -> u64 {
        match self {
            Self::DModel | Self::DKvModel => 512,
            Self::NumHeads | Self::NumKvHeads => 8,
            Self::DK | Self::DV => 64,
            Self::Layers => 6,
            Self::SeqLen => SEQ_LEN,
            Self::Batch => 1,
        }
    }
}

/// Tokens of a sequence where nobody has said how many. Not 512, so that n and d_model are not mistaken for each
/// other in the factors of the paper's layer.
const SEQ_LEN: u64 = 256;

/// Where a size came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A flag of its own.
    Flag,
    /// A value of `--sweep`.
    Sweep,
    /// The preset that was asked for.
    Preset(&'static str),
    /// Given by a flag, where the preset of this name says otherwise: its value stands beside it (for biases 0 or
    /// 1).
    Instead(&'static str, u64),
    /// Nobody gave it: what stands in for it, and why.
    Default(String),
}

/// Sizes as they were given, with where each came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// What the page is about.
    pub model: &'static str,
    /// The family it belongs to.
    pub family: &'static str,
    /// The preset underneath, where one was asked for (or nothing was).
    pub preset: Option<&'static Preset>,
    /// Whether nobody named a model or a size, so that the base Transformer stands in.
    pub assumed: bool,
    given: BTreeMap<Key, (u64, Origin)>,
    bias: (bool, Origin),
}

/// Sizes that make a layer, with where each came from; always whole and consistent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// One layer.
    pub layer: Layer,
    /// How many of them.
    pub layers: u64,
    /// Tokens of a sequence.
    pub seq_len: u64,
    /// Sequences at a time.
    pub batch: u64,
    /// Every size, in the order of [`Key::ALL`].
    pub sizes: Vec<(Key, u64, Origin)>,
    /// Where the answer about biases came from.
    pub bias_origin: Origin,
}

impl Settings {
    /// What a preset says.
    pub fn of_preset(preset: &'static Preset) -> Self {
        let mut settings = Self {
            model: preset.name,
            family: preset.family,
            preset: Some(preset),
            assumed: false,
            given: BTreeMap::new(),
            bias: (preset.bias, Origin::Preset(preset.name)),
        };
        let sizes = [
            (Key::DModel, Some(preset.d_model)),
            (Key::NumHeads, Some(preset.num_heads)),
            (Key::NumKvHeads, preset.num_kv_heads),
            (Key::DK, preset.d_k),
            (Key::Layers, Some(preset.layers)),
            (Key::SeqLen, preset.context),
        ];
        for (key, size) in sizes {
            if let Some(size) = size {
                settings.given.insert(key, (size, Origin::Preset(preset.name)));
            }
        }
        settings
    }

    /// The base Transformer, because nobody named a model or a size.
    pub fn of_nothing() -> Self {
        Self { assumed: true, ..Self::of_preset(BASE) }
    }

    /// One layer of which nothing is known yet: the base Transformer's sizes stand in for what is not given.
    pub fn of_flags() -> Self {
        let stand_in = || Origin::Default(t!("as %{model}", model = BASE.name));
        let given = [(Key::DModel, BASE.d_model), (Key::NumHeads, BASE.num_heads)]
            .map(|(key, value)| (key, (value, stand_in())))
            .into();
        let bias = (false, Origin::Default(n!("not given").into()));
        Self { model: "custom", family: "custom", preset: None, assumed: false, given, bias }
    }

    /// Gives a size by its flag.
    pub fn set(&mut self, key: Key, value: u64) {
        let origin = match self.given.get(&key) {
            Some((before, Origin::Preset(preset))) if *before != value => Origin::Instead(preset, *before),
            _ => Origin::Flag,
        };
        self.given.insert(key, (value, origin));
    }

    /// Says by a flag whether the projections have biases.
    pub fn set_bias(&mut self, bias: bool) {
        let origin = match self.bias {
            (before, Origin::Preset(preset)) if before != bias => Origin::Instead(preset, u64::from(before)),
            _ => Origin::Flag,
        };
        self.bias = (bias, origin);
    }

    /// The same settings with one value of a sweep.
    #[must_use]
    pub fn swept(&self, key: Key, value: u64) -> Self {
        let mut settings = self.clone();
        settings.given.insert(key, (value, Origin::Sweep));
        settings
    }

    /// Fills in what follows from what was given: d_k = d_model / h, d_v = d_k, g = h.
    ///
    /// # Errors
    /// Heads do not divide d_model and no d_k was given; key/value heads do not divide heads. Both are reported.
    pub fn resolve(&self) -> Outcome<Shape> {
        let mut faults = Vec::new();
        let derived = |value: u64, how: String| (value, Origin::Default(how));
        let (d_model, d_model_from) =
            self.get(Key::DModel).unwrap_or_else(|| derived(BASE.d_model, "".into()));
        let (h, h_from) = self.get(Key::NumHeads).unwrap_or_else(|| derived(BASE.num_heads, "".into()));
        let d_k = self.get(Key::DK).unwrap_or_else(|| {
            if d_model.checked_rem(h) != Some(0) {
                faults.push(indivisible(d_model, h, self.place(&[Key::NumHeads, Key::DModel])));
            }
            derived(d_model / h.max(1), format!("d_model/h = {d_model}/{h}"))
        });
        let g = self.get(Key::NumKvHeads).unwrap_or_else(|| derived(h, "num_heads".into()));
        if h.checked_rem(g.0) != Some(0) {
            faults.push(ungrouped(h, g.0, self.place(&[Key::NumKvHeads, Key::NumHeads])));
        }
        if !faults.is_empty() {
            return Err(Faults(faults));
        }
        let d_v = self.get(Key::DV).unwrap_or_else(|| derived(d_k.0, "d_k".into()));
        let source = self.get(Key::DKvModel).unwrap_or_else(|| derived(d_model, "d_model".into()));
        let layers = self.get(Key::Layers).unwrap_or_else(|| derived(1, n!("one layer").into()));
        let seq_len =
            self.get(Key::SeqLen).unwrap_or_else(|| derived(SEQ_LEN, n!("an example length").into()));
        let batch = self.get(Key::Batch).unwrap_or_else(|| derived(1, n!("not given").into()));
        let layer = Layer {
            d_model,
            d_kv_model: source.0,
            num_heads: h,
            num_kv_heads: g.0,
            d_k: d_k.0,
            d_v: d_v.0,
            biases: if self.bias.0 { Biases::ALL } else { Biases::NONE },
            output_projection: true,
        };
        layer.check()?;
        let values = [
            (d_model, d_model_from),
            (h, h_from),
            g,
            d_k,
            d_v,
            source,
            layers.clone(),
            seq_len.clone(),
            batch.clone(),
        ];
        Ok(Shape {
            layer,
            layers: layers.0,
            seq_len: seq_len.0,
            batch: batch.0,
            sizes: Key::ALL.into_iter().zip(values).map(|(key, (value, from))| (key, value, from)).collect(),
            bias_origin: self.bias.1.clone(),
        })
    }

    fn get(&self, key: Key) -> Option<(u64, Origin)> {
        self.given.get(&key).cloned()
    }

    /// Which of these a person typed last: a sweep's value before a flag, a flag before a preset.
    fn place(&self, keys: &[Key]) -> String {
        let from = |key: &Key| self.given.get(key).map(|(_, origin)| origin);
        let find = |wanted: fn(&Origin) -> bool| keys.iter().find(|key| from(key).is_some_and(wanted));
        if find(|origin| *origin == Origin::Sweep).is_some() {
            return "--sweep".into();
        }
        match find(|origin| matches!(origin, Origin::Flag | Origin::Instead(..))) {
            Some(key) => key.flag().into(),
            None => self.model.into(),
        }
    }
}

fn indivisible(d_model: u64, heads: u64, place: String) -> Fault {
    Fault::new(
        format!("{heads} heads cannot share d_model = {d_model} equally"),
        format!("d_k = d_model / num_heads must be whole, and {d_model} / {heads} is not"),
        format!("set num_heads to {}, or give d_k yourself with --d-k", neighbours(d_model, heads)),
    )
    .in_source(place)
}

fn ungrouped(heads: u64, kv_heads: u64, place: String) -> Fault {
    Fault::new(
        format!("{heads} query heads cannot share {kv_heads} key/value heads equally"),
        "each key/value head serves equally many query heads, so num_kv_heads divides num_heads",
        format!("set num_kv_heads to {}", neighbours(heads, kv_heads)),
    )
    .in_source(place)
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
