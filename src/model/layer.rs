//! The attention of one layer of a model as a problem of its own, for whatever works on a lesson.

use std::collections::HashSet;
use std::sync::Arc;

use super::Task;
use crate::fault::{Fault, Outcome};
use crate::lesson::{Labels, Problem};
use crate::plan::{Attention, Call, Inputs, Layers, Name, NormPlace, Projection, Shapes, StepId, names};
use crate::trace::Trace;
use crate::words::{self, t};

/// Whether a layer keeps its number in the names of its steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// `layer.3.head.5.scores`, as in the whole model.
    InTheModel,
    /// `head.5.scores`, as in a lesson that is one attention call: for what works on single calls only.
    Alone,
}

/// `layer 3 head 5 (L2H4)`: as people count, and as other tools name it.
pub fn head_title(layer: usize, head: usize) -> String {
    t!("layer %{layer} head %{head} (L%{l}H%{h})", layer = layer + 1, head = head + 1, l = layer, h = head)
}

impl Task<'_> {
    /// How many layers the model has.
    pub fn num_layers(&self) -> usize {
        self.call.layers.as_ref().map_or(0, |stack| stack.layers.len())
    }

    /// The attention of a layer.
    ///
    /// # Errors
    /// There is no such layer.
    pub fn attention(&self, layer: usize) -> Outcome<&Attention> {
        let all = self.num_layers();
        let found = self.call.layers.as_ref().and_then(|stack| stack.layers.get(layer));
        found.map(|layer| &layer.attention).ok_or_else(|| {
            Fault::new(
                format!("there is no layer {}", layer.saturating_add(1)),
                format!("{} has {all}, counted from 1", self.model.name),
                format!("choose from 1 to {all}"),
            )
            .in_source("--layer")
            .into()
        })
    }

    /// The steps of a layer, in order; without the learned matrices.
    pub fn steps_of(&self, layer: usize) -> Vec<StepId> {
        let computed = |id: &StepId| id.layer == Some(layer) && !names::is_learned(id.name);
        self.plan.ids().into_iter().filter(computed).collect()
    }

    /// What every layer's attention reads, and all that its attention computes: what [`Task::problem`] needs.
    pub fn input_of(&self, layer: usize) -> StepId {
        StepId::from(Name::X).in_layer(Some(layer))
    }

    /// The attention of one layer as a problem of its own, in double precision: what it reads is given, as the layers
    /// before it made it.
    ///
    /// # Errors
    /// The layer's matrices cannot be read; the trace does not hold what the layer reads.
    pub fn problem(&self, layer: usize, trace: &Trace<f32>, naming: Naming) -> Outcome<Problem> {
        let attention = self.attention(layer)?.clone();
        let own = |name: Name| StepId::from(name).in_layer(Some(layer));
        let named = |name: Name| match naming {
            Naming::InTheModel => own(name),
            Naming::Alone => StepId::from(name),
        };
        let mut inputs = Inputs::new();
        let x = trace.get(self.input_of(layer)).ok_or_else(|| {
            Fault::new(format!("{} was not computed", self.input_of(layer)), "", "keep it in the trace")
        })?;
        inputs.insert(named(Name::X), Arc::new(x.map(f64::from)));
        let blueprint = &self.model.blueprint;
        let learned = Projection::ALL.iter().flat_map(|p| [Name::W(*p), Name::B(*p)]);
        for name in learned {
            if let Some(matrix) = blueprint.matrix(&*self.model.checkpoint, own(name))? {
                inputs.insert(named(name), Arc::new(matrix.map(f64::from)));
            }
        }
        let layers = match (naming, self.call.layers.as_ref().and_then(|stack| stack.layers.get(layer))) {
            (Naming::InTheModel, Some(own)) => Some(Layers {
                first: layer,
                start: None,
                layers: vec![own.clone()],
                norm: NormPlace::None,
                residual: true,
                last: None,
            }),
            _ => None,
        };
        let call = Call { attention, layers, batch: None, inputs, elsewhere: Shapes::new() };
        Ok(self.told(
            call,
            t!("%{model}, layer %{layer} (L%{l})", model = self.model.name, layer = layer + 1, l = layer),
        ))
    }

    /// A call of this model as a problem, under a title.
    pub fn told(&self, call: Call, title: String) -> Problem {
        let tokens = &self.passage.labels;
        let labels = Labels { queries: tokens.clone(), keys: tokens.clone() };
        Problem::of_a_model(call, title, self.summary(), labels)
    }

    /// What the model is and what it reads, in a sentence.
    fn summary(&self) -> String {
        let attention = &self.call.attention;
        let family = self.model.blueprint.family;
        let (layers, heads) = (words::layers(self.num_layers()), words::heads(attention.num_heads));
        let tokens = words::tokens(self.passage.ids.len());
        match attention.num_kv_heads == attention.num_heads {
            true => t!(
                "%{family}: %{layers} of %{heads}, d_model %{d_model}, d_k %{d_k}; %{tokens}.",
                family,
                layers,
                heads,
                d_model = attention.d_model,
                d_k = attention.d_k,
                tokens
            ),
            false => t!(
                "%{family}: %{layers} of %{heads} on %{kv_heads} key/value heads, d_model %{d_model}, d_k %{d_k}; %{tokens}.",
                family,
                layers,
                heads,
                kv_heads = attention.num_kv_heads,
                d_model = attention.d_model,
                d_k = attention.d_k,
                tokens
            ),
        }
    }

    /// The steps that the attention of a layer is made of: `layer.3.x` to `layer.3.output`, matrices and all.
    pub fn attention_steps(&self, layer: usize) -> HashSet<StepId> {
        let is_attention = |name: Name| {
            matches!(
                name,
                Name::X
                    | Name::Q
                    | Name::K
                    | Name::V
                    | Name::QNorm
                    | Name::KNorm
                    | Name::Head(..)
                    | Name::Concat
                    | Name::Output
                    | Name::W(_)
                    | Name::B(_)
            )
        };
        self.plan.ids().into_iter().filter(|id| id.layer == Some(layer) && is_attention(id.name)).collect()
    }
}
