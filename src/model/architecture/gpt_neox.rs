//! GPT-NeoX (Black et al. 2022) and Pythia: attention and feed-forward network side by side, a share of each head
//! rotates, and each head's query, key and value stand together in one tensor.

use std::collections::BTreeMap;

use super::super::readout::Readout;
use super::super::{Blueprint, Checkpoint, Embeddings};
use super::builder::{Builder, DOWN, Dense, UP, projection};
use super::keys::Keys;
use super::rope::{Rotary, Rotation, rotary};
use super::windows::{Kind, masks};
use crate::fault::Outcome;
use crate::plan::spec::Positions;
use crate::plan::{Attention, FeedForward, Layer, Layers, NormPlace, Projection, Start};

const ROTATION: Rotation =
    Rotation { theta: ("rotary_emb_base", 10_000.0), share: ("rotary_pct", 0.25), in_windows: None };

pub(super) fn blueprint(keys: &Keys, checkpoint: &dyn Checkpoint) -> Outcome<Blueprint> {
    let mut builder = Builder::new(keys, checkpoint);
    let [d_model, heads] = [keys.size("hidden_size")?, keys.size("num_attention_heads")?];
    let d_k = keys.d_model_over(&d_model, &heads)?;
    let [d_ff, vocabulary] = [keys.size("intermediate_size")?, keys.size("vocab_size")?];
    let eps = keys.positive("layer_norm_eps", 1e-5)?;
    let activation = keys.activation("hidden_act")?;
    let has_bias = keys.is_on("attention_bias")?;
    let Rotary { spec, stretch: of_layer } = rotary(keys, &ROTATION, Kind::Full.name(), &d_k)?;

    let prefix = builder.prefix(&["gpt_neox.", ""], "embed_in.weight");
    let tokens = builder.tensor(format!("{prefix}embed_in.weight"), &[&vocabulary, &d_model])?;
    let stack = format!("{prefix}layers.");
    let packed = d_model.repeated(3);
    let mut stretch = BTreeMap::new();
    let mut layers = Vec::new();
    for layer in 0..builder.layers()? {
        let at = |name: &str| format!("{stack}{layer}.{name}");
        for (part, number) in [(Projection::Q, 0), (Projection::K, 1), (Projection::V, 2)] {
            // Head after head: its query, its key, its value.
            let of_head = |head: usize| (3 * head + number) * d_k.value..(3 * head + number + 1) * d_k.value;
            let whole = Dense::whole(at("attention.query_key_value"), [&d_model, &packed], has_bias);
            // Before a list of heads is made, the tensor shows that there are as many.
            builder.tensor(at("attention.query_key_value.weight"), &[&packed, &d_model])?;
            let outputs = (0..heads.value).map(of_head).collect();
            builder.dense(layer, projection(part), Dense { part: Some(outputs), ..whole })?;
        }
        let dense = Dense::whole(at("attention.dense"), [&d_model, &d_model], has_bias);
        builder.dense(layer, projection(Projection::O), dense)?;
        builder.dense(layer, UP, Dense::whole(at("mlp.dense_h_to_4h"), [&d_model, &d_ff], true))?;
        builder.dense(layer, DOWN, Dense::whole(at("mlp.dense_4h_to_h"), [&d_ff, &d_model], true))?;
        stretch.extend(of_layer.clone().map(|of_layer| (layer, of_layer)));
        layers.push(Layer {
            attention: Attention {
                masks: masks(Kind::Full),
                positions: Positions::Rope(spec.clone()),
                ..Attention::multi_head(d_model.value, heads.value)
            },
            norms: [
                builder.layer_norm(&at("input_layernorm"), &d_model, eps)?,
                builder.layer_norm(&at("post_attention_layernorm"), &d_model, eps)?,
            ],
            found_norms: None,
            feed_forward: Some(FeedForward { activation, is_gated: false }),
        });
    }
    let last = builder.layer_norm(&format!("{prefix}final_layer_norm"), &d_model, eps)?;
    let readout = match ["embed_out.weight", "lm_head.weight"].into_iter().find(|name| builder.has(name)) {
        Some(name) => Some(builder.tensor(name, &[&vocabulary, &d_model])?),
        None => keys.is_on("tie_word_embeddings")?.then(|| tokens.clone()),
    };
    let most = keys.size_if_any("max_position_embeddings")?.map(|most| most.value);
    Ok(Blueprint {
        family: "GPT-NeoX",
        layers: Layers {
            first: 0,
            start: Some(Start::default()),
            layers,
            norm: match keys.is_on("use_parallel_residual")? {
                true => NormPlace::Parallel,
                false => NormPlace::Pre,
            },
            residual: true,
            last: Some(last),
        },
        embeddings: Embeddings { tokens, positions: None, padding: None, segments: None },
        matrices: builder.matrices(&stack)?,
        readout: readout.map(|tensor| Readout { transform: None, tensor, bias: None, softcap: None }),
        most_tokens: stretch.get(&0).and_then(super::super::blueprint::Stretch::most_tokens).or(most),
        is_causal: true,
        stretch,
    })
}
