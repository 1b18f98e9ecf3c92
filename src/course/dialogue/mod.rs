//! Teaching a lesson as a dialogue: tell and show, ask before the answer is shown, say what a wrong answer gives away, let
//! people change one thing and run it.
//!
//! ```text
//! parts ──> told until the next question ──> asked (hints, tables, explanations as wanted) ──> told on …
//! ```
//!
//! Everything goes through a [`Console`], so that whole sessions are tested without a terminal.

mod ask;
mod change;
mod command;
pub mod console;
mod feedback;
mod hints;
pub mod keeper;
pub mod setter;
mod task;
#[cfg(test)]
mod tests;
mod whole;

pub use console::{Console, Reply};
pub use keeper::Keeper;
pub use setter::Setter;
pub use whole::whole;

use std::rc::Rc;

use crate::course::Workshop;
use crate::fault::visible;
use crate::lesson::course::Part;
use crate::views::look;
use crate::words::t;

/// A lesson that is being taught.
pub struct Dialogue<'a> {
    workshop: Rc<Workshop>,
    parts: Vec<Part>,
    setter: Setter<'a>,
    keeper: Keeper<'a>,
    console: &'a mut dyn Console,
    /// The lesson as a command names it.
    name: String,
    /// Whether it was said what can be typed beside an answer: once, at the first question.
    has_told_how: bool,
}

/// How a dialogue ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All of it was told.
    Finished,
    /// The person left.
    Left,
    /// With Ctrl-C.
    Interrupted,
}

/// Where a lesson begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// Where it was left.
    Left,
    /// At a question or a task, from 1, and what is told before it.
    Question(usize),
    /// At the beginning, and nothing is done yet.
    Again,
}

/// Where a dialogue goes after a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    On,
    Back,
    End(End),
}

impl<'a> Dialogue<'a> {
    /// A dialogue about a lesson, which `name` is on the command line.
    pub fn new(
        workshop: Workshop,
        name: &str,
        setter: Setter<'a>,
        keeper: Keeper<'a>,
        console: &'a mut dyn Console,
    ) -> Self {
        let parts = workshop.parts();
        let name = name.to_owned();
        Self { workshop: Rc::new(workshop), parts, setter, keeper, console, name, has_told_how: false }
    }

    /// Teaches the lesson.
    pub fn lesson(&mut self, from: From) -> End {
        if from == From::Again {
            let note = self.keeper.forget();
            self.note(note);
        }
        let mut at = match from {
            From::Question(number) => self.section_of(number.saturating_sub(1)),
            From::Left | From::Again => match self.where_it_goes_on() {
                Some(at) => at,
                None => {
                    self.say(&t!("You have done all of this lesson."));
                    self.closing();
                    return End::Finished;
                }
            },
        };
        self.heading();
        if at > 0 && from == From::Left {
            let (done, all) = (self.count_done(), self.stops().len());
            self.say(&t!(
                "You have done %{done} of %{all}; it goes on where you left.",
                done = done,
                all = all
            ));
            self.line();
        }
        while let Some(part) = self.parts.get(at).cloned() {
            let next = match &part {
                Part::Ask(question) => self.question(question, &self.number(at)),
                Part::Task(task) => self.task(task, &self.number(at)),
                other => {
                    let told = self.setter.part(other, &self.workshop);
                    self.console.say(&told);
                    at += 1;
                    continue;
                }
            };
            match next {
                Next::On => {
                    at += 1;
                    let note = self.keeper.leave_at(at);
                    self.note(note);
                }
                Next::Back => {
                    let before = self.stops().iter().filter(|stop| **stop < at).count();
                    at = self.section_of(before.saturating_sub(1));
                }
                Next::End(end) => {
                    let (done, all) = (self.count_done(), self.stops().len());
                    self.line();
                    self.say(&t!(
                        "Until next time: %{done} of %{all} done. mha learn %{name} goes on here.",
                        done = done,
                        all = all,
                        name = self.name
                    ));
                    return end;
                }
            }
        }
        let note = self.keeper.leave_at(self.parts.len());
        self.note(note);
        self.closing();
        End::Finished
    }

    /// Asks questions of the lesson once more, those of these ids.
    pub fn review(&mut self, ids: &[String]) -> End {
        // Whoever is here has answered before.
        self.has_told_how = true;
        self.heading();
        let questions: Vec<_> = self
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Ask(question) if ids.contains(&question.id) => Some(question.clone()),
                _ => None,
            })
            .collect();
        let all = questions.len();
        let mut at = 0;
        while let Some(question) = questions.get(at) {
            let number = t!("Question %{number} of %{all}", number = at + 1, all = all);
            match self.ask(question, &number) {
                Next::On => at += 1,
                Next::Back => at = at.saturating_sub(1),
                Next::End(end) => return end,
            }
        }
        End::Finished
    }

    /// The places of questions and tasks among the parts.
    fn stops(&self) -> Vec<usize> {
        let is_stop = |at: &usize| matches!(self.parts[*at], Part::Ask(_) | Part::Task(_));
        (0..self.parts.len()).filter(is_stop).collect()
    }

    /// Where what is told before a question or a task (from 0) begins.
    fn section_of(&self, stop: usize) -> usize {
        match stop.checked_sub(1) {
            None => 0,
            Some(before) => self.stops().get(before).map_or(self.parts.len(), |at| at + 1),
        }
    }

    /// The part where the lesson goes on: where it was left, or at the first question that is left over.
    fn where_it_goes_on(&self) -> Option<usize> {
        let left = self.keeper.of().left_at;
        if left < self.parts.len() {
            return Some(left);
        }
        let stops = self.stops();
        let is_open = |stop: &usize| !self.is_done(stops[*stop]);
        (0..stops.len()).find(is_open).map(|stop| self.section_of(stop))
    }

    fn is_done(&self, part: usize) -> bool {
        id(&self.parts[part]).is_some_and(|id| self.keeper.done(id).is_some())
    }

    fn count_done(&self) -> usize {
        self.stops().iter().filter(|stop| self.is_done(**stop)).count()
    }

    /// `Question 2 of 7`, or `Task 3 of 7`.
    fn number(&self, part: usize) -> String {
        let stops = self.stops();
        let (number, all) = (stops.iter().filter(|stop| **stop <= part).count(), stops.len());
        match self.parts[part] {
            Part::Task(_) => t!("Task %{number} of %{all}", number = number, all = all),
            _ => t!("Question %{number} of %{all}", number = number, all = all),
        }
    }

    fn heading(&mut self) {
        let problem = self.workshop.problem();
        let (title, summary, source) =
            (problem.title.clone(), problem.summary.clone(), problem.source.clone());
        self.console.say(&look::title(&visible(&title), &self.setter.page));
        let summary = self.setter.say(&summary, &self.workshop);
        self.console.say(&summary);
        if !source.is_empty() {
            self.say(&t!("Source: %{source}", source = source));
        }
        self.line();
    }

    /// What was done, and what is left over.
    fn closing(&mut self) {
        let (done, all) = (self.count_done(), self.stops().len());
        if all == 0 {
            return;
        }
        let at_once = self.keeper.of().done.values().filter(|done| done.tries == 1 && !done.revealed).count();
        self.say(&t!(
            "%{done} of %{all} done, %{at_once} of them at the first try.",
            done = done,
            all = all,
            at_once = at_once.min(done)
        ));
        match done < all {
            true => self.say(&t!("mha learn %{name} asks what is left over.", name = self.name)),
            false => self.say(&t!(
                "mha learn review asks again when a question is due; mha learn %{name} --again starts over.",
                name = self.name
            )),
        }
    }

    /// Says words, broken into lines.
    fn say(&mut self, words: &str) {
        let text = self.setter.words(words);
        self.console.say(&text);
    }

    /// Says words behind a mark.
    fn item(&mut self, mark: &str, words: &str) {
        let text = self.setter.item(mark, words);
        self.console.say(&text);
    }

    fn note(&mut self, note: Option<String>) {
        if let Some(note) = note {
            self.say(&note);
        }
    }

    fn line(&mut self) {
        self.console.say("\n");
    }
}

/// The name of a question or a task in the file of progress.
pub fn id(part: &Part) -> Option<&str> {
    match part {
        Part::Ask(question) => Some(&question.id),
        Part::Task(task) => Some(&task.id),
        _ => None,
    }
}
