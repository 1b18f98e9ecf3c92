//! One line a step: for problems too large to read number by number.

use std::io::{self, Write};

use super::grid::Grid;
use super::number::{is_whole, number};
use super::page::Layout;
use super::{Scene, table};
use crate::words::t;

/// Writes the heading and one table with a line for each step.
///
/// # Errors
/// Those of the writer.
pub fn write(scene: &Scene<'_>, out: &mut dyn Write) -> io::Result<()> {
    table::heading(scene, out)?;
    let mut grid = Grid {
        columns: vec![t!("shape"), t!("smallest"), t!("mean"), t!("largest")],
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
        let seen = Seen::of(value.iter());
        hidden |= seen.count < value.len();
        let digits = if seen.whole { 0 } else { scene.page.digits };
        let shown = |v: f64, digits: usize| if seen.count == 0 { String::new() } else { number(v, digits) };
        grid.rows.push(step.id.to_string());
        grid.cells.push(vec![
            format!("{rows}×{columns}"),
            shown(seen.least, digits),
            shown(seen.sum / seen.count as f64, scene.page.digits),
            shown(seen.most, digits),
        ]);
    }
    write!(out, "\n{}", grid.render(&scene.page))?;
    if hidden {
        write!(
            out,
            "{}",
            scene.page.paragraph(
                &t!("Hidden scores (−∞) and what is not a number are left out of the figures."),
                0
            )
        )?;
    }
    Ok(())
}

/// What a matrix holds, in one pass: of a large one a second pass costs more than the sums.
struct Seen {
    count: usize,
    least: f64,
    most: f64,
    sum: f64,
    whole: bool,
}

impl Seen {
    /// The finite numbers among those given.
    fn of<'a>(numbers: impl Iterator<Item = &'a f64>) -> Self {
        let nothing = Self { count: 0, least: f64::INFINITY, most: f64::NEG_INFINITY, sum: 0.0, whole: true };
        numbers.filter(|number| number.is_finite()).fold(nothing, |seen, number| Self {
            count: seen.count + 1,
            least: seen.least.min(*number),
            most: seen.most.max(*number),
            sum: seen.sum + number,
            whole: seen.whole && is_whole(*number),
        })
    }
}
