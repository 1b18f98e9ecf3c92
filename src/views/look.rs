//! The palette, and the lines that every page begins its parts with: one place for all verbs.
//!
//! What each mark means stands in the table of [`super`]. Colour follows the switch of the crate `colored`, which is set
//! once at the edge; it never says anything that the text does not say without it.

use colored::{ColoredString, Colorize};

use super::page::Page;

/// The title of a page: bold lines. What it is about follows in sentences, and then a blank line.
pub fn title(words: &str, page: &Page) -> String {
    set(words, page, |line| line.bold())
}

/// The heading of a part of a page: a blank line, then its words.
pub fn heading(words: &str, page: &Page) -> String {
    format!("\n{}", names(words, page))
}

/// Words set as a [`name`] is, on lines of their own.
pub fn names(words: &str, page: &Page) -> String {
    set(words, page, |line| line.cyan().bold())
}

/// Words that something is wrong, on lines of their own.
pub fn alarm(words: &str, indent: usize, page: &Page) -> String {
    painted(&page.paragraph(words, indent), |line| line.red().bold())
}

/// The name of a step, of a cell, of a question: what the lines below it belong to.
pub fn name(text: &str) -> String {
    text.cyan().bold().to_string()
}

/// Whether something is as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// It is.
    Right,
    /// It is not.
    Wrong,
}

impl Tone {
    /// The text in its colour.
    pub fn paint(self, text: &str) -> String {
        match self {
            Self::Right => right(text),
            Self::Wrong => wrong(text),
        }
    }
}

/// A name in a list of what can be typed.
pub fn typed(text: &str) -> String {
    text.cyan().to_string()
}

/// What is as it should be.
pub fn right(text: &str) -> String {
    painted(text, |line| line.green())
}

/// What is not.
pub fn wrong(text: &str) -> String {
    painted(text, |line| line.red().bold())
}

/// What only accompanies: a hidden score, a weight of zero.
pub fn faint(text: &str) -> String {
    text.dimmed().to_string()
}

/// What to look at first: the largest weight of a row, the name of a panel.
pub fn chief(text: &str) -> String {
    text.bold().to_string()
}

fn set(words: &str, page: &Page, paint: impl Fn(&str) -> ColoredString) -> String {
    painted(&page.paragraph(words, 0), paint)
}

/// Each line in colour, its line break and the blanks before it not.
fn painted(text: &str, paint: impl Fn(&str) -> ColoredString) -> String {
    let mut lines = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let words = line.trim_end_matches('\n');
        let start = words.len() - words.trim_start_matches(' ').len();
        lines.push_str(&words[..start]);
        if start < words.len() {
            lines.push_str(&paint(&words[start..]).to_string());
        }
        lines.push_str(&line[words.len()..]);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_and_headings_keep_to_the_width_and_end_their_lines() {
        // No colour here: the switch of this process is off unless a test sets it.
        let page = Page { width: 12, ..Page::default() };
        assert_eq!(title("one two three", &page), "one two\nthree\n");
        assert_eq!(heading("one two three", &page), "\none two\nthree\n");
        assert_eq!(alarm("one two three", 2, &page), "  one two\n  three\n");
    }
}
