//! A figure that a lesson speaks of, as an expression over its steps: `entropy(head.1.weights[3]@one) - 1`.
//!
//! ```text
//! text ──> token (words) ──> parse ──> expr ──> evaluate, with the functions of measures ──> Amount
//!                                                  every number of a step comes from Numbers
//! ```

mod evaluate;
mod expr;
mod functions;
mod measures;
pub mod of_trace;
mod parse;
#[cfg(test)]
mod parse_tests;
#[cfg(test)]
mod tests;
mod token;

use std::fmt;
use std::str::FromStr;

use nalgebra::DMatrix;

use crate::plan::StepId;

use expr::{Expr, Meaning};

pub use evaluate::{Failure, Holds};
pub use expr::Comparison;
pub use functions::Figure;
use functions::Function;
pub(super) use token::is_meant;
pub use token::is_run_name;

/// An expression over the steps of a lesson and of its runs.
///
/// ```
/// use mha::lesson::Quantity;
/// let quantity: Quantity = "entropy(head.1.weights[3]@one) - 1".parse().unwrap();
/// assert_eq!(quantity.steps(), [("head.1.weights".parse().unwrap(), Some("one"))]);
/// assert_eq!("2 * (3".parse::<Quantity>().unwrap_err().at, 7);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Quantity {
    /// As it was written.
    pub text: String,
    meaning: Meaning,
}

/// What an expression comes to.
#[derive(Debug, Clone, PartialEq)]
pub enum Amount {
    /// One number.
    Number(f64),
    /// Several: a row, a column, or a whole step.
    Matrix(DMatrix<f64>),
    /// What a comparison says.
    Truth(bool),
}

/// What kind of amount an expression comes to, whatever its numbers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One number.
    Number,
    /// A row, a column or a whole step, or something made from one cell by cell.
    Matrix,
    /// A comparison.
    Truth,
}

/// Where an expression's numbers come from.
pub trait Numbers {
    /// The value of a step in a run (`None`: the lesson itself). A stack such as `weights` is all heads, one above the
    /// other.
    ///
    /// # Errors
    /// There is no such run or step; the run cannot be computed. In words.
    fn step(&self, step: StepId, run: Option<&str>) -> Result<DMatrix<f64>, String>;

    /// A figure of a run as a whole.
    ///
    /// # Errors
    /// There is no such run; it cannot be planned; nobody counts here. In words.
    fn figure(&self, figure: Figure, run: Option<&str>) -> Result<f64, String>;

    /// A number of `mha params MODEL --format json` by its key (dotted for nested ones).
    ///
    /// # Errors
    /// There is no such model or key; nobody counts here. In words.
    fn count(&self, model: &str, key: &str) -> Result<f64, String>;

    /// How fast a step of a run changes with an input: the root mean square of ‖d out‖ over random unit directions.
    ///
    /// # Errors
    /// There is no such step or input; the run cannot be computed. In words.
    fn slope(&self, out: (StepId, Option<&str>), by: StepId) -> Result<f64, String>;

    /// What `$` stands for, where it stands for anything.
    fn variable(&self) -> Option<f64>;

    /// Told before something is computed that takes about so many operations.
    ///
    /// # Errors
    /// It would be too much, with all before it. In words.
    fn work(&self, _operations: u128) -> Result<(), String> {
        Ok(())
    }
}

/// Why a text is no expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAQuantity {
    /// What is wrong: `it ends too early`.
    pub what: String,
    /// At which character of the text, from 1.
    pub at: usize,
    /// What could stand there: `a number, a step, a function or (`.
    pub expected: String,
    /// What to try; may be empty.
    pub remedy: String,
}

impl NotAQuantity {
    fn new(what: impl Into<String>, at: usize, expected: impl Into<String>) -> Self {
        Self { what: what.into(), at, expected: expected.into(), remedy: String::new() }
    }

    fn with_remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: remedy.into(), ..self }
    }
}

impl fmt::Display for NotAQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at character {}, where {} is expected", self.what, self.at, self.expected)
    }
}

impl std::error::Error for NotAQuantity {}

impl FromStr for Quantity {
    type Err = NotAQuantity;

    fn from_str(text: &str) -> Result<Self, NotAQuantity> {
        Ok(Self { text: text.trim().to_owned(), meaning: parse::meaning(text)? })
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Quantity {
    /// What it comes to.
    ///
    /// # Errors
    /// Why it comes to nothing, in words: a step that is not there, a row too many, shapes that do not fit, the
    /// logarithm of 0.
    pub fn amount(&self, numbers: &dyn Numbers) -> Result<Amount, String> {
        match &self.meaning {
            Meaning::Value(expr) => evaluate::value(expr, numbers),
            Meaning::Claims(_) => self.truth(numbers).map(Amount::Truth),
        }
    }

    /// The one number that it comes to.
    ///
    /// # Errors
    /// What [`Quantity::amount`] refuses; it is several numbers, or a comparison.
    pub fn number(&self, numbers: &dyn Numbers) -> Result<f64, String> {
        match self.amount(numbers)? {
            Amount::Number(number) => Ok(number),
            Amount::Matrix(matrix) => {
                let (rows, columns) = matrix.shape();
                Err(format!("{self} is {rows} × {columns}, not one number"))
            }
            Amount::Truth(_) => Err(format!("{self} is a comparison, not a number")),
        }
    }

    /// Whether all its comparisons hold.
    ///
    /// # Errors
    /// What [`Quantity::holds`] refuses.
    pub fn truth(&self, numbers: &dyn Numbers) -> Result<bool, String> {
        self.holds(numbers).map(|holds| holds == Holds::Yes)
    }

    /// Whether all its comparisons hold; if not, the first that does not, with the values of both sides.
    ///
    /// `=` holds where the sides are no further apart than half a unit of the last digit of a side that is a number
    /// typed with decimals (`2.83`: 0.005), and otherwise than 1e-9 of the larger of them and 1. `<=` and `>=` allow for
    /// rounding (1e-9 of the larger side), and `<` and `>` want more than that.
    ///
    /// # Errors
    /// What [`Quantity::amount`] refuses; it is no comparison.
    pub fn holds(&self, numbers: &dyn Numbers) -> Result<Holds, String> {
        let Meaning::Claims(chains) = &self.meaning else {
            return Err(format!("{self} compares nothing"));
        };
        for chain in chains {
            if let Some(failure) = evaluate::failure(chain, numbers)? {
                return Ok(Holds::No(failure));
            }
        }
        Ok(Holds::Yes)
    }

    /// What kind of amount it comes to.
    pub fn kind(&self) -> Kind {
        match &self.meaning {
            Meaning::Claims(_) => Kind::Truth,
            Meaning::Value(expr) if expr.is_single() => Kind::Number,
            Meaning::Value(_) => Kind::Matrix,
        }
    }

    /// Every step it needs, with its run, each once, in the order of the text.
    pub fn steps(&self) -> Vec<(StepId, Option<&str>)> {
        let mut steps = Vec::new();
        let mut add = |step: StepId, run| {
            if !steps.contains(&(step, run)) {
                steps.push((step, run));
            }
        };
        self.walk(&mut |expr| match expr {
            Expr::Slice(slice) => add(slice.step, slice.run.as_deref()),
            Expr::Slope { out, run, by } => {
                add(*out, run.as_deref());
                add(*by, run.as_deref());
            }
            _ => {}
        });
        steps
    }

    /// Every run it names, each once, in the order of the text.
    pub fn runs(&self) -> Vec<&str> {
        let mut runs = Vec::new();
        self.walk(&mut |expr| {
            let run = match expr {
                Expr::Slice(slice) => slice.run.as_deref(),
                Expr::Slope { run, .. } | Expr::Figure(_, run) => run.as_deref(),
                _ => None,
            };
            if let Some(run) = run
                && !runs.contains(&run)
            {
                runs.push(run);
            }
        });
        runs
    }

    /// Whether `$` stands in it.
    pub fn has_variable(&self) -> bool {
        let mut found = false;
        self.walk(&mut |expr| found |= *expr == Expr::Variable);
        found
    }

    /// Whether the lesson's own steps and figures are all it needs: no run, no model, no slope and no `$`.
    pub fn is_of_the_lesson(&self) -> bool {
        let mut only = self.runs().is_empty();
        self.walk(&mut |expr| {
            only &= !matches!(expr, Expr::Count { .. } | Expr::Slope { .. } | Expr::Variable);
        });
        only
    }

    /// Step, row and column (from 0), where it is one cell of the lesson itself and nothing else.
    pub fn cell(&self) -> Option<(StepId, usize, usize)> {
        match &self.meaning {
            Meaning::Value(Expr::Slice(slice)) if slice.run.is_none() => match slice.part {
                expr::Part::Cell(row, column) => Some((slice.step, row, column)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Step and run, where it is a part of a step and nothing else: a cell, a row, a column or all of it.
    pub fn slice(&self) -> Option<(StepId, Option<&str>)> {
        match &self.meaning {
            Meaning::Value(Expr::Slice(slice)) => Some((slice.step, slice.run.as_deref())),
            _ => None,
        }
    }

    /// Whether it is a bare number or sign, which in a sentence is one of its words.
    pub(super) fn is_bare(&self) -> bool {
        fn is_bare(expr: &Expr) -> bool {
            match expr {
                Expr::Number { .. } | Expr::Constant(_) | Expr::Variable => true,
                Expr::Negative(inner) => is_bare(inner),
                _ => false,
            }
        }
        matches!(&self.meaning, Meaning::Value(expr) if is_bare(expr))
    }

    fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Expr)) {
        match &self.meaning {
            Meaning::Value(expr) => expr.walk(visit),
            Meaning::Claims(chains) => {
                for chain in chains {
                    chain.first.walk(visit);
                    chain.rest.iter().for_each(|(_, expr)| expr.walk(visit));
                }
            }
        }
    }
}
