//! A rotation of all heads' numbers at once, where each head has its own.

use nalgebra::DMatrix;

use super::{Arithmetic, Cost, Expr, Formula, Layout, Operation, Real, Rope, Shape, Signs, Told, View};
use crate::words::t;

/// Some columns of a row that was rotated whole: input n × w, the row of all heads; gives n × `width`.
///
/// Rotary positions belong to each head, whose pairs turn at its own frequencies. Turned before the split, pairs reach
/// across heads, and later heads turn more slowly.
#[derive(Debug, Clone, PartialEq)]
pub struct RopeWide {
    /// The rotation of the whole row.
    pub rope: Rope,
    /// The first column that is taken, from 0.
    pub from: usize,
    /// How many are.
    pub width: usize,
}

impl Operation for RopeWide {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        let (rows, columns) = self.rope.shape(inputs)?;
        match self.from.checked_add(self.width) {
            Some(to) if to <= columns => Ok((rows, self.width)),
            _ => Err(format!("{} columns after the first {} of {columns}", self.width, self.from)),
        }
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], arithmetic: Arithmetic) -> DMatrix<T> {
        self.rope.compute(inputs, arithmetic).columns(self.from, self.width).into_owned()
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let mut formula = self.rope.formula(signs);
        let (from, to) = (self.from + 1, self.from + self.width);
        formula.equation.push_str(&match (signs.layout, self.width) {
            (Layout::Rows, 1) => t!(", then column %{at}", at = from),
            (Layout::Columns, 1) => t!(", then row %{at}", at = from),
            (Layout::Rows, _) => t!(", then columns %{from}…%{to}", from, to),
            (Layout::Columns, _) => t!(", then rows %{from}…%{to}", from, to),
        });
        formula
    }

    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        self.rope.explain(row, self.from + column, inputs)
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        // What these columns take; the others are other heads'.
        let turning = self.rope.dims.saturating_sub(self.from).min(self.width);
        let cells = inputs.first().map_or(0, |shape| shape.0) as u128 * turning as u128;
        Cost { other_multiplications: 2 * cells, additions: cells, other_functions: cells, ..Cost::default() }
    }

    fn tell(&self, told: &Told<'_>) -> String {
        t!(
            "Taken from a %{line} that was turned whole, all heads together: frequencies run across heads and do not begin \
             anew in each.",
            line = told.line()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::RopeLayout;

    /// Four columns, two heads of two, at position 1 with base 100: pair 0 turns by 1 and pair 1 by 100^(−2/4) = 0.1.
    /// Interleaved, pair 1 is the second head's: (3, 4) becomes (3 cos 0.1 − 4 sin 0.1, 4 cos 0.1 + 3 sin 0.1). In a
    /// rotation of its own it would turn by 1.
    #[test]
    fn the_second_head_turns_more_slowly() {
        let x = DMatrix::from_row_slice(1, 4, &[1.0, 2.0, 3.0, 4.0]);
        let rope = Rope {
            theta: 100.0,
            layout: RopeLayout::Interleaved,
            dims: 4,
            scaling: None,
            positions: vec![1.0].into(),
        };
        let second = RopeWide { rope, from: 2, width: 2 };
        assert_eq!(second.shape(&[(1, 4)]), Ok((1, 2)));
        let turned = second.compute(&[x.as_view()], Arithmetic::Ordered);
        let (sin, cos) = 0.1f64.sin_cos();
        let by_hand = DMatrix::from_row_slice(1, 2, &[3.0 * cos - 4.0 * sin, 4.0 * cos + 3.0 * sin]);
        assert!((&turned - by_hand).amax() < 1e-15, "{turned}");
        assert!(RopeWide { from: 3, ..second }.shape(&[(1, 4)]).is_err());
    }
}
