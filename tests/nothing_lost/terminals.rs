//! The terminal before and after, in every way of leaving the course and the stepper.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::thread;

use rexpect::session::{Options, PtySession, spawn_with_options};

use super::room;

/// What makes it end.
#[derive(Debug, Clone, Copy)]
enum Leave {
    /// Letters that are typed.
    Typed(&'static str),
    /// A letter typed with the control key.
    Control(char),
    /// A signal that somebody sends.
    Signal(&'static str),
}

use Leave::{Control, Signal, Typed};

/// A verb on a terminal, what it shows once it listens, what makes it leave, and its status as a shell tells it: 128 and
/// the number of a signal that ended it.
type Way = (&'static str, &'static str, Leave, &'static str);

const COURSE: &str = "learn two-heads";
const STEPPER: &str = "trace lesson.yaml --interactive";

const WAYS: [Way; 13] = [
    (COURSE, "> ", Typed("quit\r"), "0"),
    (COURSE, "> ", Control('c'), "130"),
    (COURSE, "> ", Control('d'), "0"),
    (COURSE, "> ", Signal("TERM"), "143"),
    (COURSE, "> ", Signal("HUP"), "129"),
    (COURSE, "> ", Signal("QUIT"), "131"),
    (COURSE, "> ", Signal("INT"), "130"),
    (STEPPER, "quit", Typed("q"), "0"),
    (STEPPER, "quit", Control('c'), "0"),
    (STEPPER, "quit", Signal("TERM"), "143"),
    (STEPPER, "quit", Signal("HUP"), "129"),
    (STEPPER, "quit", Signal("QUIT"), "131"),
    (STEPPER, "quit", Signal("INT"), "0"),
];

#[test]
fn however_it_is_left_the_terminal_is_as_it_was() {
    // Each has a terminal and a folder of its own.
    thread::scope(|scope| {
        for way in WAYS {
            scope.spawn(move || leaves_it_as_it_was(way));
        }
    });
}

fn leaves_it_as_it_was((verb, ready, leave, status): Way) {
    let room = room();
    let read = |name: &str| fs::read_to_string(room.path().join(name)).unwrap();
    let mut session = sit_down(verb, &room);
    let mut shown = session.exp_string(ready).unwrap_or_else(|error| panic!("{verb}: {error}"));
    match leave {
        Typed(keys) => session.send(keys).and_then(|_| session.flush()).unwrap(),
        Control(letter) => session.send_control(letter).unwrap(),
        Signal(name) => {
            let sent = Command::new("kill").args(["-s", name, read("pid").trim()]).status().unwrap();
            assert!(sent.success());
        }
    }
    shown += &session.exp_eof().unwrap_or_else(|error| panic!("{verb}, {leave:?}: it goes on: {error}"));
    assert_eq!(read("status").trim(), status, "{verb}, {leave:?}");
    assert_eq!(read("before"), read("after"), "{verb}, {leave:?}");
    assert!(read("before").contains(" icanon"), "a terminal that is read by lines");
    assert_eq!(modes_left(&shown), BTreeMap::new(), "{verb}, {leave:?}");
}

#[test]
fn nobody_is_asked_about_a_file_that_will_not_be_written() {
    let room = room();
    let mut session = sit_down("lessons new lesson.yaml", &room);
    let shown = session.exp_eof().unwrap();
    assert!(shown.contains("error: the output file exists") && !shown.contains("Title"), "{shown}");
}

/// A shell on a terminal of its own, which runs `mha`, and notes how the terminal is set before and after.
fn sit_down(verb: &str, room: &tempfile::TempDir) -> PtySession {
    // A shell starts what goes on in its background with signals ignored, these tests as well.
    let heeding = if cfg!(target_os = "linux") { "env --default-signal" } else { "" };
    let script = format!(
        "stty cols 80 rows 24; stty -a > before; sh -c 'echo $$ > pid; exec {heeding} \"$0\" {verb}' \"$0\"; \
         echo $? > status; stty -a > after"
    );
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &script, env!("CARGO_BIN_EXE_mha")])
        .current_dir(room.path())
        .env("MHA_DATA_DIR", room.path().join("data"))
        .env("TERM", "xterm")
        .env("LC_ALL", "C.UTF-8");
    spawn_with_options(shell, Options::new().timeout_ms(Some(40_000))).unwrap()
}

/// Modes of the terminal (`ESC [ ? number h`, or `l` for off) that are not as a shell leaves them: all off, but for the
/// cursor (25), which is seen.
fn modes_left(shown: &str) -> BTreeMap<String, bool> {
    let mut modes = BTreeMap::new();
    for sequence in shown.split("\x1b[?").skip(1) {
        let (number, rest) = sequence.split_at(sequence.find(|c: char| !c.is_ascii_digit()).unwrap());
        if let Some(switch @ ('h' | 'l')) = rest.chars().next() {
            modes.insert(number.to_owned(), switch == 'h');
        }
    }
    modes.retain(|number, is_on| *is_on != (number == "25"));
    modes
}
