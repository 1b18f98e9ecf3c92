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

/// Frequencies of a model that was stretched to longer texts than it was first trained on.
#[derive(Debug, Clone, PartialEq)]
pub struct RopeScaling {
    /// The angle of each pair at position 1, in radians (dims/2).
    pub frequencies: Arc<[f64]>,
    /// What cos and sin are multiplied by; 1 where lengths stay (YaRN: Peng et al. 2023, §3.4).
    pub factor: f64,
}

/// Turns pairs of columns by an angle that grows with the position: pair t of the row at position p by
/// p · theta^(−2t/dims), or by p times its own frequency where those are scaled. Columns from `dims` on stay as they are.
#[derive(Debug, Clone, PartialEq)]
pub struct Rope {
    /// Base of the frequencies.
    pub theta: f64,
    /// Which columns form a pair.
    pub layout: RopeLayout,
    /// How many columns rotate; even.
    pub dims: usize,
    /// Frequencies in place of those of theta.
    pub scaling: Option<RopeScaling>,
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
        position * self.frequency(pair)
    }

    fn frequency(&self, pair: usize) -> f64 {
        let scaled = self.scaling.as_ref().and_then(|scaling| scaling.frequencies.get(pair)).copied();
        scaled.unwrap_or_else(|| libm::pow(self.theta, -2.0 * pair as f64 / self.dims as f64))
    }

    /// What cos and sin are multiplied by, where that changes anything.
    fn factor(&self) -> Option<f64> {
        self.scaling.as_ref().map(|scaling| scaling.factor).filter(|factor| *factor != 1.0)
    }
}

impl Operation for Rope {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        let [shape] = inputs else { return Err("a rotation has one input".to_owned()) };
        equal("rows and positions", shape.0, self.positions.len())?;
        if self.dims > shape.1 || self.dims % 2 == 1 {
            return Err(format!("{} rotating columns of {}", self.dims, shape.1));
        }
        if let Some(scaling) = &self.scaling {
            equal("pairs of columns and frequencies", self.dims / 2, scaling.frequencies.len())?;
        }
        Ok(*shape)
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], _: Arithmetic) -> DMatrix<T> {
        let x = inputs[0];
        DMatrix::from_fn(x.nrows(), x.ncols(), |r, c| {
            let turned = |pair| {
                let angle = self.angle(self.positions[r], pair);
                let turned = [T::of(libm::cos(angle)), T::of(libm::sin(angle))];
                let [cos, sin] =
                    self.factor().map_or(turned, |factor| turned.map(|part| part * T::of(factor)));
                (cos, sin)
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
        let (theta, dims) = (self.theta, self.dims);
        let equation = match (&self.scaling, self.factor()) {
            (None, _) => t!(
                "%{x}, pair t = 0, 1, … turned by position · %{theta}^(−2t/%{dims}) (%{layout})",
                x,
                theta,
                dims,
                layout
            ),
            (Some(_), None) => t!(
                "%{x}, pair t = 0, 1, … turned by position · scaled %{theta}^(−2t/%{dims}) (%{layout})",
                x,
                theta,
                dims,
                layout
            ),
            (Some(_), Some(factor)) => t!(
                "%{factor} · %{x}, pair t = 0, 1, … turned by position · scaled %{theta}^(−2t/%{dims}) (%{layout})",
                factor = crate::number::number(factor, 6),
                x,
                theta,
                dims,
                layout
            ),
        };
        signs.formula(equation, "", &signs.facing_inputs())
    }

    fn explain(&self, row: usize, column: usize, _: &[View<'_, f64>]) -> Expr {
        let turn = |pair, function| {
            let turned = Expr::Number(self.angle(self.positions[row], pair)).apply(function);
            match self.factor() {
                Some(factor) => Expr::Product(vec![turned, Expr::Number(factor)]),
                None => turned,
            }
        };
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
        // With a factor also each cos and each sin is multiplied.
        let times = if self.factor().is_some() { 3 } else { 2 };
        let other_multiplications = times * cells;
        Cost { other_multiplications, additions: cells, other_functions: cells, ..Cost::default() }
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
        let pairs = pairs.join(&t!(", "));
        match self.factor() {
            None => t!(
                "%{place} Turned together: %{numbers} %{pairs}%{more}%{still}. Lengths do not change.",
                place,
                numbers,
                pairs,
                more,
                still
            ),
            Some(factor) => t!(
                "%{place} Turned together: %{numbers} %{pairs}%{more}%{still}. What was turned is then multiplied by %{factor}.",
                place,
                numbers,
                pairs,
                more,
                still,
                factor = told.number(factor)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;

    /// Four columns in two pairs, (1, 3) and (2, 4), at position 2; frequencies 0.5 and 0.05, factor 3: the first pair
    /// turns by 1 and becomes 3 · (1 cos 1 − 3 sin 1, 3 cos 1 + 1 sin 1), the second by 0.1.
    #[test]
    fn scaled_frequencies_take_the_place_of_those_of_theta() {
        let x = DMatrix::from_row_slice(1, 4, &[1.0, 2.0, 3.0, 4.0]);
        let scaling = RopeScaling { frequencies: vec![0.5, 0.05].into(), factor: 3.0 };
        let rope = Rope {
            theta: 10000.0,
            layout: RopeLayout::HalfSplit,
            dims: 4,
            scaling: Some(scaling),
            positions: vec![2.0].into(),
        };
        let is = rope.compute(&[x.as_view()], Arithmetic::Ordered);
        let ((s, c), (s2, c2)) = (1.0f64.sin_cos(), 0.1f64.sin_cos());
        let by_hand = [c - 3.0 * s, 2.0 * c2 - 4.0 * s2, 3.0 * c + s, 4.0 * c2 + 2.0 * s2].map(|v| 3.0 * v);
        for (column, want) in by_hand.into_iter().enumerate() {
            assert_abs_diff_eq!(is[(0, column)], want, epsilon = 1e-14);
            let explained = rope.explain(0, column, &[x.as_view()]).value(&[x.as_view()]);
            assert_eq!(explained.to_bits(), is[(0, column)].to_bits());
        }
        // One row, two pairs: 2 cos and 2 sin, 4 · 2 products with them, 4 with the factor, 4 sums.
        let cost = rope.cost(&[(1, 4)]);
        assert_eq!((cost.other_functions, cost.other_multiplications, cost.additions), (4, 12, 4));
        let short =
            Rope { scaling: Some(RopeScaling { frequencies: vec![0.5].into(), factor: 1.0 }), ..rope };
        assert!(short.shape(&[(1, 4)]).is_err());
    }
}
