//! A lesson file in, a [`Problem`] out.
//!
//! ```text
//! text ──> guard (events) ──> values ──> file (keys as typed) ──> rules (what must hold) ──> Problem
//!                                          every fault on the way ──> places (line and column) ──> Faults
//! ```
//!
//! The guard refuses what could hurt; [`parse`] then looks at everything before it says what is wrong. In faults a path counts
//! from 1, like every place that people read: `inputs.x[2][3]` is the third number of the second row.

mod arrays_in;
#[cfg(test)]
mod broken;
mod budget;
pub mod builtin;
mod change;
mod checkpoint;
mod claims;
pub mod course;
mod ffn;
mod file;
mod grammar;
mod guard;
mod layers;
mod literal;
mod masks;
mod no_lesson;
mod norm;
mod packing;
mod places;
mod positions;
mod projections;
pub mod quantity;
mod random;
mod reader;
mod rules;
pub mod schema;
mod sentence;
mod sizes;
mod step_names;
mod story;
pub mod template;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use nalgebra::DMatrix;

use crate::arrays;
use crate::fault::{Fault, Faults, Outcome, Place, reason};
use crate::limits::{FAULTS, LESSON_BYTES};
use crate::plan::{Attention, Layers, StepId};

pub use change::{Origin, merged, substituted};
pub use course::Course;
pub use quantity::Quantity;
pub(crate) use random::direction;
pub use sentence::{Piece, pieces};

/// The language in which a lesson's texts are given, where it has them in several.
pub use crate::words::Language;

/// How a lesson is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The language of its texts; a text that is only there in the other one is given in that.
    pub language: Language,
    /// Whether files outside the lesson's folder may be named in it (`--allow-outside`).
    pub allow_outside: bool,
    /// Whether claims get their places, and tolerances from the digits typed: another pass over the text, which a verb
    /// that checks no claims does without (they are then `None` and NaN).
    pub pin_claims: bool,
    /// Whether the course of a lesson of our own is read: a verb that does not teach it does without. A person's own
    /// lesson is read whole, so that everything wrong with it is told.
    pub teaches: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { language: Language::default(), allow_outside: false, pin_claims: true, teaches: true }
    }
}

/// Reads a lesson file; `-` is standard input, whose files are relative to the current folder.
///
/// # Errors
/// The file cannot be read, or everything that is wrong with the lesson: see [`parse`].
pub fn load(path: &Path, options: &Options) -> Outcome<Problem> {
    if path.as_os_str() == "-" {
        let text = text_of(std::io::stdin().lock(), "standard input")?;
        return parse(&text, "standard input", Path::new("."), options);
    }
    let source = path.display().to_string();
    let file = open(path).map_err(|fault| fault.in_source(source.clone()))?;
    let text = text_of(file, &source)?;
    parse(&text, &source, path.parent().unwrap_or(Path::new(".")), options)
}

fn open(path: &Path) -> Result<File, Fault> {
    let found = std::fs::metadata(path).map_err(|error| cannot_open(path, &error))?;
    if found.is_dir() {
        let why = "a lesson is one file";
        return Err(Fault::new(format!("{} is a folder", path.display()), why, "name a lesson file in it"));
    }
    if arrays::could_wait_for_ever(path, &found) {
        let what = format!("{} is a pipe or a device, not a file", path.display());
        return Err(Fault::new(
            what,
            "reading it could wait for ever",
            "name a file, or - for standard input",
        ));
    }
    if let Some(fault) = no_lesson::by_its_ending(path) {
        return Err(fault);
    }
    let file = File::open(path).map_err(|error| cannot_open(path, &error))?;
    arrays::reads(path);
    Ok(file)
}

fn cannot_open(path: &Path, error: &std::io::Error) -> Fault {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let names = builtin::all().iter().map(|lesson| lesson.name);
    let could_be_ours =
        path.extension().is_none_or(|ending| ["yaml", "yml"].iter().any(|known| ending == *known));
    let remedy = match reader::near(&stem, names).filter(|_| could_be_ours) {
        Some(near) => format!("did you mean the built-in lesson {near}?"),
        None => arrays::did_you_mean(path),
    };
    Fault::new(format!("{} cannot be opened", path.display()), reason(error), remedy)
}

/// The text of a file, as far as it may be long.
fn text_of(file: impl Read, source: &str) -> Outcome<String> {
    let mut bytes = Vec::new();
    let limit = LESSON_BYTES as u64 + 1;
    if let Err(error) = file.take(limit).read_to_end(&mut bytes) {
        let fault =
            Fault::new(format!("{source} cannot be read"), reason(&error), "copy it, and try with the copy");
        return Err(Faults::from(fault.in_source(source)));
    }
    if bytes.len() > LESSON_BYTES {
        let what = format!("{source} is longer than the {} bytes that are read", LESSON_BYTES);
        let remedy = "keep large arrays in files of their own: {file: w.npy}";
        return Err(Faults::from(
            Fault::new(what, "a lesson is a text that people read", remedy).in_source(source),
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        let bytes = error.as_bytes();
        let (why, remedy) = match arrays::is_utf16(bytes) {
            true => (arrays::UTF16.to_owned(), arrays::TO_UTF8),
            false => {
                (format!("byte {} is not UTF-8", error.utf8_error().valid_up_to() + 1), "save it as UTF-8")
            }
        };
        let before = String::from_utf8_lossy(&bytes[..error.utf8_error().valid_up_to()]);
        let line_column = Some(guard::line_column_of(&before, before.len()));
        let place = Place { source: source.to_owned(), line_column, ..Place::default() };
        Fault::new(format!("{source} is not a text in UTF-8"), why, remedy).at(place).into()
    })
}

/// Reads a lesson from its text. `source` is its name in faults, `folder` what its files are relative to.
///
/// ```
/// use mha::lesson::{Options, parse};
/// use std::path::Path;
/// let text = "
/// attention: {num_heads: 2}
/// inputs: {x: [[1, 0], [0, 1]]}
/// projections: {w_q: identity, w_k: identity, w_v: identity, w_o: none}
/// ";
/// let problem = parse(text, "small.yaml", Path::new("."), &Options::default()).unwrap();
/// assert_eq!(problem.attention.d_k, 1);
/// ```
///
/// # Errors
/// Everything that is wrong with the lesson, in the order of the file, each with line and column.
pub fn parse(text: &str, source: &str, folder: &Path, options: &Options) -> Outcome<Problem> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = if text.trim_start().starts_with('{') { guard::join_surrogates(text) } else { text.into() };
    guard::check(&text, source, guard::Guarded::Lesson).map_err(Faults)?;
    parse_guarded(&text, source, folder, options)
}

/// The values of a YAML text that holds arrays and no lesson: names with nested lists, or one such list.
///
/// # Errors
/// What is refused in lessons for its form alone: aliases, tags, doubled keys, nesting, length, broken YAML.
pub(crate) fn guarded_arrays(text: &str, source: &str) -> Outcome<serde_yaml::Value> {
    guard::check(text, source, guard::Guarded::Arrays).map_err(Faults)?;
    guard::value(text, source).map_err(Faults::from)
}

/// Reads a lesson whose text is known to be harmless: our own, or one that the guard has seen.
fn parse_guarded(text: &str, source: &str, folder: &Path, options: &Options) -> Outcome<Problem> {
    let value = guard::value(text, source).map_err(Faults::from)?;
    let mut reader = reader::Reader::new(folder, options);
    let problem = file::read(&value, &mut reader).and_then(|file| rules::apply(file, &mut reader));
    let problem =
        problem.filter(|problem| reader.is_content() && rules::can_be_planned(problem, &mut reader));
    match problem {
        Some(mut problem) => {
            if options.pin_claims && !problem.claims.is_empty() {
                claims::pin(text, &mut problem.claims);
            }
            course::pin(text, &mut problem.course);
            problem.text = text.into();
            Ok(problem)
        }
        _ => {
            let (faults, untold) = reader.into_faults();
            Err(Faults(places::told(text, source, faults, untold)))
        }
    }
}

/// A worked example, read and checked: nobody downstream looks at its shapes again.
#[derive(Debug, Clone)]
pub struct Problem {
    /// Shown above everything.
    pub title: String,
    /// One sentence on what to notice; may be empty.
    pub summary: String,
    /// Where the example comes from; may be empty.
    pub source: String,
    /// The attention call; of a stack that of its first layer.
    pub attention: Attention,
    /// The stack of layers around it, where the lesson has one.
    pub layers: Option<Layers>,
    /// How many sequences stand in the batch; `None` where the input had no batch axis.
    pub batch: Option<usize>,
    /// What was given: in a stack `embedding`, `layer.L.w_q` …; else `x`, `x_kv` or `q`, `k`, `v` (a name each sequence in a batch), `w_q` … and `b_q` …
    /// (1 × width, shared by all sequences). No `w_o` where the lesson stops at concat.
    pub inputs: BTreeMap<StepId, Arc<DMatrix<f64>>>,
    /// Names of rows.
    pub labels: Labels,
    /// Told at a step, in order.
    pub story: Vec<Saying>,
    /// Checked whenever lessons are validated.
    pub claims: Vec<Claim>,
    /// Questions whose answers are computed.
    pub quiz: Vec<Question>,
    /// What it teaches, part by part; empty where the section `course` is left out.
    pub course: Course,
    /// How it is read once more, with changes.
    pub origin: Origin,
    /// What the lesson was read from, so that a line of it can be shown.
    pub text: Arc<str>,
}

/// Names of the tokens.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Labels {
    /// One a query (n_q).
    pub queries: Vec<String>,
    /// One a key (n_kv).
    pub keys: Vec<String>,
}

/// A sentence told at a step; `{step[r,c]}` stands for a computed number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saying {
    /// The step at which it is told.
    pub at: StepId,
    /// The sentence.
    pub say: String,
}

/// Something a lesson states about its own numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// What it states.
    pub said: Said,
    /// Line and column in the lesson file, from 1.
    pub place: Option<(usize, usize)>,
}

/// What a claim states.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// Numbers of a step, as they were typed.
    Numbers(Listed),
    /// A comparison: `that: "entropy(head.1.weights[3]) < 1"`.
    That(Quantity),
}

/// Numbers of a step, as a lesson claims them.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// The step.
    pub step: StepId,
    /// The run; `None` is the lesson itself.
    pub run: Option<String>,
    /// The row, from 0; `None` means the whole matrix.
    pub row: Option<usize>,
    /// The column, from 0.
    pub column: Option<usize>,
    /// The numbers claimed: rows of equal length.
    pub equals: Vec<Vec<f64>>,
    /// How far off a number may be: half a unit of the last digit typed.
    pub tolerance: f64,
}

/// A question of the lesson: predict, then see.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Its name in the file of progress: what the lesson calls it (`id`), or else a hash of the English question, so that
    /// it stays the same in both languages and wherever the question is moved to.
    pub id: String,
    /// The question.
    pub ask: String,
    /// How it is answered.
    pub answer: Answer,
    /// Said after the answer; may be empty.
    pub because: String,
    /// Help, one layer after the other, each only where it is asked for; where they are left out they are computed from
    /// the plan.
    pub hints: Hints,
    /// What wrong answers give away, beside what is found by itself.
    pub wrong: Vec<Slip>,
}

/// Help with a question, in the order in which it is given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hints {
    /// A nudge.
    pub hint: Option<String>,
    /// Where to look.
    pub place: Option<String>,
    /// Why it comes out as it does, all but the number.
    pub why: Option<String>,
}

/// A wrong answer, and what it gives away.
#[derive(Debug, Clone, PartialEq)]
pub struct Slip {
    /// The wrong answer.
    pub answer: SlipAnswer,
    /// What is said to whoever gives it; may be empty where a mistake or a myth speaks for itself.
    pub say: String,
    /// The myth behind it, by its name.
    pub myth: Option<String>,
}

/// A wrong answer that is waited for.
#[derive(Debug, Clone, PartialEq)]
pub enum SlipAnswer {
    /// A number, computed.
    Value(Quantity),
    /// What the question asks for comes out so with this mistake (`scale-missing`).
    Mistake(String),
    /// One of the choices (from 0).
    Choice(usize),
}

/// How a question is answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// By one computed number: step, row, column (from 0).
    Cell(StepId, usize, usize),
    /// By a computed number, or by several in a row (a row of weights).
    Value(Quantity),
    /// By the shape of a step: `3 × 4`.
    Shape(StepId),
    /// By one of several choices (index from 0).
    Choice(Vec<String>, usize),
    /// By one of several choices, of which the right one (from 1) is computed.
    Computed(Vec<String>, Quantity),
}

impl Problem {
    /// Faults of what the lesson says, at the paths of their values (`course[3].say`), each with line and column; those that
    /// are too many are counted.
    pub fn told(&self, source: &str, found: Vec<(Fault, String)>) -> Vec<Fault> {
        let untold = found.len().saturating_sub(FAULTS);
        let found = found.into_iter().take(FAULTS);
        let spotted = found.map(|(fault, path)| (fault, reader::Spot::at(path))).collect();
        places::told(&self.text, source, spotted, untold)
    }

    /// A problem that comes from a model's weights and a text: nothing is told about it but its title and a summary.
    pub(crate) fn of_a_model(
        call: crate::plan::Call,
        title: String,
        summary: String,
        labels: Labels,
    ) -> Self {
        Self {
            title,
            summary,
            source: String::new(),
            attention: call.attention,
            layers: call.layers,
            batch: call.batch,
            inputs: call.inputs,
            labels,
            story: Vec::new(),
            claims: Vec::new(),
            quiz: Vec::new(),
            course: Course::default(),
            origin: Origin::new(Path::new(""), &Options::default()),
            text: Arc::from(""),
        }
    }

    /// Plans the attention call and runs the plan.
    ///
    /// # Errors
    /// What [`crate::plan::attention::plan`] and [`crate::trace::run_plan`] refuse.
    pub fn run<T: crate::ops::Real>(
        &self,
        keep: &crate::trace::Keep,
        arithmetic: crate::ops::Arithmetic,
    ) -> Outcome<crate::trace::Trace<T>> {
        let plan = crate::plan::attention::plan(&self.call()).map_err(crate::fault::Faults::from)?;
        crate::trace::run_plan(Arc::new(plan), &crate::plan::inputs_as(&self.inputs), keep, arithmetic)
    }

    /// The attention call with its numbers; matrices are shared, not copied.
    pub fn call(&self) -> crate::plan::Call {
        crate::plan::Call {
            attention: self.attention.clone(),
            layers: self.layers.clone(),
            batch: self.batch,
            inputs: self.inputs.clone(),
            elsewhere: crate::plan::Shapes::new(),
        }
    }
}
