//! What a shell is offered behind a word that is half typed: names of lessons, models, mistakes, steps.
//!
//! The script that `mha completions` prints asks `mha` itself: with [`VARIABLE`] set to the shell's name, and behind `--`
//! the words that are typed so far. So what is offered is what this very program knows, and fits what is typed already:
//! `mha trace rope --steps <Tab>` offers the steps of that lesson.

mod bash;
mod names;
mod typed;

use std::env;
use std::ffi::OsStr;
use std::path::Path;

use clap::{Arg, Command, CommandFactory};
use clap_complete::env::{CompleteEnv, Elvish, Fish, Powershell, Shells, Zsh};
use clap_complete::{ArgValueCompleter, CompletionCandidate, PathCompleter, engine::ValueCompleter};

pub(super) use names::{
    cells, classes, families, figures, heads, heads_of_layers, layers, mistakes, models, presets, sequences,
    steps, variants,
};

use super::{Cli, topics};
use crate::fault::visible;
use crate::lesson::builtin;
use crate::words::say;

/// The variable by which a shell's script asks.
const VARIABLE: &str = "MHA_COMPLETE";
/// What the scripts call, found as the shell finds programs: a script stays right where the program moves.
const PROGRAM: &str = "mha";

/// The shells that there are scripts for.
const SHELLS: Shells<'static> = Shells(&[&bash::Bash, &Elvish, &Fish, &Powershell, &Zsh]);

/// Answers a shell that asks how a word goes on; false where none asks.
///
/// # Errors
/// The variable names no shell that there is a script for; what is typed makes no sense.
pub fn answered() -> Result<bool, clap::Error> {
    if env::var_os(VARIABLE).is_none() {
        return Ok(false);
    }
    let folder = env::current_dir().ok();
    CompleteEnv::with_factory(command)
        .var(VARIABLE)
        .bin(PROGRAM)
        .completer(PROGRAM)
        .shells(SHELLS)
        .try_complete(env::args_os(), folder.as_deref())
}

/// The script for a shell.
pub(super) fn script(shell: &str) -> std::io::Result<Vec<u8>> {
    let mut script = Vec::new();
    match SHELLS.completer(shell) {
        Some(shell) => shell.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)?,
        None => return Err(std::io::Error::other(format!("there is no script for {shell}"))),
    }
    Ok(script)
}

/// The command line as it is offered: in the language of this process, and without flags until one is begun.
fn command() -> Command {
    let mut command = Cli::command();
    command.build();
    offered(command, typed::is_at_a_new_word())
}

fn offered(command: Command, without_flags: bool) -> Command {
    let about = command.get_about().map(|about| say(&about.to_string()).to_owned());
    let argument = |argument: Arg| {
        let help = argument.get_help().map(|help| say(&help.to_string()).to_owned());
        let hidden = argument.is_hide_set() || (without_flags && !argument.is_positional());
        let argument = argument.hide(hidden);
        match help {
            Some(help) => argument.help(help),
            None => argument,
        }
    };
    let command = command.mut_args(argument).mut_subcommands(|command| offered(command, without_flags));
    match about {
        Some(about) => command.about(about),
        None => command,
    }
}

/// A name with what it stands for.
fn candidate(name: impl Into<String>, help: impl Into<String>) -> CompletionCandidate {
    let help = help.into();
    CompletionCandidate::new(name.into()).help((!help.is_empty()).then(|| help.into()))
}

/// Offers those of these names that begin with what is typed.
fn of(names: impl Fn() -> Vec<CompletionCandidate> + Send + Sync + 'static) -> ArgValueCompleter {
    ArgValueCompleter::new(move |begun: &OsStr| begins_with(begun, names()))
}

fn begins_with(begun: &OsStr, names: Vec<CompletionCandidate>) -> Vec<CompletionCandidate> {
    let begun = begun.to_string_lossy();
    names.into_iter().filter(|name| name.get_value().to_string_lossy().starts_with(&*begun)).collect()
}

/// Offers these words.
pub(super) fn words(list: &'static [&'static str]) -> ArgValueCompleter {
    of(move || list.iter().map(|word| candidate(*word, "")).collect())
}

/// Offers commands that have a manual page.
pub(super) fn commands() -> ArgValueCompleter {
    of(commands_here)
}

/// Offers commands, and the topics of `mha help` beside them.
pub(super) fn commands_and_topics() -> ArgValueCompleter {
    of(|| {
        let topics = topics::names().filter(|_| typed::behind_the_verb().is_empty());
        let topics = topics.map(|(name, title)| candidate(name, title));
        commands_here().into_iter().chain(topics).collect()
    })
}

/// The commands under those that are typed behind the verb.
fn commands_here() -> Vec<CompletionCandidate> {
    let (all, mut here) = (Cli::command(), typed::behind_the_verb());
    let mut at = Some(&all);
    while let (Some(command), Some(word)) = (at, here.pop_front()) {
        at = command.find_subcommand(&word);
    }
    let offered = at.into_iter().flat_map(Command::get_subcommands);
    let about = |command: &Command| command.get_about().map(|about| say(&about.to_string()).to_owned());
    offered.map(|command| candidate(command.get_name(), about(command).unwrap_or_default())).collect()
}

/// Offers these names, and files that end so, with the folders on the way to them.
fn of_names_and_files(
    names: impl Fn() -> Vec<CompletionCandidate> + Send + Sync + 'static,
    endings: &'static [&'static str],
) -> ArgValueCompleter {
    ArgValueCompleter::new(move |begun: &OsStr| {
        let mut all = begins_with(begun, names());
        all.extend(files(endings).complete(begun));
        all
    })
}

/// Files that end so, and the folders on the way to them.
fn files(endings: &'static [&'static str]) -> ArgValueCompleter {
    paths(PathCompleter::file().filter(move |path| path.is_file() && ends_with(path, endings)))
}

/// The paths that a shell can be trusted with.
fn paths(completer: PathCompleter) -> ArgValueCompleter {
    ArgValueCompleter::new(move |begun: &OsStr| {
        let mut found = completer.complete(begun);
        found.retain(is_harmless);
        found
    })
}

/// Whether a name can be typed into a shell: a line break in one would end the command that it stands in.
fn is_harmless(found: &CompletionCandidate) -> bool {
    found.get_value().to_str().is_some_and(|name| visible(name) == name)
}

fn ends_with(path: &Path, endings: &[&str]) -> bool {
    path.extension().is_some_and(|ending| endings.iter().any(|known| ending.eq_ignore_ascii_case(known)))
}

/// What lesson files end with.
const LESSONS: &[&str] = &["yaml", "yml", "json"];
/// What files with a person's tensors end with.
const TENSORS: &[&str] = &["npz", "npy", "safetensors", "json", "yaml", "yml", "csv"];

fn lesson_names() -> Vec<CompletionCandidate> {
    builtin::all().iter().map(|lesson| candidate(lesson.name, names::title(lesson))).collect()
}

/// Offers lessons: names and files.
pub(super) fn lessons() -> ArgValueCompleter {
    of_names_and_files(lesson_names, LESSONS)
}

/// Offers lessons that come with the program, by name.
pub(super) fn lessons_by_name() -> ArgValueCompleter {
    of(lesson_names)
}

/// Offers what `mha learn` takes: lessons, and what is due.
pub(super) fn lessons_and_review() -> ArgValueCompleter {
    let names = || {
        let mut names = lesson_names();
        names.push(candidate("review", ""));
        names
    };
    of_names_and_files(names, LESSONS)
}

/// Offers a lesson first, and files with tensors behind it; with a model there is no lesson.
pub(super) fn lesson_then_tensors() -> ArgValueCompleter {
    ArgValueCompleter::new(|begun: &OsStr| match typed::model().is_some() || typed::lesson().is_some() {
        true => files(TENSORS).complete(begun),
        false => lessons().complete(begun),
    })
}

/// Offers files with tensors.
pub(super) fn tensors() -> ArgValueCompleter {
    files(TENSORS)
}
