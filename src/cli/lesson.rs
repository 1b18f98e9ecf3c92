//! The lesson that a verb was given: a name from `mha lessons`, `random:…` for a drawn exercise, or a path.

use std::path::Path;

use super::common::{Common, Lang};
use super::params;
use crate::course::Workshop;
use crate::course::worksheet::{draw, drawing};
use crate::fault::{Fault, Outcome, nearest, shell_word};
use crate::lesson::{self, Language, Options, Piece, Problem, Saying, builtin, pieces};
use crate::params::architecture::presets;
use crate::words;

/// What `mha trace` and `mha compare` show when no lesson is named.
pub(super) const DEFAULT: &str = "two-heads";

/// What the argument is called in help pages and in faults.
const LESSON: &str = "LESSON";

/// The file that a lesson's name stands for, as faults call it.
pub(super) fn source(name: &str) -> String {
    match builtin::find(name) {
        Some(lesson) => format!("{}.yaml", lesson.name),
        None if name == "-" => "standard input".to_owned(),
        None => name.to_owned(),
    }
}

/// Loads a lesson.
///
/// # Errors
/// Everything that is wrong with the file; a name that is neither a lesson nor a file.
pub(super) fn load(name: &str, common: &Common, files: Files, wanted: Wanted) -> Outcome<Problem> {
    let options = Options {
        language: language(common),
        allow_outside: files == Files::Anywhere,
        pin_claims: wanted == Wanted::All,
        teaches: wanted != Wanted::Example,
    };
    let mut problem = read(name, &options)?;
    if problem.title.is_empty() {
        problem.title = source(name);
    }
    Ok(problem)
}

/// A workshop for a lesson, in which models are counted as `mha params` counts them.
pub(super) fn workshop(problem: Problem) -> Workshop {
    Workshop::new(problem).counting(params::counted)
}

/// Refuses a stack of layers where a verb `does` something with one attention call.
///
/// # Errors
/// The lesson is a stack.
pub(super) fn one_call(problem: &Problem, does: &str, name: &str) -> Outcome<()> {
    match problem.layers {
        None => Ok(()),
        Some(_) => Err(Fault::new(
            format!("{} is a stack of layers", source(name)),
            format!("mha {does} of one attention call"),
            "take a lesson without layers; mha trace shows every step of a stack",
        )
        .in_source(LESSON)
        .into()),
    }
}

/// The lesson with those sentences of its story filled in that speak of its runs, or of models: a trace has only the
/// lesson's own numbers, and fills in the others. What cannot be computed stays as it was written.
pub(super) fn with_runs_told(mut problem: Problem, digits: usize) -> Problem {
    let needs_runs = |saying: &Saying| {
        pieces(&saying.say)
            .iter()
            .any(|piece| matches!(piece, Piece::Amount(quantity, _) if !quantity.is_of_the_lesson()))
    };
    if !problem.story.iter().any(needs_runs) {
        return problem;
    }
    let workshop = workshop(problem.clone());
    for saying in problem.story.iter_mut().filter(|saying| needs_runs(saying)) {
        if workshop.knows(&saying.say) {
            saying.say = workshop.filled(&saying.say, digits);
        }
    }
    problem
}

/// The lesson as a command that is to be pasted names it again: quoted for a shell, with what lets it be read.
pub(super) fn again(name: &str, allow_outside: bool) -> String {
    let named = match name {
        "-" => "- < lesson.yaml".to_owned(), // what came through a pipe, kept in a file
        name if name.starts_with('-') => shell_word(&format!("./{name}")),
        name => shell_word(name),
    };
    if allow_outside { format!("{named} --allow-outside") } else { named }
}

/// Where the files that a lesson names may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Files {
    /// In its folder.
    Inside,
    /// Anywhere (`--allow-outside`).
    Anywhere,
}

impl Files {
    /// What the flag says.
    pub(super) fn allowed(outside: bool) -> Self {
        if outside { Self::Anywhere } else { Self::Inside }
    }
}

/// What a verb wants of a lesson.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The worked example.
    Example,
    /// Its course, too.
    Course,
    /// Its claims as well, to be checked.
    All,
}

fn read(name: &str, options: &Options) -> Outcome<Problem> {
    if let Some(lesson) = builtin::find(name) {
        return builtin::load(lesson, options);
    }
    if name.starts_with(drawing::PREFIX) {
        return draw::problem(&name.parse()?, options);
    }
    let path = Path::new(name);
    if name.is_empty() {
        let (why, remedy) = ("a lesson is a name or a file", "`mha lessons` lists the names");
        return Err(Fault::new("the lesson's name is empty", why, remedy).in_source(LESSON).into());
    }
    let is_a_word = !name.contains(['/', '\\', '.']) && name != "-";
    if is_a_word && !path.exists() {
        let names = || builtin::all().iter().map(|lesson| lesson.name);
        let remedy = match nearest(name, names()) {
            _ if presets::find(name).is_some() => {
                format!(
                    "`mha params {name}` counts that model; its weights are read by `mha trace --model FOLDER`"
                )
            }
            _ if name == drawing::PREFIX.trim_end_matches(':') => {
                "a number chooses one of them: random:7".to_owned()
            }
            Some(near) => format!(
                "did you mean {near}? `mha lessons` lists them; a file is named with its ending, as {name}.yaml"
            ),
            None => format!("`mha lessons` lists them; a file is named with its ending, as {name}.yaml"),
        };
        return Err(Fault::new(
            format!("there is no lesson called {name}"),
            format!("none of the {} lessons that come with mha has this name", builtin::all().len()),
            remedy,
        )
        .in_source(LESSON)
        .into());
    }
    lesson::load(path, options)
}

/// The language asked for, or the one that `mha` speaks: `main` has looked at the locale. A page of ASCII letters is
/// English.
pub(super) fn language(common: &Common) -> Language {
    match common.lang.filter(|_| !common.ascii) {
        Some(Lang::Zh) => Language::Zh,
        Some(Lang::En) => Language::En,
        None => words::language(),
    }
}
