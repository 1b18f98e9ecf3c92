//! Sentences with computed numbers in them: `so {head.2.weights[3,1]} each, {entropy(head.2.weights[3]):2} bits`.

use super::quantity::{Kind, Quantity, is_meant};
use super::reader::{Reader, Spot};
use super::step_names;
use super::story::{NotACell, cell};
use crate::limits::PRECISION;
use crate::number::Form;
use crate::plan::StepId;

/// A part of a sentence.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece<'a> {
    /// Words.
    Text(&'a str),
    /// A number of the lesson itself: step, row and column (from 0).
    Cell(StepId, usize, usize),
    /// Any other number, and how it is written.
    Amount(Quantity, Form),
}

/// Takes a sentence apart at its `{EXPR}`; other braces are words. `{EXPR:2}` has two decimals, `{EXPR:%}` is a
/// percentage with one, `{EXPR:0%}` one without.
///
/// ```
/// use mha::lesson::{Piece, pieces};
/// let parts = pieces("so {head.2.weights[3,1]} each");
/// assert_eq!(parts.len(), 3);
/// assert_eq!(parts[1], Piece::Cell("head.2.weights".parse().unwrap(), 2, 0));
/// ```
pub fn pieces(sentence: &str) -> Vec<Piece<'_>> {
    let mut parts = Vec::new();
    let mut rest = sentence;
    let mut from = 0;
    while let Some((start, end)) = braces(rest, from) {
        let number = match inside(&rest[start + 1..end]) {
            Inside::Cell(step, row, column) => Piece::Cell(step, row, column),
            Inside::Amount(quantity, form) => Piece::Amount(quantity, form),
            Inside::Words | Inside::Wrong(_) => {
                from = end + 1;
                continue;
            }
        };
        if start > 0 {
            parts.push(Piece::Text(&rest[..start]));
        }
        parts.push(number);
        (rest, from) = (&rest[end + 1..], 0);
    }
    if !rest.is_empty() {
        parts.push(Piece::Text(rest));
    }
    parts
}

/// The next `}` from a byte on that has a `{` before it, and the nearest such `{`: (where it opens, where it closes).
fn braces(text: &str, from: usize) -> Option<(usize, usize)> {
    let mut from = from;
    loop {
        let end = from + text.get(from..)?.find('}')?;
        match text[from..end].rfind('{') {
            Some(start) => return Some((from + start, end)),
            None => from = end + 1,
        }
    }
}

/// What stands between braces.
enum Inside {
    /// Nothing that is computed.
    Words,
    Cell(StepId, usize, usize),
    Amount(Quantity, Form),
    /// It was meant to be a number.
    Wrong(Wrong),
}

/// What is wrong with braces, after `{spot} says {…}`.
struct Wrong {
    what: String,
    why: String,
    remedy: String,
}

impl Inside {
    fn wrong(what: impl Into<String>, why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Wrong(Wrong { what: what.into(), why: why.into(), remedy: remedy.into() })
    }
}

fn inside(text: &str) -> Inside {
    let (expression, form) = formed(text);
    let quantity = match expression.parse::<Quantity>() {
        Ok(quantity) => quantity,
        Err(fault) => {
            return match cell(expression) {
                Err(NotACell::NoStep(step)) if is_name(&step) => {
                    let remedy = step_names::remedy(&step);
                    Inside::wrong(format!(", and {step} is not the name of a step"), "", remedy)
                }
                Err(NotACell::Numbers) if expression.matches('[').count() == 1 => Inside::wrong(
                    ", which names no row and column",
                    "both count from 1",
                    "write {head.1.scores[1,3]}",
                ),
                _ if is_meant(expression) => {
                    let is_form = expression
                        .rsplit_once(':')
                        .is_some_and(|(start, _)| start.parse::<Quantity>().is_ok());
                    let remedy = match is_form {
                        true => "write :2 for two decimals, :% or :0% for a percentage".to_owned(),
                        false => fault.remedy,
                    };
                    let why = format!("{} is expected there", fault.expected);
                    Inside::wrong(format!(": {} at character {}", fault.what, fault.at), why, remedy)
                }
                _ => Inside::Words,
            };
        }
    };
    if let (Some((step, row, column)), Form::Page) = (quantity.cell(), form) {
        return Inside::Cell(step, row, column);
    }
    let single = "a sentence holds single numbers";
    match quantity.kind() {
        _ if quantity.is_bare() => Inside::Words,
        Kind::Number => Inside::Amount(quantity, form),
        Kind::Truth if !is_meant(expression) => Inside::Words,
        Kind::Truth => Inside::wrong(", which is a comparison", single, "write one of its sides"),
        Kind::Matrix => match quantity.slice() {
            Some((step, run)) => {
                let run = run.map(|run| format!("@{run}")).unwrap_or_default();
                Inside::wrong(" without a row and a column", single, format!("write {{{step}[1,1]{run}}}"))
            }
            None => {
                let remedy = "name cells, as in head.1.scores[1,3], or sum it up: mean(…), max(…)";
                Inside::wrong(", which comes to several numbers", single, remedy)
            }
        },
    }
}

fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'))
}

/// The expression, and the form that stands behind its last colon: a number of decimals, `%`, or both.
fn formed(text: &str) -> (&str, Form) {
    let form = |text: &str| {
        let (digits, is_share) = text.strip_suffix('%').map_or((text, false), |digits| (digits, true));
        match digits.parse::<u8>() {
            Ok(digits) if digits <= PRECISION => {
                let digits = usize::from(digits);
                Some(if is_share { Form::Percent(digits) } else { Form::Decimals(digits) })
            }
            _ if is_share && digits.is_empty() => Some(Form::Percent(1)),
            _ => None,
        }
    };
    match text.rsplit_once(':') {
        Some((expression, behind)) => match form(behind.trim()) {
            Some(form) => (expression, form),
            None => (text, Form::Page),
        },
        None => (text, Form::Page),
    }
}

/// Whether everything between braces that was meant to be a number is one; if not, that is noted.
pub(super) fn check(sentence: &str, spot: &Spot, reader: &mut Reader) -> Option<()> {
    let mut from = 0;
    while let Some((start, end)) = braces(sentence, from) {
        let text = &sentence[start + 1..end];
        from = end + 1;
        if let Inside::Wrong(Wrong { what, why, remedy }) = inside(text) {
            return reader.fault(spot, format!("{spot} says {{{text}}}{what}"), why, remedy);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::lesson::Options;

    #[test]
    fn a_sentence_is_words_and_cells() {
        let id: StepId = "head.2.weights".parse().unwrap();
        assert_eq!(
            pieces("{a} set: {head.2.weights[3,1]}{head.2.weights[3, 2]} each}"),
            [Piece::Text("{a} set: "), Piece::Cell(id, 2, 0), Piece::Cell(id, 2, 1), Piece::Text(" each}")]
        );
        assert_eq!(pieces(""), []);
        assert_eq!(
            pieces("{{x[1,1]}}"),
            [Piece::Text("{"), Piece::Cell("x".parse().unwrap(), 0, 0), Piece::Text("}")]
        );
    }

    #[test]
    fn an_expression_may_say_how_it_is_written() {
        let case = |text: &str, expression: &str, form: Form| {
            let expected = Piece::Amount(expression.parse().unwrap(), form);
            assert_eq!(pieces(text), [expected], "{text}");
        };
        case("{entropy(weights)}", "entropy(weights)", Form::Page);
        case("{1/3:2}", "1/3", Form::Decimals(2));
        case("{q[1,1]:0}", "q[1,1]", Form::Decimals(0));
        case("{q[1,1]:%}", "q[1,1]", Form::Percent(1));
        case("{max(q): 0%}", "max(q)", Form::Percent(0));
        case("{q[1,1]@one}", "q[1,1]@one", Form::Page);
        case("{count(\"a:1\", b)}", "count(\"a:1\", b)", Form::Page);
    }

    fn fault(sentence: &str) -> Option<(String, String)> {
        let options = Options::default();
        let mut reader = Reader::new(Path::new("."), &options);
        check(sentence, &Spot::root().key("say"), &mut reader);
        let (faults, _) = reader.into_faults();
        faults.into_iter().next().map(|(fault, _)| (fault.what, fault.remedy))
    }

    #[test]
    fn braces_without_anything_to_compute_are_words() {
        let words = [
            "{}",
            "{ }",
            "{a}",
            "{1}",
            "{-1}",
            "{pi}",
            "{1, 2, 3}",
            "{x, y}",
            "{e.g. so}",
            "{a + b}",
            "{1 < 2}",
            "{note: this}",
            "{max}",
            "{f(y)}",
            "{a: 2}",
            "{1:2}",
            "{你好}",
            "x-axis {y-axis}",
            "{{}}",
            "}{",
        ];
        for sentence in words {
            assert_eq!(pieces(sentence), [Piece::Text(sentence)], "{sentence}");
            assert_eq!(fault(sentence), None, "{sentence}");
        }
    }

    #[test]
    fn what_was_meant_to_be_a_number_and_is_none_is_a_fault() {
        let case = |sentence: &str, what: &str, remedy: &str| {
            let (found, tried) = fault(sentence).unwrap_or_else(|| panic!("{sentence} is no fault"));
            assert_eq!(found, format!("say says {sentence}{what}"));
            assert!(tried.starts_with(remedy), "{sentence}: {tried}");
            assert!(pieces(sentence).iter().all(|piece| matches!(piece, Piece::Text(_))), "{sentence}");
        };
        case("{q}", " without a row and a column", "write {q[1,1]}");
        case("{q[1]@one}", " without a row and a column", "write {q[1,1]@one}");
        case("{2 * q[1]}", ", which comes to several numbers", "name cells");
        case("{q[1,1] < 2}", ", which is a comparison", "write one of its sides");
        case("{q[0,1]}", ", which names no row and column", "write {head.1.scores[1,3]}");
        case("{zzz[1,1]}", ", and zzz is not the name of a step", "steps are called");
        case(
            "{head.1.score[1,1]}",
            ", and head.1.score is not the name of a step",
            "did you mean head.1.scores?",
        );
        case("{max(q}", ": it ends too early at character 6", "");
        case(
            "{entropi(head.1.weights)}",
            ": entropi is not a function at character 1",
            "did you mean entropy?",
        );
        case("{max(zzz)}", ": zzz is not the name of a step at character 5", "steps are called");
        case("{q[1,1]:two}", ": : has no meaning here at character 7", "write :2 for two decimals");
        case("{q[1,1] + x[1,0]}", ": 0 is no row or column at character 14", "");
    }
}
