//! A matrix in as much room as there is: a window around what is looked at, with its headers.

use std::ops::Range;

use ratatui::text::{Line, Span};

use super::theme::Theme;
use super::told::cut;
use crate::fault::visible;
use crate::views::page::{Page, width};
use crate::words::t;

/// Columns that a token's name takes at most.
const ROOM_OF_NAMES: usize = 14;
/// Lines of the header: names, and a rule where there is room for it.
pub(super) const HEADER: usize = 2;

/// How one number is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Light {
    /// As it is.
    Plain,
    /// It is hidden, or has no weight.
    Hidden,
    /// The cursor's number was made from it.
    Lit,
    /// The cursor is on it.
    Cursor,
}

/// A number as it is shown.
pub(super) struct Shown {
    pub(super) text: String,
    pub(super) light: Light,
    /// Whether the last change changed it.
    pub(super) changed: bool,
}

/// A matrix to be shown; rows and columns are those of the page.
pub(super) struct Matrix<'a> {
    pub(super) rows: &'a [String],
    pub(super) columns: &'a [String],
    pub(super) cell: &'a dyn Fn(usize, usize) -> Shown,
    /// What must be in view, its first row and column before all.
    pub(super) focus: (Range<usize>, Range<usize>),
    pub(super) page: Page,
    pub(super) theme: Theme,
}

/// The part of a matrix that fits.
pub(super) struct Window {
    rows: Range<usize>,
    columns: Range<usize>,
    /// Columns that each number takes, without its brackets.
    widths: Vec<usize>,
    stub: usize,
}

impl Window {
    /// Columns that it takes.
    pub(super) fn width(&self) -> usize {
        self.stub + 1 + self.widths.iter().map(|width| width + 2).sum::<usize>()
    }
}

impl Matrix<'_> {
    /// The window that fits `room` columns and `height` lines, headers included; at least one number is in it.
    pub(super) fn window(&self, room: usize, height: usize) -> Window {
        let visible_rows = height.saturating_sub(1);
        let rows = around(&self.focus.0, visible_rows.max(1), self.rows.len());
        let stub = rows.clone().map(|row| width(&self.name(&self.rows[row]))).max().unwrap_or(0);
        let wide = |column: usize| {
            let cells = rows.clone().map(|row| width(&self.text(&(self.cell)(row, column))));
            cells.chain([width(&self.name(&self.columns[column]))]).max().unwrap_or(1)
        };
        let first = self.focus.1.start.min(self.columns.len().saturating_sub(1));
        let mut columns = first..first + 1;
        let mut widths = std::collections::VecDeque::from([wide(first)]);
        let mut taken = stub + 1 + widths[0] + 2;
        // To the right as far as the focus goes, then left and right in turn, so that the focus stays in the middle.
        let (mut grows_left, mut grows_right) = (true, true);
        while grows_left || grows_right {
            let right_first = columns.end < self.focus.1.end
                || first - columns.start >= columns.end.saturating_sub(self.focus.1.end.max(first + 1));
            for to_right in [right_first, !right_first] {
                let next = if to_right { columns.end } else { columns.start.wrapping_sub(1) };
                let grows = if to_right { &mut grows_right } else { &mut grows_left };
                *grows = *grows && next < self.columns.len();
                if !*grows {
                    continue;
                }
                let width = wide(next);
                *grows = taken + width + 2 <= room;
                if *grows {
                    taken += width + 2;
                    if to_right {
                        columns.end += 1;
                        widths.push_back(width);
                    } else {
                        columns.start -= 1;
                        widths.push_front(width);
                    }
                    break;
                }
            }
        }
        Window { rows, columns, widths: widths.into(), stub }
    }

    /// Which part of the matrix a window shows, where it does not show all.
    pub(super) fn hint(&self, window: &Window) -> String {
        let (rows, columns) = (&window.rows, &window.columns);
        let (all_rows, all_columns) = (self.rows.len(), self.columns.len());
        let mut parts = Vec::new();
        if rows.len() < all_rows {
            let (from, to) = (rows.start + 1, rows.end);
            parts.push(match rows.len() {
                2.. => t!("rows %{from}–%{to} of %{all}", from, to, all = all_rows),
                _ => t!("row %{one} of %{all}", one = from, all = all_rows),
            });
        }
        if columns.len() < all_columns {
            let (from, to) = (columns.start + 1, columns.end);
            parts.push(match columns.len() {
                2.. => t!("columns %{from}–%{to} of %{all}", from, to, all = all_columns),
                _ => t!("column %{one} of %{all}", one = from, all = all_columns),
            });
        }
        self.page.letters(&parts.join(&t!(", ")))
    }

    /// The window's lines; the rule under the header is there where `height` has room for it.
    pub(super) fn lines(&self, window: &Window, height: usize) -> Vec<Line<'static>> {
        let (bar, dash, cross) = if self.page.ascii { ("|", "-", "+") } else { ("│", "─", "┼") };
        let theme = self.theme;
        let at_cursor = |row: Option<usize>, column: Option<usize>| {
            let within = |at: Option<usize>, focus: &Range<usize>| at.is_none_or(|at| focus.contains(&at));
            within(row, &self.focus.0) && within(column, &self.focus.1)
        };
        let name_style = |is_at: bool| if is_at { theme.bold() } else { theme.dim() };
        let mut header = vec![Span::raw(" ".repeat(window.stub)), Span::styled(bar, theme.dim())];
        for (column, room) in window.columns.clone().zip(&window.widths) {
            let name = self.name(&self.columns[column]);
            let pad = " ".repeat(room.saturating_sub(width(&name)) + 1);
            header.push(Span::raw(pad));
            header.push(Span::styled(name, name_style(at_cursor(None, Some(column)))));
            header.push(Span::raw(" "));
        }
        let mut lines = vec![Line::from(header)];
        if height >= window.rows.len() + HEADER {
            let rest: usize = window.widths.iter().map(|width| width + 2).sum();
            let rule = format!("{}{cross}{}", dash.repeat(window.stub), dash.repeat(rest));
            lines.push(Line::from(Span::styled(rule, theme.dim())));
        }
        for row in window.rows.clone() {
            let name = self.name(&self.rows[row]);
            let pad = " ".repeat(window.stub.saturating_sub(width(&name)));
            let mut spans = vec![
                Span::styled(name, name_style(at_cursor(Some(row), None))),
                Span::raw(pad),
                Span::styled(bar, theme.dim()),
            ];
            for (column, room) in window.columns.clone().zip(&window.widths) {
                spans.push(self.span((self.cell)(row, column), *room));
            }
            lines.push(Line::from(spans));
        }
        lines.truncate(height);
        lines
    }

    fn span(&self, shown: Shown, room: usize) -> Span<'static> {
        let text = self.text(&shown);
        let pad = " ".repeat(room.saturating_sub(width(&text)));
        let (style, open, close) = match shown.light {
            Light::Cursor => (self.theme.cursor(), '[', ']'),
            Light::Lit => (self.theme.lit(), '[', ']'),
            Light::Plain if shown.changed => (self.theme.changed(), ' ', ' '),
            Light::Plain => (ratatui::style::Style::new(), ' ', ' '),
            Light::Hidden => (self.theme.dim(), ' ', ' '),
        };
        Span::styled(format!("{open}{pad}{text}{close}"), style)
    }

    /// The number with a star where it changed.
    fn text(&self, shown: &Shown) -> String {
        let star = if shown.changed { "*" } else { "" };
        self.page.letters(&format!("{star}{}", shown.text))
    }

    fn name(&self, name: &str) -> String {
        let room = ROOM_OF_NAMES.min((self.page.width / 4).max(2));
        cut(&self.page, &visible(name), room)
    }
}

/// A window of `room` places out of `of`, around the focus, with its beginning in any case.
fn around(focus: &Range<usize>, room: usize, of: usize) -> Range<usize> {
    let room = room.min(of);
    let length = focus.len().min(room);
    let before = (room - length) / 2;
    let start = focus.start.saturating_sub(before).min(of - room);
    start..start + room
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(
        size: (usize, usize),
        focus: (Range<usize>, Range<usize>),
        room: usize,
        height: usize,
    ) -> Window {
        let names = |count: usize| (1..=count).map(|n| n.to_string()).collect::<Vec<_>>();
        let (rows, columns) = (names(size.0), names(size.1));
        let cell = |_, _| Shown { text: "0.5000".into(), light: Light::Plain, changed: false };
        let (page, theme) = (Page::default(), Theme::Plain);
        let matrix = Matrix { rows: &rows, columns: &columns, cell: &cell, focus, page, theme };
        let window = matrix.window(room, height);
        let lines = matrix.lines(&window, height);
        assert!(
            lines.len() <= height.max(1) && lines.iter().all(|line| line.width() <= room.max(window.width()))
        );
        window
    }

    /// A number takes 6 columns and its brackets 2; names of two digits and a bar take 3. 3 + 8·4 = 35 fits 40 columns.
    #[test]
    fn the_window_keeps_the_focus_in_its_middle_and_ends_with_the_matrix() {
        let shown = |row: usize, column: usize| {
            let window = window((64, 64), (row..row + 1, column..column + 1), 40, 11);
            (window.rows, window.columns)
        };
        assert_eq!(shown(0, 0), (0..10, 0..4));
        assert_eq!(shown(63, 63), (54..64, 60..64));
        let (rows, columns) = shown(30, 30);
        assert!(rows.len() == 10 && rows.contains(&30) && columns.len() == 4 && columns.contains(&30));
    }

    #[test]
    fn a_matrix_that_fits_is_whole_and_one_that_cannot_shows_its_number() {
        assert_eq!(window((3, 3), (1..2, 1..2), 80, 5).columns, 0..3);
        let tiny = window((3, 3), (2..3, 1..2), 1, 1);
        assert_eq!((tiny.rows, tiny.columns), (2..3, 1..2));
    }

    #[test]
    fn a_long_focus_is_shown_from_its_beginning() {
        let window = window((64, 64), (5..6, 0..64), 40, 11);
        assert!(window.rows.contains(&5) && window.columns.start == 0);
    }
}
