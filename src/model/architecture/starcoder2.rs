//! StarCoder2 (Lozhkov et al. 2024): Llama's order with layer norms, biases, and a feed-forward network without a gate.

use super::decoder::{Biases, Decoder, Network, Normed};
use super::llama::LLAMA;
use super::windows::Windows;

pub(super) const STARCODER2: Decoder = Decoder {
    family: "StarCoder2",
    norm: Normed::Layer("norm_epsilon", 1e-5),
    biases: [Biases::If("use_bias"); 3],
    network: Network::Plain,
    windows: Windows::All,
    ..LLAMA
};
