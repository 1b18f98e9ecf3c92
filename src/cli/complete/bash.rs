//! bash: the library's script, with words put together again that bash takes apart at `=` and `:`.

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

use clap::Command;
use clap_complete::engine::complete;
use clap_complete::env::{Bash as Plain, EnvCompleter};

use super::is_harmless;

/// bash, which hands over `--format=js` as three words, and `gqa:2` too.
#[derive(Debug)]
pub(super) struct Bash;

impl EnvCompleter for Bash {
    fn name(&self) -> &'static str {
        Plain.name()
    }

    fn is(&self, name: &str) -> bool {
        Plain.is(name)
    }

    fn write_registration(
        &self,
        var: &str,
        name: &str,
        bin: &str,
        completer: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut script = Vec::new();
        Plain.write_registration(var, name, bin, completer, &mut script)?;
        // Behind `--format=` bash asks about nothing, in the place of the `=`, which must not be lost.
        let kept = r#"[[ -z "$2" && "${words[COMP_CWORD]}" == [=:] ]] || words[COMP_CWORD]="$2""#;
        let script = String::from_utf8_lossy(&script).replace(r#"words[COMP_CWORD]="$2""#, kept);
        out.write_all(script.as_bytes())
    }

    fn write_complete(
        &self,
        command: &mut Command,
        words: Vec<OsString>,
        folder: Option<&Path>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let at = env::var("_CLAP_COMPLETE_INDEX").ok().and_then(|at| at.parse().ok()).unwrap_or_default();
        let between = env::var("_CLAP_IFS").unwrap_or_else(|_| "\n".to_owned());
        let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let (words, at, kept) = joined(&words, at);
        let found = complete(command, words.into_iter().map(OsString::from).collect(), at, folder)?;
        // bash puts what it gets behind the last `=` or `:`.
        let found: Vec<String> = found
            .iter()
            .filter(|found| is_harmless(found))
            .filter_map(|found| Some(quoted(found.get_value().to_str()?.strip_prefix(&kept)?)))
            .collect();
        write!(out, "{}", found.join(&between))
    }
}

/// The words with those put together that bash has taken apart, the number of the one that is asked about, and what of it
/// stands in front of bash's own piece.
fn joined(words: &[String], at: usize) -> (Vec<String>, usize, String) {
    let (mut whole, mut at_whole, mut kept): (Vec<String>, usize, String) = (Vec::new(), 0, String::new());
    let breaks = |word: &str| word == "=" || word == ":";
    for (number, word) in words.iter().enumerate().take(at.saturating_add(1)) {
        let is_a_break = breaks(word);
        let goes_on = is_a_break || (number > 0 && breaks(&words[number - 1]));
        let in_front = match whole.last_mut().filter(|_| goes_on) {
            Some(last) => {
                let in_front = last.clone();
                last.push_str(word);
                if is_a_break { last.clone() } else { in_front }
            }
            None => {
                whole.push(word.clone());
                String::new()
            }
        };
        if number == at {
            (at_whole, kept) = (whole.len() - 1, in_front);
        }
    }
    (whole, at_whole, kept)
}

/// A word as it is typed: what a shell would understand otherwise has a backslash before it.
fn quoted(word: &str) -> String {
    let mut typed = String::with_capacity(word.len());
    for letter in word.chars() {
        if " '\"\\$`&|;<>()!*?#{}".contains(letter) {
            typed.push('\\');
        }
        typed.push(letter);
    }
    typed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined_at(words: &[&str], at: usize) -> (Vec<String>, usize, String) {
        joined(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(), at)
    }

    #[test]
    fn words_are_put_together_where_bash_breaks_them() {
        // mha trace --format=js<Tab>
        let (words, at, kept) = joined_at(&["mha", "trace", "--format", "=", "js"], 4);
        assert_eq!((words[at].as_str(), kept.as_str(), words.len()), ("--format=js", "--format=", 3));
        // mha compare --variants=mqa,gqa:<Tab>: the break itself is what is asked about
        let (words, at, kept) = joined_at(&["mha", "compare", "--variants", "=", "mqa,gqa", ":"], 5);
        assert_eq!((words[at].as_str(), kept.as_str()), ("--variants=mqa,gqa:", "--variants=mqa,gqa:"));
        // mha trace --layer 2 <Tab>: nothing to put together
        let (words, at, kept) = joined_at(&["mha", "trace", "--layer", "2", ""], 4);
        assert_eq!((words.len(), at, kept.as_str()), (5, 4, ""));
    }

    #[test]
    fn what_a_shell_would_understand_otherwise_is_quoted() {
        assert_eq!(quoted("my lesson's $1.yaml"), r"my\ lesson\'s\ \$1.yaml");
        assert_eq!(quoted("head.1.scores[3,1]"), "head.1.scores[3,1]");
    }

    #[test]
    fn a_place_beyond_all_words_is_none_of_them() {
        assert_eq!(
            joined_at(&["mha", "trace"], usize::MAX),
            (vec!["mha".into(), "trace".into()], 0, String::new())
        );
    }
}
