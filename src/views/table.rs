//! The page: each step with its number, name, formula, table, and a line that says what happened.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};

use super::grid::Grid;
use super::number::{digits_for, number, written};
use super::page::{Detail, Layout, Page};
use super::sheet::{Sheet, spoken};
use super::{Scene, look, story};
use crate::fault::visible;
use crate::lesson::Quantity;
use crate::lesson::quantity::of_trace::OfTrace;
use crate::ops::{Operation, Told, View};
use crate::plan::{HeadStep, Name, Plan, Step, StepId, names as called};
use crate::words::{n, say, t};

/// Blanks before everything that belongs to a step.
pub(super) const INDENT: usize = 4;
/// From so many steps on a page says how to narrow it.
const LONG: usize = 12;

/// Writes the whole page.
///
/// # Errors
/// Those of the writer.
pub fn write(scene: &Scene<'_>, out: &mut dyn Write) -> io::Result<()> {
    heading(scene, out)?;
    let numbers = numbers(scene);
    for id in scene.steps {
        if let Some(step) = scene.trace.plan().get(*id) {
            write_step(scene, numbers.get(&id.within()).copied().unwrap_or(0), step, out)?;
        }
    }
    if scene.steps.len() == numbers.len() && numbers.len() > LONG && scene.page.detail == Detail::Told {
        let words = t!("--steps, --heads and --summary narrow this page; mha trace --help has examples.");
        write!(out, "\n{}", scene.page.paragraph(&words, 0))?;
    }
    Ok(())
}

/// Where each step stands, from 1: the same number in every sequence of a batch, and whatever else is shown.
pub fn numbers(scene: &Scene<'_>) -> HashMap<StepId, usize> {
    let first = |step: &&Step| step.id.sequence.is_none_or(|sequence| sequence == 0);
    let steps = scene.trace.plan().steps().iter().filter(first);
    steps.enumerate().map(|(place, step)| (step.id.within(), place + 1)).collect()
}

/// Title, summary and source, each where there is one.
pub fn heading(scene: &Scene<'_>, out: &mut dyn Write) -> io::Result<()> {
    let page = &scene.page;
    write!(out, "{}", look::title(&visible(scene.title), page))?;
    if page.detail != Detail::Bare {
        write!(out, "{}", page.paragraph(&visible(scene.summary), 0))?;
    }
    if !scene.source.is_empty() && page.detail != Detail::Bare {
        write!(out, "{}", page.paragraph(&t!("Source: %{source}", source = visible(scene.source)), 0))?;
    }
    for words in notes(scene) {
        write!(out, "{}", page.paragraph(&words, 0))?;
    }
    Ok(())
}

/// What has to be said about the whole page: that it is turned, and which sequences of a batch it shows.
pub fn notes(scene: &Scene<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if scene.page.layout == Layout::Columns && scene.page.detail != Detail::Bare {
        notes.push(turned());
    }
    notes.extend(sequences(scene));
    notes
}

/// What stands below a step's table, as the page's detail wants it: why it shows decimals, what happened, what it cost.
/// The lesson's own sentences begin with `» `.
pub fn remarks(scene: &Scene<'_>, step: &Step, why_not_exact: Option<&str>) -> Vec<String> {
    let detail = scene.page.detail;
    let mut remarks = Vec::new();
    if detail != Detail::Bare {
        remarks.extend(why_not_exact.map(|why| t!("Decimals: %{why}.", why)));
        remarks.extend(words(scene, step));
    }
    if detail == Detail::Counted {
        remarks.push(cost(scene, step));
    }
    remarks
}

/// What has to be said of a page with tokens in columns.
pub fn turned() -> String {
    t!(
        "Every matrix is turned here: a token is a column. Rows, columns and sizes in the lesson's own words are those \
         before turning."
    )
}

/// Which sequences of a batch a page shows.
pub fn sequences(scene: &Scene<'_>) -> Option<String> {
    let shown: BTreeSet<usize> = scene.steps.iter().filter_map(|id| id.sequence).collect();
    let (count, first) = (scene.batch?, shown.first()?);
    Some(match shown.len() {
        1 => {
            t!(
                "Sequence %{one} of %{count}; --sequence N shows another, --sequence all every one.",
                one = first + 1,
                count
            )
        }
        _ => t!("Every sequence of the batch."),
    })
}

fn write_step(scene: &Scene<'_>, number: usize, step: &Step, out: &mut dyn Write) -> io::Result<()> {
    let page = &scene.page;
    name_step(Some(number), step.id, page, out)?;
    if page.detail != Detail::Bare {
        write!(out, "{}", page.paragraph(&formula(scene.trace.plan(), step, page), INDENT))?;
    }
    let Some(value) = scene.trace.get(step.id) else { return Ok(()) };
    let (sheet, decimals) = sheet(scene, step, value);
    write!(out, "{}", grid(&sheet, step, page).render(page))?;
    if page.detail != Detail::Bare {
        write!(out, "{}", page.paragraph(&decimals, INDENT))?;
        for words in words(scene, step) {
            write!(out, "{}", page.paragraph(&words, INDENT))?;
        }
    }
    if page.detail == Detail::Counted {
        write!(out, "{}", page.paragraph(&cost(scene, step), INDENT))?;
    }
    Ok(())
}

/// The line above a step: its number, its name, its title.
///
/// # Errors
/// Those of the writer.
pub fn name_step(number: Option<usize>, id: StepId, page: &Page, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    let number = number.map(|number| number.to_string()).unwrap_or_default();
    let name = format!("{number:>2}  {id}");
    let title = page.letters(&called::title(id));
    if super::page::width(&name) + super::page::width(&title) + 3 <= page.width {
        return writeln!(out, "{}{}{title}", look::name(&name), page.between());
    }
    writeln!(out, "{}", look::name(&name))?;
    write!(out, "{}", page.paragraph(&title, INDENT))
}

/// The formula of a step and its sizes, in one line.
pub fn formula(plan: &Plan, step: &Step, page: &Page) -> String {
    let formula = plan.formula(step, page.layout);
    match formula.sizes.is_empty() {
        true => formula.equation,
        false => format!("{}{}{}", formula.equation, page.between(), formula.sizes),
    }
}

/// The matrix of a step, exact where that was asked for and can be; and a sentence on why it shows decimals where it
/// was asked for in vain.
fn sheet<'a>(scene: &'a Scene<'_>, step: &Step, value: View<'a, f64>) -> (Sheet<'a>, String) {
    let page = &scene.page;
    let sheet = Sheet::new(step, value, scene.labels, page.layout).with_exact(scene.exact, step.id);
    if let Some(why) = sheet.why_not_exact() {
        let words = t!("Decimals: %{why}.", why);
        return (sheet, words);
    }
    let (widest, room) = (sheet.widest_form(page), Grid::room_beside(&sheet.rows, page));
    if widest <= room {
        return (sheet, String::new());
    }
    let words = t!(
        "Decimals: %{step} is exact, but one of its cells takes %{widest} characters, and this page has room for %{room}.",
        step = step.id,
        widest,
        room
    );
    (sheet.with_exact(None, step.id), words)
}

/// What a step takes, in words; nothing where it takes nothing.
pub fn cost(scene: &Scene<'_>, step: &Step) -> String {
    let cost = scene.trace.plan().cost_of(step);
    let grouped = super::number::grouped;
    let counts = [
        (cost.multiplications, t!("1 multiplication"), n!("%{count} multiplications")),
        (cost.additions, t!("1 addition"), n!("%{count} additions")),
        (cost.divisions, t!("1 division"), n!("%{count} divisions")),
        (cost.exponentials, t!("1 exponential"), n!("%{count} exponentials")),
    ];
    let told = |(count, one, many): (u128, String, &str)| match count {
        0 => None,
        1 => Some(one),
        count => Some(say(many).replace("%{count}", &grouped(count))),
    };
    let taken: Vec<String> = counts.into_iter().filter_map(told).collect();
    if taken.is_empty() { String::new() } else { t!("Cost: %{taken}.", taken = taken.join(&t!(", "))) }
}

/// The table of a step.
pub fn grid(sheet: &Sheet<'_>, step: &Step, page: &Page) -> Grid {
    let (rows, columns) = sheet.shape();
    let digits = digits_for(sheet.numbers(), page.digits);
    let is_weights = matches!(step.id.name, Name::Head(_, HeadStep::Weights));
    let along_rows = page.layout == Layout::Rows;
    let most_of = |r: usize, c: usize| {
        let line = |at: usize| if along_rows { sheet.at(r, at) } else { sheet.at(at, c) };
        (0..if along_rows { columns } else { rows }).map(line).fold(f64::NEG_INFINITY, f64::max)
    };
    // The mark needs the whole line of each cell: worth it while a person can still look at them all.
    let marked = is_weights && rows * columns <= 4096;
    laid_out(sheet, page, |r, c| {
        let value = sheet.at(r, c);
        let text = sheet.text(r, c, digits);
        match value {
            v if v == f64::NEG_INFINITY || (is_weights && v == 0.0) => look::faint(&text),
            v if marked && v == most_of(r, c) && v > 0.0 => look::chief(&text),
            _ => text,
        }
    })
}

/// A table with the names of a sheet and these cells; what a page of this size leaves out anyway stays empty.
pub fn laid_out(sheet: &Sheet<'_>, page: &Page, cell: impl Fn(usize, usize) -> String) -> Grid {
    let (rows, columns) = sheet.shape();
    let shown = |r: usize, c: usize| Grid::may_show(r, rows, c, columns, page);
    Grid {
        rows: sheet.rows.clone(),
        columns: sheet.columns.clone(),
        elsewhere: t!("; --format csv has them all"),
        cells: (0..rows)
            .map(|r| match (0..columns).any(|c| shown(r, c)) {
                true => (0..columns).map(|c| if shown(r, c) { cell(r, c) } else { String::new() }).collect(),
                false => Vec::new(),
            })
            .collect(),
        ..Grid::default()
    }
}

/// What happened at a step: the operation's own line, what the plan adds, and the lesson's story.
pub fn words(scene: &Scene<'_>, step: &Step) -> Vec<String> {
    let mut lines = Vec::new();
    let page = &scene.page;
    let shown = |value: f64, digits| number(value, digits);
    if let (Some(value), Some(inputs)) = (scene.trace.get(step.id), scene.trace.inputs(step)) {
        let (rows, columns) = spoken(step, scene.labels);
        let digits = digits_for(value.iter(), page.digits);
        let write = |value: f64| shown(value, digits);
        let told = Told {
            role: crate::plan::names::role(step.id.name),
            value,
            inputs,
            rows: &rows,
            columns: &columns,
            layout: page.layout,
            write: &write,
        };
        let mut line = step.op.tell(&told);
        if !step.note.is_empty() {
            line.push_str(&t!(" "));
            line.push_str(&step.note);
        }
        lines.push(line);
    }
    for saying in scene.story.iter().filter(|saying| saying.at.within() == step.id.within()) {
        let cell = |id: crate::plan::StepId, row: usize, column: usize| {
            let id = if scene.trace.plan().get(id).is_some() { id } else { id.in_sequence(step.id.sequence) };
            let value = scene.trace.get(id)?;
            let digits = digits_for(value.iter(), page.digits);
            value
                .get((row, column))
                .map(|value| scene.short(id, row, column).unwrap_or(shown(*value, digits)))
        };
        let numbers = OfTrace { trace: scene.trace, attention: scene.attention, sequence: step.id.sequence };
        let amount = |quantity: &Quantity, form| {
            quantity.number(&numbers).ok().map(|value| written(value, page.digits, form))
        };
        lines.push(format!("» {}", visible(&story::filled(&saying.say, cell, amount))));
    }
    lines
}
