//! Change one thing and run it: a task, until what it asks for holds.

use std::rc::Rc;

use serde_yaml::Value;

use super::command::{self, Command};
use super::{Dialogue, End, Next, Reply, change};
use crate::course::Workshop;
use crate::fault::{Faults, Outcome};
use crate::lesson::Quantity;
use crate::lesson::course::{Shown, Task};
use crate::lesson::quantity::Kind;
use crate::number::{digits_for, number, plain};
use crate::views::look;
use crate::words::t;

/// So many changed numbers are told one by one.
const TOLD: usize = 6;

impl Dialogue<'_> {
    /// A task in its lesson.
    pub(super) fn task(&mut self, task: &Task, number: &str) -> Next {
        self.console.say(&format!("{}\n", look::name(&self.setter.page.letters(number))));
        let ask = self.setter.say(&task.ask, &self.workshop);
        self.console.say(&ask);
        if self.keeper.done(&task.id).is_some() {
            self.item("✓", &t!("Done already."));
            self.because(&task.because);
            return Next::On;
        }
        let (keys, example) = (task.change.join(", "), change::example(&task.change));
        self.say(&t!("You may change %{keys}. Type a change as %{example}", keys = keys, example = example));
        let present = change::present(&task.change, self.workshop.problem());
        if !present.is_empty() {
            self.say(&t!("As it is now:"));
            for line in present {
                self.item("   ", &line);
            }
        }
        // Every change with all before it: the last is what holds now.
        let mut changes = vec![(Value::Null, Rc::clone(&self.workshop))];
        let (mut tries, mut given) = (0u32, 0usize);
        loop {
            let line = match self.console.ask("> ") {
                Reply::Line(line) => line,
                Reply::End => return Next::End(End::Left),
                Reply::Interrupted => return Next::End(End::Interrupted),
            };
            let Some(now) = changes.last().cloned() else { return Next::On };
            match Command::read(&line) {
                None if line.trim().is_empty() => {
                    self.say(&t!("Type a change. hint helps, skip goes on, ? tells all that can be typed."));
                }
                None => match self.change(&line, task, &now) {
                    Err(faults) => self.faults(&faults),
                    Ok(new) => {
                        tries = tries.saturating_add(1);
                        let told = self.watched(task, &now.1, &new.1);
                        self.console.say(&told);
                        if self.reaches(task, &new.1) {
                            self.good(&t!("Reached."));
                            self.finish(&task.id, &task.because, tries, given, false);
                            return Next::On;
                        }
                        if changes.len() == 1 {
                            self.say(&t!(
                                "Not yet. What you change next comes on top of it; undo takes it back."
                            ));
                        }
                        changes.push(new);
                    }
                },
                Some(Command::Undo | Command::Reset) if changes.len() == 1 => {
                    self.say(&t!("Nothing is changed yet."));
                }
                Some(Command::Undo) => {
                    changes.pop();
                    self.tell_what_holds(changes.last().map(|(change, _)| change), task);
                }
                Some(Command::Reset) => {
                    changes.truncate(1);
                    self.tell_what_holds(None, task);
                }
                Some(Command::Hint) => match task.hints.get(given) {
                    Some(hint) => {
                        let hint = self.workshop.filled(hint, self.setter.page.digits);
                        given += 1;
                        self.item("→", &hint);
                        if given == task.hints.len() {
                            self.say(&t!("The next hint is a solution."));
                        }
                    }
                    None if given == 0 => {
                        given = 1;
                        self.say(&t!("There are no hints for this one. The next hint is a solution."));
                    }
                    None => {
                        self.solve(task);
                        self.finish(&task.id, &task.because, tries, given, true);
                        return Next::On;
                    }
                },
                Some(Command::Show(step)) => self.show(&step, &now.1, None),
                Some(Command::Explain(cell)) => self.explain(&cell, &now.1, None),
                Some(Command::Skip) => {
                    self.say(&t!("Skipped: it stays open."));
                    self.line();
                    return Next::On;
                }
                Some(Command::Back) => return Next::Back,
                Some(Command::Quit) => return Next::End(End::Left),
                Some(Command::Help) => {
                    for line in command::of_tasks() {
                        self.item("•", &line);
                    }
                }
            }
        }
    }
}

impl Dialogue<'_> {
    /// A change that was typed, with all before it, and the lesson changed so and computed.
    fn change(&self, line: &str, task: &Task, now: &(Value, Rc<Workshop>)) -> Outcome<(Value, Rc<Workshop>)> {
        let (path, new) = change::read(line, &task.change, now.1.problem()).map_err(Faults::from)?;
        let whole = change::with(now.0.clone(), &path, new);
        let changed = self.workshop.changed(&whole)?.rested();
        changed.ran(None)?;
        Ok((whole, Rc::new(changed)))
    }

    /// The tables that the task watches after a change, and which of their numbers it changed.
    fn watched(&self, task: &Task, before: &Workshop, after: &Workshop) -> String {
        let mut text = String::new();
        for shown in &task.watch {
            match self.setter.step(shown, after) {
                Ok(table) => text.push_str(&table),
                Err(faults) => text.push_str(&self.setter.faults(&faults)),
            }
            text.push_str(&self.setter.words(&changed(shown, before, after, self.setter.page.digits)));
        }
        text
    }

    /// Tells what each check comes to; whether all of them hold.
    fn reaches(&mut self, task: &Task, workshop: &Workshop) -> bool {
        let mut reached = true;
        for check in &task.checks {
            let (holds, told) = match check.truth(workshop) {
                Ok(holds) => (holds, values(check, workshop, self.setter.page.digits)),
                Err(why) => (false, why),
            };
            reached &= holds;
            let told = if told.is_empty() { check.text.clone() } else { format!("{}: {told}", check.text) };
            if holds { self.good(&told) } else { self.bad(&told) }
        }
        reached
    }

    fn solve(&mut self, task: &Task) {
        self.item("→", &t!("A solution:"));
        for line in change::lines(&task.solution, &task.change) {
            self.item("   ", &line);
        }
        match self.workshop.changed(&task.solution) {
            Ok(solved) => {
                let told = self.watched(task, &Rc::clone(&self.workshop), &solved);
                self.console.say(&told);
                self.reaches(task, &solved);
            }
            Err(faults) => self.faults(&faults),
        }
    }

    /// What is changed now, in lines that could be typed.
    fn tell_what_holds(&mut self, change: Option<&Value>, task: &Task) {
        let change = change.filter(|change| !change.is_null());
        let lines = change.map(|change| change::lines(change, &task.change)).unwrap_or_default();
        if lines.is_empty() {
            return self.say(&t!("The lesson is as it was."));
        }
        self.say(&t!("Changed now:"));
        for line in lines {
            self.item("   ", &line);
        }
    }
}

/// What a check's sides come to, where they are no bare numbers: `head.1.weights[3,3] is 0.5035`.
fn values(check: &Quantity, workshop: &Workshop, digits: usize) -> String {
    let sides = check.text.split(['<', '>', '=', '!']).flat_map(|side| side.split(" and "));
    let told = sides.filter_map(|side| {
        let side: Quantity = side.parse().ok()?;
        if side.kind() != Kind::Number || side.steps().is_empty() {
            return None;
        }
        let value = side.number(workshop).ok()?;
        Some(t!("%{what} is %{value}", what = side.text, value = plain(value, digits)))
    });
    told.collect::<Vec<_>>().join(", ")
}

/// Which numbers of a step another lesson has changed, and how.
fn changed(shown: &Shown, before: &Workshop, after: &Workshop, digits: usize) -> String {
    let run = shown.run.as_deref();
    let (Ok(old), Ok(new)) = (before.ran(run), after.ran(run)) else { return String::new() };
    let mut told = Vec::new();
    let mut count = 0;
    for id in new.sheets(shown.step) {
        let (Some(is), Some(was)) = (new.view(id), old.view(id)) else { continue };
        if is.shape() != was.shape() {
            return t!("Changed: %{step} has another shape.", step = shown.step);
        }
        let digits = digits_for(is.iter().chain(was.iter()), digits);
        for (row, column) in (0..is.nrows()).flat_map(|row| (0..is.ncols()).map(move |column| (row, column)))
        {
            let (was, is) = (number(was[(row, column)], digits), number(is[(row, column)], digits));
            if was == is {
                continue;
            }
            count += 1;
            if told.len() < TOLD {
                told.push(format!("{id}[{},{}] {was} → {is}", row + 1, column + 1));
            }
        }
    }
    match (count, count - told.len()) {
        (0, _) => t!("Nothing that can be seen here has changed."),
        (_, 0) => t!("Changed: %{numbers}.", numbers = told.join("; ")),
        (_, more) => t!("Changed: %{numbers}, and %{more} more.", numbers = told.join("; "), more = more),
    }
}
