//! What a person is told when a request cannot be met: the first line, the place, exit status 2, nothing on standard
//! output and nothing written. Each row is a promise; most lessons have one mistake.

#![expect(clippy::unwrap_used, reason = "a test that cannot make its files has nothing to tell")]

#[path = "bad_input/answers.rs"]
mod answers;
#[path = "bad_input/arrays.rs"]
mod arrays;
#[path = "bad_input/beginners.rs"]
mod beginners;
#[path = "bad_input/command_lines.rs"]
mod command_lines;
#[path = "bad_input/course.rs"]
mod course;
#[path = "bad_input/files.rs"]
mod files;
#[path = "bad_input/lessons.rs"]
mod lessons;
#[path = "bad_input/pages.rs"]
mod pages;
#[path = "common/run.rs"]
mod run;
#[path = "bad_input/surroundings.rs"]
mod surroundings;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use run::Run;

/// The name of the lesson in each row's folder.
const LESSON: &str = "lesson.yaml";

/// A folder of its own for one row.
fn room() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Names of everything in a folder, hidden files too.
fn listing(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect()
}

/// Nothing that a terminal would obey.
#[track_caller]
fn tame(promise: &str, text: &str) {
    let obeyed = text.chars().find(|c| c.is_control() && !matches!(c, '\n'));
    assert_eq!(obeyed, None, "{promise}: a control character in\n{}", text.escape_debug());
}

/// The request is refused: status 2, no output, these first lines, and a remedy.
#[track_caller]
fn refused(promise: &str, run: &Run, first: &str, place: Option<&str>) {
    assert_eq!(run.status, Some(2), "{promise}: out {:?}, err\n{}", run.out, run.err);
    assert_eq!(run.out, "", "{promise}: something on standard output");
    tame(promise, &run.err);
    let mut lines = run.err.lines();
    assert_eq!(lines.next(), Some(format!("error: {first}").as_str()), "{promise}:\n{}", run.err);
    if let Some(place) = place {
        assert_eq!(lines.next(), Some(format!("  --> {place}").as_str()), "{promise}:\n{}", run.err);
        for fault in run.err.split("\n\n") {
            assert!(fault.contains("\n  try: "), "{promise}: no remedy in\n{fault}");
        }
    }
}

/// `mha trace lesson.yaml` is refused, and writes nothing, whether its page goes to standard output or to a file.
#[track_caller]
fn lesson_refused(promise: &str, folder: &Path, first: &str, place: &str) {
    let before = listing(folder);
    for args in [&["trace", LESSON][..], &["trace", LESSON, "--output", "page.txt"]] {
        refused(promise, &run::run(folder, args), first, Some(place));
        assert_eq!(listing(folder), before, "{promise}: something was written");
    }
}

/// A lesson whose text is given, in a folder of its own.
#[track_caller]
fn text_refused(promise: &str, text: impl AsRef<[u8]>, first: &str, place: &str) {
    let room = room();
    fs::write(room.path().join(LESSON), text).unwrap();
    lesson_refused(promise, room.path(), first, &format!("{LESSON}{place}"));
}
