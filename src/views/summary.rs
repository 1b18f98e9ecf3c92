//! One line a step: for problems too large to read number by number.

use std::io::{self, Write};

use super::grid::Grid;
use super::number::{digits_for, number};
use super::page::Layout;
use super::{Scene, table};

/// Writes the heading and one table with a line for each step.
///
/// # Errors
/// Those of the writer.
pub fn write(scene: &Scene<'_>, out: &mut dyn Write) -> io::Result<()> {
    table::heading(scene, out)?;
    let mut grid = Grid {
        columns: ["shape", "smallest", "mean", "largest"].map(String::from).to_vec(),
        whole: true,
        ..Grid::default()
    };
    let mut hidden = false;
    for (step, value) in
        scene.steps.iter().filter_map(|id| Some((scene.trace.plan().get(*id)?, scene.trace.get(*id)?)))
    {
        let (rows, columns) = match scene.page.layout {
            Layout::Rows => step.shape,
            Layout::Columns => (step.shape.1, step.shape.0),
        };
        let seen: Vec<f64> = value.iter().copied().filter(|v| v.is_finite()).collect();
        hidden |= seen.len() < value.len();
        let digits = digits_for(&seen, scene.page.digits);
        let shown = |v: f64| if seen.is_empty() { String::new() } else { number(v, digits) };
        grid.rows.push(step.id.to_string());
        grid.cells.push(vec![
            format!("{rows}×{columns}"),
            shown(seen.iter().copied().fold(f64::INFINITY, f64::min)),
            number(seen.iter().sum::<f64>() / seen.len().max(1) as f64, scene.page.digits),
            shown(seen.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
        ]);
    }
    write!(out, "\n{}", grid.render(&scene.page))?;
    if hidden {
        write!(
            out,
            "{}",
            scene
                .page
                .paragraph("Hidden scores (−∞) and what is not a number are left out of the figures.", 0)
        )?;
    }
    Ok(())
}
