//! What clap refuses, said as every other fault is: what, where, why, what to try.

use std::error::Error;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};

use super::Cli;
use crate::fault::{Fault, nearest};

/// The fault behind an error of clap's; `None` for what is no fault (help, the version) and for what has no better words
/// than clap's own. `typed` is the command line, the program's name first.
pub fn fault(error: &clap::Error, typed: &[String]) -> Option<Fault> {
    let asked = Asked::of(typed);
    let said = |kind: ContextKind| match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    };
    let one = |kind: ContextKind| said(kind).into_iter().next();
    let argument = one(ContextKind::InvalidArg);
    match error.kind() {
        ErrorKind::InvalidSubcommand => Some(asked.no_command(&one(ContextKind::InvalidSubcommand)?)),
        ErrorKind::UnknownArgument => {
            Some(asked.no_argument(&argument?, one(ContextKind::SuggestedArg).as_deref()))
        }
        ErrorKind::InvalidValue => {
            let (argument, value) = (argument?, one(ContextKind::InvalidValue)?);
            let near = one(ContextKind::SuggestedValue);
            Some(asked.no_choice(&argument, &value, &said(ContextKind::ValidValue), near))
        }
        ErrorKind::ValueValidation => {
            let why = error.source().map(ToString::to_string).unwrap_or_default();
            Some(asked.no_value(&argument?, &one(ContextKind::InvalidValue)?, &why))
        }
        ErrorKind::ArgumentConflict => Some(asked.conflict(&argument?, &said(ContextKind::PriorArg))),
        ErrorKind::MissingRequiredArgument => {
            let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
            Some(asked.missing(&said(ContextKind::InvalidArg), &usage))
        }
        _ => None,
    }
}

/// The command that was typed: `mha lessons validate`.
struct Asked {
    command: Command,
    path: String,
}

impl Asked {
    fn of(typed: &[String]) -> Self {
        let mut command = Cli::command();
        let mut path = command.get_name().to_owned();
        for word in typed.iter().skip(1) {
            let Some(inner) = command.find_subcommand(word).cloned() else { break };
            path = format!("{path} {word}");
            command = inner;
        }
        Self { command, path }
    }

    /// Where everything that can be typed is told.
    fn page(&self) -> String {
        format!("`{} --help`", self.path)
    }

    fn no_command(&self, typed: &str) -> Fault {
        let names: Vec<&str> = self.command.get_subcommands().map(Command::get_name).collect();
        let near = nearest(typed, names.iter().copied());
        let near = near.map_or(String::new(), |near| format!("did you mean {} {near}? ", self.path));
        let what = format!("{} has no command {}", self.path, quoted(typed));
        let why = format!("its commands are {}", names.join(", "));
        Fault::new(what, why, format!("{near}{} tells what each does", self.page())).in_source("COMMAND")
    }

    fn no_argument(&self, typed: &str, near: Option<&str>) -> Fault {
        if !typed.starts_with('-') {
            let what = format!("{} is one word too many for {}", quoted(typed), self.path);
            let why = "a list has commas without blanks, and a text with blanks has quotes around it";
            let remedy = format!("leave it out; {} shows what can be given", self.page());
            return Fault::new(what, why, remedy).in_source(typed);
        }
        let what = format!("{} has no flag {typed}", self.path);
        let is_it = |flag: &clap::Arg| {
            let name = typed.split('=').next().unwrap_or_default();
            flag.get_long().is_some_and(|long| name.strip_prefix("--") == Some(long))
                || flag
                    .get_short()
                    .is_some_and(|short| name.strip_prefix('-') == Some(short.to_string().as_str()))
        };
        if let Some(verb) = self.command.get_subcommands().find(|verb| verb.get_arguments().any(is_it)) {
            let why = "it is a flag of its commands, and stands behind them";
            let remedy = format!("for example {} {} {typed}", self.path, verb.get_name());
            return Fault::new(what, why, remedy).in_source(typed);
        }
        let near = near.map_or(String::new(), |near| format!("did you mean {near}? "));
        let remedy = format!("{near}{} lists its flags", self.page());
        Fault::new(what, "a flag that is not known is not passed over", remedy).in_source(typed)
    }

    fn no_choice(&self, argument: &str, value: &str, choices: &[String], near: Option<String>) -> Fault {
        let name = name(argument);
        let choices = choices.join(", ");
        let why = if choices.is_empty() { String::new() } else { format!("it can be {choices}") };
        if value.is_empty() {
            let what = format!("{name} needs a value");
            let why = if why.is_empty() { format!("it is written {argument}") } else { why };
            let remedy = format!("give it one; {} tells what it means", self.page());
            return Fault::new(what, why, remedy).in_source(name);
        }
        let what = format!("{name} cannot be {}", quoted(value));
        let near = near.or_else(|| nearest(value, choices.split(", ")).map(str::to_owned));
        let remedy = match near {
            Some(near) => format!("did you mean {near}?"),
            None => format!("choose one of them; {} tells what each does", self.page()),
        };
        Fault::new(what, why, remedy).in_source(name)
    }

    fn no_value(&self, argument: &str, value: &str, why: &str) -> Fault {
        let name = name(argument);
        let what = format!("{name} cannot be {}", quoted(value));
        let remedy = format!("{} tells what {name} takes", self.page());
        // Some say themselves what was meant: `did you mean mqa? the variants are …`.
        match why.strip_prefix("did you mean ").and_then(|why| why.split_once("? ")) {
            Some((near, why)) => Fault::new(what, why, format!("did you mean {near}? {remedy}")),
            None => Fault::new(what, in_words(why), remedy),
        }
        .in_source(name)
    }

    fn conflict(&self, argument: &str, others: &[String]) -> Fault {
        let (one, others): (&str, Vec<&str>) =
            (name(argument), others.iter().map(|other| name(other)).collect());
        let (what, why, remedy) = if others.contains(&one) {
            let why = "it can have one value only";
            (format!("{one} is given twice"), why, "keep one of the two".to_owned())
        } else {
            let what = format!("{one} cannot be used with {}", others.join(" and "));
            (what, "each asks for something else", format!("leave out {one}, or the other"))
        };
        Fault::new(what, why, remedy).in_source(one)
    }

    /// `usage` is how clap would have it written, with the flags that were given.
    fn missing(&self, arguments: &[String], usage: &str) -> Fault {
        let missing = arguments.iter().map(|argument| name(argument)).collect::<Vec<_>>();
        let line = usage.trim_start_matches("Usage:").trim();
        // Flags that every command has need no other; but --force does.
        let is_common = |flag: &str| {
            self.command.get_arguments().any(|argument| {
                argument
                    .get_long()
                    .is_some_and(|long| flag.strip_prefix("--") == Some(long) && long != "force")
                    && argument.get_help_heading() == Some("Page")
            })
        };
        let flags = line.split(' ').filter(|word| word.starts_with("--") && !missing.contains(word));
        let given: Vec<&str> = flags.filter(|flag| !is_common(flag)).collect();
        let why = match given.as_slice() {
            [] => format!("{} does nothing without it", self.path),
            [one] => format!("{one} means nothing without it"),
            several => format!("one of {} means nothing without it", several.join(", ")),
        };
        let what =
            format!("{} {} missing", missing.join(" and "), if missing.len() == 1 { "is" } else { "are" });
        Fault::new(what, why, format!("write {line}")).in_source(missing.first().copied().unwrap_or_default())
    }
}

/// The flag without its value (`--width <N>`), the place without its brackets (`[LESSON]`).
fn name(argument: &str) -> &str {
    let word = argument.split([' ', '=']).next().unwrap_or_default();
    word.trim_end_matches("...").trim_matches(['[', ']', '<', '>'])
}

/// What was typed, so that an empty word can be seen.
fn quoted(typed: &str) -> String {
    if typed.is_empty() || typed.contains(' ') { format!("“{typed}”") } else { typed.to_owned() }
}

/// What the standard library and clap say of numbers, in words.
fn in_words(why: &str) -> String {
    let range = why.split_once(" is not in ").and_then(|(_, range)| range.split_once("..="));
    if let Some((least, most)) = range {
        return format!("it is a whole number from {least} to {most}");
    }
    match why {
        "invalid digit found in string" | "cannot parse integer from empty string" => {
            "a whole number is needed".to_owned()
        }
        "number too large to fit in target type" => "that is too large".to_owned(),
        "number too small to fit in target type" => "that is too small".to_owned(),
        "invalid float literal" | "cannot parse float from empty string" => "a number is needed".to_owned(),
        why => why.to_owned(),
    }
}
