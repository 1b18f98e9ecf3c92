//! Where numbers come from, as a page: a derivation each, and a tree of the numbers behind them.

use std::collections::BTreeSet;
use std::io::{self, Write};

use super::derivation::{Derivation, figure};
use super::look;
use super::page::{Detail, Page, pieces, width};
use super::sheet::spoken;
use super::{Scene, table};
use crate::plan::{Axis, FfnStep, Name, Step, StepId, names};
use crate::trace::Cell;
use crate::trace::origin::{Branch, Depth, End};
use crate::words::t;

/// Blanks before the lines of a derivation.
const INDENT: usize = 4;

/// Writes the cells with what is behind them.
///
/// # Errors
/// Those of the writer.
pub fn write(scene: &Scene<'_>, origins: &[Branch], depth: Depth, out: &mut dyn Write) -> io::Result<()> {
    let page = &scene.page;
    table::heading(scene, out)?;
    let mut before: Option<StepId> = None;
    for branch in origins {
        writeln!(out)?;
        root(scene, branch, before.replace(branch.cell.step) != Some(branch.cell.step), out)?;
    }
    // The cells of a row share most of what is behind them: it is told where it is met first.
    let behind =
        origins.iter().enumerate().flat_map(|(at, branch)| branch.behind.iter().map(move |b| (at, b)));
    let behind: Vec<&Branch> = behind
        .filter(|(at, branch)| *at == 0 || branch.end != End::Above)
        .map(|(_, branch)| branch)
        .collect();
    if !behind.is_empty() {
        writeln!(out)?;
        write!(out, "{}", page.paragraph(&t!("Where those numbers come from:"), 0))?;
        for (at, branch) in behind.iter().enumerate() {
            limb(page, branch, "", at + 1 == behind.len(), out)?;
        }
    }
    if page.detail != Detail::Bare {
        let said = closing(scene, origins, depth);
        if !said.is_empty() {
            write!(out, "\n{}", page.paragraph(&said, 0))?;
        }
    }
    Ok(())
}

/// The cell itself: every line of its derivation under a heading.
fn root(scene: &Scene<'_>, branch: &Branch, is_new_step: bool, out: &mut dyn Write) -> io::Result<()> {
    let page = &scene.page;
    let cell = branch.cell;
    let Some(step) = scene.trace.plan().get(cell.step) else { return Ok(()) };
    let name = page.letters(&format!("{cell} = {}", figure(branch.value, page.digits)));
    let title = page.letters(&place_of(scene, step, cell));
    let around = page.between();
    if width(&name) + width(&title) + width(around) <= page.width {
        writeln!(out, "{}{around}{title}", look::name(&name))?;
    } else {
        writeln!(out, "{}", look::name(&name))?;
        write!(out, "{}", page.paragraph(&title, INDENT))?;
    }
    if page.detail != Detail::Bare && is_new_step {
        let formula = scene.trace.plan().formula(step, page.layout);
        let sizes = if formula.sizes.is_empty() {
            String::new()
        } else {
            format!("{}{}", page.between(), formula.sizes)
        };
        write!(out, "{}", page.paragraph(&format!("{}{sizes}", formula.equation), INDENT))?;
    }
    for copy in &branch.copied_from {
        hang(page, &format!("= {copy}"), INDENT, "", out)?;
    }
    let last = branch.derived();
    let Some(term) = &branch.term else {
        return hang(
            page,
            &t!("= %{value}, as the lesson gives it", value = figure(branch.value, page.digits)),
            INDENT,
            "",
            out,
        );
    };
    if branch.end == End::Above {
        return hang(page, &t!("derived above"), INDENT, "", out);
    }
    let derivation = Derivation::from_term(term, last.step, branch.value, page.digits);
    if let Some((names, number)) = &derivation.largest {
        hang(
            page,
            &t!("m = %{names} = %{number}, the largest; subtracting it changes no weight", names, number),
            INDENT,
            "",
            out,
        )?;
    }
    for line in &derivation.lines {
        hang(page, &format!("= {line}"), INDENT, "", out)?;
    }
    if let Some(reason) = &branch.reason {
        hang(page, reason, INDENT, "", out)?;
    }
    match (
        scene.exact.and_then(|exact| exact.form(cell.step, cell.row, cell.column)),
        scene.not_exact(cell.step),
    ) {
        (Some(form), _) => hang(page, &t!("exactly %{form}", form), INDENT, "", out),
        (None, Some(why)) => hang(page, &t!("no exact form: %{why}", why), INDENT, "", out),
        (None, None) => Ok(()),
    }
}

/// One number behind another, and what is behind it, each line after `before`.
///
/// # Errors
/// Those of the writer.
pub fn limb(
    page: &Page,
    branch: &Branch,
    before: &str,
    is_last: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (knot, rail) = match (page.ascii, is_last) {
        (false, false) => ("├─ ", "│  "),
        (false, true) => ("└─ ", "   "),
        (true, false) => ("|- ", "|  "),
        (true, true) => ("`- ", "   "),
    };
    let mut text = branch.cell.to_string();
    for copy in &branch.copied_from {
        text.push_str(&format!(" = {copy}"));
    }
    let last = branch.derived();
    match (&branch.term, branch.end) {
        (None, _) => text.push_str(&t!(" = %{value}, given", value = figure(branch.value, page.digits))),
        (Some(_), End::Above) => {
            text.push_str(&t!(" = %{value} (derived above)", value = figure(branch.value, page.digits)));
        }
        (Some(term), _) => {
            let derivation = Derivation::from_term(term, last.step, branch.value, page.digits);
            text.push_str(&format!(" = {}", derivation.in_short()));
            if let Some(reason) = &branch.reason {
                text.push_str(&t!(", %{reason}", reason));
            }
        }
    }
    let rails = format!("{before}{rail}");
    let follow = if branch.behind.is_empty() {
        rails.clone()
    } else {
        format!("{rails}{}", if page.ascii { "|  " } else { "│  " })
    };
    hang_with(page, &text, &format!("{before}{knot}"), &follow, out)?;
    for (at, next) in branch.behind.iter().enumerate() {
        limb(page, next, &rails, at + 1 == branch.behind.len(), out)?;
    }
    Ok(())
}

/// What the cell is, in words: `scores of head 1, query c, key a`.
pub fn place_of(scene: &Scene<'_>, step: &Step, cell: Cell) -> String {
    let (rows, columns) = spoken(step, scene.labels);
    let part = |axis: Axis, names: &[String], at: usize| match called(
        axis,
        names.get(at).map_or("", String::as_str),
    ) {
        words if words.is_empty() => words,
        words => t!(", %{place}", place = words),
    };
    let (row, column) = (part(step.axes.0, &rows, cell.row), part(step.axes.1, &columns, cell.column));
    // What stands in the input neither asks nor answers yet.
    let row = match step.id.name {
        Name::X
        | Name::XKv
        | Name::Embedding
        | Name::AttentionResidual
        | Name::AttentionNorm
        | Name::Hidden
        | Name::Final
        | Name::Ffn(FfnStep::X | FfnStep::Up | FfnStep::Activation | FfnStep::Output | FfnStep::Residual) => {
            rows.get(cell.row).map_or(String::new(), |name| t!(", token %{name}", name = name))
        }
        _ => row,
    };
    format!("{}{row}{column}", names::title(step.id))
}

/// What a row or a column of that name is called: `query c`, `number 2`; nothing where there is one line only.
pub fn called(axis: Axis, name: &str) -> String {
    match axis {
        Axis::Queries | Axis::StackedQueries(_) => t!("query %{name}", name),
        Axis::Keys | Axis::KeysFrom(_) | Axis::StackedKeys(_) => t!("key %{name}", name),
        Axis::Features => t!("number %{name}", name),
        Axis::State => name.to_owned(),
        Axis::One => String::new(),
    }
}

/// What is given, and how to look further.
fn closing(scene: &Scene<'_>, origins: &[Branch], depth: Depth) -> String {
    let mut given = BTreeSet::new();
    let mut cut = None;
    let mut shortened = false;
    let mut mixed = false;
    let mut waiting: Vec<&Branch> = origins.iter().collect();
    while let Some(branch) = waiting.pop() {
        waiting.extend(&branch.behind);
        let is_asked_for = origins.iter().any(|origin| origin.cell == branch.cell);
        if branch.end == End::Cut && !is_asked_for && cut.is_none_or(|cell| branch.cell < cell) {
            cut = Some(branch.cell);
        }
        // One name for a head's queries and for all heads' wants a word.
        mixed |= branch.cell.step.head().is_some()
            && branch.copied_from.iter().any(|copy| copy.step.head().is_none());
        if let Some(term) = &branch.term {
            shortened |= has_rest(term);
            let is_given = |step: &StepId| scene.trace.plan().get(*step).is_some_and(|s| s.inputs.is_empty());
            given.extend(term.cells().iter().map(|cell| cell.step).filter(is_given));
        }
    }
    let names: Vec<String> = given.iter().map(ToString::to_string).collect();
    let mut said = match names.as_slice() {
        [] => String::new(),
        [one] => t!("%{one} is given.", one),
        [before @ .., last] => {
            t!("%{names} and %{last} are given.", names = before.join(&t!(", ")), last)
        }
    };
    if let Some(cell) = cut {
        said.push_str(&match depth {
            Depth::Readable => t!(
                " The tree stops where it would grow long; --depth N goes further, and --explain '%{cell}' starts there.",
                cell
            ),
            Depth::Levels(_) => {
                t!(" The tree stops where it was asked to; --explain '%{cell}' starts there.", cell)
            }
        });
    }
    if origins.iter().any(|branch| branch.cell.step.layer.is_some()) {
        said.push_str(&t!(
            " In the arithmetic of a layer's step, names without a layer are that layer's own."
        ));
    }
    if mixed {
        said.push_str(&t!(
            " In the arithmetic of a head's step, q, k, v, scores and weights are that head's own."
        ));
    }
    if shortened {
        said.push_str(&t!(
            " In long sums the first, the largest and the last terms stand; braces hold the others' sum."
        ));
    }
    said.trim_start().to_owned()
}

fn has_rest(term: &crate::trace::term::Term) -> bool {
    matches!(term, crate::trace::term::Term::Rest(..)) || term.parts().into_iter().any(has_rest)
}

fn hang(page: &Page, text: &str, indent: usize, before: &str, out: &mut dyn Write) -> io::Result<()> {
    let first = format!("{before}{}", " ".repeat(indent));
    hang_with(page, text, &first, &format!("{first}  "), out)
}

/// A text broken at blanks, its first line after `first`, the others after `follow`.
fn hang_with(page: &Page, text: &str, first: &str, follow: &str, out: &mut dyn Write) -> io::Result<()> {
    let text = page.letters(text);
    let mut line = String::new();
    let mut start = first;
    for (blank, word) in pieces(&text) {
        if !line.is_empty() && width(start) + width(&line) + usize::from(blank) + width(word) > page.width {
            writeln!(out, "{}", format!("{start}{line}").trim_end())?;
            line.clear();
            start = follow;
        }
        if !line.is_empty() && blank {
            line.push(' ');
        }
        line.push_str(word);
    }
    writeln!(out, "{start}{line}")
}
