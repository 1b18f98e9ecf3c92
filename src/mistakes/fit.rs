//! Whether numbers that someone has are numbers that were computed, but for rounding.

use nalgebra::DMatrix;

use crate::answers::Grain;
use crate::arrays::is_blank;
use crate::plan::{Name, Stack};

/// How far two numbers may lie apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tolerance {
    /// When the result alone was rounded.
    pub(super) strict: f64,
    /// When every step on the way to it was rounded, too.
    pub(super) loose: f64,
}

/// How well two tensors agree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fit {
    /// The largest difference, in strict tolerances; infinite where one has a number and the other has none.
    pub(super) worst: f64,
    /// Whether it is also beyond the loose tolerance.
    pub(super) beyond: bool,
}

impl Fit {
    /// Nothing to disagree about.
    pub(super) const PERFECT: Self = Self { worst: 0.0, beyond: false };
    /// Another shape.
    pub(super) const NONE: Self = Self { worst: f64::INFINITY, beyond: true };

    pub(super) fn is_strict(self) -> bool {
        self.worst <= 1.0
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self { worst: self.worst.max(other.worst), beyond: self.beyond || other.beyond }
    }
}

/// The tolerance for a tensor whose largest number is `largest`, told as finely as `grain`.
///
/// A computation in single precision is off by more than one rounding: sums of many products lose two or three digits,
/// and a softmax passes on what the scores have lost. `chain` is by how much the same computation is off when every step is rounded.
pub(super) fn tolerance(grain: Grain, largest: f64, chain: f64) -> Tolerance {
    let (strict, times) = match grain {
        Grain::Double => (1e-8 * largest, 2000.0),
        Grain::Single => (2e-5 * largest, 4.0),
        Grain::Half => (1.5e-3 * largest, 8.0),
        Grain::Brain => (1.2e-2 * largest, 6.0),
        Grain::Decimals(_) => (2.0 * grain.unit(0.0) + 2e-6 * largest, 2.0),
        Grain::Significant(_) => (2.0 * grain.unit(largest) + 2e-6 * largest, 2.0),
    };
    let strict = strict.max(f64::MIN_POSITIVE);
    Tolerance { strict, loose: (strict * times).max(6.0 * chain) }
}

/// From here on a number in the place of −∞ hides as well as −∞ does.
const HIDES: f64 = -5000.0;

/// Whether a number stands for −∞ where all others are at least `least`.
pub(super) fn hides(number: f64, least: f64) -> bool {
    number == f64::NEG_INFINITY || (number <= HIDES && number < least - 1000.0)
}

/// Up to here a number may be one that a mask adds; float16 holds −10,000, and a score stands on top of it.
const ADDED: f64 = -9000.0;

/// What a tensor of scores says of size, apart from the places where a large negative number hides a key.
///
/// Such a number says nothing of how large scores are: beside −10⁹ every difference would be a rounding.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    /// Numbers up to here hide; −∞ where no other does.
    hidden: f64,
    /// The largest number that does not hide, without its sign.
    pub(super) largest: f64,
    /// The smallest that does not.
    pub(super) least: f64,
}

impl Seen {
    /// Of a step's numbers. They hide where they are large and negative, and about as large as each other: large scores
    /// are of every size.
    pub(super) fn of<'a>(name: Name, sheets: impl Iterator<Item = &'a DMatrix<f64>> + Clone) -> Self {
        Self::within(name, extremes(sheets.clone()), sheets)
    }

    /// The same, where the largest number, without its sign, and the smallest are known.
    pub(super) fn within<'a>(
        name: Name,
        (largest, least): (f64, f64),
        sheets: impl Iterator<Item = &'a DMatrix<f64>>,
    ) -> Self {
        let all = Self { hidden: f64::NEG_INFINITY, largest, least };
        if !matches!(name, Name::Stack(Stack::BiasedScores | Stack::MaskedScores)) || least > ADDED {
            return all;
        }
        let mut seen = Self { hidden: least, largest: 0.0, least: f64::INFINITY };
        for number in sheets.flat_map(|sheet| sheet.iter().copied()).filter(|number| number.is_finite()) {
            if number <= ADDED {
                seen.hidden = seen.hidden.max(number);
            } else {
                (seen.largest, seen.least) = (seen.largest.max(number.abs()), seen.least.min(number));
            }
        }
        if seen.hidden <= 0.8 * least && seen.largest > 0.0 { seen } else { all }
    }

    /// Whether both of two numbers hide.
    pub(super) fn both_hide(&self, theirs: f64, ours: f64) -> bool {
        ours <= self.hidden && hides(theirs, self.least)
    }
}

/// How far apart two numbers are; NaN agrees with NaN, ∞ with ∞ of the same sign, and a blank with everything.
pub(super) fn distance(theirs: f64, ours: f64) -> f64 {
    if theirs == ours || is_blank(theirs) || (theirs.is_nan() && ours.is_nan()) {
        return 0.0;
    }
    let distance = (theirs - ours).abs();
    if distance.is_nan() { f64::INFINITY } else { distance }
}

/// What is left blank in one matrix, taken from another of the same size.
pub(super) fn filled_in(theirs: &mut DMatrix<f64>, ours: &DMatrix<f64>) {
    if theirs.shape() == ours.shape() {
        theirs.zip_apply(ours, |theirs, ours| {
            if is_blank(*theirs) {
                *theirs = ours;
            }
        });
    }
}

/// The largest and the smallest number that is one.
pub(super) fn extremes<'a>(sheets: impl Iterator<Item = &'a DMatrix<f64>>) -> (f64, f64) {
    let numbers = sheets.flat_map(|sheet| sheet.iter().copied()).filter(|number| number.is_finite());
    numbers.fold((0.0_f64, f64::INFINITY), |(largest, least), number| {
        (largest.max(number.abs()), least.min(number))
    })
}

/// Compares sheet by sheet; stops at the first cell that is beyond the loose tolerance. `excused` says of a cell
/// (sheet, place in the sheet, theirs) that it may differ.
pub(super) fn fit<'a>(
    theirs: &[DMatrix<f64>],
    ours: impl Iterator<Item = &'a DMatrix<f64>>,
    tolerance: Tolerance,
    excused: impl Fn(usize, usize, f64) -> bool,
) -> Fit {
    let mut worst = 0.0_f64;
    for (sheet, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
        if theirs.shape() != ours.shape() {
            return Fit::NONE;
        }
        for (place, (theirs, ours)) in theirs.iter().zip(ours.iter()).enumerate() {
            let distance = distance(*theirs, *ours);
            if distance <= worst || excused(sheet, place, *theirs) {
                continue;
            }
            worst = distance;
            if worst > tolerance.loose {
                return Fit { worst: worst / tolerance.strict, beyond: true };
            }
        }
    }
    Fit { worst: worst / tolerance.strict, beyond: false }
}
