//! RoBERTa (Liu et al. 2019), XLM-R and CamemBERT: BERT's layers, positions counted from the row after the padding
//! token's, and a head whose names and activation are its own.

use super::bert::BERT;
use super::encoder::{Encoder, MaskedHead, Positions};
use crate::ops::Activation;

pub(super) const ROBERTA: Encoder = Encoder {
    family: "RoBERTa",
    prefixes: &["roberta.", ""],
    positions: Positions::AfterPadding,
    head: MaskedHead {
        dense: "lm_head.dense",
        norm: "lm_head.layer_norm",
        vocabulary: "lm_head.decoder.weight",
        bias: &["lm_head.bias", "lm_head.decoder.bias"],
        activation: Some(Activation::Gelu),
    },
    ..BERT
};
