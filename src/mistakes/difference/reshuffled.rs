//! The same numbers in other places, in no order that was found.

use super::Kind;
use super::evidence::{bits, enough};
use super::grid::Grid;
use super::region::Scope;

/// Sorting more cells than this would take too long.
const LARGEST: usize = 1 << 18;

/// Fewer different numbers than these are soon the same ones: think of zeros and ones.
const VALUES: usize = 5;

/// Whether both hold the same numbers, as often.
///
/// Side by side in their order, every two must agree. Numbers closer together than the tolerance agree whatever was
/// done to them, so only a number that stands apart from its neighbours is evidence; and a cell must have moved by
/// more than noise would move it.
pub(super) fn kind(grid: &Grid<'_>, scope: &Scope) -> Option<Kind> {
    if scope.cells(grid).nth(LARGEST).is_some() {
        return None;
    }
    let (mut theirs, mut ours): (Vec<f64>, Vec<f64>) =
        scope.cells(grid).map(|cell| (cell.theirs, cell.ours)).unzip();
    theirs.sort_by(f64::total_cmp);
    ours.sort_by(f64::total_cmp);
    if !theirs.iter().zip(&ours).all(|(theirs, ours)| grid.near(*theirs, *ours)) {
        return None;
    }
    let gaps = || {
        ours.windows(2)
            .filter(|two| two[0].is_finite() && two[1].is_finite())
            .map(|two| bits(two[1] - two[0], 2.0 * grid.limit(two[0])))
    };
    let (apart, values) = (gaps().sum::<f64>(), gaps().filter(|bits| *bits > 0.0).count() + 1);
    let (far, wrong) = scope
        .cells(grid)
        .filter(|cell| cell.ours.is_finite() && grid.differ(cell.theirs, cell.ours))
        .fold((0_usize, 0_usize), |(far, wrong), cell| {
            let moved = (cell.theirs - cell.ours).abs() > 16.0 * grid.limit(cell.ours);
            (far + usize::from(moved), wrong + 1)
        });
    (enough(apart) && values >= VALUES && 2 * far > wrong).then_some(Kind::Reshuffled)
}
