//! The HTML page: whole, alone, true, and no place for text to become anything else.
//!
//! What a browser makes of it is tried in `tests/browser`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

#[path = "common/run.rs"]
#[expect(dead_code, reason = "no shell is needed here")]
mod run;

use std::fs;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};

#[track_caller]
fn page(folder: &Path, args: &[&str]) -> String {
    let run = run::run(folder, &[&["trace"], args, &["--format", "html"]].concat());
    assert_eq!((run.status, run.err.as_str()), (Some(0), ""), "mha trace {}", args.join(" "));
    run.out
}

fn of(args: &[&str]) -> String {
    page(Path::new("."), args)
}

/// What stands between two marks, the first time that the first is there.
#[track_caller]
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let start = text.find(from).unwrap_or_else(|| panic!("no {from}")) + from.len();
    &text[start..start + text[start..].find(to).unwrap_or_else(|| panic!("no {to} after {from}"))]
}

/// The data that the script reads.
fn data(page: &str) -> Value {
    serde_json::from_str(between(page, "<script type=\"application/json\" id=\"data\">", "</script>"))
        .unwrap()
}

/// The numbers of a step's table as the page shows them, row by row.
fn shown<'a>(page: &'a str, step: &str) -> Vec<Vec<&'a str>> {
    let table = between(page, &format!("<table data-step=\"{step}\">"), "</table>");
    let rows = between(table, "<tbody>", "</tbody>").trim().lines();
    let text = |cell: &'a str| cell.split_once('>').unwrap().1.split_once('<').unwrap().0;
    rows.map(|row| row.split("<td").skip(1).map(text).collect()).collect()
}

/// A number as pages write it.
fn read(text: &str) -> f64 {
    match text {
        "−∞" => f64::NEG_INFINITY,
        number => number.parse().unwrap_or_else(|_| panic!("{number} is no number")),
    }
}

/// Every element that is opened is closed, in the right order.
#[track_caller]
fn assert_well_formed(page: &str) {
    const ALONE: [&str; 4] = ["meta", "link", "input", "img"];
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page.strip_prefix("<!doctype html>").unwrap();
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').unwrap();
        let name = tag.split_whitespace().next().unwrap();
        rest = after;
        match name.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed), "before {}", &after[..after.len().min(40)]),
            None if ALONE.contains(&name) => {}
            None => {
                open.push(name);
                // Inside these nothing is a tag but their own end.
                if matches!(name, "script" | "style") {
                    rest = &after[after.find(&format!("</{name}")).unwrap()..];
                }
            }
        }
    }
    assert!(open.is_empty(), "{open:?} never end");
}

#[test]
fn every_element_is_closed_in_its_turn() {
    for args in [
        vec!["two-heads"],
        vec!["telltale", "--layout", "columns"],
        vec!["masks", "--quiet"],
        vec!["cross-attention", "--verbose", "--steps", "scores,output"],
        vec!["grouped-query", "--ascii", "--heads", "2"],
    ] {
        assert_well_formed(&of(&args));
    }
}

#[test]
fn the_policy_allows_this_style_and_this_script_and_nothing_else() {
    let page = of(&["two-heads"]);
    let policy = between(&page, "http-equiv=\"Content-Security-Policy\" content=\"", "\"");
    let hash = |text: &str| format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)));
    let style = hash(between(&page, "<style>", "</style>"));
    let script = hash(between(&page, "<script>", "</script>"));
    assert_eq!(
        policy,
        format!(
            "default-src 'none'; style-src {style}; script-src {script}; img-src data:; base-uri 'none'; form-action 'none'"
        )
    );
    // Without a hash of its own nothing of this would work, and nothing of it is there.
    for never in [" style=", " onclick", " onload", "http://", "https://", "@import", "url("] {
        assert!(!page.contains(never), "{never}");
    }
}

/// Each derivation ends in the number that stands in the table (which may have zeros behind it).
#[test]
fn every_number_of_two_heads_is_derived_and_the_last_line_is_that_number() {
    let page = of(&["two-heads"]);
    let data = data(&page);
    let mut derived = 0;
    for step in data["steps"].as_array().unwrap() {
        let id = step["id"].as_str().unwrap();
        let numbers = shown(&page, id);
        let [rows, columns] = [&step["shape"][0], &step["shape"][1]].map(|n| n.as_u64().unwrap() as usize);
        assert_eq!((numbers.len(), numbers[0].len()), (rows, columns), "{id}");
        if step["given"] == true {
            assert!(id == "x" || id.starts_with("w_"), "{id} was not given");
            continue;
        }
        let cells = step["cells"].as_array().unwrap();
        assert_eq!(cells.len(), rows * columns, "{id}");
        for (at, cell) in cells.iter().enumerate() {
            let number = numbers[at / columns][at % columns];
            let last = cell.as_array().unwrap().last().unwrap().as_str().unwrap();
            assert_eq!(read(last), read(number), "{id}: {cell}");
            derived += 1;
        }
    }
    // q, k, v: 3 × 12; in each head q, k, v, output: 4 × 6, and scores, weights: 2 × 9; concat and output: 2 × 12.
    assert_eq!(derived, 36 + 2 * (24 + 18) + 24);
}

/// By hand: the score of c for c is row 3 of Q₁ times row 3 of K₁, two numbers each; rows count from 0 in the data.
#[test]
fn a_score_is_made_from_its_query_and_its_key() {
    let data = data(&of(&["two-heads"]));
    let steps = data["steps"].as_array().unwrap();
    let place = |id: &str| steps.iter().position(|step| step["id"] == id).unwrap();
    let cell = &steps[place("head.1.scores")]["cells"][8];
    assert_eq!(
        cell[0],
        serde_json::json!([[place("head.1.q"), 2, 3, 0, 2], [place("head.1.k"), 2, 3, 0, 2]])
    );
    assert_eq!(cell[3], "(q[3,1]·k[3,1] + q[3,2]·k[3,2]) · 1/√2");
}

#[test]
fn columns_are_rows_turned_and_the_derivations_keep_their_names() {
    let (rows, columns) = (of(&["cross-attention"]), of(&["cross-attention", "--layout", "columns"]));
    let (upright, turned) = (shown(&rows, "head.1.scores"), shown(&columns, "head.1.scores"));
    for (r, row) in upright.iter().enumerate() {
        for (c, number) in row.iter().enumerate() {
            assert_eq!(turned[c][r], *number);
        }
    }
    assert!(rows.contains("<html lang=\"en\" data-layout=\"rows\">"));
    assert!(columns.contains("<html lang=\"en\" data-layout=\"columns\">"));
    assert_eq!(data(&rows), data(&columns));
}

#[test]
fn text_of_a_lesson_is_never_a_tag() {
    let room = tempfile::tempdir().unwrap();
    let evil = r#"</script><script>alert(1)</script><img src=x onerror=alert(1)>"'&\u202e\u2028<!--"#;
    let lesson = format!(
        r#"{{"mha": 1, "title": "{0}", "summary": "{0}", "source": "{0}", "tokens": ["{0}", "b"],
        "attention": {{"d_model": 2, "num_heads": 1}}, "inputs": {{"x": [[1, 0], [0, 1]]}},
        "projections": {{"w_q": "identity", "w_k": "identity", "w_v": "identity", "w_o": "identity"}},
        "story": [{{"at": "head.1.scores", "say": "{0}"}}]}}"#,
        evil.replace('"', "\\\"")
    );
    fs::write(room.path().join("evil.yaml"), lesson).unwrap();
    for more in [&[][..], &["--ascii"], &["--layout", "columns"]] {
        let page = page(room.path(), &[&["evil.yaml"], more].concat());
        assert_well_formed(&page);
        assert_eq!(page.matches("<script").count(), 2);
        assert_eq!(page.matches("</script").count(), 2);
        for never in ["<img", "<!--", "\u{202e}", "\u{2028}", "<script>alert"] {
            assert!(!page.contains(never), "{never}");
        }
        assert!(page.contains("&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;\\u{202e}\\u{2028}&lt;!--"));
    }
}

#[test]
fn an_ascii_page_holds_nothing_else() {
    let (plain, page) = (of(&["telltale"]), of(&["telltale", "--ascii"]));
    assert!(page.is_ascii());
    assert_eq!(data(&page), data(&plain));
}

/// A lesson of two sequences of three tokens, with weights nobody needs to know.
const BATCH: &str = "attention: {d_model: 2, num_heads: 2, mask: causal}\n\
    inputs: {x: {random: {seed: 1, shape: [2, 3, 2]}}}\n\
    projections: {w_q: {random: {seed: 2}}, w_k: {random: {seed: 3}}, w_v: {random: {seed: 4}}, w_o: {random: {seed: 5}}}\n";

/// The titles of the sections, each with its first and its last step.
fn sections(page: &str) -> Vec<(&str, &str, &str)> {
    let of = |section| {
        let steps = section_steps(section);
        (between(section, "\">", "</h2>"), steps[0], steps[steps.len() - 1])
    };
    page.split("<h2 id=").skip(1).map(of).collect()
}

fn section_steps(section: &str) -> Vec<&str> {
    let steps = section.split("<article class=\"step\" id=\"").skip(1);
    steps.map(|step| step.split('"').next().unwrap()).collect()
}

/// Each sequence is told from its tokens to its output; the weights, which are those of all, stand where they are
/// first needed.
#[test]
fn every_sequence_of_a_batch_has_sections_of_its_own() {
    let room = tempfile::tempdir().unwrap();
    fs::write(room.path().join("batch.yaml"), BATCH).unwrap();
    let all = page(room.path(), &["batch.yaml", "--sequence", "all"]);
    assert_well_formed(&all);
    assert_eq!(
        sections(&all),
        [
            ("From tokens to queries, keys and values, sequence 1", "batch.1.x", "batch.1.v"),
            ("Each head, sequence 1", "batch.1.head.1.q", "batch.1.head.2.output"),
            ("The heads together, sequence 1", "batch.1.concat", "batch.1.output"),
            ("From tokens to queries, keys and values, sequence 2", "batch.2.x", "batch.2.v"),
            ("Each head, sequence 2", "batch.2.head.1.q", "batch.2.head.2.output"),
            ("The heads together, sequence 2", "batch.2.concat", "batch.2.output"),
        ]
    );
    assert!(section_steps(all.split("The heads together, sequence 1</h2>").nth(1).unwrap()).contains(&"w_o"));
    // Without heads between them, and from weights on.
    let some = page(room.path(), &["batch.yaml", "--sequence", "all", "--steps", "w_q,q"]);
    assert_eq!(
        sections(&some),
        [
            ("From tokens to queries, keys and values, sequence 1", "w_q", "batch.1.q"),
            ("From tokens to queries, keys and values, sequence 2", "batch.2.q", "batch.2.q"),
        ]
    );
}

/// Of four tokens none sees a later one, which hides 3 + 2 + 1, and the third is padding, which hides it from itself
/// and from the fourth: 8 in all, and no weight is 0 for another reason.
#[test]
fn what_a_mask_hides_is_not_shaded_as_a_small_weight() {
    let page = of(&["masks", "--steps", "weights", "--heads", "1"]);
    let weights = between(&page, "<tbody>", "</tbody>");
    assert_eq!(weights.matches("<td class=\"masked\">0.0000</td>").count(), 8);
    assert_eq!(weights.matches(">0.0000</td>").count(), 8);
    assert!(page.contains("<i class=\"masked\"></i></span> masked"));
    let open = of(&["two-heads", "--steps", "weights"]);
    assert!(!open.contains("class=\"masked\"") && !open.contains("class=\"undefined\""));
}

#[test]
fn flags_choose_what_stands_on_the_page() {
    let some = of(&["two-heads", "--steps", "scores,weights", "--heads", "2", "--precision", "2", "--quiet"]);
    assert_eq!(some.matches("<table").count(), 2);
    assert_eq!(shown(&some, "head.2.weights")[2], ["0.33", "0.33", "0.33"]);
    assert!(!some.contains("<p class=\"formula\">") && !some.contains("<p class=\"story\">"));
    let data = data(&some);
    let not_shown: Vec<&str> = data["steps"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|step| step["shown"] == false)
        .map(|step| step["id"].as_str().unwrap())
        .collect();
    assert_eq!(not_shown, ["head.2.q", "head.2.k"], "sources are named even where they are not shown");
    assert!(of(&["two-heads", "--verbose"]).contains("<p class=\"cost\">Cost: "));
}

#[test]
fn a_page_stays_small_and_says_what_it_leaves_out() {
    assert!(of(&["two-heads"]).len() < 120_000);
    let room = tempfile::tempdir().unwrap();
    let lesson = "attention: {d_model: 16, num_heads: 4, mask: causal}\ninputs: {x: {random: {seed: 1, shape: [200, 16]}}}\n\
                  projections: {w_q: {random: {seed: 2}}, w_k: {random: {seed: 3}}, w_v: {random: {seed: 4}}, w_o: {random: {seed: 5}}}\n";
    fs::write(room.path().join("large.yaml"), lesson).unwrap();
    let page = page(room.path(), &["large.yaml"]);
    assert_well_formed(&page);
    assert!(page.len() < 5_000_000, "{}", page.len());
    assert_eq!(page.matches("<img class=\"map in-rows\"").count(), 4);
    // 200 × 200 weights in at most 128 × 128 points: blocks of 2 × 2, 100 × 100 points.
    assert!(page.contains("All 200 × 200 weights: each point the largest of 2 × 2 weights."));
    let scores = shown(&page, "head.1.scores");
    assert_eq!(scores.len(), scores[0].len());
    assert_eq!(scores.iter().filter(|row| row.iter().all(|cell| *cell == "…")).count(), 1);
    assert!(page.contains("of 200 rows and the first "), "a note says that rows are left out");
}
