//! A file that is written beside its place, and moved there once it is complete.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use tempfile::TempPath;

use super::Sink;
use crate::arrays;
use crate::cli::signals;
use crate::fault::{Fault, Outcome, reason};

/// Files that stand beside their places; a signal that ends this process has them removed first. Whoever holds the lock
/// is making, moving or removing one.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A complete file beside its place. Dropped instead of settled, it is gone.
pub(super) struct Staged {
    file: TempPath,
    place: PathBuf,
    /// The place as the person named it.
    shown: String,
    force: bool,
}

impl Staged {
    /// Writes what `body` makes beside the place that it is meant for.
    ///
    /// # Errors
    /// Something stands there and is not to be replaced; there is no place for a file; it cannot be written.
    pub(super) fn write(
        path: &Path,
        force: bool,
        body: impl FnOnce(&mut dyn Sink) -> io::Result<()>,
    ) -> Outcome<Self> {
        let shown = path.display().to_string();
        let place = place(path, force)?;
        let failed = |error| unwritable(&error, &shown);
        static HEEDING: Once = Once::new();
        HEEDING.call_once(|| signals::remove_before_the_end(remove_unfinished));
        // Beside its place, so that moving it there is one step; removed by itself if anything fails before.
        let (mut file, beside) = {
            let mut unfinished = unfinished();
            let (file, beside) = beside().tempfile_in(folder_of(&place)).map_err(failed)?.into_parts();
            unfinished.insert(beside.to_path_buf());
            (file, beside)
        };
        let staged = Self { file: beside, place, shown: shown.clone(), force };
        let mut out = BufWriter::new(&mut file);
        body(&mut out).and_then(|()| out.flush()).map_err(failed)?;
        drop(out);
        // A network's disk may say only now that it is full; and what is replaced below is gone for good.
        file.sync_data().map_err(failed)?;
        if let Ok(replaced) = fs::metadata(&staged.place) {
            file.set_permissions(replaced.permissions()).map_err(failed)?;
        }
        Ok(staged)
    }

    /// Moves the file to its place.
    ///
    /// # Errors
    /// Something has come to stand there meanwhile; it cannot be moved.
    pub(super) fn settle(self) -> Outcome<()> {
        let mut unfinished = unfinished();
        unfinished.remove::<Path>(&self.file);
        let moved = match self.force {
            true => self.file.persist(&self.place),
            false => self.file.persist_noclobber(&self.place),
        };
        moved.map_err(|error| unwritable(&error.error, &self.shown).into())
    }
}

/// Where a file that a person named is to stand: what a link leads to, not the link.
///
/// # Errors
/// Something stands there and is not to be replaced; there is no folder that it could stand in.
pub(super) fn place(path: &Path, force: bool) -> Outcome<PathBuf> {
    let shown = path.display().to_string();
    let refused = |what: &str, why: String, remedy: &str| {
        Err(Fault::new(what, why, remedy).in_source(shown.clone()).into())
    };
    if path.is_dir() || shown.ends_with(std::path::is_separator) {
        return refused("--output names a folder", "a page is one file".to_owned(), "name a file inside it");
    }
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        let why = "a page is written beside its place and then moved there, which would replace the device";
        let remedy = "leave out --output, and send standard output there with >";
        return refused("--output names a pipe or a device", why.to_owned(), remedy);
    }
    if arrays::was_read(path) {
        let what = "--output names a file that was read for this page";
        return refused(what, "the page would take its place".to_owned(), "name another file");
    }
    let Ok(found) = fs::symlink_metadata(path) else {
        return match fs::metadata(folder_of(path)) {
            Ok(folder) if folder.is_dir() => Ok(path.to_owned()),
            Ok(_) => Err(unwritable(&io::ErrorKind::NotADirectory.into(), &shown).into()),
            Err(error) => Err(unwritable(&error, &shown).into()),
        };
    };
    match fs::canonicalize(path) {
        Err(error) if found.is_symlink() => {
            let what = "--output names a link that leads nowhere";
            refused(what, reason(&error), "remove the link, or name another file")
        }
        _ if !force => Err(exists(&shown).into()),
        Ok(whole) => Ok(whole),
        Err(_) => Ok(path.to_owned()),
    }
}

fn exists(shown: &str) -> Fault {
    let remedy = "add --force to replace it, or name another file";
    Fault::new("the output file exists", "nothing is replaced unless you say so", remedy).in_source(shown)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn unwritable(error: &io::Error, shown: &str) -> Fault {
    let remedy = match error.kind() {
        io::ErrorKind::AlreadyExists => return exists(shown),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room, or name a place on another disk"
        }
        io::ErrorKind::NotFound => "make the folder first, or name one that is there",
        _ => "name a place you may write to",
    };
    Fault::new("the output file cannot be written", reason(error), remedy).in_source(shown)
}

/// Called last: from here on none is made or moved any more, so the lock is kept.
fn remove_unfinished() {
    let unfinished = unfinished();
    for file in unfinished.iter() {
        // What is not there any more need not be removed.
        let _ = fs::remove_file(file);
    }
    std::mem::forget(unfinished);
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
