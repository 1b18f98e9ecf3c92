//! Command lines that ask for what is not there or cannot be.

use super::{listing, refused, room, run};

/// `mha ARGS` in an empty folder is refused; `place` is empty where clap answers, whose errors have none.
#[track_caller]
fn case(promise: &str, args: &[&str], first: &str, place: &str) {
    let room = room();
    refused(promise, &run::run(room.path(), args), first, (!place.is_empty()).then_some(place));
    assert_eq!(listing(room.path()).len(), 0, "{promise}: something was written");
}

#[test]
fn lessons_steps_heads_and_sequences_that_are_not_there() {
    case("no lesson of that name", &["trace", "two-head"], "there is no lesson called two-head", "LESSON");
    case(
        "a name with an escape sequence",
        &["trace", "\x1b[2J\x07"],
        "there is no lesson called \\e[2J\\u{7}",
        "LESSON",
    );
    case("an empty name", &["trace", ""], "the lesson's name is empty", "LESSON");
    case(
        "a file that is not there",
        &["trace", "nosuch.yaml"],
        "nosuch.yaml cannot be opened",
        "nosuch.yaml",
    );
    case(
        "a built-in lesson as a file",
        &["trace", "two-heads.yaml"],
        "two-heads.yaml cannot be opened",
        "two-heads.yaml",
    );
    case("a folder", &["trace", "."], ". is a folder", ".");
    case("nothing on standard input", &["trace", "-"], "the lesson is empty", "standard input:1:1");
    case(
        "no step of that name",
        &["trace", "--steps", "head.1.score"],
        "no step is called head.1.score",
        "--steps",
    );
    case(
        "a step of a third head",
        &["trace", "--steps", "q,head.3.*"],
        "there is no head 3 (head.3.*)",
        "--steps",
    );
    case("a step without a name", &["trace", "--steps", "q,,k"], "a step's name is empty", "--steps");
    case("a third head of two", &["trace", "--heads", "1,3"], "there is no head 3", "--heads");
    case("a second sequence of one", &["trace", "--sequence", "2"], "there is no sequence 2", "--sequence");
    case(
        "a third sequence, compared",
        &["compare", "--sequence", "3"],
        "there is no sequence 3",
        "--sequence",
    );
    case("no lesson to compare", &["compare", "nosuch"], "there is no lesson called nosuch", "LESSON");
    // Two heads asks ten times in all.
    case(
        "an eleventh question",
        &["learn", "two-heads", "--from", "11"],
        "there is no question 11",
        "--from",
    );
    case("no lesson to learn", &["learn", "two-head"], "there is no lesson called two-head", "LESSON");
    case("no lesson to show", &["lessons", "show", "masc"], "there is no lesson called masc", "LESSON");
    case(
        "no lesson to validate",
        &["lessons", "validate", "two-heads", "nosuch"],
        "there is no lesson called nosuch",
        "LESSON",
    );
    case("no preset of that name", &["params", "lama"], "no preset is called lama", "MODEL");
    case(
        "no mistake of that name",
        &["mistakes", "scale-mising"],
        "no mistake is called scale-mising",
        "NAME",
    );
    case(
        "a mistake with an escape sequence",
        &["mistakes", "\x1b[2J"],
        "no mistake is called \\e[2J",
        "NAME",
    );
    case("a mistake without a name", &["mistakes", ""], "the mistake's name is empty", "NAME");
}

#[test]
fn variants_that_the_heads_do_not_allow() {
    let gqa_3 = ["compare", "telltale", "--variants", "multi-head,gqa:3"];
    case(
        "three groups for four heads",
        &gqa_3,
        "4 query heads do not share 3 key/value heads evenly",
        "variant gqa:3",
    );
    case("no groups", &["compare", "--variants", "gqa:0"], "--variants cannot be gqa:0", "--variants");
    case(
        "a mistyped variant",
        &["compare", "--variants", "single"],
        "--variants cannot be single",
        "--variants",
    );
}

#[test]
fn sizes_that_cannot_be_counted() {
    case(
        "heads that do not divide",
        &["params", "--d-model", "10", "--num-heads", "3"],
        "3 heads cannot share d_model = 10 equally",
        "--num-heads",
    );
    for number in ["0", "-1", "1.5", "", "ten"] {
        let shown = if number.is_empty() { "empty" } else { number };
        let promise = format!("a sequence of {shown} tokens");
        case(&promise, &["params", "--seq-len", number], &format!("seq_len cannot be {shown}"), "--seq-len");
    }
    for number in ["10000000000", "1000000000000000000000000000000"] {
        let first = format!("seq_len cannot be as large as {number}");
        case(
            &format!("a sequence of {number} tokens"),
            &["params", "--seq-len", number],
            &first,
            "--seq-len",
        );
    }
    case(
        "a size that cannot be swept",
        &["params", "--sweep", "heads=1,2"],
        "heads cannot be swept",
        "--sweep",
    );
    case(
        "a sweep of nothing",
        &["params", "--sweep", "num-heads"],
        "a sweep needs a size and its values, and num-heads has no =",
        "--sweep",
    );
    case("an unknown type", &["params", "--dtype", "fp64"], "--dtype cannot be fp64", "--dtype");
}

#[test]
fn flags_that_clap_refuses_end_with_the_same_status() {
    case("an unknown verb", &["trcae"], "mha has no command trcae", "COMMAND");
    case("an unknown verb of a verb", &["lessons", "shwo"], "mha lessons has no command shwo", "COMMAND");
    case("an unknown flag", &["trace", "--step", "q"], "mha trace has no flag --step", "--step");
    case(
        "two lessons",
        &["trace", "masks", "telltale"],
        "telltale is one word too many for mha trace",
        "telltale",
    );
    case(
        "two mistakes",
        &["mistakes", "scale-missing", "wo-missing"],
        "wo-missing is one word too many for mha mistakes",
        "wo-missing",
    );
    case("an unknown format", &["trace", "--format", "xml"], "--format cannot be xml", "--format");
    case("a flag without its value", &["trace", "--steps"], "--steps needs a value", "--steps");
    case("a flag twice", &["trace", "--width", "50", "--width", "60"], "--width is given twice", "--width");
    case("a page too narrow", &["trace", "--width", "5"], "--width cannot be 5", "--width");
    case("digits without end", &["trace", "--precision", "99"], "--precision cannot be 99", "--precision");
    case("digits below none", &["trace", "--precision", "-1"], "--precision cannot be -1", "--precision");
    for number in ["0", "-1", "x", "1.5", "99999999999999999999999999"] {
        let first = format!("--heads cannot be {number}");
        case(&format!("head {number}"), &["trace", "--heads", number], &first, "--heads");
    }
    case("sequence 0", &["trace", "--sequence", "0"], "--sequence cannot be 0", "--sequence");
    case("a diagonal layout", &["trace", "--layout", "diagonal"], "--layout cannot be diagonal", "--layout");
    case("an unknown language", &["trace", "--lang", "fr"], "--lang cannot be fr", "--lang");
    case("more and less said", &["trace", "-q", "-v"], "--quiet cannot be used with --verbose", "--quiet");
    case(
        "a summary as JSON",
        &["trace", "--summary", "--format", "json"],
        "--summary cannot be used with --format",
        "--summary",
    );
    case("force without a file", &["trace", "--force"], "--output is missing", "--output");
    case("a lesson that is not named", &["lessons", "show"], "LESSON is missing", "LESSON");
}

/// What clap refuses is told with its reason and its remedy, in words that need no Rust.
#[test]
fn flags_that_clap_refuses_are_told_as_all_faults_are() {
    let room = room();
    let told = |args: &[&str]| run::run(room.path(), args).err;
    let whole = "a whole number from 1 is needed";
    for (args, why, remedy) in [
        (
            &["trace", "--width", "5"][..],
            "it is a whole number from 20 to 10000",
            "`mha trace --help` tells what --width takes",
        ),
        (
            &["trace", "--precision", "x"],
            "a whole number is needed",
            "`mha trace --help` tells what --precision takes",
        ),
        (&["trace", "--heads", "0"], whole, "`mha trace --help` tells what --heads takes"),
        (&["trace", "--heads", "1.5"], whole, "`mha trace --help` tells what --heads takes"),
        (
            &["trace", "--heads", "99999999999999999999"],
            "that is too large",
            "`mha trace --help` tells what --heads takes",
        ),
        (
            &["trace", "--lang", "fr"],
            "it can be en, zh",
            "choose one of them; `mha trace --help` tells what each does",
        ),
        (
            &["trace", "--format", "jsn"],
            "it can be table, heatmap, json, npz, csv, markdown, latex, html, mermaid, python, ipynb, svg, png",
            "did you mean json?",
        ),
        (
            &["trace", "--step", "q"],
            "a flag that is not known is not passed over",
            "did you mean --steps? `mha trace --help` lists its flags",
        ),
        (
            &["lessons", "shwo"],
            "its commands are list, show, validate, new, render, schema",
            "did you mean mha lessons show? `mha lessons --help` tells what each does",
        ),
        (
            &["trace", "--force"],
            "--force means nothing without it",
            "write mha trace --output <FILE> --force [LESSON]",
        ),
        (
            &["trace", "--force", "--ascii"],
            "--force means nothing without it",
            "write mha trace --output <FILE> --force --ascii [LESSON]",
        ),
        (&["lessons", "show"], "mha lessons show does nothing without it", "write mha lessons show <LESSON>"),
        (
            &["--lang", "zh"],
            "it is a flag of its commands, and stands behind them",
            "for example mha trace --lang",
        ),
        (
            &["trace", "gpt2"],
            "none of the 34 lessons that come with mha has this name",
            "`mha params gpt2` counts that model; its weights are read by `mha trace --model FOLDER`",
        ),
        (
            &["worksheet", "random"],
            "none of the 34 lessons that come with mha has this name",
            "a number chooses one of them: random:7",
        ),
        (&["trace", "-q", "-v"], "each asks for something else", "leave out --quiet, or the other"),
        (
            &["compare", "--variants", "single"],
            "the variants are single-head, multi-head, gqa:G, mqa, averaged, no-output-projection, no-scale, fused, flash, causal; \
             mistakes are named as `mha mistakes` lists them",
            "did you mean single-head? `mha compare --help` tells what --variants takes",
        ),
    ] {
        let told = told(args);
        assert!(told.contains(&format!("\n  why: {why}\n  try: {remedy}\n")), "{args:?}\n{told}");
    }
}

#[test]
fn a_file_format_that_fixes_its_layout_cannot_be_turned() {
    let args = ["trace", "--layout", "columns", "--format", "npz", "--output", "trace.npz"];
    case("npz with tokens in columns", &args, "npz files hold tokens in rows", "--layout");
}

/// clap repeats what was typed; a terminal must not obey it.
#[test]
fn what_was_typed_is_shown_and_not_obeyed() {
    let room = room();
    for args in [
        &["trace", "--\x1b[2J"][..],
        &["\x1b]0;title\x07"],
        &["trace", "--heads", "\x1b[2J\x07"],
        &["trace", "--format", "\x07"],
        &["compare", "--variants", "\x1b[2J\x07"],
        &["params", "--dtype", "\x07"],
        &["trace", "--steps", "\x1b[2J"],
        &["trace", "--output", "no\x1b[2J/page"],
    ] {
        let run = run::run(room.path(), args);
        assert_eq!((run.status, run.out.as_str()), (Some(2), ""), "{args:?}");
        super::tame("typed", &run.err);
    }
}
