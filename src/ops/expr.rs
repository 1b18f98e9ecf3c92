//! Where one number comes from: an expression over the cells of a step's inputs.

use std::collections::HashMap;

use half::f16;

use super::{Real, View};

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
    /// A figure of a whole row of one of the inputs.
    Row {
        /// Which figure.
        figure: RowFigure,
        /// Which input.
        input: usize,
        /// Its row, from 0.
        row: usize,
    },
    /// A function of one number.
    Apply(Function, Box<Expr>),
}

/// What a norm needs to know of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowFigure {
    /// Σ x / d
    Mean,
    /// Σ (x − mean)² / d
    Variance,
}

impl RowFigure {
    /// `mean` or `variance`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Variance => "variance",
        }
    }

    /// The figure of these numbers, summed in their order; not a number where there are none.
    pub fn of<T: Real>(self, numbers: impl Iterator<Item = T> + Clone) -> T {
        let mean = |numbers: &mut dyn Iterator<Item = T>| {
            let (sum, count) = numbers.fold((T::zero(), 0u32), |(sum, count), x| (sum + x, count + 1));
            sum / T::of(f64::from(count))
        };
        let middle = mean(&mut numbers.clone());
        match self {
            Self::Mean => middle,
            Self::Variance => mean(&mut numbers.map(|x| (x - middle) * (x - middle))),
        }
    }
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
    /// The error function, 2/√π · ∫₀ˣ e^(−t²) dt
    Erf,
    /// The nearest half-precision number; ±∞ beyond 65504.
    Half,
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
            Self::Erf => libm::erf(x),
            // By way of single precision, in which sums of half-precision products are kept; never by the processor's
            // own conversion, which not every one has.
            Self::Half => f64::from(f16::from_f32_const(f32::of(x))),
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
        self.value_with(inputs, &mut |input, row| row_max(&inputs[input], row))
    }

    /// The same for each of several expressions; the largest number of a row that many of them share is looked for once.
    pub fn values(several: &[Self], inputs: &[View<'_, f64>]) -> Vec<f64> {
        let mut known = HashMap::new();
        let mut largest =
            |input, row| *known.entry((input, row)).or_insert_with(|| row_max(&inputs[input], row));
        several.iter().map(|expr| expr.value_with(inputs, &mut largest)).collect()
    }

    fn value_with(&self, inputs: &[View<'_, f64>], largest: &mut impl FnMut(usize, usize) -> f64) -> f64 {
        match self {
            Self::Number(number) => *number,
            Self::Cell { input, row, column } => inputs[*input][(*row, *column)],
            Self::Sum(terms) => terms.iter().map(|term| term.value_with(inputs, largest)).sum(),
            Self::Product(factors) => {
                factors.iter().map(|factor| factor.value_with(inputs, largest)).product()
            }
            Self::Difference(a, b) => a.value_with(inputs, largest) - b.value_with(inputs, largest),
            Self::Quotient(a, b) => a.value_with(inputs, largest) / b.value_with(inputs, largest),
            Self::Max(among) => {
                among.iter().map(|one| one.value_with(inputs, largest)).fold(f64::NEG_INFINITY, f64::max)
            }
            Self::RowMax { input, row } => largest(*input, *row),
            Self::Row { figure, input, row } => figure.of(inputs[*input].row(*row).iter().copied()),
            Self::Apply(function, x) => function.of(x.value_with(inputs, largest)),
        }
    }

    /// Calls `cell` with (input, row, column) of every cell it reads, in order and as often as it is read, and `line`
    /// with (input, row) of every row of which a figure is meant: its largest number, its mean.
    pub fn each_cell(&self, cell: &mut impl FnMut(usize, usize, usize), line: &mut impl FnMut(usize, usize)) {
        match self {
            Self::Number(_) => {}
            Self::Cell { input, row, column } => cell(*input, *row, *column),
            Self::RowMax { input, row } | Self::Row { input, row, .. } => line(*input, *row),
            Self::Sum(all) | Self::Product(all) | Self::Max(all) => {
                all.iter().for_each(|one| one.each_cell(cell, line));
            }
            Self::Difference(a, b) | Self::Quotient(a, b) => {
                a.each_cell(cell, line);
                b.each_cell(cell, line);
            }
            Self::Apply(_, x) => x.each_cell(cell, line),
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
            Self::Row { figure, input, row } => match rename(input, row, 0) {
                Self::Cell { input, row, .. } => Self::Row { figure, input, row },
                other => other,
            },
            Self::Difference(a, b) => a.with_cells(rename).minus(b.with_cells(rename)),
            Self::Quotient(a, b) => a.with_cells(rename).over(b.with_cells(rename)),
            Self::Apply(function, x) => x.with_cells(rename).apply(function),
        }
    }
}

fn row_max(input: &View<'_, f64>, row: usize) -> f64 {
    input.row(row).iter().copied().fold(f64::NEG_INFINITY, f64::max)
}
