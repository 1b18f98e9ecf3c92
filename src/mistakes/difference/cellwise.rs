//! Kinds that look at one cell at a time.

use super::Kind;
use super::evidence::{Fitted, bits, enough};
use super::grid::Grid;
use super::region::Scope;

/// Zero everywhere, exactly.
pub(super) fn zero(grid: &Grid<'_>, scope: &Scope) -> Option<Kind> {
    let mut found = 0.0;
    for cell in scope.cells(grid) {
        if cell.theirs != 0.0 {
            return None;
        }
        found += bits(cell.ours, grid.limit(0.0));
    }
    enough(found).then_some(Kind::Zero)
}

/// One number everywhere.
pub(super) fn constant(grid: &Grid<'_>, scope: &Scope) -> Option<Kind> {
    let value = scope.cells(grid).next()?.theirs;
    if !value.is_finite() || !scope.cells(grid).all(|cell| grid.near(cell.theirs, value)) {
        return None;
    }
    let mut fitted = Fitted::new(1);
    for cell in scope.cells(grid) {
        fitted.add(0, bits(value - cell.ours, grid.limit(value)));
    }
    enough(fitted.left()).then_some(Kind::Constant { value })
}

/// The right sizes, some with the wrong sign.
pub(super) fn sign(grid: &Grid<'_>, scope: &Scope) -> Option<Kind> {
    let (mut turned, mut of, mut found) = (0, 0, 0.0);
    for cell in scope.cells(grid) {
        of += 1;
        if !grid.differ(cell.theirs, cell.ours) {
            continue;
        }
        if !grid.near(cell.theirs, -cell.ours) {
            return None;
        }
        turned += 1;
        // Which sign it has was free to choose: one bit.
        found += (bits(2.0 * cell.ours, grid.limit(cell.ours)) - 1.0).max(0.0);
    }
    enough(found).then_some(Kind::Sign { turned, of })
}

/// How large the difference is beside the numbers themselves.
pub(super) fn noise(grid: &Grid<'_>, scope: &Scope) -> Kind {
    let (mut apart, mut size) = (0.0, 0.0);
    for cell in scope.cells(grid) {
        if cell.theirs.is_finite() && cell.ours.is_finite() {
            apart += (cell.theirs - cell.ours).powi(2);
            size += cell.ours.powi(2);
        }
    }
    let rms = if size == 0.0 { f64::INFINITY } else { (apart / size).sqrt() };
    Kind::Noise { rms }
}
