//! What is lost when every step of a computation is rounded.

use std::collections::HashMap;

use nalgebra::DMatrix;

use super::bench::Own;
use super::court::Court;
use super::draft::Wrong;
use crate::answers::Grain;
use crate::ops::{Arithmetic, Operation, View};
use crate::plan::{Name, StepId};

impl Court<'_> {
    /// By how much each exhibit's step of the right computation is off when every step is rounded, and its largest
    /// number.
    pub(super) fn chain(&mut self, grain: Grain) -> HashMap<Name, (f64, f64)> {
        let right = self.right.clone();
        let typed = matches!(grain, Grain::Decimals(_) | Grain::Significant(_));
        let mut rounded: HashMap<StepId, DMatrix<f64>> = HashMap::new();
        for step in right.plan.steps() {
            let views = || -> Option<Vec<View<'_, f64>>> {
                step.inputs.iter().map(|id| rounded.get(id).map(DMatrix::as_view)).collect()
            };
            let given = self.call.inputs.get(&step.id).filter(|_| step.inputs.is_empty());
            let value = match given {
                Some(given) => Some((**given).clone()),
                None => views().map(|views| step.op.compute(&views, Arithmetic::Fast { threads: 1 })),
            };
            let Some(mut value) = value else { continue };
            // What was typed into the lesson is exact; what a program reads is held in its own precision.
            if !step.inputs.is_empty() || !typed {
                value.apply(|cell| *cell = grain.round(*cell));
            }
            rounded.insert(step.id, value);
        }
        let names: Vec<Name> = self.exhibits.iter().map(|exhibit| exhibit.tensor.name).collect();
        names.into_iter().filter_map(|name| Some((name, self.lost(&right, name, &rounded)?))).collect()
    }

    /// By how much rounded numbers of a step are off, and its largest number.
    fn lost(
        &mut self,
        right: &Wrong,
        name: Name,
        rounded: &HashMap<StepId, DMatrix<f64>>,
    ) -> Option<(f64, f64)> {
        let (_, ids) = Self::expected(right, name)?;
        let exact = self.bench.run(&right.plan, &Own::new(), &ids)?;
        let seen = self.seen_in(name, &exact);
        let mut error = 0.0_f64;
        for (id, exact) in ids.iter().zip(&exact) {
            let pairs = rounded.get(id)?.iter().zip(self.bench.get(*exact).iter());
            error = pairs
                .filter(|(rounded, exact)| !seen.both_hide(**rounded, **exact))
                .map(|(rounded, exact)| (rounded - exact).abs())
                .filter(|difference| difference.is_finite())
                .fold(error, f64::max);
        }
        Some((error, seen.largest))
    }
}
