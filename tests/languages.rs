//! English and Chinese say the same things: every sentence of the code, of the help pages and of the lessons is there
//! in both, with the same values in it.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its own files has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

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

/// The string literals that `t!` and `words::say` of a source file begin with.
fn keys(source: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let code: String = source
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .map(|line| format!("{line}\n"))
        .collect();
    for opening in ["t!(", "words::say("] {
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
