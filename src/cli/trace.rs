//! `mha trace`: loads a lesson, runs its plan, writes every step.

mod format;
mod model;
mod refusals;
mod script;
mod write;
mod wrong;

use std::collections::HashSet;
use std::io::Write;
use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::common::{counted_from_one, no_sequence};
use super::lesson::{Files, Wanted};
use super::model::ModelArgs;
use super::select::Selection;
use super::{Common, Ending, complete, explain, interactive, lesson, patience};
use crate::fault::{Faults, Outcome};
use crate::lesson::quantity::of_trace::sheets;
use crate::lesson::{Piece, Problem, Saying, pieces};
use crate::limits::EXPLAINED_NUMBERS;
use crate::ops::{Arithmetic, Layout};
use crate::plan::{Plan, StepId, attention};
use crate::trace::{Cell, Keep, run_plan};
use crate::views::heat::panels;
use format::{TraceFormat, With};

/// Show every number of a worked example, step by step
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mha trace                          the 3×4 example with two heads
  mha trace --steps 'head.2.*'       only head 2
  mha trace masks --heads 1          another lesson, its first head
  mha trace --format heatmap         attention weights as a picture
  mha trace my-lesson.yaml --format json
                                     numbers in full, for a program
  mha trace --explain 'head.1.weights[3,1]'
                                     where that number comes from, term by term
  mha trace --exact                  1/√2 and 1/3 in place of 0.7071 and 0.3333
  mha trace --format html --output trace.html
                                     a page: point at a number to see where it comes from
  mha trace --interactive            one step at a time, with a cursor
  mha trace --mistake scale-missing  the same computed wrongly, beside it
  mha trace --layout columns         tokens in columns: W · x, Kᵀ · Q
  mha trace --format latex --output two.tex
                                     for pdflatex; markdown for GitHub
  mha trace --format npz --output trace.npz
                                     for NumPy
  mha trace --format png --output heads.png
                                     heat maps for a slide; svg for a paper

Real weights:
  mha trace --model DIR --text 'The animal was too tired' --layer 3 --head 5
                config.json, model.safetensors and tokenizer.json in a folder")]
pub(super) struct TraceArgs {
    /// A name from `mha lessons`, or a lesson file; - is standard input
    #[arg(default_value = lesson::DEFAULT, conflicts_with = "model", add = complete::lessons())]
    lesson: String,
    #[command(flatten)]
    model: ModelArgs,
    /// Which layer of a model, counted from 1, or `all` [default: 1]
    #[arg(long, value_name = "L", requires = "model", allow_negative_numbers = true, add = complete::layers(&["all"]))]
    layer: Option<model::Layer>,
    /// Show these steps only: names or globs, with commas (q,head.2.*)
    #[arg(long, value_name = "GLOBS", value_delimiter = ',', add = complete::steps())]
    steps: Vec<String>,
    /// Show these heads only, counted from 1 (1,3)
    #[arg(long, visible_alias = "head", value_name = "N", value_delimiter = ',', allow_negative_numbers = true, value_parser = counted_from_one, add = complete::heads())]
    heads: Vec<usize>,
    /// One line a step instead of its table
    #[arg(long, conflicts_with = "format")]
    summary: bool,
    /// What to write
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: TraceFormat,
    /// What the script of --format python computes with [default: numpy]
    #[arg(long, value_name = "LIBRARY")]
    with: Option<With>,
    /// Show where a number comes from, term by term, back to the input: a cell, a row or a step
    /// (head.1.scores[3,1], head.1.weights[3], output[2,*])
    #[arg(long, value_name = "CELL", conflicts_with_all = ["steps", "heads", "summary"], add = complete::cells())]
    explain: Vec<String>,
    /// Step through it in the terminal: move over the numbers, see where each comes from, change them (? shows the keys)
    #[arg(short, long, conflicts_with_all = ["format", "output", "explain", "summary"])]
    interactive: bool,
    /// Compute it wrongly, beside the right run: a name from `mha mistakes`, or NAME/FORM for one of several ways; formats
    /// other than table and json hold the wrong run alone
    #[arg(long, value_name = "NAME", add = complete::mistakes())]
    mistake: Option<String>,
    /// How many levels to follow what --explain shows [default: as many as stay readable]
    #[arg(long, value_name = "N", requires = "explain", allow_negative_numbers = true)]
    depth: Option<usize>,
    /// Tokens in rows, or in columns
    #[arg(long, value_name = "WAY", default_value = "rows")]
    layout: Way,
    /// Write 1/√2 and 1/3 in place of decimals, where the numbers allow it
    #[arg(long)]
    exact: bool,
    /// Which sequence of a batch, counted from 1, or `all` [default: 1; all for npz, python, ipynb]
    #[arg(long, value_name = "B", allow_negative_numbers = true, add = complete::sequences(&["all"]))]
    sequence: Option<Which>,
    /// Let the lesson name files outside its folder
    #[arg(long)]
    allow_outside: bool,
    #[command(flatten)]
    pub(super) common: Common,
}

impl TraceArgs {
    /// Whether arrays have the sequences of a batch on an axis in front.
    fn keeps_batch_axis(&self) -> bool {
        !matches!(self.sequence, Some(Which::One(_)))
    }
}

/// `--layout`
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Way {
    /// A token is a row
    Rows,
    /// A token is a column
    Columns,
}

impl From<Way> for Layout {
    fn from(way: Way) -> Self {
        match way {
            Way::Rows => Self::Rows,
            Way::Columns => Self::Columns,
        }
    }
}

/// `--sequence`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    /// One, from 0.
    One(usize),
    /// Every one.
    All,
}

impl std::str::FromStr for Which {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<usize>() {
            _ if text == "all" => Ok(Self::All),
            Ok(number) if number > 0 => Ok(Self::One(number - 1)),
            _ => Err("sequences count from 1, and all means every one".to_owned()),
        }
    }
}

impl TraceArgs {
    /// Whether what is written is for programs, which read English.
    pub(super) fn is_for_programs(&self) -> bool {
        self.format.is_for_programs()
    }
}

pub(super) fn run(args: &TraceArgs) -> Outcome<Ending> {
    if args.interactive {
        interactive::needs_a_terminal()?;
    }
    refusals::refuse(args)?;
    if args.model.is_given() {
        return model::run(args);
    }
    let problem =
        lesson::load(&args.lesson, &args.common, Files::allowed(args.allow_outside), Wanted::Example)?;
    refusals::of_a_stack(args, &problem)?;
    let problem = lesson::with_runs_told(problem, args.common.page(Layout::Rows).digits);
    let (call, source) = (problem.call(), lesson::source(&args.lesson));
    let plan = Arc::new(attention::plan(&call).map_err(|fault| Faults::from(fault.in_source(&source)))?);
    if let Some(typed) = &args.mistake {
        return wrong::run(args, typed, &problem, &plan);
    }
    let steps = choose(args, &problem, &plan.ids())?;
    if args.interactive {
        let way = interactive::Way { layout: args.layout.into(), exact: args.exact };
        return interactive::run(problem, steps, &args.common, way, &source);
    }
    let cells = explained(args, &plan, steps.iter().find_map(|id| id.sequence), None)?;
    // An explanation shows the steps that it names, whichever sequence they belong to.
    let steps = if cells.is_empty() { steps } else { cells.iter().map(|cell| cell.step).collect() };
    let keep = keep(args, &plan, &steps, &problem);
    let run = || run_plan(plan.clone(), &call.inputs, &keep, Arithmetic::Ordered);
    let trace = patience::watched(&plan, &args.common, run).map_err(|faults| faults.in_source(&source))?;
    write::write(args, &problem, &trace, &steps, &cells)?;
    if !args.common.quiet {
        warn_of_untold(&problem, trace.plan());
    }
    Ok(Ending::Done)
}

/// A story that speaks of steps which are not there is the author's slip: the page stands, and they are told.
fn warn_of_untold(problem: &Problem, plan: &Plan) {
    let first = problem.batch.map(|_| 0);
    let is_there =
        |id: StepId| plan.get(id).or_else(|| plan.get(id.in_sequence(first))).map(|step| step.shape);
    let told = |saying: &&Saying| {
        is_there(saying.at).is_some()
            && pieces(&saying.say).iter().all(|piece| match piece {
                Piece::Cell(id, r, c) => {
                    is_there(*id).is_some_and(|(rows, columns)| *r < rows && *c < columns)
                }
                Piece::Amount(quantity, _) => {
                    let is_made =
                        |id| is_there(id).is_some() || sheets(plan, id.in_sequence(first)).next().is_some();
                    quantity.is_of_the_lesson() && quantity.steps().iter().all(|(id, _)| is_made(*id))
                }
                Piece::Text(_) => true,
            })
    };
    let untold = problem.story.len() - problem.story.iter().filter(told).count();
    if untold > 0 {
        let sentences = if untold == 1 { "1 sentence".to_owned() } else { format!("{untold} sentences") };
        let warning = format!(
            "warning: {sentences} of the story cannot be told as written; mha lessons validate says why"
        );
        // Nobody is left to tell if standard error is closed.
        let _ = writeln!(std::io::stderr(), "{warning}");
    }
}

/// The steps that were asked for, among these of a run.
fn choose(args: &TraceArgs, problem: &Problem, ids: &[StepId]) -> Outcome<Vec<StepId>> {
    let sequence = match (args.sequence, problem.batch) {
        (None, _) if args.format.is_stacked() => None,
        (Some(Which::All), _) => None,
        (None, _) => Some(0),
        (Some(Which::One(one)), Some(count)) if one < count => Some(one),
        (Some(Which::One(one)), batch) => return Err(no_sequence(one + 1, batch).into()),
    };
    let steps = Selection { steps: &args.steps, heads: &args.heads, sequence }.of(ids)?;
    Ok(match args.format.is_picture() && args.steps.is_empty() {
        true => panels::by_default(&steps),
        false => steps,
    })
}

/// What has to be kept: the chosen steps, what they were made from (to say what happened), and what the story quotes.
fn keep(args: &TraceArgs, plan: &Plan, steps: &[StepId], problem: &Problem) -> Keep {
    let mut ids: HashSet<StepId> = steps.iter().copied().collect();
    for step in steps.iter().filter_map(|id| plan.get(*id)) {
        ids.extend(&step.inputs);
    }
    let sequences: HashSet<Option<usize>> = steps.iter().map(|id| id.sequence).collect();
    for saying in &problem.story {
        for piece in pieces(&saying.say) {
            let quoted = match piece {
                Piece::Text(_) => Vec::new(),
                Piece::Cell(id, ..) => vec![id],
                Piece::Amount(quantity, _) => quantity.steps().iter().map(|(id, _)| *id).collect(),
            };
            for id in quoted {
                for id in sequences.iter().map(|sequence| id.in_sequence(*sequence)).chain([id]) {
                    ids.insert(id);
                    ids.extend(sheets(plan, id));
                }
            }
        }
    }
    if args.format == TraceFormat::Html {
        return Keep::All; // any number of the page may be pointed at
    }
    if args.exact || !args.explain.is_empty() {
        // Exact numbers and explanations are made from what the inputs were made from, all the way up.
        for step in plan.steps().iter().rev() {
            if ids.contains(&step.id) {
                ids.extend(&step.inputs);
            }
        }
    }
    Keep::Only(ids)
}

/// The numbers to explain.
///
/// # Errors
/// What names no number, and more numbers in all than a page explains.
fn explained(
    args: &TraceArgs,
    plan: &Plan,
    sequence: Option<usize>,
    layer: Option<usize>,
) -> Outcome<Vec<Cell>> {
    let mut cells = Vec::new();
    for text in &args.explain {
        for cell in explain::cells(text, plan, sequence, layer)? {
            if !cells.contains(&cell) {
                cells.push(cell);
            }
        }
        if cells.len() > EXPLAINED_NUMBERS {
            return Err(explain::too_many(cells.len()).into());
        }
    }
    Ok(cells)
}
