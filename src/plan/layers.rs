//! A stack of layers: attention, and what a Transformer puts around it.
//!
//! With x what a layer is given and Attention(x) what its heads find:
//!
//! ```text
//! pre   r = x + Attention(norm(x)),    hidden = r + FFN(norm(r))         (Xiong et al. 2020, Fig. 1 b)
//! post  r = norm(x + Attention(x)),    hidden = norm(r + FFN(r))         (Vaswani et al. 2017, §3.1)
//! none  r = x + Attention(x),          hidden = r + FFN(r)
//! ```

use super::attention::{self, Changes, Place, given};
use super::{Attention, Call, FfnStep, Name, Plan, StepId};
use crate::fault::Fault;
use crate::ops::{Activation, Add, LayerNorm, Project, Same};

/// Layers one after the other; what each is given comes from the one before.
#[derive(Debug, Clone, PartialEq)]
pub struct Layers {
    /// The layers, the first first. Their matrices stand among the call's inputs under the names of their steps.
    pub layers: Vec<Layer>,
    /// Where norms stand.
    pub norm: NormPlace,
    /// Whether each part adds what it found to what it was given, or hands on what it found alone.
    pub residual: bool,
    /// The norm after the last layer, where there is one.
    pub last: Option<LayerNorm>,
}

/// One layer of a stack.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// Sizes, scale, masks, positions of its attention.
    pub attention: Attention,
    /// The norms of attention and of the feed-forward network; not used where norms stand nowhere.
    pub norms: [LayerNorm; 2],
    /// What the feed-forward network has between its two matrices; `None` where the layer has no such network.
    pub feed_forward: Option<Activation>,
}

/// Where the norms of a layer stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NormPlace {
    /// Before attention and before the feed-forward network (Xiong et al. 2020).
    Pre,
    /// After each sum (Vaswani et al. 2017).
    Post,
    /// Nowhere.
    None,
}

/// The plan of a stack: the embedding, layer after layer, and the last norm.
///
/// # Errors
/// Something was not given, shapes that do not fit, a query that may attend to nothing.
pub fn plan(call: &Call, layers: &Layers) -> Result<Plan, Fault> {
    let mut plan = Plan::default();
    let mut changes: Changes = None;
    let mut stream = needed(&mut plan, call, Name::Embedding.into())?;
    let mut before: Option<&Attention> = None;
    for (number, layer) in layers.layers.iter().enumerate() {
        if before != Some(&layer.attention) {
            changes = None;
        }
        before = Some(&layer.attention);
        stream = add_layer(&mut plan, call, layers, (number, layer), stream, &mut changes)?;
    }
    if let Some(norm) = &layers.last {
        plan.add(Name::Final.into(), norm.clone(), &[stream])?;
    }
    Ok(plan)
}

/// One layer after another, given what the other handed on (n × d_model); gives the name of what it hands on itself.
fn add_layer(
    plan: &mut Plan,
    call: &Call,
    layers: &Layers,
    (number, layer): (usize, &Layer),
    stream: StepId,
    changes: &mut Changes,
) -> Result<StepId, Fault> {
    let place = Place { sequence: None, layer: Some(number) };
    let own = |name: Name| place.own(name);
    let ffn = |step: FfnStep| place.own(Name::Ffn(step));
    let [of_attention, of_ffn] = &layer.norms;
    let pre = |norm| (layers.norm == NormPlace::Pre).then_some(norm);
    let post = |norm| (layers.norm == NormPlace::Post).then_some(norm);

    normed(plan, own(Name::X), pre(of_attention), stream)?;
    let found = attention::add(plan, call, &layer.attention, place, changes)?;
    let mut after = added(plan, own(Name::AttentionResidual), layers, [stream, found])?;
    if let Some(norm) = post(of_attention) {
        after = normed(plan, own(Name::AttentionNorm), Some(norm), after)?;
    }
    let Some(activation) = layer.feed_forward else { return plan.add(own(Name::Hidden), Same, &[after]) };

    let x = normed(plan, ffn(FfnStep::X), pre(of_ffn), after)?;
    let up = project(plan, call, place, (FfnStep::Up, x), [FfnStep::W1, FfnStep::B1])?; // n × d_ff
    let bent = plan.add(ffn(FfnStep::Activation), activation, &[up])?;
    let found = project(plan, call, place, (FfnStep::Output, bent), [FfnStep::W2, FfnStep::B2])?; // n × d_model
    let sum = added(plan, ffn(FfnStep::Residual), layers, [after, found])?;
    normed(plan, own(Name::Hidden), post(of_ffn), sum)
}

/// The norm of a step under another name, or the step itself under that name where there is no norm.
fn normed(plan: &mut Plan, id: StepId, norm: Option<&LayerNorm>, of: StepId) -> Result<StepId, Fault> {
    match norm {
        Some(norm) => plan.add(id, norm.clone(), &[of]),
        None => plan.add(id, Same, &[of]),
    }
}

/// What was given and what was found, added; in a stack without residuals what was found.
fn added(
    plan: &mut Plan,
    id: StepId,
    layers: &Layers,
    [stream, found]: [StepId; 2],
) -> Result<StepId, Fault> {
    if layers.residual { plan.add(id, Add, &[stream, found]) } else { Ok(found) }
}

/// x · W + b of the feed-forward network.
fn project(
    plan: &mut Plan,
    call: &Call,
    place: Place,
    (step, x): (FfnStep, StepId),
    [w, b]: [FfnStep; 2],
) -> Result<StepId, Fault> {
    let w = needed(plan, call, place.shared(Name::Ffn(w)))?;
    let bias = given(plan, call, place.shared(Name::Ffn(b)))?;
    let inputs: Vec<StepId> = [x, w].into_iter().chain(bias).collect();
    plan.add(place.own(Name::Ffn(step)), Project, &inputs)
}

/// A matrix that there is no going on without.
fn needed(plan: &mut Plan, call: &Call, id: StepId) -> Result<StepId, Fault> {
    given(plan, call, id)?.ok_or_else(|| {
        Fault::new(
            format!("{id} was not given"),
            "a stack of layers is computed from its embedding and from the matrices of every layer",
            format!("give {id}"),
        )
    })
}
