//! The lines of Python that keep a person's own steps: what they say, and (with Python at hand) that what they keep
//! is what `mha` calls by the same names.
//!
//! The tests that need Python are ignored; they use the `python3` of the environment variable `MHA_PYTHON`, with numpy
//! and torch, or with jax and flax: `cargo test --test captures -- --ignored`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

#[path = "common/run.rs"]
#[expect(dead_code, reason = "no shell is needed here")]
mod run;

use std::fs;
use std::path::Path;
use std::process::Command;

use mha::answers::{self, ORDER};
use mha::views::capture::{self, Library};

const ALL: [Library; 3] = [Library::NumPy, Library::PyTorch, Library::Jax];

/// The steps that a plain lesson, a rotary one and a masked one have, in order.
const USUAL: [&str; 14] = [
    "q",
    "k",
    "v",
    "q_heads",
    "k_heads",
    "v_heads",
    "q_rot",
    "k_rot",
    "scores",
    "masked_scores",
    "weights",
    "heads",
    "concat",
    "output",
];

fn snippet(library: Library, lesson: Option<&str>) -> String {
    let mut out = Vec::new();
    capture::write(library, lesson, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// What stands in quotes right behind `keep(`.
fn kept(snippet: &str) -> Vec<&str> {
    snippet.split("keep(\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

#[test]
fn every_name_that_is_kept_is_a_step() {
    for library in ALL {
        let snippet = snippet(library, None);
        let kept = kept(&snippet);
        assert!(!kept.is_empty(), "{library:?}");
        for name in kept {
            assert!(ORDER.iter().any(|step| step.to_string() == name), "{library:?}: {name}");
        }
    }
}

#[test]
fn every_usual_step_is_named_in_the_order_of_the_computation() {
    assert_eq!(kept(&snippet(Library::NumPy, None)), USUAL);
    for library in ALL {
        let snippet = snippet(library, None);
        let (_, told) = snippet.split_once("\n# ").unwrap();
        let words: Vec<&str> = told.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let mut rest = words.as_slice();
        for step in USUAL {
            let at = rest.iter().position(|word| *word == step);
            rest = &rest[at.unwrap_or_else(|| panic!("{library:?}: {step}"))..];
        }
    }
}

#[test]
fn the_last_line_is_the_command_to_run_next() {
    for library in ALL {
        assert!(snippet(library, None).ends_with("\n#     $ mha check LESSON mine.npz\n"));
        assert!(
            snippet(library, Some("'my lesson.yaml'"))
                .ends_with("\n#     $ mha check 'my lesson.yaml' mine.npz\n")
        );
        assert!(snippet(library, None).contains("np.savez(\"mine.npz\", **steps)"));
    }
}

/// A line break in the name of a file would otherwise end the comment, and what follows would run.
#[test]
fn the_name_of_a_lesson_stays_inside_its_comment() {
    for library in ALL {
        let hostile = snippet(library, Some("'a\nimport os\u{2028}'"));
        assert_eq!(hostile.lines().count(), snippet(library, None).lines().count());
        assert!(hostile.ends_with("\n#     $ mha check 'a\\nimport os\\u{2028}' mine.npz\n"), "{hostile}");
    }
}

/// Eighty columns are too few for the formulas; more than a hundred and ten would wrap in most windows.
#[test]
fn lines_are_plain_ascii_and_of_a_readable_length() {
    for library in ALL {
        for line in snippet(library, None).lines() {
            assert!(line.is_ascii() && line.len() <= 110, "{library:?}: {line}");
        }
    }
}

/// A lesson with seeded numbers, all projections and all biases.
fn lesson(attention: &str, inputs: &str) -> String {
    let random = |seed: u32| format!("{{random: {{seed: {seed}}}}}");
    let given = ["w_q", "w_k", "w_v", "w_o", "b_q", "b_k", "b_v", "b_o"];
    let projections: String =
        (2..).zip(given).map(|(seed, name)| format!("  {name}: {}\n", random(seed))).collect();
    format!("attention: {{{attention}}}\ninputs: {{{inputs}}}\nprojections:\n{projections}")
}

/// The right steps of every lesson that the programs read, each as NAME.npz.
fn write_lessons(room: &Path) {
    let one = "x: {random: {seed: 1, std: 1, shape: [5, 8]}}";
    let two = "x: {random: {seed: 1, std: 1, shape: [2, 5, 8]}}";
    let context =
        |width: u32| format!("{two}, x_kv: {{random: {{seed: 10, std: 1, shape: [2, 3, {width}]}}}}");
    let plain = "d_model: 8, num_heads: 2";
    let padding = "{key_padding: [[true, true, true, true, true], [true, true, true, false, false]]}";
    let rotary = "mask: causal, positions: rope";
    for (name, attention, inputs) in [
        ("plain", plain.to_owned(), two.to_owned()),
        ("masked", format!("{plain}, mask: [causal, {padding}]"), two.to_owned()),
        ("cross", plain.to_owned(), context(8)),
        ("cross-wider", plain.to_owned(), context(6)),
        ("rotary", format!("{plain}, {rotary}"), one.to_owned()),
        ("grouped", format!("d_model: 8, num_heads: 4, num_kv_heads: 2, d_k: 4, {rotary}"), two.to_owned()),
    ] {
        fs::write(room.join(format!("{name}.yaml")), lesson(&attention, &inputs)).unwrap();
        let (lesson, file) = (format!("{name}.yaml"), format!("{name}.npz"));
        let run = run::run(room, &["trace", &lesson, "--format", "npz", "--output", &file]);
        assert_eq!(run.status, Some(0), "{name}: {}", run.err);
    }
}

/// Runs `tests/captures/PROGRAM` beside the lines for its library, and gives the names of the steps in the file that the
/// recipe saved, as `mha` reads them.
#[track_caller]
fn captured(program: &str, library: Library) -> Vec<String> {
    let room = tempfile::tempdir().unwrap();
    write_lessons(room.path());
    fs::write(room.path().join("capture.py"), snippet(library, None)).unwrap();
    let path = format!("{}/tests/captures/{program}", env!("CARGO_MANIFEST_DIR"));
    let python = std::env::var("MHA_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let output = Command::new(python).args(["-B", &path]).current_dir(room.path()).output().unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    let answers = answers::read(&[room.path().join("mine.npz")], &[], ORDER).unwrap();
    assert_eq!((answers.left_out, answers.remarks), (vec![], vec![]));
    answers.tensors.iter().map(|tensor| tensor.name.to_string()).collect()
}

#[test]
#[ignore = "needs Python with NumPy; .ci/run installs it"]
fn numpy_steps_are_ours() {
    assert_eq!(captured("with_numpy.py", Library::NumPy), USUAL);
}

/// Self- and cross-attention of `torch.nn.MultiheadAttention`, batch first and tokens first, with masks, in four
/// precisions, in eval() and train(); and a module with Llama's names.
#[test]
#[ignore = "needs Python with NumPy and PyTorch; .ci/run installs them"]
fn pytorch_steps_are_ours() {
    assert_eq!(
        captured("with_pytorch.py", Library::PyTorch),
        ["q", "k", "v", "masked_scores", "weights", "heads", "concat", "output"]
    );
}

#[test]
#[ignore = "needs Python with JAX and Flax: pip install jax flax"]
fn jax_steps_are_ours() {
    assert_eq!(
        captured("with_jax.py", Library::Jax),
        ["q", "k", "v", "scores", "weights", "heads", "output"]
    );
}
