//! Stacks of layers: against PyTorch at every step, by hand, and in what must hold for any of them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

#[path = "layers/faults.rs"]
mod faults;
#[path = "layers/pages.rs"]
mod pages;
#[path = "common/run.rs"]
#[expect(dead_code, reason = "no shell is needed here")]
mod run;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use approx::assert_abs_diff_eq;
use mha::lesson::{Options, Problem, parse};
use mha::ops::{Arithmetic, Layout, Op, Operation, Real, Told};
use mha::plan::names::role;
use mha::plan::rewrites::{Variant, swap_keys, zero_head};
use mha::plan::{Plan, StepId, attention, inputs_as};
use mha::trace::{Cell, Keep, Trace, run_plan};
use nalgebra::DMatrix;

/// A lesson from its text.
#[track_caller]
fn problem(text: &str) -> Problem {
    match parse(text, "stack.yaml", Path::new("."), &Options::default()) {
        Ok(problem) => problem,
        Err(faults) => panic!("{faults}"),
    }
}

fn run_as<T: Real>(problem: &Problem, plan: Plan) -> Trace<T> {
    let inputs = inputs_as(&problem.inputs);
    run_plan(Arc::new(plan), &inputs, &Keep::All, Arithmetic::Ordered).unwrap()
}

/// Every step of a lesson.
#[track_caller]
fn traced(text: &str) -> Trace<f64> {
    let problem = problem(text);
    let plan = attention::plan(&problem.call()).unwrap();
    run_as(&problem, plan)
}

#[track_caller]
fn step<T: Real>(trace: &Trace<T>, name: &str) -> DMatrix<f64> {
    let id: StepId = name.parse().unwrap();
    let value = trace.get(id).unwrap_or_else(|| panic!("no step {name}"));
    value.map(T::value)
}

#[track_caller]
fn assert_rows(trace: &Trace<f64>, name: &str, expected: &[&[f64]]) {
    let is = step(trace, name);
    assert_eq!(is.shape(), (expected.len(), expected[0].len()), "{name}");
    for (r, row) in expected.iter().enumerate() {
        for (c, number) in row.iter().enumerate() {
            assert_abs_diff_eq!(is[(r, c)], *number, epsilon = 1e-12);
        }
    }
}

/// A step of every kind that hooks on PyTorch's own layers could see, in both precisions.
#[test]
fn every_step_agrees_with_pytorch() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/layers");
    let mut compared = 0;
    let mut cases = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        cases += 1;
        let case: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let problem = problem(&case["lesson"].to_string());
        let plan = attention::plan(&problem.call()).unwrap();
        let (double, single) = (run_as::<f64>(&problem, plan.clone()), run_as::<f32>(&problem, plan));
        for (name, expected) in case["steps"].as_object().unwrap() {
            let expected: Vec<Vec<f64>> = serde_json::from_value(expected.clone()).unwrap();
            let largest = expected.iter().flatten().fold(1.0, |most: f64, v| most.max(v.abs()));
            for (is, allowed) in [(step(&double, name), 1e-12), (step(&single, name), 1e-5)] {
                assert_eq!(is.shape(), (expected.len(), expected[0].len()), "{}: {name}", path.display());
                for (r, c) in (0..is.nrows()).flat_map(|r| (0..is.ncols()).map(move |c| (r, c))) {
                    let (got, wanted) = (is[(r, c)], expected[r][c]);
                    let apart = (got - wanted).abs();
                    assert!(apart <= allowed * largest, "{}: {name}[{r},{c}] {got} {wanted}", path.display());
                    compared += 1;
                }
            }
        }
    }
    assert_eq!(cases, 8);
    assert!(compared > 8000, "{compared}");
}

/// One token sees itself only, so its attention weight is 1 and attention gives x · W_V · W_O.
fn one_token(layers: &str) -> String {
    format!(
        "attention: {{d_model: 2, num_heads: 1}}\ninputs: {{x: [[3, 1]]}}\n\
         projections: {{w_q: identity, w_k: identity, w_v: identity, w_o: [[2, 0], [0, 1]]}}\n\
         layers: {{count: 1, eps: 0, {layers}}}\n"
    )
}

/// (3, 1): mean 2, differences 1 and −1, variance 1, so the norm gives (1, −1). Attention doubles the first: (2, −1).
/// Added to what was given: (5, 0), whose norm is (1, −1) again.
#[test]
fn with_norms_before_the_stream_itself_is_never_normed() {
    let trace = traced(&one_token("norm: pre"));
    assert_rows(&trace, "layer.1.x", &[&[1.0, -1.0]]);
    assert_rows(&trace, "layer.1.output", &[&[2.0, -1.0]]);
    assert_rows(&trace, "layer.1.hidden", &[&[5.0, 0.0]]);
    assert_rows(&trace, "final", &[&[1.0, -1.0]]);
}

/// Attention is given (3, 1) as it is and finds (6, 1). The sum (9, 2) has mean 5.5 and both are 3.5 away: (1, −1).
#[test]
fn with_norms_after_what_a_layer_hands_on_is_normed() {
    let trace = traced(&one_token("norm: post"));
    assert_rows(&trace, "layer.1.x", &[&[3.0, 1.0]]);
    assert_rows(&trace, "layer.1.attention_residual", &[&[9.0, 2.0]]);
    assert_rows(&trace, "layer.1.attention_norm", &[&[1.0, -1.0]]);
    assert_rows(&trace, "layer.1.hidden", &[&[1.0, -1.0]]);
    assert!(trace.plan().get("final".parse().unwrap()).is_none());
}

/// No norm: (3, 1) + (6, 1) = (9, 2). W_1 makes 9 − 2 · 5 = −1, 2 · 2 + 1 = 5 and 9 of it (b_1 is 0, 1, 0), ReLU keeps 5 and
/// 9, and W_2 makes 5 + 9 = 14 and −5 + 0.5. Added: (23, −2.5).
#[test]
fn a_feed_forward_network_widens_bends_and_narrows() {
    let ffn = "ffn: {activation: relu, w_1: [[1, 0, 1], [-5, 2, 0]], b_1: [0, 1, 0], w_2: [[7, 7], [1, -1], [1, 0]], b_2: [0, 0.5]}";
    let trace = traced(&one_token(&format!("norm: none, {ffn}")));
    assert_rows(&trace, "layer.1.ffn.x", &[&[9.0, 2.0]]);
    assert_rows(&trace, "layer.1.ffn.up", &[&[-1.0, 5.0, 9.0]]);
    assert_rows(&trace, "layer.1.ffn.activation", &[&[0.0, 5.0, 9.0]]);
    assert_rows(&trace, "layer.1.ffn.output", &[&[14.0, -4.5]]);
    assert_rows(&trace, "layer.1.hidden", &[&[23.0, -2.5]]);
}

/// Without residuals a layer hands on what attention found: (3, 1) becomes (6, 1), and the next makes (12, 1) of it.
#[test]
fn without_residuals_only_what_was_found_goes_on() {
    let text = one_token("norm: none, residual: false").replace("count: 1", "count: 2");
    let trace = traced(&text);
    assert_rows(&trace, "layer.1.hidden", &[&[6.0, 1.0]]);
    assert_rows(&trace, "layer.2.hidden", &[&[12.0, 1.0]]);
    assert!(trace.plan().get("layer.1.attention_residual".parse().unwrap()).is_none());
}

/// The gain 3, 1 and the shift 0, 10 on (1, −1): (3, 9).
#[test]
fn gain_and_shift_belong_to_every_norm() {
    let trace = traced(&one_token("norm: pre, gain: [3, 1], shift: [0, 10]"));
    assert_rows(&trace, "layer.1.x", &[&[3.0, 9.0]]);
    // (3, 1) + (6, 9) = (9, 10): the norm gives (−1, 1), and gain and shift (−3, 11).
    assert_rows(&trace, "final", &[&[-3.0, 11.0]]);
}

/// Gains drawn at random are other ones for each norm: the first of a layer belongs to attention, the second to the network.
#[test]
fn each_norm_stands_where_it_belongs() {
    let ffn = "ffn: {w_1: identity, w_2: identity}, gain: {random: {seed: 9}}, final_norm: true";
    for (norm, [of_attention, of_network]) in
        [("pre", ["x", "ffn.x"]), ("post", ["attention_norm", "hidden"])]
    {
        let problem = problem(&two_layers(&format!("norm: {norm}, {ffn}")));
        let plan = attention::plan(&problem.call()).unwrap();
        let stack = problem.layers.unwrap();
        let mut expected = vec![("final".to_owned(), stack.last.clone().unwrap())];
        for (number, layer) in stack.layers.iter().enumerate() {
            let [first, second] = layer.norms.clone();
            expected.push((format!("layer.{}.{of_attention}", number + 1), first));
            expected.push((format!("layer.{}.{of_network}", number + 1), second));
        }
        for (at, (name, norm)) in expected.iter().enumerate() {
            assert_eq!(plan.get(name.parse().unwrap()).unwrap().op, Op::from(norm.clone()), "{name}");
            assert!(expected[..at].iter().all(|(_, other)| other != norm), "{name}");
        }
    }
}

const TWO_LAYERS: &str = "
attention: {d_model: 4, num_heads: 2, mask: causal}
inputs: {x: [[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]]}
projections: {w_q: {random: {seed: 1}}, w_k: {random: {seed: 2}}, w_v: {random: {seed: 3}}, w_o: {random: {seed: 4}}}
";

fn two_layers(layers: &str) -> String {
    format!("{TWO_LAYERS}layers: {{count: 2, {layers}}}\n")
}

/// The first layer's matrices are those of the lesson without a stack, and every layer has its own.
#[test]
fn what_layers_share_at_random_gives_each_numbers_of_its_own() {
    let (alone, stack) = (problem(TWO_LAYERS), problem(&two_layers("norm: pre")));
    for name in ["w_q", "w_k", "w_v", "w_o"] {
        let id: StepId = name.parse().unwrap();
        let of_layer = |layer| &stack.inputs[&id.in_layer(Some(layer))];
        assert_eq!(&alone.inputs[&id], of_layer(0), "{name}");
        assert_ne!(of_layer(0), of_layer(1), "{name}");
    }
}

/// An entry's own keys stand over what is shared, key by key, in its layer only.
#[test]
fn an_entry_overrides_what_is_shared_in_its_layer_only() {
    let stack = "stack: [{}, {attention: {scale: 1, num_heads: 4}, projections: {w_o: zeros}}]";
    let trace = traced(&format!("{TWO_LAYERS}layers: {{norm: none, {stack}}}\n"));
    let plan = trace.plan();
    assert!(plan.get("layer.1.head.3.q".parse().unwrap()).is_none());
    assert!(plan.get("layer.2.head.4.masked_scores".parse().unwrap()).is_some(), "the mask is shared");
    assert_eq!(step(&trace, "layer.2.hidden"), step(&trace, "layer.1.hidden"));
    // d_k is 1 in the second layer: its scores are products of two numbers, times 1.
    let (q, k) = (step(&trace, "layer.2.q"), step(&trace, "layer.2.k"));
    assert_abs_diff_eq!(
        step(&trace, "layer.2.head.4.scores")[(2, 1)],
        q[(2, 3)] * k[(1, 3)],
        epsilon = 1e-15
    );
}

/// Every head of every layer set to zero: nothing is ever added to the stream.
#[test]
fn with_every_head_at_zero_the_stream_stays_what_it_was() {
    let problem = problem(&two_layers("norm: pre"));
    let mut plan = attention::plan(&problem.call()).unwrap();
    for place in ["layer.1.head.1", "layer.1.head.2", "layer.2.head.1", "layer.2.head.2"] {
        plan = zero_head(&plan, place.parse().unwrap()).unwrap();
    }
    let trace = run_as::<f64>(&problem, plan);
    assert_eq!(step(&trace, "layer.2.hidden"), step(&trace, "embedding"));
    assert_eq!(step(&trace, "layer.2.head.1.output"), DMatrix::zeros(3, 2));
    assert_ne!(step(&trace, "layer.2.head.1.weights"), DMatrix::zeros(3, 3));
}

/// A head of the second layer set to zero changes nothing before it.
#[test]
fn zeroing_a_head_leaves_everything_before_it() {
    let problem = problem(&two_layers("norm: pre"));
    let right = attention::plan(&problem.call()).unwrap();
    let zeroed = zero_head(&right, "layer.2.head.2".parse().unwrap()).unwrap();
    let (before, after) = (run_as::<f64>(&problem, right), run_as::<f64>(&problem, zeroed));
    let differs = |id: &StepId| before.get(*id).unwrap() != after.get(*id).unwrap();
    let changed: Vec<String> =
        after.plan().ids().iter().filter(|id| differs(id)).map(ToString::to_string).collect();
    let names = ["head.2.output", "concat", "output", "attention_residual", "hidden"]
        .map(|name| format!("layer.2.{name}"));
    assert_eq!(changed[..5], names);
    assert_eq!(changed[5..], ["final"]);
}

/// Tokens 1 and 2 have the same values (the first two rows of x agree in column 1, which W_V takes alone), so exchanging
/// their weights changes the weights and nothing after them.
#[test]
fn exchanging_keys_of_equal_values_leaves_the_output() {
    let text = "
attention: {d_model: 2, num_heads: 1}
inputs: {x: [[1, 4], [1, -2], [3, 0]]}
projections: {w_q: identity, w_k: identity, w_v: [[1, 1], [0, 0]], w_o: identity}
";
    let problem = problem(text);
    let right = attention::plan(&problem.call()).unwrap();
    let swapped = swap_keys(&right, "head.1".parse().unwrap(), (0, 1)).unwrap();
    let (before, after) = (run_as::<f64>(&problem, right), run_as::<f64>(&problem, swapped));
    let (a, b) = (step(&before, "head.1.weights"), step(&after, "head.1.weights"));
    assert!((a[(0, 0)] - a[(0, 1)]).abs() > 0.5);
    for row in 0..3 {
        assert_eq!([b[(row, 1)], b[(row, 0)], b[(row, 2)]], [a[(row, 0)], a[(row, 1)], a[(row, 2)]]);
    }
    for (x, y) in step(&before, "output").iter().zip(step(&after, "output").iter()) {
        assert_abs_diff_eq!(x, y, epsilon = 1e-12);
    }
}

#[test]
fn keys_that_cannot_be_exchanged_are_refused() {
    let problem = problem(&two_layers("norm: pre"));
    let plan = attention::plan(&problem.call()).unwrap();
    let refused = |place: &str, keys| swap_keys(&plan, place.parse().unwrap(), keys).unwrap_err();
    assert_eq!(refused("layer.1.head.1", (0, 3)).what, "layer.1.head.1 has no key 4");
    assert_eq!(refused("layer.1.head.1", (1, 1)).what, "key 2 cannot trade places with itself");
    let fault = refused("layer.3.head.1", (0, 1));
    assert_eq!(fault.why, "the heads run from layer.1.head.1 to layer.2.head.2, counted from 1");
    assert!(fault.remedy.contains(".head.1?"), "{}", fault.remedy);
}

/// In a batch a head is rewritten in every sequence.
#[test]
fn a_rewrite_holds_for_every_sequence_of_a_batch() {
    let text = "
attention: {d_model: 2, num_heads: 2}
inputs: {x: [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]}
projections: {w_q: identity, w_k: identity, w_v: identity, w_o: identity}
";
    let problem = problem(text);
    let plan = zero_head(&attention::plan(&problem.call()).unwrap(), "head.1".parse().unwrap()).unwrap();
    let trace = run_as::<f64>(&problem, plan);
    for sequence in ["batch.1", "batch.2"] {
        let output = step(&trace, &format!("{sequence}.output"));
        assert!(output.column(0).iter().all(|v| *v == 0.0) && output.column(1).iter().all(|v| *v > 1.0));
    }
}

/// A layer of a GPT has 12 · d² numbers without biases: 4 · d² of attention and 2 · d · 4d of its network. With d = 4, two
/// layers: 2 · 12 · 16 = 384; gains and shifts of two norms a layer and of the last: (2 · 2 + 1) · 2 · 4 = 40 more.
#[test]
fn parameters_are_those_of_all_layers() {
    let ffn = "ffn: {w_1: {random: {seed: 5}}, w_2: {random: {seed: 6}}}";
    let count = |layers: &str| attention::plan(&problem(&two_layers(layers)).call()).unwrap().parameters();
    assert_eq!(count(ffn), 384);
    assert_eq!(count(&format!("{ffn}, gain: ones, shift: zeros")), 424);
}

/// A stack of many layers multiplies as often as its layers together: per layer 4 · n · d² for the projections,
/// 2 · n² · d for scores and blends, 2 · n · d · d_ff for the network.
#[test]
fn a_stack_costs_what_its_layers_cost() {
    let ffn = "ffn: {d_ff: 6, w_1: {random: {seed: 5}}, w_2: {random: {seed: 6}}}";
    let text = two_layers(ffn).replace("count: 2", "count: 3");
    let cost = attention::plan(&problem(&text).call()).unwrap().cost(None);
    assert_eq!(cost.multiplications, 3 * (4 * 3 * 16 + 2 * 9 * 4 + 2 * 3 * 4 * 6));
    // h · n² exponentials a layer
    assert_eq!(cost.exponentials, 3 * 2 * 9);
}

/// Everything that a single call can have, it has in a layer too: layer 1 of a stack without norms computes what the lesson
/// without layers computes, bit for bit.
#[test]
fn the_first_layer_computes_what_the_lesson_without_layers_computes() {
    let lesson = "
attention: {d_model: 8, num_heads: 4, num_kv_heads: 2, d_k: 4, d_v: 3, scale: 0.4, mask: [causal, {window: 2}], positions: rope,
            softcap: 3, qk_norm: {q: {random: {seed: 11}}}, sinks: {random: {seed: 12}}}
inputs: {x: {random: {seed: 1, shape: [4, 8]}}}
projections: {w_q: {random: {seed: 1}}, w_k: {random: {seed: 2}}, w_v: {random: {seed: 3}}, w_o: {random: {seed: 4}},
              b_q: {random: {seed: 5}}, b_o: {random: {seed: 6}}}
";
    let (alone, stack) = (traced(lesson), traced(&format!("{lesson}layers: {{count: 2, norm: none}}\n")));
    let mut compared = 0;
    for (step, value) in alone.steps() {
        let in_layer =
            stack.get(step.id.in_layer(Some(0))).unwrap_or_else(|| panic!("no {} in layer 1", step.id));
        assert_eq!(value, in_layer, "{}", step.id);
        compared += 1;
    }
    assert!(compared > 40);
    // Gains and sinks drawn at random are each layer's own; the window is not.
    let problem = problem(&format!("{lesson}layers: {{count: 2, norm: none}}\n"));
    let [first, second] = problem.layers.unwrap().layers.try_into().unwrap();
    assert_ne!(first.attention.sinks, second.attention.sinks);
    assert_ne!(first.attention.qk_norm, second.attention.qk_norm);
    assert_eq!(first.attention.masks, second.attention.masks);
}

/// What a rewritten step does stands in its formula.
#[test]
fn a_rewritten_step_says_what_it_does() {
    let problem = problem(&two_layers("norm: pre"));
    let plan = attention::plan(&problem.call()).unwrap();
    let plan = zero_head(&plan, "layer.2.head.2".parse().unwrap()).unwrap();
    let plan = swap_keys(&plan, "layer.1.head.1".parse().unwrap(), (0, 2)).unwrap();
    let equation = |name: &str| {
        let step = plan.get(name.parse().unwrap()).unwrap();
        plan.formula(step, Layout::Rows).equation
    };
    assert_eq!(equation("layer.2.head.2.output"), "head₂⁽²⁾ = 0");
    assert_eq!(
        equation("layer.1.head.1.weights"),
        "A₁⁽¹⁾ = softmax(S₁ᵐ⁽¹⁾), row by row, columns 1 and 3 exchanged"
    );
    let trace = run_as::<f64>(&problem, plan);
    let names = ["the", "cat", "sat"].map(str::to_owned);
    let said = |name: &str| {
        let id: StepId = name.parse().unwrap();
        let step = trace.plan().get(id).unwrap();
        step.op.tell(&Told {
            role: role(id.name),
            value: trace.get(id).unwrap(),
            inputs: trace.inputs(step).unwrap(),
            rows: &names,
            columns: &names,
            layout: Layout::Rows,
            write: &|number| number.to_string(),
        })
    };
    assert_eq!(said("layer.2.head.2.output"), "This head is set to zero: nothing of what it found goes on.");
    assert_eq!(
        said("layer.1.head.1.weights"),
        "In every row the weights of the keys the and sat have traded places."
    );
    let reason = |name: &str, row, column| {
        trace.reason(Cell { step: name.parse().unwrap(), row, column }).unwrap_or_default()
    };
    assert_eq!(reason("layer.2.head.2.output", 1, 0), "the head is set to zero");
    assert_eq!(reason("layer.1.head.1.weights", 2, 0), "exchanged with the weight of key 3");
    assert_eq!(reason("layer.1.head.1.weights", 2, 1), "");
}

#[test]
fn a_variant_is_of_one_attention_call() {
    let call = problem(&two_layers("norm: pre")).call();
    let refused = Variant::NoScale.apply(&call).unwrap_err().to_string();
    assert!(refused.contains("variant no-scale is of one attention call, and this is a stack"), "{refused}");
}
