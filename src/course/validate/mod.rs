//! Whether a lesson is true: everything it speaks of is there, every claim is what comes out, every question has an
//! answer, every task can be done.

mod claims;
mod parts;
mod questions;
mod tasks;

use std::collections::{HashMap, HashSet};

use super::command::Runner;
use super::workshop::{Workshop, no_run};
use crate::fault::{Fault, Faults};
use crate::lesson::course::{Part, Shown};
use crate::lesson::quantity::Amount;
use crate::lesson::{Listed, Piece, Quantity, Said, pieces};
use crate::plan::StepId;

/// What a lesson says that was computed and found true.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tally {
    /// Claims.
    pub claims: usize,
    /// Answers of questions.
    pub answers: usize,
    /// Sentences of the story and paragraphs of the course.
    pub sentences: usize,
    /// Tables of figures.
    pub tables: usize,
    /// Plots.
    pub plots: usize,
    /// Tasks.
    pub tasks: usize,
    /// Commands.
    pub commands: usize,
    /// Runs.
    pub runs: usize,
}

/// What became of checking a lesson.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    /// What was found true.
    pub tally: Tally,
    /// What is false or cannot be computed, in the order of the file, each with line and column.
    pub faults: Vec<Fault>,
}

/// A fault, and the path of the value that it is about: `course[3].ask`.
type Found = Vec<(Fault, String)>;

/// How much of a lesson is checked.
#[derive(Clone, Copy)]
pub enum Scope<'a> {
    /// All of it; commands are run by this.
    All(&'a Runner<'a>),
    /// Its texts alone: those of another language, where the rest is the same.
    Texts,
}

/// Checks what a lesson says; `source` is the file's name.
pub fn check(workshop: &Workshop, source: &str, scope: Scope<'_>) -> Verdict {
    let problem = workshop.problem();
    let mut check = Check { workshop, scope, found: Vec::new(), failed: HashSet::new() };
    check.runs();
    for (index, saying) in problem.story.iter().enumerate() {
        check.step(&Shown { step: saying.at, run: None }, &format!("story[{}].at", index + 1));
        check.sentence(&saying.say, &format!("story[{}].say", index + 1));
    }
    for (index, claim) in problem.claims.iter().enumerate() {
        let path = format!("claims[{}]", index + 1);
        match &claim.said {
            Said::Numbers(listed) => check.listed(listed, &path),
            Said::That(quantity) => check.holds(quantity, &format!("{path}.that"), "the lesson claims"),
        }
    }
    for (index, part) in problem.course.parts.iter().enumerate() {
        check.part(part, &format!("course[{}]", index + 1));
    }
    for (index, question) in problem.quiz.iter().enumerate() {
        check.question(question, &format!("quiz[{}]", index + 1));
    }
    check.doubled_ids();
    let count = |wanted: fn(&Part) -> bool| problem.course.parts.iter().filter(|part| wanted(part)).count();
    let tally = Tally {
        claims: problem.claims.len(),
        answers: problem.quiz.len() + count(|part| matches!(part, Part::Ask(_))),
        sentences: problem.story.len() + count(|part| matches!(part, Part::Say(_))),
        tables: count(|part| matches!(part, Part::Table(_))),
        plots: count(|part| matches!(part, Part::Plot(_))),
        tasks: count(|part| matches!(part, Part::Task(_))),
        commands: count(|part| matches!(part, Part::Command(_))),
        runs: problem.course.runs.len(),
    };
    Verdict { tally, faults: problem.told(source, check.found) }
}

struct Check<'a> {
    workshop: &'a Workshop,
    scope: Scope<'a>,
    found: Found,
    /// Runs that cannot be computed: that is said once, where they stand.
    failed: HashSet<String>,
}

impl Check<'_> {
    fn fault(&mut self, path: &str, fault: Fault) {
        let found = (fault, path.to_owned());
        if !self.found.contains(&found) {
            self.found.push(found);
        }
    }

    fn faults(&mut self, path: &str, Faults(faults): Faults, before: &str) {
        for fault in faults {
            let what = if before.is_empty() { fault.what } else { format!("{before}: {}", fault.what) };
            // the place in a change is no place in the file
            let what = match fault.place.filter(|place| !place.path.is_empty() && !what.contains(&place.path))
            {
                Some(place) => format!("{what} ({})", place.path),
                None => what,
            };
            self.fault(path, Fault::new(what, fault.why, fault.remedy));
        }
    }

    fn runs(&mut self) {
        for run in &self.workshop.problem().course.runs {
            if let Err(faults) = self.workshop.ran(Some(&run.name)) {
                self.failed.insert(run.name.clone());
                let from_failed = run.from.as_ref().is_some_and(|from| self.failed.contains(from));
                if !from_failed {
                    let before = format!("the run {} cannot be computed", run.name);
                    self.faults(&format!("runs.{}", run.name), faults, &before);
                }
            }
        }
    }

    /// Notes questions and tasks of one name: progress could not tell them apart.
    fn doubled_ids(&mut self) {
        let problem = self.workshop.problem();
        let in_parts = problem.course.parts.iter().enumerate().filter_map(|(index, part)| match part {
            Part::Ask(question) => Some((question.id.as_str(), format!("course[{}]", index + 1))),
            Part::Task(task) => Some((task.id.as_str(), format!("course[{}]", index + 1))),
            _ => None,
        });
        let in_quiz = problem.quiz.iter().enumerate();
        let in_quiz = in_quiz.map(|(index, question)| (question.id.as_str(), format!("quiz[{}]", index + 1)));
        let mut seen: HashMap<&str, String> = HashMap::new();
        for (id, path) in in_parts.chain(in_quiz) {
            match seen.get(id) {
                None => {
                    seen.insert(id, path);
                }
                Some(first) => {
                    let what = format!("{path} is called {id}, as {first} is");
                    let why =
                        "progress is kept by these names; without one, the words of a question are its name";
                    let remedy = "give one of the two an id of its own: id: scale-2";
                    self.fault(&path, Fault::new(what, why, remedy));
                }
            }
        }
    }

    /// Whether a run is there and can be computed; that it is not there is noted, that it cannot be is noted already.
    fn is_run(&mut self, run: Option<&str>, path: &str) -> bool {
        let Some(name) = run else { return true };
        let runs = &self.workshop.problem().course.runs;
        if runs.iter().any(|run| run.name == name) {
            return !self.failed.contains(name);
        }
        let faults = no_run(name, runs.iter().map(|run| run.name.as_str()).collect());
        self.faults(path, faults, "");
        false
    }

    fn step(&mut self, shown: &Shown, path: &str) {
        if !self.is_run(shown.run.as_deref(), path) {
            return;
        }
        let Ok(ran) = self.workshop.ran(shown.run.as_deref()) else { return };
        if let Err(why) = ran.shape(shown.step) {
            let what = match &shown.run {
                None => format!("this lesson has no step {}", shown.step),
                Some(run) => format!("the run {run} has no step {}", shown.step),
            };
            let remedy = why.split_once("; ").map_or("", |(_, near)| near);
            let remedy = match remedy {
                "" => "run mha trace --summary on the lesson to see its steps".to_owned(),
                near => near.to_owned(),
            };
            let why = "a step is there only where the attention call needs it";
            self.fault(path, Fault::new(what, why, remedy));
        }
    }

    /// Whether all runs that an expression speaks of are there.
    fn runs_of(&mut self, quantity: &Quantity, path: &str) -> bool {
        let mut all = true;
        for run in quantity.runs() {
            all &= self.is_run(Some(run), path);
        }
        all
    }

    /// What an expression comes to, where it can be computed; if not, that is noted.
    fn amount(&mut self, quantity: &Quantity, path: &str) -> Option<Amount> {
        if !self.runs_of(quantity, path) {
            return None;
        }
        match self.workshop.amount(quantity) {
            Ok(amount) => Some(amount),
            Err(why) => {
                let what = format!("{quantity} cannot be computed: {why}");
                let remedy = "`mha trace --summary` of the lesson lists its steps with their shapes";
                self.fault(path, Fault::new(what, "", remedy));
                None
            }
        }
    }

    fn number(&mut self, quantity: &Quantity, path: &str) {
        match self.amount(quantity, path) {
            None | Some(Amount::Number(_)) => {}
            Some(_) => {
                let what = format!("{quantity} is no single number");
                let remedy = "name a cell, head.1.scores[1,3], or a function of several: mean(…)";
                self.fault(path, Fault::new(what, "one number can stand here", remedy));
            }
        }
    }

    fn sentence(&mut self, text: &str, path: &str) {
        for piece in pieces(text) {
            match piece {
                Piece::Text(_) => {}
                Piece::Cell(step, row, column) => {
                    let listed = Listed {
                        step,
                        run: None,
                        row: Some(row),
                        column: Some(column),
                        equals: Vec::new(),
                        tolerance: 0.0,
                    };
                    if let Some(fault) = self.no_cell(&listed) {
                        self.fault(path, fault);
                    }
                }
                Piece::Amount(quantity, _) => self.number(&quantity, path),
            }
        }
    }
}

fn no_step(id: StepId) -> Fault {
    Fault::new(
        format!("this lesson has no step {id}"),
        "a step is there only where the attention call needs it",
        "run mha trace --summary on the lesson to see its steps",
    )
}
