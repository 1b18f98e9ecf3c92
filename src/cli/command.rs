//! Commands that a lesson shows: the program itself, run with its output caught.

use std::process::{Command, Stdio};

use crate::lesson::Language;
use crate::words;

/// What `mha` prints for these words (without `mha` itself) on a page of this width, without colour.
///
/// # Errors
/// The request cannot be met: what it says on standard error. The program cannot be started.
pub(super) fn output(line: &[String], width: usize) -> Result<String, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(line);
    let says = |flag: &str| line.iter().any(|word| word.split('=').next() == Some(flag));
    if !says("--width") {
        command.args(["--width", &width.to_string()]);
    }
    if !says("--lang") {
        let language = match words::language() {
            Language::En => "en",
            Language::Zh => "zh",
        };
        command.args(["--lang", language]);
    }
    let output = command
        .env("NO_COLOR", "1")
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| crate::fault::reason(&error))?;
    // 1 is an answer too: the answer is no
    match output.status.code() {
        Some(0 | 1) => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        _ => {
            let said = String::from_utf8_lossy(&output.stderr);
            let first = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it was ended");
            Err(first.trim_start_matches("error: ").to_owned())
        }
    }
}
