//! The words of an expression.

use super::{NotAQuantity, functions};
use crate::limits::EXPRESSION_CHARACTERS;
use crate::plan::StepId;

/// A word of an expression, and the character (from 1) at which it begins.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) at: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    /// A number, as it was typed too.
    Number(f64, String),
    /// A step, a function, a constant, `and`.
    Name(String),
    /// What stands after an `@`.
    Run(String),
    /// What stands in quotes.
    Text(String),
    /// Anything else that has a meaning.
    Sign(&'static str),
    /// Nothing is left.
    End,
}

impl Kind {
    /// In words, for a sentence that says what was found.
    pub(super) fn told(&self) -> String {
        match self {
            Self::Number(_, typed) => typed.clone(),
            Self::Name(name) => name.clone(),
            Self::Run(run) => format!("@{run}"),
            Self::Text(text) => format!("\"{text}\""),
            Self::Sign(sign) => (*sign).to_owned(),
            Self::End => "the end".to_owned(),
        }
    }
}

/// Longer ones first: `<=` is no `<`.
const SIGNS: [&str; 19] =
    ["!=", "<=", ">=", "==", "<", ">", "=", "+", "-", "*", "/", "^", "(", ")", "[", "]", ",", "$", "%"];

/// Signs of printed mathematics, and how they are typed here.
const PRINTED: [(char, &str); 8] =
    [('−', "-"), ('–', "-"), ('·', "*"), ('×', "*"), ('÷', "/"), ('≤', "<="), ('≥', ">="), ('≠', "!=")];

/// Whether a run can be named so after an `@`: letters, digits and `_`, and `-` between them.
pub fn is_run_name(name: &str) -> bool {
    let chars: Vec<char> = name.chars().collect();
    !chars.is_empty() && run_name(&chars) == chars.len()
}

/// How many characters belong to a run's name. A `-` does where a letter or a digit follows: a minus wants a blank.
fn run_name(chars: &[char]) -> usize {
    let mut length = 0;
    while let Some(c) = chars.get(length) {
        let hyphen = *c == '-' && length > 0 && chars.get(length + 1).is_some_and(|next| is_letter(*next));
        if !is_letter(*c) && !hyphen {
            break;
        }
        length += 1;
    }
    length
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Takes an expression apart into words; the last one is [`Kind::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, NotAQuantity> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut place = 0;
    while place < chars.len() {
        if chars[place].is_whitespace() {
            place += 1;
            continue;
        }
        let (kind, length) = token(&chars[place..], place + 1)?;
        tokens.push(Token { kind, at: place + 1 });
        place += length;
    }
    tokens.push(Token { kind: Kind::End, at: chars.len() + 1 });
    Ok(tokens)
}

/// The word that stands at the beginning, which is no blank, and how many characters it takes.
fn token(chars: &[char], at: usize) -> Result<(Kind, usize), NotAQuantity> {
    let first = chars[0];
    if first.is_ascii_digit() {
        return number(chars, at);
    }
    if first.is_alphabetic() || first == '_' {
        let length = name(chars);
        return Ok((Kind::Name(chars[..length].iter().collect()), length));
    }
    match first {
        '@' => {
            let length = run_name(&chars[1..]);
            if length == 0 {
                return Err(NotAQuantity::new("no run is named after @", at, "head.1.weights@one"));
            }
            Ok((Kind::Run(chars[1..=length].iter().collect()), length + 1))
        }
        '"' | '\'' => match chars[1..].iter().position(|c| *c == first) {
            Some(length) => Ok((Kind::Text(chars[1..=length].iter().collect()), length + 2)),
            None => Err(NotAQuantity::new(format!("{first} is not closed"), at, "a text in quotes")),
        },
        _ => {
            let starts = |sign: &&&str| sign.chars().eq(chars.iter().copied().take(sign.len()));
            if let Some(sign) = SIGNS.iter().find(starts) {
                return Ok((Kind::Sign(sign), sign.len()));
            }
            let fault = NotAQuantity::new(
                format!("{first} has no meaning here"),
                at,
                "a number, a step, a function or one of + - * / ^",
            );
            Err(match PRINTED.iter().find(|(printed, _)| *printed == first) {
                Some((_, typed)) => fault.with_remedy(format!("write {typed} for {first}")),
                None if first == '.' => fault.with_remedy("write 0.5 for .5"),
                None => fault,
            })
        }
    }
}

/// How many characters belong to a name: letters, digits and `_`, in parts with a point between them.
fn name(chars: &[char]) -> usize {
    let mut length = 0;
    while let Some(c) = chars.get(length) {
        let point = *c == '.' && chars.get(length + 1).is_some_and(|next| is_letter(*next));
        if !is_letter(*c) && !point {
            break;
        }
        length += 1;
    }
    length
}

fn number(chars: &[char], at: usize) -> Result<(Kind, usize), NotAQuantity> {
    let digits = |from: usize| chars[from..].iter().take_while(|c| c.is_ascii_digit()).count();
    let mut length = digits(0);
    if chars.get(length) == Some(&'.') && digits(length + 1) > 0 {
        length += 1 + digits(length + 1);
    }
    if matches!(chars.get(length), Some('e' | 'E')) {
        let sign = usize::from(matches!(chars.get(length + 1), Some('+' | '-')));
        let from = length + 1 + sign;
        if from < chars.len() && digits(from) > 0 {
            length = from + digits(from);
        }
    }
    let typed: String = chars[..length].iter().collect();
    match typed.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((Kind::Number(value, typed), length)),
        _ => Err(NotAQuantity::new(format!("{typed} is too large"), at, "a number below 1.8e308")),
    }
}

/// Whether a text that is no expression was meant to be one: it names a step or a function as an expression does.
pub(in crate::lesson) fn is_meant(text: &str) -> bool {
    let is_part = |c: char| is_letter(c) || c == '.';
    let is_step = |word: &str| word.parse::<StepId>().is_ok();
    // The words that stand right before a sign.
    let before = |sign: char| {
        text.match_indices(sign).map(move |(end, _)| {
            let start = text[..end].trim_end_matches(is_part).len();
            &text[start..end]
        })
    };
    let has_operator = text.contains(['+', '*', '/', '^', '=', '<', '>']);
    let mut words = text.split(|c| !is_part(c)).map(|word| word.trim_matches('.'));
    text.chars().nth(EXPRESSION_CHARACTERS).is_none()
        && (before('(').any(|word| functions::names().any(|name| name == word))
            || before('[').chain(before('@')).any(is_step)
            || words.any(|word| is_step(word) && (has_operator || word.contains('.'))))
}
