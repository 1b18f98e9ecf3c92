//! The part of a tensor in which it differs.

use super::grid::{Both, Grid};

/// The part of a tensor in which it differs: some sequences, in these some heads, in these a part of each sheet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// Sequences, from 0; `None`: all.
    pub sequences: Option<Vec<usize>>,
    /// Heads, from 0; `None`: all.
    pub heads: Option<Vec<usize>>,
    /// The part of each of these sheets.
    pub part: Part,
}

/// A part of a sheet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Everywhere,
    /// Some rows.
    Rows {
        /// Which, from 0, in order.
        rows: Vec<usize>,
        /// How many rows there are.
        of: usize,
    },
    /// Some columns.
    Columns {
        /// Which, from 0, in order.
        columns: Vec<usize>,
        /// How many columns there are.
        of: usize,
    },
    /// Keys after the query's own: what a causal mask hides.
    AboveDiagonal,
    /// Keys before the query's own.
    BelowDiagonal,
    /// The query's own key.
    Diagonal,
    /// One cell, from 0.
    OneCell {
        /// Its row.
        row: usize,
        /// Its column.
        column: usize,
    },
}

impl Region {
    /// The whole tensor.
    pub fn everything() -> Self {
        Self { sequences: None, heads: None, part: Part::Everywhere }
    }

    /// This region, then its whole sheets, then everything; each once.
    pub(super) fn widening(&self) -> Vec<Self> {
        let mut regions =
            vec![self.clone(), Self { part: Part::Everywhere, ..self.clone() }, Self::everything()];
        regions.dedup();
        regions
    }
}

/// A region's cells, ready to be walked.
pub(super) struct Scope {
    /// Which sheets.
    pub(super) sheets: Vec<usize>,
    rows: Vec<usize>,
    columns: Vec<usize>,
    /// For a triangle: whether a row and column belong to it.
    holds: Option<fn(usize, usize) -> bool>,
}

impl Scope {
    pub(super) fn of(grid: &Grid<'_>, region: &Region) -> Self {
        let sequences = region.sequences.clone().unwrap_or_else(|| (0..grid.sequences).collect());
        let heads = region.heads.clone().unwrap_or_else(|| (0..grid.heads).collect());
        let sheets = sequences
            .iter()
            .flat_map(|sequence| heads.iter().map(move |head| sequence * grid.heads + head))
            .collect();
        let (mut rows, mut columns) = ((0..grid.rows).collect(), (0..grid.columns).collect());
        let mut holds: Option<fn(usize, usize) -> bool> = None;
        match &region.part {
            Part::Everywhere => {}
            Part::Rows { rows: some, .. } => rows = some.clone(),
            Part::Columns { columns: some, .. } => columns = some.clone(),
            Part::AboveDiagonal => holds = Some(|row, column| row < column),
            Part::BelowDiagonal => holds = Some(|row, column| row > column),
            Part::Diagonal => holds = Some(|row, column| row == column),
            Part::OneCell { row, column } => (rows, columns) = (vec![*row], vec![*column]),
        }
        Self { sheets, rows, columns, holds }
    }

    /// The cells, sheet by sheet, column by column.
    pub(super) fn cells<'s>(&'s self, grid: &'s Grid<'_>) -> impl Iterator<Item = Both> + 's {
        let columns =
            self.sheets.iter().flat_map(|sheet| self.columns.iter().map(|column| (*sheet, *column)));
        columns.flat_map(move |(sheet, column)| {
            let (theirs, ours) = grid.column(sheet, column);
            self.rows
                .iter()
                .filter(move |row| self.holds.is_none_or(|holds| holds(**row, column)))
                .map(move |row| Both { sheet, row: *row, column, theirs: theirs[*row], ours: ours[*row] })
        })
    }
}
