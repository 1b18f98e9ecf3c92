//! `mha help`: the pages of the commands, and topics that no single command owns.
//!
//! A topic is two files, `topics/NAME.en.md` and `topics/NAME.zh.md`; a new one is there as soon as its files are
//! (cargo notices changes of this file: touch it after adding one).
//! `tests/help.rs` runs every example in them, and holds their lists against what the program knows.

mod read;

use clap::{Args, Command, CommandFactory};
use colored::Colorize;
use include_dir::{Dir, include_dir};

use super::output::{self, Content};
use super::{Cli, Common, Ending, complete, help};
use crate::fault::{Fault, Outcome, nearest};
use crate::lesson::builtin;
use crate::mistakes::catalogue;
use crate::views::page::{Layout, Page};
use crate::words::{Language, language, t};
use read::Topic;

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/src/cli/topics");

/// Lines of prose that are longer are hard to read, however wide the terminal is.
const WIDEST: usize = 100;

/// Explain a command, or a topic: steps, masks, lesson files, …
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mha help                      all commands and topics
  mha help trace                a command: every flag, with examples
  mha help lessons validate     a command of a command
  mha help steps                a topic")]
pub(super) struct HelpArgs {
    /// A command or a topic [default: list them]
    #[arg(value_name = "TOPIC", add = complete::commands_and_topics())]
    words: Vec<String>,
    #[command(flatten)]
    pub(super) common: Common,
}

/// Prints the page that was asked for.
pub(super) fn run(args: &HelpArgs) -> Outcome<Ending> {
    let asked = args.common.page(Layout::Rows);
    let page = Page { width: args.common.width.map_or(asked.width.min(WIDEST), usize::from), ..asked };
    let words: Vec<String> = args.words.iter().map(|word| word.to_lowercase()).collect();
    let text = match words.as_slice() {
        [] => format!("{}\n{}", of_command(&[], &args.common).unwrap_or_default(), contents(&page)),
        [word] if topic(word).is_some() => topic(word).map(|topic| topic.set(&page)).unwrap_or_default(),
        words => of_command(words, &args.common).ok_or_else(|| unknown(words))?,
    };
    output::write(&args.common, Content::Text, |out| out.write_all(text.as_bytes()))?;
    Ok(Ending::Done)
}

/// The page that clap makes of a command, if there is one of that name.
fn of_command(words: &[String], common: &Common) -> Option<String> {
    let command = Cli::command();
    let command = match common.width {
        Some(width) => command.term_width(width.into()),
        None => command,
    };
    let mut command = match language() {
        Language::En => command,
        Language::Zh => help::translated(command),
    };
    command.build();
    let mut found: &mut Command = &mut command;
    for word in words {
        found = found.find_subcommand_mut(word)?;
    }
    Some(common.page(Layout::Rows).letters(&help::styled(&found.render_long_help())))
}

/// The topics in the order of their names.
fn topics() -> impl Iterator<Item = Topic<'static>> {
    let ending = match language() {
        Language::En => ".en.md",
        Language::Zh => ".zh.md",
    };
    let named = FILES.files().filter_map(move |file| {
        let name = file.path().file_name()?.to_str()?.strip_suffix(ending)?;
        Some(Topic::read(name, file.contents_utf8()?))
    });
    let mut topics: Vec<Topic<'static>> = named.collect();
    topics.sort_by_key(|topic| topic.name);
    topics.into_iter()
}

/// The topic of a name, or of a word that it lists as another name for itself.
fn topic(word: &str) -> Option<Topic<'static>> {
    topics().find(|topic| topic.name == word || topic.also.contains(&word))
}

/// The topics with what each is about.
pub(super) fn names() -> impl Iterator<Item = (String, String)> {
    topics().map(|topic| (topic.name.to_owned(), topic.title.to_owned()))
}

/// All topics, a line each.
fn contents(page: &Page) -> String {
    let names: Vec<(String, String)> = names().collect();
    format!("{}\n{}", t!("Topics (mha help TOPIC):").bold().underline(), read::columns(&names, page))
}

/// What to say of a word that is neither a command nor a topic.
fn unknown(words: &[String]) -> Fault {
    let typed = words.join(" ");
    let what = format!("there is no help on “{typed}”");
    let why = "it is neither a command nor a topic";
    let place = |remedy: String| Fault::new(what.clone(), why, remedy).in_source("TOPIC");
    if catalogue::all().any(|mistake| mistake.name == typed) {
        return place(format!("it is a mistake that mha knows: mha mistakes {typed}"));
    }
    if builtin::all().iter().any(|lesson| lesson.name == typed) {
        return place(format!("it is a lesson: mha learn {typed}, or mha trace {typed}"));
    }
    let mut command = Cli::command();
    command.build();
    // `mha help trace steps` is two pages; `mha help lessons valdate` one that is misspelt.
    let parent = words.first().and_then(|word| command.find_subcommand(word));
    if let (Some(parent), [_, second, ..]) = (parent, words) {
        let inner = parent.get_subcommands().map(Command::get_name);
        return place(match nearest(second, inner) {
            Some(inner) => format!("mha help {} {inner}", parent.get_name()),
            None => format!("one command or topic at a time: mha help {}", parent.get_name()),
        });
    }
    let all: Vec<Topic<'_>> = topics().collect();
    let verbs = command.get_subcommands().map(Command::get_name);
    let known = verbs.chain(all.iter().flat_map(|topic| topic.also.iter().copied().chain([topic.name])));
    place(match words.first().and_then(|word| nearest(word, known)) {
        Some(near) => format!("mha help {near}"),
        None => "mha help lists all commands and topics".to_owned(),
    })
}
