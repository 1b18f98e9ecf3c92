//! An expression taken apart, and written down again.

use std::fmt;

use super::{Figure, Function};
use crate::plan::StepId;

/// What an expression says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Meaning {
    /// A number or several.
    Value(Expr),
    /// Comparisons that all have to hold.
    Claims(Vec<Chain>),
}

/// Values compared one with the next: `1 < a < 2`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Chain {
    /// The value on the left.
    pub(super) first: Expr,
    /// How each following value is compared with the one before it; never empty.
    pub(super) rest: Vec<(Comparison, Expr)>,
}

/// Something that comes to a number, or to several.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expr {
    /// A number, and the digits that were typed: they say how exactly it is meant.
    Number { value: f64, typed: String },
    /// `e` or `pi`.
    Constant(Constant),
    /// `$`, the horizontal value of a plot.
    Variable,
    /// A step, or a part of it.
    Slice(Slice),
    /// The negative of a value.
    Negative(Box<Expr>),
    /// Operators of one rank, from left to right. A list, not a tree, so that long sums do not nest.
    Operations(Box<Expr>, Vec<(Operator, Expr)>),
    /// A function of values.
    Call(Function, Vec<Expr>),
    /// A figure of a run.
    Figure(Figure, Option<String>),
    /// A number of `mha params`.
    Count { model: String, key: String },
    /// How fast a step of a run changes with an input.
    Slope { out: StepId, run: Option<String>, by: StepId },
}

/// A step or a part of it, in a run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Slice {
    /// The step.
    pub(super) step: StepId,
    /// Which part.
    pub(super) part: Part,
    /// The run; `None` is the lesson itself.
    pub(super) run: Option<String>,
}

/// A part of a step; rows and columns from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Whole,
    Row(usize),
    Column(usize),
    Cell(usize, usize),
}

/// A number with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Constant {
    E,
    Pi,
}

impl Constant {
    pub(super) const ALL: [Self; 2] = [Self::E, Self::Pi];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::E => "e",
            Self::Pi => "pi",
        }
    }

    pub(super) fn value(self) -> f64 {
        match self {
            Self::E => std::f64::consts::E,
            Self::Pi => std::f64::consts::PI,
        }
    }
}

/// What stands between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Plus,
    Minus,
    Times,
    Over,
    Power,
}

impl Operator {
    /// As it is typed.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Plus => "+",
            Self::Minus => "-",
            Self::Times => "*",
            Self::Over => "/",
            Self::Power => "^",
        }
    }

    fn rank(self) -> u8 {
        match self {
            Self::Plus | Self::Minus => SUM,
            Self::Times | Self::Over => PRODUCT,
            Self::Power => POWER,
        }
    }
}

/// How two numbers are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
}

impl Comparison {
    /// As it is typed.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::More => ">",
            Self::AtLeast => ">=",
        }
    }

    /// The same comparison, read from right to left: `1 < a` is `a > 1`.
    #[must_use]
    pub fn turned(self) -> Self {
        match self {
            Self::Less => Self::More,
            Self::AtMost => Self::AtLeast,
            Self::More => Self::Less,
            Self::AtLeast => Self::AtMost,
            same => same,
        }
    }
}

impl Expr {
    /// Calls `visit` with this expression and with everything in it.
    pub(super) fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Self)) {
        visit(self);
        match self {
            Self::Negative(inner) => inner.walk(visit),
            Self::Operations(first, rest) => {
                first.walk(visit);
                rest.iter().for_each(|(_, operand)| operand.walk(visit));
            }
            Self::Call(_, arguments) => arguments.iter().for_each(|argument| argument.walk(visit)),
            _ => {}
        }
    }

    /// Whether it comes to one number, whatever the shapes of the steps in it.
    pub(super) fn is_single(&self) -> bool {
        match self {
            Self::Slice(slice) => matches!(slice.part, Part::Cell(..)),
            Self::Negative(inner) => inner.is_single(),
            Self::Operations(first, rest) => {
                first.is_single() && rest.iter().all(|(_, operand)| operand.is_single())
            }
            Self::Call(function, arguments) => {
                !function.is_cell_by_cell() || arguments.iter().all(Self::is_single)
            }
            _ => true,
        }
    }

    /// The digits of a number that was typed, where it is nothing else, with a sign or without.
    pub(super) fn typed(&self) -> Option<&str> {
        match self {
            Self::Number { typed, .. } => Some(typed),
            Self::Negative(inner) => inner.typed(),
            _ => None,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Operations(_, rest) => rest.first().map_or(ATOM, |(operator, _)| operator.rank()),
            Self::Negative(_) => NEGATIVE,
            _ => ATOM,
        }
    }

    /// Writes it, in parentheses where it binds less than `least`.
    fn write(&self, least: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rank() < least { write!(f, "({self})") } else { write!(f, "{self}") }
    }
}

// What binds tighter ranks higher: -2^2 is -(2^2), and 2*-3 needs no parentheses.
const SUM: u8 = 1;
const PRODUCT: u8 = 2;
const NEGATIVE: u8 = 3;
const POWER: u8 = 4;
const ATOM: u8 = 5;

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number { typed, .. } => f.write_str(typed),
            Self::Constant(constant) => f.write_str(constant.word()),
            Self::Variable => f.write_str("$"),
            Self::Slice(slice) => write!(f, "{slice}"),
            Self::Negative(inner) => {
                f.write_str("-")?;
                inner.write(NEGATIVE, f)
            }
            Self::Operations(first, rest) => {
                // A power groups from the right: what stands right of it need not bind tighter.
                let rank = self.rank();
                first.write(rank + 1, f)?;
                for (operator, operand) in rest {
                    let blank = if rank == SUM { " " } else { "" };
                    write!(f, "{blank}{}{blank}", operator.sign())?;
                    operand.write(if rank == POWER { NEGATIVE } else { rank + 1 }, f)?;
                }
                Ok(())
            }
            Self::Call(function, arguments) => {
                write!(f, "{}(", function.word())?;
                for (index, argument) in arguments.iter().enumerate() {
                    write!(f, "{}{argument}", if index > 0 { ", " } else { "" })?;
                }
                f.write_str(")")
            }
            Self::Figure(figure, run) => write!(f, "{}({})", figure.word(), at(run.as_deref())),
            Self::Count { model, key } => write!(f, "count(\"{model}\", \"{key}\")"),
            Self::Slope { out, run, by } => write!(f, "slope({out}{}, {by})", at(run.as_deref())),
        }
    }
}

impl fmt::Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.step)?;
        match self.part {
            Part::Whole => Ok(()),
            Part::Row(row) => write!(f, "[{}]", row + 1),
            Part::Column(column) => write!(f, "[,{}]", column + 1),
            Part::Cell(row, column) => write!(f, "[{},{}]", row + 1, column + 1),
        }?;
        f.write_str(&at(self.run.as_deref()))
    }
}

/// A run as it is named behind a step; nothing for the lesson itself.
fn at(run: Option<&str>) -> String {
    run.map(|run| format!("@{run}")).unwrap_or_default()
}
