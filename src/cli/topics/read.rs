//! A topic's file, and how it is set: a small part of Markdown.
//!
//! ```text
//! # Title
//! also: other, names
//!
//! A paragraph.
//!
//! ## Heading
//!
//! - name — what it is
//!   goes on here
//!
//!     mha trace --steps q   # what the example is for
//! ```
//!
//! A fenced block holds a file, named after its opening fence; its lines stay as they are.

use colored::Colorize;

use crate::views::page::{Page, width};

/// Columns before an example, a name and a line of a file.
const INDENT: usize = 2;

/// A topic as its file gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Topic<'a> {
    /// The file's name.
    pub(super) name: &'a str,
    /// What it is on.
    pub(super) title: &'a str,
    /// Other words that lead to it.
    pub(super) also: Vec<&'a str>,
    parts: Vec<Part<'a>>,
}

/// A piece of a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part<'a> {
    Heading(&'a str),
    Paragraph(String),
    /// Names, and what each is.
    Names(Vec<(String, String)>),
    /// Commands, and what each is for.
    Examples(Vec<(String, String)>),
    /// The lines of a file.
    Lines(Vec<&'a str>),
}

impl<'a> Topic<'a> {
    /// Reads a topic's file. What is no heading, name, example or fence is prose: there are no errors.
    pub(super) fn read(name: &'a str, text: &'a str) -> Self {
        let mut topic = Self { name, title: "", also: Vec::new(), parts: Vec::new() };
        let mut lines = text.lines();
        // A blank line ends what a line would otherwise go on with.
        let mut goes_on = false;
        while let Some(line) = lines.next() {
            let joins = std::mem::replace(&mut goes_on, !line.is_empty());
            if let Some(title) = line.strip_prefix("# ") {
                topic.title = title;
            } else if let Some(also) = line.strip_prefix("also: ") {
                topic.also = also.split(", ").collect();
            } else if let Some(heading) = line.strip_prefix("## ") {
                topic.parts.push(Part::Heading(heading));
            } else if line.starts_with("```") {
                topic.parts.push(Part::Lines(lines.by_ref().take_while(|line| *line != "```").collect()));
            } else if let Some(example) = line.strip_prefix("    ") {
                topic.pair(Part::Examples(vec![halves(example, " # ")]));
            } else if let Some(name) = line.strip_prefix("- ") {
                topic.pair(Part::Names(vec![halves(name, " — ")]));
            } else if !line.is_empty() {
                topic.prose(line.trim_start(), joins);
            }
        }
        topic
    }

    /// A pair stands in one table with those before it.
    fn pair(&mut self, part: Part<'a>) {
        match (self.parts.last_mut(), part) {
            (Some(Part::Names(pairs)), Part::Names(pair)) => pairs.extend(pair),
            (Some(Part::Examples(pairs)), Part::Examples(pair)) => pairs.extend(pair),
            (_, part) => self.parts.push(part),
        }
    }

    fn prose(&mut self, line: &str, joins: bool) {
        let open = match self.parts.last_mut() {
            Some(Part::Paragraph(text)) => Some(text),
            Some(Part::Names(pairs)) => pairs.last_mut().map(|(_, text)| text),
            _ => None,
        };
        match open.filter(|_| joins) {
            Some(text) => {
                text.push(' ');
                text.push_str(line);
            }
            None => self.parts.push(Part::Paragraph(line.to_owned())),
        }
    }

    /// The topic on a page.
    pub(super) fn set(&self, page: &Page) -> String {
        let mut text = page.paragraph(self.title, 0);
        let mut below_a_heading = false;
        for part in &self.parts {
            if !std::mem::replace(&mut below_a_heading, matches!(part, Part::Heading(_))) {
                text.push('\n');
            }
            match part {
                Part::Heading(heading) => {
                    for line in page.paragraph(heading, 0).lines() {
                        text.push_str(&format!("{}\n", line.bold().underline()));
                    }
                }
                Part::Paragraph(prose) => text.push_str(&page.paragraph(prose, 0)),
                Part::Names(pairs) => text.push_str(&columns(pairs, page)),
                Part::Examples(pairs) => text.push_str(&examples(pairs, page)),
                Part::Lines(lines) => {
                    for line in lines {
                        text.push_str(format!("  {}", page.letters(line)).trim_end());
                        text.push('\n');
                    }
                }
            }
        }
        text
    }
}

fn halves(line: &str, between: &str) -> (String, String) {
    let (first, second) = line.split_once(between).unwrap_or((line, ""));
    (first.trim().to_owned(), second.trim().to_owned())
}

/// Names, and beside each what it is; below it where the name is too long.
pub(super) fn columns(pairs: &[(String, String)], page: &Page) -> String {
    let names: Vec<String> = pairs.iter().map(|(name, _)| page.letters(name)).collect();
    let most = (page.width / 3).max(12);
    let widest = names.iter().map(|name| width(name)).filter(|wide| *wide <= most).max().unwrap_or(4);
    let beside = INDENT + widest + 2;
    let mut text = String::new();
    for (name, (_, what)) in names.iter().zip(pairs) {
        let told = page.paragraph(what, beside);
        if width(name) <= widest && !told.is_empty() {
            let gap = " ".repeat(beside - INDENT - width(name));
            text.push_str(&format!("  {name}{gap}{}", told.trim_start()));
        } else {
            text.push_str(&page.paragraph(name, INDENT));
            text.push_str(&told);
        }
    }
    text
}

/// Commands, and beside each what it is for; below it where the two do not fit. A command that is too long goes on
/// below, as a shell takes it.
fn examples(pairs: &[(String, String)], page: &Page) -> String {
    let fits = |(command, purpose): &&(String, String)| {
        INDENT + width(command) + 3 + width(&page.letters(purpose)) <= page.width
    };
    let widest = pairs.iter().filter(fits).map(|(command, _)| width(command)).max().unwrap_or(0);
    let mut text = String::new();
    for (command, purpose) in pairs {
        let told = page.letters(purpose);
        let beside = INDENT + widest.max(width(command)) + 3;
        if !told.is_empty() && beside + width(&told) <= page.width {
            let gap = " ".repeat(beside - INDENT - width(command));
            text.push_str(&format!("  {command}{gap}{told}\n"));
        } else {
            text.push_str(&over_lines(command, page.width));
            text.push_str(&page.paragraph(purpose, 3 * INDENT));
        }
    }
    text
}

/// A command on as many lines as it needs, broken at blanks outside of quotes.
fn over_lines(command: &str, room: usize) -> String {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for letter in command.chars() {
        quoted ^= letter == '\'';
        match words.last_mut() {
            Some(word) if letter != ' ' || quoted => word.push(letter),
            _ => words.push(String::new()),
        }
    }
    // A flag keeps its value beside it.
    let mut units: Vec<String> = Vec::new();
    for word in words {
        match units.last_mut() {
            Some(flag) if flag.starts_with("--") && !flag.contains(' ') && !word.starts_with('-') => {
                flag.push(' ');
                flag.push_str(&word);
            }
            _ => units.push(word),
        }
    }
    let mut text = " ".repeat(INDENT);
    let mut taken = INDENT;
    for (index, word) in units.iter().enumerate() {
        // Two columns are left for the sign that the command goes on.
        let more = if index + 1 < units.len() { 2 } else { 0 };
        if index > 0 && taken + 1 + width(word) + more > room {
            text.push_str(" \\\n    ");
            taken = 2 * INDENT;
        } else if index > 0 {
            text.push(' ');
            taken += 1;
        }
        text.push_str(word);
        taken += width(word);
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# Names of things
also: name, things

A paragraph
of two lines.

## A list

- q — the
  queries
- head.1.weights — the weights of a head

    mha trace --steps 'a b'   # both

```yaml mine.yaml
mha: 1
```
";

    #[test]
    fn a_topic_is_read_and_set() {
        let topic = Topic::read("names", TEXT);
        assert_eq!((topic.name, topic.title), ("names", "Names of things"));
        assert_eq!(topic.also, ["name", "things"]);
        let page = Page { width: 44, ..Page::default() };
        colored::control::set_override(false);
        let expected = "\
Names of things

A paragraph of two lines.

A list
  q               the queries
  head.1.weights  the weights of a head

  mha trace --steps 'a b'   both

  mha: 1
";
        assert_eq!(topic.set(&page), expected);
    }

    #[test]
    fn a_command_that_is_too_long_goes_on_as_a_shell_takes_it() {
        // 2 + 9 + 1 + 15 + 2 = 29 columns would be needed: `--steps` goes to the next line, with its value.
        let broken = "  mha trace \\\n    --steps 'a b c' \\\n    --heads 1\n";
        assert_eq!(over_lines("mha trace --steps 'a b c' --heads 1", 28), broken);
        assert_eq!(over_lines("mha trace", 21), "  mha trace\n");
    }
}
