//! −∞ where a query may not look.

use std::sync::Arc;

use nalgebra::DMatrix;

use super::{Arithmetic, Cost, Expr, Formula, Operation, Real, Shape, Signs, Told, View, equal};
use crate::words::t;

/// Scores with hidden places at −∞, before the softmax (n_q × n_kv).
#[derive(Debug, Clone, PartialEq)]
pub struct Mask {
    /// True = may attend.
    pub allowed: Arc<DMatrix<bool>>,
    /// What hides, in words: `causal; key padding`.
    pub reasons: String,
    /// Which of the reasons hide a place: bit 0 is the first.
    pub hidden_by: Arc<DMatrix<u32>>,
}

/// The shape of scores under a mask of the same shape.
pub(super) fn masked_shape(allowed: &DMatrix<bool>, inputs: &[Shape]) -> Result<Shape, String> {
    let [shape] = inputs else { return Err("a mask hides scores".to_owned()) };
    equal("rows of the scores and of the mask", shape.0, allowed.nrows())?;
    equal("columns of the scores and of the mask", shape.1, allowed.ncols())?;
    Ok(*shape)
}

impl Operation for Mask {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        masked_shape(&self.allowed, inputs)
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], _: Arithmetic) -> DMatrix<T> {
        let hidden = T::of(f64::NEG_INFINITY);
        inputs[0].zip_map(&*self.allowed, |score, allowed| if allowed { score } else { hidden })
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let right = t!(
            "%{scores} where allowed, else −∞ (%{reasons})",
            scores = signs.inputs[0],
            reasons = self.reasons.replace("; ", &t!("; "))
        );
        signs.formula(right, "", &signs.facing_inputs())
    }

    fn explain(&self, row: usize, column: usize, _: &[View<'_, f64>]) -> Expr {
        if self.allowed[(row, column)] { Expr::cell(0, row, column) } else { Expr::Number(f64::NEG_INFINITY) }
    }

    fn reason(&self, row: usize, column: usize, _: &[View<'_, f64>]) -> Option<String> {
        let bits = self.hidden_by.get((row, column)).copied().filter(|bits| *bits != 0)?;
        let hides = |at: usize| bits & 1u32.checked_shl(at as u32).unwrap_or(0) != 0;
        let reasons: Vec<&str> = self
            .reasons
            .split("; ")
            .enumerate()
            .filter(|(at, _)| hides(*at))
            .map(|(_, reason)| reason)
            .collect();
        Some(t!("hidden: %{reasons}", reasons = reasons.join(&t!("; "))))
    }

    fn cost(&self, _: &[Shape]) -> Cost {
        Cost::default()
    }

    fn tell(&self, told: &Told<'_>) -> String {
        let hidden = self.allowed.iter().filter(|allowed| !**allowed).count();
        let all = self.allowed.len();
        let blind: Vec<&str> = (0..self.allowed.nrows())
            .filter(|r| self.allowed.row(*r).iter().all(|allowed| !allowed))
            .map(|r| told.rows.get(r).map_or("", String::as_str))
            .collect();
        if hidden == 0 {
            return t!("Nothing is hidden here: the scores stay as they are.");
        }
        let then = match blind.len() {
            0 => t!(": −∞ before the softmax becomes exactly 0 after it"),
            rows if rows == self.allowed.nrows() => String::new(),
            _ => t!(": −∞ before the softmax becomes exactly 0 after it (where anything is left)"),
        };
        let mut words = match (hidden, all) {
            (1, 1) => t!("1 of 1 place is hidden%{then}.", then),
            (1, _) => t!("1 of %{all} places is hidden%{then}.", all, then),
            _ => t!("%{hidden} of %{all} places are hidden%{then}.", hidden, all, then),
        };
        if !blind.is_empty() {
            words.push_str(&t!(" Nothing is left for %{tokens}.", tokens = super::list(blind)));
        }
        words
    }
}
