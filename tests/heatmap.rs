//! Heat maps in a terminal: the right shade for every number, on every kind of terminal, within the page's width.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

use std::fs;
use std::path::Path;

use mha::lesson::builtin;
use tempfile::TempDir;
use unicode_width::UnicodeWidthStr;

#[path = "common/run.rs"]
#[expect(dead_code, reason = "no shell is needed here")]
mod run;

/// A heat map on a terminal that knows so many colours; `None` is a pipe.
#[track_caller]
fn picture(folder: &Path, colours: Option<&str>, args: &[&str]) -> String {
    let mut command = run::mha(folder);
    command.args(args).args(["--format", "heatmap"]);
    match colours {
        None => {}
        Some("truecolor") => {
            command.args(["--color", "always"]).env("COLORTERM", "truecolor");
        }
        Some(_) => {
            command.args(["--color", "always"]);
        }
    }
    let run = run::ended(&mut command);
    assert_eq!((run.status, run.err.as_str()), (Some(0), ""), "mha {}", args.join(" "));
    run.out
}

fn here() -> &'static Path {
    Path::new(".")
}

fn room(lesson: &str) -> TempDir {
    let room = tempfile::tempdir().unwrap();
    fs::write(room.path().join("lesson.yaml"), lesson).unwrap();
    room
}

/// The text without its escape sequences of colour; any other escape stays.
fn bare(text: &str) -> String {
    let mut bare = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("\u{1b}[") {
        let code = &rest[start + 2..];
        let end = code.find(|c: char| !(c.is_ascii_digit() || c == ';')).unwrap();
        bare.push_str(&rest[..start]);
        if !code[end..].starts_with('m') {
            bare.push_str("\u{1b}[");
            rest = code;
            continue;
        }
        rest = &code[end + 1..];
    }
    bare + rest
}

/// Lines below the titles of the first row of panels: names of columns, then rows.
fn below_titles(page: &str) -> Vec<&str> {
    page.lines().skip_while(|line| !line.starts_with("head.1.weights")).skip(1).collect()
}

/// By hand: e^(1/√2) = 2.0281. In head 1 row a shares 2.0281 : 1 : 2.0281, so 0.4011, 0.1978, 0.4011; row c has e^√2 =
/// 4.1133 for itself against 2.0281 twice: 0.2483, 0.2483, 0.5035, the largest of all. Of that 0.4011 is 0.797, the
/// last of four rungs (from 0.75 on); 0.1978 is 0.393 and 0.2483 is 0.493, the second; and head 2's 0.3333 is 0.662, the
/// third.
#[test]
fn without_colour_there_is_ink_above_every_number() {
    let page = picture(here(), None, &["trace"]);
    let lines = below_titles(&page);
    assert_eq!(
        &lines[..7],
        [
            "     a     b     c         a     b     c",
            "  ██████▒▒▒▒▒▒██████    ██████▒▒▒▒▒▒▒▒▒▒▒▒",
            "a  0.40  0.20  0.40   a  0.50  0.25  0.25",
            "  ▒▒▒▒▒▒████████████    ▒▒▒▒▒▒██████▒▒▒▒▒▒",
            "b  0.20  0.40  0.40   b  0.25  0.50  0.25",
            "  ▒▒▒▒▒▒▒▒▒▒▒▒██████    ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓",
            "c  0.25  0.25  0.50   c  0.33  0.33  0.33",
        ],
        "{page}"
    );
    assert!(page.contains("[██] 0.38 to 0.50"), "{page}");
}

/// The largest weight is yellow under black, as viridis ends (253, 231, 37); a third of it lies at 0.662 · 255 = 169.
#[test]
fn with_every_colour_the_numbers_stand_on_viridis() {
    let page = picture(here(), Some("truecolor"), &["trace"]);
    let largest = page.lines().find(|line| line.starts_with("c ")).unwrap();
    assert!(largest.contains("0.50 ") && largest.contains("48;2;253;231;37"), "{largest:?}");
    // matplotlib's step 169 is (53, 183, 121) to within what a straight line between anchors may miss.
    let colour = largest.rsplit("48;2;").next().unwrap().split('m').next().unwrap();
    let channels: Vec<i32> = colour.split(';').take(3).map(|channel| channel.parse().unwrap()).collect();
    for (channel, expected) in channels.iter().zip([53, 183, 121]) {
        assert!((channel - expected).abs() <= 5, "{colour}");
    }
    assert!(!page.contains("48;5;"));
}

#[test]
fn a_terminal_of_256_colours_gets_those_and_one_of_16_gets_ink() {
    let page = picture(here(), Some("256"), &["trace"]);
    assert!(page.contains("48;5;") && !page.contains("48;2;"));
    let mut xterm = run::mha(here());
    xterm.args(["trace", "--format", "heatmap"]).env("CLICOLOR_FORCE", "1").env("TERM", "xterm");
    let page = run::ended(&mut xterm).out;
    // Titles are bold, and shades are drawn in the text's own colour.
    assert!(page.contains("\u{1b}[1mhead.1.weights") && page.contains("██████▒▒▒▒▒▒"), "{page}");
    assert!(!page.contains("48;"), "{page}");
    xterm.env("TERM", "xterm-256color");
    assert!(run::ended(&mut xterm).out.contains("48;5;"));
}

#[test]
fn the_picture_can_be_read_without_its_colours() {
    for colours in ["truecolor", "256"] {
        let page = bare(&picture(here(), Some(colours), &["trace", "masks", "--heads", "1"]));
        let lines = below_titles(&page);
        // The lesson's own claims: row c sees b and itself, 0.3302 and 0.6698; a and pad are hidden.
        assert_eq!(lines[3], "  c    ·   0.33  0.67    ·", "{page}");
        assert!(page.replace('\n', " ").contains("· is exactly 0, hidden by a mask."), "{page}");
    }
}

#[test]
fn scores_have_a_scale_of_their_own_and_hidden_ones_are_not_on_it() {
    let page = picture(here(), None, &["trace", "masks", "--steps", "head.1.masked_scores,head.1.weights"]);
    let words = page.replace('\n', " ");
    assert!(words.contains("0.00 to 1.41, the least to the largest number shown"), "{page}");
    assert!(words.contains("· is −∞, hidden by a mask."), "{page}");
    assert!(words.contains("0 to 0.67, the largest weight of a query with a choice"), "{page}");
}

/// The same numbers transposed: what row c of head 1 holds stands in column c.
#[test]
fn tokens_in_columns_are_transposed() {
    let page = picture(here(), None, &["trace", "--layout", "columns", "--heads", "1"]);
    let rows: Vec<&str> = page.lines().filter(|line| line.contains("0.")).take(3).collect();
    assert_eq!(rows, ["a  0.40  0.20  0.25", "b  0.20  0.40  0.25", "c  0.40  0.40  0.50"], "{page}");
    assert!(page.contains("rows: keys · columns: queries"));
}

#[test]
fn precision_sets_the_digits_inside_cells() {
    let page = picture(here(), None, &["trace", "--heads", "1", "--precision", "4"]);
    assert!(page.contains("c  0.2483  0.2483  0.5035"), "{page}");
}

/// One head of all has 1/√4 for its scale: row c scores a, b, c with 1, 1, 2 over 2, so e^0.5 : e^0.5 : e^1, and the
/// sum of 1.6487, 1.6487 and 2.7183 is 6.0157: 0.27, 0.27, 0.45. Its row a has 2.7183 of 2.7183, 1 and 1.6487 together
/// for itself, 0.5065: the most that any of the three panels holds, where head 1 of two has 0.5035.
#[test]
fn variants_share_one_scale() {
    let page = picture(here(), None, &["compare"]);
    assert!(
        page.contains("single-head · attention weights") && page.contains("multi-head · attention weights")
    );
    assert!(page.contains("c  0.27  0.27  0.45"), "{page}");
    let page = picture(here(), None, &["compare", "--precision", "4"]);
    assert_eq!(page.matches("largest weight shown").count(), 1, "{page}");
    assert!(page.contains("0 to 0.5065, the largest weight shown"), "{page}");
    let page = picture(here(), None, &["compare", "--variants", "fused,flash"]);
    assert!(page.contains("weights, head 2") && page.contains("c  0.33  0.33  0.33"), "{page}");
    assert!(page.contains("It holds no attention weights"), "{page}");
}

/// Two sequences under one set of weights; the second is the first with its tokens swapped.
const BATCH: &str = "
tokens: [a, b]
attention: {num_heads: 1}
inputs: {x: [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]}
projections: {w_q: [[1, 0], [0, 2]], w_k: identity, w_v: identity, w_o: identity}
";

#[test]
fn a_batch_is_drawn_one_sequence_or_all() {
    let room = room(BATCH);
    let titles = |args: &[&str]| {
        let page = picture(room.path(), None, &[&["trace", "lesson.yaml"], args].concat());
        (page.matches("batch.1.head.1.weights").count(), page.matches("batch.2.head.1.weights").count())
    };
    assert_eq!(titles(&[]), (1, 0));
    assert_eq!(titles(&["--sequence", "2"]), (0, 1));
    assert_eq!(titles(&["--sequence", "all"]), (1, 1));
}

/// Names as a file may hold them: escape codes, a tab, wide letters, emoji, marks that combine, letters from right to left.
const HOSTILE: &str = r#"
title: "a\e[2Jb"
tokens: ["\e[31mred", "a\tb", "注意力机制", "👩‍🔬👩‍🔬", "e\u0301\u0301", "\u202eabc", "שלום", "a very long name that nobody can fit", ""]
attention: {num_heads: 2, mask: causal}
inputs: {x: {random: {seed: 1, shape: [9, 8]}}}
projections: {w_q: {random: {seed: 2}}, w_k: {random: {seed: 3}}, w_v: identity, w_o: identity}
"#;

#[test]
fn no_line_is_wider_than_the_page_and_no_name_is_obeyed() {
    let room = room(HOSTILE);
    // Every width meets both layouts, both choices of steps and both alphabets; all 32 combinations would take minutes.
    let combinations = [
        (20, "rows", "weights", None),
        (20, "columns", "*", Some("truecolor")),
        (40, "rows", "*", Some("truecolor")),
        (40, "columns", "weights", None),
        (80, "columns", "*", None),
        (80, "rows", "weights", Some("truecolor")),
        (200, "rows", "*", None),
        (200, "columns", "weights", Some("truecolor")),
    ];
    for lesson in builtin::all().iter().map(|lesson| lesson.name).chain(["lesson.yaml"]) {
        for (width, layout, steps, colours) in combinations {
            let wide = width.to_string();
            let args = ["trace", lesson, "--width", &wide, "--layout", layout, "--steps", steps];
            let page = bare(&picture(room.path(), colours, &args));
            assert!(!page.contains(['\u{1b}', '\t', '\u{202e}']), "{page:?}");
            // What the heading says is the page's own business, and has its own tests.
            for line in page.lines().skip_while(|line| !line.contains("head.1")) {
                assert!(line.width() <= width, "{args:?}: {line:?} is {} wide", line.width());
            }
        }
    }
}

#[test]
fn ascii_is_nothing_but_ascii() {
    let room = room(HOSTILE);
    for args in [
        &["trace", "lesson.yaml", "--ascii"][..],
        &["trace", "masks", "--ascii", "--steps", "*"],
        &["trace", "lesson.yaml", "--ascii", "--color", "always"],
        &["compare", "masks", "--ascii", "--variants", "multi-head,fused,flash"],
    ] {
        let page = picture(room.path(), None, args);
        assert!(page.is_ascii(), "{:?}", page.lines().find(|line| !line.is_ascii()));
    }
    // Row c of head 1: 0.33 of 0.67, the largest where there is a choice, is on the fourth of seven rungs.
    let page = picture(room.path(), None, &["trace", "masks", "--ascii", "--heads", "1"]);
    let lines = below_titles(&page);
    assert!(lines[5].contains("******@@@@@@"), "{page}");
    assert_eq!(lines[6], "  c    .   0.33  0.67    .", "{page}");
}

fn random(n: usize, heads: usize) -> String {
    let d_model = heads * 4;
    format!(
        "attention: {{num_heads: {heads}, mask: causal}}\n\
         inputs: {{x: {{random: {{seed: 7, shape: [{n}, {d_model}]}}}}}}\n\
         projections: {{w_q: {{random: {{seed: 8}}}}, w_k: {{random: {{seed: 9}}}}, w_v: identity, w_o: identity}}\n"
    )
}

#[test]
fn a_large_matrix_is_thinned_and_says_so() {
    let room = room(&random(512, 8));
    // Beside names of 10 columns and a blank 29 are left of 40, and 512 / 29 is 17.7; wider pages have room for 32.
    for (width, block, most) in [("40", 18, 700), ("80", 16, 400), ("200", 16, 200)] {
        let page = picture(room.path(), None, &["trace", "lesson.yaml", "--width", width]);
        let words = page.replace('\n', " ");
        let note = format!("is the largest of {block} × {block} neighbours (512 × 512 in all).");
        assert!(words.contains(&note) && page.contains("…512"), "{page}");
        assert!(page.lines().count() < most && page.len() < 200_000, "{} lines", page.lines().count());
        // The first query sees only itself, with all its weight: the largest of all is never thinned away.
        let first = page.lines().find(|line| line.trim_start().starts_with(&format!("1…{block} "))).unwrap();
        assert!(first.contains('█'), "{first}");
    }
    let colours = picture(room.path(), Some("truecolor"), &["trace", "lesson.yaml"]);
    assert!(colours.len() < 1_000_000, "{} bytes", colours.len());
}

#[test]
fn many_heads_are_small_multiples() {
    let room = room(&random(16, 64));
    let page = picture(room.path(), None, &["trace", "lesson.yaml", "--width", "200"]);
    let titles = page.lines().find(|line| line.starts_with("head.1.weights")).unwrap();
    assert!(titles.matches(".weights").count() >= 8, "{titles}");
    assert_eq!(page.matches(".weights").count(), 64);
    assert!(!page.contains("Thinned"));
}

#[test]
fn a_row_that_is_not_a_number_says_so() {
    let room = room(
        "attention: {num_heads: 1, mask: {allow: [[true, true], [false, false]]}, fully_masked_rows: nan}\n\
         inputs: {x: [[1, 0], [0, 1]]}\n\
         projections: {w_q: identity, w_k: identity, w_v: identity, w_o: none}\n",
    );
    let page = picture(room.path(), None, &["trace", "lesson.yaml"]);
    assert!(page.contains("2    ?     ?") && page.contains("? is not a number."), "{page}");
}
