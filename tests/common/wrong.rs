//! Small plans in which every operation of a wrong computation of attention stands.

use std::sync::Arc;

use mha::ops::{
    Columns, Concat, FullyMaskedRows, Given, Mask, MaskTimes, MixTransposed, Op, Place, ProjectBlocks,
    ProjectMean, ProjectTransposed, Rearrange, Reweighed, Rope, RopeLayout, RopeWide, RowShare, Scale,
    Scores, ScoresInHalf, Softmax, SoftmaxDown, SoftmaxOverHeads, Times,
};
use mha::plan::{Head, HeadStep, Inputs, Name, Plan, Projection, StepId};
use nalgebra::DMatrix;
use proptest::prelude::*;

use super::drawn::Numbers;

/// What a wrong computation is drawn from: two heads of two columns each.
#[derive(Debug, Clone)]
pub(crate) struct Wrong {
    pub(crate) tokens: usize,
    /// Which operation makes weights of scores; see [`OVER_HEADS`].
    pub(crate) weights: u8,
    /// Whether hidden scores are −∞ or 0.
    pub(crate) hides: bool,
    /// Keys are so large that half precision overflows.
    pub(crate) large: bool,
    pub(crate) biases: bool,
    pub(crate) layout: RopeLayout,
    pub(crate) empty: FullyMaskedRows,
    pub(crate) seed: u64,
}

prop_compose! {
    pub(crate) fn wrong()(
        tokens in prop_oneof![4 => 1usize..5, 1 => 17usize..19],
        weights in 0u8..4,
        flags in (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
        empty in 0usize..3,
        seed in any::<u64>(),
    ) -> Wrong {
        let (hides, large, biases, interleaved) = flags;
        let layout = if interleaved { RopeLayout::Interleaved } else { RopeLayout::HalfSplit };
        let empty = [FullyMaskedRows::Zeros, FullyMaskedRows::Nan, FullyMaskedRows::Uniform][empty];
        Wrong { tokens, weights, hides, large, biases, layout, empty, seed }
    }
}

/// The choice of weights by a softmax over heads.
pub(crate) const OVER_HEADS: u8 = 1;
const HEADS: usize = 2;
const WIDTH: usize = 2;

impl Wrong {
    /// The plan and its inputs.
    pub(crate) fn plan(&self) -> (Plan, Inputs) {
        let mut numbers = Numbers(self.seed);
        let (n, d) = (self.tokens, HEADS * WIDTH);
        let mut plan = Plan::default();
        let mut inputs = Inputs::new();
        let mut given = |plan: &mut Plan, name: Name, rows: usize, columns: usize| {
            inputs.insert(name.into(), Arc::new(numbers.matrix(rows, columns)));
            plan.add(name.into(), Given { shape: (rows, columns) }, &[]).unwrap()
        };
        let x = given(&mut plan, Name::X, n, d);
        let mut projected = |plan: &mut Plan, projection, name: Name, op: Op, from: StepId| {
            let mut of = vec![from, given(plan, Name::W(projection), d, d)];
            if self.biases {
                of.push(given(plan, Name::B(projection), 1, d));
            }
            plan.add(name.into(), op, &of).unwrap()
        };
        let q = projected(&mut plan, Projection::Q, Name::Q, ProjectTransposed.into(), x);
        let k = projected(&mut plan, Projection::K, Name::K, ProjectBlocks { blocks: HEADS }.into(), x);
        // Read off row by row from (d × n), as a reshape in place of a transpose does.
        let v = Rearrange::new(n, d, "mixed({*})", |r, c| {
            let at = r * d + c;
            Place { input: u32::from(c % 2 == 1), row: (at % n) as u32, column: (at / n) as u32 }
        });
        let v = plan.add(Name::V.into(), v, &[x, q]).unwrap();
        let mut scores = Vec::new();
        for head in 0..HEADS {
            let own = |step| Head(head).step(step);
            let rope = Rope {
                theta: 100.0,
                layout: self.layout,
                dims: d,
                scaling: None,
                positions: (0..n).map(|p| p as f64).collect(),
            };
            let turned = RopeWide { rope, from: head * WIDTH, width: WIDTH };
            let turned = plan.add(own(HeadStep::QRot), turned, &[q]).unwrap();
            let factor = if self.large { Scale::Given(300_000.0) } else { Scale::RootOfDk };
            let q = plan.add(own(HeadStep::QNorm), Times { factor, d_k: WIDTH }, &[turned]).unwrap();
            let part = Columns { from: head * WIDTH, width: WIDTH };
            let k = plan.add(own(HeadStep::K), part.clone(), &[k]).unwrap();
            plan.add(own(HeadStep::V), part, &[v]).unwrap();
            let half = ScoresInHalf { scale: Scale::RootOfDk, d_k: WIDTH };
            let full = Scores { scale: Scale::Given(0.5), d_k: WIDTH };
            let op = if head == 0 { Op::from(half) } else { Op::from(full) };
            let all = plan.add(own(HeadStep::Scores), op, &[q, k]).unwrap();
            // The last key is hidden from all: its column is empty.
            let allowed = Arc::new(DMatrix::from_fn(n, n, |r, c| c <= r && c + 1 < n));
            let reasons = "causal".to_owned();
            let mask = match self.hides {
                true => {
                    let hidden_by = allowed.map(|allowed| u32::from(!allowed)).into();
                    Op::from(Mask { allowed, reasons, hidden_by })
                }
                false => Op::from(MaskTimes { allowed, reasons }),
            };
            scores.push(plan.add(own(HeadStep::MaskedScores), mask, &[all]).unwrap());
        }
        let mut outputs = Vec::new();
        for head in 0..HEADS {
            let own = |step| Head(head).step(step);
            let factors = DMatrix::from_fn(n, n, |r, c| if (r + c) % 3 == 0 { 0.0 } else { 1.25 });
            let softmax = Softmax { empty_rows: self.empty, sink: None };
            let op = match self.weights {
                0 => Op::from(SoftmaxDown { empty: self.empty }),
                OVER_HEADS => Op::from(SoftmaxOverHeads { head }),
                2 => Op::from(RowShare),
                _ => Op::from(Reweighed { softmax, factors: factors.into(), said: "dropout" }),
            };
            let read = if self.weights == OVER_HEADS { scores.as_slice() } else { &scores[head..=head] };
            let weights = plan.add(own(HeadStep::Weights), op, read).unwrap();
            let mixed = plan.add(own(HeadStep::Output), MixTransposed, &[weights, own(HeadStep::V)]).unwrap();
            outputs.push(mixed);
        }
        let concat = plan.add(Name::Concat.into(), Concat, &outputs).unwrap();
        projected(&mut plan, Projection::O, Name::Output, ProjectMean { heads: HEADS }.into(), concat);
        (plan, inputs)
    }
}
