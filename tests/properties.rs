//! What must hold for every attention call, with every feature on or off.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

#[path = "common/drawn.rs"]
mod drawn;
#[path = "common/wrong.rs"]
mod wrong;

use std::collections::HashSet;
use std::sync::Arc;

use drawn::{Drawn, Numbers, drawn};
use mha::ops::{Arithmetic, Operation};
use mha::plan::rewrites::Variant;
use mha::plan::spec::{Alignment, FullyMaskedRows, Mask};
use mha::plan::{Call, Head, HeadStep, Name, Projection, StepId, attention, inputs_as};
use mha::trace::{Keep, Trace, measure, run_plan};
use nalgebra::DMatrix;
use proptest::prelude::*;
use wrong::{OVER_HEADS, Wrong, wrong};

/// Several sequences under the same weights, together and each on its own.
struct Batch {
    together: Call,
    alone: Vec<Call>,
}

impl Batch {
    /// `count` sequences with x and padding of their own; everything else is what was drawn.
    fn of(drawn: &Drawn, count: usize) -> Self {
        let call = drawn.call();
        let mut numbers = Numbers(!drawn.seed);
        let mut together = call.clone();
        together.batch = Some(count);
        let mut alone = Vec::new();
        let mut padding = Vec::new();
        for sequence in 0..count {
            let mut own = call.clone();
            for name in [Name::X, Name::XKv] {
                if let Some(value) = call.inputs.get(&name.into()) {
                    let value = Arc::new(numbers.matrix(value.nrows(), value.ncols()));
                    own.inputs.insert(name.into(), value.clone());
                    together.inputs.remove(&name.into());
                    together.inputs.insert(StepId::from(name).in_sequence(Some(sequence)), value);
                }
            }
            let real: Vec<bool> = (0..drawn.n_kv).map(|_| numbers.next() > -0.4).collect();
            own.attention.masks.push(Mask::KeyPadding(vec![real.clone()]));
            padding.push(real);
            alone.push(own);
        }
        together.attention.masks.push(Mask::KeyPadding(padding));
        Self { together, alone }
    }
}

fn run(call: &Call) -> Trace<f64> {
    let plan = attention::plan(call).unwrap();
    run_plan(Arc::new(plan), &call.inputs, &Keep::All, Arithmetic::Ordered).unwrap()
}

fn run_variant(variant: Variant, call: &Call) -> Trace<f64> {
    let (call, plan) = variant.apply(call).unwrap();
    run_plan(Arc::new(plan), &call.inputs, &Keep::All, Arithmetic::Ordered).unwrap()
}

fn output(trace: &Trace<f64>) -> DMatrix<f64> {
    trace.get(measure::result(trace.plan(), None).unwrap()).unwrap().into_owned()
}

#[track_caller]
fn assert_near(a: &DMatrix<f64>, b: &DMatrix<f64>, tolerance: f64) {
    let (largest, row, column) = measure::largest_difference(&a.as_view(), &b.as_view()).expect("one shape");
    assert!(largest <= tolerance, "they differ by {largest:e} at [{row},{column}]:\n{a}{b}");
}

/// A call whose tokens can change places: no mask, no positions, one sequence for queries and keys.
fn without_places(drawn: Drawn) -> Call {
    Drawn { masks: vec![], positions: 0, ..drawn }.call()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows_of_weights_sum_to_one_unless_nothing_is_seen(drawn in drawn()) {
        let trace = run(&drawn.call());
        for head in 0..drawn.group * drawn.kv_heads {
            let weights = trace.get(Head(head).step(HeadStep::Weights)).unwrap();
            let sink = trace.get(Head(head).step(HeadStep::SinkWeight));
            for row in 0..weights.nrows() {
                let sum: f64 = weights.row(row).iter().sum::<f64>() + sink.map_or(0.0, |sink| sink[(row, 0)]);
                let blind = weights.row(row).iter().all(|w| *w == 0.0) && sink.is_none();
                prop_assert!(blind || (sum - 1.0).abs() < 1e-12, "row {row} sums to {sum}");
                prop_assert!(weights.row(row).iter().all(|w| (0.0..=1.0 + 1e-12).contains(w)));
            }
        }
    }

    #[test]
    fn what_a_mask_hides_gets_exactly_nothing(drawn in drawn()) {
        let trace = run(&drawn.call());
        for head in 0..drawn.group * drawn.kv_heads {
            let Some(masked) = trace.get(Head(head).step(HeadStep::MaskedScores)) else { continue };
            let weights = trace.get(Head(head).step(HeadStep::Weights)).unwrap();
            for (score, weight) in masked.iter().zip(weights.iter()) {
                prop_assert!(*score != f64::NEG_INFINITY || *weight == 0.0);
            }
        }
    }

    #[test]
    fn every_cell_is_what_its_explanation_comes_to(drawn in drawn()) {
        let call = drawn.call();
        for variant in [Variant::MultiHead, Variant::Fused, Variant::Flash(Some(2)), Variant::Averaged] {
            let Ok((call, plan)) = variant.apply(&call) else { continue };
            let trace = run_plan(Arc::new(plan), &call.inputs, &Keep::All, Arithmetic::Ordered).unwrap();
            for (step, value) in trace.steps().filter(|(step, _)| !step.inputs.is_empty()) {
                let inputs = trace.inputs(step).unwrap();
                for row in 0..value.nrows() {
                    for column in 0..value.ncols() {
                        let explained = step.op.explain(row, column, &inputs).value(&inputs);
                        let is = value[(row, column)];
                        let near = explained == is || (explained - is).abs() <= 1e-12 * is.abs().max(1.0);
                        prop_assert!(near, "{variant}: {}[{row},{column}] is {is}, explained as {explained}", step.id);
                    }
                }
            }
        }
    }

    #[test]
    fn every_cell_of_a_wrong_computation_is_what_its_explanation_comes_to(wrong in wrong()) {
        let (plan, given) = wrong.plan();
        let trace: Trace<f64> = run_plan(Arc::new(plan), &given, &Keep::All, Arithmetic::Ordered).unwrap();
        for (step, value) in trace.steps().filter(|(step, _)| !step.inputs.is_empty()) {
            let inputs = trace.inputs(step).unwrap();
            for row in 0..value.nrows() {
                for column in 0..value.ncols() {
                    let explained = step.op.explain(row, column, &inputs).value(&inputs);
                    let is = value[(row, column)];
                    let near = explained == is || (explained - is).abs() <= 1e-12 * is.abs().max(1.0);
                    let neither = explained.is_nan() && is.is_nan();
                    prop_assert!(near || neither, "{}[{row},{column}] is {is}, explained as {explained}", step.id);
                }
            }
        }
    }

    #[test]
    fn heads_that_read_each_other_give_the_same_on_several_threads(wrong in wrong(), threads in 1usize..4) {
        let (plan, given) = Wrong { weights: OVER_HEADS, ..wrong }.plan();
        let plan = Arc::new(plan);
        let run = |arithmetic| run_plan(plan.clone(), &given, &Keep::All, arithmetic);
        let (ordered, fast) = (run(Arithmetic::Ordered), run(Arithmetic::Fast { threads }));
        let (ordered, fast): (Trace<f64>, Trace<f64>) = (ordered.unwrap(), fast.unwrap());
        for (step, value) in ordered.steps() {
            for (a, b) in value.iter().zip(fast.get(step.id).unwrap().iter()) {
                let near = a == b || (a - b).abs() <= 1e-9 * a.abs().max(1.0) || (a.is_nan() && b.is_nan());
                prop_assert!(near, "{}: {a} in order, {b} on {threads} threads", step.id);
            }
        }
    }

    #[test]
    fn permuting_tokens_permutes_the_output(drawn in drawn()) {
        let call = without_places(Drawn { cross: false, n_kv: drawn.n_q, ..drawn });
        let turned = |x: &DMatrix<f64>| {
            DMatrix::from_fn(x.nrows(), x.ncols(), |r, c| x[((r + 1) % x.nrows(), c)])
        };
        let mut other = call.clone();
        let x = turned(&call.inputs[&Name::X.into()]);
        other.inputs.insert(Name::X.into(), Arc::new(x));
        assert_near(&turned(&output(&run(&call))), &output(&run(&other)), 1e-11);
    }

    #[test]
    fn permuting_heads_with_the_rows_of_w_o_changes_nothing(drawn in drawn()) {
        // Heads of one group each, so that a query head moves together with its keys and values.
        let drawn = Drawn { group: 1, sinks: false, norm: 0, masks: vec![0], positions: 1, ..drawn };
        let call = drawn.call();
        let h = call.attention.num_heads;
        let columns = |m: &DMatrix<f64>, d: usize| {
            DMatrix::from_fn(m.nrows(), m.ncols(), |r, c| m[(r, ((c / d + 1) % h) * d + c % d)])
        };
        let mut other = call.clone();
        for (id, value) in &mut other.inputs {
            let d = if id.name == Name::W(Projection::V) || id.name == Name::B(Projection::V) { drawn.d_v } else { drawn.d_k };
            *value = Arc::new(match id.name {
                Name::W(Projection::O) => columns(&value.transpose(), drawn.d_v).transpose(),
                Name::W(_) => columns(value, d),
                Name::B(p) if p != Projection::O => columns(value, d),
                _ => continue,
            });
        }
        assert_near(&output(&run(&call)), &output(&run(&other)), 1e-11);
    }

    #[test]
    fn fused_and_flash_give_the_numbers_of_the_loop(drawn in drawn(), tile in 1usize..5) {
        let call = drawn.call();
        let looped = output(&run(&call));
        assert_near(&looped, &output(&run_variant(Variant::Fused, &call)), 1e-12);
        assert_near(&looped, &output(&run_variant(Variant::Flash(Some(tile)), &call)), 1e-11);
    }

    #[test]
    fn fused_and_flash_know_the_other_meanings_of_a_row_that_sees_nothing(drawn in drawn(), tile in 1usize..5) {
        // A window that looks past the last key: the last query sees nothing, whatever else is drawn.
        let mut call = drawn.call();
        call.attention.masks.push(Mask::Window { left: Some(0), right: None, alignment: Alignment::Offset(1) });
        for meaning in [FullyMaskedRows::Zeros, FullyMaskedRows::Nan, FullyMaskedRows::Uniform] {
            call.attention.fully_masked_rows = meaning;
            let looped = output(&run(&call));
            prop_assert!(meaning != FullyMaskedRows::Nan || drawn.sinks || drawn.n_q < drawn.n_kv
                || looped.row(drawn.n_q - 1).iter().all(|number| number.is_nan()));
            assert_near(&looped, &output(&run_variant(Variant::Fused, &call)), 1e-12);
            assert_near(&looped, &output(&run_variant(Variant::Flash(Some(tile)), &call)), 1e-11);
        }
    }

    #[test]
    fn single_precision_follows_double(drawn in drawn(), threads in 1usize..4) {
        let call = drawn.call();
        let plan = Arc::new(attention::plan(&call).unwrap());
        let single: Trace<f32> =
            run_plan(plan, &inputs_as(&call.inputs), &Keep::All, Arithmetic::Fast { threads }).unwrap();
        let double = run(&call);
        for (step, value) in double.steps() {
            let narrow = single.get(step.id).unwrap();
            for (a, b) in value.iter().zip(narrow.iter()) {
                let b = f64::from(*b);
                // A row norm of nearly zero numbers magnifies rounding: 1e-3 leaves room for that.
                let near = *a == b || (a - b).abs() <= 1e-3 * a.abs().max(1.0);
                prop_assert!(near, "{}: {a} in f64, {b} in f32", step.id);
            }
        }
    }

    #[test]
    fn fast_arithmetic_follows_the_ordered_one(drawn in drawn(), threads in 1usize..4) {
        let call = drawn.call();
        let plan = Arc::new(attention::plan(&call).unwrap());
        let fast: Trace<f64> = run_plan(plan, &call.inputs, &Keep::All, Arithmetic::Fast { threads }).unwrap();
        assert_near(&output(&run(&call)), &output(&fast), 1e-11);
    }

    #[test]
    fn gqa_with_a_head_each_is_multi_head(drawn in drawn()) {
        let call = Drawn { group: 1, ..drawn }.call();
        let h = call.attention.num_heads;
        assert_near(&output(&run(&call)), &output(&run_variant(Variant::Gqa(h), &call)), 0.0);
    }

    #[test]
    fn giving_each_query_head_its_own_copy_of_shared_keys_changes_nothing(drawn in drawn()) {
        let call = drawn.call();
        assert_near(&output(&run(&call)), &output(&run_variant(Variant::MultiHead, &call)), 1e-12);
    }

    #[test]
    fn a_trace_of_some_steps_has_the_numbers_of_the_whole(drawn in drawn()) {
        let call = drawn.call();
        let whole = run(&call);
        let plan = Arc::new(attention::plan(&call).unwrap());
        let wanted: StepId = Head(0).step(HeadStep::Output);
        for arithmetic in [Arithmetic::Ordered, Arithmetic::Fast { threads: 2 }] {
            let some: Trace<f64> =
                run_plan(plan.clone(), &call.inputs, &Keep::Only([wanted].into()), arithmetic).unwrap();
            assert_near(&whole.get(wanted).unwrap().into_owned(), &some.get(wanted).unwrap().into_owned(), 1e-11);
            prop_assert_eq!(some.steps().count(), 1);
        }
    }

    #[test]
    fn a_sequence_of_a_batch_has_the_numbers_it_has_alone(drawn in drawn(), count in 1usize..4) {
        let batch = Batch::of(&drawn, count);
        for variant in [Variant::MultiHead, Variant::Fused, Variant::Flash(Some(2))] {
            let whole = run_variant(variant, &batch.together);
            for (sequence, alone) in batch.alone.iter().enumerate() {
                let alone = run_variant(variant, alone);
                for (step, value) in alone.steps() {
                    let learned = matches!(step.id.name, Name::W(_) | Name::B(_) | Name::WQkv | Name::BQkv);
                    let id = if learned { step.id } else { step.id.in_sequence(Some(sequence)) };
                    let together = whole.get(id).unwrap();
                    prop_assert_eq!(together.shape(), value.shape());
                    let same = value.iter().zip(together.iter()).all(|(a, b)| a == b || (a.is_nan() && b.is_nan()));
                    prop_assert!(same, "{variant}: {id} differs from {} alone", step.id);
                }
            }
            let own = |sequence: usize| whole.steps().filter(move |(step, _)| step.id.sequence == Some(sequence)).count();
            prop_assert!((0..count).all(|sequence| own(sequence) == own(0)) && own(count) == 0);
        }
    }

    #[test]
    fn a_trace_of_any_steps_holds_those_with_the_numbers_of_the_whole(
        drawn in drawn(), count in 1usize..3, chosen in any::<u64>(), threads in 1usize..4, tile in 1usize..4,
    ) {
        let call = Batch::of(&drawn, count).together;
        for variant in [Variant::MultiHead, Variant::Fused, Variant::Flash(Some(tile))] {
            let (call, plan) = variant.apply(&call).unwrap();
            let plan = Arc::new(plan);
            let mut coin = Numbers(chosen);
            let asked: HashSet<StepId> =
                plan.steps().iter().map(|step| step.id).filter(|_| coin.next() > 0.6).collect();
            for arithmetic in [Arithmetic::Ordered, Arithmetic::Fast { threads }] {
                let whole: Trace<f64> = run_plan(plan.clone(), &call.inputs, &Keep::All, arithmetic).unwrap();
                let some: Trace<f64> =
                    run_plan(plan.clone(), &call.inputs, &Keep::Only(asked.clone()), arithmetic).unwrap();
                let held: HashSet<StepId> = some.steps().map(|(step, _)| step.id).collect();
                prop_assert_eq!(&held, &asked);
                for (step, value) in some.steps() {
                    let same = value.iter().zip(whole.get(step.id).unwrap().iter())
                        .all(|(a, b)| a == b || (a.is_nan() && b.is_nan()));
                    prop_assert!(same, "{variant}, {arithmetic:?}: {} is not what it is in the whole", step.id);
                }
            }
        }
    }
}
