//! Rewrites: the same problem computed another way. A variant is a name and a function from call and plan to call
//! and plan; a new one is a new name here and, where it needs more than a line, a file beside.

mod ablation;
mod averaged;
mod flash;
mod fused;
mod head_place;
mod heads;
mod mean_head;
mod swap_keys;
mod uniform_head;
mod zero_head;

use std::fmt;
use std::str::FromStr;

pub use ablation::Replacement;
pub use head_place::HeadPlace;
pub use mean_head::mean_head;
pub use swap_keys::swap_keys;
pub use uniform_head::uniform_head;
pub use zero_head::zero_head;

use super::spec::{Alignment, Mask, Scale};
use super::{Call, Name, Plan, Projection, attention};
use crate::fault::{Fault, Outcome, nearest};
use crate::words::{n, say, t};

/// Another way to compute the same call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Variant {
    /// One head as wide as all of them, on the same matrices.
    SingleHead,
    /// The call's own heads, each with keys and values of its own.
    MultiHead,
    /// So many key/value heads, mean-pooled from the multi-head ones (Ainslie et al. 2023).
    Gqa(usize),
    /// One key/value head for all (Shazeer 2019).
    Mqa,
    /// One head run h times, and averaged.
    Averaged,
    /// Stops at concat.
    NoOutputProjection,
    /// Scores without 1/√d_k.
    NoScale,
    /// One packed product, all heads in one batched call.
    Fused,
    /// Tile by tile with a running softmax; so many keys a tile, or a size that fits the problem.
    Flash(Option<usize>),
    /// With a causal mask added.
    Causal,
}

/// The names a person can type, with what they mean.
pub const VARIANTS: &[(&str, &str)] = &[
    ("single-head", n!("one head as wide as all of them, on the same X and the same four matrices")),
    ("multi-head", n!("h heads, each with queries, keys and values of its own")),
    ("gqa:G", n!("G key/value heads, mean-pooled from the multi-head ones; groups of query heads share one")),
    ("mqa", n!("one key/value head for all query heads, mean-pooled")),
    ("averaged", n!("one head run h times and averaged: not multi-head attention")),
    ("no-output-projection", n!("stops at concat: nothing mixes the heads")),
    ("no-scale", n!("scores without 1/√d_k")),
    (
        "fused",
        n!(
            "as production code does it: one packed product, (h, n, d_k), one batched product; the same numbers"
        ),
    ),
    (
        "flash",
        n!("tile by tile with a running maximum and sum (flash:T sets T keys a tile); the same numbers"),
    ),
    ("causal", n!("with a causal mask: no query sees a later key")),
];

impl Variant {
    /// The call and the plan of this variant.
    ///
    /// # Errors
    /// The call has no such variant (heads that do not divide, sinks of several heads in a single one, …).
    pub fn apply(self, call: &Call) -> Outcome<(Call, Plan)> {
        if call.layers.is_some() {
            let fault = Fault::new(
                format!("variant {self} is of one attention call, and this is a stack of layers"),
                "it rewrites the steps of a single call",
                "take a lesson without layers, or change its keys instead: attention: {num_heads: 1}",
            );
            return Err(fault.in_source(format!("variant {self}")).into());
        }
        let outcome = match self {
            Self::SingleHead => heads::single(call).and_then(planned),
            Self::MultiHead => planned(heads::expanded(call)),
            Self::Gqa(groups) => heads::pooled(call, groups).and_then(planned),
            Self::Mqa => heads::pooled(call, 1).and_then(planned),
            Self::Averaged => averaged::rewrite(call),
            Self::NoOutputProjection => planned(without_output_projection(call)),
            Self::NoScale => planned(with(call, |call| call.attention.scale = Scale::Given(1.0))),
            Self::Fused => {
                attention::plan(call).and_then(|plan| Ok((call.clone(), fused::rewrite(call, &plan)?)))
            }
            Self::Flash(tile) => {
                attention::plan(call).and_then(|plan| Ok((call.clone(), flash::rewrite(&plan, tile)?)))
            }
            Self::Causal => {
                planned(with(call, |call| call.attention.masks.push(Mask::Causal(Alignment::BottomRight))))
            }
        };
        outcome.map_err(|fault| fault.in_source(format!("variant {self}")).into())
    }

    /// What it means, in a line.
    pub fn meaning(self) -> String {
        let name = self.to_string();
        let stem = |name: &str| name.split(':').next().unwrap_or_default().to_owned();
        let known = VARIANTS.iter().find(|(known, _)| stem(known) == stem(&name));
        let meaning = known.map_or("", |(_, meaning)| meaning);
        match self {
            Self::Gqa(1) => {
                t!("1 key/value head, mean-pooled from the multi-head ones; groups of query heads share one")
            }
            Self::Gqa(groups) => t!(
                "%{groups} key/value heads, mean-pooled from the multi-head ones; groups of query heads share one",
                groups
            ),
            Self::Flash(Some(1)) => {
                t!("tile by tile with a running maximum and sum (1 key a tile); the same numbers")
            }
            Self::Flash(Some(tile)) => t!(
                "tile by tile with a running maximum and sum (%{tile} keys a tile); the same numbers",
                tile
            ),
            _ => say(meaning).to_owned(),
        }
    }
}

fn planned(call: Call) -> Result<(Call, Plan), Fault> {
    let plan = attention::plan(&call)?;
    Ok((call, plan))
}

fn with(call: &Call, change: impl FnOnce(&mut Call)) -> Call {
    let mut call = call.clone();
    change(&mut call);
    call
}

fn without_output_projection(call: &Call) -> Call {
    with(call, |call| {
        call.inputs.retain(|id, _| !matches!(id.name, Name::W(Projection::O) | Name::B(Projection::O)));
    })
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SingleHead => f.write_str("single-head"),
            Self::MultiHead => f.write_str("multi-head"),
            Self::Gqa(groups) => write!(f, "gqa:{groups}"),
            Self::Mqa => f.write_str("mqa"),
            Self::Averaged => f.write_str("averaged"),
            Self::NoOutputProjection => f.write_str("no-output-projection"),
            Self::NoScale => f.write_str("no-scale"),
            Self::Fused => f.write_str("fused"),
            Self::Flash(None) => f.write_str("flash"),
            Self::Flash(Some(tile)) => write!(f, "flash:{tile}"),
            Self::Causal => f.write_str("causal"),
        }
    }
}

impl FromStr for Variant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, number) = match text.split_once(':') {
            Some((name, number)) => {
                let counted = number.parse::<usize>().ok().filter(|n| *n > 0);
                (name, Some(counted.ok_or_else(|| format!("after {name}: comes a whole number from 1 (no larger than there are heads or keys)"))?))
            }
            None => (text, None),
        };
        match (name, number) {
            ("single-head", None) => Ok(Self::SingleHead),
            ("multi-head", None) => Ok(Self::MultiHead),
            ("gqa", Some(groups)) => Ok(Self::Gqa(groups)),
            ("gqa", None) => Err("gqa needs a number of key/value heads: gqa:2".to_owned()),
            ("mqa", None) => Ok(Self::Mqa),
            ("averaged", None) => Ok(Self::Averaged),
            ("no-output-projection", None) => Ok(Self::NoOutputProjection),
            ("no-scale", None) => Ok(Self::NoScale),
            ("fused", None) => Ok(Self::Fused),
            ("flash", tile) => Ok(Self::Flash(tile)),
            ("causal", None) => Ok(Self::Causal),
            (name, _) => {
                let near = nearest(name, VARIANTS.iter().map(|(known, _)| *known));
                let names: Vec<&str> = VARIANTS.iter().map(|(known, _)| *known).collect();
                let hint = near.map(|near| format!("did you mean {near}? ")).unwrap_or_default();
                Err(format!("{hint}the variants are {}", names.join(", ")))
            }
        }
    }
}
