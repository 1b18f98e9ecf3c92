//! Readers that leave, disks that are full, and text that a terminal would obey.

use std::fs;

use super::{LESSON, room, run, tame};

/// Legal, and full of control characters once its escapes are read.
const MISCHIEF: &str = r#"
title: "T\e[2J\a"
summary: "S\e]0;owned\a"
source: "\e[31mred"
tokens: ["a\e[31m", "b\a\u202e"]
attention: {}
inputs: {x: [[1, 2], [3, 4]]}
projections: {w_q: identity, w_k: identity, w_v: identity, w_o: identity}
story: [{at: q, say: "\e[31mred {q[1,1]}"}]
quiz: [{ask: "\e[31m?", choices: ["\a", "b"], answer: 1, because: "\e[2J"}]
claims: [{step: q, equals: [[1, 2], [3, 5]]}]
"#;

#[test]
fn escape_sequences_in_a_lesson_are_shown_and_never_sent() {
    let room = room();
    let name = "n\x1b[2J\x07.yaml";
    for file in [LESSON, name] {
        fs::write(room.path().join(file), MISCHIEF).unwrap();
        for (args, status) in [
            (&["trace"][..], 0),
            (&["trace", "--summary"], 0),
            (&["trace", "--layout", "columns", "--ascii"], 0),
            (&["trace", "--format", "json"], 0),
            (&["trace", "--format", "csv"], 0),
            (&["compare"], 0),
            (&["compare", "--format", "json", "--variants", "fused,flash"], 0),
            (&["lessons", "show"], 0),
            (&["lessons", "validate"], 1),
        ] {
            let run = run::run(room.path(), &[args, &[file]].concat());
            assert_eq!(run.status, Some(status), "{args:?} {}", run.err);
            tame("a lesson", &run.out);
            tame("a lesson", &run.err);
        }
    }
    let table = run::run(room.path(), &["trace", LESSON]).out;
    assert!(table.contains(r"T\e[2J\u{7}") && table.contains(r"a\e[31m"), "{table}");
    let json = run::run(room.path(), &["trace", LESSON, "--format", "json"]).out;
    assert!(json.contains(r"a\u001b[31m"), "{json}");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["title"], "T\x1b[2J\x07");
}

#[cfg(unix)]
#[test]
fn a_reader_who_has_seen_enough_ends_the_page_quietly() {
    let room = room();
    let large = "attention: {num_heads: 2}\ninputs: {x: {random: {seed: 1, shape: [200, 4]}}}\n\
                 projections: {w_q: identity, w_k: identity, w_v: identity, w_o: identity}\n";
    fs::write(room.path().join(LESSON), large).unwrap();
    for args in [
        "trace lesson.yaml --format csv",
        "trace lesson.yaml --format json",
        "trace lesson.yaml --format npz",
    ] {
        // The status of `mha` itself, which a pipeline would hide.
        let script = format!("{{ \"$0\" {args}; echo $? > status; }} | head -c 1 | wc -c");
        let run = run::ended(&mut run::shell(&script, room.path()));
        assert_eq!((run.out.trim(), run.err.as_str()), ("1", ""), "{args}");
        assert_eq!(fs::read_to_string(room.path().join("status")).unwrap().trim(), "0", "{args}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_standard_output_is_told() {
    let room = room();
    for args in [
        "trace",
        "trace --format json",
        "trace --format csv",
        "trace --format npz",
        "compare",
        "params",
        "lessons",
        "trace --help",
        "--version",
    ] {
        let run = run::ended(&mut run::shell(&format!("\"$0\" {args} > /dev/full"), room.path()));
        let told = "error: standard output cannot be written to\n  why: no space is left on the disk\n  \
                    try: see whether the disk behind it is full\n";
        assert_eq!((run.status, run.err.as_str()), (Some(2), told), "{args}");
    }
}
