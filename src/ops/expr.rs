//! Where one number comes from: an expression over the cells of a step's inputs.

use super::View;

/// The arithmetic behind one cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// A number that the operation brings along.
    Number(f64),
    /// A cell of one of the step's inputs, counted from 0.
    Cell {
        /// Which input.
        input: usize,
        /// Its row.
        row: usize,
        /// Its column.
        column: usize,
    },
    /// a + b + …
    Sum(Vec<Expr>),
    /// a · b · …
    Product(Vec<Expr>),
    /// a − b
    Difference(Box<Expr>, Box<Expr>),
    /// a / b
    Quotient(Box<Expr>, Box<Expr>),
    /// The largest of them.
    Max(Vec<Expr>),
    /// The largest number in a row of one of the inputs.
    RowMax {
        /// Which input.
        input: usize,
        /// Its row, from 0.
        row: usize,
    },
    /// A function of one number.
    Apply(Function, Box<Expr>),
}

/// Functions that attention uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// e^x
    Exp,
    /// √x
    Sqrt,
    /// tanh x
    Tanh,
    /// sin x, radians
    Sin,
    /// cos x, radians
    Cos,
}

impl Function {
    /// Its value at `x`.
    pub fn of(self, x: f64) -> f64 {
        match self {
            Self::Exp => libm::exp(x),
            Self::Sqrt => x.sqrt(),
            Self::Tanh => libm::tanh(x),
            Self::Sin => libm::sin(x),
            Self::Cos => libm::cos(x),
        }
    }
}

impl Expr {
    /// A cell of an input.
    pub fn cell(input: usize, row: usize, column: usize) -> Self {
        Self::Cell { input, row, column }
    }

    /// a / b
    pub fn over(self, below: Self) -> Self {
        Self::Quotient(Box::new(self), Box::new(below))
    }

    /// a − b
    pub fn minus(self, other: Self) -> Self {
        Self::Difference(Box::new(self), Box::new(other))
    }

    /// f(a)
    pub fn apply(self, function: Function) -> Self {
        Self::Apply(function, Box::new(self))
    }

    /// What the expression comes to, given the inputs.
    pub fn value(&self, inputs: &[View<'_, f64>]) -> f64 {
        match self {
            Self::Number(number) => *number,
            Self::Cell { input, row, column } => inputs[*input][(*row, *column)],
            Self::Sum(terms) => terms.iter().map(|term| term.value(inputs)).sum(),
            Self::Product(factors) => factors.iter().map(|factor| factor.value(inputs)).product(),
            Self::Difference(a, b) => a.value(inputs) - b.value(inputs),
            Self::Quotient(a, b) => a.value(inputs) / b.value(inputs),
            Self::Max(among) => among.iter().map(|one| one.value(inputs)).fold(f64::NEG_INFINITY, f64::max),
            Self::RowMax { input, row } => {
                inputs[*input].row(*row).iter().copied().fold(f64::NEG_INFINITY, f64::max)
            }
            Self::Apply(function, x) => function.of(x.value(inputs)),
        }
    }

    /// Calls `add` with (input, row, column) of every cell it reads, in order and as often as it is read; of a row
    /// whose largest number is meant, every cell, given how many columns each input has.
    pub fn each_cell(&self, columns: &impl Fn(usize) -> usize, add: &mut impl FnMut(usize, usize, usize)) {
        match self {
            Self::Number(_) => {}
            Self::Cell { input, row, column } => add(*input, *row, *column),
            Self::RowMax { input, row } => (0..columns(*input)).for_each(|column| add(*input, *row, column)),
            Self::Sum(all) | Self::Product(all) | Self::Max(all) => {
                all.iter().for_each(|one| one.each_cell(columns, add));
            }
            Self::Difference(a, b) | Self::Quotient(a, b) => {
                a.each_cell(columns, add);
                b.each_cell(columns, add);
            }
            Self::Apply(_, x) => x.each_cell(columns, add),
        }
    }

    /// The same expression with its cells renamed.
    #[must_use]
    pub fn with_cells(self, rename: &impl Fn(usize, usize, usize) -> Self) -> Self {
        let all = |terms: Vec<Self>| terms.into_iter().map(|term| term.with_cells(rename)).collect();
        match self {
            Self::Number(_) => self,
            Self::Cell { input, row, column } => rename(input, row, column),
            Self::Sum(terms) => Self::Sum(all(terms)),
            Self::Product(factors) => Self::Product(all(factors)),
            Self::Max(among) => Self::Max(all(among)),
            Self::RowMax { input, row } => match rename(input, row, 0) {
                Self::Cell { input, row, .. } => Self::RowMax { input, row },
                other => other,
            },
            Self::Difference(a, b) => a.with_cells(rename).minus(b.with_cells(rename)),
            Self::Quotient(a, b) => a.with_cells(rename).over(b.with_cells(rename)),
            Self::Apply(function, x) => x.with_cells(rename).apply(function),
        }
    }
}
