//! Nothing that a person has is lost: files are written whole or not at all, what was learnt is kept, and a terminal is
//! left as it was found, however `mha` ends.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "nothing_lost/outputs.rs"]
mod outputs;
#[path = "nothing_lost/progress.rs"]
mod progress;
#[path = "common/run.rs"]
mod run;
#[path = "nothing_lost/signals.rs"]
mod signals;
#[path = "nothing_lost/terminals.rs"]
mod terminals;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A lesson whose trace is a page of some kilobytes.
const LESSON: &str = "attention: {num_heads: 2}\ninputs: {x: [[1, 0, 2, 1], [0, 1, 1, 0], [1, 1, 0, 2]]}\n\
                      projections: {w_q: identity, w_k: identity, w_v: identity, w_o: identity}\n";

/// A folder with that lesson in it.
fn room() -> tempfile::TempDir {
    let room = tempfile::tempdir().unwrap();
    fs::write(room.path().join("lesson.yaml"), LESSON).unwrap();
    room
}

/// Everything in a folder, hidden files too, with what is in each: what a link leads to, nothing for a folder.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, fs::read(entry.path()).unwrap_or_default())
        })
        .collect()
}

/// Files that are as long as this (in blocks of 512 or 1,024 bytes, as the shell counts them) are as long as they can
/// be: what a full disk does, without one.
const FULL: &str = "ulimit -f 1";
