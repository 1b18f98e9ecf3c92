//! OPT (Zhang et al. 2022): GPT-2's layers with matrices of their own, and a table of positions whose first two rows no
//! token takes.

use std::collections::BTreeMap;

use super::super::readout::Readout;
use super::super::{Blueprint, Checkpoint, Embeddings};
use super::builder::{Builder, DOWN, Dense, UP, projection};
use super::keys::{Keys, Size};
use super::windows::{Kind, masks};
use crate::fault::Outcome;
use crate::plan::{Attention, FeedForward, Layer, Layers, NormPlace, Projection, Start};

/// The row of the first position.
const FIRST: usize = 2;

/// Switches whose other setting is another model than this one.
const SWITCHES: [(&str, bool); 2] =
    [("layer_norm_elementwise_affine", true), ("_remove_final_layer_norm", false)];

pub(super) fn blueprint(keys: &Keys, checkpoint: &dyn Checkpoint) -> Outcome<Blueprint> {
    let mut builder = Builder::new(keys, checkpoint);
    let [d_model, heads] = [keys.size("hidden_size")?, keys.size("num_attention_heads")?];
    keys.d_model_over(&d_model, &heads)?;
    let [d_ff, vocabulary] = [keys.size("ffn_dim")?, keys.size("vocab_size")?];
    let places = keys.size("max_position_embeddings")?;
    let activation = keys.activation("activation_function")?;
    let [has_bias, is_pre] = [keys.is_on("enable_bias")?, keys.is_on("do_layer_norm_before")?];
    refuse(keys, &d_model)?;

    let prefix = builder.prefix(&["model.decoder.", "decoder.", ""], "embed_tokens.weight");
    let tokens = builder.tensor(format!("{prefix}embed_tokens.weight"), &[&vocabulary, &d_model])?;
    let rows = places.plus(&Size::new(FIRST, "2"));
    let positions = builder.tensor(format!("{prefix}embed_positions.weight"), &[&rows, &d_model])?;
    let stack = format!("{prefix}layers.");
    let mut layers = Vec::new();
    for layer in 0..builder.layers()? {
        let at = |name: &str| format!("{stack}{layer}.{name}");
        let parts = [
            (projection(Projection::Q), "self_attn.q_proj", [&d_model, &d_model]),
            (projection(Projection::K), "self_attn.k_proj", [&d_model, &d_model]),
            (projection(Projection::V), "self_attn.v_proj", [&d_model, &d_model]),
            (projection(Projection::O), "self_attn.out_proj", [&d_model, &d_model]),
            (UP, "fc1", [&d_model, &d_ff]),
            (DOWN, "fc2", [&d_ff, &d_model]),
        ];
        for (names, tensor, sides) in parts {
            builder.dense(layer, names, Dense::whole(at(tensor), sides, has_bias))?;
        }
        layers.push(Layer {
            attention: Attention {
                masks: masks(Kind::Full),
                ..Attention::multi_head(d_model.value, heads.value)
            },
            norms: [
                builder.layer_norm(&at("self_attn_layer_norm"), &d_model, EPS)?,
                builder.layer_norm(&at("final_layer_norm"), &d_model, EPS)?,
            ],
            found_norms: None,
            feed_forward: Some(FeedForward { activation, is_gated: false }),
        });
    }
    let last = match is_pre {
        true => Some(builder.layer_norm(&format!("{prefix}final_layer_norm"), &d_model, EPS)?),
        false => None,
    };
    let readout = match builder.has("lm_head.weight") {
        true => Some(builder.tensor("lm_head.weight", &[&vocabulary, &d_model])?),
        false => keys.is_on("tie_word_embeddings")?.then(|| tokens.clone()),
    };
    Ok(Blueprint {
        family: "OPT",
        layers: Layers {
            first: 0,
            start: Some(Start::default()),
            layers,
            norm: if is_pre { NormPlace::Pre } else { NormPlace::Post },
            residual: true,
            last,
        },
        embeddings: Embeddings { tokens, positions: Some((positions, FIRST)), padding: None, segments: None },
        matrices: builder.matrices(&stack)?,
        readout: readout.map(|tensor| Readout { transform: None, tensor, bias: None, softcap: None }),
        most_tokens: Some(places.value),
        is_causal: true,
        stretch: BTreeMap::new(),
    })
}

/// The epsilon of every norm: the config has no key for it.
const EPS: f64 = 1e-5;

/// The 350-million model has an embedding narrower than its layers and matrices between the two, which no plan here has.
fn refuse(keys: &Keys, d_model: &Size) -> Outcome<()> {
    const NARROW: &str = "word_embed_proj_dim";
    if let Some(narrow) = keys.size_if_any(NARROW)?.filter(|narrow| narrow.value != d_model.value) {
        let what = format!("{NARROW} is {}, and {} is {}", narrow.value, d_model.keys, d_model.value);
        let why = "such a model brings its embedding to another width first, which is not computed here";
        return Err(keys.at(
            NARROW,
            what,
            why,
            "choose another size of OPT: only the one of 350 million has this",
        ));
    }
    for (switch, usual) in SWITCHES {
        if keys.known(switch)?.is_some() && keys.is_on(switch)? != usual {
            let what = format!("{switch} is {}", !usual);
            let why = "its norms are then others than here, and the numbers would be wrong";
            return Err(keys.at(switch, what, why, "choose a model that leaves it as it is"));
        }
    }
    Ok(())
}
