//! Where the person is, and what each action does to that. No terminal here.

use std::collections::HashSet;

use super::bench::{Bench, Masks};
use crate::fault::{Faults, Outcome};
use crate::lesson::Problem;
use crate::limits::PRECISION;
use crate::plan::{Name, Step, StepId};
use crate::trace::Cell;
use crate::views::Scene;
use crate::views::derivation::figure;
use crate::views::page::{Layout, Page};
use crate::words::t;

/// Most letters of what is typed: no number and no name of a step is longer.
const MOST_TYPED: usize = 60;

/// Everything that a key can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the table of keys says what each does")]
pub enum Action {
    NextStep,
    PreviousStep,
    FirstStep,
    LastStep,
    /// Counted from 1.
    Head(usize),
    GoTo,
    Left,
    Down,
    Up,
    Right,
    FirstSource,
    LastSource,
    Back,
    ScrollDown,
    ScrollUp,
    Edit,
    Undo,
    Reset,
    Mask,
    Forget,
    Turn,
    Exact,
    MoreDigits,
    FewerDigits,
    Help,
    Redraw,
    Suspend,
    Quit,
    Leave,
    /// While something is typed.
    Type(char),
    Erase,
    EraseAll,
    Accept,
    Cancel,
}

/// What the caller has to do after an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// Draw.
    Draw,
    /// Draw everything again, whatever is on the screen.
    Redraw,
    /// Give the terminal back for a while.
    Suspend,
    /// Leave.
    Leave,
}

/// What fills the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    /// A step.
    Step,
    /// The help page, from this line on.
    Help(usize),
}

/// What is being typed, and what for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Typing {
    pub(super) purpose: Purpose,
    pub(super) text: String,
}

/// What something is typed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Another value of the number under the cursor.
    Edit,
    /// Where to go.
    GoTo,
}

/// The stepper between two keys.
pub struct State {
    pub(super) bench: Bench,
    /// The steps that next and previous go through.
    pub(super) chosen: HashSet<StepId>,
    /// The cursor. Always a number of the trace.
    pub(super) at: Cell,
    /// Where the walk to sources came from.
    pub(super) trail: Vec<Cell>,
    /// Digits, letters and which way tokens run.
    pub(super) page: Page,
    pub(super) view: View,
    pub(super) typing: Option<Typing>,
    /// Said until the next key.
    pub(super) message: Option<String>,
    /// Lines of the text below the table that are scrolled away.
    pub(super) scrolled: usize,
}

impl State {
    /// A problem at the first of the steps `chosen` (all, if none are), shown as `page` says.
    ///
    /// # Errors
    /// The problem is too large to step through, or cannot be computed.
    pub fn new(problem: Problem, chosen: Vec<StepId>, page: Page) -> Outcome<Self> {
        let bench = Bench::new(problem)?;
        let all = || bench.trace().plan().steps().iter().map(|step| step.id);
        let chosen: HashSet<StepId> =
            if chosen.is_empty() { all().collect() } else { chosen.into_iter().collect() };
        let first = all().find(|id| chosen.contains(id)).or_else(|| all().next());
        let at = Cell { step: first.unwrap_or(Name::X.into()), row: 0, column: 0 };
        Ok(Self {
            bench,
            chosen,
            at,
            trail: Vec::new(),
            page,
            view: View::Step,
            typing: None,
            message: None,
            scrolled: 0,
        })
    }

    /// The number under the cursor.
    pub fn cell(&self) -> Cell {
        self.at
    }

    /// Whether keys are letters of something that is being typed.
    pub(super) fn is_typing(&self) -> bool {
        self.typing.is_some()
    }

    /// Whether there is a number to walk back to.
    pub(super) fn has_walked(&self) -> bool {
        !self.trail.is_empty()
    }

    /// What the numbers are now, for a view to show.
    pub(super) fn scene(&self) -> Scene<'_> {
        let problem = &self.bench.problem;
        Scene {
            title: &problem.title,
            summary: &problem.summary,
            source: &problem.source,
            attention: &problem.attention,
            labels: &problem.labels,
            story: &problem.story,
            trace: self.bench.trace(),
            exact: self.bench.exact(),
            steps: &[],
            batch: problem.batch,
            kv_sheets: &[],
            page: self.page,
        }
    }

    /// The step under the cursor.
    pub(super) fn step(&self) -> Option<&Step> {
        self.bench.trace().plan().get(self.at.step)
    }

    /// The steps to go through, in order, and the one under the cursor among them.
    pub(super) fn steps(&self) -> impl Iterator<Item = &Step> {
        let steps = self.bench.trace().plan().steps().iter();
        steps.filter(|step| self.chosen.contains(&step.id) || step.id == self.at.step)
    }

    /// Does what a key asks for.
    pub fn apply(&mut self, action: Action) -> After {
        if let View::Help(from) = self.view {
            return self.in_help(action, from);
        }
        self.message = None;
        match action {
            Action::NextStep => self.step_by(1),
            Action::PreviousStep => self.step_by(-1),
            Action::FirstStep => self.step_by(isize::MIN),
            Action::LastStep => self.step_by(isize::MAX),
            Action::Head(number) => self.go_to_head(number),
            Action::Left => self.move_by(0, -1),
            Action::Down => self.move_by(1, 0),
            Action::Up => self.move_by(-1, 0),
            Action::Right => self.move_by(0, 1),
            Action::FirstSource => self.walk(|sources| sources.first().copied()),
            Action::LastSource => self.walk(|sources| sources.last().copied()),
            Action::Back => self.walk_back(),
            Action::ScrollDown => self.scrolled = self.scrolled.saturating_add(1),
            Action::ScrollUp => self.scrolled = self.scrolled.saturating_sub(1),
            Action::Edit if self.bench.is_given(self.at.step) => self.ask(Purpose::Edit),
            Action::Edit => self.say(t!(
                "%{cell} is computed, not given: Tab walks to what it was made from, down to numbers that can be edited",
                cell = self.at
            )),
            Action::GoTo => self.ask(Purpose::GoTo),
            Action::Undo => self.undo(),
            Action::Reset => self.reset(),
            Action::Mask => self.mask(),
            Action::Forget => self.bench.forget_changes(),
            Action::Turn => {
                self.page.layout = match self.page.layout {
                    Layout::Rows => Layout::Columns,
                    Layout::Columns => Layout::Rows,
                };
            }
            Action::Exact => self.bench.toggle_exact(),
            Action::MoreDigits => self.page.digits = (self.page.digits + 1).min(PRECISION.into()),
            Action::FewerDigits => self.page.digits = self.page.digits.saturating_sub(1),
            Action::Help => self.view = View::Help(0),
            Action::Redraw => return After::Redraw,
            Action::Suspend => return After::Suspend,
            Action::Quit | Action::Leave => return After::Leave,
            Action::Type(c) => {
                if let Some(typing) = self.typing.as_mut().filter(|typing| typing.text.len() < MOST_TYPED) {
                    typing.text.push(c);
                }
            }
            Action::Erase => {
                if let Some(typing) = &mut self.typing {
                    typing.text.pop();
                }
            }
            Action::EraseAll => {
                if let Some(typing) = &mut self.typing {
                    typing.text.clear();
                }
            }
            Action::Accept => self.accept(),
            Action::Cancel => self.typing = None,
        }
        After::Draw
    }

    fn in_help(&mut self, action: Action, from: usize) -> After {
        self.view = match action {
            Action::Leave => return After::Leave,
            Action::Suspend => return After::Suspend,
            Action::Redraw => return After::Redraw,
            Action::Down | Action::ScrollDown | Action::NextStep => View::Help(from.saturating_add(1)),
            Action::Up | Action::ScrollUp | Action::PreviousStep => View::Help(from.saturating_sub(1)),
            Action::FirstStep => View::Help(0),
            _ => View::Step,
        };
        After::Draw
    }

    /// Keeps the cursor and the scrolling within what is there; `most` lines can be scrolled away.
    pub(super) fn scroll_within(&mut self, most: usize) {
        match &mut self.view {
            View::Help(from) => *from = (*from).min(most),
            View::Step => self.scrolled = self.scrolled.min(most),
        }
    }

    pub(super) fn say(&mut self, message: impl Into<String>) {
        self.message = Some(message.into());
    }

    fn say_fault(&mut self, before: &str, Faults(faults): &Faults) {
        if let Some(fault) = faults.first() {
            let why = if fault.why.is_empty() { String::new() } else { format!(": {}", fault.why) };
            self.say(format!("{before}: {}{why}", fault.what));
        }
    }

    fn ask(&mut self, purpose: Purpose) {
        self.typing = Some(Typing { purpose, text: String::new() });
    }

    fn accept(&mut self) {
        let Some(Typing { purpose, text }) = self.typing.take() else { return };
        match purpose {
            Purpose::Edit => self.edit(&text),
            Purpose::GoTo => self.go_to(text.trim()),
        }
    }

    fn edit(&mut self, text: &str) {
        let text = text.trim().replace('−', "-");
        if text.is_empty() {
            return self.say(t!("nothing was typed: all stays as it is"));
        }
        let value = match text.parse::<f64>() {
            Ok(value) if value.is_finite() => value,
            _ => {
                return self.say(t!("%{text} is not a number as 2, -0.5 or 1e-3: all stays as it is", text));
            }
        };
        let before = self.bench.trace().cell(self.at).unwrap_or(0.0);
        let value_before = figure(before, self.page.digits);
        match self.bench.edit(self.at, value) {
            Ok(()) => {
                self.say_what_changed(&t!("%{cell} was %{value}", cell = self.at, value = value_before))
            }
            Err(faults) => {
                self.say_fault(&t!("%{cell} stays %{value}", cell = self.at, value = value_before), &faults)
            }
        }
    }

    fn say_what_changed(&mut self, what: &str) {
        let changed = self.bench.changed_steps().map_or(0, HashSet::len);
        let of = self.bench.trace().plan().steps().len();
        self.say(t!("%{what}; numbers changed in %{changed} of %{of} steps, marked *", what, changed, of));
    }

    fn undo(&mut self) {
        match self.bench.undo() {
            Ok(true) => self.say_what_changed(&t!("the last edit is undone")),
            Ok(false) => self.say(t!("nothing is left to undo")),
            Err(faults) => self.say_fault(&t!("the edit stays"), &faults),
        }
    }

    fn reset(&mut self) {
        match self.bench.reset() {
            Ok(()) => self.say_what_changed(&t!("the lesson's own numbers are back")),
            Err(faults) => self.say_fault(&t!("the edits stay"), &faults),
        }
    }

    /// Masks off or on. A step that goes with them leaves the cursor on the last one before it.
    fn mask(&mut self) {
        if self.bench.mask() == Masks::None {
            return self.say(t!("this lesson has no mask: mha trace masks --interactive has three"));
        }
        let ids: Vec<StepId> = self.steps().map(|step| step.id).collect();
        let before = ids.iter().take_while(|id| **id != self.at.step);
        let before: Vec<StepId> = before.copied().chain([self.at.step]).collect();
        if let Err(faults) = self.bench.toggle_masks() {
            return self.say_fault(&t!("the masks stay"), &faults);
        }
        let plan = self.bench.trace().plan();
        if let Some(step) = before.into_iter().rev().find(|id| plan.get(*id).is_some()) {
            self.put(Cell { step, ..self.at });
        } else if let Some(first) =
            plan.steps().iter().find(|step| self.chosen.contains(&step.id)).or(plan.steps().first())
        {
            self.put(Cell { step: first.id, ..self.at });
        }
        self.trail.retain({
            let plan = self.bench.trace().plan();
            move |cell| plan.get(cell.step).is_some()
        });
        match self.bench.mask() {
            Masks::On => self.say_what_changed(&t!("the masks are back")),
            _ => self.say_what_changed(&t!("the masks are taken away: every query sees every key")),
        }
    }
}
