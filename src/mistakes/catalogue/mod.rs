//! The mistakes, by the step that they get wrong.

mod batches;
mod bias;
mod groups;
mod heads;
mod mask_changes;
mod masks;
mod output;
mod projections;
mod rope;
mod rows;
mod scores;
mod softmax;

use super::Mistake;

/// All of them, in the order of the computation.
pub fn all() -> impl Iterator<Item = &'static Mistake> {
    [
        projections::ALL,
        heads::ALL,
        batches::ALL,
        rope::ALL,
        groups::ALL,
        scores::ALL,
        bias::ALL,
        masks::ALL,
        rows::ALL,
        softmax::ALL,
        output::ALL,
    ]
    .into_iter()
    .flatten()
}
