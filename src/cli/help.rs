//! Help pages in another language than English: clap's texts, looked up one by one.
//!
//! clap's own error messages stay English, and so do value names, which it would align wrongly.

use std::borrow::Cow;

use clap::builder::{PossibleValue, StyledStr};
use clap::error::ErrorKind;
use clap::{Arg, Command};
use unicode_width::UnicodeWidthChar;

use crate::words::{Language, chinese, language, say, t};

/// A blank beside a wide character that is meant to be seen; other blanks after a wide character are places to break.
const KEPT: char = '\u{a0}';

/// A command whose help pages speak the language of this process. They are printed through [`page`].
pub(super) fn translated(mut command: Command) -> Command {
    // The flags and commands that clap adds itself have words, too.
    command.build();
    each(command)
}

fn each(command: Command) -> Command {
    let about = command.get_about().map(words);
    let after = command.get_after_help().map(examples);
    let mut command = command.mut_args(argument).mut_subcommands(each);
    if let Some(about) = about {
        command = command.about(about);
    }
    if let Some(after) = after {
        command = command.after_help(after);
    }
    command
}

/// An argument's help, with what clap would add to it in English.
fn argument(argument: Arg) -> Arg {
    let argument = match argument.get_help_heading().and_then(chinese) {
        Some(heading) => argument.help_heading(heading),
        None => argument,
    };
    let Some(help) = argument.get_help() else { return argument };
    let mut short = say(&help.to_string()).to_owned();
    let mut long = match argument.get_long_help() {
        Some(help) => say(&help.to_string()).to_owned(),
        None => short.clone(),
    };
    let takes_a_value = argument.get_action().takes_values();
    if takes_a_value && !argument.is_hide_possible_values_set() {
        let values: Vec<PossibleValue> =
            argument.get_possible_values().into_iter().filter(|value| !value.is_hide_set()).collect();
        let names: Vec<&str> = values.iter().map(PossibleValue::get_name).collect();
        if !values.is_empty() {
            short.push_str(&t!(" [possible values: %{values}]", values = names.join(", ")));
        }
        if values.iter().any(|value| value.get_help().is_some()) {
            let width = names.iter().map(|name| name.len()).max().unwrap_or_default();
            long.push_str(&format!("\n\n{}", t!("Possible values:")));
            for value in &values {
                let help = value.get_help().map(ToString::to_string).unwrap_or_default();
                let name = format!("{}:", value.get_name());
                long.push_str(&format!("\n- {name:<width$} {}", say(&help), width = width + 1));
            }
        } else if !values.is_empty() {
            long.push_str(&format!(
                "\n\n{}",
                t!(" [possible values: %{values}]", values = names.join(", ")).trim()
            ));
        }
    }
    if takes_a_value && !argument.is_hide_default_value_set() {
        let default: Vec<Cow<'_, str>> =
            argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
        if !default.is_empty() {
            let default = t!(" [default: %{value}]", value = default.join(", "));
            short.push_str(&default);
            long.push_str(&format!("\n\n{}", default.trim()));
        }
    }
    let has_more = short != long;
    let argument = argument.hide_default_value(true).hide_possible_values(true).help(breakable(&short));
    if has_more { argument.long_help(breakable(&long)) } else { argument }
}

fn words(text: &StyledStr) -> String {
    breakable(say(&text.to_string()))
}

/// Examples, a line each: a command stays, what it is for is translated.
fn examples(text: &StyledStr) -> String {
    let lines: Vec<String> = text.to_string().lines().map(line_of_examples).collect();
    breakable(&lines.join("\n"))
}

/// A line below a help page, with the words of it translated: `  mha trace   what it is for`.
fn line_of_examples(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let gap = line[indent..].rfind("  ").filter(|_| indent > 0).map_or(0, |gap| gap + 2);
    let (command, purpose) = line.split_at(indent + gap);
    format!("{command}{}", say(purpose))
}

/// Text that clap folds where Chinese may be folded. It breaks lines at blanks only, and takes each character for one
/// column: a blank after each wide character is a place to break, and makes up for the missing column.
fn breakable(text: &str) -> String {
    const NEVER_FIRST: &str = "，。、；：？！）》」』”’…％";
    let mut out = String::with_capacity(2 * text.len());
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        out.push(letter);
        if letter.width() != Some(2) {
            continue;
        }
        if rest.next_if_eq(&' ').is_some() {
            out.push(KEPT);
        }
        if rest.peek().is_some_and(|next| !NEVER_FIRST.contains(*next)) {
            out.push(' ');
        }
    }
    out
}

/// A page that clap made of a translated command, as it is printed: in colour where there is colour.
pub fn page(error: &clap::Error) -> String {
    joined(&coloured(&error.render()))
}

/// A help page of a command, in the language of this process.
pub(super) fn styled(page: &StyledStr) -> String {
    match language() {
        Language::En => coloured(page),
        Language::Zh => joined(&coloured(page)),
    }
}

fn coloured(page: &StyledStr) -> String {
    let coloured = colored::control::SHOULD_COLORIZE.should_colorize();
    if coloured { page.ansi().to_string() } else { page.to_string() }
}

/// What clap has to say, without colour.
pub fn told(error: &clap::Error) -> String {
    let text = error.render().to_string();
    match (error.kind(), language()) {
        (ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, Language::Zh) => joined(&text),
        _ => text,
    }
}

/// A page without its places to break, and with its headings translated, which are clap's.
fn joined(page: &str) -> String {
    let mut lines = String::with_capacity(page.len());
    for line in page.lines() {
        let indented = line.starts_with(' ');
        let mut line = Cow::Borrowed(line);
        for (heading, translated) in headings().iter().filter(|_| !indented) {
            line = line.replace(heading, translated).into();
        }
        let mut text = String::with_capacity(line.len());
        let mut before = '\n';
        for letter in line.chars() {
            let after_wide = before.width() == Some(2);
            match letter {
                ' ' if after_wide || before == KEPT => {}
                ':' if after_wide && !indented => text.push('：'),
                KEPT => text.push(' '),
                letter => text.push(letter),
            }
            before = letter;
        }
        lines.push_str(text.trim_end());
        lines.push('\n');
    }
    lines
}

/// clap's own headings, and what they are called here.
fn headings() -> [(&'static str, String); 6] {
    [
        ("Usage:", t!("Usage:")),
        ("Commands:", t!("Commands:")),
        ("Arguments:", t!("Arguments:")),
        ("Options:", t!("Options:")),
        ("[OPTIONS]", t!("[OPTIONS]")),
        ("COMMAND", t!("COMMAND")),
    ]
}
