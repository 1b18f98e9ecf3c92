//! Answers as people type them, with what they mean.

use proptest::prelude::*;

use super::*;

fn typed(text: &str) -> f64 {
    numbers(text, 1).unwrap_or_else(|fault| panic!("{text}: {fault}"))[0].value()
}

fn fit(text: &str, right: f64) -> Fit {
    numbers(text, 1).unwrap_or_else(|fault| panic!("{text}: {fault}"))[0].fits(right)
}

#[test]
fn numbers_are_read_in_all_their_forms() {
    let e = std::f64::consts::E;
    for (text, value) in [
        ("0.5", 0.5),
        (".5", 0.5),
        ("-3", -3.0),
        ("−3", -3.0),
        ("+2", 2.0),
        ("1/3", 1.0 / 3.0),
        ("√2", 2f64.sqrt()),
        ("1/√2", 1.0 / 2f64.sqrt()),
        ("2√3", 2.0 * 3f64.sqrt()),
        ("√2/2", 2f64.sqrt() / 2.0),
        ("sqrt(2)", 2f64.sqrt()),
        ("3 sqrt( 2 )", 3.0 * 2f64.sqrt()),
        ("√(1+3)", 2.0),
        ("e^0.7/(e^0.7+2)", e.powf(0.7) / (e.powf(0.7) + 2.0)),
        ("exp(1)", e),
        ("2e^2", 2.0 * e * e),
        ("2e3", 2000.0),
        ("1e-3", 0.001),
        ("e^-1", 1.0 / e),
        ("2^3^2", 512.0), // a power of a power is taken from the right, as on paper
        ("-2^2", -4.0),
        ("2·3", 6.0),
        ("2*3", 6.0),
        ("2×3", 6.0),
        ("8÷4", 2.0),
        ("3 - 1", 2.0),
        ("50%", 0.5),
        ("(1 + 2)(3)", 9.0),
        ("π", std::f64::consts::PI),
        ("−∞", f64::NEG_INFINITY),
        ("-inf", f64::NEG_INFINITY),
        ("1,048,576", 1_048_576.0),
        ("[0.25]", 0.25),
        ("０．５", 0.5), // as a Chinese keyboard gives it
        ("½", 0.5),
        ("3²", 9.0),
    ] {
        let is = typed(text);
        assert!(is == value || (is - value).abs() < 1e-12, "{text} was read as {is}");
    }
}

#[test]
fn rows_are_read_whatever_stands_between_the_numbers() {
    for text in ["1/3 1/3 1/3", "[1/3, 1/3, 1/3]", "1/3; 1/3; 1/3", "1/3，1/3，1/3"] {
        let row: Vec<f64> = numbers(text, 3).unwrap().iter().map(Typed::value).collect();
        assert_eq!(row, [1.0 / 3.0; 3], "{text}");
    }
    let signed: Vec<f64> = numbers("1 -1 0", 3).unwrap().iter().map(Typed::value).collect();
    assert_eq!(signed, [1.0, -1.0, 0.0]);
    let tight: Vec<f64> = numbers("1,0,0", 3).unwrap().iter().map(Typed::value).collect();
    assert_eq!(tight, [1.0, 0.0, 0.0]);
    assert_eq!(numbers("1 2", 3), Err(Unreadable::Count(2, 3)));
    assert_eq!(numbers("1 2", 1), Err(Unreadable::Count(2, 1)));
}

#[test]
fn what_cannot_be_read_says_why() {
    for (text, why) in [
        ("", Unreadable::Empty),
        ("  ", Unreadable::Empty),
        ("0,5", Unreadable::DecimalComma("0.5".into())),
        ("about 3", Unreadable::Word("about".into())),
        ("3 +", Unreadable::Unfinished),
        ("(3", Unreadable::Unfinished),
        ("3)", Unreadable::Letter(')', 2)),
        ("1/2√3", Unreadable::Ambiguous),
        ("$5", Unreadable::Letter('$', 1)),
        (&"(".repeat(400), Unreadable::TooDeep),
        (&"-".repeat(400), Unreadable::TooDeep),
        (&"1".repeat(501), Unreadable::TooLong),
    ] {
        assert_eq!(numbers(text, 1).err(), Some(why), "{text}");
    }
    assert_eq!(numbers("0,5 0,25 0,25", 3), Err(Unreadable::DecimalComma("0.5 0.25 0.25".into())));
}

/// The weight of token c on itself in head 1 of the 3×4 example is e^√2 / (e^√2 + 2e^(1/√2)) = 0.50349…
#[test]
fn a_decimal_is_right_within_half_a_unit_of_its_last_digit() {
    let right = 0.503_494_5;
    for (text, fits) in [
        ("0.5035", Fit::Right),
        ("0.503", Fit::Right),
        ("0.50", Fit::Right),
        ("50%", Fit::Right),
        ("50.35 %", Fit::Right),
        ("0.5034", Fit::Rounded), // cut off: 0.50349… rounds to 0.5035
        ("0.504", Fit::Wrong),    // 0.0005 off is more than half a unit, and nothing was cut
        ("0.5", Fit::TooFewDigits),
        ("1/2", Fit::Wrong), // a fraction is exact, and this is another number
        ("0.4", Fit::Wrong),
        ("1", Fit::Wrong),
        ("0", Fit::Wrong),
        ("-0.5035", Fit::Wrong),
    ] {
        assert_eq!(fit(text, right), fits, "{text}");
    }
    // Four decimals are what a page prints, however small the number is.
    assert_eq!(fit("0.0003", 0.000_312), Fit::Right);
    assert_eq!(fit("0.0000", 4e-9), Fit::Right);
    assert_eq!(fit("0", 4e-9), Fit::Wrong);
    assert_eq!(fit("0", 1e-17), Fit::Right);
}

#[test]
fn whole_numbers_are_exact() {
    assert_eq!(fit("1048576", 1_048_576.0), Fit::Right);
    assert_eq!(fit("1,048,576", 1_048_576.0), Fit::Right);
    assert_eq!(fit("1048577", 1_048_576.0), Fit::Wrong);
    assert_eq!(fit("1.05e6", 1_048_576.0), Fit::Right);
    assert_eq!(fit("3", 2.0), Fit::Wrong);
    assert_eq!(fit("2.0", 2.0), Fit::Right);
    assert_eq!(fit("1.9", 2.0), Fit::Wrong);
    assert_eq!(fit("1", 2f64.sqrt()), Fit::TooFewDigits);
}

/// e^0.707/(e^0.707 + 2) is 0.50347; the 0.707 may be anything from 0.7065 to 0.7075, which leaves 0.5033 … 0.5036 open.
#[test]
fn an_expression_is_exact_but_for_the_decimals_in_it() {
    let right = 0.503_494_5;
    let exact = "e^(1/√2)/(e^(1/√2)+2)";
    assert_eq!(fit(exact, (0.5f64.sqrt()).exp() / ((0.5f64.sqrt()).exp() + 2.0)), Fit::Right);
    assert_eq!(fit("e^0.707/(e^0.707+2)", right), Fit::Rounded);
    assert_eq!(fit("e^0.71/(e^0.71+2)", right), Fit::Rounded);
    assert_eq!(fit("e^0.7/(e^0.7+2)", right), Fit::TooFewDigits);
    assert_eq!(fit("e^1/(e^1+2)", right), Fit::Wrong);
    assert_eq!(fit("2/3", 0.6667), Fit::Wrong);
    assert_eq!(fit("2/3", 2.0 / 3.0), Fit::Right);
}

#[test]
fn what_is_infinite_is_itself_only() {
    assert_eq!(fit("−∞", f64::NEG_INFINITY), Fit::Right);
    assert_eq!(fit("∞", f64::NEG_INFINITY), Fit::Wrong);
    assert_eq!(fit("-1000", f64::NEG_INFINITY), Fit::Wrong);
    assert_eq!(fit("-inf", 0.0), Fit::Wrong);
    assert_eq!(fit("nan", f64::NAN), Fit::Right);
    assert_eq!(fit("1/0", 3.0), Fit::Wrong);
}

#[test]
fn shapes_are_read_in_all_their_forms() {
    for text in ["3 × 4", "3x4", "3 X 4", "(3, 4)", "[3,4]", "3 by 4", "3*4", "3 4", "３×４", "3 乘 4"] {
        assert_eq!(shape(text), Ok((3, 4)), "{text}");
    }
    for text in ["3", "three by four", "3 × ", "3 × 4 × 5", "-3 × 4"] {
        assert_eq!(shape(text), Err(Unreadable::NotAShape), "{text}");
    }
    assert_eq!(shape(" "), Err(Unreadable::Empty));
}

#[test]
fn choices_are_named_by_number_letter_or_text() {
    let heads = ["head 1", "head 2", "both"].map(str::to_owned);
    for text in ["2", "2.", "(2)", "b", "B", "Head  2", "HEAD 2"] {
        assert_eq!(choice(text, &heads), Ok(1), "{text}");
    }
    assert_eq!(choice("bo", &heads), Ok(2));
    assert_eq!(choice("head", &heads), Err(Unreadable::SeveralChoices));
    for text in ["4", "0", "z", "neither", "h"] {
        assert!(choice(text, &heads).is_err(), "{text}");
    }
    // Where the choices are numbers or letters themselves, they are what is meant.
    let sizes = ["64", "2", "512"].map(str::to_owned);
    assert_eq!(choice("2", &sizes), Ok(1));
    assert_eq!(choice("1", &sizes), Err(Unreadable::NotAChoice(3)));
    assert_eq!(choice("c", &sizes), Ok(2));
    let tokens = ["b", "a"].map(str::to_owned);
    assert_eq!(choice("a", &tokens), Ok(1));
    // Words that stand in one of them only are enough; how one begins counts before what stands inside another.
    let steps = ["the softmax", "the concatenation", "concatenation and W_O"].map(str::to_owned);
    assert_eq!(choice("softmax", &steps), Ok(0));
    assert_eq!(choice("concatenation", &steps), Ok(2));
    assert_eq!(choice("enation", &steps), Err(Unreadable::SeveralChoices));
    let chinese = ["第一个头", "第二个头"].map(str::to_owned);
    assert_eq!(choice("第二个头", &chinese), Ok(1));
    assert_eq!(choice("第二", &chinese), Ok(1));
}

proptest! {
    /// Whatever is typed, it is read or refused.
    #[test]
    fn nothing_that_is_typed_breaks_it(text in "[0-9a-z+*/^√%(),.;\\[\\] −-]{0,60}|.{0,40}", wanted in 0usize..5) {
        let _ = numbers(&text, wanted).map(|all| all.iter().map(|one| one.fits(0.5)).collect::<Vec<_>>());
        let _ = shape(&text);
        let _ = choice(&text, &["head 1".to_owned(), "2".to_owned()]);
    }

    /// A number rounded to at least two significant digits is right.
    #[test]
    fn a_rounded_number_is_right(value in -1000.0f64..1000.0, digits in 4usize..9) {
        prop_assert_eq!(numbers(&format!("{value:.digits$}"), 1).unwrap()[0].fits(value), Fit::Right);
    }

    /// One that is cut off is right but for rounding, or right.
    #[test]
    fn a_number_that_is_cut_off_is_nearly_right(value in 0.01f64..1000.0, digits in 4usize..9) {
        let text = format!("{value:.15}");
        let cut = &text[..text.find('.').unwrap() + 1 + digits];
        prop_assert!(numbers(cut, 1).unwrap()[0].fits(value) <= Fit::Rounded, "{} for {}", cut, value);
    }
}
