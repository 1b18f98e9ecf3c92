//! Tables of figures, plots and timings of a course.

use serde_yaml::Value;

use super::super::places::walk;
use super::super::reader::{Node, Reader, describe};
use super::parts::sentence;
use super::runs::{change, missing, word};
use super::{Course, Figure, Figures, Line, Part, Plot, Timing};
use crate::fault::counted;
use crate::lesson::Quantity;
use crate::limits::PLOT_VALUES;

/// Reads an expression: a text, or a number alone.
pub(in crate::lesson) fn quantity(node: &Node, reader: &mut Reader) -> Option<Quantity> {
    let example = "write head.1.weights[3,1], or entropy(head.1.weights[3])";
    let typed = match node.value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return node.refuse(reader, "an expression", example),
    };
    expression(&typed, node, reader)
}

fn expression(typed: &str, node: &Node, reader: &mut Reader) -> Option<Quantity> {
    match typed.parse::<Quantity>() {
        Ok(quantity) => Some(quantity),
        Err(error) => {
            let what = format!("{} is no expression: {}", node.spot, describe(&Value::from(typed.trim())));
            let remedy = match error.remedy.as_str() {
                "" => "mend it there, or make it shorter: entropy(head.1.weights[3]) > 1 is an expression",
                remedy => remedy,
            };
            reader.fault(&node.spot, what, error.to_string(), remedy)
        }
    }
}

/// Reads `table`.
pub(super) fn table(node: &Node, reader: &mut Reader) -> Option<Figures> {
    let section = node.section(&["title", "columns", "rows", "source"], reader)?;
    let example = "write table: {columns: [what, one head, two heads], rows: [[entropy, \"= entropy(head.1.weights@one)\", …]]}";
    let title = section.given("title", reader, sentence);
    let source = section.given("source", reader, sentence);
    let columns = section.given("columns", reader, |node, reader| {
        let items = node.items(reader, "a list of heads", example)?;
        let heads: Vec<_> = items.iter().map(|item| words(item, reader)).collect();
        heads.into_iter().collect::<Option<Vec<String>>>()
    });
    let width = columns.good().map(Vec::len);
    let rows = section.given("rows", reader, |node, reader| {
        let items = node.items(reader, "a list of rows", example)?;
        let rows: Vec<_> = items.iter().map(|item| row(item, width, reader)).collect();
        rows.into_iter().collect::<Option<Vec<Vec<Figure>>>>()
    });
    missing(node, &[("columns", columns.is_absent()), ("rows", rows.is_absent())], example, reader);
    Some(Figures {
        title: title.or(String::new())?,
        columns: columns.good().cloned()?,
        rows: rows.good().cloned()?,
        source: source.or(String::new())?,
    })
}

fn row(node: &Node, width: Option<usize>, reader: &mut Reader) -> Option<Vec<Figure>> {
    let items = node.items(reader, "a list of cells", "write [entropy, \"= entropy(head.1.weights)\"]")?;
    if let Some(width) = width.filter(|width| *width != items.len()) {
        let what = format!(
            "{} has {}, but there are {}",
            node.spot,
            counted(items.len(), "cell"),
            counted(width, "column")
        );
        return reader.fault(&node.spot, what, "", format!("give {}", counted(width, "cell")));
    }
    let cells: Vec<_> = items
        .iter()
        .map(|item| match item.value.as_str().and_then(|text| text.trim_start().strip_prefix('=')) {
            Some(typed) => expression(typed, item, reader).map(Figure::Computed),
            None => words(item, reader).map(Figure::Words),
        })
        .collect();
    cells.into_iter().collect()
}

/// A text, or a number as it stands in the file.
pub(super) fn words(node: &Node, reader: &mut Reader) -> Option<String> {
    match node.value {
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null => Some(String::new()),
        _ => sentence(node, reader),
    }
}

/// Gives cited numbers the digits that they were typed with: 5.00 is not 5.0.
pub(in crate::lesson) fn pin(text: &str, course: &mut Course) {
    let is_cited = |figure: &Figure| matches!(figure, Figure::Words(words) if words.parse::<f64>().is_ok());
    let cites = |part: &Part| matches!(part, Part::Table(table) if table.rows.iter().flatten().any(is_cited));
    // Another pass over the text: only where there is such a number.
    if !course.parts.iter().any(cites) {
        return;
    }
    walk(text, |met| {
        let Some(typed) = met.typed.filter(|typed| typed.parse::<f64>().is_ok()) else { return };
        let Some((part, rest)) = met.spot.as_str().strip_prefix("course").and_then(index) else { return };
        let Some((row, rest)) = rest.strip_prefix(".table.rows").and_then(index) else { return };
        let Some((column, "")) = index(rest) else { return };
        if let Some(Part::Table(figures)) = course.parts.get_mut(part)
            && let Some(Figure::Words(words)) = figures.rows.get_mut(row).and_then(|row| row.get_mut(column))
        {
            typed.clone_into(words);
        }
    });
}

/// The index (from 0) that a text begins with, `[3]`, and what follows.
fn index(text: &str) -> Option<(usize, &str)> {
    let (number, rest) = text.strip_prefix('[')?.split_once(']')?;
    Some((number.parse::<usize>().ok()?.checked_sub(1)?, rest))
}

/// Reads `plot`.
pub(super) fn plot(node: &Node, reader: &mut Reader) -> Option<Plot> {
    let section = node.section(&["title", "x", "change", "lines", "log_y"], reader)?;
    let example = "write plot: {x: {label: d_k, values: [4, 8]}, change: {attention: {d_k: $}}, lines: [{label: scaled, value: entropy(weights)}]}";
    let title = section.given("title", reader, sentence);
    let x = section.given("x", reader, axis);
    let change = section.given("change", reader, change);
    let lines = section.given("lines", reader, |node, reader| {
        let items = node.items(reader, "a list of curves", example)?;
        if items.is_empty() {
            return node.refuse(reader, "a curve at least", example);
        }
        let lines: Vec<_> = items.iter().map(|item| line(item, reader)).collect();
        lines.into_iter().collect::<Option<Vec<Line>>>()
    });
    let log_y = section.given("log_y", reader, flag);
    missing(node, &[("x", x.is_absent()), ("lines", lines.is_absent())], example, reader);
    let (label, values, log_x) = x.good().cloned()?;
    Some(Plot {
        title: title.or(String::new())?,
        label,
        values,
        change: change.or(Value::Null)?,
        lines: lines.good().cloned()?,
        log: [log_x, log_y.or(false)?],
    })
}

fn flag(node: &Node, reader: &mut Reader) -> Option<bool> {
    match node.value.as_bool() {
        Some(flag) => Some(flag),
        None => node.refuse(reader, "true or false", "write true, or leave it out"),
    }
}

/// The horizontal axis: what it is, the values of `$`, whether it is logarithmic.
fn axis(node: &Node, reader: &mut Reader) -> Option<(String, Vec<f64>, bool)> {
    let section = node.section(&["label", "values", "log"], reader)?;
    let example = "write x: {label: d_k, values: [4, 8, 16], log: true}";
    let label = section.given("label", reader, sentence);
    let log = section.given("log", reader, flag);
    let is_log = log.good().copied().unwrap_or(false);
    let values = section.given("values", reader, |node, reader| {
        let items = node.items(reader, "a list of numbers", example)?;
        if items.is_empty() || items.len() > PLOT_VALUES {
            return node.refuse(reader, &format!("1 to {PLOT_VALUES} numbers"), example);
        }
        let values: Vec<_> = items.iter().map(|item| item.number(reader)).collect();
        let values = values.into_iter().collect::<Option<Vec<f64>>>()?;
        if values.windows(2).any(|pair| pair[0] >= pair[1]) {
            let what = format!("{} does not increase", node.spot);
            return reader.fault(&node.spot, what, "a curve goes from left to right", "sort the values");
        }
        if is_log && values[0] <= 0.0 {
            let what = format!("{} starts at {}, on a logarithmic axis", node.spot, values[0]);
            return reader.fault(&node.spot, what, "only numbers above 0 have a logarithm", "leave log out");
        }
        Some(values)
    });
    missing(node, &[("label", label.is_absent()), ("values", values.is_absent())], example, reader);
    Some((label.good().cloned()?, values.good().cloned()?, log.or(false)?))
}

fn line(node: &Node, reader: &mut Reader) -> Option<Line> {
    let section = node.section(&["label", "value"], reader)?;
    let label = section.given("label", reader, sentence);
    let value = section.given("value", reader, quantity);
    let example = "write {label: scaled, value: entropy(weights)}";
    missing(node, &[("label", label.is_absent()), ("value", value.is_absent())], example, reader);
    Some(Line { label: label.good().cloned()?, value: value.good().cloned()? })
}

/// Reads `time`.
pub(super) fn timing(node: &Node, reader: &mut Reader) -> Option<Timing> {
    let section = node.section(&["title", "runs"], reader)?;
    let example = "write time: {title: …, runs: [{label: one by one}, {label: fused, run: big}]}";
    let title = section.given("title", reader, sentence);
    let runs = section.given("runs", reader, |node, reader| {
        let items = node.items(reader, "a list of runs", example)?;
        if items.is_empty() {
            return node.refuse(reader, "a run at least", example);
        }
        let runs: Vec<_> = items.iter().map(|item| timed(item, example, reader)).collect();
        runs.into_iter().collect::<Option<Vec<_>>>()
    });
    missing(node, &[("runs", runs.is_absent())], example, reader);
    Some(Timing { title: title.or(String::new())?, runs: runs.good().cloned()? })
}

fn timed(node: &Node, example: &str, reader: &mut Reader) -> Option<(String, Option<String>)> {
    let section = node.section(&["label", "run"], reader)?;
    let label = section.given("label", reader, sentence);
    let run = section.given("run", reader, |node, reader| word(node, reader, "the name of a run", example));
    missing(node, &[("label", label.is_absent())], example, reader);
    Some((label.good().cloned()?, run.optional()?))
}
