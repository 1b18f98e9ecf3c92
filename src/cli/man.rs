//! `mha man`: the help pages as manual pages.

mod page;

use clap::{Args, Command, CommandFactory};

use super::lessons::render::keep;
use super::output::{self, Content};
use super::{Cli, Common, Ending, complete};
use crate::course::pages::File;
use crate::fault::{Fault, Outcome, nearest};

/// Print manual pages, as man reads them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mha man | man -l -                       the manual page of mha
  mha man trace | man -l -                 that of one command
  mha man lessons validate --output mha-lessons-validate.1
  mha man --all --output ~/.local/share/man/man1
                all of them, where man finds them: man mha-trace")]
pub(super) struct ManArgs {
    /// The command to print the page of [default: mha as a whole]
    #[arg(value_name = "COMMAND", add = complete::commands())]
    command: Vec<String>,
    /// Write the page of every command, a file each, into the folder that --output names
    #[arg(long, requires = "output", conflicts_with = "command")]
    pub(super) all: bool,
    #[command(flatten)]
    pub(super) common: Common,
}

/// Prints one page, or writes all.
pub(super) fn run(args: &ManArgs) -> Outcome<Ending> {
    let mut program = Cli::command().long_version(None).disable_help_subcommand(true);
    program.build();
    match args.common.output.as_ref().filter(|_| args.all) {
        Some(folder) => {
            let mut pages = Vec::new();
            every(&program, None, &mut pages);
            keep(folder, &pages, &args.common)?;
        }
        None => {
            let (command, parent) = named(&program, &args.command)?;
            let page = page::of(command, parent);
            output::write(&args.common, Content::Text, |out| out.write_all(page.text.as_bytes()))?;
        }
    }
    Ok(Ending::Done)
}

/// The command of these words, and the one above it.
fn named<'c>(program: &'c Command, words: &[String]) -> Outcome<(&'c Command, Option<&'c Command>)> {
    let (mut command, mut parent) = (program, None);
    for word in words {
        let Some(found) = command.find_subcommand(word) else {
            let names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
            let whole = command.get_bin_name().unwrap_or_else(|| command.get_name());
            let remedy = match nearest(word, names.iter().copied()) {
                Some(near) => format!("did you mean {near}?"),
                None => "mha --help lists the commands".to_owned(),
            };
            let why = match names.as_slice() {
                [] => format!("{whole} has no commands of its own"),
                names => format!("its commands are {}", names.join(", ")),
            };
            return Err(Fault::new(format!("{whole} has no command {word}"), why, remedy)
                .in_source("COMMAND")
                .into());
        };
        (parent, command) = (Some(command), found);
    }
    Ok((command, parent))
}

fn every(command: &Command, parent: Option<&Command>, pages: &mut Vec<File>) {
    pages.push(page::of(command, parent));
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        every(below, Some(command), pages);
    }
}
