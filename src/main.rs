//! `mha`: arguments in, exit status out.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use mha::cli::{Cli, Ending};
use mha::fault::{folded, visible};
use mha::views::page::ascii;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    colored::control::set_override(cli.common().colour());
    match cli.run() {
        Ok(Ending::Done) => ExitCode::SUCCESS,
        Ok(Ending::AnswerIsNo) => ExitCode::from(1),
        Err(faults) => {
            // Nobody is left to tell if standard error is closed too.
            let text = faults.to_string();
            let text = if cli.common().ascii { ascii(&text) } else { text };
            let text = match terminal_size::terminal_size_of(std::io::stderr()) {
                Some((columns, _)) if columns.0 > 0 => folded(&text, usize::from(columns.0)),
                _ => text,
            };
            let _ = write!(std::io::stderr(), "{text}");
            ExitCode::from(2)
        }
    }
}

/// Help goes to standard output as it is; what was typed wrongly is repeated with its control characters shown.
fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    for line in error.render().to_string().lines() {
        let _ = writeln!(std::io::stderr(), "{}", visible(line));
    }
    ExitCode::from(2)
}
