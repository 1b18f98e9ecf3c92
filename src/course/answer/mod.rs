//! What a person typed as an answer: numbers, a shape, or one of several choices.

mod expression;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::words::t;
use expression::{Expr, Item};

/// Exact answers may be off by so much of their size …
const RELATIVE: f64 = 1e-6;
/// … and by so much at all: what is left of a sum that should be zero.
const ABSOLUTE: f64 = 1e-9;
/// So many digits are asked for, from the first that is not zero on …
const DIGITS: usize = 2;
/// … unless there are as many after the point as a page prints.
const DECIMALS: usize = 4;
/// A number with too few digits is one that could be right with more: no further off than this part of the right one.
const NEAR: f64 = 0.3;
/// What numbers that were rounded on the way may leave open of a result.
const OPEN: f64 = 0.05;

/// A number as it was typed.
#[derive(Debug, Clone, PartialEq)]
pub struct Typed(Item);

/// How a typed number agrees with the right one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// It is right: exactly, or rounded to the digits typed.
    Right,
    /// It is right but for rounding: cut off, or computed from rounded numbers.
    Rounded,
    /// It may be right: there are too few digits to tell.
    TooFewDigits,
    /// It is wrong.
    Wrong,
}

/// Why an answer cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreadable {
    /// Nothing was typed.
    Empty,
    /// It goes on for ever.
    TooLong,
    /// Brackets in brackets in brackets.
    TooDeep,
    /// A character that has no place there, and its place from 1.
    Letter(char, usize),
    /// A word that means no number.
    Word(String),
    /// Something is missing at the end.
    Unfinished,
    /// `1/2√3`
    Ambiguous,
    /// `0,5`, and how it is meant.
    DecimalComma(String),
    /// So many numbers were typed, and so many are asked for.
    Count(usize, usize),
    /// It is not a shape.
    NotAShape,
    /// It is none of the choices, of which there are so many.
    NotAChoice(usize),
    /// It begins several choices.
    SeveralChoices,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Empty => t!("Nothing was typed."),
            Self::TooLong => t!("That is too long to be read as an answer."),
            Self::TooDeep => t!("There are too many brackets inside each other."),
            Self::Letter(letter, place) => {
                t!("“%{letter}” (character %{place}) has no place there.", letter = letter, place = place)
            }
            Self::Word(word) => t!("“%{word}” is not a number.", word = crate::fault::visible(word)),
            Self::Unfinished => t!("Something is missing at the end."),
            Self::Ambiguous => t!("That can be read in two ways: write 1/(2√3) or (1/2)·√3."),
            Self::DecimalComma(meant) => {
                t!("Decimals are written with a point here: %{meant}.", meant = crate::fault::visible(meant))
            }
            Self::Count(typed, wanted) => {
                t!("Numbers asked for: %{wanted}. Numbers typed: %{typed}.", wanted = wanted, typed = typed)
            }
            Self::NotAShape => t!("A shape is rows × columns, such as 3 × 4 (or 3x4)."),
            Self::NotAChoice(count) => {
                t!("Type the number of a choice, from 1 to %{count}, or its text.", count = count)
            }
            Self::SeveralChoices => t!("Several choices fit that: type the number of one."),
        };
        f.write_str(&text)
    }
}

/// The numbers in an answer to a question that asks for `wanted` of them.
///
/// # Errors
/// Why it cannot be understood.
pub fn numbers(text: &str, wanted: usize) -> Result<Vec<Typed>, Unreadable> {
    let text = plain(text);
    let text = text.trim();
    let text = ungrouped(text).unwrap_or_else(|| text.to_owned());
    if let Some(meant) = decimal_comma(&text, wanted) {
        return Err(Unreadable::DecimalComma(meant));
    }
    let inside = text.replace(['[', ']'], " ");
    let items = expression::read(&inside, wanted > 1)?;
    match items.len() {
        count if count == wanted => Ok(items.into_iter().map(Typed).collect()),
        count => Err(Unreadable::Count(count, wanted)),
    }
}

/// The shape in an answer: rows, columns.
///
/// # Errors
/// It is no shape.
pub fn shape(text: &str) -> Result<(usize, usize), Unreadable> {
    let text = plain(text).to_lowercase();
    if text.trim().is_empty() {
        return Err(Unreadable::Empty);
    }
    let words = text.replace("by", "x").replace('乘', "x");
    let bare = words.trim().trim_start_matches(['(', '[']).trim_end_matches([')', ']']);
    let two = |separator: char| {
        let (rows, columns) = bare.split_once(separator)?;
        Some((rows.trim().parse().ok()?, columns.trim().parse().ok()?))
    };
    ['x', '*', ',', ';', ' '].into_iter().find_map(two).ok_or(Unreadable::NotAShape)
}

/// The choice (from 0) that an answer names: by its text, its number, its letter, how its text begins, or words that
/// stand in no other.
///
/// # Errors
/// It names none of them, or several.
pub fn choice(text: &str, choices: &[String]) -> Result<usize, Unreadable> {
    let same = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let typed = same(text);
    if typed.is_empty() {
        return Err(Unreadable::Empty);
    }
    let texts: Vec<String> = choices.iter().map(|choice| same(choice)).collect();
    if let Some(at) = texts.iter().position(|choice| *choice == typed) {
        return Ok(at);
    }
    let label = plain(&typed);
    let label = label.trim_matches(|c: char| matches!(c, '(' | ')' | '.' | ' '));
    let by_number = label.parse::<usize>().ok().filter(|_| !are_numbers(choices));
    let mut letters = label.chars();
    let by_letter = match (letters.next(), letters.next()) {
        (Some(letter @ 'a'..='z'), None) => Some(letter as usize - 'a' as usize + 1),
        _ => None,
    };
    if let Some(number) = by_number.or(by_letter) {
        return number
            .checked_sub(1)
            .filter(|at| *at < choices.len())
            .ok_or(Unreadable::NotAChoice(choices.len()));
    }
    // How one begins counts before what stands anywhere in one: "concatenation" is "the concatenation" too.
    let begun = |choice: &&String| choice.starts_with(&typed);
    let inside = |choice: &&String| typed.chars().count() > 2 && choice.contains(&typed);
    let those = |is_meant: &dyn Fn(&&String) -> bool| -> Vec<usize> {
        (0..texts.len()).filter(|at| is_meant(&&texts[*at])).collect()
    };
    let meant = Some(those(&begun)).filter(|begun| !begun.is_empty()).unwrap_or_else(|| those(&inside));
    match meant.as_slice() {
        [at] if typed.chars().count() > 1 => Ok(*at),
        [_, _, ..] => Err(Unreadable::SeveralChoices),
        _ => Err(Unreadable::NotAChoice(choices.len())),
    }
}

/// Whether choices are numbers themselves: they are then labelled with letters, since `2` would mean two things.
pub fn are_numbers(choices: &[String]) -> bool {
    choices.iter().any(|choice| plain(choice).trim().parse::<f64>().is_ok())
}

impl Typed {
    /// What it comes to.
    pub fn value(&self) -> f64 {
        self.0.expr.value(&|at| self.0.literals[at].value)
    }

    /// How it agrees with the right number.
    ///
    /// A typed decimal is right within half a unit of its last digit; one that was cut off instead of rounded is
    /// [`Fit::Rounded`]. An expression is right within a millionth; where numbers in it were rounded, what that leaves
    /// open is [`Fit::Rounded`] too.
    pub fn fits(&self, right: f64) -> Fit {
        let value = self.value();
        let off = (value - right).abs();
        if value == right || (value.is_nan() && right.is_nan()) {
            return Fit::Right;
        }
        if !value.is_finite() || !right.is_finite() {
            return Fit::Wrong;
        }
        let is_counted =
            right.fract() == 0.0 && value.fract() == 0.0 && self.0.literals.iter().all(|l| l.is_whole);
        if is_counted {
            return Fit::Wrong; // 1048577 is not 1048576
        }
        if off <= RELATIVE * right.abs() + ABSOLUTE {
            return Fit::Right;
        }
        match self.alone() {
            Some((literal, unit)) => {
                let is_cut = value.abs() < right.abs() && off < unit;
                let is_rounded = off <= 0.5 * unit * (1.0 + ABSOLUTE);
                match literal.digits >= DIGITS || literal.decimals >= DECIMALS {
                    _ if !(is_cut || is_rounded) => Fit::Wrong,
                    true if is_rounded => Fit::Right,
                    true => Fit::Rounded,
                    false if off <= NEAR * right.abs() => Fit::TooFewDigits,
                    false => Fit::Wrong,
                }
            }
            None => match self.open(value) {
                open if off > open * (1.0 + RELATIVE) => Fit::Wrong,
                open if open <= OPEN * right.abs() => Fit::Rounded,
                _ => Fit::TooFewDigits,
            },
        }
    }

    /// The number, where it is one with at most a sign and a percent sign, and a unit of its last digit.
    fn alone(&self) -> Option<(expression::Literal, f64)> {
        let mut unit = 1.0;
        let mut expr = &self.0.expr;
        loop {
            match expr {
                Expr::Negative(x) => expr = x,
                Expr::Percent(x) => {
                    unit /= 100.0;
                    expr = x;
                }
                Expr::Literal(at) => {
                    let literal = *self.0.literals.get(*at)?;
                    return Some((literal, literal.unit * unit));
                }
                _ => return None,
            }
        }
    }

    /// How far off the result may be because decimals in it were rounded: half a unit of the last digit of each.
    fn open(&self, value: f64) -> f64 {
        let literals = &self.0.literals;
        let moved = |which: usize| {
            let at = |at: usize| literals[at].value + if at == which { 0.5 * literals[at].unit } else { 0.0 };
            (self.0.expr.value(&at) - value).abs()
        };
        let open: f64 = (0..literals.len()).filter(|at| !literals[*at].is_whole).map(moved).sum();
        if open.is_finite() { open } else { 0.0 }
    }
}

/// The text with signs as a keyboard of plain letters has them: `−` is a minus, full-width digits are digits.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '−' | '–' | '—' => plain.push('-'),
            '×' | '·' | '⋅' | '∙' => plain.push('*'),
            '÷' => plain.push('/'),
            '，' | '、' => plain.push_str(", "),
            '。' => plain.push('.'),
            '²' => plain.push_str("^2"),
            '³' => plain.push_str("^3"),
            '½' => plain.push_str("(1/2)"),
            '\u{3000}' | '\u{a0}' | '\u{2009}' | '\u{202f}' => plain.push(' '),
            '\u{ff01}'..='\u{ff5e}' => {
                plain.extend(char::from_u32(letter as u32 - 0xfee0));
            }
            letter => plain.push(letter),
        }
    }
    plain
}

/// A number with its thousands set apart, without the commas: `1,048,576`.
fn ungrouped(text: &str) -> Option<String> {
    let (whole, rest) = text.split_once('.').map_or((text, ""), |(whole, rest)| (whole, rest));
    let digits = whole.strip_prefix('-').unwrap_or(whole);
    let groups: Vec<&str> = digits.split(',').collect();
    let (first, others) = groups.split_first()?;
    let are_digits = |group: &str| !group.is_empty() && group.bytes().all(|b| b.is_ascii_digit());
    let is_grouped = !others.is_empty()
        && are_digits(first)
        && first.len() <= 3
        && !first.starts_with('0')
        && others.iter().all(|group| group.len() == 3 && are_digits(group))
        && (rest.is_empty() || are_digits(rest));
    is_grouped.then(|| text.replace(',', ""))
}

/// How a text with a decimal comma is written here; nothing where its commas stand between numbers.
fn decimal_comma(text: &str, wanted: usize) -> Option<String> {
    let letters: Vec<char> = text.chars().collect();
    let is_digit = |at: usize| letters.get(at).is_some_and(char::is_ascii_digit);
    let inside = |at: usize| letters[at] == ',' && at > 0 && is_digit(at - 1) && is_digit(at + 1);
    let commas = (0..letters.len()).filter(|at| inside(*at)).count();
    let is_spaced = text.trim_matches(['[', ']']).trim().contains([' ', ';']);
    // `1,0,0` is three numbers; `0,5` and `0,5 0,25` are decimals.
    if commas == 0 || (wanted > 1 && !is_spaced) {
        return None;
    }
    Some((0..letters.len()).map(|at| if inside(at) { '.' } else { letters[at] }).collect())
}
