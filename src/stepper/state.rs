//! Where the person is, and what each action does to that. No terminal here.

use std::collections::HashSet;

use super::bench::{Bench, Masks};
use crate::fault::{Faults, Outcome, nearest};
use crate::lesson::Problem;
use crate::plan::{Head, Name, Step, StepId};
use crate::trace::Cell;
use crate::views::Scene;
use crate::views::derivation::figure;
use crate::views::page::{Layout, Page};

/// Most digits after the point: a number in full has no more.
const MOST_DIGITS: usize = 17;
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
    chosen: HashSet<StepId>,
    /// The cursor. Always a number of the trace.
    pub(super) at: Cell,
    /// Where the walk to sources came from.
    trail: Vec<Cell>,
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
    pub fn is_typing(&self) -> bool {
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
            Action::Head(number) => self.to_head(number),
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
            Action::Edit => self.say(format!(
                "{} is computed, not given: Tab walks to what it was made from, down to numbers that can be edited",
                self.at
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
            Action::MoreDigits => self.page.digits = (self.page.digits + 1).min(MOST_DIGITS),
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

    fn say(&mut self, message: impl Into<String>) {
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

    /// Puts the cursor on a number, or on the nearest that is there.
    fn put(&mut self, cell: Cell) {
        let shape = self.bench.trace().plan().get(cell.step).map(|step| step.shape);
        let Some((rows, columns)) = shape else { return };
        let row = cell.row.min(rows.saturating_sub(1));
        self.at = Cell { step: cell.step, row, column: cell.column.min(columns.saturating_sub(1)) };
        self.scrolled = 0;
    }

    /// Moves along the chosen steps; too far is as far as it goes.
    fn step_by(&mut self, by: isize) {
        let ids: Vec<StepId> = self.steps().map(|step| step.id).collect();
        let Some(now) = ids.iter().position(|id| *id == self.at.step) else { return };
        let then = now.saturating_add_signed(by).min(ids.len() - 1);
        if then == now {
            let words = if by < 0 {
                "this is the first step: n goes on"
            } else {
                "this is the last step: p goes back"
            };
            return self.say(words);
        }
        self.trail.clear();
        self.put(Cell { step: ids[then], ..self.at });
    }

    fn to_head(&mut self, number: usize) {
        let heads = self.bench.problem.attention.num_heads;
        if number == 0 || number > heads {
            return self.say(format!("there is no head {number}: this lesson has {heads}, counted from 1"));
        }
        let head = Head(number - 1);
        let StepId { sequence, name } = self.at.step;
        let same = match name {
            Name::Head(_, step) => Some(StepId { sequence, name: Name::Head(head, step) }),
            _ => None,
        };
        // From outside the heads, to where the head begins.
        let first = || {
            let mut ids = self.bench.trace().plan().steps().iter().map(|step| step.id);
            ids.find(|id| id.head() == Some(head) && id.sequence == sequence.or(id.sequence))
        };
        if let Some(step) = same.or_else(first) {
            self.trail.clear();
            self.put(Cell { step, ..self.at });
        }
    }

    /// Moves the cursor by rows and columns of the page, which a turned page swaps.
    fn move_by(&mut self, down: isize, right: isize) {
        let (rows, columns) = match self.page.layout {
            Layout::Rows => (down, right),
            Layout::Columns => (right, down),
        };
        let row = self.at.row.saturating_add_signed(rows);
        self.put(Cell { row, column: self.at.column.saturating_add_signed(columns), ..self.at });
    }

    fn walk(&mut self, choose: impl Fn(&[Cell]) -> Option<Cell>) {
        let sources: Vec<Cell> = self
            .bench
            .trace()
            .sources(self.at)
            .into_iter()
            .map(|source| Cell { step: source.step, row: source.rows.start, column: source.columns.start })
            .collect();
        match choose(&sources) {
            Some(source) => {
                self.trail.push(self.at);
                self.put(source);
            }
            None if self.bench.is_given(self.at.step) => {
                self.say(format!(
                    "{} is given, nothing stands behind it: e edits it, Backspace walks back",
                    self.at
                ));
            }
            None => self.say(format!("{} needs no other number: its place alone decides it", self.at)),
        }
    }

    fn walk_back(&mut self) {
        match self.trail.pop() {
            Some(cell) => self.put(cell),
            None => self.say("nothing to walk back to: Tab walks to where a number comes from"),
        }
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
            return self.say("nothing was typed: all stays as it is");
        }
        let value = match text.parse::<f64>() {
            Ok(value) if value.is_finite() => value,
            _ => return self.say(format!("{text} is not a number as 2, -0.5 or 1e-3: all stays as it is")),
        };
        let before = self.bench.trace().cell(self.at).unwrap_or(0.0);
        match self.bench.edit(self.at, value) {
            Ok(()) => self.say_what_changed(&format!("{} was {}", self.at, figure(before, self.page.digits))),
            Err(faults) => {
                self.say_fault(&format!("{} stays {}", self.at, figure(before, self.page.digits)), &faults)
            }
        }
    }

    fn say_what_changed(&mut self, what: &str) {
        let changed = self.bench.changed_steps().map_or(0, HashSet::len);
        let of = self.bench.trace().plan().steps().len();
        self.say(format!("{what}; numbers changed in {changed} of {of} steps, marked *"));
    }

    fn undo(&mut self) {
        match self.bench.undo() {
            Ok(true) => self.say_what_changed("the last edit is undone"),
            Ok(false) => self.say("nothing is left to undo"),
            Err(faults) => self.say_fault("the edit stays", &faults),
        }
    }

    fn reset(&mut self) {
        match self.bench.reset() {
            Ok(()) => self.say_what_changed("the lesson's own numbers are back"),
            Err(faults) => self.say_fault("the edits stay", &faults),
        }
    }

    /// Masks off or on. A step that goes with them leaves the cursor on the last one before it.
    fn mask(&mut self) {
        if self.bench.mask() == Masks::None {
            return self.say("this lesson has no mask: mha trace masks --interactive has three");
        }
        let ids: Vec<StepId> = self.steps().map(|step| step.id).collect();
        let before = ids.iter().take_while(|id| **id != self.at.step);
        let before: Vec<StepId> = before.copied().chain([self.at.step]).collect();
        if let Err(faults) = self.bench.toggle_masks() {
            return self.say_fault("the masks stay", &faults);
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
            Masks::On => self.say_what_changed("the masks are back"),
            _ => self.say_what_changed("the masks are taken away: every query sees every key"),
        }
    }

    /// To a head by its number, a step by its name, or a number by its place.
    fn go_to(&mut self, text: &str) {
        if let Ok(number) = text.parse::<usize>() {
            return self.to_head(number);
        }
        let (name, place) = match text.strip_suffix(']').and_then(|text| text.split_once('[')) {
            Some((name, place)) => (name.trim(), place),
            None => (text, "1,1"),
        };
        let sequence = self.sequence();
        let plan = self.bench.trace().plan();
        let named = name.parse::<StepId>().ok();
        let step = named.and_then(|id| plan.get(id).or_else(|| plan.get(id.in_sequence(sequence))));
        let Some(step) = step else {
            let names: Vec<String> = plan.steps().iter().map(|step| step.id.name.to_string()).collect();
            let near = nearest(name, names.iter().map(String::as_str));
            let hint = near.map_or(String::new(), |near| format!(": did you mean {near}?"));
            return self.say(format!("no step is called {name}{hint}"));
        };
        let (id, (rows, columns)) = (step.id, step.shape);
        let (row, column) = place.split_once(',').unwrap_or((place, "1"));
        let from_one = |text: &str, most: usize| {
            text.trim().parse::<usize>().ok().filter(|number| (1..=most).contains(number))
        };
        let (Some(row), Some(column)) = (from_one(row, rows), from_one(column, columns)) else {
            return self.say(format!(
                "there is no {text}: {id} has {rows} rows and {columns} columns, counted from 1"
            ));
        };
        self.trail.clear();
        self.put(Cell { step: id, row: row - 1, column: column - 1 });
    }

    /// The sequence that the cursor is in; the first chosen one where the step belongs to all.
    fn sequence(&self) -> Option<usize> {
        let chosen = || self.steps().find_map(|step| step.id.sequence);
        self.at.step.sequence.or_else(chosen)
    }
}
