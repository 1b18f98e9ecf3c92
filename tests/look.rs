//! One look for all verbs: pages of every verb at three widths, in colour, in ASCII and in Chinese, held to the table of
//! `src/views/mod.rs`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

#[path = "common/run.rs"]
#[expect(dead_code, reason = "no shell is needed here")]
mod run;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use unicode_width::UnicodeWidthStr;

/// A page for people of every verb, and of every kind that a verb has. `right.npz` and `wrong.npz` are traces of the
/// example, the second without its scale.
const PAGES: &[&str] = &[
    "trace --heads 1 --verbose",
    "trace masks --heads 2 --exact --steps head.*",
    "trace telltale --summary",
    "trace --explain head.1.weights[3,1] --depth 1",
    "trace --mistake scale-missing --heads 1",
    "trace cross-attention --layout columns --steps head.1.*",
    "trace masks --format heatmap",
    "trace --model induction --text qwerq --layer 2 --head 1 --steps weights,output",
    "compare --variants single-head,multi-head,flash",
    "compare --format heatmap",
    "check two-heads right.npz",
    "check two-heads wrong.npz",
    "check right.npz --against wrong.npz",
    "ablate --head 2",
    "ablate pruning --each",
    "ablate pruning --each --format heatmap",
    "params",
    "params t5-small --tensor-parallel 2 --memory 8GiB",
    "params llama-3-8b --attention-only --sweep num-kv-heads=1,8,32",
    "params bert-base --explain all",
    "params --list qwen2",
    "params --list families",
    "heads --model induction --text qwerq",
    "heads --explain-measures",
    "mistakes",
    "mistakes rope-one-side-only",
    "learn",
    "learn single-head --plain",
    "lessons",
    "lessons validate single-head",
    "worksheet random:7 --key",
];

/// What a page is asked for beside its words, and what its surroundings are.
const LOOKS: [(&str, &[&str]); 4] = [
    ("plain", &["--color", "never"]),
    ("colour", &["--color", "always"]),
    ("ascii", &["--ascii", "--color", "never"]),
    ("zh", &["--lang", "zh", "--color", "never"]),
];

/// Every sign outside of ASCII that an English page is set with; letters come from tokens and names of people.
const SIGNS: &str =
    "─│┌┐└┘├┬┴┆═╞╡╪█▇▆▅▄▃▂▁▉▊▋▌▍▎▏░▒▓ ·×√ᵀ→←−–±≤≥≠≈∞…⋮Σα θελℓΔ½²³¹⁰ⁿᵐᵇᶜʳᵢ⁽⁾₀₁₂₃₄₅₆₇₈₉₊₋‖⊙“”‘’»›✓✗◐•";

/// What colours and letters of a page may be switched to: nothing, bold, dimmed; green and bold red; cyan and bold cyan.
const PALETTE: [&str; 8] = ["0", "1", "2", "32", "31", "1;31", "36", "1;36"];

/// A page without its escape codes, and the codes.
fn bare(text: &str) -> (String, BTreeSet<String>) {
    let (mut bare, mut codes) = (String::new(), BTreeSet::new());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        bare.push_str(before);
        let (code, after) = after.split_once('m').unwrap_or((after, ""));
        codes.insert(code.trim_start_matches('[').to_owned());
        rest = after;
    }
    bare.push_str(rest);
    (bare, codes)
}

/// What is wrong with a page; nothing where nothing is.
fn faults(page: &str, words: &str, look: &str, width: usize) -> Vec<String> {
    let (bare, codes) = bare(page);
    let is_picture = words.contains("heatmap") || words.starts_with("heads --model");
    let mut found = Vec::new();
    let mut fault = |what: &str, line: &str| found.push(format!("{what}: {line}"));
    for line in bare.lines() {
        // A command of one word, quoted, cannot be broken: it is meant to be pasted.
        let is_command = line.starts_with("  ") && (line.contains("mha ") || line.contains("'random:"));
        if line.width() > width && !is_command {
            fault("too wide", line);
        }
        // In colour a shaded cell of a heat map may be blank to its end.
        if line.ends_with(' ') && !(is_picture && look == "colour") {
            fault("ends with a blank", line);
        }
        if look == "ascii" && (!line.is_ascii() || line.contains("\\u{")) {
            fault("not ASCII", line);
        }
        if look == "plain"
            && let Some(sign) = line.chars().find(|c| !c.is_ascii() && !SIGNS.contains(*c))
        {
            fault(&format!("{sign} is no sign of the table"), line);
        }
    }
    if bare.contains("\\e[") || bare.contains("\\u{1b}") {
        fault("an escape code that is shown", "");
    }
    if look != "colour" && !codes.is_empty() {
        fault("an escape code without colour", &format!("{codes:?}"));
    }
    let is_shade = |code: &str| code.starts_with("38;5;") || code.starts_with("48;5;");
    for code in codes.iter().filter(|code| !PALETTE.contains(&code.as_str())) {
        if !(is_picture && code.split("m\u{1b}[").all(is_shade)) {
            fault("a colour outside the palette", code);
        }
    }
    if !page.ends_with('\n') || page.ends_with("\n\n") || page.starts_with('\n') {
        fault("begins with a blank line, or does not end with one line break", "");
    }
    if bare.contains("\n\n\n") {
        fault("two blank lines", &bare[bare.find("\n\n\n").unwrap()..].chars().take(80).collect::<String>());
    }
    // A figure explained, a lesson told for a screen reader and a list of verdicts are pages without a title.
    let has_title = !["--explain all", "--plain", "validate"].iter().any(|few| words.contains(few));
    if look == "colour" && has_title && !page.starts_with("\u{1b}[1m") {
        fault("no title in bold", page.lines().next().unwrap_or_default());
    }
    found
}

/// Every page in these looks, several at a time; what is wrong with any of them.
fn everywhere(folder: &Path, width: usize, looks: &[(&str, &[&str])]) -> Vec<String> {
    let all: Vec<(&str, &(&str, &[&str]))> =
        PAGES.iter().flat_map(|words| looks.iter().map(move |look| (*words, look))).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut said = Vec::new();
        while let Some((words, (look, flags))) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            let wide = width.to_string();
            let arguments: Vec<&str> =
                words.split(' ').chain(["--width", &wide]).chain(flags.iter().copied()).collect();
            let run = run::run(folder, &arguments);
            let ended = if run.status.is_some_and(|status| status < 2) { None } else { Some(run.err) };
            let faults = ended.into_iter().chain(faults(&run.out, words, look, width));
            said.extend(faults.map(|fault| format!("mha {words} ({width} columns, {look}): {fault}")));
        }
        said
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// A folder with two traces of the example: as it is, and without its scale.
fn answers() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for more in
        [["--output", "right.npz"].as_slice(), &["--output", "wrong.npz", "--mistake", "scale-missing"]]
    {
        let run = run::run(folder.path(), &[["trace", "--format", "npz"].as_slice(), more].concat());
        assert_eq!(run.status, Some(0), "{}", run.err);
    }
    folder
}

#[test]
fn every_verb_keeps_to_the_width_the_palette_and_the_signs() {
    let folder = answers();
    // Narrow is where tables break. A palette is the same at every width, and 200 columns only show that nothing is
    // stretched.
    let [plain, colour, ascii, zh] = LOOKS;
    let mut found = everywhere(folder.path(), 40, &[plain, ascii, zh]);
    found.extend(everywhere(folder.path(), 80, &[colour, zh]));
    found.extend(everywhere(folder.path(), 200, &[plain]));
    assert!(found.is_empty(), "{} faults:\n{}", found.len(), found.join("\n"));
}

/// The test above would say so: a page with each of its faults, one at a time.
#[test]
fn a_page_that_breaks_a_rule_is_found() {
    #[track_caller]
    fn case(page: &str, look: &str, says: &str) {
        let found = faults(page, "trace", look, 10);
        assert!(found.iter().any(|fault| fault.starts_with(says)), "{page:?}: {found:?}");
    }
    assert_eq!(faults("\u{1b}[1mTitle\u{1b}[0m\nS = 1/√2\n", "trace", "colour", 10), [""; 0]);
    case("0123456789A\n", "plain", "too wide");
    case("注意力注意力\n", "zh", "too wide"); // twelve columns
    case("blank \n", "plain", "ends with a blank");
    case("3×4\n", "ascii", "not ASCII");
    case("\\u{258d}\n", "ascii", "not ASCII");
    case("▶ next\n", "plain", "▶ is no sign");
    case("\u{1b}[1mbold\u{1b}[0m\n", "plain", "an escape code");
    case("\u{1b}[1;35mT\u{1b}[0m\n", "colour", "a colour outside the palette: 1;35");
    case("\u{1b}[48;5;21mT\u{1b}[0m\n", "colour", "a colour outside the palette");
    case("plain title\n", "colour", "no title in bold");
    case("no end", "plain", "begins with a blank line, or");
    case("a\n\n\nb\n", "plain", "two blank lines");
}

/// Eighty columns hold every example of a help page with what it is for.
#[test]
fn examples_of_help_pages_fit_a_terminal() {
    use clap::CommandFactory;
    fn visit(command: &clap::Command, found: &mut Vec<String>) {
        let below = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        // What an example is for may stand below it, far in, and folds there.
        let examples = below.lines().filter(|line| line.starts_with("  ") && !line.starts_with("        "));
        let examples = examples.filter(|line| line.width() > 80);
        found.extend(examples.map(|line| format!("mha {} --help: {line}", command.get_name())));
        command.get_subcommands().for_each(|command| visit(command, found));
    }
    let mut found = Vec::new();
    visit(&mha::cli::Cli::command(), &mut found);
    assert!(found.is_empty(), "{}", found.join("\n"));
}
