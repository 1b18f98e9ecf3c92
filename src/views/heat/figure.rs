//! Where everything of a figure stands: titles, panels, labels, colour bars. Lengths are pixels of 1/96 inch.
//!
//! The panels of a group stand in a grid and share their labels: rows are named at its left, columns below it.

use super::panels::{Cell, Group, Panel, Scale};
use super::ruler::{every, label, sentence, text_width, ticks, wrapped};
use crate::fault::{Fault, Outcome, visible};
use crate::limits::FIGURE_PIXELS;
use crate::views::number::{digits_for, number};
use crate::words::t;

/// Space around everything.
pub const MARGIN: usize = 16;
/// Font size of the title.
pub const TITLE: usize = 16;
/// Font size of headings, and of what stands above a panel.
pub const CAPTION: usize = 12;
/// Font size of notes and axes.
pub const SMALL: usize = 10;
/// Width of a colour bar.
pub const BAR: usize = 12;
/// Space between panels.
const GAP: usize = 18;
/// More cells than this in all are drawn as pictures, not one by one.
const MOST_DRAWN: usize = 4096;
/// Most cells of all panels together; beyond it neighbours share a cell.
const MOST_CELLS: usize = 512 * 1024;
/// A picture with everything in its place.
pub struct Figure<'a> {
    /// Lines of the title; safe to show.
    pub title: Vec<String>,
    /// One a group that has panels.
    pub blocks: Vec<Block<'a>>,
    /// Lines at the foot.
    pub notes: Vec<String>,
    /// Pixels across.
    pub width: usize,
    /// Pixels down.
    pub height: usize,
    /// How cells are drawn.
    pub drawing: Drawing,
}

/// How cells are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drawing {
    /// A rectangle each.
    Rectangles,
    /// A pixel each, in one picture a panel.
    Pixels,
}

/// A group of panels in its place.
pub struct Block<'a> {
    /// What its panels show.
    pub heading: String,
    /// Where the heading's line begins.
    pub y: usize,
    /// Its panels.
    pub plots: Vec<Plot<'a>>,
    /// What its cells are like.
    pub frame: Frame,
    /// The legend.
    pub bar: Bar,
}

/// A panel in its place.
pub struct Plot<'a> {
    /// What is drawn.
    pub panel: Panel<'a>,
    /// Left edge of its first column.
    pub x: usize,
    /// Upper edge of its first row.
    pub y: usize,
    /// Whether nothing stands to its left, so that it names its rows.
    pub names_rows: bool,
    /// Whether nothing stands below it, so that it names its columns.
    pub names_columns: bool,
}

/// What the cells and labels of a group are like.
pub struct Frame {
    /// Rows and columns of a panel.
    pub shape: (usize, usize),
    /// Pixels along a side of a cell.
    pub cell: usize,
    /// Digits of the numbers in the cells, where they have room.
    pub digits: Option<usize>,
    /// Font size of labels.
    pub font: usize,
    /// Every so many rows and columns have a name.
    pub every: (usize, usize),
    /// Which way the names of columns run.
    pub run: Run,
    /// Room that the names of rows take, and those of columns.
    pub names: (usize, usize),
}

/// Which way the names of columns run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// From left to right, in the width of their column.
    Level,
    /// Slanted by 45°, ending at their column.
    Slanted,
    /// Upwards.
    Upright,
}

/// What the colours of a group mean.
pub struct Bar {
    /// Left edge.
    pub x: usize,
    /// Upper edge.
    pub y: usize,
    /// Pixels from the most down to the least.
    pub height: usize,
    /// What it stands for.
    pub scale: Scale,
    /// Numbers beside it, with how far up each stands: 0 at the foot, 1 at the top.
    pub ticks: Vec<(f64, String)>,
    /// Whether a cell is hidden by a mask.
    pub hidden: bool,
    /// Whether a cell is not a number.
    pub undefined: bool,
}

impl<'a> Figure<'a> {
    /// Sets the groups out; numbers in cells get so many digits.
    ///
    /// # Errors
    /// There is nothing to draw, or too much for a picture.
    pub fn new(title: &str, groups: Vec<Group<'a>>, digits: usize) -> Outcome<Self> {
        let count: usize = groups.iter().map(|group| group.panels.len()).sum();
        if count == 0 {
            return Err(Fault::new(
                "there is nothing to draw",
                "nothing that was chosen holds a matrix",
                "choose something that holds one: head.1.weights does in a trace, multi-head in a comparison",
            )
            .into());
        }
        let most = (MOST_CELLS / count).isqrt().clamp(24, 256);
        let mut notes: Vec<String> = Vec::new();
        let mut drawn = Vec::new();
        for mut group in groups {
            if group.panels.is_empty() {
                notes.push(t!("%{what} holds no matrix of attention weights.", what = group.what));
                continue;
            }
            for panel in &mut group.panels {
                panel.thin(most, most);
            }
            let note = group.panels.iter().find_map(|panel| panel.note()).map(|note| sentence(&note));
            if let Some(note) = note.filter(|note| !notes.contains(note)) {
                notes.push(note);
            }
            drawn.push(group);
        }
        let cells: usize =
            drawn.iter().flat_map(|group| &group.panels).map(|p| p.shape().0 * p.shape().1).sum();
        let drawing = if cells > MOST_DRAWN { Drawing::Pixels } else { Drawing::Rectangles };
        let mut figure =
            Self { title: Vec::new(), blocks: Vec::new(), notes: Vec::new(), width: 0, height: 0, drawing };
        for group in drawn {
            figure.add(group, digits);
        }
        figure.width = figure.width.max(300) + MARGIN;
        let room = figure.width - 2 * MARGIN;
        figure.title = wrapped(&visible(title), TITLE, room);
        figure.notes = notes.iter().flat_map(|note| wrapped(note, SMALL, room)).collect();
        figure.below_title();
        if figure.notes.is_empty() {
            figure.height = figure.height.saturating_sub(GAP);
        }
        figure.height += figure.notes.len() * (SMALL + 4) + MARGIN;
        if figure.width.saturating_mul(figure.height) > FIGURE_PIXELS {
            let what =
                format!("a figure of {count} panels would be {} × {} pixels", figure.width, figure.height);
            let why =
                format!("{} million pixels are the most that a figure may have", FIGURE_PIXELS / 1_000_000);
            return Err(Fault::new(what, why, "draw less at once: fewer heads, steps or variants").into());
        }
        Ok(figure)
    }

    /// Puts a group below what is there; the title is not yet.
    fn add(&mut self, group: Group<'a>, digits: usize) {
        let across = across(&group);
        let frame = Frame::of(&group, across, digits);
        let (rows, columns) = (frame.shape.0 * frame.cell, frame.shape.1 * frame.cell);
        let widest = group.panels.iter().map(|panel| text_width(&panel.caption, CAPTION)).max().unwrap_or(0);
        let (wide, tall) = (columns.max(widest) + GAP, rows + CAPTION + GAP);
        let top = self.height + CAPTION + 12;
        let left = MARGIN + frame.names.0;
        let (count, last) = (group.panels.len(), group.panels.len().saturating_sub(across));
        let place = |(at, panel): (usize, Panel<'a>)| Plot {
            panel,
            x: left + at % across * wide + (wide - GAP - columns) / 2,
            y: top + at / across * tall + CAPTION + 6,
            names_rows: at % across == 0,
            names_columns: at >= last,
        };
        let plots: Vec<Plot<'a>> = group.panels.into_iter().enumerate().map(place).collect();
        let foot = top + count.div_ceil(across) * tall - GAP + 6 + frame.names.1;
        let bar = Bar::of(left + across * wide, top + CAPTION + 6, rows, group.scale, &plots);
        let below_bar = bar.y + bar.height + 12 + 18 * (usize::from(bar.hidden) + usize::from(bar.undefined));
        self.width = self.width.max(bar.right()).max(MARGIN + text_width(&group.what, CAPTION));
        let block = Block { heading: group.what, y: self.height, plots, frame, bar };
        self.height = foot.max(below_bar) + GAP;
        self.blocks.push(block);
    }

    /// Moves everything down to make room for the title.
    fn below_title(&mut self) {
        let room = MARGIN + self.title.len() * (TITLE + 6);
        for block in &mut self.blocks {
            block.y += room;
            block.bar.y += room;
            for plot in &mut block.plots {
                plot.y += room;
            }
        }
        self.height += room;
    }
}

impl Frame {
    fn of(group: &Group<'_>, across: usize, digits: usize) -> Self {
        let shape =
            group.panels.iter().map(|panel| panel.shape()).fold((1, 1), |a, b| (a.0.max(b.0), a.1.max(b.1)));
        let longest = shape.0.max(shape.1);
        let numbers = Some(digits_in(group, digits)).filter(|_| longest <= 12 && across * shape.1 <= 40);
        let number = numbers.map(|digits| widest_number(group, digits)).filter(|width| *width <= 56);
        let cell = match number {
            Some(width) => (width + 8).max(28),
            None if longest <= 36 => (360 / longest).clamp(10, 22),
            None => (288 / longest).max(1),
        };
        let font = if cell < 16 {
            9
        } else if cell < 28 {
            10
        } else {
            11
        };
        let largest = group.panels.iter().max_by_key(|panel| panel.shape());
        let widest = |count: usize, name: &dyn Fn(&Panel<'_>, usize) -> String| {
            let wide = |at| text_width(&label(&largest.map_or(String::new(), |panel| name(panel, at))), font);
            (0..count).map(wide).max().unwrap_or(0)
        };
        let rows = widest(shape.0, &|panel, at| panel.last_row(at).to_owned());
        let columns = widest(shape.1, &|panel, at| panel.last_column(at).to_owned());
        let (run, below) = if columns + 4 <= cell {
            (Run::Level, font + 4)
        } else if cell * 7 / 10 > font {
            (Run::Slanted, columns * 7 / 10 + font)
        } else {
            (Run::Upright, columns + 6)
        };
        let overhang = if run == Run::Slanted { (columns * 7 / 10).saturating_sub(cell / 2) } else { 0 };
        let axes = group.panels.first().map_or(("", ""), |panel| panel.axes);
        let room = |word: &str| if word.is_empty() { 0 } else { SMALL + 8 };
        let names = ((rows + 8 + room(axes.0)).max(overhang), below + room(axes.1));
        let every = every(cell, font);
        Self {
            shape,
            cell,
            digits: number.and(numbers),
            font,
            every: (every.min(shape.0), every.min(shape.1)),
            run,
            names,
        }
    }
}

impl Bar {
    fn of(x: usize, y: usize, rows: usize, scale: Scale, plots: &[Plot<'_>]) -> Self {
        let height = rows.clamp(90, 240);
        let mut bar =
            Self { x, y, height, scale, ticks: ticks(scale, height), hidden: false, undefined: false };
        for cell in plots.iter().flat_map(|plot| cells(&plot.panel)) {
            bar.hidden |= cell.2 == Cell::Hidden;
            bar.undefined |= cell.2 == Cell::Undefined;
        }
        bar
    }

    /// Where its numbers and words end.
    fn right(&self) -> usize {
        let numbers = self.ticks.iter().map(|(_, text)| text_width(text, SMALL)).max().unwrap_or(0);
        let word = if self.hidden || self.undefined { text_width(&t!("masked"), SMALL) } else { 0 };
        self.x + BAR + 8 + numbers.max(word)
    }
}

/// Every cell of a panel with its row and column.
pub fn cells<'p>(panel: &'p Panel<'_>) -> impl Iterator<Item = (usize, usize, Cell)> + 'p {
    let (rows, columns) = panel.shape();
    (0..rows).flat_map(move |r| (0..columns).map(move |c| (r, c, panel.cell(r, c))))
}

/// How many panels stand in a row: what comes nearest to a page of 8 : 5 with few empty places.
fn across(group: &Group<'_>) -> usize {
    let count = group.panels.len();
    let (rows, columns) = group.panels.first().map_or((1, 1), |panel| panel.shape());
    let badness = |across: &usize| {
        let down = count.div_ceil(*across);
        let aspect = (across * (columns + 1)) as f64 / (down * (rows + 1)) as f64;
        let empty = (down * across - count) as f64 / count as f64;
        libm::fabs(libm::log(aspect / 1.6)) + 2.0 * empty
    };
    (1..=count.min(8)).min_by(|a, b| badness(a).total_cmp(&badness(b))).unwrap_or(1)
}

/// Values of a group that have to be written.
fn values(group: &Group<'_>) -> Vec<f64> {
    let value = |(_, _, cell)| if let Cell::Value(value) = cell { Some(value) } else { None };
    group.panels.iter().flat_map(cells).filter_map(value).collect()
}

fn digits_in(group: &Group<'_>, digits: usize) -> usize {
    digits_for(&values(group), digits)
}

fn widest_number(group: &Group<'_>, digits: usize) -> usize {
    values(group).iter().map(|value| text_width(&number(*value, digits), 11)).max().unwrap_or(0)
}
