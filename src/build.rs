//! Build facts for `mha --version`: what the compiler knows goes on to the crate as environment variables.
//!
//! A release says which commit it was made of. Other builds do not: they would be built anew after every commit.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Beside the commit's own files: whatever changes the program.
const SOURCES: [&str; 4] = ["src", "lessons", "Cargo.toml", "Cargo.lock"];

fn main() {
    println!("cargo::rerun-if-changed=src/build.rs");
    let of_cargo = |name: &str| env::var(name).unwrap_or_default();
    let compiler = run(&of_cargo("RUSTC"), &["--version"]).unwrap_or_default();
    let is_release = of_cargo("PROFILE") == "release";
    let commit = if is_release { packed().or_else(of_repository) } else { None };
    println!("cargo::rustc-env=MHA_COMPILER={compiler}");
    println!("cargo::rustc-env=MHA_TARGET={}", of_cargo("TARGET"));
    println!("cargo::rustc-env=MHA_PROFILE={}", of_cargo("PROFILE"));
    println!("cargo::rustc-env=MHA_COMMIT={}", commit.unwrap_or_default());
}

/// The commit of a packed crate, which `cargo package` writes down.
fn packed() -> Option<String> {
    let text = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = text.split_once("\"sha1\"")?;
    let hash = rest.split('"').nth(1).filter(|hash| is_hash(hash))?;
    Some(told(hash, None, text.contains("\"dirty\": true")))
}

/// The commit of the repository whose top folder this is: one further up is another project's.
fn of_repository() -> Option<String> {
    fs::metadata(".git").ok()?;
    let git = |words: &[&str]| run("git", words);
    let hash = git(&["rev-parse", "HEAD"]).filter(|hash| is_hash(hash))?;
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    // A file that is not there would count as changed at every call.
    for name in ["HEAD", "logs/HEAD", "packed-refs"].into_iter().chain(branch.as_deref()) {
        if let Some(path) = git(&["rev-parse", "--git-path", name]).filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    for name in SOURCES {
        println!("cargo::rerun-if-changed={name}");
    }
    let mut status = vec!["status", "--porcelain", "--"];
    status.extend(SOURCES);
    let changed = git(&status).is_none_or(|lines| !lines.is_empty());
    Some(told(&hash, git(&["log", "-1", "--format=%cs"]), changed))
}

fn told(hash: &str, day: Option<String>, changed: bool) -> String {
    let of = day.map(|day| format!(" of {day}")).unwrap_or_default();
    let and = if changed { ", with changes" } else { "" };
    format!("{}{of}{and}", &hash[..12])
}

fn is_hash(text: &str) -> bool {
    text.len() >= 40 && text.chars().all(|digit| digit.is_ascii_hexdigit())
}

/// What a program prints, where there is such a program and it has no complaint.
fn run(program: &str, words: &[&str]) -> Option<String> {
    let output = Command::new(program).args(words).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
