//! Whether a pattern can be chance.
//!
//! A cell that a kind moves far from the right number, and that is found within the tolerance of where the kind
//! puts it, would be there by chance about once in (distance / tolerance) times. The logarithms add up: each cell
//! gives so many bits. A number that was fitted to the cells takes away what it was fitted with, and a choice out
//! of many takes away the bits of the choice. Cells that the kind leaves where they are give none.

/// What a claim needs: wrong once in 2²⁴ ≈ 17 million tries. Four cells of four decimals give twice that.
const NEEDED: f64 = 24.0;

/// No cell counts for more, however exact it is: a pattern is in many cells.
const MOST: f64 = 16.0;

/// The bits of one cell that a kind moves by `moved` and that may be `limit` off.
pub(super) fn bits(moved: f64, limit: f64) -> f64 {
    if moved == 0.0 || moved.is_nan() {
        return 0.0;
    }
    (moved.abs() / limit).log2().clamp(0.0, MOST)
}

/// Whether so many bits are enough.
pub(super) fn enough(bits: f64) -> bool {
    bits >= NEEDED
}

/// More than any claim needs, with what a choice of names may take away: nothing more need be counted.
const PLENTY: f64 = 4.0 * NEEDED;

/// The bits of many cells that fall into groups, each fitted with a number of its own: every group gives up its
/// best cell.
pub(super) struct Fitted {
    most: Vec<f64>,
    left: f64,
}

impl Fitted {
    pub(super) fn new(groups: usize) -> Self {
        Self { most: vec![0.0; groups], left: 0.0 }
    }

    pub(super) fn add(&mut self, group: usize, bits: f64) {
        self.left += bits.min(self.most[group]);
        self.most[group] = self.most[group].max(bits);
    }

    /// Whether counting on could change anything.
    pub(super) fn wants_more(&self) -> bool {
        self.left < PLENTY
    }

    /// What is left when the fitted numbers are paid for.
    pub(super) fn left(&self) -> f64 {
        self.left
    }

    /// What there is where nothing was fitted.
    pub(super) fn whole(&self) -> f64 {
        self.left + self.most.iter().sum::<f64>()
    }
}
