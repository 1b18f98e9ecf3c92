//! `mha check` on learners' tensors whose mistakes are labelled.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

#[path = "common/case.rs"]
#[expect(dead_code, reason = "only its JSON reader is needed here")]
mod case;
#[path = "common/problems.rs"]
mod problems;

use std::path::PathBuf;

use mha::answers::{self, ORDER};
use mha::lesson::{self, Options};
use mha::mistakes::diagnose::{Diagnosis, diagnose};
use mha::plan::attention;
use serde_json::Value;

fn checked(problem: &str, files: &[PathBuf]) -> Diagnosis {
    let folder = problems::folder().join("problems").join(problem);
    let text = problems::lesson(&folder);
    let lesson = lesson::parse(&text, problem, &folder, &Options::default())
        .unwrap_or_else(|e| panic!("{problem}: {e}"));
    let call = lesson.call();
    let plan = attention::plan(&call).unwrap();
    let answers = answers::read(files, &[], ORDER).unwrap_or_else(|e| panic!("{e}"));
    diagnose(&call, &plan, &answers)
}

#[test]
fn every_labelled_attempt_is_told_rightly() {
    let folder = problems::folder();
    let cases = case::read_json(&folder.join("cases.json"));
    let labels = case::read_json(&folder.join("labels.json"));
    let mut failures = Vec::new();
    for case in cases.as_array().unwrap() {
        let id = case["id"].as_str().unwrap();
        let files: Vec<PathBuf> = case["files"]
            .as_array()
            .unwrap()
            .iter()
            .map(|file| folder.join("cases").join(file.as_str().unwrap()))
            .collect();
        let label = labels.as_array().unwrap().iter().find(|label| label["id"] == id).unwrap();
        let told = checked(case["problem"].as_str().unwrap(), &files);
        let verdict = if told.first_wrong.is_none() { "correct" } else { "wrong" };
        let first = told.first_wrong.map(|at| told.steps[at].name.to_string());
        let mut names: Vec<Vec<&str>> = told.explanations.iter().map(|e| e.names()).collect();
        for names in &mut names {
            names.sort_unstable();
        }
        let sorted = |value: &Value| -> Vec<String> {
            let mut all: Vec<String> = match value {
                Value::Array(all) => all.iter().map(|v| v.as_str().unwrap().to_owned()).collect(),
                other => vec![other.as_str().unwrap().to_owned()],
            };
            all.sort();
            all
        };
        let mut rights: Vec<Vec<String>> = vec![sorted(&label["kinds"])];
        rights.extend(label["also"].as_array().unwrap().iter().map(sorted));
        let named = label["nameable"] == true && verdict == "wrong";
        let ok_names = if named {
            names.iter().any(|n| rights.iter().any(|r| r == n)) && names.len() <= rights.len()
        } else {
            names.is_empty()
        };
        if verdict != label["verdict"]
            || (verdict == "wrong" && first.as_deref() != label["first_wrong_given"].as_str())
            || !ok_names
        {
            failures.push(format!("{id} {} {} {} given {} nameable {}: want {} {} {:?}; got {verdict} {first:?} {names:?} partly {:?} worst {:?}\n   {:?}", case["problem"], label["precision"], label["variant"], label["given"], label["nameable"], label["verdict"], label["first_wrong_given"], rights,
              told.partly.as_ref().map(|p| p.explanations.iter().map(|e| e.names()).collect::<Vec<_>>()),
              told.explanations.iter().map(|e| e.worst).collect::<Vec<_>>(), told.steps.iter().map(|s| format!("{} {:?} {:?} {:?}", s.name, s.status, s.grain, s.measured.map(|m| m.largest / s.tolerance))).collect::<Vec<_>>()));
        }
    }
    assert!(failures.is_empty(), "{} of 169:\n{}", failures.len(), failures.join("\n"));
}
