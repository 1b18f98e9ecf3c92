//! Runs the binary as a person would, in surroundings that are the same everywhere.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use assert_cmd::Command;

/// Longer than any request may take; one that waits for ever is stopped, and fails its test.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a run said, and how it ended.
pub(crate) struct Run {
    /// The exit status; `None` if it was stopped or crashed.
    pub(crate) status: Option<i32>,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

/// `mha`, with nothing in its environment that changes a page.
pub(crate) fn mha(folder: &Path) -> Command {
    quiet(Command::new(env!("CARGO_BIN_EXE_mha")), folder)
}

/// Another program with the same surroundings: a shell that runs `mha` as its `$0`.
pub(crate) fn shell(script: &str, folder: &Path) -> Command {
    let mut shell = quiet(Command::new("sh"), folder);
    shell.args(["-c", script, env!("CARGO_BIN_EXE_mha")]);
    shell
}

fn quiet(mut command: Command, folder: &Path) -> Command {
    for name in [
        "COLUMNS",
        "NO_COLOR",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "COLORTERM",
        "TERM",
        "LANG",
        "LC_ALL",
        "LC_MESSAGES",
        "RUST_BACKTRACE",
    ] {
        command.env_remove(name);
    }
    // What a person has learnt is none of a test's business.
    command.env("MHA_DATA_DIR", folder.join("progress"));
    command.current_dir(folder).timeout(PATIENCE);
    command
}

/// Runs a command to its end.
pub(crate) fn ended(command: &mut Command) -> Run {
    let output = command.output().unwrap();
    Run {
        status: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs `mha ARGS` in a folder.
pub(crate) fn run<A: AsRef<OsStr>>(folder: &Path, args: &[A]) -> Run {
    ended(mha(folder).args(args))
}
