//! `mha`: arguments in, exit status out.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use mha::cli::{Cli, Ending};

fn main() -> ExitCode {
    let cli = Cli::parse();
    colored::control::set_override(cli.common().colour());
    match cli.run() {
        Ok(Ending::Done) => ExitCode::SUCCESS,
        Ok(Ending::AnswerIsNo) => ExitCode::from(1),
        Err(faults) => {
            // Nobody is left to tell if standard error is closed too.
            let _ = write!(std::io::stderr(), "{faults}");
            ExitCode::from(2)
        }
    }
}
