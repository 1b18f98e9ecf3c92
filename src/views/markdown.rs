//! Markdown as GitHub shows it: a heading, a formula and a table for each step.
//!
//! Formulas stand in `math` blocks (and inside a line as dollar–backtick pairs): between bare dollars, Markdown would take
//! underscores and asterisks of a formula for its own.

use std::io::{self, Write};

use super::excerpt::Excerpt;
use super::number::digits_for;
use super::page::Detail;
use super::sheet::Sheet;
use super::{Scene, markdown_text, table, tex};
use crate::plan::{Step, names};
use crate::words::t;

/// Writes the page.
///
/// # Errors
/// Those of the writer.
pub fn write(scene: &Scene<'_>, out: &mut dyn Write) -> io::Result<()> {
    let told = scene.page.detail != Detail::Bare;
    if !scene.title.is_empty() {
        writeln!(out, "# {}", line(scene, scene.title))?;
    }
    if told {
        say(scene, scene.summary, out)?;
    }
    if told && !scene.source.is_empty() {
        say(scene, &t!("Source: %{source}", source = scene.source), out)?;
    }
    for note in table::notes(scene) {
        say(scene, &note, out)?;
    }
    let numbers = table::numbers(scene);
    for step in scene.steps.iter().filter_map(|id| scene.trace.plan().get(*id)) {
        write_step(scene, numbers.get(&step.id.within()).copied().unwrap_or(0), step, out)?;
    }
    Ok(())
}

fn write_step(scene: &Scene<'_>, number: usize, step: &Step, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n## {number}. `{}`: {}", step.id, line(scene, &names::title(step.id)))?;
    let detail = scene.page.detail;
    if detail != Detail::Bare {
        let formula = scene.trace.plan().formula(step, scene.page.layout);
        let maths = tex::formula(&formula.equation);
        if step.inputs.is_empty() {
            let sign = tex::formula(&names::sign(step.id));
            let sizes = line(scene, &formula.sizes);
            writeln!(out, "\n{}", t!("$`%{sign}`$ given, %{sizes}", sign, sizes))?;
        } else {
            writeln!(out, "\n```math\n{maths}\n```")?;
            say(scene, &formula.sizes, out)?;
        }
    }
    let Some(value) = scene.trace.get(step.id) else { return Ok(()) };
    let sheet = Sheet::new(step, value, scene.labels, scene.page.layout).with_exact(scene.exact, step.id);
    write_table(scene, &sheet, out)?;
    for words in table::remarks(scene, step, sheet.why_not_exact()) {
        match words.strip_prefix("» ") {
            Some(story) => writeln!(out, "\n> {}", line(scene, story))?,
            None => say(scene, &words, out)?,
        }
    }
    Ok(())
}

fn write_table(scene: &Scene<'_>, sheet: &Sheet<'_>, out: &mut dyn Write) -> io::Result<()> {
    let excerpt = Excerpt::of(sheet.shape());
    let digits = digits_for(sheet.numbers(), scene.page.digits);
    let name = |name: &str| markdown_text::inline(&scene.page.letters(name));
    let cell = |r: usize, c: usize| {
        let plain = sheet.text(r, c, digits);
        match sheet.form(r, c).is_some() && plain.contains(['/', '√', 'e']) {
            true => format!("$`{}`$", sheet.latex(r, c, digits)),
            false => scene.page.letters(&plain),
        }
    };
    let row = |first: String, at: &dyn Fn(Option<usize>) -> String| {
        let cells: Vec<String> =
            std::iter::once(first).chain(excerpt.columns.iter().map(|c| at(*c))).collect();
        format!("| {} |", cells.join(" | "))
    };
    let gap = scene.page.letters("…");
    let down = scene.page.letters("⋮");
    let at_gap = |c: Option<usize>, of: &dyn Fn(usize) -> String| c.map_or(gap.clone(), of);
    writeln!(out, "\n{}", row(String::new(), &|c| at_gap(c, &|c| name(&sheet.columns[c]))))?;
    writeln!(out, "{}", row("---".to_owned(), &|_| "---:".to_owned()))?;
    for r in &excerpt.rows {
        let cells = match r {
            Some(r) => row(name(&sheet.rows[*r]), &|c| at_gap(c, &|c| cell(*r, c))),
            None => row(down.clone(), &|_| down.clone()),
        };
        writeln!(out, "{cells}")?;
    }
    excerpt.note().map_or(Ok(()), |note| say(scene, note, out))
}

/// A paragraph, where there is something to say.
fn say(scene: &Scene<'_>, text: &str, out: &mut dyn Write) -> io::Result<()> {
    if text.trim().is_empty() { Ok(()) } else { writeln!(out, "\n{}", line(scene, text)) }
}

/// One line of text that Markdown shows and does not obey, wherever a paragraph or a heading begins with it.
fn line(scene: &Scene<'_>, text: &str) -> String {
    markdown_text::line(&scene.page.letters(text))
}
