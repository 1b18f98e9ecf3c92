//! BERT: post-LN encoder with learned positions (Devlin et al. 2019).

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::{Blueprint, Checkpoint, Embeddings, Stored};
use crate::fault::{Fault, Outcome};
use crate::ops::{Activation, LayerNorm};
use crate::plan::{
    Attention, FeedForward, FfnStep, Layer, Layers, Name, Norm, NormPlace, Projection, Start, StepId,
};

pub(super) fn blueprint(config: &Value, checkpoint: &dyn Checkpoint) -> Outcome<Blueprint> {
    let number = |key: &str| {
        config
            .get(key)
            .and_then(Value::as_u64)
            .map(|number| number as usize)
            .ok_or_else(|| Fault::new(format!("config.json has no {key}"), "", "download it again"))
    };
    let eps = config.get("layer_norm_eps").and_then(Value::as_f64).unwrap_or(1e-12);
    let prefix = if checkpoint.tensors().contains_key("bert.embeddings.word_embeddings.weight") {
        "bert."
    } else {
        ""
    };
    let vector = |name: String| -> Outcome<Vec<f64>> {
        let length = checkpoint.shape(&name)?.first().copied().unwrap_or(0);
        Ok(checkpoint.rows(&name, 0..length)?.into_iter().map(f64::from).collect())
    };
    let norm = |name: String| -> Outcome<Norm> {
        let (gain, shift) = (vector(format!("{name}.weight"))?, vector(format!("{name}.bias"))?);
        Ok(Norm::Layer(LayerNorm { eps, gain: Some(gain), shift: Some(shift) }))
    };
    let (d_model, heads) = (number("hidden_size")?, number("num_attention_heads")?);
    let mut matrices = BTreeMap::new();
    let mut layers = Vec::new();
    for layer in 0..number("num_hidden_layers")? {
        let at = format!("{prefix}encoder.layer.{layer}");
        let mut put = |name: Name, stored: Stored| {
            matrices.insert(StepId::from(name).in_layer(Some(layer)), stored);
        };
        let linears = [
            (Projection::Q, "attention.self.query"),
            (Projection::K, "attention.self.key"),
            (Projection::V, "attention.self.value"),
            (Projection::O, "attention.output.dense"),
        ];
        for (projection, name) in linears {
            put(Name::W(projection), Stored::linear(format!("{at}.{name}.weight")));
            put(Name::B(projection), Stored::bias(format!("{at}.{name}.bias")));
        }
        for (w, b, name) in
            [(FfnStep::W1, FfnStep::B1, "intermediate.dense"), (FfnStep::W2, FfnStep::B2, "output.dense")]
        {
            put(Name::Ffn(w), Stored::linear(format!("{at}.{name}.weight")));
            put(Name::Ffn(b), Stored::bias(format!("{at}.{name}.bias")));
        }
        layers.push(Layer {
            attention: Attention::multi_head(d_model, heads),
            norms: [
                norm(format!("{at}.attention.output.LayerNorm"))?,
                norm(format!("{at}.output.LayerNorm"))?,
            ],
            found_norms: None,
            feed_forward: Some(FeedForward { activation: Activation::Gelu, is_gated: false }),
        });
    }
    let start = Start { scale: None, norm: Some(norm(format!("{prefix}embeddings.LayerNorm"))?) };
    let rows = |name: &str| format!("{prefix}embeddings.{name}_embeddings.weight");
    Ok(Blueprint {
        family: "BERT",
        layers: Layers {
            first: 0,
            start: Some(start),
            layers,
            norm: NormPlace::Post,
            residual: true,
            last: None,
        },
        embeddings: Embeddings {
            tokens: rows("word"),
            positions: Some((rows("position"), 0)),
            segments: Some(rows("token_type")),
        },
        matrices,
        readout: None,
        most_tokens: Some(number("max_position_embeddings")?),
        is_causal: false,
    })
}
