//! A sheet in a terminal, to look at.

use std::io::{self, Write};

use super::sheet::{Exercise, Sheet, Table};
use super::words;
use crate::fault::visible;
use crate::views::grid::Grid;
use crate::views::look;
use crate::views::page::{Detail, Page};
use crate::views::part;

/// Writes the sheet.
///
/// # Errors
/// Those of the writer.
pub fn write(sheet: &Sheet, page: &Page, out: &mut dyn Write) -> io::Result<()> {
    for (at, exercise) in sheet.exercises.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        write_exercise(sheet, exercise, page, out)?;
    }
    Ok(())
}

fn write_exercise(sheet: &Sheet, exercise: &Exercise, page: &Page, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{}", look::title(&visible(&words::heading(sheet, exercise)), page))?;
    let mut say = |text: &str| write!(out, "{}", page.paragraph(&visible(text), 0));
    if page.detail != Detail::Bare {
        exercise.facts.iter().try_for_each(|fact| say(fact))?;
        if !sheet.is_key {
            words::instructions(sheet.digits).iter().try_for_each(|line| say(line))?;
        }
    }
    for table in &exercise.tables {
        write_table(sheet, table, page, out)?;
    }
    if page.detail != Detail::Bare {
        for (said, command) in [words::made_again(exercise), words::graded(exercise)] {
            // A command stands on lines of its own, and a shell joins them again; never inside quotes.
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            let breaks = shlex::split(&command).is_some_and(|typed| typed.len() == words.len());
            let typed = if breaks { words } else { vec![command] };
            write!(out, "\n{}{}", page.paragraph(&visible(&said), 0), part::command(&typed, page.width))?;
        }
    }
    Ok(())
}

fn write_table(sheet: &Sheet, table: &Table, page: &Page, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    let mut say = |text: &str| write!(out, "{}", page.paragraph(text, 0));
    if !table.copies.is_empty() {
        say(&table.copies.join("; "))?;
    }
    let between = page.between();
    let purpose = words::purpose(table, sheet.is_key);
    say(&format!("{}. {}{between}{}{between}{purpose}", table.number, table.id, table.title))?;
    if let Some(equation) = table.equation.as_ref().filter(|_| page.detail != Detail::Bare) {
        say(&format!("{equation}{between}{}", table.sizes))?;
    }
    let blank = "_".repeat(sheet.digits + 3);
    let cell = |r: usize, c: usize| page.letters(table.cell(r, c, sheet.is_key).unwrap_or(&blank));
    let grid = Grid {
        columns: table.columns.clone(),
        rows: table.rows.clone(),
        cells: (0..table.rows.len())
            .map(|r| (0..table.columns.len()).map(|c| cell(r, c)).collect())
            .collect(),
        whole: true,
        ..Grid::default()
    };
    write!(out, "{}", grid.render(page))?;
    match &table.worked {
        Some(worked) if sheet.is_key => write!(out, "{}", page.paragraph(worked, 0)),
        _ => Ok(()),
    }
}
