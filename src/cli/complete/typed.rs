//! The words that are typed already, as the shell's script hands them over.

use std::collections::VecDeque;
use std::env;

use crate::lesson::builtin;

/// What stands behind the first `--`, without the program's name; a `=` that bash has made a word of is left out.
fn words() -> Vec<String> {
    let words = env::args_os().skip_while(|word| word != "--").skip(2);
    words.map(|word| word.to_string_lossy().into_owned()).filter(|word| word != "=").collect()
}

/// Whether the word that is asked about has no letter yet.
pub(super) fn is_at_a_new_word() -> bool {
    let words: Vec<_> = env::args_os().skip_while(|word| word != "--").skip(1).collect();
    let at = env::var("_CLAP_COMPLETE_INDEX").ok().and_then(|at| at.parse().ok());
    let at: usize = at.unwrap_or(words.len().saturating_sub(1));
    words.get(at).is_none_or(|word| word.is_empty())
}

/// What is given to a flag: `--model X` or `--model=X`.
pub(super) fn value(flag: &str) -> Option<String> {
    let words = words();
    let joined = words.iter().find_map(|word| word.strip_prefix(flag)?.strip_prefix('='));
    let behind = || words.iter().position(|word| word == flag).and_then(|at| words.get(at + 1));
    joined.or_else(|| behind().map(String::as_str)).filter(|word| !word.is_empty()).map(str::to_owned)
}

/// The model that is named.
pub(super) fn model() -> Option<String> {
    value("--model")
}

/// The lesson that is named: the first word that is one of ours, or a file.
pub(super) fn lesson() -> Option<String> {
    let (words, model) = (words(), model());
    // What pipes hold cannot be looked at twice.
    let is_a_file = |word: &str| {
        super::ends_with(word.as_ref(), super::LESSONS)
            && std::fs::metadata(word).is_ok_and(|file| file.is_file())
    };
    let is_a_lesson =
        |word: &&String| model.as_ref() != Some(*word) && (builtin::find(word).is_some() || is_a_file(word));
    // The word that is asked about may still become another one.
    let before = words.split_last().map_or(&[][..], |(_, before)| before);
    before.iter().find(is_a_lesson).cloned()
}

/// The words behind the verb that are whole.
pub(super) fn behind_the_verb() -> VecDeque<String> {
    let mut words: VecDeque<String> = words().into_iter().skip(1).collect();
    words.pop_back();
    words
}

/// The word behind the verb that names what is counted.
pub(super) fn first() -> Option<String> {
    words().into_iter().skip(1).find(|word| !word.starts_with('-'))
}
