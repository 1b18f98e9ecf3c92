//! A Transformer of attention alone, for the model inside the binary: no feed-forward network, learned positions.
//!
//! Config: `model_type: "attention_only"`, `hidden_size`, `num_hidden_layers`, `num_attention_heads`, `vocab_size`,
//! `max_position_embeddings`, `norm` (`pre` or `none`), and where they are not usual `layer_norm_eps` (1e-5),
//! `tie_word_embeddings` (false) and `is_causal` (true).
//!
//! Tensors: `embed.weight`, `positions.weight`; in each layer `layers.L.q.weight`, `k`, `v`, `o`, outputs in rows, each
//! with a bias where there is one, and before attention `layers.L.norm.weight` and `.bias`; at the end
//! `final_norm.weight` and `.bias` where there is one, and `unembed.weight` unless it is tied.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::readout::Readout;
use super::super::{Blueprint, Checkpoint, Embeddings};
use super::builder::{Builder, Dense, projection};
use super::keys::{Keys, shown};
use super::windows::{Kind, masks};
use crate::fault::Outcome;
use crate::ops::LayerNorm;
use crate::plan::{Attention, Layer, Layers, Norm, NormPlace, Projection, Start};

pub(super) fn blueprint(keys: &Keys, checkpoint: &dyn Checkpoint) -> Outcome<Blueprint> {
    let mut builder = Builder::new(keys, checkpoint);
    let [d_model, heads] = [keys.size("hidden_size")?, keys.size("num_attention_heads")?];
    keys.d_model_over(&d_model, &heads)?;
    let [vocabulary, places] = [keys.size("vocab_size")?, keys.size("max_position_embeddings")?];
    let eps = keys.positive("layer_norm_eps", 1e-5)?;
    let place = match keys.known("norm")?.and_then(Value::as_str) {
        Some("pre") => NormPlace::Pre,
        Some("none") => NormPlace::None,
        _ => {
            let what = format!("norm is {}", shown(keys.known("norm")?.unwrap_or(&Value::Null)));
            return Err(keys.at(
                "norm",
                what,
                "norms stand before attention or nowhere",
                "write pre or none",
            ));
        }
    };
    let is_causal = keys.known("is_causal")?.is_none() || keys.is_on("is_causal")?;
    let tokens = builder.tensor("embed.weight", &[&vocabulary, &d_model])?;
    let positions = builder.tensor("positions.weight", &[&places, &d_model])?;
    let mut layers = Vec::new();
    for layer in 0..builder.layers()? {
        let parts = [(Projection::Q, "q"), (Projection::K, "k"), (Projection::V, "v"), (Projection::O, "o")];
        for (part, name) in parts {
            let tensor = format!("layers.{layer}.{name}");
            let has_bias = builder.has(&format!("{tensor}.bias"));
            builder.dense(layer, projection(part), Dense::whole(tensor, [&d_model, &d_model], has_bias))?;
        }
        let norm = match place {
            NormPlace::Pre => builder.layer_norm(&format!("layers.{layer}.norm"), &d_model, eps)?,
            _ => Norm::Layer(LayerNorm { eps, gain: None, shift: None }),
        };
        layers.push(Layer {
            attention: Attention {
                masks: if is_causal { masks(Kind::Full) } else { Vec::new() },
                ..Attention::multi_head(d_model.value, heads.value)
            },
            norms: [norm.clone(), norm],
            found_norms: None,
            feed_forward: None,
        });
    }
    let last = match builder.has("final_norm.weight") {
        true => Some(builder.layer_norm("final_norm", &d_model, eps)?),
        false => None,
    };
    let tensor = match keys.is_on("tie_word_embeddings")? {
        true => tokens.clone(),
        false => builder.tensor("unembed.weight", &[&vocabulary, &d_model])?,
    };
    Ok(Blueprint {
        family: "attention only",
        layers: Layers { first: 0, start: Some(Start::default()), layers, norm: place, residual: true, last },
        embeddings: Embeddings { tokens, positions: Some((positions, 0)), padding: None, segments: None },
        matrices: builder.matrices("layers.")?,
        readout: Some(Readout { transform: None, tensor, bias: None, softcap: None }),
        most_tokens: Some(places.value),
        is_causal,
        stretch: BTreeMap::new(),
    })
}
