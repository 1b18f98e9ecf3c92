//! What a lesson tells: sentences at steps, with computed numbers in them.

use serde_yaml::Value;

use super::reader::{Node, Reader, Spot, describe};
use super::{Saying, course, step_names};
use crate::plan::StepId;

/// A part of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Words.
    Text(&'a str),
    /// A number to be filled in: step, row and column (from 0).
    Cell(StepId, usize, usize),
}

/// Takes a sentence apart at its `{step[r,c]}`; other braces are words.
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
        match cell(&rest[start + 1..end]) {
            Ok((step, row, column)) => {
                if start > 0 {
                    parts.push(Piece::Text(&rest[..start]));
                }
                parts.push(Piece::Cell(step, row, column));
                (rest, from) = (&rest[end + 1..], 0);
            }
            Err(_) => from = end + 1,
        }
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

/// Why a text is not `step[r,c]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NotACell {
    /// It has no `[r,c]` at its end.
    Plain,
    /// What stands before `[r,c]` is no step.
    NoStep(String),
    /// Row and column are not two numbers from 1 on.
    Numbers,
}

pub(super) fn cell(text: &str) -> Result<(StepId, usize, usize), NotACell> {
    let (step, numbers) =
        text.strip_suffix(']').and_then(|text| text.split_once('[')).ok_or(NotACell::Plain)?;
    let id = step.parse::<StepId>().map_err(|_| NotACell::NoStep(step.to_owned()))?;
    let counted = |number: &str| match number.trim().parse::<usize>() {
        Ok(number) if number >= 1 => Ok(number - 1),
        _ => Err(NotACell::Numbers),
    };
    let (row, column) = numbers.split_once(',').ok_or(NotACell::Numbers)?;
    Ok((id, counted(row)?, counted(column)?))
}

/// Reads the name of a step.
pub(super) fn step(node: &Node, reader: &mut Reader) -> Option<StepId> {
    let Value::String(typed) = node.value else {
        return node.refuse(reader, "the name of a step", step_names::remedy(""));
    };
    match typed.parse() {
        Ok(id) => Some(id),
        Err(_) => {
            let what = format!("{} is {}, which is not the name of a step", node.spot, describe(node.value));
            reader.fault(&node.spot, what, "", step_names::remedy(typed))
        }
    }
}

/// Reads `story`.
pub(super) fn sayings(node: &Node, reader: &mut Reader) -> Option<Vec<Saying>> {
    let items = node.items(reader, "a list", "write story: [{at: head.1.scores, say: …}]")?;
    let sayings: Vec<_> = items.iter().map(|item| saying(item, reader)).collect();
    sayings.into_iter().collect()
}

fn saying(node: &Node, reader: &mut Reader) -> Option<Saying> {
    let section = node.section(&["at", "say"], reader)?;
    let at = section.given("at", reader, step);
    let say = section.given("say", reader, course::sentence);
    for (key, missing) in [("at", at.is_absent()), ("say", say.is_absent())] {
        if missing {
            let what = format!("{} has no {key}", node.spot);
            reader.fault::<()>(&node.spot, what, "", "write {at: head.1.scores, say: \"…\"}");
        }
    }
    Some(Saying { at: at.good().copied()?, say: say.good().cloned()? })
}

/// Whether every `{…[…]}` and `{step}` of a sentence is a cell; if not, that is noted.
pub(super) fn check_sentence(sentence: &str, spot: &Spot, reader: &mut Reader) -> Option<()> {
    let mut from = 0;
    while let Some((start, end)) = braces(sentence, from) {
        let inside = &sentence[start + 1..end];
        from = end + 1;
        match cell(inside) {
            Ok(_) => {}
            Err(NotACell::Plain) if inside.parse::<StepId>().is_ok() => {
                let what = format!("{spot} says {{{inside}}} without a row and a column");
                return reader.fault(
                    spot,
                    what,
                    "a sentence holds single numbers",
                    format!("write {{{inside}[1,1]}}"),
                );
            }
            Err(NotACell::Plain) => {}
            Err(NotACell::NoStep(step)) => {
                let what = format!("{spot} says {{{inside}}}, and {step} is not the name of a step");
                return reader.fault(spot, what, "", step_names::remedy(&step));
            }
            Err(NotACell::Numbers) => {
                let what = format!("{spot} says {{{inside}}}, which names no row and column");
                return reader.fault(spot, what, "both count from 1", "write {head.1.scores[1,3]}");
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn cells_count_from_one() {
        assert_eq!(cell("x[1,1]"), Ok(("x".parse().unwrap(), 0, 0)));
        assert_eq!(cell("x[0,1]"), Err(NotACell::Numbers));
        assert_eq!(cell("x[1]"), Err(NotACell::Numbers));
        assert_eq!(cell("xx[1,1]"), Err(NotACell::NoStep("xx".into())));
        assert_eq!(cell("x"), Err(NotACell::Plain));
    }
}
