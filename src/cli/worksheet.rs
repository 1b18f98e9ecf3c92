//! `mha worksheet`: exercises for paper, and their key.

use std::io;

use clap::{Args, ValueEnum};

use super::lesson::{Files, Wanted};
use super::output::{self, Content, Sink};
use super::{Common, Ending, complete, lesson};
use crate::course::worksheet::drawing::{self, Drawing, Masked};
use crate::course::worksheet::{self, Blanks, Exercise, Sheet};
use crate::fault::{Fault, Faults, Outcome};
use crate::lesson::Problem;
use crate::limits::EXERCISES_A_FILE;
use crate::ops::{Arithmetic, Layout};
use crate::plan::attention;
use crate::trace::{Keep, run_plan};

/// Make exercises for paper, with the answer key apart
#[derive(Debug, Args)]
#[command(after_help = "\
A sheet gives the problem, then every step as a table to fill in. --blanks last-steps prints everything up to the scores; the attention weights, the head outputs, concat and the output are left to you.
The line at its foot makes the same sheet again, on any machine. mha check grades a sheet that was filled in, or half of it.

Examples:
  mha worksheet --random --seed 7  small numbers that can be computed by hand
  mha worksheet --random --count 3 --format latex
                                   three exercises for pdflatex; --key gives their answers
  mha worksheet two-heads --blanks all
                                   a lesson from `mha lessons`, nothing computed
  mha worksheet random:7 --format yaml
                                   a sheet to fill in on a computer
  mha check random:7 mine.yaml     what you filled in, graded")]
pub(super) struct WorksheetArgs {
    /// A name from `mha lessons`, a lesson file, or random:7 for a drawn exercise
    #[arg(default_value = lesson::DEFAULT, conflicts_with = "random", add = complete::lessons())]
    lesson: String,
    /// Draw exercises with small whole numbers
    #[arg(long)]
    random: bool,
    /// Which ones are drawn
    #[arg(long, value_name = "N", requires = "random", default_value_t = 1)]
    seed: u64,
    /// Width of a token (2 to 16)
    #[arg(long, value_name = "N", requires = "random", default_value_t = 4)]
    d_model: usize,
    /// Number of heads
    #[arg(long, visible_alias = "num-heads", value_name = "N", requires = "random", default_value_t = 2)]
    heads: usize,
    /// Number of tokens (2 to 8)
    #[arg(long, visible_alias = "seq-len", value_name = "N", requires = "random", default_value_t = 3)]
    tokens: usize,
    /// What the tokens see
    #[arg(long, value_name = "MASK", requires = "random", default_value = "none")]
    mask: MaskArg,
    /// How many different exercises
    #[arg(long, value_name = "N", requires = "random", default_value_t = 1)]
    count: u32,
    /// What is left to the learner
    #[arg(long, value_name = "WHICH", default_value = "last-steps")]
    blanks: BlanksArg,
    /// Write the key: the same with all numbers, and a line of arithmetic a step
    #[arg(long)]
    key: bool,
    /// What to write
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: SheetFormat,
    /// Let the lesson name files outside its folder
    #[arg(long)]
    allow_outside: bool,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MaskArg {
    /// Every token sees every token
    None,
    /// A token sees itself and those before it
    Causal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BlanksArg {
    /// Nothing: a fully worked example
    None,
    /// What comes after the scores
    LastSteps,
    /// Everything that is computed
    All,
}

impl From<BlanksArg> for Blanks {
    fn from(blanks: BlanksArg) -> Self {
        match blanks {
            BlanksArg::None => Self::None,
            BlanksArg::LastSteps => Self::LastSteps,
            BlanksArg::All => Self::All,
        }
    }
}

/// Formats of a sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SheetFormat {
    /// For a look, in the terminal
    Table,
    /// For GitHub
    Markdown,
    /// For pdflatex
    Latex,
    /// For a browser, and its printer
    Html,
    /// To fill in on a computer, for mha check
    Yaml,
    /// The same for a spreadsheet
    Csv,
}

/// Digits after the point, where nobody asked for another number.
const DIGITS: u8 = 2;

pub(super) fn run(args: &WorksheetArgs) -> Outcome<Ending> {
    let names = names(args)?;
    let to_fill_in = matches!(args.format, SheetFormat::Yaml | SheetFormat::Csv);
    if to_fill_in && names.len() > 1 {
        let why = "mha check reads the steps of one exercise from a file";
        let remedy = format!("one file each: mha worksheet {} --format yaml", names[1]);
        return Err(refused("--count", "a sheet to fill in holds one exercise", why, &remedy));
    }
    if to_fill_in && args.blanks == BlanksArg::None {
        let why = "--blanks none leaves nothing to fill in";
        return Err(refused("--blanks", "there would be no blanks on the sheet", why, "--blanks all"));
    }
    let digits = usize::from(args.common.precision.unwrap_or(DIGITS));
    let exercises: Outcome<Vec<Exercise>> = names.iter().map(|name| exercise(args, name, digits)).collect();
    let sheet = Sheet { exercises: exercises?, digits, is_key: args.key };
    let page = args.common.page(Layout::Rows);
    output::write(&args.common, Content::Text, |out| write(args.format, &sheet, &page, out))?;
    Ok(Ending::Done)
}

fn refused(flag: &str, what: &str, why: &str, remedy: &str) -> Faults {
    Fault::new(what, why, remedy).in_source(flag).into()
}

fn write(
    format: SheetFormat,
    sheet: &Sheet,
    page: &crate::views::page::Page,
    out: &mut dyn Sink,
) -> io::Result<()> {
    match (format, sheet.exercises.as_slice()) {
        (SheetFormat::Table, _) => worksheet::table::write(sheet, page, out),
        (SheetFormat::Markdown, _) => worksheet::markdown::write(sheet, out),
        (SheetFormat::Latex, _) => worksheet::latex::write(sheet, out),
        (SheetFormat::Html, _) => worksheet::html::write(sheet, out),
        (SheetFormat::Yaml, exercises) => {
            exercises.iter().try_for_each(|exercise| worksheet::fill::write_yaml(sheet, exercise, out))
        }
        (SheetFormat::Csv, exercises) => {
            exercises.iter().try_for_each(|exercise| worksheet::fill::write_csv(sheet, exercise, out))
        }
    }
}

/// The lessons that exercises are made of.
fn names(args: &WorksheetArgs) -> Outcome<Vec<String>> {
    if !args.random {
        return Ok(vec![args.lesson.clone()]);
    }
    if args.count == 0 {
        return Err(refused("--count", "no exercises are asked for", "they count from 1", "--count 1"));
    }
    if args.count > EXERCISES_A_FILE {
        let what = format!("{} exercises are not made at once", args.count);
        let why = format!("a file holds up to {EXERCISES_A_FILE}: each takes a page or more");
        return Err(refused("--count", &what, &why, "take another seed for the next ones"));
    }
    let mask = match args.mask {
        MaskArg::None => Masked::None,
        MaskArg::Causal => Masked::Causal,
    };
    let first =
        Drawing::checked(args.seed, args.d_model, args.heads, args.tokens, mask, 1).map_err(as_flag)?;
    (1..=args.count).map(|exercise| Ok(first.numbered(exercise)?.to_string())).collect()
}

/// A fault of a size, at its flag.
fn as_flag(fault: Fault) -> Fault {
    let place =
        fault.place.map(|place| crate::fault::Place { source: format!("--{}", place.source), ..place });
    Fault { place, ..fault }
}

fn exercise(args: &WorksheetArgs, name: &str, digits: usize) -> Outcome<Exercise> {
    let problem: Problem =
        lesson::load(name, &args.common, Files::allowed(args.allow_outside), Wanted::Example)?;
    let source = lesson::source(name);
    let plan = attention::plan(&problem.call()).map_err(|fault| Faults::from(fault.in_source(&source)))?;
    worksheet::sheet::fits_paper(plan.steps()).map_err(|faults| faults.in_source(&source))?;
    let call = problem.call();
    let trace = run_plan(plan.into(), &call.inputs, &Keep::All, Arithmetic::Ordered)
        .map_err(|faults| faults.in_source(&source))?;
    // A drawn exercise goes by its seed and number, and by its name in full, which later defaults cannot change.
    let drawn = match name.starts_with(drawing::PREFIX) {
        true => Some(name.parse::<Drawing>()?),
        false => None,
    };
    let (label, named) = match &drawn {
        Some(drawing) => (drawing.label(), drawing.to_string()),
        None if name == "-" => (source, name.to_owned()),
        None => (name.to_owned(), name.to_owned()),
    };
    let lesson = lesson::again(&named, args.allow_outside);
    let mut again = format!("mha worksheet {lesson}");
    match args.blanks {
        BlanksArg::LastSteps => {}
        BlanksArg::None => again.push_str(" --blanks none"),
        BlanksArg::All => again.push_str(" --blanks all"),
    }
    if digits != usize::from(DIGITS) {
        again.push_str(&format!(" --precision {digits}"));
    }
    Ok(worksheet::sheet::exercise(&problem, &trace, (label, again, lesson), args.blanks.into(), digits))
}
