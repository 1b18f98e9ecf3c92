//! The README is true: every `$ mha …` in it is run, in order, in one folder, and what it prints is what stands there.
//!
//! In an expected output a line `…` stands for any lines, but not for an error. YAML blocks are saved under the name in
//! backticks before them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

#[path = "common/run.rs"]
#[expect(dead_code, reason = "no shell is needed here")]
mod run;

const README: &str = include_str!("../README.md");

/// A fenced block: its language and its lines, with the last line of prose before it.
struct Block<'a> {
    language: &'a str,
    before: &'a str,
    lines: Vec<&'a str>,
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut before = "";
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let inside = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push(Block { language, before, lines: inside });
        } else if !line.is_empty() {
            before = line;
        }
    }
    blocks
}

/// A command and the output that stands under it.
fn commands<'a>(block: &Block<'a>) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut commands: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in &block.lines {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command, Vec::new())),
            (None, Some((_, output))) => output.push(line),
            (None, None) => panic!("output before any command: {line}"),
        }
    }
    commands
}

/// Whether `lines` are what `expected` says, where `…` stands for any lines.
fn matches(expected: &[&str], lines: &[&str]) -> bool {
    match expected.split_first() {
        None => lines.is_empty(),
        Some((&"…", rest)) => (0..=lines.len()).any(|skipped| matches(rest, &lines[skipped..])),
        Some((first, rest)) => lines.first() == Some(first) && matches(rest, &lines[1..]),
    }
}

/// Words as a shell would split them: blanks, and single quotes around what belongs together.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in command.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().expect("there is always one").push(c),
        }
    }
    words
}

#[test]
fn every_command_of_the_readme_prints_what_stands_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = 0;
    for block in blocks(README) {
        if block.language == "yaml" {
            let name = block.before.split('`').nth(1).expect("a name in backticks before a YAML block");
            std::fs::write(folder.path().join(name), block.lines.join("\n")).unwrap();
        }
        if block.language != "console" {
            continue;
        }
        for (command, expected) in commands(&block) {
            let all = words(command);
            assert_eq!(all[0], "mha", "{command}");
            let output = run::mha(folder.path()).args(&all[1..]).output().unwrap();
            let is_refused = expected.iter().any(|line| line.starts_with("error:"));
            assert_eq!(output.status.code() == Some(2), is_refused, "$ {command}\n{output:?}");
            let shown = if output.stderr.is_empty() { output.stdout } else { output.stderr };
            let text = String::from_utf8(shown).unwrap();
            let lines: Vec<&str> = text.lines().collect();
            assert!(
                matches(&expected, &lines),
                "$ {command}\n--- the README says\n{}\n--- it prints\n{text}",
                expected.join("\n")
            );
            run += 1;
        }
    }
    assert!(run >= 10, "only {run} commands were found");
}

/// What stands between backticks in `CONTRIBUTING.md` and begins like a path is one.
#[test]
fn every_file_that_contributors_are_sent_to_is_there() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    let rooms = ["src/", "tests/", "lessons/", "snapshots/", ".ci/", ".cargo/"];
    let mut found = 0;
    for path in
        page.split('`').skip(1).step_by(2).filter(|word| rooms.iter().any(|room| word.starts_with(room)))
    {
        if !path.contains(['*', ' ']) && !path.contains("NAME") {
            assert!(root.join(path).exists(), "{path}");
            found += 1;
        }
    }
    assert!(found >= 20, "only {found} paths were found");
}

#[test]
fn the_shell_commands_of_the_readme_are_known_ones() {
    // Cargo's own commands cannot run inside its tests, nor what installs; `.ci/run` runs them.
    let known = [
        "cargo install --path .",
        "cargo run --release -- trace",
        "cargo test",
        "pip install .",
        "uvx --from . mha trace",
        "source <(mha completions bash)",
        "mha man --all --output ~/.local/share/man/man1",
    ];
    let benches = ["cargo bench", "python benches/", "hyperfine"];
    for block in blocks(README).iter().filter(|block| block.language == "sh") {
        for line in &block.lines {
            assert!(known.contains(line) || benches.iter().any(|start| line.starts_with(start)), "{line}");
        }
    }
}
