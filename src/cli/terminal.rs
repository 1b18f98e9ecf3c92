//! A terminal to hold a dialogue over: lines out, edited lines in.
//!
//! rustyline reads the lines: a plain `read_line` leaves arrow keys in the answer as `^[[D`, erases half of a Chinese
//! letter, and dies of Ctrl-C where the dialogue still has something to say. Where the terminal can do nothing
//! (`TERM=dumb`), rustyline reads plain lines itself.

use std::io::{self, Write};

use rustyline::DefaultEditor;
use rustyline::config::{Behavior, Config};
use rustyline::error::ReadlineError;

use super::signals;
use crate::course::dialogue::{Console, Reply};

/// Standard input and output, both on a terminal.
pub(super) struct Terminal {
    editor: DefaultEditor,
}

impl Terminal {
    /// The terminal that this process runs in.
    ///
    /// # Errors
    /// It cannot be used as one.
    pub(super) fn new() -> io::Result<Self> {
        signals::give_the_terminal_back_before_the_end();
        let config = Config::builder().behavior(Behavior::Stdio).auto_add_history(true).build();
        let editor = DefaultEditor::with_config(config).map_err(io::Error::other)?;
        Ok(Self { editor })
    }
}

impl Console for Terminal {
    fn say(&mut self, text: &str) {
        // Nobody is left to read if the terminal is gone: the next question notices.
        let mut out = io::stdout().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    fn ask(&mut self, prompt: &str) -> Reply {
        match self.editor.readline(prompt) {
            Ok(line) => Reply::Line(line),
            Err(ReadlineError::Interrupted) => Reply::Interrupted,
            Err(_) => Reply::End,
        }
    }
}
