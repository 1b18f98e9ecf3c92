//! A slip around attention: what is told of it, and the ways in which a part of a stack is computed with it.

use nalgebra::DMatrix;

use super::search::Part;
use crate::ops::{LayerNorm, Op, RmsNorm};
use crate::plan::{Call, Layer, Layers, Norm, Plan, Step, StepId, attention};

/// Something that people get wrong around attention: norms, feed-forward network, residuals, embedding.
#[derive(Debug)]
pub struct Around {
    /// Its name, as JSON has it: `norm-eps`.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// What the model has.
    pub right: &'static str,
    /// What was computed.
    pub wrong: &'static str,
    /// How it comes about, and how to mend it.
    pub fix: &'static str,
    /// The ways in which it can be made in a part of a stack.
    pub(super) variants: fn(&Part) -> Vec<Variant>,
}

/// A part of a stack computed with a slip.
pub(super) struct Variant {
    /// The steps.
    pub(super) plan: Plan,
    /// The call that they come from, where it is another one.
    pub(super) call: Option<Call>,
    /// Inputs that are other ones.
    pub(super) inputs: Vec<(StepId, DMatrix<f64>)>,
    /// Rows of which nothing can be said.
    pub(super) unknown: Vec<usize>,
    /// What is particular about it; often empty.
    pub(super) detail: String,
}

impl Variant {
    pub(super) fn new(plan: Plan, detail: impl Into<String>) -> Self {
        Self { plan, call: None, inputs: Vec::new(), unknown: Vec::new(), detail: detail.into() }
    }
}

/// The part with other layers; nothing where the change has no meaning, or the layers do not fit any more.
pub(super) fn with_layers(
    part: &Part,
    detail: impl Into<String>,
    change: impl FnOnce(&mut Layers) -> Option<()>,
) -> Option<Variant> {
    let mut layers = part.call.layers.clone()?;
    change(&mut layers)?;
    let call = Call { layers: Some(layers), ..part.call.clone() };
    let plan = attention::plan(&call).ok()?;
    (plan != part.plan).then(|| Variant { call: Some(call), ..Variant::new(plan, detail) })
}

/// The part with another layer in the place of its own.
pub(super) fn with_layer(
    part: &Part,
    detail: impl Into<String>,
    change: impl FnOnce(&mut Layer) -> Option<()>,
) -> Option<Variant> {
    with_layers(part, detail, |layers| change(layers.layers.first_mut()?))
}

/// The part with some of its steps computed otherwise: `change` gives the new operation and inputs of those.
pub(super) fn with_steps(
    part: &Part,
    detail: impl Into<String>,
    change: impl Fn(&Step) -> Option<(Op, Vec<StepId>)>,
) -> Option<Variant> {
    let mut plan = part.plan.clone();
    for step in part.plan.steps() {
        if let Some((op, inputs)) = change(step) {
            plan.replace(step.id, op, &inputs).ok()?;
        }
    }
    (plan != part.plan).then(|| Variant::new(plan, detail))
}

/// The part with every norm of the stream otherwise: those of the layer, after it, and of the embedding.
pub(super) fn with_norms(
    part: &Part,
    detail: impl Into<String>,
    change: impl Fn(&Norm) -> Option<Norm>,
) -> Option<Variant> {
    with_layers(part, detail, |layers| {
        let first = layers.start.as_mut().and_then(|start| start.norm.as_mut());
        let own = layers
            .layers
            .iter_mut()
            .flat_map(|layer| layer.norms.iter_mut().chain(layer.found_norms.iter_mut().flatten()));
        for norm in own.chain(first).chain(layers.last.as_mut()) {
            *norm = change(norm)?;
        }
        Some(())
    })
}

/// The part with every norm otherwise: once those of the stream alone, once those of queries and keys as well, where there
/// are any. Ports often have one class for all of them.
pub(super) fn with_every_norm(
    part: &Part,
    detail: &str,
    change: impl Fn(&Norm) -> Option<Norm>,
) -> Vec<Variant> {
    let stream = with_norms(part, detail, &change);
    let all = stream.as_ref().and_then(|stream| {
        let rms = |eps: f64, gain: &[f64]| match change(&Norm::Rms(RmsNorm { eps, gain: gain.to_vec() })) {
            Some(Norm::Rms(norm)) => Some(norm),
            _ => None,
        };
        let mut call = stream.call.clone()?;
        let layer = call.layers.as_mut()?.layers.first_mut()?;
        let norm = layer.attention.qk_norm.as_mut()?;
        let (q, k) = (rms(norm.eps, &norm.q_gain)?, rms(norm.eps, &norm.k_gain)?);
        (norm.eps, norm.q_gain, norm.k_gain) = (q.eps, q.gain, k.gain);
        Some(Variant::new(attention::plan(&call).ok()?, detail))
    });
    stream.into_iter().chain(all).collect()
}

/// The norm with another eps.
pub(super) fn with_eps(norm: &Norm, eps: f64) -> Norm {
    match norm {
        Norm::Layer(norm) => Norm::Layer(LayerNorm { eps, ..norm.clone() }),
        Norm::Rms(norm) => Norm::Rms(RmsNorm { eps, ..norm.clone() }),
    }
}

/// The norm with every gain changed.
pub(super) fn with_gain(norm: &Norm, change: impl Fn(f64) -> f64) -> Option<Norm> {
    let changed = |gain: &[f64]| gain.iter().map(|gain| change(*gain)).collect::<Vec<f64>>();
    Some(match norm {
        Norm::Layer(norm) => {
            Norm::Layer(LayerNorm { gain: Some(changed(norm.gain.as_deref()?)), ..norm.clone() })
        }
        Norm::Rms(norm) => Norm::Rms(RmsNorm { gain: changed(&norm.gain), ..norm.clone() }),
    })
}
