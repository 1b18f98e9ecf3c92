//! English and Chinese say the same things: every sentence of the code, of the help pages and of the lessons is there
//! in both, with the same values in it.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its own files has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command as Program;
use clap::{Command, CommandFactory};
use serde_yaml::Value;
use unicode_width::UnicodeWidthStr;

fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// English → Chinese, from all tables; no sentence stands in two.
fn tables() -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for path in files("src/locales", ".zh.yml") {
        let text = fs::read_to_string(&path).unwrap();
        // A doubled key inside one file is refused by serde_yaml already.
        let table: BTreeMap<String, String> =
            serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for (english, chinese) in table {
            assert!(
                !all.contains_key(&english),
                "{}: {english:?} stands in another table too",
                path.display()
            );
            all.insert(english, chinese);
        }
    }
    all
}

/// The string literals that `t!`, `n!` and `words::say` of a source file begin with.
fn keys(source: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let code: String = source
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .map(|line| format!("{line}\n"))
        .collect();
    for opening in ["t!(", "n!(", "words::say("] {
        for (at, _) in code.match_indices(opening) {
            let before = code[..at].chars().next_back().unwrap_or(' ');
            let rest = code[at + opening.len()..].trim_start();
            if !(before.is_alphanumeric() || before == '_') && rest.starts_with('"') {
                found.insert(literal(&rest[1..]));
            }
        }
    }
    found
}

/// A Rust string literal up to its closing quote, with its escapes understood.
fn literal(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return out,
            '\\' => match letters.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('\n') => while letters.next_if(|letter| letter.is_whitespace()).is_some() {},
                Some(other) => out.push(other),
                None => break,
            },
            other => out.push(other),
        }
    }
    panic!("a literal does not end: {text:.40}")
}

/// All that the code says: literal by literal.
fn said() -> BTreeSet<String> {
    files("src", ".rs").iter().flat_map(|path| keys(&fs::read_to_string(path).unwrap())).collect()
}

/// All that help pages say: about, arguments, their values and headings, and what examples are for.
fn helped(command: &Command) -> BTreeSet<String> {
    let mut found: BTreeSet<String> = command.get_about().iter().map(ToString::to_string).collect();
    for argument in command.get_arguments() {
        found.extend(argument.get_help().map(ToString::to_string));
        found.extend(argument.get_long_help().map(ToString::to_string));
        found.extend(argument.get_help_heading().map(str::to_owned));
        if argument.get_action().takes_values() && !argument.is_hide_possible_values_set() {
            let values = argument.get_possible_values();
            found.extend(values.iter().filter_map(|value| value.get_help().map(ToString::to_string)));
        }
    }
    let below = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    for line in below.lines().filter(|line| !line.is_empty()) {
        // `  mha trace   what it is for`: what stands after the last wide gap; a command alone has no words.
        let words = line.trim();
        match words.rsplit_once("  ") {
            Some((_, purpose)) if line.starts_with("  ") => found.extend([purpose.to_owned()]),
            _ if words.starts_with("mha ") && !words.contains(": ") => {}
            // A line to copy into a file.
            _ if line.starts_with("  # ") => {}
            // The name of a variant, alone on its line.
            _ if line.starts_with("  ") && !words.contains(' ') => {}
            _ => found.extend([words.to_owned()]),
        }
    }
    found.extend(command.get_subcommands().flat_map(helped));
    found
}

fn help_pages() -> BTreeSet<String> {
    let mut command = mha::cli::Cli::command();
    command.build();
    helped(&command)
}

/// Words that are data in the code: what the catalogue of mistakes says.
fn data() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for mistake in mha::mistakes::catalogue::all() {
        let texts = [mistake.summary, mistake.cause, mistake.symptom, mistake.visible, mistake.fix];
        found.extend(texts.iter().map(|text| (*text).to_owned()));
        let formulas = [mistake.right, mistake.wrong];
        found.extend(formulas.iter().filter(|formula| is_told(formula)).map(|text| (*text).to_owned()));
    }
    found
}

/// Whether a formula has words beside its signs: `hidden where the mask is true`, not `output = concat W_O`.
fn is_told(formula: &str) -> bool {
    const SIGNS: [&str; 7] = ["head", "concat", "output", "scale", "keep", "cos", "sin"];
    let is_word = |word: &str| word.len() > 1 && word.chars().all(|letter| letter.is_ascii_lowercase());
    let words = formula.split(' ').map(|word| word.trim_end_matches([',', ':', ';', ')']));
    words.into_iter().any(|word| is_word(word) && !SIGNS.contains(&word))
}

/// The names in `%{…}`.
fn values(text: &str) -> BTreeSet<&str> {
    text.split("%{").skip(1).map(|rest| rest.split_once('}').unwrap().0).collect()
}

#[test]
fn the_scanner_reads_literals_as_rust_does() {
    let source = "let a = t!(\"plain\"); let b = t!(\n  \"two \\\n   lines, a \\\"quote\\\"\", x = 1); print!(\"no\"); words::say(\"c\"); // t!(\"d\")\n  // t!(\"e\")";
    let expected = ["plain", "two lines, a \"quote\"", "c", "d"];
    assert_eq!(keys(source), expected.iter().map(|key| (*key).to_owned()).collect());
}

#[test]
fn every_sentence_of_the_code_has_chinese_words() {
    let tables = tables();
    let missing: Vec<String> = said().into_iter().filter(|key| !tables.contains_key(key)).collect();
    assert!(missing.is_empty(), "no Chinese for {} sentences:\n{}", missing.len(), missing.join("\n"));
}

#[test]
fn every_sentence_of_the_help_pages_has_chinese_words() {
    let tables = tables();
    let is_a_name = |key: &String| ["NumPy", "PyTorch"].contains(&key.as_str());
    // The help of --model goes on with what the models inside the binary are: words of `n!`, which have their Chinese.
    let first = |key: String| key.split("\n\n").next().unwrap_or_default().to_owned();
    let pages = help_pages().into_iter().map(first);
    let missing: Vec<String> = pages.filter(|key| !tables.contains_key(key) && !is_a_name(key)).collect();
    assert!(missing.is_empty(), "no Chinese for {} sentences:\n{}", missing.len(), missing.join("\n"));
}

#[test]
fn every_mistake_has_chinese_words() {
    let tables = tables();
    let missing: Vec<String> =
        data().into_iter().filter(|key| !key.is_empty() && !tables.contains_key(key)).collect();
    assert!(missing.is_empty(), "no Chinese for {} texts:\n{}", missing.len(), missing.join("\n"));
}

#[test]
fn every_chinese_sentence_is_used() {
    let mut used = said();
    used.extend(help_pages());
    used.extend(data());
    let idle: Vec<String> = tables().into_keys().filter(|key| !used.contains(key)).collect();
    assert!(idle.is_empty(), "{} entries that nothing says:\n{}", idle.len(), idle.join("\n"));
}

#[test]
fn both_languages_take_the_same_values() {
    for (english, chinese) in tables() {
        assert_eq!(values(&english), values(&chinese), "{english:?} and {chinese:?}");
    }
}

#[test]
fn chinese_words_are_chinese() {
    let is_chinese = |letter: char| ('\u{4e00}'..='\u{9fff}').contains(&letter);
    // Punctuation around values has words in neither language.
    let wordless = |english: &str| {
        let mut text = english.to_owned();
        for value in values(english) {
            text = text.replace(&format!("%{{{value}}}"), "");
        }
        !text.chars().any(char::is_alphabetic)
    };
    for (english, chinese) in tables() {
        assert!(chinese.chars().any(is_chinese) || wordless(&english), "{english:?}: {chinese:?}");
    }
}

fn mha() -> Program {
    let mut command = Program::cargo_bin("mha").unwrap();
    // No language of the machine that the tests run on.
    command.env_remove("LC_ALL").env_remove("LC_MESSAGES").env_remove("LANG");
    command
}

fn page(command: &mut Program) -> String {
    let output = command.assert().success().get_output().stdout.clone();
    String::from_utf8(output).unwrap()
}

#[test]
fn a_trace_speaks_the_language_of_the_flag_and_else_of_the_locale() {
    let steps = ["trace", "--steps", "head.1.weights"];
    let english = page(mha().args(steps));
    assert!(english.contains("12  head.1.weights · attention weights of head 1"), "{english}");
    let flag = page(mha().args(steps).args(["--lang", "zh"]));
    assert!(flag.contains("12  head.1.weights · 头 1 的注意力权重"), "{flag}");
    assert!(flag.contains("每一行之和为 1。最集中的：c 看 c，0.5035。"), "{flag}");
    assert_eq!(page(mha().args(steps).env("LANG", "zh_CN.UTF-8")), flag);
    assert_eq!(page(mha().args(steps).arg("--lang=en").env("LC_ALL", "zh_CN.UTF-8")), english);
    // The lesson's numbers are the same in both.
    let numbers = |page: &str| {
        page.lines().filter(|line| line.contains('┆')).skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&english), numbers(&flag));
}

#[test]
fn help_pages_are_chinese_and_stay_within_the_width() {
    for verb in [
        &[][..],
        &["trace"],
        &["compare"],
        &["check"],
        &["params"],
        &["mistakes"],
        &["lessons"],
        &["lessons", "validate"],
    ] {
        let help = page(mha().args(verb).arg("--help").env("LANG", "zh_CN.UTF-8"));
        assert!(help.contains("用法：") && help.contains("选项：") && help.contains("显示帮助"), "{help}");
        for english in
            ["Usage", "Options:", "Arguments:", "Commands:", "[default", "Possible values", "Print help"]
        {
            assert!(!help.contains(english), "{english} in\n{help}");
        }
        for line in help.lines().filter(|line| !line.trim_start().starts_with("mha ")) {
            // A full stop or a comma does not begin a line: it may stand one character beyond.
            assert!(line.width() <= 102, "{} columns: {line}", line.width());
            assert!(!line.contains('\u{a0}'), "{line}");
        }
    }
    let english = page(mha().args(["trace", "--help", "--lang", "en"]).env("LANG", "zh_CN.UTF-8"));
    assert!(
        english.starts_with("Show every number of a worked example, step by step\n\nUsage: mha trace"),
        "{english}"
    );
}

/// A Chinese character takes two columns of a terminal.
#[test]
fn tables_with_chinese_names_stay_aligned() {
    for arguments in [&["compare"][..], &["trace", "--summary"], &["mistakes", "scale-missing"], &["lessons"]]
    {
        let page = page(mha().args(arguments).args(["--lang", "zh", "--width", "80"]));
        let mut before = None;
        for line in page.lines() {
            let is_table = line.starts_with(['┌', '│', '╞', '└']);
            assert!(line.width() <= 80, "{line}");
            if let (Some(width), true) = (before, is_table) {
                assert_eq!(line.width(), width, "{arguments:?}: {line}");
            }
            before = (is_table && !line.starts_with('└')).then(|| line.width());
        }
        assert!(page.contains('│'), "{page}");
    }
}

#[test]
fn what_programs_read_is_english_in_every_locale() {
    for arguments in [
        &["trace", "--format", "json"][..],
        &["trace", "--format", "csv"],
        &["trace", "--format", "python"],
        &["compare", "--format", "json"],
        &["mistakes", "--format", "json"],
        &["params", "--format", "json"],
        &["trace", "--ascii"],
    ] {
        assert_eq!(
            page(mha().args(arguments)),
            page(mha().args(arguments).env("LANG", "zh_CN.UTF-8")),
            "{arguments:?}"
        );
    }
}

/// Where in a lesson a text is there in one language only: a mapping with `en` has `zh`, and the other way round.
fn one_sided(value: &Value, place: &str, tokens: &BTreeSet<String>, found: &mut Vec<String>) {
    match value {
        Value::Mapping(map) => {
            let has = |key: &str| map.contains_key(key);
            if has("en") != has("zh") {
                found.push(place.to_owned());
            }
            for (key, inner) in map {
                let key = key.as_str().map_or_else(|| format!("{key:?}"), str::to_owned);
                let place = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
                match inner {
                    Value::String(text) if TEXTS.contains(&key.as_str()) && has_words(text, tokens) => {
                        found.push(place)
                    }
                    Value::Sequence(items) if LISTS.contains(&key.as_str()) => {
                        for (at, item) in items.iter().enumerate() {
                            let place = format!("{place}[{}]", at + 1);
                            match item {
                                Value::String(text) if has_words(text, tokens) => found.push(place),
                                item => one_sided(item, &place, tokens, found),
                            }
                        }
                    }
                    _ => one_sided(inner, &place, tokens, found),
                }
            }
        }
        Value::Sequence(items) => {
            for (at, item) in items.iter().enumerate() {
                one_sided(item, &format!("{place}[{}]", at + 1), tokens, found);
            }
        }
        _ => {}
    }
}

/// Keys of a lesson whose values people read.
const TEXTS: [&str; 11] =
    ["title", "summary", "source", "say", "ask", "because", "hint", "where", "why", "task", "label"];
/// Keys whose values are lists of such texts.
const LISTS: [&str; 3] = ["choices", "columns", "hints"];

/// The tokens of a lesson and of its runs: they stay as they are wherever they are spoken of.
fn tokens(value: &Value) -> BTreeSet<String> {
    match value {
        Value::Mapping(map) => map
            .iter()
            .flat_map(|(key, inner)| match (key.as_str(), inner) {
                (Some("tokens" | "kv_tokens"), Value::Sequence(items)) => {
                    items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
                }
                _ => tokens(inner),
            })
            .collect(),
        Value::Sequence(items) => items.iter().flat_map(tokens).collect(),
        _ => BTreeSet::new(),
    }
}

/// Whether a text has words to translate: `d_k`, `v`, `= entropy(weights)`, `64` and a lesson's tokens have none.
fn has_words(text: &str, tokens: &BTreeSet<String>) -> bool {
    let is_a_name = !text.contains(' ') && text.chars().any(|letter| !letter.is_lowercase());
    let is_a_sign = text.chars().count() == 1;
    let is_of_tokens = text.split(' ').all(|word| tokens.contains(word));
    let is_data = text.starts_with('=') || is_a_name || is_a_sign || is_of_tokens;
    !is_data && text.chars().any(char::is_alphabetic)
}

#[test]
fn a_text_in_one_language_is_found_wherever_it_stands() {
    let lesson = "{title: {en: a, zh: b}, summary: only, course: [{say: {en: c}}, {ask: {zh: d}, value: x}, {hints: {why: '1 + 1'}, choices: [W_O, the bias, v, the cat]}], runs: {a: {tokens: [the, cat]}}}";
    let lesson: Value = serde_yaml::from_str(lesson).unwrap();
    let mut found = Vec::new();
    one_sided(&lesson, "", &tokens(&lesson), &mut found);
    assert_eq!(found, ["summary", "course[1].say", "course[2].ask", "course[3].choices[2]"]);
}

#[test]
fn every_text_of_every_lesson_is_there_in_both_languages() {
    let mut missing = Vec::new();
    for path in files("lessons", ".yaml") {
        let lesson: Value = serde_yaml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let mut found = Vec::new();
        one_sided(&lesson, "", &tokens(&lesson), &mut found);
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        missing.extend(found.into_iter().map(|place| format!("{name}: {place}")));
    }
    assert!(missing.is_empty(), "{} texts in one language only:\n{}", missing.len(), missing.join("\n"));
}
