//! Attention weights as shades: a class of the style sheet for a cell, and a picture of a matrix too large for a table.

use std::fmt::Write;
use std::io;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::ops::View;
use crate::plan::{HeadStep, Name, StepId};
use crate::views::Scene;
use crate::views::heat::palette;
use crate::views::page::Layout;

/// Shades between none and the most: finer steps no eye tells apart in a cell with a number in it.
const SHADES: usize = 32;

/// What the lightest shade stands for; the darkest is 0. One scale for all heads, so that they can be compared.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    /// The largest weight on the page.
    pub(super) most: f64,
}

/// Whether a step is shaded.
pub(super) fn is_shaded(id: StepId) -> bool {
    matches!(id.name, Name::Head(_, HeadStep::Weights))
}

impl Scale {
    /// From 0 to the largest weight of all steps that are shown.
    pub(super) fn of(scene: &Scene<'_>) -> Self {
        let shaded = scene.steps.iter().filter(|id| is_shaded(**id)).filter_map(|id| scene.trace.get(*id));
        Self { most: shaded.map(|value| value.iter().copied().fold(0.0, f64::max)).fold(0.0, f64::max) }
    }

    /// The shade of a weight, from 0 to [`SHADES`].
    fn shade(self, weight: f64) -> usize {
        let along = if self.most > 0.0 { (weight / self.most).clamp(0.0, 1.0) } else { 0.0 };
        (along * SHADES as f64).round() as usize
    }

    /// The class of a cell with that weight.
    pub(super) fn class(self, weight: f64) -> String {
        format!("s{}", self.shade(weight))
    }

    /// A bar from 0 to the most, as HTML.
    pub(super) fn legend(self, most: &str) -> String {
        let mut bar = String::from("<p class=\"legend\">Shade: 0 <span class=\"bar\" aria-hidden=\"true\">");
        for shade in (0..=SHADES).step_by(2) {
            let _ = write!(bar, "<i class=\"s{shade}\"></i>");
        }
        let _ = writeln!(bar, "</span> {most} (all heads)</p>");
        bar
    }

    /// A matrix as a picture of at most `side` × `side` points, each the largest weight of the block it stands for: a
    /// PNG file as the address of an image.
    ///
    /// # Errors
    /// None that are known: it is written to memory.
    pub(super) fn picture(self, value: View<'_, f64>, side: usize, layout: Layout) -> io::Result<String> {
        let (rows, columns) = value.shape();
        // A square matrix is thinned alike both ways, so that its diagonal stays one.
        let block = rows.max(columns).div_ceil(side.max(1)).max(1);
        let (height, width) = (rows.div_ceil(block), columns.div_ceil(block));
        let mut points = vec![0_u8; height * width];
        for column in 0..columns {
            for row in 0..rows {
                let at = match layout {
                    Layout::Rows => (row / block) * width + column / block,
                    Layout::Columns => (column / block) * height + row / block,
                };
                points[at] = points[at].max(self.shade(value[(row, column)]) as u8);
            }
        }
        let (height, width) = match layout {
            Layout::Rows => (height, width),
            Layout::Columns => (width, height),
        };
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, width as u32, height as u32);
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_palette(colours().flat_map(|(r, g, b)| [r, g, b]).collect::<Vec<u8>>());
        encoder.write_header()?.write_image_data(&points)?;
        Ok(format!("data:image/png;base64,{}", BASE64_STANDARD.encode(file)))
    }
}

fn colours() -> impl Iterator<Item = palette::Rgb> {
    (0..=SHADES).map(|shade| palette::rgb(shade as f64 / SHADES as f64))
}

/// The classes `s0` … as CSS, each with ink that can be read on it.
pub(super) fn css() -> String {
    let mut css = String::new();
    for (shade, ground) in colours().enumerate() {
        let hex = |(r, g, b): palette::Rgb| format!("#{r:02x}{g:02x}{b:02x}");
        let _ = writeln!(
            css,
            ".s{shade}{{background:{};color:{}}}",
            hex(ground),
            hex(palette::ink(ground).rgb())
        );
    }
    css
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::DMatrix;

    /// The largest of a block must not vanish: 0.5 stands alone in the last of 3 × 3 blocks of 2 × 2.
    #[test]
    fn a_picture_is_thinned_by_the_largest_of_each_block() {
        let mut weights = DMatrix::from_element(6, 6, 0.0);
        weights[(5, 4)] = 0.5;
        let uri = Scale { most: 0.5 }.picture(weights.as_view(), 3, Layout::Rows).unwrap();
        let file = BASE64_STANDARD.decode(uri.strip_prefix("data:image/png;base64,").unwrap()).unwrap();
        let mut reader = png::Decoder::new(io::Cursor::new(file)).read_info().unwrap();
        let mut points = vec![0; 9];
        reader.next_frame(&mut points).unwrap();
        assert_eq!(points, [0, 0, 0, 0, 0, 0, 0, 0, SHADES as u8]);
    }
}
