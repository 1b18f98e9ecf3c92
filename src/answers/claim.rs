//! Which array is which step: by `--map`, by our names, by those that others use, by the name of the file.

use std::collections::BTreeMap;
use std::path::Path;

use super::files::Held;
use super::gather::{Piece, gathered};
use super::names::{Claim, Meaning, Part, folded, in_a_stem, meaning, own, whole};
use super::{Answers, ORDER, Tensor, grid, told};
use crate::arrays::{Array, is_blank};
use crate::fault::{Fault, Faults, Outcome};
use crate::plan::{Name, Stack};
use crate::words::t;

/// An array and what it is taken for.
struct Entry {
    /// Which file it is from.
    file: usize,
    called: String,
    /// The file's own name, where its one array has none and goes by that.
    file_name: Option<String>,
    array: Array,
    meaning: Meaning,
    /// What to say of it where it is recognised under another name.
    remark: Option<String>,
}

/// What is called a whole in sentences about what it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whole {
    /// A lesson that is one attention call.
    Lesson,
    /// A stack of layers: a model, or a lesson of that kind.
    Stack,
}

impl Whole {
    fn word(self) -> &'static str {
        match self {
            Self::Lesson => "lesson",
            Self::Stack => "layer",
        }
    }
}

/// A tensor that was chosen for a step: its file, the step, what the person called it, its numbers.
pub(super) type Chosen = (usize, Name, String, Array);

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
    let found = told::summary(&held);
    let by_hand: Vec<bool> = held.iter().map(has_blanks).collect();
    let (mut answers, mut chosen) = sorted(held, map, &known, Whole::Lesson)?;
    let blanks = |array: &Array| array.data.iter().filter(|number| is_blank(**number)).count();
    let compared = chosen.len();
    chosen.retain(|(_, _, called, array)| {
        let is_given = array.data.is_empty() || blanks(array) < array.len();
        if !is_given {
            answers.left_out.push((called.clone(), "left blank".to_owned()));
        }
        is_given
    });
    if compared > 0 && chosen.is_empty() {
        return Err(told::nothing_filled_in().in_source("ANSWERS").into());
    }
    for (_, name, _, array) in &chosen {
        match blanks(array) {
            0 => {}
            blank => answers
                .remarks
                .push(format!("{blank} of the {} numbers of {name} are left blank", array.len())),
        }
    }
    if chosen.is_empty() {
        return Err(told::nothing(&found, &answers.left_out, &known).into());
    }
    answers.tensors = with_grains(chosen, &files, &by_hand);
    Ok(answers)
}

/// Whether a file is a sheet in which something is left blank.
pub(super) fn has_blanks(held: &Held) -> bool {
    held.arrays.iter().any(|(_, array)| array.data.iter().any(|number| is_blank(*number)))
}

/// The tensors that are steps, each at most once and without its grain; what is said of them and of the rest. `known`
/// are whole steps.
///
/// # Errors
/// A step that stands twice, a file whose step nobody knows, `map` that does not fit the files.
pub(super) fn sorted(
    held: Vec<Held>,
    map: &[(String, String)],
    known: &[Name],
    of: Whole,
) -> Outcome<(Answers, Vec<Chosen>)> {
    let files: Vec<(String, bool)> = held.iter().map(|held| (held.file.clone(), held.text)).collect();
    let mut answers = Answers::default();
    let mut entries = entries(held, map)?;
    let rank = output_rank(&entries);
    for entry in &mut entries {
        settle(entry, rank, known);
    }
    let mut steps: BTreeMap<usize, Claims> = BTreeMap::new();
    // each step with the name under which it is given
    let mut given: Vec<(Name, Name)> =
        entries.iter().filter_map(|entry| step(entry).map(|(part, _)| (part.name, part.name))).collect();
    for mut entry in entries {
        let reason = match step(&entry) {
            None if entry.meaning == Meaning::Input => t!("an input, not a step"),
            None => told::not_a_step(&entry.called, known),
            Some((part, claim)) => match place(part.name, known, &given, of) {
                Ok(name) => {
                    entry.remark = remark(&entry, part, name, claim, of);
                    given.push((name, part.name));
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
    let mut chosen: Vec<Chosen> = Vec::new();
    for claims in steps.into_values() {
        match chosen_of(claims, &files, &mut answers) {
            Ok(tensor) => chosen.extend(tensor),
            Err(fault) => faults.push(fault),
        }
    }
    if !faults.is_empty() {
        return Err(Faults(faults));
    }
    Ok((answers, chosen))
}

/// The arrays of all files, each with what its name means; `--map` first, then the names of the files without any.
fn entries(held: Vec<Held>, map: &[(String, String)]) -> Outcome<Vec<Entry>> {
    let single = held.iter().map(|held| held.arrays.len()).sum::<usize>() == 1;
    let mut entries = Vec::new();
    for (file, held) in held.into_iter().enumerate() {
        for (called, array) in held.arrays {
            let meaning = if held.nameless { in_a_stem(&called) } else { meaning(&called) };
            let file_name = held.nameless.then(|| held.file.clone());
            entries.push(Entry { file, called, file_name, array, meaning, remark: None });
        }
    }
    mapped(&mut entries, map)?;
    let mut faults = Vec::new();
    for entry in entries.iter_mut().filter(|entry| entry.meaning == Meaning::Unknown) {
        match &entry.file_name {
            Some(_) if single => {
                let part = Part { name: Name::Output, sequence: None, head: None };
                entry.meaning = Meaning::Step(part, Claim::Alias);
            }
            Some(file) => faults.push(told::unnamed(&entry.called).in_source(file.clone())),
            None => {}
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
            faults.push(told::no_target(theirs, ours));
            continue;
        };
        if taken.contains(&theirs.as_str()) {
            faults.push(told::mapped_twice(format!("{theirs} is mapped twice")));
            continue;
        }
        if let Some((_, other)) = targets.iter().find(|(target, _)| *target == part) {
            faults.push(told::mapped_twice(format!("{other} and {theirs} are both mapped to {ours}")));
            continue;
        }
        taken.push(theirs);
        targets.push((part, theirs));
        let exact = entries.iter().any(|entry| entry.called == *theirs);
        let is_meant = |entry: &Entry| {
            let file = entry.file_name.as_deref().map(Path::new);
            entry.called == *theirs
                || !exact && folded(&entry.called) == folded(theirs)
                || file.is_some_and(|file| {
                    file == Path::new(theirs) || file.file_name() == Some(theirs.as_ref())
                })
        };
        let mut met = false;
        for entry in entries.iter_mut().filter(|entry| is_meant(entry)) {
            entry.meaning = Meaning::Step(part, Claim::Mapped);
            met = true;
        }
        if !met {
            let called = entries.iter().map(|entry| entry.called.as_str()).collect::<Vec<_>>();
            faults.push(told::not_there(theirs, &called));
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
fn place(name: Name, known: &[Name], given: &[(Name, Name)], of: Whole) -> Result<Name, String> {
    if known.contains(&name) {
        return Ok(name);
    }
    if let Some(at) = SCORES.iter().position(|step| *step == name) {
        let before = SCORES[..at].iter().rev().find(|step| known.contains(step)).copied();
        let there = |before: Name| given.iter().any(|(step, under)| *step == before && *under != name);
        match before {
            Some(before) if there(before) => {
                return Err(format!("the same as {before} in this {}, which is there", of.word()));
            }
            Some(before) => return Ok(before),
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
    Err(format!("this {} has no step {name}{why}", of.word()))
}

/// What to say of a tensor that is recognised under another name.
fn remark(entry: &Entry, part: Part, name: Name, claim: Claim, of: Whole) -> Option<String> {
    if part.name != name {
        let theirs = &entry.called;
        return Some(match of {
            Whole::Lesson => {
                t!("%{theirs} is taken as %{name}: the two are the same in this lesson", theirs, name)
            }
            Whole::Stack => {
                t!("%{theirs} is taken as %{name}: the two are the same in this layer", theirs, name)
            }
        });
    }
    let plainly = || t!("%{theirs} is taken as %{name}", theirs = entry.called, name);
    entry.remark.clone().or_else(|| (claim == Claim::Alias).then(plainly))
}

/// The one tensor among those that claim a step, or the whole of its parts.
fn chosen_of(
    mut claims: Claims,
    files: &[(String, bool)],
    answers: &mut Answers,
) -> Result<Option<Chosen>, Fault> {
    let is_whole = |part: &Part| part.head.is_none() && part.sequence.is_none();
    // a whole step wins over its parts, and a surer name for the same part over others
    claims.sort_by_key(|(_, part, claim)| (!is_whole(part), *claim));
    let Some((first, part, _)) = claims.first() else { return Ok(None) };
    let (name, winner, whole) = (part.name, first.called.clone(), is_whole(part));
    let mut surest: BTreeMap<Part, Claim> = BTreeMap::new();
    for (_, part, claim) in claims.iter().filter(|(_, part, _)| is_whole(part) == whole) {
        surest.entry(*part).or_insert(*claim);
    }
    let (won, lost): (Claims, Claims) =
        claims.into_iter().partition(|(_, part, claim)| surest.get(part) == Some(claim));
    for (entry, ..) in lost {
        let reason = if winner == name.to_string() {
            t!("%{name} is there under its own name", name)
        } else {
            t!("%{theirs} is taken as %{name}", theirs = winner, name)
        };
        answers.left_out.push((entry.called, reason));
    }
    for (at, (entry, part, _)) in won.iter().enumerate() {
        if let Some((other, ..)) = won[..at].iter().find(|(_, other, _)| other == part) {
            let of = |entry: &Entry| format!("{} of {}", entry.called, files[entry.file].0);
            return Err(told::twice(name, &of(other), &of(entry)));
        }
    }
    let file = won.first().map_or(0, |(entry, ..)| entry.file);
    if whole {
        let whole = won.into_iter().next();
        answers.remarks.extend(whole.as_ref().and_then(|(entry, ..)| entry.remark.clone()));
        return Ok(whole.map(|(entry, ..)| (file, name, entry.called, entry.array)));
    }
    let called = match won.as_slice() {
        [(first, ..), .., (last, ..)] => format!("{} … {}", first.called, last.called),
        _ => winner,
    };
    if won.iter().any(|(entry, ..)| entry.remark.is_some()) {
        answers.remarks.push(t!("%{theirs} is taken as %{name}", theirs = called, name));
    }
    let pieces = won.into_iter().map(|(entry, part, _)| Piece { part, array: entry.array }).collect();
    match gathered(pieces) {
        Ok((array, from_zero)) => {
            if from_zero {
                answers.remarks.push(t!("%{theirs} is counted from 0; mha counts from 1", theirs = called));
            }
            Ok(Some((file, name, called, array)))
        }
        Err(reason) => {
            answers.left_out.push((called, reason));
            Ok(None)
        }
    }
}

/// The tensors with their grains, each judged from its whole file; `by_hand` says which files are sheets with blanks.
pub(super) fn with_grains(chosen: Vec<Chosen>, files: &[(String, bool)], by_hand: &[bool]) -> Vec<Tensor> {
    let mut grains = vec![None; chosen.len()];
    for (file, (_, text)) in files.iter().enumerate() {
        let places: Vec<usize> = (0..chosen.len()).filter(|at| chosen[*at].0 == file).collect();
        let arrays: Vec<&Array> = places.iter().map(|at| &chosen[*at].3).collect();
        let found = grid::grains(&arrays, *text);
        let found = if by_hand[file] { grid::at_hand(found, &arrays) } else { found };
        for (at, grain) in places.into_iter().zip(found) {
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
