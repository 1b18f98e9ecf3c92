//! What a lesson tells and asks: sentences at steps, and questions.

use serde_yaml::Value;

use super::reader::{Given, Node, Reader, Spot, describe, near};
use super::{Answer, Hints, Question, Saying};
use crate::plan::{FfnStep, HeadStep, Name, Projection, Stack, StepId, TileStep};

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
enum NotACell {
    /// It has no `[r,c]` at its end.
    Plain,
    /// What stands before `[r,c]` is no step.
    NoStep(String),
    /// Row and column are not two numbers from 1 on.
    Numbers,
}

fn cell(text: &str) -> Result<(StepId, usize, usize), NotACell> {
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

/// What to say about a step that is none.
fn step_remedy(typed: &str) -> String {
    let parts: Vec<&str> = typed.split('.').collect();
    let near = match parts.as_slice() {
        ["layer", layer, "ffn", word] => {
            let words = FfnStep::ALL.iter().map(|step| step.word());
            near(word, words).map(|word| format!("layer.{layer}.ffn.{word}"))
        }
        ["layer", layer, "head", head, word] => {
            let words = HeadStep::ALL.iter().map(|step| step.word());
            near(word, words).map(|word| format!("layer.{layer}.head.{head}.{word}"))
        }
        [_, head, word] => {
            let words = HeadStep::ALL.iter().map(|step| step.word());
            let number = head.parse::<usize>().ok().filter(|number| *number > 0).unwrap_or(1);
            near(word, words).map(|word| format!("head.{number}.{word}"))
        }
        [_, head, _, tile, word] => {
            let words = TileStep::ALL.iter().map(|step| step.word());
            near(word, words).map(|word| format!("head.{head}.tile.{tile}.{word}"))
        }
        _ => {
            let plain = [Name::X, Name::XKv, Name::Q, Name::K, Name::V, Name::Concat, Name::Output];
            let learned = Projection::ALL.iter().flat_map(|one| [Name::W(*one), Name::B(*one)]);
            let stacks = Stack::ALL.iter().map(|stack| Name::Stack(*stack));
            let names: Vec<String> =
                plain.into_iter().chain(learned).chain(stacks).map(|name| name.to_string()).collect();
            near(typed, names.iter().map(String::as_str)).map(str::to_owned)
        }
    };
    let examples = "steps are called x, q, k, v, head.1.scores, head.1.weights, concat, output …";
    near.map_or(examples.into(), |near| format!("did you mean {near}? Otherwise: {examples}"))
}

/// Reads the name of a step.
pub(super) fn step(node: &Node, reader: &mut Reader) -> Option<StepId> {
    let Value::String(typed) = node.value else {
        return node.refuse(reader, "the name of a step", step_remedy(""));
    };
    match typed.parse() {
        Ok(id) => Some(id),
        Err(_) => {
            let what = format!("{} is {}, which is not the name of a step", node.spot, describe(node.value));
            reader.fault(&node.spot, what, "", step_remedy(typed))
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
    let say = section.given("say", reader, |node, reader| {
        for text in node.texts(reader)?.into_iter().flatten() {
            check_sentence(&text, &node.spot, reader)?;
        }
        node.text(reader)
    });
    for (key, missing) in [("at", at.is_absent()), ("say", say.is_absent())] {
        if missing {
            let what = format!("{} has no {key}", node.spot);
            reader.fault::<()>(&node.spot, what, "", "write {at: head.1.scores, say: \"…\"}");
        }
    }
    Some(Saying { at: at.good().copied()?, say: say.good().cloned()? })
}

/// Whether every `{…[…]}` and `{step}` of a sentence is a cell; if not, that is noted.
fn check_sentence(sentence: &str, spot: &Spot, reader: &mut Reader) -> Option<()> {
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
                return reader.fault(spot, what, "", step_remedy(&step));
            }
            Err(NotACell::Numbers) => {
                let what = format!("{spot} says {{{inside}}}, which names no row and column");
                return reader.fault(spot, what, "both count from 1", "write {head.1.scores[1,3]}");
            }
        }
    }
    Some(())
}

/// Reads `quiz`.
pub(super) fn questions(node: &Node, reader: &mut Reader) -> Option<Vec<Question>> {
    let items = node.items(reader, "a list", "write quiz: [{ask: …, cell: head.1.scores[1,3]}]")?;
    let questions: Vec<_> = items.iter().map(|item| question(item, reader)).collect();
    questions.into_iter().collect()
}

fn question(node: &Node, reader: &mut Reader) -> Option<Question> {
    let section = node.section(&["ask", "cell", "choices", "answer", "because"], reader)?;
    let spot = &node.spot;
    let ask = section.given("ask", reader, Node::text);
    let because = section.given("because", reader, Node::text);
    let cell = section.given("cell", reader, quiz_cell);
    let choices = section.given("choices", reader, choices);
    let answer = match (cell, choices) {
        (Given::Yes((step, row, column)), Given::Absent) => match section.get("answer") {
            None => Some(Answer::Cell(step, row, column)),
            Some(node) => {
                let what = format!("{spot} gives an answer to a question that asks for a number");
                reader.fault(&node.spot, what, "the number is computed, never typed", "remove answer")
            }
        },
        (Given::Absent, Given::Yes(choices)) => match section.get("answer") {
            Some(node) => {
                let number = node.whole(reader, 1, choices.len());
                number.map(|number| Answer::Choice(choices, number - 1))
            }
            None => {
                let remedy = "write answer: 2 for the second choice";
                reader.fault(spot, format!("{spot} has choices but no answer"), "", remedy)
            }
        },
        (Given::Absent, Given::Absent) => {
            let remedy = "write cell: head.1.scores[1,3], or choices: […] and answer: 1";
            reader.fault(spot, format!("{spot} has no cell and no choices"), "", remedy)
        }
        (Given::Yes(_), Given::Yes(_)) => {
            let remedy = "keep one of the two";
            reader.fault(spot, format!("{spot} has both a cell and choices"), "", remedy)
        }
        _ => None,
    };
    if ask.is_absent() {
        reader.fault::<()>(spot, format!("{spot} has no question"), "", "write ask: \"…?\"");
    }
    Some(Question {
        id: String::new(),
        ask: ask.good().cloned()?,
        answer: answer?,
        because: because.or(String::new())?,
        hints: Hints::default(),
        wrong: Vec::new(),
    })
}

fn choices(node: &Node, reader: &mut Reader) -> Option<Vec<String>> {
    let items = node.items(reader, "a list of answers", "write choices: [head 1, head 2]")?;
    if items.len() < 2 {
        return reader.fault(
            &node.spot,
            format!("{} leaves nothing to choose", node.spot),
            "",
            "give two or more",
        );
    }
    let texts: Vec<_> = items
        .iter()
        .map(|item| match item.value {
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            _ => item.text(reader),
        })
        .collect();
    texts.into_iter().collect()
}

fn quiz_cell(node: &Node, reader: &mut Reader) -> Option<(StepId, usize, usize)> {
    let example = "write cell: head.1.scores[1,3] (row and column count from 1)";
    let Value::String(typed) = node.value else { return node.refuse(reader, "a cell of a step", example) };
    match cell(typed) {
        Ok(cell) => Some(cell),
        Err(NotACell::NoStep(step)) => {
            let what =
                format!("{} is {}, but {step} is not the name of a step", node.spot, describe(node.value));
            reader.fault(&node.spot, what, "", step_remedy(&step))
        }
        Err(_) => {
            let what = format!("{} is {}, which is not a cell", node.spot, describe(node.value));
            reader.fault(&node.spot, what, "", example)
        }
    }
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

    #[test]
    fn a_mistyped_step_finds_the_one_that_was_meant() {
        assert!(step_remedy("head.2.weight").starts_with("did you mean head.2.weights?"));
        assert!(step_remedy("heads.1.score").starts_with("did you mean head.1.scores?"));
        assert!(step_remedy("concatt").starts_with("did you mean concat?"));
        assert!(step_remedy("zzz").starts_with("steps are called"));
    }
}
