//! A sheet as GitHub's Markdown shows it.

use std::io::{self, Write};

use super::sheet::{Exercise, Filled, Sheet, Table};
use super::words;
use crate::views::markdown_text::{inline, line};
use crate::views::tex;

/// Writes the sheet; a rule stands between two exercises.
///
/// # Errors
/// Those of the writer.
pub fn write(sheet: &Sheet, out: &mut dyn Write) -> io::Result<()> {
    for (at, exercise) in sheet.exercises.iter().enumerate() {
        if at > 0 {
            writeln!(out, "\n---\n")?;
        }
        write_exercise(sheet, exercise, out)?;
    }
    Ok(())
}

/// Where a number is to be written.
const BLANK: &str = "&emsp;&emsp;&emsp;";

fn write_exercise(sheet: &Sheet, exercise: &Exercise, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "# {}", line(&words::heading(sheet, exercise)))?;
    if !sheet.is_key {
        let ([name, date], rule) = (words::name_and_date(), "\\_".repeat(12));
        writeln!(out, "\n{name}: {rule}{rule} &emsp; {date}: {rule}")?;
    }
    for fact in &exercise.facts {
        writeln!(out, "\n{}", line(fact))?;
    }
    if !sheet.is_key {
        writeln!(out, "\n{}", line(&words::instructions(sheet.digits).join(" ")))?;
    }
    for table in &exercise.tables {
        write_table(sheet, table, out)?;
    }
    for said in [words::again(exercise), words::grade(exercise)] {
        writeln!(out, "\n{}", line(&said))?;
    }
    Ok(())
}

fn write_table(sheet: &Sheet, table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let purpose = words::purpose(table, sheet.is_key);
    writeln!(out, "\n## {}. `{}`: {} ({purpose})", table.number, table.id, inline(&table.title))?;
    for equation in table.copies.iter().chain(&table.equation) {
        writeln!(out, "\n```math\n{}\n```", tex::formula(equation))?;
    }
    if table.equation.is_none() {
        writeln!(out, "\n$`{}`$", tex::formula(&table.sign))?;
    }
    let row = |first: String, cells: &mut dyn Iterator<Item = String>| {
        let cells: Vec<String> = std::iter::once(first).chain(cells).collect();
        format!("| {} |", cells.join(" | "))
    };
    writeln!(out, "\n{}", row(String::new(), &mut table.columns.iter().map(|name| inline(name))))?;
    writeln!(out, "{}", row("---".to_owned(), &mut table.columns.iter().map(|_| "---:".to_owned())))?;
    for (r, name) in table.rows.iter().enumerate() {
        let cell = |c: usize| table.cell(r, c, sheet.is_key).unwrap_or(BLANK).to_owned();
        writeln!(out, "{}", row(inline(name), &mut (0..table.columns.len()).map(cell)))?;
    }
    match &table.worked {
        Some(worked) if sheet.is_key => writeln!(out, "\n{}", line(worked))?,
        _ if table.filled == Filled::Blank => writeln!(out, "\n&nbsp;\n\n&nbsp;")?, // room to write
        _ => {}
    }
    Ok(())
}
