//! A sheet to be filled in on a computer: YAML or CSV that `mha check` reads, with `_` where a number is to be written.
//!
//! It holds the steps that are left to the learner. What is given or printed stands in comments of the YAML file; a CSV file
//! has no room for comments, and goes with a sheet on paper.

use std::io::{self, Write};

use super::sheet::{Exercise, Filled, Sheet, Table};
use super::words;
use crate::arrays::csv::escape;
use crate::fault::visible;

/// What stands for a number that is not there yet.
const BLANK: &str = "_";

/// Writes the YAML file of an exercise.
///
/// # Errors
/// Those of the writer.
pub fn write_yaml(sheet: &Sheet, exercise: &Exercise, out: &mut dyn Write) -> io::Result<()> {
    let mut say = |text: &str| writeln!(out, "# {}", visible(text));
    say(&words::heading(sheet, exercise))?;
    for said in [words::again(exercise), words::check(exercise)] {
        say(&said)?;
    }
    exercise.facts.iter().try_for_each(|fact| say(fact))?;
    if !sheet.is_key {
        words::to_fill_in(sheet.digits).iter().try_for_each(|line| say(line))?;
    }
    for table in &exercise.tables {
        yaml(sheet, table, out)?;
    }
    Ok(())
}

fn yaml(sheet: &Sheet, table: &Table, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    let comment = if table.filled == Filled::Blank { "" } else { "# " };
    for copy in &table.copies {
        writeln!(out, "# {copy}")?;
    }
    let said = table.equation.as_deref().unwrap_or(&table.title);
    writeln!(out, "# {}. {} ({})", table.number, visible(said), words::purpose(table, sheet.is_key))?;
    writeln!(out, "{comment}{}:", table.id)?;
    for (r, name) in table.rows.iter().enumerate() {
        let cells: Vec<String> = (0..table.columns.len())
            .map(|c| table.cell(r, c, sheet.is_key).map_or(BLANK.to_owned(), in_yaml))
            .collect();
        writeln!(out, "{comment}- [{}]  # {}", cells.join(", "), visible(name))?;
    }
    Ok(())
}

/// A number of the sheet as YAML has it.
fn in_yaml(number: &str) -> String {
    match number {
        "−∞" => "-.inf".to_owned(),
        "∞" => ".inf".to_owned(),
        "NaN" => ".nan".to_owned(),
        number => number.to_owned(),
    }
}

/// Writes the CSV file of an exercise: a number a line, with where it stands.
///
/// # Errors
/// Those of the writer.
pub fn write_csv(sheet: &Sheet, exercise: &Exercise, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = ::csv::Writer::from_writer(out);
    lines.write_record(["step", "row", "column", "row_name", "column_name", "value"])?;
    for table in exercise.tables.iter().filter(|table| table.filled == Filled::Blank) {
        for (r, row) in table.rows.iter().enumerate() {
            for (c, column) in table.columns.iter().enumerate() {
                let value = match table.cell(r, c, sheet.is_key) {
                    Some("−∞") => "-Infinity",
                    Some("∞") => "Infinity",
                    Some(number) => number,
                    None => BLANK,
                };
                let (at_row, at_column) = ((r + 1).to_string(), (c + 1).to_string());
                lines.write_record([
                    table.id.as_str(),
                    &at_row,
                    &at_column,
                    &escape(row),
                    &escape(column),
                    value,
                ])?;
            }
        }
    }
    lines.flush()
}
