//! The list of presets, as a table, JSON or CSV.

use std::io::{self, Write};

use serde_json::json;

use super::grid::{Grid, Side};
use super::page::Page;
use crate::params::Preset;

/// The table; ends with a line break.
pub fn page(presets: &[&Preset], page: &Page) -> String {
    let cells = presets.iter().map(|preset| {
        let numbers = [preset.d_model, preset.num_heads, kv_heads(preset), d_k(preset), preset.layers];
        let mut cells: Vec<String> = numbers.iter().map(u64::to_string).collect();
        cells.push(if preset.bias { "yes" } else { "no" }.into());
        cells
    });
    let grid = Grid {
        corner: "preset".into(),
        columns: ["d_model", "h", "g", "d_k", "layers", "biases"].map(String::from).to_vec(),
        rows: presets.iter().map(|preset| preset.name.to_owned()).collect(),
        cells: cells.collect(),
        align: [[Side::Right; 5].as_slice(), &[Side::Left]].concat(),
        whole: true,
        ..Grid::default()
    };
    grid.render(page)
}

/// One object a preset.
///
/// # Errors
/// The writer fails.
pub fn json(presets: &[&Preset], out: &mut dyn Write) -> io::Result<()> {
    let objects: Vec<_> = presets
        .iter()
        .map(|preset| {
            json!({
                "name": preset.name,
                "aliases": preset.aliases,
                "family": preset.family,
                "source": preset.source,
                "d_model": preset.d_model,
                "num_heads": preset.num_heads,
                "num_kv_heads": kv_heads(preset),
                "d_k": d_k(preset),
                "num_layers": preset.layers,
                "bias": preset.bias,
            })
        })
        .collect();
    serde_json::to_writer_pretty(&mut *out, &json!({"mha": 1, "presets": objects}))?;
    writeln!(out)
}

/// One line a preset under a line of names.
///
/// # Errors
/// The writer fails.
pub fn csv(presets: &[&Preset], out: &mut dyn Write) -> io::Result<()> {
    let mut lines = csv::Writer::from_writer(out);
    lines.write_record([
        "preset",
        "d_model",
        "num_heads",
        "num_kv_heads",
        "d_k",
        "layers",
        "bias",
        "source",
    ])?;
    for preset in presets {
        let numbers = [preset.d_model, preset.num_heads, kv_heads(preset), d_k(preset), preset.layers];
        let numbers = numbers.map(|number| number.to_string());
        let record = [preset.name.to_owned()].into_iter().chain(numbers);
        lines.write_record(record.chain([preset.bias.to_string(), preset.source.to_owned()]))?;
    }
    lines.flush()
}

fn kv_heads(preset: &Preset) -> u64 {
    preset.num_kv_heads.unwrap_or(preset.num_heads)
}

fn d_k(preset: &Preset) -> u64 {
    preset.d_k.unwrap_or(preset.d_model / preset.num_heads.max(1))
}
