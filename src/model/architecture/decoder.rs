//! Decoders after Llama: rotary positions, norms before each part, a gated feed-forward network. Families differ in a
//! few switches.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::readout::Readout;
use super::super::{Blueprint, Checkpoint, Embeddings};
use super::builder::{Builder, DOWN, Dense, GATE, UP, projection};
use super::keys::{Keys, Size};
use super::rope::{Rotary, Rotation, rotary};
use super::windows::{Windows, kinds, masks};
use crate::fault::Outcome;
use crate::ops::Scale;
use crate::plan::spec::{NormScope, Positions, QkNorm};
use crate::plan::{Attention, FeedForward, Layer, Layers, Norm, NormPlace, Projection, Start};

/// What a family has that others have not.
pub(super) struct Decoder {
    pub(super) family: &'static str,
    pub(super) norm: Normed,
    /// Where the norms stand: before each part, or around it.
    pub(super) place: NormPlace,
    /// Biases of queries, keys and values; of W_O; of the feed-forward network.
    pub(super) biases: [Biases; 3],
    /// Whether each head's queries and keys are normed.
    pub(super) has_qk_norm: bool,
    /// Whether queries, keys and values share a tensor, and gate and W_1 another.
    pub(super) is_packed: bool,
    pub(super) network: Network,
    /// The key of the activation.
    pub(super) activation: &'static str,
    pub(super) windows: Windows,
    pub(super) rotation: Rotation,
    pub(super) turning: Turning,
    pub(super) gemma: Option<Gemma>,
}

/// Which layers rotate.
#[derive(Debug, Clone, Copy)]
pub(super) enum Turning {
    All,
    /// Those with a 1 in the list of the first key, or all but each so-manieth, which the second tells.
    AllBut(&'static str, &'static str),
}

/// Which norm a family has: the key of its epsilon, and the usual one.
#[derive(Debug, Clone, Copy)]
pub(super) enum Normed {
    Rms(&'static str, f64),
    Layer(&'static str, f64),
}

/// When there is a bias.
#[derive(Debug, Clone, Copy)]
pub(super) enum Biases {
    Never,
    Always,
    /// Where this key is true.
    If(&'static str),
}

/// A feed-forward network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Network {
    /// gate_proj, up_proj, down_proj.
    Gated,
    /// c_fc, c_proj.
    Plain,
}

/// What only Gemma has: an embedding times √d_model, gains 1 more than what is stored, and in later ones a scale of its
/// own and capped scores.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gemma {
    /// Whether scores are divided by the root of `query_pre_attn_scalar`, not of d_k.
    pub(super) has_own_scale: bool,
    pub(super) caps: Caps,
}

/// Which numbers are capped.
#[derive(Debug, Clone, Copy)]
pub(super) enum Caps {
    /// None.
    Never,
    /// Scores and logits, usually at these.
    Both([f64; 2]),
    /// Logits, where the config says so. It has a key for scores too, which transformers reads and does not use.
    Logits,
}

const PREFIXES: [&str; 4] = ["model.", "", "language_model.model.", "model.language_model."];
const HEADS: [&str; 2] = ["lm_head.weight", "language_model.lm_head.weight"];

/// The sizes of a layer.
struct Sizes {
    d_model: Size,
    heads: Size,
    kv_heads: Size,
    d_k: Size,
    d_ff: Size,
}

impl Sizes {
    fn of(keys: &Keys) -> Outcome<Self> {
        let [d_model, heads] = [keys.size("hidden_size")?, keys.size("num_attention_heads")?];
        let kv_heads = keys.size_if_any("num_key_value_heads")?.unwrap_or_else(|| heads.clone());
        if !heads.value.is_multiple_of(kv_heads.value) {
            let what =
                format!("{} {} do not divide {} {}", kv_heads.keys, kv_heads.value, heads.keys, heads.value);
            let why = "each key/value head serves the same number of query heads";
            let remedy = "take the config.json that belongs to the weights";
            return Err(keys.at("num_key_value_heads", what, why, remedy));
        }
        let d_k = match keys.size_if_any("head_dim")? {
            Some(d_k) => d_k,
            None => keys.d_model_over(&d_model, &heads)?,
        };
        Ok(Self { d_model, heads, kv_heads, d_k, d_ff: keys.size("intermediate_size")? })
    }
}

/// The blueprint of such a family.
pub(super) fn blueprint(decoder: &Decoder, keys: &Keys, checkpoint: &dyn Checkpoint) -> Outcome<Blueprint> {
    let mut builder = Builder::new(keys, checkpoint);
    let sizes = Sizes::of(keys)?;
    let vocabulary = keys.size("vocab_size")?;
    let activation = keys.activation(decoder.activation)?;
    let [scores_cap, logits_cap] = decoder.caps(keys)?;
    let prefix = builder.prefix(&PREFIXES, "embed_tokens.weight");
    let tokens = builder.tensor(format!("{prefix}embed_tokens.weight"), &[&vocabulary, &sizes.d_model])?;
    let stack = format!("{prefix}layers.");
    let mut layers = Vec::new();
    let mut stretch = BTreeMap::new();
    let count = builder.layers()?;
    let turns = turning(keys, decoder.turning, count)?;
    for (layer, kind) in kinds(keys, decoder.windows, count)?.into_iter().enumerate() {
        let at = format!("{stack}{layer}");
        let Rotary { spec, stretch: of_layer } = rotary(keys, &decoder.rotation, kind.name(), &sizes.d_k)?;
        let mut attention = attention(decoder, &mut builder, layer, &at, &sizes)?;
        attention.masks = masks(kind);
        if turns[layer] {
            stretch.extend(of_layer.map(|of_layer| (layer, of_layer)));
            attention.positions = Positions::Rope(spec);
        }
        attention.softcap = scores_cap;
        network(decoder, &mut builder, layer, &at, &sizes)?;
        let norm = |builder: &mut Builder<'_>, name: &str| {
            decoder.norm(builder, &format!("{at}.{name}"), &sizes.d_model)
        };
        let before = norm(&mut builder, "input_layernorm")?;
        let after = norm(&mut builder, "post_attention_layernorm")?;
        let (norms, found_norms) = match decoder.place {
            NormPlace::Around => {
                let before_network = norm(&mut builder, "pre_feedforward_layernorm")?;
                ([before, before_network], Some([after, norm(&mut builder, "post_feedforward_layernorm")?]))
            }
            _ => ([before, after], None),
        };
        let is_gated = decoder.network == Network::Gated;
        layers.push(Layer {
            attention,
            norms,
            found_norms,
            feed_forward: Some(FeedForward { activation, is_gated }),
        });
    }
    let last = decoder.norm(&mut builder, &format!("{prefix}norm"), &sizes.d_model)?;
    let readout = match HEADS.into_iter().find(|name| builder.has(name)) {
        Some(name) => Some(builder.tensor(name, &[&vocabulary, &sizes.d_model])?),
        None => keys.is_on("tie_word_embeddings")?.then(|| tokens.clone()),
    };
    let scale = decoder.gemma.map(|_| (sizes.d_model.value as f64).sqrt());
    let most = keys.size_if_any("max_position_embeddings")?.map(|most| most.value);
    let grown = stretch.values().filter_map(|stretch| stretch.most_tokens()).min();
    Ok(Blueprint {
        family: decoder.family,
        layers: Layers {
            first: 0,
            start: Some(Start { scale, norm: None }),
            layers,
            norm: decoder.place,
            residual: true,
            last: Some(last),
        },
        embeddings: Embeddings { tokens, positions: None, padding: None, segments: None },
        matrices: builder.matrices(&stack)?,
        readout: readout.map(|tensor| Readout { transform: None, tensor, bias: None, softcap: logits_cap }),
        most_tokens: grown.or(most),
        is_causal: true,
        stretch,
    })
}

impl Decoder {
    fn norm(&self, builder: &mut Builder<'_>, tensor: &str, width: &Size) -> Outcome<Norm> {
        let eps = self.eps(builder.keys)?;
        match self.norm {
            Normed::Rms(..) => builder.rms_norm(tensor, width, eps, self.gemma.is_some()).map(Norm::Rms),
            Normed::Layer(..) => builder.layer_norm(tensor, width, eps),
        }
    }

    fn eps(&self, keys: &Keys) -> Outcome<f64> {
        let (Normed::Rms(key, usual) | Normed::Layer(key, usual)) = self.norm;
        keys.positive(key, usual)
    }

    /// The caps of scores and of logits.
    fn caps(&self, keys: &Keys) -> Outcome<[Option<f64>; 2]> {
        const KEYS: [&str; 2] = ["attn_logit_softcapping", "final_logit_softcapping"];
        match self.gemma.map_or(Caps::Never, |gemma| gemma.caps) {
            Caps::Never => Ok([None, None]),
            Caps::Both([scores, logits]) => Ok([cap(keys, KEYS[0], scores)?, cap(keys, KEYS[1], logits)?]),
            Caps::Logits => match keys.positive_if_any(KEYS[0])? {
                None => Ok([None, keys.positive_if_any(KEYS[1])?]),
                Some(scores) => {
                    let what = format!("{} is {scores}", KEYS[0]);
                    let why = "transformers reads it in this type and does not use it, so it is not clear what the model was trained with";
                    Err(keys.at(KEYS[0], what, why, "set it to null, or choose another model"))
                }
            },
        }
    }

    fn has_biases(&self, keys: &Keys) -> Outcome<[bool; 3]> {
        let mut there = [false; 3];
        for (there, when) in there.iter_mut().zip(self.biases) {
            *there = match when {
                Biases::Never => false,
                Biases::Always => true,
                Biases::If(key) => keys.is_on(key)?,
            };
        }
        Ok(there)
    }
}

/// Whether each of so many layers rotates.
fn turning(keys: &Keys, turning: Turning, layers: usize) -> Outcome<Vec<bool>> {
    let Turning::AllBut(list, interval) = turning else { return Ok(vec![true; layers]) };
    let Some(stated) = keys.known(list)?.filter(|stated| !stated.is_null()) else {
        let every = keys.size(interval)?.value;
        return Ok((1..=layers).map(|layer| !layer.is_multiple_of(every)).collect());
    };
    let each = |value: &Value| value.as_u64().filter(|turns| *turns <= 1).map(|turns| turns == 1);
    let stated: Option<Vec<bool>> = stated.as_array().and_then(|list| list.iter().map(each).collect());
    stated.filter(|stated| stated.len() == layers).ok_or_else(|| {
        let what = format!("{list} is no list of {layers} numbers 0 and 1");
        let remedy = "take the config.json that belongs to the weights";
        keys.at(list, what, "it says of each layer whether it rotates", remedy)
    })
}

/// The attention of a layer without its masks and positions; its matrices go to the builder.
fn attention(
    decoder: &Decoder,
    builder: &mut Builder<'_>,
    layer: usize,
    at: &str,
    sizes: &Sizes,
) -> Outcome<Attention> {
    let Sizes { d_model, heads, kv_heads, d_k, .. } = sizes;
    let keys = builder.keys;
    let [of_qkv, of_output, _] = decoder.has_biases(keys)?;
    let [all, shared] = [heads.times(d_k), kv_heads.times(d_k)];
    let parts = [
        (Projection::Q, "q_proj", &all),
        (Projection::K, "k_proj", &shared),
        (Projection::V, "v_proj", &shared),
    ];
    if decoder.is_packed {
        let packed = all.plus(&shared).plus(&shared);
        let mut from = 0;
        for (part, _, outputs) in parts {
            let whole = Dense::whole(format!("{at}.self_attn.qkv_proj"), [d_model, &packed], of_qkv);
            let to = from + outputs.value.min(packed.value - from);
            builder.dense(layer, projection(part), whole.part(from..to))?;
            from = to;
        }
    } else {
        for (part, name, outputs) in parts {
            let dense = Dense::whole(format!("{at}.self_attn.{name}"), [d_model, outputs], of_qkv);
            builder.dense(layer, projection(part), dense)?;
        }
    }
    let output = Dense::whole(format!("{at}.self_attn.o_proj"), [&all, d_model], of_output);
    builder.dense(layer, projection(Projection::O), output)?;
    let qk_norm = match decoder.has_qk_norm {
        false => None,
        true => {
            let eps = decoder.eps(keys)?;
            let mut gain = |name: &str| {
                let tensor = format!("{at}.self_attn.{name}");
                builder.rms_norm(&tensor, d_k, eps, decoder.gemma.is_some()).map(|norm| norm.gain)
            };
            Some(QkNorm { eps, q_gain: gain("q_norm")?, k_gain: gain("k_norm")?, scope: NormScope::Head })
        }
    };
    let scale = match decoder.gemma {
        Some(Gemma { has_own_scale: true, .. }) => {
            Scale::Given(1.0 / keys.positive("query_pre_attn_scalar", 256.0)?.sqrt())
        }
        _ => Scale::RootOfDk,
    };
    Ok(Attention {
        num_kv_heads: kv_heads.value,
        d_k: d_k.value,
        d_v: d_k.value,
        scale,
        qk_norm,
        ..Attention::multi_head(d_model.value, heads.value)
    })
}

fn network(
    decoder: &Decoder,
    builder: &mut Builder<'_>,
    layer: usize,
    at: &str,
    sizes: &Sizes,
) -> Outcome<()> {
    let Sizes { d_model, d_ff, .. } = sizes;
    let both = d_ff.repeated(2);
    let [.., has_bias] = decoder.has_biases(builder.keys)?;
    let whole = |name: &str, sides| Dense::whole(format!("{at}.mlp.{name}"), sides, has_bias);
    let down = match decoder.network {
        Network::Plain => {
            builder.dense(layer, UP, whole("c_fc", [d_model, d_ff]))?;
            "c_proj"
        }
        Network::Gated if decoder.is_packed => {
            for (names, part) in [(GATE, 0..d_ff.value), (UP, d_ff.value..both.value)] {
                let dense = whole("gate_up_proj", [d_model, &both]);
                builder.dense(layer, names, dense.part(part))?;
            }
            "down_proj"
        }
        Network::Gated => {
            builder.dense(layer, GATE, whole("gate_proj", [d_model, d_ff]))?;
            builder.dense(layer, UP, whole("up_proj", [d_model, d_ff]))?;
            "down_proj"
        }
    };
    builder.dense(layer, DOWN, whole(down, [d_ff, d_model]))
}

/// A cap: stated, null for none, or the usual one.
fn cap(keys: &Keys, key: &str, usual: f64) -> Outcome<Option<f64>> {
    match keys.known(key)? {
        None => Ok(Some(usual)),
        Some(_) => keys.positive_if_any(key),
    }
}
