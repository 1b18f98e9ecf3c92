//! Where a page goes: standard output, or a file that is written whole or not at all.

use std::fs;
use std::io::{self, BufWriter, Cursor, IsTerminal, Seek, Write};
use std::path::Path;

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
/// The file exists and `--force` was not given; it cannot be written; bytes were about to go to a terminal.
pub(super) fn write(
    common: &Common,
    content: Content,
    body: impl FnOnce(&mut dyn Sink) -> io::Result<()>,
) -> Outcome<()> {
    match common.output.as_ref().filter(|path| path.as_os_str() != "-") {
        Some(path) => to_file(path, common.force, body),
        None if content == Content::Bytes && io::stdout().is_terminal() => Err(Fault::new(
            "this format is bytes, and standard output is a terminal",
            "a terminal cannot show them",
            "add --output FILE, or pipe it into a program",
        )
        .into()),
        None => to_stdout(content, body),
    }
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
        Err(error) if !out.closed => Err(Fault::new(
            "standard output cannot be written to",
            reason(&error),
            "see whether the disk behind it is full",
        )
        .into()),
        _ => Ok(()),
    }
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

fn to_file(path: &Path, force: bool, body: impl FnOnce(&mut dyn Sink) -> io::Result<()>) -> Outcome<()> {
    let shown = path.display().to_string();
    let a_folder = path.is_dir() || shown.ends_with(std::path::is_separator);
    if a_folder {
        return Err(Fault::new("--output names a folder", "a page is one file", "name a file inside it")
            .in_source(shown)
            .into());
    }
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        let why = "a page is written beside its place and then moved there, which would replace the device";
        let remedy = "leave --output away, and send standard output there with >";
        return Err(Fault::new("--output names a pipe or a device", why, remedy).in_source(shown).into());
    }
    let exists = || {
        Fault::new(
            "the output file exists",
            "nothing is replaced unless you say so",
            "add --force to replace it, or name another file",
        )
        .in_source(shown.clone())
    };
    let failed = |error: io::Error| {
        if error.kind() == io::ErrorKind::AlreadyExists {
            return exists();
        }
        Fault::new("the output file cannot be written", reason(&error), "name a place you may write to")
            .in_source(shown.clone())
    };
    if !force && fs::symlink_metadata(path).is_ok() {
        return Err(exists().into());
    }
    // A link is followed: what it points to is replaced, not the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let path = target.as_path();
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // Beside its place, so that moving it there is one step; removed by itself if anything fails before.
    let mut file = beside().tempfile_in(folder).map_err(failed)?;
    let mut out = BufWriter::new(file.as_file_mut());
    body(&mut out).and_then(|()| out.flush()).map_err(failed)?;
    drop(out);
    if let Ok(replaced) = fs::metadata(path) {
        file.as_file().set_permissions(replaced.permissions()).map_err(failed)?;
    }
    let moved = if force { file.persist(path) } else { file.persist_noclobber(path) };
    moved.map_err(|error| failed(error.error))?;
    Ok(())
}

/// A temporary file is private unless told otherwise; what a person asked for is as open as their other files.
fn beside() -> tempfile::Builder<'static, 'static> {
    let mut beside = tempfile::Builder::new();
    beside.prefix(".mha-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        beside.permissions(fs::Permissions::from_mode(0o666)); // less what the umask takes
    }
    beside
}
