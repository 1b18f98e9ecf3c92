//! Many texts, one a line, and how far they are read.

use std::fs;
use std::io::{IsTerminal, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::arrays;
use crate::fault::{Fault, Faults, Outcome, reason};
use crate::limits::TEXTS_BYTES;

/// A bar appears where texts take longer than this.
const PATIENCE: Duration = Duration::from_secs(1);

/// The lines of a file that are not blank, with their numbers from 1.
pub(super) fn lines(path: &Path) -> Outcome<Vec<(usize, String)>> {
    let refused = |what: &str, why: String, remedy: &str| {
        Faults::from(Fault::new(what, why, remedy).in_source(path.display().to_string()))
    };
    const UNREADABLE: &str = "the texts cannot be read";
    const NAME_ONE: &str = "name a text file with one text a line, or - for standard input";
    let unreadable = |error: std::io::Error| refused(UNREADABLE, reason(&error), NAME_ONE);
    let input: Box<dyn Read> = match path.as_os_str() == "-" {
        true => Box::new(std::io::stdin().lock()),
        false => {
            if fs::metadata(path).is_ok_and(|found| arrays::could_wait_for_ever(path, &found)) {
                let why = "it is a pipe or a device, and reading it could wait for ever";
                return Err(refused(UNREADABLE, why.to_owned(), NAME_ONE));
            }
            let file = fs::File::open(path).map_err(unreadable)?;
            arrays::reads(path);
            Box::new(file)
        }
    };
    let mut bytes = Vec::new();
    input.take(TEXTS_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > TEXTS_BYTES {
        let why = format!("at most {TEXTS_BYTES} bytes are read");
        return Err(refused("these are too many texts", why, "split the file"));
    }
    let text = String::from_utf8(bytes).map_err(|error| match arrays::is_utf16(error.as_bytes()) {
        true => refused(UNREADABLE, arrays::UTF16.to_owned(), arrays::TO_UTF8),
        false => refused(UNREADABLE, "it is not UTF-8".to_owned(), NAME_ONE),
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let numbered = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim().to_owned()));
    Ok(numbered.filter(|(_, line)| !line.is_empty()).collect())
}

/// A bar on standard error: only on a terminal, and only where the texts take long.
pub(super) struct Bar {
    bar: ProgressBar,
    since: Instant,
}

impl Bar {
    /// A bar for so many texts, not shown yet.
    pub(super) fn new(texts: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(texts as u64), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed}/{duration}") {
            bar.set_style(style.progress_chars("█░ "));
        }
        Self { bar, since: Instant::now() }
    }

    /// So many texts are read.
    pub(super) fn at(&self, done: usize) {
        if self.bar.is_hidden() && self.since.elapsed() > PATIENCE && std::io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position(done as u64);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
