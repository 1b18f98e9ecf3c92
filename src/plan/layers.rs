//! A stack of layers: attention, and what a Transformer puts around it.
//!
//! With x what a layer is given and Attention(x) what its heads find:
//!
//! ```text
//! pre       r = x + Attention(norm(x)),        hidden = r + FFN(norm(r))          (Xiong et al. 2020, Fig. 1 b)
//! post      r = norm(x + Attention(x)),        hidden = norm(r + FFN(r))          (Vaswani et al. 2017, §3.1)
//! around    r = x + norm(Attention(norm(x))),  hidden = r + norm(FFN(norm(r)))    (Gemma 2: Riviere et al. 2024)
//! parallel  r = x + Attention(norm(x)),        hidden = r + FFN(norm(x))          (Wang & Komatsuzaki 2021: GPT-J)
//! none      r = x + Attention(x),              hidden = r + FFN(r)
//! ```

use super::attention::{self, Changes, Place, given};
use super::{Attention, Call, EmbedStep, FfnStep, Name, Plan, StepId};
use crate::fault::Fault;
use crate::ops::{Activation, Add, LayerNorm, Multiply, Op, Project, RmsNorm, Same, Scale, Times};

/// Layers one after the other; what each is given comes from the one before.
#[derive(Debug, Clone, PartialEq)]
pub struct Layers {
    /// The number of the first layer (from 0): above 0 where a part of a stack is looked at by itself.
    pub first: usize,
    /// How the embedding is put together; `None` where it is given as it is.
    pub start: Option<Start>,
    /// The layers, the first first. Their matrices stand among the call's inputs under the names of their steps.
    pub layers: Vec<Layer>,
    /// Where norms stand.
    pub norm: NormPlace,
    /// Whether each part adds what it found to what it was given, or hands on what it found alone.
    pub residual: bool,
    /// The norm after the last layer, where there is one.
    pub last: Option<Norm>,
}

/// How a model makes its embedding: rows of the tokens, of the positions and of the segments where those are given,
/// added, then scaled, then normalised.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Start {
    /// What the sum is multiplied by.
    pub scale: Option<f64>,
    /// The norm of the sum.
    pub norm: Option<Norm>,
}

/// One layer of a stack.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// Sizes, scale, masks, positions of its attention.
    pub attention: Attention,
    /// The norms of attention and of the feed-forward network; not used where norms stand nowhere.
    pub norms: [Norm; 2],
    /// The norms of what the two found, where norms stand around them.
    pub found_norms: Option<[Norm; 2]>,
    /// The feed-forward network; `None` where the layer has none.
    pub feed_forward: Option<FeedForward>,
}

/// A feed-forward network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedForward {
    /// What it has between its two matrices.
    pub activation: Activation,
    /// Whether the activation bends a third product, by which what W_1 gives is multiplied: (act(x · W_gate) ∘ x · W_1) ·
    /// W_2 (Shazeer 2020).
    pub is_gated: bool,
}

/// One of the two kinds of norm.
#[derive(Debug, Clone, PartialEq)]
pub enum Norm {
    /// Less the mean, over the standard deviation.
    Layer(LayerNorm),
    /// Over the root mean square.
    Rms(RmsNorm),
}

impl From<Norm> for Op {
    fn from(norm: Norm) -> Self {
        match norm {
            Norm::Layer(norm) => norm.into(),
            Norm::Rms(norm) => norm.into(),
        }
    }
}

/// Where the norms of a layer stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NormPlace {
    /// Before attention and before the feed-forward network.
    Pre,
    /// After each sum.
    Post,
    /// Before each part and after it, before it is added.
    Around,
    /// Before both parts, which read the same stream side by side.
    Parallel,
    /// Nowhere.
    None,
}

/// The plan of a stack: the embedding, layer after layer, and the last norm.
///
/// Where what a layer's attention reads was given (`layer.3.x`) and no embedding, it is the plan of that attention alone.
///
/// # Errors
/// Something was not given, shapes that do not fit, a query that may attend to nothing.
pub fn plan(call: &Call, layers: &Layers) -> Result<Plan, Fault> {
    let mut plan = Plan::default();
    let mut changes: Changes = None;
    let alone = Place { sequence: None, layer: Some(layers.first) };
    if call.shape_of(alone.own(Name::X)).is_some() {
        if let [layer] = &layers.layers[..] {
            attention::add(&mut plan, call, &layer.attention, alone, &mut changes)?;
        }
        return Ok(plan);
    }
    let mut stream = match &layers.start {
        None => needed(&mut plan, call, Name::Embedding.into())?,
        Some(start) => embedding(&mut plan, call, start)?,
    };
    let mut before: Option<&Attention> = None;
    for (number, layer) in layers.layers.iter().enumerate() {
        if before != Some(&layer.attention) {
            changes = None;
        }
        before = Some(&layer.attention);
        stream = add_layer(&mut plan, call, layers, (layers.first + number, layer), stream, &mut changes)?;
    }
    if let Some(norm) = &layers.last {
        plan.add(Name::Final.into(), norm.clone(), &[stream])?;
    }
    Ok(plan)
}

/// What the layers start from (n × d_model), put together.
fn embedding(plan: &mut Plan, call: &Call, start: &Start) -> Result<StepId, Fault> {
    let tokens = needed(plan, call, Name::Embed(EmbedStep::Tokens).into())?;
    let mut parts = vec![tokens];
    for step in [EmbedStep::Segments, EmbedStep::Positions] {
        parts.extend(given(plan, call, Name::Embed(step).into())?);
    }
    let sum: StepId = match parts[..] {
        [tokens] => tokens,
        [a, b] => plan.add(Name::Embed(EmbedStep::Sum).into(), Add, &[a, b])?,
        // Words and segments first, then positions: the order of the reference implementation.
        [a, b, c, ..] => plan.add(Name::Embed(EmbedStep::Sum).into(), Add, &[a, b, c])?,
        [] => tokens,
    };
    let own = Name::Embedding.into();
    match (start.scale, &start.norm) {
        (None, None) => plan.add(own, Same, &[sum]),
        (None, Some(norm)) => plan.add(own, norm.clone(), &[sum]),
        (Some(factor), norm) => {
            let times = Times { factor: Scale::Given(factor), d_k: 1 };
            match norm {
                None => plan.add(own, times, &[sum]),
                Some(norm) => {
                    let scaled = plan.add(Name::Embed(EmbedStep::Scaled).into(), times, &[sum])?;
                    plan.add(own, norm.clone(), &[scaled])
                }
            }
        }
    }
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
    let before = |norm| match layers.norm {
        NormPlace::Pre | NormPlace::Around | NormPlace::Parallel => Some(norm),
        NormPlace::Post | NormPlace::None => None,
    };
    let post = |norm| (layers.norm == NormPlace::Post).then_some(norm);
    let [of_found, of_ffn_found] = match (&layer.found_norms, layers.norm) {
        (Some([attention, ffn]), NormPlace::Around) => [Some(attention), Some(ffn)],
        _ => [None, None],
    };

    normed(plan, own(Name::X), before(of_attention), stream)?;
    let mut found = attention::add(plan, call, &layer.attention, place, changes)?;
    if let Some(norm) = of_found {
        found = normed(plan, own(Name::OutputNorm), Some(norm), found)?;
    }
    let mut after = added(plan, own(Name::AttentionResidual), layers, [stream, found])?;
    if let Some(norm) = post(of_attention) {
        after = normed(plan, own(Name::AttentionNorm), Some(norm), after)?;
    }
    let Some(network) = layer.feed_forward else { return plan.add(own(Name::Hidden), Same, &[after]) };

    let read = if layers.norm == NormPlace::Parallel { stream } else { after };
    let x = normed(plan, ffn(FfnStep::X), before(of_ffn), read)?;
    let bent = if network.is_gated {
        let gate = project(plan, call, place, (FfnStep::Gate, x), [FfnStep::WGate, FfnStep::BGate])?; // n × d_ff
        let open = plan.add(ffn(FfnStep::Activation), network.activation, &[gate])?;
        let up = project(plan, call, place, (FfnStep::Up, x), [FfnStep::W1, FfnStep::B1])?; // n × d_ff
        plan.add(ffn(FfnStep::Product), Multiply, &[open, up])?
    } else {
        let up = project(plan, call, place, (FfnStep::Up, x), [FfnStep::W1, FfnStep::B1])?; // n × d_ff
        plan.add(ffn(FfnStep::Activation), network.activation, &[up])?
    };
    let mut found = project(plan, call, place, (FfnStep::Output, bent), [FfnStep::W2, FfnStep::B2])?; // n × d_model
    if let Some(norm) = of_ffn_found {
        found = normed(plan, ffn(FfnStep::OutputNorm), Some(norm), found)?;
    }
    let sum = added(plan, ffn(FfnStep::Residual), layers, [after, found])?;
    normed(plan, own(Name::Hidden), post(of_ffn), sum)
}

/// The norm of a step under another name, or the step itself under that name where there is no norm.
fn normed(plan: &mut Plan, id: StepId, norm: Option<&Norm>, of: StepId) -> Result<StepId, Fault> {
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
