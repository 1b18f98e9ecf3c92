//! Where one number of a trace comes from: its arithmetic, the cells it was made from, and where those come from.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::fmt;
use std::ops::Range;

use super::Trace;
use super::term::Term;
use crate::limits::TREE_DERIVATIONS;
use crate::ops::{Expr, Operation};
use crate::plan::{Step, StepId};

/// One number of a trace. Rows and columns count from 0 in code, from 1 where a person reads them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cell {
    /// The step.
    pub step: StepId,
    /// Its row; tokens are rows.
    pub row: usize,
    /// Its column.
    pub column: usize,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{},{}]", self.step, self.row + 1, self.column + 1)
    }
}

/// A block of an earlier step that a cell was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The step.
    pub step: StepId,
    /// Its rows.
    pub rows: Range<usize>,
    /// Its columns.
    pub columns: Range<usize>,
}

/// A cell, and the cells behind it as far as they were followed.
#[derive(Debug, Clone, PartialEq)]
pub struct Branch {
    /// The cell.
    pub cell: Cell,
    /// What it holds.
    pub value: f64,
    /// Cells that hold the same number, one copied from the next: `head.1.q[3,1]` is `q[3,1]`.
    pub copied_from: Vec<Cell>,
    /// Why it is what it is, where a rule and no arithmetic sets it: `hidden: causal`.
    pub reason: Option<String>,
    /// The arithmetic behind the last of those; `None` for a number that was given.
    pub term: Option<Term>,
    /// Where the numbers in the arithmetic come from, those that were not given.
    pub behind: Vec<Branch>,
    /// Why nothing stands behind it.
    pub end: End,
}

/// Why a branch goes no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All that is behind it is there, or was given.
    Complete,
    /// It stands further up already.
    Above,
    /// It is as deep as was asked for.
    Cut,
}

/// How far a cell is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// As far as the tree stays short enough to read.
    Readable,
    /// So many levels behind the cell.
    Levels(usize),
}

/// A tree of so many derivations can be read on a page.
const READABLE: usize = 40;
impl Branch {
    /// The cell whose arithmetic this is: the cell itself, or the one that it was copied from in the end.
    pub fn derived(&self) -> Cell {
        self.copied_from.last().copied().unwrap_or(self.cell)
    }
}

impl Trace<f64> {
    /// What a cell holds; `None` if there is no such cell, or it was not kept.
    pub fn cell(&self, cell: Cell) -> Option<f64> {
        self.get(cell.step)?.get((cell.row, cell.column)).copied()
    }

    /// The step of a cell with its operation's expression; `None` where inputs were not kept.
    fn expression(&self, cell: Cell) -> Option<(&Step, Expr)> {
        self.cell(cell)?;
        let step = self.plan().get(cell.step)?;
        let inputs = self.inputs(step)?;
        Some((step, step.op.explain(cell.row, cell.column, &inputs)))
    }

    /// The arithmetic behind a cell; `None` for a number that was given.
    pub fn term(&self, cell: Cell) -> Option<Term> {
        let (step, expr) = self.expression(cell)?;
        if step.inputs.is_empty() {
            return None;
        }
        Some(Term::of(&expr, &step.inputs, &self.inputs(step)?))
    }

    /// Why a cell is what it is, where a rule and no arithmetic sets it: `hidden: causal`.
    pub fn reason(&self, cell: Cell) -> Option<String> {
        let step = self.plan().get(cell.step)?;
        self.cell(cell)?;
        step.op.reason(cell.row, cell.column, &self.inputs(step)?)
    }

    /// The blocks of earlier steps that a cell was made from, all of each sum: a row of queries and a row of keys.
    pub fn sources(&self, cell: Cell) -> Vec<Source> {
        let Some((step, expr)) = self.expression(cell).filter(|(step, _)| !step.inputs.is_empty()) else {
            return Vec::new();
        };
        let shapes = self.plan().shapes(step);
        let mut read: BTreeMap<usize, BTreeSet<(usize, usize)>> = BTreeMap::new();
        let mut lines = BTreeSet::new();
        expr.each_cell(
            &mut |input, row, column| {
                read.entry(input).or_default().insert((row, column));
            },
            // A softmax means the same row in each of its terms.
            &mut |input, row| {
                lines.insert((input, row));
            },
        );
        for (input, row) in lines {
            read.entry(input).or_default().extend((0..shapes[input].1).map(|column| (row, column)));
        }
        read.iter().flat_map(|(input, cells)| blocks(step.inputs[*input], cells)).collect()
    }

    /// The cell and what is behind it; `None` if there is no such cell.
    pub fn origin(&self, cell: Cell, depth: Depth) -> Option<Branch> {
        self.origins(&[cell], depth).pop()
    }

    /// Several cells and what is behind them; what two of them share stands behind the first.
    pub fn origins(&self, cells: &[Cell], depth: Depth) -> Vec<Branch> {
        let levels = match depth {
            Depth::Levels(levels) => levels,
            Depth::Readable => {
                let sizes = self.sizes(cells);
                let room = READABLE.max(2 * cells.len());
                sizes.iter().take_while(|size| **size <= room).count().saturating_sub(1).max(1)
            }
        };
        let within = self.within(cells, levels);
        let mut shown = HashMap::new();
        cells.iter().filter_map(|cell| self.branch(*cell, levels, &within, &mut shown)).collect()
    }

    /// How many derivations a tree has with 0, 1, 2 … levels behind its cells, each cell counted once.
    fn sizes(&self, cells: &[Cell]) -> Vec<usize> {
        let mut sizes = Vec::new();
        let mut seen = HashSet::new();
        let mut level: Vec<Cell> = cells.iter().map(|cell| self.uncopied(*cell)).collect();
        while !level.is_empty() && seen.len() <= TREE_DERIVATIONS {
            level.retain(|cell| seen.insert(*cell));
            sizes.push(seen.len());
            level =
                level.iter().flat_map(|cell| self.behind(*cell)).map(|cell| self.uncopied(cell)).collect();
        }
        sizes
    }

    /// The cells that a tree may hold: nearest first, so that a tree that would be too large is cut at its depth.
    fn within(&self, cells: &[Cell], levels: usize) -> HashSet<Cell> {
        let mut within = HashSet::new();
        let mut waiting: VecDeque<(Cell, usize)> =
            cells.iter().map(|cell| (self.uncopied(*cell), 0)).collect();
        while let Some((cell, level)) = waiting.pop_front() {
            if within.len() < TREE_DERIVATIONS.max(cells.len()) && within.insert(cell) && level < levels {
                waiting.extend(self.behind(cell).into_iter().map(|cell| (self.uncopied(cell), level + 1)));
            }
        }
        within
    }

    /// The cells behind a cell that were not given themselves, in the order of the computation.
    fn behind(&self, cell: Cell) -> Vec<Cell> {
        let mut cells = self.term(cell).map_or_else(Vec::new, |term| term.cells());
        cells.retain(|cell| self.plan().get(cell.step).is_some_and(|step| !step.inputs.is_empty()));
        cells.sort_by_key(|cell| (self.plan().place(cell.step), cell.row, cell.column));
        cells
    }

    /// The cell that a cell is a copy of, at the end of the chain.
    fn uncopied(&self, cell: Cell) -> Cell {
        self.copies(cell).last().copied().unwrap_or(cell)
    }

    /// The cells that a cell was copied from, one after the other.
    fn copies(&self, cell: Cell) -> Vec<Cell> {
        let mut chain = Vec::new();
        let mut at = cell;
        while let Some(Term::Cell(from, _)) = self.term(at) {
            chain.push(from);
            at = from;
        }
        chain
    }

    fn branch(
        &self,
        cell: Cell,
        levels: usize,
        within: &HashSet<Cell>,
        shown: &mut HashMap<Cell, Shown>,
    ) -> Option<Branch> {
        let value = self.cell(cell)?;
        let copied_from = self.copies(cell);
        let last = copied_from.last().copied().unwrap_or(cell);
        let term = self.term(last);
        let reason = self.reason(last);
        let mut branch =
            Branch { cell, value, copied_from, reason, term, behind: Vec::new(), end: End::Complete };
        if branch.term.is_none() {
            return Some(branch);
        }
        let now = if levels == 0 { Shown::Alone } else { Shown::WithItsOrigin };
        if shown.get(&last).is_some_and(|before| *before >= now) {
            branch.end = End::Above;
            return Some(branch);
        }
        shown.insert(last, now);
        let behind = self.behind(last);
        if levels == 0 {
            branch.end = if behind.is_empty() { End::Complete } else { End::Cut };
            return Some(branch);
        }
        for cell in behind {
            match within.contains(&self.uncopied(cell)) {
                true => branch.behind.extend(self.branch(cell, levels - 1, within, shown)),
                false => branch.end = End::Cut,
            }
        }
        Some(branch)
    }
}

/// How much of a cell a tree has told so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Shown {
    /// Its arithmetic.
    Alone,
    /// What is behind it, too.
    WithItsOrigin,
}

/// Cells as few blocks: one where they fill a rectangle, else one a run in a row.
fn blocks(step: StepId, cells: &BTreeSet<(usize, usize)>) -> Vec<Source> {
    let bounds = |numbers: &mut dyn Iterator<Item = usize>| {
        numbers.fold((usize::MAX, 0), |(least, most), n| (least.min(n), most.max(n + 1)))
    };
    let (top, bottom) = bounds(&mut cells.iter().map(|cell| cell.0));
    let (left, right) = bounds(&mut cells.iter().map(|cell| cell.1));
    if cells.is_empty() {
        return Vec::new();
    }
    if (bottom - top) * (right - left) == cells.len() {
        return vec![Source { step, rows: top..bottom, columns: left..right }];
    }
    let mut runs: Vec<Source> = Vec::new();
    for (row, column) in cells {
        match runs.last_mut() {
            Some(run) if run.rows.start == *row && run.columns.end == *column => run.columns.end += 1,
            _ => runs.push(Source { step, rows: *row..row + 1, columns: *column..column + 1 }),
        }
    }
    runs
}
