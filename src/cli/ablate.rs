//! `mha ablate`: heads switched off, and what that changes.

mod ask;
mod model;

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget};

use self::ask::Asked;
use super::common::{counted_from_one, no_sequence};
use super::lesson::{Files, Wanted};
use super::model::ModelArgs;
use super::output::{self, Content};
use super::{Common, Ending, complete, lesson};
use crate::ablate::each::{self, Losses, Turn};
use crate::ablate::{Contributions, Measured, Ranked, Sort, Study};
use crate::fault::{Fault, Faults, Outcome};
use crate::lesson::Labels;
use crate::ops::{Arithmetic, Layout, Real};
use crate::plan::attention;
use crate::plan::rewrites::Replacement;
use crate::views::ablate::{self as page, OfLayer, Report};
use crate::views::ablate_data as data;
use crate::views::ablate_each::{self, Ranking};

/// Switch heads off, and see what changes
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mha ablate --head 2
                the 3×4 example without its second head
  mha ablate pruning --each
                every head of a lesson in turn, by what its absence changes
  mha ablate two-heads --head 1 --with uniform
                the head's values, without its choice
  mha ablate --model DIR --text 'The cat sat' --layer 3 --head 5
  mha ablate --model DIR --text 'The cat sat' --heads L2H4,layer.1.head.2
  mha ablate --model DIR --text 'The cat sat' --each --format heatmap
  mha ablate --model DIR --text 'The cat sat' --layer 3 --head 5 --keep-only
                all others of layer 3 go
  mha ablate --model DIR --text 'The cat sat' --mask 4 --each --sort loss
                a masked model has to guess token 4")]
pub(super) struct AblateArgs {
    /// A name from `mha lessons`, or a lesson file; - is standard input [default: two-heads]
    #[arg(conflicts_with = "model", add = complete::lessons())]
    lesson: Option<String>,
    #[command(flatten)]
    model: ModelArgs,
    /// These heads together, counted from 1 (1,3)
    #[arg(long, value_name = "N", value_delimiter = ',', allow_negative_numbers = true, value_parser = counted_from_one, add = complete::heads())]
    head: Vec<usize>,
    /// The layer of --head, or the only layer of --each, counted from 1
    #[arg(long, value_name = "L", allow_negative_numbers = true, value_parser = counted_from_one, add = complete::layers(&[]))]
    layer: Option<usize>,
    /// Heads of several layers together: layer.1.head.2, or L0H1, which counts from 0
    #[arg(long, value_name = "HEADS", value_delimiter = ',', conflicts_with_all = ["head", "layer"], add = complete::heads_of_layers())]
    heads: Vec<String>,
    /// Every head in turn, by what its absence changes
    #[arg(long, conflicts_with_all = ["head", "heads"])]
    each: bool,
    /// What stands in the place of what a head found, before W_O
    #[arg(long, value_name = "WHAT", default_value = "zero")]
    with: With,
    /// Keep these heads, and replace all others of their layer, or of the whole model
    #[arg(long, value_name = "OF", num_args = 0..=1, require_equals = true, default_missing_value = "layer")]
    keep_only: Option<KeepOnly>,
    /// What --each ranks by [default: loss where there is one, else output]
    #[arg(long, value_name = "BY", requires = "each")]
    sort: Option<SortBy>,
    /// How many of the most likely tokens, or of the ranked heads, are listed [default: 5 tokens, 24 heads]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = counted_from_one)]
    top: Option<usize>,
    /// Hide these tokens from a masked model, counted from 1 as the tables list them, and measure its guess
    #[arg(long, value_name = "N", value_delimiter = ',', requires = "model", allow_negative_numbers = true, value_parser = counted_from_one)]
    mask: Vec<usize>,
    /// What to write; heatmap is for --each
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: AblateFormat,
    /// Which sequence of a batch, counted from 1 [default: 1]
    #[arg(long, value_name = "B", conflicts_with = "model", allow_negative_numbers = true, value_parser = counted_from_one, add = complete::sequences(&[]))]
    sequence: Option<usize>,
    /// Let the lesson name files outside its folder
    #[arg(long, conflicts_with = "model")]
    allow_outside: bool,
    #[command(flatten)]
    pub(super) common: Common,
}

/// `--with`
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum With {
    /// Zeros
    Zero,
    /// The head's own mean over the tokens of this text
    Mean,
    /// The head's values with the same weight for every key that a query may see
    Uniform,
}

impl From<With> for Replacement {
    fn from(with: With) -> Self {
        match with {
            With::Zero => Self::Zero,
            With::Mean => Self::Mean,
            With::Uniform => Self::Uniform,
        }
    }
}

/// `--keep-only`
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum KeepOnly {
    /// All others of the layer
    Layer,
    /// All others of all layers
    Model,
}

/// `--sort`
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SortBy {
    /// The growth of the loss
    Loss,
    /// The change of the layer's output
    Output,
    /// The cosine between what comes out at the end before and after
    Cosine,
    /// Layer by layer
    Layer,
}

/// Formats of an ablation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AblateFormat {
    /// Tables to read
    Table,
    /// Layers × heads as shaded cells
    Heatmap,
    /// Every number in full
    Json,
    /// One line a token, or a head
    Csv,
}

impl AblateArgs {
    /// Whether what is written is for programs, which read English.
    pub(super) fn is_for_programs(&self) -> bool {
        matches!(self.format, AblateFormat::Json | AblateFormat::Csv)
    }

    fn turn(&self) -> Turn {
        match self.keep_only {
            None => Turn::Itself,
            Some(KeepOnly::Layer) => Turn::Others,
            Some(KeepOnly::Model) => Turn::AllOthers,
        }
    }
}

/// Heads of a ranking that are listed.
const HEADS_LISTED: usize = 24;
/// A progress bar is shown once this has passed.
const PATIENCE: Duration = Duration::from_millis(700);

pub(super) fn run(args: &AblateArgs) -> Outcome<Ending> {
    if args.format == AblateFormat::Heatmap && !args.each {
        let why = "a map has a cell for each head of each layer";
        let fault = Fault::new("one ablation is no map", why, "add --each, or choose another format");
        return Err(fault.in_source("--format").into());
    }
    if args.model.is_given() { model::run(args) } else { of_lesson(args) }
}

/// A lesson: one attention call, or a stack of layers.
fn of_lesson(args: &AblateArgs) -> Outcome<Ending> {
    let name = args.lesson.as_deref().unwrap_or(lesson::DEFAULT);
    let problem = lesson::load(name, &args.common, Files::allowed(args.allow_outside), Wanted::Example)?;
    let sequence = sequence(args, problem.batch)?;
    let (call, source) = (problem.call(), lesson::source(name));
    let plan = Arc::new(attention::plan(&call).map_err(|fault| Faults::from(fault.in_source(&source)))?);
    let mut study = Study::new(plan, &call.inputs, sequence, Arithmetic::Ordered)?;
    let subject = Subject {
        title: &problem.title,
        labels: &problem.labels,
        sequence: sequence.zip(problem.batch),
        shows_output: true,
    };
    if args.each {
        let mut none = |runs: &[nalgebra::DMatrix<f64>]| Ok(vec![None; runs.len()]);
        return rank(args, &mut study, &subject, None, &mut none);
    }
    let (report, _) = report(args, &mut study, &subject)?;
    write(args, &report)
}

fn sequence(args: &AblateArgs, batch: Option<usize>) -> Outcome<Option<usize>> {
    match (args.sequence, batch) {
        (one, Some(count)) if (1..=count).contains(&one.unwrap_or(1)) => Ok(Some(one.unwrap_or(1) - 1)),
        (None | Some(1), None) => Ok(None),
        (one, batch) => Err(no_sequence(one.unwrap_or(1), batch).into()),
    }
}

/// What is told about, whichever kind it is.
struct Subject<'a> {
    title: &'a str,
    labels: &'a Labels,
    sequence: Option<(usize, usize)>,
    /// Whether the numbers of outputs are few enough to be shown.
    shows_output: bool,
}

/// One ablation, measured; and what came out at the end, as it is and with the heads replaced.
fn report<'a, T: Real>(
    args: &AblateArgs,
    study: &mut Study<'_, T>,
    subject: &Subject<'a>,
) -> Outcome<(Report<'a>, [nalgebra::DMatrix<T>; 2])> {
    let with = args.with.into();
    let Asked { heads, kept } = ask::heads(args, study)?;
    let layers = study.of_heads(&heads)?;
    study.learn_layers(&layers, with)?;
    let ablated = study.ablate(&heads, with)?;
    let (outputs, last) = study.changes(&ablated)?;
    let mut of_layers = Vec::new();
    for ((layer, after), change) in ablated.outputs.iter().zip(outputs) {
        let contributions = Contributions::of(study, layer)?;
        let before = study.value(layer.output)?;
        let step = study.plan().get(layer.output).filter(|_| subject.shows_output).cloned();
        let output = step.map(|step| (step, [before.map(T::value), after.map(T::value)]));
        of_layers.push(OfLayer { layer: layer.clone(), contributions, change, output });
    }
    let ends = [(*study.value(study.last())?).clone(), ablated.last];
    let last_is_output = of_layers.len() == 1 && of_layers[0].layer.output == study.last();
    let report = Report {
        title: subject.title,
        heads,
        kept,
        with,
        labels: subject.labels,
        layers: of_layers,
        last: (!last_is_output).then(|| (study.last(), last)),
        prediction: None,
        is_headless: false,
        sequence: subject.sequence,
        page: args.common.page(Layout::Rows),
    };
    Ok((report, ends))
}

fn write(args: &AblateArgs, report: &Report<'_>) -> Outcome<Ending> {
    output::write(&args.common, Content::Text, |out| match args.format {
        AblateFormat::Json => data::write_json(report, out),
        AblateFormat::Csv => data::write_csv(report, out),
        AblateFormat::Table | AblateFormat::Heatmap => page::write(report, out),
    })?;
    Ok(Ending::Done)
}

/// Every head in turn. `loss` is that of the run as it is; `losses` tells by how much it grows.
fn rank<T: Real>(
    args: &AblateArgs,
    study: &mut Study<'_, T>,
    subject: &Subject<'_>,
    loss: Option<(f64, Measured, usize)>,
    losses: &mut Losses<'_, T>,
) -> Outcome<Ending> {
    let sort = match args.sort {
        Some(SortBy::Loss) if loss.is_none() => {
            let why = "a loss needs a language head and tokens to predict";
            let fault =
                Fault::new("there is no loss to rank by", why, "rank by --sort output or --sort cosine");
            return Err(fault.in_source("--sort").into());
        }
        Some(SortBy::Loss) => Sort::Loss,
        Some(SortBy::Output) => Sort::Output,
        Some(SortBy::Cosine) => Sort::Cosine,
        Some(SortBy::Layer) => Sort::Layer,
        None if loss.is_some() => Sort::Loss,
        None => Sort::Output,
    };
    let layers = ask::layers(args, study)?;
    let progress = Progress::of(layers.iter().map(|layer| layer.num_heads).sum(), &args.common);
    let mut heads: Vec<Ranked> =
        each::each(study, &layers, (args.turn(), args.with.into()), losses, &mut |done| progress.at(done))?;
    progress.end();
    each::sort(&mut heads, sort);
    let page = match args.format {
        AblateFormat::Heatmap => args.common.picture(Layout::Rows),
        _ => args.common.page(Layout::Rows),
    };
    let ranking = Ranking {
        title: subject.title,
        with: args.with.into(),
        turn: args.turn(),
        heads: &heads,
        sort,
        listed: args.top.unwrap_or(HEADS_LISTED),
        tokens: subject.labels.queries.len(),
        loss,
        page,
    };
    output::write(&args.common, Content::Text, |out| match args.format {
        AblateFormat::Table => ablate_each::write(&ranking, out),
        AblateFormat::Heatmap => ablate_each::write_heat(&ranking, args.common.colours(), out),
        AblateFormat::Json => data::write_ranking_json(&ranking, out),
        AblateFormat::Csv => data::write_ranking_csv(&ranking, out),
    })?;
    Ok(Ending::Done)
}

/// A bar on standard error, where a person watches and it takes long.
struct Progress {
    started: Instant,
    bar: Option<ProgressBar>,
}

impl Progress {
    fn of(heads: usize, common: &Common) -> Self {
        let is_watched = std::io::stderr().is_terminal() && !common.quiet;
        let bar = is_watched
            .then(|| ProgressBar::with_draw_target(Some(heads as u64), ProgressDrawTarget::hidden()));
        Self { started: Instant::now(), bar }
    }

    fn at(&self, done: usize) {
        if let Some(bar) = &self.bar {
            if bar.is_hidden() && self.started.elapsed() > PATIENCE {
                bar.set_draw_target(ProgressDrawTarget::stderr());
            }
            bar.set_position(done as u64);
        }
    }

    fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
