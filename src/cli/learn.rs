//! `mha learn`: the course as a dialogue.

use std::io::IsTerminal;
use std::path::Path;

use clap::Args;
use jiff::civil::Date;

use super::lesson::{Files, Wanted};
use super::output::{self, Content};
use super::terminal::Terminal;
use super::{Common, Ending, command, complete, lesson, params};
use crate::course::dialogue::{Dialogue, End, From, Keeper, Setter, id, whole};
use crate::course::progress::{Progress, Store, today};
use crate::course::{Workshop, topics};
use crate::fault::{Fault, Outcome, reason, visible};
use crate::lesson::course::Part;
use crate::lesson::{Problem, builtin};
use crate::ops::Layout;
use crate::views::look;
use crate::views::page::Page;
use crate::words::t;

/// Learn multi-head attention in a dialogue: predict, then see
#[derive(Debug, Args)]
#[command(after_help = "\
What you have done is kept in one small file, progress.json, where your system keeps programs' data.
MHA_DATA_DIR names another folder for it; mha learn --forget empties it.

Examples:
  mha learn                     the lessons by topic, and what is due for review
  mha learn two-heads           begins a lesson, or goes on where you left it
  mha learn two-heads --from 3  begins at its third question
  mha learn mine.yaml           a lesson of your own
  mha learn review
                                asks once more what is due: what was missed comes back the next day
  mha learn two-heads --plain
                                all of it as text, with answers, for reading and screen readers")]
pub(super) struct LearnArgs {
    /// A name from the list, a path, or `review`: what is due [default: list the lessons]
    #[arg(value_name = "LESSON", add = complete::lessons_and_review())]
    lesson: Option<String>,
    /// Begin at question or task N, with what is told before it
    #[arg(long, value_name = "N", conflicts_with = "again", requires = "lesson", value_parser = super::common::counted_from_one)]
    from: Option<usize>,
    /// Start the lesson over: what was done of it is forgotten
    #[arg(long, requires = "lesson")]
    again: bool,
    /// Forget what was done, of one lesson or of all
    #[arg(long, value_name = "LESSON", num_args = 0..=1, conflicts_with_all = ["lesson", "from", "again", "plain"], add = complete::lessons_by_name())]
    forget: Option<Option<String>>,
    /// Print the whole lesson as text, tables line by line, and ask nothing
    #[arg(long, requires = "lesson", conflicts_with_all = ["from", "again"])]
    plain: bool,
    /// Let the lesson name files outside its folder
    #[arg(long)]
    allow_outside: bool,
    #[command(flatten)]
    pub(super) common: Common,
}

/// The name that stands for what is due.
const REVIEW: &str = "review";

pub(super) fn run(args: &LearnArgs) -> Outcome<Ending> {
    let store = Store::of_this_person();
    if let Some(which) = &args.forget {
        return forget(which.as_deref(), &store, args);
    }
    let (progress, note) = store.read();
    if let Some(note) = note {
        // Nobody is left to tell if standard error is closed.
        let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{note}\n"));
    }
    match args.lesson.as_deref() {
        None => list(&progress, args),
        Some(REVIEW) => review(&progress, &store, args),
        Some(name) => teach(name, &store, args),
    }
}

/// Whether questions can be asked and answered.
fn can_ask(args: &LearnArgs) -> bool {
    !args.plain
        && args.common.output.is_none()
        && std::io::stdin().is_terminal()
        && std::io::stdout().is_terminal()
}

/// A lesson as the file of progress knows it: a built-in one by its name, a file by its whole path.
fn key(name: &str) -> String {
    match builtin::find(name) {
        Some(lesson) => lesson.name.to_owned(),
        None => {
            std::fs::canonicalize(name).map_or_else(|_| name.to_owned(), |path| path.display().to_string())
        }
    }
}

fn load(name: &str, args: &LearnArgs) -> Outcome<Workshop> {
    let problem = lesson::load(name, &args.common, Files::allowed(args.allow_outside), Wanted::Course)?;
    Ok(workshop(problem))
}

fn workshop(problem: Problem) -> Workshop {
    Workshop::new(problem).counting(params::counted)
}

fn teach(name: &str, store: &Store, args: &LearnArgs) -> Outcome<Ending> {
    let workshop = load(name, args)?;
    // What cannot be computed is said before anything is taught.
    workshop.ran(None).map_err(|faults| faults.in_source(&lesson::source(name)))?;
    let page = args.common.page(Layout::Rows);
    let runner = |words: &[String]| command::output(words, page.width);
    let setter = Setter { page, colours: args.common.colours(), plain: args.plain, runner: &runner };
    let stops = workshop.parts().iter().filter(|part| id(part).is_some()).count();
    if let Some(from) = args.from.filter(|from| *from > stops) {
        let fault = Fault::new(
            t!("there is no question %{number}", number = from),
            t!("the lesson has %{count} questions and tasks", count = stops),
            t!("choose one of them"),
        );
        return Err(fault.in_source("--from").into());
    }
    if !can_ask(args) {
        let text = whole(&workshop, &setter);
        output::write(&args.common, Content::Text, |out| write!(out, "{text}"))?;
        return Ok(Ending::Done);
    }
    let mut console = terminal()?;
    let keeper = Keeper::new(store, &key(name), today());
    let from = match args.from {
        Some(from) => From::Question(from),
        None if args.again => From::Again,
        None => From::Left,
    };
    let typed = lesson::again(name, args.allow_outside);
    let end = Dialogue::new(workshop, &typed, setter, keeper, &mut console).lesson(from);
    Ok(ending(end))
}

fn terminal() -> Outcome<Terminal> {
    Terminal::new().map_err(|error| {
        let remedy = t!("mha learn LESSON --plain prints the lesson instead");
        Fault::new(t!("this terminal cannot be used"), reason(&error), remedy).into()
    })
}

fn ending(end: End) -> Ending {
    match end {
        End::Finished | End::Left => Ending::Done,
        End::Interrupted => Ending::Interrupted,
    }
}

fn forget(which: Option<&str>, store: &Store, args: &LearnArgs) -> Outcome<Ending> {
    let name = which.map(key);
    let mut was_there = false;
    let forgetting = |progress: &mut Progress| {
        was_there = match &name {
            Some(name) => progress.lessons.remove(name).is_some(),
            None => !std::mem::take(&mut progress.lessons).is_empty(),
        };
    };
    store.change(forgetting)?;
    let told = match (which, was_there) {
        (Some(name), true) => t!("Forgotten: what you have done of %{name}.", name = visible(name)),
        (Some(name), false) => t!("Nothing was kept of %{name}.", name = visible(name)),
        (None, true) => t!("Forgotten: everything you have done."),
        (None, false) => t!("Nothing was kept."),
    };
    let page = args.common.page(Layout::Rows);
    output::write(&args.common, Content::Text, |out| write!(out, "{}", page.paragraph(&told, 0)))?;
    Ok(Ending::Done)
}

/// A lesson in the list.
struct Entry {
    name: String,
    title: String,
    topic: Option<u8>,
    done: usize,
    all: usize,
}

fn list(progress: &Progress, args: &LearnArgs) -> Outcome<Ending> {
    let mut entries = Vec::new();
    for lesson in builtin::all() {
        let problem = lesson::load(lesson.name, &args.common, Files::Inside, Wanted::Course)?;
        let (title, topic) = (problem.title.clone(), problem.course.topics.iter().min().copied());
        let parts = workshop(problem).parts();
        let ids: Vec<&str> = parts.iter().filter_map(id).collect();
        let is_done =
            |id: &&&str| progress.lessons.get(lesson.name).is_some_and(|of| of.done.contains_key(**id));
        let done = ids.iter().filter(is_done).count();
        entries.push(Entry { name: lesson.name.to_owned(), title, topic, done, all: ids.len() });
    }
    // Stable: within a topic the lessons keep their order; those without one come last.
    entries.sort_by_key(|entry| entry.topic.unwrap_or(u8::MAX));
    let page = args.common.page(Layout::Rows);
    let mut text = look::title(&t!("Lessons by topic"), &page);
    let mut topic = None;
    for entry in &entries {
        if topic != Some(entry.topic) {
            let (number, title) = match entry.topic {
                Some(topic) => (format!("{topic}. "), topics::title(topic).to_string()),
                None => (String::new(), t!("More examples")),
            };
            let heading = format!("{number}{title}");
            text.push_str(&look::heading(&heading, &page));
            topic = Some(entry.topic);
        }
        text.push_str(&line(entry, &page));
    }
    text.push('\n');
    let due = due(progress, today()).iter().map(|(_, ids)| ids.len()).sum::<usize>();
    if due > 0 {
        let told = t!("Due for review: %{count}. mha learn review asks them.", count = due);
        text.push_str(&page.paragraph(&told, 0));
    }
    text.push_str(&page.paragraph(&t!("mha learn LESSON begins one, or goes on where you left it."), 0));
    // Whoever has begun nothing yet may not know where to.
    if let Some(first) = entries.first().filter(|_| progress.lessons.is_empty()) {
        let told = t!("New here? The first one is a good beginning: mha learn %{name}", name = first.name);
        text.push_str(&page.paragraph(&told, 0));
    }
    output::write(&args.common, Content::Text, |out| write!(out, "{text}"))?;
    Ok(Ending::Done)
}

fn line(entry: &Entry, page: &Page) -> String {
    let Entry { name, title, done, all, .. } = entry;
    let (mark, state) = match (*done, *all) {
        (_, 0) => ("·", String::new()),
        (0, 1) => ("·", t!("1 question")),
        (0, all) => ("·", t!("%{all} questions", all = all)),
        (done, all) if done == all => ("✓", t!("all %{all} done", all = all)),
        (done, all) => ("◐", t!("%{done} of %{all} done", done = done, all = all)),
    };
    let mark = if page.ascii && mark == "◐" { "~" } else { mark };
    let state = if state.is_empty() { state } else { format!(" ({state})") };
    let text = page.paragraph(&format!("{name}: {}{state}", visible(title)), 6);
    format!("  {} {}", page.letters(mark), text.trim_start().replacen(name.as_str(), &look::typed(name), 1))
}

/// What is due: lessons with the ids of their questions, in the order of their names.
fn due(progress: &Progress, day: Date) -> Vec<(String, Vec<String>)> {
    let of_lesson = |(name, of): (&String, &crate::course::progress::OfLesson)| {
        let due = of.done.iter().filter(|(_, done)| done.is_due(day));
        (name.clone(), due.map(|(id, _)| id.clone()).collect::<Vec<_>>())
    };
    progress.lessons.iter().map(of_lesson).filter(|(_, ids)| !ids.is_empty()).collect()
}

fn review(progress: &Progress, store: &Store, args: &LearnArgs) -> Outcome<Ending> {
    let day = today();
    let page = args.common.page(Layout::Rows);
    let mut told = String::new();
    let mut sessions: Vec<(String, Workshop, Vec<String>)> = Vec::new();
    for (name, ids) in due(progress, day) {
        let there = Path::new(&name).exists() || builtin::find(&name).is_some();
        let Some(workshop) = there.then(|| load(&name, args).ok()).flatten() else {
            let words = t!("%{name} cannot be read any more: it is left out.", name = visible(&name));
            told.push_str(&page.paragraph(&words, 0));
            continue;
        };
        // Only questions come back; what a lesson does not ask any more is gone.
        let parts = workshop.parts();
        let is_asked = |wanted: &String| {
            parts.iter().any(|part| matches!(part, Part::Ask(question) if question.id == *wanted))
        };
        let ids: Vec<String> = ids.into_iter().filter(is_asked).collect();
        if !ids.is_empty() {
            sessions.push((name, workshop, ids));
        }
    }
    let count: usize = sessions.iter().map(|(.., ids)| ids.len()).sum();
    let words = match count {
        0 => match next_due(progress, day) {
            Some(next) => t!("Nothing is due today. The next question comes back on %{day}.", day = next),
            None => t!("Nothing is due: questions come back once you have answered some (mha learn)."),
        },
        1 => t!("1 question is due."),
        count => t!("%{count} questions are due.", count = count),
    };
    told.push_str(&page.paragraph(&words, 0));
    if !can_ask(args) || count == 0 {
        for (name, _, ids) in &sessions {
            told.push_str(&page.paragraph(&format!("{}: {}", visible(name), ids.len()), 2));
        }
        output::write(&args.common, Content::Text, |out| write!(out, "{told}"))?;
        return Ok(Ending::Done);
    }
    let mut console = terminal()?;
    crate::course::dialogue::Console::say(&mut console, &format!("{told}\n"));
    let runner = |words: &[String]| command::output(words, page.width);
    let setter = Setter { page, colours: args.common.colours(), plain: false, runner: &runner };
    for (name, workshop, ids) in sessions {
        let keeper = Keeper::new(store, &name, day);
        let end = Dialogue::new(workshop, &name, setter, keeper, &mut console).review(&ids);
        if end != End::Finished {
            return Ok(ending(end));
        }
    }
    let words = page.paragraph(&t!("That was all for today."), 0);
    crate::course::dialogue::Console::say(&mut console, &words);
    Ok(Ending::Done)
}

fn next_due(progress: &Progress, day: Date) -> Option<Date> {
    let all = progress.lessons.values().flat_map(|of| of.done.values());
    all.map(|done| done.due).filter(|due| *due > day).min()
}
