//! One panel as lines of text, in one of several sizes.

use unicode_segmentation::UnicodeSegmentation;

use super::paint::{Colours, Line};
use super::palette::{self, ASCII, BLOCKS};
use super::panels::{Cell, Panel, Scale};
use crate::views::look::chief;
use crate::views::number::number;
use crate::views::page::{Page, shorten, width};

/// Widest that the name of a row may be, where the page has room for it.
const WIDEST_NAME: usize = 16;
/// Most lines that the names of columns take, written downwards.
const TALLEST_NAME: usize = 12;
/// Widest that a title may make its panel.
const WIDEST_TITLE: usize = 24;

/// What every panel of a picture is drawn with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Brush {
    /// The page.
    pub(super) page: Page,
    /// Its colours.
    pub(super) colours: Colours,
    /// Digits of the numbers inside cells.
    pub(super) digits: usize,
}

impl Brush {
    /// What stands for a hidden cell.
    pub(super) fn hidden(&self) -> &'static str {
        if self.page.ascii { "." } else { "·" }
    }

    /// Characters with more and more ink.
    pub(super) fn ladder(&self) -> &'static [char] {
        if self.page.ascii { ASCII } else { BLOCKS }
    }

    /// A name in no more columns than there are.
    fn name(&self, name: &str, room: usize) -> String {
        let name = self.page.letters(name);
        if width(&name) <= room {
            return name;
        }
        match self.page.ascii {
            true => name.chars().take(room.saturating_sub(1)).chain(['~']).collect(),
            false => shorten(&name, room),
        }
    }
}

/// How large cells are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    /// Columns of a cell.
    pub(super) cell: usize,
    /// Whether its number stands in it.
    pub(super) numbers: bool,
}

/// How panels of one kind are set, so that all are of one size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plate {
    pub(super) size: Size,
    /// Columns before the cells: the names of the rows and a blank.
    pub(super) stub: usize,
    /// Columns of the whole.
    pub(super) width: usize,
    /// Lines of the tallest one.
    pub(super) height: usize,
}

/// The widest that row names may be on a page.
pub(super) fn room_of_names(page: &Page) -> usize {
    (page.width / 4).min(WIDEST_NAME)
}

impl Plate {
    /// Measures panels for a size of cells.
    pub(super) fn measured(panels: &[Panel<'_>], size: Size, brush: &Brush) -> Self {
        let room = room_of_names(&brush.page);
        let names = |panel: &Panel<'_>| {
            let name = |row| width(&brush.name(&panel.row(row), room));
            (0..panel.shape().0).map(name).max().unwrap_or(0)
        };
        let stub = panels.iter().map(names).max().unwrap_or(0) + 1;
        let cells = panels.iter().map(|panel| panel.shape().1 * size.cell).max().unwrap_or(0);
        let title = panels.iter().map(|panel| width(&panel.title)).max().unwrap_or(0).min(WIDEST_TITLE);
        let wide = (stub + cells).max(title.min(brush.page.width));
        let tall = |panel: &Panel<'_>| {
            let titles = titles(&panel.title, wide).len();
            titles + heads(panel, size, brush).len() + panel.shape().0 * lines_of_row(size, brush)
        };
        let height = panels.iter().map(tall).max().unwrap_or(0);
        Self { size, stub, width: wide, height }
    }

    /// Whether a line of the page holds one.
    pub(super) fn fits(&self, page: &Page) -> bool {
        self.width <= page.width
    }

    /// The panel; every line takes the plate's width.
    pub(super) fn lines(&self, panel: &Panel<'_>, scale: &Scale, brush: &Brush) -> Vec<String> {
        let (rows, columns) = panel.shape();
        let padded =
            |text: &str, wide: usize| format!("{text}{}", " ".repeat(self.width.saturating_sub(wide)));
        let mut lines: Vec<String> =
            titles(&panel.title, self.width).iter().map(|line| padded(&chief(line), width(line))).collect();
        let stub = " ".repeat(self.stub);
        for head in heads(panel, self.size, brush) {
            lines.push(padded(&format!("{stub}{head}"), self.stub + columns * self.size.cell));
        }
        for row in 0..rows {
            let name = brush.name(&panel.row(row), self.stub - 1);
            let name = format!("{}{name} ", " ".repeat((self.stub - 1).saturating_sub(width(&name))));
            let cells: Vec<Cell> = (0..columns).map(|column| panel.cell(row, column)).collect();
            let wide = self.stub + columns * self.size.cell;
            if lines_of_row(self.size, brush) == 2 {
                // Ink above, the number below: over the ink it could not be read.
                let mut ink = Line::default();
                ink.plain(&stub);
                cells.iter().for_each(|cell| self.ink(&mut ink, *cell, scale, brush));
                lines.push(padded(&ink.painted(brush.colours), wide));
            }
            let mut line = Line::default();
            line.plain(&name);
            for cell in cells {
                match self.size.numbers {
                    true => self.number(&mut line, cell, scale, brush),
                    false => self.ink(&mut line, cell, scale, brush),
                }
            }
            lines.push(padded(&line.painted(brush.colours), wide));
        }
        lines
    }

    fn number(&self, line: &mut Line, cell: Cell, scale: &Scale, brush: &Brush) {
        match cell {
            Cell::Value(value) => {
                line.shaded(scale.place(value), &centred(&number(value, brush.digits), self.size.cell));
            }
            Cell::Hidden => line.plain(&centred(brush.hidden(), self.size.cell)),
            Cell::Undefined => line.plain(&centred("?", self.size.cell)),
        }
    }

    fn ink(&self, line: &mut Line, cell: Cell, scale: &Scale, brush: &Brush) {
        let wide = self.size.cell;
        match cell {
            Cell::Value(value) if brush.colours.shade() => line.shaded(scale.place(value), &" ".repeat(wide)),
            Cell::Value(value) => {
                let rung = palette::rung(scale.place(value), brush.ladder());
                line.plain(&std::iter::repeat_n(rung, wide).collect::<String>());
            }
            // Above a number that says it.
            _ if self.size.numbers => line.plain(&" ".repeat(wide)),
            Cell::Hidden => line.plain(&centred(brush.hidden(), wide)),
            Cell::Undefined => line.plain(&centred("?", wide)),
        }
    }
}

/// Lines that a row of cells takes: without colour a number needs one of its own.
fn lines_of_row(size: Size, brush: &Brush) -> usize {
    if size.numbers && !brush.colours.shade() { 2 } else { 1 }
}

/// A title on as many lines as it needs.
fn titles(title: &str, room: usize) -> Vec<String> {
    let (mut lines, mut line) = (Vec::new(), String::new());
    for piece in title.split_inclusive(['.', ' ']) {
        if !line.is_empty() && width(&line) + width(piece.trim_end()) > room {
            lines.push(std::mem::take(&mut line).trim_end().to_owned());
        }
        line.push_str(piece);
    }
    lines.push(line);
    lines.iter().map(|line| shorten(line, room)).collect()
}

/// The names of the columns: on one line where every name fits above its cell, else written downwards.
fn heads(panel: &Panel<'_>, size: Size, brush: &Brush) -> Vec<String> {
    let count = panel.shape().1;
    let names: Vec<String> =
        (0..count).map(|column| brush.page.letters(panel.first_column(column))).collect();
    let room = size.cell.saturating_sub(1).max(1);
    if names.iter().all(|name| name.is_empty()) {
        return Vec::new();
    }
    if names.iter().all(|name| width(name) <= room) {
        return vec![names.iter().map(|name| centred(name, size.cell)).collect()];
    }
    let broad = |name: &String| name.graphemes(true).any(|cluster| width(cluster) > size.cell);
    // A wide letter has no room over a narrow cell: columns are counted then; the rows tell the names.
    let names = if names.iter().any(broad) { (1..=count).map(|at| at.to_string()).collect() } else { names };
    let downwards: Vec<Vec<String>> = names.iter().map(|name| downwards(name, brush)).collect();
    let tall = downwards.iter().map(Vec::len).max().unwrap_or(0);
    let line = |at: usize| {
        let letter = |name: &Vec<String>| {
            // All end next to the cells.
            let letter = (at + name.len()).checked_sub(tall).and_then(|at| name.get(at));
            centred(letter.map_or("", String::as_str), size.cell)
        };
        downwards.iter().map(letter).collect()
    };
    (0..tall).map(line).collect()
}

/// The letters of a name, one above the other; a long one is cut.
fn downwards(name: &str, brush: &Brush) -> Vec<String> {
    let mut letters: Vec<String> = name.graphemes(true).map(ToOwned::to_owned).collect();
    if letters.len() > TALLEST_NAME {
        letters.truncate(TALLEST_NAME - 1);
        letters.push(if brush.page.ascii { "~" } else { "…" }.to_owned());
    }
    letters
}

/// A text in the middle of so many columns; a blank that cannot be shared goes before it, as a number's units stand.
fn centred(text: &str, room: usize) -> String {
    let spare = room.saturating_sub(width(text));
    format!("{}{text}{}", " ".repeat(spare - spare / 2), " ".repeat(spare / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_title_breaks_behind_its_dots() {
        assert_eq!(titles("batch.12.head.3.weights", 14), ["batch.12.head.", "3.weights"]);
        assert_eq!(titles("head.1.weights", 14), ["head.1.weights"]);
    }

    #[test]
    fn a_name_is_written_downwards_letter_by_letter() {
        let brush = Brush { page: Page::default(), colours: Colours::None, digits: 2 };
        assert_eq!(downwards("né\u{301}👩‍🔬", &brush), ["n", "é\u{301}", "👩‍🔬"]);
        assert_eq!(downwards("abcdefghijklm", &brush).concat(), "abcdefghijk…");
    }

    #[test]
    fn an_odd_blank_stands_before() {
        assert_eq!((centred("ab", 5).as_str(), centred("注", 2).as_str()), ("  ab ", "注"));
    }
}
