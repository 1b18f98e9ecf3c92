//! The schema of lesson files says what the reader says: lessons pass both, faults of form fail both, and both know the
//! same keys everywhere.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

#[path = "common/run.rs"]
#[expect(dead_code, reason = "no shell is needed here")]
mod run;

#[path = "schema/sections.rs"]
mod sections;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mha::lesson::{Options, builtin, parse, schema::SCHEMA};
use sections::SECTIONS;
use serde_json::{Map, Value, json};

fn schema() -> Value {
    serde_json::from_str(SCHEMA).unwrap()
}

/// A YAML text as an editor hands it to a validator: JSON, where an infinity is a number too large for any.
fn as_json(yaml: &str) -> Value {
    fn of(value: serde_yaml::Value) -> Value {
        match value {
            serde_yaml::Value::Number(number)
                if number.as_f64().is_some_and(|number| !number.is_finite()) =>
            {
                json!(f64::MAX)
            }
            serde_yaml::Value::Sequence(items) => items.into_iter().map(of).collect(),
            serde_yaml::Value::Mapping(entries) => {
                let entry = |(key, value): (serde_yaml::Value, serde_yaml::Value)| {
                    (key.as_str().unwrap().to_owned(), of(value))
                };
                Value::Object(entries.into_iter().map(entry).collect::<Map<_, _>>())
            }
            plain => serde_json::to_value(plain).unwrap(),
        }
    }
    of(serde_yaml::from_str(yaml).unwrap())
}

#[track_caller]
fn faults(yaml: &str) -> Vec<String> {
    let schema = schema();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    validator.iter_errors(&as_json(yaml)).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn the_schema_is_a_schema_and_the_command_prints_it() {
    jsonschema::draft202012::meta::validate(&schema()).unwrap();
    let printed = run::run(Path::new("."), &["lessons", "schema"]);
    assert_eq!((printed.status, printed.out.as_str(), printed.err.as_str()), (Some(0), SCHEMA, ""));
}

#[test]
fn every_lesson_that_comes_with_mha_passes() {
    for lesson in builtin::all() {
        assert_eq!(faults(lesson.text), [""; 0], "{}", lesson.name);
    }
}

/// `broken.yaml` of the README has a key that nobody knows; `mine.yaml` there holds a person's tensors and is no lesson;
/// every other example is right.
#[test]
fn the_examples_of_the_readme_pass_and_its_broken_one_does_not() {
    let readme = include_str!("../README.md");
    let mut lessons = 0;
    for (before, block) in readme.split("```yaml\n").zip(readme.split("```yaml\n").skip(1)) {
        let yaml = block.split("```").next().unwrap();
        let name = before.rsplit('`').nth(1).unwrap();
        let found = faults(yaml);
        let is_lesson = yaml.contains("attention:");
        assert_eq!(found.is_empty(), is_lesson && name != "broken.yaml", "{name}: {found:?}");
        lessons += usize::from(is_lesson);
    }
    assert!(lessons >= 2, "only {lessons} lessons were found");
}

/// Each is refused by the reader, and by the schema.
#[test]
fn faults_of_form_fail() {
    let sound = "attention: {num_heads: 2}\ninputs: {x: [[1, 0], [0, 1]]}\nprojections: {w_q: identity, w_k: identity, w_v: identity, w_o: none}\n";
    assert_eq!(faults(sound), [""; 0]);
    parse(sound, "sound", Path::new("."), &Options::default()).unwrap();
    for broken in [
        "inputs: {x: [[1, 0]]}",
        "attention: {num_heads: 2}",
        "attention: {num_heads: 0}\ninputs: {x: [[1, 0]]}",
        "attention: {num_heads: two}\ninputs: {x: [[1, 0]]}",
        "attention: {num_heads: 1, softcap: 0}\ninputs: {x: [[1, 0]]}",
        "attention: {num_heads: 1, mask: casual}\ninputs: {x: [[1, 0]]}",
        "attention: {num_heads: 1, mask: {window: 0}}\ninputs: {x: [[1, 0]]}",
        "attention: {num_heads: 1, positions: {rope: {layout: split}}}\ninputs: {x: [[1, 0]]}",
        "attention: {num_heads: 1, fully_masked_rows: maybe}\ninputs: {x: [[1, 0]]}",
        "attention: {num_heads: 1}\ninputs: {x: {random: {std: 1}}}",
        "attention: {num_heads: 1}\ninputs: {x: eye}",
        "attention: {num_heads: 1}\ninputs: {x: [[1, a]]}",
        "mha: 2\nattention: {num_heads: 1}\ninputs: {x: [[1, 0]]}",
        "title: {fr: un}\nattention: {num_heads: 1}\ninputs: {x: [[1, 0]]}",
        "attention: {num_heads: 1}\ninputs: {x: [[1, 0]]}\nstory: [{at: x}]",
        "attention: {num_heads: 1}\ninputs: {x: [[1, 0]]}\nclaims: [{step: x}]",
        "attention: {num_heads: 1}\ninputs: {x: [[1, 0]]}\nclaims: [{step: x, equals: 1, row: 0}]",
        "attention: {num_heads: 1}\ninputs: {x: [[1, 0]]}\nquiz: [{ask: a, choices: [b, c]}]",
        "attention: {num_heads: 1}\ninputs: {x: [[1, 0]]}\nquiz: [{ask: a, choices: [b], answer: 1}]",
        "attention: {num_heads: 1}\ninputs: {x: [[1, 0]]}\nquiz: [{ask: a, cell: 'x[1,1]', choices: [b, c], answer: 1}]",
        "attention: {num_heads: 1}\ninputs: {x: [[1, 0]]}\nquiz: [{ask: a, cell: 'x[1,1]', answer: 1}]",
        "attention: {num_heads: 1}\ninputs: {x: [[1, 0]]}\nprojections: {in_proj: {file: w.npy}}",
        "attention: {num_heads: 1, mask: {causal: top-left, window: 3}}\ninputs: {x: [[1, 0]]}",
        "attention: {num_heads: 1}\ninputs: {x: [[1, 0]]}\ntopics: [17]",
        "attention: {num_heads: 1}\ninputs: {x: [[1, 0]]}\nlayers: {norm: before}",
        "attention: {num_heads: 1}\ninputs: {x: [[1, 0]]}\nruns: {one: {}}",
        "attention: {num_heads: 1}\ninputs: {x: [[1, 0]]}\nruns: {one: {change: {title: a}}}",
        "attention: {num_heads: 1}\ninputs: {x: [[1, 0]]}\nruns: {one: {swap_keys: {head: head.1, keys: [1]}}}",
        "attention: {num_heads: 1}\ninputs: {x: [[1, 0]]}\nclaims: [{step: x, that: 1 = 1}]",
        "attention: {num_heads: 1}\ninputs: {x: [[1, 0]]}\ncourse: [{tell: a}]",
        "attention: {num_heads: 1}\ninputs: {x: [[1, 0]]}\ncourse: [{say: a, show: x}]",
        "attention: {num_heads: 1}\ninputs: {x: [[1, 0]]}\ncourse: [{show: []}]",
        "attention: {num_heads: 1}\ninputs: {x: [[1, 0]]}\ncourse: [{show: x, as: picture}]",
        "attention: {num_heads: 1}\ninputs: {x: [[1, 0]]}\ncourse: [{table: {columns: [a]}}]",
        "attention: {num_heads: 1}\ninputs: {x: [[1, 0]]}\ncourse: [{plot: {x: {label: a, values: [1, 2]}, lines: []}}]",
        "attention: {num_heads: 1}\ninputs: {x: [[1, 0]]}\ncourse: [{command: [mha]}]",
        "attention: {num_heads: 1}\ninputs: {x: [[1, 0]]}\ncourse: [{time: {title: a}}]",
        "attention: {num_heads: 1}\ninputs: {x: [[1, 0]]}\ncourse: [{task: a, change: [tokens], checks: [1 = 1]}]",
        "attention: {num_heads: 1}\ninputs: {x: [[1, 0]]}\nquiz: [{ask: a, cell: 'x[1,1]', wrong: [{myth: fewer-heads, value: 1}]}]",
    ] {
        assert_ne!(faults(broken), [""; 0], "the schema takes {broken}");
        assert!(
            parse(broken, "broken", Path::new("."), &Options::default()).is_err(),
            "the reader takes {broken}"
        );
    }
}

/// Where a key `zzz` is unknown, the reader names the keys that it knows there; the schema has the same ones.
#[test]
fn the_reader_and_the_schema_know_the_same_keys() {
    let schema = schema();
    for (pointer, section) in SECTIONS {
        let properties = schema.pointer(pointer).unwrap_or_else(|| panic!("the schema has no {pointer}"));
        let keys: BTreeSet<&str> = properties.as_object().unwrap().keys().map(String::as_str).collect();
        let lesson = format!("{section}\n");
        let faults = parse(&lesson, "odd.yaml", Path::new("."), &Options::default()).unwrap_err();
        let fault = faults.0.iter().find(|fault| fault.what.contains("has no key zzz"));
        let fault = fault.unwrap_or_else(|| panic!("zzz is taken in {lesson}\n{faults}"));
        let known = fault.remedy.split_once("nown: ").unwrap().1;
        assert_eq!(known.split(", ").collect::<BTreeSet<_>>(), keys, "{pointer}");
    }
}

/// A section that the table leaves out would not be compared.
#[test]
fn every_section_of_the_schema_is_compared() {
    let schema = schema();
    let mut sections = BTreeMap::new();
    collect(&schema, String::new(), &mut sections);
    let compared: BTreeSet<&str> = SECTIONS.iter().map(|(pointer, _)| *pointer).collect();
    for (pointer, closed) in sections {
        assert!(closed, "{pointer} takes any key");
        assert!(compared.contains(pointer.as_str()), "{pointer} is not compared");
    }
}

/// Every `properties` in the schema, and whether other keys are refused there.
fn collect(value: &Value, pointer: String, found: &mut BTreeMap<String, bool>) {
    match value {
        Value::Object(entries) => {
            if entries
                .get("properties")
                .is_some_and(|properties| properties.get("type").is_none_or(|kind| kind.is_object()))
            {
                found.insert(
                    format!("{pointer}/properties"),
                    entries.get("additionalProperties") == Some(&json!(false)),
                );
            }
            entries.iter().for_each(|(key, value)| collect(value, format!("{pointer}/{key}"), found));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, value)| collect(value, format!("{pointer}/{at}"), found));
        }
        _ => {}
    }
}
