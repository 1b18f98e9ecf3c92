//! `--mistake`: the lesson computed wrongly, beside the right run or on its own.

use std::sync::Arc;

use super::{TraceArgs, TraceFormat, choose, explained, write};
use crate::cli::output;
use crate::cli::{Ending, lesson, mistake};
use crate::fault::Outcome;
use crate::lesson::Problem;
use crate::mistakes::WrongRun;
use crate::plan::Plan;
use crate::views::beside::{self, Beside};
use crate::views::{Scene, beside_json, npz};

const FLAG: &str = "--mistake";

/// Computes the lesson right and wrong. Tables and JSON show both; other formats, and explanations, hold the wrong run;
/// what has a title says so there.
///
/// # Errors
/// No such mistake, or one that has no meaning for the lesson; what any trace refuses.
pub(super) fn run(args: &TraceArgs, typed: &str, problem: &Problem, plan: &Arc<Plan>) -> Outcome<Ending> {
    let meant = mistake::named(typed, FLAG)?;
    let source = lesson::source(&args.lesson);
    let made =
        WrongRun::of(meant.0, meant.1, &problem.call(), plan).map_err(|faults| faults.in_source(&source))?;
    let Some(made) = made else {
        return Err(mistake::has_no_meaning(meant, &source, &args.common, FLAG).into());
    };
    match args.format {
        TraceFormat::Table | TraceFormat::Json | TraceFormat::Npz if args.explain.is_empty() => {
            both(args, problem, &made)?
        }
        _ => alone(args, problem, &made)?,
    }
    Ok(Ending::Done)
}

fn both(args: &TraceArgs, problem: &Problem, made: &WrongRun) -> Outcome<()> {
    let ids: Vec<_> = made.steps.iter().map(|(id, _)| *id).collect();
    let steps = choose(args, problem, &ids)?;
    let beside = Beside {
        scene: Scene {
            title: &problem.title,
            summary: "",
            source: "",
            attention: &problem.attention,
            labels: &problem.labels,
            story: &[],
            trace: &made.right,
            exact: None,
            steps: &steps,
            batch: problem.batch,
            kv_sheets: &problem.attention.kv_sheets(),
            page: args.common.page(args.layout.into()),
        },
        run: made,
        same_too: !args.steps.is_empty(),
    };
    output::write(&args.common, args.format.content(), |out| match args.format {
        TraceFormat::Npz => npz::write_wrong(&beside, args.keeps_batch_axis(), out),
        TraceFormat::Json => beside_json::write(&beside, out),
        _ if args.summary => beside::write_summary(&beside, out),
        _ => beside::write(&beside, out),
    })
}

fn alone(args: &TraceArgs, problem: &Problem, made: &WrongRun) -> Outcome<()> {
    // The lesson's own words are about the right numbers.
    let labelled = Problem {
        title: beside::title(&problem.title, made.mistake.name),
        summary: beside::sentence(made.mistake.summary),
        story: Vec::new(),
        attention: made.attention(&problem.call()),
        ..problem.clone()
    };
    let plan = made.wrong.plan();
    let steps = choose(args, problem, &plan.ids())?;
    let cells = explained(args, plan, steps.iter().find_map(|id| id.sequence), None)?;
    let steps = if cells.is_empty() { steps } else { cells.iter().map(|cell| cell.step).collect() };
    write::write(args, &labelled, &made.wrong, &steps, &cells)
}
