//! SmolLM3 (2025): Llama in which every fourth layer does not rotate (Yang et al. 2025: RNoPE).

use super::super::{Blueprint, Checkpoint};
use super::decoder::{self, Decoder, Turning};
use super::keys::Keys;
use super::llama::LLAMA;
use super::rope::{Rotation, USUAL};
use crate::fault::Outcome;

const SMOLLM3: Decoder = Decoder {
    family: "SmolLM3",
    rotation: Rotation { theta: ("rope_theta", 2_000_000.0), ..USUAL },
    turning: Turning::AllBut("no_rope_layers", "no_rope_layer_interval"),
    ..LLAMA
};

pub(super) fn blueprint(keys: &Keys, checkpoint: &dyn Checkpoint) -> Outcome<Blueprint> {
    if keys.is_on("use_sliding_window")? {
        let why = "windows of this type are not computed";
        return Err(keys.at("use_sliding_window", "use_sliding_window is true", why, "choose another model"));
    }
    decoder::blueprint(&SMOLLM3, keys, checkpoint)
}
