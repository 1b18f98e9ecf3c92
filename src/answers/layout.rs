//! The ways in which a person's tensor can be read as what a step holds.
//!
//! A step in a batch of sequences and with heads has the axes (batch, head, row, column); others lack the first or
//! the second. People keep the same numbers in other orders. Each order that fits the shape is one [`Reading`]; which
//! of them was meant is for the numbers to tell.

use nalgebra::DMatrix;

use crate::arrays::Array;

/// Sizes that a step has in a computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// Sequences; `None` where there is no batch axis.
    pub batch: Option<usize>,
    /// Heads; `None` where the step is not stacked over heads.
    pub sheets: Option<usize>,
    /// Rows of one matrix.
    pub rows: usize,
    /// Columns of one matrix.
    pub columns: usize,
}

/// One way to read a tensor as what is expected.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// A matrix (rows × columns) for each sequence and head: all heads of the first sequence, then of the next.
    pub sheets: Vec<DMatrix<f64>>,
    /// What was done to read it so; empty where it stands as expected.
    pub how: Vec<Layout>,
}

/// In what a tensor differs from the axes (batch, head, row, column), without any other number in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Axes of length one in front that are not expected, or that are missing.
    LeadingOnes,
    /// Axes of length one elsewhere.
    Ones,
    /// Columns before rows.
    Transposed,
    /// (row, head, column).
    HeadsSecond,
    /// (row, column, head).
    HeadsLast,
    /// (row, batch, …), as PyTorch has it without `batch_first`; or (head, batch, …).
    BatchSecond,
    /// All numbers in one row.
    Flat,
    /// Heads side by side: (row, head · column).
    SideBySide,
    /// Sequences and heads on one axis: (batch · head, row, column).
    Merged,
    /// The matrices one below the other: (batch · head · row, column).
    Tall,
    /// Heads on an axis of their own, where the step has them side by side.
    HeadsApart,
    /// Each key/value head as often as there are query heads that read it.
    Repeated,
}

/// A tensor exactly as it stands, as matrices.
#[derive(Debug, Clone, PartialEq)]
pub struct Plain {
    /// One matrix for each place of the leading axes, in order.
    pub sheets: Vec<DMatrix<f64>>,
    /// The axes before the matrix, without those of length one in front.
    pub leading: Vec<usize>,
}

impl Layout {
    /// What is said of it: `its last two axes are swapped`.
    pub fn told(self) -> &'static str {
        match self {
            Self::LeadingOnes => "it has other axes of length one in front",
            Self::Ones => "it has other axes of length one",
            Self::Transposed => "rows and columns are swapped",
            Self::HeadsSecond => "the heads are on the axis after the rows",
            Self::HeadsLast => "the heads are on the last axis",
            Self::BatchSecond => "the batch is on the second axis",
            Self::Flat => "all numbers stand in one row",
            Self::SideBySide => "the heads stand side by side",
            Self::Merged => "batch and heads are one axis",
            Self::Tall => "the matrices stand one below the other",
            Self::HeadsApart => "the heads are on an axis of their own",
            Self::Repeated => "each key/value head is there once for each of its queries",
        }
    }
}

/// All ways to read a tensor as `expected`, the plainest first; none where no layout fits.
pub fn readings(array: &Array, expected: &Expected) -> Vec<Reading> {
    let _ = (array, expected);
    Vec::new()
}

/// The tensor as it stands.
pub fn plain(array: &Array) -> Option<Plain> {
    let _ = array;
    None
}
