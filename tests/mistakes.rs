//! The catalogue of mistakes: what is said of each, and `mha mistakes`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use mha::lesson::{Options, parse};
use mha::mistakes::{Mistake, catalogue};
use mha::ops::Arithmetic;
use mha::plan::{Head, HeadStep, attention};
use mha::trace::{Keep, run_plan};
use mha::views::page::ascii;
use serde_json::Value;

#[path = "common/run.rs"]
#[expect(dead_code, reason = "no shell is needed here")]
mod run;

/// Mistakes that were found in public reports: how many of them, and how many confirmed.
const REPORTED: &[(&str, u16, u16)] = &[
    ("q-k-swapped", 3, 1),
    ("k-v-swapped", 2, 2),
    ("packed-qkv-wrong-order", 6, 2),
    ("packed-qkv-interleaved", 5, 4),
    ("proj-weight-transposed", 8, 3),
    ("qkv-bias-missing", 6, 3),
    ("kv-from-query-input", 4, 2),
    ("query-from-memory", 2, 1),
    ("input-split-before-projection", 5, 3),
    ("split-reshape-no-transpose", 7, 1),
    ("split-interleaved-columns", 0, 0),
    ("heads-not-split", 3, 1),
    ("attention-across-heads", 6, 2),
    ("one-head-reused", 2, 0),
    ("rope-missing", 1, 0),
    ("rope-layout-swapped", 14, 6),
    ("rope-one-side-only", 1, 1),
    ("rope-applied-to-values", 1, 1),
    ("rope-base-wrong", 7, 4),
    ("rope-position-offset-missing", 7, 4),
    ("rope-before-split", 3, 1),
    ("rope-direction-reversed", 2, 0),
    ("gqa-tiled", 7, 3),
    ("gqa-first-kv-head", 6, 3),
    ("scale-missing", 6, 3),
    ("scale-sqrt-d-model", 11, 4),
    ("scale-dk-no-sqrt", 4, 3),
    ("scale-inverted", 1, 1),
    ("scale-config-ignored", 5, 3),
    ("fp16-overflow", 11, 6),
    ("causal-mask-missing", 17, 11),
    ("padding-mask-missing", 5, 4),
    ("mask-inverted", 16, 7),
    ("mask-after-softmax", 8, 3),
    ("mask-multiplied-scores", 4, 1),
    ("mask-added-as-0-1", 10, 3),
    ("causal-transposed", 4, 2),
    ("causal-strict", 3, 1),
    ("causal-peeks-one", 2, 0),
    ("causal-top-left", 10, 3),
    ("causal-bottom-right", 5, 2),
    ("padding-on-queries", 9, 2),
    ("masked-row-nan", 12, 8),
    ("masked-row-uniform", 2, 0),
    ("mask-tiled-across-batch", 8, 6),
    ("softmax-over-queries", 6, 4),
    ("softmax-over-heads", 7, 6),
    ("softmax-missing", 1, 1),
    ("weights-averaged-over-heads", 8, 0),
    ("dropout-left-on", 11, 5),
    ("values-weighted-transposed", 4, 1),
    ("merge-no-transpose", 14, 7),
    ("heads-averaged", 5, 0),
    ("wo-missing", 12, 3),
    ("wo-transposed", 1, 0),
    ("output-bias-missing", 1, 0),
    ("batch-first-confused", 9, 5),
];

#[test]
fn every_mistake_that_was_reported_is_in_the_catalogue() {
    for (name, found, confirmed) in REPORTED {
        let mistake = Mistake::find(name);
        assert_eq!(mistake.map(|mistake| mistake.reports), Some((*found, *confirmed)), "{name}");
    }
}

#[test]
fn names_are_words_with_hyphens_and_each_is_there_once() {
    let mut names = BTreeSet::new();
    for Mistake { name, .. } in catalogue::all() {
        let word = |word: &str| !word.is_empty() && word.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9'));
        assert!(name.split('-').all(word), "{name}");
        assert!(names.insert(name), "{name} is there twice");
    }
}

#[test]
fn nothing_is_left_unsaid_and_everything_ends_as_it_should() {
    for mistake in catalogue::all() {
        let name = mistake.name;
        for sentence in [mistake.cause, mistake.symptom, mistake.visible, mistake.fix] {
            assert!(sentence.ends_with('.') || sentence.ends_with(".)"), "{name}: {sentence}");
        }
        for short in [mistake.summary, mistake.right, mistake.wrong] {
            assert!(!short.is_empty() && !short.ends_with('.'), "{name}: {short}");
        }
        let a_name = ["NaN", "ALiBi"].iter().any(|word| mistake.summary.starts_with(word));
        assert!(a_name || !mistake.summary.starts_with(char::is_uppercase), "{name}: {}", mistake.summary);
        assert_ne!(mistake.right, mistake.wrong, "{name}");
        assert!(mistake.reports.1 <= mistake.reports.0, "{name}");
        assert!(!mistake.forms.is_empty(), "{name}");
    }
}

#[test]
fn every_line_of_code_is_one_line_whose_brackets_close() {
    for Mistake { name, code, .. } in catalogue::all() {
        assert!(code.is_ascii() && !code.contains(['\n', '\r', '\t']), "{name}: {code}");
        for line in code.split("  or  ") {
            assert!(!line.trim().is_empty(), "{name}: {code}");
            for (open, close) in [('(', ')'), ('[', ']')] {
                assert_eq!(line.matches(open).count(), line.matches(close).count(), "{name}: {line}");
            }
        }
    }
}

#[test]
fn every_sign_can_be_spelled_in_ascii() {
    for m in catalogue::all() {
        for text in [m.summary, m.right, m.wrong, m.cause, m.symptom, m.visible, m.fix] {
            assert!(!ascii(text).contains("\\u{"), "{}: {}", m.name, ascii(text));
        }
    }
}

/// The biased score of query 2 against key 1 in every head, right and with a mistake. All tokens are zero, so that their
/// products are, and nothing is left but what was added.
fn biased(heads: usize, d_k: usize, rest: &str, mistake: &str) -> (Vec<f64>, Vec<f64>) {
    let d_model = heads * d_k;
    let row = vec!["0"; d_model].join(", ");
    let text = format!(
        "mha: 1\nattention: {{d_model: {d_model}, num_heads: {heads}, {rest}}}\ninputs: {{x: [[{row}], [{row}]]}}\n\
         projections: {{w_q: identity, w_k: identity, w_v: identity, w_o: identity}}\n"
    );
    let call = parse(&text, "bias.yaml", Path::new("."), &Options::default()).unwrap().call();
    let plan = attention::plan(&call).unwrap();
    let (_, wrong) = Mistake::find(mistake).unwrap().apply(&call, &plan).unwrap();
    let added = |plan| {
        let trace = run_plan(Arc::new(plan), &call.inputs, &Keep::All, Arithmetic::Ordered).unwrap();
        (0..heads).map(|head| trace.get(Head(head).step(HeadStep::BiasedScores)).unwrap()[(1, 0)]).collect()
    };
    (added(plan), added(wrong.plan))
}

/// Two heads have the slopes 2^(−8·1/2) = 1/16 and 2^(−8·2/2) = 1/256. One head behind, they are 2⁰ = 1 and 1/16.
/// Query 2 stands one place after key 1.
#[test]
fn slopes_one_head_behind_begin_with_one() {
    let (right, wrong) = biased(2, 1, "positions: alibi", "alibi-slopes");
    assert_eq!(right, [-1.0 / 16.0, -1.0 / 256.0]);
    assert_eq!(wrong, [-1.0, -1.0 / 16.0]);
}

/// Six heads: the four slopes of four heads, 2^(−2i), and every other one of eight heads, 2^(−1) and 2^(−3). One head
/// behind: 2⁰, 2^(−2), 2^(−4), 2^(−6), and 2⁰, 2^(−2).
#[test]
fn slopes_of_six_heads_fall_behind_in_both_parts() {
    let (right, wrong) = biased(6, 1, "positions: alibi", "alibi-slopes");
    assert_eq!(right, [-0.25, -0.0625, -0.015625, -0.00390625, -0.5, -0.125]);
    assert_eq!(wrong, [-1.0, -0.25, -0.0625, -0.015625, -1.0, -0.25]);
}

/// d_k = 4: the scale is 1/√4 = ½. Scaled as well, a bias of 3 adds 1.5, and ALiBi's 1/16 and 1/256 cost half as much.
#[test]
fn a_bias_before_the_scale_adds_half_as_much_where_the_scale_is_a_half() {
    let (right, wrong) = biased(1, 4, "mask: [{add: [[0, 0], [3, 0]]}]", "bias-before-scale");
    assert_eq!((right, wrong), (vec![3.0], vec![1.5]));
    let (right, wrong) = biased(2, 4, "positions: alibi", "bias-before-scale");
    assert_eq!(right, [-1.0 / 16.0, -1.0 / 256.0]);
    assert_eq!(wrong, [-1.0 / 32.0, -1.0 / 512.0]);
}

/// One head, d_k = 1: scores 0 and 2 for the second query. 2⁰ : 2² is 1 : 4, so its weights are 1/5 and 4/5; the first
/// query scores 0 twice and shares evenly, as it should. Typed with four digits, they are told from e's 0.1192 and 0.8808.
#[test]
fn powers_of_two_are_told_from_powers_of_e() {
    let room = tempfile::tempdir().unwrap();
    let lesson = "attention: {d_model: 1, num_heads: 1}\ninputs: {x: [[0], [1]]}\n\
                  projections: {w_q: [[2]], w_k: identity, w_v: identity, w_o: none}\n";
    std::fs::write(room.path().join("lesson.yaml"), lesson).unwrap();
    std::fs::write(room.path().join("mine.yaml"), "weights: [[[0.5, 0.5], [0.2, 0.8]]]\n").unwrap();
    let run = run::run(room.path(), &["check", "lesson.yaml", "mine.yaml", "--format", "json"]);
    assert_eq!(run.status, Some(1), "{}", run.err);
    let told: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(told["first_wrong"]["step"], "weights");
    let named = told["explanations"].as_array().unwrap();
    assert!(named.contains(&serde_json::json!(["softmax-base-2"])), "{named:?}");
}

fn page(arguments: &[&str]) -> String {
    let run = run::run(Path::new("."), arguments);
    assert_eq!(run.status, Some(0), "{}", run.err);
    run.out
}

#[test]
fn json_holds_every_mistake_or_the_one_that_was_named() {
    let all: Value = serde_json::from_str(&page(&["mistakes", "--format", "json"])).unwrap();
    assert_eq!(all["mha"], 1);
    assert_eq!(all["mistakes"].as_array().unwrap().len(), catalogue::all().count());
    let one: Value = serde_json::from_str(&page(&["mistakes", "scale-missing", "--format", "json"])).unwrap();
    let [mistake] = one["mistakes"].as_array().unwrap().as_slice() else { panic!("{one}") };
    assert_eq!(mistake["right"], "S = Q Kᵀ / √d_k");
    assert_eq!(mistake["wrong"], "S = Q Kᵀ");
    assert_eq!(mistake["first_wrong_step"], "scores");
    assert_eq!((&mistake["reports"], &mistake["confirmed"]), (&6.into(), &3.into()));
    assert!(all["mistakes"].as_array().unwrap().contains(mistake));
}

#[test]
fn a_name_may_be_typed_with_capitals_and_underscores() {
    assert_eq!(page(&["mistakes", "Scale_Missing"]), page(&["mistakes", "scale-missing"]));
}

/// `two-heads` has identity projections: to exchange those of queries and keys changes the plan, and no number. It has
/// scores to be scaled, though; `masks` is the first with padding, and only `rope` has RoPE.
#[test]
fn a_lesson_is_named_in_which_the_mistake_can_be_seen() {
    let lesson = |name| Mistake::find(name).unwrap().lesson();
    assert_eq!(lesson("scale-missing"), Some("two-heads"));
    assert_eq!(lesson("padding-mask-missing"), Some("masks"));
    assert_ne!(lesson("q-k-swapped"), Some("two-heads"));
    assert_eq!(lesson("rope-missing"), Some("rope"));
    assert!(page(&["mistakes", "rope-missing"]).contains("mha trace rope --mistake rope-missing"));
}

/// Every mistake can be looked at: the page about it names a lesson that comes with the program, and there the wrong run
/// tells where it first differs from the right one.
#[test]
fn every_mistake_shows_in_a_built_in_lesson() {
    for mistake in catalogue::all() {
        let name = mistake.name;
        let lesson = mistake.lesson().unwrap_or_else(|| panic!("no lesson shows {name}"));
        let command = format!("mha trace {lesson} --mistake {name}");
        assert!(page(&["mistakes", name, "--width", "200"]).contains(&command), "{command}");
        let asked = ["trace", lesson, "--mistake", name, "--format", "json"];
        let trace: Value = serde_json::from_str(&page(&asked)).unwrap();
        assert!(trace["first_difference"].is_object(), "{command}: {}", trace["first_difference"]);
        let told = page(&["trace", lesson, "--mistake", name, "--quiet"]);
        assert!(told.contains("first difference: "), "{command}: {told}");
    }
}

/// 200 · 200 twice is 80000: above 65504, half precision has ∞. Scaled by a half, the product would have been 40000.
#[test]
fn a_product_too_large_for_half_precision_is_infinite_in_the_lesson_about_it() {
    assert_eq!(Mistake::find("fp16-overflow").unwrap().lesson(), Some("large-numbers"));
    let told = page(&["trace", "large-numbers", "--mistake", "fp16-overflow", "--quiet"]);
    assert!(told.contains("first difference: head.1.scores[1,1]: 40000 should be, ∞ is"), "{told}");
}

#[test]
fn the_readme_counts_as_many_mistakes_as_there_are() {
    let said = format!("the {} known mistakes", mha::mistakes::catalogue::all().count());
    assert!(include_str!("../README.md").contains(&said), "{said}");
}
