//! A report as titles, sentences and tables, before anybody has decided how it is set: for a terminal or as Markdown.

use super::grid::Side;
use super::look::Tone;
use super::markdown_text::{inline, line};
use super::page::{Page, width};
use super::params::{Sheet, Words};
use crate::fault::visible;

/// A piece of a report.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// The title of the page where it comes first, else a heading.
    Title(String),
    /// A sentence that explains.
    Say(String),
    /// What the next table shows; it stays where few words are wanted.
    Caption(String),
    /// A table.
    Table(Table),
    /// A command, word by word as a shell takes them: it stays where few words are wanted, and can be pasted.
    Command(Vec<String>),
}

/// A table whose first column names its rows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// The head of the first column.
    pub corner: String,
    /// The heads of the others, and on which side their cells stand.
    pub columns: Vec<(String, Side)>,
    /// A name and its cells, row by row.
    pub rows: Vec<(String, Vec<String>)>,
    /// Rows, from 0, whose first cell says whether something is right: a terminal shows it in colour.
    pub judged: Vec<(usize, Tone)>,
}

impl Table {
    /// A table without rows yet.
    pub fn new(corner: &str, columns: &[(&str, Side)]) -> Self {
        let columns = columns.iter().map(|(name, side)| ((*name).to_owned(), *side)).collect();
        Self { corner: corner.into(), columns, ..Self::default() }
    }

    /// Adds a row.
    pub fn row(&mut self, name: impl Into<String>, cells: Vec<String>) {
        self.rows.push((name.into(), cells));
    }

    /// Adds a row whose first cell says whether something is right.
    pub fn judged(&mut self, tone: Tone, name: impl Into<String>, cells: Vec<String>) {
        self.judged.push((self.rows.len(), tone));
        self.row(name, cells);
    }

    /// Adds a row of texts that need no work.
    pub fn line(&mut self, name: &str, cells: &[&str]) {
        self.row(name, cells.iter().map(|cell| (*cell).to_owned()).collect());
    }
}

/// The report for a terminal; ends with a line break.
pub fn terminal(parts: &[Part], page: &Page, words: Words) -> String {
    let (title, rest) = match parts.split_first() {
        Some((Part::Title(title), rest)) => (Some(title), rest),
        _ => (None, parts),
    };
    let mut sheet = Sheet::new(page, words);
    if let Some(title) = title {
        sheet.title(title);
    }
    set(rest, sheet)
}

/// What stands below the first part of a page: its titles are headings, each with a blank line above.
pub(super) fn below(parts: &[Part], page: &Page, words: Words) -> String {
    set(parts, Sheet::new(page, words))
}

fn set(parts: &[Part], mut sheet: Sheet<'_>) -> String {
    for part in parts {
        match part {
            Part::Title(text) => sheet.heading(text),
            Part::Say(text) => sheet.say(text),
            Part::Caption(text) => sheet.caption(text),
            Part::Command(words) => sheet.text.push_str(&command(words, sheet.page.width)),
            Part::Table(table) => {
                let columns: Vec<(&str, Side)> =
                    table.columns.iter().map(|(name, side)| (name.as_str(), *side)).collect();
                sheet.judged_table(&table.corner, &columns, table.rows.clone(), &table.judged);
            }
        }
    }
    sheet.text
}

/// A command on lines that fit the page and that a shell joins again; a word is never broken.
pub(crate) fn command(words: &[String], room: usize) -> String {
    let mut text = String::new();
    let mut line = " ".to_owned();
    for (place, word) in words.iter().map(|word| visible(word)).enumerate() {
        let end = if place + 1 < words.len() { 2 } else { 0 };
        if place > 0 && width(&line) + 1 + width(&word) + end > room {
            text.push_str(&format!("{line} \\\n"));
            line = "   ".to_owned();
        }
        line.push_str(&format!(" {word}"));
    }
    format!("{text}{line}\n")
}

/// The report as GitHub's Markdown.
pub fn markdown(parts: &[Part]) -> String {
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Title(title) => text.push_str(&format!("## {}\n\n", inline(title))),
            Part::Say(said) | Part::Caption(said) => text.push_str(&format!("{}\n\n", line(said))),
            Part::Command(words) => text.push_str(&format!("```sh\n{}\n```\n\n", visible(&words.join(" ")))),
            Part::Table(table) => {
                let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
                let heads = std::iter::once(&table.corner).chain(table.columns.iter().map(|(name, _)| name));
                text.push_str(&row(heads.map(|head| inline(head)).collect()));
                let sides = table.columns.iter().map(|(_, side)| match side {
                    Side::Left => "---".to_owned(),
                    Side::Right => "---:".to_owned(),
                });
                text.push_str(&row(std::iter::once("---".to_owned()).chain(sides).collect()));
                for (name, cells) in &table.rows {
                    let cells = std::iter::once(name)
                        .chain(cells)
                        .map(|cell| cell.split('\n').map(inline).collect::<Vec<_>>().join("<br>"));
                    text.push_str(&row(cells.collect()));
                }
                text.push('\n');
            }
        }
    }
    text.trim_end().to_owned() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_command_goes_on_where_a_shell_goes_on() {
        let words = ["mha", "trace", "masks", "--mistake", "'a form'"].map(str::to_owned);
        // "  mha trace masks --mistake 'a form'" takes 36 columns; " \\" takes two of the first line.
        assert_eq!(command(&words, 36), "  mha trace masks --mistake 'a form'\n");
        assert_eq!(command(&words, 35), "  mha trace masks --mistake \\\n    'a form'\n");
        assert_eq!(command(&words, 20), "  mha trace masks \\\n    --mistake \\\n    'a form'\n");
    }

    #[test]
    fn markdown_shows_what_it_is_given_and_obeys_nothing() {
        let mut table = Table::new("a|b", &[("d_k", Side::Right)]);
        table.line("<b>", &["4*4"]);
        let text = markdown(&[Part::Title("# no".into()), Part::Table(table)]);
        assert_eq!(text, "## \\# no\n\n| a\\|b | d\\_k |\n| --- | ---: |\n| &lt;b&gt; | 4\\*4 |\n");
    }
}
