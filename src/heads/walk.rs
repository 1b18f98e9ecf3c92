//! A model run layer by layer: of each layer only what is looked at is held, and only while it is looked at.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use nalgebra::DMatrix;

use crate::fault::Outcome;
use crate::model::Task;
use crate::model::task::arithmetic;
use crate::ops::Given;
use crate::plan::{Plan, Source, Step, StepId};
use crate::trace::{Keep, Trace, run_plan};

/// Runs a task, and shows each layer's trace with the steps that are wanted of it, layer after layer (from 0).
///
/// # Errors
/// The checkpoint cannot be read; numbers that overflow; what `see` refuses.
pub(super) fn layers(
    task: &Task<'_>,
    wanted: impl Fn(usize) -> Vec<StepId>,
    mut see: impl FnMut(usize, &Trace<f32>) -> Outcome<()>,
) -> Outcome<()> {
    let Some(stack) = &task.call.layers else { return Ok(()) };
    let last_reader = crossings(&task.plan);
    let mut held: HashMap<StepId, Arc<DMatrix<f32>>> = HashMap::new();
    let numbers = stack.first..stack.first + stack.layers.len();
    for part in std::iter::once(None).chain(numbers.map(Some)) {
        let plan = Arc::new(part_of(&task.plan, part));
        let read_later =
            |id: &StepId| last_reader.get(id).is_some_and(|last| part.is_none_or(|part| *last > part));
        let handed: Vec<StepId> =
            plan.steps().iter().map(|step| step.id).filter(|id| id.layer == part && read_later(id)).collect();
        let mut keep: HashSet<StepId> = handed.iter().copied().collect();
        keep.extend(part.into_iter().flat_map(&wanted).filter(|id| plan.get(*id).is_some()));
        let source = Carried { task, held: &held };
        let trace = run_plan(plan, &source, &Keep::Only(keep), arithmetic())?;
        held.retain(|id, _| read_later(id));
        for id in handed {
            if let Some(value) = trace.get(id) {
                held.insert(id, Arc::new(value.into_owned()));
            }
        }
        if let Some(layer) = part {
            see(layer, &trace)?;
        }
    }
    Ok(())
}

/// Steps that another layer's steps read, and the last layer that does.
fn crossings(plan: &Plan) -> HashMap<StepId, usize> {
    let mut last_reader = HashMap::new();
    for step in plan.steps() {
        let Some(layer) = step.id.layer else { continue };
        for input in step.inputs.iter().filter(|input| input.layer != Some(layer)) {
            let last = last_reader.entry(*input).or_insert(layer);
            *last = layer.max(*last);
        }
    }
    last_reader
}

/// The steps of one layer, or those before all layers; what they read of others is given.
fn part_of(plan: &Plan, part: Option<usize>) -> Plan {
    let mut own = Plan::default();
    for step in plan.steps().iter().filter(|step| step.id.layer == part) {
        let missing = step.inputs.iter().filter(|input| own.get(**input).is_none());
        let missing: Vec<&Step> = missing.filter_map(|input| plan.get(*input)).collect();
        // What comes after the layers (the last norm) is looked at by nobody here.
        if part.is_none() && !missing.is_empty() {
            continue;
        }
        for given in missing {
            own.push(Step { op: Given { shape: given.shape }.into(), inputs: Vec::new(), ..given.clone() });
        }
        own.push(step.clone());
    }
    own
}

/// A task's matrices, and what earlier layers handed on.
struct Carried<'a, 'm> {
    task: &'a Task<'m>,
    held: &'a HashMap<StepId, Arc<DMatrix<f32>>>,
}

impl Source<f32> for Carried<'_, '_> {
    fn matrix(&self, id: StepId) -> Outcome<Option<Arc<DMatrix<f32>>>> {
        match self.held.get(&id) {
            Some(value) => Ok(Some(value.clone())),
            None => self.task.matrix(id),
        }
    }
}
