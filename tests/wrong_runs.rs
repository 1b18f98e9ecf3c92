//! `--mistake`: the same problem computed wrongly, beside the right run; and mistakes in a comparison.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

#[path = "common/drawn.rs"]
mod drawn;
#[path = "common/run.rs"]
#[expect(dead_code, reason = "no shell is needed here")]
mod run;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use drawn::drawn;
use mha::answers::{self, ORDER};
use mha::lesson::{Labels, Options, builtin, load};
use mha::mistakes::{Difference, Wrong, WrongRun, catalogue, diagnose};
use mha::plan::{Call, Name, attention};
use mha::views::beside::{self, Beside};
use mha::views::page::{Layout, Page};
use mha::views::{Scene, beside_json};
use proptest::prelude::*;
use serde_json::{Value, json};

fn page(arguments: &[&str]) -> String {
    let run = run::run(Path::new("."), arguments);
    assert_eq!(run.status, Some(0), "{arguments:?}: {}", run.err);
    run.out
}

fn refusal(arguments: &[&str]) -> String {
    let run = run::run(Path::new("."), arguments);
    assert_eq!((run.status, run.out.as_str()), (Some(2), ""), "{arguments:?}");
    run.err
}

fn traced(arguments: &[&str]) -> Value {
    let text = page(&[&["trace", "--format", "json", "--mistake"], arguments].concat());
    serde_json::from_str(&text).unwrap()
}

fn step<'a>(trace: &'a Value, id: &str) -> &'a Value {
    trace["steps"].as_array().unwrap().iter().find(|step| step["id"] == id).unwrap()
}

/// One side of a step; −∞ is null here.
fn numbers(value: &Value) -> Vec<Vec<Option<f64>>> {
    let rows = value.as_array().unwrap().iter();
    rows.map(|row| row.as_array().unwrap().iter().map(Value::as_f64).collect()).collect()
}

fn assert_near(value: &Value, expected: &[&[f64]]) {
    let found = numbers(value);
    assert_eq!(found.len(), expected.len());
    for (row, wanted) in found.iter().zip(expected) {
        assert_eq!(row.len(), wanted.len());
        for (cell, wanted) in row.iter().zip(*wanted) {
            let near = cell.map_or(*wanted == f64::NEG_INFINITY, |cell| (cell - wanted).abs() < 1e-12);
            assert!(near, "{found:?} and not {expected:?}");
        }
    }
}

/// Head 1 sees [1, 0], [0, 1], [1, 1]: the products are 1, 0, 1; 0, 1, 1; 1, 1, 2, and rightly divided by √2.
#[test]
fn a_missing_scale_leaves_the_products_as_they_are() {
    let trace = traced(&["scale-missing"]);
    assert_eq!(trace["mistake"], "scale-missing");
    let root = 2.0_f64.sqrt();
    assert_eq!(
        trace["first_difference"],
        json!({"step": "head.1.scores", "row": 1, "column": 1, "right": 1.0 / root, "wrong": 1.0})
    );
    let scores = step(&trace, "head.1.scores");
    assert_near(&scores["wrong"], &[&[1.0, 0.0, 1.0], &[0.0, 1.0, 1.0], &[1.0, 1.0, 2.0]]);
    assert_near(
        &scores["right"],
        &[
            &[1.0 / root, 0.0, 1.0 / root],
            &[0.0, 1.0 / root, 1.0 / root],
            &[1.0 / root, 1.0 / root, 2.0 / root],
        ],
    );
    // Two zeros of nine are zeros either way.
    assert_eq!(scores["cells_that_differ"], 7);
    // Softmax of 1, 0, 1 is e, 1, e over 2e + 1; of 1, 1, 2 it is 1, 1, e over 2 + e.
    let e = std::f64::consts::E;
    let (all, last) = (2.0 * e + 1.0, 2.0 + e);
    assert_near(
        &step(&trace, "head.1.weights")["wrong"],
        &[
            &[e / all, 1.0 / all, e / all],
            &[1.0 / all, e / all, e / all],
            &[1.0 / last, 1.0 / last, e / last],
        ],
    );
    assert_eq!(step(&trace, "head.1.k")["differs"], false);
    assert_eq!(step(&trace, "head.1.k")["right"], step(&trace, "head.1.k")["wrong"]);
}

/// Head 1 of the lesson sees [1, 0], [0, 1], [1, 1], [1, 0]. Rightly a sees a; b sees a, b; c sees b, c; pad sees a, b,
/// c. Inverted, each sees the others.
#[test]
fn an_inverted_mask_shows_what_should_be_hidden() {
    let trace = traced(&["mask-inverted", "masks"]);
    let none = f64::NEG_INFINITY;
    let s = 1.0 / 2.0_f64.sqrt(); // a product of 1, over √2
    let masked = step(&trace, "head.1.masked_scores");
    assert_near(
        &masked["wrong"],
        &[&[none, 0.0, s, s], &[none, none, s, 0.0], &[s, none, none, s], &[none, none, none, s]],
    );
    assert_eq!(
        trace["first_difference"],
        json!({"step": "head.1.masked_scores", "row": 1, "column": 1, "right": s, "wrong": "-Infinity"})
    );
    let x = s.exp();
    assert_near(
        &step(&trace, "head.1.weights")["wrong"],
        &[
            &[0.0, 1.0 / (1.0 + 2.0 * x), x / (1.0 + 2.0 * x), x / (1.0 + 2.0 * x)],
            &[0.0, 0.0, x / (x + 1.0), 1.0 / (x + 1.0)],
            &[0.5, 0.0, 0.0, 0.5],
            &[0.0, 0.0, 0.0, 1.0],
        ],
    );
    // The other ways to invert it are named, and can be asked for: here only what padding hides is exchanged.
    let text = page(&[
        "trace",
        "masks",
        "--mistake",
        "mask-inverted/the padding, empty rows 0",
        "--steps",
        "weights",
    ]);
    assert!(
        text.contains("Made here in this way: the padding, empty rows 0. Others: empty rows 0;"),
        "{text}"
    );
}

/// One head as wide as both: a·a = b·b = c·c = 2, a·b = 0, a·c = b·c = 1, all over √4.
#[test]
fn heads_that_are_not_split_have_other_shapes_and_one_head_is_missing() {
    let trace = traced(&["heads-not-split"]);
    assert_eq!(
        trace["first_difference"],
        json!({"step": "head.1.q", "row": null, "column": null, "right": null, "wrong": null})
    );
    let queries = step(&trace, "head.1.q");
    assert_near(&queries["right"], &[&[1.0, 0.0], &[0.0, 1.0], &[1.0, 1.0]]);
    assert_near(&queries["wrong"], &[&[1.0, 0.0, 1.0, 0.0], &[0.0, 1.0, 0.0, 1.0], &[1.0, 1.0, 0.0, 0.0]]);
    assert_eq!(queries["cells_that_differ"], Value::Null);
    assert_near(
        &step(&trace, "head.1.scores")["wrong"],
        &[&[1.0, 0.0, 0.5], &[0.0, 1.0, 0.5], &[0.5, 0.5, 1.0]],
    );
    assert_eq!(step(&trace, "head.2.weights")["wrong"], Value::Null);
    let text = page(&["trace", "--mistake", "heads-not-split"]);
    for words in [
        "first difference: head.1.q is 3×4 and should be 3×2",
        "as it should be, 3×2; the wrong run has no such step",
        // q, k, v and the output of head 1 are wider; six steps of head 2 are gone; scores (7 cells), weights (9),
        // concat and output (12 each) keep their shapes.
        "In all 14 of 22 steps differ: 4 of another shape, 6 missing, and 4 in 40 of",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// Two sequences of two tokens, one head. Taken for the sequence axis, the batch lets token 1 of the first sequence,
/// [1, 0], see itself and token 1 of the second, [2, 0]: products 1 and 2.
#[test]
fn a_batch_taken_for_the_sequence_mixes_sequences() {
    let room = tempfile::tempdir().unwrap();
    let lesson = "{mha: 1, attention: {d_model: 2, num_heads: 1}, \
                  inputs: {x: [[[1, 0], [0, 1], [0, 1]], [[2, 0], [1, 1], [0, 1]]]}, \
                  projections: {w_q: identity, w_k: identity, w_v: identity, w_o: identity}}";
    fs::write(room.path().join("batch.yaml"), lesson).unwrap();
    let asked = ["trace", "batch.yaml", "--mistake", "batch-first-confused"];
    let run = run::run(room.path(), &[asked.as_slice(), &["--format", "json", "--sequence", "all"]].concat());
    let trace: Value = serde_json::from_str(&run.out).unwrap();
    let x = (2.0_f64 / 2.0_f64.sqrt() - 1.0 / 2.0_f64.sqrt()).exp();
    let (own, other) = (1.0 / (1.0 + x), x / (1.0 + x));
    let weights = numbers(&step(&trace, "batch.1.head.1.weights")["wrong"]);
    assert!((weights[0][0].unwrap() - own).abs() < 1e-12 && (weights[0][1].unwrap() - other).abs() < 1e-12);
    let output = numbers(&step(&trace, "batch.1.output")["wrong"]);
    assert!((output[0][0].unwrap() - (own + 2.0 * other)).abs() < 1e-12, "{output:?}");
    assert_eq!(output[0][1], Some(0.0));
    // Three tokens stand where the two sequences were.
    assert_eq!(step(&trace, "batch.3.head.1.scores")["right"], Value::Null);
    // A page shows one sequence, and says where the first difference is if that is in another one.
    let run = run::run(room.path(), &[asked.as_slice(), &["--sequence", "2", "--steps", "output"]].concat());
    assert!(run.out.contains("Sequence 2 of 2;"), "{}", run.out);
    assert!(run.out.contains("first difference: batch.1.head.1.q is 2×2 and should be 3×2"), "{}", run.out);
}

/// The identity turned over is the identity.
#[test]
fn a_mistake_that_changes_nothing_here_says_so() {
    let text = page(&["trace", "--mistake", "wo-transposed"]);
    assert!(text.contains("Here it makes no difference: every number comes out the same."), "{text}");
    assert!(!text.contains('┌') && !text.contains("first difference"), "{text}");
    let trace = traced(&["wo-transposed"]);
    assert_eq!(trace["first_difference"], Value::Null);
    assert!(trace["steps"].as_array().unwrap().iter().all(|step| step["differs"] == false));
}

#[test]
fn a_mistake_that_has_no_meaning_is_refused_with_lessons_that_have_it() {
    let told = refusal(&["trace", "--mistake", "mask-inverted"]);
    assert!(told.contains("two-heads.yaml cannot be got wrong in this way: "), "{told}");
    assert!(told.contains("masks, mask-conventions") && told.contains("--> --mistake"), "{told}");
    let told = refusal(&["compare", "--variants", "multi-head,gqa-tiled"]);
    assert!(told.contains("telltale, grouped-query") && told.contains("--> --variants"), "{told}");
    for (typed, words) in [
        ("scale-mising", "did you mean scale-missing?"),
        ("mask-inverted/rows", "mask-inverted/rows may be any of 9 forms"),
        ("mask-inverted/up", "mask-inverted has no form called up"),
        ("scale-missing/one", "scale-missing is made in one way only"),
    ] {
        let told = refusal(&["trace", "masks", "--mistake", typed]);
        assert!(told.contains(words), "{typed}: {told}");
    }
}

#[test]
fn what_a_wrong_run_cannot_be_shown_as_is_refused_before_anything_is_read() {
    for flags in [["--exact", "-q"], ["--format", "python"], ["--format", "ipynb"], ["--format", "latex"]] {
        let told =
            refusal(&[&["trace", "no-such-lesson", "--mistake", "scale-missing"], flags.as_slice()].concat());
        assert!(told.contains(&format!("--> {}", flags[0])), "{told}");
    }
}

/// Nine cells of head 1's scores, of which two are 0 either way.
#[test]
fn cells_that_differ_are_marked_with_and_without_colour() {
    let asked = ["trace", "--mistake", "scale-missing", "--heads", "1", "--steps", "scores"];
    let marks = |text: &str| text.matches(" *").count() + text.matches("m*").count();
    for flags in [&[][..], &["--ascii"], &["--layout", "columns"], &["--color", "always"]] {
        let text = page(&[asked.as_slice(), flags].concat());
        let table: String = text.lines().filter(|line| line.contains('|') || line.contains('│')).collect();
        assert_eq!(marks(&table), 7, "{flags:?}: {text}");
        assert!(text.contains("7 of 9 cells differ (*)"), "{text}");
    }
    let coloured = page(&[asked.as_slice(), &["--color", "always"]].concat());
    let bare: String = coloured
        .split('\u{1b}')
        .enumerate()
        .map(|(at, part)| if at == 0 { part } else { part.split_once('m').unwrap().1 })
        .collect();
    assert_eq!(bare, page(&asked), "colour only marks what is said anyway");
    assert!(page(&[asked.as_slice(), &["--ascii"]].concat()).is_ascii());
}

#[test]
fn runs_stand_side_by_side_where_there_is_room() {
    let asked = ["trace", "--mistake", "scale-missing", "--steps", "concat", "--width"];
    let tables = |width: &str| page(&[asked.as_slice(), &[width]].concat());
    let beside = |text: &str| text.lines().any(|line| line.matches('┌').count() == 2);
    assert!(beside(&tables("100")) && !beside(&tables("80")));
    for width in [40_usize, 60, 80, 120] {
        for lesson in ["two-heads", "telltale", "masks"] {
            for mistake in ["heads-averaged", "scale-missing", "softmax-over-queries"] {
                let text = page(&["trace", lesson, "--mistake", mistake, "--width", &width.to_string()]);
                let broad = text.lines().find(|line| unicode_width::UnicodeWidthStr::width(*line) > width);
                assert_eq!(broad, None, "{lesson} {mistake} {width}");
            }
        }
    }
}

#[test]
fn a_summary_counts_and_few_words_leave_the_tables() {
    let text = page(&["trace", "--mistake", "scale-missing", "--summary"]);
    let line = |id: &str| text.lines().find(|line| line.contains(&format!("│ {id} "))).unwrap().to_owned();
    assert!(line("head.1.k").contains("none"));
    // At most by 2 − √2.
    assert!(line("head.1.scores").contains("7 of 9") && line("head.1.scores").contains("0.5858"), "{text}");
    let quiet = page(&["trace", "--mistake", "scale-missing", "-q"]);
    assert!(quiet.contains("first difference: head.1.scores[1,1]: 0.7071 should be, 1 is"), "{quiet}");
    assert!(!quiet.contains("√d_k") && !quiet.contains("the same"), "{quiet}");
    let counted = page(&["trace", "--mistake", "scale-missing", "-v", "--steps", "head.1.scores"]);
    assert!(counted.contains("Cost: "), "{counted}");
}

/// Exported under the stacked names, a wrong run is found out by the diagnosis: by its own mistake, or by one that gives
/// the same numbers here.
#[test]
fn wrong_tensors_are_read_back_and_the_mistake_is_found_in_them() {
    let room = tempfile::tempdir().unwrap();
    let batch = room.path().join("batch.yaml");
    let drawn = "{mha: 1, attention: {d_model: 4, num_heads: 2}, \
                 inputs: {x: [[[1, 0, 2, 0], [0, 1, 0, -1], [1, 1, 0, 0]], [[2, 0, 1, 1], [1, -1, 0, 1], [0, 1, 2, 0]]]}, \
                 projections: {w_q: {random: {seed: 1}}, w_k: {random: {seed: 2}}, w_v: {random: {seed: 3}}, w_o: none}}";
    fs::write(&batch, drawn).unwrap();
    let batch = batch.to_str().unwrap();
    let file = room.path().join("wrong.npz");
    for (lesson, mistakes) in [
        (
            "two-heads",
            &["scale-missing", "heads-not-split", "softmax-over-heads", "weights-averaged-over-heads"][..],
        ),
        ("telltale", &["gqa-tiled", "causal-strict", "qkv-bias-missing", "merge-no-transpose"]),
        ("grouped-query", &["gqa-tiled", "gqa-first-kv-head", "one-head-reused"]),
        (batch, &["batch-first-confused", "scale-missing", "attention-across-heads"]),
    ] {
        let found = match builtin::find(lesson) {
            Some(lesson) => builtin::load(lesson, &Options::default()).unwrap(),
            None => load(Path::new(lesson), &Options::default()).unwrap(),
        };
        let call = found.call();
        let plan = attention::plan(&call).unwrap();
        let right = Wrong::right(&call, &plan);
        let known: Vec<Name> = ORDER.iter().copied().filter(|name| right.sheets(*name).is_some()).collect();
        for mistake in mistakes {
            let asked = ["trace", lesson, "--mistake", mistake, "--format", "npz", "--force", "--output"];
            page(&[asked.as_slice(), &[file.to_str().unwrap()]].concat());
            let answers = answers::read(std::slice::from_ref(&file), &[], &known).unwrap();
            let diagnosis = diagnose::diagnose(&call, &plan, &answers);
            let names: Vec<_> = diagnosis.explanations.iter().map(diagnose::Explanation::names).collect();
            assert!(names.contains(&vec![*mistake]), "{lesson} {mistake}: {names:?}");
        }
    }
}

#[test]
fn formats_without_room_for_both_hold_the_wrong_run_and_say_so() {
    for format in ["html", "markdown", "svg", "heatmap"] {
        let text = page(&["trace", "--mistake", "scale-missing", "--format", format]);
        assert!(text.contains("wrong on purpose: scale-missing"), "{format}");
    }
    let csv = page(&["trace", "--mistake", "scale-missing", "--format", "csv", "--steps", "head.1.scores"]);
    // Row c, column c: [1, 1] · [1, 1], not divided.
    assert!(csv.lines().last().unwrap().ends_with(",2"), "{csv}");
    let why = page(&["trace", "--mistake", "scale-missing", "--explain", "head.1.scores[3,3]"]);
    assert!(
        why.contains("wrong on purpose: scale-missing") && why.contains("head.1.scores[3,3] = 2"),
        "{why}"
    );
}

#[test]
fn mistakes_stand_beside_variants_and_are_measured_against_the_right_run() {
    let compared = |variants: &str| -> Value {
        let text = page(&["compare", "--format", "json", "--variants", variants]);
        serde_json::from_str(&text).unwrap()
    };
    let names = |comparison: &Value| -> Vec<String> {
        let sides = comparison["variants"].as_array().unwrap().iter();
        sides.map(|side| side["name"].as_str().unwrap().to_owned()).collect()
    };
    let comparison = compared("scale-missing,heads-not-split");
    assert_eq!(names(&comparison), ["multi-head", "scale-missing", "heads-not-split"]);
    assert_eq!(comparison["variants"][2]["config"]["num_heads"], 1);
    assert_eq!(comparison["variants"][2]["config"]["d_k"], 4);
    // Leaving the scale out on purpose, or by mistake, gives the same numbers.
    let comparison = compared("no-scale,scale-missing");
    assert_eq!(names(&comparison), ["no-scale", "scale-missing"]);
    assert_eq!(comparison["differences"][0]["max_difference"], 0.0);
    assert_eq!(names(&compared("scale-missing,multi-head")), ["multi-head", "scale-missing"]);
    let text = page(&["compare", "--variants", "softmax-over-heads,weights-averaged-over-heads"]);
    assert!(text.contains("softmax-over-heads − multi-head · difference of outputs"), "{text}");
    // The mean of the weights is handed out, and the output is that of the right run.
    assert!(
        text.contains(
            "weights-averaged-over-heads − multi-head · difference of outputs\n    The same numbers"
        )
    );
    page(&["compare", "--format", "heatmap", "--variants", "scale-missing,attention-across-heads"]);
    let told = refusal(&["compare", "--variants", "scale-mising"]);
    assert!(told.contains("did you mean scale-missing?"), "{told}");
}

/// Every mistake on a call, shown in every way that shows both runs: what counts as different is different.
fn show_every_mistake(call: &Call) {
    let plan = Arc::new(attention::plan(call).unwrap());
    for mistake in catalogue::all() {
        for form in mistake.forms {
            let Some(run) = WrongRun::of(mistake, std::slice::from_ref(form), call, &plan).unwrap() else {
                continue;
            };
            for layout in [Layout::Rows, Layout::Columns] {
                show(call, &run, Page { layout, ..Page::default() });
            }
            let same = |how: &Difference| matches!(how, Difference::None | Difference::Extra);
            assert!(run.changes_a_number() || run.steps.iter().all(|(_, how)| same(how)));
        }
    }
}

fn show(call: &Call, run: &WrongRun, page: Page) {
    let steps: Vec<_> = run.steps.iter().map(|(id, _)| *id).collect();
    let labels = Labels::default();
    let beside = Beside {
        scene: Scene {
            title: "drawn",
            summary: "",
            source: "",
            attention: &call.attention,
            labels: &labels,
            story: &[],
            trace: &run.right,
            exact: None,
            steps: &steps,
            batch: call.batch,
            kv_sheets: &[],
            page,
        },
        run,
        same_too: false,
    };
    let (mut table, mut summary, mut text) = (Vec::new(), Vec::new(), Vec::new());
    beside::write(&beside, &mut table).unwrap();
    beside::write_summary(&beside, &mut summary).unwrap();
    beside_json::write(&beside, &mut text).unwrap();
    let trace: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(trace["first_difference"].is_null(), !run.changes_a_number());
    for step in trace["steps"].as_array().unwrap() {
        let (right, wrong) = (&step["right"], &step["wrong"]);
        assert!(right != wrong || step["differs"] == false, "{step}");
        if step["differs"] == false {
            let cells = |value: &Value| numbers(value).into_iter().flatten().collect::<Vec<_>>();
            let near = |(a, b): (Option<f64>, Option<f64>)| {
                a.zip(b).map_or(a == b, |(a, b)| (a - b).abs() <= 1e-11 * a.abs().max(10.0))
            };
            assert!(cells(right).into_iter().zip(cells(wrong)).all(near), "{step}");
        }
        let shown =
            String::from_utf8_lossy(&table).contains(&format!("  {} · ", step["id"].as_str().unwrap()));
        assert_eq!(shown, step["differs"] == true, "{step}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn every_mistake_can_be_shown_on_any_problem(drawn in drawn()) {
        show_every_mistake(&drawn.call());
    }
}
