//! Every limit in `src/limits.rs`, met: a request that goes just over it is refused in time, in words, and in as little
//! memory as is said here, whatever the file says of itself. A limit without a row here fails a test.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot make its files has nothing to tell")]

#[path = "limits/asked.rs"]
mod asked;
#[path = "limits/counted.rs"]
mod counted;
#[path = "limits/files.rs"]
mod files;
#[path = "limits/lessons.rs"]
mod lessons;
#[path = "limits/models.rs"]
mod models;
#[path = "limits/room.rs"]
mod room;
#[path = "common/run.rs"]
mod run;

use std::collections::BTreeSet;
use std::time::Duration;

use room::Room;

/// MiB of address space that are enough for whoever only has to refuse: the program itself, its threads and their stacks.
const LITTLE: u32 = 256;

/// MiB of address space that are enough for the most that is held of files: 2²⁶ numbers are 512 MiB.
const MUCH: u32 = 768;

/// Longer than anything takes here, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(120);

/// A request that goes over a limit.
struct Over {
    /// The limit, by its name in `src/limits.rs`.
    limit: &'static str,
    /// Makes what is needed in a folder, and gives the words behind `mha`.
    asks: fn(&Room) -> Vec<String>,
    /// What is said of it.
    told: &'static str,
    /// The exit status: 2 where the request is refused, 1 where a lesson is found false, 0 where a page says what it lacks.
    status: i32,
    /// MiB of address space that it is given.
    space: u32,
}

/// A request that is refused.
const fn over(limit: &'static str, asks: fn(&Room) -> Vec<String>, told: &'static str) -> Over {
    Over { limit, asks, told, status: 2, space: LITTLE }
}

impl Over {
    const fn ends_with(self, status: i32) -> Self {
        Self { status, ..self }
    }

    const fn in_space(self, space: u32) -> Self {
        Self { space, ..self }
    }
}

/// Limits that are met where a person sits at a terminal or types, by the file and the test that meets them.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    ("ANSWER_CHARACTERS", "src/course/answer/tests.rs", "what_cannot_be_read_says_why"),
    ("ANSWER_DEPTH", "src/course/answer/tests.rs", "what_cannot_be_read_says_why"),
    (
        "STEPPER_NUMBERS",
        "src/stepper/tests.rs",
        "a_trace_too_large_to_compute_while_someone_waits_is_refused",
    ),
    ("SCREEN_CELLS", "tests/limits.rs", "a_screen_without_end_is_refused"),
    ("DRAFT_ANSWER_BYTES", "src/cli/lessons/new.rs", "a_line_without_end_is_read_in_pieces"),
    ("COMMAND_SECONDS", "tests/limits.rs", "a_command_without_end_is_ended"),
];

/// What goes over each limit.
fn all() -> impl Iterator<Item = &'static Over> {
    [files::OVER, counted::OVER, models::OVER, lessons::OVER, asked::OVER].into_iter().flatten()
}

/// The constants of a Rust source.
fn constants(source: &str) -> BTreeSet<&str> {
    let names = source.lines().filter_map(|line| line.strip_prefix("pub const ")?.split(':').next());
    names.collect()
}

#[test]
fn every_limit_has_a_test_and_a_line_in_the_table() {
    let source = include_str!("../src/limits.rs");
    let limits = constants(source);
    assert!(limits.len() > 80, "the source of the limits was not read: {limits:?}");
    let met: BTreeSet<&str> =
        all().map(|over| over.limit).chain(ELSEWHERE.iter().map(|(limit, ..)| *limit)).collect();
    assert_eq!(limits.difference(&met).collect::<Vec<_>>(), Vec::<&&str>::new(), "limits without a test");
    assert_eq!(met.difference(&limits).collect::<Vec<_>>(), Vec::<&&str>::new(), "tests of no limit");
    for limit in limits {
        let line = format!("//! | [`{limit}`] | ");
        assert_eq!(source.matches(&line).count(), 1, "one line of the table is about {limit}");
    }
    for (limit, file, test) in ELSEWHERE {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let source = std::fs::read_to_string(path).unwrap();
        assert!(source.contains(&format!("fn {test}()")), "{limit}: {file} has no test {test}");
    }
}

/// Runs what a table asks for, and tells all that went otherwise.
fn meet(table: &[Over]) {
    let mut wrong = Vec::new();
    for over in table {
        let room = Room::new();
        let words = (over.asks)(&room);
        let script = format!("ulimit -v {}; exec \"$0\" \"$@\"", u64::from(over.space) << 10);
        let run = run::ended(run::shell(&script, room.path()).args(words).timeout(PATIENCE));
        // A sentence may fold anywhere.
        let said = format!("{}\n{}", run.err, run.out);
        let unfolded = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let tame = !run.err.chars().any(|c| c.is_control() && c != '\n');
        if run.status != Some(over.status) || !unfolded.contains(over.told) || !tame {
            let beginning: String = said.chars().take(1_500).collect();
            wrong.push(format!("{}: status {:?}, said\n{beginning}", over.limit, run.status));
        }
    }
    assert!(wrong.is_empty(), "{} of {} went otherwise\n\n{}", wrong.len(), table.len(), wrong.join("\n\n"));
}

#[test]
fn files_of_numbers_and_weights_are_refused() {
    meet(files::OVER);
}

#[test]
fn counts_are_refused() {
    meet(counted::OVER);
}

#[test]
fn models_and_texts_are_refused() {
    meet(models::OVER);
}

#[test]
fn lessons_are_refused() {
    meet(lessons::OVER);
}

#[test]
fn requests_are_refused() {
    meet(asked::OVER);
}

/// Runs what may be asked for in the space that it is given.
fn taken((promise, asks, space): At) {
    let room = Room::new();
    let words = asks(&room);
    let script = format!("ulimit -v {}; exec \"$0\" \"$@\"", u64::from(space) << 10);
    let run = run::ended(run::shell(&script, room.path()).args(words).timeout(PATIENCE));
    assert!(run.status.is_some_and(|status| status < 2), "{promise}: status {:?}\n{}", run.status, run.err);
}

/// A limit that is too low helps nobody: as much as that is taken.
#[test]
fn what_is_at_a_limit_is_taken() {
    [files::AT, counted::AT, models::AT, lessons::AT, asked::AT].concat().into_iter().for_each(taken);
}

/// What is at a limit, how it is made and asked for, and MiB of address space for it.
type At = (&'static str, fn(&Room) -> Vec<String>, u32);

/// A terminal may say that it is larger than any screen: 2000 columns and 501 rows are over a million cells.
#[test]
fn a_screen_without_end_is_refused() {
    let room = Room::new();
    let mut command = std::process::Command::new("sh");
    command.args([
        "-c",
        "stty cols 2000 rows 501 && exec \"$0\" trace --interactive",
        env!("CARGO_BIN_EXE_mha"),
    ]);
    command.env("MHA_DATA_DIR", room.path()).env("TERM", "xterm");
    let mut session = rexpect::session::spawn_command(command, Some(20_000)).unwrap();
    let said = session.exp_eof().unwrap();
    assert!(said.contains("it claims to be 2000 columns wide and 501 rows high"), "{said}");
}

/// The lesson names itself, and a page of it takes longer than ten seconds.
#[test]
#[ignore = "waits for ten seconds"]
fn a_command_without_end_is_ended() {
    let room = Room::new();
    let large = "attention: {num_heads: 16}\n\
                 inputs: {x: {random: {seed: 1, shape: [2048, 2048]}}}\n\
                 projections: {w_q: identity, w_k: identity, w_v: identity, w_o: identity}\n";
    room.write("large.yaml", large);
    let text = format!("{}course:\n  - command: mha trace large.yaml --summary\n", room::SMALL);
    room.write("lesson.yaml", text);
    let run = run::run(room.path(), &["lessons", "validate", "lesson.yaml"]);
    assert!(
        run.err.contains("it has not ended after 10 seconds") || run.out.contains("it has not ended"),
        "{}",
        run.err
    );
}
