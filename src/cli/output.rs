//! Where a page goes: standard output, or a file that is written whole or not at all.

mod staged;

use std::io::{self, BufWriter, Cursor, IsTerminal, Seek, Write};
use std::path::PathBuf;

use staged::Staged;

use super::Common;
use crate::fault::{Fault, Outcome, reason};

/// What a view writes to.
pub(super) trait Sink: Write + Seek {}
impl<T: Write + Seek> Sink for T {}

/// Whether a page is text or bytes; bytes are not sent to a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// Lines of text.
    Text,
    /// A file format that a terminal would choke on.
    Bytes,
}

/// What writes a page, once it is known where it goes.
pub(super) type Body<'a> = Box<dyn FnOnce(&mut dyn Sink) -> io::Result<()> + 'a>;

/// Writes the page that `body` makes to where the flags say.
///
/// A file appears under its name only once it is complete. A closed pipe is a reader who has seen enough: no error.
///
/// # Errors
/// The file exists and `--force` was not given, or is one that was read; it cannot be written; bytes were about to go
/// to a terminal.
pub(super) fn write(
    common: &Common,
    content: Content,
    body: impl FnOnce(&mut dyn Sink) -> io::Result<()>,
) -> Outcome<()> {
    match common.output.as_ref().filter(|path| path.as_os_str() != "-") {
        Some(path) => Staged::write(path, common.force, body)?.settle(),
        None if content == Content::Bytes && io::stdout().is_terminal() => Err(Fault::new(
            "this format is bytes, and standard output is a terminal",
            "a terminal cannot show them",
            "add --output FILE, or pipe it into a program",
        )
        .into()),
        None => to_stdout(content, body),
    }
}

/// Refuses already now what [`write`] will refuse: before anything is asked or computed.
///
/// # Errors
/// The file exists and `--force` was not given; there is no place for it.
pub(super) fn look_ahead(common: &Common) -> Outcome<()> {
    match common.output.as_ref().filter(|path| path.as_os_str() != "-") {
        Some(path) => staged::place(path, common.force).map(|_| ()),
        None => Ok(()),
    }
}

/// Writes several files. None appears under its name before all of them are complete.
///
/// # Errors
/// As [`write`]; nothing is written then, unless a file comes to stand in the way of a later one at the last moment.
pub(super) fn write_together(files: &[(PathBuf, &str)], force: bool) -> Outcome<()> {
    let stage =
        |(path, text): &(PathBuf, &str)| Staged::write(path, force, |out| out.write_all(text.as_bytes()));
    let staged: Outcome<Vec<Staged>> = files.iter().map(stage).collect();
    staged?.into_iter().try_for_each(Staged::settle)
}

fn to_stdout(content: Content, body: impl FnOnce(&mut dyn Sink) -> io::Result<()>) -> Outcome<()> {
    let mut out = Forward { inner: BufWriter::with_capacity(1 << 16, io::stdout().lock()), closed: false };
    let written = match content {
        // Formats that seek are made in memory; text goes out as it comes.
        Content::Bytes => {
            let mut bytes = Cursor::new(Vec::new());
            body(&mut bytes).and_then(|()| out.write_all(bytes.get_ref()))
        }
        Content::Text => body(&mut out),
    };
    match written.and_then(|()| out.flush()) {
        Err(error) if !out.closed => Err(unprintable(&error).into()),
        _ => Ok(()),
    }
}

/// What to say where a page cannot be printed.
pub fn unprintable(error: &io::Error) -> Fault {
    Fault::new(
        "standard output cannot be written to",
        reason(error),
        "see whether the disk behind it is full",
    )
}

/// A writer that cannot go back, and knows whether its reader has gone: the libraries that write formats wrap errors.
struct Forward<W> {
    inner: W,
    closed: bool,
}

impl<W> Forward<W> {
    fn note<T>(&mut self, outcome: io::Result<T>) -> io::Result<T> {
        self.closed |= outcome.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
        outcome
    }
}

impl<W: Write> Write for Forward<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes);
        self.note(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.inner.flush();
        self.note(flushed)
    }
}

impl<W> Seek for Forward<W> {
    fn seek(&mut self, _: io::SeekFrom) -> io::Result<u64> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
