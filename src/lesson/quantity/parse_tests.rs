//! What is no expression, and what holds of every one.

use proptest::prelude::*;

use super::*;

/// Nothing but `$`.
struct Dollar(f64);

impl Numbers for Dollar {
    fn step(&self, step: StepId, _: Option<&str>) -> Result<DMatrix<f64>, String> {
        Err(format!("there is no step {step}"))
    }

    fn figure(&self, _: Figure, _: Option<&str>) -> Result<f64, String> {
        Err("nobody counts here".to_owned())
    }

    fn count(&self, _: &str, _: &str) -> Result<f64, String> {
        Err("nobody counts here".to_owned())
    }

    fn slope(&self, _: (StepId, Option<&str>), _: StepId) -> Result<f64, String> {
        Err("nothing changes here".to_owned())
    }

    fn variable(&self) -> Option<f64> {
        Some(self.0)
    }
}

#[test]
fn a_fault_has_its_place_and_what_to_try() {
    let case = |text: &str, at: usize, what: &str, remedy: &str| {
        let fault = text.parse::<Quantity>().expect_err(text);
        assert_eq!((fault.at, fault.what.as_str()), (at, what), "{text}");
        assert!(fault.remedy.starts_with(remedy), "{text}: {}", fault.remedy);
        assert!(!fault.expected.is_empty(), "{text}");
    };
    case("", 1, "it ends too early", "");
    case("1 +", 4, "it ends too early", "");
    case("(1 + 2", 7, "it ends too early", "");
    case("1 + 2)", 6, ") stands in the wrong place", "");
    case("+1", 1, "+ stands in the wrong place", "a number without a sign");
    case("1 2", 3, "2 stands in the wrong place", "");
    case("2(3)", 2, "( stands in the wrong place", "write * between");
    case("entropi(q)", 1, "entropi is not a function", "did you mean entropy?");
    case("zzz(q)", 1, "zzz is not a function", "known: sqrt, ");
    case(
        "2 * head.1.weigths[1,1]",
        5,
        "head.1.weigths is not the name of a step",
        "did you mean head.1.weights?",
    );
    case("max", 1, "max is a function without parentheses", "write max(head.1.weights[1])");
    case("max()", 1, "max is given no value", "write max(");
    case("max(q, k)", 1, "max is given 2 values", "write max(");
    case("dot(q)", 1, "dot is given one value", "write dot(");
    case("parameters(q)", 12, "q stands in the wrong place", "");
    case("q[0,1]", 3, "0 is no row or column", "");
    case("q[1.5]", 3, "1.5 is no row or column", "");
    case("q[a]", 3, "a stands in the wrong place", "");
    case("q[2,]", 5, "] stands in the wrong place", "write [2] for the row");
    case("q[99999999999999999999]", 3, "99999999999999999999 is no row or column", "");
    case("(q)[1]", 4, "[ stands in the wrong place", "brackets follow the name of a step");
    case("q[1,1]@", 7, "no run is named after @", "");
    case("1 == 2", 3, "== stands in the wrong place", "write = for ==");
    case("50 %", 4, "% stands in the wrong place", "write 0.5 for 50 %");
    case("(1 < 2)", 4, "< stands in the wrong place", "compare outside of parentheses");
    case("1 and 2 < 3", 3, "and stands in the wrong place", "`and` joins comparisons");
    case("1 < 2 and 3", 12, "it ends too early", "`and` joins comparisons");
    case("2 × 3", 3, "× has no meaning here", "write * for ×");
    case("1 ≤ 2", 3, "≤ has no meaning here", "write <= for ≤");
    case("0.5 + .5", 7, ". has no meaning here", "write 0.5 for .5");
    case("1e999", 1, "1e999 is too large", "");
    case("count(gpt3, total)", 7, "gpt3 stands in the wrong place", "write count(\"llama-2-7b\"");
    case("count(\"gpt3)", 7, "\" is not closed", "");
    case("slope(output)", 13, ") stands in the wrong place", "write slope(output, x)");
}

#[test]
fn length_and_depth_are_bounded() {
    let deepest = |text: String| text.parse::<Quantity>().map(|quantity| quantity.number(&Dollar(2.0)));
    for (open, close) in [("(", ")"), ("abs(", ")"), ("-", ""), ("1^", "")] {
        let nested = |depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
        assert_eq!(deepest(nested(64)), Ok(Ok(1.0)), "{open}");
        let fault = deepest(nested(65)).unwrap_err();
        assert_eq!(fault.what, "it is nested more than 64 deep", "{open}");
        assert_eq!(deepest(nested(300)).unwrap_err().what, "it is nested more than 64 deep", "{open}");
    }
    // A long sum does not nest: 1,000 ones with 999 signs between them.
    assert_eq!(deepest(format!("1{}", "+1".repeat(999))), Ok(Ok(1000.0)));
    assert_eq!(deepest("1".repeat(2_001)).unwrap_err().what, "it has more than 2000 characters");
    assert_eq!(deepest("一".repeat(2_001)).unwrap_err().at, 2_001);
}

#[test]
fn a_run_is_named_by_letters_digits_and_hyphens() {
    for name in ["one", "single-head", "d_16", "2", "单头"] {
        assert!(is_run_name(name), "{name}");
        let quantity: Quantity = format!("q[1,1]@{name} - 1").parse().unwrap();
        assert_eq!(quantity.runs(), [name]);
    }
    for name in ["", "a b", "a-", "-a", "a.b", "a@b"] {
        assert!(!is_run_name(name), "{name}");
    }
}

/// An expression in `$`, written with parentheses around everything, with its value by Rust's own operators.
fn arithmetic() -> impl Strategy<Value = (String, f64)> {
    let leaf = prop_oneof![
        (0_u32..2000).prop_map(|n| (format!("{}", f64::from(n) / 8.0), f64::from(n) / 8.0)),
        Just(("$".to_owned(), 3.25)),
        Just(("pi".to_owned(), std::f64::consts::PI)),
    ];
    leaf.prop_recursive(5, 40, 2, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            inner.clone().prop_map(|(text, value)| (format!("-({text})"), -value)),
            inner.prop_map(|(text, value)| (format!("sqrt(abs({text}))"), value.abs().sqrt())),
            pair.clone().prop_map(|((a, x), (b, y))| (format!("({a}) + ({b})"), x + y)),
            pair.clone().prop_map(|((a, x), (b, y))| (format!("({a}) - ({b})"), x - y)),
            pair.clone().prop_map(|((a, x), (b, y))| (format!("({a}) * ({b})"), x * y)),
            pair.prop_map(|((a, x), (b, y))| (format!("({a}) / (1 + abs({b}))"), x / (1.0 + y.abs()))),
        ]
    })
}

/// The pieces of which expressions are made, in any order.
fn rubble() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "1",
        "0.5",
        "head.1.weights",
        "q",
        "[",
        "]",
        "(",
        ")",
        ",",
        "+",
        "-",
        "*",
        "/",
        "^",
        "<",
        ">=",
        "=",
        "and",
        "@",
        "one",
        "entropy",
        "count",
        "slope",
        "parameters",
        "$",
        "\"",
        "e",
        "pi",
        " ",
        ":2",
        "{",
        "}",
        "−",
        "好",
        ".",
    ]);
    prop::collection::vec(words, 0..24).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn arithmetic_is_that_of_an_independent_evaluator((text, expected) in arithmetic()) {
        let quantity: Quantity = text.parse().unwrap();
        prop_assert_eq!(quantity.number(&Dollar(3.25)), Ok(expected), "{}", text);
        // With as few parentheses as it takes, it still means the same.
        let Meaning::Value(expr) = &quantity.meaning else { unreachable!() };
        let again: Quantity = expr.to_string().parse().unwrap();
        prop_assert_eq!(&again.meaning, &quantity.meaning, "{} became {}", text, expr);
    }

    #[test]
    fn what_is_read_is_written_so_that_it_reads_the_same(text in rubble()) {
        if let Ok(quantity) = text.parse::<Quantity>()
            && let Meaning::Value(expr) = &quantity.meaning
        {
            let again = expr.to_string().parse::<Quantity>();
            prop_assert_eq!(again.map(|again| again.meaning), Ok(quantity.meaning.clone()), "{}", text);
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in prop_oneof![any::<String>(), rubble()]) {
        let sentence = format!("{{{text}}} {{");
        let pieces = crate::lesson::pieces(&sentence);
        prop_assert!(!pieces.is_empty());
        match text.parse::<Quantity>() {
            Ok(quantity) => drop(quantity.amount(&Dollar(1.0))),
            Err(fault) => prop_assert!((1..=text.chars().count() + 1).contains(&fault.at)),
        }
    }
}
