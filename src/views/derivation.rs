//! The arithmetic behind one cell, as lines to read: names, then numbers, then one reduction after the other.
//!
//! What is printed is true: every line, computed as it stands, gives a number that rounds to the value printed last.
//! Where numbers rounded to the page's digits would not, all lines have as many more digits as it takes.
//!
//! ```text
//! expression := term { (" + " | " − ") term }        name := step "[" row "," column "]"
//! term       := factor { ("·" | "/") factor }        row  := step "[" row "]"
//! factor     := number | name | "m" | "(" expression ")" | "{" count " terms" [ ": " number ] "}"
//!               | ("e^" | "√" | "cos " | "sin " | "tanh ") factor | ("float16(" | "erf(") expression ")"
//!               | "max(" (expression | row) { ", " expression } ")"
//!               | ("mean(" | "variance(") (row | number { ", " number }) ")"
//! ```
//!
//! Inside a head its own steps go by their last word: `q[3,1]` in `head.1.scores[3,3]` is `head.1.q[3,1]`. Inside a layer of a
//! stack its own go without the layer: `concat[1,1]` in `layer.2.output[1,1]` is `layer.2.concat[1,1]`.

use crate::ops::Function;
use crate::plan::{Name, StepId};
use crate::trace::term::{MOST_TERMS, Term};
use crate::trace::{Cell, Trace};
use crate::words::t;

/// The arithmetic behind one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Derivation {
    /// What m stands for in the lines, in names and as a number: the largest score, which a softmax subtracts first.
    pub largest: Option<(String, String)>,
    /// What stands after `cell =`: names, numbers, reductions. The last is the value.
    pub lines: Vec<String>,
}

/// Digits that write every number in full.
pub const IN_FULL: usize = 17;

impl Derivation {
    /// Of a cell of a trace; `None` for what was given.
    pub fn of(trace: &Trace<f64>, cell: Cell, digits: usize) -> Option<Self> {
        Some(Self::from_term(&trace.term(cell)?, cell.step, trace.cell(cell)?, digits))
    }

    /// Of a term that comes to `value`, with names as they are inside the head of `scope`.
    pub fn from_term(term: &Term, scope: StepId, value: f64, digits: usize) -> Self {
        let most = if matches!(term, Term::Max(_)) { None } else { first_max(term) };
        let mut stages = vec![if most.is_some() { with_max_computed(term) } else { term.clone() }];
        while let Some(next) = stages.last().filter(|stage| !stage.parts().is_empty()).map(Term::reduced) {
            stages.push(next);
        }
        let printed = figure(value, digits);
        let is_true = |d: &usize| {
            let in_numbers = |_: &Term, number: f64| as_written(number, *d);
            // Beside names only the operation's own numbers are written, and so rounded.
            let in_names = |part: &Term, number: f64| match part {
                Term::Constant(_) => as_written(number, *d),
                _ => number,
            };
            agrees(term.value_with(&in_names), &printed, digits)
                && stages.iter().all(|stage| agrees(stage.value_with(&in_numbers), &printed, digits))
        };
        let enough = (digits..=IN_FULL).find(is_true).unwrap_or(IN_FULL);
        let names = Writer { scope, digits: enough, in_names: true };
        let numbers = Writer { in_names: false, ..names };
        let mut lines = vec![names.write(term, Place::Free)];
        lines.extend(stages.iter().map(|stage| numbers.write(stage, Place::Free)));
        lines.pop();
        lines.push(printed);
        lines.dedup();
        let largest = most.map(|most| match most {
            Term::Max(among) => (names.list_of_max(among), figure(most.value(), enough)),
            other => (names.write(other, Place::Free), figure(other.value(), enough)),
        });
        Self { largest, lines }
    }

    /// All in one line, to stand after `cell = `: names, numbers, value, and what m is.
    pub fn in_short(&self) -> String {
        let mut text = match self.lines.as_slice() {
            [names, numbers, .., value] => format!("{names} = {numbers} = {value}"),
            few => few.join(" = "),
        };
        if let Some((names, number)) = &self.largest {
            text.push_str(&format!(", m = {names} = {number}"));
        }
        text
    }
}

/// Whether what a line comes to rounds to what is printed: within half a unit of its last digit, which is the page's
/// last digit where a number is written in full. Just half a unit would leave open which way to round.
fn agrees(line: f64, printed: &str, digits: usize) -> bool {
    if figure(line, digits) == printed {
        return true; // also where both are no numbers to subtract
    }
    let (number, exponent) = printed.split_once('e').unwrap_or((printed, "0"));
    let (Ok(is), Ok(exponent)) = (printed.parse::<f64>(), exponent.parse::<i32>()) else { return false };
    let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len()).max(digits);
    (line - is).abs() <= 0.4999 * 10f64.powi(exponent - decimals as i32)
}

/// Whether a number is too large to be read without an exponent, or would be rounded to nothing.
fn needs_exponent(size: f64, digits: usize) -> bool {
    size >= 1e9 || (digits > 0 && size > 0.0 && size < 0.5 * 10f64.powi(-(digits as i32)))
}

/// A number in a derivation: in full where that is short, else rounded to `digits` after the point.
pub fn figure(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "∞" } else { "−∞" }.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let (full, rounded) = match needs_exponent(value.abs(), digits.min(9)) {
        true => (format!("{value:e}"), format!("{value:.digits$e}")),
        false => (value.to_string(), format!("{value:.digits$}")),
    };
    if full.len() <= rounded.len() || digits == IN_FULL { full } else { rounded }
}

/// The number that a reader takes from the page.
fn as_written(value: f64, digits: usize) -> f64 {
    if digits >= IN_FULL || !value.is_finite() {
        value
    } else {
        figure(value, digits).parse().unwrap_or(value)
    }
}

/// The first choice of a largest number in a term; a softmax has one, however often it subtracts it.
fn first_max(term: &Term) -> Option<&Term> {
    match term {
        Term::Max(_) => Some(term),
        other => other.parts().into_iter().find_map(first_max),
    }
}

fn with_max_computed(term: &Term) -> Term {
    let boxed = |term: &Term| Box::new(with_max_computed(term));
    let all = |terms: &[Term]| terms.iter().map(with_max_computed).collect();
    match term {
        Term::Max(_) => Term::Computed(term.value()),
        Term::Sum(terms) => Term::Sum(all(terms)),
        Term::Product(factors) => Term::Product(all(factors)),
        Term::Difference(a, b) => Term::Difference(boxed(a), boxed(b)),
        Term::Quotient(a, b) => Term::Quotient(boxed(a), boxed(b)),
        Term::Apply(function, x) => Term::Apply(*function, boxed(x)),
        other => other.clone(),
    }
}

/// The name of a step as a step of `scope` calls it: inside the same head by its last word, inside the same layer without
/// the layer.
pub fn short_name(step: StepId, scope: StepId) -> String {
    let beside = step.sequence == scope.sequence && step.layer == scope.layer;
    match (step.name, scope.name) {
        (Name::Head(head, word), Name::Head(own, _)) if head == own && beside => word.word().to_owned(),
        _ if beside => step.name.to_string(),
        _ if step.sequence == scope.sequence => step.within().to_string(),
        _ => step.to_string(),
    }
}

/// What surrounds a part of an expression, which decides whether it wants parentheses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// Nothing, or a sum that it begins.
    Free,
    /// A term of a sum after the first, or what is subtracted.
    Term,
    /// A factor.
    Factor,
    /// What is divided by, or what a function is applied to.
    Tight,
}

/// Writes terms in names or in numbers.
#[derive(Debug, Clone, Copy)]
struct Writer {
    scope: StepId,
    digits: usize,
    in_names: bool,
}

impl Writer {
    fn write(&self, term: &Term, place: Place) -> String {
        let inside = |text: String, wraps: bool| if wraps { format!("({text})") } else { text };
        match term {
            Term::Cell(cell, _) if self.in_names => {
                let name = short_name(cell.step, self.scope);
                format!("{name}[{},{}]", cell.row + 1, cell.column + 1)
            }
            Term::Cell(_, number) | Term::Constant(number) | Term::Computed(number) => {
                inside(figure(*number, self.digits), *number < 0.0 && place > Place::Free)
            }
            Term::Rest(count, _) if self.in_names => t!("{%{count} terms}", count),
            Term::Rest(count, sum) => {
                t!("{%{count} terms: %{sum}}", count, sum = figure(*sum, self.digits))
            }
            Term::Row(step, row, numbers) => self.row(*step, *row, numbers),
            Term::Figure(figure, step, row, numbers) if self.in_names || numbers.len() > MOST_TERMS => {
                format!("{}({}[{}])", figure.word(), short_name(*step, self.scope), row + 1)
            }
            Term::Figure(figure, _, _, numbers) => {
                let numbers: Vec<String> = numbers
                    .iter()
                    .map(|number| crate::views::derivation::figure(*number, self.digits))
                    .collect();
                format!("{}({})", figure.word(), numbers.join(", "))
            }
            Term::Max(_) if self.in_names && place != Place::Free => "m".to_owned(),
            Term::Max(among) => self.list_of_max(among),
            Term::Sum(terms) => {
                let mut text = String::new();
                for (at, term) in terms.iter().enumerate() {
                    match (at, term) {
                        (0, _) => text.push_str(&self.write(term, Place::Free)),
                        (_, Term::Cell(_, number) | Term::Computed(number))
                            if !self.in_names && *number < 0.0 =>
                        {
                            text.push_str(&format!(" − {}", figure(-number, self.digits)));
                        }
                        _ => text.push_str(&format!(" + {}", self.write(term, Place::Term))),
                    }
                }
                inside(text, place > Place::Free)
            }
            Term::Difference(a, b) => {
                let text = format!("{} − {}", self.write(a, Place::Free), self.write(b, Place::Term));
                inside(text, place > Place::Free)
            }
            Term::Product(factors) => {
                let plain = factors.iter().all(|factor| factor.parts().is_empty());
                let dot = if plain { "·" } else { " · " };
                let texts: Vec<String> =
                    factors.iter().map(|factor| self.write(factor, Place::Factor)).collect();
                inside(texts.join(dot), place == Place::Tight)
            }
            Term::Quotient(a, b) => {
                let plain = a.parts().is_empty() && self.write(b, Place::Tight).chars().count() < 12;
                let slash = if plain { "/" } else { " / " };
                let text = format!("{}{slash}{}", self.write(a, Place::Factor), self.write(b, Place::Tight));
                inside(text, place == Place::Tight)
            }
            Term::Apply(function, x) => {
                let x = self.write(x, Place::Tight);
                match function {
                    Function::Exp if x.starts_with(|c: char| c.is_ascii_digit() || c == '(') => {
                        format!("e^{x}")
                    }
                    Function::Exp => format!("e^({x})"),
                    Function::Sqrt => format!("√{x}"),
                    Function::Tanh => format!("tanh {x}"),
                    Function::Sin => format!("sin {x}"),
                    Function::Cos => format!("cos {x}"),
                    Function::Erf if x.starts_with('(') => format!("erf{x}"),
                    Function::Erf => format!("erf({x})"),
                    Function::Half if x.starts_with('(') => format!("float16{x}"),
                    Function::Half => format!("float16({x})"),
                }
            }
        }
    }

    fn list_of_max(&self, among: &[Term]) -> String {
        let all: Vec<String> = among.iter().map(|term| self.write(term, Place::Free)).collect();
        format!("max({})", all.join(", "))
    }

    /// A row of which the largest number is meant: its cells, or of a long one its name.
    fn row(&self, step: StepId, row: usize, numbers: &[f64]) -> String {
        let name = short_name(step, self.scope);
        match numbers.len() {
            1..=MOST_TERMS => {
                let one = |(column, number): (usize, &f64)| match self.in_names {
                    true => format!("{name}[{},{}]", row + 1, column + 1),
                    false => figure(*number, self.digits),
                };
                numbers.iter().enumerate().map(one).collect::<Vec<_>>().join(", ")
            }
            _ => format!("{name}[{}]", row + 1),
        }
    }
}
