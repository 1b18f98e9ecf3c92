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
        "no step is called head.3.*",
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
    case(
        "no groups",
        &["compare", "--variants", "gqa:0"],
        "invalid value 'gqa:0' for '--variants <NAMES>': after gqa: comes a whole number from 1 (no larger than there are heads or keys)",
        "",
    );
    case(
        "a mistyped variant",
        &["compare", "--variants", "single"],
        "invalid value 'single' for '--variants <NAMES>': did you mean single-head? the variants are single-head, multi-head, \
         gqa:G, mqa, averaged, no-output-projection, no-scale, fused, flash, causal; mistakes are named as `mha mistakes` \
         lists them",
        "",
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
    case("an unknown type", &["params", "--dtype", "fp64"], "invalid value 'fp64' for '--dtype <DTYPE>'", "");
}

#[test]
fn flags_that_clap_refuses_end_with_the_same_status() {
    let case = |promise: &str, args: &[&str], first: &str| case(promise, args, first, "");
    case("an unknown verb", &["trcae"], "unrecognized subcommand 'trcae'");
    case("an unknown flag", &["trace", "--step", "q"], "unexpected argument '--step' found");
    case("two lessons", &["trace", "masks", "telltale"], "unexpected argument 'telltale' found");
    case(
        "two mistakes",
        &["mistakes", "scale-missing", "wo-missing"],
        "unexpected argument 'wo-missing' found",
    );
    case("an unknown format", &["trace", "--format", "xml"], "invalid value 'xml' for '--format <FORMAT>'");
    case(
        "a page too narrow",
        &["trace", "--width", "5"],
        "invalid value '5' for '--width <N>': 5 is not in 20..=10000",
    );
    case(
        "digits without end",
        &["trace", "--precision", "99"],
        "invalid value '99' for '--precision <N>': 99 is not in 0..=17",
    );
    case(
        "digits below none",
        &["trace", "--precision", "-1"],
        "invalid value '-1' for '--precision <N>': -1 is not in 0..=17",
    );
    let whole = "a whole number from 1 is needed";
    for (number, why) in [
        ("0", whole),
        ("-1", whole),
        ("x", whole),
        ("1.5", whole),
        ("99999999999999999999999999", "that is too large"),
    ] {
        case(
            &format!("head {number}"),
            &["trace", "--heads", number],
            &format!("invalid value '{number}' for '--heads <N>': {why}"),
        );
    }
    case(
        "sequence 0",
        &["trace", "--sequence", "0"],
        "invalid value '0' for '--sequence <B>': sequences count from 1, and all means every one",
    );
    case(
        "a diagonal layout",
        &["trace", "--layout", "diagonal"],
        "invalid value 'diagonal' for '--layout <WAY>'",
    );
    case("an unknown language", &["trace", "--lang", "fr"], "invalid value 'fr' for '--lang <LANG>'");
    case(
        "more and less said",
        &["trace", "-q", "-v"],
        "the argument '--quiet' cannot be used with '--verbose'",
    );
    case(
        "a summary as JSON",
        &["trace", "--summary", "--format", "json"],
        "the argument '--summary' cannot be used with '--format <FORMAT>'",
    );
    case(
        "force without a file",
        &["trace", "--force"],
        "the following required arguments were not provided:",
    );
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
