//! Configs that a person could hand over and that would make wrong numbers: each is refused, with what is wrong in it.

use mha::model::architecture::blueprint;
use mha::model::{Checkpoint, Model};
use serde_json::{Value, json};

use super::{folder, json as read};

/// What is told of a model's own config with some keys changed.
fn told(name: &str, changes: &Value) -> String {
    let folder = folder(name);
    let model = Model::open(folder.to_str().unwrap()).unwrap();
    let mut config = read(&folder.join("config.json"));
    for (key, value) in changes.as_object().unwrap() {
        config[key] = value.clone();
    }
    match blueprint(&config, &*model.checkpoint as &dyn Checkpoint) {
        Ok(_) => panic!("{name} with {changes} was taken"),
        Err(faults) => faults.to_string(),
    }
}

const BERT: &str = "reference/models/bert-tiny";
const LLAMA: &str = "models/llama-llama3";
const QWEN: &str = "models/qwen2-yarn";

#[test]
fn what_a_config_gets_wrong_is_told_with_its_key() {
    let cases: [(&str, Value, &[&str]); 40] = [
        // Types and parts that are not computed.
        (
            LLAMA,
            json!({"model_type": "mamba"}),
            &["a model of type mamba is not computed", "supported are bert, roberta"],
        ),
        (LLAMA, json!({"model_type": "llama4"}), &["type llama4", "the nearest name is llama"]),
        (LLAMA, json!({"model_type": null}), &["names no model_type", "supported are bert"]),
        (LLAMA, json!({"num_local_experts": 8}), &["num_local_experts is set", "no such part"]),
        (LLAMA, json!({"quantization_config": {"bits": 4}}), &["quantization_config is {\"bits\":4}"]),
        (
            BERT,
            json!({"position_embedding_type": "relative_key"}),
            &["position_embedding_type is \"relative_key\""],
        ),
        (BERT, json!({"is_decoder": true}), &["is_decoder is true"]),
        (LLAMA, json!({"alibi": true}), &["alibi is true"]),
        (
            "models/gemma3-old-config",
            json!({"use_bidirectional_attention": true}),
            &["use_bidirectional_attention"],
        ),
        (
            "models/gemma3-old-config",
            json!({"attn_logit_softcapping": 2}),
            &["attn_logit_softcapping is 2", "does not use it"],
        ),
        (
            "models/opt",
            json!({"word_embed_proj_dim": 12}),
            &["word_embed_proj_dim is 12, and hidden_size is 24", "another size of OPT"],
        ),
        (
            "models/opt",
            json!({"layer_norm_elementwise_affine": false}),
            &["layer_norm_elementwise_affine is false"],
        ),
        ("models/opt", json!({"_remove_final_layer_norm": true}), &["_remove_final_layer_norm is true"]),
        // Sizes that are no sizes, or do not fit together.
        (LLAMA, json!({"hidden_size": 0}), &["hidden_size is 0", "from 1 to"]),
        (LLAMA, json!({"hidden_size": 1_u64 << 60}), &["hidden_size is 1152921504606846976"]),
        (LLAMA, json!({"hidden_size": -24}), &["hidden_size is -24"]),
        (LLAMA, json!({"hidden_size": "24"}), &["hidden_size is \"24\"", "without quotation marks"]),
        (
            LLAMA,
            json!({"num_hidden_layers": 900_000_000}),
            &["num_hidden_layers is 900000000", "tensors in all"],
        ),
        (
            LLAMA,
            json!({"num_key_value_heads": 3}),
            &["num_key_value_heads 3 do not divide num_attention_heads 4"],
        ),
        (BERT, json!({"num_attention_heads": 5}), &["num_attention_heads 5 do not divide hidden_size 32"]),
        (
            "models/neox-parallel",
            json!({"rotary_pct": 0.4}),
            &["3 of 8 columns of a head rotate", "in pairs"],
        ),
        (LLAMA, json!({"head_dim": 7}), &["7 of 7 columns of a head rotate (head_dim)"]),
        (LLAMA, json!({"rms_norm_eps": -1}), &["rms_norm_eps is -1", "above 0"]),
        (LLAMA, json!({"hidden_act": "quick_gelu"}), &["hidden_act is \"quick_gelu\"", "known are gelu"]),
        // Tensors that are not what the config says.
        (
            LLAMA,
            json!({"intermediate_size": 21}),
            &[
                "tensor model.layers.0.mlp.gate_proj.weight is 20 × 24, and config.json makes it 21 × 24",
                "its sides are intermediate_size × hidden_size",
            ],
        ),
        (
            LLAMA,
            json!({"num_key_value_heads": 2}),
            &[
                "self_attn.k_proj.weight is 8 × 24, and config.json makes it 16 × 24",
                "num_key_value_heads · head_dim × hidden_size",
            ],
        ),
        (LLAMA, json!({"num_hidden_layers": 3}), &["there is no tensor model.layers.2."]),
        (LLAMA, json!({"num_hidden_layers": 1}), &["tensor model.layers.1.", "does not describe"]),
        (LLAMA, json!({"mlp_bias": false}), &["tensor model.layers.0.mlp.down_proj.bias is a part"]),
        (
            QWEN,
            json!({"model_type": "mistral", "layer_types": null}),
            &["self_attn.k_proj.bias is a part that config.json does not describe"],
        ),
        // Ways to rotate and to look back that make no sense.
        (
            LLAMA,
            json!({"rope_scaling": {"rope_type": "spiral"}}),
            &["rope_scaling.rope_type is spiral", "llama3, yarn and longrope"],
        ),
        (LLAMA, json!({"rope_scaling": {"rope_type": "linear"}}), &["rope_scaling.factor is not there"]),
        (LLAMA, json!({"rope_scaling": {"rope_type": "linear", "factor": 0}}), &["rope_scaling.factor is 0"]),
        (LLAMA, json!({"rope_theta": 0}), &["rope_theta is 0"]),
        (
            "models/phi3-longrope",
            json!({"rope_scaling": {"type": "su", "long_factor": [1], "short_factor": [1, 2, 3]}}),
            &["rope_scaling.long_factor is no list of 3 numbers"],
        ),
        (
            QWEN,
            json!({"layer_types": ["full_attention", "linear_attention"]}),
            &["layer 2 is \"linear_attention\""],
        ),
        (QWEN, json!({"use_sliding_window": false}), &["layer 2 is \"sliding_attention\"", "in use"]),
        (
            "models/smollm3",
            json!({"no_rope_layers": [1]}),
            &["no_rope_layers is no list of 2 numbers 0 and 1"],
        ),
        ("models/smollm3", json!({"use_sliding_window": true}), &["use_sliding_window is true"]),
        (
            "models/mistral",
            json!({"sliding_window": "wide"}),
            &["sliding_window is \"wide\"", "whole number"],
        ),
    ];
    for (name, changes, words) in cases {
        let told = told(name, &changes);
        for word in words {
            assert!(told.contains(word), "{name} with {changes}: {told}");
        }
        assert!(told.contains("config.json") || told.contains("model.safetensors"), "{told}");
    }
}

/// A config that says a thing twice is taken at its word only where the words agree.
#[test]
fn two_names_of_one_thing_must_agree() {
    let told = told("models/distilbert", &json!({"hidden_size": 48}));
    assert!(told.contains("hidden_size") && told.contains("dim"), "{told}");
}

/// What does not change any number is not refused: no window, a scaling that is none, null for what is left out.
#[test]
fn what_changes_nothing_is_taken() {
    for (name, changes) in [
        (LLAMA, json!({"quantization_config": null, "alibi": false, "attention_dropout": 0.5})),
        (LLAMA, json!({"num_local_experts": null, "layer_types": ["full_attention", "full_attention"]})),
        ("models/mistral", json!({"sliding_window": null, "rope_scaling": {"type": "default"}})),
        (BERT, json!({"position_embedding_type": "absolute", "is_decoder": false, "pruned_heads": {}})),
    ] {
        let folder = folder(name);
        let model = Model::open(folder.to_str().unwrap()).unwrap();
        let mut config = read(&folder.join("config.json"));
        for (key, value) in changes.as_object().unwrap() {
            config[key] = value.clone();
        }
        let made = blueprint(&config, &*model.checkpoint as &dyn Checkpoint);
        assert!(made.is_ok(), "{name} with {changes}: {}", made.err().unwrap());
    }
}
