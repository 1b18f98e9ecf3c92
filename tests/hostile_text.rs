//! Texts that mean harm, in everything that `mha` reads, through every verb and every format: none is obeyed by what shows it.
//!
//! Each format is judged by a reader that knows nothing of how `mha` escapes (`judges`).
#![cfg(unix)] // Windows has no file of such a name.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

#[path = "../src/hostile.rs"]
#[expect(dead_code, reason = "whole pieces are enough here")]
mod hostile;
#[path = "hostile_text/judges.rs"]
mod judges;
#[path = "common/run.rs"]
#[expect(dead_code, reason = "no shell is needed here")]
mod run;

use std::fs;
use std::path::Path;
use std::process::Command;

use hostile::PIECES;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The name of a file or a folder that means harm.
const NAME: &str = "ev\u{1b}[31mil\n=<b>\u{202e}`'\u{9b}\u{ad}";

/// What a text is brought before, with the words to say if it fails.
type Judge = fn(&str, &str);

/// As many tokens as a worksheet takes, and a few less.
const TOKENS: usize = 14;
/// Lessons in which every piece is a token, or half of one.
const LESSONS: usize = PIECES.len().div_ceil(2 * TOKENS);

/// The name of such a lesson's file.
fn file(lesson: usize) -> String {
    format!("{lesson}{NAME}.yaml")
}

/// A lesson with a text wherever one can stand; texts come from `text`, one after the other.
fn lesson(mut text: impl FnMut() -> String) -> Value {
    let tokens: Vec<String> = (0..TOKENS).map(|_| text() + &text()).collect();
    let rows: Vec<[usize; 4]> = (0..tokens.len()).map(|i| [i % 3, i % 2, 1, i % 5]).collect();
    // What begins with = is an expression there.
    let mut cell = || format!("a{}", text());
    let table = json!({"title": cell(), "columns": [cell(), cell(), cell()], "rows": [[cell(), "= 1", cell()], [cell(), 5, cell()]],
        "source": cell()});
    json!({
        "mha": 1, "title": text(), "summary": text(), "source": text(), "topics": [2], "tokens": tokens,
        "attention": {"d_model": 4, "num_heads": 2}, "inputs": {"x": rows},
        "projections": {"w_q": "identity", "w_k": "identity", "w_v": "identity", "w_o": "identity"},
        "runs": {"bare": {"variant": "single-head"}},
        "story": [{"at": "x", "say": text()}, {"at": "head.1.weights", "say": text()}, {"at": "output", "say": text()}],
        "course": [
            {"say": text()}, {"show": ["head.1.scores", "head.1.output@bare"]}, {"show": "head.1.weights", "as": "heatmap"},
            {"ask": text(), "cell": "head.2.weights[1,1]", "hints": {"hint": text(), "where": text(), "why": text()},
                "wrong": [{"value": "head.1.scores[3,1]", "say": text()}], "because": text()},
            {"ask": text(), "choices": [text(), format!("b{}", text())], "answer": 2, "because": text()},
            {"table": table},
            {"plot": {"title": text(), "x": {"label": text(), "values": [0.25, 0.5]}, "change": {"attention": {"scale": "$"}},
                "lines": [{"label": text(), "value": "entropy(head.1.weights)"}]}},
            {"task": text(), "change": ["attention.scale"], "checks": ["head.1.weights[3,3] > 0.1"], "watch": ["head.1.weights"],
                "solution": {"attention": {"scale": 5}}, "hints": [text()], "because": text()},
        ],
        "quiz": [{"ask": text(), "cell": "head.1.scores[1,3]", "because": text()}],
    })
}

/// JSON in ASCII: a lesson with a control character as it is would not be read.
fn in_ascii(value: &Value) -> String {
    let mut text = String::new();
    for c in value.to_string().chars() {
        match c {
            c if c.is_ascii_graphic() || c == ' ' => text.push(c),
            c => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| text.push_str(&format!("\\u{unit:04x}"))),
        }
    }
    text
}

/// A folder with lessons that hold every piece, in a token and elsewhere, and with one that holds none.
fn room() -> TempDir {
    let room = tempfile::tempdir().unwrap();
    for number in 0..LESSONS {
        let mut pieces = PIECES.iter().cycle().skip(2 * TOKENS * number);
        let hostile = lesson(|| (*pieces.next().unwrap()).to_owned());
        fs::write(room.path().join(file(number)), in_ascii(&hostile)).unwrap();
    }
    fs::write(room.path().join("tame.yaml"), lesson(|| "tame".to_owned()).to_string()).unwrap();
    room
}

/// What a run writes; what it says on standard error obeys nothing, and it met the request.
#[track_caller]
fn said(folder: &Path, args: &[&str]) -> String {
    let run = run::run(folder, args);
    let what = format!("mha {args:?}");
    judges::plain(&run.err, &what);
    assert!(matches!(run.status, Some(0 | 1)), "{what}: {}", run.err);
    run.out
}

/// Every hostile lesson through a request, before a judge.
#[track_caller]
fn each(args: &[&str], judge: Judge) {
    let room = room();
    for number in 0..LESSONS {
        let file = file(number);
        let args: Vec<&str> =
            args.iter().map(|arg| if *arg == "LESSON" { file.as_str() } else { *arg }).collect();
        judge(&said(room.path(), &args), &format!("mha {args:?}"));
    }
}

#[test]
fn a_lesson_in_the_terminal() {
    for verb in [
        "trace LESSON",
        "trace LESSON --summary --ascii",
        "trace LESSON --explain head.1.output[1,1]",
        "trace LESSON --mistake scale-missing --steps weights",
        "compare LESSON --lang zh",
        "ablate LESSON --head 1",
        "ablate LESSON --each",
        "worksheet LESSON --key",
        "lessons show LESSON",
        "lessons validate LESSON",
        "learn LESSON --plain",
        "learn LESSON",
    ] {
        each(&[verb.split(' ').collect(), vec!["--width", "60"]].concat(), judges::plain);
    }
}

#[test]
fn a_lesson_in_colour() {
    for verb in [
        "trace LESSON --exact",
        "trace LESSON --format heatmap",
        "compare LESSON --format heatmap",
        "ablate LESSON --each --format heatmap",
        "learn LESSON --plain --ascii",
    ] {
        each(&[verb.split(' ').collect(), vec!["--color", "always"]].concat(), judges::coloured);
    }
}

#[test]
fn a_lesson_as_a_page_for_a_browser() {
    for verb in [
        "trace LESSON --format html --steps x,weights,head.1.output",
        "trace LESSON --format html --steps weights --ascii --layout columns",
        "lessons render LESSON",
        "worksheet LESSON --format html",
        "worksheet LESSON --format html --key",
    ] {
        each(&verb.split(' ').collect::<Vec<_>>(), judges::html);
    }
}

#[test]
fn a_lesson_as_markdown() {
    for verb in [
        "trace LESSON --format markdown",
        "lessons render LESSON --format markdown",
        "worksheet LESSON --format markdown",
    ] {
        each(&verb.split(' ').collect::<Vec<_>>(), judges::markdown);
    }
}

#[test]
fn a_lesson_as_data() {
    for verb in
        ["trace LESSON", "trace LESSON --explain head.1.scores", "compare LESSON", "ablate LESSON --each"]
    {
        each(&[verb.split(' ').collect(), vec!["--format", "json"]].concat(), judges::data);
    }
    for verb in ["trace LESSON", "ablate LESSON --head 1", "ablate LESSON --each", "worksheet LESSON"] {
        each(&[verb.split(' ').collect(), vec!["--format", "csv"]].concat(), judges::csv);
    }
    each(&["worksheet", "LESSON", "--format", "yaml"], |text, what| {
        judges::plain(text, what);
        let sheet: serde_yaml::Value = serde_yaml::from_str(text).unwrap();
        assert!(
            sheet.as_mapping().unwrap().keys().all(|key| key.as_str().unwrap().contains("head.")
                || matches!(key.as_str(), Some("concat" | "output"))),
            "{what}"
        );
    });
}

#[test]
fn a_lesson_as_a_figure() {
    for verb in ["trace LESSON", "compare LESSON"] {
        each(&[verb.split(' ').collect(), vec!["--format", "svg"]].concat(), judges::svg);
    }
    each(&["trace", "LESSON", "--format", "mermaid"], judges::plain);
}

/// What a lesson's command prints is shown, whatever it prints: bytes that spell escape codes, or colours.
#[test]
fn what_a_lesson_s_command_prints_is_not_obeyed() {
    let room = room();
    // Eight bytes of an f64 in an npz: the terminal's code that clears it, and three letters.
    let spelt = f64::from_le_bytes(*b"\x1b[2JPWN@");
    let lesson = format!(
        "attention: {{num_heads: 1}}\ninputs: {{x: [[{spelt:e}, 1], [0, 1]]}}\n\
         projections: {{w_q: zeros, w_k: zeros, w_v: identity, w_o: none}}\n\
         course:\n  - command: mha trace esc.yaml --format npz --steps x\n  \
         - command: mha trace two-heads --steps q --color always\n"
    );
    fs::write(room.path().join("esc.yaml"), lesson).unwrap();
    for verb in
        [&["learn", "esc.yaml", "--plain"][..], &["lessons", "render", "esc.yaml", "--format", "markdown"]]
    {
        let page = said(room.path(), verb);
        assert!(page.contains("PWN"), "{verb:?} shows the command's output:\n{page}");
        judges::plain(&page, &format!("mha {verb:?}"));
    }
}

#[test]
fn a_lesson_in_latex() {
    for verb in ["trace LESSON", "worksheet LESSON"] {
        each(&[verb.split(' ').collect(), vec!["--format", "latex"]].concat(), judges::latex);
    }
}

/// The code of a script is that of the same lesson with harmless texts, and so is the code of a notebook.
#[test]
fn a_lesson_as_a_program() {
    let room = room();
    let code = |file: &str, library: &str| {
        let args = ["trace", file, "--format", "python", "--with", library];
        judges::python(&said(room.path(), &args), &format!("mha {args:?}"))
    };
    let notebook = |file: &str| {
        let args = ["trace", file, "--format", "ipynb"];
        let book = judges::json(&said(room.path(), &args), &format!("mha {args:?}"));
        let (mut code, mut prose) = (String::new(), String::new());
        for cell in book["cells"].as_array().unwrap() {
            let lines = cell["source"].as_array().unwrap().iter().map(|line| line.as_str().unwrap());
            let text: String = lines.collect();
            match cell["cell_type"].as_str().unwrap() {
                "code" => {
                    code.extend(text.lines().map(|line| format!("{}\n", line.split("  # ").next().unwrap())))
                }
                _ => prose.push_str(&(text + "\n\n")),
            }
        }
        judges::markdown(&prose, "the cells of a notebook");
        code
    };
    for number in 0..LESSONS {
        let file = file(number);
        for library in ["numpy", "pytorch"] {
            assert_eq!(code(&file, library), code("tame.yaml", library), "lesson {number}");
        }
        assert_eq!(notebook(&file), notebook("tame.yaml"), "lesson {number}");
    }
}

/// Python itself finds the same statements in both, whatever the names say.
#[test]
#[ignore = "needs Python 3"]
fn a_program_as_python_reads_it() {
    let room = room();
    let tree = |file: &str| {
        let script = said(room.path(), &["trace", file, "--format", "python"]);
        fs::write(room.path().join("script.py"), script).unwrap();
        let dump =
            "import ast; print(ast.dump(ast.Module(ast.parse(open('script.py').read()).body[1:], [])))";
        let done = Command::new("python3").args(["-c", dump]).current_dir(room.path()).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    for number in 0..LESSONS {
        assert_eq!(tree(&file(number)), tree("tame.yaml"));
    }
}

#[test]
fn the_names_in_an_archive_are_those_of_steps() {
    let room = room();
    said(room.path(), &["trace", &file(0), "--format", "npz", "--output", "out.npz"]);
    for (name, _) in mha::arrays::read_all(&room.path().join("out.npz")).unwrap() {
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{name}");
    }
}

/// A tiny BERT in a folder of a hostile name, whose vocabulary means harm from its 11th token on.
fn model() -> TempDir {
    let room = tempfile::tempdir().unwrap();
    let folder = room.path().join(NAME);
    fs::create_dir(&folder).unwrap();
    let right = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/models/bert-tiny");
    for file in ["config.json", "model.safetensors"] {
        fs::copy(right.join(file), folder.join(file)).unwrap();
    }
    let mut tokenizer: Value =
        serde_json::from_slice(&fs::read(right.join("tokenizer.json")).unwrap()).unwrap();
    let mut words: Vec<(String, u64)> = tokenizer["model"]["vocab"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(word, id)| (word.clone(), id.as_u64().unwrap()))
        .collect();
    for (word, id) in &mut words {
        if let Some(piece) = id.checked_sub(10).and_then(|at| PIECES.get(usize::try_from(at).unwrap())) {
            *word = format!("{piece}{}", if piece.len() == 1 { "!" } else { "" });
        }
    }
    tokenizer["model"]["vocab"] = words.into_iter().map(|(word, id)| (word, Value::from(id))).collect();
    fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    room
}

#[test]
fn a_model_of_hostile_tokens() {
    let room = model();
    let all: Vec<String> = (10..10 + PIECES.len()).map(|id| id.to_string()).collect();
    for ids in all.chunks(2 * TOKENS) {
        let ids = ids.join(",");
        let requests: [(&str, Judge); 18] = [
            ("trace --steps weights", judges::plain),
            ("compare", judges::plain),
            ("heads --no-claims", judges::plain),
            ("ablate --head 1 --layer 1 --mask 2", judges::plain),
            ("trace --format heatmap --color always", judges::coloured),
            ("heads --no-claims --color always", judges::coloured),
            ("trace --steps weights --format json", judges::data),
            ("compare --format json", judges::data),
            ("heads --format json", judges::data),
            ("ablate --head 1 --layer 1 --mask 2 --format json", judges::data),
            ("trace --steps weights --format csv", judges::csv),
            ("heads --format csv", judges::csv),
            ("ablate --head 1 --layer 1 --mask 2 --format csv", judges::csv),
            ("trace --steps weights --format html", judges::html),
            ("heads --no-claims --format html", judges::html),
            ("trace --steps weights --format svg", judges::svg),
            ("trace --steps weights --format markdown", judges::markdown),
            ("trace --steps weights --format latex", judges::latex),
        ];
        for (request, judge) in requests {
            let args: Vec<&str> = request.split(' ').chain(["--model", NAME, "--tokens", &ids]).collect();
            judge(&said(room.path(), &args), &format!("mha {args:?}"));
        }
    }
}

/// A file of weights with nothing in them but names.
fn names_as_weights(path: &Path) {
    let mut header = serde_json::Map::new();
    for (at, piece) in PIECES.iter().enumerate() {
        let (from, to) = (4 * at, 4 * at + 4);
        header.insert(
            (*piece).to_owned(),
            json!({"dtype": "F32", "shape": [1, 1], "data_offsets": [from, to]}),
        );
    }
    header.insert("__metadata__".to_owned(), json!({PIECES[0]: PIECES[1], "format": "pt"}));
    let header = Value::Object(header).to_string();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.resize(bytes.len() + 4 * PIECES.len(), 0);
    fs::write(path, bytes).unwrap();
}

#[test]
fn names_of_tensors_and_folders_in_a_count() {
    let room = model();
    let weights = format!("{NAME}.safetensors");
    names_as_weights(&room.path().join(&weights));
    for (source, more) in
        [(NAME, ""), (NAME, "--tensors"), (NAME, "--explain all"), (weights.as_str(), "--tensors")]
    {
        for format in ["table", "json", "csv", "markdown"] {
            let args: Vec<&str> = ["params", source, "--format", format]
                .into_iter()
                .chain(more.split_terminator(' '))
                .collect();
            let (text, what) = (said(room.path(), &args), format!("mha {args:?}"));
            match format {
                "json" => judges::data(&text, &what),
                "csv" => judges::csv(&text, &what),
                "markdown" => judges::markdown(&text, &what),
                _ => judges::plain(&text, &what),
            }
        }
    }
}

/// Arrays of hostile names beside one that is right.
#[test]
fn names_of_arrays_in_a_check() {
    let room = tempfile::tempdir().unwrap();
    let mut arrays = serde_json::Map::new();
    for piece in PIECES {
        arrays.insert((*piece).to_owned(), json!([[1.0]]));
        arrays.insert(format!("head.1.{piece}"), json!([[1.0]]));
    }
    arrays.insert("q".to_owned(), json!([[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]]));
    let file = format!("{NAME}.json");
    fs::write(room.path().join(&file), Value::Object(arrays).to_string()).unwrap();
    let weights = format!("{NAME}.safetensors");
    names_as_weights(&room.path().join(&weights));
    for args in [vec!["check", "two-heads", &file], vec!["check", "--against", &file, &file]] {
        for format in ["table", "json", "markdown"] {
            let args = [args.as_slice(), &["--format", format]].concat();
            let (text, what) = (said(room.path(), &args), format!("mha {args:?}"));
            match format {
                "json" => judges::data(&text, &what),
                "markdown" => judges::markdown(&text, &what),
                _ => judges::plain(&text, &what),
            }
        }
    }
    let refused = run::run(room.path(), &["check", "two-heads", &weights]);
    judges::plain(&(refused.out + &refused.err), "names of tensors that no step has");
}

/// Whatever is typed, and whatever a file is called that cannot be read: what is told of it obeys nothing.
#[test]
fn what_is_typed_and_what_is_refused() {
    let room = tempfile::tempdir().unwrap();
    let all: String = PIECES.iter().filter(|piece| !piece.contains('\0')).copied().collect();
    let broken = format!("{NAME}.json");
    fs::write(
        room.path().join(&broken),
        format!("{{\"{}\": nope, \"\u{9b}\": 1", all.replace(['"', '\\'], "")),
    )
    .unwrap();
    let table = format!("{NAME}.csv");
    fs::write(room.path().join(&table), format!("1,{}\n", all.replace([',', '"', '\n', '\r'], ""))).unwrap();
    for text in [all.as_str(), NAME, "-\u{9b}31m"] {
        let requests: [&[&str]; 22] = [
            &["trace", text],
            &["trace", "--steps", text],
            &["trace", "--explain", text],
            &["trace", "--mistake", text],
            &["trace", "--format", text],
            &["trace", "--heads", text],
            &["trace", "--model", text, "--text", "a"],
            &["trace", "--model", "induction", "--text", text],
            &["trace", "--model", "induction", "--tokens", text],
            &["compare", "--variants", text],
            &["check", "two-heads", text],
            &["check", "two-heads", &broken, "--map", text],
            &["check", "two-heads", &table],
            &["ablate", "--heads", text],
            &["params", text],
            &["params", &broken],
            &["params", "bert-base", "--explain", text],
            &["mistakes", text],
            &["learn", text],
            &["lessons", "render", text, "--output", text],
            &["worksheet", text],
            &[text],
        ];
        for args in requests {
            let run = run::run(room.path(), args);
            let what = format!("mha {args:?}");
            assert!(run.status.is_some_and(|status| status <= 2), "{what}: {}", run.err);
            judges::plain(&run.out, &what);
            judges::plain(&run.err, &what);
        }
    }
    // What stands in braces is a number of the lesson.
    let titles: Vec<&str> =
        PIECES.iter().filter(|piece| !piece.contains(['\0', '{', '}'])).copied().collect();
    for title in titles.chunks(8).map(<[&str]>::concat) {
        let draft = said(room.path(), &["lessons", "new", &format!("--title={title}")]);
        judges::quiet(&draft, "a new lesson");
        let read: serde_yaml::Value = serde_yaml::from_str(&draft).unwrap();
        assert_eq!(read["title"].as_str(), Some(title.as_str()));
    }
}
