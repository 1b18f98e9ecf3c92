//! What a sheet says, whatever its format, in the language of the process.

use super::sheet::{Exercise, Filled, Sheet, Table};
use crate::plan::Attention;
use crate::words::{self, Language, t};

/// What stands above a sheet or its key, before its title.
pub(super) fn heading(sheet: &Sheet, exercise: &Exercise) -> String {
    match sheet.is_key {
        true => t!("Answer key: %{title}", title = exercise.title),
        false => t!("Worksheet: %{title}", title = exercise.title),
    }
}

/// The line for the learner, and that for the day.
pub(super) fn name_and_date() -> [String; 2] {
    [t!("Name"), t!("Date")]
}

/// The line by which an exercise is made again.
pub(super) fn again(exercise: &Exercise) -> String {
    t!("Sheet %{label}: %{command}", label = exercise.label, command = exercise.again)
}

/// How what is written on paper is graded.
pub(super) fn grade(exercise: &Exercise) -> String {
    t!(
        "To have it graded, type it into a sheet made with --format yaml: mha check %{lesson} FILE",
        lesson = exercise.lesson
    )
}

/// How an exercise is made again: what is said, and the command.
pub(super) fn made_again(exercise: &Exercise) -> (String, String) {
    (t!("Sheet %{label} is made by:", label = exercise.label), exercise.again.clone())
}

/// How what is written on paper is graded: what is said, and the command.
pub(super) fn graded(exercise: &Exercise) -> (String, String) {
    let said = t!("To have it graded, type it into a sheet made with --format yaml, and run:");
    (said, format!("mha check {} FILE", exercise.lesson))
}

/// How a file that was filled in is graded.
pub(super) fn check(exercise: &Exercise) -> String {
    t!("Grade it: mha check %{lesson} FILE", lesson = exercise.lesson)
}

/// How many digits to write.
pub(super) fn instructions(digits: usize) -> Vec<String> {
    let write = match digits {
        0 => t!("Write whole numbers."),
        1 => t!("Write one digit after the point; whole numbers need none."),
        _ => t!("Write %{digits} digits after the point; whole numbers need none.", digits = digits),
    };
    let carry = t!("Compute with two digits more than you write. A hidden score is −∞, and e^(−∞) is 0.");
    vec![write, carry]
}

/// What to do with a file that is to be filled in.
pub(super) fn to_fill_in(digits: usize) -> Vec<String> {
    let mut lines = instructions(digits);
    lines.push(t!("Replace each _ by your number (-.inf for −∞). What stays _ is not compared."));
    lines
}

/// The sizes of an attention call.
pub(super) fn sizes(attention: &Attention, queries: usize, keys: usize) -> String {
    let Attention { d_model, num_heads, num_kv_heads, d_k, d_v, .. } = attention;
    let tokens = match queries == keys {
        true => words::tokens(queries),
        false => t!("%{queries} queries, %{keys} keys", queries = queries, keys = keys),
    };
    let shared = match num_kv_heads == num_heads {
        true => String::new(),
        false => format!(", num_kv_heads = {num_kv_heads}"),
    };
    let widths = if d_k == d_v { format!("d_k = d_v = {d_k}") } else { format!("d_k = {d_k}, d_v = {d_v}") };
    format!("{tokens}, d_model = {d_model}, num_heads = {num_heads}{shared}, {widths}")
}

/// What scores are divided by.
pub(super) fn root(d_k: usize, value: f64) -> String {
    match value.fract() == 0.0 {
        true => t!("Scores are divided by √d_k = √%{d_k} = %{value}.", d_k = d_k, value = value),
        false => {
            let value = format!("{value:.4}");
            t!("Scores are divided by √d_k = √%{d_k} ≈ %{value}.", d_k = d_k, value = value)
        }
    }
}

/// What scores are multiplied by, where a lesson has a scale of its own.
pub(super) fn scale(scale: f64) -> String {
    t!("Scores are multiplied by %{scale}.", scale = scale)
}

/// What is to be done with a table, or was.
pub(super) fn purpose(table: &Table, is_key: bool) -> String {
    match table.filled {
        Filled::Given => t!("given"),
        Filled::Printed => t!("computed"),
        Filled::Blank if is_key => t!("answer"),
        Filled::Blank => t!("fill in"),
    }
}

/// The language of the page, as HTML names it.
pub(super) fn language() -> &'static str {
    match words::language() {
        Language::En => "en",
        Language::Zh => "zh",
    }
}
