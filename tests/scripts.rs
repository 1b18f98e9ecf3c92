//! Scripts and notebooks: what they say, what they refuse, and (with Python at hand) that they run and agree.
//!
//! The tests that need Python are ignored; they use the `python3` of the environment variable `MHA_PYTHON`, with numpy,
//! torch, nbformat, nbclient and ipykernel: `cargo test --test scripts -- --ignored`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

#[path = "common/case.rs"]
#[expect(dead_code, reason = "only the lessons of the cases are needed here")]
mod case;
#[path = "common/run.rs"]
#[expect(dead_code, reason = "no shell is needed here")]
mod run;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// The lessons that come with `mha`, but for stacks of layers, which are no script.
fn built_in() -> impl Iterator<Item = &'static str> {
    use mha::lesson::{Options, builtin};
    let one_call =
        |lesson: &&builtin::Builtin| builtin::load(lesson, &Options::default()).unwrap().layers.is_none();
    builtin::all().iter().filter(one_call).map(|lesson| lesson.name)
}

/// The lessons of `tests/scripts`, by path.
fn lessons() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut lessons: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "yaml"))
        .collect();
    lessons.sort();
    assert!(lessons.len() > 10);
    lessons
}

/// `tests/scripts/NAME.yaml`.
fn own(name: &str) -> String {
    format!("{}/tests/scripts/{name}.yaml", env!("CARGO_MANIFEST_DIR"))
}

#[track_caller]
fn said(folder: &Path, args: &[&str]) -> String {
    let run = run::run(folder, args);
    let is_fine = run.status == Some(0) && (run.err.is_empty() || run.err.starts_with("note: "));
    assert!(is_fine, "mha {}: {}", args.join(" "), run.err);
    run.out
}

#[track_caller]
fn script(lesson: &str, with: &str) -> String {
    said(Path::new("."), &["trace", lesson, "--format", "python", "--with", with])
}

#[track_caller]
fn refused(args: &[&str], what: &str) {
    let run = run::run(Path::new("."), args);
    assert_eq!(run.status, Some(2), "mha {}", args.join(" "));
    assert!(run.err.starts_with(&format!("error: {what}")), "{}", run.err);
}

/// The lines of attention itself, without numbers, as a textbook has them.
#[test]
fn the_worked_example_reads_as_the_paper_does() {
    let steps = |script: &str| -> Vec<String> {
        let names = ["q", "q_heads", "scores", "weights", "heads", "concat", "output"];
        let is_step = |line: &&str| names.iter().any(|name| line.starts_with(&format!("{name} = ")));
        script.lines().filter(is_step).map(str::to_owned).collect()
    };
    assert_eq!(
        steps(&script("two-heads", "numpy")),
        [
            "q = x @ w_q  # 3 queries × 4",
            "q_heads = split_heads(q, num_heads)  # 2 heads × 3 queries × 2",
            "scores = q_heads @ k_heads.swapaxes(-1, -2) / np.sqrt(d_k)  # 2 heads × 3 queries × 3 keys",
            "weights = softmax(scores)  # 2 heads × 3 queries × 3 keys",
            "heads = weights @ v_heads  # 2 heads × 3 queries × 2",
            "concat = heads.swapaxes(-3, -2).reshape(*q.shape[:-1], -1)  # 3 queries × 4",
            "output = concat @ w_o  # 3 queries × 4",
        ]
    );
    assert_eq!(
        steps(&script("two-heads", "pytorch")),
        [
            "q = x @ w_q  # 3 queries × 4",
            "q_heads = split_heads(q, num_heads)  # 2 heads × 3 queries × 2",
            "scores = q_heads @ k_heads.transpose(-1, -2) / d_k**0.5  # 2 heads × 3 queries × 3 keys",
            "weights = torch.softmax(scores, dim=-1)  # 2 heads × 3 queries × 3 keys",
            "heads = weights @ v_heads  # 2 heads × 3 queries × 2",
            "concat = heads.transpose(-3, -2).flatten(-2)  # 3 queries × 4",
            "output = concat @ w_o  # 3 queries × 4",
        ]
    );
}

/// By hand: head 2's third row of scores is zero, so its weights are a third each; e^(1/√2) is 2.0281, and
/// 2.0281 / (2.0281 + 1 + 1) = 0.503490.
#[test]
fn what_is_expected_stands_beside_each_step() {
    let script = script("two-heads", "numpy");
    assert!(
        script.contains("w_q = np.eye(4)  # 4 × 4\n") && script.contains("    [1, 0, 1, 0],  # a\n"),
        "{script}"
    );
    assert!(script.contains("[0.333333, 0.333333, 0.333333]],\n"), "{script}");
    assert!(script.contains("    [[0.50349, 0.248255, 0.248255], "), "{script}");
}

/// Nothing that a lesson does not use: no mask, no rotation, no second library.
#[test]
fn a_script_has_only_what_its_lesson_needs() {
    let plain = script("two-heads", "numpy");
    for word in ["mask", "rope", "rms_norm", "torch", "group", "inf", "trace[", "n_q", "sinks"] {
        assert!(!plain.contains(word), "{word}: {plain}");
    }
    assert!(plain.lines().count() < 100, "{plain}");
    let rotated = script(&own("rope-listed"), "numpy");
    assert!(rotated.contains("q_rot = rope(q_norm, np.array([0, 2.5, 7]))"), "{rotated}");
    assert!(rotated.contains("k_rot = rope(k_norm, np.arange(2, 5))"), "{rotated}");
}

/// The names in the saved file are those of `--format npz`, whatever the lesson has.
#[test]
fn every_array_of_the_npz_file_is_saved_under_its_name() {
    let room = tempfile::tempdir().unwrap();
    let own = lessons().into_iter().map(|path| path.to_str().unwrap().to_owned());
    for lesson in own.chain(built_in().map(str::to_owned)) {
        let lesson = lesson.as_str();
        said(room.path(), &["trace", lesson, "--format", "npz", "--force", "-o", "t.npz"]);
        let arrays = mha::arrays::read_all(&room.path().join("t.npz")).unwrap();
        for with in ["numpy", "pytorch"] {
            let script = script(lesson, with);
            let (_, saved) = script.split_once("\"answers.npz\",").unwrap();
            let items = saved.trim_end().trim_end_matches(')').trim().split(['\n', ' ']);
            let names: Vec<&str> = items.filter_map(|item| Some(item.split_once('=')?.0)).collect();
            let wanted: Vec<&str> = arrays.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, wanted, "{lesson} with {with}");
        }
    }
}

/// 40 tokens of 16 numbers and their scores are no pleasure to read: they come from a file, and both the script's first
/// lines and standard error say how to make it.
#[test]
fn many_numbers_are_read_from_a_file_that_the_script_names() {
    let folder = tempfile::tempdir().unwrap();
    let lesson = "attention: {d_model: 16, num_heads: 2}\ninputs: {x: {random: {seed: 1, shape: [40, 16]}}}\n\
                  projections: {w_q: identity, w_k: identity, w_v: identity, w_o: identity}\n";
    fs::write(folder.path().join("forty.yaml"), lesson).unwrap();
    let run = run::run(folder.path(), &["trace", "forty.yaml", "--format", "python"]);
    let making = "mha trace forty.yaml --format npz --output inputs.npz\n";
    assert!(run.out.contains(&format!("\n    {making}\"\"\"\n")), "{}", run.out);
    assert!(run.out.contains("trace = np.load(\"inputs.npz\")"), "{}", run.out);
    assert!(run.out.contains("check(\"weights\", weights, trace[\"weights\"])"), "{}", run.out);
    assert!(run.err.ends_with(making), "{}", run.err);
    assert!(!script("telltale", "numpy").contains("inputs.npz"));
}

/// The command is one that a person can copy, whatever the file is called; a line break in it is shown.
#[test]
fn the_path_of_a_lesson_is_quoted_for_a_shell_and_for_python() {
    let room = tempfile::tempdir().unwrap();
    for (name, quoted) in [
        ("it's $(here).yaml", "\"it's \"'$(here).yaml'"),
        ("a b.yaml", "'a b.yaml'"),
        ("-x.yaml", "./-x.yaml"),
        ("\"\"\"\nimport os #.yaml", "'\\\"\\\"\"\\\\nimport os #.yaml'"),
    ] {
        fs::copy(own("tall"), room.path().join(name)).unwrap();
        let run = run::run(room.path(), &["trace", "--format", "python", "--", name]);
        assert_eq!(run.status, Some(0), "{name}: {}", run.err);
        assert!(run.out.contains(&format!("\n    mha trace {quoted} --format python")), "{}", run.out);
    }
}

/// Words of a lesson stay inside the docstring or behind a `#`: no line of code starts with them.
#[test]
fn hostile_words_are_shown_and_never_run() {
    for with in ["numpy", "pytorch"] {
        let script = script(&own("hostile"), with);
        let (head, code) = script.strip_prefix("\"\"\"").unwrap().split_once("\n\"\"\"\n").unwrap();
        assert!(head.contains("open('owned', 'w')"), "{head}");
        assert!(!head.replace("\\\\", "").replace("\\\"", "").contains("\"\""), "{head}");
        assert_eq!(code.matches("owned").count(), 2, "{code}");
        assert!(
            code.lines().filter(|line| line.contains("owned")).all(|line| line.contains("],  # \\")),
            "{code}"
        );
    }
    let notebook: Value =
        serde_json::from_str(&said(Path::new("."), &["trace", &own("hostile"), "--format", "ipynb"]))
            .unwrap();
    // A bracket behind a backslash is a bracket.
    let prose = cells(&notebook, "markdown").concat().replace("\\]", "");
    for mark in ["<", "![", "](", "```\n", "\n# no heading", "http://", "$x"] {
        assert!(!prose.replace("<code>", "").replace("</code>", "").contains(mark), "{mark}: {prose}");
    }
}

/// The text of a notebook's cells of a kind.
fn cells(notebook: &Value, kind: &str) -> Vec<String> {
    let cells = notebook["cells"].as_array().unwrap().iter().filter(|cell| cell["cell_type"] == kind);
    let lines =
        |cell: &Value| cell["source"].as_array().unwrap().iter().map(|l| l.as_str().unwrap()).collect();
    cells.map(lines).collect()
}

#[test]
fn a_notebook_tells_computes_and_compares_each_step() {
    let text = said(Path::new("."), &["trace", "two-heads", "--format", "ipynb"]);
    let notebook: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&notebook["nbformat"], &notebook["nbformat_minor"]), (&4.into(), &5.into()));
    let all = notebook["cells"].as_array().unwrap();
    let at = all.iter().position(|cell| cell["id"] == "weights").unwrap();
    let [prose, code, check] = [0, 1, 2].map(|next| all[at + next]["source"].to_string());
    assert!(prose.contains("## `weights`: attention weights, head by head"), "{prose}");
    assert!(
        prose.contains(r"A_1 = \\mathrm{softmax}(S_1)") && prose.contains("And likewise for every head."),
        "{prose}"
    );
    assert!(
        prose.contains("Head 2: Every row sums to 1.") && prose.contains("> The softmax turns"),
        "{prose}"
    );
    assert!(
        code.contains("weights = softmax(scores)") && check.contains("check(\\\"weights\\\""),
        "{code}{check}"
    );
    assert!(all.iter().all(|cell| cell["outputs"].as_array().is_none_or(Vec::is_empty)));
    let script = script("two-heads", "numpy");
    for code in cells(&notebook, "code").iter().skip(1) {
        assert!(script.contains(code.as_str()), "the script has the same lines: {code}");
    }
}

/// The formulas of a notebook, as they stand between its dollars.
fn formulas(lesson: &str) -> Vec<String> {
    let notebook: Value =
        serde_json::from_str(&said(Path::new("."), &["trace", lesson, "--format", "ipynb"])).unwrap();
    let of_cell = |cell: String| Some(cell.split_once("$$\n")?.1.split_once("\n$$")?.0.to_owned());
    cells(&notebook, "markdown").into_iter().filter_map(of_cell).collect()
}

/// Every lesson there is: those that come with mha and those of `tests/scripts`.
fn all_lessons() -> Vec<String> {
    let own = lessons().into_iter().map(|path| path.to_str().unwrap().to_owned());
    built_in().map(str::to_owned).chain(own).collect()
}

/// What stands raised twice, `Q^{r}^\top`, is an error to TeX and to MathJax; GitHub refuses `\operatorname`.
fn is_raised_twice(formula: &str) -> bool {
    let letters: Vec<char> = formula.chars().collect();
    letters.iter().enumerate().filter(|(_, c)| **c == '^').any(|(at, _)| {
        let mut rest = &letters[at + 1..];
        let mut depth = 0;
        // One letter, or all that stands inside braces.
        while let [c, after @ ..] = rest {
            depth += i32::from(*c == '{') - i32::from(*c == '}');
            rest = after;
            if depth == 0 {
                break;
            }
        }
        rest.first() == Some(&'^')
    })
}

#[test]
fn the_formulas_of_notebooks_are_ones_that_renderers_take() {
    assert!(is_raised_twice(r"K_i^{rot}^\top") && is_raised_twice("a^2^2"));
    assert!(!is_raised_twice(r"K_1^{\mathrm{r}\top}Q^2"));
    for lesson in all_lessons() {
        let formulas = formulas(&lesson);
        assert!(formulas.len() > 6, "{lesson}");
        for formula in formulas {
            assert!(!is_raised_twice(&formula) && !formula.contains("operatorname"), "{lesson}: {formula}");
        }
    }
}

/// In the plan's own signs: `r` is for what is rotated, `n` for what is normalised, `m` for what is masked.
#[test]
fn a_notebook_writes_the_formula_of_a_head_as_the_trace_does() {
    let rotated = formulas(&own("rope-listed"));
    let scores = r"S_1 = \frac{Q_1^{\mathrm{r}}K_1^{\mathrm{r}\top}}{\sqrt{d_k}}";
    assert!(rotated.iter().any(|formula| formula == scores), "{rotated:?}");
    // Only head 2 has a mask: its formula says more than head 1's.
    let masked = formulas(&own("masks-of-head-2"));
    assert!(
        masked
            .iter()
            .any(|formula| formula == r"A_2 = \mathrm{softmax}(S_2^{\mathrm{m}}),\text{ row by row}"),
        "{masked:?}"
    );
}

#[test]
#[ignore = "needs pdflatex: apt-get install texlive-latex-base"]
fn the_formulas_of_notebooks_compile() {
    let room = tempfile::tempdir().unwrap();
    let all: String = all_lessons()
        .iter()
        .flat_map(|lesson| formulas(lesson))
        .map(|formula| format!("\\[\n{formula}\n\\]\n"))
        .collect();
    let page = format!(
        "\\documentclass{{article}}\\usepackage{{amsmath}}\\begin{{document}}\n{all}\\end{{document}}\n"
    );
    fs::write(room.path().join("page.tex"), page).unwrap();
    let mut pdflatex = Command::new("pdflatex");
    pdflatex.args(["-halt-on-error", "-interaction=nonstopmode", "-no-shell-escape", "page.tex"]);
    let done = pdflatex.current_dir(room.path()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
}

#[test]
fn one_sequence_of_a_batch_has_no_batch_axis() {
    let one = said(Path::new("."), &["trace", &own("batch"), "--format", "python", "--sequence", "2"]);
    assert!(
        one.contains("\n    mha trace ") && one.contains("batch.yaml --sequence 2 --format python"),
        "{one}"
    );
    assert!(one.contains("  # 2 heads × 3 queries × 3 keys") && !one.contains("2 sequences"), "{one}");
    assert!(one.contains("real = np.array([1, 0, 1], dtype=bool)[None, :]"), "{one}");
    let all = script(&own("batch"), "numpy");
    assert!(all.contains("  # 2 sequences × 2 heads × 3 queries × 3 keys"), "{all}");
    assert!(all.contains("real = np.array([[1, 1, 1], [1, 0, 1]], dtype=bool)[:, None, None, :]"), "{all}");
}

#[test]
fn ascii_programs_hold_nothing_but_ascii() {
    for lesson in built_in() {
        for format in ["python", "ipynb"] {
            let text = said(Path::new("."), &["trace", lesson, "--format", format, "--ascii"]);
            assert!(text.is_ascii(), "{lesson}: {:?}", text.lines().find(|line| !line.is_ascii()));
        }
    }
}

#[test]
fn what_a_program_cannot_heed_is_refused() {
    let two = |args: &[&'static str]| [&["trace"], args].concat();
    refused(&two(&["--with", "numpy"]), "--with names the library of a script, and none is asked for");
    refused(&two(&["--with", "pytorch", "--format", "ipynb"]), "a notebook computes with NumPy");
    refused(&two(&["--format", "python", "--steps", "scores"]), "a script holds every step");
    refused(&two(&["--format", "ipynb", "--heads", "1"]), "a notebook computes all heads at once");
    refused(&two(&["--format", "python", "--layout", "columns"]), "a script has tokens in rows");
    let jax = run::run(Path::new("."), &two(&["--format", "python", "--with", "jax"]));
    assert!(jax.status == Some(2) && jax.err.contains("numpy, pytorch"), "{}", jax.err);
}

/// Runs Python in a folder.
fn python(folder: &Path, args: &[&str]) -> Output {
    let program = std::env::var("MHA_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    Command::new(program).args(args).current_dir(folder).output().unwrap()
}

/// Writes the programs of a lesson, and its arrays, into a folder of its own.
fn write_programs(room: &Path, name: &str, lesson: &str, more: &[&str], notebook: bool) {
    let folder = room.join(name);
    fs::create_dir(&folder).unwrap();
    let mut formats = vec![
        ("inputs.npz", vec!["--format", "npz"]),
        ("with_numpy.py", vec!["--format", "python"]),
        ("with_pytorch.py", vec!["--format", "python", "--with", "pytorch"]),
    ];
    if notebook {
        formats.push(("notebook.ipynb", vec!["--format", "ipynb"]));
    }
    for (file, format) in formats {
        said(&folder, &[&["trace", lesson, "--allow-outside", "-o", file], &format[..], more].concat());
    }
}

/// Runs everything that was written; what fails is listed with its folder.
#[track_caller]
fn all_run(room: &Path) {
    let mut folders: Vec<String> =
        fs::read_dir(room).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    folders.sort();
    let driver = format!("{}/tests/scripts/run.py", env!("CARGO_MANIFEST_DIR"));
    let args: Vec<&str> =
        std::iter::once(driver.as_str()).chain(folders.iter().map(String::as_str)).collect();
    let output = python(room, &args);
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
#[ignore = "needs Python with NumPy, PyTorch, nbformat, nbclient and ipykernel; .ci/run installs them"]
fn programs_run_and_save_what_the_trace_holds() {
    let room = tempfile::tempdir().unwrap();
    for lesson in built_in() {
        write_programs(room.path(), lesson, lesson, &[], true);
    }
    for path in lessons() {
        let name = path.file_stem().unwrap().to_str().unwrap();
        write_programs(room.path(), name, path.to_str().unwrap(), &[], true);
    }
    for sequence in ["1", "2"] {
        let name = format!("batch-{sequence}");
        write_programs(room.path(), &name, &own("batch"), &["--sequence", sequence], false);
    }
    write_programs(room.path(), "ascii", &own("hostile"), &["--ascii"], true);
    all_run(room.path());
    assert!(!room.path().join("hostile/owned").exists());
}

/// The 145 lessons whose numbers other implementations computed.
#[test]
#[ignore = "needs Python with NumPy and PyTorch; .ci/run installs them"]
fn scripts_of_every_reference_variant_run() {
    let room = tempfile::tempdir().unwrap();
    let texts = tempfile::tempdir().unwrap();
    for case in case::Case::all("variants") {
        let lesson = texts.path().join(format!("{}.yaml", case.name));
        fs::write(&lesson, case.lesson(&case.own_projections())).unwrap();
        write_programs(room.path(), &case.name, lesson.to_str().unwrap(), &[], false);
    }
    all_run(room.path());
}

/// A hand-made mask of 21 × 21 flags is not typed again: it is read off the masked scores.
#[test]
#[ignore = "needs Python with NumPy and PyTorch; .ci/run installs them"]
fn scripts_with_large_masks_run() {
    let room = tempfile::tempdir().unwrap();
    let rows = |cell: &dyn Fn(usize, usize) -> String| {
        let row = |r| format!("[{}]", (0..21).map(|c| cell(r, c)).collect::<Vec<_>>().join(", "));
        format!("[{}]", (0..21).map(row).collect::<Vec<_>>().join(", "))
    };
    let allow = rows(&|r, c| ((r * 7 + c * 5) % 3 != 0 || r == c).to_string());
    let add =
        rows(&|r, c| if (r + 2 * c) % 5 == 1 { "-.inf".to_owned() } else { format!("{}.5", r * c % 4) });
    let lesson = |mask: &str, positions: &str| {
        format!(
            "attention: {{d_model: 4, num_heads: 2, positions: {positions}, mask: [{mask}]}}\n\
             inputs: {{x: {{random: {{seed: 1, shape: [21, 4]}}}}}}\n\
             projections: {{w_q: {{random: {{seed: 2}}}}, w_k: identity, w_v: identity, w_o: none}}\n"
        )
    };
    for (name, mask, positions) in [
        ("allow", format!("causal, {{allow: {allow}}}"), "none"),
        ("add", format!("{{add: {add}}}"), "none"),
        ("add-alibi", format!("{{add: {add}}}"), "alibi"),
        ("add-in-one-head", format!("{{add: [{}, {add}]}}", rows(&|_, _| "0".to_owned())), "none"),
        ("add-hides-in-one-head", format!("{{add: [{}, {add}]}}", rows(&|_, _| "2".to_owned())), "alibi"),
    ] {
        let path = room.path().join("lesson.yaml");
        fs::write(&path, lesson(&mask, positions)).unwrap();
        write_programs(room.path(), name, path.to_str().unwrap(), &[], false);
        fs::remove_file(path).unwrap();
    }
    all_run(room.path());
}

/// A learner's slip, and the step that has to be named for it.
#[test]
#[ignore = "needs Python with NumPy and PyTorch; .ci/run installs them"]
fn a_line_that_is_changed_is_found_by_the_step_it_breaks() {
    let room = tempfile::tempdir().unwrap();
    for (lesson, with, right, wrong, told) in [
        ("two-heads", "numpy", " / np.sqrt(d_k)", "", "scores[0, 2, 2] is 2.0, expected 1.414214;"),
        ("two-heads", "pytorch", " / d_k**0.5", " / d_k", "scores[0, 2, 2] is 1.0, expected 1.414214;"),
        ("two-heads", "numpy", "q = x @ w_q", "q = 2 * x @ w_q", "q[0, 0] is 2.0, expected 1.0;"),
        (
            "two-heads",
            "numpy",
            "0.333333, 0.333333, 0.333333]],",
            "0.3, 0.4, 0.3]],",
            "weights[1, 2, 1] is 0.33",
        ),
        ("two-heads", "numpy", "w_o = np.eye(4)", "w_o = np.eye(5)", "matmul"),
        ("two-heads", "numpy", "swapaxes(-3, -2).reshape(*q", "reshape(*q", "concat["),
        ("masks", "numpy", "causal & real & allowed", "causal & allowed", "masked_scores[0, 3, 3] is 0.7"),
        ("masks", "pytorch", "torch.tril(", "torch.triu(", "masked_scores["),
        (
            "telltale",
            "pytorch",
            "k_heads.repeat_interleave(group, dim=-3)",
            "k_heads.repeat(2, 1, 1)",
            "scores[1, ",
        ),
        ("telltale", "numpy", "concat @ w_o + b_o", "concat @ w_o", "output["),
        ("telltale", "pytorch", "attn_mask=mask, ", "", "the fused call["),
    ] {
        let text = script(lesson, with);
        assert_eq!(text.matches(right).count(), 1, "{lesson}: {right}");
        fs::write(room.path().join("wrong.py"), text.replace(right, wrong)).unwrap();
        said(room.path(), &["trace", lesson, "--format", "npz", "--force", "-o", "inputs.npz"]);
        let output = python(room.path(), &["wrong.py"]);
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && err.contains(told), "{lesson}, {wrong:?}: {err}");
        assert!(!room.path().join("answers.npz").exists());
    }
}
