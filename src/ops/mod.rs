//! One operation a file, and in it all there is to know about it: compute, formula, explanation, cost, words.
//!
//! A new operation is a new file that implements [`Operation`], and a line in the list of [`Op`] below.

mod activation;
mod add;
mod average;
mod batched;
mod bias;
mod columns;
mod concat;
mod cost;
mod even;
mod expr;
mod given;
mod heads;
mod layer_norm;
mod mask;
mod mask_times;
mod mix;
mod mix_transposed;
mod multiply;
mod online_softmax;
mod project;
mod project_blocks;
mod project_mean;
mod project_transposed;
mod real;
mod rearrange;
mod reweighed;
mod rms_norm;
mod rope;
mod rope_wide;
mod row_mean;
mod row_share;
mod rows;
mod same;
mod scores;
mod scores_in_half;
mod simd;
mod sink_weight;
mod softcap;
mod softmax;
mod softmax_down;
mod softmax_in_twos;
mod softmax_over_heads;
mod swapped;
mod team;
mod tiles;
mod times;
mod told;
mod zero;

use nalgebra::DMatrix;

pub use activation::Activation;
pub use add::Add;
pub use average::Average;
pub use batched::Batched;
pub use bias::{Alibi, Bias};
pub use columns::Columns;
pub use concat::Concat;
pub use cost::Cost;
pub use even::Even;
pub use expr::{Expr, Function, RowFigure};
pub use given::Given;
pub use heads::{MergeHeads, SplitHeads};
pub use layer_norm::LayerNorm;
pub use mask::Mask;
pub use mask_times::MaskTimes;
pub use mix::Mix;
pub use mix_transposed::MixTransposed;
pub use multiply::Multiply;
pub use online_softmax::{FinishSoftmax, OnlineSoftmax};
pub use project::Project;
pub use project_blocks::ProjectBlocks;
pub use project_mean::ProjectMean;
pub use project_transposed::ProjectTransposed;
use real::product_and_bias;
pub use real::{Arithmetic, Real, View, product};
pub use rearrange::{Place, Rearrange};
pub use reweighed::Reweighed;
pub use rms_norm::RmsNorm;
pub use rope::{Rope, RopeLayout, RopeScaling};
pub use rope_wide::RopeWide;
pub use row_mean::RowMean;
pub use row_share::RowShare;
pub use rows::Rows;
pub use same::Same;
pub use scores::{Scale, Scores};
pub use scores_in_half::ScoresInHalf;
pub use sink_weight::SinkWeight;
pub use softcap::Softcap;
pub use softmax::{FullyMaskedRows, Softmax};
pub use softmax_down::SoftmaxDown;
pub use softmax_in_twos::SoftmaxInTwos;
pub use softmax_over_heads::SoftmaxOverHeads;
pub use swapped::Swapped;
pub use times::Times;
use told::times;
pub use told::{Formula, Layout, Role, Shape, Signs, Told, list, size};
pub use zero::Zero;

/// All there is to know about one operation.
pub trait Operation {
    /// The result's shape.
    ///
    /// # Errors
    /// What does not fit, with both sizes.
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String>;

    /// The result. The inputs have the shapes that [`Operation::shape`] accepted.
    fn compute<T: Real>(&self, inputs: &[View<'_, T>], arithmetic: Arithmetic) -> DMatrix<T>;

    /// The result in the memory of its only input, which nothing needs any more; whether the operation can do that. Of
    /// numbers that are finite such an operation makes finite ones, or what is meant not to be.
    fn compute_over<T: Real>(&self, _input: &mut DMatrix<T>, _arithmetic: Arithmetic) -> bool {
        false
    }

    /// The formula, with sizes.
    fn formula(&self, signs: &Signs) -> Formula;

    /// The arithmetic behind one cell, given what the inputs hold.
    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr;

    /// Why a cell is what it is, where a rule and no arithmetic sets it: `hidden: causal`.
    fn reason(&self, _row: usize, _column: usize, _inputs: &[View<'_, f64>]) -> Option<String> {
        None
    }

    /// What it takes.
    fn cost(&self, inputs: &[Shape]) -> Cost;

    /// One line that says in words what happened.
    fn tell(&self, told: &Told<'_>) -> String;
}

macro_rules! operations {
    ($($name:ident),* $(,)?) => {
        /// One operation of a plan.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Op {
            $(#[doc = concat!("See [`", stringify!($name), "`].")] $name($name),)*
        }

        $(impl From<$name> for Op {
            fn from(op: $name) -> Self {
                Self::$name(op)
            }
        })*

        impl Operation for Op {
            fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
                match self { $(Self::$name(op) => op.shape(inputs)),* }
            }

            fn compute<T: Real>(&self, inputs: &[View<'_, T>], arithmetic: Arithmetic) -> DMatrix<T> {
                match self { $(Self::$name(op) => op.compute(inputs, arithmetic)),* }
            }

            fn compute_over<T: Real>(&self, input: &mut DMatrix<T>, arithmetic: Arithmetic) -> bool {
                match self { $(Self::$name(op) => op.compute_over(input, arithmetic)),* }
            }

            fn formula(&self, signs: &Signs) -> Formula {
                match self { $(Self::$name(op) => op.formula(signs)),* }
            }

            fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
                match self { $(Self::$name(op) => op.explain(row, column, inputs)),* }
            }

            fn reason(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Option<String> {
                match self { $(Self::$name(op) => op.reason(row, column, inputs)),* }
            }

            fn cost(&self, inputs: &[Shape]) -> Cost {
                match self { $(Self::$name(op) => op.cost(inputs)),* }
            }

            fn tell(&self, told: &Told<'_>) -> String {
                match self { $(Self::$name(op) => op.tell(told)),* }
            }
        }
    };
}

operations! {
    Given, Project, Columns, Rows, RmsNorm, Rope, Scores, Softcap, Bias, Mask, Softmax, SinkWeight, Mix, Concat,
    Average, SplitHeads, MergeHeads, Batched, OnlineSoftmax, FinishSoftmax,
    // What stands around attention in a layer.
    LayerNorm, Add, Activation, Multiply, Same,
    // What a rewrite puts in the place of a head's own.
    Zero, Swapped, RowMean, Even,
    // What wrong computations of attention do in place of the right one.
    Rearrange, ProjectTransposed, ProjectBlocks, ProjectMean, SoftmaxDown, SoftmaxInTwos, SoftmaxOverHeads, RowShare,
    Reweighed, MixTransposed, MaskTimes, RopeWide, ScoresInHalf, Times,
}

/// Σₖ a[row, k] · b[k, column], as an expression over inputs `a` and `b`.
fn dot(a: usize, row: usize, b: usize, column: usize, length: usize, b_transposed: bool) -> Expr {
    let term = |k| {
        let (r, c) = if b_transposed { (column, k) } else { (k, column) };
        Expr::Product(vec![Expr::cell(a, row, k), Expr::cell(b, r, c)])
    };
    Expr::Sum((0..length).map(term).collect())
}

/// Refuses unless the two sizes are the same.
fn equal(what: &str, left: usize, right: usize) -> Result<(), String> {
    if left == right { Ok(()) } else { Err(format!("{what}: {left} and {right} should be the same")) }
}
