//! Exact forms of every small attention call: they are the trace's numbers, and they end.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use mha::exact::{Exact, Number, Rational};
use mha::ops::Arithmetic;
use mha::plan::spec::{
    Alignment, FullyMaskedRows, Mask, NormScope, Positions, QkNorm, RopeLayout, RopeSpec, Scale, alibi_slopes,
};
use mha::plan::{Attention, Call, Head, HeadStep, Inputs, Name, Projection, StepId, attention};
use mha::trace::{Keep, Trace, run_plan};
use nalgebra::DMatrix;
use proptest::prelude::*;

fn traced(call: &Call) -> Trace<f64> {
    let plan = attention::plan(call).unwrap();
    run_plan(Arc::new(plan), &call.inputs, &Keep::All, Arithmetic::Ordered).unwrap()
}

/// What a call is drawn from: sizes, features, and how fine its numbers are.
#[derive(Debug, Clone)]
struct Drawn {
    sizes: [usize; 6],
    biases: bool,
    masks: Vec<u8>,
    positions: u8,
    softcap: bool,
    norm: u8,
    sinks: bool,
    scale: bool,
    meaning: FullyMaskedRows,
    /// Numbers are so many parts of one; 0 for numbers of full length.
    parts: u32,
    seed: u64,
}

prop_compose! {
    /// Small problems; `tame` ones keep to what has exact forms.
    fn drawn(tame: bool)(
        sizes in (1usize..5, 1usize..4, 1usize..3, 1usize..3, 1usize..3, 1usize..3),
        flags in (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
        masks in prop::sample::subsequence(vec![0u8, 1, 2, 3], 0..3), // two added masks would be summed in f64
        choices in (0u8..4, 0u8..3, 0usize..3),
        parts in prop::sample::select(if tame { vec![1, 2, 4, 10] } else { vec![0, 1, 3, 10, 1000, 1 << 20] }),
        seed in any::<u64>(),
    ) -> Drawn {
        let (n, d_model, group, kv_heads, half_d_k, d_v) = sizes;
        let (biases, softcap, sinks, scale) = flags;
        Drawn {
            sizes: [n, d_model, group, kv_heads, 2 * half_d_k, d_v],
            biases, masks, sinks, scale, parts, seed,
            positions: if tame { choices.0 / 2 * 3 } else { choices.0 },
            softcap: softcap && !tame,
            norm: choices.1,
            meaning: [FullyMaskedRows::Zeros, FullyMaskedRows::Uniform, FullyMaskedRows::Nan][choices.2],
        }
    }
}

/// Numbers from −2 to 2, the same from the same seed.
struct Numbers {
    state: u64,
    parts: u32,
}

impl Numbers {
    fn next(&mut self) -> f64 {
        self.state = self.state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let fine = ((self.state >> 11) as f64 / (1u64 << 52) as f64 - 1.0) * 2.0;
        match self.parts {
            0 => fine,
            parts => (fine * f64::from(parts)).round() / f64::from(parts),
        }
    }

    fn matrix(&mut self, rows: usize, columns: usize) -> DMatrix<f64> {
        DMatrix::from_fn(rows, columns, |_, _| self.next())
    }

    fn list(&mut self, length: usize) -> Vec<f64> {
        (0..length).map(|_| self.next()).collect()
    }
}

impl Drawn {
    fn call(&self) -> Call {
        let [n, d_model, group, kv_heads, d_k, d_v] = self.sizes;
        let (h, g) = (group * kv_heads, kv_heads);
        let mut numbers = Numbers { state: self.seed, parts: self.parts };
        let mut inputs = Inputs::new();
        let mut put = |name: Name, value| inputs.insert(StepId::from(name), Arc::new(value));
        put(Name::X, numbers.matrix(n, d_model));
        for (projection, rows, columns) in [
            (Projection::Q, d_model, h * d_k),
            (Projection::K, d_model, g * d_k),
            (Projection::V, d_model, g * d_v),
            (Projection::O, h * d_v, d_model),
        ] {
            put(Name::W(projection), numbers.matrix(rows, columns));
            if self.biases {
                put(Name::B(projection), numbers.matrix(1, columns));
            }
        }
        let mask = |kind: &u8, numbers: &mut Numbers| match kind {
            0 => Mask::Causal(Alignment::BottomRight),
            1 => Mask::Window { left: Some(0), right: None, alignment: Alignment::Offset(1) }, // the last sees nothing
            2 => Mask::Allow((0..h).map(|_| numbers.matrix(n, n).map(|v| v > -0.5)).collect()),
            _ => Mask::Add(vec![numbers.matrix(n, n).map(|v| if v < -1.4 { f64::NEG_INFINITY } else { v })]),
        };
        let rope = |layout, dims| {
            let positions: Vec<f64> = (0..n).map(|p| p as f64).collect();
            Positions::Rope(RopeSpec {
                theta: 100.0,
                layout,
                dims,
                scaling: None,
                q_positions: positions.clone(),
                k_positions: positions,
            })
        };
        let norm = |scope, q, k, numbers: &mut Numbers| {
            Some(QkNorm { eps: 0.5, q_gain: numbers.list(q), k_gain: numbers.list(k), scope })
        };
        let attention = Attention {
            d_model,
            d_kv_model: d_model,
            num_heads: h,
            num_kv_heads: g,
            d_k,
            d_v,
            scale: if self.scale { Scale::Given(0.75) } else { Scale::RootOfDk },
            masks: self.masks.iter().map(|kind| mask(kind, &mut numbers)).collect(),
            positions: match self.positions {
                0 => Positions::None,
                1 => rope(RopeLayout::HalfSplit, d_k),
                2 => rope(RopeLayout::Interleaved, 2),
                _ => Positions::Alibi { slopes: alibi_slopes(h), alignment: Alignment::BottomRight },
            },
            softcap: self.softcap.then_some(1.5),
            qk_norm: match self.norm {
                0 => None,
                1 => norm(NormScope::Head, d_k, d_k, &mut numbers),
                _ => norm(NormScope::Full, h * d_k, g * d_k, &mut numbers),
            },
            sinks: self.sinks.then(|| numbers.list(h)),
            fully_masked_rows: self.meaning,
        };
        Call { attention, layers: None, batch: None, inputs, elsewhere: mha::plan::Shapes::new() }
    }
}

/// Every exact number is the trace's, within 1e-12 of it; what is not shown says why.
#[track_caller]
fn assert_true(trace: &Trace<f64>, exact: &Exact) {
    for (step, value) in trace.steps() {
        for r in 0..value.nrows() {
            for c in 0..value.ncols() {
                let Some(number) = exact.number(step.id, r, c) else { continue };
                let (want, have) = (value[(r, c)], number.value());
                let near = want == have || (want - have).abs() <= 1e-12 * want.abs().max(1.0);
                assert!(near, "{}[{r},{c}] is {want}, but exactly {number:?} = {have}", step.id);
            }
        }
        let shown = exact.form(step.id, 0, 0).is_some();
        assert_eq!(shown, exact.why_not(step.id).is_none(), "{}", step.id);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn exact_numbers_are_those_of_the_trace_and_rows_of_weights_sum_to_1(drawn in drawn(true)) {
        let call = drawn.call();
        let trace = traced(&call);
        let exact = Exact::of(&trace);
        assert_true(&trace, &exact);
        let one = Number::from(Rational::from_integer(1));
        for head in (0..call.attention.num_heads).map(Head) {
            let weights = head.step(HeadStep::Weights);
            let value = trace.get(weights).unwrap();
            if let Some(why) = exact.why_not(weights).filter(|_| exact.number(weights, 0, 0).is_none()) {
                // The only excuses: a norm's roots that grow, and rows that are asked to be no numbers.
                let grown = drawn.norm > 0 && (why.contains("digits") || why.contains("roots")
                    || why.contains("which has no exact form"));
                let no_number = value.iter().any(|v| v.is_nan()) && why.ends_with("holds what is not a number");
                prop_assert!(grown || no_number, "{why}");
                continue;
            }
            for r in 0..value.nrows() {
                let row = (0..value.ncols()).map(|c| exact.number(weights, r, c).unwrap().clone());
                let sink = exact.number(head.step(HeadStep::SinkWeight), r, 0).cloned();
                let sum = Number::sum(row.chain(sink)).unwrap();
                let saw_nothing = value.row(r).iter().all(|v| *v == 0.0);
                prop_assert!(sum == one || saw_nothing, "row {r} of {weights} sums to {sum:?}");
            }
        }
    }

    #[test]
    fn whatever_is_asked_of_attention_exact_forms_end_and_are_true(drawn in drawn(false)) {
        let trace = traced(&drawn.call());
        let started = Instant::now();
        assert_true(&trace, &Exact::of(&trace));
        prop_assert!(started.elapsed() < Duration::from_secs(120));
    }
}
