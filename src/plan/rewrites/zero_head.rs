//! A head taken away: what it finds is zero, and all else is as it was.

use super::super::{HeadStep, Plan};
use super::HeadPlace;
use crate::fault::Fault;
use crate::ops::Zero;

/// The plan with the output of one head replaced by zeros, in every sequence of a batch (Michel et al. 2019, §2).
///
/// # Errors
/// The plan has no such head.
pub fn zero_head(plan: &Plan, head: HeadPlace) -> Result<Plan, Fault> {
    let mut zeroed = plan.clone();
    for id in head.steps(plan, HeadStep::Output)? {
        let Some(step) = plan.get(id) else { continue };
        zeroed.replace(id, Zero, &step.inputs)?;
    }
    Ok(zeroed)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use nalgebra::DMatrix;

    use super::*;
    use crate::ops::Arithmetic;
    use crate::plan::{Attention, Call, Head, Inputs, Name, Projection, StepId, attention};
    use crate::trace::{Keep, Trace, run_plan};

    /// Two heads of one column each over two tokens, W = identity.
    fn call() -> Call {
        let mut inputs = Inputs::new();
        inputs.insert(Name::X.into(), Arc::new(DMatrix::from_row_slice(2, 2, &[1.0, 3.0, 0.0, 5.0])));
        for projection in Projection::ALL {
            inputs.insert(Name::W(projection).into(), Arc::new(DMatrix::identity(2, 2)));
        }
        Call {
            attention: Attention::multi_head(2, 2),
            layers: None,
            batch: None,
            inputs,
            elsewhere: crate::plan::Shapes::new(),
        }
    }

    fn run(plan: Plan) -> Trace<f64> {
        run_plan(Arc::new(plan), &call().inputs, &Keep::All, Arithmetic::Ordered).unwrap()
    }

    /// W_O is the identity, so column 1 of the output is what head 1 found, and column 2 what head 2 found.
    #[test]
    fn the_other_head_stays_what_it_was() {
        let plan = attention::plan(&call()).unwrap();
        let place = HeadPlace { layer: None, head: Head(1) };
        let (before, after) = (run(plan.clone()), run(zero_head(&plan, place).unwrap()));
        let output = |trace: &Trace<f64>, column| {
            trace.get(StepId::from(Name::Output)).unwrap().column(column).into_owned()
        };
        assert_eq!(output(&before, 0), output(&after, 0));
        assert!(output(&before, 1).iter().all(|v| *v > 3.0));
        assert!(output(&after, 1).iter().all(|v| *v == 0.0));
    }

    #[test]
    fn a_head_that_is_not_there_is_answered_with_the_nearest() {
        let plan = attention::plan(&call()).unwrap();
        let fault = zero_head(&plan, HeadPlace { layer: None, head: Head(2) }).unwrap_err();
        assert_eq!(fault.what, "there is no head.3");
        assert_eq!(fault.why, "the heads run from head.1 to head.2, counted from 1");
        assert!(zero_head(&plan, HeadPlace { layer: Some(0), head: Head(0) }).is_err());
    }
}
