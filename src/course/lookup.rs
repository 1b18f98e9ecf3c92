//! The numbers of a step in a run: its own, or those of all heads one above the other.

use nalgebra::DMatrix;

use super::Ran;
use crate::fault::nearest;
use crate::ops::View;
use crate::plan::{Head, HeadStep, Name, StepId};

impl Ran {
    /// The numbers of a step. In a batch, a step without a sequence is that of sequence 1; the name of a stack means all
    /// heads' steps, one above the other (keys and values of shared heads once).
    ///
    /// # Errors
    /// There is no such step. In words.
    pub fn value(&self, id: StepId) -> Result<DMatrix<f64>, String> {
        if let Some(view) = self.view(id) {
            return Ok(view.into_owned());
        }
        let stacked = match id.name {
            Name::Stack(stack) => self.stacked(id, stack.of_a_head()),
            _ => None,
        };
        stacked.ok_or_else(|| self.no_step(id))
    }

    /// The shape of a step, without its numbers.
    ///
    /// # Errors
    /// There is no such step. In words.
    pub fn shape(&self, id: StepId) -> Result<(usize, usize), String> {
        match self.view(id) {
            Some(view) => Ok(view.shape()),
            None => self.value(id).map(|value| value.shape()),
        }
    }

    /// A step as the plan has it, where it has it.
    pub fn view(&self, id: StepId) -> Option<View<'_, f64>> {
        self.trace.get(id).or_else(|| self.trace.get(self.placed(id)))
    }

    /// The step that is meant: in a batch, that of sequence 1 where none is named.
    pub fn placed(&self, id: StepId) -> StepId {
        match self.problem.batch {
            Some(_) if id.sequence.is_none() && self.plan.get(id).is_none() => id.in_sequence(Some(0)),
            _ => id,
        }
    }

    /// The steps that a name stands for: itself, or every head's of a stack; none where there is no such step.
    pub fn sheets(&self, id: StepId) -> Vec<StepId> {
        let placed = self.placed(id);
        if self.view(placed).is_some() {
            return vec![placed];
        }
        let Name::Stack(stack) = id.name else { return Vec::new() };
        let of_head = |head: usize| StepId { name: Name::Head(Head(head), stack.of_a_head()), ..id };
        (0..self.problem.attention.num_heads)
            .map(|head| self.placed(of_head(head)))
            .filter(|id| self.view(*id).is_some())
            .collect()
    }

    fn stacked(&self, id: StepId, step: HeadStep) -> Option<DMatrix<f64>> {
        let shared =
            matches!(step, HeadStep::K | HeadStep::V | HeadStep::KNorm | HeadStep::KRot | HeadStep::VRot);
        let heads: Vec<usize> = match shared {
            true => self.kv_sheets.clone(),
            false => (0..).take_while(|head| self.view(of_head(id, *head, step)).is_some()).collect(),
        };
        let views: Vec<View<'_, f64>> =
            heads.iter().map(|head| self.view(of_head(id, *head, step))).collect::<Option<_>>()?;
        let (rows, columns) = views.first()?.shape();
        if views.iter().any(|view| view.shape() != (rows, columns)) {
            return None;
        }
        Some(DMatrix::from_fn(rows * views.len(), columns, |row, column| {
            views[row / rows.max(1)][(row % rows.max(1), column)]
        }))
    }

    fn no_step(&self, id: StepId) -> String {
        let names: Vec<String> = self.plan.steps().iter().map(|step| step.id.to_string()).collect();
        match nearest(&id.to_string(), names.iter().map(String::as_str)) {
            Some(near) => format!("there is no step {id}; did you mean {near}?"),
            None => format!("there is no step {id}"),
        }
    }
}

/// The step of one head beside another one of the same call.
fn of_head(id: StepId, head: usize, step: HeadStep) -> StepId {
    StepId { name: Name::Head(Head(head), step), ..id }
}
