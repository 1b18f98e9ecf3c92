//! Which files this process reads, so that none of them is replaced by what is made from it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Their whole paths, links followed.
static READ: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Notes that a file is read. Whoever opens a file that a person named says so here.
pub(crate) fn reads(path: &Path) {
    // What has no whole path is not there: nothing can be lost.
    if let Ok(whole) = fs::canonicalize(path) {
        READ.lock().unwrap_or_else(PoisonError::into_inner).insert(whole);
    }
}

/// Whether a file is one that was read, whatever it is called: `x`, `./x`, a link to it.
pub(crate) fn was_read(path: &Path) -> bool {
    fs::canonicalize(path)
        .is_ok_and(|whole| READ.lock().unwrap_or_else(PoisonError::into_inner).contains(&whole))
}
