//! Whether two matrices agree, and how a disagreement is put into words.

use nalgebra::DMatrix;

/// How far a number may be off, given what it should be.
pub(crate) type Allowed<'a> = &'a dyn Fn(f64) -> f64;

/// Compares cell by cell; an infinity must be met exactly.
///
/// # Errors
/// The shapes differ, or the cell that is furthest beyond what is allowed.
pub(crate) fn matrices(got: &DMatrix<f64>, want: &DMatrix<f64>, allowed: Allowed) -> Result<(), String> {
    if got.shape() != want.shape() {
        let ((r, c), (rows, columns)) = (got.shape(), want.shape());
        return Err(format!("is {r} × {c}, but the reference is {rows} × {columns}"));
    }
    let mut worst: Option<(f64, String)> = None;
    for row in 0..want.nrows() {
        for column in 0..want.ncols() {
            let (got, want) = (got[(row, column)], want[(row, column)]);
            let beyond = beyond(got, want, allowed);
            if beyond > 0.0 && worst.as_ref().is_none_or(|(so_far, _)| beyond > *so_far) {
                let cell = format!("[{},{}] is {got:?}, but the reference is {want:?}", row + 1, column + 1);
                worst = Some((beyond, cell));
            }
        }
    }
    worst.map_or(Ok(()), |(_, cell)| Err(cell))
}

/// By how much a number misses; 0 where it does not.
fn beyond(got: f64, want: f64, allowed: Allowed) -> f64 {
    if got == want {
        return 0.0;
    }
    let difference = (got - want).abs();
    if !difference.is_finite() {
        return f64::INFINITY;
    }
    if difference <= allowed(want) { 0.0 } else { difference }
}

/// Collects what went wrong over many cases, so that one run names every case that fails.
#[derive(Default)]
pub(crate) struct Report {
    failures: Vec<String>,
}

impl Report {
    /// Notes what went wrong with a case, if anything did.
    pub(crate) fn add(&mut self, case: &str, outcome: Result<(), Vec<String>>) {
        for failure in outcome.err().into_iter().flatten() {
            self.failures.push(format!("{case}: {failure}"));
        }
    }

    /// # Panics
    /// With the list of failures, if there are any.
    pub(crate) fn finish(self) {
        let count = self.failures.len();
        assert!(count == 0, "{count} disagreements with the reference:\n{}", self.failures.join("\n"));
    }
}
