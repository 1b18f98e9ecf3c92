//! What is said to an answer.

use crate::course::answer::{self, Fit, Typed, Unreadable};
use crate::course::myths::Myth;
use crate::course::{Caught, Right, Workshop};
use crate::lesson::{Answer, Question};
use crate::number::{digits_for, number};
use crate::words::{say, t};

/// What an answer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Judged {
    /// Right.
    Right,
    /// Right but for rounding.
    Rounded,
    /// It may be right: there are too few digits to tell.
    TooFewDigits,
    /// Wrong, and what it gives away, a paragraph each.
    Wrong(Vec<String>),
    /// Not to be understood, and why.
    Unreadable(Unreadable),
}

/// The choices of a question; none where it has none.
pub(super) fn choices(question: &Question) -> &[String] {
    match &question.answer {
        Answer::Choice(choices, _) | Answer::Computed(choices, _) => choices,
        _ => &[],
    }
}

/// Judges what was typed.
pub(super) fn judge(
    line: &str,
    question: &Question,
    right: &Right,
    workshop: &Workshop,
    digits: usize,
) -> Judged {
    match right {
        Right::Numbers(numbers) => {
            let right: Vec<f64> = numbers.iter().copied().collect();
            match answer::numbers(line, right.len()) {
                Ok(typed) => of_numbers(&typed, &right, &|| caught(&typed, question, workshop, digits)),
                Err(why) => Judged::Unreadable(why),
            }
        }
        Right::Shape(rows, columns) => match answer::shape(line) {
            Ok(typed) if typed == (*rows, *columns) => Judged::Right,
            Ok((r, c)) if (r, c) == (*columns, *rows) => {
                Judged::Wrong(vec![t!("That is turned: rows come first (a token is a row), then columns.")])
            }
            Ok((r, _)) if r == *rows => {
                Judged::Wrong(vec![t!("The number of rows is right, the number of columns is not.")])
            }
            Ok((_, c)) if c == *columns => {
                Judged::Wrong(vec![t!("The number of columns is right, the number of rows is not.")])
            }
            Ok(_) => Judged::Wrong(Vec::new()),
            Err(why) => Judged::Unreadable(why),
        },
        Right::Choice(right) => match answer::choice(line, choices(question)) {
            Ok(chosen) if chosen == *right => Judged::Right,
            Ok(chosen) => {
                let slips = workshop.slips(question);
                let slip = slips.iter().find(|slip| slip.answer == Right::Choice(chosen));
                Judged::Wrong(slip.map_or_else(Vec::new, |slip| told(slip, workshop, digits)))
            }
            Err(why) => Judged::Unreadable(why),
        },
    }
}

fn of_numbers(typed: &[Typed], right: &[f64], given_away: &dyn Fn() -> Vec<String>) -> Judged {
    let fits: Vec<Fit> = typed.iter().zip(right).map(|(typed, right)| typed.fits(*right)).collect();
    match fits.iter().max() {
        None | Some(Fit::Right) => Judged::Right,
        Some(Fit::Rounded) => Judged::Rounded,
        Some(Fit::TooFewDigits) => Judged::TooFewDigits,
        Some(Fit::Wrong) => {
            let mut said = given_away();
            let wrong: Vec<String> =
                (0..fits.len()).filter(|at| fits[*at] == Fit::Wrong).map(|at| (at + 1).to_string()).collect();
            if said.is_empty() && fits.len() > 1 && wrong.len() < fits.len() {
                said.push(t!("Not yet right: number %{places} of the row.", places = wrong.join(", ")));
            }
            Judged::Wrong(said)
        }
    }
}

/// What wrong numbers give away.
fn caught(typed: &[Typed], question: &Question, workshop: &Workshop, digits: usize) -> Vec<String> {
    let is_it = |slip: &Caught| match &slip.answer {
        Right::Numbers(numbers) => {
            numbers.len() == typed.len()
                && typed.iter().zip(numbers.iter()).all(|(typed, wrong)| typed.fits(*wrong) <= Fit::Rounded)
        }
        _ => false,
    };
    let slips = workshop.slips(question);
    slips.iter().find(|slip| is_it(slip)).map_or_else(Vec::new, |slip| told(slip, workshop, digits))
}

/// A slip in words: the lesson's own, then the mistake or the myth by its name.
fn told(slip: &Caught, workshop: &Workshop, digits: usize) -> Vec<String> {
    let mut said = Vec::new();
    if !slip.say.is_empty() {
        said.push(workshop.filled(&slip.say, digits));
    }
    if let Some(mistake) = slip.mistake {
        said.push(t!(
            "That is what comes out with a known mistake, %{name}: %{summary}. To read about it: mha mistakes %{name}",
            name = mistake.name,
            summary = say(mistake.summary).trim_end_matches(['.', '。'])
        ));
    }
    if let Some(myth) = slip.myth.as_deref().and_then(Myth::find) {
        said.extend(myth.refuted());
    }
    said
}

/// The right answer, as it is told.
pub(super) fn answer(right: &Right, question: &Question, digits: usize) -> String {
    match right {
        Right::Numbers(numbers) => {
            let digits = digits_for(numbers.iter(), digits);
            numbers.iter().map(|value| number(*value, digits)).collect::<Vec<_>>().join(", ")
        }
        Right::Shape(rows, columns) => format!("{rows} × {columns}"),
        Right::Choice(right) => choices(question).get(*right).cloned().unwrap_or_default(),
    }
}

/// What can be typed as an answer.
pub(super) fn forms(right: &Right) -> String {
    match right {
        Right::Numbers(numbers) if numbers.len() > 1 => {
            t!("Type %{count} numbers with blanks between them, such as 0.25 1/3 √2.", count = numbers.len())
        }
        Right::Numbers(_) => {
            t!("A number can be typed as 0.7071, 1/3, √2 or sqrt(2), 2√3, e^0.5 or exp(0.5), 50%.")
        }
        Right::Shape(..) => t!("A shape is typed as rows × columns: 3 × 4 or 3x4."),
        Right::Choice(_) => t!("A choice is typed by its label or its text."),
    }
}
