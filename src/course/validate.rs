//! Whether a lesson is true: everything it speaks of is there, every claim is what comes out, every question has an
//! answer, every task can be done.

use std::collections::HashSet;

use nalgebra::DMatrix;
use serde_yaml::Value;

use super::command::{self, Runner};
use super::slips::same;
use super::workshop::{Right, Workshop, no_run};
use crate::fault::{Fault, Faults};
use crate::lesson::course::{Figure, Part, Shown, Task};
use crate::lesson::quantity::{Amount, Holds};
use crate::lesson::{Listed, Piece, Quantity, Question, Said, SlipAnswer, pieces};
use crate::mistakes::named;
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

    /// What is wrong with the place of claimed numbers.
    fn no_cell(&self, listed: &Listed) -> Option<Fault> {
        let id = listed.step;
        let Ok((rows, columns)) = self.workshop.ran(listed.run.as_deref()).ok()?.shape(id) else {
            return Some(no_step(id));
        };
        let (row, column) = (listed.row.unwrap_or(0), listed.column.unwrap_or(0));
        (row >= rows || column >= columns).then(|| {
            Fault::new(
                format!("{id} has no cell [{},{}]", row + 1, column + 1),
                format!("it is {rows} × {columns}"),
                "rows and columns count from 1",
            )
        })
    }

    fn listed(&mut self, claim: &Listed, path: &str) {
        let path = format!("{path}.equals");
        if !self.is_run(claim.run.as_deref(), &path) {
            return;
        }
        if let Some(fault) = self.no_cell(claim) {
            return self.fault(&path, fault);
        }
        let Ok(ran) = self.workshop.ran(claim.run.as_deref()) else { return };
        let Ok(value) = ran.value(claim.step) else { return };
        if let Some(fault) = untrue(claim, &value) {
            self.fault(&path, fault);
        }
    }

    /// Notes a comparison that does not hold.
    fn holds(&mut self, quantity: &Quantity, path: &str, who: &str) {
        if !self.runs_of(quantity, path) {
            return;
        }
        match quantity.holds(self.workshop) {
            Ok(Holds::Yes) => {}
            Ok(Holds::No(failure)) => {
                let what = format!("{who} {quantity}, but {failure}");
                self.fault(path, Fault::new(what, "", "mend the claim, or the numbers it follows from"));
            }
            Err(why) => {
                let what = format!("{quantity} cannot be computed: {why}");
                self.fault(path, Fault::new(what, "", "a comparison is true or false: entropy(weights) < 1"));
            }
        }
    }

    fn part(&mut self, part: &Part, path: &str) {
        match part {
            Part::Say(text) => self.sentence(text, &format!("{path}.say")),
            Part::Show { steps, .. } => {
                let many = steps.len() > 1;
                for (index, shown) in steps.iter().enumerate() {
                    let item = if many { format!("[{}]", index + 1) } else { String::new() };
                    self.step(shown, &format!("{path}.show{item}"));
                }
            }
            Part::Ask(question) => self.question(question, path),
            Part::Task(task) => self.task(task, path),
            Part::Table(figures) => {
                let path = format!("{path}.table");
                for text in [&figures.title, &figures.source].into_iter().chain(&figures.columns) {
                    self.sentence(text, &path);
                }
                for (r, row) in figures.rows.iter().enumerate() {
                    for (c, cell) in row.iter().enumerate() {
                        let path = format!("{path}.rows[{}][{}]", r + 1, c + 1);
                        match cell {
                            Figure::Words(text) => self.sentence(text, &path),
                            Figure::Computed(quantity) => self.number(quantity, &path),
                        }
                    }
                }
            }
            Part::Plot(plot) => {
                let path = format!("{path}.plot");
                self.sentence(&plot.title, &format!("{path}.title"));
                let runs = plot.lines.iter().enumerate().fold(true, |all, (index, line)| {
                    self.sentence(&line.label, &format!("{path}.lines[{}].label", index + 1));
                    self.runs_of(&line.value, &format!("{path}.lines[{}].value", index + 1)) && all
                });
                if !runs || matches!(self.scope, Scope::Texts) {
                    return;
                }
                match self.workshop.drawn(plot) {
                    Err((key, faults)) => {
                        self.faults(&format!("{path}.{key}"), faults, "the plot cannot be drawn");
                    }
                    Ok(curves) if plot.log[1] && curves.iter().flatten().any(|(_, y)| *y <= 0.0) => {
                        let what = "a curve comes to 0 or less, on a logarithmic axis";
                        let remedy = "leave log_y out";
                        self.fault(&path, Fault::new(what, "only numbers above 0 have a logarithm", remedy));
                    }
                    Ok(_) => {}
                }
            }
            Part::Command(shown) => {
                let (lines, path) = (format!("{path}.lines"), format!("{path}.command"));
                let output = match (command::allowed(shown), self.scope) {
                    (Err(fault), _) => return self.fault(&path, fault),
                    (Ok(_), Scope::Texts) => return,
                    (Ok(words), Scope::All(run)) => run(words),
                };
                match output {
                    Err(why) => {
                        let what = format!("{} cannot be run: {why}", shown.words.join(" "));
                        self.fault(&path, Fault::new(what, "", "type it into a shell, and mend it there"));
                    }
                    Ok(output) => {
                        let there = output.lines().count();
                        if let Some([from, to]) = shown.lines.filter(|[_, to]| *to > there) {
                            let what = format!("lines {from} to {to} are to be shown, but it prints {there}");
                            self.fault(&lines, Fault::new(what, "", "name lines that are there"));
                        }
                    }
                }
            }
            Part::Time(timing) => {
                for (index, (label, run)) in timing.runs.iter().enumerate() {
                    let path = format!("{path}.time.runs[{}]", index + 1);
                    self.sentence(label, &path);
                    self.is_run(run.as_deref(), &path);
                }
            }
        }
    }

    fn question(&mut self, question: &Question, path: &str) {
        self.sentence(&question.ask, &format!("{path}.ask"));
        self.sentence(&question.because, &format!("{path}.because"));
        let hints = &question.hints;
        for text in [&hints.hint, &hints.place, &hints.why].into_iter().flatten() {
            self.sentence(text, &format!("{path}.hints"));
        }
        let key = match &question.answer {
            crate::lesson::Answer::Cell(..) => "cell",
            crate::lesson::Answer::Value(_) => "value",
            crate::lesson::Answer::Shape(_) => "shape",
            crate::lesson::Answer::Choice(choices, _) | crate::lesson::Answer::Computed(choices, _) => {
                for (index, choice) in choices.iter().enumerate() {
                    self.sentence(choice, &format!("{path}.choices[{}]", index + 1));
                }
                "answer"
            }
        };
        for (index, slip) in question.wrong.iter().enumerate() {
            self.sentence(&slip.say, &format!("{path}.wrong[{}].say", index + 1));
        }
        if matches!(self.scope, Scope::Texts) {
            return;
        }
        let key = format!("{path}.{key}");
        if let crate::lesson::Answer::Value(quantity) | crate::lesson::Answer::Computed(_, quantity) =
            &question.answer
            && !self.runs_of(quantity, &key)
        {
            return;
        }
        let right = match self.workshop.right(question) {
            Ok(right) => right,
            Err(faults) => return self.faults(&key, faults, ""),
        };
        self.wrong(question, &right, path);
    }

    /// Wrong answers that cannot be computed, or are the right one.
    fn wrong(&mut self, question: &Question, right: &Right, path: &str) {
        let computed = self.workshop.own_slips(question);
        for (index, (slip, caught)) in question.wrong.iter().zip(computed).enumerate() {
            let path = format!("{path}.wrong[{}]", index + 1);
            let Some(caught) = caught else {
                match &slip.answer {
                    SlipAnswer::Value(quantity) => {
                        self.amount(quantity, &path);
                    }
                    SlipAnswer::Mistake(name) => match named::meant(name) {
                        Err(faults) => self.faults(&path, faults, ""),
                        Ok((mistake, _)) => {
                            let what = format!("{} gives no answer to this question", mistake.name);
                            let why =
                                "the lesson cannot be got wrong in this way, or not where the question asks";
                            let remedy = format!("`mha mistakes {}` says where it shows", mistake.name);
                            self.fault(&path, Fault::new(what, why, remedy));
                        }
                    },
                    SlipAnswer::Choice(_) => {}
                }
                continue;
            };
            if same(&caught.answer, right) {
                let what = format!("{path} is the right answer");
                let why = "what is right gives no mistake away";
                self.fault(&path, Fault::new(what, why, "take another wrong answer, or other numbers"));
            }
        }
    }

    fn task(&mut self, task: &Task, path: &str) {
        self.sentence(&task.ask, &format!("{path}.task"));
        self.sentence(&task.because, &format!("{path}.because"));
        for (index, hint) in task.hints.iter().enumerate() {
            self.sentence(hint, &format!("{path}.hints[{}]", index + 1));
        }
        if matches!(self.scope, Scope::Texts) {
            return;
        }
        for shown in &task.watch {
            self.step(shown, &format!("{path}.watch"));
        }
        let mut changed = Vec::new();
        paths(&task.solution, "", &mut changed);
        for key in changed.iter().filter(|key| !task.allows(key)) {
            let what = format!("the solution changes {key}, which the task does not let one change");
            let remedy = format!("add it to change, or change only {}", task.change.join(", "));
            self.fault(&format!("{path}.solution"), Fault::new(what, "", remedy));
        }
        let runs = task.checks.iter().enumerate().fold(true, |all, (index, quantity)| {
            self.runs_of(quantity, &format!("{path}.checks[{}]", index + 1)) && all
        });
        if !runs {
            return;
        }
        let mut holds_already = true;
        for (index, quantity) in task.checks.iter().enumerate() {
            match quantity.holds(self.workshop) {
                Ok(holds) => holds_already &= holds == Holds::Yes,
                Err(why) => {
                    holds_already = false;
                    let what = format!("{quantity} cannot be computed: {why}");
                    let remedy = "a check is true or false of the lesson: head.1.weights[3,3] > 0.9";
                    self.fault(&format!("{path}.checks[{}]", index + 1), Fault::new(what, "", remedy));
                }
            }
        }
        if holds_already {
            let what = "the task is solved before anything is changed";
            let why = "every check holds of the lesson as it is";
            self.fault(
                &format!("{path}.checks"),
                Fault::new(what, why, "ask for something that has to be reached"),
            );
        }
        let solved = match self.workshop.changed(&task.solution) {
            Ok(solved) => solved,
            Err(faults) => {
                return self.faults(&format!("{path}.solution"), faults, "the solution cannot be computed");
            }
        };
        if let Err(faults) = solved.ran(None) {
            return self.faults(&format!("{path}.solution"), faults, "the solution cannot be computed");
        }
        for quantity in &task.checks {
            if let Ok(Holds::No(failure)) = quantity.holds(&solved) {
                let what = format!("the solution does not reach {quantity}: {failure}");
                let remedy = "mend the solution, or the check";
                self.fault(&format!("{path}.solution"), Fault::new(what, "", remedy));
            }
        }
    }
}

/// The paths of everything that a change changes: `attention.scale`.
fn paths(change: &Value, before: &str, found: &mut Vec<String>) {
    match change {
        Value::Mapping(entries) => {
            for (key, inner) in entries {
                let key = key.as_str().unwrap_or_default();
                let path = if before.is_empty() { key.to_owned() } else { format!("{before}.{key}") };
                paths(inner, &path, found);
            }
        }
        _ => found.push(before.to_owned()),
    }
}

impl Task {
    /// Whether a key of the lesson file (`inputs.x`, or with an index `inputs.x[3]`) may be changed: it is one of those that
    /// the task names, or stands inside one.
    pub fn allows(&self, path: &str) -> bool {
        self.change.iter().any(|allowed| {
            path.strip_prefix(allowed.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    }
}

fn no_step(id: StepId) -> Fault {
    Fault::new(
        format!("this lesson has no step {id}"),
        "a step is there only where the attention call needs it",
        "run mha trace --summary on the lesson to see its steps",
    )
}

/// What is untrue about a claim, if anything.
fn untrue(claim: &Listed, value: &DMatrix<f64>) -> Option<Fault> {
    let (from_row, from_column) = (claim.row.unwrap_or(0), claim.column.unwrap_or(0));
    let rows = claim.row.map_or(value.nrows(), |_| 1);
    let columns = claim.column.map_or(value.ncols(), |_| 1);
    let claimed = (claim.equals.len(), claim.equals.first().map_or(0, Vec::len));
    if claimed != (rows, columns) {
        return Some(Fault::new(
            format!("the claim about {} has {} × {} numbers", claim.step, claimed.0, claimed.1),
            format!("what it speaks of has {rows} × {columns}"),
            "claim a cell, a row, a column or the whole matrix",
        ));
    }
    for (r, line) in claim.equals.iter().enumerate() {
        for (c, said) in line.iter().enumerate() {
            let is = value[(from_row + r, from_column + c)];
            let same = is == *said || (is.is_nan() && said.is_nan()) || (is - said).abs() <= claim.tolerance;
            if !same {
                return Some(Fault::new(
                    format!(
                        "the lesson claims {}[{},{}] = {said}, but it is {is}",
                        claim.step,
                        from_row + r + 1,
                        from_column + c + 1
                    ),
                    format!(
                        "the difference is {:.1e}; at most {:.1e} is allowed",
                        (is - said).abs(),
                        claim.tolerance
                    ),
                    "mend the claim, or the numbers it follows from",
                ));
            }
        }
    }
    None
}
