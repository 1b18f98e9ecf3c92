//! Which layers see the whole past, and which a window of it.

use serde_json::Value;

use super::keys::{Keys, shown};
use crate::fault::Outcome;
use crate::plan::spec::{Alignment, Mask};

/// How a family says which layers have a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Windows {
    /// None has.
    Never,
    /// All have where `sliding_window` is a number.
    All,
    /// Layers from `max_window_layers` on, where `use_sliding_window` is true; or as `layer_types` says.
    Late,
    /// All but each so-manieth, as often as this key says, or as `layer_types` does.
    AllBut(&'static str, usize),
}

/// What a layer sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Every token up to its own.
    Full,
    /// So many tokens, its own the last.
    Sliding(usize),
}

impl Kind {
    /// As configs call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Full => "full_attention",
            Self::Sliding(_) => "sliding_attention",
        }
    }
}

/// Masks of a layer of that kind.
pub(super) fn masks(kind: Kind) -> Vec<Mask> {
    let alignment = Alignment::BottomRight;
    vec![match kind {
        Kind::Full => Mask::Causal(alignment),
        Kind::Sliding(tokens) => {
            Mask::Window { left: Some(tokens.saturating_sub(1)), right: Some(0), alignment }
        }
    }]
}

/// The kind of every one of so many layers.
///
/// # Errors
/// A kind that is not known, or a window without a size.
pub(super) fn kinds(keys: &Keys, windows: Windows, layers: usize) -> Outcome<Vec<Kind>> {
    let window = match windows {
        Windows::Never => None,
        Windows::Late if !keys.is_on("use_sliding_window")? => None,
        _ => keys.size_if_any("sliding_window")?.map(|window| window.value),
    };
    let sliding = |is_sliding: bool| match window {
        Some(window) if is_sliding => Kind::Sliding(window),
        _ => Kind::Full,
    };
    let by_rule: Box<dyn Fn(usize) -> Kind> = match windows {
        Windows::Never | Windows::All => Box::new(move |_| sliding(true)),
        Windows::Late => {
            let from = keys.number("max_window_layers", 0.0)?;
            Box::new(move |layer| sliding(layer as f64 >= from))
        }
        Windows::AllBut(key, usual) => {
            let every = keys.size_if_any(key)?.map_or(usual, |every| every.value);
            Box::new(move |layer| sliding(!(layer + 1).is_multiple_of(every)))
        }
    };
    let Some(Value::Array(words)) = keys.known("layer_types")? else {
        return Ok((0..layers).map(by_rule).collect());
    };
    let mut kinds = Vec::with_capacity(words.len());
    for (layer, word) in words.iter().enumerate() {
        let kind = match (word.as_str(), windows) {
            (Some("full_attention"), Windows::Late | Windows::AllBut(..)) => Kind::Full,
            (Some("sliding_attention"), Windows::Late | Windows::AllBut(..)) if window.is_some() => {
                sliding(true)
            }
            (Some(word), _) if word == by_rule(layer).name() => by_rule(layer),
            _ => {
                let what = format!("layer {} is {} (layer_types)", layer + 1, shown(word));
                let why = match windows {
                    Windows::Late | Windows::AllBut(..) => {
                        "computed are full_attention, and sliding_attention where sliding_window is a number and in use"
                    }
                    Windows::Never | Windows::All => "in this type all layers are of one kind",
                };
                return Err(keys.at(
                    "layer_types",
                    what,
                    why,
                    "take the config.json that belongs to the weights",
                ));
            }
        };
        kinds.push(kind);
    }
    Ok(kinds)
}
