//! DistilBERT (Sanh et al. 2019): BERT's layers without segments, under other names.

use super::encoder::{Encoder, MaskedHead, Positions};

pub(super) const DISTILBERT: Encoder = Encoder {
    family: "DistilBERT",
    prefixes: &["distilbert.", ""],
    stack: "transformer.layer",
    attention: ["attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin"],
    network: ["ffn.lin1", "ffn.lin2"],
    norms: ["sa_layer_norm", "output_layer_norm"],
    d_ff: "hidden_dim",
    activation: "activation",
    positions: Positions::FromStart,
    has_segments: false,
    head: MaskedHead {
        dense: "vocab_transform",
        norm: "vocab_layer_norm",
        vocabulary: "vocab_projector.weight",
        bias: &["vocab_projector.bias"],
        activation: None,
    },
};
