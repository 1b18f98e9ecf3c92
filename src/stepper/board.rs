//! The board: the step's table with the cursor, what it was made from with the sources lit, and the arithmetic.

use std::ops::Range;

use ratatui::text::{Line, Span};

use super::matrix::{HEADER, Light, Matrix, Shown, Window};
use super::state::State;
use super::theme::Theme;
use super::told::{self, cut};
use crate::plan::{HeadStep, Name, Step};
use crate::trace::Cell;
use crate::trace::origin::Source;
use crate::views::Scene;
use crate::views::derivation::short_name;
use crate::views::number::digits_for;
use crate::views::page::{Layout, Page, width};
use crate::views::sheet::Sheet;
use crate::words::t;

/// Columns between two tables.
const GAP: usize = 3;
/// A table of fewer lines (title, header, one row) shows nothing.
const LEAST: usize = 3;
/// Lines of arithmetic that the tables leave room for.
const ROOM_FOR_TEXT: usize = 6;

/// A line of text is not read gladly if it has more columns.
const WIDEST_TEXT: usize = 100;
/// With fewer lines the arithmetic needs those that rules and names would take.
const SHORT: usize = 10;

/// A table with its name.
struct Panel<'a> {
    title: String,
    sheet: Sheet<'a>,
    cell: Box<dyn Fn(usize, usize) -> Shown + 'a>,
    focus: (Range<usize>, Range<usize>),
    is_lit: bool,
}

/// The board in so many columns and lines; also how many lines of its text can be scrolled away.
pub(super) fn lines(state: &State, theme: Theme, room: usize, height: usize) -> (Vec<Line<'static>>, usize) {
    let page = Page { width: room, ..state.page };
    let scene = Scene { page, ..state.scene() };
    let Some(step) = state.step() else { return (Vec::new(), 0) };
    let mut lines = told::heading(&scene, step, theme, height);
    let column = Page { width: room.min(WIDEST_TEXT), ..page };
    let text = told::text(state, &Scene { page: column, ..state.scene() }, step, theme);
    let left = height.saturating_sub(lines.len());
    let for_text = text.len().min(ROOM_FOR_TEXT).min(left / 3);
    lines.extend(tables(state, &scene, step, theme, left.saturating_sub(for_text)));
    let left = height.saturating_sub(lines.len());
    let gap = usize::from(left > 2);
    lines.extend((0..gap).map(|_| Line::default()));
    let left = left - gap;
    let most = if text.len() > left { text.len() + 1 - left.max(1) } else { 0 };
    let from = state.scrolled.min(most);
    let below = text.len() - from;
    if below > left && left > 1 {
        lines.extend(text.into_iter().skip(from).take(left - 1));
        let more = below + 1 - left;
        let words = page.letters(&match more {
            1 => t!("… 1 more line: J scrolls"),
            _ => t!("… %{more} more lines: J scrolls", more),
        });
        lines.push(Line::from(Span::styled(words, theme.dim())));
    } else {
        lines.extend(text.into_iter().skip(from).take(left));
    }
    (lines, most)
}

/// The step's table and those of its inputs, in at most `height` lines.
fn tables(state: &State, scene: &Scene<'_>, step: &Step, theme: Theme, height: usize) -> Vec<Line<'static>> {
    let page = scene.page;
    let sources = scene.trace.sources(state.at);
    let Some(main) = panel(state, scene, step, step, &[]) else { return Vec::new() };
    let inputs: Vec<Panel<'_>> = step
        .inputs
        .iter()
        .filter_map(|id| scene.trace.plan().get(*id))
        .filter_map(|input| panel(state, scene, step, input, &sources))
        .collect();
    let natural = |panel: &Panel<'_>| {
        let matrix = panel.matrix(page, theme);
        panel.width(&matrix.window(page.width, height.saturating_sub(1).max(2)), &matrix)
    };
    let beside = |panels: &[&Panel<'_>]| -> usize { panels.iter().map(|panel| natural(panel) + GAP).sum() };
    let of_main = natural(&main);
    let lit: Vec<&Panel<'_>> = inputs.iter().filter(|panel| panel.is_lit).collect();
    let all: Vec<&Panel<'_>> = inputs.iter().collect();
    let extra = if height < SHORT { HEADER } else { 1 + HEADER };
    let needs =
        |panels: &[&Panel<'_>]| panels.iter().map(|panel| panel.sheet.rows.len() + extra).max().unwrap_or(0);
    let one_above_the_other = height > 2 * LEAST;
    for inputs in [&all, &lit] {
        if of_main + beside(inputs) <= page.width {
            let panels: Vec<&Panel<'_>> = std::iter::once(&main).chain(inputs.iter().copied()).collect();
            let height = height.min(needs(&panels));
            return row(&panels, &page, theme, height, true);
        }
    }
    let need = needs(&[&main]);
    if lit.is_empty() || !one_above_the_other {
        return row(&[&main], &page, theme, height.min(need), true);
    }
    // The inputs below: as many as fit, before all those that are lit.
    let below = if beside(&all) <= page.width + GAP { all } else { lit };
    let for_below = needs(&below).min((height / 2).max(height.saturating_sub(need + 1))).max(LEAST);
    let above = need.min(height.saturating_sub(for_below + 1));
    let mut lines = row(&[&main], &page, theme, above, true);
    lines.push(Line::default());
    lines.extend(row(&below, &page, theme, for_below, false));
    lines
}

/// Tables side by side, each in an equal share of what they would take.
fn row(
    panels: &[&Panel<'_>],
    page: &Page,
    theme: Theme,
    height: usize,
    has_main: bool,
) -> Vec<Line<'static>> {
    let mut lines: Vec<Line<'static>> = vec![Line::default(); height];
    let mut left = page.width;
    for (at, panel) in panels.iter().enumerate() {
        let share = (left + GAP) / (panels.len() - at);
        let matrix = panel.matrix(*page, theme);
        let window = matrix.window(left.min(share.saturating_sub(GAP)), height.saturating_sub(1));
        let window = match panels.len() - at {
            // What the others leave over is for the last.
            1 => matrix.window(left, height.saturating_sub(1)),
            _ if has_main && at == 0 => matrix.window(left, height.saturating_sub(1)),
            _ => window,
        };
        let wide = panel.width(&window, &matrix).min(left);
        let hint = matrix.hint(&window);
        let title = cut(page, &panel.title, wide);
        let hint = cut(page, &hint, wide.saturating_sub(width(&title) + 2));
        let mut heading = vec![Span::styled(title, theme.name())];
        if !hint.is_empty() {
            heading.push(Span::styled(format!("  {hint}"), theme.dim()));
        }
        let mut block = vec![Line::from(heading)];
        block.extend(matrix.lines(&window, height.saturating_sub(1)));
        let arrow = if page.ascii { "<- " } else { " ← " };
        for (number, line) in lines.iter_mut().enumerate() {
            let before = line.width();
            let should = page.width - left;
            if at > 0 {
                line.spans.push(Span::raw(" ".repeat(should.saturating_sub(GAP + before))));
                let is_arrow = has_main && at == 1 && number == 0;
                line.spans.push(Span::raw(if is_arrow { arrow } else { "   " }));
            }
            if let Some(part) = block.get_mut(number) {
                line.spans.append(&mut part.spans);
            }
        }
        left = left.saturating_sub(wide + GAP);
    }
    lines
}

impl Panel<'_> {
    fn matrix(&self, page: Page, theme: Theme) -> Matrix<'_> {
        Matrix {
            rows: &self.sheet.rows,
            columns: &self.sheet.columns,
            cell: &*self.cell,
            focus: self.focus.clone(),
            page,
            theme,
        }
    }

    /// Columns that it takes with its title and the hint which part is shown.
    fn width(&self, window: &Window, matrix: &Matrix<'_>) -> usize {
        let hint = matrix.hint(window);
        let hint = if hint.is_empty() { 0 } else { width(&hint) + 2 };
        window.width().max(width(&self.title) + hint)
    }
}

/// The table of `step` as seen from `scope`: with the cursor if it is that step, else with what was used of it.
fn panel<'a>(
    state: &'a State,
    scene: &'a Scene<'a>,
    scope: &Step,
    step: &'a Step,
    sources: &[Source],
) -> Option<Panel<'a>> {
    let page = scene.page;
    let layout = page.layout;
    let value = scene.trace.get(step.id)?;
    let sheet = Sheet::new(step, value, scene.labels, layout);
    let digits = digits_for(sheet.numbers(), page.digits);
    let is_weights = matches!(step.id.name, Name::Head(_, HeadStep::Weights));
    let has_cursor = step.id == scope.id;
    let used: Vec<Source> = sources.iter().filter(|source| source.step == step.id).cloned().collect();
    let at = state.at;
    let turned = move |rows: Range<usize>, columns: Range<usize>| match layout {
        Layout::Rows => (rows, columns),
        Layout::Columns => (columns, rows),
    };
    let focus = match (has_cursor, used.as_slice()) {
        (true, _) => turned(at.row..at.row + 1, at.column..at.column + 1),
        (false, []) => (0..0, 0..0),
        (false, [first, rest @ ..]) => {
            let hull = |a: &Range<usize>, b: &Range<usize>| a.start.min(b.start)..a.end.max(b.end);
            let (rows, columns) =
                rest.iter().fold((first.rows.clone(), first.columns.clone()), |(rows, columns), s| {
                    (hull(&rows, &s.rows), hull(&columns, &s.columns))
                });
            // Of a row of scores as long as the row of weights, the same place is looked at.
            if step.shape == scope.shape && rows.contains(&at.row) && columns.contains(&at.column) {
                turned(at.row..at.row + 1, at.column..at.column + 1)
            } else {
                turned(rows, columns)
            }
        }
    };
    let is_lit = !used.is_empty();
    let id = step.id;
    let cell = move |r: usize, c: usize| {
        let (row, column) = if layout == Layout::Rows { (r, c) } else { (c, r) };
        let cell = Cell { step: id, row, column };
        let value = value.get((row, column)).copied().unwrap_or(f64::NAN);
        let is_used = |source: &Source| source.rows.contains(&row) && source.columns.contains(&column);
        let light = match () {
            () if has_cursor && cell == at => Light::Cursor,
            () if used.iter().any(is_used) => Light::Lit,
            () if value == f64::NEG_INFINITY || (is_weights && value == 0.0) => Light::Hidden,
            () => Light::Plain,
        };
        Shown { text: scene.cell(id, row, column, digits), light, changed: state.bench.is_changed(cell) }
    };
    let title = short_name(step.id, scope.id);
    Some(Panel { title, sheet, cell: Box::new(cell), focus, is_lit })
}
