//! Counts that can be done with a pencil, for sizes that nobody has published.

use mha::params::architecture::{Asked, Model, build, cache};
use proptest::prelude::*;
use serde_json::{Value, json};

fn built(config: &Value) -> Model {
    build(config, &Asked::default()).unwrap_or_else(|faults| panic!("{faults}"))
}

/// GPT-2 with d = 6, 3 layers, 11 words, 5 positions; a layer: W_QKV 6·18 + 18 and W_O 6·6 + 6 (168), the feed-forward layer
/// 6·24 + 24 and 24·6 + 6 (318), two norms of 12: 510. Tables 66 + 30, the last norm 12; the head is the table again.
#[test]
fn a_tiny_gpt2_has_1638_parameters() {
    let model = built(&json!({
        "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"],
        "n_embd": 6, "n_layer": 3, "n_head": 2, "vocab_size": 11, "n_positions": 5,
    }));
    assert_eq!(model.parameters().unwrap(), 3 * 510 + 96 + 12);
    // keys and values of 2 heads of 3 numbers, in 3 layers
    assert_eq!(cache::numbers(&model.cache().unwrap().own, 1).unwrap(), 2 * 2 * 3 * 3);
}

/// CPM-Ant with d = 6 and 2 heads of 5, which do not share d out: a layer has four matrices of 6·10 (240), three of 6·7
/// (126) and two norms of 6: 378. The last norm 6, 4 segments 24, 11 words and 2 prompts of 3 rows 102, a bias for each of
/// 9 distances and 4·4 pairs of segments in 2 heads 50, the head 66. Its class in transformers 5.24 allocates as many.
#[test]
fn a_tiny_cpmant_has_1382_parameters() {
    let model = built(&json!({
        "model_type": "cpmant", "architectures": ["CpmAntForCausalLM"], "hidden_size": 6, "num_attention_heads": 2,
        "dim_head": 5, "dim_ff": 7, "num_hidden_layers": 3, "vocab_size": 11, "position_bias_num_buckets": 9,
        "prompt_types": 2, "prompt_length": 3, "segment_types": 4,
    }));
    assert_eq!(model.parameters().unwrap(), 3 * 378 + 6 + 24 + 102 + 50 + 66);
    assert_eq!(model.parameters().unwrap(), 1382);
    // keys and values of 2 heads of 5 numbers, in 3 layers
    assert_eq!(cache::numbers(&model.cache().unwrap().own, 1).unwrap(), 2 * 2 * 5 * 3);
    // openbmb/cpm-ant-10b, from the defaults of its class
    let large = built(&json!({"model_type": "cpmant", "architectures": ["CpmAntForCausalLM"]}));
    assert_eq!(large.parameters().unwrap(), 9_517_453_312);
}

/// Mixtral with d = 4, f = 3, 2 layers, 5 experts of which 2 are used: an expert is 3·4·3 = 36; of 2 · 5 · 36 = 360 a token
/// uses 2/5, 144.
#[test]
fn a_token_passes_two_experts_of_five() {
    let model = built(&json!({
        "model_type": "mixtral", "architectures": ["MixtralForCausalLM"], "hidden_size": 4, "intermediate_size": 3,
        "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "vocab_size": 7,
        "num_local_experts": 5, "num_experts_per_tok": 2,
    }));
    // a layer: W_Q and W_O 16 each, W_K and W_V 8 each, the router 20, two norms of 4, the experts 180
    assert_eq!(model.parameters().unwrap(), 2 * (48 + 20 + 8 + 180) + 4 + 2 * 28);
    assert_eq!(model.active_parameters().unwrap(), model.parameters().unwrap() - 360 + 144);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// V·d for the table, as much for a head of its own, and in each of L layers W_Q and W_O (h·d_k × d), W_K and W_V
    /// (g·d_k × d), three matrices of f × d and two norms; one norm at the end.
    #[test]
    fn llama_of_any_size_is_its_formula(
        (group, g, d_k, d) in (1u64..5, 1u64..5, 1u64..9, 1u64..40),
        (f, layers, words, tied) in (1u64..50, 1u64..6, 1u64..99, any::<bool>()),
        tokens in 1u64..1_000_000,
    ) {
        let h = g * group;
        let model = built(&json!({
            "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": d, "head_dim": d_k,
            "num_attention_heads": h, "num_key_value_heads": g, "intermediate_size": f, "num_hidden_layers": layers,
            "vocab_size": words, "tie_word_embeddings": tied,
        }));
        let attention = 2 * h * d_k * d + 2 * g * d_k * d;
        let layer = attention + 3 * f * d + 2 * d;
        let tables = if tied { words * d } else { 2 * words * d };
        prop_assert_eq!(model.parameters().unwrap(), layers * layer + tables + d);
        prop_assert_eq!(model.attention_parameters_by_layer().unwrap(), vec![attention; layers as usize]);
        let cached = cache::numbers(&model.cache().unwrap().own, tokens).unwrap();
        prop_assert_eq!(cached, tokens * layers * 2 * g * d_k);
    }

    /// h query heads of d_k = d / h: their number cancels out of every count, as course §7 has it.
    #[test]
    fn more_heads_of_bert_do_not_cost_more_parameters(d_k in 1u64..20, exponent in 0u32..5, layers in 1u64..4) {
        let d = d_k * 16;
        let with = |h: u64| built(&json!({
            "model_type": "bert", "architectures": ["BertModel"], "hidden_size": d, "num_attention_heads": h,
            "num_hidden_layers": layers, "intermediate_size": 10, "vocab_size": 10,
        }));
        let (one, many) = (with(1), with(1 << exponent));
        prop_assert_eq!(one.parameters().unwrap(), many.parameters().unwrap());
        prop_assert_eq!(many.attention_parameters_by_layer().unwrap(), vec![4 * d * d + 4 * d; layers as usize]);
    }
}
