//! One table on a page: fits the width by panels of columns, or by leaving out the middle, and says which.

use std::ops::Range;

use comfy_table::presets::{ASCII_FULL_CONDENSED, UTF8_FULL_CONDENSED};
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table};

use super::page::{Page, pieces, width};
use crate::fault::visible;
use crate::words::t;

/// A table of short texts with named rows and columns, ready to be set on a page.
#[derive(Debug, Clone, Default)]
pub struct Grid {
    /// Stands above the row names; usually empty.
    pub corner: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Names of the rows.
    pub rows: Vec<String>,
    /// Texts, row by row; may hold colour, must hold no other control characters.
    pub cells: Vec<Vec<String>>,
    /// Which way each column is set; columns beyond the list hold numbers, to the right.
    pub align: Vec<Side>,
    /// Whether every row and column matters: a narrow page then takes as many panels as it needs and leaves none out.
    pub whole: bool,
    /// Said where columns are left out: where all of them can be had; usually empty.
    pub elsewhere: String,
}

/// Which way a column is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Side {
    /// Texts.
    Left,
    /// Numbers.
    #[default]
    Right,
}

/// Widest that a row or column name may be before it is shortened.
const LABEL_ROOM: usize = 32;
/// A table that would need more panels than this loses its middle columns instead.
const MOST_PANELS: usize = 4;
/// Unless it has no more columns than this: a person still reads them all.
const FEW_COLUMNS: usize = 32;
/// A table with more rows than this loses its middle rows.
const MOST_ROWS: usize = 48;
/// How many rows stand before and after the gap.
const ROWS_BESIDE_GAP: usize = 8;

impl Grid {
    /// The table as text, every line within the page's width where the width allows one column at all.
    ///
    /// Ends with a line break. Names come from files: control characters in them are shown, not sent.
    pub fn render(&self, page: &Page) -> String {
        let most_rows = if self.whole { usize::MAX } else { MOST_ROWS };
        let rows = shown(self.rows.len(), most_rows, ROWS_BESIDE_GAP);
        let room = self.room_of_names(page);
        let names: Vec<String> = self.rows.iter().map(|name| self.row_name(name, room, page)).collect();
        let corner = self.row_name(&self.corner, room, page);
        let corner = broad(&corner);
        let stub = rows.kept().map(|r| broad(&names[r])).chain([corner, 1]).max().unwrap_or(1);
        let heads: Vec<String> = self.columns.iter().map(|name| self.column_name(name, stub, page)).collect();
        let widths: Vec<usize> = (0..heads.len())
            .map(|c| {
                let at = |r: usize| self.cells.get(r).and_then(|row| row.get(c));
                let line =
                    |text: &str| if page.ascii { bare_width(&page.letters(text)) } else { bare_width(text) };
                let cell = |r: usize| at(r).map_or(0, |text| text.split('\n').map(line).max().unwrap_or(0));
                rows.kept().map(cell).chain([broad(&heads[c])]).max().unwrap_or(1)
            })
            .collect();
        // "│ name ┆ cell ┆ cell │": two borders, a blank on both sides of everything, a line between.
        let room = page.width.saturating_sub(stub + 4);
        let panels = panels(&widths, room);
        let mut text = String::new();
        if self.whole || panels.len() <= MOST_PANELS || widths.len() <= FEW_COLUMNS {
            for panel in &panels {
                if panels.len() > 1 {
                    let caption = match panel.len() {
                        1 => t!("column %{one} of %{all}", one = panel.end, all = widths.len()),
                        _ => t!(
                            "columns %{from}–%{to} of %{all}",
                            from = panel.start + 1,
                            to = panel.end,
                            all = widths.len()
                        ),
                    };
                    text.push_str(&page.letters(&caption));
                    text.push('\n');
                }
                let columns = Shown { head: panel.clone(), tail: 0..0 };
                text.push_str(&self.table(&names, &heads, &rows, &columns, page));
            }
        } else {
            let widest = widths.iter().copied().max().unwrap_or(1).max(1);
            let gap = width(&page.letters("…")) + 3;
            let beside_gap = room.saturating_sub(gap) / (widest + 3) / 2;
            // Where not even two columns fit beside the gap, the first stands alone.
            let columns = match beside_gap {
                0 => Shown { head: 0..1, tail: widths.len()..widths.len() },
                _ => shown(widths.len(), 2 * beside_gap, beside_gap),
            };
            text.push_str(&self.table(&names, &heads, &rows, &columns, page));
            let note = t!(
                "%{count} of %{all} columns left out (…)%{elsewhere}",
                count = columns.left_out(),
                all = widths.len(),
                elsewhere = self.elsewhere
            );
            text.push_str(&page.paragraph(&note, 0));
        }
        if rows.left_out() > 0 {
            let note =
                t!("%{count} of %{all} rows left out (⋮)", count = rows.left_out(), all = self.rows.len());
            text.push_str(&page.paragraph(&note, 0));
        }
        text
    }

    /// Whether a cell of a table of this size can be shown at all: what certainly falls into a gap needs no text.
    pub fn may_show(row: usize, rows: usize, column: usize, columns: usize, page: &Page) -> bool {
        // A column takes at least four characters, and there are at most so many panels of them.
        let most_columns = (MOST_PANELS * page.width / 4).max(FEW_COLUMNS);
        let row_shown = rows <= MOST_ROWS || row < ROWS_BESIDE_GAP || row + ROWS_BESIDE_GAP >= rows;
        row_shown && (columns <= most_columns || column < page.width || column + page.width >= columns)
    }

    /// Columns that a page leaves for a cell beside row names such as these.
    pub fn room_beside(rows: &[String], page: &Page) -> usize {
        let most = LABEL_ROOM.min(page.width / 2);
        let names = rows.iter().map(|name| width(&page.letters(&visible(name))).min(most)).max();
        page.width.saturating_sub(names.unwrap_or(0).max(1) + 7)
    }

    /// Columns that names may take beside the widest number.
    fn room_of_names(&self, page: &Page) -> usize {
        let cells = self
            .cells
            .iter()
            .flat_map(|row| row.iter().zip(self.align.iter().chain(std::iter::repeat(&Side::Right))));
        let numbers = cells.filter(|(_, side)| **side == Side::Right).map(|(cell, _)| bare_width(cell)).max();
        page.width.saturating_sub(numbers.unwrap_or(0) + 7).clamp(8, (page.width / 2).max(8))
    }

    /// A row's name: where every row matters it is told whole, on several lines if need be.
    fn row_name(&self, name: &str, room: usize, page: &Page) -> String {
        if !self.whole {
            return self.label(name, page);
        }
        let narrow = Page { width: room, ..*page };
        let name = page.letters(&visible(name));
        narrow.paragraph(&with_breaks(&name, room.max(12)), 0).trim_end().to_owned()
    }

    /// A column's name beside row names of `stub` columns: where every column matters it is told whole, too.
    fn column_name(&self, name: &str, stub: usize, page: &Page) -> String {
        let room = page.width.saturating_sub(stub + 7).max(4);
        match self.whole {
            true => self.row_name(name, room, page),
            false => page.shortened(&visible(name), room.min(label_room(page))),
        }
    }

    fn label(&self, name: &str, page: &Page) -> String {
        page.shortened(&visible(name), label_room(page))
    }

    fn table(
        &self,
        names: &[String],
        heads: &[String],
        rows: &Shown,
        columns: &Shown,
        page: &Page,
    ) -> String {
        let mut table = Table::new();
        table.load_style(if page.ascii { ASCII_FULL_CONDENSED } else { UTF8_FULL_CONDENSED });
        table.set_content_arrangement(ContentArrangement::Disabled);
        table.force_no_tty();
        let cell = |c: usize, text: &str| {
            Cell::new(text).set_alignment(match self.align.get(c).copied().unwrap_or_default() {
                Side::Left => CellAlignment::Left,
                Side::Right => CellAlignment::Right,
            })
        };
        let gap = page.letters("…");
        let line = |first: Cell, at: &dyn Fn(usize) -> String| {
            let mut line = vec![first];
            line.extend(columns.head.clone().map(|c| cell(c, &at(c))));
            if columns.left_out() > 0 {
                line.push(cell(columns.head.end, &gap));
            }
            line.extend(columns.tail.clone().map(|c| cell(c, &at(c))));
            line
        };
        let corner = self.row_name(&self.corner, self.room_of_names(page), page);
        table.set_header(line(Cell::new(&corner), &|c| heads[c].clone()));
        let stub = rows.kept().map(|r| broad(&names[r])).chain([broad(&corner)]).max().unwrap_or(1);
        let narrow = Page { width: page.width.saturating_sub(stub + 7), ..*page };
        let body = |r: usize| {
            let at = |c: usize| self.cells.get(r).and_then(|row| row.get(c)).cloned().unwrap_or_default();
            // Words wrap inside their cell; numbers never do.
            let fitted = |c: usize| {
                let text = page.letters(&at(c));
                match self.align.get(c) {
                    Some(Side::Left) if broad(&text) > narrow.width => {
                        narrow.paragraph(&with_breaks(&text, narrow.width.max(12)), 0).trim_end().to_owned()
                    }
                    _ => text,
                }
            };
            line(Cell::new(&names[r]), &fitted)
        };
        for r in rows.head.clone() {
            table.add_row(body(r));
        }
        if rows.left_out() > 0 {
            let dots = page.letters("⋮");
            table.add_row(line(Cell::new(&dots), &|_| dots.clone()));
        }
        for r in rows.tail.clone() {
            table.add_row(body(r));
        }
        let mut text = table.to_string();
        text.push('\n');
        text
    }
}

/// Columns that a name may take on a page of this width.
fn label_room(page: &Page) -> usize {
    LABEL_ROOM.min(page.width / 2)
}

/// Columns that a text of several lines takes.
fn broad(text: &str) -> usize {
    text.lines().map(bare_width).max().unwrap_or(0)
}

/// The text with blanks where a word has no room: a long formula or name may break behind its signs.
fn with_breaks(text: &str, room: usize) -> String {
    let mut broken = String::with_capacity(text.len());
    for (blank, word) in pieces(text) {
        if !broken.is_empty() && blank {
            broken.push(' ');
        }
        if width(word) <= room {
            broken.push_str(word);
            continue;
        }
        let (mut line, mut rest) = (String::new(), String::new());
        for c in word.chars() {
            rest.push(c);
            // d_k and W_O stay whole: too short for a line to gain by it.
            let may_end = match c {
                '_' => rest.chars().count() > 2,
                c => matches!(c, '·' | '*' | '.' | '/' | '+' | '-' | ','),
            };
            if may_end || width(&rest) >= room {
                if width(&line) + width(&rest) > room && !line.is_empty() {
                    broken.push_str(&line);
                    broken.push(' ');
                    line.clear();
                }
                line.push_str(&std::mem::take(&mut rest));
            }
        }
        if width(&line) + width(&rest) > room && !line.is_empty() {
            broken.push_str(&line);
            broken.push(' ');
            line.clear();
        }
        broken.push_str(&line);
        broken.push_str(&rest);
    }
    broken
}

/// Which of a run of rows or columns are shown: a head and a tail.
struct Shown {
    head: Range<usize>,
    tail: Range<usize>,
}

impl Shown {
    fn kept(&self) -> impl Iterator<Item = usize> + '_ {
        self.head.clone().chain(self.tail.clone())
    }

    fn left_out(&self) -> usize {
        self.tail.start.saturating_sub(self.head.end)
    }
}

fn shown(count: usize, most: usize, beside_gap: usize) -> Shown {
    if count <= most.max(2 * beside_gap) {
        return Shown { head: 0..count, tail: 0..0 };
    }
    Shown { head: 0..beside_gap, tail: count - beside_gap..count }
}

/// Cuts the columns into as few runs as fit the room, of nearly equal length where those fit too; a column wider than
/// the room has a panel to itself.
fn panels(widths: &[usize], room: usize) -> Vec<Range<usize>> {
    let fits =
        |panel: &Range<usize>| widths[panel.clone()].iter().map(|width| width + 3).sum::<usize>() <= room;
    let mut full = Vec::new();
    let mut start = 0;
    for column in 1..widths.len() {
        if !fits(&(start..column + 1)) {
            full.push(start..column);
            start = column;
        }
    }
    full.push(start..widths.len());
    let count = full.len();
    let even: Vec<Range<usize>> =
        (0..count).map(|panel| panel * widths.len() / count..(panel + 1) * widths.len() / count).collect();
    if even.iter().all(fits) { even } else { full }
}

/// Columns that a cell takes once its colour is taken off.
pub(super) fn bare_width(text: &str) -> usize {
    if !text.contains('\u{1b}') {
        return width(text);
    }
    let mut bare = String::with_capacity(text.len());
    let mut inside = false;
    for c in text.chars() {
        match (inside, c) {
            (false, '\u{1b}') => inside = true,
            (false, c) => bare.push(c),
            (true, 'm') => inside = false,
            (true, _) => {}
        }
    }
    width(&bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counting(rows: usize, columns: usize) -> Grid {
        Grid {
            columns: (1..=columns).map(|c| c.to_string()).collect(),
            rows: (1..=rows).map(|r| r.to_string()).collect(),
            cells: (0..rows).map(|r| (0..columns).map(|c| format!("{}.{c:04}", r % 10)).collect()).collect(),
            ..Grid::default()
        }
    }

    #[test]
    fn labels_of_any_script_keep_the_columns_straight() {
        let grid = Grid {
            columns: ["猫", "👩‍🔬", "é", "a\u{1b}[2Jb"].map(String::from).to_vec(),
            rows: ["注意", "x"].map(String::from).to_vec(),
            cells: vec![vec!["1.0".into(); 4], vec!["2.0".into(); 4]],
            ..Grid::default()
        };
        let text = grid.render(&Page::default());
        let widths: Vec<usize> = text.lines().map(width).collect();
        assert!(widths.iter().all(|w| *w == widths[0]), "{text}");
        assert!(text.contains("a\\e[2Jb") && !text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn a_wide_matrix_is_split_into_panels_and_a_very_wide_one_loses_its_middle() {
        for (columns, telling) in [(20, "columns 1–6 of 20"), (512, "columns left out")] {
            let text = counting(3, columns).render(&Page { width: 70, ..Page::default() });
            assert!(text.contains(telling), "{text}");
            assert!(text.lines().all(|line| width(line) <= 70), "{text}");
        }
    }

    #[test]
    fn a_table_that_must_be_whole_takes_as_many_panels_as_it_needs() {
        let text = Grid { whole: true, ..counting(2, 20) }.render(&Page { width: 20, ..Page::default() });
        assert!(text.contains("column 20 of 20") && !text.contains("left out"), "{text}");
        assert!(text.lines().all(|line| width(line) <= 20), "{text}");
    }

    #[test]
    fn texts_stand_left_and_numbers_right() {
        let grid = Grid {
            columns: ["why", "count"].map(String::from).to_vec(),
            rows: vec!["r".into(), "s".into()],
            cells: vec![vec!["because".into(), "1".into()], vec!["so".into(), "10".into()]],
            align: vec![Side::Left],
            ..Grid::default()
        };
        let text = grid.render(&Page { ascii: true, ..Page::default() });
        assert!(text.contains("| s | so      |    10 |"), "{text}");
    }

    #[test]
    fn a_long_matrix_says_how_many_rows_it_left_out() {
        let text = counting(500, 2).render(&Page::default());
        assert!(text.contains("484 of 500 rows left out"), "{text}");
    }
}
