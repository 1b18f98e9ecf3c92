//! Multi-head attention in all its variants, one line a step, in the paper's order.
//!
//! MultiHead(Q, K, V) = Concat(head₁, …, head_h) · W_O,
//! headᵢ = softmax(Qᵢ · Kᵢᵀ / √d_k) · Vᵢ (Vaswani et al. 2017, Eq. 1 and §3.2.2).

use std::rc::Rc;

use super::masks::{self, ScoreChanges};
use super::spec::{NormScope, Positions, RopeSpec};
use super::{Attention, Call, Head, HeadStep, Name, Plan, Projection, StepId};
use crate::fault::Fault;
use crate::ops::{Columns, Concat, Given, Mix, Project, RmsNorm, Rope, Scores, SinkWeight, Softcap, Softmax};
use crate::words::t;

/// The plan of an attention call: for each sequence, the projections, every head, concat, and W_O; or of the stack of
/// layers that the call is ([`super::layers::plan`]).
///
/// # Errors
/// Shapes that do not fit; a query that may attend to nothing.
pub fn plan(call: &Call) -> Result<Plan, Fault> {
    if let Some(layers) = &call.layers {
        return super::layers::plan(call, layers);
    }
    let mut plan = Plan::default();
    let mut changes: Changes = None;
    for sequence in sequences(call) {
        add(&mut plan, call, &call.attention, Place { sequence, layer: None }, &mut changes)?;
    }
    Ok(plan)
}

/// What masks and biases do to the scores of each head, once it is settled: calls that are alike share it.
pub(super) type Changes = Option<Rc<Vec<ScoreChanges>>>;

/// Where an attention call stands: in which sequence of a batch, in which layer of a stack.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) sequence: Option<usize>,
    pub(super) layer: Option<usize>,
}

impl Place {
    /// The name of a step here.
    pub(super) fn own(self, name: Name) -> StepId {
        StepId { sequence: self.sequence, layer: self.layer, name }
    }

    /// The name of what all sequences share: projections and biases.
    pub(super) fn shared(self, name: Name) -> StepId {
        self.own(name).within()
    }
}

/// The sequences of a call, as step ids name them.
pub fn sequences(call: &Call) -> Vec<Option<usize>> {
    match call.batch {
        None => vec![None],
        Some(count) => (0..count).map(Some).collect(),
    }
}

/// Attention at a place, and the name of what it gives: the output, or concat where there is no W_O.
///
/// # Errors
/// Shapes that do not fit; a query that may attend to nothing.
pub(super) fn add(
    plan: &mut Plan,
    call: &Call,
    attention: &Attention,
    place: Place,
    shared: &mut Changes,
) -> Result<StepId, Fault> {
    let own = |name: Name| place.own(name);

    let x = given(plan, call, own(Name::X))?; // n_q × d_model
    let source = given(plan, call, own(Name::XKv))?.or(x); // n_kv × d_kv_model
    let q = project(plan, call, place, Name::Q, x, Projection::Q)?; // n_q × h·d_k
    let k = project(plan, call, place, Name::K, source, Projection::K)?; // n_kv × g·d_k
    let v = project(plan, call, place, Name::V, source, Projection::V)?; // n_kv × g·d_v

    let (q, k) = match &attention.qk_norm {
        Some(norm) if norm.scope == NormScope::Full => (
            plan.add(own(Name::QNorm), RmsNorm { eps: norm.eps, gain: norm.q_gain.clone() }, &[q])?,
            plan.add(own(Name::KNorm), RmsNorm { eps: norm.eps, gain: norm.k_gain.clone() }, &[k])?,
        ),
        _ => (q, k),
    };

    let rows = |id| plan.get(id).map_or(0, |step| step.shape.0);
    let changes = match shared.take().filter(|_| !masks::differs_by_sequence(attention)) {
        Some(changes) => changes,
        None => Rc::new(masks::resolve(attention, rows(q), rows(k), place.sequence)?),
    };
    *shared = Some(changes.clone());
    let mut outputs = Vec::with_capacity(attention.num_heads);
    for (head, changes) in changes.iter().enumerate() {
        outputs.push(add_head(plan, attention, Head(head), place, [q, k, v], changes)?); // n_q × d_v
    }
    let concat = plan.add(own(Name::Concat), Concat, &outputs)?; // n_q × h·d_v
    if call.shape_of(place.shared(Name::W(Projection::O))).is_some() {
        return project(plan, call, place, Name::Output, Some(concat), Projection::O); // n_q × d_model
    }
    plan.note(
        concat,
        match place.layer {
            Some(_) => t!("There is no W_O: this is what attention gives."),
            None => t!("There is no W_O: this is the result."),
        },
    );
    Ok(concat)
}

/// head = softmax(Q · Kᵀ · scale) · V for one head, with everything that a variant puts in between.
fn add_head(
    plan: &mut Plan,
    attention: &Attention,
    head: Head,
    place: Place,
    [q, k, v]: [StepId; 3],
    changes: &ScoreChanges,
) -> Result<StepId, Fault> {
    let Attention { d_k, d_v, .. } = *attention;
    let own = |step| place.own(Name::Head(head, step));
    let kv_head = attention.kv_head(head.0);
    let block = |at: usize, width| Columns { from: at * width, width };

    let mut q = plan.add(own(HeadStep::Q), block(head.0, d_k), &[q])?; // n_q × d_k
    let mut k = plan.add(own(HeadStep::K), block(kv_head, d_k), &[k])?; // n_kv × d_k
    let v = plan.add(own(HeadStep::V), block(kv_head, d_v), &[v])?; // n_kv × d_v
    note_sharing(plan, attention, head, [k, v]);
    let repeats = head.0 > 0 && attention.kv_head(head.0 - 1) == kv_head;

    if let Some(norm) = attention.qk_norm.as_ref().filter(|norm| norm.scope == NormScope::Head) {
        q = plan.add(own(HeadStep::QNorm), RmsNorm { eps: norm.eps, gain: norm.q_gain.clone() }, &[q])?;
        k = plan.add(own(HeadStep::KNorm), RmsNorm { eps: norm.eps, gain: norm.k_gain.clone() }, &[k])?;
        plan.repeats(k, repeats);
    }
    if let Positions::Rope(rope) = &attention.positions {
        q = plan.add(own(HeadStep::QRot), turn(rope, &rope.q_positions), &[q])?;
        k = plan.add(own(HeadStep::KRot), turn(rope, &rope.k_positions), &[k])?;
        plan.repeats(k, repeats);
    }

    let mut scores = plan.add(own(HeadStep::Scores), Scores { scale: attention.scale, d_k }, &[q, k])?; // n_q × n_kv
    if let Some(cap) = attention.softcap {
        scores = plan.add(own(HeadStep::CappedScores), Softcap { cap }, &[scores])?;
    }
    if let Some(bias) = &changes.bias {
        scores = plan.add(own(HeadStep::BiasedScores), bias.clone(), &[scores])?;
    }
    if let Some(mask) = &changes.mask {
        scores = plan.add(own(HeadStep::MaskedScores), mask.clone(), &[scores])?;
    }
    let sink = attention.sinks.as_ref().and_then(|sinks| sinks.get(head.0)).copied();
    let softmax = Softmax { empty_rows: attention.fully_masked_rows, sink };
    let weights = plan.add(own(HeadStep::Weights), softmax, &[scores])?; // rows sum to 1
    if let Some(sink) = sink {
        plan.add(own(HeadStep::SinkWeight), SinkWeight { sink }, &[scores])?; // n_q × 1
    }
    plan.add(own(HeadStep::Output), Mix, &[weights, v]) // n_q × d_v
}

fn turn(rope: &RopeSpec, positions: &[f64]) -> Rope {
    let RopeSpec { theta, layout, dims, .. } = *rope;
    Rope { theta, layout, dims, scaling: rope.scaling.clone(), positions: positions.into() }
}

/// With fewer key/value heads than query heads, says whose keys and values a head reads.
fn note_sharing(plan: &mut Plan, attention: &Attention, head: Head, ids: [StepId; 2]) {
    if attention.num_kv_heads == attention.num_heads {
        return;
    }
    let group = attention.num_heads / attention.num_kv_heads.max(1);
    let kv_head = attention.kv_head(head.0);
    let (first, last) = (kv_head * group + 1, (kv_head + 1) * group);
    let kv_head = kv_head + 1;
    let note = match last == first + 1 {
        true => t!(
            "This is key/value head %{kv_head}, shared by query heads %{first} and %{last}.",
            kv_head,
            first,
            last
        ),
        false => t!(
            "This is key/value head %{kv_head}, shared by query heads %{first} to %{last}.",
            kv_head,
            first,
            last
        ),
    };
    for id in ids {
        plan.note(id, note.clone());
    }
}

/// The step of that name: one that is there already (sequences share the projections, and a layer's input was computed),
/// or a matrix that was given.
pub(super) fn given(plan: &mut Plan, call: &Call, id: StepId) -> Result<Option<StepId>, Fault> {
    if plan.get(id).is_some() {
        return Ok(Some(id));
    }
    let Some(shape) = call.shape_of(id) else { return Ok(None) };
    plan.add(id, Given { shape }, &[]).map(Some)
}

/// X · W + b; or what was given under that name, already projected.
fn project(
    plan: &mut Plan,
    call: &Call,
    place: Place,
    name: Name,
    x: Option<StepId>,
    projection: Projection,
) -> Result<StepId, Fault> {
    let id = place.own(name);
    if let Some(id) = given(plan, call, id)? {
        return Ok(id);
    }
    let missing = |what: StepId| {
        Fault::new(
            format!("{id} needs {what}, which was not given"),
            "queries, keys and values are x times their projections, unless q, k, v are given themselves",
            format!("give {what}"),
        )
    };
    let x = x.ok_or_else(|| missing(place.shared(Name::X)))?;
    let w = place.shared(Name::W(projection));
    let w = given(plan, call, w)?.ok_or_else(|| missing(w))?;
    let bias = given(plan, call, place.shared(Name::B(projection)))?;
    let inputs: Vec<StepId> = [x, w].into_iter().chain(bias).collect();
    plan.add(id, Project, &inputs)
}
