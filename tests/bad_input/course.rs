//! Small files that ask for a great deal: lessons with runs, plots, tasks and commands, and files of progress.

use std::fs;
use std::path::Path;

use super::run::{self, Run};
use super::{LESSON, listing, room, tame, text_refused};

/// Three tokens of four numbers and two heads.
const SMALL: &str = "attention: {num_heads: 2}\n\
    inputs: {x: [[1, 0, 2, 1], [0, 1, 1, 0], [1, 1, 0, 2]]}\n\
    projections: {w_q: identity, w_k: identity, w_v: identity, w_o: identity}\n";

/// The same with as many tokens of as many numbers as are computed with one head.
fn large(tokens: usize, width: usize) -> String {
    format!(
        "attention: {{}}\ninputs: {{x: {{random: {{seed: 1, shape: [{tokens}, {width}]}}}}}}\n\
         projections: {{w_q: identity, w_k: identity, w_v: identity, w_o: identity}}\n"
    )
}

/// A list of so many of the same.
fn list(of: &str, count: usize) -> String {
    format!("[{}]", vec![of; count].join(", "))
}

/// The lesson is read, and what it says is refused: status 1, a first line at its place, nothing written, no panic.
#[track_caller]
fn found_false(promise: &str, text: &str, first: &str, place: &str) {
    let room = room();
    fs::write(room.path().join(LESSON), text).unwrap();
    let before = listing(room.path());
    let run = run::run(room.path(), &["lessons", "validate", LESSON]);
    assert_eq!((run.status, run.err.as_str()), (Some(1), ""), "{promise}:\n{}", run.out);
    tame(promise, &run.out);
    let mut lines = run.out.lines();
    assert_eq!(lines.next(), Some("✗ lesson.yaml"), "{promise}:\n{}", run.out);
    // What is wrong folds where the page ends.
    let lines: Vec<&str> = lines.collect();
    let at = lines
        .iter()
        .position(|line| line.starts_with("  --> "))
        .unwrap_or_else(|| panic!("{promise}:\n{}", run.out));
    let told = lines[..at].iter().map(|line| line.trim_start()).collect::<Vec<_>>().join(" ");
    assert!(told.starts_with(&format!("error: {first}")), "{promise}:\n{}", run.out);
    assert_eq!(lines[at], format!("  --> {LESSON}{place}"), "{promise}:\n{}", run.out);
    assert_eq!(listing(room.path()), before, "{promise}: something was written");
}

#[test]
fn more_than_anybody_could_read_is_refused_before_it_is_read() {
    let case = |promise: &str, extra: &str, first: &str, place: &str| {
        text_refused(promise, format!("{SMALL}{extra}"), first, place);
    };
    for (key, item, count) in [
        ("story", "{at: x, say: a}", 1_001),
        ("claims", "{that: 1 = 1}", 2_001),
        ("quiz", "{ask: a, choices: [a, b], answer: 1}", 501),
        ("course", "{say: a}", 501),
    ] {
        case(
            &format!("{count} entries in {key}"),
            &format!("{key}: {}\n", list(item, count)),
            &format!("{key} has {count} entries, more than the {} that are read", count - 1),
            &format!(":4:1 ({key})"),
        );
    }
    let runs: String = (0..101).map(|run| format!("  r{run}: {{variant: mqa}}\n")).collect();
    case(
        "101 runs",
        &format!("runs:\n{runs}"),
        "runs has 101 entries, more than the 100 that are read",
        ":4:1 (runs)",
    );
    case(
        "21 rewrites of a run",
        &format!("runs: {{a: {{rewrites: {}}}}}\n", list("{zero_head: head.1}", 21)),
        "runs.a.rewrites has 21 entries, more than the 20 that are read",
        ":4:12 (runs.a.rewrites)",
    );
    for (key, part, count) in [
        ("wrong", "ask: a, cell: \"q[1,1]\", wrong: LIST", 51),
        ("choices", "ask: a, answer: 1, choices: LIST", 51),
        ("show", "show: LIST", 21),
        ("table.rows", "table: {columns: [a], rows: LIST}", 101),
        ("table.columns", "table: {rows: [], columns: LIST}", 21),
        ("plot.lines", "plot: {x: {label: a, values: [1]}, lines: LIST}", 21),
        ("time.runs", "time: {title: a, runs: LIST}", 21),
    ] {
        let part = part.replace("LIST", &list("1", count));
        // `  - {` and what stands before the key
        let column = 5 + part.find(&format!("{}:", key.split('.').next_back().unwrap())).unwrap();
        case(
            &format!("{count} entries in {key} of a part"),
            &format!("course:\n  - {{{part}}}\n"),
            &format!("course[1].{key} has {count} entries, more than the {} that are read", count - 1),
            &format!(":5:{} (course[1].{key})", column + 1),
        );
    }
    for (kind, part, most) in [
        ("table", "table: {}", 50),
        ("plot", "plot: {}", 20),
        ("command", "command: mha params", 20),
        ("time", "time: {}", 10),
        ("task", "task: a", 20),
    ] {
        case(
            &format!("{} parts of the kind {kind}", most + 1),
            &format!("course:\n{}", format!("  - {{{part}}}\n").repeat(most + 1)),
            &format!(
                "the course has {} parts of the kind {kind}, more than the {most} that are read",
                most + 1
            ),
            &format!(":{}:5 (course[{}])", 5 + most, most + 1),
        );
    }
}

#[test]
fn expressions_and_runs_that_cannot_be_meant_are_refused_where_they_stand() {
    let case = |promise: &str, extra: &str, first: &str, place: &str| {
        text_refused(promise, format!("{SMALL}{extra}"), first, place);
    };
    for (promise, typed) in [
        ("a thousand parentheses", "(".repeat(990) + "1" + &")".repeat(900)),
        ("powers of powers", "2^".repeat(900) + "2"),
        ("minus minus minus", "-".repeat(1_900) + "1"),
        ("an endless sum", "1+".repeat(2_000) + "1"),
        ("an exponent beyond every number", "1e999999999999".to_owned()),
        ("a head beyond every number", "head.99999999999999999999.weights".to_owned()),
        ("a row beyond every number", "weights[99999999999999999999,1]".to_owned()),
        ("row 0", "weights[0,1]".to_owned()),
    ] {
        let shown = match typed.len() > 40 {
            true => format!("{}…", &typed[..40]),
            false => format!("{typed} > 0"),
        };
        case(
            promise,
            &format!("claims: [{{that: \"{typed} > 0\"}}]\n"),
            &format!("claims[1].that is no expression: \"{shown}\""),
            ":4:11 (claims[1].that)",
        );
    }
    case(
        "runs that start from each other",
        "runs: {a: {from: b}, b: {from: a}}\n",
        "runs.a.from is \"b\", which is no run that stands above",
        ":4:12 (runs.a.from)",
    );
    case(
        "a run that starts from itself",
        "runs: {a: {from: a}}\n",
        "runs.a.from is \"a\", which is no run that stands above",
        ":4:12 (runs.a.from)",
    );
    case(
        "a plot of 201 values",
        &format!(
            "course: [{{plot: {{x: {{label: a, values: {}}}, lines: [{{label: a, value: 1}}]}}}}]\n",
            list("1", 201)
        ),
        "course[1].plot.x.values is a list of 201, but it needs 1 to 200 numbers",
        ":4:32 (course[1].plot.x.values)",
    );
    for typed in [".nan", ".inf", "-.inf"] {
        case(
            "a value that is no number",
            &format!(
                "course: [{{plot: {{x: {{label: a, values: [{typed}]}}, lines: [{{label: a, value: 1}}]}}}}]\n"
            ),
            &format!("course[1].plot.x.values[1] is {typed}, but it needs a finite number"),
            ":4:41 (course[1].plot.x.values[1])",
        );
    }
    case(
        "a name that leads out of the folder",
        "quiz: [{ask: a, cell: \"q[1,1]\", id: \"../../a\"}]\n",
        "quiz[1].id is \"../../a\", but it needs a word",
        ":4:33 (quiz[1].id)",
    );
}

#[test]
fn a_lesson_has_so_much_computed_and_no_more() {
    const TOO_MUCH: &str = "the lesson's runs, plots and expressions take more than 2147483648 operations in all: \
                            smaller sizes, fewer values";
    let values = (1..=200).map(|value| value.to_string()).collect::<Vec<_>>().join(", ");
    found_false(
        "a plot of 200 large lessons",
        &format!(
            "{SMALL}course:\n  - plot:\n      x: {{label: a, values: [{values}]}}\n      \
             change: {{inputs: {{x: {{random: {{seed: $, shape: [512, 64]}}}}}}}}\n      \
             lines: [{{label: a, value: mean(weights)}}]\n"
        ),
        "the plot cannot be drawn: where a is ",
        ":8:26 (course[1].plot.lines[1].value)",
    );
    let slopes: Vec<String> = (1..60).map(|layer| format!("slope(final, layer.{layer}.w_o)")).collect();
    found_false(
        "59 slopes through 64 layers",
        &format!("{SMALL}layers: {{count: 64}}\nclaims: [{{that: \"{} > 0\"}}]\n", slopes.join(" + ")),
        &format!("{} > 0 cannot be computed: {TOO_MUCH}", slopes.join(" + ")),
        ":5:11 (claims[1].that)",
    );
    let ranks = ["rank(x)"; 100].join(" + ");
    found_false(
        "100 ranks in a sentence",
        &format!("{}claims: [{{that: \"{ranks} > 0\"}}]\n", large(128, 128)),
        &format!("{ranks} > 0 cannot be computed: {TOO_MUCH}"),
        ":4:11 (claims[1].that)",
    );
    let runs: String = (1..100)
        .map(|run| format!("  r{run}: {{change: {{inputs: {{x: {{random: {{seed: {run}}}}}}}}}}}\n"))
        .collect();
    let run = {
        let room = room();
        fs::write(room.path().join(LESSON), format!("{}runs:\n{runs}", large(512, 64))).unwrap();
        run::run(room.path(), &["lessons", "validate", LESSON])
    };
    assert_eq!(run.status, Some(1), "99 large runs: {}", run.err);
    let said = run.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(&format!("cannot be computed: {TOO_MUCH} -->")), "99 large runs:\n{}", run.out);
    let counts: Vec<String> = (1..=101)
        .map(|size| format!("count(\\\"--d-model {size} --num-heads 1\\\", total_parameters)"))
        .collect();
    let claims: Vec<String> = counts.iter().map(|count| format!("  - that: \"{count} > 0\"\n")).collect();
    found_false(
        "101 models",
        &format!("{SMALL}claims:\n{}", claims.concat()),
        "count(\"--d-model 101 --num-heads 1\", total_parameters) > 0 cannot be computed: a lesson counts at most 100 models",
        ":105:5 (claims[101].that)",
    );
}

#[test]
fn a_command_that_a_lesson_shows_writes_nothing_starts_nothing_and_ends() {
    for (typed, first) in [
        // It would start itself, again and again.
        ("mha lessons validate lesson.yaml", "a lesson does not show mha lessons validate"),
        ("mha lessons --ascii validate lesson.yaml", "a lesson does not show mha lessons --ascii"),
        ("mha lessons --color always validate lesson.yaml", "a lesson does not show mha lessons --color"),
        ("mha lessons -- validate lesson.yaml", "a lesson does not show mha lessons --"),
        ("mha lessons --width 80 new new.yaml", "a lesson does not show mha lessons --width"),
        ("mha lessons --quiet render two-heads", "a lesson does not show mha lessons --quiet"),
        ("mha learn lesson.yaml", "a lesson does not show mha learn"),
        ("mha worksheet --random", "a lesson does not show mha worksheet"),
        ("mha trace two-heads --output=page.txt", "a lesson's command has --output=page.txt"),
        ("mha trace two-heads -opage.txt", "a lesson's command has -opage.txt"),
        ("mha trace -", "a lesson's command reads standard input (-)"),
        ("mha trace /dev/zero", "a lesson's command reads outside its folder (/dev/zero)"),
        ("mha params ../config.json", "a lesson's command reads outside its folder (../config.json)"),
        ("mha trace nope", "mha trace nope cannot be run: there is no lesson called nope"),
    ] {
        let text = format!("{SMALL}course:\n  - command: {typed}\n");
        found_false(typed, &text, first, ":5:5 (course[1].command)");
    }
    found_false(
        "pages without end",
        &format!("{}course:\n  - command: mha trace lesson.yaml --format csv\n", large(1_024, 16)),
        "mha trace lesson.yaml --format csv cannot be run: it prints more than 4 MiB",
        ":5:5 (course[1].command)",
    );
}

/// `mha learn` where progress is kept in `folder`.
fn learn(folder: &Path, kept: &Path) -> Run {
    run::ended(run::mha(folder).args(["learn"]).env("MHA_DATA_DIR", kept))
}

#[test]
fn whatever_stands_where_progress_is_kept_lessons_are_listed() {
    for (promise, text, said) in [
        ("bytes", vec![0, 159, 146, 150, 10, 13, 27], "it is damaged"),
        ("brackets", vec![b'['; 200_000], "it is damaged"),
        ("no version", br#"{"lessons": {"\u001b[31m": {}}}"#.to_vec(), "it names no version"),
        (
            "another kind",
            br#"{"mha": 1, "lessons": {"a": {"left_at": -1, "done": {}}}}"#.to_vec(),
            "something else",
        ),
        ("too long", vec![b' '; 20 << 20], "it is too long"),
    ] {
        let room = room();
        fs::write(room.path().join("progress.json"), &text).unwrap();
        let run = learn(room.path(), room.path());
        assert_eq!(run.status, Some(0), "{promise}: {}", run.err);
        assert!(run.out.contains("two-heads") && run.err.contains(said), "{promise}: {}", run.err);
        tame(promise, &run.err);
        assert_eq!(fs::read(room.path().join("progress.json.damaged")).unwrap(), text, "{promise}");
    }
}

#[cfg(unix)]
#[test]
fn progress_is_not_waited_for_at_a_pipe() {
    for name in ["progress.json", "progress.lock"] {
        let room = room();
        assert_eq!(run::ended(&mut run::shell(&format!("mkfifo {name}"), room.path())).status, Some(0));
        let run = learn(room.path(), room.path());
        assert_eq!(run.status, Some(0), "{name}: {}", run.err);
        assert!(run.out.contains("two-heads"), "{name}");
        let run =
            run::ended(run::mha(room.path()).args(["learn", "--forget"]).env("MHA_DATA_DIR", room.path()));
        assert!(run.status.is_some(), "{name}: it waits");
    }
    // Nor is what a link leads to written over: only the link is moved.
    let room = room();
    fs::write(room.path().join("precious"), "precious").unwrap();
    std::os::unix::fs::symlink(room.path().join("precious"), room.path().join("progress.json")).unwrap();
    assert_eq!(learn(room.path(), room.path()).status, Some(0));
    assert_eq!(fs::read_to_string(room.path().join("precious")).unwrap(), "precious");
}
