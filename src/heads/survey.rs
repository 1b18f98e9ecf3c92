//! What every head of a model does on some texts.

use nalgebra::DMatrix;

use super::role::{Role, roles};
use super::tally::{Marks, Sight, Tally};
use super::{Measure, walk};
use crate::fault::{Fault, Outcome, visible};
use crate::limits::SURVEYED_WEIGHTS;
use crate::model::{Model, Passage, Task};
use crate::ops::Op;
use crate::plan::{Head, HeadStep, Name, Projection, StepId};
use crate::trace::Trace;

/// What is taken for a head's attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum View {
    /// The weights.
    #[default]
    Weights,
    /// Weight · ‖value · W_O‖, each row over its sum: how much of what a query receives comes from each key (Kobayashi et
    /// al. 2020). W_O is the head's own block of rows; biases of W_O and norms that follow belong to no key.
    Norms,
}

/// What one head does.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HeadSurvey {
    /// By weights.
    pub weights: Tally,
    /// By weight · norm.
    pub norms: Tally,
    /// The largest weight of all.
    pub peak: Option<Peak>,
}

/// A single weight, and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Peak {
    /// The weight.
    pub weight: f64,
    /// The text, the query and the key, all from 0.
    pub place: [usize; 3],
    /// The query's and the key's token, safe to show.
    pub tokens: [String; 2],
}

/// What the heads of one layer do.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LayerSurvey {
    /// What even attention to all keys that its queries see would give.
    pub even: Tally,
    /// Head by head.
    pub heads: Vec<HeadSurvey>,
}

/// What every head of a model does on the texts that it was shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Survey {
    /// The model's name.
    pub model: String,
    /// Its family.
    pub family: &'static str,
    /// Whether a query sees only what stands before it.
    pub is_causal: bool,
    /// Whether the norms are those of value · W_O; of the value alone where there is no W_O.
    pub has_output_projection: bool,
    /// Layer by layer.
    pub layers: Vec<LayerSurvey>,
    /// How many texts.
    pub texts: usize,
    /// How many tokens in all of them.
    pub tokens: usize,
}

impl Survey {
    /// A survey of a model that has seen no text yet.
    pub fn new(model: &Model) -> Self {
        Self {
            model: model.name.clone(),
            family: model.blueprint.family,
            is_causal: model.blueprint.is_causal,
            has_output_projection: true,
            layers: Vec::new(),
            texts: 0,
            tokens: 0,
        }
    }

    /// Refuses a text whose maps hold more weights than a survey may go through; nothing is allocated for them before.
    ///
    /// # Errors
    /// layers · heads · n² is too much.
    pub fn affords(model: &Model, passage: &Passage) -> Outcome<()> {
        let n = passage.ids.len() as u128;
        let heads = model.blueprint.layers.layers.iter().map(|layer| layer.attention.num_heads as u128);
        let count = heads.sum::<u128>() * n * n;
        if count <= SURVEYED_WEIGHTS {
            return Ok(());
        }
        let what = format!("the maps of this text hold {count} weights: layers · heads · {n}²");
        let why = format!("at most {SURVEYED_WEIGHTS} are gone through");
        Err(Fault::new(what, why, "give a shorter text, or several with --texts").in_source("--text").into())
    }

    /// Runs the model on a text, and adds what its heads do there.
    ///
    /// # Errors
    /// What [`Survey::affords`] refuses; the checkpoint cannot be read; numbers that overflow.
    pub fn add(&mut self, model: &Model, passage: Passage) -> Outcome<()> {
        Self::affords(model, &passage)?;
        let task = &Task::new(model, passage)?;
        let marks = Marks::of(&task.passage);
        let first = task.call.layers.as_ref().map_or(0, |layers| layers.first);
        let heads: Vec<usize> = task.call.attentions().map(|attention| attention.num_heads).collect();
        let heads_in = |layer: usize| heads.get(layer - first).copied().unwrap_or(0);
        let wanted = |layer: usize| {
            let of_heads = (0..heads_in(layer)).flat_map(|head| {
                [HeadStep::Weights, HeadStep::V].map(|step| Name::Head(Head(head), step).into())
            });
            let own: Vec<StepId> = of_heads.chain([Name::W(Projection::O).into()]).collect();
            own.into_iter().map(|id| id.in_layer(Some(layer))).collect()
        };
        let text = self.texts;
        walk::layers(task, wanted, |layer, trace| {
            let found = layer_of(task, trace, &marks, layer, heads_in(layer), text);
            self.has_output_projection &= output_projection(trace, layer).is_some();
            if self.layers.len() <= layer - first {
                self.layers.resize_with(layer - first + 1, LayerSurvey::default);
            }
            if let Some(into) = self.layers.get_mut(layer - first) {
                into.add(found);
            }
            Ok(())
        })?;
        self.texts += 1;
        self.tokens += task.passage.ids.len();
        Ok(())
    }

    /// Every head with its layer, both from 0.
    pub fn heads(&self) -> impl Iterator<Item = (usize, usize, &HeadSurvey)> {
        self.layers.iter().enumerate().flat_map(|(layer, survey)| {
            survey.heads.iter().enumerate().map(move |(head, survey)| (layer, head, survey))
        })
    }

    /// The types of a head, the clearest first; never empty.
    pub fn roles(&self, layer: usize, head: &HeadSurvey, view: View) -> Vec<Role> {
        let even = self.layers.get(layer).map(|layer| layer.even).unwrap_or_default();
        roles(head.tally(view), &even)
    }

    /// The mean of a measure over some layers' heads and all their queries.
    pub fn mean(&self, layers: std::ops::Range<usize>, measure: Measure, view: View) -> Option<f64> {
        let mut all = Tally::default();
        for layer in self.layers.get(layers).unwrap_or_default() {
            layer.heads.iter().for_each(|head| all.add(head.tally(view)));
        }
        all.mean(measure)
    }
}

impl HeadSurvey {
    /// The tally of a view.
    pub fn tally(&self, view: View) -> &Tally {
        match view {
            View::Weights => &self.weights,
            View::Norms => &self.norms,
        }
    }

    fn add(&mut self, other: Self) {
        self.weights.add(&other.weights);
        self.norms.add(&other.norms);
        let larger = |peak: &Peak| self.peak.as_ref().is_none_or(|most| peak.weight > most.weight);
        if let Some(peak) = other.peak.filter(larger) {
            self.peak = Some(peak);
        }
    }
}

impl LayerSurvey {
    fn add(&mut self, other: Self) {
        self.even.add(&other.even);
        self.heads.resize_with(self.heads.len().max(other.heads.len()), HeadSurvey::default);
        for (into, head) in self.heads.iter_mut().zip(other.heads) {
            into.add(head);
        }
    }
}

/// `layer 3 head 5 = L2H4`: as people count, and as other tools name it. Layer and head count from 0.
pub fn both_names(layer: usize, head: usize) -> String {
    crate::words::t!(
        "layer %{layer} head %{head} = %{name}",
        layer = layer + 1,
        head = head + 1,
        name = short_name(layer, head)
    )
}

/// `L2H4`: the name that other tools use, counted from 0.
pub fn short_name(layer: usize, head: usize) -> String {
    format!("L{layer}H{head}")
}

/// What the heads of a layer do on one text; each thread takes some of them.
fn layer_of(
    task: &Task<'_>,
    trace: &Trace<f32>,
    marks: &Marks,
    layer: usize,
    heads: usize,
    text: usize,
) -> LayerSurvey {
    let mask = Name::Head(Head(0), HeadStep::MaskedScores);
    let allowed = match task.plan.get(StepId::from(mask).in_layer(Some(layer))).map(|step| &step.op) {
        Some(Op::Mask(mask)) => Some(&*mask.allowed),
        _ => None,
    };
    let sight = Sight::through(marks, allowed);
    let one = &|head: usize| head_of(task, trace, &sight, [text, layer, head]);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(heads).max(1);
    let lanes: Vec<Vec<HeadSurvey>> = std::thread::scope(|scope| {
        let lane = |first: usize| move || (first..heads).step_by(threads).map(one).collect::<Vec<_>>();
        let started: Vec<_> = (0..threads).map(|first| scope.spawn(lane(first))).collect();
        let joined = started.into_iter().map(|lane| lane.join());
        joined.map(|lane| lane.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    let mut lanes: Vec<_> = lanes.into_iter().map(Vec::into_iter).collect();
    let heads = (0..heads).map(|head| lanes[head % threads].next().unwrap_or_default()).collect();
    LayerSurvey { even: sight.even, heads }
}

fn head_of(
    task: &Task<'_>,
    trace: &Trace<f32>,
    sight: &Sight<'_>,
    [text, layer, head]: [usize; 3],
) -> HeadSurvey {
    let step = |step: HeadStep| StepId::from(Name::Head(Head(head), step)).in_layer(Some(layer));
    let Some(map) = trace.get(step(HeadStep::Weights)) else { return HeadSurvey::default() };
    let norms = trace.get(step(HeadStep::V)).map(|values| {
        let block = output_projection(trace, layer)
            .filter(|w_o| (head + 1) * values.ncols() <= w_o.nrows())
            .map(|w_o| w_o.rows(head * values.ncols(), values.ncols()).into_owned());
        match block {
            Some(block) => row_norms(&(values * block)),
            None => row_norms(&values.into_owned()),
        }
    });
    let label = |at: usize| task.passage.labels.get(at).map(|label| visible(label)).unwrap_or_default();
    HeadSurvey {
        weights: sight.measured(map, None),
        norms: norms.map(|norms| sight.measured(map, Some(&norms))).unwrap_or_default(),
        peak: sight.strongest(map).map(|(weight, query, key)| Peak {
            weight,
            place: [text, query, key],
            tokens: [label(query), label(key)],
        }),
    }
}

/// W_O of a layer (h·d_v × d_model).
fn output_projection(trace: &Trace<f32>, layer: usize) -> Option<crate::ops::View<'_, f32>> {
    trace.get(StepId::from(Name::W(Projection::O)).in_layer(Some(layer)))
}

fn row_norms(matrix: &DMatrix<f32>) -> Vec<f64> {
    let square = |x: &f32| f64::from(*x) * f64::from(*x);
    matrix.row_iter().map(|row| row.iter().map(square).sum::<f64>().sqrt()).collect()
}
