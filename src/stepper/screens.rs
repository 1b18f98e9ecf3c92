//! What is on the screen, at many sizes.

use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Modifier;
use std::collections::HashSet;
use std::path::Path;

use super::keys::{self, BINDINGS};
use super::tests::{event, go, lesson, press, stepping};
use super::{After, State, Theme, draw};
use crate::fault::commands;
use crate::hostile::PIECES;
use crate::lesson::{Options, builtin, parse};
use crate::views::json_text::quiet;
use crate::views::page::Page;
use crate::words::{Language, in_language};

fn terminal(state: &mut State, theme: Theme, width: u16, height: u16) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw::frame(frame, state, theme)).unwrap();
    terminal
}

/// What is on the screen, line by line.
fn screen(state: &mut State, width: u16, height: u16) -> Vec<String> {
    let terminal = terminal(state, Theme::Plain, width, height);
    let buffer = terminal.backend().buffer();
    (0..height).map(|y| (0..width).map(|x| buffer[(x, y)].symbol()).collect()).collect()
}

pub(super) fn shows(state: &mut State, size: (u16, u16), texts: &[&str]) {
    let lines = screen(state, size.0, size.1);
    for text in texts {
        assert!(lines.iter().any(|line| line.contains(text)), "no {text} on\n{}", lines.join("\n"));
    }
}

/// head.1.scores[3,2] = (1·0 + 1·1) / √2 = 0.7071: row c of the queries and row b of the keys are lit.
#[test]
fn a_screen_of_any_size_shows_the_number_its_sources_and_its_arithmetic() {
    let mut state = stepping("two-heads");
    go(&mut state, "head.1.scores[3,2]");
    shows(
        &mut state,
        (40, 12),
        &["head.1.scores", "[0.7071]", "head.1.scores[3,2] = 0.7071", "= (q[3,1]·k[2,1]", "? help"],
    );
    shows(
        &mut state,
        (80, 24),
        &[
            "Two heads, one input",
            "step 11 of 22",
            "S₁ = Q₁K₁ᵀ / √d_k",
            "[0.7071]",
            "c│[1][1]",
            "b│[0][1]",
            "= (q[3,1]·k[2,1] + q[3,2]·k[2,2]) · 1/√2",
            "= (1·0 + 1·1) · 1/√2",
            "Rows ask, columns answer",
            "n next",
            "Tab where from",
        ],
    );
    shows(
        &mut state,
        (200, 50),
        &[
            "[0.7071]",
            "c│[1][1]",
            "b│[0][1]",
            "head.1.q[3,1] = q[3,1] = x[3,1]·w_q[1,1]",
            "head 2",
            "  weights",
        ],
    );
}

/// A Chinese character takes two cells; blanks are left out of what is compared.
#[test]
fn the_screen_speaks_chinese_and_loses_no_column_to_it() {
    in_language(Language::Zh, || {
        let mut state = stepping("two-heads");
        go(&mut state, "head.1.scores[3,2]");
        let lines = screen(&mut state, 80, 24);
        let text: String = lines.concat().split_whitespace().collect();
        for words in ["第11步，共22步", "head.1.scores·头1的分数", "行提问，列回答", "Tab来源", "[0.7071]"]
        {
            assert!(text.contains(words), "no {words} on\n{}", lines.join("\n"));
        }
        press(&mut state, &["?"]);
        let help: String = screen(&mut state, 80, 60).concat().split_whitespace().collect();
        assert!(help.contains("走到得出它的第一个数"), "{help}");
    });
}

/// Token c scores (1·1 + 1·1)/√2 = 2/√2 against itself; with its second number 2 instead of 1, (1·1 + 2·2)/√2 = 5/√2.
#[test]
fn exact_forms_follow_an_edit_and_the_story_is_not_taken_for_it() {
    let mut state = stepping("two-heads");
    go(&mut state, "head.1.scores[3,3]");
    press(&mut state, &["x"]);
    shows(&mut state, (80, 24), &["[2/√2]", "head.1.scores[3,3] = 2/√2 = 1.4142", "exact"]);
    go(&mut state, "x[3,2]");
    press(&mut state, &["e", "2", "Enter"]);
    go(&mut state, "head.1.scores[3,3]");
    shows(&mut state, (80, 50), &["[*5/√2]", "the lesson's own numbers, before the changes"]);
    press(&mut state, &["x"]);
    shows(&mut state, (80, 24), &["[*3.5355]"]); // 5/1.41421
}

#[test]
fn marks_need_no_colour_and_colours_do_not_change_a_letter() {
    let mut state = stepping("two-heads");
    press(&mut state, &["e", "2", "Enter"]);
    go(&mut state, "head.1.scores[1,1]");
    let plain = terminal(&mut state, Theme::Plain, 80, 24);
    let coloured = terminal(&mut state, Theme::Coloured, 80, 24);
    let text = |terminal: &Terminal<TestBackend>| -> Vec<String> {
        terminal.backend().buffer().content.iter().map(|cell| cell.symbol().to_owned()).collect()
    };
    assert_eq!(text(&plain), text(&coloured));
    let all = text(&plain).concat();
    assert!(all.contains("[*2.8284]") && all.contains("[*2]"), "{all}");
    let cells = &plain.backend().buffer().content;
    assert!(
        cells
            .iter()
            .all(|cell| cell.fg == ratatui::style::Color::Reset && cell.bg == ratatui::style::Color::Reset)
    );
    let reversed = |cell: &ratatui::buffer::Cell| cell.modifier.contains(Modifier::REVERSED);
    let cursor: String = cells[80..80 * 23]
        .iter()
        .filter(|cell| reversed(cell) && cell.modifier.contains(Modifier::BOLD))
        .map(|cell| cell.symbol())
        .collect();
    assert_eq!(cursor, "[*2.8284]");
}

#[test]
fn ascii_screens_hold_nothing_but_ascii() {
    let page = Page { ascii: true, ..Page::default() };
    for name in ["two-heads", "masks", "telltale"] {
        let mut state = State::new(lesson(name), Vec::new(), page).unwrap();
        for _ in 0..state.steps().count() {
            for (width, height) in [(40, 12), (80, 24), (200, 50)] {
                let lines = screen(&mut state, width, height).concat();
                assert!(lines.is_ascii() && !lines.contains("\\u{"), "{lines}");
            }
            press(&mut state, &["n"]);
        }
        press(&mut state, &["?"]);
        let lines = screen(&mut state, 80, 60).concat();
        assert!(lines.is_ascii() && !lines.contains("\\u{"), "{lines}");
    }
}

/// After the prompt, " go to ", of 7 columns: "é" is one column wide, and \u{e9}, as it is spelled in ASCII, six.
#[test]
fn the_cursor_stands_behind_what_is_typed_as_it_is_spelled() {
    for (ascii, column, line) in [(false, 8, " go to é "), (true, 13, " go to \\u{e9} ")] {
        let page = Page { ascii, ..Page::default() };
        let mut state = State::new(lesson("two-heads"), Vec::new(), page).unwrap();
        press(&mut state, &[":", "é"]);
        shows(&mut state, (80, 24), &[line]);
        let mut terminal = terminal(&mut state, Theme::Plain, 80, 24);
        assert_eq!(terminal.get_cursor_position().unwrap(), (column, 23).into());
    }
}

#[test]
fn control_characters_of_a_lesson_never_reach_the_screen() {
    let text = r#"{title: "T\e[2Jt", tokens: ["a\e]0;x\a", "b"], attention: {d_model: 1, num_heads: 1},
        inputs: {x: [[1], [2]]}, story: [{at: x, say: "s\e[31m"}],
        projections: {w_q: identity, w_k: identity, w_v: identity, w_o: identity}}"#;
    let problem = parse(text, "hostile.yaml", Path::new("."), &Options::default()).unwrap();
    let mut state = State::new(problem, Vec::new(), Page::default()).unwrap();
    let lines = screen(&mut state, 120, 40);
    assert!(lines.iter().all(|line| !line.chars().any(char::is_control)));
    shows(&mut state, (120, 40), &["T\\e[2Jt", "a\\e]0;x\\u{7}", "s\\e[31m"]);
}

#[test]
fn every_key_does_one_thing_and_stands_on_the_help_page() {
    let mut state = stepping("two-heads");
    press(&mut state, &["?"]);
    // A text that is broken into lines goes on in the next: between blanks, page and text are the same words.
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let page = words(&screen(&mut state, 80, 60).join("\n"));
    let mut seen = HashSet::new();
    for binding in BINDINGS.iter().flat_map(|(_, bindings)| bindings.iter()) {
        let names: Vec<String> = binding.keys.iter().map(|key| key.name(false)).collect();
        let entry = words(&format!("{} {}", names.join(" "), binding.says));
        assert!(page.contains(&entry), "{entry} is not on\n{page}");
        for key in binding.keys {
            assert!(seen.insert(format!("{key:?}")), "{key:?} does two things");
        }
    }
    press(&mut state, &["q"]);
    shows(&mut state, (80, 24), &["step 1 of 22"]);
    assert_eq!(press(&mut state, &["q"]), After::Leave);
    assert_eq!(press(&mut state, &["?", "ctrl-c"]), After::Leave);
    assert_eq!(press(&mut state, &["Esc", "e", "ctrl-c"]), After::Leave);
    assert_eq!(press(&mut state, &["Esc", "ctrl-z"]), After::Suspend);
}

fn any_key() -> impl Strategy<Value = KeyEvent> {
    let named = prop::sample::select(vec![
        "Enter",
        "Esc",
        "Tab",
        "BackTab",
        "Backspace",
        "Up",
        "Down",
        "Left",
        "Right",
        "PageUp",
        "PageDown",
        "ctrl-z",
    ]);
    let letters =
        "npgGhjklJKeurmtx+-?q :123456789.,[]".chars().map(|letter| letter.to_string()).collect::<Vec<_>>();
    prop_oneof![
        named.prop_map(event),
        prop::sample::select(letters).prop_map(|letter| event(&letter)),
        any::<char>().prop_map(|letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE)),
    ]
}

/// Whatever a lesson calls its tokens and says of its steps, no cell of the screen holds what a terminal obeys.
#[test]
fn no_screen_obeys_the_texts_of_a_lesson() {
    for pieces in PIECES.chunks(8) {
        let all = pieces.concat();
        let rows: Vec<[usize; 2]> = (0..pieces.len()).map(|i| [i % 3, i % 2]).collect();
        let lesson = serde_json::json!({
            "title": all, "tokens": pieces, "attention": {"d_model": 2, "num_heads": 1}, "inputs": {"x": rows},
            "projections": {"w_q": "identity", "w_k": "identity", "w_v": "identity", "w_o": "identity"},
            "story": [{"at": "head.1.scores", "say": all}],
        });
        let problem = parse(&quiet(&lesson), "hostile", Path::new("."), &Options::default()).unwrap();
        let mut state = State::new(problem, Vec::new(), Page::default()).unwrap();
        go(&mut state, "head.1.scores[2,1]");
        for (width, height) in [(80, 40), (40, 12), (200, 24)] {
            for line in screen(&mut state, width, height) {
                assert!(!line.chars().any(commands), "{line:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_keys_and_no_size_break_it(
        name in prop::sample::select(builtin::all().iter().map(|lesson| lesson.name).collect::<Vec<_>>()),
        keys in prop::collection::vec((any_key(), 1u16..90, 1u16..40), 1..40),
        ascii in any::<bool>(),
    ) {
        let page = Page { ascii, ..Page::default() };
        let mut state = State::new(lesson(name), Vec::new(), page).unwrap();
        terminal(&mut state, Theme::Plain, 1, 1);
        for (key, width, height) in keys {
            let action = if state.is_typing() { keys::typing(key) } else { keys::action(key) };
            action.map(|action| state.apply(action));
            terminal(&mut state, Theme::Coloured, width, height);
            prop_assert!(state.bench.trace().cell(state.cell()).is_some());
        }
    }
}
