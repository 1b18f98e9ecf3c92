//! What the tensors of a weight file are for, told by their names, since a file of weights names no class.

use super::{StoredTensor, WeightFile};
use crate::params::architecture::Group;

/// A stored tensor with what its name says.
#[derive(Debug, Clone)]
pub struct Sorted<'a> {
    /// The tensor.
    pub tensor: &'a StoredTensor,
    /// What it is for.
    pub group: Group,
    /// The layer it belongs to, from 1; `None` where it stands outside.
    pub layer: Option<usize>,
}

/// Attention as the metadata of a GGUF file describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    /// Layers.
    pub layers: u64,
    /// h
    pub num_heads: u64,
    /// g of each layer, where the file tells them one by one; else one entry.
    pub num_kv_heads: Vec<u64>,
    /// Width of a head's keys.
    pub d_k: u64,
    /// Width of a head's values.
    pub d_v: u64,
    /// Window of the layers that have one.
    pub window: Option<u64>,
    /// Width of the latent, where there is one, and of its rotated part.
    pub latent: Option<(u64, u64)>,
}

impl WeightFile {
    /// Every tensor with what its name says, in the order of the file.
    pub fn sorted(&self) -> Vec<Sorted<'_>> {
        self.tensors.iter().map(|tensor| sorted(tensor)).collect()
    }

    /// Attention as the metadata describes it; `None` where it does not.
    pub fn described(&self) -> Option<Described> {
        let number = |key: &str| self.architecture_value(key)?.parse::<u64>().ok();
        let list = |key: &str| -> Option<Vec<u64>> {
            let text = self.architecture_value(key)?;
            let inside = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
            inside.split(',').map(|one| one.trim().parse().ok()).collect()
        };
        let layers = number("block_count")?;
        let num_heads = *list("attention.head_count")?.iter().max()?;
        let width = || number("embedding_length").zip(Some(num_heads)).and_then(|(d, h)| d.checked_div(h));
        let d_k = number("attention.key_length").or_else(width)?;
        let rope = number("rope.dimension_count");
        Some(Described {
            layers,
            num_heads,
            num_kv_heads: list("attention.head_count_kv").unwrap_or_else(|| vec![num_heads]),
            d_k,
            d_v: number("attention.value_length").or_else(width)?,
            window: number("attention.sliding_window"),
            latent: number("attention.kv_lora_rank").zip(rope),
        })
    }
}

impl Described {
    /// Numbers that all layers keep of one token, windows or not.
    pub fn numbers_per_token(&self) -> u64 {
        if let Some((rank, rope)) = self.latent {
            return self.layers.saturating_mul(rank.saturating_add(rope));
        }
        let heads: u64 = match &self.num_kv_heads[..] {
            [one] => self.layers.saturating_mul(*one),
            each => each.iter().fold(0, |sum: u64, g| sum.saturating_add(*g)),
        };
        heads.saturating_mul(self.d_k.saturating_add(self.d_v))
    }
}

fn sorted(tensor: &StoredTensor) -> Sorted<'_> {
    let name = tensor.name.to_lowercase();
    let parts: Vec<&str> = name.split('.').collect();
    let number = |part: &&&str| part.bytes().all(|byte| byte.is_ascii_digit()) && !part.is_empty();
    let layer =
        parts.iter().find(number).and_then(|part| part.parse::<usize>().ok()).and_then(|n| n.checked_add(1));
    Sorted { tensor, group: group(&parts, layer.is_some()), layer }
}

/// The first words that decide, in this order: a norm inside attention belongs to attention, an expert to the experts.
fn group(parts: &[&str], in_layer: bool) -> Group {
    let any = |words: &[&str]| parts.iter().any(|part| words.iter().any(|word| part.contains(word)));
    if any(&["shared_expert", "shexp"]) {
        Group::SharedExperts
    } else if any(&["ffn_gate_inp", "router"]) || (parts.contains(&"gate") && any(&["mlp", "moe", "ffn"])) {
        Group::Router
    } else if any(&["experts", "_exps", "expert_"]) {
        Group::Experts
    } else if any(&["linear_attn", "mamba", "mixer", "ssm", "conv1d", "short_conv"]) && !any(&["self_attn"]) {
        Group::Mixer
    } else if any(&["attn_norm", "post_attention", "attention_norm", "attn_layer_norm", "attn_ln"]) {
        Group::Norm
    } else if any(&["attn", "attention", "encdecattention"]) {
        if any(&["layernorm", "layer_norm"])
            && !any(&["q_norm", "k_norm", "q_layernorm", "k_layernorm", "_a_layernorm"])
        {
            Group::Norm
        } else {
            Group::Attention
        }
    } else if any(&["norm", "ln_", "ln1", "ln2", "layernorm"]) {
        Group::Norm
    } else if any(&["pooler"]) {
        Group::Pooler
    } else if any(&["embd", "embed", "wte", "wpe", "shared"]) {
        Group::Embedding
    } else if any(&["lm_head", "classifier", "score", "predictions", "cls", "qa_outputs"])
        || parts == ["output", "weight"]
    {
        Group::Head
    } else if in_layer {
        Group::FeedForward
    } else {
        Group::Other
    }
}
