//! A whole lesson as text, for reading: what is told, every question with its hints and its answer, every task with its
//! solution.

use super::{Setter, ask, change, feedback, hints};
use crate::course::Workshop;
use crate::lesson::Question;
use crate::lesson::course::{Part, Task};
use crate::words::t;

/// The lesson from its title to its last answer; nothing is asked.
pub fn whole(workshop: &Workshop, setter: &Setter<'_>) -> String {
    let problem = workshop.problem();
    let mut text = setter.words(&problem.title);
    text.push_str(&setter.say(&problem.summary, workshop));
    if !problem.source.is_empty() {
        text.push_str(&setter.words(&t!("Source: %{source}", source = problem.source)));
    }
    text.push('\n');
    let mut questions = 0;
    for part in workshop.parts() {
        match &part {
            Part::Ask(of) => {
                questions += 1;
                question(of, questions, workshop, setter, &mut text);
            }
            Part::Task(of) => {
                questions += 1;
                task(of, questions, workshop, setter, &mut text);
            }
            other => text.push_str(&setter.part(other, workshop)),
        }
    }
    text.trim_end().to_owned() + "\n"
}

fn question(question: &Question, number: usize, workshop: &Workshop, setter: &Setter<'_>, text: &mut String) {
    let digits = setter.page.digits;
    let ask = workshop.filled(&question.ask, digits);
    text.push_str(&setter.words(&t!("Question %{number}: %{ask}", number = number, ask = ask)));
    let choices = feedback::choices(question);
    for (at, choice) in choices.iter().enumerate() {
        let choice = workshop.filled(choice, digits);
        text.push_str(&setter.item(&format!("  {}", ask::label(at, choices)), &choice));
    }
    for hint in hints::layers(question, workshop, digits) {
        text.push_str(&setter.words(&t!("Hint: %{hint}", hint = hint)));
    }
    match workshop.right(question) {
        Ok(right) => {
            let answer = workshop.filled(&feedback::answer(&right, question, digits), digits);
            text.push_str(&setter.words(&t!("Answer: %{answer}", answer = answer)));
        }
        Err(faults) => text.push_str(&setter.faults(&faults)),
    }
    text.push_str(&setter.say(&question.because, workshop));
    text.push('\n');
}

fn task(task: &Task, number: usize, workshop: &Workshop, setter: &Setter<'_>, text: &mut String) {
    let digits = setter.page.digits;
    let ask = workshop.filled(&task.ask, digits);
    text.push_str(&setter.words(&t!("Task %{number}: %{ask}", number = number, ask = ask)));
    text.push_str(&setter.words(&t!("What may be changed: %{keys}", keys = task.change.join(", "))));
    for hint in &task.hints {
        text.push_str(&setter.words(&t!("Hint: %{hint}", hint = workshop.filled(hint, digits))));
    }
    text.push_str(&setter.words(&t!("A solution:")));
    for line in change::lines(&task.solution, &task.change) {
        text.push_str(&setter.item("   ", &line));
    }
    text.push_str(&setter.say(&task.because, workshop));
    text.push('\n');
}
