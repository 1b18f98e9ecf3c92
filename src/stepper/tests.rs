//! Where keys lead, and what follows from an edit.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::path::Path;

use super::screens::shows;
use super::{After, State, keys};
use crate::lesson::{Options, Problem, builtin, parse};
use crate::trace::Trace;
use crate::views::page::Page;

pub(super) fn lesson(name: &str) -> Problem {
    builtin::load(builtin::find(name).unwrap(), &Options::default()).unwrap()
}

pub(super) fn stepping(name: &str) -> State {
    State::new(lesson(name), Vec::new(), Page::default()).unwrap()
}

pub(super) fn event(key: &str) -> KeyEvent {
    let (code, modifiers) = match key {
        "Enter" => (KeyCode::Enter, KeyModifiers::NONE),
        "Esc" => (KeyCode::Esc, KeyModifiers::NONE),
        "Tab" => (KeyCode::Tab, KeyModifiers::NONE),
        "BackTab" => (KeyCode::BackTab, KeyModifiers::SHIFT),
        "Backspace" => (KeyCode::Backspace, KeyModifiers::NONE),
        "Up" => (KeyCode::Up, KeyModifiers::NONE),
        "Down" => (KeyCode::Down, KeyModifiers::NONE),
        "Left" => (KeyCode::Left, KeyModifiers::NONE),
        "Right" => (KeyCode::Right, KeyModifiers::NONE),
        "PageUp" => (KeyCode::PageUp, KeyModifiers::NONE),
        "PageDown" => (KeyCode::PageDown, KeyModifiers::NONE),
        "ctrl-c" => (KeyCode::Char('c'), KeyModifiers::CONTROL),
        "ctrl-z" => (KeyCode::Char('z'), KeyModifiers::CONTROL),
        letter => (KeyCode::Char(letter.chars().next().unwrap()), KeyModifiers::NONE),
    };
    KeyEvent::new(code, modifiers)
}

/// Presses one key after the other, as the terminal would hand them over.
pub(super) fn press(state: &mut State, keys: &[&str]) -> After {
    let mut after = After::Draw;
    for key in keys {
        let key = event(key);
        let action = if state.is_typing() { keys::typing(key) } else { keys::action(key) };
        after = action.map_or(After::Draw, |action| state.apply(action));
    }
    after
}

/// Goes to a number, as `:` does.
pub(super) fn go(state: &mut State, place: &str) {
    press(state, &[":"]);
    for letter in place.chars() {
        press(state, &[&letter.to_string()]);
    }
    press(state, &["Enter"]);
    assert_eq!(state.cell().to_string(), place);
}

fn value(state: &State, place: &str) -> f64 {
    let (name, at) = place.trim_end_matches(']').split_once('[').unwrap();
    let (row, column) = at.split_once(',').unwrap();
    let (row, column) = (row.parse::<usize>().unwrap() - 1, column.parse::<usize>().unwrap() - 1);
    state.bench.trace().get(name.parse().unwrap()).unwrap()[(row, column)]
}

fn message(state: &State) -> &str {
    state.message.as_deref().unwrap_or_default()
}

/// Every number of a trace with its step, as bits.
fn bits(trace: &Trace<f64>) -> Vec<(String, Vec<u64>)> {
    trace
        .steps()
        .map(|(step, value)| (step.id.to_string(), value.iter().map(|v| v.to_bits()).collect()))
        .collect()
}

#[test]
fn the_cursor_stays_on_the_matrix() {
    let mut state = stepping("two-heads");
    press(&mut state, &["Up", "h"]);
    assert_eq!(state.cell().to_string(), "x[1,1]");
    press(&mut state, &["Right"; 9]);
    press(&mut state, &["j"; 9]);
    assert_eq!(state.cell().to_string(), "x[3,4]"); // x is 3 × 4
    // w_q is 4 × 4: the cursor keeps its place; head.1.q is 3 × 2: it goes to the nearest.
    press(&mut state, &["n"]);
    assert_eq!(state.cell().to_string(), "w_q[3,4]");
    press(&mut state, &["1"]);
    assert_eq!(state.cell().to_string(), "head.1.q[3,2]");
}

#[test]
fn steps_end_at_the_first_and_the_last() {
    let mut state = stepping("two-heads");
    press(&mut state, &["p"]);
    assert!(message(&state).contains("first step"), "{}", message(&state));
    press(&mut state, &["G"]);
    assert_eq!(state.cell().step.to_string(), "output");
    press(&mut state, &["PageDown"]);
    assert!(message(&state).contains("last step"), "{}", message(&state));
    press(&mut state, &["PageUp", "p"]);
    assert_eq!(state.cell().step.to_string(), "concat"); // output follows w_o, and w_o concat
    press(&mut state, &["g"]);
    assert_eq!(state.cell().step.to_string(), "x");
}

/// W_Q and W_K are the identity, so with x[1,1] = 2 the first query and the first key of head 1 are (2, 0):
/// (2·2 + 0·0) / √2 = 4/√2. Token b is (0, 1) in head 1: its score with itself stays 1/√2, and head 2 reads columns
/// 3 and 4 alone.
#[test]
fn an_edited_input_is_followed_by_everything_made_from_it() {
    let mut state = stepping("two-heads");
    let before = bits(state.bench.trace());
    press(&mut state, &["e", "2", "Enter"]);
    assert!((value(&state, "head.1.scores[1,1]") - 4.0 / 2f64.sqrt()).abs() < 1e-15);
    let changed = |place: &str, state: &mut State| {
        go(state, place);
        state.bench.is_changed(state.cell())
    };
    assert!(changed("x[1,1]", &mut state) && changed("head.1.scores[1,1]", &mut state));
    assert!(!changed("head.1.scores[2,2]", &mut state) && !changed("head.2.weights[1,1]", &mut state));
    // x, q, k, v; of head 1 q, k, v, scores, weights, output; concat, output: 12, and none of head 2.
    assert_eq!(state.bench.changed_steps().unwrap().len(), 12);

    press(&mut state, &["u"]);
    assert_eq!(bits(state.bench.trace()), before);
    press(&mut state, &["u"]);
    assert!(message(&state).contains("nothing is left to undo"));
}

#[test]
fn a_reset_takes_every_edit_back_and_can_itself_be_undone() {
    let mut state = stepping("two-heads");
    let before = bits(state.bench.trace());
    press(&mut state, &["e", "5", "Enter", "l", "e", "-", "3", "Enter"]);
    assert_eq!((value(&state, "x[1,1]"), value(&state, "x[1,2]")), (5.0, -3.0));
    press(&mut state, &["r"]);
    assert_eq!(bits(state.bench.trace()), before);
    press(&mut state, &["u"]);
    assert_eq!((value(&state, "x[1,1]"), value(&state, "x[1,2]")), (5.0, -3.0));
}

/// 10³⁰⁰ · 10³⁰⁰ is more than an f64 can hold.
#[test]
fn an_edit_that_nothing_can_be_computed_from_is_refused_and_all_stays() {
    let mut state = stepping("two-heads");
    let before = bits(state.bench.trace());
    for typed in ["1e300", "two", "inf", "nan", ""] {
        press(&mut state, &["e"]);
        for letter in typed.chars() {
            press(&mut state, &[&letter.to_string()]);
        }
        press(&mut state, &["Enter"]);
        assert!(message(&state).contains("stay"), "{typed}: {}", message(&state));
        assert_eq!(bits(state.bench.trace()), before, "{typed}");
        assert_eq!(state.bench.edits(), 0);
    }
    press(&mut state, &["e", "7", "Esc"]);
    assert_eq!(bits(state.bench.trace()), before);
    press(&mut state, &["1", "e"]);
    assert!(!state.is_typing() && message(&state).contains("computed, not given"), "{}", message(&state));
}

/// Row a of head 1 scores 1/√2, 0, 1/√2, 1/√2: without masks a weighs itself e^(1/√2) / (3·e^(1/√2) + 1).
#[test]
fn without_masks_every_query_sees_every_key_and_masked_scores_are_gone() {
    let mut state = stepping("masks");
    let before = bits(state.bench.trace());
    go(&mut state, "head.1.masked_scores[1,2]");
    assert_eq!(value(&state, "head.1.masked_scores[1,2]"), f64::NEG_INFINITY);
    press(&mut state, &["m"]);
    assert_eq!(state.cell().to_string(), "head.1.scores[1,2]");
    assert!(state.steps().all(|step| !step.id.to_string().contains("masked")));
    let e = (1.0 / 2f64.sqrt()).exp();
    assert!((value(&state, "head.1.weights[1,1]") - e / (3.0 * e + 1.0)).abs() < 1e-15);
    press(&mut state, &["m"]);
    assert_eq!(bits(state.bench.trace()), before);

    let mut unmasked = stepping("two-heads");
    press(&mut unmasked, &["m"]);
    assert!(message(&unmasked).contains("has no mask"));
}

#[test]
fn tab_walks_down_to_x_and_backspace_comes_back() {
    let mut state = stepping("two-heads");
    go(&mut state, "head.1.scores[3,2]");
    let mut walk = vec![state.cell().to_string()];
    for _ in 0..3 {
        press(&mut state, &["Tab"]);
        walk.push(state.cell().to_string());
    }
    assert_eq!(walk, ["head.1.scores[3,2]", "head.1.q[3,1]", "q[3,1]", "x[3,1]"]);
    press(&mut state, &["Enter"]);
    assert!(message(&state).contains("is given"), "{}", message(&state));
    press(&mut state, &["Backspace"; 3]);
    assert_eq!(state.cell().to_string(), "head.1.scores[3,2]");
    // The last source of query c's score with key b is row b of the keys.
    press(&mut state, &["BackTab"]);
    assert_eq!(state.cell().to_string(), "head.1.k[2,1]");
}

#[test]
fn digits_and_names_go_to_heads_steps_and_numbers() {
    let mut state = stepping("two-heads");
    go(&mut state, "head.1.weights[3,2]");
    press(&mut state, &["2"]);
    assert_eq!(state.cell().to_string(), "head.2.weights[3,2]");
    press(&mut state, &[":", "1", "Enter"]);
    assert_eq!(state.cell().to_string(), "head.1.weights[3,2]");
    press(&mut state, &["9"]);
    assert!(message(&state).contains("there is no head 9"));
    press(&mut state, &[":", "o", "u", "t", "p", "u", "t", "s", "Enter"]);
    assert!(message(&state).contains("did you mean output?"), "{}", message(&state));
    press(&mut state, &[":", "q", "[", "4", ",", "1", "]", "Enter"]);
    assert!(message(&state).contains("3 rows and 4 columns"), "{}", message(&state));
    assert_eq!(state.cell().to_string(), "head.1.weights[3,2]");
}

#[test]
fn on_a_turned_page_right_is_the_next_token() {
    let mut state = stepping("two-heads");
    press(&mut state, &["t", "Right"]);
    assert_eq!(state.cell().to_string(), "x[2,1]");
    // x has 3 tokens of 4 numbers: turned, 4 rows of 3.
    shows(&mut state, (80, 24), &["tokens in columns", "│ a  b  c"]);
}

#[test]
fn only_the_chosen_steps_are_stepped_through_but_sources_are_always_there() {
    let chosen = ["head.1.weights", "head.2.weights"].map(|id| id.parse().unwrap()).to_vec();
    let mut state = State::new(lesson("two-heads"), chosen, Page::default()).unwrap();
    assert_eq!(state.cell().to_string(), "head.1.weights[1,1]");
    press(&mut state, &["Tab"]);
    assert_eq!(state.cell().to_string(), "head.1.scores[1,1]");
    press(&mut state, &["n", "n"]);
    assert_eq!(state.cell().to_string(), "head.2.weights[1,1]");
}

/// Two sequences of one token under the same W_Q = (1): x is 3 and 5, and with W_Q = 2 the queries are 6 and 10.
#[test]
fn in_a_batch_heads_stay_in_their_sequence_and_projections_are_shared() {
    let text = "{attention: {d_model: 1, num_heads: 1}, inputs: {x: [[[3]], [[5]]]}, \
                projections: {w_q: identity, w_k: identity, w_v: identity, w_o: identity}}";
    let problem = parse(text, "batch.yaml", Path::new("."), &Options::default()).unwrap();
    let chosen = ["batch.2.x", "w_q", "batch.2.q", "batch.2.head.1.q"].map(|id| id.parse().unwrap()).to_vec();
    let mut state = State::new(problem, chosen, Page::default()).unwrap();
    go(&mut state, "batch.2.x[1,1]");
    press(&mut state, &["1"]);
    assert_eq!(state.cell().to_string(), "batch.2.head.1.q[1,1]");
    go(&mut state, "w_q[1,1]");
    press(&mut state, &["e", "2", "Enter"]);
    assert_eq!((value(&state, "batch.1.q[1,1]"), value(&state, "batch.2.q[1,1]")), (6.0, 10.0));
}

#[test]
fn a_trace_too_large_to_compute_while_someone_waits_is_refused() {
    // scores and weights of one head: 2 · 2048² = 2²³ numbers
    let text = "{attention: {d_model: 2, num_heads: 1}, inputs: {x: {random: {seed: 1, shape: [2048, 2]}}}, \
                projections: {w_q: identity, w_k: identity, w_v: identity, w_o: identity}}";
    let problem = parse(text, "large.yaml", Path::new("."), &Options::default()).unwrap();
    let fault = State::new(problem, Vec::new(), Page::default()).err().unwrap().to_string();
    assert!(fault.contains("too many to step through") && fault.contains("--summary"), "{fault}");
}

/// Layers stand in the list like heads; a number of the second is gone to by its name, and the masks of all layers go.
#[test]
fn a_stack_is_stepped_through_layer_by_layer() {
    let text = "
attention: {d_model: 2, num_heads: 2, mask: causal}
inputs: {x: [[1, 0], [0, 1], [1, 1]]}
projections: {w_q: identity, w_k: identity, w_v: identity, w_o: identity}
layers: {count: 2, norm: none}
";
    let problem = parse(text, "stack.yaml", Path::new("."), &Options::default()).unwrap();
    let mut state = State::new(problem, Vec::new(), Page { width: 120, ..Page::default() }).unwrap();
    go(&mut state, "layer.2.head.1.weights[1,2]");
    shows(&mut state, (120, 40), &["layer 2", "head 1", "attention weights of head 1, layer 2"]);
    let weight = |state: &State| state.bench.trace().cell(state.cell()).unwrap();
    assert_eq!(weight(&state), 0.0);
    press(&mut state, &["2"]);
    assert_eq!(state.cell().to_string(), "layer.2.head.2.weights[1,2]");
    assert_eq!(weight(&state), 0.0);
    press(&mut state, &["m"]);
    assert!(weight(&state) > 0.0);
    go(&mut state, "layer.1.head.1.weights[1,2]");
    assert!(weight(&state) > 0.0);
    press(&mut state, &["m"]);
    assert_eq!(weight(&state), 0.0);
}
