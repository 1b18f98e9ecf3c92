//! The numbers of an expression from one trace: of a lesson that has no runs.

use nalgebra::DMatrix;

use super::{Figure, Numbers};
use crate::plan::{Attention, Head, Name, Plan, StepId};
use crate::trace::Trace;

/// A trace to which expressions are put.
#[derive(Debug, Clone, Copy)]
pub struct OfTrace<'a> {
    /// The numbers.
    pub trace: &'a Trace<f64>,
    /// The attention call.
    pub attention: &'a Attention,
    /// What steps without a sequence mean, where the input has a batch axis.
    pub sequence: Option<usize>,
}

impl Numbers for OfTrace<'_> {
    fn step(&self, step: StepId, run: Option<&str>) -> Result<DMatrix<f64>, String> {
        no_run(run)?;
        [step, step.in_sequence(self.sequence)]
            .into_iter()
            .find_map(|step| value(self.trace, step))
            .ok_or_else(|| format!("there is no step {step}"))
    }

    fn figure(&self, figure: Figure, run: Option<&str>) -> Result<f64, String> {
        no_run(run)?;
        let plan = self.trace.plan();
        let cost = plan.cost(self.sequence);
        let Attention { num_kv_heads, d_k, d_v, .. } = *self.attention;
        Ok(match figure {
            Figure::Parameters => plan.parameters(),
            Figure::Multiplications => cost.multiplications,
            Figure::Additions => cost.additions,
            Figure::Exponentials => cost.exponentials,
            Figure::Cached => num_kv_heads as u128 * (d_k as u128 + d_v as u128),
        } as f64)
    }

    fn count(&self, _: &str, _: &str) -> Result<f64, String> {
        Err("models are counted by mha learn".to_owned())
    }

    fn slope(&self, _: (StepId, Option<&str>), _: StepId) -> Result<f64, String> {
        Err("slopes are computed by mha learn".to_owned())
    }

    fn variable(&self) -> Option<f64> {
        None
    }
}

fn no_run(run: Option<&str>) -> Result<(), String> {
    match run {
        None => Ok(()),
        Some(run) => Err(format!("the run {run} is computed by mha learn")),
    }
}

/// The numbers of a step that a trace holds. A stack that the plan does not have (`weights`) is put together from its
/// heads, one above the other.
pub fn value(trace: &Trace<f64>, step: StepId) -> Option<DMatrix<f64>> {
    if let Some(value) = trace.get(step) {
        return Some(value.into_owned());
    }
    let heads: Vec<_> = sheets(trace.plan(), step).filter_map(|step| trace.get(step)).collect();
    let (rows, columns) = heads.first()?.shape();
    if heads.iter().any(|head| head.shape() != (rows, columns)) {
        return None;
    }
    let mut stacked = DMatrix::zeros(heads.len() * rows, columns);
    for (index, head) in heads.iter().enumerate() {
        stacked.rows_mut(index * rows, rows).copy_from(head);
    }
    Some(stacked)
}

/// The steps of the heads that a stack is put together from; none where the step is no stack.
pub fn sheets(plan: &Plan, step: StepId) -> impl Iterator<Item = StepId> {
    let name = move |head: usize| match step.name {
        Name::Stack(stack) => Some(StepId { name: Name::Head(Head(head), stack.of_a_head()), ..step }),
        _ => None,
    };
    (0..).map_while(name).take_while(|step| plan.get(*step).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson::{Options, Problem, Quantity, builtin};
    use crate::ops::Arithmetic;
    use crate::trace::Keep;

    fn lesson(name: &str) -> (Problem, Trace<f64>) {
        let problem = builtin::load(builtin::find(name).unwrap(), &Options::default()).unwrap();
        let trace = problem.run(&Keep::All, Arithmetic::Ordered).unwrap();
        (problem, trace)
    }

    #[test]
    fn expressions_are_put_to_a_trace() {
        // Three tokens, d_model = 4, two heads with d_k = d_v = 2, everything identity.
        let (problem, trace) = lesson("two-heads");
        let numbers = OfTrace { trace: &trace, attention: &problem.attention, sequence: None };
        let number = |text: &str| text.parse::<Quantity>().unwrap().number(&numbers);
        // Row 3 of head 2 is even over three keys.
        assert!((number("entropy(head.2.weights[3]) - log2(3)").unwrap()).abs() < 1e-12);
        assert_eq!(number("rows(weights)"), Ok(6.0));
        assert_eq!(number("weights[4,1] - head.2.weights[1,1]"), Ok(0.0));
        assert_eq!(number("parameters()"), Ok(64.0)); // 4 · d_model²
        // Q, K, V: 3 · 3·4·4; scores and weights · V: 2 · 2 · 3·2·3; W_O: 3·4·4.
        assert_eq!(number("multiplications()"), Ok(144.0 + 72.0 + 48.0));
        assert_eq!(number("exponentials()"), Ok(18.0)); // 2 heads, 3 × 3
        assert_eq!(number("cached()"), Ok(8.0)); // 2 heads, 2 + 2 numbers each
        assert_eq!(number("head.3.q[1,1]"), Err("there is no step head.3.q".to_owned()));
        assert_eq!(number("x[1,1]@one"), Err("the run one is computed by mha learn".to_owned()));
    }

    #[test]
    fn in_a_batch_a_step_is_that_of_the_sequence() {
        let (problem, trace) = lesson("padded-batch");
        for sequence in 0..problem.batch.unwrap() {
            let numbers = OfTrace { trace: &trace, attention: &problem.attention, sequence: Some(sequence) };
            let text = format!("difference(output, batch.{}.output)", sequence + 1);
            assert_eq!(text.parse::<Quantity>().unwrap().number(&numbers), Ok(0.0), "{text}");
            assert_eq!(
                "rows(output)".parse::<Quantity>().unwrap().number(&numbers),
                Ok(problem.labels.queries.len() as f64)
            );
        }
    }
}
