//! `mha worksheet` from outside: sheets, keys, and sheets that were filled in.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

use std::fs;
use std::path::Path;

use serde_json::Value;

#[path = "common/latex.rs"]
mod latex;
#[path = "common/run.rs"]
#[expect(dead_code, reason = "no shell is needed here")]
mod run;

#[track_caller]
fn said(folder: &Path, args: &[&str]) -> String {
    let run = run::run(folder, args);
    assert_eq!((run.status, run.err.as_str()), (Some(0), ""), "mha {}", args.join(" "));
    run.out
}

#[track_caller]
fn refused(args: &[&str], message: &str) {
    let run = run::run(Path::new("."), args);
    assert_eq!(run.status, Some(2), "mha {}", args.join(" "));
    assert!(run.out.is_empty() && run.err.contains(message), "mha {}: {}", args.join(" "), run.err);
}

/// Seed 7, computed by hand in src/course/worksheet/draw_tests.rs: head 2 scores a against the three keys 2, −6 and −2
/// over √2, and gives them 0.9411, 0.0033 and 0.0556.
#[test]
fn a_sheet_prints_the_scores_and_its_key_the_weights() {
    let sheet = said(Path::new("."), &["worksheet", "--random", "--seed", "7", "--format", "markdown"]);
    let (before, weights) = sheet.split_once("`head.2.weights`").unwrap();
    assert!(before.ends_with(
        "| a | 1.41 | -4.24 | -1.41 |\n| b | -1.41 | 4.24 | 1.41 |\n| c | 1.41 | -1.41 | 0.00 |\n\n## 13. "
    ));
    assert!(weights.contains("\n| a | &emsp;&emsp;&emsp; | &emsp;&emsp;&emsp; | &emsp;&emsp;&emsp; |\n"));
    assert!(sheet.contains("Name: \\_") && !sheet.contains("0.94"), "{sheet}");
    let key = said(Path::new("."), &["worksheet", "random:7", "--key", "--format", "markdown"]);
    let weights = key.split_once("`head.2.weights`").unwrap().1;
    assert!(weights.contains("\n| a | 0.94 | 0.00 | 0.06 |\n"), "{key}");
    // e^(1.41 − 1.41) and so on: the arithmetic of the first cell
    assert!(weights.contains("head.2.weights\\[1,1\\] = e^(scores\\[1,1\\] − m) / "), "{key}");
    assert!(key.starts_with("# Answer key: ") && !key.contains("Name: "), "{key}");
}

#[test]
fn what_is_blank_is_chosen() {
    let blanks = |which: &str| {
        let args = ["worksheet", "random:7", "--blanks", which, "--format", "html"];
        said(Path::new("."), &args).matches("<td class=\"blank\">").count()
    };
    // Two heads: 9 weights and 6 outputs each; concat and output 12 each.
    assert_eq!(blanks("last-steps"), 2 * (9 + 6) + 24);
    // And q, k, v with 12 each, and 9 scores a head.
    assert_eq!(blanks("all"), 2 * (9 + 6) + 24 + 36 + 18);
    assert_eq!(blanks("none"), 0);
}

#[test]
fn a_drawn_exercise_is_a_lesson_for_every_verb() {
    let name = "random:seed=3,d-model=8,heads=4,tokens=5,mask=causal,exercise=2";
    let args =
        ["--random", "--seed", "3", "--d-model", "8", "--heads", "4", "--tokens", "5", "--mask", "causal"];
    let two = said(Path::new("."), &[&["worksheet", "--count", "2", "--quiet"], &args[..]].concat());
    let one = said(Path::new("."), &["worksheet", name, "--quiet"]);
    assert!(two.ends_with(&format!("\n{one}")), "{two}\n{one}");
    for verb in [&["trace"][..], &["compare"], &["lessons", "validate"], &["trace", "--format", "python"]] {
        said(Path::new("."), &[verb, &[name]].concat());
    }
    // The same in another order of the same words, and with defaults left out.
    let trace = |name: &str| said(Path::new("."), &["trace", name, "--format", "json"]);
    assert_eq!(trace("random:7"), trace("random:exercise=1,tokens=3,seed=7"));
    assert_ne!(trace("random:7"), trace("random:7/2"));
}

/// Every number of the key is that of the trace to two decimals.
#[test]
fn the_key_agrees_with_the_trace() {
    for seed in 0..6 {
        let name = format!("random:{seed},mask={}", if seed % 2 == 0 { "none" } else { "causal" });
        let trace: Value =
            serde_json::from_str(&said(Path::new("."), &["trace", &name, "--format", "json"])).unwrap();
        let args = ["worksheet", &name, "--key", "--blanks", "all", "--format", "yaml"];
        let key: serde_yaml::Value = serde_yaml::from_str(&said(Path::new("."), &args)).unwrap();
        let mut compared = 0;
        for (step, rows) in key.as_mapping().unwrap() {
            let same = |other: &&Value| other["id"].as_str() == step.as_str();
            let right = &trace["steps"].as_array().unwrap().iter().find(same).unwrap()["value"];
            for (r, row) in rows.as_sequence().unwrap().iter().enumerate() {
                for (c, number) in row.as_sequence().unwrap().iter().enumerate() {
                    let right = right[r][c].as_f64().unwrap_or(f64::NEG_INFINITY); // "-Infinity"
                    let number = number.as_f64().unwrap();
                    assert!(right == number || (right - number).abs() <= 0.005 + 1e-12, "{name} {step:?}");
                    compared += 1;
                }
            }
        }
        assert!(compared >= 2 * (9 + 9 + 6) + 24 + 36, "{name}: {compared}");
    }
}

/// One number that is wrong by far is found where it stands; the rest of the sheet is right.
#[test]
fn a_sheet_filled_in_from_the_key_is_right_and_one_wrong_number_is_found() {
    let room = tempfile::tempdir().unwrap();
    for (seed, format) in [(1, "yaml"), (2, "csv"), (3, "yaml"), (4, "csv")] {
        let name = format!("random:{seed},tokens=4");
        let file = format!("sheet.{format}");
        let key = said(room.path(), &["worksheet", &name, "--key", "--format", format]);
        fs::write(room.path().join(&file), &key).unwrap();
        let graded = said(room.path(), &["check", &name, &file]);
        assert!(graded.contains("Right: all 4 steps"), "{graded}");
        let wrong = match format {
            "yaml" => {
                let (before, after) = key.split_once("\nhead.2.weights:\n- [").unwrap();
                let after = after.split_once(',').unwrap().1;
                format!("{before}\nhead.2.weights:\n- [7.25,{after}")
            }
            _ => {
                let line = key.lines().find(|line| line.starts_with("head.2.weights,1,1,")).unwrap();
                key.replace(line, "head.2.weights,1,1,a,a,7.25")
            }
        };
        fs::write(room.path().join(&file), wrong).unwrap();
        let run = run::run(room.path(), &["check", &name, &file, "--format", "json"]);
        assert_eq!(run.status, Some(1), "{}", run.err);
        let report: Value = serde_json::from_str(&run.out).unwrap();
        assert_eq!(report["first_wrong"]["step"], "weights");
        assert_eq!(report["first_wrong"]["index"], serde_json::json!([2, 1, 1]), "{name}");
    }
}

/// Exercise 1 of seed 7, head 2: the weights of b are e^(−8/√2), 1 and e^(−4/√2) over 1.0626, the mirror image of those of a.
#[test]
fn a_sheet_may_be_filled_in_little_by_little() {
    let room = tempfile::tempdir().unwrap();
    let sheet = said(room.path(), &["worksheet", "random:7", "--format", "yaml", "--output", "mine.yaml"]);
    assert!(sheet.is_empty());
    let empty = run::run(room.path(), &["check", "random:7", "mine.yaml"]);
    assert!(empty.status == Some(2) && empty.err.contains("nothing is filled in"), "{}", empty.err);
    let sheet = fs::read_to_string(room.path().join("mine.yaml")).unwrap();
    let graded = |row: &str| {
        let filled = sheet.replacen("head.2.weights:\n- [_, _, _]  # a\n- [_, _, _]", row, 1);
        assert_ne!(filled, sheet);
        fs::write(room.path().join("part.yaml"), filled).unwrap();
        run::run(room.path(), &["check", "random:7", "part.yaml"])
    };
    let right = graded("head.2.weights:\n- [_, _, _]\n- [0.00, 0.94, ~]");
    assert_eq!(right.status, Some(0), "{}{}", right.out, right.err);
    assert!(right.out.contains("16 of the 18 numbers of weights are left blank"), "{}", right.out);
    assert!(right.out.contains("0 of 2 "), "{}", right.out);
    // Half of it is wrong; nobody concludes from two numbers that two mistakes were made at once.
    let wrong = graded("head.2.weights:\n- [_, _, _]\n- [0.00, 0.59, _]");
    assert_eq!(wrong.status, Some(1), "{}{}", wrong.out, wrong.err);
    assert!(wrong.out.contains("Only in row 2, column 2 of head 2"), "{}", wrong.out);
    assert!(!wrong.out.contains("Two mistakes"), "{}", wrong.out);
}

/// Exercise 2 of seed 7: in head 1 the query of c is (0, 1), the keys are (2, 1), (1, 1), (0, 0), so its scores are 1, 1, 0 over
/// √2, and the weights 2.0281, 2.0281 and 1 over 5.0562: 0.4011, 0.4011, 0.1978. Beside blanks 0.4 is 0.40; 0.3 is wrong.
#[test]
fn a_few_short_numbers_are_judged_as_two_decimals() {
    let room = tempfile::tempdir().unwrap();
    let graded = |row: &str| {
        let rest = "[_, _, _]";
        let text = format!("weights:\n- [{rest}, {rest}, {row}]\n- [{rest}, {rest}, {rest}]\n");
        fs::write(room.path().join("mine.yaml"), text).unwrap();
        run::run(room.path(), &["check", "random:7/2", "mine.yaml"])
    };
    let right = graded("[0.4, 0.40, 0.2]");
    assert!(right.status == Some(0) && right.out.contains("2 decimals"), "{}{}", right.out, right.err);
    assert_eq!(graded("[0.4, 0.3, 0.2]").status, Some(1));
}

/// Scores without their scale: 2, −6 and −2 in row a of head 2. Half a sheet is enough to give the mistake a name.
#[test]
fn a_known_mistake_is_named_on_a_sheet_with_blanks() {
    let room = tempfile::tempdir().unwrap();
    let sheet = "head.1.scores:\n- [1, 1, -4]\n- [_, _, _]\n- [3, _, _]\n\
                 head.2.scores:\n- [2, -6, -2]\n- [-2, 6, 2]\n- [_, _, _]\noutput:\n";
    fs::write(room.path().join("mine.yaml"), sheet).unwrap();
    let run = run::run(room.path(), &["check", "random:7", "mine.yaml"]);
    assert_eq!(run.status, Some(1), "{}", run.err);
    assert!(run.out.contains("scale-missing"), "{}", run.out);
}

#[test]
fn what_no_sheet_can_be_is_refused_with_its_reason() {
    let random = |more: &[&'static str]| [&["worksheet", "--random"], more].concat();
    refused(&random(&["--tokens", "9"]), "--> --tokens");
    refused(&random(&["--d-model", "17"]), "from 2 to 16 wide");
    refused(&random(&["--d-model", "18446744073709551615"]), "from 2 to 16 wide");
    refused(&random(&["--heads", "3"]), "choose heads from 1, 2");
    refused(&random(&["--count", "0"]), "they count from 1");
    refused(&random(&["--count", "101"]), "up to 100");
    refused(&random(&["--count", "2", "--format", "yaml"]), "holds one exercise");
    refused(&random(&["--blanks", "none", "--format", "csv"]), "no blanks");
    refused(&["worksheet", "two-heads", "--random"], "cannot be used with");
    refused(&["worksheet", "--seed", "7"], "--random");
    refused(&["worksheet", "random:7,sede=8"], "did you mean seed?");
    refused(&["trace", "random:7/0"], "no exercise 0");
    let room = tempfile::tempdir().unwrap();
    let wide = "{attention: {d_model: 17, num_heads: 1}, inputs: {x: {random: {seed: 1, shape: [2, 17]}}}, projections: {w_q: identity, w_k: identity, w_v: identity, w_o: identity}}";
    fs::write(room.path().join("wide.yaml"), wide).unwrap();
    let run = run::run(room.path(), &["worksheet", "wide.yaml"]);
    assert!(run.status == Some(2) && run.err.contains("x is 2 × 17, too large"), "{}", run.err);
}

#[test]
fn every_lesson_that_fits_makes_a_sheet_in_every_format() {
    let names = said(Path::new("."), &["lessons", "--ascii", "--width", "200"]);
    let names: Vec<&str> =
        names.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next()).collect();
    let mut made = 0;
    for lesson in names.iter().filter(|name| **name != "lesson") {
        for format in ["table", "markdown", "latex", "html", "yaml", "csv"] {
            let run = run::run(Path::new("."), &["worksheet", lesson, "--format", format]);
            assert!(
                run.status == Some(0) || run.err.contains("too large for a sheet"),
                "{lesson}: {}",
                run.err
            );
            made += usize::from(run.status == Some(0));
        }
    }
    assert!(made >= 60, "{made}");
}

/// Everything that has a meaning in Markdown, HTML, TeX, YAML or a spreadsheet.
const HOSTILE: &str = r##"
title: "# <script>alert(1)</script> | $x$ \\input{x} `c` *b* & % ~ ^^5c \e[2J"
tokens: ["a|b", "\\end{document}", "注意力", "=1+1", "\u202Eevil\a\n", "~#%&{}_^", "</td><b>", "# x\n- [1]"]
attention: {d_model: 2, num_heads: 1, mask: causal}
inputs: {x: [[1, 0], [0, 1], [1, 1], [0, 0], [1, 0], [0, 1], [1, 1], [0, 0]]}
projections: {w_q: identity, w_k: identity, w_v: identity, w_o: identity}
"##;

#[test]
fn text_from_a_lesson_stays_text() {
    let room = tempfile::tempdir().unwrap();
    fs::write(room.path().join("lesson.yaml"), HOSTILE).unwrap();
    let page = |format: &str| said(room.path(), &["worksheet", "lesson.yaml", "--format", format]);
    for format in ["table", "markdown", "latex", "html", "yaml", "csv"] {
        let page = page(format);
        assert!(!page.contains(|c: char| c.is_control() && c != '\n'), "{format}: {page}");
        assert!(!page.contains('\u{202e}'), "{format}: {page}");
    }
    let html = page("html");
    assert!(!html.contains("<script") && !html.contains("<b>") && html.contains("&lt;script"), "{html}");
    let markdown = page("markdown");
    assert!(!markdown.contains('<') && markdown.contains("a\\|b"), "{markdown}");
    let latex = page("latex");
    assert_eq!(latex.matches("\\end{document}").count(), 1, "{latex}");
    assert!(!latex.contains("\\input") && !latex.contains("^^"), "{latex}");
    let csv = page("csv");
    assert!(csv.contains(",'=1+1,") && !csv.contains(",=1+1"), "{csv}");
    // What stands in comments of the YAML file stays in them.
    let names: serde_yaml::Value = serde_yaml::from_str(&page("yaml")).unwrap();
    let names: Vec<&str> = names.as_mapping().unwrap().keys().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(names, ["head.1.weights", "head.1.output", "concat", "output"]);
}

#[test]
fn a_sheet_speaks_chinese() {
    let sheet = said(Path::new("."), &["worksheet", "random:7", "--lang", "zh", "--format", "html"]);
    assert!(sheet.contains("<html lang=\"zh\">") && sheet.contains("练习：练习 7-1"), "{sheet}");
    assert!(sheet.contains("姓名") && sheet.contains("小数点后写 2 位"), "{sheet}");
    let ascii = said(Path::new("."), &["worksheet", "masks", "--ascii"]);
    assert!(ascii.is_ascii(), "{ascii}");
}

#[test]
#[ignore = "needs pdflatex: apt-get install texlive-latex-base"]
fn every_sheet_compiles_and_nothing_runs_off_the_page() {
    let room = tempfile::tempdir().unwrap();
    fs::write(room.path().join("lesson.yaml"), HOSTILE).unwrap();
    let large = ["--random", "--d-model", "16", "--heads", "2", "--tokens", "8", "--mask", "causal"];
    for more in [&[][..], &["--key"], &["--blanks", "all"], &["--blanks", "all", "--key", "--precision", "6"]]
    {
        latex::compiles(room.path(), "worksheet", &[&["lesson.yaml"], more].concat());
        latex::compiles(
            room.path(),
            "worksheet",
            &[&["--random", "--seed", "7", "--count", "3"], more].concat(),
        );
        latex::compiles(room.path(), "worksheet", &[&large[..], more].concat());
        latex::compiles(room.path(), "worksheet", &[&["cross-attention"], more].concat());
        latex::compiles(room.path(), "worksheet", &[&["grouped-query", "--lang", "zh"], more].concat());
    }
}
