//! What is said around the tables: the step, the arithmetic behind the cursor's number, what happened, the story.

use ratatui::text::{Line, Span};

use super::state::State;
use super::theme::Theme;
use crate::plan::{Step, names};
use crate::trace::origin::Depth;
use crate::views::derivation::{Derivation, figure};
use crate::views::page::{Detail, Page, shorten, width};
use crate::views::{Scene, explain, table};
use crate::words::t;

/// Most numbers behind the cursor's that are derived too.
const MOST_BEHIND: usize = 12;
/// A trace of so few numbers is followed all the way back while a key is held down.
const SMALL: usize = 20_000;
/// From so many lines on the formula is there.
const ROOM_FOR_FORMULA: usize = 14;
/// From so many lines on it is there whole.
const ROOM_FOR_SIZES: usize = 16;

/// The step's name and title, and its formula with sizes, as far as there is room.
pub(super) fn heading(scene: &Scene<'_>, step: &Step, theme: Theme, height: usize) -> Vec<Line<'static>> {
    let page = &scene.page;
    let name = step.id.to_string();
    let title = format!("{}{}", page.between(), page.letters(&names::title(step.id)));
    let title = cut(page, &title, page.width.saturating_sub(width(&name)));
    let mut lines = vec![Line::from(vec![Span::styled(name, theme.name()), Span::raw(title)])];
    if height >= ROOM_FOR_FORMULA {
        let formula = scene.trace.plan().formula(step, page.layout);
        let sizes = if formula.sizes.is_empty() {
            String::new()
        } else {
            format!("{}{}", page.between(), formula.sizes)
        };
        let most = if height >= ROOM_FOR_SIZES { 3 } else { 1 };
        lines.extend(paragraph(page, &format!("{}{sizes}", formula.equation), 0).into_iter().take(most));
        if height >= ROOM_FOR_SIZES {
            lines.push(Line::default());
        }
    }
    lines
}

/// The text below the tables: where the number comes from, what happened at the step, and what is behind the number.
pub(super) fn text(state: &State, scene: &Scene<'_>, step: &Step, theme: Theme) -> Vec<Line<'static>> {
    let page = &scene.page;
    let mut lines = derivation(state, scene, step, theme);
    if page.detail != Detail::Bare {
        lines.push(Line::default());
        if let Some(why) = scene.not_exact(step.id) {
            lines.extend(paragraph(page, &t!("Decimals: %{why}.", why), 0));
        }
        for words in table::words(scene, step) {
            lines.extend(paragraph(page, &words, 0));
        }
        if !state.bench.is_as_told()
            && scene.story.iter().any(|saying| saying.at.within() == step.id.within())
        {
            lines.extend(paragraph(
                page,
                &t!("(The story tells of the lesson's own numbers, before the changes.)"),
                0,
            ));
        }
    }
    let behind = behind(state, scene);
    if !behind.is_empty() {
        lines.push(Line::default());
        lines.push(Line::from(t!("Where those numbers come from:")));
        lines.extend(behind.into_iter().map(Line::from));
    }
    lines
}

/// The cursor's number with its arithmetic, one reduction a line.
fn derivation(state: &State, scene: &Scene<'_>, step: &Step, theme: Theme) -> Vec<Line<'static>> {
    let page = &scene.page;
    let cell = state.at;
    let value = scene.trace.cell(cell).unwrap_or(f64::NAN);
    let decimals = figure(value, page.digits);
    let exact =
        scene.exact.and_then(|exact| exact.form(cell.step, cell.row, cell.column)).map(ToString::to_string);
    let is = match exact {
        Some(exact) if exact != decimals => format!("{exact} = {decimals}"),
        _ => decimals,
    };
    let name = page.letters(&format!("{cell} = {is}"));
    let place = format!("{}{}", page.between(), page.letters(&explain::place_of(scene, step, cell)));
    let place = cut(page, &place, page.width.saturating_sub(width(&name)));
    let mut lines =
        vec![Line::from(vec![Span::styled(name, theme.bold()), Span::styled(place, theme.dim())])];
    let Some(branch) = scene.trace.origin(cell, Depth::Levels(0)) else { return lines };
    let last = branch.copied_from.last().copied().unwrap_or(cell);
    lines.extend(branch.copied_from.iter().flat_map(|copy| paragraph(page, &format!("= {copy}"), 2)));
    let Some(term) = &branch.term else {
        if last != cell {
            lines.extend(paragraph(
                page,
                &t!("= %{value}, which is given", value = figure(value, page.digits)),
                2,
            ));
            return lines;
        }
        let original = state.bench.original(cell);
        let words = match original {
            Some(given) if given != value => {
                t!(
                    "edited: the lesson gives %{value} (u undoes, r resets)",
                    value = figure(given, page.digits)
                )
            }
            _ => t!("as the lesson gives it: e edits it, and everything follows"),
        };
        lines.extend(paragraph(page, &words, 2));
        return lines;
    };
    let derivation = Derivation::from_term(term, last.step, value, page.digits);
    if let Some((names, number)) = &derivation.largest {
        let words =
            t!("m = %{names} = %{number}, the largest; subtracting it changes no weight", names, number);
        lines.extend(paragraph(page, &words, 2));
    }
    lines.extend(derivation.lines.iter().flat_map(|line| paragraph(page, &format!("= {line}"), 2)));
    lines
}

/// The numbers in the arithmetic that were not given themselves, as a tree: all the way in a small lesson, one level in
/// a large one, where the way would be long.
fn behind(state: &State, scene: &Scene<'_>) -> Vec<String> {
    let numbers: usize = scene.trace.plan().steps().iter().map(|step| step.shape.0 * step.shape.1).sum();
    let depth = if numbers <= SMALL { Depth::Readable } else { Depth::Levels(1) };
    let Some(branch) = scene.trace.origin(state.at, depth) else { return Vec::new() };
    let mut tree = Vec::new();
    let shown = branch.behind.len().min(MOST_BEHIND);
    for (at, next) in branch.behind.iter().take(shown).enumerate() {
        // Writing to memory does not fail.
        let _ = explain::limb(&scene.page, next, "", at + 1 == shown, &mut tree);
    }
    String::from_utf8_lossy(&tree).lines().map(str::to_owned).collect()
}

/// The text in the page's alphabet, cut to `room` columns with a sign where something is missing.
pub(super) fn cut(page: &Page, text: &str, room: usize) -> String {
    let text = page.letters(text);
    if width(&text) <= room {
        return text;
    }
    // In ASCII the sign is three dots.
    page.letters(&shorten(&text, room.saturating_sub(if page.ascii { 2 } else { 0 })))
}

/// A paragraph whose lines after the first hang two columns deeper.
fn paragraph(page: &Page, text: &str, indent: usize) -> Vec<Line<'static>> {
    let hanging = if indent > 0 { indent + 2 } else { 0 };
    let text = page.paragraph(text, hanging);
    let cut = |(number, line): (usize, &str)| {
        Line::from(if number == 0 { line[hanging - indent..].to_owned() } else { line.to_owned() })
    };
    text.lines().enumerate().map(cut).collect()
}
