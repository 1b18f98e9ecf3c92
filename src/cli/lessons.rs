//! `mha lessons`: which there are, what is in them, and whether what they say is true.

use std::sync::Arc;

use clap::{Args, Subcommand};
use colored::Colorize;

use super::lesson::{Claims, Files};
use super::output::{self, Content};
use super::{Common, Ending, lesson};
use crate::fault::{Fault, Faults, Outcome, visible};
use crate::lesson::{Problem, builtin, validate};
use crate::ops::{Arithmetic, Layout};
use crate::plan::attention;
use crate::trace::{Keep, run_plan};
use crate::views::grid::{Grid, Side};
use crate::words::t;

/// List, show and check lessons
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mha lessons                             what there is
  mha lessons show two-heads              the file, to copy and change
  mha lessons show two-heads --output mine.yaml
  mha lessons validate mine.yaml          are its shapes right and its claims true?
  mha lessons validate                    the same for all built-in lessons")]
pub(super) struct LessonsArgs {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Debug, Subcommand)]
enum What {
    /// The lessons that come with mha
    List(ListArgs),
    /// The file of a lesson
    Show(ShowArgs),
    /// Compute a lesson and check everything it says
    Validate(ValidateArgs),
}

#[derive(Debug, Args)]
struct ListArgs {
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
struct ShowArgs {
    /// A name from the list, or a path
    lesson: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
struct ValidateArgs {
    /// Names or paths [default: all that come with mha]
    lessons: Vec<String>,
    /// Let lessons name files outside their folder
    #[arg(long)]
    allow_outside: bool,
    #[command(flatten)]
    common: Common,
}

impl LessonsArgs {
    /// The flags of what was asked for.
    pub(super) fn common(&self) -> &Common {
        match &self.what {
            None => &self.common,
            Some(What::List(args)) => &args.common,
            Some(What::Show(args)) => &args.common,
            Some(What::Validate(args)) => &args.common,
        }
    }
}

pub(super) fn run(args: &LessonsArgs) -> Outcome<Ending> {
    let common = args.common();
    match &args.what {
        None | Some(What::List(_)) => list(common),
        Some(What::Show(args)) => show(&args.lesson, common),
        Some(What::Validate(args)) => validate_all(args, common),
    }
}

fn list(common: &Common) -> Outcome<Ending> {
    let mut grid =
        Grid { corner: t!("lesson"), columns: vec![t!("title")], align: vec![Side::Left], ..Grid::default() };
    for lesson in builtin::all() {
        let problem = lesson::load(lesson.name, common, Files::Inside, Claims::LeftAlone)?;
        grid.rows.push(lesson.name.to_owned());
        grid.cells.push(vec![visible(&problem.title)]);
    }
    let page = common.page(Layout::Rows);
    output::write(common, Content::Text, |out| {
        write!(out, "{}", grid.render(&page))?;
        write!(
            out,
            "{}",
            page.paragraph(&t!("mha trace NAME computes one; mha lessons show NAME prints its file."), 0)
        )
    })?;
    Ok(Ending::Done)
}

fn show(name: &str, common: &Common) -> Outcome<Ending> {
    let text = match builtin::find(name) {
        Some(lesson) => lesson.text.to_owned(),
        None => {
            // Only what is a lesson is shown, and its control characters are shown, not sent.
            let problem = lesson::load(name, common, Files::Inside, Claims::LeftAlone)?;
            problem.text.lines().map(|line| visible(line) + "\n").collect()
        }
    };
    output::write(common, Content::Text, |out| write!(out, "{text}"))?;
    Ok(Ending::Done)
}

fn validate_all(args: &ValidateArgs, common: &Common) -> Outcome<Ending> {
    let all: Vec<String> = match args.lessons.as_slice() {
        [] => builtin::all().iter().map(|lesson| lesson.name.to_owned()).collect(),
        named => named.to_vec(),
    };
    let mut report = String::new();
    let mut broken: Vec<Fault> = Vec::new();
    let mut false_ones: Vec<Fault> = Vec::new();
    for name in &all {
        match lesson::load(name, common, Files::allowed(args.allow_outside), Claims::Checked)
            .and_then(|problem| judge(&problem, name))
        {
            Ok((problem, faults, answers)) if faults.is_empty() => {
                report.push_str(&format!("{} {}: {}\n", "✓".green(), visible(name), counted(&problem)));
                if common.verbose {
                    answers.iter().for_each(|answer| report.push_str(&format!("  {}\n", visible(answer))));
                }
            }
            Ok((_, faults, _)) => {
                let faults = Faults(faults);
                report.push_str(&format!("{} {}\n{faults}", "✗".red(), visible(name)));
                false_ones.extend(faults.0);
            }
            Err(faults) => broken.extend(faults.0),
        }
    }
    // A lesson that cannot be computed ends the request; what is untrue about the others is not lost.
    if !broken.is_empty() {
        broken.extend(false_ones);
        return Err(Faults(broken));
    }
    let page = common.page(Layout::Rows);
    output::write(common, Content::Text, |out| write!(out, "{}", page.letters(&report)))?;
    Ok(if false_ones.is_empty() { Ending::Done } else { Ending::AnswerIsNo })
}

/// Computes a lesson, finds what is untrue about it, and answers its quiz.
fn judge(problem: &Problem, name: &str) -> Outcome<(Problem, Vec<Fault>, Vec<String>)> {
    let (call, source) = (problem.call(), lesson::source(name));
    let plan = attention::plan(&call).map_err(|fault| Faults::from(fault.in_source(&source)))?;
    let trace = run_plan(Arc::new(plan), &call.inputs, &Keep::All, Arithmetic::Ordered)
        .map_err(|faults| faults.in_source(&source))?;
    Ok((problem.clone(), validate::check(problem, &trace, &source), validate::answers(problem, &trace)))
}

fn counted(problem: &Problem) -> String {
    let claims = match problem.claims.len() {
        1 => t!("1 claim true"),
        count => t!("%{count} claims true", count),
    };
    let answers = match problem.quiz.len() {
        1 => t!("1 answer computed"),
        count => t!("%{count} answers computed", count),
    };
    let sentences = match problem.story.len() {
        1 => t!("1 sentence told"),
        count => t!("%{count} sentences told", count),
    };
    t!("%{claims}, %{answers}, %{sentences}", claims, answers, sentences)
}
