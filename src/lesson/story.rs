//! What a lesson tells and asks: sentences at steps, and questions.

use serde_yaml::Value;

use super::reader::{Given, Node, Reader, describe};
use super::sentence;
use super::step_names;
use super::{Answer, Hints, Question, Saying};
use crate::plan::StepId;

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

/// Reads `step[r,c]`: the step, and row and column from 0.
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
    let say = section.given("say", reader, |node, reader| {
        for text in node.texts(reader)?.into_iter().flatten() {
            sentence::check(&text, &node.spot, reader)?;
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
            reader.fault(&node.spot, what, "", step_names::remedy(&step))
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
    fn cells_count_from_one() {
        assert_eq!(cell("x[1,1]"), Ok(("x".parse().unwrap(), 0, 0)));
        assert_eq!(cell("x[0,1]"), Err(NotACell::Numbers));
        assert_eq!(cell("x[1]"), Err(NotACell::Numbers));
        assert_eq!(cell("xx[1,1]"), Err(NotACell::NoStep("xx".into())));
        assert_eq!(cell("x"), Err(NotACell::Plain));
    }
}
