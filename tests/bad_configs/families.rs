//! Configs of other families, with one mistake each; and configs that do not say what they are.

use super::{LLAMA, config_refused, with, without};

/// Where the rows of this file start from.
pub(super) const ALL: [&str; 8] = [BERT, GPT2, MIXTRAL, T5, GEMMA, DEEPSEEK, LLAVA, SWIN];

const BERT: &str = r#"{
  "model_type": "bert",
  "architectures": ["BertForMaskedLM"],
  "hidden_size": 64,
  "num_attention_heads": 4,
  "num_hidden_layers": 2,
  "intermediate_size": 128,
  "vocab_size": 100
}"#;

const GPT2: &str = r#"{
  "model_type": "gpt2",
  "architectures": ["GPT2LMHeadModel"],
  "n_embd": 64,
  "n_head": 4,
  "n_layer": 2,
  "n_positions": 32,
  "vocab_size": 100
}"#;

const MIXTRAL: &str = r#"{
  "model_type": "mixtral",
  "architectures": ["MixtralForCausalLM"],
  "hidden_size": 64,
  "intermediate_size": 128,
  "num_hidden_layers": 2,
  "num_attention_heads": 4,
  "num_key_value_heads": 2,
  "num_local_experts": 4,
  "num_experts_per_tok": 2,
  "vocab_size": 100
}"#;

const T5: &str = r#"{
  "model_type": "t5",
  "architectures": ["T5ForConditionalGeneration"],
  "d_model": 64,
  "d_kv": 16,
  "d_ff": 128,
  "num_layers": 2,
  "num_heads": 4,
  "vocab_size": 100
}"#;

const GEMMA: &str = r#"{
  "model_type": "gemma3_text",
  "architectures": ["Gemma3ForCausalLM"],
  "hidden_size": 64,
  "head_dim": 16,
  "intermediate_size": 128,
  "num_hidden_layers": 3,
  "num_attention_heads": 4,
  "num_key_value_heads": 2,
  "layer_types": ["full_attention", "sliding_attention", "sliding_attention"],
  "sliding_window": 8,
  "vocab_size": 100
}"#;

const DEEPSEEK: &str = r#"{
  "model_type": "deepseek_v3",
  "architectures": ["DeepseekV3ForCausalLM"],
  "hidden_size": 64,
  "intermediate_size": 128,
  "num_hidden_layers": 3,
  "num_attention_heads": 4,
  "num_key_value_heads": 4,
  "q_lora_rank": 16,
  "kv_lora_rank": 16,
  "qk_nope_head_dim": 8,
  "qk_rope_head_dim": 8,
  "v_head_dim": 8,
  "n_routed_experts": 8,
  "num_experts_per_tok": 2,
  "moe_intermediate_size": 16,
  "first_k_dense_replace": 1,
  "vocab_size": 100
}"#;

const LLAVA: &str = r#"{
  "model_type": "llava",
  "architectures": ["LlavaForConditionalGeneration"],
  "text_config": {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4},
  "vision_config": {"model_type": "clip_vision_model", "hidden_size": 32, "num_attention_heads": 4, "patch_size": 14}
}"#;

const SWIN: &str = r#"{
  "model_type": "swin",
  "architectures": ["SwinModel"],
  "embed_dim": 16,
  "depths": [2, 2],
  "num_heads": [2, 4]
}"#;

#[test]
fn sizes_by_the_names_of_each_family() {
    let case = |base: &str, change: &str, first: &str, key: &str| {
        config_refused(change, &with(base, change), first, key);
    };
    case(
        BERT,
        "\"hidden_size\": \"64\"",
        "hidden_size is \"64\", but it needs a whole number",
        "hidden_size",
    );
    case(
        BERT,
        "\"num_attention_heads\": 5",
        "h does not divide d_model: 64 / 5 is not whole",
        "num_attention_heads",
    );
    case(
        BERT,
        "\"type_vocab_size\": null",
        "type_vocab_size is null, but it needs a whole number",
        "type_vocab_size",
    );
    case(
        BERT,
        "\"max_position_embeddings\": 1e9",
        "max_position_embeddings is 1000000000.0, but it needs a whole number",
        "max_position_embeddings",
    );
    case(GPT2, "\"n_head\": 5", "h does not divide d_model: 64 / 5 is not whole", "n_head");
    case(GPT2, "\"n_layer\": {\"n\": 2}", "n_layer is a map, but it needs a whole number", "n_layer");
    case(GPT2, "\"n_inner\": -3", "n_inner is -3", "n_inner");
    case(GPT2, "\"n_positions\": false", "n_positions is false, but it needs a whole number", "n_positions");
    case(GPT2, "\"hidden_size\": 65", "n_embd is 64 and hidden_size is 65", "hidden_size");
    case(MIXTRAL, "\"num_local_experts\": 0", "num_local_experts is 0", "num_local_experts");
    case(MIXTRAL, "\"num_experts_per_tok\": -1", "num_experts_per_tok is -1", "num_experts_per_tok");
    case(
        MIXTRAL,
        "\"num_local_experts\": null",
        "num_local_experts is null, but it needs a whole number",
        "num_local_experts",
    );
    case(
        MIXTRAL,
        "\"num_local_experts\": 1000000000000000000",
        "model.layers.0.mlp.experts.gate_up_proj is too large to count: 1000000000000000000 × 256 × 64",
        "num_local_experts",
    );
    for (experts, first) in [
        ("500000000000000", "too large to count: the model's parameters"),
        ("300000000000000", "too large to count: parameters·bytes = 14784000000000037696·2"),
    ] {
        let config = with(MIXTRAL, &format!("\"num_local_experts\": {experts}"));
        config_refused("every tensor fits into 64 bits, but not all of them", &config, first, "");
    }
    case(T5, "\"d_kv\": 0", "d_kv is 0", "d_kv");
    case(T5, "\"num_layers\": null", "num_layers is null, but it needs a whole number", "num_layers");
    case(T5, "\"feed_forward_proj\": 7", "7 stands where a text is needed", "feed_forward_proj");
    case(DEEPSEEK, "\"kv_lora_rank\": 0", "kv_lora_rank is 0", "kv_lora_rank");
    case(
        DEEPSEEK,
        "\"qk_rope_head_dim\": 4611686018427387904",
        "qk_nope_head_dim + qk_rope_head_dim is too large to count",
        "qk_rope_head_dim",
    );
    case(
        DEEPSEEK,
        "\"n_routed_experts\": [8]",
        "n_routed_experts is a list of 1, but it needs a whole number",
        "n_routed_experts",
    );
    case(
        DEEPSEEK,
        "\"first_k_dense_replace\": \"one\"",
        "first_k_dense_replace is \"one\", but it needs a whole number",
        "first_k_dense_replace",
    );
    case(SWIN, "\"depths\": 3", "3 stands where a list is needed", "depths");
    case(SWIN, "\"depths\": [2, -2]", "-2 modules are asked for", "depths");
    case(SWIN, "\"depths\": [\"two\", 2]", "\"two\" stands where a whole number is needed", "depths");
    case(
        SWIN,
        "\"depths\": [2, 1000000000]",
        "1000000000 modules are asked for, and lists of at most 10000 are counted",
        "depths",
    );
    case(SWIN, "\"num_heads\": [2]", "a list has 1 items, and item 2 is needed", "num_heads");
}

#[test]
fn one_word_for_every_layer() {
    let case = |value: &str, first: &str| {
        config_refused(value, &with(GEMMA, &format!("\"layer_types\": {value}")), first, "layer_types");
    };
    case("[\"full_attention\"]", "layer_types names 1 layers, and num_hidden_layers is 3");
    case("[]", "layer_types names 0 layers, and num_hidden_layers is 3");
    case(
        "[\"full_attention\", \"spiral_attention\", \"full_attention\"]",
        "layer_types has a layer of kind \"spiral_attention\"",
    );
    case("\"full_attention\"", "layer_types is \"full_attention\", but it is a list of words");
    case("[1, 2, 3]", "layer_types is a list of 3, but it is a list of words");
    config_refused(
        "a window that is a word",
        &with(GEMMA, "\"sliding_window\": \"wide\""),
        "sliding_window is \"wide\", but it needs a whole number",
        "sliding_window",
    );
    config_refused(
        "half a token",
        &with(GEMMA, "\"sliding_window\": 1.5"),
        "sliding_window is 1.5, but it needs a whole number",
        "sliding_window",
    );
}

#[test]
fn a_config_inside_the_config() {
    let case =
        |change: &str, first: &str, key: &str| config_refused(change, &with(LLAVA, change), first, key);
    case(
        "\"text_config\": []",
        "a list of 0 stands where a config inside the config is needed",
        "text_config",
    );
    case(
        "\"text_config\": \"llama\"",
        "\"llama\" stands where a config inside the config is needed",
        "text_config",
    );
    case("\"vision_config\": 3", "3 stands where a config inside the config is needed", "vision_config");
    case(
        "\"text_config\": {\"model_type\": \"lama\"}",
        "the model type lama is not known",
        "text_config.model_type",
    );
    case(
        "\"text_config\": {\"model_type\": 5}",
        "model_type is 5, but it is a text",
        "text_config.model_type",
    );
    case(
        "\"text_config\": {\"model_type\": \"llama\", \"hidden_size\": \"64\"}",
        "hidden_size is \"64\", but it needs a whole number",
        "text_config.hidden_size",
    );
    case(
        "\"text_config\": {\"model_type\": \"llama\", \"hidden_size\": 64, \"num_attention_heads\": 5}",
        "h does not divide d_model: 64 / 5 is not whole",
        "text_config.num_attention_heads",
    );
    case("\"vision_config\": {\"patch_size\": 0}", "patch_size is 0", "vision_config.patch_size");
}

#[test]
fn a_config_says_what_it_is() {
    let case =
        |promise: &str, config: &str, first: &str, key: &str| config_refused(promise, config, first, key);
    case("no model_type", &without(LLAMA, "model_type"), "the config has no model_type", "");
    case("no class", &without(LLAMA, "architectures"), "the config names no class in architectures", "");
    case("nothing at all", "{}", "the config has no model_type", "");
    for value in ["null", "5", "[\"llama\"]", "{}", "true"] {
        let config = with(LLAMA, &format!("\"model_type\": {value}"));
        case(value, &config, "model_type is no text", "model_type");
    }
    for value in ["null", "5", "[]", "[5]", "[null]", "\"LlamaForCausalLM\"", "{}"] {
        let config = with(LLAMA, &format!("\"architectures\": {value}"));
        case(value, &config, "architectures is no list of names", "architectures");
    }
    case(
        "a class of another family",
        &with(LLAMA, "\"architectures\": [\"BertForMaskedLM\"]"),
        "the class BertForMaskedLM of type llama is not known",
        "architectures",
    );
    case(
        "a class with a slip",
        &with(LLAMA, "\"architectures\": [\"LlamaForCausaLM\"]"),
        "the class LlamaForCausaLM of type llama is not known",
        "architectures",
    );
    case(
        "a class that would clear the screen",
        &with(LLAMA, "\"architectures\": [\"\\u001b[2J\"]"),
        "the class \\e[2J of type llama is not known",
        "architectures",
    );
}

/// The nearest type is offered, where one is near; what a type is called is shown, and not obeyed.
#[test]
fn an_unknown_type_is_not_guessed() {
    let case = |written: &str, shown: &str, remedy: &str| {
        let config = with(LLAMA, &format!("\"model_type\": \"{written}\""));
        config_refused(written, &config, &format!("the model type {shown} is not known"), "model_type");
        let room = tempfile::tempdir().unwrap();
        std::fs::write(room.path().join(super::CONFIG), &config).unwrap();
        let told = super::limited(room.path(), &[super::CONFIG]).err;
        assert!(told.contains(&format!("  try: {remedy}")), "{written}: {told}");
    };
    case("llma", "llma", "the nearest known type is llama; add --as llama if it is built like one");
    case("LLaMA", "LLaMA", "the nearest known type is llama; add --as llama if it is built like one");
    case("qwen2_5", "qwen2_5", "the nearest known type is qwen2");
    case("nothing_like_it", "nothing_like_it", "add --as TYPE if it is built like a type that is known");
    case("", "", "add --as TYPE if it is built like a type that is known");
    case(
        "\\u001b[2J\\u0007\\u202e",
        "\\e[2J\\u{7}\\u{202e}",
        "add --as TYPE if it is built like a type that is known",
    );
    case(&"x".repeat(100_000), &"x".repeat(60), "add --as TYPE if it is built like a type that is known");
}
