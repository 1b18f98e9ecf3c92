//! Expressions as lessons use them, with values worked out by hand.

use std::collections::BTreeMap;

use nalgebra::DMatrix;

use super::*;

/// Steps that are simply given, by name and run.
#[derive(Default)]
struct Given {
    steps: BTreeMap<(String, Option<String>), DMatrix<f64>>,
    variable: Option<f64>,
}

impl Given {
    fn with(mut self, name: &str, rows: &[&[f64]]) -> Self {
        let (step, run) =
            name.split_once('@').map_or((name, None), |(step, run)| (step, Some(run.to_owned())));
        let matrix = DMatrix::from_fn(rows.len(), rows[0].len(), |r, c| rows[r][c]);
        self.steps.insert((step.to_owned(), run), matrix);
        self
    }
}

impl Numbers for Given {
    fn step(&self, step: StepId, run: Option<&str>) -> Result<DMatrix<f64>, String> {
        let name = (step.to_string(), run.map(str::to_owned));
        self.steps.get(&name).cloned().ok_or_else(|| format!("there is no step {step}"))
    }

    fn figure(&self, figure: Figure, run: Option<&str>) -> Result<f64, String> {
        match (figure, run) {
            (Figure::Parameters, None) => Ok(1_048_576.0),
            (Figure::Parameters, Some("one")) => Ok(262_144.0),
            _ => Err("nobody counts here".to_owned()),
        }
    }

    fn count(&self, model: &str, key: &str) -> Result<f64, String> {
        match (model, key) {
            ("--d-model 512 --num-heads 8", "memory.total") => Ok(3.0),
            _ => Err(format!("no {key} of {model}")),
        }
    }

    fn slope(&self, out: (StepId, Option<&str>), by: StepId) -> Result<f64, String> {
        Ok(if (out.0.to_string(), out.1, by.to_string()) == ("output".into(), Some("deep"), "x".into()) {
            0.5
        } else {
            1.0
        })
    }

    fn variable(&self) -> Option<f64> {
        self.variable
    }
}

/// Two heads over three tokens; the run `one` has one head.
fn given() -> Given {
    Given::default()
        .with("head.1.weights", &[&[0.5, 0.25, 0.25], &[0.0, 1.0, 0.0], &[0.25, 0.25, 0.5]])
        .with("head.1.weights@one", &[&[0.5, 0.25, 0.25], &[0.0, 0.5, 0.5], &[0.25, 0.25, 0.5]])
        .with("weights", &[&[0.75, 0.25], &[0.5, 0.5], &[0.25, 0.75], &[0.0, 1.0]])
        .with("head.1.masked_scores", &[&[1.0, f64::NEG_INFINITY], &[2.0, 3.0]])
        .with("head.1.scores", &[&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0], &[0.0, 0.0, 0.0]])
        .with("x", &[&[3.0, 4.0], &[-1.0, 1.0]])
        .with("q", &[&[1.0], &[3.0]])
        .with("k", &[&[f64::NAN, 1.0]])
}

fn number(text: &str) -> f64 {
    let quantity: Quantity = text.parse().unwrap_or_else(|fault| panic!("{text}: {fault}"));
    quantity.number(&given()).unwrap_or_else(|why| panic!("{text}: {why}"))
}

#[track_caller]
fn comes_to(text: &str, expected: f64) {
    let found = number(text);
    let close = found == expected || (found - expected).abs() <= 1e-12 * expected.abs().max(1.0);
    assert!(close, "{text} comes to {found}, not {expected}");
}

#[track_caller]
fn comes_to_nothing(text: &str, why: &str) {
    let quantity: Quantity = text.parse().unwrap_or_else(|fault| panic!("{text}: {fault}"));
    assert_eq!(quantity.amount(&given()), Err(why.to_owned()), "{text}");
}

#[test]
fn operators_bind_as_on_paper() {
    comes_to("1 + 2 * 3", 7.0);
    comes_to("(1 + 2) * 3", 9.0);
    comes_to("2 - 3 - 4", -5.0);
    comes_to("12 / 3 / 2", 2.0);
    comes_to("2 ^ 3 ^ 2", 512.0); // from the right: 2^9
    comes_to("-2 ^ 2", -4.0); // the power first
    comes_to("2 ^ -1", 0.5);
    comes_to("2 * -3", -6.0);
    comes_to("--1", 1.0);
    comes_to("1e-3 * 1E3", 1.0);
    comes_to("2e0", 2.0);
    comes_to(
        "ln(e) + sqrt(16) + log2(8) + abs(-1) + round(2.5) + floor(-0.5)",
        1.0 + 4.0 + 3.0 + 1.0 + 3.0 - 1.0,
    );
    comes_to("exp(0) + pi", 1.0 + std::f64::consts::PI);
}

#[test]
fn steps_are_cut_by_row_and_column_from_one() {
    comes_to("head.1.scores[2,3]", 6.0);
    comes_to("sum(head.1.scores[2])", 12.0);
    comes_to("sum(head.1.scores[,3])", 9.0);
    comes_to("sum(head.1.scores[ , 3 ])", 9.0);
    comes_to("sum(head.1.scores)", 18.0);
    comes_to("head.1.weights[2,2] - head.1.weights[2,2]@one", 0.5);
    comes_to("rows(weights) * 10 + columns(weights)", 42.0);
    comes_to_nothing("head.1.scores[4,1]", "head.1.scores has no row 4: it is 3 × 3");
    comes_to_nothing("head.1.scores[,9]", "head.1.scores has no column 9: it is 3 × 3");
    comes_to_nothing("v[1,1]", "there is no step v");
    let row: Quantity = "head.1.scores[2]".parse().unwrap();
    assert_eq!(row.amount(&given()), Ok(Amount::Matrix(DMatrix::from_row_slice(1, 3, &[2.0, 4.0, 6.0]))));
    assert_eq!(row.number(&given()), Err("head.1.scores[2] is 1 × 3, not one number".to_owned()));
}

#[test]
fn cells_are_summed_up() {
    // x is 3, 4, −1, 1: the sum is 7, the mean 7/4, the squares add up to 27.
    comes_to("sum(x)", 7.0);
    comes_to("mean(x)", 1.75);
    comes_to("min(x)", -1.0);
    comes_to("max(x)", 4.0);
    comes_to("variance(x)", 27.0 / 4.0 - 1.75 * 1.75);
    comes_to("std(x) ^ 2", 27.0 / 4.0 - 1.75 * 1.75);
    comes_to("norm(x[1])", 5.0);
    comes_to("rms(x)", (27.0_f64 / 4.0).sqrt());
    comes_to("distinct(head.1.scores)", 6.0); // 0, 1, 2, 3, 4, 6
    comes_to("variance(1 - 2 * q)", 4.0); // −1 and −5
    comes_to("sum(abs(x))", 9.0);
    comes_to("max(x - 2 * x)", 1.0);
}

#[test]
fn entropy_is_in_bits_and_a_mean_over_rows() {
    // 1/2 · 1 + 1/4 · 2 + 1/4 · 2
    comes_to("entropy(head.1.weights[1])", 1.5);
    comes_to("entropy(head.1.weights[2])", 0.0);
    comes_to("entropy(head.1.weights)", (1.5 + 0.0 + 1.5) / 3.0);
    comes_to("entropy(head.1.weights[2]@one)", 1.0);
    comes_to_nothing("entropy(x)", "entropy(x): row 1 holds 3, and weights are from 0 to 1");
    comes_to_nothing(
        "entropy(x[1] / 4)",
        "entropy(x[1]/4): row 1 adds up to 1.7500, and weights to no more than 1",
    );
}

#[test]
fn the_rank_of_an_outer_product_is_one() {
    comes_to("rank(head.1.scores)", 1.0); // rows are 1, 2 and 0 times [1, 2, 3]
    comes_to("rank(x)", 2.0); // 3 · 1 − 4 · (−1) = 7
    comes_to("rank(x - x)", 0.0);
    comes_to("rank(head.1.scores * 1e-200)", 1.0);
    comes_to("rank(7)", 1.0);
    let outer = |n: usize, k: usize| {
        // The sum of k outer products of columns of a Vandermonde matrix, which are independent.
        let column = |power: usize| DMatrix::from_fn(n, 1, |r, _| (r as f64 / n as f64).powi(power as i32));
        (0..k).fold(DMatrix::zeros(n, n), |sum, power| sum + column(power) * column(power).transpose())
    };
    for k in 0..=4 {
        let mut numbers = Given::default();
        numbers.steps.insert(("x".to_owned(), None), outer(9, k));
        assert_eq!("rank(x)".parse::<Quantity>().unwrap().number(&numbers), Ok(k as f64), "rank {k}");
    }
    let mut numbers = Given::default();
    numbers.steps.insert(("x".to_owned(), None), DMatrix::zeros(257, 1));
    let why = "rank(x): it is 257 × 1, and ranks are computed up to 256 × 256";
    assert_eq!("rank(x)".parse::<Quantity>().unwrap().amount(&numbers), Err(why.to_owned()));
}

#[test]
fn places_count_from_one_and_the_first_of_equals_wins() {
    comes_to("argmax(head.1.weights[3])", 3.0);
    comes_to("argmin(head.1.weights[3])", 1.0);
    comes_to("argmax(head.1.scores[,2])", 2.0);
    comes_to("argmin(head.1.masked_scores[1])", 2.0);
    // 0.1 + 0.2 is a rounding above 0.3, and no larger.
    comes_to("argmax(0.1 * x[2] + 0.2 * x[2])", 2.0);
    comes_to_nothing(
        "argmax(head.1.scores)",
        "argmax(head.1.scores): it is 3 × 3, and a place is asked for in one row or column",
    );
}

#[test]
fn two_values_are_compared_and_multiplied() {
    comes_to("difference(head.1.weights, head.1.weights@one)", 0.5);
    comes_to("difference(2, 5)", 3.0);
    comes_to("dot(x[1], x[2])", -3.0 + 4.0);
    comes_to("dot(x[1], q)", 3.0 + 12.0); // a row with a column
    comes_to("cosine(x[1], x[2])", 1.0 / (5.0 * 2.0_f64.sqrt()));
    comes_to_nothing("difference(x, q)", "difference(x, q): 2 × 2 and 2 × 1 do not compare");
    comes_to_nothing("dot(x, q)", "dot(x, q): 2 × 2 and 2 × 1 do not pair up");
    comes_to_nothing("cosine(x[1], x[1] - x[1])", "cosine(x[1], x[1] - x[1]): zeros point nowhere");
    comes_to_nothing(
        "x * x",
        "* stands between 2 × 2 and 2 × 2: one side has to be a number (dot is a function)",
    );
    comes_to_nothing("x + q", "2 × 2 and 2 × 1 have no sum and no difference: their shapes differ");
}

#[test]
fn attention_has_a_direction() {
    comes_to("self(head.1.weights)", (0.5 + 1.0 + 0.5) / 3.0);
    comes_to("previous(head.1.weights)", (0.0 + 0.25) / 2.0); // rows 2 and 3 have one before them
    comes_to("next(head.1.weights)", (0.25 + 0.0) / 2.0); // rows 1 and 2 have one behind them
    comes_to("first(head.1.weights)", (0.5 + 0.0 + 0.25) / 3.0);
    // Row 1: 1 · 1/4 + 2 · 1/4, row 2: 0, row 3: 2 · 1/4 + 1 · 1/4.
    comes_to("distance(head.1.weights)", (0.75 + 0.0 + 0.75) / 3.0);
    // One row keeps its position.
    comes_to("self(head.1.weights[3])", 0.5);
    comes_to("previous(head.1.weights[3])", 0.25);
    comes_to("distance(head.1.weights[3])", 0.75);
    // Two heads one above the other: each begins at position 1 again.
    comes_to("self(weights)", (0.75 + 0.5 + 0.25 + 1.0) / 4.0);
    comes_to("previous(weights)", (0.5 + 0.0) / 2.0);
    comes_to("self(weights[3])", 0.25);
    comes_to_nothing(
        "self(head.1.weights[,1])",
        "head.1.weights[,1] is no row of weights: its positions are not known",
    );
    comes_to_nothing("next(head.1.weights[3])", "no row has a position that next means");
}

#[test]
fn hidden_scores_are_counted_and_never_averaged() {
    comes_to("hidden(head.1.masked_scores)", 1.0);
    comes_to("max(head.1.masked_scores)", 3.0);
    comes_to("min(head.1.masked_scores)", f64::NEG_INFINITY);
    comes_to("distinct(head.1.masked_scores)", 4.0);
    comes_to("difference(head.1.masked_scores, head.1.masked_scores)", 0.0);
    for function in ["mean", "variance", "rank", "norm", "sum"] {
        let text = format!("{function}(head.1.masked_scores)");
        comes_to_nothing(&text, &format!("{text}: it holds −∞ in row 1, column 2"));
    }
    comes_to_nothing("max(k)", "max(k): it holds NaN");
    comes_to_nothing("rank(k)", "rank(k): it holds NaN in row 1, column 1");
}

#[test]
fn what_is_no_number_is_said_in_words() {
    comes_to_nothing("1 / (2 - 2)", "1 is divided by 0");
    comes_to_nothing("sqrt(-1)", "sqrt of -1 is not a number");
    comes_to_nothing("ln(0)", "ln of 0 is not a number");
    comes_to_nothing("(-8) ^ (1/3)", "-8 ^ 0.3333 is not a number");
    comes_to_nothing("0 ^ -1", "0 ^ -1 is not a number");
    comes_to_nothing("1e308 * 10 - 1e308 * 10", "∞ - ∞ is not a number");
    comes_to_nothing("$ * 2", "$ has a value only in a plot");
    let numbers = Given { variable: Some(8.0), ..Given::default() };
    assert_eq!("$ * 2".parse::<Quantity>().unwrap().number(&numbers), Ok(16.0));
}

#[test]
fn figures_of_runs_and_models_are_asked_for() {
    comes_to("parameters() / parameters(@one)", 4.0);
    comes_to("count(\"--d-model 512 --num-heads 8\", memory.total)", 3.0);
    comes_to("count('--d-model 512 --num-heads 8', 'memory.total')", 3.0);
    comes_to("slope(output@deep, x)", 0.5);
    comes_to_nothing("cached()", "nobody counts here");
    let quantity: Quantity = "slope(output@deep, x) + parameters(@one) + x[1,1] + x[1,2]".parse().unwrap();
    let [output, x] = ["output", "x"].map(|step| step.parse::<StepId>().unwrap());
    assert_eq!(quantity.steps(), [(output, Some("deep")), (x, Some("deep")), (x, None)]);
    assert_eq!(quantity.runs(), ["deep", "one"]);
}

fn holds(text: &str) -> Holds {
    text.parse::<Quantity>().unwrap().holds(&given()).unwrap()
}

#[test]
fn comparisons_allow_what_the_digits_typed_leave_open() {
    // √8 = 2.8284…: within 0.005 of 2.83, not within 0.0005 of 2.829; whole numbers are meant exactly.
    let so = [
        "sqrt(8) = 2.83",
        "2.83 = sqrt(8)",
        "-sqrt(8) = -2.83",
        "sqrt(8) != 3",
        "0.1 + 0.2 = 3/10",
        "sum(0.1 * x[2] + 0.1) = 0.2",
        "1 < 2 < 3",
        "1 < 2 and 3 > 2",
        "0.1 + 0.2 <= 3/10",
        "1/3 = 3.33e-1",
        "entropy(head.1.weights[2]) = 0",
        "head.1.masked_scores[1,2] = -1e308 * 10",
        "2 >= 2",
        "1e-12 < 1e-10",
        "2.825 = 2.83",
    ];
    let not_so = [
        "sqrt(8) = 2.829",
        "sqrt(8) = 3",
        "sqrt(8) != 2.83",
        "2 < 2",
        "1 < 3 < 2",
        "1 < 2 and 3 < 2",
        "0.1 + 0.2 > 3/10",
        "1e-10 = 1e-12",
        "k[1,1] = k[1,1]",
        "2.8249 = 2.83",
    ];
    for text in so {
        assert_eq!(holds(text), Holds::Yes, "{text}");
    }
    for text in not_so {
        assert_ne!(holds(text), Holds::Yes, "{text}");
    }
    let amount = "1 < 2".parse::<Quantity>().unwrap().amount(&given());
    assert_eq!(amount, Ok(Amount::Truth(true)));
}

#[test]
fn a_false_comparison_says_what_both_sides_are() {
    let told = |text: &str| match holds(text) {
        Holds::Yes => panic!("{text} holds"),
        Holds::No(failure) => failure.to_string(),
    };
    assert_eq!(
        told("entropy(head.1.weights[1]) < 1"),
        "entropy(head.1.weights[1]) is 1.50, which is not < 1"
    );
    assert_eq!(
        told("2 < entropy(head.1.weights[1])"),
        "entropy(head.1.weights[1]) is 1.50, which is not > 2"
    );
    assert_eq!(told("1 < 2 < mean(x)"), "mean(x) is 1.75, which is not > 2");
    assert_eq!(told("mean(x) > max(x)"), "mean(x) is 1.75, which is not > max(x), 4");
    assert_eq!(told("1 + 2 != 3"), "1 + 2 is 3, which is the same as 3");
    // As many digits as it takes to see the difference.
    assert_eq!(told("sqrt(2) = 1.4144"), "sqrt(2) is 1.4142, which is not = 1.4144");
    assert_eq!(told("-1 > -0.5"), "-1 is -1, which is not > -0.5");
}

#[test]
fn what_cannot_be_compared_is_said_in_words() {
    let why = |text: &str| text.parse::<Quantity>().unwrap().holds(&given()).unwrap_err();
    assert_eq!(why("x = x"), "x is 2 × 2, and only single numbers are compared");
    assert_eq!(why("1 + 1"), "1 + 1 compares nothing");
    let number = "1 < 2".parse::<Quantity>().unwrap().number(&given());
    assert_eq!(number, Err("1 < 2 is a comparison, not a number".to_owned()));
}
