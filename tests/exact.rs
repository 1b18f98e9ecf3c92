//! `mha trace --exact`: what it writes, that it is true, and that it ends.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

use std::path::Path;
use std::sync::Arc;

use mha::exact::Exact;
use mha::ops::{Arithmetic, Given, Scale, ScoresInHalf};
use mha::plan::{Attention, Call, Head, HeadStep, Inputs, Name, Plan, Projection, StepId, attention};
use mha::trace::{Keep, Trace, run_plan};
use nalgebra::DMatrix;

#[path = "common/run.rs"]
#[expect(dead_code, reason = "no shell is needed here")]
mod run;

fn traced(call: &Call) -> Trace<f64> {
    let plan = attention::plan(call).unwrap();
    run_plan(Arc::new(plan), &call.inputs, &Keep::All, Arithmetic::Ordered).unwrap()
}

/// The worked example: three tokens, two heads, all projections the identity.
fn article() -> Call {
    let x = DMatrix::from_row_slice(3, 4, &[1., 0., 1., 0., 0., 1., 0., 1., 1., 1., 0., 0.]);
    let mut inputs = Inputs::new();
    inputs.insert(Name::X.into(), Arc::new(x));
    for projection in Projection::ALL {
        inputs.insert(Name::W(projection).into(), Arc::new(DMatrix::identity(4, 4)));
    }
    Call {
        attention: Attention::multi_head(4, 2),
        layers: None,
        batch: None,
        inputs,
        elsewhere: mha::plan::Shapes::new(),
    }
}

/// All cells of a step as they are written.
fn written(exact: &Exact, id: StepId, rows: usize, columns: usize) -> Vec<Vec<String>> {
    let text = |r, c| exact.form(id, r, c).unwrap_or_else(|| panic!("{:?}", exact.why_not(id))).to_string();
    (0..rows).map(|r| (0..columns).map(|c| text(r, c)).collect()).collect()
}

/// The article's own table, with a = e^(1/√2): head 1 has the scores [[1,0,1],[0,1,1],[1,1,2]]/√2 and the weights
/// a/(2a + 1), 1/(2a + 1) and, in row 3, 1/(a + 2), a/(a + 2); row 3 of head 2 sees nothing but zeros.
#[test]
fn the_worked_example_is_written_as_its_readers_write_it() {
    let exact = Exact::of(&traced(&article()));
    let of = |head, step| written(&exact, Head(head).step(step), 3, 3);

    assert_eq!(
        of(0, HeadStep::Scores),
        [["1/√2", "0", "1/√2"], ["0", "1/√2", "1/√2"], ["1/√2", "1/√2", "2/√2"]]
    );
    let [a, one] = ["e^(1/√2)/(2e^(1/√2) + 1)", "1/(2e^(1/√2) + 1)"];
    let [most, rest] = ["e^(1/√2)/(e^(1/√2) + 2)", "1/(e^(1/√2) + 2)"];
    assert_eq!(of(0, HeadStep::Weights), [[a, one, a], [one, a, a], [rest, rest, most]]);
    assert_eq!(of(1, HeadStep::Weights), [[most, rest, rest], [rest, most, rest], ["1/3"; 3]]);
    // Row 1 of head 1's output: a/(2a + 1) · [1, 0] + 1/(2a + 1) · [0, 1] + a/(2a + 1) · [1, 1]
    assert_eq!(
        written(&exact, Head(0).step(HeadStep::Output), 1, 2)[0],
        ["2e^(1/√2)/(2e^(1/√2) + 1)", "(e^(1/√2) + 1)/(2e^(1/√2) + 1)"]
    );
    let latex = |step, r, c| exact.form(Head(0).step(step), r, c).unwrap().latex();
    assert_eq!(latex(HeadStep::Scores, 2, 2), r"\frac{2}{\sqrt{2}}");
    assert_eq!(latex(HeadStep::Weights, 0, 0), r"\frac{e^{1/\sqrt{2}}}{2e^{1/\sqrt{2}}+1}");
}

/// tests/reference/article: scores, weights and outputs by 50-digit arithmetic.
#[test]
fn the_worked_example_has_the_values_of_an_outside_witness() {
    let exact = Exact::of(&traced(&article()));
    let text = std::fs::read_to_string("tests/reference/article/article.json").unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut compared = 0;
    for (name, rows) in json["twenty_digits"].as_object().unwrap() {
        let Ok(id) = name.parse::<StepId>() else { continue };
        for (r, row) in rows.as_array().into_iter().flatten().enumerate() {
            for (c, digits) in row.as_array().unwrap().iter().enumerate() {
                let want: f64 = digits.as_str().unwrap().parse().unwrap();
                let value = exact.number(id, r, c).unwrap().value();
                assert!((value - want).abs() <= 1e-15, "{name}[{r},{c}]: {value} is not {want}");
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 2 * (9 + 9 + 6)); // two heads' scores, weights and outputs
}

/// A lesson with `attention` and x of n × d whose numbers come from `number`; projections are x's own first rows.
fn lesson(n: usize, d: usize, attention: &str, number: impl Fn(usize) -> String) -> String {
    let matrix = |rows: usize, from: usize| {
        let row = |r: usize| (0..d).map(|c| number(from + r * d + c)).collect::<Vec<_>>().join(", ");
        (0..rows).map(|r| format!("[{}]", row(r))).collect::<Vec<_>>().join(", ")
    };
    format!(
        "mha: 1\nattention: {{d_model: {d}, {attention}}}\ninputs: {{x: [{}]}}\nprojections: {{w_q: [{}], w_k: [{}], w_v: \
         identity, w_o: identity}}\n",
        matrix(n, 0),
        matrix(d, 1),
        matrix(d, 2)
    )
}

fn page(lesson: &str, arguments: &[&str]) -> String {
    let mut command = run::mha(Path::new("."));
    command.args(["trace", "-", "--exact"]).args(arguments).write_stdin(lesson);
    let run = run::ended(&mut command);
    assert_eq!(run.status, Some(0), "{}", run.err);
    run.out
}

/// The page on one line, so that a sentence can be looked for wherever it breaks.
fn flat(page: &str) -> String {
    page.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The runner stops anything that takes more than 20 seconds.
#[test]
fn what_is_too_much_ends_and_says_why() {
    #[track_caller]
    fn case(lesson: &str, telling: &str) {
        let page = flat(&page(lesson, &[]));
        assert!(page.contains(telling), "{telling} is not in {page}");
    }
    let large = lesson(60, 32, "num_heads: 4", |at| (at * 7 % 5).to_string());
    case(&large, "sums and products, and they are for small problems.");
    // 15 digits each: their products have 30.
    let fine = lesson(4, 2, "num_heads: 1", |at| format!("0.12345678901{:04}", 1001 + at * 2));
    case(&fine, "q would need fractions or roots of more than 18 digits.");
    let longer = lesson(4, 2, "num_heads: 1", |at| format!("0.1234567890123{:03}", 101 + at * 2));
    case(&longer, "x holds 0.1234567890123101, which has more than 15 digits.");
    let huge = lesson(2, 2, "num_heads: 1", |at| if at == 0 { "1.0e+30".into() } else { "1".into() });
    case(&huge, "x holds 1e30, which is too large to be written out.");
    // Scores of 10⁶ and more: e to such powers is only written, never taken.
    let hot = lesson(2, 2, "num_heads: 1", |at| (1000 + at).to_string());
    assert!(page(&hot, &["--steps", "head.1.weights"]).contains("e^"));
}

#[test]
fn a_step_without_exact_form_says_why_and_so_do_those_made_from_it() {
    let rope = lesson(3, 2, "num_heads: 1, positions: rope", |at| (at % 2).to_string());
    let page = flat(&page(&rope, &[]));
    assert!(
        page.contains("Decimals: head.1.q_rot turns by 1 radian, and cos 1 has no exact form."),
        "{page}"
    );
    assert!(
        page.contains("Decimals: head.1.weights is made from head.1.q_rot, which has no exact form."),
        "{page}"
    );
}

/// (a + 1)/(2a + 1) takes 30 characters, as a = e^(1/√2) takes 8; a row name, lines and blanks take 8 of a page's 30.
#[test]
fn a_page_too_narrow_for_an_exact_cell_shows_decimals_and_says_so() {
    let narrow =
        run::run(Path::new("."), &["trace", "--exact", "--width", "30", "--steps", "head.1.output"]).out;
    assert!(flat(&narrow).contains("takes 30 characters, and this page has room for 22."), "{narrow}");
    assert!(narrow.contains("0.8022") && !narrow.contains("e^"), "{narrow}");
}

#[test]
fn json_has_exact_forms_beside_the_numbers_or_the_reason() {
    let rope = lesson(2, 2, "num_heads: 1, positions: rope", |at| (at % 2).to_string());
    let json: serde_json::Value = serde_json::from_str(&page(&rope, &["--format", "json"])).unwrap();
    let step =
        |id: &str| json["steps"].as_array().unwrap().iter().find(|step| step["id"] == id).unwrap().clone();
    // x = [[0, 1], [0, 1]]
    assert_eq!(step("x")["exact"], serde_json::json!([["0", "1"], ["0", "1"]]));
    assert_eq!(step("head.1.q_rot")["exact"], serde_json::Value::Null);
    assert_eq!(
        step("head.1.q_rot")["not_exact"],
        "head.1.q_rot turns by 1 radian, and cos 1 has no exact form"
    );
    let plain = run::run(Path::new("."), &["trace", "--format", "json"]);
    assert!(!plain.out.contains("exact"), "only where it was asked for");
}

#[test]
fn rounding_to_half_precision_has_no_exact_form() {
    let (q, k) = (Head(0).step(HeadStep::Q), Head(0).step(HeadStep::K));
    let scores = Head(0).step(HeadStep::Scores);
    let mut plan = Plan::default();
    let mut inputs = Inputs::new();
    for (id, number) in [(q, 1.0), (k, 3.0)] {
        inputs.insert(id, Arc::new(DMatrix::from_element(1, 1, number)));
        plan.add(id, Given { shape: (1, 1) }, &[]).unwrap();
    }
    plan.add(scores, ScoresInHalf { scale: Scale::RootOfDk, d_k: 4 }, &[q, k]).unwrap();
    let trace = run_plan(Arc::new(plan), &inputs, &Keep::All, Arithmetic::Ordered).unwrap();
    let exact = Exact::of(&trace);
    assert_eq!(written(&exact, q, 1, 1), [["1"]]);
    let why = exact.why_not(scores).unwrap().to_string();
    assert!(why.ends_with("rounds to half precision, which has no exact form"), "{why}");
}

#[test]
fn formats_of_bare_numbers_refuse_exact_forms() {
    for arguments in [["--format", "csv"], ["--format", "npz"], ["--summary", "--quiet"]] {
        let run = run::run(Path::new("."), &[&["trace", "--exact"], arguments.as_slice()].concat());
        assert_eq!(run.status, Some(2));
        assert!(
            run.err.contains("cannot show exact forms") && run.err.contains("--> --exact"),
            "{}",
            run.err
        );
        assert!(run.out.is_empty());
    }
}

#[test]
fn ascii_pages_spell_roots_and_columns_turn_forms_with_their_numbers() {
    let spelled = run::run(Path::new("."), &["trace", "--exact", "--ascii", "--layout", "columns"]).out;
    assert!(spelled.is_ascii());
    assert!(spelled.contains("e^(1/sqrt(2))/(2e^(1/sqrt(2)) + 1)"), "{spelled}");
    // Head 1's output has 3 rows of 2: turned, row 1 of the page is column 1, which begins 2a/(2a + 1), (a + 1)/(2a + 1).
    let arguments = ["trace", "--exact", "--layout", "columns", "--steps", "head.1.output", "--width", "200"];
    let turned = run::run(Path::new("."), &arguments).out;
    let row: Vec<&str> =
        turned.lines().find(|line| line.starts_with("│ 1 ")).unwrap().split(['│', '┆']).collect();
    assert_eq!(row[2].trim(), "2e^(1/√2)/(2e^(1/√2) + 1)");
    assert_eq!(row[3].trim(), "(e^(1/√2) + 1)/(2e^(1/√2) + 1)");
}

#[test]
fn precision_is_for_decimals_only() {
    let page =
        |digits: &str| run::run(Path::new("."), &["trace", "--exact", "--quiet", "--precision", digits]).out;
    assert_eq!(page("1"), page("9"));
}
