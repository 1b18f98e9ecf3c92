//! Which heads a person means.

use super::{AblateArgs, Turn};
use crate::ablate::{AttentionLayer, Study};
use crate::fault::{Fault, Faults, Outcome, Place};
use crate::ops::Real;
use crate::plan::Head;
use crate::plan::rewrites::HeadPlace;

/// The heads that are replaced, and those that were asked to be kept.
pub(super) struct Asked {
    /// Replaced.
    pub(super) heads: Vec<HeadPlace>,
    /// Kept, where all others are replaced; empty elsewhere.
    pub(super) kept: Vec<HeadPlace>,
}

/// The heads of `--head`, `--layer`, `--heads` and `--keep-only`.
///
/// # Errors
/// None was named; a name that is none; a head or a layer that is not there; no head is left to be replaced.
pub(super) fn heads<T: Real>(args: &AblateArgs, study: &Study<'_, T>) -> Outcome<Asked> {
    let layer = layer(args, study)?;
    let mut named: Vec<HeadPlace> =
        args.head.iter().map(|head| HeadPlace { layer, head: Head(head - 1) }).collect();
    for text in &args.heads {
        let place: HeadPlace = text.trim().parse().map_err(|why: String| {
            let remedy =
                "write --heads layer.1.head.2,layer.2.head.1, or as other tools count: --heads L0H1,L1H0";
            Fault::new(format!("{text:?} is no head"), why, remedy).in_source("--heads")
        })?;
        named.push(place);
    }
    if named.is_empty() {
        let why = "an ablation takes something away";
        let remedy =
            "name one, as --head 2 (in a stack of layers with --layer 1), or try them all with --each";
        return Err(Fault::new("no head was named", why, remedy).in_source("--head").into());
    }
    named.sort_unstable();
    named.dedup();
    study.of_heads(&named).map_err(|faults| placed(args, faults))?;
    let turn = args.turn();
    if turn == Turn::Itself {
        return Ok(Asked { heads: named, kept: Vec::new() });
    }
    let heads = turn.but(&named, study.layers());
    if heads.is_empty() {
        let why = "every head that there is was named to be kept";
        let remedy = "name fewer heads, or leave out --keep-only";
        return Err(Fault::new("no head is left to be replaced", why, remedy)
            .in_source("--keep-only")
            .into());
    }
    Ok(Asked { heads, kept: named })
}

/// The same faults, at the flag that the heads were typed behind.
fn placed(args: &AblateArgs, faults: Faults) -> Faults {
    if args.heads.is_empty() || !args.head.is_empty() {
        return faults;
    }
    let from_0 = args.heads.iter().any(|head| head.trim().starts_with('L'));
    let place = |fault: Fault| {
        let why = if from_0 { format!("{}; names such as L0H1 count from 0", fault.why) } else { fault.why };
        Fault { why, place: Some(Place { source: "--heads".to_owned(), ..Place::default() }), ..fault }
    };
    Faults(faults.0.into_iter().map(place).collect())
}

/// The layers of `--each`.
///
/// # Errors
/// There is no such layer.
pub(super) fn layers<T: Real>(args: &AblateArgs, study: &Study<'_, T>) -> Outcome<Vec<AttentionLayer>> {
    match args.layer {
        None => Ok(study.layers().to_vec()),
        Some(layer) => study.of_heads(&[HeadPlace { layer: Some(layer - 1), head: Head(0) }]),
    }
}

/// The layer that `--layer` names, or the only one that there is.
fn layer<T: Real>(args: &AblateArgs, study: &Study<'_, T>) -> Outcome<Option<usize>> {
    Ok(match (args.layer, study.layers()) {
        (Some(layer), _) => Some(layer - 1),
        (None, [only]) => only.layer,
        (None, _) => None,
    })
}
