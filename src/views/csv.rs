//! CSV: one number a line, with where it stands.

use std::io::{self, Write};

use super::Scene;
use super::sheet::Sheet;
use crate::arrays::csv::escape;

/// Writes `step,row,column,row_name,column_name,value`; rows and columns count from 1, numbers are in full.
///
/// # Errors
/// Those of the writer.
pub fn write(scene: &Scene<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut table = ::csv::Writer::from_writer(out);
    table.write_record(["step", "row", "column", "row_name", "column_name", "value"])?;
    for (step, value) in
        scene.steps.iter().filter_map(|id| Some((scene.trace.plan().get(*id)?, scene.trace.get(*id)?)))
    {
        let sheet = Sheet::new(step, value, scene.labels, scene.page.layout);
        let (rows, columns) = sheet.shape();
        let name = step.id.to_string();
        for r in 0..rows {
            for c in 0..columns {
                let value = sheet.at(r, c);
                table.write_record([
                    name.as_str(),
                    &(r + 1).to_string(),
                    &(c + 1).to_string(),
                    &escape(&sheet.rows[r]),
                    &escape(&sheet.columns[c]),
                    &written(value),
                ])?;
            }
        }
    }
    table.flush()
}

/// A number as spreadsheets and Python read it.
fn written(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else {
        value.to_string()
    }
}
