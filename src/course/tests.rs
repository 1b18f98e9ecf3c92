//! A workshop on small lessons whose numbers are worked out by hand.

use std::path::Path;

use approx::assert_abs_diff_eq;

use super::*;
use crate::lesson::course::{Look, Part};
use crate::lesson::quantity::Numbers;
use crate::lesson::{Answer, Options, Quantity, builtin, parse};

/// One head of width 2 on two tokens: x xᵀ is the identity, so the scores are 1/√2 on the diagonal and 0 beside it. The
/// values are x itself and W_O is twice the identity.
const SMALL: &str = "\
title: Small
tokens: [a, b]
attention: {num_heads: 1}
inputs: {x: [[1, 0], [0, 1]]}
projections: {w_q: identity, w_k: identity, w_v: identity, w_o: [[2, 0], [0, 2]]}
";

fn workshop(more: &str) -> Workshop {
    let text = format!("{SMALL}{more}");
    Workshop::new(parse(&text, "small.yaml", Path::new("."), &Options::default()).unwrap())
}

fn number(workshop: &Workshop, text: &str) -> f64 {
    text.parse::<Quantity>().unwrap().number(workshop).unwrap()
}

fn asked(workshop: &Workshop) -> Vec<crate::lesson::Question> {
    workshop
        .parts()
        .into_iter()
        .filter_map(|part| match part {
            Part::Ask(question) => Some(question),
            _ => None,
        })
        .collect()
}

#[test]
fn a_run_is_computed_from_what_it_changes() {
    let workshop = workshop(
        "runs:\n\
         \x20 bare: {mistake: scale-missing}\n\
         \x20 sharp: {change: {attention: {scale: 3}}}\n\
         \x20 sharp_later: {from: sharp, variant: causal}\n\
         \x20 nothing: {zero_head: head.1}\n",
    );
    assert_abs_diff_eq!(number(&workshop, "head.1.scores[1,1]"), 0.5f64.sqrt(), epsilon = 1e-15);
    assert_eq!(number(&workshop, "head.1.scores[1,1]@bare"), 1.0);
    assert_eq!(number(&workshop, "head.1.scores[1,1]@sharp"), 3.0);
    // the first query sees only itself
    assert_eq!(number(&workshop, "head.1.weights[1,1]@sharp_later"), 1.0);
    assert_eq!(number(&workshop, "head.1.scores[2,2]@sharp_later"), 3.0);
    assert_eq!(number(&workshop, "max(abs(output@nothing))"), 0.0);
    let missing = workshop.ran(Some("shrap")).unwrap_err();
    assert_eq!(missing.0[0].what, "there is no run called shrap");
    assert_eq!(missing.0[0].remedy, "did you mean sharp?");
}

#[test]
fn a_stacked_name_is_all_heads_and_a_batch_means_its_first_sequence() {
    let load =
        |name: &str| Workshop::new(builtin::load(builtin::find(name).unwrap(), &Options::default()).unwrap());
    let two = load("two-heads");
    assert_eq!(number(&two, "rows(weights)"), 6.0);
    // row 3 of head 2
    assert_abs_diff_eq!(number(&two, "weights[6,1]"), 1.0 / 3.0, epsilon = 1e-15);
    let shared = load("grouped-query");
    let attention = &shared.problem().attention;
    let sheets = number(&shared, "rows(k_heads)") / number(&shared, "rows(head.1.k)");
    assert_eq!(sheets, attention.num_kv_heads as f64);
    let batch = load("two-sequences");
    assert_eq!(number(&batch, "difference(output, batch.1.output)"), 0.0);
}

/// d_model = d_k = d_v = 2, n = 2: four matrices of 2 × 2; Q, K, V and the output take 2·2·2 multiplications each, scores
/// and weights · V as many; a softmax of 2 × 2 has 4 exponentials; a token's key and value are 4 numbers.
#[test]
fn figures_of_a_run_are_those_of_its_plan() {
    let workshop = workshop("runs: {free: {variant: no-output-projection}}\n");
    assert_eq!(number(&workshop, "parameters()"), 16.0);
    assert_eq!(number(&workshop, "parameters(@free)"), 12.0);
    assert_eq!(number(&workshop, "multiplications()"), 48.0);
    assert_eq!(number(&workshop, "exponentials()"), 4.0);
    assert_eq!(number(&workshop, "cached()"), 4.0);
}

/// Of a single token the weight is 1 whatever the score is, so output = x · W_V · W_O = 2 x: every unit direction of x comes
/// out 2 long.
#[test]
fn a_slope_is_the_length_of_a_derivative() {
    let alone = workshop("").changed(&serde_yaml::from_str("{tokens: [a], inputs: {x: [[3, 4]]}}").unwrap());
    let alone = alone.unwrap();
    assert_abs_diff_eq!(number(&alone, "slope(output, x)"), 2.0, epsilon = 1e-8);
    assert_abs_diff_eq!(number(&alone, "slope(output, w_q)"), 0.0, epsilon = 1e-8);
    let why = alone.slope(("output".parse().unwrap(), None), "concat".parse().unwrap()).unwrap_err();
    assert!(why.starts_with("concat is not an input; the inputs are "), "{why}");
}

/// Scores are $ on the diagonal and 0 beside it: a's weight of itself is e^$ / (e^$ + 1).
#[test]
fn a_curve_has_a_point_at_each_value() {
    let workshop = workshop(
        "course:\n\
         \x20 - plot:\n\
         \x20     x: {label: scale, values: [1, 2]}\n\
         \x20     change: {attention: {scale: $}}\n\
         \x20     lines: [{label: to itself, value: 'head.1.weights[1,1]'}, {label: twice, value: '2*$'}]\n",
    );
    let parts = workshop.parts();
    let Part::Plot(plot) = &parts[0] else { panic!("not a plot") };
    let curves = workshop.curve(plot).unwrap();
    for ((x, y), expected) in curves[0].iter().zip([1.0f64, 2.0]) {
        assert_eq!(*x, expected);
        assert_abs_diff_eq!(*y, expected.exp() / (expected.exp() + 1.0), epsilon = 1e-12);
    }
    assert_eq!(curves[1], [(1.0, 2.0), (2.0, 4.0)]);
}

#[test]
fn a_story_and_a_quiz_make_a_course() {
    let workshop = workshop(
        "story:\n\
         \x20 - {at: head.1.scores, say: First.}\n\
         \x20 - {at: head.1.scores, say: Second.}\n\
         \x20 - {at: output, say: Third.}\n\
         quiz: [{ask: How many?, value: rows(x)}]\n",
    );
    let told: Vec<String> = workshop
        .parts()
        .iter()
        .map(|part| match part {
            Part::Say(text) => text.clone(),
            Part::Show { steps, look: Look::Table } => steps[0].step.to_string(),
            Part::Ask(question) => question.ask.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(told, ["First.", "Second.", "head.1.scores", "Third.", "output", "How many?"]);
}

#[test]
fn a_text_is_filled_with_what_its_expressions_come_to() {
    let workshop = workshop("runs: {one: {mistake: scale-missing}}\n");
    let filled = |text: &str| workshop.filled(text, 4);
    assert_eq!(filled("{head.1.scores[1,1]} and {head.1.scores[1,1]@one}"), "0.7071 and 1");
    assert_eq!(filled("{rows(x)} rows, {1/rows(x):%}, {words}"), "2 rows, 50.0%, {words}");
    assert_eq!(filled("{head.9.scores[1,1]}"), "head.9.scores[1,1]?");
}

/// In head 1 of the 3×4 example token c resembles itself by 2, so its score is 2/√2; head 2 has 0 there.
#[test]
fn a_wrong_answer_gives_away_a_mistake_or_a_mix_up() {
    let lesson = builtin::load(builtin::find("two-heads").unwrap(), &Options::default()).unwrap();
    let questions = "quiz:\n\
        \x20 - {ask: Score of c with c?, cell: 'head.1.scores[3,3]', wrong: [{value: 0, say: Own words.}]}\n\
        \x20 - {ask: Weight of c for a?, cell: 'head.1.weights[3,1]'}\n";
    let text = lesson.text.split("course:").next().unwrap().to_owned() + questions;
    let workshop = Workshop::new(parse(&text, "l.yaml", Path::new("."), &Options::default()).unwrap());
    let questions = asked(&workshop).split_off(asked(&workshop).len() - 2);
    let found = |question: &crate::lesson::Question, value: f64| {
        workshop.slips(question).into_iter().find(|slip| match &slip.answer {
            Right::Numbers(numbers) => numbers.len() == 1 && (numbers[0] - value).abs() < 1e-9,
            _ => false,
        })
    };
    let unscaled = found(&questions[0], 2.0).unwrap();
    assert_eq!(unscaled.mistake.map(|mistake| mistake.name), Some("scale-missing"));
    // what the lesson says of a number comes before what is found by itself
    assert_eq!(found(&questions[0], 0.0).unwrap().say, "Own words.");
    // the right answer gives nothing away
    assert!(found(&questions[0], 2.0f64.sqrt()).is_none());
    // the weight of a for c: row a of head 1 is softmax of [1, 0, 1]/√2
    let e = 0.5f64.sqrt().exp();
    let swapped = found(&questions[1], e / (2.0 * e + 1.0)).unwrap();
    assert!(swapped.say.contains("rows and columns are swapped"), "{}", swapped.say);
    let other = found(&questions[1], 1.0 / 3.0).unwrap();
    assert!(other.say.contains("head 2"), "{}", other.say);
    let before = found(&questions[1], 0.5f64.sqrt()).unwrap();
    assert!(before.say.contains("head.1.scores"), "{}", before.say);
}

#[test]
fn each_run_is_timed() {
    let workshop = workshop(
        "runs: {one: {variant: fused}}\n\
         course: [{time: {runs: [{label: loop}, {label: fused, run: one}]}}]\n",
    );
    let parts = workshop.parts();
    let Part::Time(timing) = &parts[0] else { panic!("no times") };
    let times = workshop.times(timing).unwrap();
    assert_eq!(times.iter().map(|time| time.label.as_str()).collect::<Vec<_>>(), ["loop", "fused"]);
    assert!(times.iter().all(|time| time.best <= time.median && !time.best.is_zero()));
}

#[test]
fn what_is_computed_once_is_kept() {
    let workshop = workshop("");
    let (first, second) = (workshop.ran(None).unwrap(), workshop.ran(None).unwrap());
    assert!(std::rc::Rc::ptr_eq(&first, &second));
}

/// Row 1 of head 2's weights is e^0.7071 : 1 : 1, so 0.5035, 0.2483, 0.2483. Who answers 0.25 read the wrong column, and
/// who answers 1/3 guessed: no bug of a program is needed for either.
#[test]
fn a_guess_is_not_called_a_programming_mistake() {
    let lesson = builtin::load(builtin::find("two-heads").unwrap(), &Options::default()).unwrap();
    let workshop = Workshop::new(lesson);
    let question = asked(&workshop)
        .into_iter()
        .find(|question| matches!(&question.answer, Answer::Cell(step, 0, 0) if step.to_string() == "head.2.weights"))
        .unwrap();
    let said = |value: f64| {
        let is_it = |slip: &&Caught| matches!(&slip.answer, Right::Numbers(numbers) if (numbers[(0, 0)] - value).abs() < 5e-5);
        workshop
            .slips(&question)
            .iter()
            .find(is_it)
            .map(|slip| (slip.say.clone(), slip.mistake.is_some()))
            .unwrap()
    };
    let (say, is_mistake) = said(0.2483);
    assert!(say.contains("column 2 of the same row") && !is_mistake, "{say}");
    let (say, is_mistake) = said(1.0 / 3.0);
    assert!(say.contains("an even share among 3 keys") && !is_mistake, "{say}");
}
