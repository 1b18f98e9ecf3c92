//! What an operation's explanation of a cell comes to in exact arithmetic.

use std::collections::HashMap;

use super::Why;
use super::number::Number;
use super::rational::{self, whole};
use crate::limits::EXACT_WORK;
use crate::ops::{Expr, Function, RowFigure};

/// A matrix of exact numbers.
#[derive(Debug, Clone)]
pub(super) struct Matrix {
    pub(super) columns: usize,
    /// Row by row.
    pub(super) cells: Vec<Number>,
}

impl Matrix {
    fn row(&self, row: usize) -> &[Number] {
        &self.cells[row * self.columns..(row + 1) * self.columns]
    }
}

/// How much arithmetic is still allowed.
#[derive(Debug)]
pub(super) struct Work {
    left: usize,
}

impl Work {
    pub(super) fn new() -> Self {
        Self { left: EXACT_WORK }
    }

    fn take(&mut self, steps: usize) -> Result<(), Why> {
        self.left = self.left.checked_sub(steps).ok_or(Why::MuchWork)?;
        Ok(())
    }
}

/// Evaluates the cells of one step.
pub(super) struct Evaluator<'a> {
    inputs: &'a [&'a Matrix],
    work: &'a mut Work,
    /// The largest number of a row of an input: every cell of a softmax's row asks for it.
    largest: HashMap<(usize, usize), Number>,
    /// The last divisor: a softmax's row has one for all its cells.
    divisor: Option<(Expr, Number)>,
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(inputs: &'a [&'a Matrix], work: &'a mut Work) -> Self {
        Self { inputs, work, largest: HashMap::new(), divisor: None }
    }

    /// What the expression comes to.
    pub(super) fn value(&mut self, expr: &Expr) -> Result<Number, Why> {
        self.work.take(1)?;
        match expr {
            Expr::Number(x) if *x == f64::NEG_INFINITY => Ok(Number::MinusInfinity),
            Expr::Number(x) => Ok(rational::typed(*x)?.into()),
            Expr::Cell { input, row, column } => Ok(self.inputs[*input].row(*row)[*column].clone()),
            Expr::Sum(terms) => {
                let terms: Vec<Number> =
                    terms.iter().map(|term| self.value(term)).collect::<Result<_, _>>()?;
                // Each term is merged into what has been added so far, which is at most as long as all of them.
                self.work.take(terms.iter().map(Number::size).sum())?;
                Number::sum_within(terms, &mut |products| self.work.take(products))
            }
            Expr::Product(factors) => {
                let mut product = whole(1).into();
                for factor in factors {
                    let factor = self.value(factor)?;
                    product = self.product(&product, &factor)?;
                }
                Ok(product)
            }
            Expr::Difference(a, b) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                self.work.take(a.size() + b.size())?;
                a.minus(&b)
            }
            Expr::Quotient(above, below) => {
                let above = self.value(above)?;
                let below = self.divisor(below)?;
                self.work.take(above.size() * below.size())?;
                above.over(&below)
            }
            Expr::Max(among) => {
                let numbers: Vec<Number> =
                    among.iter().map(|one| self.value(one)).collect::<Result<_, _>>()?;
                Ok(largest(&numbers))
            }
            Expr::RowMax { input, row } => {
                if let Some(known) = self.largest.get(&(*input, *row)) {
                    return Ok(known.clone());
                }
                let numbers = self.inputs[*input].row(*row);
                self.work.take(numbers.len())?;
                let largest = largest(numbers);
                self.largest.insert((*input, *row), largest.clone());
                Ok(largest)
            }
            Expr::Row { figure, input, row } => {
                let numbers = self.inputs[*input].row(*row);
                let mean = self.mean(numbers)?;
                match figure {
                    RowFigure::Mean => Ok(mean),
                    RowFigure::Variance => {
                        let mut squares = Vec::with_capacity(numbers.len());
                        for number in numbers {
                            let apart = number.minus(&mean)?;
                            squares.push(self.product(&apart, &apart)?);
                        }
                        self.mean(&squares)
                    }
                }
            }
            Expr::Apply(function, x) => self.apply(*function, x),
        }
    }

    fn mean(&mut self, numbers: &[Number]) -> Result<Number, Why> {
        self.work.take(numbers.iter().map(Number::size).sum())?;
        let sum = Number::sum_within(numbers.to_vec(), &mut |products| self.work.take(products))?;
        sum.over(&rational::typed(numbers.len() as f64)?.into())
    }

    fn product(&mut self, a: &Number, b: &Number) -> Result<Number, Why> {
        self.work.take(a.size() * b.size())?;
        a.times(b)
    }

    fn divisor(&mut self, expr: &Expr) -> Result<Number, Why> {
        match &self.divisor {
            Some((known, number)) if known == expr => Ok(number.clone()),
            _ => {
                let number = self.value(expr)?;
                self.divisor = Some((expr.clone(), number.clone()));
                Ok(number)
            }
        }
    }

    fn apply(&mut self, function: Function, x: &Expr) -> Result<Number, Why> {
        if let (Function::Sin | Function::Cos, Expr::Number(angle)) = (function, x) {
            return match (function, *angle == 0.0) {
                (Function::Sin, true) => Ok(whole(0).into()),
                (Function::Cos, true) => Ok(whole(1).into()),
                (Function::Sin, false) => Err(Why::Turn("sin", *angle)),
                _ => Err(Why::Turn("cos", *angle)),
            };
        }
        let x = self.value(x)?;
        match function {
            Function::Exp => x.exp(),
            Function::Tanh => x.tanh(),
            Function::Sqrt => {
                // Squares are looked for up to the cube root: about one division in fifty costs as much as a product.
                self.work.take((x.value().abs().cbrt() / 50.0) as usize)?;
                x.sqrt()
            }
            Function::Sin if x.is_zero() => Ok(x),
            Function::Cos if x.is_zero() => Ok(whole(1).into()),
            Function::Sin => Err(Why::Turn("sin", x.value())),
            Function::Cos => Err(Why::Turn("cos", x.value())),
            Function::Half => Err(Why::Half),
            Function::Erf if x.is_zero() => Ok(x),
            Function::Erf => Err(Why::Erf),
        }
    }
}

/// The largest of them, as the machine sees them. A softmax divides by what it chose: where two are too close to tell
/// apart, either gives the same weights.
fn largest(numbers: &[Number]) -> Number {
    let by_value = |a: &&Number, b: &&Number| a.value().total_cmp(&b.value());
    numbers.iter().max_by(by_value).cloned().unwrap_or(Number::MinusInfinity)
}
