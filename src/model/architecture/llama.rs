//! Llama (Touvron et al. 2023), and SmolLM and TinyLlama, which are Llamas; Mistral (Jiang et al. 2023) with its windows.

use super::decoder::{Biases, Decoder, Network, Normed, Turning};
use super::rope::USUAL;
use super::windows::Windows;
use crate::plan::NormPlace;

pub(super) const LLAMA: Decoder = Decoder {
    family: "Llama",
    norm: Normed::Rms("rms_norm_eps", 1e-6),
    place: NormPlace::Pre,
    biases: [Biases::If("attention_bias"), Biases::If("attention_bias"), Biases::If("mlp_bias")],
    has_qk_norm: false,
    is_packed: false,
    network: Network::Gated,
    activation: "hidden_act",
    windows: Windows::Never,
    rotation: USUAL,
    turning: Turning::All,
    gemma: None,
};

pub(super) const MISTRAL: Decoder =
    Decoder { family: "Mistral", biases: [Biases::Never; 3], windows: Windows::All, ..LLAMA };
