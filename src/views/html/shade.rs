//! Attention weights as shades: a class of the style sheet for a cell, and a picture of a matrix too large for a table.

use std::fmt::Write;
use std::io;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::plan::{HeadStep, Name, StepId};
use crate::views::Scene;
use crate::views::heat::palette::{self, hex};
use crate::views::heat::panels::{self, Cell, Panel, Scale};
use crate::views::heat::svg::UNDEFINED;
use crate::views::heat::{figure, png};
use crate::words::t;

/// Shades between none and the most: finer steps no eye tells apart in a cell with a number in it.
const SHADES: usize = 32;

/// Whether a step is shaded.
pub(super) fn is_shaded(id: StepId) -> bool {
    matches!(id.name, Name::Head(_, HeadStep::Weights))
}

/// From 0 to the largest weight of all steps that are shown: one scale for all heads, so that they can be compared.
pub(super) fn scale(scene: &Scene<'_>) -> Scale {
    let shaded = scene.steps.iter().filter(|id| is_shaded(**id));
    let panels: Vec<Panel<'_>> = shaded.filter_map(|id| panels::of_step(scene, *id)).collect();
    Scale::of(&panels, true)
}

/// The class of a cell.
pub(crate) fn class(scale: Scale, cell: Cell) -> String {
    match cell {
        Cell::Value(weight) => format!("s{}", (scale.place(weight) * SHADES as f64).round()),
        Cell::Hidden => "masked".to_owned(),
        Cell::Undefined => "undefined".to_owned(),
    }
}

/// A bar from 0 to the most, and what else the cells of a panel can be, as HTML.
pub(super) fn legend(panel: &Panel<'_>, most: &str) -> String {
    let mut bar = format!("<p class=\"legend\">{} <span class=\"bar\" aria-hidden=\"true\">", t!("Shade: 0"));
    for shade in (0..=SHADES).step_by(2) {
        let _ = write!(bar, "<i class=\"s{shade}\"></i>");
    }
    let _ = write!(bar, "</span> {}", t!("%{most} (all heads)", most));
    for (kind, class, word) in
        [(Cell::Hidden, "masked", t!("masked")), (Cell::Undefined, "undefined", "NaN".to_owned())]
    {
        if figure::cells(panel).any(|(_, _, cell)| cell == kind) {
            let _ = write!(
                bar,
                " <span class=\"bar\" aria-hidden=\"true\"><i class=\"{class}\"></i></span> {word}"
            );
        }
    }
    bar + "</p>\n"
}

/// A panel as a picture, a point a cell: a PNG file as the address of an image.
///
/// # Errors
/// None that are known: it is written to memory.
pub(super) fn picture(scale: Scale, panel: &Panel<'_>) -> io::Result<String> {
    Ok(format!("data:image/png;base64,{}", BASE64_STANDARD.encode(png::of_cells(panel, scale)?)))
}

/// The classes of [`class`] as CSS, each with ink that can be read on it.
pub(crate) fn css() -> String {
    let shades = (0..=SHADES).map(|at| (format!("s{at}"), palette::rgb(at as f64 / SHADES as f64)));
    let mut css = String::new();
    for (class, ground) in shades.chain([("undefined".to_owned(), UNDEFINED)]) {
        let ink = hex(palette::ink(ground).rgb());
        let _ = writeln!(css, ".{class}{{background:{};color:{ink}}}", hex(ground));
    }
    css
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half of the largest is the middle of 32 shades; neither a hidden place nor NaN is a shade.
    #[test]
    fn a_cell_that_holds_no_number_has_no_shade() {
        let of = |cell| class(Scale { least: 0.0, most: 0.5 }, cell);
        assert_eq!([of(Cell::Value(0.0)), of(Cell::Value(0.25)), of(Cell::Value(0.5))], ["s0", "s16", "s32"]);
        assert_eq!([of(Cell::Hidden), of(Cell::Undefined)], ["masked", "undefined"]);
    }
}
