//! How much a lesson may have computed beside itself: its runs, plots, tasks, slopes and expressions.

use std::cell::Cell;

use crate::limits::COURSE_WORK;
use crate::plan::Plan;

/// Operations that each number which is kept counts for: 2³¹ of them are 256 MiB of numbers.
const A_NUMBER: u128 = 64;

/// What a step takes, however small it is.
const A_STEP: u128 = 1 << 12;

/// What is taken before anything is computed, by each reading of a changed lesson.
pub(super) const A_READING: u128 = 1 << 18;

/// What an expression takes, whatever is in it.
pub(super) const AN_EXPRESSION: u128 = 1 << 12;

/// Operations that were asked for so far.
#[derive(Debug, Default)]
pub(super) struct Work {
    done: Cell<u128>,
}

impl Work {
    /// Notes that something is about to be computed.
    ///
    /// # Errors
    /// It would be too much, with all before it. In words.
    pub(super) fn begin(&self, operations: u128) -> Result<(), String> {
        let done = self.done.get().saturating_add(operations);
        if done > COURSE_WORK {
            return Err(format!(
                "the lesson's runs, plots and expressions take more than {COURSE_WORK} operations in all: \
                 smaller sizes, fewer values"
            ));
        }
        self.done.set(done);
        Ok(())
    }
}

/// What computing a plan takes, with all of its numbers kept.
pub(super) fn of_plan(plan: &Plan) -> u128 {
    let steps = plan.steps().iter().map(|step| {
        let cost = plan.cost_of(step);
        let kept = step.shape.0 as u128 * step.shape.1 as u128;
        A_STEP + 4 * (cost.multiplications + cost.additions) + 16 * cost.exponentials + A_NUMBER * kept
    });
    steps.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_too_much_is_refused_and_does_not_count() {
        let work = Work::default();
        assert_eq!(work.begin(COURSE_WORK - 1), Ok(()));
        assert!(work.begin(2).is_err() && work.begin(u128::MAX).is_err());
        assert_eq!(work.begin(1), Ok(()));
        assert!(work.begin(1).is_err());
    }
}
