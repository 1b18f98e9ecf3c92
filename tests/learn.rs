//! Lessons learnt through a pseudo-terminal, as a person does: `mha learn` on the real binary.
//!
//! Nothing waits for a time: each answer is typed once its prompt is there.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rexpect::session::{Options, PtySession, spawn_with_options};
use tempfile::TempDir;

/// Token b asks; its scores are (0, 1)·1/√1 with d_k = 1: x = [[0], [1]], so its weights are 1/(1 + e) = 0.2689 and
/// e/(1 + e) = 0.7311; without a softmax's row for a: [0, 0] gives 1/2 each.
const LESSON: &str = r#"
title: {en: Two numbers, zh: 两个数}
tokens: [a, b]
attention: {d_model: 1, num_heads: 1}
inputs: {x: [[0], [1]]}
projections: {w_q: identity, w_k: identity, w_v: identity, w_o: identity}
course:
  - say: {en: "Token b asks.", zh: "词元 b 在提问。这一段话很长很长，长到在一个很窄的窗口里一行放不下，因此必须在字与字之间换行，而不能伸出窗口之外。"}
  - ask: {en: "How much does b attend to itself?", zh: "b 对自己的注意力权重是多少？"}
    cell: head.1.weights[2,2]
    because: {en: "e/(1 + e)", zh: "e/(1 + e)"}
    id: itself
  - show: head.1.weights
  - ask: {en: "Which token has nothing to prefer?", zh: "哪个词元没有偏好？"}
    choices: [a, b]
    answer: 1
    id: nothing
  - task: {en: "Make b attend to itself with more than 0.9.", zh: "让 b 对自己的权重超过 0.9。"}
    change: [inputs.x]
    checks: ["head.1.weights[2,2] > 0.9"]
    watch: [head.1.weights]
    solution: {inputs: {x: [[0], [2]]}}
    id: more
"#;

/// A folder with the lesson and the file of progress in it.
struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("small.yaml"), LESSON).unwrap();
        Self(folder)
    }

    fn progress(&self) -> PathBuf {
        self.0.path().join("data").join("progress.json")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mha"));
        command
            .args(arguments)
            .current_dir(self.0.path())
            .env("MHA_DATA_DIR", self.0.path().join("data"))
            .env("TERM", "xterm")
            .env("NO_COLOR", "1")
            .env("LC_ALL", "C.UTF-8")
            .env_remove("COLUMNS");
        command
    }

    /// A session on a terminal of its own.
    fn sit_down(&self, arguments: &[&str]) -> Session {
        let options = Options::new().timeout_ms(Some(40_000)).strip_ansi_escape_codes(true);
        Session(spawn_with_options(self.command(arguments), options).unwrap())
    }

    /// What is printed where there is no terminal.
    fn printed(&self, arguments: &[&str]) -> (String, String) {
        let output = self.command(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    }
}

struct Session(PtySession);

/// A text as rexpect reads it: each byte a letter of its own.
fn bytewise(text: &str) -> String {
    text.bytes().map(char::from).collect()
}

/// What rexpect has read, as it was written.
fn written(read: &str) -> String {
    let bytes: Vec<u8> = read.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap()).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Session {
    /// Waits for the prompt; gives all that stood before it.
    fn prompt(&mut self) -> String {
        written(&self.0.exp_string("> ").unwrap_or_else(|error| panic!("no prompt came: {error}")))
    }

    /// Waits for the prompt, and types a line at it.
    fn answer(&mut self, line: &str) -> String {
        let before = self.prompt();
        self.0.send_line(line).unwrap();
        before
    }

    /// Waits for a text.
    fn see(&mut self, text: &str) -> String {
        written(&self.0.exp_string(&bytewise(text)).unwrap_or_else(|error| {
            panic!(
                "{text:?} did not come: {}",
                error.to_string().chars().filter(char::is_ascii).collect::<String>()
            )
        }))
    }

    /// Waits for the end: what was still said, and the exit status.
    fn end(mut self) -> (String, i32) {
        let rest = written(&self.0.exp_eof().unwrap_or_else(|error| panic!("it does not end: {error}")));
        // `Exited(Pid(…), 130)`: the crate that the type comes from is not handed on.
        let ended = format!("{:?}", self.0.process().wait().unwrap());
        let status =
            ended.strip_prefix("Exited(").and_then(|text| text.trim_end_matches(')').rsplit(", ").next());
        let status = status.unwrap_or_else(|| panic!("it ended by {ended}"));
        (rest, status.parse().unwrap())
    }
}

#[test]
fn a_lesson_is_learnt_from_its_first_question_to_its_task() {
    let desk = Desk::new();
    let mut session = desk.sit_down(&["learn", "small.yaml"]);
    let before = session.answer("0.7311");
    assert!(before.contains("Two numbers") && before.contains("Question 1 of 3"), "{before}");
    assert!(!before.contains("0.7311"), "the answer stood before the question: {before}");
    session.see("✓ Right: 0.7311");
    session.see("│ b ┆ 0.2689 ┆ 0.7311 │");
    session.answer("a");
    session.see("✓ Right: a");
    session.see("Task 3 of 3");
    session.answer("x[2,1] = 2");
    // Its score doubles twice: 4 instead of 1, and e⁴/(1 + e⁴) = 0.9820.
    session.see("Changed: head.1.weights[2,1] 0.2689 → 0.0180;");
    session.see("0.9820.");
    session.see("✓ Reached.");
    let (rest, status) = session.end();
    assert!(rest.contains("3 of 3 done, 3 of them at the first try."), "{rest}");
    assert_eq!(status, 0);
    let (list, _) = desk.printed(&["learn", "review"]);
    assert!(list.starts_with("Nothing is due today. The next question comes back on "), "{list}");
}

#[test]
fn a_built_in_lesson_names_the_mistake_behind_a_wrong_answer() {
    let desk = Desk::new();
    let mut session = desk.sit_down(&["learn", "two-heads", "--lang", "en"]);
    // The first question about a number: 1/√2; without the scale it is 1.
    loop {
        let before = session.prompt();
        if before.contains("score against token c") {
            break;
        }
        session.0.send_line("skip").unwrap();
    }
    session.0.send_line("1").unwrap();
    session.see("mha mistakes scale-missing");
    session.answer("1/√2");
    session.see("✓ Right: 0.7071");
    session.answer("quit");
    let (rest, status) = session.end();
    assert!(rest.contains("mha learn two-heads goes on here."), "{rest}");
    assert_eq!(status, 0);
    let (list, _) = desk.printed(&["learn", "--lang", "en"]);
    assert!(list.contains("◐ two-heads: ") && list.contains("(1 of "), "{list}");
}

#[test]
fn hints_lead_to_the_answer_and_nonsense_is_told_what_is_understood() {
    let desk = Desk::new();
    let mut session = desk.sit_down(&["learn", "small.yaml"]);
    session.answer("sqrt(");
    session.see("Something is missing at the end.");
    session.answer("0,73");
    session.see("written with a point here: 0.73");
    session.answer("?");
    session.see("skip (s)");
    session.answer("hint");
    session.see("softmax");
    session.answer("h");
    session.see("row 2 of head.1.scores");
    session.answer("h");
    session.see("The next hint is the answer.");
    session.answer("h");
    session.see("The answer: 0.7311");
    session.answer("q");
    assert_eq!(session.end().1, 0);
}

#[test]
fn ctrl_c_keeps_what_was_done_and_the_end_of_input_is_a_farewell() {
    let desk = Desk::new();
    let mut session = desk.sit_down(&["learn", "small.yaml"]);
    session.answer("0.73");
    session.prompt();
    session.0.send_control('c').unwrap();
    let (rest, status) = session.end();
    assert!(rest.contains("Until next time: 1 of 3 done."), "{rest}");
    assert_eq!(status, 130);
    let mut session = desk.sit_down(&["learn", "small.yaml"]);
    let before = session.prompt();
    assert!(before.contains("You have done 1 of 3") && before.contains("Question 2 of 3"), "{before}");
    assert!(!before.contains("Question 1"), "{before}");
    session.0.send_control('d').unwrap();
    let (rest, status) = session.end();
    assert!(rest.contains("Until next time: 1 of 3 done."), "{rest}");
    assert_eq!(status, 0);
}

#[test]
fn what_was_missed_is_asked_again_on_a_later_day() {
    let desk = Desk::new();
    let mut session = desk.sit_down(&["learn", "small.yaml"]);
    session.answer("0.2689");
    session.see("No, that is not it.");
    session.answer("0.7311");
    session.see("Right");
    session.answer("q");
    session.end();
    // Tomorrow comes by writing yesterday into the file.
    let text = fs::read_to_string(desk.progress()).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let lessons = value["lessons"].as_object_mut().unwrap();
    let done = &mut lessons.values_mut().next().unwrap()["done"]["itself"];
    assert_eq!((done["box"].as_u64(), done["tries"].as_u64()), (Some(0), Some(2)));
    done["due"] = "2020-01-01".into();
    fs::write(desk.progress(), value.to_string()).unwrap();
    let (list, _) = desk.printed(&["learn"]);
    assert!(list.contains("Due for review: 1. mha learn review asks them."), "{list}");
    assert!(!list.contains("New here?"), "{list}");

    let mut session = desk.sit_down(&["learn", "review"]);
    let before = session.answer("0.7311");
    assert!(before.contains("1 question is due.") && before.contains("How much does b"), "{before}");
    session.see("✓ Right: 0.7311");
    let (rest, status) = session.end();
    assert!(rest.contains("That was all for today."), "{rest}");
    assert_eq!(status, 0);
    let text = fs::read_to_string(desk.progress()).unwrap();
    assert!(text.contains("\"box\": 1") && !text.contains("2020"), "{text}");
}

#[test]
fn a_damaged_file_of_progress_is_set_aside_and_the_lesson_goes_on() {
    let desk = Desk::new();
    fs::create_dir(desk.0.path().join("data")).unwrap();
    fs::write(desk.progress(), "{\"mha\": 1, ").unwrap();
    let mut session = desk.sit_down(&["learn", "small.yaml"]);
    let before = session.answer("q");
    assert!(before.contains("set aside as") && before.contains("Question 1 of 3"), "{before}");
    assert_eq!(session.end().1, 0);
    assert!(desk.progress().with_extension("json.damaged").exists());
}

#[test]
fn who_has_begun_nothing_is_told_where_to() {
    let (list, _) = Desk::new().printed(&["learn"]);
    assert!(
        list.contains("New here? The first one is a good beginning: mha learn one-distribution"),
        "{list}"
    );
}

#[test]
fn nothing_hangs_over_the_edge_of_a_narrow_window() {
    use unicode_width::UnicodeWidthStr;
    let desk = Desk::new();
    for language in ["en", "zh"] {
        let (text, _) =
            desk.printed(&["learn", "small.yaml", "--plain", "--width", "40", "--lang", language]);
        for line in text.lines() {
            assert!(line.width() <= 40, "{} columns: {line}", line.width());
        }
        let (text, _) = desk.printed(&["learn", "--width", "40", "--lang", language]);
        for line in text.lines() {
            assert!(line.width() <= 40, "{} columns: {line}", line.width());
        }
    }
}

#[test]
fn it_speaks_chinese_and_understands_it() {
    let desk = Desk::new();
    let mut session = desk.sit_down(&["learn", "small.yaml", "--lang", "zh"]);
    let before = session.answer("提示");
    assert!(before.contains("两个数") && before.contains("b 对自己的注意力权重是多少？"), "{before}");
    session.answer("０．７３１１");
    session.see("✓ 对了：0.7311");
    session.answer("跳过");
    session.answer("退出");
    let (rest, status) = session.end();
    assert!(rest.contains("3 个中完成了 1 个"), "{rest}");
    assert_eq!(status, 0);
}

#[test]
fn without_a_terminal_the_whole_lesson_is_printed() {
    let desk = Desk::new();
    let (tables, _) = desk.printed(&["learn", "small.yaml"]);
    assert!(tables.contains("│ b ┆ 0.2689 ┆ 0.7311 │") && tables.contains("Answer: 0.7311"), "{tables}");
    let (plain, _) = desk.printed(&["learn", "small.yaml", "--plain"]);
    assert!(plain.contains("row b: 0.2689, 0.7311") && plain.contains("Answer: 0.7311"), "{plain}");
    assert!(!plain.contains(['│', '─']), "{plain}");
    assert!(!desk.progress().exists(), "reading is no answer");
}

#[test]
fn what_was_done_can_be_forgotten() {
    let desk = Desk::new();
    let mut session = desk.sit_down(&["learn", "small.yaml"]);
    session.answer("0.7311");
    session.answer("q");
    session.end();
    assert!(fs::read_to_string(desk.progress()).unwrap().contains("itself"));
    let (said, _) = desk.printed(&["learn", "--forget", "two-heads"]);
    assert_eq!(said, "Nothing was kept of two-heads.\n");
    let (said, _) = desk.printed(&["learn", "--forget", "small.yaml"]);
    assert_eq!(said, "Forgotten: what you have done of small.yaml.\n");
    assert!(!fs::read_to_string(desk.progress()).unwrap().contains("itself"));
}

#[test]
fn what_cannot_be_taught_is_said() {
    let desk = Desk::new();
    let missing = |arguments: &[&str]| {
        let output = desk.command(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(missing(&["learn", "nosuch"]).contains("there is no lesson called nosuch"));
    assert!(missing(&["learn", "--again"]).contains("LESSON"));
    assert!(Path::new(env!("CARGO_BIN_EXE_mha")).exists());
    let mut session = desk.sit_down(&["learn", "small.yaml", "--from", "9"]);
    session.see("there is no question 9");
    assert_eq!(session.end().1, 2);
}

/// The commands that refute the myths are there, and end well.
#[test]
fn the_commands_behind_the_myths_run() {
    let desk = Desk::new();
    for name in mha::lesson::course::MYTHS {
        let myth = mha::course::myths::Myth::find(name).unwrap();
        let words: Vec<&str> = myth.command.split(' ').skip(1).collect();
        let (printed, _) = desk.printed(&words);
        assert!(!printed.is_empty(), "{name}");
    }
}
