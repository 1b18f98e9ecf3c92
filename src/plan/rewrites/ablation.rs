//! What may stand in the place of what a head found.

use std::fmt;

use super::super::{HeadStep, Plan};
use super::{HeadPlace, mean_head, uniform_head, zero_head};
use crate::fault::Fault;

/// What stands in the place of a head's output, before W_O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Replacement {
    /// Zero.
    #[default]
    Zero,
    /// The head's own mean over the tokens of the passage.
    Mean,
    /// What the head finds with even weights over what each query may see.
    Uniform,
}

impl Replacement {
    /// The step of the head that is another one.
    pub fn step(self) -> HeadStep {
        match self {
            Self::Zero | Self::Mean => HeadStep::Output,
            Self::Uniform => HeadStep::Weights,
        }
    }

    /// The plan with these heads replaced.
    ///
    /// # Errors
    /// The plan has no such head; what the rewrite of one head refuses.
    pub fn apply(self, plan: &Plan, heads: &[HeadPlace]) -> Result<Plan, Fault> {
        let one = match self {
            Self::Zero => zero_head,
            Self::Mean => mean_head,
            Self::Uniform => uniform_head,
        };
        heads.iter().try_fold(plan.clone(), |plan, head| one(&plan, *head))
    }
}

impl fmt::Display for Replacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Zero => "zero",
            Self::Mean => "mean",
            Self::Uniform => "uniform",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use nalgebra::DMatrix;

    use super::*;
    use crate::ops::Arithmetic;
    use crate::plan::spec::{Alignment, Mask};
    use crate::plan::{Attention, Call, Head, Inputs, Name, Projection, StepId, attention};
    use crate::trace::{Keep, run_plan};

    /// One head under a causal mask over three tokens: values are 0, 2 and 7; the queries are 0, so that the softmax itself
    /// is even, but for the last one.
    fn output(with: Option<Replacement>) -> Vec<f64> {
        let mut inputs = Inputs::new();
        inputs
            .insert(Name::X.into(), Arc::new(DMatrix::from_row_slice(3, 2, &[0.0, 0.0, 2.0, 0.0, 7.0, 1.0])));
        // the query is column 2 of x, the key and the value column 1
        let column = |numbers: &[f64]| Arc::new(DMatrix::from_row_slice(2, 1, numbers));
        inputs.insert(Name::W(Projection::Q).into(), column(&[0.0, 100.0]));
        inputs.insert(Name::W(Projection::K).into(), column(&[1.0, 0.0]));
        inputs.insert(Name::W(Projection::V).into(), column(&[1.0, 0.0]));
        let attention = Attention {
            d_k: 1,
            d_v: 1,
            masks: vec![Mask::Causal(Alignment::TopLeft)],
            ..Attention::multi_head(2, 1)
        };
        let elsewhere = crate::plan::Shapes::new();
        let call = Call { attention, layers: None, batch: None, inputs, elsewhere };
        let mut plan = attention::plan(&call).unwrap();
        if let Some(with) = with {
            plan = with.apply(&plan, &[HeadPlace { layer: None, head: Head(0) }]).unwrap();
        }
        let trace = run_plan(Arc::new(plan), &call.inputs, &Keep::All, Arithmetic::Ordered).unwrap();
        trace.get(StepId::from(Name::Concat)).unwrap().iter().copied().collect()
    }

    /// Query 1 sees value 0, query 2 the mean of 0 and 2, and query 3 gives all its weight to value 7. Their mean is
    /// (0 + 1 + 7) / 3; even weights give query 3 the mean of 0, 2 and 7.
    #[test]
    fn a_head_is_replaced_in_three_ways() {
        assert_eq!(output(None), [0.0, 1.0, 7.0]);
        assert_eq!(output(Some(Replacement::Zero)), [0.0, 0.0, 0.0]);
        assert_eq!(output(Some(Replacement::Mean)), [8.0 / 3.0; 3]);
        let even = output(Some(Replacement::Uniform));
        assert_eq!(even[..2], [0.0, 1.0]);
        assert!((even[2] - 3.0).abs() < 1e-15);
    }
}
