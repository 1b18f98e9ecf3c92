//! The whole of what is said about the lessons in `tests/faulty`, one mistake a file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{listing, run, tame};

const SNAPSHOTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots");

fn faulty() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faulty")
}

/// Everything that is said about a lesson of the folder, as a page `fault-NAME`.
#[test]
fn a_fault_is_a_page_that_says_what_where_why_and_what_to_try() {
    let folder = faulty();
    let files = listing(&folder);
    for file in &files {
        let name = file.strip_suffix(".yaml").expect("lessons only");
        // Two lessons can be computed, and what they say of themselves is wrong.
        let untrue = ["false-claim", "story-off-the-page"].contains(&name);
        let (args, status) =
            if untrue { (["lessons", "validate"].as_slice(), 1) } else { (["trace"].as_slice(), 2) };
        let run = run::run(&folder, &[args, &[file]].concat());
        assert_eq!(run.status, Some(status), "{file}:\n{}{}", run.out, run.err);
        let (page, silent) = if untrue { (&run.out, &run.err) } else { (&run.err, &run.out) };
        assert_eq!(silent, "", "{file}");
        tame(file, page);
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(SNAPSHOTS);
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(format!("fault-{name}"), page));
    }
    assert_eq!(listing(&folder), files, "something was written");
}

/// insta does not notice a page whose lesson has gone.
#[test]
fn every_page_of_a_fault_has_its_lesson() {
    let pages: BTreeSet<String> = listing(Path::new(SNAPSHOTS))
        .iter()
        .filter_map(|name| name.strip_prefix("fault-")?.strip_suffix(".snap").map(str::to_owned))
        .collect();
    let lessons: BTreeSet<String> =
        listing(&faulty()).iter().filter_map(|name| name.strip_suffix(".yaml").map(str::to_owned)).collect();
    assert_eq!(pages, lessons);
}
