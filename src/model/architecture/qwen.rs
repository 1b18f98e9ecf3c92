//! Qwen2 (Yang et al. 2024): Llama with biases for queries, keys and values; Qwen3 (Yang et al. 2025): norms of each
//! head's queries and keys in their place.

use super::decoder::{Biases, Decoder};
use super::llama::LLAMA;
use super::windows::Windows;

pub(super) const QWEN2: Decoder = Decoder {
    family: "Qwen2",
    biases: [Biases::Always, Biases::Never, Biases::Never],
    windows: Windows::Late,
    ..LLAMA
};

pub(super) const QWEN3: Decoder = Decoder {
    family: "Qwen3",
    biases: [Biases::If("attention_bias"), Biases::If("attention_bias"), Biases::Never],
    has_qk_norm: true,
    ..QWEN2
};
