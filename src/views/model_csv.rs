//! `mha params MODEL --format csv`: one line a figure, a tensor, or a value of a sweep.

use std::io::{self, Write};

use crate::arrays::csv::escape;
use crate::params::architecture::Model;
use crate::params::architecture::figures::Named;
use crate::params::architecture::variants::Swept;
use crate::params::sweep::SweepOver;

/// One line a figure.
///
/// # Errors
/// The writer fails.
pub fn figures(figures: &[Named], out: &mut dyn Write) -> io::Result<()> {
    let mut lines = csv::Writer::from_writer(out);
    lines.write_record(["figure", "title", "formula", "factors", "value", "unit"])?;
    for named in figures {
        let figure = &named.figure;
        let value = figure.value.to_string();
        lines.write_record([
            named.id,
            &named.title,
            &figure.formula,
            &figure.factors,
            &value,
            named.unit.name(),
        ])?;
    }
    lines.flush()
}

/// One line a tensor.
///
/// # Errors
/// The writer fails.
pub fn tensors(model: &Model, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = csv::Writer::from_writer(out);
    lines.write_record(["name", "shape", "count", "group", "layer", "same_as"])?;
    for tensor in &model.tensors {
        let shape: Vec<String> = tensor.shape.iter().map(|size| size.value().to_string()).collect();
        let layer = tensor.layer.map_or_else(String::new, |layer| layer.to_string());
        // Names come from files, and some files are made to be opened in a spreadsheet.
        let same_as = escape(tensor.same_as.as_deref().unwrap_or_default());
        lines.write_record([
            &escape(&tensor.name),
            &shape.join("x"),
            &tensor.count.to_string(),
            tensor.group.name(),
            &layer,
            &same_as,
        ])?;
    }
    lines.flush()
}

/// One line a value of the sweep.
///
/// # Errors
/// The writer fails.
pub fn sweep(over: &SweepOver, rows: &[Swept], out: &mut dyn Write) -> io::Result<()> {
    let mut lines = csv::Writer::from_writer(out);
    let names =
        ["d_k", "parameters", "attention_parameters", "multiply_adds", "exponentials", "kv_cache_bytes"];
    lines.write_record(std::iter::once(over.key.name()).chain(names))?;
    for row in rows {
        let numbers = [
            row.value,
            row.d_k,
            row.parameters,
            row.attention_parameters,
            row.multiply_adds,
            row.exponentials,
            row.cache,
        ];
        lines.write_record(numbers.map(|number| number.to_string()))?;
    }
    lines.flush()
}
