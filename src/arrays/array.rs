//! What every format is read into.

use nalgebra::{DMatrix, DMatrixView};

use crate::fault::Fault;
use crate::limits;

/// A dense array as a file holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// Sizes of the axes; empty for a single number.
    pub shape: Vec<usize>,
    /// The numbers, row-major (the last axis fastest).
    pub data: Vec<f64>,
    /// What the file stored; every kind fits an f64 exactly (integers beyond 2⁵³ are refused).
    pub kind: Kind,
}

/// The type of number that a file stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// True or false, held as 1 and 0.
    Bool,
    /// Any whole number.
    Integer,
    /// IEEE half precision.
    F16,
    /// The upper half of an f32.
    Bf16,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

/// The number that stands where none was given: a cell that is left blank on a sheet of exercises.
///
/// Not-a-number with bits of its own, which no computation gives; only readers that are told to take blanks give it.
pub const BLANK: f64 = f64::from_bits(0x7ff8_626c_616e_6b00);

/// Whether a number is the one that stands for a blank.
pub fn is_blank(number: f64) -> bool {
    number.to_bits() == BLANK.to_bits()
}

impl Array {
    /// An array whose numbers fill its shape.
    ///
    /// # Errors
    /// Where the sizes of the axes do not multiply to the count of the numbers.
    pub fn new(shape: Vec<usize>, data: Vec<f64>, kind: Kind) -> Result<Self, Fault> {
        if count(&shape) == Some(data.len()) {
            return Ok(Self { shape, data, kind });
        }
        Err(Fault::new(
            format!("{} numbers do not fill an array of {}", data.len(), sizes(&shape)),
            "the sizes of the axes multiply to the count of the numbers",
            "give one number for each place",
        ))
    }

    /// How many numbers it holds.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// How many axes it has: 0 for a single number, 2 for a matrix.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Whether it holds no numbers: one of its axes has size 0.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The matrix, where the array has two axes: rows × columns.
    pub fn to_matrix(&self) -> Option<DMatrix<f64>> {
        match *self.shape.as_slice() {
            [rows, columns] if count(&self.shape) == Some(self.len()) => {
                Some(DMatrix::from_row_slice(rows, columns, &self.data))
            }
            _ => None,
        }
    }

    /// The array of a matrix or of a view of one (rows × columns), in double precision.
    pub fn from_matrix<'a>(matrix: impl Into<DMatrixView<'a, f64>>) -> Self {
        let matrix = matrix.into();
        let data = matrix.row_iter().flat_map(|row| row.iter().copied().collect::<Vec<_>>()).collect();
        Self { shape: vec![matrix.nrows(), matrix.ncols()], data, kind: Kind::F64 }
    }
}

/// How many numbers a shape asks for; `None` beyond what can be counted.
pub(super) fn count(shape: &[usize]) -> Option<usize> {
    let places = places(shape)?;
    Some(if shape.contains(&0) { 0 } else { places })
}

/// The product of the sizes with an axis of size 0 taken as 1: 0 × 2^62 has no numbers, but no memory for its rows.
fn places(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1_usize, |product, size| product.checked_mul((*size).max(1)))
}

/// A shape as people write it: `2 × 3`; the first few axes of an absurdly long one.
pub(super) fn sizes(shape: &[usize]) -> String {
    if shape.is_empty() {
        return "one number".to_owned();
    }
    let shown: Vec<_> = shape.iter().take(limits::AXES).map(ToString::to_string).collect();
    let more = if shape.len() > limits::AXES { " × …" } else { "" };
    format!("{}{more}", shown.join(" × "))
}

/// Refuses shapes that have too many axes or ask for too many numbers; returns how many numbers it is.
pub(super) fn checked_count(shape: &[usize]) -> Result<usize, Fault> {
    if shape.len() > limits::AXES {
        return Err(Fault::new(
            format!("an array of {} axes", shape.len()),
            format!("at most {} axes are read; attention needs four (batch, head, query, key)", limits::AXES),
            "merge axes before saving (`reshape` in NumPy and PyTorch)",
        ));
    }
    if places(shape).is_some_and(|places| places <= limits::NUMBERS) {
        return Ok(count(shape).unwrap_or_default());
    }
    Err(Fault::new(
        format!("an array of {} is too large", sizes(shape)),
        format!("at most {} numbers are read from one file", limits::NUMBERS),
        "save the part that is needed (a slice, one layer, one head)",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_must_fill_the_shape() {
        assert!(Array::new(vec![2, 3], vec![0.0; 6], Kind::F64).is_ok());
        let fault = Array::new(vec![2, 3], vec![0.0; 5], Kind::F64).unwrap_err();
        assert_eq!(fault.what, "5 numbers do not fill an array of 2 × 3");
        // 2^32 · 2^32 is 0 for a computer that does not look.
        assert!(Array::new(vec![1 << 32, 1 << 32], vec![], Kind::F64).is_err());
        assert!(Array::new(vec![], vec![7.0], Kind::F64).is_ok(), "no axes: a single number");
    }

    #[test]
    fn a_matrix_keeps_its_rows_on_the_way_in_and_out() {
        let array = Array::new(vec![2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], Kind::F64).unwrap();
        let matrix = array.to_matrix().unwrap();
        assert_eq!((matrix[(0, 2)], matrix[(1, 0)]), (3.0, 4.0));
        assert_eq!(Array::from_matrix(&matrix), array);
        // A head is a block of columns: here the last two.
        let head = Array::from_matrix(matrix.columns(1, 2));
        assert_eq!((head.shape, head.data), (vec![2, 2], vec![2.0, 3.0, 5.0, 6.0]));
    }

    #[test]
    fn only_two_axes_make_a_matrix() {
        assert!(Array::new(vec![4], vec![0.0; 4], Kind::F64).unwrap().to_matrix().is_none());
        assert_eq!(
            Array::new(vec![0, 3], vec![], Kind::F64).unwrap().to_matrix().map(|m| m.shape()),
            Some((0, 3))
        );
    }
}
