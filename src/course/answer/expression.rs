//! Numbers as people type them: decimals, fractions, roots, powers of e, percentages, several in a row.
//!
//! ```text
//! item    := product { ("+" | "-") product }        product := factor { ("*" | "/") factor }
//! factor  := sign { power without a sign }           a number beside a root, a name or a bracket is multiplied with it
//! power   := primary [ "%" ] [ "^" signed power ]
//! primary := number | "(" item ")" | "√" primary | "sqrt" "(" item ")" | "exp" "(" item ")" | "e" | "pi" | "∞"
//! ```

use super::Unreadable;
use crate::limits::{ANSWER_CHARACTERS, ANSWER_DEPTH};

/// One of the numbers that were typed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item {
    /// The expression.
    pub(super) expr: Expr,
    /// The numbers in it.
    pub(super) literals: Vec<Literal>,
}

/// A number in an expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Literal {
    /// What it says.
    pub(super) value: f64,
    /// One unit of its last digit.
    pub(super) unit: f64,
    /// Digits from the first that is not zero on.
    pub(super) digits: usize,
    /// Digits after the point.
    pub(super) decimals: usize,
    /// Whether it was typed without a point and an exponent: inside an expression it is then exact.
    pub(super) is_whole: bool,
}

/// An expression; literals by their place in the list.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expr {
    /// A number that was typed.
    Literal(usize),
    /// e, π, ∞.
    Constant(f64),
    /// −x
    Negative(Box<Expr>),
    /// x / 100
    Percent(Box<Expr>),
    /// √x
    Root(Box<Expr>),
    /// Two parts.
    Both(Operator, Box<Expr>, Box<Expr>),
}

/// What joins two parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Plus,
    Minus,
    Times,
    Over,
    Power,
}

impl Expr {
    /// What it comes to, with these values for the numbers in it.
    pub(super) fn value(&self, literal: &impl Fn(usize) -> f64) -> f64 {
        match self {
            Self::Literal(at) => literal(*at),
            Self::Constant(value) => *value,
            Self::Negative(x) => -x.value(literal),
            Self::Percent(x) => x.value(literal) / 100.0,
            Self::Root(x) => x.value(literal).sqrt(),
            Self::Both(operator, a, b) => {
                let (a, b) = (a.value(literal), b.value(literal));
                match operator {
                    Operator::Plus => a + b,
                    Operator::Minus => a - b,
                    Operator::Times => a * b,
                    Operator::Over => a / b,
                    Operator::Power => a.powf(b),
                }
            }
        }
    }
}

/// Reads one number, or several: `several` decides what `1 -1` is.
pub(super) fn read(text: &str, several: bool) -> Result<Vec<Item>, Unreadable> {
    let letters: Vec<char> = text.chars().take(ANSWER_CHARACTERS + 1).collect();
    if letters.len() > ANSWER_CHARACTERS {
        return Err(Unreadable::TooLong);
    }
    let mut parser = Parser { letters, at: 0, several, depth: 0, literals: Vec::new() };
    let mut items = Vec::new();
    parser.blanks();
    while parser.at < parser.letters.len() {
        let expr = parser.sum()?;
        items.push(Item { expr, literals: std::mem::take(&mut parser.literals) });
        parser.blanks();
        if matches!(parser.next(), Some(',' | ';')) {
            parser.at += 1;
            parser.blanks();
        }
    }
    if items.is_empty() { Err(Unreadable::Empty) } else { Ok(items) }
}

struct Parser {
    letters: Vec<char>,
    at: usize,
    several: bool,
    depth: usize,
    literals: Vec<Literal>,
}

impl Parser {
    fn next(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.letters.get(self.at + ahead).copied()
    }

    fn blanks(&mut self) {
        while self.next().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    fn stuck<T>(&self) -> Result<T, Unreadable> {
        Err(match self.next() {
            Some(letter) => Unreadable::Letter(letter, self.at + 1),
            None => Unreadable::Unfinished,
        })
    }

    fn sum(&mut self) -> Result<Expr, Unreadable> {
        let mut left = self.product()?;
        loop {
            let before = self.at;
            self.blanks();
            let operator = match self.next() {
                Some('+') => Operator::Plus,
                Some('-') => Operator::Minus,
                _ => return Ok(left),
            };
            // In a row of numbers `1 -1` is two of them, `1 - 1` and `1-1` are one.
            if self.several && self.at > before && self.peek(1).is_some_and(|c| !c.is_whitespace()) {
                return Ok(left);
            }
            self.at += 1;
            left = both(operator, left, self.product()?);
        }
    }

    fn product(&mut self) -> Result<Expr, Unreadable> {
        let mut left = self.factor()?.0;
        loop {
            let after = self.at;
            self.blanks();
            let operator = match self.next() {
                Some('*') => Operator::Times,
                Some('/') => Operator::Over,
                _ => {
                    self.at = after;
                    return Ok(left);
                }
            };
            self.at += 1;
            let (right, is_joined) = self.factor()?;
            if operator == Operator::Over && is_joined {
                return Err(Unreadable::Ambiguous); // 1/2√3: which of the two is meant?
            }
            left = both(operator, left, right);
        }
    }

    /// A factor, and whether it is several that stand beside each other without a sign: `2√3`.
    fn factor(&mut self) -> Result<(Expr, bool), Unreadable> {
        let mut left = self.signed()?;
        let mut is_joined = false;
        loop {
            let after = self.at;
            if !self.several {
                self.blanks(); // 3 √2 is one number, unless several are asked for
            }
            if !self.next().is_some_and(|c| c == '√' || c == '(' || c.is_alphabetic()) {
                self.at = after;
                return Ok((left, is_joined));
            }
            left = both(Operator::Times, left, self.power()?);
            is_joined = true;
        }
    }

    fn signed(&mut self) -> Result<Expr, Unreadable> {
        self.blanks();
        match self.next() {
            Some('-') => {
                self.at += 1;
                Ok(Expr::Negative(Box::new(self.deeper(Self::signed)?)))
            }
            Some('+') => {
                self.at += 1;
                self.deeper(Self::signed)
            }
            _ => self.power(),
        }
    }

    fn power(&mut self) -> Result<Expr, Unreadable> {
        let mut base = self.primary()?;
        let after = self.at;
        self.blanks();
        match self.next() {
            Some('%') => {
                self.at += 1;
                base = Expr::Percent(Box::new(base));
            }
            _ => self.at = after,
        }
        if self.next() != Some('^') {
            return Ok(base);
        }
        self.at += 1;
        let exponent = self.deeper(Self::signed)?;
        Ok(both(Operator::Power, base, exponent))
    }

    fn primary(&mut self) -> Result<Expr, Unreadable> {
        self.blanks();
        match self.next() {
            Some(c)
                if c.is_ascii_digit() || (c == '.' && self.peek(1).is_some_and(|c| c.is_ascii_digit())) =>
            {
                self.number()
            }
            Some('(') => self.bracket(),
            Some('√') => {
                self.at += 1;
                Ok(Expr::Root(Box::new(self.deeper(Self::primary)?)))
            }
            Some('∞') => {
                self.at += 1;
                Ok(Expr::Constant(f64::INFINITY))
            }
            Some(c) if c.is_alphabetic() => self.word(),
            _ => self.stuck(),
        }
    }

    fn bracket(&mut self) -> Result<Expr, Unreadable> {
        self.at += 1;
        let several = std::mem::replace(&mut self.several, false);
        let inside = self.deeper(Self::sum)?;
        self.several = several;
        self.blanks();
        if self.next() != Some(')') {
            return self.stuck();
        }
        self.at += 1;
        Ok(inside)
    }

    fn word(&mut self) -> Result<Expr, Unreadable> {
        let from = self.at;
        while self.next().is_some_and(char::is_alphabetic) {
            self.at += 1;
        }
        let word: String = self.letters[from..self.at].iter().collect::<String>().to_lowercase();
        match word.as_str() {
            "e" => Ok(Expr::Constant(std::f64::consts::E)),
            "pi" | "π" => Ok(Expr::Constant(std::f64::consts::PI)),
            "inf" | "infinity" => Ok(Expr::Constant(f64::INFINITY)),
            "nan" => Ok(Expr::Constant(f64::NAN)),
            "sqrt" | "root" | "exp" => {
                self.blanks();
                if self.next() != Some('(') {
                    return self.stuck();
                }
                let inside = self.bracket()?;
                Ok(match word.as_str() {
                    "exp" => both(Operator::Power, Expr::Constant(std::f64::consts::E), inside),
                    _ => Expr::Root(Box::new(inside)),
                })
            }
            _ => Err(Unreadable::Word(word)),
        }
    }

    fn number(&mut self) -> Result<Expr, Unreadable> {
        let from = self.at;
        let digits = |parser: &mut Self| {
            let from = parser.at;
            while parser.next().is_some_and(|c| c.is_ascii_digit()) {
                parser.at += 1;
            }
            parser.at - from
        };
        digits(self);
        let mut decimals = 0;
        let mut is_whole = true;
        if self.next() == Some('.') {
            self.at += 1;
            decimals = digits(self);
            is_whole = false;
        }
        let mantissa: String = self.letters[from..self.at].iter().collect();
        // `2e3` is two thousand; the e of `2e^0.7` and of `2exp(1)` is not an exponent.
        let sign = usize::from(matches!(self.peek(1), Some('+' | '-')));
        let mut exponent = 0;
        if matches!(self.next(), Some('e' | 'E')) && self.peek(1 + sign).is_some_and(|c| c.is_ascii_digit()) {
            let start = self.at + 1;
            self.at = start + sign;
            digits(self);
            let typed: String = self.letters[start..self.at].iter().collect();
            exponent = typed.parse::<i32>().unwrap_or(i32::MAX).clamp(-400, 400);
            is_whole = false;
        }
        let value: f64 = format!("{mantissa}e{exponent}").parse().map_err(|_| Unreadable::Unfinished)?;
        let unit = 10f64.powi(exponent - i32::try_from(decimals).unwrap_or(i32::MAX));
        let digits = mantissa.chars().filter(char::is_ascii_digit).skip_while(|c| *c == '0').count();
        self.literals.push(Literal { value, unit, digits, decimals, is_whole });
        Ok(Expr::Literal(self.literals.len() - 1))
    }

    fn deeper<T>(&mut self, part: impl FnOnce(&mut Self) -> Result<T, Unreadable>) -> Result<T, Unreadable> {
        if self.depth >= ANSWER_DEPTH {
            return Err(Unreadable::TooDeep);
        }
        self.depth += 1;
        let read = part(self);
        self.depth -= 1;
        read
    }
}

fn both(operator: Operator, a: Expr, b: Expr) -> Expr {
    Expr::Both(operator, Box::new(a), Box::new(b))
}
