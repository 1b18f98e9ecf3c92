//! Commands that a lesson shows: the program itself, run with its output caught.

use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::fault::visible;
use crate::lesson::Language;
use crate::limits::{COMMAND_BYTES, COMMAND_SECONDS};
use crate::words;

/// A command that has not ended by then is ended.
const PATIENCE: Duration = Duration::from_secs(COMMAND_SECONDS);

/// What `mha` prints for these words (without `mha` itself) on a page of this width, without colour.
///
/// # Errors
/// The request cannot be met: what it says on standard error. The program cannot be started; it does not come to an end, or
/// prints too much.
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
    let mut child = command
        .env("NO_COLOR", "1")
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| crate::fault::reason(&error))?;
    let (out, err) = (caught(child.stdout.take()), caught(child.stderr.take()));
    // Both end when the program does, or when it has printed more than is read.
    let printed = out.recv_timeout(PATIENCE);
    let Ok(printed) = printed else {
        end(&mut child);
        return Err(format!("it has not ended after {} seconds", PATIENCE.as_secs()));
    };
    if printed.len() as u64 > COMMAND_BYTES {
        end(&mut child);
        return Err(format!("it prints more than {} MiB", COMMAND_BYTES >> 20));
    }
    let said = err.recv_timeout(PATIENCE).unwrap_or_default();
    let status = child.wait().map_err(|error| crate::fault::reason(&error))?;
    // 1 is an answer too: the answer is no
    match status.code() {
        // What it prints is shown, and never obeyed: bytes of an npz can spell anything.
        Some(0 | 1) => {
            Ok(String::from_utf8_lossy(&printed).split('\n').map(visible).collect::<Vec<_>>().join("\n"))
        }
        _ => {
            let said = String::from_utf8_lossy(&said);
            let first = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it was ended");
            Err(first.trim_start_matches("error: ").to_owned())
        }
    }
}

/// What comes out of a pipe until it is closed, and one byte more than is read at most.
fn caught(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was printed before a broken pipe is still what was printed.
        let _ = pipe.map(|pipe| pipe.take(COMMAND_BYTES + 1).read_to_end(&mut bytes));
        // Nobody may be waiting any more.
        let _ = sender.send(bytes);
    });
    receiver
}

/// Ends a program that is not waited for any longer.
fn end(child: &mut std::process::Child) {
    // It may have ended by itself in the meantime.
    let _ = child.kill();
    let _ = child.wait();
}
