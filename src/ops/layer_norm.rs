//! Layer norm of every token.

use nalgebra::DMatrix;

use super::{
    Arithmetic, Cost, Expr, Formula, Function, Operation, Real, RowFigure, Shape, Signs, Told, View, equal,
    list, simd, team,
};
use crate::words::t;

/// (x − mean) / √(variance + eps) · gain + shift, over each row (Ba et al. 2016, Eq. 3): n × d in, the same out.
///
/// The variance is that of the row's own numbers (over d, not d − 1), as in PyTorch's `nn.LayerNorm`.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerNorm {
    /// Added to the variance, so that a row of equal numbers stays finite.
    pub eps: f64,
    /// One factor a column.
    pub gain: Option<Vec<f64>>,
    /// One number a column, added at the end.
    pub shift: Option<Vec<f64>>,
}

impl LayerNorm {
    /// How many numbers of it are learned.
    pub fn parameters(&self) -> usize {
        [&self.gain, &self.shift].into_iter().flatten().map(Vec::len).sum()
    }
}

impl LayerNorm {
    /// Each row by itself, its figures as an explanation computes them.
    fn row_by_row<T: Real>(&self, x: View<'_, T>) -> DMatrix<T> {
        let eps = T::of(self.eps);
        let mut normed = DMatrix::zeros(x.nrows(), x.ncols());
        for row in 0..x.nrows() {
            let numbers = || x.row(row).into_iter().copied().collect::<Vec<T>>().into_iter();
            let mean = RowFigure::Mean.of(numbers());
            let root = (RowFigure::Variance.of(numbers()) + eps).sqrt();
            for column in 0..x.ncols() {
                let mut value = (x[(row, column)] - mean) / root;
                if let Some(gain) = &self.gain {
                    value *= T::of(gain[column]);
                }
                if let Some(shift) = &self.shift {
                    value += T::of(shift[column]);
                }
                normed[(row, column)] = value;
            }
        }
        normed
    }

    /// All rows side by side, down the columns as they lie in memory: first every row's mean, then its spread, then the norm.
    fn column_by_column<T: Real>(&self, x: View<'_, T>, arithmetic: Arithmetic) -> DMatrix<T> {
        let (rows, columns) = x.shape();
        let threads = arithmetic.threads_for(rows * columns);
        let (count, eps) = (T::of(columns as f64), T::of(self.eps));
        // Of each row its mean, and 1 over its standard deviation.
        let mut figures = vec![(T::zero(), T::zero()); rows];
        team::each_part(&mut figures, TOGETHER, threads, |first, figures| {
            for (block, figures) in figures.chunks_mut(TOGETHER).enumerate() {
                let block = x.rows((first + block) * TOGETHER, figures.len());
                let mut sums = vec![T::zero(); figures.len()];
                for column in block.column_iter() {
                    simd::add_up(&mut sums, column.as_slice());
                }
                let means: Vec<T> = sums.iter().map(|sum| *sum / count).collect();
                sums.fill(T::zero());
                for column in block.column_iter() {
                    simd::add_squares(&mut sums, column.as_slice(), &means);
                }
                for ((figure, mean), sum) in figures.iter_mut().zip(means).zip(sums) {
                    *figure = (mean, T::one() / (sum / count + eps).sqrt());
                }
            }
        });
        let (means, factors): (Vec<T>, Vec<T>) = figures.into_iter().unzip();
        let number = |numbers: &Option<Vec<f64>>, column: usize| numbers.as_ref().map(|n| T::of(n[column]));
        let mut normed = DMatrix::zeros(rows, columns);
        team::each_part(normed.as_mut_slice(), rows, threads, |first, part| {
            for (column, out) in part.chunks_exact_mut(rows.max(1)).enumerate() {
                let column = first + column;
                let gain = number(&self.gain, column).unwrap_or(T::one());
                let shift = number(&self.shift, column).unwrap_or(T::zero());
                simd::normalise(out, x.column(column).as_slice(), (&means, &factors), (gain, shift));
            }
        });
        normed
    }
}

/// Rows whose figures are taken together: two passes over them stay in a core's own cache.
const TOGETHER: usize = 128;

impl Operation for LayerNorm {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        let [shape] = inputs else { return Err("a norm has one input".to_owned()) };
        for (what, numbers) in [("gains", &self.gain), ("shifts", &self.shift)] {
            if let Some(numbers) = numbers {
                equal(&format!("columns and {what} of the norm"), shape.1, numbers.len())?;
            }
        }
        Ok(*shape)
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], arithmetic: Arithmetic) -> DMatrix<T> {
        match arithmetic {
            Arithmetic::Ordered => self.row_by_row(inputs[0]),
            Arithmetic::Fast { .. } => self.column_by_column(inputs[0], arithmetic),
        }
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let x = &signs.inputs[0];
        let gain = if self.gain.is_some() { " · gain" } else { "" };
        let shift = if self.shift.is_some() { " + shift" } else { "" };
        let right = format!("({x} − mean({x})) / √(variance({x}) + ε){gain}{shift}");
        signs.formula(right, "", &signs.facing_inputs())
    }

    fn explain(&self, row: usize, column: usize, _: &[View<'_, f64>]) -> Expr {
        let figure = |figure| Expr::Row { figure, input: 0, row };
        let root = Expr::Sum(vec![figure(RowFigure::Variance), Expr::Number(self.eps)]).apply(Function::Sqrt);
        let mut value = Expr::cell(0, row, column).minus(figure(RowFigure::Mean)).over(root);
        if let Some(gain) = &self.gain {
            value = Expr::Product(vec![value, Expr::Number(gain[column])]);
        }
        match &self.shift {
            Some(shift) => Expr::Sum(vec![value, Expr::Number(shift[column])]),
            None => value,
        }
    }

    /// A row of d numbers: d − 1 additions for the mean, 2d − 1 for the variance (d differences, which the numerator
    /// takes too), one for eps; d squares; d divisions by the root, 2 for the means and the root itself.
    fn cost(&self, inputs: &[Shape]) -> Cost {
        let (rows, width) = inputs.first().map_or((0, 0), |(r, c)| (*r as u128, *c as u128));
        let cells = rows * width;
        let each = |numbers: &Option<Vec<f64>>| if numbers.is_some() { cells } else { 0 };
        Cost {
            other_multiplications: cells + each(&self.gain),
            additions: rows * (3 * width).saturating_sub(1) + each(&self.shift),
            divisions: cells + 3 * rows,
            ..Cost::default()
        }
    }

    fn tell(&self, told: &Told<'_>) -> String {
        let line = told.line();
        let normalised = match (&self.gain, &self.shift) {
            (None, None) => t!("Each token's %{line}, less its mean, over its standard deviation.", line),
            (Some(_), None) => t!(
                "Each token's %{line}, less its mean, over its standard deviation, then multiplied by the gain.",
                line
            ),
            (None, Some(_)) => t!(
                "Each token's %{line}, less its mean, over its standard deviation, then the shift is added.",
                line
            ),
            (Some(_), Some(_)) => t!(
                "Each token's %{line}, less its mean, over its standard deviation, then multiplied by the gain, and the shift is added.",
                line
            ),
        };
        let flat: Vec<&str> = told.inputs.first().map_or_else(Vec::new, |x| {
            let is_flat = |r: &usize| x.ncols() > 1 && x.row(*r).iter().all(|v| *v == x[(*r, 0)]);
            (0..x.nrows()).filter(is_flat).map(|r| told.row(r)).collect()
        });
        match flat.as_slice() {
            [] => normalised,
            names => t!(
                "%{normalised} All numbers of %{rows} are equal: less their mean, nothing is left.",
                normalised,
                rows = list(names.iter().copied())
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;

    /// 1, 3, 5, 7: mean 4, differences −3, −1, 1, 3, variance (9 + 1 + 1 + 9) / 4 = 5. With eps 4 the root is 3.
    #[test]
    fn a_row_less_its_mean_over_its_standard_deviation() {
        let x = DMatrix::from_row_slice(1, 4, &[1.0, 3.0, 5.0, 7.0]);
        let norm = LayerNorm { eps: 4.0, gain: None, shift: None };
        let normed = norm.compute(&[x.as_view()], Arithmetic::Ordered);
        for (column, expected) in [-1.0, -1.0 / 3.0, 1.0 / 3.0, 1.0].into_iter().enumerate() {
            assert_abs_diff_eq!(normed[(0, column)], expected, epsilon = 1e-15);
            let explained = norm.explain(0, column, &[x.as_view()]).value(&[x.as_view()]);
            assert_eq!(explained.to_bits(), normed[(0, column)].to_bits());
        }
    }

    /// The same row; −1 · 2 + 0.5 = −1.5 and 1 · −1 + 0 = −1.
    #[test]
    fn the_gain_comes_before_the_shift() {
        let x = DMatrix::from_row_slice(1, 4, &[1.0, 3.0, 5.0, 7.0]);
        let (gain, shift) = (vec![2.0, 1.0, 1.0, -1.0], vec![0.5, 0.0, 0.0, 0.0]);
        let norm = LayerNorm { eps: 4.0, gain: Some(gain), shift: Some(shift) };
        let normed = norm.compute(&[x.as_view()], Arithmetic::Ordered);
        assert_abs_diff_eq!(normed[(0, 0)], -1.5, epsilon = 1e-15);
        assert_abs_diff_eq!(normed[(0, 3)], -1.0, epsilon = 1e-15);
        assert_eq!(norm.parameters(), 8);
    }

    /// 300 rows are more than a block, and 300 · 120 numbers enough for a second thread: the same numbers but for rounding.
    #[test]
    fn all_rows_side_by_side_give_what_each_gives_by_itself() {
        let x = DMatrix::from_fn(300, 120, |i, j| ((i * 7 + j * 13) % 101) as f64 / 10.0 + i as f64);
        let gain = (0..120).map(|column| f64::from(column) / 60.0 - 1.0).collect();
        for (gain, shift) in [(None, None), (Some(gain), Some(vec![0.25; 120]))] {
            let norm = LayerNorm { eps: 1e-5, gain, shift };
            let each = norm.compute(&[x.as_view()], Arithmetic::Ordered);
            for threads in [1, 2] {
                let all = norm.compute(&[x.as_view()], Arithmetic::Fast { threads });
                assert!((all - &each).amax() < 1e-12, "{threads} threads");
            }
        }
    }

    /// Rows that differ only by a constant and a factor are the same after the norm, where eps is 0.
    #[test]
    fn where_a_row_lies_and_how_wide_it_spreads_is_forgotten() {
        let x = DMatrix::from_row_slice(2, 3, &[1.0, 2.0, 6.0, 12.0, 14.0, 22.0]);
        let norm = LayerNorm { eps: 0.0, gain: None, shift: None };
        let normed = norm.compute(&[x.as_view()], Arithmetic::Ordered);
        for column in 0..3 {
            assert_abs_diff_eq!(normed[(0, column)], normed[(1, column)], epsilon = 1e-15);
        }
    }

    /// Two rows of four numbers, each: 3 + 4 + 3 + 1 = 11 additions, 4 squares, 4 + 3 divisions; gain and shift 4 each.
    #[test]
    fn its_cost_is_what_a_person_counts() {
        let norm = LayerNorm { eps: 1e-5, gain: Some(vec![1.0; 4]), shift: Some(vec![0.0; 4]) };
        let cost = norm.cost(&[(2, 4)]);
        assert_eq!((cost.additions, cost.other_multiplications, cost.divisions), (2 * 15, 2 * 8, 2 * 7));
    }
}
