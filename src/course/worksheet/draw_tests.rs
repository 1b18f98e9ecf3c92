use approx::assert_abs_diff_eq;
use serde_json::Value;

use super::*;
use crate::ops::Arithmetic;
use crate::plan::{Head, HeadStep, Name, Projection, StepId};
use crate::trace::{Keep, Trace};

fn solved(drawing: &Drawing) -> (Problem, Trace<f64>) {
    let problem = problem(drawing, &Options::default()).unwrap();
    let trace = problem.run(&Keep::All, Arithmetic::Ordered).unwrap();
    (problem, trace)
}

#[track_caller]
fn is(trace: &Trace<f64>, id: StepId, expected: &Value) {
    let value = trace.get(id).unwrap();
    let rows = expected.as_array().unwrap();
    assert_eq!(value.nrows(), rows.len(), "{id}");
    for (r, row) in rows.iter().enumerate() {
        for (c, number) in row.as_array().unwrap().iter().enumerate() {
            assert_abs_diff_eq!(value[(r, c)], number.as_f64().unwrap(), epsilon = 1e-12);
        }
    }
}

/// Drawn and computed by tests/reference/worksheet/draw.py: ChaCha8 after Bernstein's paper, the attention in NumPy.
#[test]
fn python_draws_and_computes_the_same() {
    let witness = include_str!("../../../tests/reference/worksheet/expected.json");
    let cases: Value = serde_json::from_str(witness).unwrap();
    for case in cases.as_array().unwrap() {
        let size = |name: &str| case[name].as_u64().unwrap() as usize;
        let mask = if case["causal"].as_bool().unwrap() { Masked::Causal } else { Masked::None };
        let seed = case["seed"].as_str().unwrap().parse().unwrap();
        let exercise = case["exercise"].as_u64().unwrap() as u32;
        let (d_model, heads, tokens) = (size("d_model"), size("heads"), size("tokens"));
        let drawing = Drawing::checked(seed, d_model, heads, tokens, mask, exercise).unwrap();
        let (_, trace) = solved(&drawing);
        is(&trace, Name::X.into(), &case["x"]);
        for projection in Projection::ALL {
            let name = Name::W(projection);
            is(&trace, name.into(), &case[name.to_string()]);
        }
        for (name, expected) in case["steps"].as_object().unwrap() {
            is(&trace, name.parse().unwrap(), expected);
        }
    }
}

/// Exercise 1 of seed 7, whose matrices draw.py prints: a is (0, 2, −1, 1), b is (0, −2, −1, 1), c is (1, 0, 2, 1).
/// Head 2 asks with columns 3 and 4 of W_Q, (1, 1, 0, 0) and (0, −1, 0, 0): the query of a is (2, −2). It answers with those of
/// W_K, (0, 1, 0, 0) and (0, 0, 0, 1): the keys are (2, 1), (−2, 1), (0, 1). So a scores 4 − 2 = 2, −4 − 2 = −6 and −2, over
/// √2, and e^0 : e^(−8/√2) : e^(−4/√2) = 1 : 0.0035 : 0.0591, together 1.0626.
#[test]
fn seed_7_by_hand() {
    let (_, trace) = solved(&"random:7".parse().unwrap());
    let x = trace.get(Name::X.into()).unwrap();
    assert_eq!(x.row(0).iter().copied().collect::<Vec<_>>(), [0.0, 2.0, -1.0, 1.0]);
    let query = trace.get(Head(1).step(HeadStep::Q)).unwrap();
    assert_eq!(query.row(0).iter().copied().collect::<Vec<_>>(), [2.0, -2.0]);
    let row = |step| trace.get(Head(1).step(step)).unwrap().row(0).iter().copied().collect::<Vec<f64>>();
    for (score, expected) in row(HeadStep::Scores).iter().zip([2.0, -6.0, -2.0]) {
        assert_abs_diff_eq!(score * 2_f64.sqrt(), expected, epsilon = 1e-12);
    }
    for (weight, expected) in row(HeadStep::Weights).iter().zip([0.9411, 0.0033, 0.0556]) {
        assert_abs_diff_eq!(*weight, expected, epsilon = 5e-5);
    }
}

/// What a sheet promises, looked for in the computed numbers and not in the rule that drew them.
#[test]
fn every_exercise_is_friendly() {
    let sizes = [
        (4, 2, 3),
        (4, 1, 3),
        (2, 1, 2),
        (2, 1, 8),
        (6, 3, 5),
        (8, 2, 4),
        (16, 8, 8),
        (16, 1, 8),
        (15, 5, 2),
    ];
    for (d_model, heads, tokens) in sizes {
        for mask in [Masked::None, Masked::Causal] {
            for seed in 0..6 {
                let drawing =
                    Drawing::checked(seed, d_model, heads, tokens, mask, 1 + seed as u32 % 4).unwrap();
                look_at(&drawing);
            }
        }
    }
}

#[track_caller]
fn look_at(drawing: &Drawing) {
    let (problem, trace) = solved(drawing);
    let root = (problem.attention.d_k as f64).sqrt();
    for (step, value) in trace.steps() {
        assert!(
            value.iter().any(|number| *number != 0.0 && number.is_finite()),
            "{drawing}: {} is 0",
            step.id
        );
        if step.inputs.is_empty() {
            assert!(value.iter().all(|number| number.abs() <= 2.0 && number.fract() == 0.0), "{drawing}");
        }
        match step.id.name {
            Name::Head(_, HeadStep::Scores) => {
                for row in value.row_iter() {
                    assert!(
                        row.iter().any(|score| (score - row[0]).abs() > 0.1),
                        "{drawing}: a row all alike"
                    );
                    for score in row.iter() {
                        let raw = score * root;
                        assert!((raw - raw.round()).abs() < 1e-9 && raw.abs() < 12.5, "{drawing}: {raw}");
                    }
                }
            }
            Name::Head(_, HeadStep::Weights) => {
                let choosing = if drawing.mask == Masked::Causal { 1 } else { 0 };
                for row in value.row_iter().skip(choosing) {
                    assert!(row.max() < 0.95, "{drawing}: {row}");
                }
            }
            _ => {}
        }
    }
    let output = trace.get(Name::Output.into()).unwrap();
    assert!(output.iter().any(|number| number.abs() > 1e-3), "{drawing}");
}

#[test]
fn a_seed_has_many_different_exercises() {
    let first: Drawing = "random:7".parse().unwrap();
    let mut texts: Vec<String> =
        (1..=50).map(|exercise| text(&first.numbered(exercise).unwrap()).unwrap()).collect();
    texts.push(text(&"random:8".parse().unwrap()).unwrap());
    let body = |text: &String| text.split_once("tokens").unwrap().1.to_owned();
    let different: std::collections::HashSet<String> = texts.iter().map(body).collect();
    assert_eq!(different.len(), 51);
}
