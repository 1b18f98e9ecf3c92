//! What was typed. Each verb has its own short file; nothing here computes.

mod ablate;
mod check;
mod command;
mod common;
mod compare;
mod complete;
mod completions;
mod explain;
mod heads;
mod help;
mod interactive;
mod learn;
mod lesson;
mod lessons;
mod man;
mod mistake;
mod mistakes;
mod model;
mod output;
mod params;
mod params_model;
mod patience;
mod select;
#[cfg(unix)]
mod signals;
#[cfg(not(unix))]
#[path = "no_signals.rs"]
mod signals;
mod terminal;
mod topics;
mod trace;
mod usage;
mod version;
mod worksheet;

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

pub use common::{Common, When};
pub use complete::answered;
pub use help::{page as help_page, told};
pub use output::unprintable;
pub use usage::fault as usage_fault;

use crate::fault::Outcome;
use crate::words::{self, Language};

/// See every number in multi-head attention.
#[derive(Debug, Parser)]
#[command(
    name = "mha",
    version = version::SHORT,
    long_version = version::long(),
    max_term_width = 100,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "\
Start here:
  mha trace             the classic 3×4 example with two heads, number by number
  mha compare           one head against two, on the same matrices
  mha check two-heads mine.npz   your own tensors: the first wrong step, and why
  mha ablate --each     which heads matter, and which can go
  mha heads --model induction --text qwertqwert
        what each head of a trained model does
  mha params bert-base  what it costs in parameters, work and memory
  mha mistakes          what people get wrong, and how to mend it
  mha learn             the course: predict, then see
  mha lessons           worked examples that come with mha
  mha worksheet         exercises for paper, and their key
  mha completions bash  what teaches your shell to complete all of this
  mha man               all help as manual pages

Every command has examples of its own: mha trace --help
Steps, masks, lesson files and other topics: mha help"
)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Trace(trace::TraceArgs),
    Compare(compare::CompareArgs),
    Check(check::CheckArgs),
    Ablate(Box<ablate::AblateArgs>),
    Params(Box<params::ParamsArgs>),
    Heads(Box<heads::HeadsArgs>),
    Mistakes(mistakes::MistakesArgs),
    Learn(learn::LearnArgs),
    Lessons(lessons::LessonsArgs),
    Worksheet(worksheet::WorksheetArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
    Help(topics::HelpArgs),
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Exit status 0.
    Done,
    /// Exit status 1: done, and the answer is no.
    AnswerIsNo,
    /// Exit status 130: the person pressed Ctrl-C.
    Interrupted,
}

impl Cli {
    /// Reads what was typed, the program's name first; help pages come in the language of [`crate::words`].
    ///
    /// # Errors
    /// What clap refuses, and what is no error but ends here: help and the version.
    pub fn read(arguments: Vec<OsString>) -> Result<Self, clap::Error> {
        match words::language() {
            Language::En => Self::try_parse_from(arguments),
            Language::Zh => {
                let mut command = help::translated(Self::command());
                let mut matches = command.try_get_matches_from_mut(arguments)?;
                Self::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
            }
        }
    }

    /// The flags that every verb has.
    pub fn common(&self) -> &Common {
        match &self.verb {
            Verb::Trace(args) => &args.common,
            Verb::Compare(args) => &args.common,
            Verb::Check(args) => &args.common,
            Verb::Ablate(args) => &args.common,
            Verb::Params(args) => &args.common,
            Verb::Heads(args) => &args.common,
            Verb::Mistakes(args) => &args.common,
            Verb::Learn(args) => &args.common,
            Verb::Lessons(args) => args.common(),
            Verb::Worksheet(args) => &args.common,
            Verb::Completions(args) => &args.common,
            Verb::Man(args) => &args.common,
            Verb::Help(args) => &args.common,
        }
    }

    /// Does what was asked.
    ///
    /// # Errors
    /// Everything that keeps the request from being met (exit status 2).
    pub fn run(&self) -> Outcome<Ending> {
        // A page of ASCII letters has none for Chinese.
        match self.is_for_programs() || self.common().ascii {
            true => words::in_language(Language::En, || self.done()),
            false => self.done(),
        }
    }

    /// Whether what is written is for programs: their keys and titles are English in every language.
    fn is_for_programs(&self) -> bool {
        match &self.verb {
            Verb::Trace(args) => args.is_for_programs(),
            Verb::Compare(args) => args.is_for_programs(),
            Verb::Check(args) => args.is_for_programs(),
            Verb::Ablate(args) => args.is_for_programs(),
            Verb::Params(args) => args.is_for_programs(),
            Verb::Heads(args) => args.is_for_programs(),
            Verb::Mistakes(args) => args.is_for_programs(),
            Verb::Completions(_) | Verb::Man(_) => true,
            Verb::Learn(_) | Verb::Lessons(_) | Verb::Worksheet(_) | Verb::Help(_) => false,
        }
    }

    fn done(&self) -> Outcome<Ending> {
        // What may take minutes is not done for nothing.
        let writes_a_folder = match &self.verb {
            Verb::Lessons(args) => args.writes_a_folder(),
            Verb::Man(args) => args.all,
            _ => false,
        };
        if !writes_a_folder {
            output::look_ahead(self.common())?;
        }
        match &self.verb {
            Verb::Trace(args) => trace::run(args),
            Verb::Compare(args) => compare::run(args),
            Verb::Check(args) => check::run(args),
            Verb::Ablate(args) => ablate::run(args),
            Verb::Params(args) => params::run(args),
            Verb::Heads(args) => heads::run(args),
            Verb::Mistakes(args) => mistakes::run(args),
            Verb::Learn(args) => learn::run(args),
            Verb::Lessons(args) => lessons::run(args),
            Verb::Worksheet(args) => worksheet::run(args),
            Verb::Completions(args) => completions::run(args),
            Verb::Man(args) => man::run(args),
            Verb::Help(args) => topics::run(args),
        }
    }
}
