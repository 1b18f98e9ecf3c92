//! Questions of a lesson: those of its quiz, and those that stand between the parts of its course.

use serde_yaml::Value;
use sha2::{Digest, Sha256};

use super::super::reader::{Node, Reader, Section, describe};
use super::super::step_names;
use super::super::story::{self, NotACell};
use super::figures::{quantity, words};
use super::parts::sentence;
use super::runs::{missing, word};
use crate::lesson::{Answer, Hints, Question, Slip, SlipAnswer};

/// The myths that a wrong answer can come from.
pub const MYTHS: [&str; 5] = ["more-heads", "more-parameters", "pretty-map", "same-averaged", "full-mha"];

/// The keys that say how a question is answered.
const ANSWERS: &[&str] = &["cell", "value", "shape", "choices"];

/// Reads `quiz`.
pub(in crate::lesson) fn read(node: &Node, reader: &mut Reader) -> Option<Vec<Question>> {
    let items = node.items(reader, "a list", "write quiz: [{ask: …, cell: head.1.scores[1,3]}]")?;
    let questions: Vec<_> = items.iter().map(|item| question(item, reader)).collect();
    questions.into_iter().collect()
}

/// Reads a question.
pub(super) fn question(node: &Node, reader: &mut Reader) -> Option<Question> {
    let known = &["ask", "cell", "value", "shape", "choices", "answer", "because", "hints", "wrong", "id"];
    let section = node.section(known, reader)?;
    let ask = section.given("ask", reader, sentence);
    let because = section.given("because", reader, sentence);
    let answer = answer(node, &section, reader);
    let hints = section.given("hints", reader, hints);
    let wrong = section.given("wrong", reader, |node, reader| {
        let example = "write wrong: [{value: \"head.1.weights[1,3]\", say: …}, {mistake: scale-missing}]";
        let items = node.items(reader, "a list", example)?;
        let slips: Vec<_> = items.iter().map(|item| slip(item, answer.as_ref(), reader)).collect();
        slips.into_iter().collect::<Option<Vec<Slip>>>()
    });
    let own_id = section.given("id", reader, id);
    if ask.is_absent() {
        let what = format!("{} has no question", node.spot);
        reader.fault::<()>(&node.spot, what, "", "write ask: \"…?\"");
    }
    let ask = ask.good().cloned()?;
    let id = match own_id.optional()? {
        Some(id) => id,
        None => word_id(&section.get("ask")?, reader)?,
    };
    Some(Question {
        id,
        ask,
        answer: answer?,
        because: because.or(String::new())?,
        hints: hints.or(Hints::default())?,
        wrong: wrong.or(Vec::new())?,
    })
}

fn answer(node: &Node, section: &Section, reader: &mut Reader) -> Option<Answer> {
    let spot = &node.spot;
    let given: Vec<&str> = ANSWERS.iter().copied().filter(|key| section.get(key).is_some()).collect();
    let [key] = given.as_slice() else {
        return match given.as_slice() {
            [] => {
                let remedy = "write cell: head.1.scores[1,3], or choices: […] and answer: 1; value and shape are others";
                reader.fault(spot, format!("{spot} has no cell and no choices"), "", remedy)
            }
            several => {
                let what = format!("{spot} is answered by {} at once", several.join(" and "));
                reader.fault(spot, what, "", "keep one of them")
            }
        };
    };
    let typed = section.get(key)?;
    let answer = match *key {
        "cell" => cell(&typed, reader),
        "value" => quantity(&typed, reader).map(Answer::Value),
        "shape" => story::step(&typed, reader).map(Answer::Shape),
        _ => return choice(node, section, &typed, reader),
    };
    match section.get("answer") {
        None => answer,
        Some(node) => {
            let asks_for = if *key == "shape" { "a shape" } else { "a number" };
            let what = format!("{spot} gives an answer to a question that asks for {asks_for}");
            reader.fault(&node.spot, what, "what is asked for is computed, never typed", "remove answer")
        }
    }
}

fn cell(node: &Node, reader: &mut Reader) -> Option<Answer> {
    let example = "write cell: head.1.scores[1,3] (row and column count from 1)";
    let Value::String(typed) = node.value else { return node.refuse(reader, "a cell of a step", example) };
    let (plain, run) = typed.split_once('@').map_or((typed.as_str(), None), |(cell, run)| (cell, Some(run)));
    match story::cell(plain) {
        Ok(_) if run.is_some() => quantity(node, reader).map(Answer::Value),
        Ok((step, row, column)) => Some(Answer::Cell(step, row, column)),
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

/// An answer by choosing; the right choice is a number, or an expression that comes to one.
fn choice(node: &Node, section: &Section, typed: &Node, reader: &mut Reader) -> Option<Answer> {
    let choices = choices(typed, reader);
    let Some(answer) = section.get("answer") else {
        let (spot, remedy) = (&node.spot, "write answer: 2 for the second choice");
        return reader.fault(spot, format!("{spot} has choices but no answer"), "", remedy);
    };
    if answer.value.is_string() {
        return quantity(&answer, reader).and_then(|right| Some(Answer::Computed(choices?, right)));
    }
    let choices = choices?;
    answer.whole(reader, 1, choices.len()).map(|number| Answer::Choice(choices, number - 1))
}

fn choices(node: &Node, reader: &mut Reader) -> Option<Vec<String>> {
    let items = node.items(reader, "a list of answers", "write choices: [head 1, head 2]")?;
    if items.len() < 2 {
        let what = format!("{} leaves nothing to choose", node.spot);
        return reader.fault(&node.spot, what, "", "give two or more");
    }
    let texts: Vec<_> = items.iter().map(|item| words(item, reader)).collect();
    texts.into_iter().collect()
}

fn hints(node: &Node, reader: &mut Reader) -> Option<Hints> {
    let section = node.section(&["hint", "where", "why"], reader)?;
    let mut layer = |key: &str| section.given(key, reader, sentence).optional();
    let (hint, place, why) = (layer("hint"), layer("where"), layer("why"));
    Some(Hints { hint: hint?, place: place?, why: why? })
}

/// A wrong answer that is waited for.
fn slip(node: &Node, right: Option<&Answer>, reader: &mut Reader) -> Option<Slip> {
    let section = node.section(&["value", "mistake", "choice", "say", "myth"], reader)?;
    let say = section.given("say", reader, sentence);
    let myth = section.given("myth", reader, |node, reader| {
        node.word(reader, &MYTHS.map(|myth| (myth, myth))).map(str::to_owned)
    });
    let kinds = ["value", "mistake", "choice"].map(|key| section.get(key));
    let answer = match kinds {
        [Some(value), None, None] => quantity(&value, reader).map(SlipAnswer::Value),
        [None, Some(mistake), None] => {
            word(&mistake, reader, "the name of a mistake", "write mistake: scale-missing")
                .map(SlipAnswer::Mistake)
        }
        [None, None, Some(choice)] => match right {
            Some(Answer::Choice(choices, _) | Answer::Computed(choices, _)) => {
                choice.whole(reader, 1, choices.len()).map(|number| SlipAnswer::Choice(number - 1))
            }
            Some(_) => {
                let what = format!("{} speaks of a choice, but the question has none", node.spot);
                reader.fault(&node.spot, what, "", "write value: EXPR for a wrong number")
            }
            None => None, // what is wrong with the answer is noted
        },
        _ => {
            let what = format!("{} is not one wrong answer", node.spot);
            reader.fault(&node.spot, what, "", "write one of value, mistake and choice")
        }
    }?;
    let speaks = matches!(answer, SlipAnswer::Mistake(_)) || !myth.is_absent();
    missing(node, &[("say", say.is_absent() && !speaks)], "say what the wrong answer gives away", reader);
    Some(Slip { answer, say: say.or(String::new())?, myth: myth.optional()? })
}

/// The name of a question or task in the file of progress, as it was typed.
pub(super) fn id(node: &Node, reader: &mut Reader) -> Option<String> {
    let example = "write id: scale-1 (letters, digits, - and _)";
    let typed = word(node, reader, "a word", example)?;
    let fits = (1..=60).contains(&typed.len())
        && typed.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if fits { Some(typed) } else { node.refuse(reader, "a word", example) }
}

/// The name that follows from the words of a question: it is the same in every language, and wherever the question stands.
pub(super) fn word_id(node: &Node, reader: &mut Reader) -> Option<String> {
    let [en, zh] = node.texts(reader)?;
    let hash = Sha256::digest(en.or(zh)?.as_bytes());
    Some(hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect())
}
