//! `mha compare`: the same problem computed several ways, side by side.

use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::common::{counted_from_one, no_sequence};
use super::lesson::{Files, Wanted};
use super::model::ModelArgs;
use super::output::{self, Body, Content};
use super::trace::Way;
use super::{Common, Ending, complete, lesson, mistake, patience};
use crate::fault::{Fault, Outcome};
use crate::lesson::Problem;
use crate::mistakes::{Mistake, Side, WrongRun};
use crate::ops::Arithmetic;
use crate::plan::rewrites::{VARIANTS, Variant};
use crate::plan::{Attention, Call, Plan, attention};
use crate::trace::measure::Figures;
use crate::trace::{Keep, run_plan};
use crate::views::compare::{self, Compared, Comparison};
use crate::views::compare_json;
use crate::views::heat::figure::Figure;
use crate::views::heat::{panels, png, svg, terminal};

/// Put variants of attention side by side
#[derive(Debug, Args)]
#[command(after_help = help())]
pub(super) struct CompareArgs {
    /// A name from `mha lessons`, or a lesson file; - is standard input
    #[arg(default_value = lesson::DEFAULT, conflicts_with = "model", add = complete::lessons())]
    lesson: String,
    #[command(flatten)]
    model: ModelArgs,
    /// Which layer of a model, counted from 1
    #[arg(long, value_name = "L", requires = "model", default_value_t = 1, allow_negative_numbers = true, value_parser = counted_from_one, add = complete::layers(&[]))]
    layer: usize,
    /// What to compare, with commas: variants, and mistakes by their names in `mha mistakes`; the first is what the
    /// others are measured against
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "single-head,multi-head", add = complete::variants())]
    variants: Vec<Side>,
    /// What to write
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: CompareFormat,
    /// Tokens in rows, or in columns
    #[arg(long, value_name = "WAY", default_value = "rows")]
    layout: Way,
    /// Which sequence of a batch, counted from 1
    #[arg(long, value_name = "B", default_value_t = 1, allow_negative_numbers = true, value_parser = counted_from_one, add = complete::sequences(&[]))]
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
    /// Heat maps as a figure that stays sharp, for papers and pages
    Svg,
    /// The same figure in pixels, for slides
    Png,
}

fn help() -> String {
    // Eighty columns hold a name with a short meaning; a long one folds better on lines of its own.
    const BESIDE: usize = 56;
    let line = |(name, meaning): &(&str, &str)| match meaning.len() <= BESIDE {
        true => format!("  {name:<22}{meaning}"),
        false => format!("  {name}\n{:24}{meaning}", ""),
    };
    let list: Vec<String> = VARIANTS.iter().map(line).collect();
    format!(
        "Variants:\n{}\n\nMistakes stand beside them: `mha mistakes` lists their names. Where one comes first, multi-head is put \
         before it.\n\nExamples:\n  mha compare\n  mha compare --variants multi-head,gqa:2,mqa grouped-query\n  \
         mha compare --variants multi-head,fused,flash\n  mha compare masks --variants multi-head,no-scale\n  \
         mha compare --variants scale-missing,heads-not-split\n  mha compare --format heatmap\n  \
         mha compare --model DIR --text 'The cat sat' --variants multi-head,mqa",
        list.join("\n")
    )
}

impl CompareArgs {
    /// Whether what is written is for programs, which read English.
    pub(super) fn is_for_programs(&self) -> bool {
        self.format == CompareFormat::Json
    }
}

pub(super) fn run(args: &CompareArgs) -> Outcome<Ending> {
    let (problem, source) = match args.model.is_given() {
        true => {
            let model = args.model.opened()?;
            let layer = args.layer - 1;
            let problem = args.model.layer_alone(&model, layer)?;
            (problem, model.name)
        }
        false => {
            let files = Files::allowed(args.allow_outside);
            let problem = lesson::load(&args.lesson, &args.common, files, Wanted::Example)?;
            lesson::one_call(&problem, "compares variants", &args.lesson)?;
            (problem, lesson::source(&args.lesson))
        }
    };
    let sequence = sequence(args, &problem)?;
    let twice = args.variants.iter().enumerate().find(|(at, variant)| args.variants[..*at].contains(variant));
    if let Some(twice) = twice {
        let fault = Fault::new(
            format!("{} is named twice", twice.1),
            "a variant differs in nothing from itself",
            "name each variant once",
        );
        return Err(fault.in_source("--variants").into());
    }
    let call = problem.call();
    let page = match args.format {
        CompareFormat::Heatmap | CompareFormat::Svg | CompareFormat::Png => {
            args.common.picture(args.layout.into())
        }
        CompareFormat::Table | CompareFormat::Json => args.common.page(args.layout.into()),
    };
    let mut sides = Vec::with_capacity(args.variants.len() + 1);
    for variant in columns(&args.variants, &problem.attention) {
        let (call, plan, form) = match variant {
            Side::Variant(variant) => variant.apply(&call).map(|(call, plan)| (call, plan, ""))?,
            Side::Mistake(mistake) => {
                let Some(made) = made(mistake, &call).map_err(|faults| faults.in_source(&source))? else {
                    let meant = (mistake, mistake.forms);
                    return Err(mistake::has_no_meaning(meant, &source, &args.common, "--variants").into());
                };
                made
            }
        };
        let keep = match args.format {
            CompareFormat::Table => Keep::Only(compare::wanted(&plan, sequence, page.detail)),
            CompareFormat::Heatmap | CompareFormat::Svg | CompareFormat::Png => {
                Keep::Only(panels::wanted(&plan, sequence))
            }
            CompareFormat::Json => Keep::All,
        };
        let plan = Arc::new(plan);
        let run = || run_plan(plan.clone(), &call.inputs, &keep, Arithmetic::Ordered);
        let trace =
            patience::watched(&plan, &args.common, run).map_err(|faults| faults.in_source(&source))?;
        let figures = Figures::of(&trace, &call.attention, sequence);
        sides.push(Compared { variant, form, call, trace, figures });
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
    let figure = || Figure::new(comparison.title, panels::of_comparison(&comparison), page.digits);
    let (content, body): (Content, Body<'_>) = match args.format {
        CompareFormat::Table => (Content::Text, Box::new(|out| compare::write(&comparison, out))),
        CompareFormat::Heatmap => (
            Content::Text,
            Box::new(|out| terminal::write_comparison(&comparison, args.common.colours(), out)),
        ),
        CompareFormat::Json => (Content::Text, Box::new(|out| compare_json::write(&comparison, out))),
        CompareFormat::Svg => {
            let figure = figure()?;
            (Content::Text, Box::new(move |out| svg::write(&figure, out)))
        }
        CompareFormat::Png => {
            let figure = figure()?;
            (Content::Bytes, Box::new(move |out| png::write(&figure, out)))
        }
    };
    output::write(&args.common, content, body)?;
    Ok(Ending::Done)
}

/// The columns in their order: a mistake is measured against the right run, which comes first unless another variant
/// does.
fn columns(named: &[Side], attention: &Attention) -> Vec<Side> {
    // The variant that is the lesson itself.
    let right = Side::Variant(match attention.num_kv_heads {
        heads if heads == attention.num_heads => Variant::MultiHead,
        1 => Variant::Mqa,
        groups => Variant::Gqa(groups),
    });
    match named.first() {
        Some(Side::Mistake(_)) => {
            std::iter::once(right).chain(named.iter().copied().filter(|side| *side != right)).collect()
        }
        _ => named.to_vec(),
    }
}

/// A mistake made on a call: the call with the sizes of the wrong run, its plan, and the form of it; `None` where it
/// has no meaning there.
fn made(mistake: &'static Mistake, call: &Call) -> Outcome<Option<(Call, Plan, &'static str)>> {
    let plan = Arc::new(attention::plan(call)?);
    let made = WrongRun::of(mistake, mistake.forms, call, &plan)?;
    Ok(made.map(|made| {
        let call = Call { attention: made.attention(call), ..call.clone() };
        (call, made.wrong.plan().clone(), made.form.name)
    }))
}

fn sequence(args: &CompareArgs, problem: &Problem) -> Outcome<Option<usize>> {
    match problem.batch {
        Some(count) if (1..=count).contains(&args.sequence) => Ok(Some(args.sequence - 1)),
        None if args.sequence == 1 => Ok(None),
        batch => Err(no_sequence(args.sequence, batch).into()),
    }
}
