//! `mha lessons new`: drafts that are true as they are, whatever was asked for.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

#[path = "common/run.rs"]
#[expect(dead_code, reason = "no shell is needed here")]
mod run;

use std::fs;
use std::path::Path;
use std::process::Stdio;

use mha::course::{Workshop, validate};
use mha::lesson::template::{Mask, Numbers, Template};
use mha::lesson::{Options, parse};
use proptest::prelude::*;

fn template() -> impl Strategy<Value = Template> {
    let mask = prop_oneof![Just(Mask::None), Just(Mask::Causal), (1usize..9).prop_map(Mask::Window)];
    let numbers = prop_oneof![Just(Numbers::Integers), Just(Numbers::Identity), Just(Numbers::Random)];
    // No braces in a title: what stands in them would be computed.
    let title = "[^{}]{0,20}";
    (title, prop::collection::vec(any::<String>(), 1..7), 1usize..5, 1usize..5, mask, numbers, any::<u64>())
        .prop_map(|(title, tokens, d_k, num_heads, mask, numbers, seed)| Template {
            title,
            tokens,
            d_model: d_k * num_heads,
            num_heads,
            mask,
            numbers,
            seed,
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_draft_is_true(template in template()) {
        let text = template.text().unwrap();
        let problem = parse(&text, "new.yaml", Path::new("."), &Options::default()).unwrap();
        prop_assert_eq!(&problem.title, &template.title);
        prop_assert_eq!(&problem.labels.queries, &template.tokens);
        let runner = |_: &[String]| Err("a draft shows no command".to_owned());
        let verdict = validate::check(&Workshop::new(problem), "new.yaml", validate::Scope::All(&runner));
        prop_assert!(verdict.faults.is_empty(), "{:?}\n{}", verdict.faults, text);
        prop_assert_eq!((verdict.tally.claims, verdict.tally.answers), (2, 2));
    }
}

/// The binary with flags, and what `validate` says of the file; in both languages.
#[test]
fn flags_make_a_lesson_that_validates() {
    for (number, flags) in [
        &[][..],
        &["--title", "Looking \"back\": #1", "--tokens", "the,cat,sat", "--mask", "causal"],
        &["--d-model", "6", "--num-heads", "3", "--numbers", "identity"],
        &["--num-heads", "5", "--mask", "window:2", "--seed", "18446744073709551615"],
        &["--numbers", "random", "--d-model", "64", "--heads", "8", "--lang", "zh"],
        &["--d-model", "3"],
    ]
    .into_iter()
    .enumerate()
    {
        let room = tempfile::tempdir().unwrap();
        let name = format!("new-{number}.yaml");
        let run = run::run(room.path(), &[&["lessons", "new", &name], flags].concat());
        assert_eq!((run.status, run.out.as_str(), run.err.as_str()), (Some(0), "", ""), "{flags:?}");
        let run = run::run(room.path(), &["lessons", "validate", &name]);
        assert_eq!(run.status, Some(0), "{flags:?}\n{}{}", run.out, run.err);
        assert!(run.out.contains("2 claims true, 2 answers computed, 2 sentences told"), "{}", run.out);
    }
}

#[test]
fn nothing_is_replaced_unless_that_is_said() {
    let room = tempfile::tempdir().unwrap();
    fs::write(room.path().join("mine.yaml"), "mine").unwrap();
    for args in [&["lessons", "new", "mine.yaml"][..], &["lessons", "new", "--output", "mine.yaml"]] {
        let run = run::run(room.path(), args);
        assert_eq!(run.status, Some(2), "{args:?}");
        assert!(run.err.contains("--force"), "{}", run.err);
        assert_eq!(fs::read_to_string(room.path().join("mine.yaml")).unwrap(), "mine");
    }
    for args in [
        &["lessons", "new", "mine.yaml", "--force"][..],
        &["lessons", "new", "--output", "mine.yaml", "--force"],
    ] {
        let run = run::run(room.path(), args);
        assert_eq!((run.status, run.err.as_str()), (Some(0), ""), "{args:?}");
        assert!(fs::read_to_string(room.path().join("mine.yaml")).unwrap().contains("mha: 1"));
    }
}

#[test]
fn what_makes_no_lesson_is_said_and_nothing_is_written() {
    let room = tempfile::tempdir().unwrap();
    for (flags, words) in [
        (&["--d-model", "4", "--num-heads", "3"][..], "cannot be shared out evenly among 3 heads"),
        (&["--d-model", "65"], "a whole number from 1 to 64 is needed"),
        (&["--mask", "casual"], "it must be none, causal, or window:3"),
        (&["--mask", "window:0"], "a whole number from 1 to 64 is needed"),
        (&["--title", "{head.9.weights[1,1]} of it", "--numbers", "ones"], "it must be integers"),
    ] {
        let run = run::run(room.path(), &[&["lessons", "new", "mine.yaml"], flags].concat());
        assert_eq!(run.status, Some(2), "{flags:?}");
        assert!(run.err.contains(words), "{}", run.err);
        assert!(!room.path().join("mine.yaml").exists());
    }
}

/// Nobody answers; nothing waits, and nothing is asked.
#[test]
fn a_closed_input_takes_the_defaults() {
    let room = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_mha");
    let run = std::process::Command::new(program)
        .args(["lessons", "new", "--lang", "en"])
        .current_dir(room.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(run.status.success() && run.stderr.is_empty());
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(text.contains("tokens: [\"a\", \"b\", \"c\"]") && text.contains("d_model: 4"), "{text}");
}
