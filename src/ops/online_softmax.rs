//! Softmax and mix in one pass over tiles of keys, without the n × n matrix (Dao et al. 2022, Algorithm 1).
//!
//! The state is one row a query: the largest score so far m, the sum ℓ of e^(score − m), and the sum o of
//! e^(score − m) · value, d_v numbers. A larger score in a later tile shrinks what was summed before by
//! e^(m_before − m_now). After the last tile the head's output is o / ℓ.

use nalgebra::DMatrix;

use super::{
    Arithmetic, Cost, Expr, Formula, FullyMaskedRows, Function, Operation, Real, Shape, Signs, Told, View,
    equal,
};
use crate::words::t;

/// Takes one tile in: inputs scores (n_q × tile), v (tile × d_v), and the state before (n_q × 2 + d_v) unless this is
/// the first tile; gives the state after.
#[derive(Debug, Clone, PartialEq)]
pub struct OnlineSoftmax {
    /// The head's sink: where m starts, with ℓ = 1 and nothing in o.
    pub sink: Option<f64>,
}

/// Divides: input the last state (n_q × 2 + d_v) and v (n_kv × d_v); gives the head's output (n_q × d_v).
#[derive(Debug, Clone, PartialEq)]
pub struct FinishSoftmax {
    /// What a row that has seen nothing gives.
    pub empty_rows: FullyMaskedRows,
}

/// Column of the running maximum.
const MOST: usize = 0;
/// Column of the running sum.
const SUM: usize = 1;
/// Column where the running output starts.
const OUT: usize = 2;

impl OnlineSoftmax {
    /// m and ℓ before any tile.
    fn start(&self) -> (f64, f64) {
        self.sink.map_or((f64::NEG_INFINITY, 0.0), |sink| (sink, 1.0))
    }
}

impl Operation for OnlineSoftmax {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        let [scores, v, before @ ..] = inputs else {
            return Err("a tile needs scores and values".to_owned());
        };
        equal("columns of the scores and rows of the values", scores.1, v.0)?;
        if let [before, ..] = before {
            equal("columns of the state", before.1, OUT + v.1)?;
        }
        Ok((scores.0, OUT + v.1))
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], arithmetic: Arithmetic) -> DMatrix<T> {
        let (scores, v) = (inputs[0], inputs[1]);
        let (start, sum) = self.start();
        let nothing = T::of(f64::NEG_INFINITY);
        let exp = |x: T| if arithmetic == Arithmetic::Ordered { x.exponential() } else { x.exp() };
        let mut state = match inputs.get(2) {
            Some(before) => before.into_owned(),
            None => DMatrix::from_fn(scores.nrows(), OUT + v.ncols(), |_, c| match c {
                MOST => T::of(start),
                SUM => T::of(sum),
                _ => T::zero(),
            }),
        };
        let mut powers = vec![T::zero(); scores.ncols()];
        for r in 0..scores.nrows() {
            let before = state[(r, MOST)];
            let most = scores.row(r).iter().fold(before, |most, s| if *s > most { *s } else { most });
            if most == nothing {
                continue;
            }
            for (power, score) in powers.iter_mut().zip(scores.row(r).iter()) {
                *power = exp(*score - most);
            }
            let shrink = exp(before - most);
            state[(r, MOST)] = most;
            state[(r, SUM)] = powers.iter().fold(state[(r, SUM)] * shrink, |sum, power| sum + *power);
            for c in 0..v.ncols() {
                let kept = state[(r, OUT + c)] * shrink;
                state[(r, OUT + c)] =
                    powers.iter().zip(v.column(c).iter()).fold(kept, |o, (p, v)| o + *p * *v);
            }
        }
        state
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let [scores, v] = [&signs.inputs[0], &signs.inputs[1]];
        let shapes = signs.facing_inputs();
        signs.formula(
            t!(
                "m ← max(m, %{scores}); ℓ, o ← ℓ, o · e^(m before − m) + Σ e^(%{scores} − m) · 1, %{v}",
                scores,
                v
            ),
            ", ",
            &shapes[..2],
        )
    }

    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        let (start, sum) = self.start();
        let before = |c: usize| match inputs.get(2) {
            Some(_) => Expr::cell(2, row, c),
            None if c == MOST => Expr::Number(start),
            None if c == SUM => Expr::Number(sum),
            None => Expr::Number(0.0),
        };
        let scores = inputs[0];
        let most = || Expr::Max(vec![Expr::RowMax { input: 0, row }, before(MOST)]);
        if most().value(inputs) == f64::NEG_INFINITY {
            return before(column);
        }
        if column == MOST {
            return most();
        }
        let shrink = before(MOST).minus(most()).apply(Function::Exp);
        let mut terms = vec![Expr::Product(vec![before(column), shrink])];
        terms.extend((0..scores.ncols()).map(|c| {
            let power = Expr::cell(0, row, c).minus(most()).apply(Function::Exp);
            if column == SUM { power } else { Expr::Product(vec![power, Expr::cell(1, c, column - OUT)]) }
        }));
        Expr::Sum(terms)
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        let [scores, v, ..] = inputs else { return Cost::default() };
        let [n, tile, d_v] = [scores.0, scores.1, v.1].map(|size| size as u128);
        // Only what was summed before has to shrink.
        let before = u128::from(inputs.len() > 2 || self.sink.is_some());
        Cost {
            multiplications: n * tile * d_v,
            other_multiplications: before * n * (1 + d_v),
            additions: n * tile + n * (tile - 1 + before) + n * (tile - 1 + before) * d_v,
            exponentials: n * (tile + before),
            ..Cost::default()
        }
    }

    fn tell(&self, told: &Told<'_>) -> String {
        let grown = told.inputs.get(2).map(|before| {
            let met_larger =
                |r: &usize| told.value[(*r, MOST)] > before[(*r, MOST)] && before[(*r, SUM)] > 0.0;
            (0..told.value.nrows()).filter(met_larger).count()
        });
        match grown {
            None => {
                t!("The first tile: running maximum m, running sum ℓ, running output o of each query.")
            }
            Some(0) => {
                t!("No query that had summed anything met a larger score: the sums just go on.")
            }
            Some(1) => {
                t!("One query met a larger score: what it had summed shrinks by e^(m before − m now).")
            }
            Some(n) => t!(
                "%{n} queries met a larger score: what they had summed shrinks by e^(m before − m now).",
                n
            ),
        }
    }
}

impl Operation for FinishSoftmax {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        let [state, v] = inputs else { return Err("the end needs the state and the values".to_owned()) };
        equal("columns of the state", state.1, OUT + v.1)?;
        Ok((state.0, v.1))
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], _: Arithmetic) -> DMatrix<T> {
        let (state, v) = (inputs[0], inputs[1]);
        DMatrix::from_fn(state.nrows(), v.ncols(), |r, c| {
            if state[(r, SUM)] > T::zero() {
                return state[(r, OUT + c)] / state[(r, SUM)];
            }
            match self.empty_rows {
                FullyMaskedRows::Zeros => T::zero(),
                FullyMaskedRows::Uniform => {
                    v.column(c).iter().fold(T::zero(), |sum, v| sum + *v) / T::of(v.nrows() as f64)
                }
                FullyMaskedRows::Nan | FullyMaskedRows::Error => T::of(f64::NAN),
            }
        })
    }

    fn formula(&self, signs: &Signs) -> Formula {
        signs.formula("o / ℓ", "", &signs.facing_inputs()[..1])
    }

    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        if inputs[0][(row, SUM)] > 0.0 {
            return Expr::cell(0, row, OUT + column).over(Expr::cell(0, row, SUM));
        }
        let rows = inputs[1].nrows();
        match self.empty_rows {
            FullyMaskedRows::Zeros => Expr::Number(0.0),
            FullyMaskedRows::Uniform => Expr::Sum((0..rows).map(|r| Expr::cell(1, r, column)).collect())
                .over(Expr::Number(rows as f64)),
            FullyMaskedRows::Nan | FullyMaskedRows::Error => Expr::Number(f64::NAN),
        }
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        let [state, v] = inputs else { return Cost::default() };
        Cost { divisions: state.0 as u128 * v.1 as u128, ..Cost::default() }
    }

    fn tell(&self, _: &Told<'_>) -> String {
        t!("What was summed over the weights' own sum: the head's output.")
    }
}
