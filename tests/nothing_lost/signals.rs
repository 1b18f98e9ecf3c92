//! Signals while a page is written.
#![cfg(target_os = "linux")] // whose `env` sets signals back to what they were before the tests were started

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::contents;

/// Its weights alone are 4 · 200 · 200 numbers: long enough to be caught in the act.
const LARGE: &str = "attention: {num_heads: 4}\ninputs: {x: {random: {seed: 1, shape: [200, 8]}}}\n\
                     projections: {w_q: identity, w_k: identity, w_v: identity, w_o: identity}\n";

fn room() -> tempfile::TempDir {
    let room = tempfile::tempdir().unwrap();
    fs::write(room.path().join("large.yaml"), LARGE).unwrap();
    room
}

/// `mha`, started so as to heed all signals but those that are ignored, and now in the midst of its page.
fn writing(folder: &Path, ignored: &str) -> Child {
    let mut child = Command::new("env")
        .args(["--default-signal", ignored, env!("CARGO_BIN_EXE_mha")])
        .args(["trace", "large.yaml", "--format", "json", "--output", "page.json"])
        .current_dir(folder)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !contents(folder).iter().any(|(name, written)| name.starts_with(".mha-") && !written.is_empty()) {
        assert!(child.try_wait().unwrap().is_none(), "it has ended before it could be interrupted");
        assert!(start.elapsed() < Duration::from_secs(20), "nothing is written");
        sleep(Duration::from_millis(5));
    }
    child
}

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn whoever_interrupts_a_page_finds_nothing_of_it() {
    for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        let room = room();
        let mut child = writing(room.path(), "--ignore-signal=USR1");
        send(signal, &child);
        // It ends as the signal ends a process, so that a script that is interrupted ends too.
        assert_eq!(child.wait().unwrap().signal(), Some(number), "{signal}");
        let left: Vec<String> = contents(room.path()).into_keys().collect();
        assert_eq!(left, ["large.yaml"], "{signal}");
    }
}

#[test]
fn what_nobody_can_clear_away_is_in_nobodys_way() {
    let room = room();
    let mut child = writing(room.path(), "--ignore-signal=USR1");
    send("KILL", &child);
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    assert!(!room.path().join("page.json").exists(), "half a page under its name");
    let again = super::run::run(room.path(), &["trace", "large.yaml", "--summary", "--output", "page.json"]);
    assert_eq!(again.status, Some(0), "{}", again.err);
}

#[test]
fn a_page_begun_under_nohup_outlives_its_terminal() {
    let room = room();
    let mut child = writing(room.path(), "--ignore-signal=HUP");
    send("HUP", &child);
    assert!(child.wait().unwrap().success());
    let page: serde_json::Value =
        serde_json::from_slice(&fs::read(room.path().join("page.json")).unwrap()).unwrap();
    assert_eq!(page["mha"], 1);
}
