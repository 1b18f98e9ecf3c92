//! Flags that every verb has, and what follows from them and from the surroundings.

use std::env;
use std::io::IsTerminal;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::fault::Fault;
use crate::limits::{PRECISION, WIDTH};
use crate::views::heat::paint::Colours;
use crate::views::page::{Detail, Layout, Page};

/// Flags that every verb has.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Page")]
pub struct Common {
    /// Write to FILE instead of standard output (-), whole or not at all
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Let --output replace a file that exists
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Digits after the decimal point [default: 4; 2 in heat maps]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u8).range(0..=i64::from(PRECISION)))]
    pub precision: Option<u8>,
    /// When to use colour (NO_COLOR and TERM=dumb are heeded)
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: When,
    /// Columns to fit the page into [default: the terminal's width, 80 elsewhere]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(20..=i64::from(WIDTH)))]
    pub width: Option<u16>,
    /// Draw with ASCII characters only
    #[arg(long)]
    pub ascii: bool,
    /// Language: en or zh [default: from the locale]
    #[arg(long, value_name = "LANG")]
    pub lang: Option<Lang>,
    /// Tables only
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// What each step costs, too
    #[arg(short, long)]
    pub verbose: bool,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal.
    Auto,
    /// Also into a file or a pipe.
    Always,
    /// Nowhere.
    Never,
}

/// Languages that `mha` speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Lang {
    /// English
    En,
    /// Simplified Chinese
    Zh,
}

/// A number from 1, as heads and sequences are counted.
pub(super) fn counted_from_one(text: &str) -> Result<usize, String> {
    match text.trim().parse::<usize>() {
        Ok(number) if number > 0 => Ok(number),
        Err(error) if *error.kind() == std::num::IntErrorKind::PosOverflow => {
            Err("that is too large".to_owned())
        }
        _ => Err("a whole number from 1 is needed".to_owned()),
    }
}

/// A sequence that a batch does not have, counted from 1; without a batch there is none to choose.
pub(super) fn no_sequence(number: usize, batch: Option<usize>) -> Fault {
    let (why, remedy) = match batch {
        Some(count) => {
            (format!("the batch holds {count}, counted from 1"), format!("choose from 1 to {count}"))
        }
        None => ("the lesson's input has no batch axis".to_owned(), "leave out --sequence".to_owned()),
    };
    Fault::new(format!("there is no sequence {number}"), why, remedy).in_source("--sequence")
}

/// Columns of a page that is not shown on a terminal.
const WIDTH_ELSEWHERE: usize = 80;
/// Digits after the decimal point where nobody asked for another number.
const DIGITS: usize = 4;
/// The same for numbers inside the cells of a heat map.
const DIGITS_IN_CELLS: usize = 2;

impl Common {
    /// The page to set text on.
    pub fn page(&self, layout: Layout) -> Page {
        let terminal = || match (&self.output, terminal_size::terminal_size()) {
            (None, Some((columns, _))) if std::io::stdout().is_terminal() && columns.0 > 0 => Some(columns.0),
            _ => None,
        };
        let width = self.width.or_else(terminal).map_or(WIDTH_ELSEWHERE, usize::from);
        let detail = match (self.quiet, self.verbose) {
            (true, _) => Detail::Bare,
            (_, true) => Detail::Counted,
            _ => Detail::Told,
        };
        let digits = self.precision.map_or(DIGITS, usize::from);
        Page { width: width.max(20), digits, ascii: self.ascii, layout, detail }
    }

    /// The page to draw on: numbers inside cells are short unless asked otherwise.
    pub fn picture(&self, layout: Layout) -> Page {
        Page { digits: self.precision.map_or(DIGITS_IN_CELLS, usize::from), ..self.page(layout) }
    }

    /// How many colours may be used: whether any at all, then `COLORTERM`, `TERM`. Forced into a file or a pipe that
    /// knows of no terminal, 256: every terminal that shows the file later has them.
    pub fn colours(&self) -> Colours {
        let says = |name: &str| env::var(name).unwrap_or_default();
        match says("COLORTERM").as_str() {
            _ if !self.colour() => Colours::None,
            "truecolor" | "24bit" => Colours::True,
            _ if says("TERM").contains("256color") => Colours::Many,
            _ if self.color == When::Always
                && (self.output.is_some() || !std::io::stdout().is_terminal()) =>
            {
                Colours::Many
            }
            _ => Colours::Sixteen,
        }
    }

    /// Whether to colour: the flag first, then `NO_COLOR`, `CLICOLOR_FORCE`, `TERM=dumb`, and the terminal.
    pub fn colour(&self) -> bool {
        let set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        match self.color {
            When::Always => true,
            When::Never => false,
            When::Auto if set("NO_COLOR") => false,
            When::Auto
                if set("CLICOLOR_FORCE") && env::var_os("CLICOLOR_FORCE").is_some_and(|v| v != "0") =>
            {
                true
            }
            When::Auto if env::var_os("TERM").is_some_and(|term| term == "dumb") => false,
            When::Auto => self.output.is_none() && std::io::stdout().is_terminal(),
        }
    }
}
