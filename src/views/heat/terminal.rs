//! Heat maps for a terminal: a panel a head, as many side by side as the page is wide, and a legend.

use std::io::{self, Write};

use super::legend::legend;
use super::paint::Colours;
use super::panels::{self, Cell, Group, Panel, Scale};
use super::plate::{Brush, Plate, Size, room_of_names};
use crate::views::compare::{self, Comparison};
use crate::views::number::{digits_for, number};
use crate::views::page::{Detail, Page, width};
use crate::views::{Scene, look, table};
use crate::words::t;

/// Columns between panels.
const GAP: usize = 2;
/// Lines that a person reads without scrolling much: cells become smaller before a picture becomes longer.
const FEW_LINES: usize = 60;
/// A matrix with more rows than this is thinned …
const MOST_ROWS: usize = 64;
/// … to this many, and as many columns where it is square.
const THINNED: usize = 32;

/// Writes the chosen steps of a trace, one group a kind of matrix, each on a scale of its own.
///
/// # Errors
/// Those of the writer.
pub fn write(scene: &Scene<'_>, colours: Colours, out: &mut dyn Write) -> io::Result<()> {
    table::heading(scene, out)?;
    for mut group in panels::of_scene(scene) {
        let brush = Brush { page: scene.page, colours, digits: digits(&group.panels, &scene.page) };
        heading(&caption(&group.what, group.panels.first(), &scene.page), &scene.page, out)?;
        let plate = fitting(&mut group.panels, &brush);
        draw(&group.panels, &plate, &group.scale, &brush, out)?;
        legend(&group.panels, &group.scale, &brush, out)?;
    }
    Ok(())
}

/// Writes the attention weights of every variant, one row of panels a variant, all on one scale.
///
/// # Errors
/// Those of the writer.
pub fn write_comparison(
    comparison: &Comparison<'_>,
    colours: Colours,
    out: &mut dyn Write,
) -> io::Result<()> {
    let page = &comparison.page;
    compare::introduction(comparison, out)?;
    let (mut all, mut runs) = (Vec::new(), Vec::new());
    let mut scale = Scale { least: 0.0, most: 0.0 };
    for Group { what, panels, scale: common } in panels::of_comparison(comparison) {
        runs.push((what, all.len()..all.len() + panels.len()));
        all.extend(panels);
        scale = common;
    }
    let brush = Brush { page: *page, colours, digits: digits(&all, page) };
    let plate = fitting(&mut all, &brush);
    for (variant, run) in runs {
        let panels = all.get(run).unwrap_or_default();
        heading(&caption(&t!("%{variant} · attention weights", variant), panels.first(), page), page, out)?;
        match panels {
            [] => {
                let words = t!("It holds no attention weights: there is never a whole row of them at once.");
                write!(out, "{}", page.paragraph(&words, 0))?;
            }
            panels => draw(panels, &plate, &scale, &brush, out)?,
        }
    }
    legend(&all, &scale, &brush, out)
}

/// Writes one panel under a heading.
///
/// # Errors
/// Those of the writer.
pub fn write_panel(
    words: &str,
    panel: Panel<'_>,
    scale: &Scale,
    page: &Page,
    colours: Colours,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut panels = [panel];
    let brush = Brush { page: *page, colours, digits: digits(&panels, page) };
    heading(words, page, out)?;
    let plate = fitting(&mut panels, &brush);
    draw(&panels, &plate, scale, &brush, out)?;
    legend(&panels, scale, &brush, out)
}

fn heading(words: &str, page: &Page, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{}", look::heading(words, page))
}

/// `attention weights · rows: queries · columns: keys`
fn caption(what: &str, first: Option<&Panel<'_>>, page: &Page) -> String {
    let mut words = what.to_owned();
    let (rows, columns) = first.map_or(("", ""), |panel| panel.axes);
    for (side, axis) in [(t!("rows"), rows), (t!("columns"), columns)] {
        if page.detail != Detail::Bare && !axis.is_empty() {
            let many = match axis {
                "query" => t!("queries"),
                "key" => t!("keys"),
                _ => t!("features"),
            };
            words.push_str(page.between());
            words.push_str(&t!("%{side}: %{many}", side, many));
        }
    }
    words
}

/// No digits where every number is whole.
fn digits(panels: &[Panel<'_>], page: &Page) -> usize {
    digits_for(panels.iter().flat_map(Panel::numbers), page.digits)
}

/// Chooses the size of cells, and thins what is too large for every one of them.
///
/// The largest cells with which the picture stays short; where it is long anyway, those with which it is shortest.
fn fitting(panels: &mut [Panel<'_>], brush: &Brush) -> Plate {
    let page = &brush.page;
    let mut best: Option<(usize, Plate)> = None;
    let tall = panels.iter().any(|panel| panel.shape().0 > MOST_ROWS);
    if !tall {
        for size in sizes(panels, brush) {
            let plate = Plate::measured(panels, size, brush);
            let lines = lines(panels.len(), &plate, page);
            if plate.fits(page) && best.as_ref().is_none_or(|(least, _)| lines < *least) {
                best = Some((lines, plate));
            }
            if best.as_ref().is_some_and(|(lines, _)| *lines <= FEW_LINES) {
                break;
            }
        }
    }
    if let Some((_, plate)) = best {
        return plate;
    }
    let room = page.width.saturating_sub(room_of_names(page) + 1).max(1);
    let mut thinned = |cell: usize| {
        let most = (room / cell).max(1);
        for panel in panels.iter_mut() {
            panel.thin(if tall { THINNED.min(most) } else { MOST_ROWS }, most.min(2 * THINNED));
        }
        let plate = Plate::measured(panels, Size { cell, numbers: false }, brush);
        (lines(panels.len(), &plate, page), plate)
    };
    let (double, single) = (thinned(2), thinned(1));
    // Two columns make a square of a cell, if that costs neither detail nor lines.
    if room / 2 >= THINNED && double.0 <= single.0 { thinned(2).1 } else { single.1 }
}

/// Sizes of cells, from the largest.
fn sizes(panels: &[Panel<'_>], brush: &Brush) -> Vec<Size> {
    let mut sizes = Vec::new();
    let columns = panels.iter().map(|panel| panel.shape().1).max().unwrap_or(0);
    // A number takes four columns at least: where those do not fit, none needs to be written to find out.
    if columns * 4 <= brush.page.width {
        let mut widest = 2;
        let mut longest = 0;
        for panel in panels {
            let (rows, columns) = panel.shape();
            for column in 0..columns {
                longest = longest.max(width(&brush.page.letters(panel.first_column(column))));
                for row in 0..rows {
                    if let Cell::Value(value) = panel.cell(row, column) {
                        widest = widest.max(number(value, brush.digits).len());
                    }
                }
            }
        }
        let cell = widest + 2;
        if (cell..=cell + 4).contains(&longest) {
            sizes.push(Size { cell: longest + 1, numbers: true });
        }
        sizes.push(Size { cell, numbers: true });
    }
    sizes.extend([2, 1].map(|cell| Size { cell, numbers: false }));
    sizes
}

/// Panels side by side: in as few rows as the width allows, all about equally long.
fn abreast(count: usize, plate: &Plate, page: &Page) -> usize {
    let most = ((page.width + GAP) / (plate.width + GAP)).max(1);
    count.div_ceil(count.div_ceil(most).max(1)).max(1)
}

/// Lines of so many panels, with a blank line between their rows.
fn lines(count: usize, plate: &Plate, page: &Page) -> usize {
    count.div_ceil(abreast(count, plate, page)) * (plate.height + 1)
}

fn draw(
    panels: &[Panel<'_>],
    plate: &Plate,
    scale: &Scale,
    brush: &Brush,
    out: &mut dyn Write,
) -> io::Result<()> {
    for (at, row) in panels.chunks(abreast(panels.len(), plate, &brush.page)).enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        let plates: Vec<Vec<String>> = row.iter().map(|panel| plate.lines(panel, scale, brush)).collect();
        let tall = plates.iter().map(Vec::len).max().unwrap_or(0);
        for at in 0..tall {
            let blank = " ".repeat(plate.width);
            let line: Vec<&str> =
                plates.iter().map(|lines| lines.get(at).map_or(blank.as_str(), String::as_str)).collect();
            writeln!(out, "{}", line.join(&" ".repeat(GAP)).trim_end())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plate(width: usize, height: usize) -> Plate {
        Plate { size: Size { cell: 2, numbers: false }, stub: 3, width, height }
    }

    /// Three of 24 and two gaps are 76 of 80 columns; a fourth would make it 102. Four panels stand two and two.
    #[test]
    fn panels_stand_side_by_side_as_the_page_is_wide() {
        let page = Page { width: 80, ..Page::default() };
        let abreast = |count| abreast(count, &plate(24, 5), &page);
        assert_eq!([1, 2, 3, 4, 5, 6, 7].map(abreast), [1, 2, 3, 2, 3, 3, 3]);
        // 4 panels: two rows of five lines, each with a blank one.
        assert_eq!(lines(4, &plate(24, 5), &page), 12);
        assert_eq!(super::abreast(3, &plate(200, 5), &page), 1, "one stands alone, however wide");
    }
}
