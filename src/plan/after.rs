//! What is left of a plan where some of its values are known already.

use std::collections::HashSet;

use super::{Plan, Step, StepId};
use crate::ops::Given;

impl Plan {
    /// The steps that a change in these reaches: they themselves, and every step that reads one that is reached.
    pub fn reached_from(&self, changed: &[StepId]) -> HashSet<StepId> {
        let mut reached: HashSet<StepId> = changed.iter().copied().collect();
        for step in &self.steps {
            if step.inputs.iter().any(|input| reached.contains(input)) {
                reached.insert(step.id);
            }
        }
        reached
    }

    /// The plan that computes `wanted` where the values of some steps are known: those become [`Given`], and what only
    /// they needed falls away.
    #[must_use]
    pub fn after(&self, wanted: &[StepId], is_known: impl Fn(StepId) -> bool) -> Self {
        let mut needed: HashSet<StepId> = wanted.iter().copied().collect();
        for step in self.steps.iter().rev() {
            if needed.contains(&step.id) && !is_known(step.id) {
                needed.extend(&step.inputs);
            }
        }
        let mut plan = Self::default();
        for step in self.steps.iter().filter(|step| needed.contains(&step.id)) {
            plan.push(match is_known(step.id) {
                true => Step { op: Given { shape: step.shape }.into(), inputs: Vec::new(), ..step.clone() },
                false => step.clone(),
            });
        }
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::{Add, Same};
    use crate::plan::Name;

    /// x → q → k, and v = q + k: with k known, v still needs q, and with q known as well nothing before them.
    #[test]
    fn what_is_known_is_not_computed_again() {
        let [x, q, k, v] = [Name::X, Name::Q, Name::K, Name::V].map(StepId::from);
        let mut plan = Plan::default();
        plan.add(x, Given { shape: (1, 2) }, &[]).unwrap();
        plan.add(q, Same, &[x]).unwrap();
        plan.add(k, Same, &[q]).unwrap();
        plan.add(v, Add, &[q, k]).unwrap();
        assert_eq!(plan.after(&[v], |id| id == k).ids(), [x, q, k, v]);
        let left = plan.after(&[v], |id| id == k || id == q);
        assert_eq!(left.ids(), [q, k, v]);
        assert!(left.get(q).unwrap().inputs.is_empty());
        assert_eq!(plan.after(&[q], |_| false).ids(), [x, q]);
        assert_eq!(plan.reached_from(&[k]), HashSet::from([k, v]));
    }
}
