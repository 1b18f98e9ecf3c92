//! A chart in characters: lines in braille dots (points in ASCII), a marker at each point, numbers beside both axes.

use colored::{Color, Colorize};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style;
use ratatui::symbols::Marker;
use ratatui::widgets::Widget;
use ratatui::widgets::canvas::{Canvas, Line};

use super::{Chart, with_room};
use crate::fault::visible;
use crate::views::look;
use crate::views::page::{Page, shorten, width};
use crate::words::t;

/// Columns beyond which a chart is no easier to read.
const WIDEST: usize = 76;
/// Lines of the picture on a page that is wide and on one that is narrow.
const HIGH: [u16; 2] = [14, 10];
/// Markers of the first lines, and in ASCII; then letters.
const MARKERS: [[char; 8]; 2] =
    [['●', '▲', '■', '◆', '○', '△', '□', '◇'], ['o', 'x', '+', '#', '@', '%', '&', '$']];
/// Where several lines have a point in one place, and in ASCII.
const SEVERAL: [char; 2] = ['✱', '*'];
const COLOURS: [(Color, style::Color); 6] = [
    (Color::Blue, style::Color::Blue),
    (Color::Yellow, style::Color::Yellow),
    (Color::Green, style::Color::Green),
    (Color::Magenta, style::Color::Magenta),
    (Color::Cyan, style::Color::Cyan),
    (Color::Red, style::Color::Red),
];

/// The marker of a line.
pub(super) fn marker(line: usize, ascii: bool) -> char {
    let letter = || char::from(b'a' + (line % 26) as u8);
    MARKERS[usize::from(ascii)].get(line).copied().unwrap_or_else(letter)
}

/// The chart as text, every line within the page's width (of which it takes at least 20); ends with a line break.
///
/// Colour follows the switch of the crate `colored`, as everywhere.
pub fn text(chart: &Chart, page: &Page) -> String {
    let mut text = look::title(&visible(&chart.title), page);
    let axes = chart.axes();
    let room = page.width.clamp(20, WIDEST);
    let high = HIGH[usize::from(room < 60)];
    let ticks = axes.1.ticks(usize::from(high / 2));
    let gutter = ticks.iter().map(|(_, words)| width(words)).max().unwrap_or(1) + 1;
    let stops = chart.stops(&axes.0);
    let names: Vec<(f64, String)> = stops.iter().map(|(place, x)| (*place, super::axis::short(*x))).collect();
    // Half of the last number hangs over at the right.
    let over = names.last().map_or(0, |(_, words)| width(words) / 2);
    let wide = room.saturating_sub(gutter + 1 + over).max(8);
    let raster = Raster::new(u16::try_from(wide).unwrap_or(8), high, page);
    let picture = picture(chart, page, raster);
    let [upright, cross, corner, level, below] =
        if page.ascii { ["|", "+", "+", "-", "+"] } else { ["│", "┤", "└", "─", "┬"] };

    for (row, line) in picture.lines.iter().enumerate() {
        let tick = ticks.iter().find(|(place, _)| raster.row(*place) == row);
        let (words, edge) = tick.map_or(("", upright), |(_, words)| (words.as_str(), cross));
        let line = format!("{words:>gutter$}{edge}{line}");
        text.push_str(&format!("{}\n", line.trim_end()));
    }
    let column = |place: f64| raster.column(place);
    let extents: Vec<(f64, f64)> =
        names.iter().map(|(place, words)| (column(*place) as f64, width(words) as f64)).collect();
    let mut edge = vec![level; wide];
    let mut below_edge = String::new();
    for at in with_room(&extents, 1.0) {
        let (place, words) = &names[at];
        edge[column(*place)] = below;
        let start = (gutter + 1 + column(*place)).saturating_sub(width(words) / 2);
        let from = width(&below_edge);
        below_edge.push_str(&" ".repeat(start.saturating_sub(from)));
        below_edge.push_str(words);
    }
    text.push_str(&format!("{:>gutter$}{corner}{}\n{below_edge}\n", "", edge.concat()));
    let label = shorten(&page.letters(&visible(&chart.label)), wide);
    let middle = gutter + 1 + wide.saturating_sub(width(&label)) / 2;
    text.push_str(&format!("{}{label}\n", " ".repeat(middle)));
    text.push_str(&legend(chart, page, picture.meet));
    match chart.placeless(&axes) {
        0 => {}
        1 => text.push_str(&page.paragraph(&t!("One point has no place on these axes and is left out."), 0)),
        count => {
            let words = t!("%{count} points have no place on these axes and are left out.", count = count);
            text.push_str(&page.paragraph(&words, 0));
        }
    }
    text
}

/// The cells of a picture, and how many dots a cell is drawn with.
#[derive(Debug, Clone, Copy)]
struct Raster {
    wide: u16,
    high: u16,
    dots: (usize, usize),
}

impl Raster {
    fn new(wide: u16, high: u16, page: &Page) -> Self {
        Self { wide, high, dots: if page.ascii { (1, 1) } else { (2, 4) } }
    }

    /// What a column is of the way from the first column that may hold a marker to the last: the outermost two stay free,
    /// so that no marker stands on the axis.
    fn margin(self) -> f64 {
        1.0 / f64::from(self.wide.saturating_sub(3).max(1))
    }

    fn row(self, place: f64) -> usize {
        cell(1.0 - place, self.high, self.dots.1)
    }

    fn column(self, place: f64) -> usize {
        let margin = self.margin();
        cell((place + margin) / (1.0 + 2.0 * margin), self.wide, self.dots.0)
    }
}

/// The cell in which the canvas draws a dot that stands so far along (0 to 1).
fn cell(along: f64, cells: u16, dots: usize) -> usize {
    let last = (usize::from(cells) * dots).saturating_sub(1);
    ((along * last as f64).round() as usize).min(last) / dots
}

struct Picture {
    lines: Vec<String>,
    /// Whether lines have points in one place.
    meet: bool,
}

fn picture(chart: &Chart, page: &Page, raster: Raster) -> Picture {
    let Raster { wide, high, .. } = raster;
    let axes = chart.axes();
    let placed = |points: &[(f64, f64)]| -> Vec<Option<(f64, f64)>> {
        points.iter().map(|(x, y)| Some((axes.0.place(*x)?, axes.1.place(*y)?))).collect()
    };
    let curves: Vec<Vec<Option<(f64, f64)>>> =
        chart.curves.iter().map(|curve| placed(&curve.points)).collect();
    let area = Rect::new(0, 0, wide, high);
    let mut buffer = Buffer::empty(area);
    let margin = raster.margin();
    Canvas::default()
        .marker(if page.ascii { Marker::Dot } else { Marker::Braille })
        .x_bounds([-margin, 1.0 + margin])
        .y_bounds([0.0, 1.0])
        .paint(|context| {
            for (at, curve) in curves.iter().enumerate() {
                for pair in curve.windows(2) {
                    if let [Some((x1, y1)), Some((x2, y2))] = *pair {
                        context.draw(&Line { x1, y1, x2, y2, color: COLOURS[at % COLOURS.len()].1 });
                    }
                }
            }
        })
        .render(area, &mut buffer);
    let mut holders: Vec<Vec<usize>> = vec![Vec::new(); usize::from(wide) * usize::from(high)];
    for (at, curve) in curves.iter().enumerate() {
        for (x, y) in curve.iter().flatten() {
            let cell = &mut holders[raster.row(*y) * usize::from(wide) + raster.column(*x)];
            if cell.last() != Some(&at) {
                cell.push(at);
            }
        }
    }
    let mut lines = Vec::with_capacity(usize::from(high));
    for row in 0..high {
        let mut runs: Vec<(Option<Color>, String)> = Vec::new();
        for column in 0..wide {
            let drawn = &buffer[(column, row)];
            let (colour, symbol) = match holders[usize::from(row) * usize::from(wide) + usize::from(column)][..]
            {
                [] => {
                    let colour =
                        COLOURS.iter().find(|(_, known)| *known == drawn.fg).map(|(colour, _)| *colour);
                    (colour, drawn.symbol().replace('•', "."))
                }
                [one] => (Some(COLOURS[one % COLOURS.len()].0), marker(one, page.ascii).to_string()),
                [..] => (None, SEVERAL[usize::from(page.ascii)].to_string()),
            };
            match runs.last_mut() {
                Some((last, run)) if *last == colour => run.push_str(&symbol),
                _ => runs.push((colour, symbol)),
            }
        }
        let paint = |(colour, run): (Option<Color>, String)| match colour {
            Some(colour) if !run.trim().is_empty() => run.color(colour).to_string(),
            _ => run,
        };
        lines.push(runs.into_iter().map(paint).collect());
    }
    Picture { lines, meet: holders.iter().any(|cell| cell.len() > 1) }
}

/// `● scaled   ▲ unscaled`, on as many lines as it takes.
fn legend(chart: &Chart, page: &Page, meet: bool) -> String {
    let room = page.width.max(20);
    let mut lines = vec![(0, String::new())];
    let mut add = |sign: String, words: &str| {
        let words = shorten(&page.letters(&visible(words)), room.saturating_sub(2));
        let wide = width(&words) + 2;
        if let Some((taken, line)) = lines.last_mut()
            && (*taken == 0 || *taken + 3 + wide <= room)
        {
            let gap = if *taken == 0 { "" } else { "   " };
            line.push_str(&format!("{gap}{sign} {words}"));
            *taken += gap.len() + wide;
        } else {
            lines.push((wide, format!("{sign} {words}")));
        }
    };
    for (at, curve) in chart.curves.iter().enumerate() {
        let sign = marker(at, page.ascii).to_string().color(COLOURS[at % COLOURS.len()].0).to_string();
        add(sign, &curve.label);
    }
    if meet {
        add(SEVERAL[usize::from(page.ascii)].to_string(), &t!("several"));
    }
    lines.into_iter().map(|(_, line)| line + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::entropies;
    use super::*;

    fn plain(text: &str) -> String {
        let mut inside = false;
        let keep = |c: &char| {
            let shown = !inside && *c != '\u{1b}';
            inside = *c == '\u{1b}' || (inside && *c != 'm');
            shown
        };
        text.chars().filter(keep).collect()
    }

    #[test]
    fn a_chart_fits_the_page_and_names_its_lines() {
        for (wide, ascii) in [(20, false), (40, false), (40, true), (80, false), (200, true)] {
            let text = plain(&text(&entropies(), &Page { width: wide, ascii, ..Page::default() }));
            assert!(text.lines().all(|line| width(line) <= wide), "{wide}:\n{text}");
            for words in ["scaled", "unscaled", "4", "256", "d_k"] {
                assert!(text.contains(words), "{words} at {wide}:\n{text}");
            }
            assert!(!ascii || text.is_ascii(), "{text}");
        }
    }

    /// Rows go from 3 (the top) to 0 in 10 lines, 3 lines a unit: 2 stands in the fourth line, 1 in the seventh. The columns
    /// of 4 and 256 are the first and the last that may hold a marker.
    #[test]
    fn a_marker_stands_where_its_number_is() {
        let text = plain(&text(&entropies(), &Page { width: 40, ascii: true, ..Page::default() }));
        let lines: Vec<&str> = text.lines().skip(1).collect();
        let axis = lines[10].find('+').unwrap();
        assert_eq!(lines[3].find('x'), Some(axis + 2), "{text}");
        assert_eq!(lines[6].matches('x').count(), 1, "{text}");
        let scaled = lines[..10].iter().find(|line| line.contains('o')).unwrap();
        assert_eq!((scaled.find('o'), scaled.matches('o').count()), (Some(axis + 2), 4), "{text}");
        assert_eq!(scaled.rfind('o'), Some(lines[10].len() - 2), "{text}");
    }

    /// From 2.5 at one end to 2.5 at the other in 14 lines over 3: whatever the line is drawn with, it is level, and its
    /// markers stand in it.
    #[test]
    fn markers_stand_in_their_line() {
        let text = plain(&text(&entropies(), &Page { width: 80, ..Page::default() }));
        let level = text.lines().find(|line| line.contains('●')).unwrap();
        assert_eq!(level.matches('●').count(), 4, "{text}");
        let dots = level.chars().filter(|c| ('\u{2801}'..='\u{28ff}').contains(c)).count();
        assert!(dots >= 60, "{text}");
    }

    #[test]
    fn lines_that_meet_say_so() {
        let mut chart = entropies();
        chart.curves[1].points[0].1 = 2.5;
        let text = plain(&text(&chart, &Page { ascii: true, ..Page::default() }));
        assert!(text.contains('*') && text.contains("* several"), "{text}");
    }

    #[test]
    fn what_a_file_says_is_shown_and_not_obeyed() {
        let mut chart = entropies();
        chart.title = "a\u{1b}[2J".to_owned();
        chart.label = "猫\u{7}".to_owned();
        chart.curves[0].label = "\u{202e}b".repeat(40);
        chart.curves[1].points[2].1 = f64::INFINITY;
        let text = plain(&text(&chart, &Page { width: 40, ..Page::default() }));
        assert!(!text.contains(['\u{7}', '\u{202e}', '\u{1b}']) && text.contains("a\\e[2J"), "{text}");
        assert!(text.contains("One point has no place"), "{text}");
        assert!(text.lines().all(|line| width(line) <= 40), "{text}");
    }

    #[test]
    fn a_chart_of_nothing_is_an_empty_frame() {
        let text = text(&Chart::default(), &Page { width: 40, ..Page::default() });
        assert!(text.contains('└'), "{text}");
    }
}
