//! Figures about a trace: how spread out attention is, how far two traces differ.

use crate::ops::Cost;
use crate::ops::{Real, View};
use crate::plan::{Attention, HeadStep, Name, Plan, Stack, StepId};

use super::Trace;

/// What a way of computing attention takes and gives, in figures, for one sequence.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// Rows of attention weights: h · n_q.
    pub distributions: usize,
    /// Learned numbers that are used.
    pub parameters: u128,
    /// Elementary operations.
    pub cost: Cost,
    /// Numbers that a cached token takes: g · (d_k + d_v).
    pub cached_per_token: u128,
    /// Entropy in bits of every row of weights, head by head; empty where the weights are not held.
    pub entropies: Vec<Vec<f64>>,
}

impl Figures {
    /// The figures of one sequence of a trace.
    pub fn of(trace: &Trace<f64>, attention: &Attention, sequence: Option<usize>) -> Self {
        let heads = weights(trace, sequence);
        let rows = |head: &View<'_, f64>| {
            (0..head.nrows()).map(|r| entropy_bits(head.row(r).iter().copied())).collect()
        };
        let queries =
            result(trace.plan(), sequence).and_then(|id| trace.plan().get(id)).map_or(0, |step| step.shape.0);
        Self {
            // A variant may run more heads than its call names (the average of one head run h times).
            distributions: heads.len().max(attention.num_heads) * queries,
            parameters: trace.plan().parameters(),
            cost: trace.plan().cost(sequence),
            cached_per_token: attention.num_kv_heads as u128 * (attention.d_k + attention.d_v) as u128,
            entropies: heads.iter().map(rows).collect(),
        }
    }

    /// The mean of all entropies, where there are any.
    pub fn mean_entropy(&self) -> Option<f64> {
        let rows: Vec<f64> = self.entropies.iter().flatten().copied().collect();
        (!rows.is_empty()).then(|| rows.iter().sum::<f64>() / rows.len() as f64)
    }
}

/// Whether a difference between two results is no more than another order of summing gives.
pub fn is_rounding(difference: f64, values: &View<'_, f64>) -> bool {
    difference <= rounding(values)
}

/// How far another order of summing takes numbers of this size apart at most.
pub fn rounding(values: &View<'_, f64>) -> f64 {
    let size = values.iter().filter(|v| v.is_finite()).fold(1.0, |most: f64, v| most.max(v.abs()));
    1e-12 * size
}

/// The entropy of a distribution in bits: 0 where all weight is on one key, log₂ n where it is even over n.
///
/// What is missing to 1 belongs to a sink and counts as one more place. NaN where a weight is.
pub fn entropy_bits(weights: impl IntoIterator<Item = f64>) -> f64 {
    let term = |p: f64| if p == 0.0 { 0.0 } else { -p * libm::log2(p) };
    let (mut bits, mut rest) = (0.0, 1.0);
    for weight in weights {
        bits += term(weight);
        rest -= weight;
    }
    // Below this the rest is rounding, not a sink.
    if rest > 1e-9 { bits + term(rest) } else { bits + 0.0 }
}

/// The attention weights of one sequence, head by head, where the trace holds them: from the heads' own steps, or
/// from the sheets of a stack.
pub fn weights<T: Real>(trace: &Trace<T>, sequence: Option<usize>) -> Vec<View<'_, T>> {
    let of_head = |(step, value): (&crate::plan::Step, _)| match step.id.name {
        Name::Head(_, HeadStep::Weights) if step.id.sequence == sequence => Some(value),
        _ => None,
    };
    let heads: Vec<View<'_, T>> = trace.steps().filter_map(of_head).collect();
    if !heads.is_empty() {
        return heads;
    }
    let id = StepId::of(sequence, Name::Stack(Stack::Weights));
    let (Some(step), Some(place)) = (trace.plan().get(id), trace.plan().place(id)) else { return Vec::new() };
    let crate::plan::Axis::StackedQueries(sheets) = step.axes.0 else { return Vec::new() };
    let rows = step.shape.0 / sheets.max(1);
    (0..sheets).filter_map(|sheet| trace.part(place, sheet * rows, rows)).collect()
}

/// What the attention call gives for a sequence: its last step, but for weights that are handed out beside it.
pub fn result(plan: &Plan, sequence: Option<usize>) -> Option<StepId> {
    let is_one = |id: &StepId| id.sequence == sequence && id.name != Name::Stack(Stack::Weights);
    plan.steps().iter().rev().map(|step| step.id).find(is_one)
}

/// The largest difference between two matrices of one shape, and where it is (from 0). NaN against NaN is none.
pub fn largest_difference(a: &View<'_, f64>, b: &View<'_, f64>) -> Option<(f64, usize, usize)> {
    if a.shape() != b.shape() {
        return None;
    }
    let mut largest = (0.0, 0, 0);
    for row in 0..a.nrows() {
        for column in 0..a.ncols() {
            let (x, y) = (a[(row, column)], b[(row, column)]);
            let same = x == y || (x.is_nan() && y.is_nan());
            let difference = if same { 0.0 } else { (x - y).abs() };
            if difference > largest.0 || difference.is_nan() {
                largest = (difference, row, column);
            }
        }
    }
    Some(largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_over_four_is_two_bits_and_a_sink_counts_as_a_place() {
        assert_eq!(entropy_bits([0.25; 4]), 2.0);
        assert_eq!(entropy_bits([1.0, 0.0]), 0.0);
        // Half for the only key, half for the sink: one bit.
        assert_eq!(entropy_bits([0.5]), 1.0);
    }
}
