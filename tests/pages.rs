//! Pages whose numbers and words must not move. Read a changed page as a learner would before accepting it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

use std::path::Path;

use mha::lesson::builtin;

#[path = "common/run.rs"]
#[expect(dead_code, reason = "no shell is needed here")]
mod run;

/// Every snapshot of this file; those called fault-… belong to bad_input.rs.
const PAGES: &[(&str, &[&str])] = &[
    ("trace@two-heads", &["trace"]),
    ("trace@two-heads-in-columns", &["trace", "--layout", "columns", "--steps", "q,head.1.*,concat,output"]),
    (
        "trace@two-heads-narrow-ascii",
        &["trace", "--width", "40", "--ascii", "--heads", "2", "--steps", "scores,output"],
    ),
    (
        "trace@two-heads-exact",
        &["trace", "--exact", "--width", "100", "--steps", "head.*.scores,head.*.weights,output"],
    ),
    ("trace@two-heads-scale-missing", &["trace", "--mistake", "scale-missing", "--width", "120"]),
    (
        "trace@two-heads-scale-missing-narrow",
        &["trace", "--mistake", "scale-missing", "--width", "60", "--heads", "1"],
    ),
    ("trace@telltale-head-3", &["trace", "telltale", "--heads", "3", "--steps", "head.*,output"]),
    ("trace@explained-weight", &["trace", "--explain", "head.1.weights[3,1]"]),
    (
        "trace@explained-row-narrow-ascii",
        &["trace", "telltale", "--explain", "head.2.scores[5]", "--depth", "1", "--width", "50", "--ascii"],
    ),
    ("trace@telltale-summary", &["trace", "telltale", "--summary", "--precision", "6"]),
    ("trace@masks-heatmap", &["trace", "masks", "--format", "heatmap"]),
    (
        "trace@masks-heatmap-narrow-ascii",
        &["trace", "masks", "--format", "heatmap", "--width", "40", "--ascii", "--steps", "*scores,weights"],
    ),
    ("trace@two-heads-python", &["trace", "--format", "python"]),
    ("trace@telltale-pytorch", &["trace", "telltale", "--format", "python", "--with", "pytorch"]),
    ("compare@two-heads", &["compare"]),
    (
        "compare@grouped-query-heatmap",
        &["compare", "grouped-query", "--format", "heatmap", "--variants", "multi-head,mqa,flash"],
    ),
    ("compare@flash", &["compare", "telltale", "--variants", "multi-head,flash:4", "--quiet"]),
    ("ablate@two-heads", &["ablate", "--head", "2"]),
    ("ablate@pruning-each", &["ablate", "pruning", "--each"]),
    (
        "ablate@induction-mean-narrow-ascii",
        &["ablate", "induction", "--layer", "1", "--head", "1", "--with", "mean", "--width", "40", "--ascii"],
    ),
    ("ablate@pruning-each-heatmap", &["ablate", "pruning", "--each", "--format", "heatmap"]),
    (
        "params@llama-3-8b",
        &["params", "llama-3-8b", "--memory", "24GiB", "--tensor-parallel", "4", "--width", "120"],
    ),
    ("params@gemma-3-1b-narrow", &["params", "gemma-3-1b", "--width", "60", "--ascii", "--attention-only"]),
    ("params@deepseek-v3-explained", &["params", "deepseek-v3", "--explain", "all"]),
    ("params@t5-small-markdown", &["params", "t5-small", "--format", "markdown"]),
    ("mistakes@list", &["mistakes"]),
    ("mistakes@scale-missing", &["mistakes", "scale-missing"]),
    (
        "mistakes@rope-one-side-only-narrow-ascii",
        &["mistakes", "rope-one-side-only", "--width", "40", "--ascii"],
    ),
    ("lessons@list", &["lessons"]),
    (
        "lessons@small-markdown",
        &["lessons", "render", "tests/lesson_pages/small.yaml", "--format", "markdown"],
    ),
    ("worksheet@random-7", &["worksheet", "--random", "--seed", "7"]),
    ("worksheet@random-7-key-narrow-ascii", &["worksheet", "random:7", "--key", "--width", "40", "--ascii"]),
    ("worksheet@masks-all-markdown", &["worksheet", "masks", "--blanks", "all", "--format", "markdown"]),
    (
        "worksheet@random-7-latex",
        &["worksheet", "--random", "--seed", "7", "--count", "2", "--format", "latex"],
    ),
    ("worksheet@random-7-key-html", &["worksheet", "random:7", "--key", "--format", "html"]),
    (
        "worksheet@random-7-yaml",
        &["worksheet", "random:7,mask=causal", "--blanks", "all", "--format", "yaml"],
    ),
    ("help", &["--help"]),
    ("help@trace", &["trace", "--help"]),
    ("help@compare", &["compare", "--help"]),
    ("help@params", &["params", "--help"]),
    ("help@mistakes", &["mistakes", "--help"]),
    ("help@lessons", &["lessons", "--help"]),
    ("help@worksheet", &["worksheet", "--help"]),
];

/// What a command prints to a pipe, in surroundings that say nothing about colour, width or language.
fn page(arguments: &[&str]) -> String {
    let run = run::run(Path::new("."), arguments);
    assert_eq!(run.status, Some(0), "{}", run.err);
    run.out
}

#[test]
fn pages_stay_as_they_were_read() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for (name, arguments) in PAGES {
            insta::assert_snapshot!(*name, page(arguments));
        }
    });
}

#[test]
fn every_page_is_still_taken() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots");
    let stale: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with("fault-") && !name.ends_with(".snap.new"))
        .filter(|name| !PAGES.iter().any(|(page, _)| name.strip_suffix(".snap") == Some(page)))
        .collect();
    assert!(stale.is_empty(), "no test takes these any more: {stale:?}");
}

#[test]
fn no_line_is_wider_than_the_page() {
    for width in [40, 60, 80, 200] {
        let wide = width.to_string();
        for arguments in [
            vec!["trace", "--width", &wide],
            vec!["trace", "telltale", "--width", &wide],
            vec!["trace", "--exact", "--width", &wide],
            vec!["trace", "telltale", "--exact", "--width", &wide],
            vec!["trace", "telltale", "--exact", "--ascii", "--layout", "columns", "--width", &wide],
            vec!["trace", "cross-attention", "--layout", "columns", "--width", &wide],
            vec!["trace", "telltale", "--width", &wide, "--explain", "output[2]"],
            vec!["compare", "--width", &wide, "--variants", "single-head,multi-head,fused,flash,averaged"],
            vec!["lessons", "--width", &wide],
            vec!["worksheet", "--blanks", "all", "--key", "--width", &wide],
            vec!["mistakes", "--width", &wide],
            vec!["mistakes", "mask-inverted", "--width", &wide],
            vec!["mistakes", "fp16-overflow", "--width", &wide, "--ascii"],
        ] {
            let text = page(&arguments);
            let widest =
                text.lines().max_by_key(|line| unicode_width::UnicodeWidthStr::width(*line)).unwrap();
            assert!(unicode_width::UnicodeWidthStr::width(widest) <= width, "{arguments:?}: {widest}");
        }
    }
}

#[test]
fn ascii_pages_hold_nothing_but_ascii() {
    for lesson in builtin::all().iter().map(|lesson| lesson.name) {
        for layout in ["rows", "columns"] {
            let text = page(&["trace", lesson, "--ascii", "--layout", layout]);
            assert!(text.is_ascii(), "{lesson}: {:?}", text.lines().find(|line| !line.is_ascii()));
            assert!(
                !text.contains("\\u{"),
                "{lesson}: {:?}",
                text.lines().find(|line| line.contains("\\u{"))
            );
        }
    }
    let text = page(&["trace", "telltale", "--exact", "--ascii"]);
    assert!(text.is_ascii() && !text.contains("\\u{"));
    let text =
        page(&["compare", "--ascii", "--variants", "single-head,multi-head,fused,flash,averaged,causal"]);
    assert!(text.is_ascii() && !text.contains("\\u{"));
}

#[test]
fn colour_only_marks_what_is_said_anyway() {
    for arguments in [vec!["trace", "masks"], vec!["compare", "masks"]] {
        let plain = page(&arguments);
        let coloured = page(&[arguments.as_slice(), &["--color", "always"]].concat());
        assert!(coloured.contains('\u{1b}'));
        let mut bare = String::new();
        let mut inside = false;
        for c in coloured.chars() {
            match (inside, c) {
                (false, '\u{1b}') => inside = true,
                (false, c) => bare.push(c),
                (true, 'm') => inside = false,
                (true, _) => {}
            }
        }
        assert_eq!(bare, plain);
    }
}

/// The article's table: head 2's third row is even, whatever the page looks like.
#[test]
fn json_and_npz_names_hold_the_article_numbers() {
    let text = page(&["trace", "--format", "json", "--steps", "head.2.weights"]);
    let trace: serde_json::Value = serde_json::from_str(&text).unwrap();
    let step = &trace["steps"][0];
    assert_eq!(step["id"], "head.2.weights");
    assert_eq!(step["shape"], serde_json::json!([3, 3]));
    assert_eq!(step["rows"], serde_json::json!(["a", "b", "c"]));
    for column in 0..3 {
        let third = step["value"][2][column].as_f64().unwrap();
        assert!((third - 1.0 / 3.0).abs() < 1e-15);
    }
}
