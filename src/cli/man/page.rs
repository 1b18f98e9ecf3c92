//! A help page as a manual page.
//!
//! clap_mangen sets the options; what stands below a help page (examples, notes) is set here, so that it folds at any
//! width. The page is plain ASCII: other characters are written as troff's `\[u00D7]`, which every reader of manual
//! pages shows as they are, whatever it takes the file's encoding for.

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::cli::version;
use crate::course::pages::File;

/// What the environment changes, on the page of the program.
const ENVIRONMENT: [(&str, &str); 5] = [
    ("NO_COLOR", "No colour, unless --color says otherwise."),
    ("CLICOLOR_FORCE", "Colour also into a file or a pipe; 0 is as if it were not set."),
    ("TERM, COLORTERM", "How many colours a terminal has; dumb has none."),
    (
        "LC_ALL, LC_MESSAGES, LANG",
        "The language, unless --lang says otherwise: the first that is not empty counts.",
    ),
    ("MHA_DATA_DIR", "The folder of progress.json, which mha learn keeps."),
];

/// What the exit status means, on the page of the program.
const STATUS: [(&str, &str); 4] = [
    ("0", "Done."),
    ("1", "Done, and the answer is no: a mistake was found, a claim is false."),
    ("2", "The request cannot be met; standard error says what is wrong, where, why, and what to try."),
    ("130", "Ctrl-C was pressed."),
];

/// The page of a command, with the file name that man looks for; `parent` is the command above it.
pub(super) fn of(command: &Command, parent: Option<&Command>) -> File {
    let name = title(command).to_owned();
    let mut shown = command.clone();
    let usage = shown.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").to_owned();
    let shown = shown.override_usage(usage).subcommand_help_heading("COMMANDS");
    let man = Man::new(shown)
        .title(name.to_uppercase())
        .source(format!("mha {}", version::SHORT))
        .manual("mha manual")
        .date(version::day().unwrap_or("\"\"")); // nothing at all would move what follows into its place
    let below = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let (notes, sections) = parts(&below);

    let mut out = Vec::new();
    let set = |roff: Roff| roff.to_roff().into_bytes();
    let written = (|| {
        man.render_title(&mut out)?;
        man.render_name_section(&mut out)?;
        man.render_synopsis_section(&mut out)?;
        man.render_description_section(&mut out)?;
        out.extend(set(lines(&notes)));
        man.render_options_section(&mut out)?;
        if command.has_subcommands() {
            man.render_subcommands_section(&mut out)?;
        }
        std::io::Result::Ok(())
    })();
    debug_assert!(written.is_ok(), "nothing hinders writing to memory");
    for (heading, body) in &sections {
        out.extend(set(section(&heading.to_uppercase())));
        out.extend(set(lines(body)));
    }
    if parent.is_none() {
        out.extend(set(section("EXIT STATUS")));
        out.extend(set(terms(&STATUS)));
        out.extend(set(section("ENVIRONMENT")));
        out.extend(set(terms(&ENVIRONMENT)));
    }
    let also = also(command, parent);
    if !also.is_empty() {
        out.extend(set(section("SEE ALSO")));
        let mut roff = Roff::new();
        roff.text([roman(also.join(", "))]);
        out.extend(set(roff));
    }
    File { name: format!("{name}.1"), text: settled(&String::from_utf8_lossy(&out)) }
}

/// `mha-lessons-new`, as the command `mha lessons new` is called in manual pages.
fn title(command: &Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

fn section(heading: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", [heading]);
    roff
}

fn terms(list: &[(&str, &str)]) -> Roff {
    let mut roff = Roff::new();
    for (term, meaning) in list {
        roff.control("TP", []);
        roff.text([bold(*term)]);
        roff.text([roman(*meaning)]);
    }
    roff
}

/// The pages beside this one: the one above, and those of its own commands or of the commands beside it.
fn also(command: &Command, parent: Option<&Command>) -> Vec<String> {
    let beside = if command.has_subcommands() { Some(command) } else { parent };
    let names = beside.into_iter().flat_map(Command::get_subcommands).map(title);
    let names = names.filter(|name| *name != title(command));
    parent.map(title).into_iter().chain(names).map(|name| format!("{name}(1)")).collect()
}

/// A line below a help page.
#[derive(Debug, PartialEq, Eq)]
enum Line<'a> {
    /// A paragraph.
    Told(String),
    /// A command, or a name, and what it is for.
    Named(&'a str, String),
}

/// What stands below a help page: first what belongs to no heading, then the sections.
fn parts(below: &str) -> (Vec<Line<'_>>, Vec<(&str, Vec<Line<'_>>)>) {
    let (mut notes, mut sections): (Vec<Line<'_>>, Vec<(&str, Vec<Line<'_>>)>) = (Vec::new(), Vec::new());
    let all: Vec<&str> = below.lines().collect();
    let after_a_blank = |at: usize| at.checked_sub(1).is_none_or(|before| all[before].trim().is_empty());
    for (at, line) in all.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let is_indented = |line: &str| line.starts_with("  ");
        if let Some(heading) = line.strip_suffix(':')
            && all.get(at + 1).is_some_and(|next| is_indented(next))
            && !is_indented(line)
        {
            sections.push((heading, Vec::new()));
            continue;
        }
        let body = sections.last_mut().map_or(&mut notes, |(_, body)| body);
        let text = line.trim();
        let indent = line.len() - line.trim_start().len();
        match (text.split_once("  "), body.last_mut()) {
            (_, Some(Line::Told(paragraph))) if indent == 0 && !after_a_blank(at) => {
                paragraph.push(' ');
                paragraph.push_str(text);
            }
            _ if indent == 0 => body.push(Line::Told(text.to_owned())),
            // what a command is for stands below it, where there is no room beside it
            (None, Some(Line::Named(_, purpose))) if indent > 8 => purpose.push_str(text),
            (Some((name, purpose)), _) => body.push(Line::Named(name, purpose.trim().to_owned())),
            (None, _) => body.push(Line::Named(text, String::new())),
        }
    }
    (notes, sections)
}

fn lines(body: &[Line<'_>]) -> Roff {
    let mut roff = Roff::new();
    for line in body {
        match line {
            Line::Told(text) => {
                roff.control("PP", []);
                roff.text([roman(text.as_str())]);
            }
            Line::Named(name, purpose) if purpose.is_empty() => {
                roff.control("PP", []);
                roff.text([bold(*name)]);
            }
            Line::Named(name, purpose) => {
                roff.control("TP", []);
                roff.text([bold(*name)]);
                roff.text([roman(purpose.as_str())]);
            }
        }
    }
    roff
}

/// The page as it is written: ASCII alone, no empty lines, and no request twice, which readers of pages complain of.
fn settled(page: &str) -> String {
    // The preamble that comes with every section defines what stands for an apostrophe: it is written as such instead.
    let is_preamble = |line: &&str| line.contains(".ds Aq ");
    let lines: Vec<&str> = page
        .lines()
        .filter(|line| !is_preamble(line))
        .map(|line| if line.trim().is_empty() { ".sp" } else { line.trim_end() })
        .collect();
    let mut text = String::with_capacity(page.len());
    for (at, line) in lines.iter().enumerate() {
        let before = at.checked_sub(1).map_or("", |at| lines[at]);
        let after = lines.get(at + 1).copied().unwrap_or_default();
        match *line {
            ".br" if before == ".sp" || after == ".sp" => {}
            ".PP" if before.starts_with(".SH") => {}
            // Lists of values begin where the text above them does, a line a value.
            ".RS 14" => text.push_str(".RS 7\n.PD 0\n"),
            ".RE" => text.push_str(".PD\n.RE\n"),
            // Lines are neither stretched nor broken inside words: names of steps and flags stay whole.
            line if line.starts_with(".TH") => text.push_str(&format!("{line}\n.nh\n.ad l\n")),
            line => {
                for letter in line.replace("\\*(Aq", "'").chars() {
                    match letter {
                        '\'' => text.push_str("\\(aq"),
                        ' '..='~' => text.push(letter),
                        other => text.push_str(&format!("\\[u{:04X}]", u32::from(other))),
                    }
                }
                text.push('\n');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_below_a_help_page_falls_into_notes_and_sections() {
        let below = "Any subset\nwill do.\n\nExamples:\n  mha check a.npz\n  mha check b.npz   yours\n                 \
                     under a long command\n\nMore:\n  x  y\n\nThe end.";
        let (notes, sections) = parts(below);
        assert_eq!(notes, [Line::Told("Any subset will do.".to_owned())]);
        let [(examples, first), (more, second)] = sections.as_slice() else { panic!("{sections:?}") };
        assert_eq!((*examples, *more), ("Examples", "More"));
        assert_eq!(first[0], Line::Named("mha check a.npz", String::new()));
        assert_eq!(second.as_slice(), [Line::Named("x", "y".to_owned()), Line::Told("The end.".to_owned())]);
    }

    /// troff's rules (groff(7)): a line that begins with a point is a request, `\` an escape, `-` a hyphen that may become
    /// another character.
    #[test]
    fn what_troff_would_take_for_its_own_is_escaped() {
        let text = settled(&lines(&[Line::Told(".5 is 1/√4, \\alpha - 'x'".to_owned())]).to_roff());
        assert_eq!(text, ".PP\n\\&.5 is 1/\\[u221A]4, \\\\alpha \\- \\(aqx\\(aq\n");
    }
}
