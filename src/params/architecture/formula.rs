//! The formulas of family files: read once, evaluated for every layer.

use std::rc::Rc;

use crate::fault::{Fault, Outcome};

/// A formula as a tree.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Formula {
    Null,
    Bool(bool),
    Whole(i128),
    Fraction(f64),
    Text(Rc<str>),
    Name(Rc<str>),
    List(Vec<Formula>),
    /// `[body for name in list if condition]`
    Each {
        body: Box<Formula>,
        name: Rc<str>,
        list: Box<Formula>,
        condition: Option<Box<Formula>>,
    },
    Member(Box<Formula>, Rc<str>),
    Index(Box<Formula>, Box<Formula>),
    Not(Box<Formula>),
    Minus(Box<Formula>),
    Two(Sign, Box<Formula>, Box<Formula>),
    If {
        condition: Box<Formula>,
        then: Box<Formula>,
        otherwise: Box<Formula>,
    },
    Call {
        name: Rc<str>,
        arguments: Vec<(Option<Rc<str>>, Formula)>,
    },
}

/// What stands between two formulas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Plus,
    Minus,
    Times,
    Over,
    FloorOver,
    Modulo,
    Power,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    More,
    MoreOrEqual,
    In,
    NotIn,
    And,
    Or,
    /// `??`: the right where the left is null
    Else,
}

/// Deepest nesting of a formula; the deepest of ours is about ten.
const MOST_DEPTH: usize = 64;

/// Reads a formula.
pub(super) fn parse(text: &str) -> Outcome<Formula> {
    let tokens = tokens(text)?;
    let mut reader = Reader { text, tokens, at: 0, depth: 0 };
    let formula = reader.formula()?;
    match reader.peek() {
        None => Ok(formula),
        Some(rest) => Err(fault(text, &format!("nothing can follow before {rest:?}"))),
    }
}

fn fault(text: &str, why: &str) -> crate::fault::Faults {
    Fault::new(
        format!("the formula {text} cannot be read"),
        why,
        "the notation is described in the families' documentation",
    )
    .into()
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Whole(i128),
    Fraction(f64),
    Text(String),
    Word(String),
    Sign(&'static str),
}

/// Longer signs come first.
const SIGNS: [&str; 24] = [
    "??", "**", "//", "==", "!=", "<=", ">=", "..", "+", "-", "*", "/", "%", "<", ">", "(", ")", "[", "]",
    ",", ".", "=", "{", "}",
];

fn tokens(text: &str) -> Outcome<Vec<Token>> {
    let mut all = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        if first.is_ascii_digit() {
            let end = number_end(rest);
            let (digits, after) = rest.split_at(end);
            let token = match digits.parse::<i128>() {
                Ok(whole) => Token::Whole(whole),
                Err(_) => Token::Fraction(
                    digits.parse().map_err(|_| fault(text, &format!("{digits} is no number")))?,
                ),
            };
            all.push(token);
            rest = after;
        } else if first == '\'' || first == '"' {
            let inside = &rest[1..];
            let end = inside.find(first).ok_or_else(|| fault(text, "a text is not closed"))?;
            all.push(Token::Text(inside[..end].to_owned()));
            rest = &inside[end + 1..];
        } else if first.is_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            all.push(Token::Word(rest[..end].to_owned()));
            rest = &rest[end..];
        } else {
            let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
            let sign = sign.ok_or_else(|| fault(text, &format!("{first} means nothing here")))?;
            all.push(Token::Sign(sign));
            rest = &rest[sign.len()..];
        }
        rest = rest.trim_start();
    }
    Ok(all)
}

/// Where the number at the beginning ends; a point belongs to it where a digit follows.
fn number_end(text: &str) -> usize {
    let digits = |from: usize| {
        text[from..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |length| from + length)
    };
    let mut end = digits(0);
    if text[end..].starts_with('.') && text[end + 1..].starts_with(|c: char| c.is_ascii_digit()) {
        end = digits(end + 1);
    }
    if let Some(exponent) = text[end..].strip_prefix(['e', 'E']) {
        let sign = usize::from(exponent.starts_with(['-', '+']));
        if exponent[sign..].starts_with(|c: char| c.is_ascii_digit()) {
            end = digits(end + 1 + sign);
        }
    }
    end
}

struct Reader<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

/// Signs that bind equally, from the loosest.
const LEVELS: [&[(&str, Sign)]; 4] = [
    &[
        ("==", Sign::Equal),
        ("!=", Sign::Unequal),
        ("<=", Sign::LessOrEqual),
        (">=", Sign::MoreOrEqual),
        ("<", Sign::Less),
        (">", Sign::More),
    ],
    &[("??", Sign::Else)],
    &[("+", Sign::Plus), ("-", Sign::Minus)],
    &[("*", Sign::Times), ("//", Sign::FloorOver), ("/", Sign::Over), ("%", Sign::Modulo)],
];

impl Reader<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn takes_sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Sign(there)) if *there == sign);
        self.at += usize::from(found);
        found
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(there)) if there == word);
        self.at += usize::from(found);
        found
    }

    fn expects(&mut self, sign: &str) -> Outcome<()> {
        if self.takes_sign(sign) { Ok(()) } else { Err(self.fault(&format!("{sign} is missing"))) }
    }

    fn fault(&self, why: &str) -> crate::fault::Faults {
        fault(self.text, why)
    }

    fn formula(&mut self) -> Outcome<Formula> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(self.fault("it is nested too deeply"));
        }
        let then = self.either()?;
        let whole = if self.takes_word("if") {
            let condition = self.either()?;
            if !self.takes_word("else") {
                return Err(self.fault("else is missing after if"));
            }
            let otherwise = self.formula()?;
            Formula::If {
                condition: Box::new(condition),
                then: Box::new(then),
                otherwise: Box::new(otherwise),
            }
        } else {
            then
        };
        self.depth -= 1;
        Ok(whole)
    }

    fn either(&mut self) -> Outcome<Formula> {
        let mut left = self.both()?;
        while self.takes_word("or") {
            left = two(Sign::Or, left, self.both()?);
        }
        Ok(left)
    }

    fn both(&mut self) -> Outcome<Formula> {
        let mut left = self.negated()?;
        while self.takes_word("and") {
            left = two(Sign::And, left, self.negated()?);
        }
        Ok(left)
    }

    fn negated(&mut self) -> Outcome<Formula> {
        if !self.takes_word("not") {
            return self.level(0);
        }
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(self.fault("it is nested too deeply"));
        }
        let negated = self.negated()?;
        self.depth -= 1;
        Ok(Formula::Not(Box::new(negated)))
    }

    fn level(&mut self, level: usize) -> Outcome<Formula> {
        let Some(signs) = LEVELS.get(level) else { return self.power() };
        let mut left = self.level(level + 1)?;
        loop {
            let sign = match signs.iter().find(|(text, _)| self.takes_sign(text)) {
                Some((_, sign)) => *sign,
                None if level == 0 => match self.word_sign() {
                    Some(sign) => sign,
                    None => return Ok(left),
                },
                None => return Ok(left),
            };
            left = two(sign, left, self.level(level + 1)?);
        }
    }

    /// `in`, `not in`, `is`, `is not`.
    fn word_sign(&mut self) -> Option<Sign> {
        if self.takes_word("in") {
            return Some(Sign::In);
        }
        if self.takes_word("is") {
            return Some(if self.takes_word("not") { Sign::Unequal } else { Sign::Equal });
        }
        let next =
            |at: usize, word: &str| matches!(self.tokens.get(at), Some(Token::Word(there)) if there == word);
        if next(self.at, "not") && next(self.at + 1, "in") {
            self.at += 2;
            return Some(Sign::NotIn);
        }
        None
    }

    fn power(&mut self) -> Outcome<Formula> {
        if self.takes_sign("-") {
            self.depth += 1;
            if self.depth > MOST_DEPTH {
                return Err(self.fault("it is nested too deeply"));
            }
            let negative = self.power()?;
            self.depth -= 1;
            return Ok(Formula::Minus(Box::new(negative)));
        }
        let base = self.postfix()?;
        if self.takes_sign("**") { Ok(two(Sign::Power, base, self.power()?)) } else { Ok(base) }
    }

    fn postfix(&mut self) -> Outcome<Formula> {
        let mut formula = self.atom()?;
        loop {
            if self.takes_sign("[") {
                let index = self.formula()?;
                self.expects("]")?;
                formula = Formula::Index(Box::new(formula), Box::new(index));
            } else if self.takes_sign(".") {
                let Some(Token::Word(word)) = self.peek().cloned() else {
                    return Err(self.fault("a key is missing after the point"));
                };
                self.at += 1;
                formula = Formula::Member(Box::new(formula), word.into());
            } else {
                return Ok(formula);
            }
        }
    }

    fn atom(&mut self) -> Outcome<Formula> {
        if self.takes_sign("(") {
            let inside = self.formula()?;
            self.expects(")")?;
            return Ok(inside);
        }
        if self.takes_sign("[") {
            return self.list();
        }
        let token = self.peek().cloned().ok_or_else(|| self.fault("it ends too early"))?;
        self.at += 1;
        Ok(match token {
            Token::Whole(whole) => Formula::Whole(whole),
            Token::Fraction(fraction) => Formula::Fraction(fraction),
            Token::Text(text) => Formula::Text(text.into()),
            Token::Word(word) => match word.as_str() {
                "null" | "None" => Formula::Null,
                "true" | "True" => Formula::Bool(true),
                "false" | "False" => Formula::Bool(false),
                "if" | "else" | "and" | "or" | "in" | "for" => {
                    return Err(self.fault(&format!("{word} cannot stand there")));
                }
                _ if self.takes_sign("(") => {
                    Formula::Call { name: word.into(), arguments: self.arguments()? }
                }
                _ => Formula::Name(word.into()),
            },
            Token::Sign(sign) => return Err(self.fault(&format!("{sign} cannot stand there"))),
        })
    }

    fn list(&mut self) -> Outcome<Formula> {
        if self.takes_sign("]") {
            return Ok(Formula::List(Vec::new()));
        }
        let first = self.formula()?;
        if self.takes_word("for") {
            let Some(Token::Word(name)) = self.peek().cloned() else {
                return Err(self.fault("for needs a name"));
            };
            self.at += 1;
            if !self.takes_word("in") {
                return Err(self.fault("in is missing after for"));
            }
            let list = Box::new(self.either()?);
            let condition = if self.takes_word("if") { Some(Box::new(self.either()?)) } else { None };
            self.expects("]")?;
            return Ok(Formula::Each { body: Box::new(first), name: name.into(), list, condition });
        }
        let mut items = vec![first];
        while self.takes_sign(",") {
            items.push(self.formula()?);
        }
        self.expects("]")?;
        Ok(Formula::List(items))
    }

    fn arguments(&mut self) -> Outcome<Vec<(Option<Rc<str>>, Formula)>> {
        let mut all = Vec::new();
        if self.takes_sign(")") {
            return Ok(all);
        }
        loop {
            let name = match (self.tokens.get(self.at), self.tokens.get(self.at + 1)) {
                (Some(Token::Word(word)), Some(Token::Sign("="))) => Some(Rc::from(word.as_str())),
                _ => None,
            };
            self.at += if name.is_some() { 2 } else { 0 };
            all.push((name, self.formula()?));
            if self.takes_sign(")") {
                return Ok(all);
            }
            self.expects(",")?;
        }
    }
}

fn two(sign: Sign, left: Formula, right: Formula) -> Formula {
    Formula::Two(sign, Box::new(left), Box::new(right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_bind_closer_than_sums_and_alternatives_bind_loosest() {
        let name = |text: &str| Formula::Name(text.into());
        let sum = two(Sign::Plus, name("h"), two(Sign::Times, Formula::Whole(2), name("g")));
        assert_eq!(parse("h + 2 * g").unwrap(), sum);
        let fallback = two(Sign::Else, name("a"), two(Sign::Over, name("d"), name("h")));
        assert_eq!(parse("a ?? d / h").unwrap(), fallback);
        let Formula::If { condition, .. } = parse("1 if not a in [2, 3] else 4").unwrap() else {
            panic!("no if")
        };
        assert!(matches!(*condition, Formula::Not(_)));
        assert_eq!(
            parse("a not in [2]").unwrap(),
            two(Sign::NotIn, name("a"), Formula::List(vec![Formula::Whole(2)]))
        );
        assert_eq!(parse("-2 ** 2").unwrap(), Formula::Minus(Box::new(parse("2 ** 2").unwrap())));
    }

    #[test]
    fn what_is_no_formula_is_refused() {
        for text in [
            "",
            "a +",
            "(a",
            "f(a",
            "1 2",
            "a if b",
            "'open",
            "a ? b",
            "[x for y]",
            "[1,",
            "if",
            "a.1b.",
            "§",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"(".repeat(10_000)).is_err());
        assert!(parse(&"not ".repeat(10_000)).is_err());
        assert!(parse(&"- ".repeat(10_000)).is_err());
    }
}
