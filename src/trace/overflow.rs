//! Numbers that grew too large on the way.

use nalgebra::DMatrix;

use crate::fault::{Fault, Outcome};
use crate::ops::{Op, Real, View};
use crate::plan::Step;

/// Finite numbers can overflow in a sum or a product; nothing after that would mean anything.
///
/// What is meant to be infinite or not a number passes: hidden scores, rows that see nothing, products that a mistake
/// holds in half precision, and shares of a sum of 0.
pub(super) fn refuse_overflow<T: Real>(
    step: &Step,
    inputs: &[View<'_, T>],
    value: &DMatrix<T>,
) -> Outcome<()> {
    let meant = match &step.op {
        Op::Mask(_) | Op::Softmax(_) | Op::OnlineSoftmax(_) | Op::FinishSoftmax(_) => true,
        // What they make of a finite number is finite.
        Op::Activation(_) | Op::Columns(_) | Op::Rows(_) | Op::Same(_) | Op::Concat(_) => true,
        Op::ScoresInHalf(_) | Op::RowShare(_) | Op::Swapped(_) | Op::Even(_) => true,
        Op::Batched(batched) => matches!(batched.ops.first(), Some(Op::Mask(_) | Op::Softmax(_))),
        _ => false,
    };
    let odd = |cell: &T| !cell.is_finite();
    if meant || T::all_finite(value.as_slice()) || inputs.iter().any(|input| input.iter().any(odd)) {
        return Ok(());
    }
    let at = value.iter().position(odd).unwrap_or(0);
    let (row, column) = (at % value.nrows().max(1) + 1, at / value.nrows().max(1) + 1);
    let (what, why) = match (&step.op, value[at].value().is_nan()) {
        (Op::RmsNorm(_), true) => (
            "has no value",
            "its row is all zero and eps is 0, which makes 0/0, or the squares of its row pass the largest number there is",
        ),
        (Op::LayerNorm(_), true) => (
            "has no value",
            "all numbers of its row are equal and eps is 0, which makes 0/0, or the squares of its row pass the largest number there is",
        ),
        (_, true) => ("has no value", "it adds up opposite infinities, or divides nothing by nothing"),
        (_, false) => {
            ("is too large to compute", "a sum on the way to it passes the largest number there is")
        }
    };
    let remedy = match &step.op {
        Op::RmsNorm(_) => "give qk_norm an eps above 0, or scale the inputs down",
        Op::LayerNorm(_) => "give layers an eps above 0, or scale the inputs down",
        _ => "scale the inputs or the projections down",
    };
    Err(Fault::new(format!("{}[{row},{column}] {what}", step.id), why, remedy).into())
}
