//! A stack of layers with its numbers, and parts of it as problems of their own.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use nalgebra::DMatrix;

use crate::answers::{Expected, Grain, Known};
use crate::fault::Outcome;
use crate::ops::{Arithmetic, Operation, View};
use crate::plan::{
    Call, EmbedStep, Head, HeadStep, Inputs, Layers, Name, NormPlace, Plan, Projection, Shapes, Source,
    Stack, StepId, names,
};
use crate::trace::{Keep, Trace, run_plan};

/// A stack of layers, and where its numbers are.
///
/// They are computed in double precision, also those of a model: all the noise in a comparison is then the other side's.
#[derive(Clone, Copy)]
pub struct Whole<'a> {
    /// The stack.
    pub call: &'a Call,
    /// Every step of it.
    pub plan: &'a Arc<Plan>,
    /// Embeddings and learned matrices.
    pub source: &'a dyn Source<f64>,
}

impl Whole<'_> {
    /// The steps that can be handed over, heads stacked.
    pub fn known(&self) -> Known {
        let mut known = Known { layers: vec![Vec::new(); self.num_layers()], outside: Vec::new() };
        for id in self.plan.ids().into_iter().filter(|id| !names::is_learned(id.name)) {
            let name = match id.name {
                Name::Head(Head(0), step) => {
                    let stack = Stack::ALL.iter().find(|stack| stack.of_a_head() == step);
                    stack.map(|stack| Name::Stack(*stack))
                }
                Name::Head(..) => None,
                other => Some(other),
            };
            let place = match id.layer {
                None => Some(&mut known.outside),
                Some(layer) => known.layers.get_mut(layer),
            };
            if let (Some(name), Some(place)) = (name, place) {
                place.push(name);
            }
        }
        known
    }

    /// How many layers there are.
    pub fn num_layers(&self) -> usize {
        self.call.layers.as_ref().map_or(0, |stack| stack.layers.len())
    }

    /// The sizes of a step, and the steps of the plan that make it up: one a head where it is stacked.
    pub(super) fn sheets(&self, layer: Option<usize>, name: Name) -> Option<(Expected, Vec<StepId>)> {
        let own = |name: Name| StepId::from(name).in_layer(layer);
        let (ids, sheets) = match name {
            Name::Stack(stack) => {
                let attention = &self.call.layers.as_ref()?.layers.get(layer?)?.attention;
                let step = stack.of_a_head();
                let heads = match step {
                    HeadStep::K | HeadStep::V | HeadStep::KNorm | HeadStep::KRot => attention.kv_sheets(),
                    _ => (0..attention.num_heads).collect(),
                };
                let ids: Vec<StepId> =
                    heads.into_iter().map(|head| own(Name::Head(Head(head), step))).collect();
                let count = ids.len();
                (ids, Some(count))
            }
            name => (vec![own(name)], None),
        };
        let (rows, columns) = self.plan.get(*ids.first()?)?.shape;
        Some((Expected { batch: None, sheets, rows, columns }, ids))
    }

    /// Runs the stack as far as these steps need.
    pub(super) fn run(&self, keep: HashSet<StepId>) -> Outcome<Trace<f64>> {
        run_plan(self.plan.clone(), self.source, &Keep::Only(keep), self.arithmetic())
    }

    /// Threads only where there is work for them.
    pub(super) fn arithmetic(&self) -> Arithmetic {
        let work: usize = self.plan.steps().iter().map(|step| step.shape.0 * step.shape.1).sum();
        match work > LARGE {
            true => Arithmetic::Fast { threads: std::thread::available_parallelism().map_or(1, usize::from) },
            false => Arithmetic::Fast { threads: 1 },
        }
    }

    /// By how much each of these steps is off when every step on the way to it, and every learned matrix, is rounded.
    ///
    /// # Errors
    /// Inputs that cannot be read.
    pub(super) fn noise(&self, grain: Grain, exact: &Trace<f64>) -> Outcome<HashMap<StepId, f64>> {
        let (steps, arithmetic) = (self.plan.steps(), self.arithmetic());
        let mut last_use: HashMap<StepId, usize> = HashMap::new();
        for (place, step) in steps.iter().enumerate() {
            last_use.extend(step.inputs.iter().map(|input| (*input, place)));
        }
        let typed = matches!(grain, Grain::Decimals(_) | Grain::Significant(_));
        let mut rounded: HashMap<StepId, DMatrix<f64>> = HashMap::new();
        let mut noise = HashMap::new();
        for (place, step) in steps.iter().enumerate() {
            let is_given = step.inputs.is_empty();
            let mut value = if is_given {
                match self.source.matrix(step.id)? {
                    Some(given) => (*given).clone(),
                    None => continue,
                }
            } else {
                let views: Vec<View<'_, f64>> =
                    step.inputs.iter().filter_map(|id| rounded.get(id).map(DMatrix::as_view)).collect();
                if views.len() != step.inputs.len() {
                    continue;
                }
                step.op.compute(&views, arithmetic)
            };
            // What was typed into a lesson is exact; what a program reads is held in its own precision.
            if !(is_given && typed) {
                value.apply(|cell| *cell = grain.round(*cell));
            }
            if let Some(exact) = exact.get(step.id) {
                let apart = value.iter().zip(exact.iter()).map(|(rounded, exact)| (rounded - exact).abs());
                noise.insert(step.id, apart.filter(|apart| apart.is_finite()).fold(0.0, f64::max));
            }
            rounded.insert(step.id, value);
            for input in &step.inputs {
                if last_use.get(input) == Some(&place) {
                    rounded.remove(input);
                }
            }
        }
        Ok(noise)
    }

    /// One layer as a stack of its own that starts from what it is given; with the norm after the last one, where it is
    /// the last. `None`: what the layers start from.
    ///
    /// # Errors
    /// Inputs that cannot be read.
    pub(super) fn part(&self, layer: Option<usize>, stream: Option<Arc<DMatrix<f64>>>) -> Outcome<Call> {
        let stack = self.call.layers.as_ref();
        let own = layer.and_then(|layer| stack?.layers.get(layer)).cloned();
        let is_last = layer.is_some_and(|layer| layer + 1 == self.num_layers());
        let layers = Layers {
            first: layer.unwrap_or(0),
            start: if layer.is_none() { stack.and_then(|stack| stack.start.clone()) } else { None },
            layers: own.clone().into_iter().collect(),
            norm: stack.map_or(NormPlace::None, |stack| stack.norm),
            residual: stack.is_none_or(|stack| stack.residual),
            last: if is_last { stack.and_then(|stack| stack.last.clone()) } else { None },
        };
        let mut inputs = Inputs::new();
        for step in self.plan.steps().iter().filter(|step| step.inputs.is_empty()) {
            let is_of_the_start = matches!(
                step.id.name,
                Name::Embed(EmbedStep::Tokens | EmbedStep::Positions | EmbedStep::Segments)
            );
            let is_own = match layer {
                Some(_) => step.id.layer == layer,
                None => step.id.layer.is_none() && (is_of_the_start || step.id.name == Name::Embedding),
            };
            if is_own && let Some(matrix) = self.source.matrix(step.id)? {
                inputs.insert(step.id, matrix);
            }
        }
        inputs.extend(stream.map(|stream| (Name::Embedding.into(), stream)));
        let attention = own.map_or_else(|| self.call.attention.clone(), |layer| layer.attention);
        Ok(Call { attention, layers: Some(layers), batch: None, inputs, elsewhere: Shapes::new() })
    }
}

/// The attention of a part that is one layer, as a call of its own that reads `x`.
pub(super) fn alone(part: &Call, layer: usize, x: DMatrix<f64>) -> Call {
    let learned = Projection::ALL.iter().flat_map(|p| [Name::W(*p), Name::B(*p)]);
    let mut inputs: Inputs = learned
        .filter_map(|name| {
            let matrix = part.inputs.get(&StepId::from(name).in_layer(Some(layer)))?;
            Some((name.into(), matrix.clone()))
        })
        .collect();
    inputs.insert(Name::X.into(), Arc::new(x));
    Call { attention: part.attention.clone(), layers: None, batch: None, inputs, elsewhere: Shapes::new() }
}

/// From so many numbers in a plan on, products are worth several threads.
const LARGE: usize = 1 << 18;
