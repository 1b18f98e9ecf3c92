//! Rotary position embedding (Su et al. 2021).

use std::sync::Arc;

use nalgebra::DMatrix;

use super::{
    Arithmetic, Cost, Expr, Formula, Function, Layout, Operation, Real, Shape, Signs, Told, View, equal,
};
use crate::words::t;

/// Which columns RoPE rotates together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RopeLayout {
    /// Columns t and t + dims/2 (Llama, GPT-NeoX).
    HalfSplit,
    /// Columns 2t and 2t + 1 (GPT-J).
    Interleaved,
}

/// Turns pairs of columns by an angle that grows with the position: pair t of the row at position p by
/// p · theta^(−2t/dims). Columns from `dims` on stay as they are.
#[derive(Debug, Clone, PartialEq)]
pub struct Rope {
    /// Base of the frequencies.
    pub theta: f64,
    /// Which columns form a pair.
    pub layout: RopeLayout,
    /// How many columns rotate; even.
    pub dims: usize,
    /// One a row.
    pub positions: Arc<[f64]>,
}

/// Where a column stands in its pair.
enum Part {
    /// x₁ cos − x₂ sin; the partner is x₂.
    First { pair: usize, partner: usize },
    /// x₂ cos + x₁ sin; the partner is x₁.
    Second { pair: usize, partner: usize },
    /// Not rotated.
    Still,
}

impl Rope {
    fn part(&self, column: usize) -> Part {
        let half = self.dims / 2;
        match self.layout {
            _ if column >= self.dims => Part::Still,
            RopeLayout::HalfSplit if column < half => Part::First { pair: column, partner: column + half },
            RopeLayout::HalfSplit => Part::Second { pair: column - half, partner: column - half },
            RopeLayout::Interleaved if column.is_multiple_of(2) => {
                Part::First { pair: column / 2, partner: column + 1 }
            }
            RopeLayout::Interleaved => Part::Second { pair: column / 2, partner: column - 1 },
        }
    }

    /// The angle of pair `pair` at `position`, in radians.
    pub fn angle(&self, position: f64, pair: usize) -> f64 {
        position * libm::pow(self.theta, -2.0 * pair as f64 / self.dims as f64)
    }
}

impl Operation for Rope {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        let [shape] = inputs else { return Err("a rotation has one input".to_owned()) };
        equal("rows and positions", shape.0, self.positions.len())?;
        if self.dims > shape.1 || self.dims % 2 == 1 {
            return Err(format!("{} rotating columns of {}", self.dims, shape.1));
        }
        Ok(*shape)
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], _: Arithmetic) -> DMatrix<T> {
        let x = inputs[0];
        DMatrix::from_fn(x.nrows(), x.ncols(), |r, c| {
            let turned = |pair| {
                let angle = self.angle(self.positions[r], pair);
                (T::of(libm::cos(angle)), T::of(libm::sin(angle)))
            };
            match self.part(c) {
                Part::Still => x[(r, c)],
                Part::First { pair, partner } => {
                    let (cos, sin) = turned(pair);
                    x[(r, c)] * cos - x[(r, partner)] * sin
                }
                Part::Second { pair, partner } => {
                    let (cos, sin) = turned(pair);
                    x[(r, c)] * cos + x[(r, partner)] * sin
                }
            }
        })
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let x = &signs.inputs[0];
        let layout = match self.layout {
            RopeLayout::HalfSplit => t!("half-split"),
            RopeLayout::Interleaved => t!("interleaved"),
        };
        signs.formula(
            t!(
                "%{x}, pair t = 0, 1, … turned by position · %{theta}^(−2t/%{dims}) (%{layout})",
                x,
                theta = self.theta,
                dims = self.dims,
                layout
            ),
            "",
            &signs.facing_inputs(),
        )
    }

    fn explain(&self, row: usize, column: usize, _: &[View<'_, f64>]) -> Expr {
        let turn = |pair, function| Expr::Number(self.angle(self.positions[row], pair)).apply(function);
        let times = |c, factor| Expr::Product(vec![Expr::cell(0, row, c), factor]);
        match self.part(column) {
            Part::Still => Expr::cell(0, row, column),
            Part::First { pair, partner } => {
                times(column, turn(pair, Function::Cos)).minus(times(partner, turn(pair, Function::Sin)))
            }
            Part::Second { pair, partner } => Expr::Sum(vec![
                times(column, turn(pair, Function::Cos)),
                times(partner, turn(pair, Function::Sin)),
            ]),
        }
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        let rows = inputs.first().map_or(0, |shape| shape.0) as u128;
        let cells = rows * self.dims as u128;
        Cost { other_multiplications: 2 * cells, additions: cells, other_functions: cells, ..Cost::default() }
    }

    fn tell(&self, told: &Told<'_>) -> String {
        const MOST: usize = 3;
        let numbers = match told.layout {
            Layout::Rows => t!("columns"),
            Layout::Columns => t!("rows"),
        };
        let pair = |t: usize| {
            let (first, second) = match self.layout {
                RopeLayout::HalfSplit => (t + 1, t + 1 + self.dims / 2),
                RopeLayout::Interleaved => (2 * t + 1, 2 * t + 2),
            };
            t!(
                "%{first} and %{second} by position · %{angle}",
                first,
                second,
                angle = told.number(self.angle(1.0, t))
            )
        };
        let pairs: Vec<String> = (0..(self.dims / 2).min(MOST)).map(pair).collect();
        let more = if self.dims / 2 > MOST { t!(", and so on") } else { String::new() };
        let still = if self.dims < told.value.ncols() { t!("; the others stay") } else { String::new() };
        let positions: Vec<String> = self.positions.iter().map(ToString::to_string).collect();
        let at = super::list(positions.iter().map(String::as_str));
        let place = match positions.len() {
            1 => t!("Position %{at}.", at),
            _ => t!("Positions %{at}.", at),
        };
        t!(
            "%{place} Turned together: %{numbers} %{pairs}%{more}%{still}. Lengths do not change.",
            place,
            numbers,
            pairs = pairs.join(&t!(", ")),
            more,
            still
        )
    }
}
