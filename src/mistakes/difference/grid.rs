//! The two tensors, cell by cell.

use super::region::{Part, Region};
use super::{Cell, Pair, Sizes};
use crate::plan::{HeadStep, Name, Stack};

/// Two tensors known to have the same shape.
pub(super) struct Grid<'a> {
    pub(super) pair: &'a Pair<'a>,
    pub(super) sequences: usize,
    pub(super) heads: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
}

/// Both numbers of a cell, and where it is.
#[derive(Clone, Copy)]
pub(super) struct Both {
    pub(super) sheet: usize,
    pub(super) row: usize,
    pub(super) column: usize,
    pub(super) theirs: f64,
    pub(super) ours: f64,
}

impl<'a> Grid<'a> {
    /// The pair, or the sizes that do not agree.
    pub(super) fn of(pair: &'a Pair<'a>) -> Result<Self, (Sizes, Sizes)> {
        let sizes = |sheets: &[nalgebra::DMatrix<f64>], at: usize| {
            let (rows, columns) = sheets.get(at).map_or((0, 0), nalgebra::DMatrix::shape);
            Sizes { sheets: sheets.len(), rows, columns }
        };
        let first = sizes(pair.ours, 0);
        let sheets = pair.ours.len().max(pair.theirs.len()).max(1);
        for at in 0..sheets {
            let (theirs, ours) = (sizes(pair.theirs, at), sizes(pair.ours, at));
            if theirs != ours || ours != first {
                return Err((theirs, ours));
            }
        }
        let heads = match pair.sheets {
            Some(heads) if heads > 0 && pair.ours.len().is_multiple_of(heads) => heads,
            Some(_) => pair.ours.len().max(1),
            None => 1,
        };
        let Sizes { sheets, rows, columns } = first;
        Ok(Self { pair, sequences: sheets / heads, heads, rows, columns })
    }

    /// How many cells there are.
    pub(super) fn cells(&self) -> usize {
        self.sequences * self.heads * self.rows * self.columns
    }

    /// The person's number.
    pub(super) fn theirs(&self, sheet: usize, row: usize, column: usize) -> f64 {
        self.pair.theirs[sheet][(row, column)]
    }

    /// The right number.
    pub(super) fn ours(&self, sheet: usize, row: usize, column: usize) -> f64 {
        self.pair.ours[sheet][(row, column)]
    }

    /// A column of theirs and of ours.
    pub(super) fn column(&self, sheet: usize, column: usize) -> (&[f64], &[f64]) {
        let cells = column * self.rows..(column + 1) * self.rows; // matrices lie column by column
        (&self.pair.theirs[sheet].as_slice()[cells.clone()], &self.pair.ours[sheet].as_slice()[cells])
    }

    /// Both numbers of a cell.
    pub(super) fn at(&self, cell: Cell) -> (f64, f64) {
        let sheet = cell.sequence * self.heads + cell.head;
        (self.theirs(sheet, cell.row, cell.column), self.ours(sheet, cell.row, cell.column))
    }

    /// Whether a cell is wrong. NaN is NaN, and infinity is infinity of the same sign.
    pub(super) fn differ(&self, theirs: f64, ours: f64) -> bool {
        if theirs.is_finite() && ours.is_finite() {
            // Written so that a tolerance of NaN lets nothing pass.
            let agrees = (theirs - ours).abs() <= (self.pair.tolerance)(ours);
            return !agrees;
        }
        !(theirs == ours || theirs.is_nan() && ours.is_nan())
    }

    /// Whether infinity stands in one of them, and not the same in the other.
    pub(super) fn infinity_differs(theirs: f64, ours: f64) -> bool {
        (theirs.is_infinite() || ours.is_infinite()) && theirs != ours
    }

    /// How far a cell may be from what a kind predicts: the tolerance, and what predicting it in f64 costs.
    pub(super) fn limit(&self, predicted: f64) -> f64 {
        (self.pair.tolerance)(predicted).max(8.0 * f64::EPSILON * predicted.abs())
    }

    /// Whether the person's number is what a kind predicts.
    pub(super) fn near(&self, theirs: f64, predicted: f64) -> bool {
        if theirs.is_finite() && predicted.is_finite() {
            return (theirs - predicted).abs() <= self.limit(predicted);
        }
        theirs == predicted || theirs.is_nan() && predicted.is_nan()
    }

    /// Whether rows and columns both count tokens of one sequence, so that a diagonal means something.
    pub(super) fn has_diagonal(&self) -> bool {
        let by_key = matches!(
            self.pair.name,
            Name::Head(
                _,
                HeadStep::Scores
                    | HeadStep::CappedScores
                    | HeadStep::BiasedScores
                    | HeadStep::MaskedScores
                    | HeadStep::Weights
            ) | Name::Stack(
                Stack::Scores
                    | Stack::CappedScores
                    | Stack::BiasedScores
                    | Stack::MaskedScores
                    | Stack::Weights
            )
        );
        by_key && self.rows == self.columns
    }

    /// Where the cells are that are wrong in some way.
    pub(super) fn observe(&self, wrong: impl Fn(f64, f64) -> bool) -> Observed {
        let mut seen = Observed {
            largest: 0.0,
            at: Cell::default(),
            first: Cell::default(),
            cells: 0,
            sequences: vec![false; self.sequences],
            heads: vec![false; self.heads],
            rows: vec![false; self.rows],
            columns: vec![false; self.columns],
            above: 0,
            on: 0,
            below: 0,
        };
        for (sheet, (theirs, ours)) in self.pair.theirs.iter().zip(self.pair.ours).enumerate() {
            let cells = theirs.as_slice().iter().zip(ours.as_slice()).enumerate(); // column by column
            for (at, (&theirs, &ours)) in cells {
                if wrong(theirs, ours) {
                    let (sequence, head) = (sheet / self.heads, sheet % self.heads);
                    let cell = Cell { sequence, head, row: at % self.rows, column: at / self.rows };
                    seen.add(cell, theirs - ours);
                }
            }
        }
        seen
    }
}

/// Where wrong cells are.
pub(super) struct Observed {
    /// The largest size of a difference; infinite where it is not a number.
    pub(super) largest: f64,
    pub(super) at: Cell,
    pub(super) first: Cell,
    pub(super) cells: usize,
    sequences: Vec<bool>,
    heads: Vec<bool>,
    rows: Vec<bool>,
    columns: Vec<bool>,
    above: usize,
    on: usize,
    below: usize,
}

impl Observed {
    fn add(&mut self, cell: Cell, by: f64) {
        let size = if by.is_nan() { f64::INFINITY } else { by.abs() };
        if self.cells == 0 || size > self.largest || size == self.largest && cell < self.at {
            (self.largest, self.at) = (size, cell);
        }
        if self.cells == 0 || cell < self.first {
            self.first = cell;
        }
        self.cells += 1;
        self.sequences[cell.sequence] = true;
        self.heads[cell.head] = true;
        self.rows[cell.row] = true;
        self.columns[cell.column] = true;
        match cell.row.cmp(&cell.column) {
            std::cmp::Ordering::Less => self.above += 1,
            std::cmp::Ordering::Equal => self.on += 1,
            std::cmp::Ordering::Greater => self.below += 1,
        }
    }

    /// `None` where nothing was seen.
    pub(super) fn some(self) -> Option<Self> {
        (self.cells > 0).then_some(self)
    }

    /// The smallest region with a name that holds all of them.
    pub(super) fn region(&self, grid: &Grid<'_>) -> Region {
        let some = |seen: &[bool]| {
            let chosen = chosen(seen);
            (chosen.len() < seen.len()).then_some(chosen)
        };
        Region { sequences: some(&self.sequences), heads: some(&self.heads), part: self.part(grid) }
    }

    fn part(&self, grid: &Grid<'_>) -> Part {
        let (rows, columns) = (chosen(&self.rows), chosen(&self.columns));
        if let ([row], [column]) = (rows.as_slice(), columns.as_slice()) {
            return Part::OneCell { row: *row, column: *column };
        }
        // Two cells above the diagonal say little; three that share no row and no column say something.
        if grid.has_diagonal() && rows.len() > 1 && columns.len() > 1 {
            match (self.above, self.on, self.below) {
                (0, _, 0) => return Part::Diagonal,
                (3.., 0, 0) => return Part::AboveDiagonal,
                (0, 0, 3..) => return Part::BelowDiagonal,
                _ => {}
            }
        }
        let share = |chosen: &[usize], of: usize| chosen.len() as f64 / of as f64;
        let by_rows = share(&rows, grid.rows) <= share(&columns, grid.columns);
        if by_rows && rows.len() < grid.rows {
            Part::Rows { rows, of: grid.rows }
        } else if columns.len() < grid.columns {
            Part::Columns { columns, of: grid.columns }
        } else {
            Part::Everywhere
        }
    }
}

fn chosen(seen: &[bool]) -> Vec<usize> {
    seen.iter().enumerate().filter(|(_, seen)| **seen).map(|(at, _)| at).collect()
}
