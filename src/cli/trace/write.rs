//! A trace, and the view that the format names.

use std::io::Write;

use super::format::With;
use super::{TraceArgs, TraceFormat, script};
use crate::cli::output::{self, Body, Content};
use crate::exact::Exact;
use crate::fault::{Outcome, visible};
use crate::lesson::Problem;
use crate::plan::StepId;
use crate::trace::origin::Depth;
use crate::trace::{Cell, Trace};
use crate::views::heat::figure::Figure;
use crate::views::{
    self, Scene, code, csv, explain_json, heat, json, latex, markdown, mermaid, summary, table,
};

/// Writes the page that was asked for.
///
/// # Errors
/// It cannot be written, or there is nothing that this format could show.
pub(super) fn write(
    args: &TraceArgs,
    problem: &Problem,
    trace: &Trace<f64>,
    steps: &[StepId],
    cells: &[Cell],
) -> Outcome<()> {
    let exact = args.exact.then(|| Exact::of(trace));
    let scene = Scene {
        title: &problem.title,
        summary: &problem.summary,
        source: &problem.source,
        attention: &problem.attention,
        labels: &problem.labels,
        story: &problem.story,
        trace,
        exact: exact.as_ref(),
        steps,
        batch: problem.batch,
        kv_sheets: &problem.attention.kv_sheets(),
        page: match args.format.is_picture() {
            true => args.common.picture(args.layout.into()),
            false => args.common.page(args.layout.into()),
        },
    };
    if !cells.is_empty() {
        let depth = args.depth.map_or(Depth::Readable, Depth::Levels);
        let origins = trace.origins(cells, depth);
        return output::write(&args.common, Content::Text, |out| match args.format {
            TraceFormat::Json => explain_json::write(&scene, &origins, out),
            _ => views::explain::write(&scene, &origins, depth, out),
        });
    }
    let keep_batch_axis = args.keeps_batch_axis();
    let request = script::request(args);
    let source = code::Source { scene: &scene, keep_batch_axis, request: &request };
    let figure = || Figure::new(scene.title, heat::panels::of_scene(&scene), scene.page.digits);
    let body: Body<'_> = match args.format {
        TraceFormat::Table if args.summary => Box::new(|out| summary::write(&scene, out)),
        TraceFormat::Table => Box::new(|out| table::write(&scene, out)),
        TraceFormat::Heatmap => Box::new(|out| heat::terminal::write(&scene, args.common.colours(), out)),
        TraceFormat::Json => Box::new(|out| json::write(&scene, out)),
        TraceFormat::Csv => Box::new(|out| csv::write(&scene, out)),
        TraceFormat::Npz => Box::new(|out| views::npz::write(&scene, keep_batch_axis, out)),
        TraceFormat::Markdown => Box::new(|out| markdown::write(&scene, out)),
        TraceFormat::Latex => Box::new(|out| latex::write(&scene, out)),
        TraceFormat::Html => Box::new(|out| views::html::write(&scene, out)),
        TraceFormat::Mermaid => Box::new(|out| mermaid::write(&scene, out)),
        TraceFormat::Python => {
            let library = if args.with == Some(With::Pytorch) { &code::PYTORCH } else { &code::NUMPY };
            Box::new(|out| code::write_script(&source, library, out))
        }
        TraceFormat::Ipynb => Box::new(|out| code::write_notebook(&source, out)),
        TraceFormat::Svg => {
            let figure = figure()?;
            Box::new(move |out| heat::svg::write(&figure, out))
        }
        TraceFormat::Png => {
            let figure = figure()?;
            Box::new(move |out| heat::png::write(&figure, out))
        }
    };
    output::write(&args.common, args.format.content(), body)?;
    let is_program = matches!(args.format, TraceFormat::Python | TraceFormat::Ipynb);
    if let Some(making) = source.needs().filter(|_| is_program && !args.common.quiet) {
        // Nobody is left to tell if standard error is closed.
        let _ = writeln!(
            std::io::stderr(),
            "note: it holds more numbers than anybody types; it reads inputs.npz, made by\n  {}",
            visible(&making)
        );
    }
    Ok(())
}
