//! Which command lines a lesson may show, and what runs them.

use std::path::{Component, Path};

use crate::fault::{Fault, nearest};
use crate::lesson::course::Command;
use crate::model::builtin;

/// Runs a command line of `mha` (its words, without `mha` itself) and gives what it prints on standard output.
///
/// # Errors
/// The request could not be met (exit status 2), or the program could not be started. In words.
pub type Runner<'a> = dyn Fn(&[String]) -> Result<String, String> + 'a;

/// Verbs that only show something.
const VERBS: &[&str] = &["trace", "compare", "params", "check", "heads", "ablate", "mistakes", "lessons"];

/// What `mha lessons` may be asked for.
const OF_LESSONS: &[&str] = &["list", "show"];

/// Flags that write files, or wait for a person.
const REFUSED: &[&str] = &["--output", "--force", "--interactive"];

/// The words behind `mha`, where a lesson may show this command.
///
/// # Errors
/// It is another program, a verb that does more than show something, or a flag that writes or waits.
pub fn allowed(command: &Command) -> Result<&[String], Fault> {
    let [program, verb, rest @ ..] = command.words.as_slice() else {
        return Err(Fault::new("the command is empty", "", "write command: mha params --d-model 512"));
    };
    if program != "mha" {
        let what = format!("{program} is not mha");
        return Err(Fault::new(what, "a lesson shows what mha prints", "begin with mha"));
    }
    if !VERBS.contains(&verb.as_str()) {
        let what = format!("a lesson does not show mha {verb}");
        let list = VERBS.join(", ");
        let remedy = match nearest(verb, VERBS.iter().copied()) {
            Some(near) => format!("did you mean {near}? The verbs are {list}"),
            None => format!("the verbs are {list}"),
        };
        return Err(Fault::new(what, "only what prints and changes nothing is run for a reader", remedy));
    }
    // Flags may stand before the verb below: what comes first has to be one of these, or `--ascii validate` would pass, and
    // a lesson that validates itself would never end.
    if verb == "lessons"
        && let Some(word) = rest.first().filter(|word| !OF_LESSONS.contains(&word.as_str()))
    {
        let what = format!("a lesson does not show mha lessons {word}");
        let remedy = format!("it may show mha lessons {}, with flags behind it", OF_LESSONS.join(" or "));
        return Err(Fault::new(what, "only what prints and changes nothing is run for a reader", remedy));
    }
    if let Some(flag) = rest.iter().find(|word| is_refused(word)) {
        let what = format!("a lesson's command has {flag}");
        let why = "it would write a file, or wait for keys";
        return Err(Fault::new(what, why, "leave it out: the lesson shows what the command prints"));
    }
    if let Some(word) = rest.iter().find(|word| *word == "-") {
        let what = format!("a lesson's command reads standard input ({word})");
        return Err(Fault::new(what, "there is nobody to type it", "name a lesson or a model"));
    }
    if let Some(name) = rest.iter().enumerate().find_map(|(at, word)| match word.strip_prefix("--model") {
        Some("") => Some(rest.get(at + 1).map_or("", String::as_str)),
        Some(name) => name.strip_prefix('='),
        None => None,
    }) && builtin::find(name).is_none()
    {
        let names: Vec<&str> = builtin::all().iter().map(|model| model.name).collect();
        let what = format!("a lesson's command reads the model {name}");
        let remedy = format!("name a model that ships with mha: {}", names.join(", "));
        return Err(Fault::new(what, "whoever reads the lesson has no such files", remedy));
    }
    if let Some(word) = rest.iter().find(|word| leaves_its_folder(word)) {
        let what = format!("a lesson's command reads outside its folder ({word})");
        let why = "what is there is not the lesson's to show: a page made of it may be handed on";
        return Err(Fault::new(what, why, "name a lesson, or a file beside this one"));
    }
    Ok(&command.words[1..])
}

/// Whether a word, or what stands behind its `=` or `@`, is a path that begins at the root or at home, or climbs out of the
/// folder that the command runs in.
fn leaves_its_folder(word: &str) -> bool {
    let value =
        if word.starts_with('-') { word.split_once('=').map_or("", |(_, value)| value) } else { word };
    let path = Path::new(value.trim_start_matches('@'));
    path.has_root()
        || path.components().any(|part| match part {
            Component::ParentDir | Component::Prefix(_) => true,
            Component::Normal(name) => name == "~",
            _ => false,
        })
}

/// Whether a word is one of the refused flags: whole, shortened as clap does not allow anyway, or with `=`; `-oFILE` and
/// clusters of short flags that hold an `o` too.
fn is_refused(word: &str) -> bool {
    if let Some(long) = word.strip_prefix("--") {
        let name = long.split('=').next().unwrap_or_default();
        return REFUSED.iter().any(|flag| &flag[2..] == name);
    }
    word.strip_prefix('-').is_some_and(|short| {
        short.starts_with(|c: char| c.is_ascii_alphabetic()) && short.contains(['o', 'i'])
    })
}

/// The lines of an output that a lesson shows.
pub fn excerpt<'t>(command: &Command, output: &'t str) -> Vec<&'t str> {
    let lines = output.lines();
    match command.lines {
        None => lines.collect(),
        Some([from, to]) => lines.skip(from - 1).take(to + 1 - from).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Result<usize, String> {
        let words = line.split(' ').map(str::to_owned).collect();
        allowed(&Command { words, lines: None }).map(<[String]>::len).map_err(|fault| fault.what)
    }

    #[test]
    fn what_prints_may_be_shown_and_what_writes_may_not() {
        assert_eq!(said("mha params --d-model 512"), Ok(3));
        assert_eq!(said("mha lessons show two-heads"), Ok(3));
        assert_eq!(said("mha trace --explain output[1,1]"), Ok(3));
        assert_eq!(said("mha heads --model induction --text x"), Ok(5));
        assert_eq!(said("mha check two-heads beside.npz --tol 1/2"), Ok(5));
        for refused in [
            "rm -rf /",
            "mha learn two-heads",
            "mha lessons render x",
            "mha lessons --ascii validate x",
            "mha lessons --width 80 new x",
            "mha lessons -q render x",
            "mha lessons -- validate x",
            "mha lessons help new",
            "mha worksheet",
            "mha trace --output x",
            "mha trace --output=x",
            "mha trace -ox",
            "mha trace -qo x",
            "mha trace --interactive",
            "mha trace -",
            "mha heads --model /models/mine --text x",
            "mha trace --model=mine --text x",
            "mha trace --model",
            "mha trace /etc/numbers.csv",
            "mha trace ../mine.yaml",
            "mha check two-heads tensors/../../mine.npz",
            "mha heads --model induction --texts=/home/me/letters",
            "mha trace --text @/home/me/letter",
            "mha params ~/config.json",
        ] {
            assert!(said(refused).is_err(), "{refused}");
        }
        assert_eq!(said("mha lean two-heads"), Err("a lesson does not show mha lean".to_owned()));
    }

    #[test]
    fn an_excerpt_counts_lines_from_one() {
        let command = |lines| Command { words: Vec::new(), lines };
        assert_eq!(excerpt(&command(Some([2, 3])), "a\nb\nc\nd\n"), ["b", "c"]);
        assert_eq!(excerpt(&command(None), "a\nb\n"), ["a", "b"]);
        assert_eq!(excerpt(&command(Some([3, 9])), "a\nb\n"), Vec::<&str>::new());
    }
}
