//! What is said of tensors whose step is not known, not there, or not clear.

use super::ORDER;
use super::files::Held;
use super::names::{folded, is_another_step};
use crate::fault::{Fault, nearest, shell_word};
use crate::limits;
use crate::plan::Name;

/// Why an array is left out whose name nobody knows.
pub(super) fn not_a_step(called: &str, known: &[Name]) -> String {
    if is_another_step(called) {
        return "a step that is not compared".to_owned();
    }
    match near(called, known) {
        Some(near) => {
            format!("no step has that name; if {near} is meant: --map {}={near}", shell_word(called))
        }
        None => "no step has that name".to_owned(),
    }
}

fn near(word: &str, known: &[Name]) -> Option<String> {
    let names: Vec<String> = known.iter().map(ToString::to_string).collect();
    nearest(&folded(word), names.iter().map(String::as_str)).map(ToOwned::to_owned)
}

fn list<S: AsRef<str>>(names: impl ExactSizeIterator<Item = S>) -> String {
    let more = names.len().saturating_sub(limits::SHOWN);
    let shown: Vec<String> = names.take(limits::SHOWN).map(|name| name.as_ref().to_owned()).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

/// What each file holds: `a.npz holds foo, bar`.
pub(super) fn summary(held: &[Held]) -> String {
    let told = held
        .iter()
        .map(|held| format!("{} holds {}", held.file, list(held.arrays.iter().map(|(name, _)| name))));
    told.take(limits::SHOWN).collect::<Vec<_>>().join("; ")
}

fn steps_named(known: &[Name]) -> String {
    known.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

pub(super) fn nothing(found: &str, left_out: &[(String, String)], known: &[Name]) -> Fault {
    let first = left_out.first();
    let (theirs, reason) =
        first.map_or(("theirs", String::new()), |(name, reason)| (name, format!(" ({name}: {reason})")));
    Fault::new(
        "no tensor is a step of this lesson",
        format!("{found}{reason}; the steps are {}", steps_named(known)),
        format!("save them under these names, or say which is which: --map {}=output", shell_word(theirs)),
    )
    .in_source("ANSWERS")
}

pub(super) fn nothing_of_a_stack(found: &str, left_out: &[(String, String)]) -> Fault {
    let (theirs, reason) = left_out
        .first()
        .map_or(("theirs", String::new()), |(name, reason)| (name.as_str(), format!(" ({name}: {reason})")));
    Fault::new(
        "no tensor is a step of these layers",
        format!(
            "{found}{reason}; names are layer.L.NAME, as in layer.1.scores, hidden_states, attentions, embedding and final"
        ),
        format!(
            "save them under these names, or say which is which: --map {}=layer.1.output",
            shell_word(theirs)
        ),
    )
    .in_source("ANSWERS")
}

pub(super) fn no_target_in_a_stack(theirs: &str, ours: &str) -> Fault {
    Fault::new(
        format!("{ours} names no layer"),
        "a step of a stack of layers is layer.L.NAME, or hidden_states, attentions, embedding, final",
        format!("say of which layer it is: --map {}=layer.1.{ours}", shell_word(theirs)),
    )
    .in_source("--map")
}

pub(super) fn nothing_filled_in() -> Fault {
    let why = "every cell is still blank, and only what is filled in is compared";
    Fault::new(
        "nothing is filled in",
        why,
        "write your numbers where the sheet has _; a few are enough to begin with",
    )
}

pub(super) fn twice(name: Name, one: &str, other: &str) -> Fault {
    Fault::new(
        format!("{name} is given twice"),
        format!("as {one} and as {other}, and one of the two would be passed over in silence"),
        format!("leave one out, or say which is meant: --map theirs={name}"),
    )
    .in_source("ANSWERS")
}

pub(super) fn unnamed(stem: &str) -> Fault {
    Fault::new(
        "which step this file holds is not known",
        "it names none, and neither does its own name",
        format!(
            "name it after the step (output.npy, run1.weights.csv), or say so: --map {}=output",
            shell_word(stem)
        ),
    )
}

pub(super) fn no_target(theirs: &str, ours: &str) -> Fault {
    let remedy = match near(ours, ORDER) {
        Some(near) => format!("did you mean --map {}={near}?", shell_word(theirs)),
        None => "give one of these names".to_owned(),
    };
    Fault::new(
        format!("{ours} is not the name of a step"),
        format!("the steps are {}", steps_named(ORDER)),
        remedy,
    )
    .in_source("--map")
}

pub(super) fn not_there(theirs: &str, called: &[&str]) -> Fault {
    let remedy = match nearest(theirs, called.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None => "give a name that a file holds, as --map theirs=ours".to_owned(),
    };
    let why = format!("they hold {}", list(called.iter()));
    Fault::new(format!("the files have no tensor {theirs}"), why, remedy).in_source("--map")
}

pub(super) fn mapped_twice(what: String) -> Fault {
    Fault::new(what, "a tensor is one step, and a step one tensor", "leave one of the two out")
        .in_source("--map")
}
