//! Where the weights of each packing case stand in its file, in the words of a lesson.

use serde_json::{Value, json};

use crate::case::{Case, set};

/// How a library stores W_Q, W_K, W_V and W_O.
enum Stored {
    /// Q, K and V in one matrix; W_O beside it. The layout, and what stands before the usual names.
    Packed(&'static str, &'static str),
    /// Four matrices, each (out × in): what stands before their names, and the names without `.weight`.
    Apart(&'static str, [&'static str; 4]),
    /// Four kernels (in × heads × width), for W_O (heads × width × out): their names without `/kernel`.
    Kernels([&'static str; 4]),
}

const FLAX: [&str; 4] = ["query", "key", "value", "out"];
const KERAS: [&str; 4] = ["query", "key", "value", "attention_output"];
const PROJ: [&str; 4] = ["q_proj", "k_proj", "v_proj", "out_proj"];

fn stored(name: &str) -> Stored {
    match name {
        "torch_mha" | "torch_mha_kdim" | "torch_mha_bias_kv" => Stored::Packed("torch", ""),
        "torch_mha_nobias_prefixed" => Stored::Packed("torch", "layers.0.self_attn."),
        "gpt2_c_attn" => Stored::Packed("gpt2", "h.0.attn."),
        "gpt_neox_qkv" => Stored::Packed("neox", "gpt_neox.layers.0.attention."),
        "bloom_qkv" => Stored::Packed("bloom", "h.0.self_attention."),
        "falcon_multi_query" | "falcon_grouped" => {
            Stored::Packed("falcon", "transformer.h.0.self_attention.")
        }
        "phi3_qkv_proj" => Stored::Packed("torch", "model.layers.0.self_attn."),
        "mpt_wqkv" => Stored::Packed("torch", "transformer.blocks.0.attn."),
        "bert_self_output" => Stored::Apart(
            "encoder.layer.0.attention.",
            ["self.query", "self.key", "self.value", "output.dense"],
        ),
        "llama_qkvo" => Stored::Apart("model.layers.0.self_attn.", ["q_proj", "k_proj", "v_proj", "o_proj"]),
        "gptj_qkvo" => Stored::Apart("transformer.h.0.attn.", PROJ),
        "whisper_no_k_bias" => Stored::Apart("model.encoder.layers.0.self_attn.", PROJ),
        "t5_relative" => Stored::Apart("encoder.block.0.layer.0.SelfAttention.", ["q", "k", "v", "o"]),
        "keras_mha" | "keras_mha_cross" | "keras_gqa" => Stored::Kernels(KERAS),
        "flax_mha" | "flax_nnx_mha" => Stored::Kernels(FLAX),
        _ => panic!("nobody has said how {name} stores its weights"),
    }
}

/// The section `projections` of the lesson: everything comes from the file, unpacked by the loader.
pub(crate) fn projections(case: &Case) -> Value {
    let file = &case.json["weights_file"];
    // A lesson asks only for biases that are there.
    let has_bias = |letter: &str| !case.json["unpacked"][format!("b_{letter}")].is_null();
    let mut projections = json!({});
    match stored(&case.name) {
        Stored::Packed(layout, prefix) => {
            let mut packed = json!({"file": file, "layout": layout});
            if !prefix.is_empty() {
                set(&mut packed, "prefix", &json!(prefix));
            }
            set(&mut projections, "in_proj", &packed);
        }
        Stored::Apart(prefix, names) => {
            for (letter, name) in ["q", "k", "v", "o"].into_iter().zip(names) {
                let weight =
                    json!({"file": file, "tensor": format!("{prefix}{name}.weight"), "transpose": true});
                set(&mut projections, &format!("w_{letter}"), &weight);
                if has_bias(letter) {
                    let bias = json!({"file": file, "tensor": format!("{prefix}{name}.bias")});
                    set(&mut projections, &format!("b_{letter}"), &bias);
                }
            }
        }
        Stored::Kernels(names) => {
            for (letter, name) in ["q", "k", "v", "o"].into_iter().zip(names) {
                let weight = json!({"file": file, "array": format!("{name}/kernel")});
                set(&mut projections, &format!("w_{letter}"), &weight);
                if has_bias(letter) {
                    let bias = json!({"file": file, "array": format!("{name}/bias")});
                    set(&mut projections, &format!("b_{letter}"), &bias);
                }
            }
        }
    }
    projections
}
