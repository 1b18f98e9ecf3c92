//! LaTeX documents, compiled as a person would.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::run;

/// Compiles what `mha VERB ARGS --format latex` prints, and looks in TeX's log for lines that run off the page: 2 points are less than a
/// hair's breadth of the margin.
#[track_caller]
pub(crate) fn compiles(folder: &Path, verb: &str, args: &[&str]) {
    let args = [&[verb], args, &["--format", "latex"]].concat();
    let made = run::run(folder, &args);
    assert_eq!(made.status, Some(0), "mha {}: {}", args.join(" "), made.err);
    fs::write(folder.join("page.tex"), made.out).unwrap();
    let mut pdflatex = Command::new("pdflatex");
    pdflatex.args(["-halt-on-error", "-interaction=nonstopmode", "-no-shell-escape", "page.tex"]);
    let done = pdflatex.current_dir(folder).output().unwrap();
    let log = String::from_utf8_lossy(&fs::read(folder.join("page.log")).unwrap()).into_owned();
    let told: Vec<&str> =
        log.lines().filter(|line| line.starts_with('!') || line.starts_with("l.")).collect();
    assert!(done.status.success(), "mha {}: {told:?}", args.join(" "));
    for line in log.lines() {
        assert!(!line.contains("Missing character"), "mha {}: {line}", args.join(" "));
        if let Some((_, much)) = line.split_once("Overfull \\hbox (") {
            let points: f64 = much.split_once("pt").unwrap().0.parse().unwrap();
            assert!(points < 2.0, "mha {}: {line}", args.join(" "));
        }
    }
}
