//! A mistake beside the right computation: every step that comes out otherwise, and where the first difference is.

use std::collections::HashMap;
use std::io::{self, Write};

use super::grid::{Grid, Side};
use super::number::{digits_for, number};
use super::page::{Detail, Layout, Page, width};
use super::table::{self, INDENT};
use super::{Scene, beside_step, look};
use crate::fault::visible;
use crate::mistakes::{Cells, Difference, Mistake, WrongRun};
use crate::ops::size;
use crate::plan::{Name, StepId};
use crate::words::{Language, chinese, language, say, t};

/// What the page is made from.
pub struct Beside<'a> {
    /// The right run, as the lesson has it; its steps are those to show, of either run.
    pub scene: Scene<'a>,
    /// Both runs.
    pub run: &'a WrongRun,
    /// Whether steps that come out the same are shown as well: where a person has named the steps.
    pub same_too: bool,
}

/// Where the runs differ first.
pub(super) struct First {
    pub(super) id: StepId,
    /// Row and column as the page shows them, from 0, and what should be there and what is; `None` where the whole step
    /// is of another shape, missing, or one too many.
    pub(super) cell: Option<(usize, usize, f64, f64)>,
    /// In words.
    words: String,
}

impl<'a> Beside<'a> {
    /// The wrong run, shown like the right one.
    pub(super) fn wrong(&self) -> Scene<'a> {
        Scene { trace: &self.run.wrong, kv_sheets: &self.run.kv_sheets, ..self.scene }
    }

    /// The steps to show, with how they differ.
    pub(super) fn steps(&self) -> impl Iterator<Item = (StepId, &'a Difference)> {
        let known: HashMap<StepId, &Difference> = self.run.steps.iter().map(|(id, how)| (*id, how)).collect();
        self.scene.steps.iter().filter_map(move |id| Some((*id, *known.get(id)?)))
    }

    /// The heading of the page.
    pub fn title(&self) -> String {
        title(self.scene.title, self.run.mistake.name)
    }

    /// Where the runs differ first; `None` where they do not, or where only a step is added that changes nothing.
    pub(super) fn first(&self) -> Option<First> {
        if !self.run.changes_a_number() {
            return None;
        }
        let (id, difference) = self.run.first()?;
        let page = &self.scene.page;
        let shape = |scene: &Scene<'_>| scene.trace.plan().get(id).map(|step| facing(step.shape, page));
        let (should, is) = (shape(&self.scene).unwrap_or_default(), shape(&self.wrong()).unwrap_or_default());
        let mut cell = None;
        let words = match difference {
            Difference::None => return None,
            Difference::Cells(Cells { first: (row, column), .. }) => {
                let place = (*row, *column);
                let (should, is) = (self.run.right.get(id)?[place], self.run.wrong.get(id)?[place]);
                let (row, column) = match page.layout {
                    Layout::Rows => place,
                    Layout::Columns => (place.1, place.0),
                };
                cell = Some((row, column, should, is));
                let (should, is) = told_apart(should, is, page.digits);
                t!(
                    "first difference: %{step}[%{row},%{column}]: %{should} should be, %{is} is",
                    step = id,
                    row = row + 1,
                    column = column + 1,
                    should,
                    is
                )
            }
            Difference::Shape => {
                t!("first difference: %{step} is %{is} and should be %{should}", step = id, is, should)
            }
            Difference::Missing => {
                t!("first difference: %{step}, %{should}, is missing", step = id, should)
            }
            Difference::Extra => {
                t!("first difference: %{step}, %{is}, should not be there", step = id, is)
            }
        };
        Some(First { id, cell, words })
    }
}

/// The heading of a page with a wrong run.
pub fn title(lesson: &str, mistake: &str) -> String {
    t!("%{lesson} – wrong on purpose: %{mistake}", lesson, mistake)
}

/// Two numbers with so many digits that they can be told apart; whole ones without.
fn told_apart(one: f64, other: f64, digits: usize) -> (String, String) {
    let written = |value: f64, digits: usize| number(value, digits_for([&value], digits));
    let pair = |digits: usize| (written(one, digits), written(other, digits));
    (digits..=17).map(pair).find(|(one, other)| one != other).unwrap_or_else(|| pair(17))
}

pub(super) fn facing(shape: (usize, usize), page: &Page) -> String {
    match page.layout {
        Layout::Rows => size(shape),
        Layout::Columns => size((shape.1, shape.0)),
    }
}

/// Writes the page.
///
/// # Errors
/// Those of the writer.
pub fn write(beside: &Beside<'_>, out: &mut dyn Write) -> io::Result<()> {
    heading(beside, out)?;
    let page = &beside.scene.page;
    let (numbers, first) = (table::numbers(&beside.scene), beside.first());
    let (mut same, mut so_far) = (Vec::new(), Same::UpToHere);
    for (id, difference) in beside.steps() {
        if *difference == Difference::None && !beside.same_too {
            same.push(id);
            continue;
        }
        name_the_same(beside, so_far, &std::mem::take(&mut same), out)?;
        if *difference != Difference::None {
            so_far = Same::Besides;
        }
        table::name_step(numbers.get(&id.within()).copied(), id, page, out)?;
        if let Some(first) = first.as_ref().filter(|first| first.id == id) {
            mark(first, INDENT, page, out)?;
        }
        beside_step::write(beside, id, difference, out)?;
    }
    if let Some(first) = first.filter(|first| !beside.scene.steps.contains(&first.id)) {
        writeln!(out)?;
        mark(&first, 0, page, out)?;
    }
    if beside.run.changes_a_number() {
        name_the_same(beside, Same::Besides, &same, out)?;
    }
    ending(beside, out)
}

/// Writes one line a step: both shapes, how many cells differ, and by how much.
///
/// # Errors
/// Those of the writer.
pub fn write_summary(beside: &Beside<'_>, out: &mut dyn Write) -> io::Result<()> {
    heading(beside, out)?;
    let page = &beside.scene.page;
    let mut grid = Grid {
        columns: vec![t!("right"), t!("wrong"), t!("cells that differ"), t!("by at most")],
        align: vec![Side::Right; 4],
        whole: true,
        ..Grid::default()
    };
    for (id, difference) in beside.steps() {
        let shape = |scene: &Scene<'_>| {
            scene.trace.plan().get(id).map_or("–".to_owned(), |step| facing(step.shape, page))
        };
        let (cells, largest) = match difference {
            Difference::None => (t!("none"), String::new()),
            Difference::Cells(cells) => (
                t!("%{count} of %{all}", count = cells.count, all = cells.of),
                number(cells.largest, page.digits),
            ),
            Difference::Shape => (t!("another shape"), String::new()),
            Difference::Missing => (t!("missing"), String::new()),
            Difference::Extra => (t!("one too many"), String::new()),
        };
        grid.rows.push(id.to_string());
        grid.cells.push(vec![shape(&beside.scene), shape(&beside.wrong()), cells, largest]);
    }
    write!(out, "\n{}", grid.render(page))?;
    if let Some(first) = beside.first() {
        mark(&first, 0, page, out)?;
    }
    ending(beside, out)
}

/// What went wrong, in words and formulas, and in which of several ways.
fn heading(beside: &Beside<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (page, mistake) = (&beside.scene.page, beside.run.mistake);
    write!(out, "{}", look::title(&visible(&beside.title()), page))?;
    if page.detail != Detail::Bare {
        let right = t!("right: %{formula}", formula = say(mistake.right));
        let wrong = t!("wrong: %{formula}", formula = say(mistake.wrong));
        for words in [sentence(say(mistake.summary)), right, wrong] {
            write!(out, "{}", page.paragraph(&words, 0))?;
        }
        write!(out, "{}", page.paragraph(&forms(beside.run), 0))?;
    }
    for words in table::notes(&beside.scene) {
        write!(out, "{}", page.paragraph(&words, 0))?;
    }
    Ok(())
}

/// Which form this is, and how the others are asked for; nothing where there is only one.
fn forms(run: &WrongRun) -> String {
    let others: Vec<&str> =
        run.mistake.forms.iter().map(|form| form.name).filter(|name| *name != run.form.name).collect();
    let Some(other) = others.first() else { return String::new() };
    t!(
        "Made here in this way: %{form}. Others: %{others}; --mistake '%{mistake}/%{other}' shows one.",
        form = run.form.name,
        others = others.join(&t!("; ")),
        mistake = run.mistake.name,
        other
    )
}

/// On which problems a mistake makes a difference, as a sentence.
pub fn where_it_shows(mistake: &Mistake) -> String {
    match (chinese(mistake.visible), mistake.visible.strip_prefix("Where ")) {
        (Some(words), _) if language() == Language::Zh => sentence(words),
        (_, Some(there)) => sentence(&format!("It shows where {there}")),
        (_, None) => sentence(mistake.visible),
    }
}

/// Words as a sentence, with a capital letter and a full stop.
pub fn sentence(words: &str) -> String {
    let words = super::markup::capital(words.trim());
    let is_ended = words.is_empty() || words.ends_with(['.', '?', '!', '。', '？', '！']);
    if is_ended { words } else { t!("%{words}.", words) }
}

fn mark(first: &First, indent: usize, page: &Page, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{}", look::alarm(&first.words, indent, page))
}

/// Where steps stand that come out the same.
#[derive(Debug, Clone, Copy)]
enum Same {
    /// Before anything differs.
    UpToHere,
    /// Among steps that differ.
    Besides,
}

/// Names steps that come out the same in one line; those of every head as `head.*.q`.
fn name_the_same(
    beside: &Beside<'_>,
    same_where: Same,
    same: &[StepId],
    out: &mut dyn Write,
) -> io::Result<()> {
    let page = &beside.scene.page;
    if same.is_empty() || page.detail == Detail::Bare {
        return Ok(());
    }
    let mut kinds: Vec<(String, Vec<StepId>)> = Vec::new();
    for id in same {
        let kind = every_head(*id);
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, ids)) => ids.push(*id),
            None => kinds.push((kind, vec![*id])),
        }
    }
    let whole = |kind: &str| beside.scene.steps.iter().filter(|id| every_head(**id) == kind).count();
    let names: Vec<String> = kinds
        .into_iter()
        .flat_map(|(kind, ids)| match ids.len() {
            count if count > 1 && count == whole(&kind) => vec![kind],
            _ => ids.iter().map(ToString::to_string).collect(),
        })
        .collect();
    let steps = names.join(&t!(", "));
    let words = match same_where {
        Same::UpToHere => t!("the same up to here: %{steps}", steps),
        Same::Besides => t!("the same: %{steps}", steps),
    };
    write!(out, "\n{}", page.paragraph(&words, 0))
}

/// The name that stands for a step in every head.
fn every_head(id: StepId) -> String {
    match id.name {
        Name::Head(_, step) => {
            let name = StepId { name: Name::Concat, ..id }.to_string();
            format!("{}head.*.{}", name.trim_end_matches("concat"), step.word())
        }
        _ => id.to_string(),
    }
}

/// How much differs in all, and how to mend it.
fn ending(beside: &Beside<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (page, mistake) = (&beside.scene.page, beside.run.mistake);
    if !beside.run.changes_a_number() {
        let words = t!(
            "Here it makes no difference: every number comes out the same. %{where}",
            where = where_it_shows(mistake)
        );
        return write!(out, "\n{}", page.paragraph(&words, 0));
    }
    if page.detail == Detail::Bare {
        return Ok(());
    }
    write!(out, "\n{}", page.paragraph(&in_all(beside.run), 0))?;
    if !mistake.fix.is_empty() {
        write!(
            out,
            "{}",
            page.paragraph(&t!("How to mend it: %{fix}", fix = sentence(say(mistake.fix))), 0)
        )?;
    }
    for (place, line) in mistake.code_lines().map(|line| page.letters(line)).enumerate() {
        if place > 0 {
            writeln!(out, "{}", t!("or"))?;
        }
        match width(&line) + INDENT <= page.width {
            true => writeln!(out, "{}{line}", " ".repeat(INDENT))?,
            false => write!(out, "{}", page.paragraph(&line, INDENT))?,
        }
    }
    Ok(())
}

/// How many steps and cells differ in the whole run.
fn in_all(run: &WrongRun) -> String {
    let count = |of: fn(&Difference) -> bool| run.steps.iter().filter(|(_, how)| of(how)).count();
    let differ = count(|how| *how != Difference::None);
    let (cells, of) = run.steps.iter().fold((0, 0), |(cells, of), (_, how)| match how {
        Difference::Cells(found) => (cells + found.count, of + found.of),
        _ => (cells, of),
    });
    let whole = [
        (count(|how| *how == Difference::Shape), t!("of another shape")),
        (count(|how| *how == Difference::Missing), t!("missing")),
        (count(|how| *how == Difference::Extra), t!("too many")),
    ];
    let whole: Vec<String> = whole
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| t!("%{count} %{what}", count, what = words))
        .collect();
    let steps = match differ {
        1 => t!("In all 1 of %{all} steps differs", all = run.steps.len()),
        _ => t!("In all %{differ} of %{all} steps differ", differ, all = run.steps.len()),
    };
    let whole = whole.join(&t!(", "));
    match (cells, whole.is_empty()) {
        (_, true) => t!("%{steps}, in %{cells} of their %{of} cells.", steps, cells, of),
        (0, false) => t!("%{steps}: %{whole}.", steps, whole),
        (_, false) => t!(
            "%{steps}: %{whole}, and %{others} in %{cells} of their %{of} cells.",
            steps,
            whole,
            others = count(|how| matches!(how, Difference::Cells(_))),
            cells,
            of
        ),
    }
}
