//! Manual pages and the version: what `mha man` writes, and what `mha --version` says.

#![expect(clippy::unwrap_used, reason = "a test that cannot run its program has failed")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command as Process;

#[path = "common/run.rs"]
#[expect(dead_code, reason = "no shell is needed here")]
mod run;

use clap::{Command, CommandFactory};

/// The commands below one, by the words that call them.
fn commands(command: &Command, words: &[&str], found: &mut Vec<(Vec<String>, Command)>) {
    found.push((words.iter().map(|word| (*word).to_owned()).collect(), command.clone()));
    for below in command.get_subcommands() {
        commands(below, &[words, &[below.get_name()]].concat(), found);
    }
}

fn all() -> Vec<(Vec<String>, Command)> {
    let mut found = Vec::new();
    commands(&mha::cli::Cli::command(), &[], &mut found);
    found
}

/// The text of a page without troff's own words: fonts, escapes, requests.
fn text(page: &str) -> String {
    let lines = page.lines().filter(|line| !line.starts_with('.'));
    let text: Vec<String> = lines
        .map(|line| line.replace("\\fB", "").replace("\\fI", "").replace("\\fR", "").replace("\\-", "-"))
        .collect();
    text.join("\n").replace("\\(aq", "'").replace("\\&", "")
}

#[test]
fn every_command_has_a_page_that_names_all_its_flags() {
    for (words, command) in all() {
        let page = run::run(Path::new("."), &[vec!["man".to_owned()], words.clone()].concat());
        assert_eq!(page.status, Some(0), "{words:?}: {}", page.err);
        let text = text(&page.out);
        let flags = command.get_arguments().filter_map(|argument| argument.get_long());
        for flag in flags {
            assert!(text.contains(&format!("--{flag}")), "{words:?}: --{flag}");
        }
        for line in command.get_after_help().map(ToString::to_string).unwrap_or_default().lines() {
            // An example stands as it is typed, beside or above what it is for.
            let example = line.trim().split("  ").next().unwrap_or_default();
            if line.starts_with("  mha") && example.is_ascii() {
                assert!(text.contains(example), "{words:?}: {example}");
            }
        }
    }
}

#[test]
fn pages_are_ascii_and_only_known_requests_begin_lines() {
    let known = ["TH", "SH", "PP", "TP", "RS", "RE", "IP", "PD", "br", "sp", "nh", "ad"];
    for (words, _) in all() {
        let page = run::run(Path::new("."), &[vec!["man".to_owned()], words.clone()].concat()).out;
        assert!(page.is_ascii() && page.starts_with(".TH MHA"), "{words:?}");
        for line in page.lines() {
            let request = line.strip_prefix('.').map(|line| line.split(' ').next().unwrap_or_default());
            assert!(request.is_none_or(|request| known.contains(&request)), "{words:?}: {line}");
            assert!(!line.is_empty() && !line.starts_with('\''), "{words:?}");
        }
    }
}

#[test]
fn all_pages_go_into_a_folder_under_the_names_that_man_looks_for() {
    let folder = tempfile::tempdir().unwrap();
    let written = run::run(folder.path(), &["man", "--all", "--output", "man1"]);
    assert_eq!((written.status, written.out.as_str()), (Some(0), ""), "{}", written.err);
    let name = |(words, _): (Vec<String>, Command)| {
        format!("{}.1", [vec!["mha".to_owned()], words].concat().join("-"))
    };
    let expected: BTreeSet<String> = all().into_iter().map(name).collect();
    let there = fs::read_dir(folder.path().join("man1")).unwrap();
    let there: BTreeSet<String> =
        there.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert!(there.contains("mha-lessons-validate.1"));
    assert_eq!(there, expected);
    // Nothing is replaced unless that is asked for.
    assert_eq!(run::run(folder.path(), &["man", "--all", "--output", "man1"]).status, Some(2));
    assert_eq!(run::run(folder.path(), &["man", "--all", "--output", "man1", "--force"]).status, Some(0));
}

#[test]
fn a_command_that_is_not_there_is_answered_with_the_nearest() {
    let refused = run::run(Path::new("."), &["man", "lessons", "validat"]);
    assert_eq!(refused.status, Some(2));
    assert!(refused.err.contains("did you mean validate?"), "{}", refused.err);
    let refused = run::run(Path::new("."), &["man", "trce"]);
    assert!(refused.err.starts_with("error: mha has no command trce\n"), "{}", refused.err);
    let refused = run::run(Path::new("."), &["man", "trace", "x"]);
    assert!(refused.err.contains("mha trace has no commands of its own"), "{}", refused.err);
}

#[test]
#[ignore = "needs mandoc and groff: apt-get install mandoc groff"]
fn mandoc_and_groff_find_nothing_to_complain_of() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run::run(folder.path(), &["man", "--all", "--output", "man1"]).status, Some(0));
    for file in fs::read_dir(folder.path().join("man1")).unwrap() {
        let path = file.unwrap().path();
        let lint = Process::new("mandoc").args(["-T", "lint", "-W", "warning"]).arg(&path).output().unwrap();
        let said = String::from_utf8_lossy(&lint.stdout).into_owned();
        // Pages of a build that does not know its commit have no day.
        let complaints: Vec<&str> = said.lines().filter(|line| !line.contains("missing date")).collect();
        assert!(complaints.is_empty(), "{complaints:#?}");
        let set =
            Process::new("groff").args(["-man", "-T", "utf8", "-ww", "-z"]).arg(&path).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&set.stderr), "", "{}", path.display());
    }
}

#[test]
fn the_version_is_one_line_in_short_and_has_the_facts_of_the_build_in_long() {
    let short = run::run(Path::new("."), &["-V"]).out;
    assert_eq!(short, format!("mha {}\n", env!("CARGO_PKG_VERSION")));
    let long = run::run(Path::new("."), &["--version"]).out;
    let compiler = Process::new("rustc").args(["--version", "--verbose"]).output().unwrap();
    let compiler = String::from_utf8(compiler.stdout).unwrap();
    let (first, host) = (compiler.lines().next().unwrap(), compiler.split("host: ").nth(1).unwrap());
    let host = host.lines().next().unwrap();
    assert!(long.starts_with(&short), "{long}");
    assert!(long.contains(first) && long.contains(host), "{first}, {host}: {long}");
    // Which commit a build for tests was made of is not looked up: it would be built anew after every commit.
    assert!(long.contains("commit:    not known to this build\n"), "{long}");
    #[cfg(target_arch = "x86_64")]
    {
        let has = std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma");
        assert_eq!(long.contains("AVX2 with FMA"), has, "{long}");
    }
}
