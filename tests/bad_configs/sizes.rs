//! Numbers that are no sizes, in a Llama that is right otherwise.

use super::{LLAMA, config_refused, with, without};

#[track_caller]
fn case(promise: &str, change: &str, first: &str, key: &str) {
    config_refused(promise, &with(LLAMA, change), first, key);
}

const SIZES: [&str; 7] = [
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "vocab_size",
];

#[test]
fn a_size_is_a_whole_number() {
    for key in SIZES {
        for (value, shown) in [
            ("0.5", "0.5"),
            ("1e3", "1000.0"),
            ("1e30", "1e+30"),
            ("-1e30", "-1e+30"),
            ("\"8\"", "\"8\""),
            ("\"\"", "\"\""),
            ("true", "true"),
            ("[4]", "a list of 1"),
            ("[]", "a list of 0"),
            ("{\"size\": 4}", "a map"),
            ("NaN", "not a number"),
            ("-Infinity", "not a number"),
        ] {
            case(
                &format!("{key}: {value}"),
                &format!("\"{key}\": {value}"),
                &format!("{key} is {shown}, but it needs a whole number"),
                key,
            );
        }
    }
}

/// The type has a meaning for null in num_key_value_heads and head_dim only.
#[test]
fn a_size_is_not_nothing() {
    for key in ["hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size"]
    {
        case(key, &format!("\"{key}\": null"), &format!("{key} is null, but it needs a whole number"), key);
    }
}

#[test]
fn a_size_is_at_least_one() {
    for key in ["hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim"] {
        case(&format!("no {key}"), &format!("\"{key}\": 0"), &format!("{key} is 0"), key);
    }
    for key in SIZES {
        let first = match key {
            "num_hidden_layers" => "num_hidden_layers = -1 modules are asked for".to_owned(),
            _ => format!("{key} is -1"),
        };
        case(&format!("less than no {key}"), &format!("\"{key}\": -1"), &first, key);
    }
    case("no layers", "\"num_hidden_layers\": 0", "the model has no layers", "num_hidden_layers");
}

#[test]
fn counts_are_kept_in_64_bits() {
    let million_million_million = "1000000000000000000";
    let two_to_the_63rd = "9223372036854775808";
    for number in [million_million_million, two_to_the_63rd] {
        for (key, first) in [
            ("hidden_size", format!("model.embed_tokens.weight is too large to count: 100 × {number}")),
            ("vocab_size", format!("model.embed_tokens.weight is too large to count: {number} × 64")),
            (
                "intermediate_size",
                format!("model.layers.0.mlp.gate_proj.weight is too large to count: {number} × 64"),
            ),
            (
                "num_hidden_layers",
                format!(
                    "num_hidden_layers = {number} modules are asked for, and lists of at most 10000 are counted"
                ),
            ),
        ] {
            case(&format!("{key}: {number}"), &format!("\"{key}\": {number}"), &first, key);
        }
    }
    case(
        "a head that is too wide",
        "\"head_dim\": 9223372036854775807",
        "h·d_k is too large to count",
        "head_dim",
    );
    case(
        "a whole number of 31 digits",
        "\"vocab_size\": 1000000000000000000000000000000",
        "vocab_size is 1e+30, but it needs a whole number",
        "vocab_size",
    );
    case(
        "one layer too many",
        "\"num_hidden_layers\": 10001",
        "num_hidden_layers = 10001 modules are asked for, and lists of at most 10000 are counted",
        "num_hidden_layers",
    );
}

#[test]
fn heads_divide() {
    let case = |promise: &str, heads: u64, kv_heads: u64, first: &str, key: &str| {
        // without head_dim the width of a head is what the heads leave of the model's
        let config = with(LLAMA, &format!("\"num_attention_heads\": {heads}"));
        let config = with(&config, &format!("\"num_key_value_heads\": {kv_heads}"));
        config_refused(promise, &without(&config, "head_dim"), first, key);
    };
    case(
        "five heads in 64 columns",
        5,
        5,
        "h does not divide d_model: 64 / 5 is not whole",
        "num_attention_heads",
    );
    let first = "4 query heads cannot share 3 key/value heads equally";
    case("three key/value heads for four heads", 4, 3, first, "num_key_value_heads");
    let first = "4 query heads cannot share 8 key/value heads equally";
    case("more key/value heads than heads", 4, 8, first, "num_key_value_heads");
}

#[test]
fn a_switch_is_true_or_false() {
    for (value, shown) in [("\"false\"", "\"false\""), ("[true]", "a list of 1"), ("{}", "a map")] {
        for key in ["attention_bias", "mlp_bias", "tie_word_embeddings"] {
            case(
                &format!("{key}: {value}"),
                &format!("\"{key}\": {value}"),
                &format!("{key} is {shown}, but it is either true or false"),
                key,
            );
        }
    }
}
