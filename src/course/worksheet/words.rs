//! What a sheet says, whatever its format.

use super::sheet::{Exercise, Filled, Sheet, Table};
use crate::plan::Attention;

/// What stands above a sheet or its key.
pub(super) fn kind(is_key: bool) -> &'static str {
    if is_key { "Answer key" } else { "Worksheet" }
}

/// The heading of an exercise, apart from its title.
pub(super) fn heading(sheet: &Sheet, exercise: &Exercise) -> String {
    format!("{} {}", kind(sheet.is_key), exercise.label)
}

/// The line for the learner, and that for the day.
pub(super) fn name_and_date() -> [String; 2] {
    ["Name".to_owned(), "Date".to_owned()]
}

/// The line by which an exercise is made again.
pub(super) fn again(exercise: &Exercise) -> String {
    format!("Sheet {}: {}", exercise.label, exercise.again)
}

/// How an exercise is graded.
pub(super) fn grade(exercise: &Exercise) -> String {
    format!("To be graded: write it into a file (--format yaml), and mha check {} FILE", exercise.lesson)
}

/// How many digits to write.
pub(super) fn instructions(digits: usize) -> Vec<String> {
    let write = match digits {
        0 => "Write whole numbers.".to_owned(),
        1 => "Write one digit after the point; whole numbers need none.".to_owned(),
        digits => format!("Write {digits} digits after the point; whole numbers need none."),
    };
    let carry = "Compute with two digits more than you write. A hidden score is −∞, and e^(−∞) is 0.";
    vec![write, carry.to_owned()]
}

/// The sizes of an attention call.
pub(super) fn sizes(attention: &Attention, queries: usize, keys: usize) -> String {
    let Attention { d_model, num_heads, num_kv_heads, d_k, d_v, .. } = attention;
    let tokens =
        if queries == keys { format!("{queries} tokens") } else { format!("{queries} queries, {keys} keys") };
    let shared =
        if num_kv_heads == num_heads { String::new() } else { format!(", num_kv_heads = {num_kv_heads}") };
    let widths = if d_k == d_v { format!("d_k = d_v = {d_k}") } else { format!("d_k = {d_k}, d_v = {d_v}") };
    format!("{tokens}, d_model = {d_model}, num_heads = {num_heads}{shared}, {widths}")
}

/// What scores are divided by.
pub(super) fn root(d_k: usize, value: f64) -> String {
    if value.fract() == 0.0 {
        format!("Scores are divided by √d_k = √{d_k} = {value}.")
    } else {
        format!("Scores are divided by √d_k = √{d_k} ≈ {value:.4}.")
    }
}

/// What scores are multiplied by, where a lesson has a scale of its own.
pub(super) fn scale(scale: f64) -> String {
    format!("Scores are multiplied by {scale}.")
}

/// What is to be done with a table, or was.
pub(super) fn purpose(table: &Table, is_key: bool) -> String {
    let word = match table.filled {
        Filled::Given => "given",
        Filled::Printed => "computed",
        Filled::Blank if is_key => "answer",
        Filled::Blank => "fill in",
    };
    word.to_owned()
}

/// How a file that was filled in is graded.
pub(super) fn check(exercise: &Exercise, ending: &str) -> String {
    format!("Grade it: mha check {} THIS-FILE.{ending}", exercise.lesson)
}

/// What to do with a file that is to be filled in.
pub(super) fn to_fill_in(digits: usize) -> Vec<String> {
    let mut lines = instructions(digits);
    lines.push(
        "Replace each _ by your number (-.inf for −∞). What is left as _ is not compared, so you can check as you go."
            .to_owned(),
    );
    lines
}

/// The language of the page, as HTML names it.
pub(super) fn language() -> &'static str {
    "en"
}
