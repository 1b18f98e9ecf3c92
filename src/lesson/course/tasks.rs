//! Something to change in a lesson until what is asked for holds.

use serde_yaml::Value;

use super::super::reader::{Node, Reader, near};
use super::Task;
use super::figures::quantity;
use super::parts::{sentence, sentences, shown};
use super::questions::{id, word_id};
use super::runs::{CHANGEABLE, change, missing, word};

/// Reads a part that is a task.
pub(super) fn task(node: &Node, reader: &mut Reader) -> Option<Task> {
    let known = &["task", "change", "checks", "watch", "solution", "hints", "because", "id"];
    let section = node.section(known, reader)?;
    let example = "write {task: …, change: [attention.scale], checks: [\"head.1.weights[3,3] > 0.9\"], solution: {attention: {scale: 5}}}";
    let ask = section.given("task", reader, sentence);
    let paths = section.given("change", reader, |node, reader| {
        let items = match node.value {
            Value::String(_) => vec![node.clone()],
            _ => node.items(reader, "a list of keys", "write change: [attention.scale, inputs.x]")?,
        };
        let paths: Vec<_> = items.iter().map(|item| path(item, reader)).collect();
        paths.into_iter().collect::<Option<Vec<String>>>()
    });
    let checks = section.given("checks", reader, |node, reader| {
        let items = match node.value {
            Value::String(_) => vec![node.clone()],
            _ => {
                node.items(reader, "a list of comparisons", "write checks: [\"head.1.weights[3,3] > 0.9\"]")?
            }
        };
        if items.is_empty() {
            return node.refuse(reader, "a comparison at least", example);
        }
        let checks: Vec<_> = items.iter().map(|item| quantity(item, reader)).collect();
        checks.into_iter().collect::<Option<Vec<_>>>()
    });
    let watch = section.given("watch", reader, shown);
    let solution = section.given("solution", reader, change);
    let hints = section.given("hints", reader, sentences);
    let because = section.given("because", reader, sentence);
    let own_id = section.given("id", reader, id);
    let needed =
        [("change", paths.is_absent()), ("checks", checks.is_absent()), ("solution", solution.is_absent())];
    missing(node, &needed, example, reader);
    let ask = ask.good().cloned()?;
    Some(Task {
        id: match own_id.optional()? {
            Some(id) => id,
            None => word_id(&section.get("task")?, reader)?,
        },
        ask,
        change: paths.good().cloned()?,
        checks: checks.good().cloned()?,
        watch: watch.or(Vec::new())?,
        solution: solution.good().cloned()?,
        hints: hints.or(Vec::new())?,
        because: because.or(String::new())?,
    })
}

/// A key of the lesson file, as a path: `attention.scale`.
fn path(node: &Node, reader: &mut Reader) -> Option<String> {
    let typed = word(node, reader, "a key of the lesson", "write attention.scale, or inputs.x")?;
    let first = typed.split(['.', '[']).next().unwrap_or_default();
    if CHANGEABLE.contains(&first) {
        return Some(typed);
    }
    let what = format!("{} is \"{typed}\", which is no key that can be changed", node.spot);
    let remedy = match near(first, CHANGEABLE.iter().copied()) {
        Some(near) => format!("did you mean {near}? Those that can: {}", CHANGEABLE.join(", ")),
        None => format!("keys that can: {}", CHANGEABLE.join(", ")),
    };
    reader.fault(&node.spot, what, "a task changes what is computed", remedy)
}
