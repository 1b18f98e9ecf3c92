//! Lessons that say something false, one a kind: `mha lessons validate` names each at its line, and lets the true one pass.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::Output;

use assert_cmd::Command;

/// The 3×4 example with everything that a course can have. Head 1 sees columns 1 and 2 of x, head 2 columns 3 and 4; by
/// hand: x xᵀ in head 1 is [[1, 0, 1], [0, 1, 1], [1, 1, 2]], its score of c with c is 2/√2 = 1.4142, unscaled 2. In head
/// 2 token c is the zero vector, so its row of weights is 1/3 each, which is log2(3) = 1.58 bits.
const TRUE: &str = r#"mha: 1
title: {en: Two heads, zh: 两个头}
tokens: [a, b, c]
topics: [2]
attention: {num_heads: 2}
inputs: {x: [[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]]}
projections: {w_q: identity, w_k: identity, w_v: identity, w_o: identity}
runs:
  one: {variant: single-head}
  unscaled: {mistake: scale-missing}
  wide: {change: {attention: {num_heads: 1}}}
  silent: {zero_head: head.2}
  swapped: {swap_keys: {head: head.1, keys: [1, 2]}}
  both: {from: wide, variant: causal}
story:
  - {at: head.2.weights, say: "Row c has {head.2.weights[3,1]} everywhere."}
course:
  - say: {en: "The score is {head.1.scores[3,3]:2}.", zh: "分数是 {head.1.scores[3,3]:2}。"}
  - show: [head.1.scores, head.1.scores@unscaled]
    as: heatmap
  - ask: {en: "How much of its attention does c give a in head 2?", zh: "在头 2 中，c 给 a 多少注意力？"}
    cell: head.2.weights[3,1]
    wrong:
      - {value: "head.2.weights[1,3]", say: "That is the row of a."}
      - {value: 0.5, say: "There are three tokens."}
    because: "Every score of the row is 0."
  - ask: Which head treats all tokens alike for c?
    choices: [head 1, head 2]
    answer: "1 + rows(head.2.weights)/3"
    wrong: [{choice: 1, say: "Its row c is not uniform.", myth: more-heads}]
  - ask: What is the shape of concat?
    shape: concat
  - table:
      title: Entropy
      columns: [what, one head, two heads]
      rows:
        - [row of c, "= entropy(head.1.weights[3]@one)", "= entropy(head.2.weights[3])"]
        - [cited, 5.00, 4.92]
      source: Vaswani et al. 2017, Table 3 (A)
  - plot:
      title: A sharper row
      x: {label: scale, values: [0.5, 1, 2], log: true}
      change: {attention: {scale: $}}
      lines: [{label: row of c, value: "entropy(head.1.weights[3])"}]
  - command: mha params --d-model 512 --num-heads 8
    lines: [1, 4]
  - time: {title: Both ways, runs: [{label: two heads}, {label: one head, run: one}]}
  - task: Let c give itself more than nine tenths in head 1.
    change: [attention.scale]
    checks: ["head.1.weights[3,3] > 0.9"]
    watch: head.1.weights
    solution: {attention: {scale: 5}}
    hints: [A larger scale makes softmax sharper.]
claims:
  - {step: head.2.weights, row: 3, equals: [0.3333, 0.3333, 0.3333]}
  - {step: head.1.scores@unscaled, row: 3, column: 3, equals: 2}
  - that: "entropy(head.2.weights[3]) = 1.58 and entropy(head.1.weights[3]@wide) < 1.58"
  - that: max(abs(head.2.output@silent)) = 0 and head.1.weights[3,1]@swapped = head.1.weights[3,2]
  - that: hidden(head.1.masked_scores@both) = 3 and rows(weights) = 6
  - that: count("--d-model 512 --num-heads 8 --bias", "total_parameters") = 1050624
quiz:
  - ask: How many rows has x?
    value: rows(x)
"#;

fn validate(text: &str) -> (Output, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lesson.yaml");
    std::fs::write(&path, text).unwrap();
    validate_file(&path)
}

fn validate_file(path: &Path) -> (Output, String) {
    let output = Command::cargo_bin("mha")
        .unwrap()
        .args(["lessons", "validate", "lesson.yaml", "--lang", "en", "--width", "200"])
        .current_dir(path.parent().unwrap())
        .output()
        .unwrap();
    let said = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    (output, String::from_utf8(said).unwrap())
}

#[test]
fn the_true_lesson_passes_and_is_counted() {
    let (output, said) = validate(TRUE);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(
        said,
        "✓ lesson.yaml: 6 claims true, 4 answers computed, 2 sentences told, 6 runs, 1 table, 1 plot, 1 task, 1 command\n"
    );
}

/// What is exchanged for what, what is said then, and the exit status: 1 where the lesson is false, 2 where it cannot be
/// read. The place is that of the first line that was changed.
#[test]
fn a_false_lesson_is_caught_at_its_line() {
    let cases: &[(&str, &str, &str, i32)] = &[
        // what is claimed
        ("equals: [0.3333, 0.3333, 0.3333]", "equals: [0.3333, 0.3333, 0.4]", "= 0.4, but it is 0.333", 1),
        ("equals: 2}", "equals: 3}", "head.1.scores[3,3] = 3, but it is 2", 1),
        ("< 1.58\"", "> 1.58\"", "entropy(head.1.weights[3]@wide)", 1),
        (" = 1050624", " = 1050625", "1050624", 1),
        ("that: count(\"--d-model 512", "that: count(\"--d-modal 512", "--d-modal", 1),
        (
            "--bias\", \"total_parameters\")",
            "--help\", \"total_parameters\")",
            "a page of help counts nothing",
            1,
        ),
        (
            "--bias\", \"total_parameters\")",
            "--bias\", \"totals\")",
            "counts no totals; numbers are mha, total_parameters",
            1,
        ),
        (
            "{step: head.1.scores@unscaled, row: 3, column: 3",
            "{step: head.1.scores@unscaled, row: 4, column: 3",
            "no cell [4,3]",
            1,
        ),
        // what is told
        ("{head.2.weights[3,1]} everywhere", "{head.2.weights[4,1]} everywhere", "head.2.weights", 1),
        (
            "zh: \"分数是 {head.1.scores[3,3]:2}。\"",
            "zh: \"分数是 {head.3.scores[3,3]:2}。\"",
            "head.3.scores",
            1,
        ),
        (
            "The score is {head.1.scores[3,3]:2}",
            "The score is {head.1.scores[3,3]@twice:2}",
            "no run called twice",
            1,
        ),
        // what is shown
        (
            "show: [head.1.scores, head.1.scores@unscaled]",
            "show: [head.1.scores, head.1.scores@scaled]",
            "no run called scaled",
            1,
        ),
        (
            "show: [head.1.scores, head.1.scores@unscaled]",
            "show: [head.1.scores, head.2.scores@wide]",
            "the run wide has no step head.2.scores",
            1,
        ),
        ("as: heatmap", "as: picture", "course[2].as is \"picture\"", 2),
        // what is asked
        (
            "cell: head.2.weights[3,1]\n",
            "cell: head.2.weights[3,4]\n",
            "there is no cell head.2.weights[3,4]",
            1,
        ),
        ("value: \"head.2.weights[1,3]\"", "value: \"head.2.weights[3,3]\"", "is the right answer", 1),
        ("value: 0.5,", "value: \"1/3\",", "is the right answer", 1),
        ("{choice: 1, say: \"Its row", "{choice: 2, say: \"Its row", "is the right answer", 1),
        ("{choice: 1, say: \"Its row", "{choice: 3, say: \"Its row", "must be between 1 and 2", 2),
        ("myth: more-heads", "myth: more-head", "did you mean more-heads?", 2),
        ("{value: 0.5,", "{mistake: no-such-mistake,", "no mistake is called no-such-mistake", 1),
        ("{value: 0.5,", "{mistake: rope-not-rotated,", "rope-not-rotated", 1),
        ("rows(head.2.weights)/3\"", "rows(head.2.weights)\"", "the right choice comes to 4", 1),
        ("shape: concat", "shape: biased", "is not the name of a step", 2),
        ("shape: concat", "shape: head.3.scores", "head.3.scores", 1),
        ("value: rows(x)\n", "value: head.1.weights\n", "is 3 × 3", 1),
        (
            "    value: rows(x)\n",
            "    value: rows(x)\n  - {ask: How many rows has x?, value: rows(x)}\n",
            "quiz[2] is called 7001f91c, as quiz[1] is",
            1,
        ),
        // tables, plots, times
        (
            "\"= entropy(head.1.weights[3]@one)\"",
            "\"= entropy(head.1.weights[9]@one)\"",
            "cannot be computed",
            1,
        ),
        (
            "\"= entropy(head.1.weights[3]@one)\"",
            "\"= entropee(head.1.weights[3]@one)\"",
            "did you mean entropy?",
            2,
        ),
        ("[cited, 5.00, 4.92]", "[cited, 5.00]", "has 2 cells, but there are 3 columns", 2),
        ("change: {attention: {scale: $}}", "change: {attention: {num_heads: $*3}}", "where scale is 0.5", 1),
        ("values: [0.5, 1, 2]", "values: [0.5, 2, 1]", "does not increase", 2),
        (
            "{label: row of c, value: \"entropy(head.1.weights[3])\"}",
            "{label: row of c, value: \"head.1.weights[3]\"}",
            "no finite number",
            1,
        ),
        ("{label: one head, run: one}", "{label: one head, run: none}", "no run called none", 1),
        // commands
        (
            "mha params --d-model 512 --num-heads 8\n",
            "mha params --d-model 512 --num-heads 7\n",
            "cannot be run",
            1,
        ),
        (
            "mha params --d-model 512 --num-heads 8\n",
            "mha learn two-heads\n",
            "a lesson does not show mha learn",
            1,
        ),
        (
            "mha params --d-model 512 --num-heads 8\n",
            "mha trace --output x\n",
            "a lesson's command has --output",
            1,
        ),
        ("mha params --d-model 512 --num-heads 8\n", "rm -rf x\n", "no command of mha", 2),
        ("lines: [1, 4]", "lines: [1, 4000]", "lines 1 to 4000 are to be shown", 1),
        // tasks
        (
            "checks: [\"head.1.weights[3,3] > 0.9\"]",
            "checks: [\"head.1.weights[3,3] > 0.4\"]",
            "solved before anything is changed",
            1,
        ),
        (
            "checks: [\"head.1.weights[3,3] > 0.9\"]",
            "checks: [\"head.1.weights[3,3]\"]",
            "compares nothing",
            1,
        ),
        (
            "solution: {attention: {scale: 5}}",
            "solution: {attention: {scale: 0.8}}",
            "the solution does not reach head.1.weights[3,3] > 0.9",
            1,
        ),
        (
            "solution: {attention: {scale: 5}}",
            "solution: {attention: {scale: 5, num_heads: 2}}",
            "changes attention.num_heads",
            1,
        ),
        ("solution: {attention: {scale: 5}}", "solution: {attention: {scale: 0}}", "attention.scale is 0", 1),
        ("change: [attention.scale]", "change: [atention.scale]", "did you mean attention?", 2),
        // runs
        ("one: {variant: single-head}", "one: {variant: single-hed}", "did you mean single-head?", 2),
        (
            "unscaled: {mistake: scale-missing}",
            "unscaled: {mistake: scale-mising}",
            "did you mean scale-missing?",
            1,
        ),
        (
            "wide: {change: {attention: {num_heads: 1}}}",
            "wide: {change: {attention: {num_heads: 3}}}",
            "the run wide cannot be computed",
            1,
        ),
        (
            "wide: {change: {attention: {num_heads: 1}}}",
            "wide: {change: {attention: {num_hats: 1}}}",
            "num_hats",
            1,
        ),
        ("wide: {change: {attention: {num_heads: 1}}}", "wide: {change: {story: []}}", "has no key story", 2),
        (
            "wide: {change: {attention: {num_heads: 1}}}",
            "wide: {from: later}",
            "which is no run that stands above",
            2,
        ),
        (
            "wide: {change: {attention: {num_heads: 1}}}",
            "wide: {rewrites: [{mistake: scale-missing}, {variant: mqa}]}",
            "that it would undo",
            1,
        ),
        ("wide: {change: {attention: {num_heads: 1}}}", "wide: {}", "changes nothing", 2),
        // keys
        ("topics: [2]", "topics: [17]", "must be between 1 and 16", 2),
        ("  - table:\n", "  - tabel:\n", "did you mean table?", 2),
        (
            "  - ask: What is the shape of concat?\n",
            "  - ask: What is the shape of concat?\n    say: more\n",
            "is say and ask at once",
            2,
        ),
        ("    hints: [A larger", "    hint: [A larger", "did you mean hints?", 2),
        ("    because: \"Every score", "    id: x\n    because: \"Every score", "", 0),
        ("    shape: concat\n", "    shape: concat\n    id: \"two words\"\n", "needs a word", 2),
    ];
    let mut missed = Vec::new();
    for (from, to, said, status) in cases {
        assert_eq!(TRUE.matches(from).count(), 1, "{from} stands once in the true lesson");
        let text = TRUE.replacen(from, to, 1);
        let (output, told) = validate(&text);
        let line = TRUE[..TRUE.find(from).unwrap()].matches('\n').count() + 1;
        // what is exchanged may begin with the line before
        let places = [line, line + 1].map(|line| format!("lesson.yaml:{line}:"));
        let is_placed = *status == 0 || places.iter().any(|place| told.contains(place));
        if output.status.code() != Some(*status) || !told.contains(said) || !is_placed {
            missed.push(format!("{to}: status {status}, line {line}, {said}\n{told}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// Claims, texts and tasks are judged by what they say, not by where they stand: everything false is told at once.
#[test]
fn everything_false_is_told_at_once() {
    let text = TRUE
        .replacen("equals: 2}", "equals: 3}", 1)
        .replacen("lines: [1, 4]", "lines: [1, 4000]", 1)
        .replacen("solution: {attention: {scale: 5}}", "solution: {attention: {scale: 0.8}}", 1);
    let (output, told) = validate(&text);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(told.matches("error: ").count(), 3, "{told}");
}

#[test]
fn answers_are_listed_for_a_teacher() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lesson.yaml");
    std::fs::write(&path, TRUE).unwrap();
    let output = Command::cargo_bin("mha")
        .unwrap()
        .args(["lessons", "validate", "--verbose", "--lang", "en", path.to_str().unwrap()])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    for line in [
        "How much of its attention does c give a in head 2? 0.3333333333333333",
        "Which head treats all tokens alike for c? head 2",
        "What is the shape of concat? 3 × 4",
        "How many rows has x? 3",
    ] {
        assert!(said.contains(line), "{line}\n{said}");
    }
}

/// A trace has the lesson's own numbers only; what its story says of runs is computed beside it. Unscaled, c resembles
/// itself by 2.
#[test]
fn a_trace_tells_what_its_story_says_of_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lesson.yaml");
    let told =
        "Row c has {head.1.scores[3,3]@unscaled} for {head.1.scores[3,3]:2} and {parameters(@one)} numbers.";
    let text = TRUE.replacen("Row c has {head.2.weights[3,1]} everywhere.", told, 1);
    std::fs::write(&path, text).unwrap();
    let output = Command::cargo_bin("mha")
        .unwrap()
        .args(["trace", "--lang", "en", "--steps", "head.2.weights", path.to_str().unwrap()])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("Row c has 2 for 1.41 and 64 numbers."), "{said}");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}
