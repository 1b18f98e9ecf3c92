//! `mha trace --model`: a layer of real weights on a person's own text, as a lesson would show it.

use std::collections::HashSet;
use std::io::Write;
use std::str::FromStr;
use std::sync::Arc;

use super::{TraceArgs, TraceFormat, explained, write};
use crate::cli::select::Selection;
use crate::cli::{Ending, interactive, patience};
use crate::fault::{Fault, Faults, Outcome};
use crate::lesson::Problem;
use crate::model::{Naming, Task, head_title};
use crate::plan::{Name, Plan, StepId, attention, names};
use crate::trace::{Cell, Trace};
use crate::views::heat::panels;
use crate::words::t;

/// `--layer`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Layer {
    /// One, from 0.
    One(usize),
    /// Every one.
    All,
}

impl FromStr for Layer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<usize>() {
            _ if text == "all" => Ok(Self::All),
            Ok(number) if number > 0 => Ok(Self::One(number - 1)),
            _ => Err("layers count from 1, and all means every one".to_owned()),
        }
    }
}

/// Runs the model on the text, as far as the layer that was asked for.
pub(super) fn run(args: &TraceArgs) -> Outcome<Ending> {
    refuse(args)?;
    let model = args.model.opened()?;
    let task = Task::new(&model, args.model.passage(&model)?)?;
    let layer = match args.layer {
        Some(Layer::All) => None,
        Some(Layer::One(layer)) => Some(layer),
        None => Some(0),
    };
    if let Some(layer) = layer {
        task.attention(layer)?;
    }
    if args.layer.is_none() && !args.common.quiet && task.num_layers() > 1 {
        let told = t!(
            "note: this is layer 1 of %{layers}; --layer 2 shows the next, --layer all every one",
            layers = task.num_layers()
        );
        // Nobody is left to tell if standard error is closed.
        let _ = writeln!(std::io::stderr(), "{told}");
    }
    if args.interactive {
        return step_through(args, &task, layer);
    }
    let cells = explained(args, &task.plan, None, layer)?;
    let steps = match cells.is_empty() {
        true => choose(args, &task, layer)?,
        false => cells.iter().map(|cell| cell.step).collect(),
    };
    let keep = keep(args, &task, &steps, &cells);
    let trace = patience::watched(&task.plan, &args.common, || task.run(keep))?;
    let (problem, trace) = told(args, &task, layer, trace)?;
    write::write(args, &problem, &trace, &steps, &cells)?;
    Ok(Ending::Done)
}

/// What a model's numbers cannot be shown as.
fn refuse(args: &TraceArgs) -> Outcome<()> {
    let (flag, what, why, remedy) = match args.format {
        TraceFormat::Python | TraceFormat::Ipynb => (
            "--format",
            "a model is not written as a program",
            "its weights stand in a file of their own, and scripts hold the numbers of a lesson",
            "use npz, json or csv for the numbers",
        ),
        _ if args.exact => (
            "--exact",
            "a model's numbers have no exact form",
            "they are single-precision numbers that training has left behind",
            "leave out --exact, or add --precision 8",
        ),
        _ if args.mistake.is_some() => (
            "--mistake",
            "a mistake is shown on a lesson",
            "it is read beside the right numbers, and a page of one layer has hundreds",
            "mha compare --model … --variants multi-head,scale-missing shows what it does to a layer",
        ),
        TraceFormat::Html if args.layer == Some(Layer::All) => (
            "--layer",
            "a page for a browser shows one layer",
            "any of its numbers can be pointed at, and all layers have millions",
            "choose one: --layer 3",
        ),
        _ => return Ok(()),
    };
    Err(Fault::new(what, why, remedy).in_source(flag).into())
}

/// The steps that were asked for; without `--steps` all that was computed, of some heads their own and what they share.
fn choose(args: &TraceArgs, task: &Task<'_>, layer: Option<usize>) -> Outcome<Vec<StepId>> {
    let ids: Vec<StepId> = match layer {
        Some(layer) => task.plan.ids().into_iter().filter(|id| id.layer == Some(layer)).collect(),
        None => task.plan.ids(),
    };
    let selection = Selection { steps: &args.steps, heads: &args.heads, sequence: None };
    let mut steps = selection.of(&ids)?;
    if args.steps.is_empty() {
        let around = |name: Name| {
            matches!(
                name,
                Name::Ffn(_)
                    | Name::AttentionResidual
                    | Name::AttentionNorm
                    | Name::OutputNorm
                    | Name::Hidden
                    | Name::Embed(_)
                    | Name::Embedding
                    | Name::Final
            )
        };
        steps.retain(|id| !names::is_learned(id.name) && (args.heads.is_empty() || !around(id.name)));
        if args.format.is_picture() {
            steps = panels::by_default(&steps);
        }
    }
    Ok(steps)
}

/// The chosen steps, and what they were made from, to say what happened; for explanations all that the layer computes.
fn keep(args: &TraceArgs, task: &Task<'_>, steps: &[StepId], cells: &[Cell]) -> HashSet<StepId> {
    let mut keep: HashSet<StepId> = steps.iter().copied().collect();
    let arrays = matches!(args.format, TraceFormat::Npz | TraceFormat::Csv) || args.format.is_picture();
    if !arrays {
        for step in steps.iter().filter_map(|id| task.plan.get(*id)) {
            keep.extend(&step.inputs);
        }
    }
    if !cells.is_empty() || args.format == TraceFormat::Html {
        let layers: HashSet<usize> = steps.iter().filter_map(|id| id.layer).collect();
        keep.extend(layers.iter().flat_map(|layer| task.attention_steps(*layer)));
    }
    keep
}

/// The trace and what is said about it: of one layer's attention as a problem of its own where every number of it may be
/// followed back, else of the model's plan.
fn told(
    args: &TraceArgs,
    task: &Task<'_>,
    layer: Option<usize>,
    trace: Trace<f32>,
) -> Outcome<(Problem, Trace<f64>)> {
    let title = title(args, task, layer);
    if let (Some(layer), TraceFormat::Html) = (layer, args.format) {
        let problem = Problem { title, ..task.problem(layer, &trace, Naming::InTheModel)? };
        let plan: Plan = attention::plan(&problem.call()).map_err(Faults::from)?;
        return Ok((problem, trace.widened().over(Arc::new(plan))));
    }
    let mut call = task.call.clone();
    if let Some(layer) = layer {
        call.attention = task.attention(layer)?.clone();
    }
    Ok((task.told(call, title), trace.widened()))
}

fn title(args: &TraceArgs, task: &Task<'_>, layer: Option<usize>) -> String {
    let model = &task.model.name;
    match (layer, args.heads.as_slice()) {
        (Some(layer), [head]) => t!("%{model}, %{place}", model, place = head_title(layer, head - 1)),
        (Some(layer), _) => t!("%{model}, layer %{layer} (L%{l})", model, layer = layer + 1, l = layer),
        (None, _) => t!("%{model}, every layer", model),
    }
}

/// The stepper, on the attention of one layer.
fn step_through(args: &TraceArgs, task: &Task<'_>, layer: Option<usize>) -> Outcome<Ending> {
    let Some(layer) = layer else {
        let why = "it recomputes what follows a number that is changed, and all layers have millions";
        let fault = Fault::new("the stepper shows one layer", why, "choose one: --layer 3");
        return Err(fault.in_source("--layer").into());
    };
    let trace = task.run(HashSet::from([task.input_of(layer)]))?;
    let problem =
        Problem { title: title(args, task, Some(layer)), ..task.problem(layer, &trace, Naming::InTheModel)? };
    let ids: Vec<StepId> = attention::plan(&problem.call()).map_err(Faults::from)?.ids();
    let mut steps = Selection { steps: &args.steps, heads: &args.heads, sequence: None }.of(&ids)?;
    if args.steps.is_empty() {
        steps.retain(|id| !names::is_learned(id.name));
    }
    let way = interactive::Way { layout: args.layout.into(), exact: false };
    interactive::run(problem, steps, &args.common, way, &task.model.name)
}
