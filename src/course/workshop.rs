//! A lesson and all that its parts speak of, computed where it is asked for, and each run once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use nalgebra::DMatrix;
use serde_yaml::Value;

use super::Ran;
use super::work::{self, Work};
use crate::fault::{Fault, Faults, Outcome, nearest};
use crate::lesson::course::{Look, Part, Rewrite, Shown};
use crate::lesson::quantity::{Amount, Numbers};
use crate::lesson::{Answer, Piece, Problem, Quantity, Question, pieces};
use crate::number::{self, Form};
use crate::plan::StepId;
use crate::views::story;

/// Counts a model: the words behind `mha params` in, what `--format json` prints out.
pub type Counter = fn(&[String]) -> Result<String, String>;

/// A lesson, its runs, and whatever is said of their numbers.
pub struct Workshop {
    problem: Problem,
    ran: RefCell<HashMap<Option<String>, Outcome<Rc<Ran>>>>,
    /// What models come to, by the words that they were asked with.
    pub(super) counted: Rc<RefCell<HashMap<String, Result<serde_json::Value, String>>>>,
    pub(super) counter: Option<Counter>,
    /// What `$` is, in a plot.
    pub(super) variable: Option<f64>,
    /// Runs as they change the lesson, by their names: others start from them.
    settled: RefCell<HashMap<String, Settled>>,
    /// Slopes by step, run and input: claims, cells and sentences name the same ones.
    pub(super) slopes: RefCell<HashMap<Slope, Result<f64, String>>>,
    /// What was asked for so far, by this lesson and by those that it is changed to.
    pub(super) work: Rc<Work>,
    /// Whether this is the lesson as it was read: what `mha trace` computes too, and no part of the work.
    unchanged: bool,
}

/// A lesson as a run changes it, and what the run does to the plan.
type Settled = (Problem, Vec<Rewrite>);

/// Which slope: of a step, in a run, by an input.
pub(super) type Slope = (StepId, Option<String>, StepId);

/// The right answer to a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Right {
    /// One number, or several in a row.
    Numbers(DMatrix<f64>),
    /// Rows and columns of a step.
    Shape(usize, usize),
    /// One of the choices, from 0.
    Choice(usize),
}

impl Workshop {
    /// A workshop for a lesson; nothing is computed yet.
    pub fn new(problem: Problem) -> Self {
        Self {
            problem,
            ran: RefCell::default(),
            counted: Rc::default(),
            counter: None,
            variable: None,
            settled: RefCell::default(),
            slopes: RefCell::default(),
            work: Rc::default(),
            unchanged: true,
        }
    }

    /// The same workshop, with what counts models: `count("llama-2-70b", …)` needs it.
    #[must_use]
    pub fn counting(self, counter: Counter) -> Self {
        Self { counter: Some(counter), ..self }
    }

    /// The lesson.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// A run, computed; `None` is the lesson itself.
    ///
    /// # Errors
    /// There is no such run; it cannot be computed.
    pub fn ran(&self, run: Option<&str>) -> Outcome<Rc<Ran>> {
        let key = run.map(str::to_owned);
        if let Some(known) = self.ran.borrow().get(&key) {
            return known.clone();
        }
        let ran = self.compute(run);
        self.ran.borrow_mut().insert(key, ran.clone());
        ran
    }

    fn compute(&self, run: Option<&str>) -> Outcome<Rc<Ran>> {
        let (problem, rewrites) = match run {
            None => (self.problem.clone(), Vec::new()),
            Some(name) => self.settled(name)?,
        };
        let work = (run.is_some() || !self.unchanged).then_some(&*self.work);
        Ran::of(problem, &rewrites, work).map(Rc::new)
    }

    /// The lesson as a run changes it, and what it does to the plan: what it starts from comes first.
    fn settled(&self, name: &str) -> Outcome<Settled> {
        if let Some(known) = self.settled.borrow().get(name) {
            return Ok(known.clone());
        }
        let runs = &self.problem.course.runs;
        let Some(run) = runs.iter().find(|run| run.name == name) else {
            return Err(no_run(name, runs.iter().map(|run| run.name.as_str()).collect()));
        };
        // A run starts from one that stands above it, so this comes to an end.
        let (problem, mut rewrites) = match &run.from {
            None => (self.problem.clone(), Vec::new()),
            Some(from) => self.settled(from)?,
        };
        rewrites.extend(run.rewrites.iter().cloned());
        let problem = if run.change.is_null() { problem } else { self.reread(&problem, &run.change)? };
        self.settled.borrow_mut().insert(name.to_owned(), (problem.clone(), rewrites.clone()));
        Ok((problem, rewrites))
    }

    /// A workshop for the same lesson with some keys of its file changed: tasks and plots.
    ///
    /// # Errors
    /// What is wrong with the changed lesson.
    pub fn changed(&self, change: &Value) -> Outcome<Self> {
        Ok(self.with(self.reread(&self.problem, change)?, self.variable))
    }

    /// The same workshop, with all of its work before it: what a person asks for is no part of what the lesson does.
    #[must_use]
    pub fn rested(self) -> Self {
        Self { work: Rc::default(), ..self }
    }

    /// A lesson read once more, with some keys changed.
    pub(super) fn reread(&self, problem: &Problem, change: &Value) -> Outcome<Problem> {
        let numbers = problem.inputs.values().map(|input| input.len() as u128).sum::<u128>();
        self.work.begin(work::A_READING + 64 * numbers).map_err(in_words)?;
        problem.changed(change)
    }

    /// The same lesson told in other words: another language. What is computed already stays computed.
    #[must_use]
    pub fn retold(&self, problem: Problem) -> Self {
        Self {
            ran: self.ran.clone(),
            settled: self.settled.clone(),
            slopes: self.slopes.clone(),
            unchanged: self.unchanged,
            ..self.with(problem, self.variable)
        }
    }

    pub(super) fn with(&self, problem: Problem, variable: Option<f64>) -> Self {
        Self {
            problem,
            ran: RefCell::default(),
            counted: Rc::clone(&self.counted),
            counter: self.counter,
            variable,
            settled: RefCell::default(),
            slopes: RefCell::default(),
            work: Rc::clone(&self.work),
            unchanged: false,
        }
    }

    /// What an expression comes to.
    ///
    /// # Errors
    /// A step, row, run or model that is not there; a function that has no value. In words.
    pub fn amount(&self, quantity: &Quantity) -> Result<Amount, String> {
        self.work.begin(work::AN_EXPRESSION)?;
        quantity.amount(self)
    }

    /// A text with what stands in its braces computed; what cannot be computed is shown as it was written, with a question
    /// mark.
    pub fn filled(&self, text: &str, digits: usize) -> String {
        let cell = |step, row: usize, column: usize| {
            let value = self.step(step, None).ok().and_then(|value| value.get((row, column)).copied());
            value.map(|value| number::written(value, digits, Form::Page))
        };
        let amount = |quantity: &Quantity, form| {
            quantity.number(self).ok().map(|value| number::written(value, digits, form))
        };
        story::filled(text, cell, amount)
    }

    /// Whether everything in a text's braces can be computed.
    pub fn knows(&self, text: &str) -> bool {
        pieces(text).iter().all(|piece| match piece {
            Piece::Text(_) => true,
            Piece::Cell(step, row, column) => {
                self.step(*step, None).is_ok_and(|value| *row < value.nrows() && *column < value.ncols())
            }
            Piece::Amount(quantity, _) => quantity.number(self).is_ok(),
        })
    }

    /// The parts of the course, with the questions of the quiz behind them; without a course, each sentence of the story
    /// with the step that it is told at.
    pub fn parts(&self) -> Vec<Part> {
        let problem = &self.problem;
        let mut parts = problem.course.parts.clone();
        if parts.is_empty() {
            let mut told = problem.story.iter().peekable();
            while let Some(saying) = told.next() {
                parts.push(Part::Say(saying.say.clone()));
                // sentences at one step stand together, and the step below them
                if told.peek().is_none_or(|next| next.at != saying.at) {
                    let steps = vec![Shown { step: saying.at, run: None }];
                    parts.push(Part::Show { steps, look: Look::Table });
                }
            }
        }
        parts.extend(problem.quiz.iter().cloned().map(Part::Ask));
        parts
    }

    /// The right answer to a question.
    ///
    /// # Errors
    /// The question cannot be answered: its step, row or column is not there, its choice is none of those given.
    pub fn right(&self, question: &Question) -> Outcome<Right> {
        match self.answered(question)? {
            Right::Numbers(numbers) if numbers.iter().any(|number| number.is_nan()) => {
                let what = "the right answer is not a number".to_owned();
                let why = "it divides nothing by nothing, or adds up opposite infinities";
                Err(Fault::new(what, why, "ask for something that has a value").into())
            }
            right => Ok(right),
        }
    }

    fn answered(&self, question: &Question) -> Outcome<Right> {
        match &question.answer {
            Answer::Cell(step, row, column) => {
                let ran = self.ran(None)?;
                let value = ran.value(*step).map_err(in_words)?;
                match value.get((*row, *column)) {
                    Some(number) => Ok(Right::Numbers(DMatrix::from_element(1, 1, *number))),
                    None => Err(no_cell(&format!("{step}[{},{}]", row + 1, column + 1), value.shape())),
                }
            }
            Answer::Value(quantity) => match self.amount(quantity).map_err(in_words)? {
                Amount::Number(number) => Ok(Right::Numbers(DMatrix::from_element(1, 1, number))),
                Amount::Matrix(matrix) if matrix.nrows() == 1 || matrix.ncols() == 1 => {
                    Ok(Right::Numbers(DMatrix::from_row_slice(1, matrix.len(), matrix.as_slice())))
                }
                Amount::Matrix(matrix) => Err(Fault::new(
                    format!("{} is {} × {}", quantity.text, matrix.nrows(), matrix.ncols()),
                    "a question is answered by a number, or by a row of them",
                    "ask for a cell, a row or a column",
                )
                .into()),
                Amount::Truth(_) => Err(Fault::new(
                    format!("{} is true or false", quantity.text),
                    "a question is answered by a number",
                    "give choices for yes and no",
                )
                .into()),
            },
            Answer::Shape(step) => {
                let (rows, columns) = self.ran(None)?.shape(*step).map_err(in_words)?;
                Ok(Right::Shape(rows, columns))
            }
            Answer::Choice(_, right) => Ok(Right::Choice(*right)),
            Answer::Computed(choices, quantity) => match self.amount(quantity).map_err(in_words)? {
                Amount::Number(number)
                    if number.fract() == 0.0 && number >= 1.0 && number <= choices.len() as f64 =>
                {
                    Ok(Right::Choice(number as usize - 1))
                }
                Amount::Truth(truth) if choices.len() == 2 => Ok(Right::Choice(usize::from(!truth))),
                Amount::Number(number) => Err(Fault::new(
                    format!("the right choice comes to {number}, but there are {}", choices.len()),
                    "choices count from 1",
                    "let answer come to the number of the right choice: argmax(head.1.weights[3])",
                )
                .into()),
                _ => Err(Fault::new(
                    format!("{} is no number", quantity.text),
                    "it has to come to the number of the right choice",
                    "write answer: 2, or argmax(head.1.weights[3])",
                )
                .into()),
            },
        }
    }
}

/// A run that is not there.
pub(super) fn no_run(name: &str, runs: Vec<&str>) -> Faults {
    let remedy = match (nearest(name, runs.iter().copied()), runs.as_slice()) {
        (Some(near), _) => format!("did you mean {near}?"),
        (None, []) => format!("write runs: {{{name}: {{variant: single-head}}}}"),
        (None, runs) => format!("the runs are {}", runs.join(", ")),
    };
    Fault::new(format!("there is no run called {name}"), "runs are named in the section runs", remedy).into()
}

/// A fault that says what could not be computed.
pub(super) fn in_words(what: String) -> Faults {
    Fault::new(what, "", "`mha trace --summary` of the lesson lists its steps with their shapes").into()
}

fn no_cell(cell: &str, (rows, columns): (usize, usize)) -> Faults {
    let what = format!("there is no cell {cell}");
    Fault::new(what, format!("it is {rows} × {columns}"), "rows and columns count from 1").into()
}
