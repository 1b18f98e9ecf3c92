//! Factors and offsets: one for all cells, or one for each row or column.
//!
//! Each cell allows an interval of factors (or offsets), by its tolerance. What all cells of a group allow is the
//! intersection; where that is empty, no factor explains the group. So the claim holds for every cell, and the
//! width of the intersection is how exactly the factor is known.

use super::Kind;
use super::evidence::{Fitted, bits, enough};
use super::factor;
use super::grid::{Both, Grid};
use super::region::Scope;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Model {
    /// theirs = ours · factor
    Factor,
    /// theirs = ours + offset
    Offset,
}

/// Which cells share a number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    All,
    /// A row of one sheet.
    Row,
    /// A column of one head, in all sequences: a bias or a gain is learned, so sequences share it.
    Column,
}

/// What a group's cells allow.
#[derive(Clone, Copy)]
struct Interval {
    low: f64,
    high: f64,
}

impl Interval {
    const ANY: Self = Self { low: f64::NEG_INFINITY, high: f64::INFINITY };

    fn and(self, a: f64, b: f64) -> Self {
        Self { low: self.low.max(a.min(b)), high: self.high.min(a.max(b)) }
    }

    /// Its middle; `None` where nothing was asked of it.
    fn middle(self) -> Option<f64> {
        (self.low.is_finite() && self.high.is_finite()).then_some(f64::midpoint(self.low, self.high))
    }
}

struct Fit<'g> {
    grid: &'g Grid<'g>,
    scope: &'g Scope,
    model: Model,
    group: Group,
}

/// One factor for all cells.
pub(super) fn ratio(grid: &Grid<'_>, scope: &Scope) -> Option<Kind> {
    let fit = Fit { grid, scope, model: Model::Factor, group: Group::All };
    let found = *fit.intervals()?.first()?;
    let middle = found.middle()?;
    let uncertainty = (found.high - found.low) / 2.0 / middle.abs();
    let known = factor::named(grid.pair, found.low, found.high);
    let factor = known.as_ref().map_or(middle, |known| known.value);
    let evidence = fit.evidence(&[Some(factor)])?;
    let bits = match &known {
        Some(known) => evidence.whole() - known.choice,
        None => evidence.left(),
    };
    enough(bits).then(|| Kind::Ratio { factor, uncertainty, named: known.map(|known| known.name) })
}

/// One offset for all cells.
pub(super) fn offset(grid: &Grid<'_>, scope: &Scope) -> Option<Kind> {
    let fit = Fit { grid, scope, model: Model::Offset, group: Group::All };
    let by = fit.intervals()?.first()?.middle()?;
    enough(fit.evidence(&[Some(by)])?.left()).then_some(Kind::Offset { by })
}

/// One number for each row or column.
pub(super) fn kind(grid: &Grid<'_>, scope: &Scope) -> Option<Kind> {
    let many = [
        (Model::Offset, Group::Column),
        (Model::Offset, Group::Row),
        (Model::Factor, Group::Row),
        (Model::Factor, Group::Column),
    ];
    many.into_iter().find_map(|(model, group)| {
        let fit = Fit { grid, scope, model, group };
        let numbers: Vec<Option<f64>> = fit.intervals()?.into_iter().map(Interval::middle).collect();
        if !enough(fit.evidence(&numbers)?.left()) {
            return None;
        }
        let known = || numbers.iter().flatten().copied();
        let (least, most) =
            (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
        Some(match (model, group) {
            (Model::Offset, Group::Column) => Kind::RowOffset,
            (Model::Offset, _) => Kind::RowConstants,
            (Model::Factor, Group::Column) => Kind::ColumnRatio { least, most },
            (Model::Factor, _) => Kind::RowRatio { least, most },
        })
    })
}

impl Fit<'_> {
    fn groups(&self) -> usize {
        match self.group {
            Group::All => 1,
            Group::Row => self.grid.sequences * self.grid.heads * self.grid.rows,
            Group::Column => self.grid.heads * self.grid.columns,
        }
    }

    fn group(&self, cell: &Both) -> usize {
        match self.group {
            Group::All => 0,
            Group::Row => cell.sheet * self.grid.rows + cell.row,
            Group::Column => cell.sheet % self.grid.heads * self.grid.columns + cell.column,
        }
    }

    /// What the cells of each group allow; `None` where one group has cells that disagree.
    fn intervals(&self) -> Option<Vec<Interval>> {
        // Each group's largest number of ours so far, and the factor there: good enough to know how far a cell may be
        // off. `evidence` looks once more, with the factor that was found.
        let mut rough = vec![(0.0, 1.0); self.groups()];
        let mut intervals = vec![Interval::ANY; self.groups()];
        for cell in self.scope.cells(self.grid) {
            let Both { theirs, ours, .. } = cell;
            if !theirs.is_finite() || !ours.is_finite() {
                // What a mask hides stays hidden, whatever the factor.
                if theirs == ours || theirs.is_nan() && ours.is_nan() {
                    continue;
                }
                return None;
            }
            let group = self.group(&cell);
            if self.model == Model::Factor && ours.abs() > rough[group].0 {
                rough[group] = (ours.abs(), theirs / ours);
            }
            let limit = self.limit(rough[group].1, theirs, ours);
            let allowed = match self.model {
                Model::Offset => intervals[group].and(theirs - ours - limit, theirs - ours + limit),
                Model::Factor if ours == 0.0 && theirs.abs() <= limit => continue,
                Model::Factor if ours == 0.0 => return None,
                Model::Factor => intervals[group].and((theirs - limit) / ours, (theirs + limit) / ours),
            };
            // Also where one of them is NaN.
            let possible = allowed.low <= allowed.high;
            if !possible {
                return None;
            }
            intervals[group] = allowed;
        }
        Some(intervals)
    }

    /// How far a cell may be off. Numbers twice as large were rounded twice as coarsely, which a tolerance that was
    /// made for the right numbers does not know: with a factor above 1 it grows with the factor.
    fn limit(&self, factor: f64, theirs: f64, ours: f64) -> f64 {
        let tolerance = self.grid.limit(ours) * factor.abs().max(1.0);
        tolerance.max(self.grid.limit(theirs))
    }

    /// The evidence for these numbers; `None` where one cell is not what they predict.
    fn evidence(&self, numbers: &[Option<f64>]) -> Option<Fitted> {
        let mut evidence = Fitted::new(self.groups());
        for cell in self.scope.cells(self.grid) {
            let group = self.group(&cell);
            let Some(number) = numbers[group] else { continue };
            if !cell.ours.is_finite() {
                continue;
            }
            let (predicted, factor) = match self.model {
                Model::Offset => (cell.ours + number, 1.0),
                Model::Factor => (cell.ours * number, number),
            };
            let limit = self.limit(factor, cell.theirs, cell.ours);
            // The last digits of f64 may be lost on the way to the interval and back.
            let agrees = (cell.theirs - predicted).abs() <= limit * (1.0 + 1e-9) + 1e-15 * predicted.abs();
            if !agrees {
                return None;
            }
            if evidence.wants_more() {
                evidence.add(group, bits(predicted - cell.ours, limit));
            }
        }
        Some(evidence)
    }
}
