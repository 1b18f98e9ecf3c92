//! The language head: from a token's last hidden state to a score for every token of the vocabulary.

use crate::ops::Activation;
use crate::plan::Norm;

/// logits = transform(hidden) · Wᵀ + bias, perhaps capped (vocabulary scores; no unit).
#[derive(Debug, Clone, PartialEq)]
pub struct Readout {
    /// What a masked model does first: a dense layer, an activation and a norm (Devlin et al. 2019).
    pub transform: Option<Transform>,
    /// The tensor of the vocabulary (vocabulary × d_model); the embedding's own where they are tied.
    pub tensor: String,
    /// The bias (vocabulary).
    pub bias: Option<String>,
    /// s ← c · tanh(s / c)
    pub softcap: Option<f64>,
}

/// A dense layer, an activation and a norm.
#[derive(Debug, Clone, PartialEq)]
pub struct Transform {
    /// The tensor of the dense layer (d_model × d_model, outputs in rows).
    pub weight: String,
    /// Its bias.
    pub bias: Option<String>,
    /// What follows it.
    pub activation: Activation,
    /// The norm at the end.
    pub norm: Norm,
}
