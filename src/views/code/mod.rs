//! A trace as a program: a short script that recomputes every step and compares it, or the same as a notebook.
//!
//! ```text
//! Scene ──> program (blocks: what is given, then one block a stacked step) ──> script (.py)
//!                                                                         └──> notebook (.ipynb)
//! ```
//!
//! The plan says what each step computes and from what; `steps.rs` says it in Python, in the words of a [`Library`].

mod given;
mod groups;
mod ipynb;
mod library;
mod literal;
mod masks;
mod python;
mod steps;
mod text;

use std::io::{self, Write};
use std::mem::Discriminant;

pub use library::{Library, NUMPY, PYTORCH};

use super::Scene;
use super::page::Detail;
use crate::ops::Op;
use groups::Group;

/// More numbers than this are not typed but read from a file.
const MOST_TYPED: usize = 2_000;

/// What a program is written from.
pub struct Source<'a> {
    /// The trace, with every step of it kept.
    pub scene: &'a Scene<'a>,
    /// Whether sequences stand on a leading axis; not where one of them was chosen.
    pub keep_batch_axis: bool,
    /// What was typed to trace this lesson, quoted for a shell: `mha trace two-heads`.
    pub request: &'a str,
}

/// A program in parts; each part is whole lines.
struct Program {
    /// Imports, sizes, and the functions that later parts call.
    setup: String,
    /// Inputs and projections.
    given: String,
    /// What is told of what is given; Markdown.
    given_words: Vec<String>,
    /// One a stacked step, in order.
    blocks: Vec<Block>,
    /// The same in one call, where the library can.
    fused: String,
    /// Keeps the numbers in a file.
    saving: String,
    /// Whether numbers come from a file.
    reads_file: bool,
}

/// One stacked step.
struct Block {
    /// The name under which files hold it.
    name: String,
    /// The step in words.
    title: String,
    /// Its formula, in the signs of one head; Markdown.
    formula: String,
    /// What happened; Markdown.
    words: Vec<String>,
    /// Computes it.
    code: String,
    /// Compares it.
    check: String,
    /// Which operation it is.
    kind: Discriminant<Op>,
}

/// Writes a Python script.
///
/// # Errors
/// Those of the writer.
pub fn write_script(source: &Source<'_>, library: &Library, out: &mut dyn Write) -> io::Result<()> {
    python::write(source, library, &Program::new(source, library, false), out)
}

/// Writes a Jupyter notebook (nbformat 4.5) that computes with NumPy.
///
/// # Errors
/// Those of the writer.
pub fn write_notebook(source: &Source<'_>, out: &mut dyn Write) -> io::Result<()> {
    let is_told = source.scene.page.detail != Detail::Bare;
    ipynb::write(source, &Program::new(source, &NUMPY, is_told), out)
}

impl Source<'_> {
    /// The command that makes the file which the program reads; `None` where it needs no file.
    pub fn needs(&self) -> Option<String> {
        let groups = groups::all(self);
        let numbers: usize = groups.iter().map(|group| given::typed(group)).sum();
        (numbers + masks::typed(self.scene.attention) > MOST_TYPED).then(|| self.making_inputs())
    }

    /// The command that makes the file which a program with large arrays reads.
    fn making_inputs(&self) -> String {
        format!("{} --format npz --output inputs.npz", self.request)
    }
}

impl Program {
    /// Words take long to find where there are many numbers, so only where they `are_told`.
    fn new(source: &Source<'_>, library: &Library, are_told: bool) -> Self {
        let groups = groups::all(source);
        let author =
            Author { source, library, groups: &groups, reads_file: source.needs().is_some(), are_told };
        let mut computed: Vec<&Group<'_>> = groups.iter().filter(|group| !group.is_given()).collect();
        computed.sort_by_key(|group| group.stage());
        let blocks: Vec<Block> = computed.into_iter().map(|group| author.block(group)).collect();
        let given = author.given();
        let fused = author.fused();
        let body: String =
            blocks.iter().flat_map(|block| [block.code.as_str(), block.check.as_str()]).collect();
        Self {
            setup: author.setup(&without_comments(&format!("{given}{body}{fused}"))),
            given,
            given_words: author.given_words(),
            fused,
            saving: author.saving(),
            blocks,
            reads_file: author.reads_file,
        }
    }
}

/// Knows what is to be said, and in whose words.
struct Author<'a> {
    source: &'a Source<'a>,
    library: &'a Library,
    groups: &'a [Group<'a>],
    /// Whether large arrays come from the file `inputs.npz`.
    reads_file: bool,
    /// Whether the program tells what happened.
    are_told: bool,
}

/// Code as Python runs it: a token's name beside its row calls no function.
fn without_comments(code: &str) -> String {
    code.lines().flat_map(|line| [line.split("  # ").next().unwrap_or_default(), "\n"]).collect()
}

/// Whether a piece of code uses a name: as a whole word, and not behind a dot.
fn uses(code: &str, name: &str) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(name).any(|(at, _)| {
        !code[..at].ends_with(|c| part_of_word(c) || c == '.')
            && !code[at + name.len()..].starts_with(part_of_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_used_as_a_whole_word() {
        assert!(uses("weights = softmax(scores)", "softmax"));
        assert!(!uses("weights = torch.softmax(scores)", "softmax"));
        assert!(!uses("no_softmax", "softmax") && !uses("softmaxes", "softmax"));
    }
}
