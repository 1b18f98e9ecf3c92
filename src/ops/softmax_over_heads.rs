//! The softmax along the axis of heads.

use nalgebra::DMatrix;

use super::{Arithmetic, Cost, Expr, Formula, Function, Operation, Real, Shape, Signs, Told, View, equal};
use crate::words::t;

/// One head's share of each place: inputs are the scores of all heads (each n_q × n_kv); gives n_q × n_kv, in which a
/// cell is e^(own score) over the sum of e^(score) of all heads at the same place.
///
/// Over the heads of a place the shares sum to 1; over the keys of a row they need not.
#[derive(Debug, Clone, PartialEq)]
pub struct SoftmaxOverHeads {
    /// Whose share, from 0: the place of its scores among the inputs.
    pub head: usize,
}

impl Operation for SoftmaxOverHeads {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        let own = inputs.get(self.head);
        let own = own.ok_or_else(|| format!("head {} of {}", self.head + 1, inputs.len()))?;
        for other in inputs {
            equal("rows of the heads' scores", own.0, other.0)?;
            equal("columns of the heads' scores", own.1, other.1)?;
        }
        Ok(*own)
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], arithmetic: Arithmetic) -> DMatrix<T> {
        let exponential = |x: T| match arithmetic {
            Arithmetic::Ordered => x.exponential(),
            Arithmetic::Fast { .. } => x.exp(),
        };
        let own = inputs[self.head];
        DMatrix::from_fn(own.nrows(), own.ncols(), |r, c| {
            let scores = || inputs.iter().map(|scores| scores[(r, c)]);
            let nothing = T::of(f64::NEG_INFINITY);
            let most = scores().fold(nothing, |most, score| if score > most { score } else { most });
            let sum = scores().fold(T::zero(), |sum, score| sum + exponential(score - most));
            exponential(own[(r, c)] - most) / sum
        })
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let own = &signs.inputs[self.head];
        let powers: Vec<String> = signs.inputs.iter().map(|scores| format!("e^{scores}")).collect();
        let sum = match powers.as_slice() {
            [first, .., last] if powers.len() > 3 => format!("{first} + … + {last}"),
            _ => powers.join(" + "),
        };
        let mut formula = signs.formula(format!("e^{own} / ({sum})"), "", &signs.facing_inputs()[..1]);
        formula.sizes = t!("%{count} of %{sizes}", count = powers.len(), sizes = formula.sizes);
        formula
    }

    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        let cells = || (0..inputs.len()).map(|head| Expr::cell(head, row, column));
        let power = |cell: Expr| cell.minus(Expr::Max(cells().collect())).apply(Function::Exp);
        power(Expr::cell(self.head, row, column)).over(Expr::Sum(cells().map(power).collect()))
    }

    fn reason(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Option<String> {
        let hidden = inputs.iter().all(|scores| scores[(row, column)] == f64::NEG_INFINITY);
        hidden.then(|| t!("hidden from every head: 0/0 is not a number"))
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        let cells = inputs.get(self.head).map_or(0, |(r, c)| *r as u128 * *c as u128);
        let heads = inputs.len() as u128;
        Cost {
            additions: cells * (heads + heads.saturating_sub(1)),
            exponentials: cells * heads,
            divisions: cells,
            ..Cost::default()
        }
    }

    fn tell(&self, told: &Told<'_>) -> String {
        let heads = told.inputs.len();
        t!(
            "Heads compete for each place: the shares of %{heads} heads sum to 1 there, and the keys of a query do not.",
            heads
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At one place head 1 scores 0 and head 2 ln 3: e^0 : e^(ln 3) is 1 : 3, so 1/4 and 3/4. Hidden from both: 0/0.
    #[test]
    fn heads_share_each_place() {
        let first = DMatrix::from_row_slice(1, 2, &[0.0, f64::NEG_INFINITY]);
        let second = DMatrix::from_row_slice(1, 2, &[3f64.ln(), f64::NEG_INFINITY]);
        let inputs = [first.as_view(), second.as_view()];
        let shares = [0, 1].map(|head| SoftmaxOverHeads { head }.compute(&inputs, Arithmetic::Ordered));
        assert!((shares[0][(0, 0)] - 0.25).abs() < 1e-15 && (shares[1][(0, 0)] - 0.75).abs() < 1e-15);
        assert!(shares[0][(0, 1)].is_nan());
        let reason = SoftmaxOverHeads { head: 0 }.reason(0, 1, &inputs);
        assert!(reason.is_some_and(|reason| reason.contains("every head")));
    }

    /// e^1000 is beyond every double; less the largest, it is e^0.
    #[test]
    fn large_scores_do_not_overflow() {
        let scores = DMatrix::from_element(1, 1, 1000.0);
        let inputs = [scores.as_view(), scores.as_view()];
        let share = SoftmaxOverHeads { head: 1 }.compute(&inputs, Arithmetic::Ordered);
        assert_eq!(share[(0, 0)], 0.5);
    }

    #[test]
    fn a_head_that_is_not_there_is_refused() {
        assert!(SoftmaxOverHeads { head: 2 }.shape(&[(2, 3), (2, 3)]).is_err());
        assert!(SoftmaxOverHeads { head: 0 }.shape(&[(2, 3), (2, 4)]).is_err());
    }
}
