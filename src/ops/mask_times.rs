//! 0 where a query may not look.

use std::sync::Arc;

use nalgebra::DMatrix;

use super::mask::masked_shape;
use super::{Arithmetic, Cost, Expr, Formula, Operation, Real, Shape, Signs, Told, View};
use crate::words::t;

/// Scores times 1 where a query may look and times 0 where not (n_q × n_kv in, the same out).
///
/// A score of 0 hides nothing: the softmax gives it e^0. Before a softmax only −∞ hides.
#[derive(Debug, Clone, PartialEq)]
pub struct MaskTimes {
    /// True = may attend (n_q × n_kv).
    pub allowed: Arc<DMatrix<bool>>,
    /// What should hide, in words: `causal; key padding`.
    pub reasons: String,
}

impl Operation for MaskTimes {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        masked_shape(&self.allowed, inputs)
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], _: Arithmetic) -> DMatrix<T> {
        // A product and no choice: ∞ · 0 is NaN, as in code that multiplies by its mask.
        inputs[0].zip_map(&*self.allowed, |score, allowed| score * if allowed { T::one() } else { T::zero() })
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let right = t!(
            "%{scores} where allowed, else 0 (%{reasons})",
            scores = signs.inputs[0],
            reasons = self.reasons.replace("; ", &t!("; "))
        );
        signs.formula(right, "", &signs.facing_inputs())
    }

    fn explain(&self, row: usize, column: usize, _: &[View<'_, f64>]) -> Expr {
        let factor = f64::from(u8::from(self.allowed[(row, column)]));
        Expr::Product(vec![Expr::cell(0, row, column), Expr::Number(factor)])
    }

    fn reason(&self, row: usize, column: usize, _: &[View<'_, f64>]) -> Option<String> {
        let hidden = self.allowed.get((row, column)).is_some_and(|allowed| !allowed);
        hidden.then(|| t!("0 in place of −∞: %{reasons}", reasons = self.reasons.replace("; ", &t!("; "))))
    }

    fn cost(&self, _: &[Shape]) -> Cost {
        Cost { other_multiplications: self.allowed.len() as u128, ..Cost::default() }
    }

    fn tell(&self, _: &Told<'_>) -> String {
        let hidden = self.allowed.iter().filter(|allowed| !**allowed).count();
        let all = self.allowed.len();
        match hidden {
            1 => t!("1 of %{all} score becomes 0 and not −∞: the softmax still gives each a weight.", all),
            _ => t!(
                "%{hidden} of %{all} scores become 0 and not −∞: the softmax still gives each a weight.",
                hidden,
                all
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 7 stays, 7 · 0 = 0; an infinite score times 0 is no number.
    #[test]
    fn hidden_scores_become_zero() {
        let scores = DMatrix::from_row_slice(1, 3, &[7.0, 7.0, f64::INFINITY]);
        let allowed = Arc::new(DMatrix::from_row_slice(1, 3, &[true, false, false]));
        let mask = MaskTimes { allowed, reasons: "causal".to_owned() };
        let masked = mask.compute(&[scores.as_view()], Arithmetic::Ordered);
        assert_eq!((masked[(0, 0)], masked[(0, 1)]), (7.0, 0.0));
        assert!(masked[(0, 2)].is_nan());
        assert_eq!(mask.reason(0, 0, &[scores.as_view()]), None);
        assert_eq!(mask.reason(0, 1, &[scores.as_view()]).as_deref(), Some("0 in place of −∞: causal"));
    }
}
