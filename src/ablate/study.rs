//! A plan and its numbers, run as it is and with heads replaced; what a replacement does not reach is computed once.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use nalgebra::DMatrix;

use super::Change;
use super::held::{Known, Remembering};
use crate::fault::{Fault, Outcome};
use crate::ops::{Arithmetic, Real};
use crate::plan::rewrites::{HeadPlace, Replacement};
use crate::plan::{Head, HeadStep, Name, Plan, Source, StepId};
use crate::trace::{Keep, measure, run_plan};

/// The attention of one layer, or of a call without layers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttentionLayer {
    /// Its number (from 0) in a stack.
    pub layer: Option<usize>,
    /// Its query heads.
    pub num_heads: usize,
    /// What it gives: `output`, or `concat` where there is no W_O.
    pub output: StepId,
}

impl AttentionLayer {
    /// One of its heads (from 0).
    pub fn head(&self, head: usize) -> HeadPlace {
        HeadPlace { layer: self.layer, head: Head(head) }
    }

    /// All of its heads.
    pub fn heads(&self) -> Vec<HeadPlace> {
        (0..self.num_heads).map(|head| self.head(head)).collect()
    }
}

/// What is left of a run with heads replaced.
#[derive(Debug, Clone)]
pub struct Ablated<T: Real> {
    /// The output of each layer that lost a head (n × d_model), the first first.
    pub outputs: Vec<(AttentionLayer, DMatrix<T>)>,
    /// What comes out at the end (n × d_model).
    pub last: DMatrix<T>,
}

/// A plan and where its numbers are.
pub struct Study<'a, T: Real> {
    plan: Arc<Plan>,
    sequence: Option<usize>,
    layers: Vec<AttentionLayer>,
    last: StepId,
    source: Remembering<'a, T>,
    /// Values of the run as it is.
    known: HashMap<StepId, Arc<DMatrix<T>>>,
    arithmetic: Arithmetic,
}

impl<'a, T: Real> Study<'a, T> {
    /// A study of one sequence of a plan.
    ///
    /// # Errors
    /// The plan has no heads.
    pub fn new(
        plan: Arc<Plan>,
        source: &'a dyn Source<T>,
        sequence: Option<usize>,
        arithmetic: Arithmetic,
    ) -> Outcome<Self> {
        let mut heads: BTreeMap<Option<usize>, usize> = BTreeMap::new();
        for id in plan.ids().into_iter().filter(|id| id.sequence == sequence) {
            if let Name::Head(head, HeadStep::Output) = id.name {
                let count = heads.entry(id.layer).or_default();
                *count = (*count).max(head.0 + 1);
            }
        }
        let output = |layer| {
            let named = |name: Name| StepId { sequence, layer, name };
            [Name::Output, Name::Concat].map(named).into_iter().find(|id| plan.get(*id).is_some())
        };
        let layers: Vec<AttentionLayer> = heads
            .into_iter()
            .filter_map(|(layer, num_heads)| {
                Some(AttentionLayer { layer, num_heads, output: output(layer)? })
            })
            .collect();
        let last = measure::result(&plan, sequence).filter(|_| !layers.is_empty());
        let last = last.ok_or_else(|| {
            Fault::new("there are no heads", "nothing can be switched off", "choose another lesson")
        })?;
        let source = Remembering::new(source);
        Ok(Self { plan, sequence, layers, last, source, known: HashMap::new(), arithmetic })
    }

    /// Every layer's attention, the first first.
    pub fn layers(&self) -> &[AttentionLayer] {
        &self.layers
    }

    /// The last step: `final`, the last layer's `hidden`, or the output of a call without layers.
    pub fn last(&self) -> StepId {
        self.last
    }

    /// The plan as it is.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// How products are computed.
    pub fn arithmetic(&self) -> Arithmetic {
        self.arithmetic
    }

    /// The layers that these heads belong to, the first first.
    ///
    /// # Errors
    /// There is no such layer, or no such head in it: with those that there are.
    pub fn of_heads(&self, heads: &[HeadPlace]) -> Outcome<Vec<AttentionLayer>> {
        for place in heads {
            let Some(layer) = self.layers.iter().find(|layer| layer.layer == place.layer) else {
                return Err(self.no_layer(*place).into());
            };
            if place.head.0 >= layer.num_heads {
                let what = match place.layer {
                    Some(layer) => {
                        format!("there is no head {} in layer {}", place.head.0.saturating_add(1), layer + 1)
                    }
                    None => format!("there is no head {}", place.head.0.saturating_add(1)),
                };
                let count = layer.num_heads;
                let why = if count == 1 {
                    "there is 1".to_owned()
                } else {
                    format!("there are {count}, counted from 1")
                };
                return Err(Fault::new(what, why, format!("choose from 1 to {count}"))
                    .in_source("--head")
                    .into());
            }
        }
        let has_one = |layer: &&AttentionLayer| heads.iter().any(|place| place.layer == layer.layer);
        Ok(self.layers.iter().filter(has_one).cloned().collect())
    }

    fn no_layer(&self, place: HeadPlace) -> Fault {
        let numbers: Vec<usize> = self.layers.iter().filter_map(|layer| layer.layer).collect();
        let fault = match (place.layer, numbers.first(), numbers.last()) {
            (Some(layer), Some(first), Some(last)) => {
                let range = format!("from {} to {}", first + 1, last + 1);
                Fault::new(
                    format!("there is no layer {}", layer.saturating_add(1)),
                    format!("the layers run {range}, counted from 1"),
                    format!("choose {range}"),
                )
            }
            (Some(_), ..) => Fault::new(
                "this is one attention call, without layers",
                "only a stack of layers has a layer to choose",
                "leave out the layer",
            ),
            (None, ..) => Fault::new(
                "no layer was named",
                format!("this is a stack of {} layers, and each has heads", numbers.len()),
                "add --layer N, or name heads as layer.1.head.2",
            ),
        };
        fault.in_source("--layer")
    }

    /// The value of a step in the run as it is.
    ///
    /// # Errors
    /// It cannot be computed.
    pub fn value(&mut self, id: StepId) -> Outcome<Arc<DMatrix<T>>> {
        self.learn(&[id])?;
        match self.known.get(&id) {
            Some(value) => Ok(value.clone()),
            None => Err(Fault::new(format!("there is no step {id}"), "", "").into()),
        }
    }

    /// A matrix that was given.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn given(&self, id: StepId) -> Outcome<Option<Arc<DMatrix<T>>>> {
        self.source.matrix(id)
    }

    /// Computes these steps of the run as it is, and keeps their values.
    ///
    /// # Errors
    /// They cannot be computed.
    pub fn learn(&mut self, ids: &[StepId]) -> Outcome<()> {
        let new: Vec<StepId> = ids.iter().copied().filter(|id| !self.known.contains_key(id)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let rest = self.plan.after(&new, |id| self.known.contains_key(&id));
        for (id, value) in self.run(rest, &new)? {
            self.known.insert(id, Arc::new(value));
        }
        Ok(())
    }

    /// What every layer reads and the last step: from these, any layer can be run again by itself.
    ///
    /// # Errors
    /// They cannot be computed.
    pub fn learn_streams(&mut self) -> Outcome<()> {
        let mut ids: Vec<StepId> =
            self.layers.clone().iter().flat_map(|layer| self.stream(layer.layer)).collect();
        ids.push(self.last);
        self.learn(&ids)
    }

    /// What a replacement of heads of these layers leaves as it is, so that it is not computed again for each.
    ///
    /// # Errors
    /// It cannot be computed.
    pub fn learn_layers(&mut self, layers: &[AttentionLayer], with: Replacement) -> Outcome<()> {
        let mut ids = vec![self.last];
        for layer in layers {
            ids.push(layer.output);
            ids.extend(self.stream(layer.layer));
            for place in layer.heads() {
                let step = |step| StepId {
                    sequence: self.sequence,
                    layer: place.layer,
                    name: Name::Head(place.head, step),
                };
                let (replaced, output) = (step(with.step()), step(HeadStep::Output));
                ids.push(output);
                let inputs = [replaced, output].into_iter().filter_map(|id| self.plan.get(id));
                let inputs = inputs.flat_map(|step| &step.inputs).filter(|input| **input != replaced);
                // Of a long text, the weights of all heads together are too many to be held.
                let fits = |id: &&StepId| {
                    let (rows, columns) = self.plan.get(**id).map_or((0, 0), |step| step.shape);
                    rows.saturating_mul(columns).saturating_mul(layer.num_heads) <= MOST_LEARNT
                };
                ids.extend(inputs.filter(fits));
            }
        }
        self.learn(&ids)
    }

    /// Lets go of what [`Study::learn_layers`] has learnt about a layer, but for what other layers read.
    pub fn forget(&mut self, layer: &AttentionLayer) {
        let streams: HashSet<StepId> =
            self.layers.iter().flat_map(|layer| self.stream(layer.layer)).chain([self.last]).collect();
        self.known.retain(|id, _| id.layer != layer.layer || streams.contains(id));
    }

    /// What a layer reads of what stands outside of it.
    fn stream(&self, layer: Option<usize>) -> Vec<StepId> {
        let of_layer = self.plan.steps().iter().filter(|step| layer.is_some() && step.id.layer == layer);
        let mut read: Vec<StepId> =
            of_layer.flat_map(|step| &step.inputs).copied().filter(|id| id.layer != layer).collect();
        read.dedup();
        read
    }

    /// The run with these heads replaced. What has been learnt about the run as it is, and is not reached, is taken over.
    ///
    /// # Errors
    /// There are no such heads; it cannot be computed.
    pub fn ablate(&self, heads: &[HeadPlace], with: Replacement) -> Outcome<Ablated<T>> {
        let layers = self.of_heads(heads)?;
        let plan = with.apply(&self.plan, heads)?;
        let changed: Vec<StepId> = heads
            .iter()
            .map(|place| StepId {
                sequence: self.sequence,
                layer: place.layer,
                name: Name::Head(place.head, with.step()),
            })
            .collect();
        let reached = plan.reached_from(&changed);
        let wanted: Vec<StepId> = layers.iter().map(|layer| layer.output).chain([self.last]).collect();
        let rest = plan.after(&wanted, |id| !reached.contains(&id) && self.known.contains_key(&id));
        let mut values: HashMap<StepId, DMatrix<T>> = self.run(rest, &wanted)?.into_iter().collect();
        let last = values.get(&self.last).cloned().unwrap_or_default();
        let outputs = layers
            .into_iter()
            .filter_map(|layer| values.remove(&layer.output).map(|value| (layer, value)))
            .collect();
        Ok(Ablated { outputs, last })
    }

    /// How far a run with heads replaced is from the run as it is: the outputs of its layers, and what comes out last.
    ///
    /// # Errors
    /// The run as it is cannot be computed.
    pub fn changes(&mut self, ablated: &Ablated<T>) -> Outcome<(Vec<Change>, Change)> {
        let mut outputs = Vec::new();
        for (layer, after) in &ablated.outputs {
            outputs.push(Change::of(&*self.value(layer.output)?, after));
        }
        Ok((outputs, Change::of(&*self.value(self.last)?, &ablated.last)))
    }

    fn run(&self, plan: Plan, wanted: &[StepId]) -> Outcome<Vec<(StepId, DMatrix<T>)>> {
        let keep = Keep::Only(wanted.iter().copied().collect());
        let trace = run_plan(
            Arc::new(plan),
            &Known { values: &self.known, rest: &self.source },
            &keep,
            self.arithmetic,
        )?;
        let value = |id: &StepId| trace.get(*id).map(|value| (*id, value.into_owned()));
        Ok(wanted.iter().filter_map(value).collect())
    }
}

/// Numbers of one kind of step that are held for the heads of a layer: 256 MiB of f32. What is beyond is computed again.
const MOST_LEARNT: usize = 1 << 26;
