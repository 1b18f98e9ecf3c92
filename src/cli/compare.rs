//! `mha compare`: the same problem computed several ways, side by side.

use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::common::counted_from_one;
use super::lesson::{Claims, Files};
use super::output::{self, Content};
use super::trace::Way;
use super::{Common, Ending, lesson};
use crate::fault::{Fault, Outcome};
use crate::lesson::Problem;
use crate::ops::Arithmetic;
use crate::plan::rewrites::{VARIANTS, Variant};
use crate::trace::measure::Figures;
use crate::trace::{Keep, run_plan};
use crate::views::compare::{self, Compared, Comparison};
use crate::views::compare_json;
use crate::views::heat::{panels, terminal};

/// Put variants of attention side by side
#[derive(Debug, Args)]
#[command(after_help = help())]
pub(super) struct CompareArgs {
    /// A name from `mha lessons`, or a lesson file; - is standard input
    #[arg(default_value = lesson::DEFAULT)]
    lesson: String,
    /// What to compare, with commas; the first is what the others are measured against
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "single-head,multi-head")]
    variants: Vec<Variant>,
    /// What to write
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: CompareFormat,
    /// Tokens in rows, or in columns
    #[arg(long, value_name = "WAY", default_value = "rows")]
    layout: Way,
    /// Which sequence of a batch, counted from 1
    #[arg(long, value_name = "B", default_value_t = 1, allow_negative_numbers = true, value_parser = counted_from_one)]
    sequence: usize,
    /// Let the lesson name files outside its folder
    #[arg(long)]
    allow_outside: bool,
    #[command(flatten)]
    pub(super) common: Common,
}

/// Formats of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CompareFormat {
    /// Tables to read
    Table,
    /// Every head's attention weights as shaded cells, on one scale
    Heatmap,
    /// Every number in full
    Json,
}

fn help() -> String {
    let list: Vec<String> = VARIANTS.iter().map(|(name, meaning)| format!("  {name:<22}{meaning}")).collect();
    format!(
        "Variants:\n{}\n\nExamples:\n  mha compare\n  mha compare --variants multi-head,gqa:2,mqa grouped-query\n  \
         mha compare --variants multi-head,fused,flash\n  mha compare masks --variants multi-head,no-scale\n  mha compare --format heatmap",
        list.join("\n")
    )
}

pub(super) fn run(args: &CompareArgs) -> Outcome<Ending> {
    let problem =
        lesson::load(&args.lesson, &args.common, Files::allowed(args.allow_outside), Claims::LeftAlone)?;
    let sequence = sequence(args, &problem)?;
    if let Some(twice) =
        args.variants.iter().enumerate().find(|(at, variant)| args.variants[..*at].contains(variant))
    {
        let fault = Fault::new(
            format!("{} is named twice", twice.1),
            "a variant differs in nothing from itself",
            "name each variant once",
        );
        return Err(fault.in_source("--variants").into());
    }
    let call = problem.call();
    let page = match args.format {
        CompareFormat::Heatmap => args.common.picture(args.layout.into()),
        _ => args.common.page(args.layout.into()),
    };
    let mut sides = Vec::with_capacity(args.variants.len());
    for variant in &args.variants {
        let (call, plan) = variant.apply(&call)?;
        let keep = match args.format {
            CompareFormat::Table => Keep::Only(compare::wanted(&plan, sequence, page.detail)),
            CompareFormat::Heatmap => Keep::Only(panels::wanted(&plan, sequence)),
            CompareFormat::Json => Keep::All,
        };
        let trace = run_plan(Arc::new(plan), &call.inputs, &keep, Arithmetic::Ordered)
            .map_err(|faults| faults.in_source(&lesson::source(&args.lesson)))?;
        let figures = Figures::of(&trace, &call.attention, sequence);
        sides.push(Compared { variant: *variant, call, trace, figures });
    }
    let comparison = Comparison {
        title: &problem.title,
        labels: &problem.labels,
        sides: &sides,
        attention: &problem.attention,
        batch: problem.batch,
        sequence,
        page,
    };
    output::write(&args.common, Content::Text, |out| match args.format {
        CompareFormat::Table => compare::write(&comparison, out),
        CompareFormat::Heatmap => terminal::write_comparison(&comparison, args.common.colours(), out),
        CompareFormat::Json => compare_json::write(&comparison, out),
    })?;
    Ok(Ending::Done)
}

fn sequence(args: &CompareArgs, problem: &Problem) -> Outcome<Option<usize>> {
    match problem.batch {
        Some(count) if (1..=count).contains(&args.sequence) => Ok(Some(args.sequence - 1)),
        None if args.sequence == 1 => Ok(None),
        batch => {
            let why = batch.map_or("the lesson's input has no batch axis".to_owned(), |count| {
                format!("the batch holds {count}")
            });
            let fault =
                Fault::new(format!("there is no sequence {}", args.sequence), why, "sequences count from 1");
            Err(fault.in_source("--sequence").into())
        }
    }
}
