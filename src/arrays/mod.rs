//! Files of numbers in and out; one format a file. Knows nothing of attention.

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
