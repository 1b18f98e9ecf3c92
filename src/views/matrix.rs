//! A matrix of a step in LaTeX: amsmath's `bmatrix`, with names of rows before it and names of columns above it.

use super::excerpt::Excerpt;
use super::number::digits_for;
use super::page::{Layout, shorten, width};
use super::sheet::Sheet;
use super::{Scene, tex};
use crate::fault::visible;
use crate::plan::{Axis, Step};

/// Widest that the name of a row or a column may be.
const NAME: usize = 16;
/// Letters that the space between two columns takes.
const BETWEEN: usize = 2;

/// A matrix ready to be written.
pub(super) struct Matrix {
    tex: String,
    width: usize,
    note: Option<String>,
}

impl Matrix {
    /// The numbers of a step, facing the page's layout; names only where tokens stand at a side.
    pub(super) fn new(scene: &Scene<'_>, step: &Step, sheet: &Sheet<'_>) -> Self {
        let excerpt = Excerpt::of(sheet.shape());
        let digits = digits_for(sheet.numbers(), scene.page.digits);
        let cell =
            |r: usize, c: usize| Cell { plain: sheet.text(r, c, digits), tex: sheet.latex(r, c, digits) };
        let (row_axis, column_axis) = match scene.page.layout {
            Layout::Rows => step.axes,
            Layout::Columns => (step.axes.1, step.axes.0),
        };
        let named = |axis: Axis| !matches!(axis, Axis::Features | Axis::One);
        let label = |name: &str| shorten(&scene.page.letters(&visible(name)), NAME);
        let any_named = named(row_axis) || named(column_axis);
        let names_of = |names: &[String], is_named: bool| -> Vec<String> {
            if is_named { names.iter().map(|name| label(name)).collect() } else { Vec::new() }
        };
        // Plain numbers over the columns help to find one, where the rows have names.
        let columns = names_of(&sheet.columns, any_named && column_axis != Axis::One);
        let rows = names_of(&sheet.rows, any_named && row_axis != Axis::One);
        let body = Body { excerpt: &excerpt, cell: &cell, rows: &rows, columns: &columns };
        Self { tex: body.tex(), width: body.width(), note: excerpt.note().map(str::to_owned) }
    }

    /// What stands to the right of `S_1 =`.
    pub(super) fn tex(&self) -> &str {
        &self.tex
    }

    /// About how many letters wide it is.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// What is left out, where something is.
    pub(super) fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }
}

/// A number as text and as maths.
struct Cell {
    plain: String,
    tex: String,
}

struct Body<'a> {
    excerpt: &'a Excerpt,
    cell: &'a dyn Fn(usize, usize) -> Cell,
    rows: &'a [String],
    columns: &'a [String],
}

impl Body<'_> {
    fn tex(&self) -> String {
        let columns: Vec<Vec<String>> = self.excerpt.columns.iter().map(|c| self.column(*c)).collect();
        let mut tex = String::new();
        if columns.iter().flatten().any(|cell| cell.contains(r"\frac")) {
            tex.push_str("\\renewcommand{\\arraystretch}{1.8}\n");
        }
        if !self.columns.is_empty() {
            tex.push_str(&format!("\\headroom{{{}}}\n", self.excerpt.rows.len()));
        }
        if !self.rows.is_empty() {
            // The gap is as high as the dots in the matrix beside it.
            let name = |r: &Option<usize>| match r {
                Some(_) => format!(r"\rowname{{{}}}", self.name(self.rows, *r)),
                None => r"\vphantom{\vdots}".to_owned(),
            };
            let names: Vec<String> = self.excerpt.rows.iter().map(name).collect();
            tex.push_str(&format!("\\begin{{array}}{{r@{{\\,}}}} {} \\end{{array}}\n", names.join(r" \\ ")));
        }
        tex.push_str("\\begin{bmatrix}\n");
        if !self.columns.is_empty() {
            let name = |c: &Option<usize>| format!(r"\colname{{{}}}", self.name(self.columns, *c));
            let names: Vec<String> = self.excerpt.columns.iter().map(name).collect();
            tex.push_str(&format!("  {} \\\\[-\\rowheight]\n", names.join(" & ")));
        }
        let lines: Vec<String> = (0..self.excerpt.rows.len())
            .map(|r| columns.iter().map(|column| column[r].as_str()).collect::<Vec<_>>().join(" & "))
            .collect();
        tex.push_str(&format!("  {}\n\\end{{bmatrix}}", lines.join(" \\\\\n  ")));
        tex
    }

    /// The name of a row or a column, or nothing at the gap.
    fn name(&self, names: &[String], at: Option<usize>) -> String {
        at.and_then(|at| names.get(at)).map_or(String::new(), |name| tex::text(name))
    }

    /// The cells of a column in TeX, padded so that decimal points stand one below the other; `bmatrix` centres.
    fn column(&self, column: Option<usize>) -> Vec<String> {
        let Some(c) = column else {
            let dots = |r: &Option<usize>| if r.is_some() { r"\cdots" } else { r"\ddots" }.to_owned();
            return self.excerpt.rows.iter().map(dots).collect();
        };
        let cells: Vec<Option<Cell>> =
            self.excerpt.rows.iter().map(|r| r.map(|r| (self.cell)(r, c))).collect();
        let before_point = |cell: &str| {
            let whole = cell.split('.').next().unwrap_or_default();
            (whole.starts_with('-'), whole.trim_start_matches('-').len())
        };
        let plain = cells.iter().flatten().map(|cell| cell.plain.as_str()).filter(|cell| is_decimal(cell));
        let (minus, most) =
            plain.map(before_point).fold((false, 0), |(minus, most), (m, long)| (minus || m, most.max(long)));
        let padded = |cell: &Cell| {
            if !is_decimal(&cell.plain) {
                return cell.tex.clone();
            }
            let (has_minus, long) = before_point(&cell.plain);
            let sign = if minus && !has_minus { "-" } else { "" };
            match format!("{sign}{}", "0".repeat(most - long)) {
                missing if missing.is_empty() => cell.tex.clone(),
                // Behind something, a bare minus would be taken for a subtraction.
                missing if has_minus => format!(r"\phantom{{{missing}}}{{{}}}", cell.tex),
                missing => format!(r"\phantom{{{missing}}}{}", cell.tex),
            }
        };
        cells.iter().map(|cell| cell.as_ref().map_or(r"\vdots".to_owned(), padded)).collect()
    }

    fn width(&self) -> usize {
        let names = self.rows.iter().map(|name| reach(name)).max().map_or(0, |most| most + BETWEEN);
        let column = |c: &Option<usize>| {
            let Some(c) = c else { return 3 };
            let cells = self.excerpt.rows.iter().flatten().map(|r| (self.cell)(*r, *c).width());
            let name = self.columns.get(*c).map_or(0, |name| reach(name));
            cells.max().unwrap_or(0).max(name)
        };
        names + self.excerpt.columns.iter().map(|c| column(c) + BETWEEN).sum::<usize>()
    }
}

impl Cell {
    /// About how many letters wide it is: a fraction's halves stand one above the other, and are set smaller.
    fn width(&self) -> usize {
        let long = width(&self.plain);
        if self.tex.contains(r"\frac") { long / 2 + 1 } else { long }
    }
}

/// Whether a number is digits with at most a sign and a point: those line up, `4e-9` and `−∞` do not.
fn is_decimal(cell: &str) -> bool {
    cell.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-'))
}

/// About how many letters wide a name is: it is set small, and what pdfLaTeX has no letter for takes seven.
fn reach(name: &str) -> usize {
    name.chars().map(|c| if tex::text(&c.to_string()).starts_with(r"\letter") { 7 } else { 1 }).sum()
}
