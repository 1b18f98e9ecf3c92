//! What a wrong answer gives away: the lesson's own words first, then what known mistakes and mix-ups would give.

use std::sync::Arc;

use nalgebra::DMatrix;

use super::Ran;
use super::workshop::{Right, Workshop};
use crate::lesson::quantity::{Amount, Figure, Numbers};
use crate::lesson::{Answer, Question, SlipAnswer};
use crate::mistakes::{Mistake, WrongRun, catalogue};
use crate::ops::Arithmetic;
use crate::plan::{Head, HeadStep, Name, StepId};
use crate::trace::{Keep, run_plan};
use crate::words::t;

/// A wrong answer, and what it gives away.
#[derive(Debug, Clone)]
pub struct Caught {
    /// The wrong answer.
    pub answer: Right,
    /// What is said to whoever gives it; empty where a mistake or a myth speaks for itself.
    pub say: String,
    /// The mistake that gives this answer.
    pub mistake: Option<&'static Mistake>,
    /// The myth behind it, by its name.
    pub myth: Option<String>,
}

/// Two answers that differ by less are the same one.
const SAME: f64 = 1e-9;

/// Of a row so many cells are looked at for a number that stands in the wrong one.
const MOST_NEIGHBOURS: usize = 32;

/// Problems with more multiplications than this are not computed with every known mistake.
const MOST_WORK: u128 = 2_000_000;

impl Workshop {
    /// The wrong answers to a question that give something away, none of them the right one; of equal ones the first
    /// counts. The lesson's own come first.
    pub fn slips(&self, question: &Question) -> Vec<Caught> {
        let Ok(right) = self.right(question) else { return Vec::new() };
        let mut found: Vec<Caught> = self.own_slips(question).into_iter().flatten().collect();
        if let Right::Numbers(_) = right {
            found.extend(self.mix_ups(question));
            found.extend(self.mistaken(question));
        }
        let mut caught: Vec<Caught> = Vec::new();
        for slip in found {
            if !same(&slip.answer, &right) && !caught.iter().any(|known| same(&known.answer, &slip.answer)) {
                caught.push(slip);
            }
        }
        caught
    }

    /// The wrong answers that the lesson waits for, in its order; `None` for one that cannot be computed.
    pub(super) fn own_slips(&self, question: &Question) -> Vec<Option<Caught>> {
        let computed = |slip: &crate::lesson::Slip| {
            let (answer, mistake) = match &slip.answer {
                SlipAnswer::Value(quantity) => (numbers(self.amount(quantity).ok()?)?, None),
                SlipAnswer::Choice(choice) => (Right::Choice(*choice), None),
                SlipAnswer::Mistake(name) => {
                    let (mistake, forms) = crate::mistakes::named::meant(name).ok()?;
                    let ran = self.ran(None).ok()?;
                    let made = WrongRun::of(mistake, forms, &ran.call(), &ran.plan).ok()??;
                    (self.with_mistake(question, &ran, made)?, Some(mistake))
                }
            };
            Some(Caught { answer, say: slip.say.clone(), mistake, myth: slip.myth.clone() })
        };
        question.wrong.iter().map(computed).collect()
    }

    /// What the question comes to in a wrong run.
    fn with_mistake(&self, question: &Question, ran: &Ran, made: WrongRun) -> Option<Right> {
        let attention = made.attention(&ran.call());
        let problem = crate::lesson::Problem { attention, ..ran.problem.clone() };
        let plan = Arc::new(made.wrong.plan().clone());
        let wrong = Ran { problem, plan, trace: made.wrong, kv_sheets: made.kv_sheets };
        self.asked_of(question, &wrong)
    }

    /// What the question comes to where the lesson itself is computed as `wrong`.
    fn asked_of(&self, question: &Question, wrong: &Ran) -> Option<Right> {
        match &question.answer {
            Answer::Cell(step, row, column) => {
                let value = *wrong.view(*step)?.get((*row, *column))?;
                Some(Right::Numbers(DMatrix::from_element(1, 1, value)))
            }
            Answer::Value(quantity) => numbers(quantity.amount(&Otherwise { workshop: self, wrong }).ok()?),
            Answer::Shape(step) => wrong.shape(*step).ok().map(|(rows, columns)| Right::Shape(rows, columns)),
            Answer::Choice(..) | Answer::Computed(..) => None,
        }
    }

    /// What known mistakes would give, where the question is about the lesson's own numbers.
    fn mistaken(&self, question: &Question) -> Vec<Caught> {
        let Ok(ran) = self.ran(None) else { return Vec::new() };
        let cost = ran.plan.cost(ran.problem.batch.map(|_| 0));
        if cost.multiplications > MOST_WORK || !speaks_of_the_lesson(&question.answer) {
            return Vec::new();
        }
        let call = ran.call();
        let mut caught = Vec::new();
        for mistake in catalogue::all() {
            for form in mistake.forms {
                let Some(made) = form.apply(&call, &ran.plan) else { continue };
                let keep = Keep::All;
                let Ok(trace) = run_plan(Arc::new(made.plan), &call.inputs, &keep, Arithmetic::Ordered)
                else {
                    continue;
                };
                let plan = Arc::new(trace.plan().clone());
                let wrong = Ran { problem: ran.problem.clone(), plan, trace, kv_sheets: made.kv_sheets };
                let Some(answer) = self.asked_of(question, &wrong) else { continue };
                caught.push(Caught { answer, say: String::new(), mistake: Some(mistake), myth: None });
            }
        }
        caught
    }

    /// Numbers that stand elsewhere: the transposed cell, the same cell of another head, or of a step before it, another
    /// cell of the row; and an even share.
    fn mix_ups(&self, question: &Question) -> Vec<Caught> {
        let Answer::Cell(step, row, column) = question.answer else { return Vec::new() };
        let Ok(ran) = self.ran(None) else { return Vec::new() };
        let step = ran.placed(step);
        let mut caught = Vec::new();
        let mut elsewhere = |id: StepId, row: usize, column: usize, say: String| {
            if let Some(value) = ran.view(id).and_then(|view| view.get((row, column)).copied()) {
                let answer = Right::Numbers(DMatrix::from_element(1, 1, value));
                caught.push(Caught { answer, say, mistake: None, myth: None });
            }
        };
        if row != column {
            let say = t!(
                "That is the number at row %{row}, column %{column}: rows and columns are swapped. A row belongs to the token that asks.",
                row = column + 1,
                column = row + 1
            );
            elsewhere(step, column, row, say);
        }
        if let Name::Head(own, kind) = step.name {
            for head in (0..ran.problem.attention.num_heads).filter(|head| *head != own.0) {
                let id = StepId { name: Name::Head(Head(head), kind), ..step };
                let say = t!(
                    "That is the same cell of head %{other}; the question is about head %{own}.",
                    other = head + 1,
                    own = own.0 + 1
                );
                elsewhere(id, row, column, say);
            }
            for before in earlier(kind) {
                let id = StepId { name: Name::Head(own, *before), ..step };
                if ran
                    .view(id)
                    .is_some_and(|view| ran.view(step).is_some_and(|own| own.shape() == view.shape()))
                {
                    let say =
                        t!("That is the cell of %{before}, a step before %{step}.", before = id, step = step);
                    elsewhere(id, row, column, say);
                }
            }
        }
        let columns = ran.view(step).map_or(0, |view| view.ncols());
        for other in (0..columns.min(MOST_NEIGHBOURS)).filter(|other| *other != column) {
            let say = t!(
                "That is the number in column %{other} of the same row; the question is about column %{own}.",
                other = other + 1,
                own = column + 1
            );
            elsewhere(step, row, other, say);
        }
        caught.extend(even_share(step, row, &ran));
        caught
    }
}

/// What each key that a query sees would get if they shared alike: a guess that says nothing of any other mistake.
fn even_share(step: StepId, row: usize, ran: &Ran) -> Option<Caught> {
    let Name::Head(_, HeadStep::Weights) = step.name else { return None };
    let view = ran.view(step).filter(|view| row < view.nrows())?;
    let count = view.row(row).iter().filter(|weight| **weight > 0.0).count();
    let say = t!(
        "That would be an even share among %{count} keys. The scores of this row are not all alike.",
        count = count
    );
    let share = 1.0 / count as f64;
    let answer = Right::Numbers(DMatrix::from_element(1, 1, share));
    (count > 1).then_some(Caught { answer, say, mistake: None, myth: None })
}

/// The steps of a head that hold the same cells a step or more before.
fn earlier(step: HeadStep) -> &'static [HeadStep] {
    const PATH: &[HeadStep] = &[
        HeadStep::Scores,
        HeadStep::CappedScores,
        HeadStep::BiasedScores,
        HeadStep::MaskedScores,
        HeadStep::Weights,
    ];
    PATH.iter().position(|known| *known == step).map_or(&[], |place| &PATH[..place])
}

/// Whether a question is about numbers of the lesson as it stands: a mistake changes nothing else.
fn speaks_of_the_lesson(answer: &Answer) -> bool {
    match answer {
        Answer::Cell(..) => true,
        Answer::Value(quantity) => quantity.steps().iter().any(|(_, run)| run.is_none()),
        Answer::Shape(_) | Answer::Choice(..) | Answer::Computed(..) => false,
    }
}

/// An amount as an answer; `None` for what is true or false.
fn numbers(amount: Amount) -> Option<Right> {
    match amount {
        Amount::Number(number) => Some(Right::Numbers(DMatrix::from_element(1, 1, number))),
        Amount::Matrix(matrix) => {
            Some(Right::Numbers(DMatrix::from_row_slice(1, matrix.len(), matrix.as_slice())))
        }
        Amount::Truth(_) => None,
    }
}

/// Whether two answers are one.
pub(super) fn same(one: &Right, other: &Right) -> bool {
    match (one, other) {
        (Right::Numbers(one), Right::Numbers(other)) => {
            let near = |(a, b): (&f64, &f64)| {
                a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= SAME * a.abs().max(1.0)
            };
            one.len() == other.len() && one.iter().zip(other.iter()).all(near)
        }
        (one, other) => one == other,
    }
}

/// The lesson itself computed otherwise; its runs stay as they are.
struct Otherwise<'a> {
    workshop: &'a Workshop,
    wrong: &'a Ran,
}

impl Numbers for Otherwise<'_> {
    fn step(&self, step: StepId, run: Option<&str>) -> Result<DMatrix<f64>, String> {
        match run {
            None => self.wrong.value(step),
            Some(_) => self.workshop.step(step, run),
        }
    }

    fn figure(&self, figure: Figure, run: Option<&str>) -> Result<f64, String> {
        self.workshop.figure(figure, run)
    }

    fn count(&self, model: &str, key: &str) -> Result<f64, String> {
        self.workshop.count(model, key)
    }

    fn slope(&self, out: (StepId, Option<&str>), by: StepId) -> Result<f64, String> {
        self.workshop.slope(out, by)
    }

    fn variable(&self) -> Option<f64> {
        self.workshop.variable()
    }

    fn work(&self, operations: u128) -> Result<(), String> {
        self.workshop.work(operations)
    }
}
