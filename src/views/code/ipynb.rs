//! A program as a Jupyter notebook, nbformat 4.5.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::python::sourced;
use super::text::markdown;
use super::{Program, Source};
use crate::views::json_text::pretty;
use crate::views::page::Detail;

/// Writes a notebook: for each step what it is, its code, and the comparison. Cells have no outputs yet.
///
/// # Errors
/// Those of the writer.
pub(super) fn write(source: &Source<'_>, program: &Program, out: &mut dyn Write) -> io::Result<()> {
    let page = &source.scene.page;
    let told = page.detail != Detail::Bare;
    let mut cells = vec![prose("title", &heading(source, program)), code("setup", &program.setup)];
    let given = paragraphs("## What is given", &[], if told { &program.given_words } else { &[] });
    cells.extend([prose("given", &given), code("given-code", &program.given)]);
    for block in &program.blocks {
        let formula = if told { std::slice::from_ref(&block.formula) } else { &[] };
        let words = if told { block.words.as_slice() } else { &[] };
        let heading = format!("## `{}`: {}", block.name, markdown(&block.title, page));
        cells.push(prose(&block.name, &paragraphs(&heading, formula, words)));
        cells.push(code(&format!("{}-code", block.name), &block.code));
        cells.push(code(&format!("{}-check", block.name), &block.check));
    }
    cells.push(prose("saving", "## Every step, in one file"));
    cells.push(code("saving-code", &program.saving));
    let notebook = json!({
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    });
    writeln!(out, "{}", pretty(&notebook))
}

fn heading(source: &Source<'_>, program: &Program) -> String {
    let (scene, page) = (source.scene, &source.scene.page);
    let mut parts = vec![format!("# {}", markdown(scene.title, page))];
    if page.detail != Detail::Bare {
        let texts = [scene.summary.to_owned(), sourced(scene.source)];
        parts.extend(texts.iter().filter(|text| !text.is_empty()).map(|text| markdown(text, page)));
    }
    let made = markdown(&format!("{} --format ipynb", source.request), page);
    parts.push(format!("Every step of multi-head attention in NumPy, made by <code>{made}</code>."));
    if program.reads_file {
        let making = markdown(&source.making_inputs(), page);
        parts.push(format!("It reads `inputs.npz`, which this makes: <code>{making}</code>"));
    }
    parts.join("\n\n")
}

fn paragraphs(heading: &str, formula: &[String], words: &[String]) -> String {
    let all: Vec<&str> =
        std::iter::once(heading).chain(formula.iter().chain(words).map(String::as_str)).collect();
    all.join("\n\n")
}

fn prose(id: &str, text: &str) -> Value {
    json!({"cell_type": "markdown", "id": id, "metadata": {}, "source": lines(text)})
}

fn code(id: &str, text: &str) -> Value {
    json!({
        "cell_type": "code", "execution_count": null, "id": id, "metadata": {}, "outputs": [], "source": lines(text),
    })
}

/// Lines as notebooks keep them, so that a change of one line is a difference of one line.
fn lines(text: &str) -> Vec<&str> {
    text.trim_end_matches('\n').split_inclusive('\n').collect()
}
