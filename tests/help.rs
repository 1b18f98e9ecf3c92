//! Help is true: every example of a command and of a topic runs, the lists of the topics are those of the program, and
//! both languages say the same.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

#[path = "common/run.rs"]
mod run;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use clap::{Command, CommandFactory};
use mha::plan::rewrites::VARIANTS;
use mha::plan::{EmbedStep, FfnStep, HeadStep, Stack};
use run::{ended, run, shell};
use unicode_width::UnicodeWidthStr;

const TOPICS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/cli/topics");

/// The names of all topics.
fn topics() -> Vec<String> {
    let names = fs::read_dir(TOPICS).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut topics: Vec<String> =
        names.filter_map(|name| name.strip_suffix(".en.md").map(str::to_owned)).collect();
    topics.sort();
    topics
}

fn text(topic: &str, language: &str) -> String {
    fs::read_to_string(format!("{TOPICS}/{topic}.{language}.md")).unwrap()
}

/// The examples of a topic: lines that are indented by four blanks, without what they are for.
fn examples(text: &str) -> Vec<String> {
    let indented = text.lines().filter_map(|line| line.strip_prefix("    "));
    indented.map(|line| line.split(" # ").next().unwrap().trim().to_owned()).collect()
}

/// What stands before the dash in the lists of a topic.
fn names(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| Some(line.strip_prefix("- ")?.split_once(" — ")?.0)).collect()
}

/// The single words of those names: `q, k` is two.
fn words(topic: &str) -> BTreeSet<String> {
    let text = text(topic, "en");
    let split =
        names(&text).into_iter().flat_map(|names| names.split(", ").map(str::to_owned).collect::<Vec<_>>());
    split.collect()
}

/// The files that stand in fences: their names and what they hold.
fn files(text: &str) -> Vec<(&str, String)> {
    let mut files = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(opening) = line.strip_prefix("```") {
            let held: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            files.push((opening.split(' ').nth(1).unwrap(), held.join("\n") + "\n"));
        }
    }
    files
}

/// Runs a line as a person's shell does.
fn typed(line: &str, folder: &Path) -> run::Run {
    ended(&mut shell(&line.replacen("mha ", "\"$0\" ", 1), folder))
}

#[test]
fn every_example_of_a_topic_runs() {
    let mut count = 0;
    for topic in topics() {
        for language in ["en", "zh"] {
            let folder = tempfile::tempdir().unwrap();
            let text = text(&topic, language);
            for (name, held) in files(&text) {
                fs::write(folder.path().join(name), held).unwrap();
            }
            let examples = examples(&text);
            assert!(!examples.is_empty(), "{topic} has no example");
            // The Chinese page has the same commands: they are run once, but for what reads its own files.
            let again =
                |line: &String| language == "en" || files(&text).iter().any(|(name, _)| line.contains(name));
            for line in examples.iter().filter(|line| again(line)) {
                let run = typed(line, folder.path());
                assert_eq!(run.status, Some(0), "{topic}.{language}: {line}\n{}{}", run.out, run.err);
                assert!(!run.err.contains("warning"), "{topic}.{language}: {line}\n{}", run.err);
                count += 1;
            }
        }
    }
    assert!(count >= 40, "only {count} examples were found");
}

/// What examples name that is not there on every machine, and what stands for it here.
const STAND_INS: &[(&str, &str)] = &[
    ("DIR", "pronouns"),
    ("--layer 3", "--layer 2"),
    ("--head 5", "--head 2"),
    ("L2H4", "L1H1"),
    ("“…”", "\"it was tired\""),
    ("\"…\"", "\"it was tired\""),
    ("~/.local", "home"),
];

/// How examples end that are not run here, and why.
const NOT_RUN: &[(&str, &str)] = &[
    ("mha trace --interactive", "it wants a terminal; tests/stepper.rs gives it one"),
    ("mha lessons validate", "tests/lesson_pages.rs and others read all lessons, which takes seconds"),
    ("--all --output course", "tests/lesson_pages.rs renders all lessons, which takes seconds"),
    ("--all --lang zh --output 课程", "the same in Chinese"),
    ("mha completions fish | source", "it is typed into fish"),
    ("mha completions powershell | Out-String | Invoke-Expression", "it is typed into PowerShell"),
    ("port.npz", "tests/check_model.rs hands over the tensors of a model"),
];

/// The examples below the help page of a command and of those under it.
fn examples_of(command: &Command, found: &mut Vec<(String, String)>) {
    let below = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    for line in
        below.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| line.starts_with("mha "))
    {
        // Two blanks outside of quotes part a command from what it is for.
        let mut quote = None;
        let mut before = ' ';
        let end = line.char_indices().find_map(|(at, letter)| {
            match (letter, quote) {
                ('\'' | '"', None) => quote = Some(letter),
                (letter, Some(open)) if letter == open => quote = None,
                (' ', None) if before == ' ' => return Some(at),
                _ => {}
            }
            before = letter;
            None
        });
        let command_line = line[..end.unwrap_or(line.len())].trim();
        found.push((command.get_name().to_owned(), command_line.to_owned()));
    }
    for inner in command.get_subcommands() {
        examples_of(inner, found);
    }
}

/// A folder with everything that the examples of a command name.
fn furnished(verb: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let made = |line: &str| {
        let run = typed(line, folder.path());
        assert_eq!(run.status, Some(0), "{line}\n{}", run.err);
    };
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    match verb {
        "trace" => made("mha lessons show two-heads --output my-lesson.yaml"),
        "check" => {
            made("mha lessons show two-heads --output mine.yaml");
            for file in ["mine.npz", "theirs.npz"] {
                made(&format!("mha trace --format npz --output {file}"));
            }
            // Scores of the first lesson (1/√2 = 0.7071…), both heads one below the other.
            let json = run(folder.path(), &["trace", "--format", "json"]).out;
            let json: serde_json::Value = serde_json::from_str(&json).unwrap();
            let mut lines = String::new();
            for step in json["steps"].as_array().unwrap() {
                if step["id"].as_str().unwrap().ends_with(".scores") {
                    for row in step["value"].as_array().unwrap() {
                        let cells: Vec<String> =
                            row.as_array().unwrap().iter().map(ToString::to_string).collect();
                        lines.push_str(&format!("{}\n", cells.join(",")));
                    }
                }
            }
            fs::write(at("step.csv"), lines).unwrap();
            let json = run(folder.path(), &["trace", "masks", "--format", "json"]).out;
            let json: serde_json::Value = serde_json::from_str(&json).unwrap();
            for (name, ending) in [("weights.npy", ".weights"), ("output.npy", "output")] {
                let is_meant =
                    |id: &str| if ending == "output" { id == "output" } else { id.ends_with(ending) };
                let steps: Vec<_> = json["steps"].as_array().unwrap().iter().collect();
                let values: Vec<&serde_json::Value> = steps
                    .iter()
                    .filter(|step| is_meant(step["id"].as_str().unwrap()))
                    .map(|step| &step["value"])
                    .collect();
                npy(&at(name), &values);
            }
        }
        "params" => {
            let (there, here) = (tests.join("models/llama-llama3"), at("path/to/folder"));
            fs::create_dir_all(&here).unwrap();
            for name in ["config.json", "model.safetensors"] {
                fs::copy(there.join(name), here.join(name)).unwrap();
            }
            fs::copy(there.join("config.json"), at("path/to/config.json")).unwrap();
            fs::copy(tests.join("reference/gguf/llama.gguf"), at("model.gguf")).unwrap();
        }
        "heads" => fs::write(at("lines.txt"), "it was tired\nit was wide\n").unwrap(),
        "learn" => made("mha lessons show two-heads --output mine.yaml"),
        "worksheet" => made("mha worksheet random:7 --format yaml --key --output mine.yaml"),
        "render" => made("mha lessons show two-heads --output mine.yaml"),
        _ => {}
    }
    folder
}

/// Matrices of one shape, one after the other, as NumPy saves them.
fn npy(path: &Path, values: &[&serde_json::Value]) {
    let rows = values[0].as_array().unwrap().len();
    let columns = values[0][0].as_array().unwrap().len();
    let shape = match values.len() {
        1 => format!("({rows}, {columns})"),
        heads => format!("({heads}, {rows}, {columns})"),
    };
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    bytes.extend(header.as_bytes());
    for row in values.iter().flat_map(|value| value.as_array().unwrap()) {
        for cell in row.as_array().unwrap() {
            bytes.extend(cell.as_f64().unwrap().to_le_bytes());
        }
    }
    fs::write(path, bytes).unwrap();
}

#[test]
fn every_example_of_a_command_runs() {
    let mut found = Vec::new();
    examples_of(&mha::cli::Cli::command(), &mut found);
    assert!(found.len() >= 60, "only {} examples were found", found.len());
    let mut folder = furnished("mha");
    let mut last = String::new();
    let mut failed = Vec::new();
    for (verb, line) in &found {
        if *verb != last {
            folder = furnished(verb);
            last.clone_from(verb);
        }
        if verb == "mha" && line.contains("mine.npz") {
            assert_eq!(typed("mha trace --format npz --output mine.npz", folder.path()).status, Some(0));
        }
        if NOT_RUN.iter().any(|(end, _)| line.ends_with(end)) {
            continue;
        }
        if line.starts_with("mha lessons new mine.yaml") && folder.path().join("mine.yaml").exists() {
            fs::remove_file(folder.path().join("mine.yaml")).unwrap();
        }
        let line = STAND_INS.iter().fold(line.clone(), |line, (there, here)| line.replace(there, here));
        let run = typed(&line, folder.path());
        if run.status != Some(0) {
            failed.push(format!("{verb}: {line}\n{:?} {}", run.status, run.err));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn both_languages_have_the_same_names_examples_and_headings() {
    for topic in topics() {
        let (english, chinese) = (text(&topic, "en"), text(&topic, "zh"));
        assert_eq!(examples(&english), examples(&chinese), "{topic}");
        // What is typed stays as it is; words about it (`a folder`) are translated.
        let is_chinese = |name: &str| name.chars().any(|letter| ('\u{4e00}'..='\u{9fff}').contains(&letter));
        assert_eq!(names(&english).len(), names(&chinese).len(), "{topic}");
        for (name, chinese) in names(&english).iter().zip(names(&chinese)) {
            assert!(*name == chinese || is_chinese(chinese), "{topic}: {name:?} and {chinese:?}");
        }
        let count = |text: &str, start: &str| text.lines().filter(|line| line.starts_with(start)).count();
        for start in ["# ", "## ", "also: ", "```"] {
            assert_eq!(count(&english, start), count(&chinese, start), "{topic}: {start}");
        }
        let also = |text: &str| text.lines().find(|line| line.starts_with("also: ")).map(str::to_owned);
        assert_eq!(also(&english), also(&chinese), "{topic}");
        let prose = |text: &str| {
            let is_prose = |line: &&str| {
                line.chars().next().is_some_and(char::is_alphanumeric) && !line.starts_with("also: ")
            };
            text.split("```").step_by(2).flat_map(str::lines).filter(is_prose).count()
        };
        assert_eq!(prose(&english), prose(&chinese), "{topic}: paragraphs");
    }
}

#[test]
fn a_word_leads_to_one_topic_only_and_to_no_command() {
    let command = mha::cli::Cli::command();
    let mut seen: BTreeSet<String> =
        command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    for topic in topics() {
        let text = text(&topic, "en");
        let also = text.lines().find_map(|line| line.strip_prefix("also: ")).unwrap_or_default();
        for word in also.split(", ").filter(|word| !word.is_empty()).chain([topic.as_str()]) {
            assert!(seen.insert(word.to_owned()), "{topic}: {word} is taken");
        }
    }
}

#[test]
fn the_contents_list_every_command_and_topic() {
    let page = run(Path::new("."), &["help"]).out;
    for topic in topics() {
        let text = text(&topic, "en");
        let title = text.lines().next().unwrap().strip_prefix("# ").unwrap();
        let first: String = title.split(' ').take(3).collect::<Vec<_>>().join(" ");
        let is_listed = |line: &str| line.trim_start().starts_with(&topic) && line.contains(&first);
        assert!(page.lines().any(is_listed), "{topic}: {title}\n{page}");
    }
    for verb in mha::cli::Cli::command().get_subcommands() {
        assert!(page.contains(&format!("\n  {} ", verb.get_name())), "{page}");
    }
}

/// The page that a flag asks for is made before the flags are read.
#[test]
fn a_page_behind_a_flag_heeds_the_alphabet_too() {
    for verb in mha::cli::Cli::command().get_subcommands() {
        for help in ["--help", "-h"] {
            let run = run(Path::new("."), &[verb.get_name(), help, "--ascii"]);
            assert_eq!(run.status, Some(0), "{}: {}", verb.get_name(), run.err);
            assert!(
                run.out.is_ascii() && !run.out.contains("\\u{"),
                "{} {help}: {}",
                verb.get_name(),
                run.out
            );
        }
    }
}

#[test]
fn pages_fit_any_width_and_alphabet() {
    for topic in topics().iter().map(String::as_str).chain(["trace", ""]) {
        let asked: Vec<&str> = ["help", topic].into_iter().filter(|word| !word.is_empty()).collect();
        for width in [40, 80, 120] {
            for more in [&[][..], &["--lang", "zh"], &["--ascii"]] {
                let wide = width.to_string();
                let arguments = [asked.as_slice(), &["--width", &wide], more].concat();
                let run = run(Path::new("."), &arguments);
                assert_eq!(run.status, Some(0), "{arguments:?}: {}", run.err);
                assert!(run.out.ends_with('\n') && !run.out.ends_with("\n\n"), "{arguments:?}");
                if more == ["--ascii"] {
                    assert!(run.out.is_ascii() && !run.out.contains("\\u{"), "{arguments:?}: {}", run.out);
                }
                // What clap sets does not fold in narrow columns; a file's lines are as they are.
                let is_topic = topics().iter().any(|name| name == topic);
                for line in run.out.lines().filter(|_| is_topic) {
                    assert!(line.width() <= width, "{arguments:?}: {line}");
                    assert_eq!(line.trim_end(), line, "{arguments:?}");
                }
            }
        }
    }
}

#[test]
fn help_of_a_command_is_its_long_help() {
    for words in [&["trace"][..], &["lessons", "validate"], &["help"]] {
        let asked = run(Path::new("."), &[&["help"], words].concat());
        let flag = run(Path::new("."), &[words, &["--help"]].concat());
        assert_eq!((asked.status, asked.out), (Some(0), flag.out), "{words:?}");
    }
    // Other names and capitals lead there, too.
    let page = |word: &str| run(Path::new("."), &["help", word]).out;
    assert_eq!(page("Colours"), page("output"));
}

#[test]
fn what_there_is_no_help_on_leads_to_what_is_near() {
    let told = |words: &[&str]| {
        let run = run(Path::new("."), &[&["help"], words].concat());
        assert_eq!((run.status, run.out.as_str()), (Some(2), ""), "{words:?}");
        run.err
    };
    for (words, remedy) in [
        (&["stpes"][..], "mha help steps"),
        (&["trce"], "mha help trace"),
        (&["scale-missing"], "mha mistakes scale-missing"),
        (&["two-heads"], "mha learn two-heads"),
        (&["lessons", "valdate"], "mha help lessons validate"),
        (&["trace", "steps"], "mha help trace"),
        (&["zzz"], "mha help lists all commands and topics"),
    ] {
        let said = told(words);
        assert!(said.contains(&format!("there is no help on “{}”", words.join(" "))), "{said}");
        assert!(said.contains(remedy), "{words:?}: {said}");
    }
}

/// What a topic lists and what the program knows, compared both ways.
fn same(topic: &str, listed: &BTreeSet<String>, known: impl IntoIterator<Item = String>) {
    let known: BTreeSet<String> = known.into_iter().collect();
    let missing: Vec<_> = known.difference(listed).collect();
    let idle: Vec<_> = listed.difference(&known).collect();
    assert!(missing.is_empty() && idle.is_empty(), "{topic} does not list {missing:?}, and lists {idle:?}");
}

#[test]
fn steps_are_those_of_the_plan() {
    let listed = words("steps");
    // A rotated value is a mistake's step.
    let heads = HeadStep::ALL.iter().map(|step| step.word()).filter(|word| *word != "v_rot");
    let of_heads: BTreeSet<String> = heads.map(|word| format!("head.I.{word}")).collect();
    let embedding = EmbedStep::ALL.iter().map(|step| format!("embedding.{}", step.word()));
    let others = [
        "x",
        "x_kv",
        "w_q",
        "w_k",
        "w_v",
        "w_o",
        "b_q",
        "b_k",
        "b_v",
        "b_o",
        "q",
        "k",
        "v",
        "q_norm",
        "k_norm",
        "concat",
        "output",
        "embedding",
        "final",
        "layer.L.…",
        "layer.L.attention_residual",
        "layer.L.ffn.…",
        "layer.L.hidden",
    ];
    same("steps", &listed, of_heads.into_iter().chain(embedding).chain(others.map(str::to_owned)));
    for name in others.iter().filter(|name| !name.contains('…')) {
        let id = name.replace(".L.", ".1.");
        assert!(id.parse::<mha::plan::StepId>().is_ok(), "{id} is no step");
    }
    // What a feed-forward network has stands in the sentence.
    let text = text("steps", "en");
    let line = text.lines().find(|line| line.starts_with("- layer.L.ffn.… — ")).unwrap();
    let told: BTreeSet<String> = line.split_once(": ").unwrap().1.split(", ").map(str::to_owned).collect();
    let known = FfnStep::ALL.iter().map(|step| step.word().to_owned()).filter(|word| word != "output_norm");
    same("steps, feed-forward", &told, known);
}

#[test]
fn variants_are_those_that_compare_knows() {
    let listed = words("variants");
    same("variants", &listed, VARIANTS.iter().map(|(name, _)| (*name).to_owned()));
}

#[test]
fn formats_are_those_of_the_commands() {
    let text = text("formats", "en");
    let mut known = BTreeSet::new();
    let mut told = BTreeSet::new();
    let command = mha::cli::Cli::command();
    let of = |path: &str| {
        let mut found = &command;
        for name in path.split(' ') {
            found = found.find_subcommand(name).unwrap();
        }
        let format = found.get_arguments().find(|argument| argument.get_id() == "format").unwrap();
        format.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect::<BTreeSet<_>>()
    };
    let verbs =
        ["trace", "compare", "check", "ablate", "params", "heads", "mistakes", "worksheet", "lessons render"];
    for verb in verbs {
        known.extend(of(verb).into_iter().map(|format| (format, verb.to_owned())));
    }
    for line in text.lines().filter_map(|line| line.strip_prefix("- ")) {
        let (formats, what) = line.split_once(" — ").unwrap();
        let list = what.split_once(": ").map(|(_, list)| list.split(';').next().unwrap());
        for format in formats.split(", ").filter(|format| *format != "table") {
            for verb in list.unwrap().split(", ") {
                told.insert((format.to_owned(), verb.split(" --").next().unwrap().to_owned()));
            }
        }
    }
    known.retain(|(format, _)| format != "table");
    assert_eq!(told, known);
}

/// A lesson of three tokens and two heads with something more under `attention`.
fn lesson_with(more: &str) -> String {
    format!(
        "mha: 1\nattention: {{d_model: 4, num_heads: 2, {more}}}\ninputs:\n  x: [[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]]\n\
         projections: {{w_q: identity, w_k: identity, w_v: identity, w_o: identity}}\n"
    )
}

#[test]
fn masks_and_positions_can_be_written_as_they_stand() {
    let folder = tempfile::tempdir().unwrap();
    let schema = run(folder.path(), &["lessons", "schema"]).out;
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    for (topic, key) in [("masks", "mask"), ("positions", "positions")] {
        let text = text(topic, "en");
        for (number, name) in names(&text).iter().enumerate() {
            let file = format!("{key}-{number}.yaml");
            fs::write(folder.path().join(&file), lesson_with(&format!("{key}: {name}"))).unwrap();
            let run = run(folder.path(), &["trace", &file, "--quiet"]);
            assert_eq!(run.status, Some(0), "{name}: {}", run.err);
        }
        // The kinds that the schema knows are all there.
        let forms = &schema["$defs"][key]["anyOf"];
        let kinds = forms.as_array().unwrap().iter().filter_map(|form| form["properties"].as_object());
        for kind in kinds.flat_map(|kinds| kinds.keys()) {
            assert!(
                names(&text).iter().any(|name| name.contains(kind.as_str())),
                "{topic} says nothing of {kind}"
            );
        }
    }
}

#[test]
fn keys_of_a_lesson_are_those_of_the_schema() {
    let schema: serde_json::Value =
        serde_json::from_str(&run(Path::new("."), &["lessons", "schema"]).out).unwrap();
    let keys = schema["properties"].as_object().unwrap().keys().cloned();
    same("lesson-file", &words("lesson-file"), keys);
    let text = text("lesson-file", "en");
    let line = text.lines().find_map(|line| line.strip_prefix("- attention — ")).unwrap();
    let told: BTreeSet<String> = line.split(", ").map(str::to_owned).collect();
    let keys = schema["$defs"]["attention"]["properties"].as_object().unwrap().keys().cloned();
    same("lesson-file, attention", &told, keys);
}

#[test]
fn types_of_models_are_those_that_are_computed() {
    let folder = tempfile::tempdir().unwrap();
    let there = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/llama-llama3");
    fs::copy(there.join("model.safetensors"), folder.path().join("model.safetensors")).unwrap();
    let config = fs::read_to_string(there.join("config.json")).unwrap();
    fs::write(folder.path().join("config.json"), config.replace("\"llama\"", "\"nosuch\"")).unwrap();
    let said = run(folder.path(), &["trace", "--model", ".", "--tokens", "1,2"]).err;
    let known = said.split_once("supported are ").unwrap_or_else(|| panic!("{said}")).1;
    let known = known.lines().next().unwrap().split(", ").map(str::to_owned);
    let listed = words("models")
        .into_iter()
        .filter(|word| word.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)));
    same("models", &listed.collect(), known);
}

#[test]
fn functions_of_expressions_are_those_of_the_language() {
    let folder = tempfile::tempdir().unwrap();
    let claim = "claims: [{that: \"nosuch(output) = 1\"}]\n";
    fs::write(folder.path().join("figures.yaml"), lesson_with("") + claim).unwrap();
    let said = run(folder.path(), &["lessons", "validate", "figures.yaml"]);
    let said = said.out + &said.err;
    let known = said.split_once("known: ").unwrap_or_else(|| panic!("{said}")).1;
    let known = known.lines().next().unwrap().split(", ").map(str::to_owned);
    let text = text("expressions", "en");
    let listed: BTreeSet<String> = names(&text)
        .iter()
        .filter(|names| !names.contains(['[', '.']) && **names != "output")
        // count("llama-2-7b", total_parameters) and slope(output, x) hold a comma.
        .flat_map(|names| {
            if names.contains(", ") && names.contains("(\"") || names.starts_with("slope") {
                vec![*names]
            } else {
                names.split(", ").collect()
            }
        })
        .map(|name| name.split('(').next().unwrap().to_owned())
        .collect();
    same("expressions", &listed, known);
}

#[test]
fn names_of_answers_are_understood() {
    let text = text("answers", "en");
    let own: BTreeSet<String> = words("answers");
    for stack in Stack::ALL {
        assert!(own.contains(stack.word()), "{} is not listed", stack.word());
    }
    // Each widespread name is read as the step that stands behind it.
    let folder = tempfile::tempdir().unwrap();
    let json = run(folder.path(), &["trace", "--format", "json"]).out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let value = |step: &str| {
        let steps = json["steps"].as_array().unwrap();
        let id = |step: &serde_json::Value| step["id"].as_str().unwrap().to_owned();
        match steps.iter().find(|candidate| id(candidate) == step) {
            Some(found) => found["value"].clone(),
            None => {
                let head = step.strip_suffix("_heads").unwrap_or(step);
                let of_heads = steps.iter().filter(|found| {
                    let id = id(found);
                    id.starts_with("head.") && id.rsplit('.').next() == Some(head)
                });
                of_heads.map(|found| found["value"].clone()).collect()
            }
        }
    };
    let mut count = 0;
    for line in text.lines().filter(|line| line.contains(" — for ")) {
        let (aliases, steps) = line.strip_prefix("- ").unwrap().split_once(" — for ").unwrap();
        let steps: Vec<&str> = steps.split(" and ").collect();
        for alias in aliases.split(", ") {
            let step = if alias == "queries" { steps[0] } else { steps[steps.len() - 1] };
            let held = serde_json::json!({ alias: value(step) });
            fs::write(folder.path().join("mine.json"), held.to_string()).unwrap();
            let run = run(folder.path(), &["check", "two-heads", "mine.json"]);
            assert_eq!(run.status, Some(0), "{alias} for {step}: {}{}", run.out, run.err);
            count += 1;
        }
    }
    assert_eq!(count, 14);
}

#[test]
fn variables_are_those_that_the_program_reads() {
    let mut read = BTreeSet::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let code = fs::read_to_string(&path).unwrap();
                for call in ["env::var(\"", "env::var_os(\"", "says(\"", "set(\""] {
                    let names = code.split(call).skip(1).map(|rest| rest.split('"').next().unwrap());
                    let is_variable = |name: &&str| {
                        // Those that begin with _ pass between a shell's script of completions and us.
                        name.len() > 2
                            && !name.starts_with('_')
                            && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
                    };
                    read.extend(names.filter(is_variable).map(str::to_owned));
                }
            }
        }
    }
    read.insert(mha::course::progress::FOLDER.to_owned());
    let listed = words("environment");
    let missing: Vec<_> = read.difference(&listed).collect();
    assert!(missing.is_empty(), "not listed: {missing:?}");
    let locale: BTreeSet<String> = ["LC_ALL", "LC_MESSAGES", "LANG"].map(str::to_owned).into();
    same("environment", &listed, read.into_iter().chain(locale));
}

/// A number as the source defines it: `const TOKENS: usize = 4_096;`, `64 << 20`.
fn constant(file: &str, name: &str) -> Option<u64> {
    let code = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).ok()?;
    let line = code.lines().find(|line| line.contains(&format!("const {name}:")))?;
    let value = line.split_once(" = ")?.1.trim_end_matches(';').replace('_', "");
    match value.split_once(" << ") {
        Some((number, bits)) => Some(number.parse::<u64>().ok()? << bits.parse::<u32>().ok()?),
        None => value.parse().ok(),
    }
}

/// `4194304` as `4,194,304`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[test]
fn limits_are_those_of_the_source() {
    let text = text("limits", "en");
    let rows: Vec<(&str, &str)> =
        text.lines().filter_map(|line| line.strip_prefix("- ")?.split_once(" — ")).collect();
    // What a row begins its explanation with, its unit, and where its number stands.
    let known = [
        ("a lesson;", "MiB", &[("src/limits.rs", "LESSON_BYTES"), ("src/lesson/guard.rs", "MAX_BYTES")][..]),
        (
            "numbers as text",
            "MiB",
            &[("src/limits.rs", "TEXT_BYTES"), ("src/arrays/limits.rs", "TEXT_BYTES")],
        ),
        ("one array of", "MiB", &[("src/limits.rs", "NPY_BYTES"), ("src/arrays/limits.rs", "NPY_BYTES")]),
        ("in one .npz", "arrays", &[("src/limits.rs", "ARRAYS"), ("src/arrays/limits.rs", "ARRAYS")]),
        (
            "the header of a .safetensors",
            "MiB",
            &[
                ("src/limits.rs", "SAFETENSORS_HEADER_BYTES"),
                ("src/arrays/limits.rs", "SAFETENSORS_HEADER_BYTES"),
            ],
        ),
        (
            "a config.json",
            "MiB",
            &[("src/limits.rs", "DOCUMENT_BYTES"), ("src/arrays/limits.rs", "DOCUMENT_BYTES")],
        ),
        (
            "a tokenizer.json",
            "MiB",
            &[("src/limits.rs", "TOKENIZER_BYTES"), ("src/model/limits.rs", "TOKENIZER_BYTES")],
        ),
        (
            "of lists and keys",
            "levels",
            &[("src/limits.rs", "LESSON_DEPTH"), ("src/lesson/guard.rs", "MAX_DEPTH")],
        ),
        (
            "in one matrix",
            "numbers",
            &[("src/limits.rs", "MATRIX_NUMBERS"), ("src/lesson/arrays_in.rs", "MAX_CELLS")],
        ),
        (
            "of all layers",
            "heads",
            &[("src/limits.rs", "LESSON_HEADS"), ("src/lesson/budget.rs", "MAX_HEADS")],
        ),
        (
            "one above",
            "layers",
            &[("src/limits.rs", "LESSON_LAYERS"), ("src/lesson/layers.rs", "MAX_LAYERS")],
        ),
        (
            "in all steps",
            "numbers",
            &[("src/limits.rs", "KEPT_NUMBERS"), ("src/lesson/budget.rs", "MAX_KEPT")],
        ),
        ("in a text", "tokens", &[("src/limits.rs", "TOKENS"), ("src/model/limits.rs", "TOKENS")]),
        (
            "read from a tensor",
            "numbers",
            &[("src/limits.rs", "READ_NUMBERS"), ("src/model/limits.rs", "READ_NUMBERS")],
        ),
    ];
    assert_eq!(rows.len(), known.len());
    for (row, (begins, unit, places)) in rows.iter().zip(known) {
        let number = places.iter().find_map(|(file, name)| constant(file, name));
        let number = number.unwrap_or_else(|| panic!("no constant for {begins:?}"));
        let shown = if unit == "MiB" { number >> 20 } else { number };
        assert_eq!(row.0, format!("{} {unit}", grouped(shown)), "{begins}");
        assert!(row.1.starts_with(begins), "{row:?} is not about {begins:?}");
    }
}

#[test]
fn exit_statuses_are_what_they_say() {
    let folder = tempfile::tempdir().unwrap();
    // Every score of the lesson is another number than 9.
    fs::write(folder.path().join("scores.json"), "[[[9,9,9],[9,9,9],[9,9,9]],[[9,9,9],[9,9,9],[9,9,9]]]")
        .unwrap();
    let status = |args: &[&str]| run(folder.path(), args).status.unwrap().to_string();
    let seen = [
        status(&["trace", "--quiet"]),
        status(&["check", "two-heads", "scores.json"]),
        status(&["trace", "--nosuch"]),
        // Ctrl-C at a terminal: tests/learn.rs presses it.
        "130".to_owned(),
    ];
    assert_eq!(names(&text("exit-status", "en")), seen);
}
