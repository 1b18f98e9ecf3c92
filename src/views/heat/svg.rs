//! A figure as SVG: text stays text, and every name that came from a file is escaped.

use std::fmt::Write as _;
use std::io::{self, Write};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::figure::{BAR, Block, CAPTION, Drawing, Figure, Frame, MARGIN, Plot, Run, SMALL, TITLE, cells};
use super::palette::{self, Rgb, hex};
use super::panels::{Cell, Scale};
use super::png;
use super::ruler::{TOLD_ROOM, label, named};
use crate::views::markup::html;
use crate::views::number::number;
use crate::views::page::shorten;
use crate::words::t;

/// Where a mask hides a cell: paper, with a line across it.
pub(super) const HIDDEN: Rgb = (255, 255, 255);
/// Where a cell is not a number.
pub const UNDEFINED: Rgb = (0xbb, 0xbb, 0xbb);

/// What becomes of panels that are drawn pixel by pixel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pixels {
    /// They stand in the file, as PNG images.
    Embedded,
    /// They are left out: whoever asked paints them.
    LeftOut,
}

/// Writes the figure.
///
/// # Errors
/// Those of the writer.
pub fn write(figure: &Figure<'_>, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(text(figure, Pixels::Embedded)?.as_bytes())
}

/// The figure as one text.
///
/// # Errors
/// An embedded image cannot be made.
pub fn text(figure: &Figure<'_>, pixels: Pixels) -> io::Result<String> {
    let (width, height) = (figure.width, figure.height);
    let mut svg = Svg(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" font-family=\"sans-serif\" font-size=\"{SMALL}\" fill=\"#222\" xml:space=\"preserve\">\n"
    ));
    let title = if figure.title.is_empty() { headings(figure) } else { figure.title.join(" ") };
    svg.line(&format!("<title>{}</title>", html(&title)));
    svg.line(&format!("<desc>{}</desc>", html(&description(figure))));
    svg.line(&format!("<rect class=\"paper\" width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>"));
    svg.colours();
    for (at, line) in figure.title.iter().enumerate() {
        svg.text(MARGIN as f64, (MARGIN + at * (TITLE + 6) + TITLE - 2) as f64, &size(TITLE), line);
    }
    for block in &figure.blocks {
        svg.text(MARGIN as f64, (block.y + CAPTION) as f64, &size(CAPTION), &block.heading);
        for plot in &block.plots {
            svg.plot(block, plot, figure.drawing, pixels)?;
        }
        svg.bar(block, figure.drawing);
    }
    let foot = height - MARGIN - figure.notes.len() * (SMALL + 4) + SMALL;
    for (at, line) in figure.notes.iter().enumerate() {
        svg.text(MARGIN as f64, (foot + at * (SMALL + 4)) as f64, "", line);
    }
    svg.line("</svg>");
    Ok(svg.0)
}

/// The colour that a cell is filled with.
pub fn fill(cell: Cell, scale: Scale) -> Rgb {
    match cell {
        Cell::Value(value) => palette::rgb(scale.place(value)),
        Cell::Hidden => HIDDEN,
        Cell::Undefined => UNDEFINED,
    }
}

fn size(font: usize) -> String {
    format!(" font-size=\"{font}\"")
}

fn headings(figure: &Figure<'_>) -> String {
    let headings: Vec<&str> = figure.blocks.iter().map(|block| block.heading.as_str()).collect();
    headings.join(", ")
}

/// What an axis counts, in the reader's language.
fn axis(word: &str) -> String {
    match word {
        "query" => t!("query"),
        "key" => t!("key"),
        "feature" => t!("feature"),
        other => other.to_owned(),
    }
}

/// The picture in words, for who cannot see it.
fn description(figure: &Figure<'_>) -> String {
    let told = |block: &Block<'_>| {
        let (panels, (rows, columns)) = (block.plots.len(), block.frame.shape);
        let heat_maps = match panels {
            1 => t!("1 heat map"),
            _ => t!("%{panels} heat maps", panels),
        };
        let Scale { least, most } = block.bar.scale;
        t!(
            "%{heading}: %{heat_maps} of %{rows} × %{columns} cells, coloured from %{least} (dark) to %{most} (light). ",
            heading = block.heading,
            heat_maps,
            rows,
            columns,
            least = number(least, 4),
            most = number(most, 4)
        )
    };
    let blocks: String = figure.blocks.iter().map(told).collect();
    format!("{blocks}{}", figure.notes.join(" ")).trim_end().to_owned()
}

/// The file so far.
struct Svg(String);

impl Svg {
    fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    /// The palette as a gradient from the foot to the top.
    fn colours(&mut self) {
        // As many stops as the palette has colours of its own: between them both run straight.
        const LAST: usize = palette::ANCHORS.len() - 1;
        self.line("<linearGradient id=\"colours\" x1=\"0\" y1=\"1\" x2=\"0\" y2=\"0\">");
        for stop in 0..=LAST {
            let t = stop as f64 / LAST as f64;
            self.line(&format!("<stop offset=\"{t:.4}\" stop-color=\"{}\"/>", hex(palette::rgb(t))));
        }
        self.line("</linearGradient>");
    }

    fn text(&mut self, x: f64, y: f64, how: &str, words: &str) {
        self.line(&format!("<text x=\"{x}\" y=\"{y}\"{how}>{}</text>", html(words)));
    }

    /// A name of a row or a column; what it is cut short of is in its tooltip.
    fn name(&mut self, x: f64, y: f64, how: &str, name: &str) {
        let shown = label(name);
        let whole = if shown == name {
            String::new()
        } else {
            format!("<title>{}</title>", html(&shorten(name, TOLD_ROOM)))
        };
        self.line(&format!("<text x=\"{x}\" y=\"{y}\"{how}>{whole}{}</text>", html(&shown)));
    }

    fn plot(
        &mut self,
        block: &Block<'_>,
        plot: &Plot<'_>,
        drawing: Drawing,
        pixels: Pixels,
    ) -> io::Result<()> {
        let (frame, panel) = (&block.frame, &plot.panel);
        let (rows, columns) = panel.shape();
        let (wide, tall) = (columns * frame.cell, rows * frame.cell);
        let middle = plot.x as f64 + wide as f64 / 2.0;
        let above = (plot.y - 6) as f64;
        self.text(middle, above, &format!("{} text-anchor=\"middle\"", size(CAPTION)), &panel.caption);
        match (drawing, pixels) {
            (Drawing::Rectangles, _) => self.rectangles(block, plot),
            (Drawing::Pixels, Pixels::Embedded) => {
                let image = BASE64_STANDARD.encode(png::of_cells(panel, block.bar.scale)?);
                self.line(&format!(
                    "<image x=\"{}\" y=\"{}\" width=\"{wide}\" height=\"{tall}\" preserveAspectRatio=\"none\" \
                     image-rendering=\"optimizeSpeed\" style=\"image-rendering:pixelated\" \
                     href=\"data:image/png;base64,{image}\"/>",
                    plot.x, plot.y
                ));
            }
            (Drawing::Pixels, Pixels::LeftOut) => {}
        }
        // Around the cells, not over them: a stroke lies half on each side of its line.
        self.line(&format!(
            "<rect class=\"frame\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#888\"/>",
            plot.x as f64 - 0.5,
            plot.y as f64 - 0.5,
            wide + 1,
            tall + 1
        ));
        if plot.names_rows {
            self.names_of_rows(frame, plot);
        }
        if plot.names_columns {
            self.names_of_columns(frame, plot);
        }
        Ok(())
    }

    fn rectangles(&mut self, block: &Block<'_>, plot: &Plot<'_>) {
        let (frame, panel, side) = (&block.frame, &plot.panel, block.frame.cell);
        let told = |word: &str, name: &str| format!("{word} {}", shorten(name, 24)).trim().to_owned();
        let (high, wide) = panel.shape();
        let rows: Vec<String> = (0..high).map(|r| told(panel.axes.0, &panel.row(r))).collect();
        let columns: Vec<String> = (0..wide).map(|c| told(panel.axes.1, &panel.column(c))).collect();
        let mut numbers = String::new();
        let mut hidden = String::new();
        self.line("<g class=\"cells\" shape-rendering=\"crispEdges\">");
        for (r, c, cell) in cells(panel) {
            let (x, y) = (plot.x + c * side, plot.y + r * side);
            let colour = fill(cell, block.bar.scale);
            let words = match cell {
                Cell::Value(value) => number(value, 6),
                Cell::Hidden => t!("masked"),
                Cell::Undefined => "NaN".to_owned(),
            };
            self.line(&format!(
                "<rect x=\"{x}\" y=\"{y}\" width=\"{side}\" height=\"{side}\" fill=\"{}\"><title>{}</title></rect>",
                hex(colour),
                html(&format!("{}, {}: {words}", rows[r], columns[c]))
            ));
            let written = match (cell, frame.digits) {
                (Cell::Value(value), Some(digits)) => number(value, digits),
                (Cell::Undefined, Some(_)) => words,
                _ => String::new(),
            };
            if cell == Cell::Hidden {
                let _ = write!(hidden, "M{x} {}l{side} -{side}", y + side);
            }
            if !written.is_empty() {
                let (x, y) = (x as f64 + side as f64 / 2.0, y as f64 + side as f64 / 2.0 + 4.0);
                let ink = hex(palette::ink(colour).rgb());
                let _ =
                    writeln!(numbers, "<text x=\"{x}\" y=\"{y}\" fill=\"{ink}\">{}</text>", html(&written));
            }
        }
        self.line("</g>");
        if !hidden.is_empty() {
            self.line(&format!("<path d=\"{hidden}\" stroke=\"#aaa\" fill=\"none\"/>"));
        }
        if !numbers.is_empty() {
            self.line(
                "<g class=\"numbers\" font-size=\"11\" text-anchor=\"middle\" pointer-events=\"none\">",
            );
            self.0.push_str(&numbers);
            self.line("</g>");
        }
    }

    fn names_of_rows(&mut self, frame: &Frame, plot: &Plot<'_>) {
        let rows = plot.panel.shape().0;
        self.line(&format!("<g class=\"rows\"{} text-anchor=\"end\">", size(frame.font)));
        for r in named(rows, frame.every.0) {
            let y = plot.y as f64 + (r as f64 + 0.5) * frame.cell as f64 + frame.font as f64 * 0.35;
            self.name(plot.x as f64 - 6.0, y, "", plot.panel.last_row(r));
        }
        self.line("</g>");
        if !plot.panel.axes.0.is_empty() {
            let (x, y) = (MARGIN + SMALL, plot.y as f64 + (rows * frame.cell) as f64 / 2.0);
            let how = format!(" text-anchor=\"middle\" fill=\"#555\" transform=\"rotate(-90 {x} {y})\"");
            self.text(x as f64, y, &how, &axis(plot.panel.axes.0));
        }
    }

    fn names_of_columns(&mut self, frame: &Frame, plot: &Plot<'_>) {
        let (rows, columns) = plot.panel.shape();
        let foot = (plot.y + rows * frame.cell) as f64;
        let font = frame.font as f64;
        let anchor = if frame.run == Run::Level { "middle" } else { "end" };
        self.line(&format!("<g class=\"columns\"{} text-anchor=\"{anchor}\">", size(frame.font)));
        for c in named(columns, frame.every.1) {
            let middle = plot.x as f64 + (c as f64 + 0.5) * frame.cell as f64;
            let (x, y, turn) = match frame.run {
                Run::Level => (middle, foot + font + 3.0, 0),
                Run::Slanted => (middle + font * 0.25, foot + font * 0.7 + 3.0, -45),
                Run::Upright => (middle + font * 0.35, foot + 5.0, -90),
            };
            let how =
                if turn == 0 { String::new() } else { format!(" transform=\"rotate({turn} {x} {y})\"") };
            self.name(x, y, &how, plot.panel.last_column(c));
        }
        self.line("</g>");
        if !plot.panel.axes.1.is_empty() {
            let middle = plot.x as f64 + (columns * frame.cell) as f64 / 2.0;
            let y = foot + frame.names.1 as f64 - 2.0;
            self.text(middle, y, " text-anchor=\"middle\" fill=\"#555\"", &axis(plot.panel.axes.1));
        }
    }

    fn bar(&mut self, block: &Block<'_>, drawing: Drawing) {
        let bar = &block.bar;
        self.line(&format!(
            "<rect class=\"bar\" x=\"{}\" y=\"{}\" width=\"{BAR}\" height=\"{}\" fill=\"url(#colours)\"/>",
            bar.x, bar.y, bar.height
        ));
        for (place, words) in &bar.ticks {
            let y = bar.y as f64 + (1.0 - place) * bar.height as f64;
            let x = bar.x + BAR;
            self.line(&format!("<path d=\"M{x} {y:.1}h3\" stroke=\"#222\"/>"));
            self.text((x + 6) as f64, (y * 10.0).round() / 10.0 + 3.5, "", words);
        }
        let mut y = bar.y + bar.height + 12;
        for (is_there, colour, word) in
            [(bar.hidden, HIDDEN, t!("masked")), (bar.undefined, UNDEFINED, "NaN".to_owned())]
        {
            if is_there {
                let (x, fill) = (bar.x as f64 + 0.5, hex(colour));
                let top = y as f64 + 0.5;
                self.line(&format!(
                    "<rect class=\"key\" x=\"{x}\" y=\"{top}\" width=\"11\" height=\"11\" fill=\"{fill}\" stroke=\"#888\"/>"
                ));
                // A pixel has no room for a line across.
                if colour == HIDDEN && drawing == Drawing::Rectangles {
                    self.line(&format!("<path d=\"M{x} {}l11 -11\" stroke=\"#aaa\"/>", top + 11.0));
                }
                self.text((bar.x + BAR + 6) as f64, y as f64 + 9.5, "", &word);
                y += 18;
            }
        }
    }
}
