//! A sheet as a page to print: A4 or letter, no colour, no script, a page for each exercise. It fetches nothing, and a policy
//! forbids everything but its own style.

use std::io::{self, Write};

use super::sheet::{Exercise, Filled, Sheet, Table};
use super::words;
use crate::views::html::policy;
use crate::views::markup::html;

/// How the page looks. The paper's size is the printer's own; lengths are in points and letters.
const STYLE: &str = "\
@page { margin: 18mm }
body { font: 11pt/1.4 Georgia, 'Times New Roman', serif; color: #000; background: #fff; max-width: 46em; margin: 0 auto }
h1 { font-size: 15pt; margin: 0 0 .5em }
h2 { font-size: 11pt; margin: 1.2em 0 .2em }
p { margin: .2em 0 }
.exercise + .exercise { break-before: page; margin-top: 3em }
.who { display: flex; gap: 2em; margin: .8em 0 }
.who span { flex: 1; border-bottom: .5pt solid #000 }
.step { break-inside: avoid }
.beside { display: inline-block; vertical-align: top; margin-right: 2em }
table { border-collapse: collapse; margin: .3em 0; font-variant-numeric: tabular-nums }
th { font-weight: normal; font-style: italic; padding: 0 .5em }
td { border: .5pt solid #000; text-align: right; padding: .15em .4em; min-width: 2.2em }
td.blank { height: 1.9em; min-width: 3.4em }
td.answer { font-weight: bold }
.room { height: 4em }
.foot { font-size: 9pt; margin-top: 1em; overflow-wrap: anywhere }
code, .foot { font-family: ui-monospace, Consolas, monospace }
";

/// Writes the page.
///
/// # Errors
/// Those of the writer.
pub fn write(sheet: &Sheet, out: &mut dyn Write) -> io::Result<()> {
    let title = sheet.exercises.first().map(|first| words::heading(sheet, first)).unwrap_or_default();
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"{}\">\n<head>\n<meta charset=\"utf-8\">",
        words::language()
    )?;
    writeln!(
        out,
        "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n<title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>",
        policy(STYLE, None),
        html(&title)
    )?;
    for exercise in &sheet.exercises {
        write_exercise(sheet, exercise, out)?;
    }
    writeln!(out, "</body>\n</html>")
}

fn write_exercise(sheet: &Sheet, exercise: &Exercise, out: &mut dyn Write) -> io::Result<()> {
    let heading = words::heading(sheet, exercise);
    writeln!(out, "<section class=\"exercise\">\n<h1>{}</h1>", html(&heading))?;
    if !sheet.is_key {
        let who = |word: &str| format!("<span>{}:</span>", html(word));
        let [name, date] = words::name_and_date();
        writeln!(out, "<div class=\"who\">{}{}</div>", who(&name), who(&date))?;
    }
    for fact in &exercise.facts {
        writeln!(out, "<p>{}</p>", html(fact))?;
    }
    if !sheet.is_key {
        writeln!(out, "<p>{}</p>", html(&words::instructions(sheet.digits).join(" ")))?;
    }
    for table in &exercise.tables {
        write_table(sheet, table, out)?;
    }
    for said in [words::again(exercise), words::grade(exercise)] {
        writeln!(out, "<p class=\"foot\">{}</p>", html(&said))?;
    }
    writeln!(out, "</section>")
}

fn write_table(sheet: &Sheet, table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let is_blank = table.filled == Filled::Blank;
    let purpose = words::purpose(table, sheet.is_key);
    let beside = if is_blank { "" } else { " beside" };
    writeln!(
        out,
        "<div class=\"step{beside}\">\n<h2>{}. <code>{}</code> {} ({})</h2>",
        table.number,
        html(&table.id),
        html(&table.title),
        html(&purpose)
    )?;
    let copies = table.copies.join("; ");
    for equation in Some(&copies).filter(|copies| !copies.is_empty()).into_iter().chain(&table.equation) {
        writeln!(out, "<p>{}</p>", html(equation))?;
    }
    write!(out, "<table>\n<tr><th></th>")?;
    for name in &table.columns {
        write!(out, "<th>{}</th>", html(name))?;
    }
    writeln!(out, "</tr>")?;
    for (r, name) in table.rows.iter().enumerate() {
        write!(out, "<tr><th>{}</th>", html(name))?;
        for c in 0..table.columns.len() {
            match table.cell(r, c, sheet.is_key) {
                Some(number) if is_blank => write!(out, "<td class=\"answer\">{number}</td>")?,
                Some(number) => write!(out, "<td>{number}</td>")?,
                None => write!(out, "<td class=\"blank\"></td>")?,
            }
        }
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</table>")?;
    match &table.worked {
        Some(worked) if sheet.is_key => writeln!(out, "<p>{}</p>", html(worked))?,
        _ if is_blank => writeln!(out, "<div class=\"room\"></div>")?,
        _ => {}
    }
    writeln!(out, "</div>")
}
