//! What a course consists of: the section `course`, part by part.

use serde_yaml::Value;

use super::super::reader::{Node, Reader, describe, near};
use super::super::{sentence, story};
use super::figures::{plot, table, timing};
use super::questions::question;
use super::runs::word;
use super::tasks::task;
use super::{Command, Look, Part, Shown};
use crate::fault::counted;
use crate::limits::LESSON_SIZE;

/// The keys that say what a part is.
const KINDS: &[&str] = &["say", "show", "ask", "table", "plot", "command", "time", "task"];

/// Reads `topics`.
pub(in crate::lesson) fn topics(node: &Node, reader: &mut Reader) -> Option<Vec<u8>> {
    let items = node.items(reader, "a list of topics", "write topics: [3]")?;
    let topics: Vec<Option<u8>> = items
        .iter()
        .map(|item| item.whole(reader, 1, 16).and_then(|number| number.try_into().ok()))
        .collect();
    topics.into_iter().collect()
}

/// Reads `course`.
pub(in crate::lesson) fn read(node: &Node, reader: &mut Reader) -> Option<Vec<Part>> {
    let items = node.items(reader, "a list", "write course: [{say: …}, {show: head.1.scores}, {ask: …}]")?;
    let parts: Vec<_> = items.iter().map(|item| part(item, reader)).collect();
    parts.into_iter().collect()
}

fn part(node: &Node, reader: &mut Reader) -> Option<Part> {
    let Value::Mapping(entries) = node.value else {
        return node.refuse(reader, "keys with values", format!("a part is one of {}", KINDS.join(", ")));
    };
    let kinds: Vec<&str> = KINDS.iter().copied().filter(|kind| entries.contains_key(kind)).collect();
    match kinds.as_slice() {
        ["say"] => {
            let section = node.section(&["say"], reader)?;
            sentence(&section.get("say")?, reader).map(Part::Say)
        }
        ["show"] => show(node, reader),
        ["ask"] => question(node, reader).map(Part::Ask),
        ["table"] => table(&node.section(&["table"], reader)?.get("table")?, reader).map(Part::Table),
        ["plot"] => plot(&node.section(&["plot"], reader)?.get("plot")?, reader).map(Part::Plot),
        ["time"] => timing(&node.section(&["time"], reader)?.get("time")?, reader).map(Part::Time),
        ["command"] => command(node, reader).map(Part::Command),
        ["task"] => task(node, reader).map(Part::Task),
        [] => {
            let typed = entries.keys().find_map(Value::as_str);
            let list = KINDS.join(", ");
            let remedy = match typed.and_then(|typed| near(typed, KINDS.iter().copied())) {
                Some(near) => format!("did you mean {near}? A part is one of {list}"),
                None => format!("write one of {list}"),
            };
            let spot = typed.map_or(node.spot.clone(), |typed| node.spot.key(typed));
            reader.fault(&spot, format!("{} is no part of a course", node.spot), "", remedy)
        }
        several => {
            let what = format!("{} is {} at once", node.spot, several.join(" and "));
            reader.fault(
                &node.spot,
                what,
                "a part is one thing",
                "make two parts of it, each with its own dash",
            )
        }
    }
}

/// A text in which `{…}` are computed, in the reader's language; what is wrong in either language is noted.
pub(in crate::lesson) fn sentence(node: &Node, reader: &mut Reader) -> Option<String> {
    for text in node.texts(reader)?.into_iter().flatten() {
        sentence::check(&text, &node.spot, reader)?;
    }
    node.text(reader)
}

/// Texts given one after the other.
pub(super) fn sentences(node: &Node, reader: &mut Reader) -> Option<Vec<String>> {
    let items = node.items(reader, "a list of texts", "write hints: [\"…\", \"…\"]")?;
    let texts: Vec<_> = items.iter().map(|item| sentence(item, reader)).collect();
    texts.into_iter().collect()
}

fn show(node: &Node, reader: &mut Reader) -> Option<Part> {
    let section = node.section(&["show", "as"], reader)?;
    let steps = section.given("show", reader, shown);
    let look = section.given("as", reader, |node, reader| {
        node.word(reader, &[("table", Look::Table), ("heatmap", Look::Heatmap)])
    });
    Some(Part::Show { steps: steps.good().cloned()?, look: look.or(Look::Table)? })
}

/// A step, or a list of steps, each in a run or not.
pub(super) fn shown(node: &Node, reader: &mut Reader) -> Option<Vec<Shown>> {
    match node.value {
        Value::Sequence(items) if items.is_empty() => {
            node.refuse(reader, "a step at least", "write show: head.1.scores")
        }
        Value::Sequence(_) => {
            let items =
                node.items(reader, "a list of steps", "write show: [head.1.scores, head.2.scores]")?;
            let steps: Vec<_> = items.iter().map(|item| step_in_run(item, reader)).collect();
            steps.into_iter().collect()
        }
        _ => step_in_run(node, reader).map(|one| vec![one]),
    }
}

/// `head.1.weights`, or `head.1.weights@one`.
pub(in crate::lesson) fn step_in_run(node: &Node, reader: &mut Reader) -> Option<Shown> {
    let Some((step, run)) = node.value.as_str().and_then(|typed| typed.split_once('@')) else {
        return story::step(node, reader).map(|step| Shown { step, run: None });
    };
    let value = Value::String(step.to_owned());
    let step = story::step(&Node { value: &value, spot: node.spot.clone() }, reader)?;
    Some(Shown { step, run: Some(run.to_owned()) })
}

fn command(node: &Node, reader: &mut Reader) -> Option<Command> {
    let section = node.section(&["command", "lines"], reader)?;
    let example = "write command: mha params --d-model 512 --num-heads 8";
    let words = section.given("command", reader, |node, reader| {
        let typed = word(node, reader, "a command line", example)?;
        match shlex::split(&typed) {
            Some(words) if words.first().is_some_and(|word| word == "mha") && words.len() > 1 => Some(words),
            Some(_) => {
                let what = format!("{} is {}, which is no command of mha", node.spot, describe(node.value));
                reader.fault(&node.spot, what, "a lesson shows what mha prints", example)
            }
            None => {
                let what = format!("{} has a quote that is not closed", node.spot);
                reader.fault(&node.spot, what, "", "close it, as in a shell")
            }
        }
    });
    let lines = section.given("lines", reader, |node, reader| {
        let example = "write lines: [1, 12]";
        let items = node.items(reader, "the first and the last line", example)?;
        let [from, to] = items.as_slice() else {
            return node.refuse(reader, "the first and the last line", example);
        };
        let (from, to) = (from.whole(reader, 1, LESSON_SIZE)?, to.whole(reader, 1, LESSON_SIZE)?);
        if from > to {
            let what = format!("{} ends before it begins", node.spot);
            return reader.fault(&node.spot, what, counted(from, "line"), example);
        }
        Some([from, to])
    });
    Some(Command { words: words.good().cloned()?, lines: lines.optional()? })
}
