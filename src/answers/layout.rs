//! The ways in which a person's tensor can be read as what a step holds.
//!
//! A step in a batch of sequences and with heads has the axes (batch, head, row, column); others lack the first or
//! the second. People keep the same numbers in other orders. Each order that fits the shape is one [`Reading`]; which
//! of them was meant is for the numbers to tell.

use nalgebra::DMatrix;

use crate::arrays::Array;
use crate::limits::ANSWER_MATRICES;
use crate::words::n;

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
            Self::LeadingOnes => n!("it has other axes of length one in front"),
            Self::Ones => n!("it has other axes of length one"),
            Self::Transposed => n!("rows and columns are swapped"),
            Self::HeadsSecond => n!("the heads are on the axis after the rows"),
            Self::HeadsLast => n!("the heads are on the last axis"),
            Self::BatchSecond => n!("the batch is on the second axis"),
            Self::Flat => n!("all numbers stand in one row"),
            Self::SideBySide => n!("the heads stand side by side"),
            Self::Merged => n!("batch and heads are one axis"),
            Self::Tall => n!("the matrices stand one below the other"),
            Self::HeadsApart => n!("the heads are on an axis of their own"),
            Self::Repeated => n!("each key/value head is there once for each of its queries"),
        }
    }
}

/// An axis of what is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Axis {
    Batch,
    Head,
    Row,
    Column,
}

/// The axes of a tensor, outermost first; several in one bracket are a single axis of the file.
type Axes = &'static [&'static [Axis]];

/// The layouts that are tried, the plainest first. Axes that a step does not have are passed over.
const LAYOUTS: &[(Option<Layout>, Axes)] = {
    use Axis::{Batch as B, Column as C, Head as H, Row as R};
    &[
        (None, &[&[B], &[H], &[R], &[C]]),
        (Some(Layout::Merged), &[&[B, H], &[R], &[C]]),
        (Some(Layout::HeadsSecond), &[&[B], &[R], &[H], &[C]]),
        (Some(Layout::SideBySide), &[&[B], &[R], &[H, C]]),
        (Some(Layout::Transposed), &[&[B], &[H], &[C], &[R]]),
        (Some(Layout::BatchSecond), &[&[H], &[B], &[R], &[C]]),
        (Some(Layout::BatchSecond), &[&[R], &[B], &[H], &[C]]),
        (Some(Layout::BatchSecond), &[&[R], &[B], &[H, C]]),
        (Some(Layout::HeadsLast), &[&[B], &[R], &[C], &[H]]),
        (Some(Layout::Tall), &[&[B, H, R], &[C]]),
        (Some(Layout::Flat), &[&[B, H, R, C]]),
    ]
};

impl Expected {
    fn size(&self, axis: Axis) -> usize {
        match axis {
            Axis::Batch => self.batch.unwrap_or(1),
            Axis::Head => self.sheets.unwrap_or(1),
            Axis::Row => self.rows,
            Axis::Column => self.columns,
        }
    }

    fn has(&self, axis: Axis) -> bool {
        match axis {
            Axis::Batch => self.batch.is_some(),
            Axis::Head => self.sheets.is_some(),
            Axis::Row | Axis::Column => true,
        }
    }

    /// How many numbers; `None` beyond what can be counted.
    fn count(&self) -> Option<usize> {
        [Axis::Batch, Axis::Head, Axis::Row, Axis::Column]
            .iter()
            .try_fold(1_usize, |count, axis| count.checked_mul(self.size(*axis)))
    }

    /// The shape of a file with these axes; never called where the count overflows.
    fn shape(&self, axes: Axes) -> Vec<usize> {
        axes.iter()
            .filter(|group| group.iter().any(|axis| self.has(*axis)))
            .map(|group| group.iter().map(|axis| self.size(*axis)).product())
            .collect()
    }

    /// How far apart in the file neighbours on each axis are; 0 on axes of length one.
    fn strides(&self, axes: Axes) -> [usize; 4] {
        let mut strides = [0; 4];
        let mut apart = 1;
        for axis in axes.iter().copied().flatten().rev() {
            let size = self.size(*axis);
            strides[*axis as usize] = if size > 1 { apart } else { 0 };
            apart *= size;
        }
        strides
    }

    /// The matrices of a file with these strides.
    fn sheets(&self, data: &[f64], [batch, head, row, column]: [usize; 4]) -> Vec<DMatrix<f64>> {
        let places =
            (0..self.size(Axis::Batch)).flat_map(|b| (0..self.size(Axis::Head)).map(move |h| (b, h)));
        places
            .map(|(b, h)| {
                let at = b * batch + h * head;
                DMatrix::from_fn(self.rows, self.columns, |r, c| data[at + r * row + c * column])
            })
            .collect()
    }
}

impl Reading {
    /// Whether nothing but axes of length one had to be left out or added.
    pub fn is_plain(&self) -> bool {
        self.how.iter().all(|layout| matches!(layout, Layout::LeadingOnes | Layout::Ones))
    }
}

/// All ways to read a tensor as `expected`, the plainest first: as it stands, then with axes of length one left out or
/// added, then in other layouts. Layouts that put every number in the same place are given once.
///
/// None where no layout fits, or where there are no numbers: then the shape itself is what is to be told. At most seven
/// readings, none of them larger than the tensor, and each made when it is asked for.
pub fn each_reading<'a>(array: &'a Array, expected: &'a Expected) -> impl Iterator<Item = Reading> + 'a {
    let fits = !array.is_empty() && expected.count() == Some(array.len());
    let mut taken: Vec<[usize; 4]> = Vec::new();
    let layouts = if fits { LAYOUTS } else { &[] };
    let found = layouts.iter().filter_map(move |(layout, axes)| {
        let ones = same_but_for_ones(&array.shape, &expected.shape(axes))?;
        let strides = expected.strides(axes);
        if taken.contains(&strides) {
            return None;
        }
        taken.push(strides);
        let how = layout.iter().copied().chain(ones).collect();
        Some(Reading { sheets: expected.sheets(&array.data, strides), how })
    });
    let apart = fits.then(|| apart(array, expected)).into_iter().flatten();
    let repeated = (!fits && !array.is_empty()).then(|| repeated(array, expected)).flatten();
    found.chain(apart).chain(repeated)
}

/// [`each_reading`], all of them at once.
pub fn readings(array: &Array, expected: &Expected) -> Vec<Reading> {
    each_reading(array, expected).collect()
}

/// What of axes of length one makes a shape another; the outer `None` where more than that is different.
fn same_but_for_ones(shape: &[usize], other: &[usize]) -> Option<Option<Layout>> {
    let inner = |shape: &[usize]| shape.iter().copied().filter(|size| *size != 1).collect::<Vec<_>>();
    if shape == other {
        Some(None)
    } else if without_front(shape) == without_front(other) {
        Some(Some(Layout::LeadingOnes))
    } else {
        (inner(shape) == inner(other)).then_some(Some(Layout::Ones))
    }
}

/// A shape without the axes of length one in front of its last two.
fn without_front(shape: &[usize]) -> &[usize] {
    let movable = shape.len().saturating_sub(2);
    let ones = shape.iter().take(movable).take_while(|size| **size == 1).count();
    &shape[ones..]
}

/// Readings of a tensor that still has its heads apart, as the matrix with the heads side by side:
/// (head, row, column) and (row, head, column).
fn apart(array: &Array, expected: &Expected) -> Vec<Reading> {
    let shape = without_front(&array.shape);
    let inner = match (expected.sheets, expected.batch) {
        (None, Some(batch)) if shape.len() == 4 && shape[0] == batch => &shape[1..],
        (None, None | Some(1)) if shape.len() == 3 => shape,
        _ => return Vec::new(),
    };
    let orders: [(usize, Axes); 2] = [
        (inner[0], &[&[Axis::Batch], &[Axis::Head], &[Axis::Row], &[Axis::Column]]),
        (inner[1], &[&[Axis::Batch], &[Axis::Row], &[Axis::Head], &[Axis::Column]]),
    ];
    let fitting = orders.into_iter().filter_map(|(heads, axes)| {
        let columns = expected.columns.checked_div(heads)?;
        let split = Expected { sheets: Some(heads), columns, ..*expected };
        let fits = heads > 1 && split.shape(axes).ends_with(inner) && split.count() == Some(array.len());
        let sheets = fits.then(|| split.sheets(&array.data, split.strides(axes)))?;
        let joined = sheets.chunks_exact(heads).map(|heads| {
            DMatrix::from_fn(expected.rows, expected.columns, |r, c| heads[c / columns][(r, c % columns)])
        });
        Some(Reading { sheets: joined.collect(), how: vec![Layout::HeadsApart] })
    });
    fitting.collect()
}

/// The reading of a stack that holds each of the expected heads several times in a row, all the same to the bit.
fn repeated(array: &Array, expected: &Expected) -> Option<Reading> {
    let count = expected.count().filter(|count| *count > 0)?;
    let times = array.len() / count;
    let heads = expected.sheets?;
    if times < 2 || times * count != array.len() {
        return None;
    }
    let all = Expected { sheets: Some(heads.checked_mul(times)?), ..*expected };
    let (_, axes) = LAYOUTS[0];
    let ones = same_but_for_ones(&array.shape, &all.shape(axes))?;
    let size = expected.rows * expected.columns;
    let bits = |sheet: &[f64]| sheet.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
    let mut one_each = Vec::with_capacity(count);
    for group in array.data.chunks_exact(size * times) {
        let (first, others) = group.split_at(size);
        if others.chunks_exact(size).any(|other| bits(other) != bits(first)) {
            return None;
        }
        one_each.extend_from_slice(first);
    }
    let how = std::iter::once(Layout::Repeated).chain(ones).collect();
    Some(Reading { sheets: expected.sheets(&one_each, expected.strides(axes)), how })
}

/// The tensor as it stands: its last two axes are rows and columns, those before them count matrices. A list of
/// numbers is one row, a single number 1 × 1.
///
/// `None` where it holds no numbers, or more than 65,536 matrices.
pub fn plain(array: &Array) -> Option<Plain> {
    let shape = without_front(&array.shape);
    let (leading, rows, columns) = match shape {
        [] => (&[][..], 1, 1),
        [columns] => (&[][..], 1, *columns),
        [leading @ .., rows, columns] => (leading, *rows, *columns),
    };
    let size = rows.checked_mul(columns).filter(|size| *size > 0)?;
    if array.is_empty() || array.len() / size > ANSWER_MATRICES {
        return None;
    }
    let matrices = array.data.chunks_exact(size);
    Some(Plain {
        sheets: matrices.map(|numbers| DMatrix::from_row_slice(rows, columns, numbers)).collect(),
        leading: leading.to_vec(),
    })
}
