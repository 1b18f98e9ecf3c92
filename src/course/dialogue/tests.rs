//! Whole sessions from scripts: what was typed, and what was said to it.
//!
//! The lesson is the 3×4 example: token c is [1, 1] in head 1 and [0, 0] in head 2, so its scores there are
//! (1, 1, 2)/√2 and (0, 0, 0). e^(1/√2) = 2.0281 and e^√2 = 4.1133, so its weights in head 1 are 2.0281/8.1695 = 0.2483
//! twice and 4.1133/8.1695 = 0.5035.

use std::collections::VecDeque;
use std::path::Path;

use jiff::civil::{Date, date};

use super::*;
use crate::course::progress::Store;
use crate::lesson::{Options, parse};
use crate::views::heat::paint::Colours;
use crate::views::page::Page;

const LESSON: &str = r#"
title: Small
tokens: [a, b, c]
attention: {d_model: 4, num_heads: 2}
inputs: {x: [[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]]}
projections: {w_q: identity, w_k: identity, w_v: identity, w_o: identity}
runs: {one: {variant: single-head}}
course:
  - say: "Token c scores {head.1.scores[3,3]} against itself."
  - ask: "How much of its attention does c give to itself?"
    cell: head.1.weights[3,3]
    because: "Its score is the largest: {head.1.weights[3,3]}."
    wrong: [{value: "head.1.weights[3,1]", say: "that is what it gives to a: {head.1.weights[3,1]}"}]
    id: weight
  - show: head.1.weights
  - ask: "Which weights has c in head 2?"
    value: head.2.weights[3]
    id: row
  - ask: "What shape has the output?"
    shape: output
    id: shape
  - ask: "Where are more heads better?"
    choices: [always, not always]
    answer: 2
    wrong: [{choice: 1, myth: more-heads}]
    id: choice
  - task: "Let c look at itself with more than 0.9."
    change: [attention.scale, inputs.x]
    checks: ["head.1.weights[3,3] > 0.9"]
    watch: [head.1.weights]
    solution: {attention: {scale: 5}}
    hints: ["make the scores larger"]
    because: "Larger scores, sharper weights."
    id: sharp
  - table:
      title: Entropies
      columns: [what, one head, head 1]
      rows: [[bits, "= entropy(weights@one)", "= entropy(head.1.weights)"]]
"#;

/// Says nothing back but what stands in its script, and remembers all it was told.
struct Script {
    lines: VecDeque<&'static str>,
    seen: String,
}

impl Console for Script {
    fn say(&mut self, text: &str) {
        self.seen.push_str(text);
    }

    fn ask(&mut self, prompt: &str) -> Reply {
        self.seen.push_str(prompt);
        match self.lines.pop_front() {
            None => Reply::End,
            Some("^C") => Reply::Interrupted,
            Some(line) => {
                self.seen.push_str(line);
                self.seen.push('\n');
                Reply::Line(line.to_owned())
            }
        }
    }
}

const TODAY: Date = date(2026, 11, 30);

/// A session with the lesson in a folder of its own: how it ended, and all that was seen.
fn session(store: &Store, from: From, lines: &[&'static str]) -> (End, String) {
    colored::control::set_override(false);
    let problem = parse(LESSON, "small.yaml", Path::new("."), &Options::default());
    let problem = problem.unwrap_or_else(|faults| panic!("{faults}"));
    let runner = |_: &[String]| Ok(String::new());
    let setter = Setter { page: Page::default(), colours: Colours::None, plain: false, runner: &runner };
    let mut script = Script { lines: lines.iter().copied().collect(), seen: String::new() };
    let keeper = Keeper::new(store, "small", TODAY);
    let end = Dialogue::new(Workshop::new(problem), "small.yaml", setter, keeper, &mut script).lesson(from);
    (end, script.seen)
}

fn fresh(lines: &[&'static str]) -> (End, String) {
    let folder = tempfile::tempdir().unwrap();
    session(&Store::in_folder(folder.path()), From::Left, lines)
}

/// Whether the texts stand in what was seen, one behind the other.
fn in_order(seen: &str, texts: &[&str]) {
    let mut rest = seen;
    for text in texts {
        let Some(at) = rest.find(text) else { panic!("{text:?} is missing in\n{rest}") };
        rest = &rest[at + text.len()..];
    }
}

#[test]
fn right_answers_lead_through_the_whole_lesson() {
    let (end, seen) = fresh(&["0.5035", "1/3 1/3 1/3", "3x4", "not always", "attention.scale = 5"]);
    assert_eq!(end, End::Finished);
    in_order(
        &seen,
        &[
            "Small\n",
            "Token c scores 1.4142 against itself.",
            "Question 1 of 5",
            "Type an answer. hint helps, skip goes on, ? tells all that can be typed.\n> 0.5035\n✓ Right: 0.5035\nIts score is the largest: 0.5035.",
            "head.1.weights · attention weights of head 1",
            "✓ Right: 0.3333, 0.3333, 0.3333",
            "✓ Right: 3 × 4",
            "  1) always\n  2) not always\n",
            "✓ Right: not always",
            "Task 5 of 5",
            "✓ Reached.\nLarger scores, sharper weights.",
            "Entropies",
            "5 of 5 done, 5 of them at the first try.",
        ],
    );
}

/// What a question is about is not shown before it is answered.
#[test]
fn the_table_comes_after_the_answer() {
    let (end, seen) = fresh(&["show head.1.weights", "show head.1.scores", "show head.1.output", "show"]);
    assert_eq!(end, End::Left);
    in_order(
        &seen,
        &[
            "head.1.weights would give the answer away.",
            "│ c ┆ 0.7071 ┆ 0.7071 ┆ 1.4142 │",
            "head.1.output would give the answer away.",
            "Can be shown: x, ",
        ],
    );
    assert!(!seen.contains("0.5035"), "{seen}");
}

#[test]
fn a_wrong_answer_is_told_what_it_gives_away() {
    // Without the scale the scores are (1, 1, 2): e²/(e² + 2e) = 7.3891/12.8256 = 0.5761.
    let (_, seen) = fresh(&["0.5761", "0.25", "0.2483", "0.5", "0.9", "0,5", "nonsense", ""]);
    in_order(
        &seen,
        &[
            "> 0.5761\n✗ No, that is not it.\n",
            "scale-missing",
            "mha mistakes scale-missing",
            "> 0.25\n",
            "that is what it gives to a: 0.2483",
            "> 0.5\n≈ ",
            "> 0.9\n✗ No, that is not it.\n",
            "> 0,5\n? Decimals are written with a point here: 0.5.",
            "> nonsense\n? “nonsense” is not a number.",
            "A number can be typed as 0.7071, 1/3",
        ],
    );
}

#[test]
fn rounding_is_forgiven_and_said() {
    let (_, seen) = fresh(&["0.5034", "0.33 0.33 0.34", "0.33 0.33 0.33"]);
    in_order(
        &seen,
        &[
            "✓ Right but for rounding: it is 0.5035",
            "✗ No, that is not it.\nNot yet right: number 3 of the row.",
            "✓ Right: 0.3333, 0.3333, 0.3333",
        ],
    );
}

#[test]
fn hints_come_layer_by_layer_and_end_with_the_answer() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::in_folder(folder.path());
    let (_, seen) = session(&store, From::Left, &["h", "hint", "提示", "h"]);
    in_order(
        &seen,
        &[
            "→ head.1.weights is the step “attention weights of head 1”: A₁ = softmax(S₁)",
            "→ It is made from row 3 of head.1.scores.",
            "→ head.1.weights[3,3]\n  = e^(scores[3,3]",
            "\n  where m = ",
            "The next hint is the answer.",
            "→ The answer: 0.5035",
            "Question 2 of 5",
        ],
    );
    let before_the_answer = seen.split("The next hint").next().unwrap();
    assert!(!before_the_answer.contains("0.5035"), "{before_the_answer}");
    let done = &store.read().0.lessons["small"].done["weight"];
    assert_eq!((done.tries, done.hints, done.revealed), (0, 3, true));
    assert_eq!(done.due, date(2026, 12, 1));
}

#[test]
fn a_myth_is_named_and_refuted() {
    let (_, seen) = fresh(&["skip", "skip", "s", "1"]);
    in_order(
        &seen,
        &[
            "✗ No, that is not it.",
            "A myth speaks here: “More heads are always better.”",
            "mha params --d-model 512 --sweep num-heads=1,4,8,16,32",
        ],
    );
}

#[test]
fn a_turned_shape_is_told_so() {
    let (_, seen) = fresh(&["s", "s", "4 × 3", "3 × 2", "2x4", "5x5", "(3, 4)"]);
    in_order(
        &seen,
        &[
            "That is turned",
            "The number of rows is right, the number of columns is not.",
            "The number of columns is right, the number of rows is not.",
            "> 5x5\n✗ No, that is not it.\nhint helps",
            "✓ Right: 3 × 4",
        ],
    );
}

/// Doubling c's ones gives it q = k = [2, 2] in head 1: scores (2, 2, 8)/√2, and weights far above 0.9.
#[test]
fn a_task_is_changed_and_run_until_it_is_reached() {
    let (end, seen) = fresh(&[
        "s",
        "s",
        "s",
        "s",
        "attention.num_heads = 1",
        "scale = ",
        "attention.scale = nonsense",
        "inputs.x[4,1] = 1",
        "inputs.x[3][5] = 1",
        "attention.scale = 1",
        "undo",
        "undo",
        "x[3] = [2, 2, 0, 0]",
    ]);
    assert_eq!(end, End::Finished);
    in_order(
        &seen,
        &[
            "You may change attention.scale, inputs.x. Type a change as attention.scale = 1",
            "As it is now:\n    inputs.x = [[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]]\n> ",
            "attention.num_heads is not to be changed here",
            "cannot be read",
            "> attention.scale = nonsense\nerror:",
            "inputs.x[4,1] is not there\n  why: there are 3, counted from 1",
            "inputs.x[3][5] is not there\n  why: there are 4, counted from 1",
            "> attention.scale = 1\n",
            "0.5761",
            "Changed: head.1.weights[1,1] 0.4011 → 0.4223",
            "✗ head.1.weights[3,3] > 0.9: head.1.weights[3,3] is 0.5761",
            "Not yet. What you change next comes on top of it; undo takes it back.",
            "> undo\nThe lesson is as it was.",
            "> undo\nNothing is changed yet.",
            "✓ head.1.weights[3,3] > 0.9: head.1.weights[3,3] is 0.97",
            "✓ Reached.",
        ],
    );
}

#[test]
fn the_last_hint_of_a_task_is_its_solution() {
    let (end, seen) = fresh(&["s", "s", "s", "s", "h", "h"]);
    assert_eq!(end, End::Finished);
    in_order(
        &seen,
        &[
            "→ make the scores larger",
            "The next hint is a solution.",
            "attention.scale = 5",
            "✓ head.1.weights[3,3]",
        ],
    );
}

#[test]
fn what_is_done_is_not_asked_again_and_it_goes_on_where_it_was_left() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::in_folder(folder.path());
    let (end, seen) = session(&store, From::Left, &["0.5035", "^C"]);
    assert_eq!(end, End::Interrupted);
    in_order(&seen, &["Until next time: 1 of 5 done. mha learn small.yaml goes on here."]);
    let (_, seen) = session(&store, From::Left, &["back", "q"]);
    in_order(
        &seen,
        &[
            "You have done 1 of 5; it goes on where you left.",
            "head.1.weights · ",
            "Question 2 of 5",
            "> back\n",
            "Token c scores",
            "Question 1 of 5",
            "✓ Answered already: 0.5035",
            "Question 2 of 5",
        ],
    );
    let (_, seen) = session(&store, From::Question(3), &[]);
    in_order(&seen, &["Small", "Question 3 of 5"]);
    assert!(!seen.contains("Question 2"), "{seen}");
    let (_, seen) = session(&store, From::Again, &[]);
    in_order(&seen, &["Question 1 of 5", "> "]);
    assert_eq!(store.read().0.lessons["small"].done.len(), 0);
}

#[test]
fn what_was_skipped_is_asked_in_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::in_folder(folder.path());
    let (end, seen) = session(&store, From::Left, &["s", "1/3 1/3 1/3", "3x4", "2", "scale = 5"]);
    assert_eq!(end, End::Finished);
    in_order(
        &seen,
        &["Skipped: it stays open.", "4 of 5 done", "mha learn small.yaml asks what is left over."],
    );
    let (_, seen) = session(&store, From::Left, &["0.5035"]);
    in_order(&seen, &["Question 1 of 5", "✓ Right: 0.5035", "5 of 5 done"]);
    let (end, seen) = session(&store, From::Left, &[]);
    assert_eq!(end, End::Finished);
    in_order(&seen, &["You have done all of this lesson."]);
}

#[test]
fn where_progress_cannot_be_kept_that_is_said_once() {
    let folder = tempfile::tempdir().unwrap();
    let taken = folder.path().join("taken");
    std::fs::write(&taken, "").unwrap();
    let (end, seen) =
        session(&Store::in_folder(&taken), From::Left, &["0.5035", "1/3 1/3 1/3", "3x4", "2", "scale = 5"]);
    assert_eq!(end, End::Finished);
    assert_eq!(seen.matches("progress cannot be kept in").count(), 1, "{seen}");
    in_order(&seen, &["5 of 5 done"]);
}

#[test]
fn the_whole_lesson_can_be_read_without_tables() {
    colored::control::set_override(false);
    let problem = parse(LESSON, "small.yaml", Path::new("."), &Options::default()).unwrap();
    let runner = |_: &[String]| Ok(String::new());
    let setter = Setter { page: Page::default(), colours: Colours::None, plain: true, runner: &runner };
    let text = whole(&Workshop::new(problem), &setter);
    in_order(
        &text,
        &[
            "Question 1: How much",
            "Hint: ",
            "Answer: 0.5035",
            "head.1.weights: attention weights of head 1",
            "columns: a, b, c\nrow a: 0.4011, 0.1978, 0.4011",
            "  1) always",
            "Task 5: Let c look",
            "attention.scale = 5",
            "Entropies\nwhat: bits; one head: ",
        ],
    );
    assert!(!text.contains(['│', '┌', '─']), "{text}");
}

/// A page of 40 columns has no room for the second head of this table.
#[test]
fn a_table_with_heads_too_long_for_the_page_is_told_line_by_line() {
    colored::control::set_override(false);
    let runner = |_: &[String]| Ok(String::new());
    let page = Page { width: 40, ..Page::default() };
    let setter = Setter { page, colours: Colours::None, plain: false, runner: &runner };
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let rows = || vec![texts(&["a", "1", "0.4034"]), texts(&["b", "0", "0.1989"])];
    let short = setter.table("Row a", &texts(&["key", "hidden", "open"]), rows());
    assert!(short.contains("│ b   ┆      0 ┆ 0.1989 │"), "{short}");
    let long =
        setter.table("Row a", &texts(&["key", "hidden", "with all scores multiplied by zero"]), rows());
    assert_eq!(
        long,
        "Row a\nkey: a; hidden: 1; with all scores\nmultiplied by zero: 0.4034\nkey: b; hidden: 0; with all scores\nmultiplied by zero: 0.1989\n"
    );
}

/// In a stack of layers a step is titled with the layer that it stands in.
#[test]
fn a_step_of_a_stack_is_told_with_its_layer() {
    let text = "title: Two\ntokens: [a, b]\nattention: {d_model: 2, num_heads: 1}\nlayers: {count: 2}\ninputs: {x: [[1, 0], [0, 1]]}\n\
                projections: {w_q: identity, w_k: identity, w_v: identity, w_o: identity}\n\
                course: [{show: layer.2.head.1.weights}]\n";
    let problem = parse(text, "two.yaml", Path::new("."), &Options::default());
    let problem = problem.unwrap_or_else(|faults| panic!("{faults}"));
    let runner = |_: &[String]| Ok(String::new());
    let setter = Setter { page: Page::default(), colours: Colours::None, plain: true, runner: &runner };
    let text = whole(&Workshop::new(problem), &setter);
    in_order(&text, &["layer.2.head.1.weights: attention weights of head 1, layer 2\n"]);
}
