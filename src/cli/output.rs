//! Where a page goes: standard output, or a file that is written whole or not at all.

use std::fs;
use std::io::{self, BufWriter, Cursor, IsTerminal, Seek, Write};
use std::path::Path;

use super::Common;
use crate::fault::{Fault, Outcome};

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
    match &common.output {
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
    let written = match content {
        // Formats that seek are made in memory; text goes out as it comes.
        Content::Bytes => {
            let mut bytes = Cursor::new(Vec::new());
            body(&mut bytes).and_then(|()| io::stdout().lock().write_all(bytes.get_ref()))
        }
        Content::Text => {
            let mut out = Forward(BufWriter::with_capacity(1 << 16, io::stdout().lock()));
            body(&mut out).and_then(|()| out.flush())
        }
    };
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Fault::new(
            "standard output cannot be written to",
            error.to_string(),
            "see whether the disk behind it is full",
        )
        .into()),
        _ => Ok(()),
    }
}

/// A writer that cannot go back.
struct Forward<W>(W);

impl<W: Write> Write for Forward<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<W> Seek for Forward<W> {
    fn seek(&mut self, _: io::SeekFrom) -> io::Result<u64> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

fn to_file(path: &Path, force: bool, body: impl FnOnce(&mut dyn Sink) -> io::Result<()>) -> Outcome<()> {
    let shown = path.display().to_string();
    if path.is_dir() {
        return Err(Fault::new("--output names a folder", "a page is one file", "name a file inside it")
            .in_source(shown)
            .into());
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
        Fault::new("the output file cannot be written", error.to_string(), "name a place you may write to")
            .in_source(shown.clone())
    };
    if !force && fs::symlink_metadata(path).is_ok() {
        return Err(exists().into());
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // Beside its place, so that moving it there is one step; removed by itself if anything fails before.
    let mut file = tempfile::Builder::new().prefix(".mha-").tempfile_in(folder).map_err(failed)?;
    let mut out = BufWriter::new(file.as_file_mut());
    body(&mut out).and_then(|()| out.flush()).map_err(failed)?;
    drop(out);
    share(file.as_file()).map_err(failed)?;
    let moved = if force { file.persist(path) } else { file.persist_noclobber(path) };
    moved.map_err(|error| failed(error.error))?;
    Ok(())
}

/// A temporary file is private; what a person asked for has the permissions of any other file of theirs.
#[cfg(unix)]
fn share(file: &fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn share(_: &fs::File) -> io::Result<()> {
    Ok(())
}
