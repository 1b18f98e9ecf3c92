//! Phi-3 (Abdin et al. 2024): Llama with queries, keys and values in one tensor, and gate and W_1 in another.

use super::decoder::{Biases, Decoder, Normed};
use super::llama::LLAMA;
use super::windows::Windows;

pub(super) const PHI3: Decoder = Decoder {
    family: "Phi-3",
    norm: Normed::Rms("rms_norm_eps", 1e-5),
    biases: [Biases::Never; 3],
    is_packed: true,
    windows: Windows::All,
    ..LLAMA
};
