//! What an expression comes to.

use std::fmt;

use nalgebra::DMatrix;

use super::expr::{Chain, Comparison, Expr, Operator, Part, Slice};
use super::functions::Takes;
use super::measures::{self, Positions};
use super::{Amount, Numbers};
use crate::lesson::claims::decimals_of;
use crate::number;
use crate::plan::Name;

/// Whether comparisons hold.
#[derive(Debug, Clone, PartialEq)]
pub enum Holds {
    /// All of them.
    Yes,
    /// This one does not.
    No(Failure),
}

/// A comparison that does not hold: `entropy(head.1.weights[3]) is 1.49, which is not < 1`.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The side on the left, as an expression, and its value.
    pub left: (String, f64),
    /// What was claimed.
    pub comparison: Comparison,
    /// The side on the right, as an expression, and its value.
    pub right: (String, f64),
}

impl Failure {
    /// The values of both sides, with as many digits as it takes to tell them apart.
    pub fn values(&self) -> (String, String) {
        let (left, right) = (self.left.1, self.right.1);
        let texts = |digits| (number::plain(left, digits), number::plain(right, digits));
        (2..17).map(texts).find(|(left, right)| left != right).unwrap_or_else(|| texts(2))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (left, right) = self.values();
        let is_number = |text: &str| text.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
        // What was typed as a number stands on the right: `1 < a` fails because a is not > 1.
        let turned = is_number(&self.left.0) && !is_number(&self.right.0);
        let (subject, value, sign, against, other) = match turned {
            true => (&self.right.0, right, self.comparison.turned(), &self.left.0, left),
            false => (&self.left.0, left, self.comparison, &self.right.0, right),
        };
        write!(f, "{subject} is {value}, which is ")?;
        match sign {
            Comparison::NotEqual => f.write_str("the same as ")?,
            _ => write!(f, "not {} ", sign.sign())?,
        }
        f.write_str(against)?;
        if is_number(against) { Ok(()) } else { write!(f, ", {other}") }
    }
}

/// The first comparison of a chain that does not hold.
pub(super) fn failure(chain: &Chain, numbers: &dyn Numbers) -> Result<Option<Failure>, String> {
    let mut left = (&chain.first, single(&chain.first, numbers)?);
    for (comparison, expr) in &chain.rest {
        let right = (expr, single(expr, numbers)?);
        if !compare(*comparison, left, right) {
            let side = |(expr, value): (&Expr, f64)| (expr.to_string(), value);
            return Ok(Some(Failure { left: side(left), comparison: *comparison, right: side(right) }));
        }
        left = right;
    }
    Ok(None)
}

/// A side of a comparison.
fn single(expr: &Expr, numbers: &dyn Numbers) -> Result<f64, String> {
    match value(expr, numbers)? {
        Amount::Number(number) => Ok(number),
        other => {
            let (rows, columns) = matrix(other).shape();
            Err(format!("{expr} is {rows} × {columns}, and only single numbers are compared"))
        }
    }
}

fn compare(comparison: Comparison, (a, x): (&Expr, f64), (b, y): (&Expr, f64)) -> bool {
    let within = |allowed: f64| x == y || (x - y).abs() <= allowed;
    let size = x.abs().max(y.abs());
    let equal = || {
        let typed = [a, b].into_iter().filter_map(half_a_unit).fold(0.0, f64::max);
        // The distance of 2.825 from 2.83 is itself rounded.
        within(if typed > 0.0 { typed + ROUNDING * 1e-3 * size } else { ROUNDING * size.max(1.0) })
    };
    let rounded = || within(ROUNDING * size);
    match comparison {
        Comparison::Equal => equal(),
        Comparison::NotEqual => !equal(),
        Comparison::Less => x < y && !rounded(),
        Comparison::AtMost => x < y || rounded(),
        Comparison::More => x > y && !rounded(),
        Comparison::AtLeast => x > y || rounded(),
    }
}

/// What another order of summing may make, as a share of the number.
pub(super) const ROUNDING: f64 = 1e-9;

/// Half a unit of the last digit of a number that was typed with decimals.
fn half_a_unit(side: &Expr) -> Option<f64> {
    let decimals = decimals_of(side.typed()?);
    (decimals > 0).then(|| 0.5 * libm::pow(10.0, -f64::from(decimals)))
}

/// The number or the numbers of an expression.
pub(super) fn value(expr: &Expr, numbers: &dyn Numbers) -> Result<Amount, String> {
    match expr {
        Expr::Number { value, .. } => Ok(Amount::Number(*value)),
        Expr::Constant(constant) => Ok(Amount::Number(constant.value())),
        Expr::Variable => {
            numbers.variable().map(Amount::Number).ok_or_else(|| "$ has a value only in a plot".to_owned())
        }
        Expr::Slice(slice) => part(slice, &numbers.step(slice.step, slice.run.as_deref())?),
        Expr::Negative(inner) => each(value(inner, numbers)?, |x| Ok(-x)),
        Expr::Operations(first, rest) => {
            rest.iter().try_fold(value(first, numbers)?, |left, (operator, operand)| {
                combined(left, *operator, value(operand, numbers)?)
            })
        }
        Expr::Call(function, arguments) => {
            let [first, others @ ..] = arguments.as_slice() else { return Err(no_value(*function)) };
            if function.takes() == Takes::Weights {
                let (weights, positions) = weights(first, numbers)?;
                return measures::of_weights(*function, &weights, positions).map(Amount::Number);
            }
            let first = value(first, numbers)?;
            if function.is_cell_by_cell() {
                return each(first, |x| measures::of_a_number(*function, x));
            }
            let first = matrix(first);
            numbers.work(measures::work(*function, first.shape()))?;
            let measured = match others {
                [] => measures::of_one(*function, &first),
                [second, ..] => measures::of_two(*function, &first, &matrix(value(second, numbers)?)),
            };
            measured.map(Amount::Number).map_err(|why| format!("{expr}: {why}"))
        }
        Expr::Figure(figure, run) => numbers.figure(*figure, run.as_deref()).map(Amount::Number),
        Expr::Count { model, key } => numbers.count(model, key).map(Amount::Number),
        Expr::Slope { out, run, by } => numbers.slope((*out, run.as_deref()), *by).map(Amount::Number),
    }
}

fn no_value(function: super::Function) -> String {
    format!("{} is given no value", function.word())
}

/// A value as a matrix; a number is one of a single cell.
fn matrix(amount: Amount) -> DMatrix<f64> {
    match amount {
        Amount::Matrix(matrix) => matrix,
        Amount::Number(number) => DMatrix::from_element(1, 1, number),
        Amount::Truth(truth) => DMatrix::from_element(1, 1, f64::from(u8::from(truth))),
    }
}

/// A part of a step's value. What has a single cell is a number.
fn part(slice: &Slice, whole: &DMatrix<f64>) -> Result<Amount, String> {
    let (rows, columns) = whole.shape();
    let (row, column) = match slice.part {
        Part::Whole => (None, None),
        Part::Row(row) => (Some(row), None),
        Part::Column(column) => (None, Some(column)),
        Part::Cell(row, column) => (Some(row), Some(column)),
    };
    for (kind, place, count) in [("row", row, rows), ("column", column, columns)] {
        if let Some(place) = place.filter(|place| *place >= count) {
            return Err(format!("{} has no {kind} {}: it is {rows} × {columns}", slice.step, place + 1));
        }
    }
    let range = |place: Option<usize>, count| place.map_or((0, count), |place| (place, 1));
    let ((from_row, height), (from_column, width)) = (range(row, rows), range(column, columns));
    let cells = whole.view((from_row, from_column), (height, width));
    Ok(match (height, width) {
        (1, 1) => Amount::Number(cells[(0, 0)]),
        _ => Amount::Matrix(cells.into_owned()),
    })
}

/// Attention weights, and which positions their rows are.
fn weights(expr: &Expr, numbers: &dyn Numbers) -> Result<(DMatrix<f64>, Positions), String> {
    let Expr::Slice(slice) = expr else { return Ok((matrix(value(expr, numbers)?), Positions::default())) };
    let whole = numbers.step(slice.step, slice.run.as_deref())?;
    let (rows, columns) = whole.shape();
    let from = match slice.part {
        Part::Whole => 0,
        Part::Row(row) => row,
        Part::Column(_) | Part::Cell(..) => {
            return Err(format!("{expr} is no row of weights: its positions are not known"));
        }
    };
    let mut positions = Positions { from, every: None };
    // Heads stand one above the other: each begins again at position 1.
    if let Name::Stack(_) = slice.step.name {
        if columns == 0 || !rows.is_multiple_of(columns) {
            return Err(format!("{expr} is {rows} × {columns}: say which head, head.1.weights"));
        }
        positions.every = Some(columns);
    }
    Ok((matrix(part(slice, &whole)?), positions))
}

/// The same done to each cell.
fn each(amount: Amount, change: impl Fn(f64) -> Result<f64, String>) -> Result<Amount, String> {
    Ok(match amount {
        Amount::Matrix(mut matrix) => {
            for cell in matrix.iter_mut() {
                *cell = change(*cell)?;
            }
            Amount::Matrix(matrix)
        }
        other => Amount::Number(change(matrix(other)[(0, 0)])?),
    })
}

/// Two values with an operator between them: numbers, a number and each cell of a matrix, or the sum or difference of
/// two matrices of one shape.
fn combined(left: Amount, operator: Operator, right: Amount) -> Result<Amount, String> {
    match (left, right) {
        (Amount::Matrix(left), Amount::Matrix(right)) => {
            let (a, b) = (left.shape(), right.shape());
            let shapes = format!("{} × {} and {} × {}", a.0, a.1, b.0, b.1);
            if !matches!(operator, Operator::Plus | Operator::Minus) {
                let sign = operator.sign();
                return Err(format!(
                    "{sign} stands between {shapes}: one side has to be a number (dot is a function)"
                ));
            }
            if a != b {
                return Err(format!("{shapes} have no sum and no difference: their shapes differ"));
            }
            let mut result = left;
            for (x, y) in result.iter_mut().zip(right.iter()) {
                *x = applied(operator, *x, *y)?;
            }
            Ok(Amount::Matrix(result))
        }
        (left, Amount::Matrix(right)) => {
            let left = matrix(left)[(0, 0)];
            each(Amount::Matrix(right), |right| applied(operator, left, right))
        }
        (left, right) => {
            let right = matrix(right)[(0, 0)];
            each(left, |left| applied(operator, left, right))
        }
    }
}

fn applied(operator: Operator, x: f64, y: f64) -> Result<f64, String> {
    let result = match operator {
        Operator::Plus => x + y,
        Operator::Minus => x - y,
        Operator::Times => x * y,
        Operator::Over if y == 0.0 => return Err(format!("{} is divided by 0", number::plain(x, 4))),
        Operator::Over => x / y,
        Operator::Power => libm::pow(x, y),
    };
    let is_new = |bad: fn(f64) -> bool| bad(result) && !bad(x) && !bad(y);
    if is_new(f64::is_nan) || (operator == Operator::Power && x == 0.0 && y < 0.0) {
        let [x, y] = [x, y].map(|side| number::plain(side, 4));
        return Err(format!("{x} {} {y} is not a number", operator.sign()));
    }
    Ok(result)
}
