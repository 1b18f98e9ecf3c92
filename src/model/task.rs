//! A model and a text: the plan of all its layers, and where its numbers are.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use nalgebra::DMatrix;

use super::{Model, Passage};
use crate::fault::{Faults, Outcome};
use crate::ops::Arithmetic;
use crate::plan::{Call, EmbedStep, Inputs, Name, Plan, Shapes, Source, StepId, attention};
use crate::trace::{Keep, Trace, run_plan};

/// A model about to read a passage.
pub struct Task<'m> {
    /// The model.
    pub model: &'m Model,
    /// The passage.
    pub passage: Passage,
    /// The stack of its layers; shapes only, the numbers stand in the checkpoint.
    pub call: Call,
    /// Every step.
    pub plan: Arc<Plan>,
}

impl<'m> Task<'m> {
    /// The plan of a model on a passage; of the checkpoint only shapes are looked at.
    ///
    /// # Errors
    /// Tensors that are missing or have other shapes than the config says.
    pub fn new(model: &'m Model, passage: Passage) -> Outcome<Self> {
        let blueprint = &model.blueprint;
        let checkpoint = &*model.checkpoint;
        let n = passage.ids.len();
        let mut elsewhere = Shapes::new();
        for (id, stored) in &blueprint.matrices {
            elsewhere.insert(*id, stored.shape(checkpoint)?);
        }
        let width = checkpoint.shape(&blueprint.embeddings.tokens)?.get(1).copied().unwrap_or(0);
        let parts = [
            (EmbedStep::Tokens, true),
            (EmbedStep::Positions, blueprint.embeddings.positions.is_some()),
            (EmbedStep::Segments, blueprint.embeddings.segments.is_some()),
        ];
        for (step, _) in parts.into_iter().filter(|(_, there)| *there) {
            elsewhere.insert(Name::Embed(step).into(), (n, width));
        }
        let layers = blueprint.layers(n);
        let attention = layers.layers.first().map(|layer| layer.attention.clone());
        let attention = attention.unwrap_or_else(|| crate::plan::Attention::multi_head(width, 1));
        let call = Call { attention, layers: Some(layers), batch: None, inputs: Inputs::new(), elsewhere };
        let plan =
            attention::plan(&call).map_err(|fault| Faults::from(fault.in_source(checkpoint.source())))?;
        Ok(Self { model, passage, call, plan: Arc::new(plan) })
    }

    /// Runs the plan as far as these steps need, and keeps them.
    ///
    /// # Errors
    /// The checkpoint cannot be read; numbers that overflow.
    pub fn run(&self, keep: HashSet<StepId>) -> Outcome<Trace<f32>> {
        run_plan(self.plan.clone(), self, &Keep::Only(keep), arithmetic())
    }

    /// Rows of one of the embedding's tensors.
    fn embedded(&self, step: EmbedStep) -> Outcome<Option<Arc<DMatrix<f32>>>> {
        let embeddings = &self.model.blueprint.embeddings;
        let ids = &self.passage.ids;
        let positions = embeddings.position_rows(ids);
        let (tensor, rows): (&str, Vec<usize>) = match (step, positions, &embeddings.segments) {
            (EmbedStep::Tokens, ..) => (&embeddings.tokens, ids.iter().map(|id| *id as usize).collect()),
            (EmbedStep::Positions, Some((tensor, rows)), _) => (tensor, rows),
            (EmbedStep::Segments, _, Some(tensor)) => (tensor, self.passage.segments.clone()),
            _ => return Ok(None),
        };
        // Rows that follow each other are read at once, those that come again only once.
        let mut known: HashMap<usize, Vec<f32>> = HashMap::new();
        for run in rows.chunk_by(|row, next| row + 1 == *next) {
            let [first, ..] = run else { continue };
            if known.contains_key(first) && run.len() == 1 {
                continue;
            }
            let numbers = self.model.checkpoint.rows(tensor, *first..first + run.len())?;
            let width = (numbers.len() / run.len()).max(1);
            known.extend(run.iter().copied().zip(numbers.chunks(width).map(<[f32]>::to_vec)));
        }
        let embedded: Vec<&[f32]> = rows.iter().filter_map(|row| known.get(row)).map(Vec::as_slice).collect();
        let width = embedded.first().map_or(0, |row| row.len());
        Ok(Some(Arc::new(DMatrix::from_fn(embedded.len(), width, |row, column| embedded[row][column]))))
    }
}

impl Source<f32> for Task<'_> {
    fn matrix(&self, id: StepId) -> Outcome<Option<Arc<DMatrix<f32>>>> {
        match id.name {
            Name::Embed(step) => self.embedded(step),
            _ => self.model.blueprint.matrix(&*self.model.checkpoint, id),
        }
    }
}

/// The processor's widest units, on all its cores.
pub fn arithmetic() -> Arithmetic {
    Arithmetic::Fast { threads: std::thread::available_parallelism().map_or(1, usize::from) }
}
