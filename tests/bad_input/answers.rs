//! Tensors that someone hands over: broken, lying, hostile, none at all, or for no step.

use std::fs;

use super::{LESSON, listing, refused, room, run};

/// Two tokens, d_model = 2, one head.
const TINY: &str = "attention: {}\ninputs: {x: [[1, 2], [3, 4]]}\n\
                    projections: {w_q: identity, w_k: identity, w_v: identity, w_o: identity}\n";

/// What two people have, each in a file that is as it should be.
const GOOD: &str = r#"{"q": [[1, 2], [3, 4]]}"#;

/// `mha check` is refused with these arguments beside these files, and writes nothing.
#[track_caller]
fn case(promise: &str, files: &[(&str, &[u8])], args: &str, first: &str, place: &str) {
    let room = room();
    fs::write(room.path().join(LESSON), TINY).unwrap();
    fs::write(room.path().join("good.json"), GOOD).unwrap();
    for (name, bytes) in files {
        fs::write(room.path().join(name), bytes).unwrap();
    }
    let before = listing(room.path());
    for more in [&[][..], &["--format", "json"], &["--output", "page.md", "--format", "markdown"]] {
        let args: Vec<&str> =
            ["check"].into_iter().chain(args.split(' ')).chain(more.iter().copied()).collect();
        refused(promise, &run::run(room.path(), &args), first, Some(place));
        assert_eq!(listing(room.path()), before, "{promise}: something was written");
    }
}

/// One file of answers, for the lesson.
#[track_caller]
fn file(promise: &str, name: &str, bytes: &[u8], first: &str, place: &str) {
    case(promise, &[(name, bytes)], &format!("{LESSON} {name}"), first, place);
}

#[test]
fn a_file_that_holds_no_tensors_says_so() {
    file(
        "a program",
        "a.npz",
        b"\x7fELF\x02\x01\x01",
        "this is not an .npz archive, or only a part of one",
        "a.npz",
    );
    file("nothing", "output.npy", b"", "the file is empty", "output.npy");
    file("no names", "a.yaml", b"{}", "the file holds no arrays", "a.yaml");
    file(
        "a bomb",
        "a.yaml",
        b"q: &a [1]\nk: *a\n",
        "anchors (&) and aliases (*) are not used in files of arrays",
        "a.yaml:1:4",
    );
    case("a file that is not there", &[], "lesson.yaml none.npz", "there is no such file", "none.npz");
    case("a folder", &[], "lesson.yaml .", "this is a directory", ".");
    case("no file at all", &[], "lesson.yaml", "there are no tensors to check", "ANSWERS");
    case("nobody to compare with", &[], "--against good.json", "there is nothing to compare", "ANSWERS");
    case(
        "a lesson between two people",
        &[],
        "two-heads good.json --against good.json",
        "--against takes no lesson",
        "--against",
    );
}

#[test]
fn tensors_of_no_step_are_not_passed_over_in_silence() {
    let first = "no tensor is a step of this lesson";
    for (promise, name) in [
        ("no known name", "foo"),
        ("no name", ""),
        ("a name that a terminal would obey", r"\u001b[2J\u202e"),
        ("a step that this lesson has not", "q_rot"),
        ("an input", "w_q"),
        ("a head without its neighbour", "head.2.scores"),
        ("a head beyond all numbers", "head.99999999999999999999.q"),
    ] {
        let text = format!(r#"{{"{name}": [[1, 2], [3, 4]]}}"#);
        file(promise, "a.json", text.as_bytes(), first, "ANSWERS");
    }
    let two = br#"{"Weights": [[1]], "WEIGHTS": [[1]]}"#;
    file("one step under two names", "a.json", two, "weights is given twice", "ANSWERS");
    case("one file twice", &[], "lesson.yaml good.json good.json", "q is given twice", "ANSWERS");
    file(
        "two arrays of one name",
        "a.json",
        br#"{"q": [[1]], "q": [[2]]}"#,
        "the file holds two arrays named q",
        "a.json:1:16 (array q)",
    );
}

#[test]
fn standard_input_is_read_once() {
    let first = "- is named twice";
    case("a lesson and tensors", &[], "- -", first, "ANSWERS");
    case("tensors twice", &[], "lesson.yaml - -", first, "ANSWERS");
    case("both sides", &[], "- --against -", first, "--against");
}

#[test]
fn a_mapping_names_what_is_there() {
    let with = |map: &str| format!("lesson.yaml good.json {map}");
    let map = |promise: &str, map: &str, first: &str| case(promise, &[], &with(map), first, "--map");
    map("a tensor that is not there", "--map p=k", "the files have no tensor p");
    map("a step that is none", "--map q=r", "r is not the name of a step");
    map("one tensor for two steps", "--map q=k --map q=v", "q is mapped twice");
    map("two tensors for one step", "--map q=k --map Q=k", "q and Q are both mapped to k");
}

#[test]
fn two_sides_have_a_step_in_common() {
    let other: &[(&str, &[u8])] = &[("other.json", br#"{"k": [[1, 2], [3, 4]]}"#)];
    let first = "the two have no step in common";
    case("q beside k", other, "good.json --against other.json", first, "--against");
    case(
        "a side that is not there",
        &[],
        "good.json --against none.npz",
        "there is no such file",
        "none.npz",
    );
}

/// `mha check` of one file ends with this status.
#[track_caller]
fn verdict(lesson: &str, answers: &str, status: i32) {
    let room = room();
    fs::write(room.path().join(LESSON), lesson).unwrap();
    fs::write(room.path().join("a.json"), answers).unwrap();
    let run = run::run(room.path(), &["check", LESSON, "a.json"]);
    assert_eq!(run.status, Some(status), "{answers}: {}{}", run.out, run.err);
}

/// The scores are 5, 11, 11, 25 over √2. 2·10⁻⁵ of the 10⁹ that a mask takes away would be 20,000.
#[test]
fn a_number_that_hides_excuses_no_other() {
    let lesson = TINY.replace("{}", "{mask: [{add: [[0, -1.0e9], [0, 0]]}]}");
    verdict(&lesson, r#"{"biased_scores": [[3.5355339, -999999992.22], [7.7781746, 17.6776695]]}"#, 0);
    verdict(&lesson, r#"{"biased_scores": [[3.5355339, "-Infinity"], [7.7781746, 17.6776695]]}"#, 0);
    verdict(&lesson, r#"{"biased_scores": [[5, -999999989], [11, 25]]}"#, 1);
    verdict(&lesson, r#"{"biased_scores": [[3.5355339, 7.7781746], [7.7781746, 17.6776695]]}"#, 1);
}

/// With one query head there is one head of everything.
#[test]
fn heads_are_as_many_as_the_lesson_has() {
    for (step, head) in [("v_heads", "[[1, 2], [3, 4]]"), ("k_heads", "[[1, 2], [3, 4]]")] {
        verdict(TINY, &format!(r#"{{"{step}": [{head}]}}"#), 0);
        verdict(TINY, &format!(r#"{{"{step}": [{head}, {head}]}}"#), 1);
    }
    let shared = "attention: {num_heads: 2, num_kv_heads: 1}\ninputs: {x: [[1, 2], [3, 4]]}\n\
                  projections: {w_q: identity, w_k: [[1], [0]], w_v: [[1], [0]], w_o: identity}\n";
    verdict(shared, r#"{"k_heads": [[[1], [3]]]}"#, 0);
    verdict(shared, r#"{"k_heads": [[[1], [3]], [[1], [3]]]}"#, 0);
    verdict(shared, r#"{"k_heads": [[[1], [3]], [[1], [3]], [[1], [3]], [[1], [3]]]}"#, 1);
}
