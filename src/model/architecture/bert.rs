//! BERT (Devlin et al. 2019), and MiniLM, which is one.

use super::encoder::{Encoder, MaskedHead, Positions};

pub(super) const BERT: Encoder = Encoder {
    family: "BERT",
    prefixes: &["bert.", ""],
    stack: "encoder.layer",
    attention: [
        "attention.self.query",
        "attention.self.key",
        "attention.self.value",
        "attention.output.dense",
    ],
    network: ["intermediate.dense", "output.dense"],
    norms: ["attention.output.LayerNorm", "output.LayerNorm"],
    d_ff: "intermediate_size",
    activation: "hidden_act",
    positions: Positions::FromStart,
    has_segments: true,
    head: MaskedHead {
        dense: "cls.predictions.transform.dense",
        norm: "cls.predictions.transform.LayerNorm",
        vocabulary: "cls.predictions.decoder.weight",
        bias: &["cls.predictions.bias", "cls.predictions.decoder.bias"],
        activation: None,
    },
};
