//! `mha check`: a person's tensors beside the right ones, the first wrong step, and the mistake by its name.

mod model;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::lesson::{Files, Wanted};
use super::model::ModelArgs;
use super::output::{self, Content};
use super::{Common, Ending, complete, lesson, patience};
use crate::answers::{self, Answers, ORDER};
use crate::fault::{Fault, Outcome, shell_word};
use crate::lesson::builtin;
use crate::mistakes::Wrong;
use crate::mistakes::against::against;
use crate::mistakes::diagnose::diagnose;
use crate::plan::{Name, attention};
use crate::views::capture::{self, Library};
use crate::views::page::{Detail, Layout};
use crate::views::params::Words;
use crate::views::{against as against_view, check, check_json, part};

/// Find the first wrong step in your own tensors, and the mistake by its name
#[derive(Debug, Args)]
#[command(after_help = "\
Your tensors go under the names of the steps (q, k, v, q_heads, scores, weights, heads, concat, output, ...);
names that are widespread (attn_weights, context, out) are understood, --map gives others.
Any subset will do, in .npz, .npy, .safetensors, .json, .yaml or .csv.

With --model your tensors are those of your own port of the model, layer by layer: layer.4.scores, layer.4.hidden,
layer.4.ffn.up, embedding, final, and what transformers returns (hidden_states, attentions).

Exit status: 0 right, 1 wrong, 2 the request cannot be met.

Examples:
  mha check two-heads mine.npz
  mha check masks weights.npy output.npy
  mha check mine.yaml step.csv --map step=scores
  mha check mine.npz --against theirs.npz  two people's tensors, no lesson
  mha check --capture pytorch              lines that save your own steps
  mha check --model DIR --text 'The animal was too tired' port.npz")]
pub(super) struct CheckArgs {
    /// The lesson (a name from `mha lessons` or a file), then the files with your tensors; - is standard input
    #[arg(value_name = "LESSON ANSWERS", add = complete::lesson_then_tensors())]
    given: Vec<String>,
    #[command(flatten)]
    model: ModelArgs,
    /// Print the few lines of Python that save your own steps under the right names
    #[arg(long, value_name = "LIBRARY", conflicts_with_all = ["against", "map", "model"])]
    capture: Option<Capture>,
    /// Compare with this file's tensors instead of a lesson's
    #[arg(long, value_name = "FILE", conflicts_with = "model", add = complete::tensors())]
    against: Option<PathBuf>,
    /// Take your array (or file) THEIRS for the step OURS; may be given several times
    #[arg(long, value_name = "THEIRS=OURS", value_parser = pair)]
    map: Vec<(String, String)>,
    /// What to write
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: CheckFormat,
    /// Let the lesson name files outside its folder
    #[arg(long)]
    allow_outside: bool,
    #[command(flatten)]
    pub(super) common: Common,
}

/// Libraries for which there are lines that save a person's steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Capture {
    /// Plain NumPy code
    Numpy,
    /// Your own modules, `nn.MultiheadAttention`, and modules with `q_proj`, `k_proj`, `v_proj`, `o_proj`
    Pytorch,
    /// JAX, inside and outside `jit`
    Jax,
}

impl From<Capture> for Library {
    fn from(capture: Capture) -> Self {
        match capture {
            Capture::Numpy => Self::NumPy,
            Capture::Pytorch => Self::PyTorch,
            Capture::Jax => Self::Jax,
        }
    }
}

/// Formats of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CheckFormat {
    /// A report to read
    Table,
    /// Every number in full
    Json,
    /// The report as Markdown
    Markdown,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((theirs, ours)) if !theirs.is_empty() && !ours.is_empty() => {
            Ok((theirs.to_owned(), ours.to_owned()))
        }
        _ => Err("your name and ours are joined by =, as in att=weights".to_owned()),
    }
}

impl CheckArgs {
    /// Whether what is written is for programs, which read English.
    pub(super) fn is_for_programs(&self) -> bool {
        self.format == CheckFormat::Json || self.capture.is_some()
    }
}

pub(super) fn run(args: &CheckArgs) -> Outcome<Ending> {
    match (args.capture, &args.against) {
        (Some(library), _) => captured(args, library.into()),
        (None, Some(other)) => beside(args, other),
        (None, None) if args.model.is_given() => model::run(args),
        (None, None) => with_lesson(args),
    }
}

fn with_lesson(args: &CheckArgs) -> Outcome<Ending> {
    let [name, files @ ..] = args.given.as_slice() else {
        let why = "a check takes a lesson, then the files with your tensors";
        let remedy = "mha check two-heads mine.npz, or mha check --help";
        return Err(Fault::new("there is nothing to check", why, remedy).in_source("LESSON").into());
    };
    if files.is_empty() {
        return Err(nothing_to_check(name).into());
    }
    let holds_numbers = [".npz", ".npy", ".safetensors", ".csv"].iter().any(|ending| name.ends_with(ending));
    let is_swapped = builtin::all().iter().any(|lesson| lesson.name == files[0]) && Path::new(name).is_file();
    if holds_numbers || is_swapped {
        let why = "the lesson comes first, then the files with your tensors";
        let remedy = format!("mha check {} {}", shell_word(&files[0]), shell_word(name));
        return Err(Fault::new(format!("{name} is not a lesson"), why, remedy).in_source("LESSON").into());
    }
    read_once(args.given.iter().map(Path::new), "ANSWERS")?;
    let problem = lesson::load(name, &args.common, Files::allowed(args.allow_outside), Wanted::Example)?;
    if problem.layers.is_some() {
        return model::with_stack(args, &problem, files);
    }
    let call = problem.call();
    let plan = attention::plan(&call)?;
    let right = Wrong::right(&call, &plan);
    let known: Vec<Name> = ORDER.iter().copied().filter(|name| right.sheets(*name).is_some()).collect();
    let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
    let answers = answers::read(&files, &args.map, &known)?;
    let diagnosis = patience::searched(&plan, &args.common, || diagnose(&call, &plan, &answers));
    match args.format {
        CheckFormat::Json => output::write(&args.common, Content::Text, |out| {
            check_json::write(&problem.title, &known, &answers, &diagnosis, out)
        })?,
        format => {
            let lesson = lesson::again(name, args.allow_outside);
            let report = check::Report {
                title: &problem.title,
                shown: check::Shown::Lesson(&lesson),
                known: &known,
                answers: &answers,
                diagnosis: &diagnosis,
            };
            write_parts(args, format, &check::parts(&report))?;
        }
    }
    Ok(if diagnosis.first_wrong.is_none() { Ending::Done } else { Ending::AnswerIsNo })
}

/// Refuses to read standard input a second time: nothing would be left of it.
fn read_once<'a>(files: impl Iterator<Item = &'a Path>, place: &str) -> Outcome<()> {
    if files.filter(|file| file.as_os_str() == "-").count() < 2 {
        return Ok(());
    }
    let why = "standard input is read to its end the first time";
    Err(Fault::new("- is named twice", why, "save one of the two in a file").in_source(place).into())
}

fn nothing_to_check(name: &str) -> Fault {
    let why = format!("{name} is taken as the lesson, and the files with your tensors come after it");
    Fault::new("there are no tensors to check", why, format!("mha check {name} mine.npz"))
        .in_source("ANSWERS")
}

/// The lines that save a person's own steps.
fn captured(args: &CheckArgs, library: Library) -> Outcome<Ending> {
    let lesson = match args.given.as_slice() {
        [] => None,
        [lesson] => Some(shell_word(lesson)),
        [_, file, ..] => {
            let why = "it prints lines that save tensors; there is nothing to check yet";
            let fault = Fault::new("--capture takes at most a lesson", why, format!("leave out {file}"));
            return Err(fault.in_source("--capture").into());
        }
    };
    output::write(&args.common, Content::Text, |out| capture::write(library, lesson.as_deref(), out))?;
    Ok(Ending::Done)
}

/// Two people's tensors.
fn beside(args: &CheckArgs, other: &PathBuf) -> Outcome<Ending> {
    if let Some(lesson) = args.given.iter().find(|name| builtin::find(name).is_some()) {
        let why = "it sets two people's tensors beside each other, and nothing else";
        let fault = Fault::new("--against takes no lesson", why, format!("leave out {lesson}"));
        return Err(fault.in_source("--against").into());
    }
    if args.given.is_empty() {
        let why = "--against names one side, and the files before it are the other";
        let remedy = "mha check mine.npz --against theirs.npz";
        return Err(Fault::new("there is nothing to compare", why, remedy).in_source("ANSWERS").into());
    }
    let files: Vec<PathBuf> = args.given.iter().map(PathBuf::from).collect();
    read_once(files.iter().chain([other]).map(PathBuf::as_path), "--against")?;
    let held = |files: &[PathBuf], map: &[(String, String)]| -> Outcome<Answers> {
        answers::read(files, map, ORDER)
    };
    let (one, two) = (held(&files, &args.map)?, held(std::slice::from_ref(other), &[])?);
    let compared = against(&one, &two);
    if compared.steps.is_empty() {
        let why = "steps are compared by their names, and no name is in both";
        let remedy = "name the same step in both, or use --map";
        return Err(Fault::new("the two have no step in common", why, remedy).in_source("--against").into());
    }
    let names = [args.given.join(", "), other.display().to_string()];
    let names = [names[0].as_str(), names[1].as_str()];
    match args.format {
        CheckFormat::Json => {
            output::write(&args.common, Content::Text, |out| against_view::write_json(&compared, names, out))?
        }
        format => write_parts(args, format, &against_view::parts(&compared, names, [&one, &two]))?,
    }
    Ok(if compared.first_different.is_none() { Ending::Done } else { Ending::AnswerIsNo })
}

fn write_parts(args: &CheckArgs, format: CheckFormat, parts: &[part::Part]) -> Outcome<()> {
    let page = args.common.page(Layout::Rows);
    let words = if page.detail == Detail::Bare { Words::Few } else { Words::Usual };
    let text = match format {
        CheckFormat::Markdown => part::markdown(parts),
        _ => part::terminal(parts, &page, words),
    };
    output::write(&args.common, Content::Text, |out| out.write_all(text.as_bytes()))
}
