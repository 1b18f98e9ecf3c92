//! What a lesson teaches, part by part: the section `course`, with the runs that it compares.
//!
//! These are the parts as they were written; the room `course` computes, tells and asks them.

mod figures;
mod most;
mod parts;
mod questions;
mod runs;
mod tasks;
#[cfg(test)]
mod tests;

use serde_yaml::Value;

pub(super) use figures::{pin, quantity};
pub(super) use most::keep;
pub(super) use parts::{read as parts, sentence, step_in_run, topics};
pub use questions::MYTHS;
pub(super) use questions::read as questions;
pub(super) use runs::read as runs;

use super::{Quantity, Question};
use crate::plan::StepId;

/// What a lesson teaches, in order. Without a section `course` it follows from the story and the quiz.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Course {
    /// The topics that it belongs to, from 1 (`topics: [3]`): their order is that of the course.
    pub topics: Vec<u8>,
    /// Other ways to compute the lesson, by the names that its parts call them.
    pub runs: Vec<Run>,
    /// Told and asked one after the other.
    pub parts: Vec<Part>,
}

/// Another way to compute the lesson: `runs: {one: {variant: single-head}}`, read as `head.1.weights@one`.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// What it is called after an `@`.
    pub name: String,
    /// The run that it starts from; `None` is the lesson itself.
    pub from: Option<String>,
    /// Keys of the lesson file that are replaced first: sections are merged, anything else takes the place of what stood
    /// there, null takes it away. Null where nothing changes.
    pub change: Value,
    /// What is done to the plan afterwards, in order.
    pub rewrites: Vec<Rewrite>,
}

/// What a run does to the plan.
#[derive(Debug, Clone, PartialEq)]
pub enum Rewrite {
    /// A variant as `mha compare --variants` names it.
    Variant(String),
    /// A known mistake, or a form of it: `scale-missing`, `mask-inverted/…`.
    Mistake(String),
    /// A head's output replaced by zeros (`head.2` or `layer.1.head.2`).
    ZeroHead(String),
    /// In every row of a head's weights two columns (keys, from 0) trade places.
    SwapKeys {
        /// The head, as in [`Rewrite::ZeroHead`].
        head: String,
        /// The two keys.
        keys: [usize; 2],
    },
}

/// A step, in the lesson itself or in one of its runs: `head.1.weights@one`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The step.
    pub step: StepId,
    /// The run; `None` is the lesson itself.
    pub run: Option<String>,
}

/// A part of a course.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// A paragraph; `{…}` in it are computed.
    Say(String),
    /// Steps as tables, or as heat maps side by side.
    Show {
        /// Which.
        steps: Vec<Shown>,
        /// How.
        look: Look,
    },
    /// Predict before it is revealed.
    Ask(Question),
    /// Change one thing and run it.
    Task(Task),
    /// Figures side by side.
    Table(Figures),
    /// A curve says more than a table.
    Plot(Plot),
    /// A command of `mha` with what it prints.
    Command(Command),
    /// How long runs take on this machine.
    Time(Timing),
}

/// How steps are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Look {
    /// A table each.
    #[default]
    Table,
    /// Heat maps, side by side where there is room.
    Heatmap,
}

/// A table of figures, computed or cited.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// What it shows.
    pub title: String,
    /// The heads of its columns; the first is that of the rows' names.
    pub columns: Vec<String>,
    /// Its rows: as many cells as there are columns.
    pub rows: Vec<Vec<Figure>>,
    /// Where numbers that are not computed come from; may be empty.
    pub source: String,
}

/// A cell of a table of figures.
#[derive(Debug, Clone, PartialEq)]
pub enum Figure {
    /// Words, or a number that is cited as it was published.
    Words(String),
    /// A computed number: `= entropy(head.1.weights[3])`.
    Computed(Quantity),
}

/// A plot of figures against a number that takes several values.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// What the horizontal axis is.
    pub label: String,
    /// The values that `$` takes, in increasing order.
    pub values: Vec<f64>,
    /// Keys of the lesson file that are replaced for each value, with `$` in it; null where nothing changes.
    pub change: Value,
    /// The curves.
    pub lines: Vec<Line>,
    /// Which axes are logarithmic: horizontal, vertical.
    pub log: [bool; 2],
}

/// A curve of a plot.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// What it is.
    pub label: String,
    /// Its height at each value of `$`.
    pub value: Quantity,
}

/// A command line of `mha`, shown with what it prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Its words, `mha` first.
    pub words: Vec<String>,
    /// The lines to show where not all are, from 1, both included.
    pub lines: Option<[usize; 2]>,
}

/// Runs that are timed on the machine of whoever reads the lesson.
#[derive(Debug, Clone, PartialEq)]
pub struct Timing {
    /// What it shows.
    pub title: String,
    /// The runs, with what they are called; `None` is the lesson itself. The first is what the others are compared with.
    pub runs: Vec<(String, Option<String>)>,
}

/// Something to change in the lesson until what is asked for holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// Its name in the file of progress: stays the same when the words change.
    pub id: String,
    /// What is to be reached.
    pub ask: String,
    /// The keys of the lesson file that may be changed, as paths: `inputs.x`, `attention.scale`.
    pub change: Vec<String>,
    /// What has to hold of the changed lesson.
    pub checks: Vec<Quantity>,
    /// Steps to show after every change.
    pub watch: Vec<Shown>,
    /// A change that reaches it.
    pub solution: Value,
    /// Given one after the other.
    pub hints: Vec<String>,
    /// Said when it is reached; may be empty.
    pub because: String,
}
