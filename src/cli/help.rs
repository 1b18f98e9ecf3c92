//! Help pages in another language than English: clap's texts, looked up one by one.
//!
//! clap's own error messages stay English, and so do value names, which it would align wrongly.

use std::borrow::Cow;

use clap::builder::StyledStr;
use clap::error::ErrorKind;
use clap::{Arg, Command};
use unicode_width::UnicodeWidthChar;

use crate::words::{self, Language, chinese, language, say, t};

/// A blank that is meant to be seen; clap breaks lines at the others.
const KEPT: char = '\u{a0}';

/// A command whose help pages speak the language of this process. They are printed through [`page`].
pub(super) fn translated(mut command: Command) -> Command {
    // The flags and commands that clap adds itself have words, too.
    command.build();
    each(command)
}

fn each(command: Command) -> Command {
    let about = command.get_about().map(words);
    let long = command.get_long_about().map(words);
    let after = command.get_after_help().map(examples);
    // The braces are clap's: what stands where on a page.
    let template =
        format!("{{about-with-newline}}\n{} {{usage}}\n\n{{all-args}}{{after-help}}", t!("Usage:"));
    let mut command = command
        .help_template(template)
        .subcommand_help_heading(words::say("Commands"))
        .mut_args(argument)
        .mut_subcommands(each);
    if let Some(about) = about {
        command = command.about(about);
    }
    if let Some(long) = long {
        command = command.long_about(long);
    }
    if let Some(after) = after {
        command = command.after_help(after);
    }
    command
}

/// An argument's help, with what clap would add to it in English.
fn argument(argument: Arg) -> Arg {
    let usual = if argument.is_positional() { "Arguments" } else { "Options" };
    let heading = chinese(argument.get_help_heading().unwrap_or(usual));
    let short = argument.get_help().map(|help| with_values(&argument, help));
    let long = argument.get_long_help().map(|help| with_values(&argument, help));
    let mut argument = argument.hide_default_value(true).hide_possible_values(true);
    if let Some(heading) = heading {
        argument = argument.help_heading(heading);
    }
    if let Some(short) = short {
        argument = argument.help(short);
    }
    if let Some(long) = long {
        argument = argument.long_help(long);
    }
    argument
}

fn with_values(argument: &Arg, help: &StyledStr) -> String {
    let mut text = say(&help.to_string()).to_owned();
    let takes_a_value = argument.get_action().takes_values();
    let default: Vec<Cow<'_, str>> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if takes_a_value && !argument.is_hide_default_value_set() && !default.is_empty() {
        text.push_str(&t!(" [default: %{value}]", value = default.join(", ")));
    }
    let possible = argument.get_possible_values();
    let shown = takes_a_value && !argument.is_hide_possible_values_set() && !possible.is_empty();
    if shown && possible.iter().any(|value| value.get_help().is_some()) {
        for value in possible.iter().filter(|value| !value.is_hide_set()) {
            let help = value.get_help().map(ToString::to_string).unwrap_or_default();
            text.push_str(&t!("\n- %{value}: %{help}", value = value.get_name(), help = say(&help)));
        }
    } else if shown {
        let names: Vec<&str> =
            possible.iter().filter(|value| !value.is_hide_set()).map(|value| value.get_name()).collect();
        text.push_str(&t!(" [possible values: %{values}]", values = names.join(", ")));
    }
    breakable(&text)
}

fn words(text: &StyledStr) -> String {
    breakable(say(&text.to_string()))
}

/// Examples, a line each: a command stays, what it is for is translated.
fn examples(text: &StyledStr) -> String {
    let lines: Vec<String> = text.to_string().lines().map(line_of_examples).collect();
    breakable(&lines.join("\n"))
}

/// One line below a help page, with the words of it changed: `  mha trace   what it is for`.
fn line_of_examples(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let (command, purpose) = match line[indent..].rfind("  ") {
        Some(gap) if line[indent..].starts_with("mha ") => line.split_at(indent + gap + 2),
        None if line[indent..].starts_with("mha ") && indent > 0 => (line, ""),
        _ => line.split_at(indent),
    };
    if purpose.is_empty() { line.to_owned() } else { format!("{command}{}", say(purpose)) }
}

/// Text that clap folds where Chinese may be folded. It breaks lines at blanks only, and takes each character for one
/// column: a blank after each wide character is a place to break, and makes up for the missing column.
fn breakable(text: &str) -> String {
    const NEVER_FIRST: &str = "，。、；：？！）》」』”’…％";
    let mut out = String::with_capacity(2 * text.len());
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            ' ' => out.push_str("\u{a0} "),
            letter
                if letter.width() == Some(2)
                    && rest.peek().is_some_and(|next| NEVER_FIRST.contains(*next)) =>
            {
                out.push(letter);
            }
            letter if letter.width() == Some(2) => {
                out.push(letter);
                out.push(' ');
            }
            letter => out.push(letter),
        }
    }
    out
}

/// A page that clap made of a [`translated`] command, as it is printed: in colour where there is colour.
pub fn page(error: &clap::Error) -> String {
    let page = error.render();
    let coloured = colored::control::SHOULD_COLORIZE.should_colorize();
    joined(&if coloured { page.ansi().to_string() } else { page.to_string() })
}

/// What clap has to say, without colour.
pub fn told(error: &clap::Error) -> String {
    let text = error.render().to_string();
    match (error.kind(), language()) {
        (ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, Language::Zh) => joined(&text),
        _ => text,
    }
}

/// The places to break a line at are taken out again.
fn joined(page: &str) -> String {
    let mut out = String::with_capacity(page.len());
    let mut before = '\n';
    for letter in page.chars() {
        if letter != ' ' || !(before == KEPT || before.width() == Some(2)) {
            out.push(if letter == KEPT { ' ' } else { letter });
        }
        before = letter;
    }
    out.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}
