//! By how much, where, and in how many cells a tensor differs.

use super::bench::{Own, Value};
use super::court::{Court, Judged};
use super::diagnose::{At, Measured};
use super::draft::Wrong;
use super::fit;
use crate::answers::{Expected, Layout};
use crate::arrays::is_blank;
use crate::plan::{Name, Stack};

impl Court<'_> {
    /// Queries that were multiplied by the scale before the product: the scores come out the same.
    pub(super) fn judge_scaled(&mut self, exhibit: usize, right: &Wrong) -> Option<Judged> {
        let name = self.exhibits[exhibit].tensor.name;
        if !matches!(name, Name::Q | Name::QNorm | Name::Stack(Stack::QHeads | Stack::QNorm | Stack::QRot)) {
            return None;
        }
        let scale = self.call.attention.scale_value();
        let (expected, _) = Self::expected(right, name)?;
        let values = self.values(right, &Own::new(), name)?;
        let tolerance = self.tolerance(exhibit, &values);
        let reading = self.plainest(exhibit, expected)?.clone();
        let scaled: Vec<_> = values.iter().map(|value| self.bench.get(*value) * scale).collect();
        let fit = fit::fit(&reading.sheets, scaled.iter(), tolerance, |_, _, _| false);
        fit.is_strict().then_some(Judged { fit, how: reading.how, has_shape: true })
    }

    /// How an exhibit differs from these values, read in a certain way.
    pub(super) fn measure(
        &mut self,
        exhibit: usize,
        expected: Expected,
        values: &[Value],
        how: &[Layout],
        scaled: bool,
    ) -> Option<Measured> {
        let tolerance = self.strictly(exhibit, values);
        let factor = if scaled { self.call.attention.scale_value() } else { 1.0 };
        let name = self.exhibits[exhibit].tensor.name;
        let seen = self.seen_in(name, values);
        let right = self.right.clone();
        let masked = self.hidden(&right, &Own::new(), name).unwrap_or_default();
        let (reading, bench) = self.reading(exhibit, expected, how)?;
        let has_hidden = matches!(name, Name::Stack(Stack::BiasedScores | Stack::MaskedScores));
        let heads = expected.sheets.unwrap_or(1).max(1);
        let at = |sheet: usize, row: usize, column: usize| At {
            sequence: expected.batch.map(|_| sheet / heads),
            head: expected.sheets.map(|_| sheet % heads),
            row,
            column,
        };
        let mut measured = Measured::from(at(0, 0, 0));
        for (sheet, (theirs, value)) in reading.sheets.iter().zip(values).enumerate() {
            let ours = bench.get(*value);
            measured.of += theirs.iter().filter(|number| !is_blank(**number)).count();
            for row in 0..ours.nrows() {
                for column in 0..ours.ncols() {
                    let (theirs, ours) = (theirs[(row, column)], ours[(row, column)] * factor);
                    let is_masked = masked.get(sheet).is_some_and(|masked| {
                        bench.get(*masked).get((row, column)) == Some(&f64::NEG_INFINITY)
                    });
                    let hides = is_masked && fit::hides(theirs, seen.least)
                        || has_hidden && seen.both_hide(theirs, ours);
                    let distance = match hides {
                        true => 0.0,
                        false => fit::distance(theirs, ours),
                    };
                    measured.add(at(sheet, row, column), distance, tolerance);
                }
            }
        }
        Some(measured.done())
    }

    /// Whether two computations differ so much that single precision shows it.
    pub(super) fn differ(&self, one: &[Value], other: &[Value]) -> bool {
        if one.len() != other.len() {
            return true;
        }
        let sheets =
            |values: &'_ [Value]| values.iter().map(|value| self.bench.get(*value)).collect::<Vec<_>>();
        let (one, other) = (sheets(one), sheets(other));
        let (largest, _) = fit::extremes(one.iter().copied());
        one.iter().zip(&other).any(|(one, other)| {
            one.shape() != other.shape()
                || one.iter().zip(other.iter()).any(|(a, b)| fit::distance(*a, *b) > 1e-3 * largest)
        })
    }
}
