//! One tensor beside what a stack computes.
//!
//! How far it may be off, in one place:
//!
//! - *matches*: what rounding the result alone explains in the precision that its numbers show ([`fit::tolerance`]: 2·10⁻⁵ of
//!   the step's largest number for float32, 1.5·10⁻³ for float16, 1.2·10⁻² for bfloat16).
//! - *rounding*: four to eight times that, or six times what the same model loses on the same text when every step up to
//!   there is rounded to that precision: measured, so that it grows with the layers as it does in a port. The precision is
//!   the coarsest of the tensors up to there: what bfloat16 has lost no later float32 brings back.
//! - *wrong*: more than that.

use std::collections::HashMap;

use nalgebra::DMatrix;

use super::super::court::is_for_its_queries;
use super::super::difference::{self, Difference, Pair};
use super::super::fit::{self, Fit, Seen, Tolerance};
use super::super::verdict::{At, Measured};
use crate::answers::{Expected, Grain, Placed, Reading, Tensor, each_reading};
use crate::arrays::is_blank;
use crate::plan::{Attention, Name, Stack, StepId};
use crate::trace::Trace;

/// A tensor, the step that it claims to hold, and what that is.
pub(super) struct Exhibit<'a> {
    pub(super) placed: &'a Placed,
    pub(super) expected: Expected,
    pub(super) ids: Vec<StepId>,
    /// The right numbers, a matrix a head.
    ours: Vec<DMatrix<f64>>,
    /// The same after the mask, where scores may have been masked already.
    masked: Vec<DMatrix<f64>>,
    seen: Seen,
    /// How finely it is told.
    pub(super) grain: Grain,
}

/// The precision that a tensor was computed in, as far as it shows. Where the right numbers are all numbers of that
/// precision themselves (rows of a vocabulary that is stored in bfloat16), it shows nothing.
fn told_in(grain: Grain, ours: &[DMatrix<f64>]) -> Grain {
    let is_exact =
        || ours.iter().flat_map(|sheet| sheet.iter()).all(|number| grain.round(*number) == *number);
    match grain {
        Grain::Half | Grain::Brain if is_exact() => Grain::Single,
        grain => grain,
    }
}

/// How a tensor compares.
#[derive(Debug, Clone)]
pub(super) struct Judged {
    pub(super) fit: Fit,
    pub(super) reading: Reading,
}

impl<'a> Exhibit<'a> {
    /// `None` where the run does not have the step.
    pub(super) fn new(
        placed: &'a Placed,
        (expected, ids): (Expected, Vec<StepId>),
        masked: &[StepId],
        trace: &Trace<f64>,
    ) -> Option<Self> {
        let values = |ids: &[StepId]| -> Option<Vec<DMatrix<f64>>> {
            ids.iter().map(|id| Some(trace.get(*id)?.into_owned())).collect()
        };
        let ours = values(&ids)?;
        let masked = values(masked)?;
        let seen = Seen::of(placed.tensor.name, ours.iter());
        let grain = told_in(placed.tensor.grain, &ours);
        Some(Self { placed, expected, ids, ours, masked, seen, grain })
    }

    pub(super) fn tensor(&self) -> &'a Tensor {
        &self.placed.tensor
    }

    /// How far it may be off where it is told in `grain`, and rounding every step takes away `noise`.
    pub(super) fn tolerance(&self, grain: Grain, noise: f64) -> Tolerance {
        fit::tolerance(grain, self.seen.largest, noise)
    }

    /// What rounding every step takes away, from what it takes away of each step.
    pub(super) fn lost(&self, noise: &HashMap<StepId, f64>) -> f64 {
        self.ids.iter().filter_map(|id| noise.get(id)).copied().fold(0.0, f64::max)
    }

    /// The reading that fits best; nothing where none has the right shape.
    pub(super) fn judge(&self, tolerance: Tolerance, attention: &Attention) -> Option<Judged> {
        let tensor = self.tensor();
        let mut best: Option<Judged> = None;
        let readings = each_reading(&tensor.array, &self.expected);
        for reading in readings.filter(|reading| is_for_its_queries(tensor, reading, attention.num_heads)) {
            let fit = fit::fit(&reading.sheets, self.ours.iter(), tolerance, |sheet, place, theirs| {
                self.is_hidden(sheet, place, theirs)
            });
            let is_strict = fit.is_strict();
            // Where nothing fits, the plainest reading is what is told.
            let is_better = best.as_ref().is_none_or(|best| !fit.beyond && fit.worst < best.fit.worst);
            if is_better {
                best = Some(Judged { fit, reading });
            }
            if is_strict {
                break;
            }
        }
        best
    }

    /// How well other numbers than ours give what was read.
    pub(super) fn fits(&self, sheets: &[DMatrix<f64>], values: &[DMatrix<f64>], tolerance: Tolerance) -> Fit {
        fit::fit(sheets, values.iter(), tolerance, |sheet, place, theirs| {
            self.is_hidden(sheet, place, theirs)
        })
    }

    /// Whether queries are right once they are taken as scaled already.
    pub(super) fn judge_scaled(&self, tolerance: Tolerance, attention: &Attention) -> Option<Judged> {
        let name = self.tensor().name;
        if !matches!(name, Name::Q | Name::QNorm | Name::Stack(Stack::QHeads | Stack::QNorm | Stack::QRot)) {
            return None;
        }
        let scale = attention.scale_value();
        let scaled: Vec<_> = self.ours.iter().map(|ours| ours * scale).collect();
        let tolerance =
            Tolerance { strict: tolerance.strict * scale.abs(), loose: tolerance.loose * scale.abs() };
        let reading = each_reading(&self.tensor().array, &self.expected).next()?;
        let fit = fit::fit(&reading.sheets, scaled.iter(), tolerance, |_, _, _| false);
        fit.is_strict().then_some(Judged { fit, reading })
    }

    /// Whether a score is hidden there, so that any large negative number is as good.
    fn is_hidden(&self, sheet: usize, place: usize, theirs: f64) -> bool {
        let at = |sheets: &[DMatrix<f64>]| {
            sheets.get(sheet).and_then(|sheet| sheet.as_slice().get(place)).copied()
        };
        let is_masked = at(&self.masked) == Some(f64::NEG_INFINITY) && fit::hides(theirs, self.seen.least);
        let has_hidden = matches!(self.tensor().name, Name::Stack(Stack::BiasedScores | Stack::MaskedScores));
        is_masked || has_hidden && at(&self.ours).is_some_and(|ours| self.seen.both_hide(theirs, ours))
    }

    /// By how much, where and in how many cells it differs.
    pub(super) fn measured(&self, reading: &Reading, tolerance: f64) -> Measured {
        let at = |sheet: usize, row: usize, column: usize| At {
            sequence: None,
            head: self.expected.sheets.map(|_| sheet),
            row,
            column,
        };
        let mut measured = Measured::from(at(0, 0, 0));
        for (sheet, (theirs, ours)) in reading.sheets.iter().zip(&self.ours).enumerate() {
            measured.of += theirs.iter().filter(|number| !is_blank(**number)).count();
            for row in 0..ours.nrows() {
                for column in 0..ours.ncols() {
                    let number = theirs[(row, column)];
                    if self.is_hidden(sheet, column * ours.nrows() + row, number) {
                        continue;
                    }
                    let distance = fit::distance(number, ours[(row, column)]);
                    measured.add(at(sheet, row, column), distance, tolerance);
                }
            }
        }
        measured.done()
    }

    /// What kind of difference it shows.
    pub(super) fn difference(&self, reading: &Reading, tolerance: f64, attention: &Attention) -> Difference {
        let mut theirs = reading.sheets.clone();
        for (sheet, (theirs, ours)) in theirs.iter_mut().zip(&self.ours).enumerate() {
            fit::filled_in(theirs, ours);
            // A large negative number hides as well as −∞: no difference.
            for (place, (theirs, ours)) in theirs.iter_mut().zip(ours.iter()).enumerate() {
                if self.is_hidden(sheet, place, *theirs) {
                    *theirs = *ours;
                }
            }
        }
        difference::compare(&Pair {
            name: self.tensor().name,
            theirs: &theirs,
            ours: &self.ours,
            tolerance: &|_| tolerance,
            sheets: self.expected.sheets,
            d_k: Some(attention.d_k),
            d_model: Some(attention.d_model),
            num_heads: Some(attention.num_heads),
        })
    }
}
