//! `mha lessons`: which there are, what is in them, and whether what they say is true.

mod new;
pub(super) mod render;
mod schema;

use clap::{Args, Subcommand};

use super::lesson::{Files, Wanted};
use super::output::{self, Content};
use super::{Common, Ending, command, complete, lesson};
use crate::course::validate::{self, Scope, Tally, Verdict};
use crate::course::{Right, Workshop};
use crate::fault::{Fault, Faults, Outcome, folded, visible};
use crate::lesson::course::Part;
use crate::lesson::{Answer, Language, Problem, Question, builtin};
use crate::ops::Layout;
use crate::views::grid::{Grid, Side};
use crate::views::look;
use crate::views::page::width;
use crate::words::t;

/// List, show and check lessons
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mha lessons                     what there is
  mha lessons show two-heads      the file, to copy and change
  mha lessons show two-heads --output mine.yaml
  mha lessons validate mine.yaml  are its shapes right and its claims true?
  mha lessons validate            the same for all built-in lessons
  mha lessons new mine.yaml       a first draft of your own
  mha lessons render --all --output course
                                  pages for a browser")]
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
    /// A first draft of a lesson of your own, with comments on what else is possible
    New(new::NewArgs),
    /// Lessons as pages, with everything computed
    Render(render::RenderArgs),
    /// The JSON Schema of lesson files, for an editor
    Schema(schema::SchemaArgs),
}

#[derive(Debug, Args)]
struct ListArgs {
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
struct ShowArgs {
    /// A name from the list, or a path
    #[arg(add = complete::lessons())]
    lesson: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
struct ValidateArgs {
    /// Names or paths [default: all that come with mha]
    #[arg(add = complete::lessons())]
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
            Some(What::New(args)) => &args.common,
            Some(What::Render(args)) => &args.common,
            Some(What::Schema(args)) => &args.common,
        }
    }

    /// Whether `--output` names a folder.
    pub(super) fn writes_a_folder(&self) -> bool {
        matches!(self.what, Some(What::Render(_)))
    }
}

pub(super) fn run(args: &LessonsArgs) -> Outcome<Ending> {
    let common = args.common();
    match &args.what {
        None | Some(What::List(_)) => list(common),
        Some(What::Show(args)) => show(&args.lesson, common),
        Some(What::Validate(args)) => validate_all(args, common),
        Some(What::New(args)) => new::run(args),
        Some(What::Render(args)) => render::run(args),
        Some(What::Schema(args)) => schema::run(args),
    }
}

fn list(common: &Common) -> Outcome<Ending> {
    let mut grid =
        Grid { corner: t!("lesson"), columns: vec![t!("title")], align: vec![Side::Left], ..Grid::default() };
    for lesson in builtin::all() {
        let problem = lesson::load(lesson.name, common, Files::Inside, Wanted::Example)?;
        grid.rows.push(lesson.name.to_owned());
        grid.cells.push(vec![visible(&problem.title)]);
    }
    let page = common.page(Layout::Rows);
    output::write(common, Content::Text, |out| {
        write!(out, "{}\n{}", look::title(&t!("Lessons that come with mha"), &page), grid.render(&page))?;
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
            let problem = lesson::load(name, common, Files::Inside, Wanted::Example)?;
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
    let page = common.page(Layout::Rows);
    let mut report = String::new();
    let mut broken: Vec<Fault> = Vec::new();
    let mut false_ones: Vec<Fault> = Vec::new();
    for name in &all {
        match lesson::load(name, common, Files::allowed(args.allow_outside), Wanted::All)
            .and_then(|problem| judge(problem, name))
        {
            Ok((workshop, verdict)) if verdict.faults.is_empty() => {
                let line = page.paragraph(
                    &t!("%{lesson}: %{found}", lesson = visible(name), found = counted(&verdict.tally)),
                    width(&page.letters("✓ ")),
                );
                report.push_str(&format!("{} {}", look::right("✓"), line.trim_start()));
                if common.verbose {
                    for answer in answers(&workshop) {
                        report.push_str(&page.paragraph(&visible(&answer), 4));
                    }
                }
            }
            Ok((_, verdict)) => {
                let faults = Faults(verdict.faults);
                let told = folded(&faults.to_string(), page.width);
                report.push_str(&format!("{} {}\n{told}", look::wrong("✗"), visible(name)));
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
    output::write(common, Content::Text, |out| write!(out, "{}", page.letters(&report)))?;
    Ok(if false_ones.is_empty() { Ending::Done } else { Ending::AnswerIsNo })
}

/// Computes a lesson, and finds what is untrue about it; its texts in both languages.
fn judge(problem: Problem, name: &str) -> Outcome<(Workshop, Verdict)> {
    let source = lesson::source(name);
    let other = match problem.language() {
        Language::En => Language::Zh,
        Language::Zh => Language::En,
    };
    let translated = problem.in_language(other).map_err(|faults| faults.in_source(&source))?;
    let workshop = lesson::workshop(problem);
    workshop.ran(None).map_err(|faults| faults.in_source(&source))?;
    let run = |words: &[String]| command::output(words, VALIDATED);
    let mut verdict = validate::check(&workshop, &source, Scope::All(&run));
    let translated = validate::check(&workshop.retold(translated), &source, Scope::Texts);
    for fault in translated.faults {
        if !verdict.faults.contains(&fault) {
            verdict.faults.push(fault);
        }
    }
    verdict.faults.sort_by_key(|fault| fault.place.as_ref().and_then(|place| place.line_column));
    Ok((workshop, verdict))
}

/// The width that commands of a lesson are tried at.
const VALIDATED: usize = 80;

fn counted(tally: &Tally) -> String {
    let claims = match tally.claims {
        1 => t!("1 claim true"),
        count => t!("%{count} claims true", count),
    };
    let answers = match tally.answers {
        1 => t!("1 answer computed"),
        count => t!("%{count} answers computed", count),
    };
    let sentences = match tally.sentences {
        1 => t!("1 sentence told"),
        count => t!("%{count} sentences told", count),
    };
    let whole =
        t!("%{claims}, %{answers}, %{sentences}", claims = claims, answers = answers, sentences = sentences);
    [
        several(tally.runs, t!("1 run"), |count| t!("%{count} runs", count = count)),
        several(tally.tables, t!("1 table"), |count| t!("%{count} tables", count = count)),
        several(tally.plots, t!("1 plot"), |count| t!("%{count} plots", count = count)),
        several(tally.tasks, t!("1 task"), |count| t!("%{count} tasks", count = count)),
        several(tally.commands, t!("1 command"), |count| t!("%{count} commands", count = count)),
    ]
    .into_iter()
    .flatten()
    .fold(whole, |before, more| t!("%{before}, %{more}", before = before, more = more))
}

/// What is said of a count; nothing of none.
fn several(count: usize, one: String, many: impl Fn(usize) -> String) -> Option<String> {
    match count {
        0 => None,
        1 => Some(one),
        count => Some(many(count)),
    }
}

/// The questions with their answers, as a teacher wants to see them.
fn answers(workshop: &Workshop) -> Vec<String> {
    let told = |question: &Question| {
        let answer = match (workshop.right(question), &question.answer) {
            (Ok(Right::Numbers(numbers)), _) => {
                numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(" ")
            }
            (Ok(Right::Shape(rows, columns)), _) => format!("{rows} × {columns}"),
            (Ok(Right::Choice(right)), Answer::Choice(choices, _) | Answer::Computed(choices, _)) => {
                choices.get(right).cloned().unwrap_or_default()
            }
            _ => "?".to_owned(),
        };
        format!("{} {answer}", workshop.filled(&question.ask, DIGITS))
    };
    workshop
        .parts()
        .iter()
        .filter_map(|part| match part {
            Part::Ask(question) => Some(told(question)),
            _ => None,
        })
        .collect()
}

/// Digits of numbers inside a question.
const DIGITS: usize = 4;
