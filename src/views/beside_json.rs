//! A mistake beside the right computation as JSON: every number of both runs in full.

use std::io::{self, Write};

use serde_json::json;

use super::Scene;
use super::beside::Beside;
use super::json::{figure, write_numbers};
use super::json_text::quiet;
use super::sheet::Sheet;
use crate::mistakes::Difference;
use crate::ops::Layout;
use crate::plan::StepId;

/// Writes `{"mha": 1, "title", "layout", "mistake", "form", "first_difference", "steps": […]}`, a step a line.
///
/// # Errors
/// Those of the writer.
pub fn write(beside: &Beside<'_>, out: &mut dyn Write) -> io::Result<()> {
    let layout = match beside.scene.page.layout {
        Layout::Rows => "rows",
        Layout::Columns => "columns",
    };
    let first = beside.first().map(|first| {
        let (row, column, right, wrong) =
            first.cell.map_or_else(Default::default, |(row, column, right, wrong)| {
                (Some(row + 1), Some(column + 1), Some(figure(right)), Some(figure(wrong)))
            });
        json!({"step": first.id.to_string(), "row": row, "column": column, "right": right, "wrong": wrong})
    });
    write!(
        out,
        "{{\"mha\": 1, \"title\": {}, \"layout\": \"{layout}\", \"mistake\": {}, \"form\": {}, \"first_difference\": {}, \
         \"steps\": [",
        quiet(&json!(beside.title())),
        json!(beside.run.mistake.name),
        json!(beside.run.form.name),
        json!(first),
    )?;
    let wrong = beside.wrong();
    for (index, (id, difference)) in beside.steps().enumerate() {
        let cells = match difference {
            Difference::None => json!(0),
            Difference::Cells(cells) => json!(cells.count),
            Difference::Shape | Difference::Missing | Difference::Extra => json!(null),
        };
        write!(
            out,
            "{}\n  {{\"id\": {}, \"differs\": {}, \"cells_that_differ\": {cells}, \"right\": ",
            if index == 0 { "" } else { "," },
            json!(id.to_string()),
            *difference != Difference::None,
        )?;
        write_value(&beside.scene, id, out)?;
        write!(out, ", \"wrong\": ")?;
        write_value(&wrong, id, out)?;
        write!(out, "}}")?;
    }
    writeln!(out, "\n]}}")
}

/// The numbers of a step, or `null` where the run has no such step.
fn write_value(scene: &Scene<'_>, id: StepId, out: &mut dyn Write) -> io::Result<()> {
    let Some((step, value)) = scene.trace.plan().get(id).zip(scene.trace.get(id)) else {
        return write!(out, "null");
    };
    let sheet = Sheet::new(step, value, scene.labels, scene.page.layout);
    let (rows, columns) = sheet.shape();
    write_numbers(rows, columns, |r, c| sheet.at(r, c), out)
}
