//! Gemma (Mesnard et al. 2024): the embedding times √d_model, gains 1 more than what is stored. Gemma 2 (Riviere et al.
//! 2024): norms around each part, capped scores and logits, every other layer with a window. Gemma 3 (Kamath et al.
//! 2025): normed queries and keys, five layers of six with a window and a rotary base of their own.

use super::decoder::{Biases, Caps, Decoder, Gemma};
use super::llama::LLAMA;
use super::rope::{Rotation, USUAL};
use super::windows::Windows;
use crate::plan::NormPlace;

pub(super) const GEMMA: Decoder = Decoder {
    family: "Gemma",
    biases: [Biases::If("attention_bias"), Biases::If("attention_bias"), Biases::Never],
    gemma: Some(Gemma { has_own_scale: false, caps: Caps::Never }),
    ..LLAMA
};

pub(super) const GEMMA2: Decoder = Decoder {
    family: "Gemma 2",
    place: NormPlace::Around,
    activation: "hidden_activation",
    windows: Windows::AllBut("sliding_window_pattern", 2),
    gemma: Some(Gemma { has_own_scale: true, caps: Caps::Both([50.0, 30.0]) }),
    ..GEMMA
};

pub(super) const GEMMA3: Decoder = Decoder {
    family: "Gemma 3",
    has_qk_norm: true,
    windows: Windows::AllBut("sliding_window_pattern", 6),
    rotation: Rotation {
        theta: ("rope_theta", 1_000_000.0),
        in_windows: Some(("rope_local_base_freq", 10_000.0)),
        ..USUAL
    },
    gemma: Some(Gemma { has_own_scale: true, caps: Caps::Logits }),
    ..GEMMA2
};
