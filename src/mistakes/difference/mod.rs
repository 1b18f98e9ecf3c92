//! What kind of difference there is between two tensors of one step.
//!
//! A [`Pair`] in, a [`Difference`] out: how large, where (the [`Region`]), and of what kind (the [`Kind`]: a
//! constant ratio, rows in another order, …). Nothing here knows files, screens or the catalogue of mistakes.
//!
//! Every kind is a claim about all cells of its region, and is made only where two things hold: each cell is what
//! the kind predicts, within the tolerance; and the cells together are too many and too far from the right ones to
//! be so by chance (see `evidence.rs`). What passes neither is called noise, never a pattern.

mod cellwise;
mod evidence;
mod factor;
mod grid;
mod groups;
mod placement;
mod region;
mod reshuffled;
mod told;

#[cfg(test)]
mod planted;
#[cfg(test)]
mod tests;

use nalgebra::DMatrix;

use crate::plan::Name;
use grid::Grid;
use region::Scope;

pub use region::{Part, Region};
pub use told::Whose;

/// Two tensors of one step: sheets (one a head, batch-major), each rows × columns of equal shape.
///
/// What is only another way of writing the same (−1e9 for a hidden score) is made equal before it comes here.
pub struct Pair<'a> {
    /// The step; for its name in sentences, and to know whether a diagonal means anything.
    pub name: Name,
    /// The person's sheets (for `--against`: the left file's).
    pub theirs: &'a [DMatrix<f64>],
    /// The right sheets (for `--against`: the right-hand file's).
    pub ours: &'a [DMatrix<f64>],
    /// How far a cell may be from what it should be, given what it should be. Absolute, never negative. It is
    /// asked for finite numbers only, also for those that a kind predicts.
    pub tolerance: &'a dyn Fn(f64) -> f64,
    /// Heads of a sequence; `None`: one sheet a sequence, without heads.
    pub sheets: Option<usize>,
    /// Width of a head's queries, where known; gives ratios their names.
    pub d_k: Option<usize>,
    /// Width of the model, where known; gives ratios their names.
    pub d_model: Option<usize>,
    /// Query heads, where known; gives ratios their names.
    pub num_heads: Option<usize>,
}

/// A place in a tensor; everything counts from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Cell {
    /// The sequence of the batch.
    pub sequence: usize,
    /// The head; 0 where there are no heads.
    pub head: usize,
    /// The row.
    pub row: usize,
    /// The column.
    pub column: usize,
}

/// How two tensors differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The largest |theirs − ours|; infinite where one is NaN or infinite and the other is not, or shapes differ.
    pub largest: f64,
    /// Where the largest is.
    pub at: Cell,
    /// The first differing cell: by sequence, head, row, column.
    pub first: Cell,
    /// How many cells differ by more than the tolerance.
    pub cells: usize,
    /// How many cells there are.
    pub of: usize,
    /// Where the kind holds. Outside of it the tensors agree, but for `NotANumber`, `NumberForNaN` and `Infinite`:
    /// those speak of their own cells only.
    pub region: Region,
    /// What kind of difference it is, inside the region.
    pub kind: Kind,
    /// Sequences in the batch, to know whether to speak of them.
    pub sequences: usize,
}

/// Sizes of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Sheets: heads × sequences.
    pub sheets: usize,
    /// Rows of a sheet.
    pub rows: usize,
    /// Columns of a sheet.
    pub columns: usize,
}

/// What kind of difference it is. Lists count from 0: `order[i]` is which of the right rows (columns, heads,
/// sequences) stands in place `i`. An order may hold one of them twice: then it is a copy.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// They agree.
    None,
    /// The shapes differ; nothing else was compared.
    Shape {
        /// The person's sizes.
        theirs: Sizes,
        /// The right sizes.
        ours: Sizes,
    },
    /// One cell differs.
    OneCell {
        /// What it holds.
        theirs: f64,
        /// What it should hold.
        ours: f64,
    },
    /// Theirs holds NaN where ours does not.
    NotANumber {
        /// In so many cells.
        cells: usize,
        /// Every cell of theirs is NaN.
        all: bool,
    },
    /// Ours holds NaN where theirs does not.
    NumberForNaN {
        /// In so many cells.
        cells: usize,
    },
    /// Infinity (what a mask writes) stands in other cells.
    Infinite {
        /// Cells infinite in theirs, and in ours finite or infinite with the other sign.
        more: usize,
        /// Cells finite in theirs and infinite in ours.
        fewer: usize,
    },
    /// Theirs is zero everywhere in the region.
    Zero,
    /// Theirs is one number everywhere in the region, and ours is not.
    Constant {
        /// The number.
        value: f64,
    },
    /// Theirs is ours times one factor.
    Ratio {
        /// The factor.
        factor: f64,
        /// How far off the factor may be, as a fraction of it, by the tolerance of the cells.
        uncertainty: f64,
        /// What the factor is known as: `√2`, `√d_k = 2`, `−1`; only where no other known factor is as near.
        named: Option<String>,
    },
    /// Theirs is ours plus one number.
    Offset {
        /// The number.
        by: f64,
    },
    /// The same row is added to every row of a head: a bias.
    RowOffset,
    /// Every row is ours plus a number of its own. On scores, the softmax does not see it.
    RowConstants,
    /// Every row is ours times a factor of its own.
    RowRatio {
        /// The least factor.
        least: f64,
        /// The greatest factor.
        most: f64,
    },
    /// Every column of a head is ours times a factor of its own: a gain.
    ColumnRatio {
        /// The least factor.
        least: f64,
        /// The greatest factor.
        most: f64,
    },
    /// Rows and columns are exchanged in every sheet.
    Transposed,
    /// Row `i` holds the right row `i − by`; rows without such a one may hold anything.
    RowsShifted(i64),
    /// Column `j` holds the right column `j − by`; columns without such a one may hold anything.
    ColumnsShifted(i64),
    /// The right rows in another order, the same in every sheet.
    RowsPermuted(Vec<usize>),
    /// The right columns in another order, the same in every sheet.
    ColumnsPermuted(Vec<usize>),
    /// The right heads in another order, the same in every sequence.
    HeadsPermuted(Vec<usize>),
    /// The right sequences in another order.
    SequencesPermuted(Vec<usize>),
    /// The right numbers, some with the other sign.
    Sign {
        /// How many have the other sign.
        turned: usize,
        /// How many cells the region has.
        of: usize,
    },
    /// The same numbers in other places, in no order that was found.
    Reshuffled,
    /// No pattern.
    Noise {
        /// Root mean square of the difference over that of ours, inside the region; infinite where ours is all zero.
        rms: f64,
    },
}

/// How theirs differs from ours: how much, where, and the simplest kind that holds for every cell.
///
/// The work is a few walks through the cells, at most some dozens: 8 × 512 × 512 cells take about as long as ten
/// plain comparisons of them.
pub fn compare(pair: &Pair<'_>) -> Difference {
    let grid = match Grid::of(pair) {
        Ok(grid) => grid,
        Err((theirs, ours)) => return shapes_differ(theirs, ours),
    };
    let differing = grid.observe(|theirs, ours| grid.differ(theirs, ours));
    let (region, kind) = match differing.cells {
        0 => (Region::everything(), Kind::None),
        _ => explain(&grid, &differing),
    };
    Difference {
        largest: differing.largest,
        at: differing.at,
        first: differing.first,
        cells: differing.cells,
        of: grid.cells(),
        region,
        kind,
        sequences: grid.sequences,
    }
}

fn shapes_differ(theirs: Sizes, ours: Sizes) -> Difference {
    let cells = theirs.sheets.saturating_mul(theirs.rows).saturating_mul(theirs.columns);
    Difference {
        largest: f64::INFINITY,
        at: Cell::default(),
        first: Cell::default(),
        cells,
        of: cells,
        region: Region::everything(),
        kind: Kind::Shape { theirs, ours },
        sequences: 1,
    }
}

/// Where and of what kind, for tensors that differ somewhere.
///
/// From the telling to the vague; a kind for the whole tensor before one for a part of it, but what has a free
/// number in every row or column is looked for in the narrowest region first, since there it says more.
fn explain(grid: &Grid<'_>, differing: &grid::Observed) -> (Region, Kind) {
    let finite = differing.largest.is_finite();
    let look = |wrong: fn(f64, f64) -> bool| if finite { None } else { grid.observe(wrong).some() };
    if let Some(nan) = look(|theirs, ours| theirs.is_nan() && !ours.is_nan()) {
        return (nan.region(grid), Kind::NotANumber { cells: nan.cells, all: nan.cells == grid.cells() });
    }
    if let Some(number) = look(|theirs, ours| !theirs.is_nan() && ours.is_nan()) {
        return (number.region(grid), Kind::NumberForNaN { cells: number.cells });
    }
    let region = differing.region(grid);
    if differing.cells == 1 {
        let (theirs, ours) = grid.at(differing.at);
        return (region, Kind::OneCell { theirs, ours });
    }

    let scopes: Vec<(Region, Scope)> = region
        .widening()
        .into_iter()
        .map(|region| {
            let scope = Scope::of(grid, &region);
            (region, scope)
        })
        .collect();
    let narrow = || scopes.iter();
    let wide = || scopes.iter().rev();
    let found = wide().find_map(|(region, scope)| Some((region, simple(grid, region, scope)?)));
    if let Some((region, kind)) = found {
        return (region.clone(), kind);
    }
    if let Some(infinite) = look(Grid::infinity_differs) {
        let fewer = grid.observe(|theirs, ours| theirs.is_finite() && ours.is_infinite()).cells;
        return (infinite.region(grid), Kind::Infinite { more: infinite.cells - fewer, fewer });
    }
    let found = narrow().find_map(|(region, scope)| Some((region, vague(grid, scope)?)));
    if let Some((region, kind)) = found {
        return (region.clone(), kind);
    }
    let noise = cellwise::noise(grid, &Scope::of(grid, &region));
    (region, noise)
}

/// What one number explains, or whole rows, columns, heads in other places.
fn simple(grid: &Grid<'_>, region: &Region, scope: &Scope) -> Option<Kind> {
    cellwise::zero(grid, scope)
        .or_else(|| groups::ratio(grid, scope))
        .or_else(|| groups::offset(grid, scope))
        .or_else(|| cellwise::constant(grid, scope))
        .or_else(|| if region.part == Part::Everywhere { placement::kind(grid, region, scope) } else { None })
}

/// What leaves something open: a sign for each cell, a number for each row or column, a place for each number.
fn vague(grid: &Grid<'_>, scope: &Scope) -> Option<Kind> {
    cellwise::sign(grid, scope)
        .or_else(|| groups::kind(grid, scope))
        .or_else(|| reshuffled::kind(grid, scope))
}
