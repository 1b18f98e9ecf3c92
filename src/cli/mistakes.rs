//! `mha mistakes`: what people get wrong in attention, and how to mend it.

use clap::{Args, ValueEnum};

use super::output::{self, Content};
use super::{Common, Ending, complete, params};
use crate::fault::Outcome;
use crate::mistakes::{Mistake, catalogue};
use crate::views::page::Layout;
use crate::views::{mistakes, part};

/// List known mistakes, and tell how one comes about and is mended
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mha mistakes                all of them, by the step that goes wrong first
  mha mistakes scale-missing  one: cause, symptom, fix, a line of code
  mha mistakes --format json  for other programs")]
pub(super) struct MistakesArgs {
    /// A name from the list
    #[arg(add = complete::mistakes())]
    name: Option<String>,
    /// What to write
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A page for people
    Table,
    /// One object with everything
    Json,
    /// Tables for GitHub and wikis
    Markdown,
}

impl MistakesArgs {
    /// Whether what is written is for programs, which read English.
    pub(super) fn is_for_programs(&self) -> bool {
        self.format == Format::Json
    }
}

/// Lists all mistakes, or tells everything about one.
pub(super) fn run(args: &MistakesArgs) -> Outcome<Ending> {
    let named = args.name.as_deref().map(Mistake::named).transpose();
    let named = named.map_err(|faults| faults.in_source("NAME"))?;
    let parts = || match named {
        Some(mistake) => mistakes::one(mistake, mistake.lesson()),
        None => mistakes::list(catalogue::all()),
    };
    let page = args.common.page(Layout::Rows);
    output::write(&args.common, Content::Text, |out| match args.format {
        Format::Table => {
            write!(out, "{}", part::terminal(&parts(), &page, params::words(&args.common)))
        }
        Format::Markdown => write!(out, "{}", part::markdown(&parts())),
        Format::Json => {
            let all = catalogue::all().filter(|mistake| named.is_none_or(|named| named.name == mistake.name));
            mistakes::json(all, &mut *out)
        }
    })?;
    Ok(Ending::Done)
}
