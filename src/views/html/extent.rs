//! How much of a trace a page shows: small tables whole, of large ones the beginning and the end.

use super::shade::is_shaded;
use crate::plan::{Step, StepId};
use crate::views::Scene;
use crate::words::t;

/// Rows and columns up to which a table is whole.
const WHOLE: usize = 32;
/// Numbers on a page: more of them and a browser takes its time.
const MOST_CELLS: usize = 16_000;
/// Steps on a page.
const MOST_STEPS: usize = 1_500;
/// Bytes of derivations on a page.
const MOST_DERIVED: usize = 3_000_000;
/// Pixels of all pictures on a page together, and of the side of one.
const MOST_PIXELS: usize = 200_000;
const WIDEST_PICTURE: usize = 128;

/// What fits on a page.
pub(super) struct Extent {
    /// Rows, and columns, of a table at most.
    side: usize,
    /// Bytes of derivations.
    pub(super) derived: usize,
    /// Rows, and columns, of a picture at most.
    pub(super) picture: usize,
    /// Steps that are shown: all, or the first of very many.
    pub(super) steps: usize,
}

/// The rows and columns of a step that are shown, from 0; `None` stands for those left out.
pub(super) struct Shown {
    /// Rows of the step, tokens in rows.
    pub(super) rows: Vec<Option<usize>>,
    /// Columns of the step.
    pub(super) columns: Vec<Option<usize>>,
}

impl Extent {
    /// What fits of a scene.
    pub(super) fn of(scene: &Scene<'_>) -> Self {
        let steps = scene.steps.len().min(MOST_STEPS);
        let shapes: Vec<_> = scene.steps[..steps].iter().filter_map(|id| shape(scene, *id)).collect();
        let cells = |side: usize| -> usize { shapes.iter().map(|(r, c)| r.min(&side) * c.min(&side)).sum() };
        let sides = [WHOLE, 24, 20, 16, 12, 8, 6, 4];
        let side = sides.into_iter().find(|side| cells(*side) <= MOST_CELLS).unwrap_or(2);
        let shaded =
            scene.steps[..steps].iter().filter(|id| is_shaded(**id)).filter_map(|id| shape(scene, *id));
        let large = shaded.filter(|(r, c)| *r > side || *c > side).count();
        let picture = (MOST_PIXELS / large.max(1)).isqrt().min(WIDEST_PICTURE);
        Self { side, derived: MOST_DERIVED, picture, steps }
    }

    /// What is shown of a step.
    pub(super) fn shown(&self, step: &Step) -> Shown {
        Shown { rows: ends(step.shape.0, self.side), columns: ends(step.shape.1, self.side) }
    }
}

fn shape(scene: &Scene<'_>, id: StepId) -> Option<(usize, usize)> {
    scene.trace.plan().get(id).map(|step| step.shape)
}

/// All of so many, or the first and the last with a gap between them.
fn ends(length: usize, most: usize) -> Vec<Option<usize>> {
    if length <= most {
        return (0..length).map(Some).collect();
    }
    let (first, last) = (most.div_ceil(2), most / 2);
    (0..first).map(Some).chain([None]).chain((length - last..length).map(Some)).collect()
}

impl Shown {
    /// Whether nothing is left out.
    pub(super) fn is_whole(&self) -> bool {
        self.rows.iter().chain(&self.columns).all(Option::is_some)
    }

    /// What has to be said of a table that is not whole.
    pub(super) fn note(&self, step: &Step) -> String {
        let part = |shown: &[Option<usize>], all: usize, what: &str| {
            let first = shown.iter().take_while(|at| at.is_some()).count();
            match shown.len() - first {
                0 => t!("all %{all} %{what}", all, what),
                after => t!(
                    "the first %{first} and the last %{last} of %{all} %{what}",
                    first,
                    last = after - 1,
                    all,
                    what
                ),
            }
        };
        let rows = part(&self.rows, step.shape.0, &t!("rows"));
        let columns = part(&self.columns, step.shape.1, &t!("columns"));
        let id = step.id;
        t!(
            "Shown are %{rows} and %{columns} (before any turning). --format csv has every number, and --explain \
             '%{step}[%{row},%{column}]' explains any.",
            rows,
            columns,
            step = id,
            row = step.shape.0.div_ceil(2),
            column = step.shape.1.div_ceil(2)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_row_keeps_its_ends() {
        assert_eq!(ends(3, 4), [Some(0), Some(1), Some(2)]);
        assert_eq!(ends(9, 5), [Some(0), Some(1), Some(2), None, Some(7), Some(8)]);
    }
}
