//! Other ways to compute a lesson: the section `runs`.

use serde_yaml::Value;

use super::super::reader::{Given, Node, Reader};
use super::{Rewrite, Run};
use crate::lesson::quantity::is_run_name;
use crate::limits::LESSON_SIZE;
use crate::plan::rewrites::{HeadPlace, Variant};

/// The keys of a lesson file that a run, a plot or a task may change: those that say what is computed.
pub(super) const CHANGEABLE: &[&str] =
    &["tokens", "kv_tokens", "attention", "inputs", "projections", "layers"];

/// What is done to the plan, by its key.
const REWRITES: &[&str] = &["variant", "mistake", "zero_head", "swap_keys"];

/// Reads `runs`: names with what is done otherwise.
pub(in crate::lesson) fn read(node: &Node, reader: &mut Reader) -> Option<Vec<Run>> {
    let Value::Mapping(entries) = node.value else {
        return node.refuse(reader, "runs by their names", "write runs: {one: {variant: single-head}}");
    };
    let mut runs = Vec::with_capacity(entries.len());
    let mut names: Vec<&str> = Vec::with_capacity(entries.len());
    for (key, value) in entries {
        let Some(name) = key.as_str().filter(|name| is_run_name(name)) else {
            let shown = super::super::reader::describe(key);
            let what = format!("{} has a run called {shown}", node.spot);
            let why = "a run is called by one word: letters, digits, _ and -";
            runs.push(reader.fault(&node.spot, what, why, "write one: {variant: single-head}"));
            continue;
        };
        let inner = Node { value, spot: node.spot.key(name) };
        runs.push(run(name, &inner, &names, reader));
        names.push(name);
    }
    runs.into_iter().collect()
}

fn run(name: &str, node: &Node, above: &[&str], reader: &mut Reader) -> Option<Run> {
    let known = &["from", "change", "variant", "mistake", "zero_head", "swap_keys", "rewrites"];
    let section = node.section(known, reader)?;
    let from = section.given("from", reader, |node, reader| match node.value.as_str() {
        Some(typed) if above.contains(&typed) => Some(typed.to_owned()),
        _ => {
            let shown = super::super::reader::describe(node.value);
            let what = format!("{} is {shown}, which is no run that stands above", node.spot);
            let remedy = match above {
                [] => "no run stands above; leave from out to start from the lesson itself".to_owned(),
                above => format!("the runs above are {}", above.join(", ")),
            };
            reader.fault(&node.spot, what, "a run can start from one that is known already", remedy)
        }
    });
    let change = section.given("change", reader, change);
    let own: Vec<&str> = section.keys().filter(|key| REWRITES.contains(key)).collect();
    let listed = section.given("rewrites", reader, |node, reader| {
        let items = node.items(reader, "a list", "write rewrites: [{variant: mqa}, {zero_head: head.1}]")?;
        let all: Vec<_> = items.iter().map(|item| rewrite(item, reader)).collect();
        all.into_iter().collect::<Option<Vec<Rewrite>>>()
    });
    let rewrites = match (own.as_slice(), listed) {
        ([], listed) => listed.or(Vec::new()),
        ([key], Given::Absent) => one(&section.get(key)?, key, reader).map(|one| vec![one]),
        (several, _) => {
            let what = format!("{} does {} at once", node.spot, several.join(" and "));
            let why = "what is done first can matter";
            let remedy = "write rewrites: [{variant: mqa}, {zero_head: head.1}], in order";
            reader.fault(&node.spot, what, why, remedy)
        }
    };
    if change.is_absent() && from.is_absent() && rewrites.as_ref().is_some_and(Vec::is_empty) {
        let what = format!("{} changes nothing", node.spot);
        let remedy =
            "write {variant: single-head}, {mistake: scale-missing}, {zero_head: head.2} or {change: …}";
        reader.fault::<()>(&node.spot, what, "a run is another way to compute the lesson", remedy);
    }
    Some(Run {
        name: name.to_owned(),
        from: from.optional()?,
        change: change.or(Value::Null)?,
        rewrites: rewrites?,
    })
}

/// An item of `rewrites`.
fn rewrite(node: &Node, reader: &mut Reader) -> Option<Rewrite> {
    let section = node.section(&["variant", "mistake", "zero_head", "swap_keys"], reader)?;
    let keys: Vec<&str> = section.keys().filter(|key| REWRITES.contains(key)).collect();
    match keys.as_slice() {
        [key] => one(&section.get(key)?, key, reader),
        _ => {
            let what = format!("{} is not one rewrite", node.spot);
            reader.fault(
                &node.spot,
                what,
                "",
                "write one of variant, mistake, zero_head and swap_keys an item",
            )
        }
    }
}

/// The rewrite that stands under a key.
fn one(node: &Node, key: &str, reader: &mut Reader) -> Option<Rewrite> {
    match key {
        "variant" => {
            let typed = word(node, reader, "the name of a variant", "write variant: single-head")?;
            match typed.parse::<Variant>() {
                Ok(_) => Some(Rewrite::Variant(typed)),
                Err(why) => {
                    let what = format!("{} is \"{typed}\", which is no variant", node.spot);
                    reader.fault(&node.spot, what, "", why)
                }
            }
        }
        "mistake" => {
            word(node, reader, "the name of a mistake", "write mistake: scale-missing").map(Rewrite::Mistake)
        }
        "zero_head" => head(node, reader).map(Rewrite::ZeroHead),
        _ => {
            let section = node.section(&["head", "keys"], reader)?;
            let example = "write swap_keys: {head: head.1, keys: [1, 2]}";
            let head = section.given("head", reader, head);
            let keys = section.given("keys", reader, |node, reader| {
                let items = node.items(reader, "two keys", example)?;
                let [first, second] = items.as_slice() else {
                    return node.refuse(reader, "two keys", example);
                };
                let most = LESSON_SIZE;
                Some([first.whole(reader, 1, most)? - 1, second.whole(reader, 1, most)? - 1])
            });
            missing(node, &[("head", head.is_absent()), ("keys", keys.is_absent())], example, reader);
            Some(Rewrite::SwapKeys { head: head.good().cloned()?, keys: keys.good().copied()? })
        }
    }
}

/// The place of a head: `head.2` or `layer.1.head.2`.
fn head(node: &Node, reader: &mut Reader) -> Option<String> {
    let example = "write head.2, or layer.1.head.2 in a stack of layers";
    let typed = word(node, reader, "the place of a head", example)?;
    match typed.parse::<HeadPlace>() {
        Ok(_) => Some(typed),
        Err(_) => {
            let what = format!("{} is \"{typed}\", which is not the place of a head", node.spot);
            reader.fault(&node.spot, what, "heads and layers count from 1", example)
        }
    }
}

/// A change of the lesson file: its keys as they would stand in it.
pub(super) fn change(node: &Node, reader: &mut Reader) -> Option<Value> {
    node.section(CHANGEABLE, reader)?;
    Some(node.value.clone())
}

/// A text that is a name, and the same in every language.
pub(super) fn word(node: &Node, reader: &mut Reader, needs: &str, remedy: &str) -> Option<String> {
    match node.value {
        Value::String(text) => Some(text.trim().to_owned()),
        _ => node.refuse(reader, needs, remedy),
    }
}

/// Notes the keys that have to be there and are not.
pub(super) fn missing(node: &Node, keys: &[(&str, bool)], remedy: &str, reader: &mut Reader) {
    for (key, _) in keys.iter().filter(|(_, missing)| *missing) {
        reader.fault::<()>(&node.spot, format!("{} has no {key}", node.spot), "", remedy);
    }
}
