//! What a person is told whose config, weights or flags make no model: exit status 2, nothing on standard output, the first
//! line, the place, a remedy; in a second of work at most, and in 256 MiB. Each row is a promise.

#![expect(clippy::unwrap_used, reason = "a test that cannot make its files has nothing to tell")]

#[path = "bad_configs/families.rs"]
mod families;
#[path = "bad_configs/files.rs"]
mod files;
#[path = "bad_configs/flags.rs"]
mod flags;
#[path = "bad_configs/headers.rs"]
mod headers;
#[path = "common/run.rs"]
mod run;
#[path = "bad_configs/sizes.rs"]
mod sizes;

use std::fs;
use std::path::Path;

use run::Run;

/// The name of the config in each row's folder.
const CONFIG: &str = "config.json";

/// A model that can be counted.
const LLAMA: &str = r#"{
  "model_type": "llama",
  "architectures": ["LlamaForCausalLM"],
  "hidden_size": 64,
  "intermediate_size": 128,
  "num_hidden_layers": 2,
  "num_attention_heads": 4,
  "num_key_value_heads": 2,
  "head_dim": 16,
  "vocab_size": 100
}
"#;

/// A config with one key changed or added: `"hidden_size": 0`.
fn with(config: &str, change: &str) -> String {
    let key = change.split(':').next().unwrap();
    let mut lines: Vec<String> = config.lines().map(str::to_owned).collect();
    match lines.iter_mut().find(|line| line.trim_start().starts_with(key)) {
        Some(line) => *line = format!("  {change}{}", if line.ends_with(',') { "," } else { "" }),
        None => lines.insert(1, format!("  {change},")),
    }
    lines.join("\n")
}

/// A config with one key left out; not its last.
fn without(config: &str, key: &str) -> String {
    config.lines().filter(|line| !line.contains(&format!("\"{key}\""))).collect::<Vec<_>>().join("\n")
}

/// Where a key stands, as faults say it: `config.json:4:3 (hidden_size)`; only the file's name for no key.
fn place(config: &str, path: &str) -> String {
    if path.is_empty() {
        return CONFIG.to_owned();
    }
    let mut at = 0;
    for key in path.split('.') {
        at += config[at..].find(&format!("\"{key}\":")).unwrap_or_else(|| panic!("no {path} in\n{config}"));
    }
    let before = &config[..at];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap().chars().count() + 1;
    format!("{CONFIG}:{line}:{column} ({path})")
}

/// `mha params ARGS` with a second of the processor's time and 256 MiB of memory, where the system can limit them.
fn limited(folder: &Path, args: &[&str]) -> Run {
    if cfg!(unix) {
        let limits = "ulimit -t 1 2>/dev/null; ulimit -v 262144 2>/dev/null";
        return run::ended(run::shell(&format!("{limits}; exec \"$0\" params \"$@\""), folder).args(args));
    }
    run::run(folder, &[&["params"], args].concat())
}

/// The request is refused with this first line at this place, and with a remedy.
#[track_caller]
fn refused(promise: &str, run: &Run, first: &str, place: &str) {
    let told = &run.err;
    assert_eq!(run.status, Some(2), "{promise}: out {:.300}, err\n{told}", run.out);
    assert_eq!(run.out, "", "{promise}: something on standard output");
    let obeyed = told.chars().find(|c| c.is_control() && *c != '\n');
    assert_eq!(obeyed, None, "{promise}: a control character in\n{}", told.escape_debug());
    let mut lines = told.lines();
    // a long first line is folded
    let folded: Vec<&str> = lines.by_ref().take_while(|line| !line.starts_with("  -->")).collect();
    let said = folded.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    assert_eq!(said, format!("error: {first}").trim_end(), "{promise}:\n{told}");
    assert!(told.contains(&format!("\n  --> {place}\n")), "{promise}: not at {place}:\n{told}");
    assert!(told.contains("\n  try: "), "{promise}: no remedy in\n{told}");
}

/// `mha params config.json` is refused; `key` is to blame, or the file as a whole.
#[track_caller]
fn config_refused(promise: &str, config: &str, first: &str, key: &str) {
    text_refused(promise, config, first, &place(config, key));
}

/// The same of a file that need not be a config, nor text.
#[track_caller]
fn text_refused(promise: &str, text: impl AsRef<[u8]>, first: &str, place: &str) {
    let room = tempfile::tempdir().unwrap();
    fs::write(room.path().join(CONFIG), text).unwrap();
    refused(promise, &limited(room.path(), &[CONFIG]), first, place);
}

/// The rows change one thing each: what they start from is counted.
#[test]
fn the_models_of_the_rows_can_be_counted() {
    for config in [LLAMA].into_iter().chain(families::ALL) {
        let room = tempfile::tempdir().unwrap();
        fs::write(room.path().join(CONFIG), config).unwrap();
        let run = limited(room.path(), &[CONFIG]);
        assert_eq!((run.status, run.err.as_str()), (Some(0), ""), "{config}");
    }
}
