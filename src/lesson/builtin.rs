//! The lessons that come with the program.

use std::path::Path;

use super::{Options, Problem, parse_guarded};
use crate::fault::Outcome;

/// A lesson in the binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builtin {
    /// Its name, as `mha trace NAME` takes it.
    pub name: &'static str,
    /// The lesson file.
    pub text: &'static str,
}

macro_rules! lessons {
    ($($name:literal),* $(,)?) => {
        &[$(Builtin { name: $name, text: include_str!(concat!("../../lessons/", $name, ".yaml")) }),*]
    };
}

/// In the order in which they are best read; the first is the default of `mha trace`.
const LESSONS: &[Builtin] = lessons![
    "two-heads",
    "single-head",
    "one-distribution",
    "width-and-depth",
    "scaling",
    "large-numbers",
    "output-projection",
    "averaging",
    "parameters",
    "compute",
    "low-rank",
    "head-count",
    "masks",
    "mask-conventions",
    "padded-batch",
    "window-alibi",
    "cross-attention",
    "wait-for-it",
    "one-big-matmul",
    "pitfalls",
    "telltale",
    "two-sequences",
    "flash",
    "mqa-gqa",
    "grouped-query",
    "head-types",
    "induction",
    "not-an-explanation",
    "pruning",
    "stability",
    "start-of-training",
    "myths",
    "rope",
];

/// All of them.
pub fn all() -> &'static [Builtin] {
    LESSONS
}

/// Reads a lesson of our own: it needs no guard, since tests have seen that it passes it.
///
/// # Errors
/// None, as long as the lessons that come with `mha` are right.
pub fn load(lesson: &Builtin, options: &Options) -> Outcome<Problem> {
    parse_guarded(lesson.text, &format!("{}.yaml", lesson.name), Path::new("."), options)
}

/// The lesson of that name.
pub fn find(name: &str) -> Option<&'static Builtin> {
    LESSONS.iter().find(|lesson| lesson.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson::parse;

    #[test]
    fn every_lesson_loads() {
        for lesson in all() {
            let problem = parse(lesson.text, lesson.name, Path::new("."), &Options::default());
            assert!(problem.is_ok(), "{}\n{}", lesson.name, problem.err().unwrap());
        }
    }

    #[test]
    fn lessons_are_found_by_name() {
        assert_eq!(find("two-heads").map(|lesson| lesson.name), Some("two-heads"));
        assert_eq!(find("three-heads"), None);
    }
}
