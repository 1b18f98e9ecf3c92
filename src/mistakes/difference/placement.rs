//! Whole rows, columns, heads or sequences in other places.

use super::Kind;
use super::evidence::{bits, enough};
use super::grid::{Both, Grid};
use super::region::{Region, Scope};

/// The right sheets, with their rows, columns or themselves in other places. Looks at whole sheets.
pub(super) fn kind(grid: &Grid<'_>, region: &Region, scope: &Scope) -> Option<Kind> {
    let lines = |axis| Lines { grid, scope, axis };
    let whole = *region == Region::everything();
    let across = |axis| if whole { lines(axis).order() } else { None };
    across(Axis::Head)
        .map(Kind::HeadsPermuted)
        .or_else(|| across(Axis::Sequence).map(Kind::SequencesPermuted))
        .or_else(|| transposed(grid, scope))
        .or_else(|| lines(Axis::Row).shift().map(Kind::RowsShifted))
        .or_else(|| lines(Axis::Column).shift().map(Kind::ColumnsShifted))
        .or_else(|| lines(Axis::Row).order().map(Kind::RowsPermuted))
        .or_else(|| lines(Axis::Column).order().map(Kind::ColumnsPermuted))
}

fn transposed(grid: &Grid<'_>, scope: &Scope) -> Option<Kind> {
    let square = grid.rows == grid.columns;
    let turned = |cell: &Both| Some((cell.sheet, cell.column, cell.row));
    (square && explains(grid, scope, 0.0, turned)).then_some(Kind::Transposed)
}

/// Sheet, row and column.
type Place = (usize, usize, usize);

/// Whether every cell of theirs is ours from the place that `source` names (`None`: it may hold anything), and that
/// is no chance although it was chosen with `choice` bits. Walks through memory in its order, which rows do not.
fn explains(grid: &Grid<'_>, scope: &Scope, choice: f64, source: impl Fn(&Both) -> Option<Place>) -> bool {
    let mut found = -choice;
    for cell in scope.cells(grid) {
        let Some((sheet, row, column)) = source(&cell) else { continue };
        let predicted = grid.ours(sheet, row, column);
        if !grid.near(cell.theirs, predicted) {
            return false;
        }
        if !enough(found) {
            found += moved(grid, predicted, cell.ours);
        }
    }
    enough(found)
}

/// The bits of a cell that should hold `ours` and is said to hold `predicted`.
fn moved(grid: &Grid<'_>, predicted: f64, ours: f64) -> f64 {
    if predicted.is_finite() && ours.is_finite() {
        return bits(predicted - ours, grid.limit(predicted));
    }
    // A number where infinity was, or the reverse: one of two things.
    f64::from(u8::from(predicted.is_finite() != ours.is_finite()))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Axis {
    Row,
    Column,
    Head,
    Sequence,
}

/// A tensor cut into lines along one axis: its rows, say, each through all sheets that are looked at.
struct Lines<'g> {
    grid: &'g Grid<'g>,
    scope: &'g Scope,
    axis: Axis,
}

/// Comparisons of cells that a search may still make.
struct Budget(usize);

impl Lines<'_> {
    fn count(&self) -> usize {
        match self.axis {
            Axis::Row => self.grid.rows,
            Axis::Column => self.grid.columns,
            Axis::Head => self.grid.heads,
            Axis::Sequence => self.grid.sequences,
        }
    }

    /// Cells of a line.
    fn length(&self) -> usize {
        let Grid { rows, columns, heads, sequences, .. } = *self.grid;
        match self.axis {
            Axis::Row => self.scope.sheets.len() * columns,
            Axis::Column => self.scope.sheets.len() * rows,
            Axis::Head => sequences * rows * columns,
            Axis::Sequence => heads * rows * columns,
        }
    }

    /// Where a line's `k`-th cell is.
    fn place(&self, line: usize, k: usize) -> Place {
        let Grid { rows, columns, heads, .. } = *self.grid;
        let in_sheet = k % (rows * columns);
        match self.axis {
            Axis::Row => (self.scope.sheets[k / columns], line, k % columns),
            Axis::Column => (self.scope.sheets[k / rows], k % rows, line),
            Axis::Head => (k / (rows * columns) * heads + line, in_sheet % rows, in_sheet / rows),
            Axis::Sequence => (line * heads + k / (rows * columns), in_sheet % rows, in_sheet / rows),
        }
    }

    fn ours(&self, line: usize, k: usize) -> f64 {
        let (sheet, row, column) = self.place(line, k);
        self.grid.ours(sheet, row, column)
    }

    fn theirs(&self, line: usize, k: usize) -> f64 {
        let (sheet, row, column) = self.place(line, k);
        self.grid.theirs(sheet, row, column)
    }

    /// Enough to look at every cell some times; what needs more is not looked for.
    fn budget(&self) -> Budget {
        Budget(4 * self.count() * self.length() + 100_000)
    }

    /// Some places within a line, evenly spread: all of them in a short line.
    fn tried(&self) -> impl Iterator<Item = usize> + Clone {
        const TRIED: usize = 64;
        // An odd step does not fall on the same columns in every sheet.
        (0..self.length()).step_by((self.length() / TRIED) | 1)
    }

    /// Whether their line `line` is our line `source`, as far as was tried; [`Self::explained`] looks at all of it.
    /// `None` when the budget is used up.
    fn holds(&self, line: usize, source: usize, budget: &mut Budget) -> Option<bool> {
        for k in self.tried() {
            budget.0 = budget.0.checked_sub(1)?;
            if !self.grid.near(self.theirs(line, k), self.ours(source, k)) {
                return Some(false);
            }
        }
        Some(true)
    }

    /// Whether each line is the one of ours that `source` says.
    fn explained(&self, choice: f64, source: impl Fn(usize) -> Option<usize>) -> bool {
        let heads = self.grid.heads;
        explains(self.grid, self.scope, choice, |cell| {
            let Both { sheet, row, column, .. } = *cell;
            Some(match self.axis {
                Axis::Row => (sheet, source(row)?, column),
                Axis::Column => (sheet, row, source(column)?),
                Axis::Head => (sheet / heads * heads + source(sheet % heads)?, row, column),
                Axis::Sequence => (source(sheet / heads)? * heads + sheet % heads, row, column),
            })
        })
    }

    /// The shift by which every line that has a source is it, the smallest first. At least half of the lines have one.
    fn shift(&self) -> Option<i64> {
        let count = self.count();
        if count < 3 {
            return None;
        }
        let mut budget = self.budget();
        for by in 1..=count / 2 {
            for down in [true, false] {
                let source = |line: usize| {
                    if down { line.checked_sub(by) } else { Some(line + by).filter(|line| *line < count) }
                };
                let mut all = true;
                for (line, source) in (0..count).filter_map(|line| Some((line, source(line)?))) {
                    all = self.holds(line, source, &mut budget)?;
                    if !all {
                        break;
                    }
                }
                if all && self.explained((count as f64).log2(), source) {
                    let by = i64::try_from(by).ok()?;
                    return Some(if down { by } else { -by });
                }
            }
        }
        None
    }

    /// For each of their lines, which of ours it is; `None` where one is none of ours, or all are in their places.
    fn order(&self) -> Option<Vec<usize>> {
        let count = self.count();
        if count < 2 || self.length() == 0 {
            return None;
        }
        let key = self.key();
        let mut sorted: Vec<(f64, usize)> = (0..count).map(|line| (self.ours(line, key), line)).collect();
        if sorted.iter().any(|(key, _)| key.is_nan()) {
            return None;
        }
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));

        let mut budget = self.budget();
        let mut used = vec![false; count];
        let mut order = Vec::with_capacity(count);
        for line in 0..count {
            let source = if self.holds(line, line, &mut budget)? {
                line
            } else {
                self.source(line, key, &sorted, &used, &mut budget)?
            };
            used[source] = true;
            order.push(source);
        }
        // Which of the lines it is was free to choose, for each that moved.
        let moves = order.iter().enumerate().filter(|(line, source)| line != *source).count();
        let choice = moves as f64 * (count as f64).log2();
        self.explained(choice, |line| order.get(line).copied()).then_some(order)
    }

    /// Which of our lines this one is, one that is not yet taken if there is a choice.
    fn source(
        &self,
        line: usize,
        key: usize,
        sorted: &[(f64, usize)],
        used: &[bool],
        budget: &mut Budget,
    ) -> Option<usize> {
        let value = self.theirs(line, key);
        if value.is_nan() {
            return None;
        }
        // The tolerance belongs to our number, which is near: twice as wide holds it surely.
        let width = if value.is_finite() { 2.0 * self.grid.limit(value) } else { 0.0 };
        let from = sorted.partition_point(|(key, _)| *key < value - width);
        let mut taken = None;
        for (_, source) in sorted[from..].iter().take_while(|(key, _)| *key <= value + width) {
            if (!used[*source] || taken.is_none()) && self.holds(line, *source, budget)? {
                if !used[*source] {
                    return Some(*source);
                }
                taken = Some(*source);
            }
        }
        taken
    }

    /// The place within a line by which lines are told apart best: where our lines differ most, of some that are
    /// tried.
    fn key(&self) -> usize {
        let spread = |k: usize| {
            let numbers = (0..self.count()).map(|line| self.ours(line, k)).filter(|value| value.is_finite());
            let (low, high) = numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
            high - low
        };
        let tried = self.tried().map(|k| (spread(k), k));
        tried.max_by(|a, b| a.0.total_cmp(&b.0)).map_or(0, |(_, k)| k)
    }
}
