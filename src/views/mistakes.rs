//! The catalogue of known mistakes as a page: all of them in short, or one with everything about it.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::grid::Side::Left;
use super::json_text::pretty;
use super::part::{Part, Table};
use crate::mistakes::Mistake;
use crate::plan::Name;
use crate::words::{say, t};

/// All mistakes in short, in a table for each step that comes out wrong first.
pub fn list<'a>(mistakes: impl IntoIterator<Item = &'a Mistake>) -> Vec<Part> {
    let mut tables: Vec<(Name, Table)> = Vec::new();
    for mistake in mistakes {
        let Some(first) = mistake.first_steps().first().copied() else { continue };
        let place = match tables.iter().position(|(step, _)| *step == first) {
            Some(place) => place,
            None => {
                tables.push((first, Table::new(&first.to_string(), &[(&t!("what is wrong"), Left)])));
                tables.len() - 1
            }
        };
        tables[place].1.line(mistake.name, &[say(mistake.summary)]);
    }
    let mut parts = vec![
        Part::Title(t!("Mistakes that people make in attention")),
        Part::Say(t!("Each table is headed by the step that comes out wrong first.")),
    ];
    parts.extend(tables.into_iter().map(|(_, table)| Part::Table(table)));
    parts.push(Part::Say(t!(
        "mha mistakes NAME tells everything about one; mha trace LESSON --mistake NAME shows it in numbers; mha check \
         finds it in tensors of your own."
    )));
    parts
}

/// How a mistake is mended, in words and in code.
pub(super) fn mend(mistake: &Mistake, table: &mut Table) {
    table.line(&t!("fix"), &[say(mistake.fix)]);
    for (place, line) in mistake.code_lines().enumerate() {
        table.line(&if place == 0 { t!("code") } else { t!("or") }, &[line]);
    }
}

/// Everything about one mistake; `lesson` is a built-in one that shows it.
pub fn one(mistake: &Mistake, lesson: Option<&str>) -> Vec<Part> {
    let name = mistake.name;
    let mut table = Table::new(&t!("first wrong"), &[(&steps(mistake), Left)]);
    table.line(&t!("right"), &[say(mistake.right)]);
    table.line(&t!("wrong"), &[say(mistake.wrong)]);
    table.line(&t!("cause"), &[say(mistake.cause)]);
    table.line(&t!("symptom"), &[say(mistake.symptom)]);
    table.line(&t!("shows"), &[say(mistake.visible)]);
    mend(mistake, &mut table);
    if let [_, _, ..] = mistake.forms {
        let forms: Vec<&str> = mistake.forms.iter().map(|form| form.name).collect();
        table.row(t!("forms"), vec![forms.join(&t!("; "))]);
    }
    table.row(t!("reports"), vec![reports(mistake.reports)]);
    let alike: Vec<&str> = mistake.alike().map(|other| other.name).collect();
    if !alike.is_empty() {
        table.row(t!("same step"), vec![alike.join(&t!(", "))]);
    }
    if let Some(lesson) = lesson {
        table.row(t!("in numbers"), vec![format!("mha trace {lesson} --mistake {name}")]);
    }
    vec![
        Part::Title(t!("%{mistake}: %{summary}", mistake = name, summary = say(mistake.summary))),
        Part::Table(table),
    ]
}

/// `q, v or k`: which of them depends on the form.
fn steps(mistake: &Mistake) -> String {
    let steps: Vec<String> = mistake.first_steps().iter().map(Name::to_string).collect();
    match steps.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => t!("%{others} or %{last}", others = others.join(&t!(", ")), last),
        None => String::new(),
    }
}

fn reports((found, confirmed): (u16, u16)) -> String {
    match (found, confirmed) {
        (0, _) => t!("none found in public"),
        (1, 0) => t!("1 found in public, not confirmed (fixed, merged or acknowledged)"),
        (1, _) => t!("1 found in public, confirmed (fixed, merged or acknowledged)"),
        (found, 0) => {
            t!("%{found} found in public, none of them confirmed (fixed, merged or acknowledged)", found)
        }
        (found, confirmed) => t!(
            "%{found} found in public, %{confirmed} of them confirmed (fixed, merged or acknowledged)",
            found,
            confirmed
        ),
    }
}

/// The mistakes as one object.
///
/// # Errors
/// The writer fails.
pub fn json<'a>(mistakes: impl IntoIterator<Item = &'a Mistake>, out: &mut dyn Write) -> io::Result<()> {
    let mistakes: Vec<Value> = mistakes.into_iter().map(object).collect();
    writeln!(out, "{}", pretty(&json!({ "mha": 1, "mistakes": mistakes })))
}

fn object(mistake: &Mistake) -> Value {
    let forms: Vec<Value> = mistake
        .forms
        .iter()
        .map(|form| json!({ "name": form.name, "first_wrong_step": form.first.to_string() }))
        .collect();
    json!({
        "name": mistake.name,
        "summary": mistake.summary,
        "first_wrong_step": mistake.first_steps().first().map(Name::to_string),
        "right": mistake.right,
        "wrong": mistake.wrong,
        "cause": mistake.cause,
        "symptom": mistake.symptom,
        "shows_when": mistake.visible,
        "fix": mistake.fix,
        "code": mistake.code,
        "reports": mistake.reports.0,
        "confirmed": mistake.reports.1,
        "forms": forms,
    })
}
