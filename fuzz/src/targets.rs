//! What is done with bytes that a fuzzer made up: each target hands them to `mha` as a person would, in a file or as an
//! argument, and looks at what comes back. Nothing may panic, take long, or tell a terminal what to do.

use std::ffi::OsString;
use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::str;
use std::sync::OnceLock;

use mha::cli::Cli;
use mha::course::Workshop;
use mha::fault::{Fault, Faults, Outcome};
use mha::lesson::quantity::Quantity;
use mha::lesson::{Options, Problem, builtin};
use mha::model::Model;
use mha::{arrays, course, lesson, params, plan};

/// What is done with bytes.
pub type Target = fn(&[u8]);

/// The targets by their names: the folders of `fuzz/corpus` are called so.
pub const ALL: [(&str, Target); 12] = [
    ("answers", answers),
    ("arrays", arrays),
    ("config", config),
    ("explain", explain),
    ("folder", folder),
    ("gguf", gguf),
    ("lesson", lesson),
    ("quantity", quantity),
    ("quiz", quiz),
    ("safetensors", safetensors),
    ("steps", steps),
    ("tokenizer", tokenizer),
];

/// A lesson file: read, and where it is small run and shown in one of the formats.
pub fn lesson(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let Some(problem) = looked_at(lesson::parse(text, "fuzzed.yaml", room(), &Options::default())) else {
        return;
    };
    if !is_small(&problem) {
        return;
    }
    let path = file("fuzzed.yaml", data);
    match data.len() % 12 {
        0 => mha(["lessons", "validate"], &path, [""; 0]),
        1 => mha(["compare"], &path, [""; 0]),
        2 => mha(["ablate"], &path, ["--each"]),
        3 => mha(["trace"], &path, ["--exact"]),
        at => mha(["trace"], &path, ["--format", FORMATS[at - 4]]),
    }
}

const FORMATS: [&str; 8] = ["table", "heatmap", "json", "npz", "markdown", "latex", "html", "csv"];

/// Numbers that a page of every format shows within milliseconds.
const SMALL: usize = 4_000;

fn is_small(problem: &Problem) -> bool {
    // Plans of long stacks are not made only to be counted.
    if problem.layers.as_ref().is_some_and(|layers| layers.layers.len() > 4) {
        return false;
    }
    let Some(plan) = looked_at(plan::attention::plan(&problem.call()).map_err(Faults::from)) else {
        return false;
    };
    let numbers = |step: &plan::Step| step.shape.0.saturating_mul(step.shape.1);
    plan.steps().iter().map(numbers).fold(0, usize::saturating_add) <= SMALL
}

/// A file of arrays. The first byte says which: `.npy`, `.npz` as it stands, or an `.npz` made around two entries.
pub fn arrays(data: &[u8]) {
    let Some((kind, rest)) = data.split_first() else { return };
    let path = match kind % 3 {
        0 => file("fuzzed.npy", rest),
        1 => file("fuzzed.npz", rest),
        _ => file("fuzzed.npz", &packed(rest)),
    };
    read_arrays(&path);
}

/// An archive of two arrays, each half of what is given.
fn packed(data: &[u8]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let (first, second) = data.split_at(data.len() / 2);
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, bytes) in [("x.npy", first), ("weights.npy", second)] {
        // Memory takes what is written to it.
        let _ = archive.start_file(name, stored);
        let _ = archive.write_all(bytes);
    }
    archive.finish().map(Cursor::into_inner).unwrap_or_default()
}

fn read_arrays(path: &Path) {
    looked_at(arrays::list(path));
    looked_at(arrays::shape(path, None));
    for (_, array) in looked_at(arrays::read_all(path)).unwrap_or_default() {
        let claimed = array.shape.iter().try_fold(1_usize, |product, axis| product.checked_mul(*axis));
        assert_eq!(claimed, Some(array.len()), "an array holds what its shape says");
    }
}

/// A safetensors file. The first byte says whether it is one as it stands, or a header around which a file is made.
pub fn safetensors(data: &[u8]) {
    let Some((kind, rest)) = data.split_first() else { return };
    let whole = if kind % 2 == 0 { rest.to_vec() } else { checkpoint(rest) };
    let path = file("fuzzed.safetensors", &whole);
    read_arrays(&path);
    looked_at(params::weights::open(&path));
    mha(["params"], &path, [""; 0]);
}

/// A checkpoint with this header and as many bytes as its tensors claim, up to 64 KiB.
fn checkpoint(header: &[u8]) -> Vec<u8> {
    let ends = |tensor: &serde_json::Value| tensor["data_offsets"][1].as_u64();
    let wanted = match serde_json::from_slice(header) {
        Ok(serde_json::Value::Object(tensors)) => tensors.values().filter_map(ends).max(),
        _ => None,
    };
    let length = wanted.unwrap_or(64).min(64 << 10) as usize;
    let numbers = [0.5_f32, -0.25, 0.125, 1.0].map(f32::to_le_bytes).concat();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header);
    bytes.extend(numbers.iter().cycle().take(length));
    bytes
}

/// A `.gguf` file: counted, and opened as a model that reads a text.
pub fn gguf(data: &[u8]) {
    let path = file("fuzzed.gguf", data);
    mha(["params"], &path, ["--format", "json"]);
    if looked_at(Model::open(&path.to_string_lossy())).is_some() {
        mha(["trace", "--model"], &path, ["--text", "ab b", "--summary"]);
    }
}

/// A person's tensors. The first byte says in which format: CSV, JSON or YAML.
pub fn answers(data: &[u8]) {
    let Some((kind, rest)) = data.split_first() else { return };
    let name = ["weights.csv", "mine.json", "mine.yaml"][usize::from(kind % 3)];
    mha(
        ["check", "two-heads"],
        &file(name, rest),
        ["--format", if kind & 4 == 0 { "table" } else { "json" }],
    );
}

/// A `config.json`, counted.
pub fn config(data: &[u8]) {
    let path = file("config.json", data);
    match data.len() % 3 {
        0 => mha(["params"], &path, ["--format", "json"]),
        1 => mha(["params"], &path, ["--seq-len", "128"]),
        _ => mha(["params"], &path, [""; 0]),
    }
}

/// A `tokenizer.json`, and texts split by it.
pub fn tokenizer(data: &[u8]) {
    let Some(tokens) = looked_at(mha::model::Tokens::from_json(data, "tokenizer.json")) else { return };
    for text in ["ab a", "The animal didn’t cross\tthe street 🦀 é e\u{301} 中文", " "] {
        if let Some(passage) = looked_at(tokens.split(text, None)) {
            for id in &passage.ids {
                let label = tokens.label(*id).unwrap_or_default();
                assert!(!label.chars().any(char::is_control), "a label is shown as it is: {label:?}");
            }
        }
    }
    looked_at(tokens.split("a b", Some("b a")));
}

/// A model's folder in one piece: `config.json`, `tokenizer.json` and the header of `model.safetensors`, with a zero byte
/// between them.
pub fn folder(data: &[u8]) {
    let mut parts = data.splitn(3, |byte| *byte == 0);
    let mut next = || parts.next().unwrap_or_default();
    let folder = room().join("model");
    // A folder that is there already is the one wanted.
    let _ = fs::create_dir(&folder);
    file("model/config.json", next());
    file("model/tokenizer.json", next());
    file("model/model.safetensors", &checkpoint(next()));
    if looked_at(Model::open(&folder.to_string_lossy())).is_none() {
        return;
    }
    match data.len() % 3 {
        0 => mha(["trace", "--model"], &folder, ["--text", "ab b", "--layer", "all", "--summary"]),
        1 => mha(["heads", "--model"], &folder, ["--text", "ab b", "--format", "json", "--verbose"]),
        _ => mha(
            ["ablate", "--model"],
            &folder,
            ["--text", "ab b", "--layer", "1", "--head"].into_iter().chain(["1"]),
        ),
    }
}

/// Globs over steps, as `--steps` takes them.
pub fn steps(data: &[u8]) {
    if let Some(text) = argument(data) {
        mha(["trace"], Path::new("two-heads"), [format!("--steps={text}")]);
    }
}

/// What `--explain` takes.
pub fn explain(data: &[u8]) {
    if let Some(text) = argument(data) {
        mha(["trace"], Path::new("masks"), [format!("--explain={text}")]);
    }
}

/// An expression of a lesson, worked out over a lesson.
pub fn quantity(data: &[u8]) {
    let Some(text) = argument(data) else { return };
    let Ok(quantity) = text.parse::<Quantity>() else { return };
    assert!(quantity.to_string().parse::<Quantity>().is_ok(), "what is printed reads again: {quantity}");
    let Some(lesson) = builtin::find("two-heads") else { return };
    let Some(problem) = looked_at(builtin::load(lesson, &Options::default())) else { return };
    let workshop = Workshop::new(problem);
    // Why it has no value is told in a fault.
    let told =
        |why| Faults::from(Fault::new("the expression has no value", why, "name a step of the lesson"));
    looked_at(workshop.amount(&quantity).map_err(told));
}

/// An answer that a learner types. The first byte says what was asked for.
pub fn quiz(data: &[u8]) {
    let Some((asked, rest)) = data.split_first() else { return };
    let Ok(text) = str::from_utf8(rest) else { return };
    let choices = ["Head 1", "Head 2", "both heads", "3/4"].map(str::to_owned);
    if let Ok(typed) = course::answer::numbers(text, usize::from(asked % 5) + 1) {
        for number in typed {
            number.fits(0.333_333);
        }
    }
    let _ = course::answer::shape(text);
    if let Ok(choice) = course::answer::choice(text, &choices) {
        assert!(choice < choices.len(), "a choice is one of those");
    }
}

/// A text that a shell can hand over.
fn argument(data: &[u8]) -> Option<&str> {
    str::from_utf8(data).ok().filter(|text| !text.contains('\0'))
}

/// The folder for the files of this process.
fn room() -> &'static Path {
    static ROOM: OnceLock<tempfile::TempDir> = OnceLock::new();
    ROOM.get_or_init(|| tempfile::tempdir().expect("a folder for temporary files")).path()
}

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = room().join(name);
    fs::write(&path, bytes).expect("the folder for temporary files takes them");
    path
}

/// Runs a command on a path as the shell would, and looks at its page.
fn mha<const N: usize, T: Into<OsString>>(verb: [&str; N], path: &Path, flags: impl IntoIterator<Item = T>) {
    let page = room().join("page");
    let mut arguments: Vec<OsString> = vec!["mha".into()];
    arguments.extend(verb.map(OsString::from));
    arguments.push(path.into());
    arguments.extend(flags.into_iter().map(Into::into));
    arguments.extend(["--force".into(), "--output".into(), page.clone().into()]);
    let is_bytes = arguments.contains(&"npz".into());
    match Cli::read(arguments) {
        Ok(cli) => {
            if looked_at(cli.run()).is_some() && !is_bytes {
                // A dialogue or a check may have nothing to write.
                plain(&fs::read_to_string(&page).unwrap_or_default());
            }
        }
        Err(error) => plain(&mha::fault::visible(&error.to_string()).replace("\\n", "\n")),
    }
}

/// What came back, once its faults were looked at.
fn looked_at<T>(outcome: Outcome<T>) -> Option<T> {
    outcome.map_err(|faults| plain(&faults.to_string())).ok()
}

/// A page without colour holds lines and nothing that a terminal obeys.
fn plain(text: &str) {
    let is_obeyed = |c: char| {
        c.is_control() && c != '\n' || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert!(!text.contains(is_obeyed), "a terminal would obey this: {text:?}");
}
