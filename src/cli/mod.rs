//! What was typed. Each verb has its own short file; nothing here computes.

mod common;
mod output;
mod params;

use clap::{Parser, Subcommand};

pub use common::{Common, When};

use crate::fault::Outcome;

/// See every number in multi-head attention.
#[derive(Debug, Parser)]
#[command(name = "mha", version, max_term_width = 100, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Params(params::ParamsArgs),
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Exit status 0.
    Done,
    /// Exit status 1: done, and the answer is no.
    AnswerIsNo,
}

impl Cli {
    /// The flags that every verb has.
    pub fn common(&self) -> &Common {
        match &self.verb {
            Verb::Params(args) => &args.common,
        }
    }

    /// Does what was asked.
    ///
    /// # Errors
    /// Everything that keeps the request from being met (exit status 2).
    pub fn run(&self) -> Outcome<Ending> {
        match &self.verb {
            Verb::Params(args) => params::run(args),
        }
    }
}
