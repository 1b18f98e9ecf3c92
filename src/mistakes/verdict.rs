//! What is found out about a person's tensors.

use super::difference::Difference;
use super::{Form, Mistake};
use crate::answers::{Grain, Layout};
use crate::plan::Name;

/// What was found out about a person's tensors.
#[derive(Debug, Clone)]
pub struct Diagnosis {
    /// Each tensor, in the order of the computation.
    pub steps: Vec<Checked>,
    /// The first of them that is wrong; `None` where all are right.
    pub first_wrong: Option<usize>,
    /// What kind of difference it shows there; nothing where its shape cannot be compared.
    pub difference: Option<Difference>,
    /// What gives exactly these tensors: each entry is one mistake or two. Several entries cannot be told apart.
    pub explanations: Vec<Explanation>,
    /// Where all is right, but only in another layout than a tensor's shape says: what gives the tensors as they stand.
    pub otherwise: Vec<Explanation>,
    /// Where nothing explains all: what explains the first wrong steps.
    pub partly: Option<Partly>,
    /// Where something stays unexplained: what the steps after the first wrong one are, given that one.
    pub after: Option<After>,
    /// A step that was not given and would tell the explanations apart.
    pub telling: Option<Name>,
    /// What was tried.
    pub tried: Tried,
}

/// One tensor that was checked.
#[derive(Debug, Clone)]
pub struct Checked {
    /// The step.
    pub name: Name,
    /// What the person calls it.
    pub called: String,
    /// Whether it is right.
    pub status: Status,
    /// How finely it is told.
    pub grain: Grain,
    /// How far a number may be off.
    pub tolerance: f64,
    /// The shape in the file.
    pub shape: Vec<usize>,
    /// The shape it should have.
    pub expected: Vec<usize>,
    /// Where the axis of heads is missing: the head, from 0, whose right numbers these are.
    pub one_head: Option<usize>,
    /// What had to be done to read it.
    pub how: Vec<Layout>,
    /// Whether it holds queries that are scaled already: harmless if the scores are not scaled again.
    pub scaled: bool,
    /// How it differs, where its shape lets it be compared.
    pub measured: Option<Measured>,
}

/// How a tensor differs from what it should be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// The largest difference; infinite where a number stands against NaN or ∞.
    pub largest: f64,
    /// Where it is.
    pub at: At,
    /// The first cell that differs; where none does, the same as `at`.
    pub first: At,
    /// How many cells differ by more than rounding.
    pub cells: usize,
    /// Of how many.
    pub of: usize,
}

impl Measured {
    /// No cell yet, the first of them at `first`.
    pub(super) fn from(first: At) -> Self {
        Self { largest: 0.0, at: first, first, cells: 0, of: 0 }
    }

    /// One more cell, so far off; beyond the tolerance it counts.
    pub(super) fn add(&mut self, at: At, distance: f64, tolerance: f64) {
        if distance > self.largest {
            (self.largest, self.at) = (distance, at);
        }
        if distance > tolerance {
            if self.cells == 0 {
                self.first = at;
            }
            self.cells += 1;
        }
    }

    /// All cells were added.
    pub(super) fn done(mut self) -> Self {
        if self.cells == 0 {
            self.first = self.at;
        }
        self
    }
}

/// A cell of a stacked tensor, all from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    /// The sequence of a batch.
    pub sequence: Option<usize>,
    /// The head.
    pub head: Option<usize>,
    /// The row.
    pub row: usize,
    /// The column.
    pub column: usize,
}

/// Whether a tensor is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It is.
    Right,
    /// It is, if every step was rounded on the way to it.
    Rounding,
    /// It is not.
    Wrong,
    /// It has another shape.
    Shape,
}

/// One mistake or two that give exactly what a person has.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The mistakes, in the order of the computation, each in the form that fits.
    pub mistakes: Vec<(&'static Mistake, &'static Form)>,
    /// Other forms of the same mistakes that fit about as well; the same one may stand there several times.
    pub alike: Vec<(&'static Mistake, &'static Form)>,
    /// For each mistake, in how many forms this problem can be got wrong: of a single one nobody needs the name.
    pub ways: Vec<usize>,
    /// How well they fit, in tolerances: 1 is at the edge.
    pub worst: f64,
}

impl Explanation {
    /// The mistakes' names.
    pub fn names(&self) -> Vec<&'static str> {
        self.mistakes.iter().map(|(mistake, _)| mistake.name).collect()
    }

    /// The forms of one of its mistakes that fit about as well as the one it is in, each once.
    pub fn forms_alike(&self, mistake: &Mistake) -> Vec<&'static str> {
        let chosen =
            |form: &Form| self.mistakes.iter().any(|(m, f)| m.name == mistake.name && f.name == form.name);
        let mut names: Vec<&str> = Vec::new();
        for (of, form) in &self.alike {
            if of.name == mistake.name && !chosen(form) && !names.contains(&form.name) {
                names.push(form.name);
            }
        }
        names
    }
}

/// What accounts for the first wrong steps, but not for all.
#[derive(Debug, Clone)]
pub struct Partly {
    /// One mistake each; several cannot be told apart.
    pub explanations: Vec<Explanation>,
    /// The tensor from which on more is wrong.
    pub wrong_from: usize,
}

/// The later steps, computed from the person's own first wrong one.
#[derive(Debug, Clone)]
pub struct After {
    /// The next tensor that is wrong by itself; `None` where all the rest follows from the first wrong one.
    pub next_wrong: Option<usize>,
    /// What explains it and the rest.
    pub explanations: Vec<Explanation>,
}

/// How much was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tried {
    /// Forms of mistakes that the problem can be got wrong in.
    pub forms: usize,
    /// Pairs of them.
    pub pairs: usize,
    /// Pairs that were left out because the problem is large.
    pub left_out: usize,
}
