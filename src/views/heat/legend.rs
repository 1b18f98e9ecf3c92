//! What shades and signs mean, and what was left out.

use std::io::{self, Write};

use super::paint::Line;
use super::panels::{Cell, Panel, Scale};
use super::plate::Brush;
use crate::views::number::number;
use crate::views::page::{Detail, width};
use crate::words::t;

/// Columns of the legend's strip of colours.
const STRIP: usize = 40;

/// Writes what shades and signs mean, and what was left out.
///
/// # Errors
/// Those of the writer.
pub(super) fn legend(
    panels: &[Panel<'_>],
    scale: &Scale,
    brush: &Brush,
    out: &mut dyn Write,
) -> io::Result<()> {
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
        let common = if panels.len() > 1 { t!("One scale for all panels") } else { t!("The scale") };
        let most = shown(scale.most);
        words.push(match panels.iter().all(Panel::are_weights) {
            true if panels.iter().flat_map(Panel::numbers).any(|weight| *weight > scale.most) => t!(
                "%{scale}: 0 to %{most}, the largest weight of a query with a choice; one that sees a single key \
                 gives it 1, and the last shade.",
                scale = common,
                most
            ),
            true => t!("%{scale}: 0 to %{most}, the largest weight shown.", scale = common, most),
            false => {
                t!(
                    "%{scale}: %{least} to %{most}, the least to the largest number shown.",
                    scale = common,
                    least = shown(scale.least),
                    most
                )
            }
        });
    }
    if seen.hidden {
        let weights = panels.iter().all(Panel::are_weights);
        words.push(match weights {
            true => t!("%{sign} is exactly 0, hidden by a mask.", sign = brush.hidden()),
            false => t!("%{sign} is −∞, hidden by a mask.", sign = brush.hidden()),
        });
    }
    if seen.undefined {
        words.push(t!("? is not a number."));
    }
    let mut notes: Vec<String> = panels.iter().filter_map(Panel::note).collect();
    notes.dedup();
    if !notes.is_empty() {
        notes.truncate(1);
        words.push(match page.width < 200 {
            true => t!(
                "Thinned: %{how}. A column has the name of its first. Fewer panels at once or a larger --width show more, \
                 --format json every number.",
                how = notes.concat()
            ),
            false => t!(
                "Thinned: %{how}. A column has the name of its first. Fewer panels at once show more, --format json every \
                 number.",
                how = notes.concat()
            ),
        });
    }
    words.iter().try_for_each(|words| write!(out, "{}", page.paragraph(words, 0)))
}

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

/// Two digits of a quarter of the scale at least, so that one mark differs from the next.
fn digits_of(scale: &Scale, brush: &Brush) -> usize {
    let quarter = (scale.most - scale.least) / 4.0;
    let needed =
        if quarter > 0.0 { (1.0 - libm::log10(quarter).floor()).clamp(0.0, 9.0) as usize } else { 0 };
    brush.digits.max(needed)
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

/// The scale as rungs of ink, each with the numbers it stands for: with fewer digits where a rung is wider than the page.
fn ladder(scale: &Scale, digits: usize, brush: &Brush) -> String {
    let rungs = brush.ladder();
    let value = |at: usize| scale.least + (scale.most - scale.least) * at as f64 / rungs.len() as f64;
    let pieces = |digits: usize| -> Vec<String> {
        let between = |at: usize| {
            t!("%{from} to %{to}", from = number(value(at), digits), to = number(value(at + 1), digits))
        };
        rungs.iter().enumerate().map(|(at, rung)| format!("[{rung}{rung}] {}", between(at))).collect()
    };
    let fit = |pieces: &Vec<String>| pieces.iter().all(|piece| width(piece) <= brush.page.width);
    let pieces = (0..=digits).rev().map(pieces).find(fit).unwrap_or_else(|| pieces(0));
    let (mut text, mut taken) = (String::new(), 0);
    for piece in pieces {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::heat::paint::Colours;
    use crate::views::page::Page;

    /// A quarter of 0.5 is 0.125, two digits of it are 0.13; a quarter of 400 is 100.
    #[test]
    fn a_scale_has_digits_enough_to_tell_its_marks_apart() {
        let brush = |digits| Brush { page: Page::default(), colours: Colours::None, digits };
        let digits = |most, least| digits_of(&Scale { least: 0.0, most }, &brush(least));
        assert_eq!([digits(0.5, 0), digits(0.5, 4), digits(400.0, 0), digits(0.004, 2)], [2, 4, 0, 4]);
    }

    /// Eighty columns hold 5 marks of 4 digits; by the ends stand the least and the most.
    #[test]
    fn the_legend_names_its_ends() {
        let brush = Brush { page: Page::default(), colours: Colours::True, digits: 2 };
        colored::control::set_override(false);
        let strip = strip(&Scale { least: -1.0, most: 3.0 }, 2, &brush);
        let marks: Vec<&str> = strip.split_whitespace().collect();
        assert_eq!(marks, ["-1.00", "0.00", "1.00", "2.00", "3.00"]);
        assert_eq!(strip.trim_end_matches('\n').len(), STRIP);
        let ink = Brush { colours: Colours::None, ..brush };
        assert!(ladder(&Scale { least: 0.0, most: 1.0 }, 2, &ink).contains("[▒▒] 0.25 to 0.50"));
        // [▒▒] 10000.00 to 20000.00 would be 25 wide.
        let narrow = Brush { page: Page { width: 20, ..Page::default() }, ..ink };
        assert!(ladder(&Scale { least: 0.0, most: 40000.0 }, 2, &narrow).contains("[▒▒] 10000 to 20000\n"));
    }
}
