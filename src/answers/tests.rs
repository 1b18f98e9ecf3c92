//! Reading answers by name, in files as people write them; and the labelled attempts in `tests/reference/check`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use super::*;
use crate::arrays::{self, Kind, npz};
use crate::plan::{Head, HeadStep};

/// All steps that any lesson has, with rotated positions and a mask, without norms.
fn known() -> Vec<Name> {
    let no_norm = |name: &Name| !name.to_string().contains("norm");
    ORDER.iter().copied().filter(no_norm).collect()
}

/// Writes files of this text, and reads them as answers; `map` is typed as `theirs=ours`.
fn answers(files: &[(&str, &str)], map: &[&str], known: &[Name]) -> Outcome<Answers> {
    let folder = TempDir::new().unwrap();
    let paths: Vec<PathBuf> = files
        .iter()
        .map(|(name, text)| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        })
        .collect();
    let map: Vec<(String, String)> = map
        .iter()
        .map(|pair| pair.split_once('=').unwrap())
        .map(|(theirs, ours)| (theirs.to_owned(), ours.to_owned()))
        .collect();
    read(&paths, &map, known)
}

/// The steps that were found, with what they were called.
fn steps(answers: &Answers) -> Vec<(String, &str)> {
    answers.tensors.iter().map(|tensor| (tensor.name.to_string(), tensor.called.as_str())).collect()
}

#[track_caller]
fn refused(files: &[(&str, &str)], map: &[&str], messages: &[&str]) {
    let told = answers(files, map, &known()).unwrap_err().to_string();
    for message in messages {
        assert!(told.contains(message), "{told}");
    }
}

#[test]
fn steps_come_in_the_order_of_the_computation_from_several_files() {
    let found = answers(
        &[("a.json", r#"{"output": [[1, 2]], "q": [[1, 2]]}"#), ("b.weights.csv", "0.5,0.5\n")],
        &[],
        &known(),
    )
    .unwrap();
    let expected = [("q", "q"), ("weights", "b.weights"), ("output", "output")];
    assert_eq!(steps(&found), expected.map(|(name, called)| (name.to_owned(), called)));
    assert!(found.tensors[1].file.ends_with("b.weights.csv"));
    assert_eq!((found.remarks.len(), found.left_out.len()), (0, 0));
}

#[test]
fn other_names_are_recognised_and_said() {
    let text = r#"{"Queries": [[1]], "attn-weights": [[[1]]], "context": [[[1]]], "w_q": [[1]], "wieghts": [[2]], "out": [[1]]}"#;
    let found = answers(&[("a.json", text)], &[], &known()).unwrap();
    assert_eq!(
        found.remarks,
        [
            "Queries is taken as q",
            "attn-weights is taken as weights",
            "context is taken as heads, because it has 3 axes",
            "out is taken as output",
        ]
    );
    assert_eq!(found.left_out[0], ("w_q".to_owned(), "an input, not a step".to_owned()));
    assert!(found.left_out[1].1.contains("--map wieghts=weights"), "{:?}", found.left_out);
}

/// With a batch of two the output has three axes, and so has what stands side by side.
#[test]
fn context_is_stacked_where_it_has_more_axes_than_the_output() {
    let name = |text: &str| answers(&[("a.json", text)], &[], &known()).unwrap().tensors[0].name;
    assert_eq!(name(r#"{"context": [[[1]], [[2]]], "output": [[[1]], [[2]]]}"#), Name::Concat);
    assert_eq!(name(r#"{"context": [[[1]], [[2]]], "output": [[1, 2]]}"#), Name::Stack(Stack::Heads));
    assert_eq!(name(r#"{"context": [[1, 2]]}"#), Name::Concat);
}

#[test]
fn our_own_name_wins_and_two_others_are_a_fault() {
    let found = answers(&[("a.json", r#"{"attn": [[1]], "weights": [[2]]}"#)], &[], &known()).unwrap();
    assert_eq!(steps(&found), [("weights".to_owned(), "weights")]);
    assert_eq!(found.left_out, [("attn".to_owned(), "weights is there under its own name".to_owned())]);
    assert!(found.remarks.is_empty());
    refused(
        &[("a.json", r#"{"attn": [[1]], "probs": [[2]]}"#)],
        &[],
        &["weights is given twice", "as attn of ", "as probs of ", "--map theirs=weights"],
    );
    refused(&[("a.output.csv", "1"), ("b.output.csv", "1")], &[], &["output is given twice", "b.output.csv"]);
}

#[test]
fn a_map_decides_and_is_checked() {
    let file = ("a.json", r#"{"attn": [[1]], "probs": [[2]], "foo bar": [[3]]}"#);
    let found = answers(&[file], &["probs=weights", "foo bar=output"], &known()).unwrap();
    assert_eq!(steps(&found), [("weights".to_owned(), "probs"), ("output".to_owned(), "foo bar")]);
    assert!(found.remarks.is_empty(), "whoever maps knows");
    refused(
        &[file],
        &["probs=wieghts"],
        &["wieghts is not the name of a step", "--map probs=weights?", "--> --map"],
    );
    refused(&[file], &["prob=weights"], &["no tensor prob", "did you mean probs?"]);
    refused(&[file], &["probs=weights", "attn=weights"], &["probs and attn are both mapped to weights"]);
    refused(&[file], &["probs=weights", "probs=output"], &["probs is mapped twice"]);
    // a file without a name inside goes by its own
    let found =
        answers(&[("mine.csv", "1,2"), ("b.csv", "3")], &["mine=output", "b.csv=q"], &known()).unwrap();
    assert_eq!(steps(&found), [("q".to_owned(), "b"), ("output".to_owned(), "mine")]);
}

#[test]
fn one_nameless_tensor_is_the_output_and_two_are_not() {
    let found = answers(&[("c007.csv", "1,2")], &[], &known()).unwrap();
    assert_eq!(steps(&found), [("output".to_owned(), "c007")]);
    assert_eq!(found.remarks, ["c007 is taken as output"]);
    let found = answers(&[("my_weights.yaml", "[[0.5, 0.5]]")], &[], &known()).unwrap();
    assert_eq!(steps(&found), [("weights".to_owned(), "my_weights")]);
    refused(
        &[("c1.csv", "1"), ("c2.csv", "2")],
        &[],
        &["which step this file holds is not known", "--map c2=output"],
    );
}

#[test]
fn the_heads_of_one_step_are_put_together() {
    let text =
        r#"{"head.2.q": [[3, 4]], "head.1.q": [[1, 2]], "head.1.output": [[1]], "head.3.output": [[1]]}"#;
    let found = answers(&[("a.json", text)], &[], &known()).unwrap();
    assert_eq!(steps(&found), [("q_heads".to_owned(), "head.2.q … head.1.q")]);
    assert_eq!(
        (found.tensors[0].array.shape.as_slice(), found.tensors[0].array.data[0]),
        (&[2, 1, 2][..], 1.0)
    );
    let left_out = &found.left_out[0];
    assert_eq!(left_out.0, "head.1.output … head.3.output");
    assert!(left_out.1.starts_with("head.2 is missing"), "{left_out:?}");
    let found =
        answers(&[("a.json", r#"{"head0_attn": [[1]], "head1_attn": [[1]]}"#)], &[], &known()).unwrap();
    let said = [
        "head0_attn … head1_attn is taken as weights",
        "head0_attn … head1_attn is counted from 0; mha counts from 1",
    ];
    assert_eq!(found.remarks, said);
    // one head's under another name, which only the map knows
    let text = r#"{"head.1.q": [[1]], "second": [[2]], "first": [[7]]}"#;
    let found = answers(&[("a.json", text)], &["second=head.2.q"], &known()).unwrap();
    assert_eq!(found.tensors[0].array.data, [1.0, 2.0]);
    let found = answers(&[("a.json", text)], &["second=head.2.q", "first=head.1.q"], &known()).unwrap();
    assert_eq!(found.tensors[0].array.data, [7.0, 2.0]);
    assert_eq!(found.left_out.len(), 1);
}

#[test]
fn what_the_lesson_does_not_have_is_left_out_or_taken_for_its_equal() {
    let plain = [Name::Q, Name::Head(Head(0), HeadStep::Scores), Name::Stack(Stack::Weights), Name::Output];
    let text = r#"{"q": [[1]], "q_rot": [[[1]]], "masked_scores": [[[1]]], "concat": [[1]]}"#;
    let found = answers(&[("a.json", text)], &[], &plain).unwrap();
    assert_eq!(steps(&found), [("q".to_owned(), "q"), ("scores".to_owned(), "masked_scores")]);
    assert_eq!(found.remarks, ["masked_scores is taken as scores: the two are the same in this lesson"]);
    assert_eq!(found.left_out[0].1, "this lesson has no step q_rot: it has no rotary positions");
    let text = r#"{"scores": [[[1]]], "masked_scores": [[[1]]]}"#;
    let found = answers(&[("a.json", text)], &[], &plain).unwrap();
    assert_eq!(found.left_out[0].1, "the same as scores in this lesson, which is there");
    // two that equal the scores: one of them is enough; and heads are still put together
    let text = r#"{"biased_scores": [[[1]]], "masked_scores": [[[1]]]}"#;
    assert_eq!(steps(&answers(&[("a.json", text)], &[], &plain).unwrap())[0].1, "biased_scores");
    let text = r#"{"head.1.masked_scores": [[1]], "head.2.masked_scores": [[2]]}"#;
    let found = answers(&[("a.json", text)], &[], &plain).unwrap();
    assert_eq!(found.tensors[0].array.data, [1.0, 2.0]);
}

/// Our own files call the norm of each head q_norm, as the step in a head is called.
#[test]
fn a_norm_is_that_which_the_lesson_has() {
    let file = ("a.json", r#"{"q_norm": [[[1]]]}"#);
    let name = |known: Name| answers(&[file], &[], &[known]).unwrap().tensors[0].name;
    assert_eq!(name(Name::QNorm), Name::QNorm);
    assert_eq!(name(Name::Head(Head(0), HeadStep::QNorm)), Name::Stack(Stack::QNorm));
}

#[test]
fn nothing_that_is_a_step_says_what_was_there() {
    let told = [
        "no tensor is a step of this lesson",
        "a.json holds foo, x",
        "the steps are q, k, v,",
        "--map foo=output",
    ];
    refused(&[("a.json", r#"{"foo": [[1]], "x": [[1]]}"#)], &[], &told);
}

#[test]
fn what_is_no_file_of_numbers_is_refused_with_all_faults_at_once() {
    let folder = TempDir::new().unwrap();
    let paths = [folder.path().to_path_buf(), folder.path().join("none.npy"), folder.path().join("a.pt")];
    let faults = read(&paths, &[], &known()).unwrap_err();
    assert_eq!(faults.0.len(), 3);
    let told = faults.to_string();
    for message in [
        "this is a directory",
        "there is no such file",
        ".npz, .safetensors, .csv, .json and .yaml",
        "safetensors.torch",
    ] {
        assert!(told.contains(message), "{told}");
    }
    refused(&[("a.json", r#"{"q": [[1, 2], [3]]}"#)], &[], &["row 2 has 1 number"]);
}

#[test]
fn odd_tensors_are_answers_too() {
    let found = answers(
        &[("a.json", r#"{"q": 7, "k": [], "v": [[NaN, -Infinity]], "output": [[true]]}"#)],
        &[],
        &known(),
    );
    let found = found.unwrap();
    assert_eq!(found.tensors.len(), 4);
    let expected = Expected { batch: None, sheets: None, rows: 1, columns: 1 };
    assert_eq!(readings(&found.tensors[0].array, &expected).len(), 1);
    assert_eq!(readings(&found.tensors[1].array, &expected), []);
    assert_eq!(plain(&found.tensors[1].array), None);
}

/// A file of every format with the same two matrices gives the same answers.
#[test]
fn every_format_is_read() {
    let folder = TempDir::new().unwrap();
    let array = |numbers: &[f64]| Array::new(vec![1, 2], numbers.to_vec(), Kind::F64).unwrap();
    let path = folder.path().join("a.npz");
    let pair =
        [("q".to_owned(), array(&[0.5, 1.0])), ("output".to_owned(), array(&[2.0, f64::NEG_INFINITY]))];
    npz::write(fs::File::create(&path).unwrap(), pair).unwrap();
    let npz = read(&[path], &[], &known()).unwrap();
    let json = answers(&[("a.json", r#"{"q": [[0.5, 1.0]], "output": [[2.0, -Infinity]]}"#)], &[], &known())
        .unwrap();
    let yaml = answers(&[("a.yml", "q: [[0.5, 1.0]]\noutput: [[2.0, -.inf]]")], &[], &known()).unwrap();
    for other in [&json, &yaml] {
        for (one, other) in npz.tensors.iter().zip(&other.tensors) {
            assert_eq!((one.name, &one.array), (other.name, &other.array));
        }
        assert_eq!(other.tensors.len(), 2);
    }
}

/// A labelled attempt: its files, its problem, what is known of it.
struct Case {
    id: String,
    answers: Answers,
    problem: Value,
    label: Value,
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn cases() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/check");
    let labels = json(&root.join("labels.json"));
    let labels: BTreeMap<&str, &Value> =
        labels.as_array().unwrap().iter().map(|label| (label["id"].as_str().unwrap(), label)).collect();
    let cases = json(&root.join("cases.json"));
    cases
        .as_array()
        .unwrap()
        .iter()
        .map(|case| {
            let id = case["id"].as_str().unwrap();
            let files: Vec<PathBuf> = case["files"]
                .as_array()
                .unwrap()
                .iter()
                .map(|file| root.join("cases").join(file.as_str().unwrap()))
                .collect();
            let problem = root.join("problems").join(case["problem"].as_str().unwrap()).join("problem.json");
            Case {
                id: id.to_owned(),
                answers: read(&files, &[], &known()).unwrap(),
                problem: json(&problem),
                label: labels[id].clone(),
            }
        })
        .collect()
}

impl Case {
    /// The sizes of a step, from the problem's alone.
    fn expected(&self, name: Name) -> Expected {
        let size = |key: &str| self.problem[key].as_u64().unwrap() as usize;
        let (h, g, d_k, d_v) = (size("heads"), size("kv_heads"), size("d_k"), size("d_v"));
        let (n_q, n_k) = (size("n_q"), size("n_k"));
        let (sheets, rows, columns) = match name.to_string().as_str() {
            "q" => (None, n_q, h * d_k),
            "k" => (None, n_k, g * d_k),
            "v" => (None, n_k, g * d_v),
            "q_heads" | "q_rot" => (Some(h), n_q, d_k),
            "k_heads" | "k_rot" => (Some(g), n_k, d_k),
            "v_heads" => (Some(g), n_k, d_v),
            "scores" | "masked_scores" | "weights" => (Some(h), n_q, n_k),
            "heads" => (Some(h), n_q, d_v),
            "concat" => (None, n_q, h * d_v),
            _ => (None, n_q, size("d_model")),
        };
        let batch = Some(size("batch")).filter(|batch| *batch > 1);
        Expected { batch, sheets, rows, columns }
    }
}

#[test]
fn every_labelled_attempt_is_read_with_its_steps_and_its_precision() {
    let cases = cases();
    assert_eq!(cases.len(), 169);
    let mut wrong = Vec::new();
    for case in &cases {
        let given: Vec<&str> =
            case.label["given"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        let names: Vec<String> = case.answers.tensors.iter().map(|tensor| tensor.name.to_string()).collect();
        if names != given || !case.answers.left_out.is_empty() {
            wrong.push(format!("{}: {names:?} {:?}", case.id, case.answers.left_out));
        }
        let precision = case.label["precision"].as_str().unwrap();
        for tensor in &case.answers.tensors {
            let fits = match precision {
                "f16" | "f16-chain" => tensor.grain == Grain::Half,
                "4dp" => tensor.grain == Grain::Decimals(4),
                "3dp" => tensor.grain == Grain::Decimals(3),
                _ => matches!(tensor.grain, Grain::Single | Grain::Double),
            };
            if !fits {
                wrong.push(format!("{} {}: {} for {precision}", case.id, tensor.name, tensor.grain.name()));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn every_tensor_of_a_right_attempt_has_a_plain_reading() {
    let cases = cases();
    let right: Vec<&Case> = cases.iter().filter(|case| case.label["verdict"] == "correct").collect();
    assert_eq!(right.len(), 28);
    for case in right {
        for tensor in &case.answers.tensors {
            let found = readings(&tensor.array, &case.expected(tensor.name));
            let first = found.first().is_some_and(Reading::is_plain);
            assert!(first, "{} {}: {:?}", case.id, tensor.name, tensor.array.shape);
        }
    }
}

/// Where a wrong attempt has the expected shape, its plainest reading holds the numbers in the order of the file.
#[test]
fn every_attempt_can_be_taken_as_it_stands() {
    for case in cases() {
        for tensor in &case.answers.tensors {
            let plain = plain(&tensor.array).unwrap();
            let rows = plain.sheets.iter().flat_map(|sheet| sheet.transpose().as_slice().to_vec());
            assert!(rows.zip(&tensor.array.data).all(|(a, b)| a.to_bits() == b.to_bits()), "{}", case.id);
        }
    }
}

/// The right tensors of all problems, rounded in each way and stored in each type, tell how they were rounded.
///
/// Three cannot. The output of p01 is whole numbers and halves, which rounding leaves alone. That of p12 lies between 0.1
/// and 1, where digits and decimals are the same. Those of p30 are in the hundreds, where float32 itself is coarser than
/// five decimals.
#[test]
fn every_rounding_of_the_reference_tensors_is_recognised() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/check/problems");
    let decimals = (2..=6).map(Grain::Decimals);
    let significant = (3..=6).map(Grain::Significant);
    let binary = [Grain::Half, Grain::Brain, Grain::Single, Grain::Double];
    let grains: Vec<Grain> = decimals.chain(significant).chain(binary).collect();
    let mut wrong = Vec::new();
    for problem in (1..=32).map(|number| format!("p{number:02}")) {
        let all = arrays::read_all(&root.join(&problem).join("reference.npz")).unwrap();
        let output: Vec<_> = all.iter().filter(|(name, _)| name == "output").cloned().collect();
        for (given, tensors) in [("all", &all), ("output", &output)] {
            for (grain, kind) in grains.iter().flat_map(|grain| [(*grain, Kind::F32), (*grain, Kind::F64)]) {
                let cannot = match (problem.as_str(), grain) {
                    ("p01", _) => given == "output",
                    ("p12", Grain::Significant(_)) => given == "output",
                    ("p30", Grain::Decimals(5 | 6)) => kind == Kind::F32,
                    _ => false,
                };
                let found = grid::grains(&stored(tensors, grain, kind).iter().collect::<Vec<_>>(), false);
                let expected =
                    if kind == Kind::F32 && grain == Grain::Double { Grain::Single } else { grain };
                if !cannot && found.iter().any(|found| *found != expected) {
                    wrong.push(format!("{problem} {given}, {} as {kind:?}: {found:?}", grain.name()));
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// Tensors rounded to a grain, and kept as float32 or float64.
fn stored(tensors: &[(String, Array)], grain: Grain, kind: Kind) -> Vec<Array> {
    let number = |number: &f64| match kind {
        Kind::F32 => f64::from(grain.round(*number) as f32),
        _ => grain.round(*number),
    };
    let array =
        |array: &Array| Array::new(array.shape.clone(), array.data.iter().map(number).collect(), kind);
    tensors.iter().map(|(_, tensor)| array(tensor).unwrap()).collect()
}
