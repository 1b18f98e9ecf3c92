//! Sections of a course, as they are read.

use std::path::Path;

use super::*;
use crate::lesson::{Answer, Options, Problem, SlipAnswer, parse};

fn lesson(sections: &str) -> Problem {
    let text = format!(
        "attention: {{num_heads: 2}}\n\
         inputs: {{x: [[1, 0, 1, 0], [0, 1, 0, 1]]}}\n\
         projections: {{w_q: identity, w_k: identity, w_v: identity, w_o: identity}}\n{sections}"
    );
    parse(&text, "lesson.yaml", Path::new("."), &Options::default()).unwrap()
}

fn part(text: &str) -> Part {
    lesson(&format!("course:\n  - {text}\n")).course.parts[0].clone()
}

#[test]
fn a_run_names_what_it_starts_from_and_what_is_done_in_order() {
    let course = lesson(
        "runs:\n\
         \x20 one: {variant: single-head}\n\
         \x20 many: {from: one, change: {attention: {scale: 1}}, rewrites: [{mistake: scale-missing}, {zero_head: head.2}]}\n\
         \x20 swapped: {swap_keys: {head: layer.1.head.2, keys: [1, 3]}}\n",
    )
    .course;
    assert_eq!(course.runs[0].rewrites, [Rewrite::Variant("single-head".into())]);
    assert!(course.runs[0].change.is_null());
    let many = &course.runs[1];
    assert_eq!((many.name.as_str(), many.from.as_deref()), ("many", Some("one")));
    assert_eq!(many.rewrites, [Rewrite::Mistake("scale-missing".into()), Rewrite::ZeroHead("head.2".into())]);
    // keys count from 1 in the file and from 0 inside
    let swap = Rewrite::SwapKeys { head: "layer.1.head.2".into(), keys: [0, 2] };
    assert_eq!(course.runs[2].rewrites, [swap]);
}

#[test]
fn a_question_has_one_answer_and_a_name_that_stays() {
    let Part::Ask(question) = part("{ask: {en: 'How many rows has x?', zh: x 有几行？}, value: rows(x)}")
    else {
        panic!("not a question")
    };
    // Python: hashlib.sha256("How many rows has x?".encode()).hexdigest()[:8]
    assert_eq!(question.id, "7001f91c");
    assert!(matches!(question.answer, Answer::Value(_)));
    let Part::Ask(question) = part("{ask: why?, id: scale-1, cell: 'head.1.scores[1,2]'}") else {
        panic!("not a question")
    };
    assert_eq!(question.id, "scale-1");
    assert_eq!(question.answer, Answer::Cell("head.1.scores".parse().unwrap(), 0, 1));
    let Part::Ask(question) = part(
        "{ask: which?, choices: [1, {en: two, zh: 二}], answer: 'rows(x)', \
         wrong: [{choice: 1, say: no, myth: full-mha}, {choice: 1, say: no}]}",
    ) else {
        panic!("not a question")
    };
    assert!(matches!(&question.answer, Answer::Computed(choices, _) if *choices == ["1", "two"]));
    assert_eq!(question.wrong[0].answer, SlipAnswer::Choice(0));
    assert_eq!(question.wrong[0].myth.as_deref(), Some("full-mha"));
}

#[test]
fn a_table_keeps_cited_numbers_as_they_were_typed() {
    let Part::Table(table) = part(
        "table: {columns: [h, BLEU], rows: [[1, 24.90], [8, 5.00], [c, \"= rows(x)\"]], source: \"Vaswani et al. 2017\"}",
    ) else {
        panic!("not a table")
    };
    let words = |text: &str| Figure::Words(text.to_owned());
    assert_eq!(table.rows[0], [words("1"), words("24.90")]);
    assert_eq!(table.rows[1], [words("8"), words("5.00")]);
    assert!(matches!(&table.rows[2][1], Figure::Computed(quantity) if quantity.text == "rows(x)"));
}

#[test]
fn a_command_is_taken_apart_as_a_shell_does() {
    let Part::Command(command) =
        part("{command: \"mha trace --explain 'head.1.scores[1,3]'\", lines: [2, 5]}")
    else {
        panic!("not a command")
    };
    assert_eq!(command.words, ["mha", "trace", "--explain", "head.1.scores[1,3]"]);
    assert_eq!(command.lines, Some([2, 5]));
}

#[test]
fn steps_are_shown_in_runs_and_side_by_side() {
    let Part::Show { steps, look } = part("{show: [head.1.scores, head.1.scores@one], as: heatmap}") else {
        panic!("nothing shown")
    };
    assert_eq!(look, Look::Heatmap);
    assert_eq!(steps[1].run.as_deref(), Some("one"));
    assert_eq!(steps[0].step, steps[1].step);
}
