//! The arithmetic behind one cell, with real numbers in it: an [`Expr`] whose cells have names and values.

use std::collections::BTreeSet;

use super::origin::Cell;
use crate::ops::{Expr, Function, RowFigure, View};
use crate::plan::StepId;

/// A sum of more terms than this loses its middle ones; a row of more cells goes by its name.
pub const MOST_TERMS: usize = 16;
/// Terms that stay at the beginning of a long sum, and of what remains the largest.
const FIRST: usize = 2;
const LARGEST: usize = 3;
/// A run of left-out terms is at least so long; fewer take no more room than what would stand for them.
const SHORTEST_RUN: usize = 4;

/// An expression over named numbers. Reducing it, innermost first, ends in one number.
#[derive(Debug, Clone, PartialEq)]
pub enum Term {
    /// A cell of an earlier step.
    Cell(Cell, f64),
    /// A number that the operation brings along: the 2 of √2, a scale, a sink.
    Constant(f64),
    /// What a part of the expression came to.
    Computed(f64),
    /// So many terms of a sum, and what they come to together.
    Rest(usize, f64),
    /// A row of an earlier step, of which the largest number is meant.
    Row(StepId, usize, Vec<f64>),
    /// The mean or the variance of a row of an earlier step.
    Figure(RowFigure, StepId, usize, Vec<f64>),
    /// a + b + …
    Sum(Vec<Term>),
    /// a · b · …
    Product(Vec<Term>),
    /// a − b
    Difference(Box<Term>, Box<Term>),
    /// a / b
    Quotient(Box<Term>, Box<Term>),
    /// The largest of them.
    Max(Vec<Term>),
    /// A function of one number.
    Apply(Function, Box<Term>),
}

impl Term {
    /// An operation's expression over the inputs `ids`, which hold `inputs`; long sums lose their middle.
    pub fn of(expr: &Expr, ids: &[StepId], inputs: &[View<'_, f64>]) -> Self {
        let one = |expr: &Expr| Self::of(expr, ids, inputs);
        let boxed = |expr: &Expr| Box::new(one(expr));
        match expr {
            Expr::Number(number) => Self::Constant(*number),
            Expr::Cell { input, row, column } => {
                let cell = Cell { step: ids[*input], row: *row, column: *column };
                Self::Cell(cell, inputs[*input][(*row, *column)])
            }
            Expr::RowMax { input, row } => {
                let numbers = inputs[*input].row(*row).iter().copied().collect();
                Self::Max(vec![Self::Row(ids[*input], *row, numbers)])
            }
            Expr::Row { figure, input, row } => {
                let numbers = inputs[*input].row(*row).iter().copied().collect();
                Self::Figure(*figure, ids[*input], *row, numbers)
            }
            Expr::Max(among) => {
                let flat = among.iter().flat_map(|expr| match one(expr) {
                    Self::Max(inner) => inner,
                    other => vec![other],
                });
                Self::Max(flat.collect())
            }
            Expr::Sum(terms) => Self::sum(terms, ids, inputs),
            Expr::Product(factors) => Self::Product(factors.iter().map(one).collect()),
            Expr::Difference(a, b) => Self::Difference(boxed(a), boxed(b)),
            Expr::Quotient(a, b) => Self::Quotient(boxed(a), boxed(b)),
            Expr::Apply(function, x) => Self::Apply(*function, boxed(x)),
        }
    }

    /// A sum; of a long one the first terms, the largest and the last stay, and each run between them becomes one.
    fn sum(terms: &[Expr], ids: &[StepId], inputs: &[View<'_, f64>]) -> Self {
        let one = |expr: &Expr| Self::of(expr, ids, inputs);
        if terms.len() <= MOST_TERMS {
            return Self::Sum(terms.iter().map(one).collect());
        }
        let values = Expr::values(terms, inputs);
        let last = terms.len() - 1;
        let mut by_size: Vec<usize> = (FIRST..last).collect();
        by_size.sort_by(|a, b| values[*b].abs().total_cmp(&values[*a].abs()));
        let kept: BTreeSet<usize> =
            (0..FIRST).chain(by_size.into_iter().take(LARGEST)).chain([last]).collect();
        let mut shown = Vec::new();
        let mut from = 0;
        for at in kept {
            match at - from {
                few if few < SHORTEST_RUN => shown.extend(terms[from..at].iter().map(one)),
                many => shown.push(Self::Rest(many, values[from..at].iter().sum())),
            }
            shown.push(one(&terms[at]));
            from = at + 1;
        }
        Self::Sum(shown)
    }

    /// What it comes to.
    pub fn value(&self) -> f64 {
        self.value_with(&|_, number| number)
    }

    /// What it comes to when every number in it is first passed through `written`, with the part that it stands in.
    pub fn value_with(&self, written: &impl Fn(&Self, f64) -> f64) -> f64 {
        let one = |term: &Self| term.value_with(written);
        match self {
            Self::Cell(_, number)
            | Self::Constant(number)
            | Self::Computed(number)
            | Self::Rest(_, number) => written(self, *number),
            Self::Row(_, _, numbers) => written(self, largest(numbers.iter().copied())),
            // A long row goes by its name, and nothing of it is rounded.
            Self::Figure(figure, _, _, numbers) if numbers.len() > MOST_TERMS => {
                figure.of(numbers.iter().copied())
            }
            Self::Figure(figure, _, _, numbers) => {
                figure.of(numbers.iter().map(|number| written(self, *number)))
            }
            Self::Sum(terms) => terms.iter().map(one).sum(),
            Self::Product(factors) => factors.iter().map(one).product(),
            Self::Difference(a, b) => one(a) - one(b),
            Self::Quotient(a, b) => one(a) / one(b),
            Self::Max(among) => largest(among.iter().map(one)),
            Self::Apply(function, x) => function.of(one(x)),
        }
    }

    /// The same with its innermost parts computed; a number stays what it is.
    #[must_use]
    pub fn reduced(&self) -> Self {
        let all = |terms: &[Self]| terms.iter().map(Self::inner_reduced).collect();
        let boxed = |term: &Self| Box::new(term.inner_reduced());
        if self.parts().iter().all(|part| part.is_settled()) {
            return if self.is_settled() && self.parts().is_empty() {
                self.clone()
            } else {
                Self::Computed(self.value())
            };
        }
        match self {
            Self::Sum(terms) => Self::Sum(all(terms)),
            Self::Product(factors) => Self::Product(all(factors)),
            Self::Max(among) => Self::Max(all(among)),
            Self::Difference(a, b) => Self::Difference(boxed(a), boxed(b)),
            Self::Quotient(a, b) => Self::Quotient(boxed(a), boxed(b)),
            Self::Apply(function, x) => Self::Apply(*function, boxed(x)),
            other => other.clone(),
        }
    }

    fn inner_reduced(&self) -> Self {
        if self.is_settled() { self.clone() } else { self.reduced() }
    }

    /// Whether it needs no computing before what it stands in: a number, or a constant such as 1/√2 that readers
    /// know better than its decimals.
    fn is_settled(&self) -> bool {
        match self {
            Self::Apply(Function::Sqrt, x) => x.is_settled() && matches!(**x, Self::Constant(_)),
            Self::Quotient(a, b) => {
                let is_constant = |term: &Self| matches!(term, Self::Constant(_) | Self::Apply(..));
                is_constant(a) && is_constant(b) && a.is_settled() && b.is_settled()
            }
            Self::Figure(..) => false,
            other => other.parts().is_empty(),
        }
    }

    /// What it is put together from; nothing for a number.
    pub fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Sum(parts) | Self::Product(parts) | Self::Max(parts) => parts.iter().collect(),
            Self::Difference(a, b) | Self::Quotient(a, b) => vec![a, b],
            Self::Apply(_, x) => vec![x],
            _ => Vec::new(),
        }
    }

    /// The cells named in it, in their order and each once; of rows every cell.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        let mut seen = BTreeSet::new();
        self.collect(&mut |cell| {
            if seen.insert(cell) {
                cells.push(cell);
            }
        });
        cells
    }

    fn collect(&self, add: &mut impl FnMut(Cell)) {
        match self {
            Self::Cell(cell, _) => add(*cell),
            // A row that is only looked through for its largest number stands beside its cells in a short sum; a long
            // row would bring every cell of a sum that was shortened.
            Self::Row(step, row, numbers) | Self::Figure(_, step, row, numbers)
                if numbers.len() <= MOST_TERMS =>
            {
                for column in 0..numbers.len() {
                    add(Cell { step: *step, row: *row, column });
                }
            }
            other => {
                for part in other.parts() {
                    part.collect(add);
                }
            }
        }
    }
}

fn largest(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.fold(f64::NEG_INFINITY, f64::max)
}
