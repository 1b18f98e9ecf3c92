//! What llama.cpp calls a tensor and what Hugging Face calls it, and what its converter did to the numbers.

/// A family of models that GGUF files hold: one row of data.
pub(super) struct Family {
    /// `general.architecture`.
    pub(super) architecture: &'static str,
    /// `model_type` of a config.json.
    pub(super) model_type: &'static str,
    /// The names of its tensors; the first that fits counts.
    names: &'static [&'static [Pair]],
    /// What the converter did.
    pub(super) converted: Converted,
}

/// What llama.cpp's converter did to a family's numbers beside renaming them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Converted {
    /// Nothing.
    Nothing,
    /// The rows of a head's queries and keys interleaved, for rotary pairs that stand side by side: the halves
    /// `a b c | d e f` became `a d b e c f`.
    Interleaved,
    /// One added to every norm's gain, which the model stores as what is beyond 1.
    NormsPlusOne,
    /// The matrices transposed that GPT-2 stores with inputs in rows.
    Transposed,
    /// Queries, keys and values, packed head by head in the model, made three blocks.
    Unpacked,
}

/// A name in the file and in a Hugging Face checkpoint, without `.weight` and `.bias`; `#` is the layer.
type Pair = (&'static str, &'static str);

const DECODER: &[Pair] = &[
    ("token_embd", "model.embed_tokens"),
    ("output_norm", "model.norm"),
    ("output", "lm_head"),
    ("blk.#.attn_norm", "model.layers.#.input_layernorm"),
    ("blk.#.attn_q", "model.layers.#.self_attn.q_proj"),
    ("blk.#.attn_k", "model.layers.#.self_attn.k_proj"),
    ("blk.#.attn_v", "model.layers.#.self_attn.v_proj"),
    ("blk.#.attn_qkv", "model.layers.#.self_attn.qkv_proj"),
    ("blk.#.attn_output", "model.layers.#.self_attn.o_proj"),
    ("blk.#.attn_q_norm", "model.layers.#.self_attn.q_norm"),
    ("blk.#.attn_k_norm", "model.layers.#.self_attn.k_norm"),
    ("blk.#.ffn_norm", "model.layers.#.post_attention_layernorm"),
    ("blk.#.ffn_gate", "model.layers.#.mlp.gate_proj"),
    ("blk.#.ffn_up", "model.layers.#.mlp.up_proj"),
    ("blk.#.ffn_down", "model.layers.#.mlp.down_proj"),
];

/// Gemma 2 and 3 have a norm before and one after each half of a layer.
const SANDWICH: &[Pair] = &[
    ("blk.#.post_attention_norm", "model.layers.#.post_attention_layernorm"),
    ("blk.#.ffn_norm", "model.layers.#.pre_feedforward_layernorm"),
    ("blk.#.post_ffw_norm", "model.layers.#.post_feedforward_layernorm"),
];

const PHI_3: &[Pair] = &[("blk.#.ffn_up", "model.layers.#.mlp.gate_up_proj")];

const STARCODER_2: &[Pair] =
    &[("blk.#.ffn_up", "model.layers.#.mlp.c_fc"), ("blk.#.ffn_down", "model.layers.#.mlp.c_proj")];

const GPT_2: &[Pair] = &[
    ("token_embd", "transformer.wte"),
    ("position_embd", "transformer.wpe"),
    ("output_norm", "transformer.ln_f"),
    ("output", "lm_head"),
    ("blk.#.attn_norm", "transformer.h.#.ln_1"),
    ("blk.#.attn_qkv", "transformer.h.#.attn.c_attn"),
    ("blk.#.attn_output", "transformer.h.#.attn.c_proj"),
    ("blk.#.ffn_norm", "transformer.h.#.ln_2"),
    ("blk.#.ffn_up", "transformer.h.#.mlp.c_fc"),
    ("blk.#.ffn_down", "transformer.h.#.mlp.c_proj"),
];

const NEOX: &[Pair] = &[
    ("token_embd", "gpt_neox.embed_in"),
    ("output_norm", "gpt_neox.final_layer_norm"),
    ("output", "embed_out"),
    ("blk.#.attn_norm", "gpt_neox.layers.#.input_layernorm"),
    ("blk.#.attn_qkv", "gpt_neox.layers.#.attention.query_key_value"),
    ("blk.#.attn_output", "gpt_neox.layers.#.attention.dense"),
    ("blk.#.ffn_norm", "gpt_neox.layers.#.post_attention_layernorm"),
    ("blk.#.ffn_up", "gpt_neox.layers.#.mlp.dense_h_to_4h"),
    ("blk.#.ffn_down", "gpt_neox.layers.#.mlp.dense_4h_to_h"),
];

const BERT: &[Pair] = &[
    ("token_embd", "embeddings.word_embeddings"),
    ("position_embd", "embeddings.position_embeddings"),
    ("token_types", "embeddings.token_type_embeddings"),
    ("token_embd_norm", "embeddings.LayerNorm"),
    ("blk.#.attn_q", "encoder.layer.#.attention.self.query"),
    ("blk.#.attn_k", "encoder.layer.#.attention.self.key"),
    ("blk.#.attn_v", "encoder.layer.#.attention.self.value"),
    ("blk.#.attn_output", "encoder.layer.#.attention.output.dense"),
    ("blk.#.attn_output_norm", "encoder.layer.#.attention.output.LayerNorm"),
    ("blk.#.ffn_up", "encoder.layer.#.intermediate.dense"),
    ("blk.#.ffn_down", "encoder.layer.#.output.dense"),
    ("blk.#.layer_output_norm", "encoder.layer.#.output.LayerNorm"),
];

/// Tensors that are read apart from the model's own: the factors of rotary angles.
const BESIDE: [&str; 3] = ["rope_freqs", "rope_factors_long", "rope_factors_short"];

const fn family(
    architecture: &'static str,
    model_type: &'static str,
    names: &'static [&'static [Pair]],
    converted: Converted,
) -> Family {
    Family { architecture, model_type, names, converted }
}

/// Every family that is read. Mistral's files call themselves llama.
pub(super) const FAMILIES: [Family; 11] = [
    family("llama", "llama", &[DECODER], Converted::Interleaved),
    family("qwen2", "qwen2", &[DECODER], Converted::Nothing),
    family("qwen3", "qwen3", &[DECODER], Converted::Nothing),
    family("gemma", "gemma", &[DECODER], Converted::NormsPlusOne),
    family("gemma2", "gemma2", &[SANDWICH, DECODER], Converted::NormsPlusOne),
    family("gemma3", "gemma3_text", &[SANDWICH, DECODER], Converted::NormsPlusOne),
    family("phi3", "phi3", &[PHI_3, DECODER], Converted::Nothing),
    family("starcoder2", "starcoder2", &[STARCODER_2, DECODER], Converted::Nothing),
    family("gpt2", "gpt2", &[GPT_2], Converted::Transposed),
    family("gptneox", "gpt_neox", &[NEOX], Converted::Unpacked),
    family("bert", "bert", &[BERT], Converted::Nothing),
];

/// What a tensor of the file is to the model.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// One of its weights, under this name.
    Weight(String),
    /// Nothing that is learned.
    Beside,
    /// None that the family is known to have.
    Unknown,
}

impl Family {
    /// The family that a file says it is of.
    pub(super) fn named(architecture: &str) -> Option<&'static Self> {
        FAMILIES.iter().find(|family| family.architecture == architecture)
    }

    /// What a tensor of the file is.
    pub(super) fn part(&self, stored: &str) -> Part {
        let (stem, ending) = match stored.rsplit_once('.') {
            Some((stem, ending @ ("weight" | "bias"))) => (stem, ending),
            _ => (stored, ""),
        };
        let (pattern, layer) = match stem.strip_prefix("blk.").and_then(|rest| rest.split_once('.')) {
            Some((layer, rest)) if layer.bytes().all(|digit| digit.is_ascii_digit()) => {
                (format!("blk.#.{rest}"), layer)
            }
            _ => (stem.to_owned(), ""),
        };
        if BESIDE.iter().any(|name| pattern.trim_start_matches("blk.#.") == *name) {
            return Part::Beside;
        }
        let found = self.names.iter().copied().flatten().find(|(stored, _)| *stored == pattern);
        match found {
            Some((_, name)) if ending.is_empty() => Part::Weight(name.replace('#', layer)),
            Some((_, name)) => Part::Weight(format!("{}.{ending}", name.replace('#', layer))),
            None => Part::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tensor_has_its_name_in_a_hugging_face_checkpoint() {
        let name = |architecture, stored| Family::named(architecture).unwrap().part(stored);
        let weight = |name: &str| Part::Weight(name.to_owned());
        assert_eq!(name("llama", "blk.0.attn_q.weight"), weight("model.layers.0.self_attn.q_proj.weight"));
        assert_eq!(
            name("llama", "blk.12.ffn_norm.weight"),
            weight("model.layers.12.post_attention_layernorm.weight")
        );
        assert_eq!(
            name("gemma3", "blk.12.ffn_norm.weight"),
            weight("model.layers.12.pre_feedforward_layernorm.weight")
        );
        assert_eq!(name("gpt2", "blk.3.attn_qkv.bias"), weight("transformer.h.3.attn.c_attn.bias"));
        assert_eq!(name("bert", "token_types.weight"), weight("embeddings.token_type_embeddings.weight"));
        assert_eq!(name("llama", "rope_freqs.weight"), Part::Beside);
        assert_eq!(name("llama", "blk.0.ffn_gate_exps.weight"), Part::Unknown);
        assert_eq!(name("llama", "blk.x.attn_q.weight"), Part::Unknown);
        assert_eq!(name("qwen2", "blk.0.attn_q.bias"), weight("model.layers.0.self_attn.q_proj.bias"));
    }
}
