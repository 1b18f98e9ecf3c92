//! What shells are offered: the program is asked as their scripts ask it, and real shells are, where there are some.

#![expect(clippy::unwrap_used, reason = "a test that cannot run its program has failed")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[path = "common/run.rs"]
#[expect(dead_code, reason = "no shell is needed that runs mha as its $0")]
mod run;

use serde_json::Value;

/// What is offered for the last of these words in a folder, as fish asks: a candidate a line, what it is behind a tab.
fn offered_in(folder: &Path, words: &[&str]) -> Vec<String> {
    let asked = run::ended(run::mha(folder).env("MHA_COMPLETE", "fish").args(["--", "mha"]).args(words));
    assert_eq!((asked.status, asked.err.as_str()), (Some(0), ""), "{words:?}");
    asked.out.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

fn offered(words: &[&str]) -> BTreeSet<String> {
    // A folder without files: only names are offered.
    offered_in(tempfile::tempdir().unwrap().path(), words).into_iter().collect()
}

fn set<T: Into<String>>(names: impl IntoIterator<Item = T>) -> BTreeSet<String> {
    names.into_iter().map(Into::into).collect()
}

/// The texts under a key of a list that the program itself prints as JSON.
fn listed(words: &[&str], list: &str, key: &str) -> BTreeSet<String> {
    let printed = run::run(Path::new("."), &[words, &["--format", "json"]].concat());
    let printed: Value = serde_json::from_str(&printed.out).unwrap();
    printed[list].as_array().unwrap().iter().map(|one| one[key].as_str().unwrap().to_owned()).collect()
}

fn lessons() -> BTreeSet<String> {
    let files = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("lessons")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.filter_map(|name| name.strip_suffix(".yaml").map(str::to_owned)).collect()
}

#[test]
fn every_lesson_is_offered_wherever_one_is_taken() {
    for verb in [&["trace"][..], &["compare"], &["ablate"], &["check"], &["worksheet"], &["lessons", "show"]]
    {
        assert_eq!(offered(&[verb, &[""]].concat()), lessons(), "{verb:?}");
    }
    let and_review: BTreeSet<String> = lessons().into_iter().chain(["review".to_owned()]).collect();
    assert_eq!(offered(&["learn", ""]), and_review);
    assert_eq!(offered(&["lessons", "validate", "two-heads", "two-"]), set(["two-heads", "two-sequences"]));
}

#[test]
fn files_stand_beside_the_names_and_folders_lead_to_them() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["mine.yaml", "mine.txt", "mine.npz", "my lesson.json"] {
        fs::write(folder.path().join(name), "").unwrap();
    }
    fs::create_dir(folder.path().join("more")).unwrap();
    let mut expected: BTreeSet<String> = lessons().into_iter().filter(|name| name.starts_with('m')).collect();
    expected.extend(set(["mine.yaml", "my lesson.json", "more/"]));
    assert_eq!(set(offered_in(folder.path(), &["trace", "m"])), expected);
    // Behind the lesson of a check stand files with tensors; a model stands for the lesson.
    assert_eq!(offered_in(folder.path(), &["check", "two-heads", "mine."]), ["mine.npz", "mine.yaml"]);
    assert_eq!(offered_in(folder.path(), &["check", "--model", "induction", "mine.n"]), ["mine.npz"]);
    assert_eq!(offered_in(folder.path(), &["trace", "--model", "mo"]), ["more/"]);
}

#[test]
fn steps_are_those_of_the_lesson_that_is_typed() {
    let of_rope = listed(&["trace", "rope"], "steps", "id");
    let rotated: BTreeSet<String> = of_rope.iter().filter(|id| id.starts_with("head.1.q")).cloned().collect();
    assert!(rotated.contains("head.1.q_rot"), "{rotated:?}");
    assert_eq!(offered(&["trace", "rope", "--steps", "head.1.q"]), rotated);
    assert_eq!(offered(&["trace", "--steps", "head.1.q"]), set(["head.1.q"]));
    // The second item of a list, and one behind `=`.
    let of_head_2 = listed(&["trace"], "steps", "id").into_iter().filter(|id| id.starts_with("head.2."));
    let behind: BTreeSet<String> = of_head_2.map(|id| format!("q,k,{id}")).collect();
    assert_eq!(behind.len(), 6, "q, k, v, scores, weights, output: {behind:?}");
    assert_eq!(offered(&["trace", "--steps", "q,k,head.2."]), behind);
    assert_eq!(offered(&["trace", "--steps=head.2.wei"]), set(["--steps=head.2.weights"]));
    // Scores of three tokens against three: the cells of row 3.
    let row = ["head.1.scores[3,1]", "head.1.scores[3,2]", "head.1.scores[3,3]"];
    assert_eq!(offered(&["trace", "--explain", "head.1.scores[3,"]), set(row));
}

#[test]
fn heads_layers_and_sequences_are_counted() {
    assert_eq!(offered(&["trace", "two-heads", "--heads", ""]), set(["1", "2"]));
    assert_eq!(offered(&["trace", "two-heads", "--heads", "1,"]), set(["1,1", "1,2"]));
    // The model induction has two layers of four heads (its own help says so).
    assert_eq!(offered(&["heads", "--model", "induction", "--layer", ""]), set(["1", "2"]));
    assert_eq!(offered(&["trace", "--model=induction", "--layer", ""]), set(["1", "2", "all"]));
    let in_part = offered(&["trace", "--model", "induction", "--layer", "all", "--steps", "layer."]);
    assert!(
        in_part.contains("layer.2.head.3.weights") || in_part == set(["layer.1.", "layer.2."]),
        "{in_part:?}"
    );
    let heads = (1..=4).map(|head| format!("layer.2.head.{head}"));
    assert_eq!(offered(&["ablate", "--model", "induction", "--heads", "layer.2."]), set(heads));
    assert_eq!(offered(&["trace", "two-sequences", "--sequence", ""]), set(["1", "2", "all"]));
}

#[test]
fn models_mistakes_and_variants_go_by_their_names() {
    let presets = listed(&["params", "--list", "llama"], "presets", "name");
    let begun: BTreeSet<String> = presets.into_iter().filter(|name| name.starts_with("llama-2")).collect();
    assert!(begun.contains("llama-2-7b"), "{begun:?}");
    assert_eq!(offered(&["params", "llama-2"]), begun);
    let mistakes = listed(&["mistakes"], "mistakes", "name");
    assert_eq!(offered(&["mistakes", ""]), mistakes);
    assert_eq!(offered(&["trace", "--mistake", ""]), mistakes);
    assert_eq!(offered(&["trace", "--model", "in"]), set(["induction"]));
    assert_eq!(offered(&["compare", "--variants", "multi-head,mq"]), set(["multi-head,mqa"]));
    // Four heads can share keys by twos; of two heads, sharing is mqa, and not sharing multi-head.
    let of_gqa: BTreeSet<String> = mistakes.into_iter().filter(|name| name.starts_with("gqa")).collect();
    assert_eq!(offered(&["compare", "two-heads", "--variants", "gqa"]), of_gqa);
    let of_four = of_gqa.into_iter().chain(["gqa:2".to_owned()]).collect();
    assert_eq!(offered(&["compare", "head-count", "--variants", "gqa"]), of_four);
    let classes = offered(&["params", "gpt2", "--class", "c"]);
    assert!(classes.contains("causal-lm"), "{classes:?}");
    assert_eq!(
        offered(&["params", "gpt2", "--explain", "kv-cache"]),
        set(["kv-cache", "kv-cache-per-token"])
    );
}

#[test]
fn flags_are_offered_once_one_is_begun() {
    assert_eq!(offered(&["trace", "--m"]), set(["--mistake", "--model"]));
    assert!(offered(&["trace", ""]).iter().all(|word| !word.starts_with('-')));
    assert!(offered(&["lessons", "schema", ""]).contains("--output"), "where nothing else can stand");
    assert_eq!(offered(&["trace", "--format", "ht"]), set(["html"]));
    assert_eq!(offered(&["man", "lessons", "va"]), set(["validate"]));
    assert_eq!(offered(&["help", "mas"]), set(["masks"]));
    assert_eq!(offered(&["help", "lessons", "va"]), set(["validate"]));
    let verbs = offered(&[""]);
    assert!(verbs.contains("completions") && verbs.contains("man") && verbs.contains("trace"), "{verbs:?}");
}

#[test]
fn what_is_offered_is_told_in_the_language_of_the_locale() {
    let folder = tempfile::tempdir().unwrap();
    let mut asked = run::mha(folder.path());
    asked.env("MHA_COMPLETE", "fish").env("LANG", "zh_CN.UTF-8").args(["--", "mha", "trace", "two-h"]);
    // As lessons/two-heads.yaml calls it.
    assert_eq!(run::ended(&mut asked).out, "two-heads\t两个头，同一个输入\n");
}

#[test]
fn a_lesson_that_cannot_be_read_offers_nothing_and_says_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("bad.yaml"), "mha: [").unwrap();
    assert_eq!(offered_in(folder.path(), &["trace", "bad.yaml", "--steps", ""]), Vec::<String>::new());
    assert_eq!(offered_in(folder.path(), &["trace", "--model", "bad.yaml", "--layer", ""]), ["all"]);
}

/// A shell waits for its answer: what waits for somebody else is not opened.
#[cfg(unix)]
#[test]
fn pipes_are_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["pipe.yaml", "pipe.gguf", "pipe.json"] {
        let made = std::process::Command::new("mkfifo").arg(folder.path().join(name)).status().unwrap();
        assert!(made.success());
    }
    let shown = offered_in(folder.path(), &["trace", "--steps", "head.1.w"]);
    assert_eq!(offered_in(folder.path(), &["trace", "pipe.yaml", "--steps", "head.1.w"]), shown);
    assert_eq!(
        offered_in(folder.path(), &["trace", "--model", "pipe.gguf", "--steps", ""]),
        Vec::<String>::new()
    );
    assert_eq!(offered_in(folder.path(), &["params", "pipe.json", "--explain", ""]), ["all"]);
}

#[test]
fn a_shell_without_a_script_is_refused() {
    let asked = run::ended(run::mha(Path::new(".")).env("MHA_COMPLETE", "csh").args(["--", "mha", ""]));
    assert_eq!(asked.status, Some(2));
    assert!(asked.err.contains("csh") && asked.err.contains("`zsh`"), "{}", asked.err);
    assert_eq!(run::run(Path::new("."), &["completions", "csh"]).status, Some(2));
}

#[test]
fn every_script_asks_the_program_on_the_path() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = run::run(Path::new("."), &["completions", shell]);
        assert_eq!(script.status, Some(0), "{}", script.err);
        let names_the_shell = script.out.contains("MHA_COMPLETE") && script.out.contains(shell);
        assert!(names_the_shell && script.out.replace('"', "").contains("mha -- "), "{}", script.out);
        assert!(!script.out.contains("target"), "no path of this machine: {}", script.out);
    }
}

/// Runs a script in a shell that finds `mha`; nothing where there is no such shell.
#[cfg(unix)]
fn shell(program: &str, script: &str) -> Option<String> {
    let mha = Path::new(env!("CARGO_BIN_EXE_mha")).parent().unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("my lesson.yaml"), "").unwrap();
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let paths =
        std::env::join_paths([mha.to_owned()].into_iter().chain(std::env::split_paths(&paths))).unwrap();
    let mut shell = std::process::Command::new(program);
    let shell = shell.args(["-c", script]).env("PATH", paths).env("LC_ALL", "C").current_dir(folder.path());
    let output = shell.output().ok()?;
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

/// bash breaks words at `=` and `:` before its function sees them (COMP_WORDBREAKS, bash(1)).
#[cfg(unix)]
#[test]
fn bash_completes() {
    let asks = |words: &str, begun: &str| {
        let script = format!(
            "source <(mha completions bash); COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMP_TYPE=9\n\
             _clap_complete_mha mha '{begun}' x 2>/dev/null; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        shell("bash", &script)
    };
    let Some(lesson) = asks("mha trace rop", "rop") else { return };
    assert_eq!(lesson, "rope\n");
    assert_eq!(asks("mha trace --format = js", "js").unwrap(), "json\n");
    assert_eq!(asks("mha trace --steps q,head.2.w", "q,head.2.w").unwrap(), "q,head.2.weights\n");
    assert_eq!(asks("mha compare head-count --variants = mqa,gqa : 2", "2").unwrap(), "2\n");
    assert_eq!(asks("mha compare head-count --variants mqa,gqa :", "").unwrap(), "2\n");
    assert_eq!(asks("mha trace --format =", "").unwrap().lines().next(), Some("table"));
    assert_eq!(asks("mha trace my", "my").unwrap(), "myths\nmy\\ lesson.yaml\n");
}

#[cfg(unix)]
#[test]
fn fish_completes() {
    let script = "mha completions fish | source; complete -C 'mha trace --steps q,head.2.w'";
    assert_eq!(shell("fish", script).unwrap_or("q,head.2.weights\n".to_owned()), "q,head.2.weights\n");
}

/// A line break in a file's name would end the command that bash puts it into, and begin another.
#[test]
fn a_file_name_that_would_be_a_command_is_not_offered() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["zz\nid\n.yaml", "zz\u{1b}[2J.yaml", "zz\u{202e}.yaml", "zz.yaml"] {
        fs::write(folder.path().join(name), "").unwrap();
    }
    for words in [&["trace", "zz"][..], &["check", "two-heads", "zz"], &["trace", "--output", "zz"]] {
        let mut command = run::mha(folder.path());
        let at = words.len().to_string();
        command.env("MHA_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", &at).args(["--", "mha"]).args(words);
        assert_eq!(run::ended(&mut command).out, "zz.yaml", "{words:?}");
    }
    assert_eq!(offered_in(folder.path(), &["trace", "zz"]), ["zz.yaml"], "fish");
}
