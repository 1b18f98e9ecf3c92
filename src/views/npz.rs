//! NumPy's .npz: the stacked names, every number in full.

use std::io::{self, Seek, Write};

use super::beside::Beside;
use super::{Scene, stacked};
use crate::plan::StepId;

/// Writes the chosen steps; `numpy.load` reads them.
///
/// # Errors
/// Those of the writer.
pub fn write<W: Write + Seek>(scene: &Scene<'_>, keep_batch_axis: bool, out: W) -> io::Result<()> {
    crate::arrays::npz::write(out, stacked::arrays(scene, keep_batch_axis))
}

/// Writes the chosen steps of a wrong run, as somebody who makes the mistake would hand them over.
///
/// # Errors
/// Those of the writer.
pub fn write_wrong<W: Write + Seek>(beside: &Beside<'_>, keep_batch_axis: bool, out: W) -> io::Result<()> {
    let right = stacked::arrays(&beside.scene, keep_batch_axis);
    let still_right =
        |name: &str| name.parse::<StepId>().is_ok_and(|id| beside.run.form.leaves_right(id.name));
    let wrong =
        stacked::arrays(&beside.wrong(), keep_batch_axis).into_iter().map(|(name, array)| {
            match right.iter().find(|(known, _)| *known == name).filter(|_| still_right(&name)) {
                Some(right) => right.clone(),
                None => (name, array),
            }
        });
    crate::arrays::npz::write(out, wrong)
}
