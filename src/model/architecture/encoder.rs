//! Encoders after BERT: post-LN, learned positions, every token sees every other. Families differ in names.

use std::collections::BTreeMap;

use super::super::readout::{Readout, Transform};
use super::super::{Blueprint, Checkpoint, Embeddings};
use super::builder::{Builder, DOWN, Dense, UP, projection};
use super::keys::{Keys, Size};
use crate::fault::Outcome;
use crate::ops::Activation;
use crate::plan::{Attention, FeedForward, Layer, Layers, NormPlace, Projection, Start};

/// What a family calls its tensors and keys.
pub(super) struct Encoder {
    pub(super) family: &'static str,
    /// What stands before the base model's names, in checkpoints with a head and in those without.
    pub(super) prefixes: &'static [&'static str],
    /// The list of layers.
    pub(super) stack: &'static str,
    /// Queries, keys, values, W_O in a layer.
    pub(super) attention: [&'static str; 4],
    /// W_1 and W_2 in a layer.
    pub(super) network: [&'static str; 2],
    /// The norms after attention and after the network in a layer.
    pub(super) norms: [&'static str; 2],
    /// The key of d_ff.
    pub(super) d_ff: &'static str,
    /// The key of the activation.
    pub(super) activation: &'static str,
    pub(super) positions: Positions,
    pub(super) has_segments: bool,
    pub(super) head: MaskedHead,
}

/// Which row of the position table is the first token's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Positions {
    /// Row 0.
    FromStart,
    /// The one after the padding token's: rows are numbered as tokens are, and padding has its own.
    AfterPadding,
}

/// What the head of a masked model calls its tensors: a dense layer, an activation, a norm, the vocabulary.
pub(super) struct MaskedHead {
    pub(super) dense: &'static str,
    pub(super) norm: &'static str,
    pub(super) vocabulary: &'static str,
    /// Where the bias may stand: of several the first that is there.
    pub(super) bias: &'static [&'static str],
    /// The activation, where it is not the layers' own.
    pub(super) activation: Option<Activation>,
}

/// The epsilon of norms where the config says nothing, in transformers and in the first checkpoints.
const EPS: f64 = 1e-12;

/// The blueprint of such a family.
pub(super) fn blueprint(encoder: &Encoder, keys: &Keys, checkpoint: &dyn Checkpoint) -> Outcome<Blueprint> {
    if keys.is_on("is_decoder")? {
        let why = "then a token would see only those before it, and here it sees all";
        return Err(keys.at("is_decoder", "is_decoder is true", why, "choose a model that is an encoder"));
    }
    let mut builder = Builder::new(keys, checkpoint);
    let d_model = keys.size("hidden_size")?;
    let heads = keys.size("num_attention_heads")?;
    keys.d_model_over(&d_model, &heads)?;
    let d_ff = keys.size(encoder.d_ff)?;
    let [vocabulary, places] = [keys.size("vocab_size")?, keys.size("max_position_embeddings")?];
    let eps = keys.positive("layer_norm_eps", EPS)?;
    let activation = keys.activation(encoder.activation)?;

    let prefix = builder.prefix(encoder.prefixes, "embeddings.word_embeddings.weight");
    let rows = |name: &str| format!("{prefix}embeddings.{name}_embeddings.weight");
    let tokens = builder.tensor(rows("word"), &[&vocabulary, &d_model])?;
    let positions = builder.tensor(rows("position"), &[&places, &d_model])?;
    let segments = match encoder.has_segments {
        true => Some(builder.tensor(rows("token_type"), &[&keys.size("type_vocab_size")?, &d_model])?),
        false => None,
    };
    let start = builder.layer_norm(&format!("{prefix}embeddings.LayerNorm"), &d_model, eps)?;
    let stack = format!("{prefix}{}.", encoder.stack);
    let mut layers = Vec::new();
    for layer in 0..builder.layers()? {
        let at = |name: &str| format!("{stack}{layer}.{name}");
        let parts = [Projection::Q, Projection::K, Projection::V, Projection::O];
        for (part, name) in parts.into_iter().zip(encoder.attention) {
            builder.dense(layer, projection(part), Dense::whole(at(name), [&d_model, &d_model], true))?;
        }
        let [up, down] = encoder.network.map(at);
        builder.dense(layer, UP, Dense::whole(up, [&d_model, &d_ff], true))?;
        builder.dense(layer, DOWN, Dense::whole(down, [&d_ff, &d_model], true))?;
        let [after_attention, after_network] = encoder.norms.map(at);
        layers.push(Layer {
            attention: Attention::multi_head(d_model.value, heads.value),
            norms: [
                builder.layer_norm(&after_attention, &d_model, eps)?,
                builder.layer_norm(&after_network, &d_model, eps)?,
            ],
            found_norms: None,
            feed_forward: Some(FeedForward { activation, is_gated: false }),
        });
    }
    let readout =
        masked_head(&encoder.head, &mut builder, [&vocabulary, &d_model], (eps, activation), &tokens)?;
    let (first, padding) = match encoder.positions {
        Positions::FromStart => (0, None),
        Positions::AfterPadding => {
            let padding = keys.number("pad_token_id", 1.0)?;
            let id = padding as u32;
            if f64::from(id) != padding || id as usize >= places.value {
                let what = format!("pad_token_id is {padding}");
                let why = "the row of the first position is the one after it";
                let remedy = "take the config.json that belongs to the weights";
                return Err(keys.at("pad_token_id", what, why, remedy));
            }
            (id as usize + 1, Some(id))
        }
    };
    Ok(Blueprint {
        family: encoder.family,
        layers: Layers {
            first: 0,
            start: Some(Start { scale: None, norm: Some(start) }),
            layers,
            norm: NormPlace::Post,
            residual: true,
            last: None,
        },
        embeddings: Embeddings { tokens, positions: Some((positions, first)), padding, segments },
        matrices: builder.matrices(&stack)?,
        readout,
        most_tokens: Some(places.value - first),
        is_causal: false,
        stretch: BTreeMap::new(),
    })
}

/// The head, where the checkpoint has one; the vocabulary is the embedding's own where it has no tensor of its own.
fn masked_head(
    head: &MaskedHead,
    builder: &mut Builder<'_>,
    [vocabulary, d_model]: [&Size; 2],
    (eps, activation): (f64, Activation),
    tokens: &str,
) -> Outcome<Option<Readout>> {
    if !builder.has(&format!("{}.weight", head.dense)) {
        return Ok(None);
    }
    let weight = builder.tensor(format!("{}.weight", head.dense), &[d_model, d_model])?;
    let bias = builder.tensor(format!("{}.bias", head.dense), &[d_model])?;
    let norm = builder.layer_norm(head.norm, d_model, eps)?;
    let tensor = match builder.has(head.vocabulary) {
        true => builder.tensor(head.vocabulary, &[vocabulary, d_model])?,
        false => tokens.to_owned(),
    };
    let own = match head.bias.iter().find(|name| builder.has(name)) {
        Some(name) => Some(builder.tensor(*name, &[vocabulary])?),
        None => None,
    };
    let activation = head.activation.unwrap_or(activation);
    let transform = Some(Transform { weight, bias: Some(bias), activation, norm });
    Ok(Some(Readout { transform, tensor, bias: own, softcap: None }))
}
