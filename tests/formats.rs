//! What JSON, npz and CSV hold: the names, the shapes, and the same numbers to the last bit.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

#[path = "common/run.rs"]
#[expect(dead_code, reason = "no shell is needed here")]
mod run;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use mha::arrays::{Array, read_all};
use mha::lesson::builtin;
use serde_json::Value;
use tempfile::TempDir;

/// A folder with a lesson in it, `lesson.yaml`.
fn room(lesson: &str) -> TempDir {
    let room = tempfile::tempdir().unwrap();
    fs::write(room.path().join("lesson.yaml"), lesson).unwrap();
    room
}

#[track_caller]
fn said(folder: &Path, args: &[&str]) -> String {
    let run = run::run(folder, args);
    assert_eq!((run.status, run.err.as_str()), (Some(0), ""), "mha {}", args.join(" "));
    run.out
}

#[track_caller]
fn json(folder: &Path, args: &[&str]) -> Value {
    serde_json::from_str(&said(folder, &[args, &["--format", "json"]].concat())).unwrap()
}

/// The arrays of `mha ARGS --format npz`, in the file's order.
#[track_caller]
fn arrays(folder: &Path, args: &[&str]) -> Vec<(String, Array)> {
    said(folder, &[args, &["--format", "npz", "--force", "-o", "out.npz"]].concat());
    read_all(&folder.join("out.npz")).unwrap()
}

/// `name shape`, as `x 6×7`.
fn shapes(arrays: &[(String, Array)]) -> Vec<String> {
    let sizes = |array: &Array| array.shape.iter().map(ToString::to_string).collect::<Vec<_>>().join("×");
    arrays.iter().map(|(name, array)| format!("{name} {}", sizes(array))).collect()
}

/// A number as JSON has it, or the word for one that JSON cannot write.
fn number(value: &Value) -> f64 {
    match value.as_str() {
        Some("NaN") => f64::NAN,
        Some("Infinity") => f64::INFINITY,
        Some("-Infinity") => f64::NEG_INFINITY,
        _ => value.as_f64().unwrap(),
    }
}

/// A step's matrix, row by row.
fn flat(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().flat_map(|row| row.as_array().unwrap().iter().map(number)).collect()
}

/// Every step of a trace in JSON, by its id.
fn steps(trace: &Value) -> BTreeMap<String, Value> {
    let steps = trace["steps"].as_array().unwrap().iter();
    steps.map(|step| (step["id"].as_str().unwrap().to_owned(), step.clone())).collect()
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

/// The word that a head's step has where files have another.
fn in_a_head(name: &str) -> &str {
    match name {
        "q_heads" => "q",
        "k_heads" => "k",
        "v_heads" => "v",
        "heads" => "output",
        other => other,
    }
}

/// Every array of an npz is what the JSON of the same trace holds: a stack sheet by sheet, where sheet i of g is
/// read by query head i · h/g + 1 first.
#[track_caller]
fn assert_same_numbers(arrays: &[(String, Array)], trace: &Value, prefix: &str) {
    let steps = steps(trace);
    let h = trace["config"]["num_heads"].as_u64().unwrap() as usize;
    for (name, array) in arrays {
        // In a stack of layers: `layer.2.q_heads`.
        let (layer, word) = name.rfind('.').map_or(("", name.as_str()), |dot| name.split_at(dot + 1));
        let learned = word.starts_with("w_") || word.starts_with("b_");
        let prefix = if learned { "" } else { prefix };
        let expected: Vec<f64> = match array.shape.as_slice() {
            [sheets, _, _] => (0..*sheets)
                .flat_map(|sheet| {
                    let head = sheet * h / sheets + 1;
                    flat(&steps[&format!("{prefix}{layer}head.{head}.{}", in_a_head(word))]["value"])
                })
                .collect(),
            _ => flat(&steps[&format!("{prefix}{name}")]["value"]),
        };
        assert_eq!(bits(&array.data), bits(&expected), "{name}");
    }
}

/// 6 tokens, d_model 7, h = 4, g = 2, d_k = 3, d_v = 5: no two sizes are the same.
#[test]
fn an_npz_stacks_heads_and_holds_shared_keys_once() {
    let here = tempfile::tempdir().unwrap();
    let arrays = arrays(here.path(), &["trace", "telltale"]);
    assert_eq!(
        shapes(&arrays),
        [
            "x 6×7",
            "w_q 7×12",
            "b_q 12",
            "q 6×12",
            "w_k 7×6",
            "b_k 6",
            "k 6×6",
            "w_v 7×10",
            "b_v 10",
            "v 6×10",
            "q_heads 4×6×3",
            "k_heads 2×6×3",
            "v_heads 2×6×5",
            "scores 4×6×6",
            "masked_scores 4×6×6",
            "weights 4×6×6",
            "heads 4×6×5",
            "concat 6×20",
            "w_o 20×7",
            "b_o 7",
            "output 6×7",
        ]
    );
}

#[test]
fn npz_and_json_hold_the_same_bits() {
    let here = tempfile::tempdir().unwrap();
    // Those with a batch are asked for sequence by sequence, below.
    let of_one_sequence = |name: &&str| !["padded-batch", "two-sequences"].contains(name);
    for lesson in builtin::all().iter().map(|lesson| lesson.name).filter(of_one_sequence) {
        let arrays = arrays(here.path(), &["trace", lesson]);
        let trace = json(here.path(), &["trace", lesson]);
        assert_same_numbers(&arrays, &trace, "");
    }
}

/// x = [−1, 0] and W = [[0, 1], [1, 0]] · −1: products such as −1 · 0 are −0, and no file says so.
#[test]
fn no_file_holds_a_negative_zero() {
    let room = room(
        "mha: 1\nattention: {d_model: 2, num_heads: 1}\n\
         inputs: {x: [[-1, 0], [-0.0, -0.0]]}\n\
         projections: {w_q: [[0, -1], [-1, 0]], w_k: [[0, -1], [-1, 0]], w_v: [[0, -1], [-1, 0]], w_o: [[-0.0, 0], [0, -1]]}\n",
    );
    let arrays = arrays(room.path(), &["trace", "lesson.yaml"]);
    let negative_zero = |number: &f64| *number == 0.0 && number.is_sign_negative();
    for (name, array) in &arrays {
        assert!(!array.data.iter().any(negative_zero), "{name}: {:?}", array.data);
    }
    for format in ["json", "csv"] {
        let text = said(room.path(), &["trace", "lesson.yaml", "--format", format]);
        assert!(!text.contains("-0.0") && !text.contains(",-0\n"), "{format}: {text}");
    }
}

/// Two sequences of three tokens; what differs between them is x.
const BATCH: &str = "mha: 1
attention: {d_model: 4, num_heads: 2, d_v: 3, mask: {key_padding: [[true, true, true], [true, true, false]]}}
inputs:
  x:
    - [[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]]
    - [[2, 0, 0, 0], [0, 0, 3, 0], [0, 0, 0, 4]]
projections:
  w_q: identity
  w_k: identity
  w_v: {random: {seed: 3}}
  w_o: {random: {seed: 4}}
";

#[test]
fn a_batch_stands_on_a_leading_axis_which_projections_do_not_have() {
    let room = room(BATCH);
    let both = arrays(room.path(), &["trace", "lesson.yaml"]);
    assert_eq!(
        shapes(&both),
        [
            "x 2×3×4",
            "w_q 4×4",
            "q 2×3×4",
            "w_k 4×4",
            "k 2×3×4",
            "w_v 4×6",
            "v 2×3×6",
            "q_heads 2×2×3×2",
            "k_heads 2×2×3×2",
            "v_heads 2×2×3×3",
            "scores 2×2×3×3",
            "masked_scores 2×2×3×3",
            "weights 2×2×3×3",
            "heads 2×2×3×3",
            "concat 2×3×6",
            "w_o 6×4",
            "output 2×3×4",
        ]
    );
}

#[test]
fn one_sequence_of_a_batch_has_no_batch_axis_and_the_same_numbers() {
    let room = room(BATCH);
    let both = arrays(room.path(), &["trace", "lesson.yaml"]);
    for sequence in [1, 2] {
        let chosen = ["trace", "lesson.yaml", "--sequence", &sequence.to_string()];
        let one = arrays(room.path(), &chosen);
        assert_eq!(one.len(), both.len());
        for (name, one) in &one {
            let both = &both.iter().find(|(of, _)| of == name).unwrap().1;
            if name.starts_with("w_") {
                assert_eq!(one, both);
                continue;
            }
            assert_eq!(one.shape, both.shape[1..], "{name}");
            let from = (sequence - 1) * one.len();
            assert_eq!(bits(&one.data), bits(&both.data[from..from + one.len()]), "{name}");
        }
        let trace = json(room.path(), &chosen);
        assert_eq!(trace["config"]["batch"], 2);
        assert_eq!(trace["config"]["sequences_shown"], serde_json::json!([sequence]));
        assert_same_numbers(&one, &trace, &format!("batch.{sequence}."));
    }
}

/// h = 4 and g = 2: what queries have is there four times, what keys have twice, a sink a query head.
#[test]
fn norms_rotations_and_sinks_have_arrays_of_their_own() {
    let room = room(
        "mha: 1\n\
         attention: {d_model: 5, num_heads: 4, num_kv_heads: 2, d_k: 2, d_v: 3, positions: rope, softcap: 9,\n\
         \x20 qk_norm: {q: [1, 2], k: [3, 1]}, sinks: [0.1, 0.2, 0.3, 0.4]}\n\
         inputs: {x: {random: {seed: 1, shape: [3, 5]}}}\n\
         projections: {w_q: {random: {seed: 2}}, w_k: {random: {seed: 3}}, w_v: {random: {seed: 4}}, w_o: none}\n",
    );
    let arrays = arrays(room.path(), &["trace", "lesson.yaml"]);
    assert_eq!(
        shapes(&arrays),
        [
            "x 3×5",
            "w_q 5×8",
            "q 3×8",
            "w_k 5×4",
            "k 3×4",
            "w_v 5×6",
            "v 3×6",
            "q_heads 4×3×2",
            "k_heads 2×3×2",
            "v_heads 2×3×3",
            "q_norm 4×3×2",
            "k_norm 2×3×2",
            "q_rot 4×3×2",
            "k_rot 2×3×2",
            "scores 4×3×3",
            "capped_scores 4×3×3",
            "weights 4×3×3",
            "sink_weight 4×3×1",
            "heads 4×3×3",
            "concat 3×12",
        ]
    );
    assert_same_numbers(&arrays, &json(room.path(), &["trace", "lesson.yaml"]), "");
    // What the keys give and what the sink takes make one whole.
    let of = |name: &str| &arrays.iter().find(|(own, _)| own == name).unwrap().1.data;
    for (row, sink) in of("weights").chunks(3).zip(of("sink_weight")) {
        assert!((row.iter().sum::<f64>() + sink - 1.0).abs() < 1e-15);
    }
}

/// A norm of the whole row comes before the split: its arrays are as wide as q and k.
#[test]
fn a_norm_of_the_whole_row_is_no_stack() {
    let room = room(
        "mha: 1\n\
         attention: {d_model: 4, num_heads: 2, qk_norm: {q: [1, 2, 3, 4], k: [1, 1, 1, 1], scope: full}}\n\
         inputs: {x: [[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]]}\n\
         projections: {w_q: identity, w_k: identity, w_v: identity, w_o: none}\n",
    );
    let arrays = arrays(room.path(), &["trace", "lesson.yaml", "--steps", "q_norm,k_norm,q_heads,head.*.q"]);
    assert_eq!(shapes(&arrays), ["q_norm 3×4", "k_norm 3×4", "q_heads 2×3×2"]);
    // [1, 0, 1, 0] has the root mean square √½; over it and times the gains: √2 · [1, 0, 3, 0], but for ε.
    let root = 2f64.sqrt();
    for (number, expected) in arrays[0].1.data.iter().zip([root, 0.0, 3.0 * root, 0.0]) {
        assert!((number - expected).abs() < 1e-5, "{number}");
    }
}

/// step → rows × columns as CSV lists them: (row, column, row name, column name, value).
fn csv_cells(text: &str) -> Vec<[String; 6]> {
    let mut table = csv::Reader::from_reader(text.as_bytes());
    assert_eq!(table.headers().unwrap(), vec!["step", "row", "column", "row_name", "column_name", "value"]);
    let cells = table.records().map(|record| {
        let cells: Vec<String> = record.unwrap().iter().map(str::to_owned).collect();
        cells.try_into().unwrap()
    });
    cells.collect()
}

#[test]
fn columns_are_the_transpose_of_rows() {
    let here = tempfile::tempdir().unwrap();
    for lesson in ["telltale", "masks", "cross-attention"] {
        let rows = json(here.path(), &["trace", lesson]);
        let columns = json(here.path(), &["trace", lesson, "--layout", "columns"]);
        assert_eq!((&rows["layout"], &columns["layout"]), (&"rows".into(), &"columns".into()));
        let (rows, columns) = (steps(&rows), steps(&columns));
        assert_eq!(rows.len(), columns.len());
        for (id, step) in rows {
            let turned = &columns[&id];
            assert_eq!((&step["rows"], &step["columns"]), (&turned["columns"], &turned["rows"]), "{id}");
            assert_eq!(
                (&step["shape"][0], &step["shape"][1]),
                (&turned["shape"][1], &turned["shape"][0]),
                "{id}"
            );
            for (r, row) in step["value"].as_array().unwrap().iter().enumerate() {
                for (c, value) in row.as_array().unwrap().iter().enumerate() {
                    assert_eq!(value, &turned["value"][c][r], "{id}");
                }
            }
        }

        let mut upright = csv_cells(&said(here.path(), &["trace", lesson, "--format", "csv"]));
        let turned = said(here.path(), &["trace", lesson, "--format", "csv", "--layout", "columns"]);
        let mut turned: Vec<[String; 6]> = csv_cells(&turned)
            .into_iter()
            .map(|[step, row, column, row_name, column_name, value]| {
                [step, column, row, column_name, row_name, value]
            })
            .collect();
        upright.sort();
        turned.sort();
        assert_eq!(upright, turned);
    }
}

/// Names and shapes of arrays are a contract: turned, they would be other arrays under the same names.
#[test]
fn arrays_are_not_turned() {
    let here = tempfile::tempdir().unwrap();
    let turned = ["trace", "telltale", "--layout", "columns", "--format", "npz", "-o", "out.npz"];
    let run = run::run(here.path(), &turned);
    assert_eq!(run.status, Some(2));
    assert!(run.err.starts_with("error: npz files hold tokens in rows\n  --> --layout"), "{}", run.err);
    assert!(!here.path().join("out.npz").exists());
}

/// Row 1 of the masks lesson sees itself only: 1/√2, then three hidden keys.
#[test]
fn a_hidden_score_is_minus_infinity_in_every_format() {
    let here = tempfile::tempdir().unwrap();
    let args = ["trace", "masks", "--steps", "head.1.masked_scores"];
    let first_row = [0.5f64.sqrt(), f64::NEG_INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];

    let trace = json(here.path(), &args);
    let row = &trace["steps"][0]["value"][0];
    assert_eq!((&row[1], &row[2], &row[3]), (&"-Infinity".into(), &"-Infinity".into(), &"-Infinity".into()));
    assert!((row[0].as_f64().unwrap() - first_row[0]).abs() < 1e-15);

    let arrays = arrays(here.path(), &args);
    assert_eq!(shapes(&arrays), ["masked_scores 1×4×4"]);
    assert_eq!(arrays[0].1.data[1..4], first_row[1..]);

    let cells = csv_cells(&said(here.path(), &[&args[..], &["--format", "csv"]].concat()));
    let values: Vec<f64> = cells.iter().take(4).map(|cell| cell[5].parse().unwrap()).collect();
    assert_eq!(bits(&values), bits(&arrays[0].1.data[..4]));
    assert_eq!(cells[1], ["head.1.masked_scores", "1", "2", "a", "b", "-Infinity"]);
}

/// 0/0: the word in JSON and CSV, the number in npz.
#[test]
fn not_a_number_is_a_word_where_there_is_no_number_for_it() {
    let room = room(
        "mha: 1\n\
         attention: {d_model: 1, num_heads: 1, fully_masked_rows: nan, mask: {allow: [[false, false], [true, true]]}}\n\
         inputs: {x: [[1], [2]]}\n\
         projections: {w_q: identity, w_k: identity, w_v: identity, w_o: none}\n",
    );
    let args = ["trace", "lesson.yaml", "--steps", "head.1.weights"];
    assert_eq!(json(room.path(), &args)["steps"][0]["value"][0], serde_json::json!(["NaN", "NaN"]));
    let arrays = arrays(room.path(), &args);
    assert!(arrays[0].1.data[..2].iter().all(|number| number.is_nan()));
    let text = said(room.path(), &[&args[..], &["--format", "csv"]].concat());
    assert!(text.contains("head.1.weights,1,1,1,1,NaN\n"), "{text}");
}

/// Five names that would break a table, or do something in a spreadsheet.
const AWKWARD: &str = r#"mha: 1
tokens: ["=1+1", "say \"hi\"", "a,b", "line\nbreak", " @SUM(A1)"]
attention: {d_model: 1, num_heads: 1}
inputs: {x: [[1], [2], [3], [4], [5]]}
projections: {w_q: identity, w_k: identity, w_v: identity, w_o: none}
"#;

#[test]
fn a_token_is_no_formula_in_csv_and_breaks_no_line() {
    let room = room(AWKWARD);
    let text = said(room.path(), &["trace", "lesson.yaml", "--steps", "x", "--format", "csv"]);
    assert_eq!(text.lines().count(), 6, "a header and five numbers: {text}");
    assert!(text.contains(r#""say ""hi""""#) && text.contains(r#""a,b""#), "{text}");
    let cells = csv_cells(&text);
    let names: Vec<&str> = cells.iter().map(|cell| cell[3].as_str()).collect();
    assert_eq!(names, ["'=1+1", "say \"hi\"", "a,b", "line\\nbreak", "' @SUM(A1)"]);
    assert_eq!(cells[2][5], "3");
}

#[test]
fn json_gives_a_token_back_as_it_was_written() {
    let room = room(AWKWARD);
    let trace = json(room.path(), &["trace", "lesson.yaml", "--steps", "x"]);
    assert_eq!(
        trace["steps"][0]["rows"],
        serde_json::json!(["=1+1", "say \"hi\"", "a,b", "line\nbreak", " @SUM(A1)"])
    );
}

/// The largest difference is where the file says, and of that size: read off the two outputs in the file itself.
#[test]
fn a_comparison_says_how_far_outputs_differ_and_where() {
    let here = tempfile::tempdir().unwrap();
    let variants = ["compare", "two-heads", "--variants", "multi-head,single-head,fused"];
    let comparison = json(here.path(), &variants);
    assert_eq!((&comparison["mha"], &comparison["title"]), (&1.into(), &"Two heads, one input".into()));
    let sides = comparison["variants"].as_array().unwrap();
    let names: Vec<&str> = sides.iter().map(|side| side["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["multi-head", "single-head", "fused"]);
    let keys: Vec<&str> = sides[0].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "name",
            "meaning",
            "config",
            "distributions",
            "parameters",
            "multiplications",
            "exponentials",
            "kv_cache_numbers_per_token",
            "entropy_bits",
            "steps",
        ]
    );
    // h · n rows of weights; 4 · 16 numbers; 2 · g · d_k, the same for one head twice as wide.
    for (side, distributions, exponentials) in [(0, 6, 18), (1, 3, 9), (2, 6, 18)] {
        assert_eq!(sides[side]["distributions"], distributions);
        assert_eq!(sides[side]["exponentials"], exponentials);
        assert_eq!(sides[side]["multiplications"], 264);
        assert_eq!(sides[side]["parameters"], 64);
        assert_eq!(sides[side]["kv_cache_numbers_per_token"], 8);
    }

    let output = |side: &Value| flat(&steps(side)["output"]["value"]);
    let base = output(&sides[0]);
    let differences = comparison["differences"].as_array().unwrap();
    assert_eq!(differences.len(), 2);
    for (difference, side) in differences.iter().zip(&sides[1..]) {
        assert_eq!((&difference["from"], &difference["to"]), (&sides[0]["name"], &side["name"]));
        let apart: Vec<f64> = base.iter().zip(output(side)).map(|(a, b)| (a - b).abs()).collect();
        let largest = apart.iter().copied().fold(0.0, f64::max);
        assert_eq!(difference["max_difference"].as_f64().unwrap(), largest);
        let at: Vec<usize> =
            difference["at"].as_array().unwrap().iter().map(|at| at.as_u64().unwrap() as usize).collect();
        assert_eq!(apart[(at[0] - 1) * 4 + at[1] - 1], largest);
    }
    assert_eq!(differences[1]["max_difference"], 0.0);
}

/// Outputs of different widths cannot be subtracted: h · d_v = 3 · 1 columns before W_O, 2 after.
#[test]
fn outputs_of_other_shapes_have_no_difference() {
    let room = room(
        "mha: 1\nattention: {d_model: 2, num_heads: 3, d_k: 1, d_v: 1}\n\
         inputs: {x: [[1, 0], [0, 1]]}\n\
         projections: {w_q: ones, w_k: ones, w_v: ones, w_o: ones}\n",
    );
    let variants = ["compare", "lesson.yaml", "--variants", "multi-head,no-output-projection"];
    let difference = &json(room.path(), &variants)["differences"][0];
    assert!(difference["max_difference"].is_null() && difference["at"].is_null(), "{difference}");
}

/// One head reading itself: six boxes are asked for, of which four belong to the head. `weights` is not among them, so the
/// output of the head is reached by a dotted arrow from what the weights are made of.
#[test]
fn a_diagram_leads_from_each_step_to_what_is_made_of_it() {
    let room = room(
        "attention: {d_model: 2, num_heads: 1}\ninputs: {x: [[1, 0], [0, 1], [1, 1]]}\n\
         projections: {w_q: identity, w_k: identity, w_v: identity, w_o: none}\n",
    );
    let steps = "x,q,head.1.q,head.1.scores,head.1.output,concat";
    let page = said(room.path(), &["trace", "lesson.yaml", "--steps", steps, "--format", "mermaid"]);
    let lines: Vec<&str> = page.lines().collect();
    assert_eq!(
        lines,
        [
            "flowchart TD",
            "  s0([\"x<br>3×2\"])",
            "  s1[\"q<br>Q = X W#95;Q<br>3×2\"]",
            "  s5[\"concat<br>concat = [head₁]<br>3×2\"]",
            "  subgraph f1[\"head.1\"]",
            "    s2[\"head.1.q<br>Q₁ = Q[:, 1…2]<br>3×2\"]",
            "    s3[\"head.1.scores<br>S₁ = Q₁K₁ᵀ / √d#95;k<br>3×3\"]",
            "    s4[\"head.1.output<br>head₁ = A₁V₁<br>3×2\"]",
            "  end",
            "  s0 --> s1",
            "  s1 --> s2",
            "  s2 --> s3",
            "  s0 -.-> s3",
            "  s3 -.-> s4",
            "  s0 -.-> s4",
            "  s4 --> s5",
        ]
    );
}

#[test]
fn the_same_request_writes_the_same_bytes() {
    let room = room(BATCH);
    for lesson in ["telltale", "masks", "lesson.yaml"] {
        for args in [
            vec!["trace", lesson, "--format", "json"],
            vec!["trace", lesson, "--format", "csv"],
            vec!["trace", lesson, "--format", "npz"],
            vec!["trace", lesson],
            vec!["compare", lesson, "--format", "json", "--variants", "multi-head,fused,flash"],
            vec!["compare", lesson],
        ] {
            let bytes = |name: &str| {
                said(room.path(), &[args.as_slice(), &["-o", name]].concat());
                let bytes = fs::read(room.path().join(name)).unwrap();
                fs::remove_file(room.path().join(name)).unwrap();
                bytes
            };
            assert_eq!(bytes("first"), bytes("second"), "{args:?}");
        }
    }
}
