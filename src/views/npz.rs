//! NumPy's .npz: the stacked names, every number in full.

use std::io::{self, Seek, Write};

use super::{Scene, stacked};

/// Writes the chosen steps; `numpy.load` reads them.
///
/// # Errors
/// Those of the writer.
pub fn write<W: Write + Seek>(scene: &Scene<'_>, keep_batch_axis: bool, out: W) -> io::Result<()> {
    crate::arrays::npz::write(out, stacked::arrays(scene, keep_batch_axis))
}
