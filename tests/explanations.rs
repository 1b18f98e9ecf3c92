//! What `--explain` prints is true: read and computed by an evaluator that knows only the grammar, every line gives
//! the cell.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

#[path = "common/drawn.rs"]
mod drawn;
#[path = "common/evaluator.rs"]
mod evaluator;
#[path = "common/run.rs"]
#[expect(dead_code, reason = "no shell is needed here")]
mod run;
#[path = "common/wrong.rs"]
mod wrong;

use std::path::Path;
use std::sync::Arc;

use drawn::{Drawn, drawn};
use evaluator::{Names, value};
use mha::ops::{Arithmetic, Given, Scale, ScoresInHalf};
use mha::plan::rewrites::{Variant, swap_keys, zero_head};
use mha::plan::spec::FullyMaskedRows;
use mha::plan::{Head, HeadStep, Inputs, Plan, StepId};
use mha::trace::{Cell, Keep, Trace, run_plan};
use mha::views::derivation::Derivation;
use nalgebra::DMatrix;
use proptest::prelude::*;
use serde_json::Value;
use wrong::wrong;

/// The step that a name stands for inside the head of `scope`.
fn meant(trace: &Trace<f64>, name: &str, scope: StepId) -> StepId {
    let inside = scope.head().and_then(|head| format!("head.{}.{name}", head.0 + 1).parse::<StepId>().ok());
    let inside = inside.map(|id| id.in_layer(scope.layer));
    let inputs = &trace.plan().get(scope).unwrap().inputs;
    let is_an_input = |id: &StepId| inputs.contains(id);
    let named = || name.parse::<StepId>().unwrap();
    let beside = || Some(named().in_layer(scope.layer)).filter(is_an_input);
    inside.filter(is_an_input).or_else(beside).unwrap_or_else(named)
}

/// Of what holds no names.
const NOTHING: Names<'static> =
    Names { cell: &|_, _, _| f64::NAN, row: &|_, _| Vec::new(), m: None, rests: &[] };

/// What the braces of a line hold: `{12 terms: 0.5}`.
fn rests(line: &str) -> Vec<f64> {
    let after = line.split(" terms: ").skip(1);
    after.map(|text| value(text.split('}').next().unwrap(), &NOTHING)).collect()
}

/// Every line of a derivation, computed: names give the cell to the last bits, numbers what is printed, as rounded.
fn check(trace: &Trace<f64>, cell: Cell, derivation: &Derivation, digits: usize) {
    let is = trace.cell(cell).unwrap();
    let cell_of = |name: &str, row: usize, column: usize| {
        trace.get(meant(trace, name, cell.step)).unwrap()[(row - 1, column - 1)]
    };
    let row_of = |name: &str, row: usize| {
        trace.get(meant(trace, name, cell.step)).unwrap().row(row - 1).iter().copied().collect()
    };
    let in_full = Derivation::of(trace, cell, 17).unwrap();
    let rests = rests(in_full.lines.get(1).map_or("", String::as_str));
    let named = |m| Names { cell: &cell_of, row: &row_of, m, rests: &rests };
    let largest = derivation.largest.as_ref().map(|(names, number)| {
        let m = value(names, &named(None));
        assert!(near(m, number, digits), "{cell}: m = {names} = {number}, not {m}");
        m
    });
    let (names, rest) = derivation.lines.split_first().unwrap();
    let from_names = value(names, &named(largest));
    let last = derivation.lines.last().unwrap();
    assert!(near(from_names, last, digits), "{cell} is {is}; {names} is {from_names}");
    assert!(near(is, last, digits), "{cell} is {is}, printed as {last}");
    for line in rest {
        let computed = value(line, &named(largest));
        assert!(near(computed, last, digits), "{cell}: {line} is {computed}, not {last}");
    }
}

/// Whether a number rounds to the printed one: half a unit of its last digit (of the page's, where it is written in
/// full), and a last bit of room.
fn near(number: f64, printed: &str, digits: usize) -> bool {
    let is = value(printed, &NOTHING);
    if !number.is_finite() || !is.is_finite() {
        return number == is || (number.is_nan() && is.is_nan());
    }
    let (digits_printed, exponent) = printed.split_once('e').unwrap_or((printed, "0"));
    let decimals = digits_printed.split_once('.').map_or(0, |(_, decimals)| decimals.len()).max(digits);
    let unit = 10f64.powi(exponent.parse::<i32>().unwrap() - decimals as i32);
    // Below the smallest normal number digits are missing.
    (number - is).abs() <= 0.5 * unit + 2e-12 * is.abs().max(unit).max(number.abs()) + f64::MIN_POSITIVE
}

fn check_every_cell(trace: &Trace<f64>, digits: usize) -> usize {
    let mut checked = 0;
    for (step, matrix) in trace.steps().filter(|(step, _)| !step.inputs.is_empty()) {
        for row in 0..matrix.nrows() {
            for column in 0..matrix.ncols() {
                let cell = Cell { step: step.id, row, column };
                check(trace, cell, &Derivation::of(trace, cell, digits).unwrap(), digits);
                checked += 1;
            }
        }
    }
    checked
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_line_of_every_cell_comes_to_the_cell(drawn in drawn(), digits in 1usize..9) {
        // Half of them with rows longer than a sum that is shown whole.
        let long = Drawn { n_q: 2, n_kv: 12, cross: true, ..drawn.clone() };
        let mut call = if drawn.seed % 2 == 0 { drawn.call() } else { long.call() };
        let meanings = [FullyMaskedRows::Zeros, FullyMaskedRows::Nan, FullyMaskedRows::Uniform];
        call.attention.fully_masked_rows = meanings[(drawn.seed / 2 % 3) as usize];
        for variant in [Variant::MultiHead, Variant::Fused, Variant::Flash(Some(2)), Variant::Averaged] {
            let Ok((call, plan)) = variant.apply(&call) else { continue };
            let trace = run_plan(Arc::new(plan), &call.inputs, &Keep::All, Arithmetic::Ordered).unwrap();
            check_every_cell(&trace, digits);
        }
    }

    #[test]
    fn every_line_of_a_wrong_computation_comes_to_the_cell(wrong in wrong(), digits in 1usize..9) {
        let (plan, inputs) = wrong.plan();
        let trace = run_plan(Arc::new(plan), &inputs, &Keep::All, Arithmetic::Ordered).unwrap();
        check_every_cell(&trace, digits);
    }
}

/// Norms before or after, gains and shifts, every activation; then a head at zero and two keys exchanged. Rows of 18
/// numbers are longer than a sum that is shown whole.
#[test]
fn every_cell_of_a_stack_is_true() {
    let random = |seed: usize| format!("{{random: {{seed: {seed}}}}}");
    for (norm, activation, d_model) in [("pre", "gelu", 4), ("post", "relu", 18), ("none", "identity", 4)] {
        let gains = if norm == "none" {
            String::new()
        } else {
            format!("gain: {}, shift: {},", random(8), random(9))
        };
        let text = format!(
            "attention: {{num_heads: 2, mask: causal}}\n\
             inputs: {{x: {{random: {{seed: 1, shape: [3, {d_model}]}}}}}}\n\
             projections: {{w_q: {}, w_k: {}, w_v: {}, w_o: {}}}\n\
             layers: {{count: 2, norm: {norm}, {gains} ffn: {{d_ff: 5, activation: {activation}, w_1: {}, w_2: {}}}}}\n",
            random(2),
            random(3),
            random(4),
            random(5),
            random(6),
            random(7),
        );
        let problem = mha::lesson::parse(&text, "stack.yaml", Path::new("."), &Default::default()).unwrap();
        let right = mha::plan::attention::plan(&problem.call()).unwrap();
        let zeroed = zero_head(&right, "layer.1.head.2".parse().unwrap()).unwrap();
        let rewritten = swap_keys(&zeroed, "layer.2.head.1".parse().unwrap(), (0, 2)).unwrap();
        for plan in [right, rewritten] {
            let trace = run_plan(Arc::new(plan), &problem.inputs, &Keep::All, Arithmetic::Ordered).unwrap();
            for digits in [2, 4, 17] {
                assert!(check_every_cell(&trace, digits) > 300);
            }
        }
    }
}

/// A lesson run by the library, with every step kept.
fn lesson(name: &str) -> Trace<f64> {
    let lesson = mha::lesson::builtin::find(name).unwrap();
    let problem = mha::lesson::builtin::load(lesson, &mha::lesson::Options::default()).unwrap();
    let call = problem.call();
    let plan = mha::plan::attention::plan(&call).unwrap();
    run_plan(Arc::new(plan), &call.inputs, &Keep::All, Arithmetic::Ordered).unwrap()
}

#[test]
fn every_cell_of_telltale_is_true_at_every_precision() {
    let trace = lesson("telltale");
    for digits in [0, 1, 2, 4, 8, 17] {
        assert!(check_every_cell(&trace, digits) > 100);
    }
}

fn traced(args: &[&str]) -> run::Run {
    let words: Vec<&str> = ["trace"].iter().chain(args).copied().collect();
    run::run(Path::new("."), &words)
}

fn page(args: &[&str]) -> String {
    let run = traced(args);
    assert_eq!(run.status, Some(0), "{}", run.err);
    run.out
}

/// By hand: token c is (1, 1) in head 1, so q·k = 1·1 + 1·1 = 2, and 2/√2 = 1.4142.
#[test]
fn a_score_is_told_term_by_term() {
    let page = page(&["--explain", "head.1.scores[3,3]"]);
    let told = "    = (q[3,1]·k[3,1] + q[3,2]·k[3,2]) · 1/√2\n    = (1·1 + 1·1) · 1/√2\n    = (1 + 1) · 1/√2\n    = 2 · 1/√2\n    = 1.4142\n";
    assert!(page.contains(told), "{page}");
    assert!(page.contains("head.1.q[3,1] = q[3,1] = x[3,1]·w_q[1,1]"), "{page}");
    assert!(page.contains("x, w_q and w_k are given."), "{page}");
}

/// By hand: head 2 of row 3 scores 0 everywhere, so each weight is e^0 over three of them.
#[test]
fn a_weight_is_told_with_its_largest_score_its_powers_and_their_sum() {
    let page = page(&["--explain", "head.2.weights[3,1]"]);
    for line in [
        "m = max(scores[3,1], scores[3,2], scores[3,3]) = 0",
        "= e^0 / (e^0 + e^0 + e^0)",
        "= 1/(1 + 1 + 1)",
        "= 0.3333",
    ] {
        assert!(page.contains(line), "{line} is not in\n{page}");
    }
}

/// With four digits row c would read 0.2483·1 + 0.2483·0 + 0.5035·1, which is 0.7518; the cell is 0.7517.
#[test]
fn numbers_have_the_digits_that_make_the_sum_come_out() {
    let trace = lesson("two-heads");
    let cell = Cell { step: "head.1.output".parse().unwrap(), row: 2, column: 0 };
    let told = Derivation::of(&trace, cell, 4).unwrap();
    assert_eq!(told.lines.last().unwrap(), "0.7517");
    assert!(told.lines[1].starts_with("0.248255·1 +"), "{:?}", told.lines);
    check(&trace, cell, &told, 4);
}

/// A query that sees nothing, under `nan`: 0/0, and every number made from it.
#[test]
fn what_is_not_a_number_is_explained_and_comes_to_an_end() {
    let lesson = "attention: {d_model: 2, num_heads: 1, mask: [{allow: [[false, false], [true, true]]}], fully_masked_rows: nan}\n\
                  inputs: {x: [[1, 2], [3, 4]]}\nprojections: {w_q: identity, w_k: identity, w_v: identity, w_o: identity}\n";
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("blind.yaml"), lesson).unwrap();
    let run = run::run(folder.path(), &["trace", "blind.yaml", "--explain", "head.1.output[1,1]"]);
    assert_eq!(run.status, Some(0), "{}", run.err);
    assert!(run.out.contains("= NaN·1 + NaN·3\n    = NaN + NaN\n    = NaN\n"), "{}", run.out);
}

/// By hand: 256 · 512 = 131072, and half precision ends at 65504.
#[test]
fn a_product_that_passes_half_precision_is_told_with_what_it_was() {
    let (q, k) = (Head(0).step(HeadStep::Q), Head(0).step(HeadStep::K));
    let scores = Head(0).step(HeadStep::Scores);
    let mut plan = Plan::default();
    let mut inputs = Inputs::new();
    for (id, number) in [(q, 256.0), (k, 512.0)] {
        inputs.insert(id, Arc::new(DMatrix::from_element(1, 1, number)));
        plan.add(id, Given { shape: (1, 1) }, &[]).unwrap();
    }
    plan.add(scores, ScoresInHalf { scale: Scale::RootOfDk, d_k: 4 }, &[q, k]).unwrap();
    let trace = run_plan(Arc::new(plan), &inputs, &Keep::All, Arithmetic::Ordered).unwrap();
    let cell = Cell { step: scores, row: 0, column: 0 };
    let told = Derivation::of(&trace, cell, 4).unwrap();
    assert_eq!(
        told.lines,
        [
            "float16(q[1,1]·k[1,1]) · 1/√4",
            "float16(256·512) · 1/√4",
            "float16(131072) · 1/√4",
            "∞ · 1/√4",
            "∞"
        ]
    );
    let reason = "q · k = 131072 is beyond 65504, the largest half-precision number";
    assert_eq!(trace.reason(cell).as_deref(), Some(reason));
}

#[test]
fn a_hidden_score_says_which_mask_hides_it() {
    let hidden = page(&["masks", "--explain", "head.1.masked_scores[1,3]"]);
    assert!(hidden.contains("    = −∞\n    hidden: causal\n"), "{hidden}");
}

/// Both sequences have the same weights and other tokens: x[1,1] is 1 in the first and 5 in the second.
#[test]
fn each_sequence_of_a_batch_can_be_explained() {
    let lesson = "attention: {d_model: 1, num_heads: 1}\ninputs: {x: [[[1], [2]], [[5], [7]]]}\n\
                  projections: {w_q: identity, w_k: identity, w_v: identity, w_o: identity}\n";
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("batch.yaml"), lesson).unwrap();
    let explained = |args: &[&str]| {
        let words: Vec<&str> = ["trace", "batch.yaml"].iter().chain(args).copied().collect();
        let run = run::run(folder.path(), &words);
        assert_eq!(run.status, Some(0), "{}", run.err);
        run.out
    };
    for args in [
        &["--explain", "batch.2.head.1.scores[1,2]"][..],
        &["--explain", "head.1.scores[1,2]", "--sequence", "2"][..],
    ] {
        let page = explained(args);
        assert!(page.contains("batch.2.head.1.scores[1,2] = 35") && page.contains("5·7"), "{args:?}: {page}");
    }
    assert!(explained(&["--explain", "head.1.scores[1,2]"]).contains("1·2"));
}

#[test]
fn a_row_a_column_and_a_whole_step_can_be_explained() {
    let row = page(&["--explain", "head.1.scores[2]"]);
    for column in 1..=3 {
        assert!(row.contains(&format!("head.1.scores[2,{column}] =")), "{row}");
    }
    assert!(!row.contains("head.1.scores[1,1] ="), "{row}");
    let column = page(&["--explain", "head.1.scores[*,2]"]);
    for row in 1..=3 {
        assert!(column.contains(&format!("head.1.scores[{row},2] =")), "{column}");
    }
    assert_eq!(page(&["--explain", "concat"]).matches("· head outputs side by side").count(), 12);
}

#[test]
fn the_tree_goes_as_deep_as_asked() {
    let shallow = page(&["--explain", "output[2,4]", "--depth", "1"]);
    assert!(
        shallow.contains("concat[2,1] = head.1.output[2,1]") && !shallow.contains("v[1,1] = v[1,1]"),
        "{shallow}"
    );
    let deep = page(&["--explain", "output[2,4]", "--depth", "9"]);
    assert!(deep.contains("x, w_q, w_k, w_v and w_o are given."), "{deep}");
    let none = page(&["--explain", "output[2,4]", "--depth", "0"]);
    assert!(!none.contains("Where those numbers come from"), "{none}");
}

/// Every explanation of the tree, wherever it stands.
fn every<'a>(explanation: &'a Value, found: &mut Vec<&'a Value>) {
    found.push(explanation);
    for behind in explanation["behind"].as_array().unwrap() {
        every(behind, found);
    }
}

/// JSON holds the same lines in full: numbers alone (those without names) come to the value within the last bits.
#[test]
fn json_holds_the_tree_with_every_number_in_full() {
    let text = page(&["telltale", "--explain", "output[2,1]", "--depth", "20", "--format", "json"]);
    let whole: Value = serde_json::from_str(&text).unwrap();
    let mut found = Vec::new();
    every(&whole["explanations"][0], &mut found);
    assert!(found.len() > 50, "{}", found.len());
    let nothing = |name: &str, _: usize, _: usize| -> f64 { panic!("{name} in a line of numbers") };
    let no_row = |name: &str, _: usize| -> Vec<f64> { panic!("{name} in a line of numbers") };
    for one in &found {
        let Some(is) = one["value"].as_f64() else { continue };
        for line in one["arithmetic"].as_array().unwrap().iter().skip(1) {
            let names = Names { cell: &nothing, row: &no_row, m: None, rests: &[] };
            let computed = value(line.as_str().unwrap(), &names);
            assert!((computed - is).abs() <= 1e-12 * is.abs().max(1.0), "{one}: {line} is {computed}");
        }
    }
    let steps: Vec<&str> = found.iter().map(|one| one["step"].as_str().unwrap()).collect();
    for step in ["concat", "head.1.output", "head.1.weights"] {
        let is_there = steps.contains(&step) || text.contains(&format!("\"{step}["));
        assert!(is_there, "{step}");
    }
}

#[test]
fn what_is_not_there_is_said_with_what_is() {
    let refused = |args: &[&str], words: &[&str]| {
        let run = traced(args);
        assert_eq!((run.status, run.out.as_str()), (Some(2), ""), "{args:?}");
        for word in words {
            assert!(run.err.contains(word), "{args:?}: {word} is not in\n{}", run.err);
        }
    };
    refused(
        &["--explain", "head.1.score[1,1]"],
        &["no step is called head.1.score", "did you mean head.1.scores?"],
    );
    refused(
        &["--explain", "head.1.scores[4,1]"],
        &["there is no head.1.scores[4,1]", "3 rows and 3 columns"],
    );
    refused(&["--explain", "head.1.scores[0,1]"], &["count from 1"]);
    refused(&["--explain", "head.1.scores[1,x]"], &["'head.1.scores[3,1]'"]);
    refused(&["--explain", "head.3.scores[1,1]"], &["no step is called head.3.scores"]);
    refused(&["--explain", "q[1,1]", "--format", "csv"], &["text or JSON"]);
    refused(&["--explain", "heads[1,1]"], &["all heads' numbers together", "head.1.output[1,1]"]);
    refused(&["--explain", "head.*.weights[1,1]"], &["globs and lists are for --steps"]);
    refused(&["--explain", "q[1,1]", "--layout", "columns"], &["no matrix that could be turned"]);
    refused(&["--depth", "2"], &["--explain"]);
}
