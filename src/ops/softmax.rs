//! Scores into attention weights.

use nalgebra::DMatrix;

use super::told::constant;
use super::{Arithmetic, Cost, Expr, Formula, Function, Layout, Operation, Real, Shape, Signs, Told, View};
use crate::words::t;

/// What a query row with nothing to attend to means; libraries disagree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FullyMaskedRows {
    /// Refused, with the row named.
    Error,
    /// Weights of zero, so the head gives zero.
    Zeros,
    /// 0/0, as a plain softmax gives.
    Nan,
    /// 1/n_kv each, as a large negative number in place of −∞ gives.
    Uniform,
}

/// Turns each row of scores into attention weights, which sum to 1 (Vaswani et al. 2017, Eq. 1).
///
/// n_q × n_kv in, the same out; no unit. The row's largest score is subtracted first: the result is the same, and
/// e^x cannot overflow. A score of −∞ becomes exactly 0. A sink takes its share of each row without a value row, so
/// that the rest sums to less than 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Softmax {
    /// What a row that is all −∞ gives; the plan's builder has refused such rows under `Error`.
    pub empty_rows: FullyMaskedRows,
    /// One more logit in the denominator (attention sink, as in gpt-oss).
    pub sink: Option<f64>,
}

/// Numbers handled together, three times over: they stay in a core's own cache meanwhile.
const BLOCK: usize = 64 * 1024;

/// Rows handled together at least: runs of memory that are long enough for the vector units.
const LEAST: usize = 64;

impl Softmax {
    /// What each cell of an empty row becomes.
    pub(super) fn empty<T: Real>(&self, columns: usize) -> T {
        match self.empty_rows {
            FullyMaskedRows::Zeros => T::zero(),
            FullyMaskedRows::Uniform => T::one() / T::of(columns as f64),
            FullyMaskedRows::Nan | FullyMaskedRows::Error => T::of(f64::NAN),
        }
    }

    /// The rows `rows` of the scores into weights, in their place. Column by column, as they lie in memory: the rows of a
    /// block are independent of each other, and each row is still summed from left to right.
    fn block<T: Real>(&self, scores: &mut DMatrix<T>, rows: std::ops::Range<usize>, arithmetic: Arithmetic) {
        let (height, columns) = scores.shape();
        let place = |column: usize| column * height + rows.start..column * height + rows.end;
        let sink = T::of(self.sink.unwrap_or(f64::NEG_INFINITY));
        let mut largest = vec![sink; rows.len()];
        for column in 0..columns {
            T::raise(&mut largest, &scores.as_slice()[place(column)]);
        }
        let nothing = T::of(f64::NEG_INFINITY);
        // NaN is never larger than −∞, so such a row may hold NaN and is then not empty: NaN is what it gives.
        let is_empty = |row: &usize| scores.row(*row).iter().all(|score| *score == nothing);
        let hidden = rows.clone().zip(&largest).filter(|(_, most)| **most == nothing);
        let empty: Vec<usize> = hidden.map(|(row, _)| row).filter(is_empty).collect();
        let mut sums: Vec<T> = match self.sink {
            None => vec![T::zero(); rows.len()],
            Some(_) => largest.iter().map(|most| (sink - *most).exponential()).collect(),
        };
        for column in 0..columns {
            T::exponentials(&mut scores.as_mut_slice()[place(column)], &largest, &mut sums, arithmetic);
        }
        for column in 0..columns {
            T::divide(&mut scores.as_mut_slice()[place(column)], &sums, arithmetic);
        }
        for row in empty {
            scores.row_mut(row).fill(self.empty(columns));
        }
    }
}

impl Operation for Softmax {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        inputs.first().copied().ok_or_else(|| "a softmax needs scores".to_owned())
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], arithmetic: Arithmetic) -> DMatrix<T> {
        let mut weights = inputs[0].into_owned();
        self.compute_over(&mut weights, arithmetic);
        weights
    }

    fn compute_over<T: Real>(&self, scores: &mut DMatrix<T>, arithmetic: Arithmetic) -> bool {
        let (rows, columns) = scores.shape();
        let block = (BLOCK / columns.max(1)).max(LEAST);
        for from in (0..rows).step_by(block) {
            self.block(scores, from..rows.min(from + block), arithmetic);
        }
        true
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let way = match signs.layout {
            Layout::Rows => t!("row by row"),
            Layout::Columns => t!("column by column"),
        };
        let sink =
            self.sink.map(|sink| t!(", with a sink of %{sink}", sink = constant(sink))).unwrap_or_default();
        signs.formula(format!("softmax({}), {way}{sink}", signs.inputs[0]), "", &signs.facing_inputs())
    }

    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        let scores = inputs[0];
        let columns = scores.ncols();
        if self.sink.is_none() && scores.row(row).iter().all(|s| *s == f64::NEG_INFINITY) {
            return match self.empty_rows {
                FullyMaskedRows::Uniform => Expr::Number(1.0).over(Expr::Number(columns as f64)),
                _ => Expr::Number(self.empty(columns)),
            };
        }
        let cells = || (0..columns).map(|c| Expr::cell(0, row, c));
        let sink = || self.sink.map(Expr::Number);
        let largest = || match self.sink {
            None => Expr::RowMax { input: 0, row },
            Some(sink) => Expr::Max(vec![Expr::RowMax { input: 0, row }, Expr::Number(sink)]),
        };
        let power = |x: Expr| x.minus(largest()).apply(Function::Exp);
        power(Expr::cell(0, row, column)).over(Expr::Sum(cells().chain(sink()).map(power).collect()))
    }

    fn reason(&self, row: usize, _: usize, inputs: &[View<'_, f64>]) -> Option<String> {
        let is_blind = inputs[0].row(row).iter().all(|score| *score == f64::NEG_INFINITY);
        is_blind.then(|| t!("nothing can be seen from here: %{held}", held = self.told_of_empty()))
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        let (rows, columns) = inputs.first().map_or((0, 0), |(r, c)| (*r as u128, *c as u128));
        let logits = columns + u128::from(self.sink.is_some());
        Cost {
            additions: rows * logits + rows * logits.saturating_sub(1),
            exponentials: rows * logits,
            divisions: rows * columns,
            ..Cost::default()
        }
    }

    fn tell(&self, told: &Told<'_>) -> String {
        let (every, other) = match told.layout {
            Layout::Rows => (t!("Every row sums"), t!("All remaining rows sum")),
            Layout::Columns => (t!("Every column sums"), t!("All remaining columns sum")),
        };
        let empty = self.empty_lines(told);
        let all = match self.sink {
            None if !empty.is_empty() && self.empty_rows != FullyMaskedRows::Uniform => other,
            _ => every,
        };
        let mut sentences = match self.sink {
            None if empty.len() == told.value.nrows() && self.empty_rows != FullyMaskedRows::Uniform => {
                Vec::new()
            }
            None => vec![t!("%{all} to 1.", all)],
            Some(_) => vec![t!("%{all} to 1 together with what the sink takes.", all)],
        };
        if !empty.is_empty() {
            let names = list_of(told.rows, &empty);
            sentences.push(t!(
                "Nothing can be seen from %{names}: %{held}.",
                names,
                held = self.told_of_empty()
            ));
        }
        let rows: Vec<usize> = (0..told.value.nrows()).filter(|r| !empty.contains(r)).collect();
        let (even, choosing): (Vec<usize>, Vec<usize>) =
            rows.iter().filter(|r| seen(told, **r).len() > 1).partition(|r| is_even(&seen(told, **r)));
        if let Some((best, r, c, tied)) = told.largest_of(&choosing) {
            let (query, key, weight) = (told.row(r), told.column(c), told.number(best));
            let others = if tied { t!(" (others tie)") } else { String::new() };
            sentences.push(match rows.iter().any(|r| seen(told, *r).len() == 1) {
                true => t!(
                    "Sharpest where there is a choice: %{query} looks at %{key}, %{weight}%{others}.",
                    query,
                    key,
                    weight,
                    others
                ),
                false => {
                    t!("Sharpest: %{query} looks at %{key}, %{weight}%{others}.", query, key, weight, others)
                }
            });
        }
        let all_seen = |r: &&usize| seen(told, **r).len() == told.value.ncols();
        let (over_all, over_some): (Vec<usize>, Vec<usize>) = even.iter().partition(all_seen);
        if let Some(first) = over_all.first() {
            let each = told.number(told.value[(*first, 0)]);
            sentences.push(t!(
                "Even: %{tokens} (%{each} each).",
                tokens = list_of(told.rows, &over_all),
                each
            ));
        }
        if !over_some.is_empty() {
            sentences.push(t!(
                "Even over what is left to see: %{tokens}.",
                tokens = list_of(told.rows, &over_some)
            ));
        }
        sentences.join(&t!(" "))
    }
}

impl Softmax {
    /// What a row that could see nothing holds, in words.
    pub(super) fn told_of_empty(&self) -> String {
        match (self.sink, self.empty_rows) {
            (Some(_), _) => t!("the sink takes all"),
            (None, FullyMaskedRows::Zeros) => t!("zeros, as this lesson asks"),
            (None, FullyMaskedRows::Uniform) => {
                t!("spread evenly over every key, as this lesson asks")
            }
            (None, FullyMaskedRows::Nan | FullyMaskedRows::Error) => {
                t!("0/0 is not a number, as in a plain softmax")
            }
        }
    }

    /// Rows that could see nothing: without a sink, what they hold was decided and not computed.
    fn empty_lines(&self, told: &Told<'_>) -> Vec<usize> {
        let Some(scores) = told.inputs.first() else { return Vec::new() };
        (0..scores.nrows()).filter(|r| scores.row(*r).iter().all(|s| *s == f64::NEG_INFINITY)).collect()
    }
}

/// The weights of a row that are not zero.
fn seen(told: &Told<'_>, row: usize) -> Vec<f64> {
    told.value.row(row).iter().copied().filter(|weight| *weight > 0.0).collect()
}

/// Whether all are the same but for rounding.
fn is_even(weights: &[f64]) -> bool {
    let most = weights.iter().copied().fold(0.0, f64::max);
    weights.iter().all(|weight| most - weight <= 1e-12)
}

fn list_of(names: &[String], at: &[usize]) -> String {
    super::list(at.iter().filter_map(|r| names.get(*r)).map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weights of one row of scores under every arithmetic and type, as f64.
    fn weights(scores: &[f64], empty_rows: FullyMaskedRows) -> Vec<Vec<f64>> {
        let softmax = Softmax { empty_rows, sink: None };
        let double = DMatrix::from_row_slice(1, scores.len(), scores);
        let single = double.map(|score| score as f32);
        let mut all = Vec::new();
        for arithmetic in [Arithmetic::Ordered, Arithmetic::Fast { threads: 1 }] {
            let wide = softmax.compute(&[double.as_view()], arithmetic);
            let narrow = softmax.compute(&[single.as_view()], arithmetic);
            all.push(wide.iter().copied().collect());
            all.push(narrow.iter().map(|weight| f64::from(*weight)).collect());
        }
        all
    }

    /// The largest score is subtracted first: ∞ − ∞ is no number, so neither is the sum, nor anything over it.
    #[test]
    fn an_infinite_score_leaves_a_row_without_numbers() {
        for scores in [[f64::INFINITY, 1.0, f64::NEG_INFINITY], [f64::INFINITY; 3]] {
            for row in weights(&scores, FullyMaskedRows::Zeros) {
                assert!(row.iter().all(|weight| weight.is_nan()), "{scores:?}: {row:?}");
            }
        }
    }

    /// A row of −∞ beside NaN is not one in which everything is hidden, and what such a row means is not what it gets.
    #[test]
    fn what_is_not_a_number_is_not_taken_for_hidden() {
        for scores in [[f64::NAN, f64::NEG_INFINITY], [f64::NAN, f64::NAN], [f64::NAN, 1.0]] {
            for row in weights(&scores, FullyMaskedRows::Zeros) {
                assert!(row.iter().all(|weight| weight.is_nan()), "{scores:?}: {row:?}");
            }
        }
        for row in weights(&[f64::NEG_INFINITY; 2], FullyMaskedRows::Zeros) {
            assert_eq!(row, [0.0, 0.0]);
        }
    }
}
