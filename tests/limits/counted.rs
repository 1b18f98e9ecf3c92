//! Models that are counted from their configs, and tables of counts.

use super::room::{Room, words};
use super::{At, LITTLE, MUCH, Over, over};

/// A config of a class with these sizes.
fn config(room: &Room, kind: &str, class: &str, sizes: &str) -> Vec<String> {
    room.write(
        "config.json",
        format!("{{\"model_type\": \"{kind}\", \"architectures\": [\"{class}\"], {sizes}}}"),
    );
    words("params config.json")
}

fn llama(room: &Room, layers: u64, hidden: u64) -> Vec<String> {
    let sizes = format!(
        "\"hidden_size\": {hidden}, \"num_hidden_layers\": {layers}, \"num_attention_heads\": 2, \
         \"intermediate_size\": 16, \"vocab_size\": 32"
    );
    config(room, "llama", "LlamaForCausalLM", &sizes)
}

fn albert(room: &Room, layers: u64, groups: u64) -> Vec<String> {
    let sizes = format!(
        "\"hidden_size\": 8, \"embedding_size\": 8, \"num_hidden_layers\": {layers}, \"num_hidden_groups\": {groups}, \
         \"num_attention_heads\": 2, \"intermediate_size\": 16, \"vocab_size\": 32"
    );
    config(room, "albert", "AlbertModel", &sizes)
}

fn with(mut asked: Vec<String>, more: &[&str]) -> Vec<String> {
    asked.extend(more.iter().map(ToString::to_string));
    asked
}

/// So many values of a sweep.
fn values(key: &str, count: u64) -> String {
    let values: Vec<String> = (1..=count).map(|value| value.to_string()).collect();
    format!("--sweep={key}={}", values.join(","))
}

pub(crate) const OVER: &[Over] = &[
    over(
        "DOCUMENT_BYTES",
        |room| {
            room.sparse("config.json", b"{", (2 << 20) + 1);
            words("params config.json")
        },
        "the file is 3 MiB large",
    ),
    over("COUNTED_SIZE", |_| words("params --d-model 1000000001 --num-heads 1"), "1000000000"),
    over("COUNTED_LAYERS", |_| words("params --d-model 8 --num-heads 1 --layers 10001"), "10000"),
    over("COUNTED_LAYERS", |room| llama(room, 1_000_000, 8), "lists of at most 10000 are counted"),
    over(
        "COUNTED_TENSORS",
        |room| {
            let sizes = "\"d_model\": 8, \"encoder_layers\": 10000, \"decoder_layers\": 10000, \
                 \"encoder_attention_heads\": 1, \"decoder_attention_heads\": 1, \"encoder_ffn_dim\": 8, \
                 \"decoder_ffn_dim\": 8, \"vocab_size\": 32, \"max_position_embeddings\": 8";
            config(room, "bart", "BartForConditionalGeneration", sizes)
        },
        "more than 200000 tensors",
    )
    .in_space(MUCH),
    over("FORMULA_ITEMS", |room| albert(room, 20_001, 1), "a list is too large to count"),
    over("FORMULAS", |room| albert(room, 20_000, 5_000), "the config is too large to count"),
    over("FORMULA_NUMBER", |room| llama(room, 1, 1 << 62), "too large to count"),
    over("DIVISORS_OF", |room| llama(room, 1, (1 << 40) + 1), "that divides it"),
    over(
        "SWEEP_VALUES",
        |_| with(words("params --d-model 8 --num-heads 1"), &[&values("seq-len", 1_001)]),
        "a sweep of more than 1000 values",
    ),
    over("SWEEP_TENSORS", |room| with(llama(room, 300, 8), &[&values("seq-len", 1_000)]), "takes too long"),
    over(
        "DEVICES",
        |_| words("params llama-3-8b --tensor-parallel 1048577"),
        "it is a whole number from 1 to 1048576",
    ),
];

pub(crate) const AT: &[At] = &[(
    "a thousand lengths",
    |_| with(words("params --d-model 8 --num-heads 1"), &[&values("seq-len", 1_000)]),
    LITTLE,
)];
