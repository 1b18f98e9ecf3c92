//! Predict before it is revealed: one question, until it is answered, skipped or left.

use std::rc::Rc;

use super::command::{self, Command};
use super::feedback::{self, Judged};
use super::{Dialogue, End, Next, Reply, hints};
use crate::course::answer;
use crate::course::{Ran, Right, Workshop};
use crate::fault::{Faults, nearest};
use crate::lesson::course::{Part, Shown};
use crate::lesson::{Answer, Question};
use crate::plan::StepId;
use crate::trace::Cell;
use crate::views::derivation::Derivation;
use crate::views::look;
use crate::words::t;

/// After so many wrong answers it is said again that there are hints.
const TRIES: u32 = 2;

impl Dialogue<'_> {
    /// A question in its lesson: one that is done is told with its answer, and not asked again.
    pub(super) fn question(&mut self, question: &Question, number: &str) -> Next {
        if self.keeper.done(&question.id).is_none() {
            return self.ask(question, number);
        }
        self.put(question, number);
        match self.workshop.right(question) {
            Ok(right) => {
                let told = t!("Answered already: %{answer}", answer = self.answer(&right, question));
                self.item("✓", &told);
                self.because(&question.because);
                self.line();
            }
            Err(faults) => self.faults(&faults),
        }
        Next::On
    }

    /// Asks until it is answered, skipped or left.
    pub(super) fn ask(&mut self, question: &Question, number: &str) -> Next {
        self.put(question, number);
        let right = match self.workshop.right(question) {
            Ok(right) => right,
            Err(faults) => {
                self.faults(&faults);
                return Next::On;
            }
        };
        if !std::mem::replace(&mut self.has_told_how, true) {
            self.say(&t!("Type an answer. hint helps, skip goes on, ? tells all that can be typed."));
        }
        let layers = hints::layers(question, &self.workshop, self.setter.page.digits);
        let (mut tries, mut given) = (0u32, 0usize);
        loop {
            let line = match self.console.ask("> ") {
                Reply::Line(line) => line,
                Reply::End => return Next::End(End::Left),
                Reply::Interrupted => return Next::End(End::Interrupted),
            };
            // A choice may be called as a command is.
            let is_a_choice = feedback::choices(question).iter().any(|choice| *choice == line.trim());
            match Command::read(&line).filter(|_| !is_a_choice) {
                None => {
                    match feedback::judge(&line, question, &right, &self.workshop, self.setter.page.digits) {
                        Judged::Right => {
                            let told = t!("Right: %{answer}", answer = self.answer(&right, question));
                            self.good(&told);
                            self.finish(&question.id, &question.because, tries + 1, given, false);
                            return Next::On;
                        }
                        Judged::Rounded => {
                            let answer = self.answer(&right, question);
                            self.good(&t!("Right but for rounding: it is %{answer}", answer = answer));
                            self.finish(&question.id, &question.because, tries + 1, given, false);
                            return Next::On;
                        }
                        Judged::TooFewDigits => {
                            self.item("≈", &t!("That is close. Give more digits: at least two that are not leading zeros."));
                        }
                        Judged::Wrong(said) => {
                            tries = tries.saturating_add(1);
                            self.bad(&t!("No, that is not it."));
                            for paragraph in said {
                                self.say(&paragraph);
                            }
                            if tries % TRIES == 0 {
                                self.say(&t!("hint helps; skip goes on without an answer."));
                            }
                        }
                        Judged::Unreadable(answer::Unreadable::Empty) => {
                            self.say(&t!(
                                "Type an answer. hint helps, skip goes on, ? tells all that can be typed."
                            ));
                        }
                        Judged::Unreadable(why) => {
                            self.item("?", &why.to_string());
                            self.say(&feedback::forms(&right));
                        }
                    }
                }
                Some(Command::Hint) => match layers.get(given) {
                    Some(layer) => {
                        given += 1;
                        self.hint(layer);
                        if given == layers.len() {
                            self.say(&t!("The next hint is the answer."));
                        }
                    }
                    None if layers.is_empty() && given == 0 => {
                        given = 1;
                        self.say(&t!("There are no hints for this one. The next hint is the answer."));
                    }
                    None => {
                        let told = t!("The answer: %{answer}", answer = self.answer(&right, question));
                        self.item("→", &told);
                        self.finish(&question.id, &question.because, tries, given, true);
                        return Next::On;
                    }
                },
                Some(Command::Explain(cell)) if cell.is_empty() => {
                    let told = layers.last().cloned();
                    match told {
                        Some(told) => {
                            given = layers.len();
                            self.hint(&told);
                        }
                        None => self.say(&t!("There is no arithmetic to explain here.")),
                    }
                }
                Some(Command::Explain(cell)) => {
                    let workshop = Rc::clone(&self.workshop);
                    self.explain(&cell, &workshop, Some(question));
                }
                Some(Command::Show(step)) => {
                    let workshop = Rc::clone(&self.workshop);
                    self.show(&step, &workshop, Some(question));
                }
                Some(Command::Skip) => {
                    self.say(&t!("Skipped: it stays open."));
                    self.line();
                    return Next::On;
                }
                Some(Command::Back) => return Next::Back,
                Some(Command::Quit) => return Next::End(End::Left),
                Some(Command::Undo | Command::Reset) => {
                    self.say(&t!("There is nothing to undo at a question."));
                }
                Some(Command::Help) => {
                    self.say(&feedback::forms(&right));
                    for line in command::of_questions() {
                        self.item("•", &line);
                    }
                }
            }
        }
    }

    /// A hint: its first line behind an arrow, the others below.
    fn hint(&mut self, hint: &str) {
        for (at, line) in hint.lines().enumerate() {
            self.item(if at == 0 { "→" } else { " " }, line);
        }
    }

    /// The question and its choices.
    fn put(&mut self, question: &Question, number: &str) {
        self.console.say(&format!("{}\n", look::name(&self.setter.page.letters(number))));
        let ask = self.setter.say(&question.ask, &self.workshop);
        self.console.say(&ask);
        let choices = feedback::choices(question);
        for (at, choice) in choices.iter().enumerate() {
            let label = label(at, choices);
            let choice = self.workshop.filled(choice, self.setter.page.digits);
            self.item(&format!("  {label}"), &choice);
        }
    }

    /// Notes that a question or a task is done, and says why its answer is what it is.
    pub(super) fn finish(&mut self, id: &str, because: &str, tries: u32, given: usize, revealed: bool) {
        self.because(because);
        let hints = u32::try_from(given).unwrap_or(u32::MAX);
        let note = self.keeper.finish(id, tries, hints, revealed);
        self.note(note);
        self.line();
    }

    pub(super) fn because(&mut self, because: &str) {
        if !because.is_empty() {
            let because = self.setter.say(because, &self.workshop);
            self.console.say(&because);
        }
    }

    pub(super) fn good(&mut self, words: &str) {
        let text = self.setter.item("✓", words);
        self.console.say(&look::right(&text));
    }

    pub(super) fn bad(&mut self, words: &str) {
        let text = self.setter.item("✗", words);
        self.console.say(&look::wrong(&text));
    }

    pub(super) fn faults(&mut self, faults: &Faults) {
        let text = self.setter.faults(faults);
        self.console.say(&text);
    }

    fn answer(&self, right: &Right, question: &Question) -> String {
        let answer = feedback::answer(right, question, self.setter.page.digits);
        self.workshop.filled(&answer, self.setter.page.digits)
    }

    /// Shows a step's table, as long as it does not give away the answer to `question`; without a name, says which can
    /// be shown.
    pub(super) fn show(&mut self, name: &str, workshop: &Workshop, question: Option<&Question>) {
        let (name, run) = match name.split_once('@') {
            Some((name, run)) => (name.trim(), Some(run.trim().to_owned())),
            None => (name, None),
        };
        let ran = match workshop.ran(run.as_deref()) {
            Ok(ran) => ran,
            Err(faults) => return self.faults(&faults),
        };
        if name.is_empty() {
            let names: Vec<String> = ran
                .plan
                .steps()
                .iter()
                .filter(|step| question.is_none_or(|question| self.may_show(step.id, None, question, &ran)))
                .map(|step| step.id.to_string())
                .collect();
            return self.say(&t!("Can be shown: %{names}", names = names.join(", ")));
        }
        let ids = match name.parse::<StepId>() {
            Ok(id) => ran.sheets(id),
            Err(_) => Vec::new(),
        };
        if ids.is_empty() {
            let names: Vec<String> = ran.plan.steps().iter().map(|step| step.id.to_string()).collect();
            let near = nearest(name, names.iter().map(String::as_str)).unwrap_or("x");
            return self.say(&t!(
                "No step is called %{name}. Did you mean %{near}?",
                name = name,
                near = near
            ));
        }
        for step in ids {
            if question.is_some_and(|question| !self.may_show(step, run.as_deref(), question, &ran)) {
                self.say(&t!("%{step} would give the answer away.", step = step));
                continue;
            }
            match self.setter.step(&Shown { step, run: run.clone() }, workshop) {
                Ok(table) => self.console.say(&table),
                Err(faults) => self.faults(&faults),
            }
        }
    }

    /// Derives a number of the lesson, as long as it does not give away the answer.
    pub(super) fn explain(&mut self, cell: &str, workshop: &Workshop, question: Option<&Question>) {
        let ran = match workshop.ran(None) {
            Ok(ran) => ran,
            Err(faults) => return self.faults(&faults),
        };
        let found = cell.parse::<crate::lesson::Quantity>().ok().and_then(|quantity| quantity.cell());
        let Some((step, row, column)) = found else {
            return self.say(&t!("Name one number, such as head.1.scores[1,2]."));
        };
        let cell = Cell { step: ran.placed(step), row, column };
        let Some(value) = ran.trace.cell(cell) else {
            return self.say(&t!("There is no number %{cell}.", cell = cell));
        };
        if question.is_some_and(|question| !self.may_show(cell.step, None, question, &ran)) {
            return self.say(&t!("%{step} would give the answer away.", step = cell));
        }
        let digits = self.setter.page.digits;
        match Derivation::of(&ran.trace, cell, digits) {
            None => {
                let number = crate::number::number(value, digits);
                self.say(&t!("%{cell} = %{number}, as the lesson gives it.", cell = cell, number = number));
            }
            Some(derivation) => {
                self.say(&cell.to_string());
                if let Some((names, number)) = &derivation.largest {
                    let told = t!("m = %{names} = %{number}, the largest", names = names, number = number);
                    self.item("   ", &told);
                }
                for line in &derivation.lines {
                    self.item("  =", line);
                }
            }
        }
    }

    /// Whether a step's numbers give nothing away: they were given or told before, or stand before all that the answer is
    /// read from.
    fn may_show(&self, step: StepId, run: Option<&str>, question: &Question, ran: &Ran) -> bool {
        let is_given = ran.plan.get(step).is_some_and(|step| step.inputs.is_empty());
        is_given || self.was_told(step, run, question) || stands_before(step, question, ran)
    }

    /// Whether a part before the question shows the step.
    fn was_told(&self, step: StepId, run: Option<&str>, question: &Question) -> bool {
        let is_it = |part: &Part| matches!(part, Part::Ask(other) if other.id == question.id);
        self.parts.iter().take_while(|part| !is_it(part)).any(|part| match part {
            Part::Show { steps, .. } => steps
                .iter()
                .filter(|shown| shown.run.as_deref() == run)
                .any(|shown| self.workshop.ran(run).is_ok_and(|ran| ran.sheets(shown.step).contains(&step))),
            _ => false,
        })
    }
}

/// Whether a step comes before all steps that the answer is read from; `false` where nobody knows which those are.
fn stands_before(step: StepId, question: &Question, ran: &Ran) -> bool {
    let read: Vec<StepId> = match &question.answer {
        Answer::Cell(id, ..) | Answer::Shape(id) => vec![*id],
        Answer::Value(quantity) | Answer::Computed(_, quantity) => {
            quantity.steps().iter().map(|(id, _)| *id).collect()
        }
        Answer::Choice(..) => Vec::new(),
    };
    let place = |id: &StepId| ran.sheets(*id).iter().filter_map(|id| ran.plan.place(*id)).min();
    let first = read.iter().filter_map(place).min();
    match (ran.plan.place(step), first) {
        (Some(step), Some(first)) => step < first,
        _ => false,
    }
}

/// What a choice is labelled with: a number, or a letter where the choices are numbers themselves.
pub(super) fn label(at: usize, choices: &[String]) -> String {
    let letter = u8::try_from(at).ok().filter(|at| *at < 26).map(|at| char::from(b'a' + at));
    match letter {
        Some(letter) if answer::are_numbers(choices) => format!("{letter})"),
        _ => format!("{})", at + 1),
    }
}
