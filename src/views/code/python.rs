//! A program as a script.

use std::io::{self, Write};

use super::text::{docstring, inside_quotes};
use super::{Library, Program, Source};
use crate::fault::visible;
use crate::views::page::Detail;

/// Writes a script: what it is, what is given, one step after the other.
///
/// # Errors
/// Those of the writer.
pub(super) fn write(
    source: &Source<'_>,
    library: &Library,
    program: &Program,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (scene, page) = (source.scene, &source.scene.page);
    writeln!(out, "\"\"\"{}", docstring(scene.title, page))?;
    if page.detail != Detail::Bare {
        write!(out, "{}{}", docstring(scene.summary, page), docstring(&sourced(scene.source), page))?;
    }
    let line = |text: &str| inside_quotes(&page.letters(&visible(text)));
    writeln!(
        out,
        "Every step of multi-head attention in {}, made by:\n    {}",
        library.name,
        line(&format!("{} --format python --with {}", source.request, library.name.to_lowercase()))
    )?;
    if program.reads_file {
        writeln!(out, "It reads inputs.npz, which this makes:\n    {}", line(&source.making_inputs()))?;
    }
    write!(out, "\"\"\"\n\n{}\n\n# What is given\n{}", program.setup, program.given)?;
    let mut before = None;
    for block in &program.blocks {
        // What is done to queries, keys and values alike stands together.
        let gap = if before == Some(block.kind) { "" } else { "\n" };
        write!(out, "{gap}{}{}", block.code, block.check)?;
        before = Some(block.kind);
    }
    if !program.fused.is_empty() {
        write!(out, "\n# Scores, masks, softmax and values in one call\n{}", program.fused)?;
    }
    write!(out, "\n{}", program.saving)
}

/// Where the example comes from, as a sentence; nothing where that is not said.
pub(super) fn sourced(source: &str) -> String {
    if source.is_empty() { String::new() } else { format!("Source: {source}") }
}
