//! `mha trace --exact`: what it writes, that it is true, and that it ends.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mha::exact::{Exact, Number, Rational};
use mha::ops::Arithmetic;
use mha::plan::spec::{
    Alignment, FullyMaskedRows, Mask, NormScope, Positions, QkNorm, RopeLayout, RopeSpec, Scale, alibi_slopes,
};
use mha::plan::{Attention, Call, Head, HeadStep, Inputs, Name, Projection, StepId, attention};
use mha::trace::{Keep, Trace, run_plan};
use nalgebra::DMatrix;
use proptest::prelude::*;

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
    Call { attention: Attention::multi_head(4, 2), batch: None, inputs }
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

/// What a call is drawn from: sizes, features, and how fine its numbers are.
#[derive(Debug, Clone)]
struct Drawn {
    sizes: [usize; 6],
    biases: bool,
    masks: Vec<u8>,
    positions: u8,
    softcap: bool,
    norm: u8,
    sinks: bool,
    scale: bool,
    meaning: FullyMaskedRows,
    /// Numbers are so many parts of one; 0 for numbers of full length.
    parts: u32,
    seed: u64,
}

prop_compose! {
    /// Small problems; `tame` ones keep to what has exact forms.
    fn drawn(tame: bool)(
        sizes in (1usize..5, 1usize..4, 1usize..3, 1usize..3, 1usize..3, 1usize..3),
        flags in (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
        masks in prop::sample::subsequence(vec![0u8, 1, 2, 3], 0..3), // two added masks would be summed in f64
        choices in (0u8..4, 0u8..3, 0usize..3),
        parts in prop::sample::select(if tame { vec![1, 2, 4, 10] } else { vec![0, 1, 3, 10, 1000, 1 << 20] }),
        seed in any::<u64>(),
    ) -> Drawn {
        let (n, d_model, group, kv_heads, half_d_k, d_v) = sizes;
        let (biases, softcap, sinks, scale) = flags;
        Drawn {
            sizes: [n, d_model, group, kv_heads, 2 * half_d_k, d_v],
            biases, masks, sinks, scale, parts, seed,
            positions: if tame { choices.0 / 2 * 3 } else { choices.0 },
            softcap: softcap && !tame,
            norm: choices.1,
            meaning: [FullyMaskedRows::Zeros, FullyMaskedRows::Uniform, FullyMaskedRows::Nan][choices.2],
        }
    }
}

/// Numbers from −2 to 2, the same from the same seed.
struct Numbers {
    state: u64,
    parts: u32,
}

impl Numbers {
    fn next(&mut self) -> f64 {
        self.state = self.state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let fine = ((self.state >> 11) as f64 / (1u64 << 52) as f64 - 1.0) * 2.0;
        match self.parts {
            0 => fine,
            parts => (fine * f64::from(parts)).round() / f64::from(parts),
        }
    }

    fn matrix(&mut self, rows: usize, columns: usize) -> DMatrix<f64> {
        DMatrix::from_fn(rows, columns, |_, _| self.next())
    }

    fn list(&mut self, length: usize) -> Vec<f64> {
        (0..length).map(|_| self.next()).collect()
    }
}

impl Drawn {
    fn call(&self) -> Call {
        let [n, d_model, group, kv_heads, d_k, d_v] = self.sizes;
        let (h, g) = (group * kv_heads, kv_heads);
        let mut numbers = Numbers { state: self.seed, parts: self.parts };
        let mut inputs = Inputs::new();
        let mut put = |name: Name, value| inputs.insert(StepId::from(name), Arc::new(value));
        put(Name::X, numbers.matrix(n, d_model));
        for (projection, rows, columns) in [
            (Projection::Q, d_model, h * d_k),
            (Projection::K, d_model, g * d_k),
            (Projection::V, d_model, g * d_v),
            (Projection::O, h * d_v, d_model),
        ] {
            put(Name::W(projection), numbers.matrix(rows, columns));
            if self.biases {
                put(Name::B(projection), numbers.matrix(1, columns));
            }
        }
        let mask = |kind: &u8, numbers: &mut Numbers| match kind {
            0 => Mask::Causal(Alignment::BottomRight),
            1 => Mask::Window { left: Some(0), right: None, alignment: Alignment::Offset(1) }, // the last sees nothing
            2 => Mask::Allow((0..h).map(|_| numbers.matrix(n, n).map(|v| v > -0.5)).collect()),
            _ => Mask::Add(vec![numbers.matrix(n, n).map(|v| if v < -1.4 { f64::NEG_INFINITY } else { v })]),
        };
        let rope = |layout, dims| {
            let positions: Vec<f64> = (0..n).map(|p| p as f64).collect();
            Positions::Rope(RopeSpec {
                theta: 100.0,
                layout,
                dims,
                q_positions: positions.clone(),
                k_positions: positions,
            })
        };
        let norm = |scope, q, k, numbers: &mut Numbers| {
            Some(QkNorm { eps: 0.5, q_gain: numbers.list(q), k_gain: numbers.list(k), scope })
        };
        let attention = Attention {
            d_model,
            d_kv_model: d_model,
            num_heads: h,
            num_kv_heads: g,
            d_k,
            d_v,
            scale: if self.scale { Scale::Given(0.75) } else { Scale::RootOfDk },
            masks: self.masks.iter().map(|kind| mask(kind, &mut numbers)).collect(),
            positions: match self.positions {
                0 => Positions::None,
                1 => rope(RopeLayout::HalfSplit, d_k),
                2 => rope(RopeLayout::Interleaved, 2),
                _ => Positions::Alibi { slopes: alibi_slopes(h), alignment: Alignment::BottomRight },
            },
            softcap: self.softcap.then_some(1.5),
            qk_norm: match self.norm {
                0 => None,
                1 => norm(NormScope::Head, d_k, d_k, &mut numbers),
                _ => norm(NormScope::Full, h * d_k, g * d_k, &mut numbers),
            },
            sinks: self.sinks.then(|| numbers.list(h)),
            fully_masked_rows: self.meaning,
        };
        Call { attention, batch: None, inputs }
    }
}

/// Every exact number is the trace's, within 1e-12 of it; what is not shown says why.
#[track_caller]
fn assert_true(trace: &Trace<f64>, exact: &Exact) {
    for (step, value) in trace.steps() {
        for r in 0..value.nrows() {
            for c in 0..value.ncols() {
                let Some(number) = exact.number(step.id, r, c) else { continue };
                let (want, have) = (value[(r, c)], number.value());
                let near = want == have || (want - have).abs() <= 1e-12 * want.abs().max(1.0);
                assert!(near, "{}[{r},{c}] is {want}, but exactly {number:?} = {have}", step.id);
            }
        }
        let shown = exact.form(step.id, 0, 0).is_some();
        assert_eq!(shown, exact.why_not(step.id).is_none(), "{}", step.id);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn exact_numbers_are_those_of_the_trace_and_rows_of_weights_sum_to_1(drawn in drawn(true)) {
        let call = drawn.call();
        let trace = traced(&call);
        let exact = Exact::of(&trace);
        assert_true(&trace, &exact);
        let one = Number::from(Rational::from_integer(1));
        for head in (0..call.attention.num_heads).map(Head) {
            let weights = head.step(HeadStep::Weights);
            let value = trace.get(weights).unwrap();
            if let Some(why) = exact.why_not(weights).filter(|_| exact.number(weights, 0, 0).is_none()) {
                // The only excuses: a norm's roots that grow, and rows that are asked to be no numbers.
                let grown = drawn.norm > 0 && (why.contains("digits") || why.contains("roots")
                    || why.contains("which has no exact form"));
                let no_number = value.iter().any(|v| v.is_nan()) && why.ends_with("holds what is not a number");
                prop_assert!(grown || no_number, "{why}");
                continue;
            }
            for r in 0..value.nrows() {
                let row = (0..value.ncols()).map(|c| exact.number(weights, r, c).unwrap().clone());
                let sink = exact.number(head.step(HeadStep::SinkWeight), r, 0).cloned();
                let sum = Number::sum(row.chain(sink)).unwrap();
                let saw_nothing = value.row(r).iter().all(|v| *v == 0.0);
                prop_assert!(sum == one || saw_nothing, "row {r} of {weights} sums to {sum:?}");
            }
        }
    }

    #[test]
    fn whatever_is_asked_of_attention_exact_forms_end_and_are_true(drawn in drawn(false)) {
        let trace = traced(&drawn.call());
        let started = Instant::now();
        assert_true(&trace, &Exact::of(&trace));
        prop_assert!(started.elapsed() < Duration::from_secs(20));
    }
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
