//! The metadata of a GGUF file, as the `config.json` of the same model would say it.

use serde_json::{Map, Value, json};

use super::Gguf;
use super::metadata::Metadata;
use super::names::Family;
use crate::fault::{Fault, Outcome};
use crate::limits::LAYERS;
use crate::model::Checkpoint;

/// A metadata key and the config key that says the same.
type Pair = (&'static str, &'static str);

/// Counts of most families.
const COUNTS: &[Pair] = &[
    ("embedding_length", "hidden_size"),
    ("block_count", "num_hidden_layers"),
    ("feed_forward_length", "intermediate_size"),
    ("attention.head_count", "num_attention_heads"),
    ("attention.head_count_kv", "num_key_value_heads"),
    ("attention.key_length", "head_dim"),
    ("context_length", "max_position_embeddings"),
];

const GPT_2_COUNTS: &[Pair] = &[
    ("embedding_length", "n_embd"),
    ("block_count", "n_layer"),
    ("feed_forward_length", "n_inner"),
    ("attention.head_count", "n_head"),
    ("context_length", "n_positions"),
];

/// The config of a file's model.
///
/// # Errors
/// A count that is missing or no count; a scaling of rotary angles that is not known.
pub(super) fn config(metadata: &Metadata<'_>, family: &Family, tensors: &Gguf) -> Outcome<Value> {
    let mut config = Map::new();
    let mut put = |key: &str, value: Value| {
        config.insert(key.to_owned(), value);
    };
    put("model_type", json!(family.model_type));
    for key in ["embedding_length", "block_count", "attention.head_count"] {
        metadata.needed(key)?;
    }
    for (stored, key) in if family.model_type == "gpt2" { GPT_2_COUNTS } else { COUNTS } {
        if let Some(count) = metadata.count(stored)? {
            put(key, json!(count));
        }
    }
    let (heads, width) = (metadata.heads()?, metadata.needed("embedding_length")?);
    let head = match metadata.count("attention.key_length")? {
        Some(head) => head,
        None => width / heads.max(1),
    };
    if let Some(value) = metadata.count("attention.value_length")?.filter(|value| *value != head) {
        let what = format!("a head's values have {value} numbers and its keys {head}");
        return Err(Fault::new(what, "no supported family has that", "choose another model").into());
    }
    let has = |name: &str| tensors.tensors().contains_key(name);
    let tied = !["lm_head.weight", "embed_out.weight"].into_iter().any(has);
    put("tie_word_embeddings", json!(tied && family.model_type != "bert"));
    let vocabulary =
        ["model.embed_tokens", "transformer.wte", "gpt_neox.embed_in", "embeddings.word_embeddings"]
            .iter()
            .find_map(|name| tensors.tensors().get(&format!("{name}.weight")))
            .and_then(|shape| shape.first());
    if let Some(rows) = vocabulary {
        put("vocab_size", json!(rows));
    }
    for (key, value) in own(metadata, family, tensors, head)? {
        put(&key, value);
    }
    Ok(Value::Object(config))
}

/// What a family's config says beyond its counts: norms, activations, and what llama.cpp's code knows of it without
/// being told by the file.
fn own(metadata: &Metadata<'_>, family: &Family, tensors: &Gguf, head: u64) -> Outcome<Map<String, Value>> {
    let has = |name: &str| tensors.tensors().contains_key(name);
    let rms = metadata.number("attention.layer_norm_rms_epsilon")?;
    let layer_norm = metadata.number("attention.layer_norm_epsilon")?;
    let rope = rope(metadata, tensors, head)?;
    let layers = metadata.needed("block_count")?;
    let own = match family.model_type {
        "gpt2" => json!({"layer_norm_epsilon": layer_norm, "activation_function": "gelu_new"}),
        "bert" => json!({
            "layer_norm_eps": layer_norm, "hidden_act": "gelu",
            "type_vocab_size": tensors.tensors().get("embeddings.token_type_embeddings.weight").and_then(|s| s.first()),
        }),
        "gpt_neox" => json!({
            "layer_norm_eps": layer_norm, "hidden_act": "gelu",
            "use_parallel_residual": metadata.text("use_parallel_residual") != Some("false"),
            "rotary_pct": rotated(metadata, head)?, "rotary_emb_base": rope.base, "rope_scaling": rope.scaling,
        }),
        "starcoder2" => json!({
            "norm_epsilon": layer_norm, "hidden_act": "gelu_pytorch_tanh", "use_bias": has("model.layers.0.mlp.c_fc.bias"),
            "sliding_window": metadata.count("attention.sliding_window")?,
            "rope_theta": rope.base, "rope_scaling": rope.scaling,
        }),
        "gemma" => json!({
            "rms_norm_eps": rms, "hidden_act": "gelu_pytorch_tanh", "rope_theta": rope.base, "rope_scaling": rope.scaling,
        }),
        "gemma2" => json!({
            "rms_norm_eps": rms, "hidden_activation": "gelu_pytorch_tanh", "rope_theta": rope.base, "rope_scaling": rope.scaling,
            "sliding_window": metadata.count("attention.sliding_window")?.unwrap_or(4096),
            "layer_types": layer_types(metadata, layers, 2)?,
            // The file of the 27B model (46 layers) does not say that it divides by d_model / num_heads.
            "query_pre_attn_scalar": query_scalar(metadata, layers == 46, head)?,
            "attn_logit_softcapping": metadata.number("attn_logit_softcapping")?.unwrap_or(50.0),
            "final_logit_softcapping": metadata.number("final_logit_softcapping")?.unwrap_or(30.0),
        }),
        "gemma3_text" => json!({
            "rms_norm_eps": rms, "hidden_activation": "gelu_pytorch_tanh", "rope_theta": rope.base, "rope_scaling": rope.scaling,
            "rope_local_base_freq": metadata.number("rope.freq_base_swa")?.unwrap_or(10_000.0),
            "sliding_window": metadata.count("attention.sliding_window")?.unwrap_or(1024),
            "layer_types": layer_types(metadata, layers, 6)?,
            // Nor does the 27B model of Gemma 3 (62 layers).
            "query_pre_attn_scalar": query_scalar(metadata, layers == 62, head)?,
            "final_logit_softcapping": metadata.number("final_logit_softcapping")?,
        }),
        "phi3" => json!({
            "rms_norm_eps": rms, "hidden_act": "silu", "rope_theta": rope.base, "rope_scaling": rope.scaling,
            "original_max_position_embeddings": metadata.count("rope.scaling.original_context_length")?,
            "partial_rotary_factor": rotated(metadata, head)?,
            "sliding_window": metadata.count("attention.sliding_window")?.filter(|window| *window > 0),
        }),
        "llama" => {
            let window = metadata.count("attention.sliding_window")?.filter(|window| *window > 0);
            json!({
                "model_type": if window.is_some() { "mistral" } else { "llama" }, "sliding_window": window,
                "rms_norm_eps": rms, "hidden_act": "silu", "rope_theta": rope.base, "rope_scaling": rope.scaling,
                "attention_bias": has("model.layers.0.self_attn.q_proj.bias"), "mlp_bias": has("model.layers.0.mlp.up_proj.bias"),
            })
        }
        _ => json!({
            "rms_norm_eps": rms, "hidden_act": "silu", "rope_theta": rope.base, "rope_scaling": rope.scaling,
            "attention_bias": has("model.layers.0.self_attn.q_proj.bias"),
        }),
    };
    let Value::Object(own) = own else { return Ok(Map::new()) };
    Ok(own.into_iter().filter(|(_, value)| !value.is_null()).collect())
}

/// What scores are divided by the square root of.
fn query_scalar(metadata: &Metadata<'_>, by_heads: bool, head: u64) -> Outcome<u64> {
    let heads = metadata.heads()?.max(1);
    Ok(if by_heads { metadata.needed("embedding_length")? / heads } else { head })
}

/// The share of a head that rotary positions turn.
fn rotated(metadata: &Metadata<'_>, head: u64) -> Outcome<f64> {
    let turned = metadata.count("rope.dimension_count")?.unwrap_or(head);
    Ok(turned as f64 / head.max(1) as f64)
}

/// Sliding layers and, as every `full`-th one, full ones; as the file says where it does.
fn layer_types(metadata: &Metadata<'_>, layers: u64, full: u64) -> Outcome<Vec<&'static str>> {
    if layers > LAYERS {
        let what = format!("the file says that the model has {layers} layers");
        return Err(Fault::new(what, format!("at most {LAYERS} are read"), "choose another model").into());
    }
    let name = |slides: bool| if slides { "sliding_attention" } else { "full_attention" };
    const KEY: &str = "attention.sliding_window_pattern";
    let stated: Option<Vec<bool>> = metadata
        .text(KEY)
        .and_then(|text| text.strip_prefix('[')?.strip_suffix(']'))
        .map(|list| list.split(", ").map(|slides| matches!(slides, "true" | "1")).collect());
    Ok(match stated {
        Some(stated) if stated.len() as u64 == layers => stated.into_iter().map(name).collect(),
        _ => {
            let full = if stated.is_none() { metadata.count(KEY)?.unwrap_or(full).max(1) } else { full };
            (1..=layers).map(|layer| name(layer % full != 0)).collect()
        }
    })
}

/// Rotary positions: the base of their frequencies, and how they are scaled.
struct Rope {
    base: f64,
    scaling: Value,
}

fn rope(metadata: &Metadata<'_>, tensors: &Gguf, head: u64) -> Outcome<Rope> {
    let base = metadata.number("rope.freq_base")?.unwrap_or(10_000.0);
    let factor = match metadata.number("rope.scaling.factor")? {
        Some(factor) => Some(factor),
        None => metadata.number("rope.scale_linear")?,
    };
    let original = metadata.count("rope.scaling.original_context_length")?;
    let attention = metadata.number("rope.scaling.attn_factor")?;
    let kind = metadata.text("rope.scaling.type");
    let context = original.or(metadata.count("context_length")?);
    // One factor a frequency, which it is divided by: what Llama 3.1 computes of its config stands in the file ready.
    if let Some(factors) = tensors.beside("rope_freqs.weight")? {
        return Ok(Rope { base, scaling: by_factors(&factors, &factors, Some(1.0), context) });
    }
    let long = tensors.beside("rope_factors_long.weight")?;
    let short = tensors.beside("rope_factors_short.weight")?;
    if let (Some(long), Some(short)) = (long, short) {
        return Ok(Rope { base, scaling: by_factors(&short, &long, attention, context) });
    }
    let scaling = match (kind, factor) {
        (None | Some("none"), None) | (Some("none"), _) | (None | Some("linear"), Some(1.0)) => Value::Null,
        (None | Some("linear"), Some(factor)) => json!({"rope_type": "linear", "factor": factor}),
        (Some("yarn"), Some(factor)) => {
            let mut yarn =
                json!({"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": context});
            for (stored, key) in
                [("rope.scaling.yarn_beta_fast", "beta_fast"), ("rope.scaling.yarn_beta_slow", "beta_slow")]
            {
                if let Some(number) = metadata.number(stored)? {
                    yarn[key] = json!(number);
                }
            }
            yarn
        }
        (Some(kind), factor) => {
            let what = format!("the rotary positions are scaled by {kind}");
            let why = match factor {
                Some(_) => {
                    format!("known are linear, yarn, and factors in the file (a head has {head} numbers)")
                }
                None => "the file does not say by which factor".to_owned(),
            };
            return Err(Fault::new(what, why, "choose another model").into());
        }
    };
    Ok(Rope { base, scaling })
}

/// Factors in the file: for texts up to the original length, and for longer ones.
fn by_factors(short: &[f32], long: &[f32], attention: Option<f64>, context: Option<u64>) -> Value {
    let mut scaling = json!({
        "rope_type": "longrope", "short_factor": short, "long_factor": long, "original_max_position_embeddings": context,
    });
    if let Some(factor) = attention {
        scaling["attention_factor"] = json!(factor);
    }
    scaling
}
