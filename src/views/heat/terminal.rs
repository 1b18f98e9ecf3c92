//! Heat maps for a terminal: a panel a head, as many side by side as the page is wide, and a legend.

use std::io::{self, Write};

use colored::Colorize;

use super::paint::{Colours, Line};
use super::panels::{self, Cell, Group, Panel, Scale};
use super::plate::{Brush, Plate, Size, room_of_names};
use crate::views::compare::{self, Comparison};
use crate::views::number::{digits_for, number};
use crate::views::page::{Detail, Page, width};
use crate::views::{Scene, table};

/// Columns between panels.
const GAP: usize = 2;
/// Lines that a person reads without scrolling much: cells become smaller before a picture becomes longer.
const FEW_LINES: usize = 60;
/// A matrix with more rows than this is thinned …
const MOST_ROWS: usize = 64;
/// … to this many, and as many columns where it is square.
const THINNED: usize = 32;
/// Columns of the legend's strip of colours.
const STRIP: usize = 40;

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
        heading(&caption(&format!("{variant} · attention weights"), panels.first(), page), page, out)?;
        match panels {
            [] => {
                let words = "It holds no attention weights: there is never a whole row of them at once.";
                write!(out, "{}", page.paragraph(words, 0))?;
            }
            panels => draw(panels, &plate, &scale, &brush, out)?,
        }
    }
    legend(&all, &scale, &brush, out)
}

fn heading(words: &str, page: &Page, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    for line in page.paragraph(words, 0).lines() {
        writeln!(out, "{}", line.cyan().bold())?;
    }
    Ok(())
}

/// `attention weights · rows: queries · columns: keys`
fn caption(what: &str, first: Option<&Panel<'_>>, page: &Page) -> String {
    let mut words = what.to_owned();
    let (rows, columns) = first.map_or(("", ""), |panel| panel.axes);
    for (side, axis) in [("rows", rows), ("columns", columns)] {
        if page.detail != Detail::Bare && !axis.is_empty() {
            let many = if axis == "query" { "queries".to_owned() } else { format!("{axis}s") };
            words.push_str(&format!("{}{side}: {many}", page.between()));
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
                longest = longest.max(width(&brush.page.letters(&panel.column(column))));
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

/// Panels side by side.
fn abreast(plate: &Plate, page: &Page) -> usize {
    ((page.width + GAP) / (plate.width + GAP)).max(1)
}

/// Lines of so many panels, with a blank line between their rows.
fn lines(count: usize, plate: &Plate, page: &Page) -> usize {
    count.div_ceil(abreast(plate, page)) * (plate.height + 1)
}

fn draw(
    panels: &[Panel<'_>],
    plate: &Plate,
    scale: &Scale,
    brush: &Brush,
    out: &mut dyn Write,
) -> io::Result<()> {
    for (at, row) in panels.chunks(abreast(plate, &brush.page)).enumerate() {
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

/// What shades and signs mean, and what was left out.
fn legend(panels: &[Panel<'_>], scale: &Scale, brush: &Brush, out: &mut dyn Write) -> io::Result<()> {
    let page = &brush.page;
    let seen = Seen::of(panels);
    if panels.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let digits = digits_of(scale, brush);
    if seen.value {
        let strip =
            if brush.colours.shade() { strip(scale, digits, brush) } else { ladder(scale, digits, brush) };
        write!(out, "{strip}")?;
    }
    let shown = |value: f64| number(value, digits);
    let mut words = Vec::new();
    if page.detail != Detail::Bare && seen.value {
        let common = if panels.len() > 1 { "One scale for all panels" } else { "The scale" };
        let most = shown(scale.most);
        words.push(match panels.iter().all(Panel::are_weights) {
            true => format!("{common}: 0 to {most}, the largest weight shown."),
            false => {
                format!("{common}: {} to {most}, the least to the largest number shown.", shown(scale.least))
            }
        });
    }
    if seen.hidden {
        let weights = panels.iter().all(Panel::are_weights);
        let what = if weights { "exactly 0, hidden by a mask." } else { "−∞, hidden by a mask." };
        words.push(format!("{} is {what}", HIDDEN));
    }
    if seen.undefined {
        words.push("? is not a number.".to_owned());
    }
    let mut notes: Vec<String> = panels.iter().filter_map(Panel::note).collect();
    notes.dedup();
    if !notes.is_empty() {
        notes.truncate(1);
        let wider = if page.width < 200 { ", a larger --width" } else { "" };
        let more = format!("--heads, --steps{wider} show more, --format csv every number.");
        words.push(format!("Thinned: {}. {more}", notes.concat()));
    }
    let text = page.paragraph(&words.join(" "), 0);
    write!(out, "{}", text.replace(HIDDEN, brush.hidden()))
}

/// Stands for the sign of hidden cells until the page's alphabet is applied; no lesson's text comes this way.
const HIDDEN: &str = "@hidden@";

/// What there is to be explained.
#[derive(Default)]
struct Seen {
    value: bool,
    hidden: bool,
    undefined: bool,
}

impl Seen {
    fn of(panels: &[Panel<'_>]) -> Self {
        let mut seen = Self::default();
        for panel in panels {
            let (rows, columns) = panel.shape();
            for cell in (0..rows).flat_map(|r| (0..columns).map(move |c| panel.cell(r, c))) {
                match cell {
                    Cell::Value(_) => seen.value = true,
                    Cell::Hidden => seen.hidden = true,
                    Cell::Undefined => seen.undefined = true,
                }
            }
        }
        seen
    }
}

/// Enough digits to tell a quarter of the scale from the next.
fn digits_of(scale: &Scale, brush: &Brush) -> usize {
    let span = scale.most - scale.least;
    let needed = if span > 0.0 { (1.0 - libm::log10(span).floor()).clamp(0.0, 9.0) as usize } else { 0 };
    brush.page.digits.min(needed).max(if span < 1.0 { needed } else { brush.digits })
}

/// The scale as a strip of colours with numbers in it.
fn strip(scale: &Scale, digits: usize, brush: &Brush) -> String {
    let wide = STRIP.min(brush.page.width);
    let value = |t: f64| number(scale.least + (scale.most - scale.least) * t, digits);
    let room =
        |ticks: usize| (0..ticks).all(|at| value(at as f64 / (ticks - 1) as f64).len() + 2 <= wide / ticks);
    let ticks = [5, 3].into_iter().find(|ticks| room(*ticks)).unwrap_or(2);
    let mut letters = vec![' '; wide];
    for at in 0..ticks {
        let t = at as f64 / (ticks - 1) as f64;
        let text = value(t);
        let centre = (t * (wide - 1) as f64).round() as usize;
        let from =
            centre.saturating_sub(text.len() / 2).clamp(1, (wide - 1).saturating_sub(text.len()).max(1));
        for (letter, place) in text.chars().zip(letters.iter_mut().skip(from)) {
            *place = letter;
        }
    }
    let mut line = Line::default();
    for (at, letter) in letters.iter().enumerate() {
        line.shaded(at as f64 / (wide - 1) as f64, &letter.to_string());
    }
    line.painted(brush.colours) + "\n"
}

/// The scale as rungs of ink, each with the numbers it stands for.
fn ladder(scale: &Scale, digits: usize, brush: &Brush) -> String {
    let rungs = brush.ladder();
    let value =
        |at: usize| number(scale.least + (scale.most - scale.least) * at as f64 / rungs.len() as f64, digits);
    let (mut text, mut taken) = (String::new(), 0);
    for (at, rung) in rungs.iter().enumerate() {
        let piece = format!("[{rung}{rung}] {} to {}", value(at), value(at + 1));
        let wide = width(&piece);
        if taken > 0 && taken + 2 + wide > brush.page.width {
            text.push('\n');
            taken = 0;
        }
        if taken > 0 {
            text.push_str("  ");
            taken += 2;
        }
        text.push_str(&piece);
        taken += wide;
    }
    text + "\n"
}
