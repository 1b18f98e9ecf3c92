//! A chart as SVG: text stays text, lines are told apart by dashes and markers as well as by colour, and every name that
//! came from a file is escaped.

use std::fmt::Write;

use super::{Chart, with_room};
use crate::fault::visible;
use crate::views::heat::ruler::{text_width, wrapped};
use crate::views::markup::html;
use crate::views::page::{shorten, width};

/// Pixels of 1/96 inch.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 280.0;
const MARGIN: f64 = 16.0;
const FONT: usize = 12;
/// Colours that can be told from white and from near-black (a contrast of 3 at least), and from each other by most who
/// see few colours.
const COLOURS: [&str; 6] = ["#1f77c8", "#cc5a00", "#0f8a63", "#b4509a", "#8a7500", "#7a6ad8"];
const DASHES: [&str; 4] = ["", "7 4", "2 3", "9 3 2 3"];

/// What a chart stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    /// In a page, whose ink it takes.
    Page,
    /// In a file of its own: white paper, dark ink.
    Paper,
}

/// The chart as one `svg` element.
pub fn text(chart: &Chart, ground: Ground, digits: usize) -> String {
    let axes = chart.axes();
    let ticks = axes.1.ticks(7);
    let title = match ground {
        Ground::Paper => wrapped(&visible(&chart.title), FONT + 3, (WIDTH - 2.0 * MARGIN) as usize),
        Ground::Page => Vec::new(), // the page has it as a caption
    };
    let top = MARGIN + title.len() as f64 * 20.0;
    let gutter = ticks.iter().map(|(_, words)| text_width(words, FONT)).max().unwrap_or(0) as f64;
    let (left, right) = (MARGIN + gutter + 8.0, WIDTH - MARGIN - 24.0);
    let foot = top + HEIGHT;
    let legend = legend(chart, foot + 52.0);
    let height = legend.foot + MARGIN;
    let ink = match ground {
        Ground::Page => "currentColor",
        Ground::Paper => "#222222",
    };

    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         role=\"img\" font-family=\"sans-serif\" font-size=\"{FONT}\" fill=\"{ink}\">\n<title>{}</title>\n<desc>{}</desc>\n",
        html(&name(chart)),
        html(&chart.description(digits)),
    );
    let mut line = |line: String| {
        svg.push_str(&line);
        svg.push('\n');
    };
    if ground == Ground::Paper {
        line(format!("<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>"));
    }
    for (at, words) in title.iter().enumerate() {
        let y = MARGIN + 14.0 + at as f64 * 20.0;
        line(format!("<text x=\"{MARGIN}\" y=\"{y}\" font-size=\"{}\">{}</text>", FONT + 3, html(words)));
    }
    let x_of = |place: f64| round(left + 8.0 + place * (right - left - 8.0));
    let y_of = |place: f64| round(foot - place * HEIGHT);
    for (place, words) in &ticks {
        let y = y_of(*place);
        line(format!("<path d=\"M{} {y}H{right}\" stroke=\"{ink}\" stroke-opacity=\"0.15\"/>", round(left)));
        line(format!(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{words}</text>",
            round(left - 6.0),
            y + 4.0
        ));
    }
    line(format!(
        "<path d=\"M{} {}V{foot}H{right}\" stroke=\"{ink}\" fill=\"none\"/>",
        round(left),
        round(top)
    ));
    let stops = chart.stops(&axes.0);
    let names: Vec<String> = stops.iter().map(|(_, x)| super::axis::short(*x)).collect();
    let extents: Vec<(f64, f64)> = stops
        .iter()
        .zip(&names)
        .map(|((place, _), name)| (x_of(*place), text_width(name, FONT) as f64))
        .collect();
    for at in with_room(&extents, 8.0) {
        let x = extents[at].0;
        line(format!("<path d=\"M{x} {foot}v4\" stroke=\"{ink}\"/>"));
        line(format!("<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{}</text>", foot + 18.0, names[at]));
    }
    let label = shorten(&visible(&chart.label), 80);
    let middle = round((left + right) / 2.0);
    line(format!(
        "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
        foot + 36.0,
        html(&label)
    ));
    for (at, curve) in chart.curves.iter().enumerate() {
        let mut path = String::new();
        let mut marks = String::new();
        let mut joined = false;
        for (x, y) in &curve.points {
            let (Some(across), Some(up)) = (axes.0.place(*x), axes.1.place(*y)) else {
                joined = false;
                continue;
            };
            let (px, py) = (x_of(across), y_of(up));
            // Writing to a String does not fail.
            let _ = write!(path, "{}{px} {py}", if joined { "L" } else { "M" });
            joined = true;
            let told = format!(
                "{}, {} = {}: {}",
                shorten(&visible(&curve.label), 40),
                label,
                super::axis::short(*x),
                crate::number::number(*y, digits)
            );
            let _ = write!(marks, "<path d=\"{}\"><title>{}</title></path>", shape(at, px, py), html(&told));
        }
        line(format!(
            "<path d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}/>",
            COLOURS[at % COLOURS.len()],
            dashes(at)
        ));
        line(format!("<g fill=\"{}\">{marks}</g>", COLOURS[at % COLOURS.len()]));
    }
    svg.push_str(&legend.drawn);
    svg.push_str("</svg>\n");
    svg
}

/// What the picture is called: its title, or else its lines.
fn name(chart: &Chart) -> String {
    if !chart.title.is_empty() {
        return visible(&chart.title);
    }
    chart.curves.iter().map(|curve| visible(&curve.label)).collect::<Vec<_>>().join(", ")
}

fn dashes(line: usize) -> String {
    match DASHES[line % DASHES.len()] {
        "" => String::new(),
        dashes => format!(" stroke-dasharray=\"{dashes}\""),
    }
}

/// A tenth of a pixel is finer than any screen.
fn round(pixels: f64) -> f64 {
    (pixels * 10.0).round() / 10.0
}

/// The path of a line's marker around a point: a disc, a triangle, a square, a diamond.
fn shape(line: usize, x: f64, y: f64) -> String {
    match line % 4 {
        0 => format!("M{} {y}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", round(x - 4.0)),
        1 => format!("M{x} {}l5 8h-10z", round(y - 5.0)),
        2 => format!("M{} {}h7v7h-7z", round(x - 3.5), round(y - 3.5)),
        _ => format!("M{x} {}l5 5l-5 5l-5 -5z", round(y - 5.0)),
    }
}

struct Legend {
    drawn: String,
    /// Where it ends.
    foot: f64,
}

/// A dash with its marker and the name of each line, on as many rows as they take.
fn legend(chart: &Chart, top: f64) -> Legend {
    let (mut x, mut y) = (MARGIN, top);
    let mut drawn = String::new();
    for (at, curve) in chart.curves.iter().enumerate() {
        let words = shorten(&visible(&curve.label), 72);
        let wide = 34.0 + text_width(&words, FONT) as f64 + if width(&words) == 0 { 0.0 } else { 16.0 };
        if x > MARGIN && x + wide > WIDTH - MARGIN {
            (x, y) = (MARGIN, y + 20.0);
        }
        let colour = COLOURS[at % COLOURS.len()];
        let (middle, right) = (round(x + 13.0), round(x + 32.0));
        let _ = writeln!(
            drawn,
            "<path d=\"M{x} {y}h26\" stroke=\"{colour}\" stroke-width=\"2\"{}/><path d=\"{}\" fill=\"{colour}\"/>\
             <text x=\"{right}\" y=\"{}\">{}</text>",
            dashes(at),
            shape(at, middle, y),
            y + 4.0,
            html(&words)
        );
        x = round(x + wide);
    }
    Legend { drawn, foot: y + 8.0 }
}

#[cfg(test)]
mod tests {
    use super::super::tests::entropies;
    use super::*;

    /// The picture is 280 high and the axis goes from 0 to 3: 2.5 stands 280 · 2.5/3 = 233.3 above the foot at 16 + 280.
    #[test]
    fn a_point_stands_where_its_number_is() {
        let text = text(&entropies(), Ground::Page, 2);
        let svg = roxmltree::Document::parse(&text).unwrap();
        let curve = svg.descendants().find(|node| node.attribute("stroke") == Some(COLOURS[0])).unwrap();
        let path = curve.attribute("d").unwrap();
        assert_eq!(path.matches("62.7").count(), 4, "{path}");
        assert_eq!(path.matches('L').count(), 3);
        let told: Vec<&str> = svg
            .descendants()
            .filter(|node| node.has_tag_name("title"))
            .filter_map(|node| node.text())
            .collect();
        assert_eq!(told[0], "Entropy of the attention weights");
        assert!(told.contains(&"unscaled, d_k = 64: 0.50"), "{told:?}");
        let desc = svg.descendants().find(|node| node.has_tag_name("desc")).unwrap();
        assert_eq!(
            desc.text(),
            Some("scaled: 2.50 → 2.50 (d_k 4 → 256). unscaled: 2.00 → 0.25 (d_k 4 → 256).")
        );
    }

    #[test]
    fn names_are_text_and_nothing_else() {
        let mut chart = entropies();
        chart.title = "</title><script>".to_owned();
        chart.label = "a & b\u{7}".to_owned();
        chart.curves[0].label = "\"><image href='x'/>".to_owned();
        for ground in [Ground::Page, Ground::Paper] {
            let text = text(&chart, ground, 2);
            let svg = roxmltree::Document::parse(&text).unwrap();
            let known = ["svg", "title", "desc", "rect", "path", "text", "g"];
            let names = svg.descendants().filter(|node| node.is_element()).map(|node| node.tag_name().name());
            assert!(names.clone().all(|name| known.contains(&name)), "{:?}", names.collect::<Vec<_>>());
        }
    }

    /// A point without a place breaks its line in two.
    #[test]
    fn a_line_is_not_drawn_through_a_gap() {
        let mut chart = entropies();
        chart.curves[1].points[1].1 = f64::NAN;
        let text = text(&chart, Ground::Page, 2);
        let svg = roxmltree::Document::parse(&text).unwrap();
        let curve = svg.descendants().find(|node| node.attribute("stroke") == Some(COLOURS[1])).unwrap();
        assert_eq!(curve.attribute("d").unwrap().matches('M').count(), 2);
    }
}
