//! `mha check` on learners' tensors whose mistakes are labelled: `tests/reference/check/README.md` says what they are.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

#[path = "common/case.rs"]
#[expect(dead_code, reason = "only its JSON reader is needed here")]
mod case;
#[path = "common/problems.rs"]
mod problems;
#[path = "common/run.rs"]
#[expect(dead_code, reason = "no shell is needed here")]
mod run;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use mha::answers::{self, ORDER};
use mha::lesson::{self, Options};
use mha::mistakes::diagnose::{Diagnosis, diagnose};
use mha::plan::attention;
use serde_json::Value;

/// The names of one mistake, or of two made together, in the order of the alphabet.
type Names = Vec<String>;

/// One learner's tensors, what is known about them, and what they were told.
struct Attempt {
    id: String,
    problem: String,
    /// Precision, variant and tensors, for a report.
    about: String,
    wanted: Finding,
    /// Whether anything known gives these tensors.
    nameable: bool,
    told: Finding,
}

/// What is wrong with someone's tensors.
struct Finding {
    /// The first wrong step among those given; none where all are right.
    first_wrong: Option<String>,
    /// What gives these tensors: several entries are alternatives.
    names: Vec<Names>,
}

static ATTEMPTS: LazyLock<Vec<Attempt>> = LazyLock::new(|| {
    let cases = case::read_json(&problems::folder().join("cases.json"));
    let labels = case::read_json(&problems::folder().join("labels.json"));
    let label = |id: &Value| labels.as_array().unwrap().iter().find(|label| label["id"] == *id).unwrap();
    cases.as_array().unwrap().iter().map(|case| attempt(case, label(&case["id"]))).collect()
});

fn attempt(case: &Value, label: &Value) -> Attempt {
    let problem = case["problem"].as_str().unwrap();
    Attempt {
        id: case["id"].as_str().unwrap().to_owned(),
        problem: problem.to_owned(),
        about: format!(
            "{} {} {} of {}",
            label["format"], label["precision"], label["variant"], label["given"]
        ),
        wanted: labelled(label),
        nameable: label["nameable"] == true,
        told: told(&checked(problem, &files(case))),
    }
}

fn files(case: &Value) -> Vec<PathBuf> {
    let names = case["files"].as_array().unwrap().iter();
    names.map(|file| problems::folder().join("cases").join(file.as_str().unwrap())).collect()
}

fn checked(problem: &str, files: &[PathBuf]) -> Diagnosis {
    let folder = problems::folder().join("problems").join(problem);
    let lesson = lesson::parse(&problems::lesson(&folder), problem, &folder, &Options::default());
    let call = lesson.unwrap_or_else(|faults| panic!("{problem}: {faults}")).call();
    let answers = answers::read(files, &[], ORDER).unwrap_or_else(|faults| panic!("{faults}"));
    diagnose(&call, &attention::plan(&call).unwrap(), &answers)
}

/// The label's own mistakes first, then others that give the same tensors.
fn labelled(label: &Value) -> Finding {
    let wrong = label["verdict"] == "wrong";
    let kinds = std::iter::once(&label["kinds"]).filter(|_| wrong && label["nameable"] == true);
    let also = label["also"].as_array().unwrap();
    Finding {
        first_wrong: wrong.then(|| label["first_wrong_given"].as_str().unwrap().to_owned()),
        names: kinds.chain(also).map(names).collect(),
    }
}

fn names(value: &Value) -> Names {
    match value {
        Value::String(one) => vec![one.clone()],
        several => sorted(several.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned())),
    }
}

fn sorted(names: impl Iterator<Item = String>) -> Names {
    let mut names: Names = names.collect();
    names.sort();
    names
}

fn told(diagnosis: &Diagnosis) -> Finding {
    let explanations = diagnosis.explanations.iter();
    Finding {
        first_wrong: diagnosis.first_wrong.map(|at| diagnosis.steps[at].name.to_string()),
        names: explanations.map(|one| sorted(one.names().into_iter().map(str::to_owned))).collect(),
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.first_wrong {
            None => write!(f, "all right"),
            Some(step) => write!(f, "wrong from {step} on: {}", self.kind()),
        }
    }
}

impl Finding {
    /// Its alternatives in one line.
    fn kind(&self) -> String {
        let alternatives: Vec<String> = self.names.iter().map(|names| names.join(" + ")).collect();
        if alternatives.is_empty() { "no name".to_owned() } else { alternatives.join(" | ") }
    }
}

/// Fails if any of these attempts is not as it should be: what was wanted of each, what it was told, and how often
/// which kind was told what.
#[track_caller]
fn all_are(said: &str, attempts: impl Iterator<Item = &'static Attempt>, holds: impl Fn(&Attempt) -> bool) {
    let attempts: Vec<&Attempt> = attempts.collect();
    assert!(!attempts.is_empty(), "there is nothing to look at");
    let mut report = String::new();
    let mut confusion: BTreeMap<(String, String), usize> = BTreeMap::new();
    for attempt in &attempts {
        let Attempt { id, problem, about, wanted, told, .. } = attempt;
        if !holds(attempt) {
            *confusion.entry((wanted.kind(), told.kind())).or_default() += 1;
            writeln!(report, "{id} {problem} {about}\n    wanted {wanted}\n    told   {told}").unwrap();
        }
    }
    for ((wanted, told), count) in &confusion {
        writeln!(report, "{count} × {wanted} → {told}").unwrap();
    }
    assert!(report.is_empty(), "not true of all {} attempts: {said}\n{report}", attempts.len());
}

fn wrong_ones() -> impl Iterator<Item = &'static Attempt> {
    ATTEMPTS.iter().filter(|attempt| attempt.wanted.first_wrong.is_some())
}

#[test]
fn no_right_attempt_is_accused() {
    let right_ones = ATTEMPTS.iter().filter(|attempt| attempt.wanted.first_wrong.is_none());
    all_are("right is called right, and nothing is named", right_ones, |attempt| {
        attempt.told.first_wrong.is_none() && attempt.told.names.is_empty()
    });
}

#[test]
fn no_wrong_attempt_is_passed() {
    all_are("wrong is called wrong", wrong_ones(), |attempt| attempt.told.first_wrong.is_some());
}

#[test]
fn the_first_wrong_step_is_found() {
    all_are("the first wrong step is the labelled one", wrong_ones(), |attempt| {
        attempt.told.first_wrong == attempt.wanted.first_wrong
    });
}

/// The label, or others that are labelled to give the same tensors; nothing else beside them.
#[test]
fn mistakes_are_called_by_their_names() {
    let nameable = wrong_ones().filter(|attempt| attempt.nameable);
    all_are("only what is labelled is named", nameable, |attempt| {
        let told = &attempt.told.names;
        !told.is_empty() && told.iter().all(|names| attempt.wanted.names.contains(names))
    });
}

#[test]
fn what_has_no_name_is_given_none() {
    let nameless = wrong_ones().filter(|attempt| !attempt.nameable);
    all_are("no name is made up", nameless, |attempt| attempt.told.names.is_empty());
}

/// One attempt of each format, right and wrong ones, as a person hands them over.
const BY_HAND: [(&str, &str); 7] = [
    ("c001.npz", "causal-peeks-one"),
    ("c003.safetensors", "merge-no-transpose"),
    ("c006.json", "causal-strict"),
    ("c007.npy", "masked-row-nan"),
    ("c029.output.csv", "mask-inverted"),
    ("c134.json", ""),
    ("c154.npy", ""),
];

/// Runs `mha check LESSON FILE`, with the attempt's problem as a lesson file beside its tensors.
fn check(file: &str, format: &str) -> (&'static Attempt, run::Run) {
    let attempt = ATTEMPTS.iter().find(|attempt| file.starts_with(&attempt.id)).unwrap();
    let problem = problems::folder().join("problems").join(&attempt.problem);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("lesson.yaml"), problems::lesson(&problem)).unwrap();
    fs::copy(problem.join("tensors.npz"), folder.path().join("tensors.npz")).unwrap();
    fs::copy(problems::folder().join("cases").join(file), folder.path().join(file)).unwrap();
    (attempt, run::run(folder.path(), &["check", "lesson.yaml", file, "--format", format]))
}

#[test]
fn the_exit_status_and_the_json_say_what_was_found() {
    for (file, mistake) in BY_HAND {
        let (attempt, run) = check(file, "json");
        assert_eq!(run.status, Some(if mistake.is_empty() { 0 } else { 1 }), "{file}: {}", run.err);
        let report: Value = serde_json::from_str(&run.out).unwrap();
        assert_eq!(report["verdict"], if mistake.is_empty() { "right" } else { "wrong" }, "{file}");
        let explanations = report["explanations"].as_array().unwrap();
        assert!(
            mistake.is_empty() || explanations.contains(&vec![mistake].into()),
            "{file}: {explanations:?}"
        );
        assert_eq!(report["first_wrong"]["step"].as_str(), attempt.wanted.first_wrong.as_deref(), "{file}");
    }
}

/// The lesson of two heads has no mask, no positions and no norm: eleven steps. One of them was given.
#[test]
fn the_json_lists_the_steps_that_were_not_given() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine.json"), r#"{"v": [[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]]}"#)
        .unwrap();
    let run = run::run(folder.path(), &["check", "two-heads", "mine.json", "--format", "json"]);
    let report: Value = serde_json::from_str(&run.out).unwrap();
    let steps: Vec<(&str, &str)> = report["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| (step["step"].as_str().unwrap(), step["status"].as_str().unwrap()))
        .collect();
    let names = "q k v q_heads k_heads v_heads scores weights heads concat output".split(' ');
    let expected: Vec<_> = names.map(|name| (name, if name == "v" { "right" } else { "missing" })).collect();
    assert_eq!(steps, expected);
}

/// On a narrow page the command goes on in a second line; a shell reads the two as one.
#[test]
fn the_commands_of_a_report_show_what_they_promise() {
    let folder = tempfile::tempdir().unwrap();
    // x is q, k and v. Head 1 sees [1, 0], [0, 1], [1, 1]; cut without a transpose it would see [1, 0], [1, 0], [0, 1].
    let halves = "{\"q_heads\": [[[1, 0], [1, 0], [0, 1]], [[0, 1], [1, 1], [0, 0]]]}";
    fs::write(folder.path().join("mine.json"), halves).unwrap();
    let run = run::run(folder.path(), &["check", "two-heads", "mine.json", "--width", "50"]);
    let pasted = run.out.split("side by side:\n").nth(1).unwrap_or_else(|| panic!("{}", run.out));
    let command: Vec<&str> = pasted.lines().take_while(|line| line.starts_with("  ")).collect();
    let words = shlex::split(&command.join("\n").replace("\\\n", "")).unwrap();
    assert_eq!(words[..2], ["mha", "trace"]);
    let words: Vec<&str> = words[1..].iter().map(String::as_str).collect();
    let shown = run::run(folder.path(), &words);
    assert_eq!(shown.status, Some(0), "{}", shown.err);
    assert!(shown.out.contains("wrong on purpose: split-reshape-no-transpose"), "{}", shown.out);
}

#[test]
fn tensors_in_place_of_the_lesson_are_sent_to_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let run = run::run(folder.path(), &["check", "mine.npz", "two-heads"]);
    assert_eq!(run.status, Some(2));
    assert!(run.err.contains("mha check two-heads mine.npz"), "{}", run.err);
}

#[test]
fn the_report_names_the_step_and_the_mistake() {
    for (file, mistake) in BY_HAND {
        let (attempt, run) = check(file, "table");
        assert_eq!(run.status, Some(if mistake.is_empty() { 0 } else { 1 }), "{file}: {}", run.err);
        let said = match &attempt.wanted.first_wrong {
            None => "Right: ".to_owned(),
            Some(step) => format!("First wrong step: {step}"),
        };
        assert!(run.out.contains(&said), "{file} does not say {said}:\n{}", run.out);
        assert!(run.out.contains(mistake), "{file} does not say {mistake}:\n{}", run.out);
    }
}

/// Head 2 of two-heads reads columns 3 and 4 of x: q = k = (1, 0), (0, 1), (0, 0). Its scaled scores are 1/√2 = 0.7071 on the
/// diagonal of the first two rows and 0 elsewhere; e^0.7071 = 2.0281, so a weight is 2.0281/4.0281 = 0.5035 or 1/4.0281 =
/// 0.2483, and 1/3 in the last row.
#[test]
fn the_right_numbers_of_one_head_are_told_from_a_mistake() {
    let folder = tempfile::tempdir().unwrap();
    let rows = "[[0.5035, 0.2483, 0.2483], [0.2483, 0.5035, 0.2483], [0.3333, 0.3333, 0.3333]]";
    std::fs::write(folder.path().join("mine.yaml"), format!("weights: {rows}\n")).unwrap();
    let run = run::run(folder.path(), &["check", "two-heads", "mine.yaml", "--width", "200"]);
    assert_eq!(run.status, Some(1));
    assert!(
        run.out.contains("These are the right numbers of head 2 alone: weights holds all heads"),
        "{}",
        run.out
    );
    let off = rows.replace("0.5035", "0.5135");
    std::fs::write(folder.path().join("mine.yaml"), format!("weights: {off}\n")).unwrap();
    let run = run::run(folder.path(), &["check", "two-heads", "mine.yaml", "--width", "200"]);
    assert!(!run.out.contains("alone"), "{}", run.out);
}

/// Two sequences of one token, one of two heads: what is missing is a sequence, and no head's numbers are told.
#[test]
fn a_sequence_alone_is_not_taken_for_a_head() {
    let folder = tempfile::tempdir().unwrap();
    let projections = "{w_q: identity, w_k: identity, w_v: identity, w_o: identity}";
    let lesson = format!(
        "attention: {{num_heads: 2}}\ninputs: {{x: [[[1, 2]], [[3, 4]]]}}\nprojections: {projections}\n"
    );
    std::fs::write(folder.path().join("two.yaml"), lesson).unwrap();
    for mine in ["q: [[3, 4]]\n", "q_heads: [[3]]\n"] {
        std::fs::write(folder.path().join("mine.yaml"), mine).unwrap();
        let run = run::run(folder.path(), &["check", "two.yaml", "mine.yaml", "--width", "200"]);
        assert_eq!(run.status, Some(1), "{}", run.err);
        assert!(run.out.contains("and it should be 2 × ") && !run.out.contains("alone"), "{}", run.out);
    }
}

/// In two-heads the scores of every head are symmetric, so that a softmax down the columns gives the transpose of the
/// right weights. Whoever made that mistake has not also summed the values over queries, which would need the weights
/// to be right in another layout.
#[test]
fn an_explanation_takes_tensors_as_they_stand() {
    let folder = tempfile::tempdir().unwrap();
    let said = |args: &[&str]| run::mha(folder.path()).args(args).output().unwrap();
    said(&["trace", "two-heads", "--mistake", "softmax-over-queries", "--format", "npz", "-o", "mine.npz"]);
    let told = said(&["check", "two-heads", "mine.npz", "--format", "json"]);
    let told: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!(told["explanations"], serde_json::json!([["softmax-over-queries"]]));
}

/// The right weights of two-heads, the worked example's own numbers, with rows and columns exchanged: right for who
/// keeps tokens in columns, and also what a softmax down the columns gives there. Both are said, and nobody is accused.
#[test]
fn what_is_right_only_in_another_layout_is_told_with_the_mistake_that_gives_it_as_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let turned = "weights:
  - [[0.4011, 0.1978, 0.2483], [0.1978, 0.4011, 0.2483], [0.4011, 0.4011, 0.5035]]
  - [[0.5035, 0.2483, 0.3333], [0.2483, 0.5035, 0.3333], [0.2483, 0.2483, 0.3333]]\n";
    std::fs::write(folder.path().join("mine.yaml"), turned).unwrap();
    let told = run::mha(folder.path()).args(["check", "two-heads", "mine.yaml"]).output().unwrap();
    let text = String::from_utf8(told.stdout).unwrap();
    assert_eq!(told.status.code(), Some(0), "{text}");
    assert!(text.contains("rows and columns are swapped"), "{text}");
    assert!(text.contains("softmax-over-queries"), "{text}");
}

#[test]
fn tensors_of_another_lesson_are_taken_for_that() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mine.json"), r#"{"weights": [[[1, 0], [0, 1]]]}"#).unwrap();
    let told =
        run::mha(folder.path()).args(["check", "two-heads", "mine.json", "--width", "200"]).output().unwrap();
    let text = String::from_utf8(told.stdout).unwrap();
    assert_eq!(told.status.code(), Some(1), "{text}");
    assert!(text.contains("see whether they belong to another one"), "{text}");
}
