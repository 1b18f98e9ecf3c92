//! A change of the lesson, as it is typed at a task: `attention.scale = 1`, `inputs.x[3,2] = 5`, `x[3] = [1, 0, 0, 1]`.

use serde_yaml::{Mapping, Value};

use crate::course::answer;
use crate::fault::{Fault, nearest};
use crate::lesson::Problem;
use crate::plan::StepId;
use crate::words::t;

/// So many characters of a value are shown at a task.
const MOST_SHOWN: usize = 200;

/// Reads a change as a key (section by section) and its value, against the lesson as it stands now and the keys that may be changed (`inputs.x`).
///
/// # Errors
/// It is no change, of a key that is not to be changed, or of a number that is not there.
pub(super) fn read(line: &str, allowed: &[String], problem: &Problem) -> Result<(Vec<String>, Value), Fault> {
    let example = || t!("write it as %{example}", example = example(allowed));
    let Some((left, right)) = line.split_once(['=', '＝', '：']).or_else(|| line.split_once(": ")) else {
        return Err(Fault::new(t!("that is no change"), t!("a change is KEY = VALUE"), example()));
    };
    let (left, right) = (left.trim(), right.trim());
    let (name, places) = match left.split_once('[') {
        None => (left, Vec::new()),
        Some((name, rest)) => {
            // x[3][4] is how Python has it
            let inside = rest.trim_end().trim_end_matches(']').replace("][", ",");
            let places: Option<Vec<usize>> = inside
                .split(',')
                .map(|place| place.trim().parse::<usize>().ok().and_then(|place| place.checked_sub(1)))
                .collect();
            let bad = || {
                Fault::new(
                    t!("%{place} names no place", place = left),
                    t!("rows and columns count from 1"),
                    example(),
                )
            };
            (name.trim(), places.ok_or_else(bad)?)
        }
    };
    let path = path(name, allowed)?;
    let new = value(right).ok_or_else(|| {
        Fault::new(
            t!("%{value} cannot be read", value = right),
            t!("a value is a number, a list of numbers [1, 0, 1], or a word of lesson files"),
            example(),
        )
    })?;
    let new = match places.is_empty() {
        true => new,
        false => placed(&path, &places, new, problem, left)?,
    };
    Ok((path, new))
}

/// An example of a change that is allowed.
pub(super) fn example(allowed: &[String]) -> String {
    match allowed.first().map(String::as_str) {
        Some(key) if key.starts_with("inputs.") || key.starts_with("projections.w_") => {
            format!("{key}[1,2] = 0.5")
        }
        Some(key) if key.ends_with("mask") => format!("{key} = causal"),
        Some(key) => format!("{key} = 1"),
        None => "attention.scale = 1".to_owned(),
    }
}

/// What the keys hold in the lesson's file, in lines that can be typed; nothing of one that is left out there, or too
/// long to be read.
pub(super) fn present(keys: &[String], problem: &Problem) -> Vec<String> {
    let Ok(values) = problem.values() else { return Vec::new() };
    let held = |key: &String| {
        let value = key.split('.').try_fold(&values, |value, key| value.get(key))?;
        Some(format!("{key} = {}", flow(value)))
    };
    keys.iter().filter_map(held).filter(|line| line.chars().count() <= MOST_SHOWN).collect()
}

/// The keys that a name means: in full, or without the section that it stands in.
fn path(name: &str, allowed: &[String]) -> Result<Vec<String>, Fault> {
    let inside = |key: &str| name == key || name.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'));
    let full = match allowed.iter().find(|key| inside(key)) {
        Some(_) => Some(name.to_owned()),
        None => {
            let last = |key: &String| key.rsplit('.').next().map(str::to_owned);
            allowed.iter().find(|key| last(key).as_deref() == Some(name)).cloned()
        }
    };
    match full {
        Some(full) => Ok(full.split('.').map(str::to_owned).collect()),
        None => {
            let what = t!("%{key} is not to be changed here", key = if name.is_empty() { "?" } else { name });
            let why = t!("this task changes %{keys}", keys = allowed.join(", "));
            let near = nearest(name, allowed.iter().map(String::as_str));
            let remedy = match near {
                Some(near) => t!("did you mean %{near}?", near = near),
                None => t!("write it as %{example}", example = example(allowed)),
            };
            Err(Fault::new(what, why, remedy))
        }
    }
}

/// A value as lesson files have it; numbers may be typed as answers are (√2).
fn value(typed: &str) -> Option<Value> {
    if typed.is_empty() {
        return None;
    }
    if typed.starts_with(['[', '{']) {
        return crate::lesson::guarded_arrays(&format!("value: {typed}"), "the change")
            .ok()
            .and_then(|value| value.get("value").cloned());
    }
    if let Ok(number) = typed.parse::<i64>() {
        return Some(Value::Number(number.into()));
    }
    match answer::numbers(typed, 1).ok().and_then(|all| all.first().map(answer::Typed::value)) {
        Some(number) if number.is_finite() => return Some(Value::Number(number.into())),
        _ => {}
    }
    match typed {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        "null" | "~" => Some(Value::Null),
        word if word.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ':')) => {
            Some(Value::String(word.to_owned()))
        }
        _ => None,
    }
}

/// The whole value of a key with one row or one number of it replaced.
fn placed(
    path: &[String],
    places: &[usize],
    new: Value,
    problem: &Problem,
    typed: &str,
) -> Result<Value, Fault> {
    let mut whole = now(path, problem).ok_or_else(|| {
        let why = t!("it is not a list of numbers");
        Fault::new(t!("%{place} names no place", place = typed), why, t!("write the whole value"))
    })?;
    let mut at = &mut whole;
    for place in places {
        let count = at.as_sequence().map_or(0, Vec::len);
        at = at.as_sequence_mut().and_then(|list| list.get_mut(*place)).ok_or_else(|| {
            let why = match count {
                0 => t!("that is a number, not a list"),
                count => t!("there are %{count}, counted from 1", count = count),
            };
            Fault::new(t!("%{place} is not there", place = typed), why, t!("choose one that is"))
        })?;
    }
    *at = new;
    Ok(whole)
}

/// What a key holds, as lists: as the file has it, or, where that names a matrix in a word, as it was computed.
fn now(path: &[String], problem: &Problem) -> Option<Value> {
    let values = problem.values().ok()?;
    let typed = path.iter().try_fold(&values, |value, key| value.get(key.as_str()));
    if let Some(typed) = typed.filter(|value| value.is_sequence()) {
        return Some(typed.clone());
    }
    let id: StepId = path.last()?.parse().ok()?;
    let matrix = problem.inputs.get(&id)?;
    let row = |row: usize| {
        Value::Sequence(matrix.row(row).iter().map(|number| Value::Number((*number).into())).collect())
    };
    Some(Value::Sequence((0..matrix.nrows()).map(row).collect()))
}

/// What is changed so far, with one key more: what was typed for it before is replaced.
pub(super) fn with(mut whole: Value, path: &[String], new: Value) -> Value {
    let mut at = &mut whole;
    for key in path {
        if !at.is_mapping() {
            *at = Value::Mapping(Mapping::new());
        }
        let Value::Mapping(section) = at else { return whole };
        at = section.entry(Value::String(key.clone())).or_insert(Value::Null);
    }
    *at = new;
    whole
}

/// A change as lines that can be typed where these keys may be changed: `attention.scale = 1`.
pub(super) fn lines(change: &Value, allowed: &[String]) -> Vec<String> {
    let mut lines = Vec::new();
    collect(change, "", allowed, &mut lines);
    lines
}

fn collect(change: &Value, path: &str, allowed: &[String], lines: &mut Vec<String>) {
    let is_above = |path: &str| allowed.iter().any(|key| key.starts_with(&format!("{path}.")));
    match change {
        Value::Mapping(section) if path.is_empty() || is_above(path) => {
            for (key, value) in section {
                let key = key.as_str().unwrap_or_default();
                let inner = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
                collect(value, &inner, allowed, lines);
            }
        }
        value => lines.push(format!("{path} = {}", flow(value))),
    }
}

/// A value on one line.
fn flow(value: &Value) -> String {
    match value {
        Value::Sequence(list) => format!("[{}]", list.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Mapping(section) => {
            let pairs = section.iter().map(|(key, value)| format!("{}: {}", flow(key), flow(value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
        Value::String(word) => word.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        _ => "null".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_add_up_however_deep_their_keys_lie() {
        let allowed = ["layers.ffn.w_1", "layers.ffn.w_2", "attention.scale"].map(str::to_owned);
        let mut whole = Value::Null;
        for (key, typed) in [
            ("layers.ffn.w_1", "zeros"),
            ("attention.scale", "√4"),
            ("layers.ffn.w_2", "{random: {std: 0.5}}"),
            ("layers.ffn.w_1", "[[1, 2]]"),
        ] {
            whole = with(whole, &path(key, &allowed).unwrap(), value(typed).unwrap());
        }
        assert_eq!(
            lines(&whole, &allowed),
            ["layers.ffn.w_1 = [[1, 2]]", "layers.ffn.w_2 = {random: {std: 0.5}}", "attention.scale = 2.0"]
        );
    }

    #[test]
    fn a_key_is_named_in_full_or_by_its_last_word() {
        let allowed = ["inputs.x", "attention.mask"].map(str::to_owned);
        assert_eq!(path("x", &allowed).unwrap(), ["inputs", "x"]);
        assert_eq!(path("attention.mask.window", &allowed).unwrap(), ["attention", "mask", "window"]);
        let fault = path("attention.masks", &allowed).unwrap_err();
        assert_eq!(fault.remedy, "did you mean attention.mask?");
        for wrong in ["", "w", "inputs", "inputs.xx"] {
            assert!(path(wrong, &allowed).is_err(), "{wrong}");
        }
    }
}
