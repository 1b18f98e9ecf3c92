//! A figure as PNG: the SVG drawn at twice its size, with a font of our own so that it looks the same everywhere.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{FontResolver, Options, Tree, fontdb};

use super::figure::{Drawing, Figure, Plot, cells};
use super::panels::{Panel, Scale};
use super::svg::{self, Pixels, fill};

/// Pixels of the picture for one of the figure; 96 dots an inch become 192, which print well.
const SCALE: usize = 2;
/// 192 dots an inch, in dots a metre.
const DOTS_A_METRE: u32 = 7559;
/// The font inside: Latin, Greek, Cyrillic, arrows and mathematical signs.
const FONT: &str = "DejaVu Sans";

/// Writes the figure.
///
/// # Errors
/// Those of the writer, and a figure too large for memory.
pub fn write(figure: &Figure<'_>, out: &mut dyn Write) -> io::Result<()> {
    let text = svg::text(figure, Pixels::LeftOut)?;
    let tree = Tree::from_str(&text, &options()).map_err(io::Error::other)?;
    let (width, height) = ((figure.width * SCALE) as u32, (figure.height * SCALE) as u32);
    let mut map = Pixmap::new(width, height).ok_or_else(|| io::Error::other("the figure is too large"))?;
    resvg::render(&tree, Transform::from_scale(SCALE as f32, SCALE as f32), &mut map.as_mut());
    // The paper is opaque: the last of each four bytes says nothing.
    let mut pixels: Vec<u8> =
        map.data().chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
    drop(map);
    if figure.drawing == Drawing::Pixels {
        for block in &figure.blocks {
            for plot in &block.plots {
                paint(&mut pixels, figure.width * SCALE, plot, block.frame.cell, block.bar.scale);
            }
        }
    }
    let mut encoder = png::Encoder::new(out, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_pixel_dims(Some(png::PixelDimensions {
        xppu: DOTS_A_METRE,
        yppu: DOTS_A_METRE,
        unit: png::Unit::Meter,
    }));
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels)?;
    Ok(writer.finish()?)
}

/// A panel's cells as a PNG file of one pixel each.
///
/// # Errors
/// None that are known: it is written to memory.
pub fn of_cells(panel: &Panel<'_>, scale: Scale) -> io::Result<Vec<u8>> {
    let (rows, columns) = panel.shape();
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, columns as u32, rows as u32);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header()?;
    let pixels: Vec<u8> = cells(panel)
        .flat_map(|(_, _, cell)| {
            let (red, green, blue) = fill(cell, scale);
            [red, green, blue]
        })
        .collect();
    writer.write_image_data(&pixels)?;
    writer.finish()?;
    Ok(file)
}

/// Fills the square of every cell.
fn paint(pixels: &mut [u8], width: usize, plot: &Plot<'_>, side: usize, scale: Scale) {
    let side = side * SCALE;
    for (r, c, cell) in cells(&plot.panel) {
        let (red, green, blue) = fill(cell, scale);
        let (left, top) = (plot.x * SCALE + c * side, plot.y * SCALE + r * side);
        for y in top..top + side {
            let line =
                pixels.get_mut(3 * (y * width + left)..3 * (y * width + left + side)).unwrap_or_default();
            for pixel in line.chunks_exact_mut(3) {
                pixel.copy_from_slice(&[red, green, blue]);
            }
        }
    }
}

/// How the drawing finds its fonts: the one inside first; those of the system are only looked for when a character
/// is not in it.
fn options() -> Options<'static> {
    let mut options = Options::default();
    let fonts = options.fontdb_mut();
    fonts.load_font_source(fontdb::Source::Binary(Arc::new(dejavu::sans::regular())));
    prefer_own(fonts);
    let asked = AtomicBool::new(false);
    let among = FontResolver::default_fallback_selector();
    options.font_resolver.select_fallback = Box::new(move |letter, tried, fonts| {
        if !asked.swap(true, Ordering::Relaxed) {
            let fonts = Arc::make_mut(fonts);
            fonts.load_system_fonts();
            // Loading also takes over what the system means by sans-serif.
            prefer_own(fonts);
        }
        among(letter, tried, fonts)
    });
    options
}

fn prefer_own(fonts: &mut fontdb::Database) {
    fonts.set_sans_serif_family(FONT);
    fonts.set_serif_family(FONT);
}
