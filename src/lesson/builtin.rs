//! The lessons that come with the program.

use std::borrow::Cow;
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
    "turned-together",
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
    let source = format!("{}.yaml", lesson.name);
    let example = if options.teaches { lesson.text.into() } else { without_course(lesson.text) };
    parse_guarded(&example, &source, Path::new("."), options)
}

/// The text of a lesson without its section `course`: from that key to the next one that is not indented.
fn without_course(text: &str) -> Cow<'_, str> {
    let Some(from) = text.find("\ncourse:").map(|at| at + 1) else { return text.into() };
    let mut to = text.len();
    let mut at = from;
    for line in text[from..].split_inclusive('\n') {
        if at > from && line.starts_with(|c: char| c.is_ascii_lowercase()) {
            to = at;
            break;
        }
        at += line.len();
    }
    [&text[..from], &text[to..]].concat().into()
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
    fn an_example_is_its_lesson_without_the_course() {
        for lesson in all() {
            let whole = load(lesson, &Options::default()).unwrap();
            let example = load(lesson, &Options { teaches: false, ..Options::default() }).unwrap();
            assert!(example.course.parts.is_empty(), "{}", lesson.name);
            assert_eq!(example.inputs, whole.inputs, "{}", lesson.name);
            assert_eq!(example.course.runs, whole.course.runs, "{}", lesson.name);
            assert_eq!(example.story, whole.story, "{}", lesson.name);
            assert_eq!(example.claims.len(), whole.claims.len(), "{}", lesson.name);
            assert_eq!(example.quiz, whole.quiz, "{}", lesson.name);
        }
    }

    #[test]
    fn lessons_are_found_by_name() {
        assert_eq!(find("two-heads").map(|lesson| lesson.name), Some("two-heads"));
        assert_eq!(find("three-heads"), None);
    }
}
