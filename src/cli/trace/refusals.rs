//! Flags that do not go together, each with its reason. Said before anything is read or computed.

use super::{TraceArgs, TraceFormat, Way};
use crate::fault::{Fault, Outcome};
use crate::lesson::Problem;

/// Refuses what the chosen format cannot show.
///
/// # Errors
/// The first flag that does not fit.
pub(super) fn refuse(args: &TraceArgs) -> Outcome<()> {
    program(args)?;
    arrays(args)?;
    exact(args)?;
    mistake(args)?;
    explanation(args)
}

fn refused(flag: &str, what: impl Into<String>, why: &str, remedy: &str) -> Outcome<()> {
    Err(Fault::new(what, why, remedy).in_source(flag).into())
}

/// A script or a notebook cannot heed every flag, and `--with` needs a script.
fn program(args: &TraceArgs) -> Outcome<()> {
    let kind = match args.format {
        TraceFormat::Python => "script",
        TraceFormat::Ipynb => "notebook",
        _ => "",
    };
    let is_program = !kind.is_empty();
    if args.with.is_some() && args.format != TraceFormat::Python {
        let what = match args.format {
            TraceFormat::Ipynb => "a notebook computes with NumPy",
            _ => "--with names the library of a script, and none is asked for",
        };
        let why = "--with belongs to --format python";
        return refused("--with", what, why, "add --format python, or leave out --with");
    }
    if is_program && !args.steps.is_empty() {
        let what = format!("a {kind} holds every step");
        let why = "each step is computed from those before it";
        return refused("--steps", what, why, "leave out --steps, and delete what you do not need");
    }
    if is_program && !args.heads.is_empty() {
        let what = format!("a {kind} computes all heads at once");
        let why = "they are one array, and concat and the output need every one of them";
        return refused("--heads", what, why, "leave out --heads; scores[0] is head 1");
    }
    if is_program && args.layout == Way::Columns {
        let what = format!("a {kind} has tokens in rows");
        let why = "it saves its arrays under the names and shapes of npz files, which are fixed";
        return refused("--layout", what, why, "leave out --layout; transpose in NumPy with .T");
    }
    Ok(())
}

/// Arrays have one shape, whatever is shown.
fn arrays(args: &TraceArgs) -> Outcome<()> {
    if args.format != TraceFormat::Npz {
        return Ok(());
    }
    if !args.heads.is_empty() {
        let (what, why) = (
            "npz files hold all heads, one above the other",
            "head 2 alone under the name of all would be taken for head 1",
        );
        return refused(
            "--heads",
            what,
            why,
            "leave out --heads, and take the head in NumPy: z['weights'][1]",
        );
    }
    if args.layout == Way::Columns {
        let why = "their names and shapes are fixed, so that programs can rely on them";
        return refused(
            "--layout",
            "npz files hold tokens in rows",
            why,
            "leave out --layout; transpose in NumPy with .T",
        );
    }
    Ok(())
}

/// Programs and mistakes are of one attention call, and a lesson may be a stack of layers.
///
/// # Errors
/// The flag that does not fit the lesson.
pub(super) fn of_a_stack(args: &TraceArgs, problem: &Problem) -> Outcome<()> {
    if problem.layers.is_none() {
        return Ok(());
    }
    match args.format {
        _ if args.mistake.is_some() => refused(
            "--mistake",
            "a stack of layers is not computed wrongly",
            "the known mistakes are of one attention call",
            "take a lesson without layers",
        ),
        TraceFormat::Python | TraceFormat::Ipynb => refused(
            "--format",
            "a stack of layers is not written as a program",
            "scripts and notebooks are of one attention call",
            "use json, csv or npz for the numbers, or take a lesson without layers",
        ),
        _ => Ok(()),
    }
}

/// Exact forms are text: what holds numbers only has no place for them.
fn exact(args: &TraceArgs) -> Outcome<()> {
    let (what, why) = match args.format {
        _ if !args.exact => return Ok(()),
        TraceFormat::Table if args.summary => {
            ("a summary", "its smallest, mean and largest of a step are rounded by nature")
        }
        TraceFormat::Csv => ("csv", "its last column holds numbers, which programs read as such"),
        TraceFormat::Npz => ("npz", "it holds arrays of numbers, and 1/√2 is not one that fits"),
        TraceFormat::Mermaid => ("a diagram", "it shows how steps hang together, and none of their numbers"),
        TraceFormat::Python | TraceFormat::Ipynb => ("a program", "it computes with floating-point numbers"),
        TraceFormat::Heatmap | TraceFormat::Svg | TraceFormat::Png => {
            ("a heat map", "its cells are shades, with two digits to tell them apart")
        }
        TraceFormat::Table
        | TraceFormat::Json
        | TraceFormat::Markdown
        | TraceFormat::Latex
        | TraceFormat::Html => return Ok(()),
    };
    let what = format!("{what} cannot show exact forms");
    refused("--exact", what, why, "leave out --exact, or use --format json, which has both")
}

/// A wrong run has no exact numbers, cannot be stepped through, and is no program.
fn mistake(args: &TraceArgs) -> Outcome<()> {
    const REMEDY: &str = "leave it out: the table shows both runs side by side";
    match args.format {
        _ if args.mistake.is_none() => Ok(()),
        _ if args.interactive => {
            let why = "it steps through one run, and a mistake is read beside the right one";
            refused("--interactive", "the stepper does not show mistakes", why, REMEDY)
        }
        _ if args.exact => {
            let why = "exact forms are worked out for right computations only";
            refused("--exact", "a wrong run is shown in decimals", why, REMEDY)
        }
        TraceFormat::Python | TraceFormat::Ipynb | TraceFormat::Latex => refused(
            "--format",
            "this format shows right computations only",
            "it writes formulas and code of operations that a right computation has",
            "use table or json for both runs, or npz, csv, markdown, html, heatmap, svg or png for the wrong one",
        ),
        _ => Ok(()),
    }
}

/// Explanations are of single numbers.
fn explanation(args: &TraceArgs) -> Outcome<()> {
    match args.format {
        _ if args.explain.is_empty() => Ok(()),
        _ if args.layout == Way::Columns => refused(
            "--layout",
            "an explanation shows no matrix that could be turned",
            "it names its numbers as files and lessons do: a token is a row",
            "leave out --layout",
        ),
        TraceFormat::Table | TraceFormat::Json => Ok(()),
        _ => refused(
            "--format",
            "an explanation is text or JSON",
            "other formats hold whole steps",
            "leave out --format, or write --format json; in --format html every number explains itself",
        ),
    }
}
