//! `mha`: arguments in, exit status out.

use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use mha::cli::{Cli, Ending};
use mha::fault::{Faults, folded, visible};
use mha::views::page::ascii;
use mha::words::{self, Language};

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    words::speak(words::wanted(&arguments, |name| std::env::var(name).ok()));
    let typed: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    match mha::cli::answered() {
        Ok(false) => {}
        Ok(true) => return ExitCode::SUCCESS,
        Err(error) => return usage(&error, &typed),
    }
    let cli = match Cli::read(arguments) {
        Ok(cli) => cli,
        Err(error) => return usage(&error, &typed),
    };
    colored::control::set_override(cli.common().colour());
    // Older Windows consoles obey colours only when told to; what is no console is left alone.
    #[cfg(windows)]
    let _ = colored::control::set_virtual_terminal(true);
    match cli.run() {
        Ok(Ending::Done) => ExitCode::SUCCESS,
        Ok(Ending::AnswerIsNo) => ExitCode::from(1),
        Ok(Ending::Interrupted) => ExitCode::from(130),
        Err(faults) => refusal(&faults, cli.common().ascii),
    }
}

/// Tells what is wrong.
fn refusal(faults: &Faults, in_ascii: bool) -> ExitCode {
    let text = faults.to_string();
    let text = match terminal_size::terminal_size_of(std::io::stderr()) {
        Some((columns, _)) if columns.0 > 0 => folded(&text, usize::from(columns.0)),
        _ => text,
    };
    let text = if in_ascii { ascii(&text) } else { text };
    // Nobody is left to tell if standard error is closed too.
    let _ = write!(std::io::stderr(), "{text}");
    ExitCode::from(2)
}

/// Help goes to standard output as it is; what was typed wrongly is repeated with its control characters shown.
fn usage(error: &clap::Error, typed: &[String]) -> ExitCode {
    let in_ascii = typed.iter().any(|word| word == "--ascii");
    if !error.use_stderr() {
        let printed = match words::language() {
            Language::En if !in_ascii => error.print(),
            Language::En => write!(std::io::stdout(), "{}", ascii(&mha::cli::help_page(error))),
            Language::Zh => write!(std::io::stdout(), "{}", mha::cli::help_page(error)),
        };
        return match printed.and_then(|()| std::io::stdout().flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                refusal(&mha::cli::unprintable(&error).into(), false)
            }
            _ => ExitCode::SUCCESS,
        };
    }
    if let Some(fault) = mha::cli::usage_fault(error, typed) {
        return refusal(&fault.into(), in_ascii);
    }
    for line in mha::cli::told(error).lines() {
        let _ = writeln!(std::io::stderr(), "{}", visible(line));
    }
    ExitCode::from(2)
}
