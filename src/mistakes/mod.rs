//! Known mistakes, and how to tell which of them someone has made.
//!
//! A mistake is a change of the right plan ([`Draft`]), like every other rewrite: the same change shows the wrong run
//! (`mha trace --mistake`), and finds it in a person's tensors (`mha check`). A new mistake is a new entry in one of the
//! files of [`catalogue`]; nothing else knows it by name.

mod about;
pub mod against;
mod bench;
pub mod catalogue;
mod court;
pub mod diagnose;
pub mod difference;
pub mod draft;
mod fit;
pub mod layers;
mod measure;
pub mod named;
mod rounding;
mod rows;
mod search;
mod side;
mod verdict;
mod wrong_run;

use crate::plan::{Call, Name, Plan};
pub use draft::{Draft, Seen, Wrong};
pub use side::Side;
pub use wrong_run::{Cells, Difference, WrongRun};

/// Something that people get wrong, in one or several forms.
#[derive(Debug)]
pub struct Mistake {
    /// Its name, as it is typed: `scale-missing`.
    pub name: &'static str,
    /// One line: `No 1/√d_k`.
    pub summary: &'static str,
    /// The formula as it should be.
    pub right: &'static str,
    /// The formula as it is with the mistake.
    pub wrong: &'static str,
    /// How it comes about.
    pub cause: &'static str,
    /// What can be seen in the numbers.
    pub symptom: &'static str,
    /// On which problems it makes a difference.
    pub visible: &'static str,
    /// How to mend it, in words.
    pub fix: &'static str,
    /// How to mend it: a line of NumPy or PyTorch.
    pub code: &'static str,
    /// Public reports of it that were found, and how many of them were confirmed (fixed, merged or acknowledged).
    pub reports: (u16, u16),
    /// The ways in which it is made.
    pub forms: &'static [Form],
}

/// One way to make a mistake.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// What is particular about it; empty where there is only one way.
    pub name: &'static str,
    /// The first step, under its stacked name, that comes out wrong.
    pub first: Name,
    /// When it is made, where there is another mistake beside it.
    pub turn: Turn,
    /// Whether it is read off what the person has, and not foreseen: it fits more easily than others.
    pub reads_off: bool,
    /// The change; `None` where the problem has nothing to get wrong in this way.
    pub change: fn(&mut Draft<'_>) -> Option<()>,
}

/// When a change of a plan is made, where there are two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Turn {
    /// Before others: it builds the plan anew.
    First,
    /// In the order of the catalogue.
    Usual,
    /// After others: it takes the heads' steps as they are, and feeds them something else.
    Last,
}

impl Mistake {
    /// The mistake of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        catalogue::all().find(|mistake| mistake.name == name)
    }

    /// The first of its forms that the problem can be got wrong in, with the wrong plan.
    pub fn apply(&self, call: &Call, right: &Plan) -> Option<(&'static Form, Wrong)> {
        self.forms.iter().find_map(|form| Some((form, form.apply(call, right)?)))
    }
}

impl Form {
    /// A form that changes single steps.
    const fn new(name: &'static str, first: Name, change: fn(&mut Draft<'_>) -> Option<()>) -> Self {
        Self { name, first, turn: Turn::Usual, reads_off: false, change }
    }

    /// The same form, made at another time.
    const fn at(self, turn: Turn) -> Self {
        Self { turn, ..self }
    }

    /// The same form, read off what the person has.
    const fn read_off(self) -> Self {
        Self { reads_off: true, ..self }
    }

    /// Whether the tensor of this stacked name is right although the mistake is made: it stands before the first wrong
    /// one. Keys and values of shared heads are, where a mistake only lets the wrong query heads read them.
    pub fn leaves_right(&self, name: Name) -> bool {
        court::order(name) < court::order(self.first)
    }

    /// The wrong plan; `None` where the problem cannot be got wrong in this way, or the wrong plan is the right one.
    pub fn apply(&self, call: &Call, right: &Plan) -> Option<Wrong> {
        if call.layers.is_some() {
            return None; // mistakes are of one attention call
        }
        let mut draft = Draft::new(call, right, None);
        (self.change)(&mut draft)?;
        draft.finish().filter(|wrong| wrong.plan != *right)
    }
}
