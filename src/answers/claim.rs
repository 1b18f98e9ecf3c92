//! Which array is which step: by `--map`, by our names, by those that others use, by the name of the file.

use std::collections::BTreeMap;

use super::files::Held;
use super::gather::{Piece, gathered};
use super::names::{Claim, Meaning, Part, folded, in_a_stem, meaning, own, whole};
use super::{Answers, ORDER, Tensor, grid};
use crate::arrays::{Array, limits};
use crate::fault::{Fault, Faults, Outcome, nearest};
use crate::plan::{Name, Stack};

/// An array and what it is taken for.
struct Entry {
    /// Which file it is from.
    file: usize,
    called: String,
    array: Array,
    meaning: Meaning,
    /// What to say of it where it is recognised under another name.
    remark: Option<String>,
}

/// The arrays that claim to be one step.
type Claims = Vec<(Entry, Part, Claim)>;

/// Scores on their way to the softmax. Where a lesson leaves one out, it equals the one before.
const SCORES: [Name; 4] = [
    Name::Stack(Stack::Scores),
    Name::Stack(Stack::CappedScores),
    Name::Stack(Stack::BiasedScores),
    Name::Stack(Stack::MaskedScores),
];

/// Sorts what the files hold into steps and the rest.
///
/// # Errors
/// See [`super::read`].
pub(super) fn answers(held: Vec<Held>, map: &[(String, String)], known: &[Name]) -> Outcome<Answers> {
    let known: Vec<Name> = known.iter().filter_map(|name| whole(*name)).collect();
    let files: Vec<(String, bool)> = held.iter().map(|held| (held.file.clone(), held.text)).collect();
    let found = summary(&held);
    let mut answers = Answers::default();
    let mut entries = entries(held, map)?;
    let rank = output_rank(&entries);
    for entry in &mut entries {
        settle(entry, rank, &known);
    }
    let mut steps: BTreeMap<usize, Claims> = BTreeMap::new();
    let given: Vec<Name> =
        entries.iter().filter_map(|entry| step(entry).map(|(part, _)| part.name)).collect();
    for mut entry in entries {
        let reason = match step(&entry) {
            None if entry.meaning == Meaning::Input => "an input, not a step".to_owned(),
            None => not_a_step(&entry.called, &known),
            Some((part, claim)) => match place(part.name, &known, &given) {
                Ok(name) => {
                    entry.remark = remark(&entry, part, name, claim);
                    let at = ORDER.iter().position(|step| *step == name).unwrap_or(ORDER.len());
                    steps.entry(at).or_default().push((entry, Part { name, ..part }, claim));
                    continue;
                }
                Err(reason) => reason,
            },
        };
        answers.left_out.push((entry.called, reason));
    }
    let mut faults = Vec::new();
    let mut chosen: Vec<(usize, Name, String, Array)> = Vec::new();
    for claims in steps.into_values() {
        match chosen_of(claims, &files, &mut answers) {
            Ok(tensor) => chosen.extend(tensor),
            Err(fault) => faults.push(fault),
        }
    }
    if !faults.is_empty() {
        return Err(Faults(faults));
    }
    if chosen.is_empty() {
        return Err(nothing(&found, &answers.left_out, &known).into());
    }
    answers.tensors = with_grains(chosen, &files);
    Ok(answers)
}

/// The arrays of all files, each with what its name means; `--map` first, then the names of the files without any.
fn entries(held: Vec<Held>, map: &[(String, String)]) -> Outcome<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut nameless = Vec::new();
    let single = held.iter().map(|held| held.arrays.len()).sum::<usize>() == 1;
    let mut sources = Vec::new();
    for (file, held) in held.into_iter().enumerate() {
        sources.push(held.file);
        for (called, array) in held.arrays {
            let meaning = if held.nameless { in_a_stem(&called) } else { meaning(&called) };
            nameless.push(held.nameless);
            entries.push(Entry { file, called, array, meaning, remark: None });
        }
    }
    mapped(&mut entries, map)?;
    let mut faults = Vec::new();
    for (entry, nameless) in entries.iter_mut().zip(nameless) {
        if !nameless || entry.meaning != Meaning::Unknown {
            continue;
        }
        if single {
            let part = Part { name: Name::Output, sequence: None, head: None };
            entry.meaning = Meaning::Step(part, Claim::Alias);
        } else {
            faults.push(unnamed(&entry.called).in_source(sources[entry.file].clone()));
        }
    }
    if faults.is_empty() { Ok(entries) } else { Err(Faults(faults)) }
}

/// Gives arrays the steps that `--map theirs=ours` says.
fn mapped(entries: &mut [Entry], map: &[(String, String)]) -> Outcome<()> {
    let mut faults = Vec::new();
    let mut targets: Vec<(Part, &str)> = Vec::new();
    let mut taken: Vec<&str> = Vec::new();
    for (theirs, ours) in map {
        let Some(part) = own(ours) else {
            faults.push(no_target(theirs, ours));
            continue;
        };
        if taken.contains(&theirs.as_str()) {
            faults.push(mapped_twice(format!("{theirs} is mapped twice")));
            continue;
        }
        if let Some((_, other)) = targets.iter().find(|(target, _)| *target == part) {
            faults.push(mapped_twice(format!("{other} and {theirs} are both mapped to {ours}")));
            continue;
        }
        taken.push(theirs);
        targets.push((part, theirs));
        let exact = entries.iter().any(|entry| entry.called == *theirs);
        let is_meant = |called: &str| called == theirs || !exact && folded(called) == folded(theirs);
        let mut met = false;
        for entry in entries.iter_mut().filter(|entry| is_meant(&entry.called)) {
            entry.meaning = Meaning::Step(part, Claim::Mapped);
            met = true;
        }
        if !met {
            faults.push(not_there(theirs, entries));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(Faults(faults)) }
}

fn step(entry: &Entry) -> Option<(Part, Claim)> {
    match entry.meaning {
        Meaning::Step(part, claim) => Some((part, claim)),
        _ => None,
    }
}

/// How many axes the output has, where it is there: one more than a matrix in a batch.
fn output_rank(entries: &[Entry]) -> Option<usize> {
    let outputs = entries.iter().filter(|entry| {
        step(entry).is_some_and(|(part, _)| part.name == Name::Output && part.sequence.is_none())
    });
    outputs.map(|entry| entry.array.rank()).min()
}

/// Decides names whose meaning depends on the rank, or on what the lesson has.
fn settle(entry: &mut Entry, output_rank: Option<usize>, known: &[Name]) {
    match entry.meaning {
        Meaning::Context => {
            let (axes, rank) = (entry.array.rank(), output_rank.unwrap_or(2));
            let name = if axes > rank { Name::Stack(Stack::Heads) } else { Name::Concat };
            entry.meaning = Meaning::Step(Part { name, sequence: None, head: None }, Claim::Alias);
            entry.remark = Some(format!("{} is taken as {name}, because it has {axes} axes", entry.called));
        }
        Meaning::Step(part, claim) => {
            // the norm of whole rows and that of each head share a name in our own files
            let heads = match part.name {
                Name::QNorm => Name::Stack(Stack::QNorm),
                Name::KNorm => Name::Stack(Stack::KNorm),
                other => other,
            };
            if !known.contains(&part.name) && known.contains(&heads) {
                entry.meaning = Meaning::Step(Part { name: heads, ..part }, claim);
            }
        }
        Meaning::Input | Meaning::Unknown => {}
    }
}

/// Under which step of the lesson a step is compared; or why under none.
fn place(name: Name, known: &[Name], given: &[Name]) -> Result<Name, String> {
    if known.contains(&name) {
        return Ok(name);
    }
    if let Some(at) = SCORES.iter().position(|step| *step == name) {
        match SCORES[..at].iter().rev().find(|step| known.contains(step)) {
            Some(before) if given.contains(before) => {
                return Err(format!("the same as {before} in this lesson, which is there"));
            }
            Some(before) => return Ok(*before),
            None => {}
        }
    }
    let why = match name {
        Name::QNorm | Name::KNorm | Name::Stack(Stack::QNorm | Stack::KNorm) => {
            ": it normalises no queries or keys"
        }
        Name::Stack(Stack::QRot | Stack::KRot) => ": it has no rotary positions",
        _ => "",
    };
    Err(format!("this lesson has no step {name}{why}"))
}

/// What to say of a tensor that is recognised under another name.
fn remark(entry: &Entry, part: Part, name: Name, claim: Claim) -> Option<String> {
    if part.name != name {
        return Some(format!("{} is taken as {name}: the two are the same in this lesson", entry.called));
    }
    let plainly = || format!("{} is taken as {name}", entry.called);
    entry.remark.clone().or_else(|| (claim == Claim::Alias).then(plainly))
}

/// The one tensor among those that claim a step, or the whole of its parts.
fn chosen_of(
    mut claims: Claims,
    files: &[(String, bool)],
    answers: &mut Answers,
) -> Result<Option<(usize, Name, String, Array)>, Fault> {
    let is_whole = |part: &Part| part.head.is_none() && part.sequence.is_none();
    // a whole step wins over its parts, and a surer name over others
    let Some(best) = claims.iter().map(|(_, part, claim)| (!is_whole(part), *claim)).min() else {
        return Ok(None);
    };
    let wins = |part: &Part, claim: Claim| (!is_whole(part), claim) == best;
    let (name, winner) = match claims.iter().find(|(_, part, claim)| wins(part, *claim)) {
        Some((entry, part, _)) => (part.name, entry.called.clone()),
        None => return Ok(None),
    };
    let (won, lost): (Claims, Claims) = claims.drain(..).partition(|(_, part, claim)| wins(part, *claim));
    for (entry, ..) in lost {
        answers.left_out.push((entry.called, format!("{winner} is taken as {name}")));
    }
    for (at, (entry, part, _)) in won.iter().enumerate() {
        if let Some((other, ..)) = won[..at].iter().find(|(_, other, _)| other == part) {
            let of = |entry: &Entry| format!("{} of {}", entry.called, files[entry.file].0);
            return Err(twice(name, &of(other), &of(entry)));
        }
    }
    let file = won.first().map_or(0, |(entry, ..)| entry.file);
    if !best.0 {
        let whole = won.into_iter().next();
        answers.remarks.extend(whole.as_ref().and_then(|(entry, ..)| entry.remark.clone()));
        return Ok(whole.map(|(entry, ..)| (file, name, entry.called, entry.array)));
    }
    let called = match won.as_slice() {
        [(first, ..), .., (last, ..)] => format!("{} … {}", first.called, last.called),
        _ => winner,
    };
    if won.iter().any(|(entry, ..)| entry.remark.is_some()) {
        answers.remarks.push(format!("{called} is taken as {name}"));
    }
    let pieces = won.into_iter().map(|(entry, part, _)| Piece { part, array: entry.array }).collect();
    match gathered(pieces) {
        Ok((array, from_zero)) => {
            if from_zero {
                answers.remarks.push(format!("{called} is counted from 0; mha counts from 1"));
            }
            Ok(Some((file, name, called, array)))
        }
        Err(reason) => {
            answers.left_out.push((called, reason));
            Ok(None)
        }
    }
}

/// The tensors with their grains, each judged from its whole file.
fn with_grains(chosen: Vec<(usize, Name, String, Array)>, files: &[(String, bool)]) -> Vec<Tensor> {
    let mut grains = vec![None; chosen.len()];
    for (file, (_, text)) in files.iter().enumerate() {
        let places: Vec<usize> = (0..chosen.len()).filter(|at| chosen[*at].0 == file).collect();
        let arrays: Vec<&Array> = places.iter().map(|at| &chosen[*at].3).collect();
        for (at, grain) in places.into_iter().zip(grid::grains(&arrays, *text)) {
            grains[at] = Some(grain);
        }
    }
    let graded = chosen.into_iter().zip(grains);
    graded
        .filter_map(|((file, name, called, array), grain)| {
            Some(Tensor { name, called, file: files[file].0.clone(), array, grain: grain? })
        })
        .collect()
}

fn not_a_step(called: &str, known: &[Name]) -> String {
    match near(called, known) {
        Some(near) => format!("no step has that name; if {near} is meant: --map {}={near}", quoted(called)),
        None => "no step has that name".to_owned(),
    }
}

fn near(word: &str, known: &[Name]) -> Option<String> {
    let names: Vec<String> = known.iter().map(ToString::to_string).collect();
    nearest(&folded(word), names.iter().map(String::as_str)).map(ToOwned::to_owned)
}

/// A name as a person types it into a shell.
fn quoted(name: &str) -> String {
    shlex::try_quote(name).map_or_else(|_| name.to_owned(), |quoted| quoted.into_owned())
}

fn list<S: AsRef<str>>(names: impl ExactSizeIterator<Item = S>) -> String {
    let more = names.len().saturating_sub(limits::SHOWN);
    let shown: Vec<String> = names.take(limits::SHOWN).map(|name| name.as_ref().to_owned()).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

/// What each file holds: `a.npz holds foo, bar`.
fn summary(held: &[Held]) -> String {
    let told = held
        .iter()
        .map(|held| format!("{} holds {}", held.file, list(held.arrays.iter().map(|(name, _)| name))));
    told.take(limits::SHOWN).collect::<Vec<_>>().join("; ")
}

fn steps_named(known: &[Name]) -> String {
    known.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn nothing(found: &str, left_out: &[(String, String)], known: &[Name]) -> Fault {
    let first = left_out.first();
    let (theirs, reason) =
        first.map_or(("theirs", String::new()), |(name, reason)| (name, format!(" ({name}: {reason})")));
    Fault::new(
        "no tensor is a step of this lesson",
        format!("{found}{reason}; the steps are {}", steps_named(known)),
        format!("save them under these names, or say which is which: --map {}=output", quoted(theirs)),
    )
}

fn twice(name: Name, one: &str, other: &str) -> Fault {
    Fault::new(
        format!("{name} is given twice"),
        format!("as {one} and as {other}, and one of the two would be passed over in silence"),
        format!("leave one out, or say which is meant: --map theirs={name}"),
    )
}

fn unnamed(stem: &str) -> Fault {
    Fault::new(
        "which step this file holds is not known",
        "it names none, and neither does its own name",
        format!(
            "name it after the step (output.npy, run1.weights.csv), or say so: --map {}=output",
            quoted(stem)
        ),
    )
}

fn no_target(theirs: &str, ours: &str) -> Fault {
    let remedy = match near(ours, ORDER) {
        Some(near) => format!("did you mean --map {}={near}?", quoted(theirs)),
        None => "give one of these names".to_owned(),
    };
    Fault::new(
        format!("{ours} is not the name of a step"),
        format!("the steps are {}", steps_named(ORDER)),
        remedy,
    )
    .in_source("--map")
}

fn not_there(theirs: &str, entries: &[Entry]) -> Fault {
    let remedy = match nearest(theirs, entries.iter().map(|entry| entry.called.as_str())) {
        Some(near) => format!("did you mean {near}?"),
        None => "give a name that a file holds, as --map theirs=ours".to_owned(),
    };
    let why = format!("they hold {}", list(entries.iter().map(|entry| &entry.called)));
    Fault::new(format!("the files have no tensor {theirs}"), why, remedy).in_source("--map")
}

fn mapped_twice(what: String) -> Fault {
    Fault::new(what, "a tensor is one step, and a step one tensor", "leave one of the two out")
        .in_source("--map")
}
