//! GPT-2 (Radford et al. 2019): pre-LN decoder with learned positions; inputs stand in rows, and queries, keys and values
//! in one tensor.

use std::collections::BTreeMap;

use super::super::readout::Readout;
use super::super::{Blueprint, Checkpoint, Embeddings};
use super::builder::{Builder, DOWN, Dense, Rows, UP, projection};
use super::keys::{Keys, Size};
use super::windows::{Kind, masks};
use crate::fault::Outcome;
use crate::ops::Scale;
use crate::plan::{Attention, FeedForward, Layer, Layers, NormPlace, Projection, Start};

/// A matrix with inputs in rows.
fn conv(tensor: String, sides: [&'_ Size; 2]) -> Dense<'_> {
    Dense { rows: Rows::Inputs, ..Dense::whole(tensor, sides, true) }
}

pub(super) fn blueprint(keys: &Keys, checkpoint: &dyn Checkpoint) -> Outcome<Blueprint> {
    let mut builder = Builder::new(keys, checkpoint);
    let [d_model, heads] = [keys.size("n_embd")?, keys.size("n_head")?];
    let d_k = keys.d_model_over(&d_model, &heads)?;
    let d_ff = keys.size_if_any("n_inner")?.unwrap_or_else(|| d_model.repeated(4));
    let [vocabulary, places] = [keys.size("vocab_size")?, keys.size("n_positions")?];
    let eps = keys.positive("layer_norm_epsilon", 1e-5)?;
    let activation = keys.activation("activation_function")?;
    let is_scaled = keys.known("scale_attn_weights")?.is_none() || keys.is_on("scale_attn_weights")?;
    let by_layer = keys.is_on("scale_attn_by_inverse_layer_idx")?;

    let prefix = builder.prefix(&["transformer.", ""], "wte.weight");
    let tokens = builder.tensor(format!("{prefix}wte.weight"), &[&vocabulary, &d_model])?;
    let positions = builder.tensor(format!("{prefix}wpe.weight"), &[&places, &d_model])?;
    let stack = format!("{prefix}h.");
    let packed = d_model.repeated(3);
    let mut layers = Vec::new();
    for layer in 0..builder.layers()? {
        let at = |name: &str| format!("{stack}{layer}.{name}");
        for (part, number) in [(Projection::Q, 0), (Projection::K, 1), (Projection::V, 2)] {
            let from = number * d_model.value;
            let all = conv(at("attn.c_attn"), [&d_model, &packed]);
            builder.dense(layer, projection(part), all.part(from..from + d_model.value))?;
        }
        builder.dense(layer, projection(Projection::O), conv(at("attn.c_proj"), [&d_model, &d_model]))?;
        builder.dense(layer, UP, conv(at("mlp.c_fc"), [&d_model, &d_ff]))?;
        builder.dense(layer, DOWN, conv(at("mlp.c_proj"), [&d_ff, &d_model]))?;
        let root = if is_scaled { (d_k.value as f64).sqrt() } else { 1.0 };
        let scale = match (is_scaled, by_layer) {
            (true, false) => Scale::RootOfDk,
            (_, false) => Scale::Given(1.0),
            (_, true) => Scale::Given(1.0 / root / (layer + 1) as f64),
        };
        let mut norm = |name: &str| builder.layer_norm(&format!("{stack}{layer}.{name}"), &d_model, eps);
        layers.push(Layer {
            attention: Attention {
                scale,
                masks: masks(Kind::Full),
                ..Attention::multi_head(d_model.value, heads.value)
            },
            norms: [norm("ln_1")?, norm("ln_2")?],
            found_norms: None,
            feed_forward: Some(FeedForward { activation, is_gated: false }),
        });
    }
    let last = builder.layer_norm(&format!("{prefix}ln_f"), &d_model, eps)?;
    // The vocabulary is always the embedding's own, also in a checkpoint of the bare model.
    let head = match builder.has("lm_head.weight") {
        true => builder.tensor("lm_head.weight", &[&vocabulary, &d_model])?,
        false => tokens.clone(),
    };
    Ok(Blueprint {
        family: "GPT-2",
        layers: Layers {
            first: 0,
            start: Some(Start::default()),
            layers,
            norm: NormPlace::Pre,
            residual: true,
            last: Some(last),
        },
        embeddings: Embeddings { tokens, positions: Some((positions, 0)), padding: None, segments: None },
        matrices: builder.matrices(&stack)?,
        readout: Some(Readout { transform: None, tensor: head, bias: None, softcap: None }),
        most_tokens: Some(places.value),
        is_causal: true,
        stretch: BTreeMap::new(),
    })
}
