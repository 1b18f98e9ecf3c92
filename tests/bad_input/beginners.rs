//! What people who begin get wrong most, with all that they are told: what, why, and what to try. The remedy is tried,
//! too, where it is a change of the same file.

use std::fs;

use super::{LESSON, room, run};

/// A right lesson; each row changes one thing in it.
const RIGHT: &str = "\
mha: 1
title: Mine
attention: {d_model: 2, num_heads: 1}
inputs:
  x: [[1, 0], [0, 1]]
projections:
  w_q: identity
  w_k: identity
  w_v: identity
  w_o: identity
";

/// The lesson with one text in it replaced is refused in these words; with the remedy it is right.
#[track_caller]
fn slip(was: &str, is: &str, what: &str, why: &str, remedy: &str, mended: &str) {
    assert!(RIGHT.contains(was), "{was}");
    let room = room();
    let file = room.path().join(LESSON);
    fs::write(&file, RIGHT.replace(was, is)).unwrap();
    let told = run::run(room.path(), &["trace", LESSON]);
    assert_eq!(told.status, Some(2), "{is}: {}", told.out);
    assert!(told.err.starts_with(&format!("error: {what}\n  --> {LESSON}:")), "{is}:\n{}", told.err);
    let reason = if why.is_empty() { String::new() } else { format!("\n  why: {why}") };
    assert!(told.err.contains(&format!("{reason}\n  try: {remedy}\n")), "{is}:\n{}", told.err);
    fs::write(&file, RIGHT.replace(was, mended)).unwrap();
    let again = run::run(room.path(), &["trace", LESSON]);
    assert_eq!(again.status, Some(0), "the remedy of {is:?}:\n{}", again.err);
}

#[test]
fn the_grammar_of_yaml_is_told_to_who_does_not_know_it() {
    slip(
        "title: Mine",
        "title: Mine: the first",
        "this is not YAML: a colon stands where no key can be",
        "a colon and a blank make a key of what stands before them, in the middle of a text too",
        "put a text with a colon in quotes, or begin a key in the same column as those beside it",
        "title: \"Mine: the first\"",
    );
    slip(
        "  w_q: identity",
        "\tw_q: identity",
        "this is not YAML: a tab stands where blanks belong",
        "YAML is indented with blanks only",
        "put blanks in the tab's place",
        "  w_q: identity",
    );
    slip(
        "x: [[1, 0], [0, 1]]",
        "x: [[1, 0], [0, 1]\n  x_kv: [[1, 0]]",
        "this is not YAML: a bracket above this line is not closed",
        "the line is not indented deeper than the key above it, as what stands in brackets would be",
        "close it, or indent the line",
        "x: [[1, 0], [0, 1]]\n  x_kv: [[1, 0]]",
    );
    slip(
        "title: Mine",
        "title: \"Mine",
        "this is not YAML: a quote is not closed",
        "a text in quotes ends with the quote that it began with",
        "put the same quote at its end",
        "title: \"Mine\"",
    );
    slip(
        "title: Mine",
        "title: \"the \\scores\"",
        "this is not YAML: a \\ in double quotes stands before a letter that it does not go with",
        "there it begins a sign such as \\n for a new line",
        "write \\\\ for the \\ itself, or put the text in single quotes",
        "title: 'the \\scores'",
    );
    slip(
        "  w_k: identity",
        " w_k: identity",
        "this is not YAML: this line does not fit the keys above it",
        "keys that belong together begin in the same column",
        "indent it as they are, and see whether its colon is there",
        "  w_k: identity",
    );
    slip(
        "title: Mine",
        "title: @mine",
        "this is not YAML: a text begins with a sign that no text can begin with",
        "@, ` and % have other uses there",
        "put the whole text in quotes",
        "title: '@mine'",
    );
}

#[test]
fn slips_in_a_lesson_lead_to_what_was_meant() {
    slip(
        "num_heads: 1",
        "heads: 1",
        "attention has no key heads",
        "",
        "did you mean num_heads? Known: d_model, num_heads, num_kv_heads, d_k, d_v, scale, mask, positions, softcap, \
         qk_norm, sinks, fully_masked_rows",
        "num_heads: 1",
    );
    slip(
        "[0, 1]]",
        "[\"0,5\", 1]]",
        "inputs.x[2][1] is \"0,5\", but it needs a finite number",
        "",
        "write it with a point: 0.5",
        "[0.5, 1]]",
    );
    slip(
        "num_heads: 1",
        "num_heads: 1, mask: [[1, 0], [1, 1]]",
        "attention.mask is a list of 2, but it needs a mask, not a matrix",
        "",
        "write mask: {allow: [[…]]} for a matrix of true (or 1) where a query may see a key, or mask: {add: [[…]]} for \
         numbers that are added to the scores",
        "num_heads: 1, mask: {allow: [[1, 0], [1, 1]]}",
    );
    slip(
        "num_heads: 1",
        "num_heads: 1, mask: {key_padding: [true]}",
        "attention.mask.key_padding is a list of 1, but it needs 2 flags",
        "one a key, and n_kv = 2",
        "give 2 flags: true for a real token, false for padding",
        "num_heads: 1, mask: {key_padding: [true, false]}",
    );
}

/// `mha ARGS` is told in these lines; `files` stand in the folder.
#[track_caller]
fn told(files: &[(&str, &str)], args: &[&str], lines: &[&str]) {
    let room = room();
    for (name, text) in files {
        fs::write(room.path().join(name), text).unwrap();
    }
    let run = run::run(room.path(), args);
    assert_eq!((run.status, run.out.as_str()), (Some(2), ""), "{args:?}: {}", run.err);
    for line in lines {
        assert!(run.err.lines().any(|told| told == *line), "{args:?}: no line {line:?} in\n{}", run.err);
    }
}

#[test]
fn files_in_the_wrong_place_are_recognised() {
    told(
        &[("mine.json", "{\"q\": [[1, 2]]}")],
        &["check", "mine.json", "two-heads"],
        &["error: mine.json is not a lesson", "  try: mha check two-heads mine.json"],
    );
    told(
        &[("mine.yaml", RIGHT)],
        &["check", "two-heads", "mine.yaml"],
        &[
            "error: this is a lesson, not tensors",
            "  --> mine.yaml",
            "  try: name it first, and then the files with your tensors",
        ],
    );
    told(
        &[],
        &["trace", "two-haeds"],
        &[
            "error: there is no lesson called two-haeds",
            "  try: did you mean two-heads? `mha lessons` lists them; a file is named with its ending, as two-haeds.yaml",
        ],
    );
}

#[test]
fn json_is_told_without_the_words_of_its_reader() {
    for (text, why) in [
        ("[[1, 2], [3,]]", "a comma stands before a closing bracket"),
        ("[[1, 2], [3", "it ends before every bracket and quote is closed"),
        ("{q: [[1]]}", "a name stands without double quotes"),
        ("{\"q\" [[1]]}", "a colon is missing behind a name"),
        ("[[1 2]]", "a comma or a ] is missing"),
        ("[[1]] [[2]]", "something follows behind its end"),
    ] {
        told(
            &[("q.json", text)],
            &["check", "two-heads", "q.json"],
            &["error: this is not JSON", &format!("  why: {why}")],
        );
    }
}

#[test]
fn numbers_that_are_not_there_come_with_those_that_are() {
    told(&[], &["trace", "--sequence", "2"], &["  try: leave out --sequence"]);
    told(&[], &["compare", "--sequence", "2"], &["  try: leave out --sequence"]);
    told(&[], &["ablate", "--head", "1", "--sequence", "2"], &["  try: leave out --sequence"]);
    told(&[], &["trace", "two-sequences", "--sequence", "3"], &["  try: choose from 1 to 2"]);
    told(&[], &["compare", "two-sequences", "--sequence", "3"], &["  try: choose from 1 to 2"]);
    let text = ["--model", "induction", "--text", "abab"];
    // Two layers of four heads.
    told(&[], &[&["heads", "--layer", "3"], &text[..]].concat(), &["  try: choose from 1 to 2"]);
    told(&[], &[&["heads", "--head", "5"], &text[..]].concat(), &["  try: choose from 1 to 4"]);
    told(
        &[],
        &[&["ablate", "--heads", "L9H1"], &text[..]].concat(),
        &[
            "error: there is no layer 10",
            "  --> --heads",
            "  why: the layers run from 1 to 2, counted from 1; names such as L0H1 count from 0",
        ],
    );
    told(
        &[],
        &["trace", "--explain", "head.1.scores[1,1"],
        &[
            "error: head.1.scores[1,1 is not a step and a place in it",
            "  try: close the bracket, with nothing behind it: 'head.1.scores[3,1]'",
        ],
    );
    told(
        &[],
        &["params", "llama-2-7b", "--sweep", "num-heads=a"],
        &[
            "error: num_heads cannot be a",
            "  --> --sweep",
            "  try: for example --sweep num-heads=1,4,8,16,32",
        ],
    );
}
