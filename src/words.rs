//! What people read, in English and in Simplified Chinese.
//!
//! The code says everything in English, and the English words are the key to the Chinese ones:
//!
//! ```text
//! t!("Each %{line} is divided by its root mean square.", line = told.line())
//! ```
//!
//! The Chinese stands in `src/locales/*.zh.yml`, one file a room, one entry a sentence:
//!
//! ```yaml
//! "Each %{line} is divided by its root mean square.": "每%{line}除以它的均方根。"
//! ```
//!
//! - A key is a whole sentence, or a whole label, never a piece of one: word order differs. What varies is a value,
//!   `%{name}`. Where English says 1 and many differently, there are two keys.
//! - Words without an entry come out in English, with their values filled in. `tests/languages.rs` finds them.
//! - Words that are data (the help of a flag, an entry of the catalogue, `n!("…")` in a constant) go through [`say`].
//! - What a person types stays English where it is shown: names of steps, mistakes and their forms, flags, commands.
//! - The tables are a part of the binary. English never looks into them.
//! - Files that programs read (JSON, npz, CSV) keep their English keys and titles: they are written
//!   [`in_language`] English.

use std::borrow::Cow;
use std::cell::Cell;
use std::ffi::OsString;
use std::fmt::Display;
use std::sync::OnceLock;

/// The tables, a part of the binary.
mod tables {
    rust_i18n::i18n!("src/locales");
}

/// A language that `mha` speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Language {
    /// English.
    #[default]
    En,
    /// Simplified Chinese.
    Zh,
}

static LANGUAGE: OnceLock<Language> = OnceLock::new();

thread_local! {
    static FOR_NOW: Cell<Option<Language>> = const { Cell::new(None) };
}

/// The language that this process speaks: English until [`speak`] is called.
pub fn language() -> Language {
    FOR_NOW.get().or_else(|| LANGUAGE.get().copied()).unwrap_or_default()
}

/// What `work` gives when its words are in a language, whichever the process speaks (on this thread): files that
/// programs read are written in English.
pub fn in_language<T>(language: Language, work: impl FnOnce() -> T) -> T {
    struct Restore(Option<Language>);
    impl Drop for Restore {
        fn drop(&mut self) {
            FOR_NOW.set(self.0);
        }
    }
    let _restore = Restore(FOR_NOW.replace(Some(language)));
    work()
}

/// Chooses the language of this process, once; later calls change nothing.
pub fn speak(language: Language) {
    // The first call has the say: whoever comes later finds the choice made.
    let _ = LANGUAGE.set(language);
}

/// The language that is asked for: by `--lang` among the arguments, else by the locale (`LC_ALL`, `LC_MESSAGES`,
/// `LANG`: the first that is not empty). Read before the arguments are understood, so that help pages obey it too; a
/// language that there is not is left for the argument parser to refuse.
pub fn wanted(arguments: &[OsString], variable: impl Fn(&str) -> Option<String>) -> Language {
    let typed = arguments.iter().map(|argument| argument.to_str().unwrap_or_default());
    let mut named = None;
    let mut follows = false;
    for word in typed.take_while(|word| *word != "--") {
        if follows {
            named = Some(word);
        } else if let Some(word) = word.strip_prefix("--lang=") {
            named = Some(word);
        }
        follows = word == "--lang";
    }
    match named {
        Some("en") => return Language::En,
        Some("zh") => return Language::Zh,
        _ => {}
    }
    let locale = ["LC_ALL", "LC_MESSAGES", "LANG"]
        .into_iter()
        .find_map(|name| variable(name).filter(|value| !value.is_empty()))
        .unwrap_or_default();
    if locale.starts_with("zh") { Language::Zh } else { Language::En }
}

/// English words in the language of this process.
pub fn say(english: &str) -> &str {
    say_in(language(), english)
}

/// English words in a language; as they are where that has none for them.
pub fn say_in(language: Language, english: &str) -> &str {
    match language {
        Language::En => english,
        Language::Zh => chinese(english).unwrap_or(english),
    }
}

/// The Chinese for English words.
pub fn chinese(english: &str) -> Option<&'static str> {
    match tables::_rust_i18n_try_translate("zh", english)? {
        Cow::Borrowed(words) => Some(words),
        // The library hands out words of the tables, which live as long as the program.
        Cow::Owned(_) => None,
    }
}

/// A sentence in the language of this process, with its values: `t!("head %{number} of %{all}", number = 2, all)`,
/// where a variable of that name needs no `=`.
macro_rules! t {
    ($english:literal) => {
        $crate::words::say($english).to_owned()
    };
    ($english:literal, $($name:ident $(= $value:expr)?),+ $(,)?) => {
        rust_i18n::replace_patterns(
            $crate::words::say($english),
            &[$(stringify!($name)),+],
            &[$($crate::words::t!(@ $name $(= $value)?)),+],
        )
    };
    (@ $name:ident) => {
        $name.to_string()
    };
    (@ $name:ident = $value:expr) => {
        $value.to_string()
    };
}
pub(crate) use t;

/// `1 token`, `1,024 tokens`: a number as the page writes it, with its noun.
pub fn tokens(count: impl Display) -> String {
    match count.to_string().as_str() {
        "1" => t!("1 token"),
        count => t!("%{count} tokens", count),
    }
}

/// `1 head`, `8 heads`.
pub fn heads(count: impl Display) -> String {
    match count.to_string().as_str() {
        "1" => t!("1 head"),
        count => t!("%{count} heads", count),
    }
}

/// `1 layer`, `12 layers`.
pub fn layers(count: impl Display) -> String {
    match count.to_string().as_str() {
        "1" => t!("1 layer"),
        count => t!("%{count} layers", count),
    }
}

/// Marks English words in a constant, which [`say`] translates where they are shown.
macro_rules! n {
    ($english:literal) => {
        $english
    };
}
pub(crate) use n;

#[cfg(test)]
mod tests {
    use rust_i18n::replace_patterns;

    use super::{Language, say_in, wanted};

    fn asked(arguments: &[&str], variables: &[(&str, &str)]) -> Language {
        let arguments: Vec<_> = arguments.iter().map(Into::into).collect();
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        wanted(&arguments, variable)
    }

    #[test]
    fn the_flag_wins_over_the_locale_and_the_first_variable_over_the_others() {
        let chinese = [("LANG", "zh_CN.UTF-8")];
        assert_eq!(asked(&["mha", "trace"], &[]), Language::En);
        assert_eq!(asked(&["mha", "trace"], &chinese), Language::Zh);
        assert_eq!(asked(&["mha", "trace", "--lang", "en"], &chinese), Language::En);
        assert_eq!(asked(&["mha", "--lang=zh", "--help"], &[]), Language::Zh);
        // An empty variable counts as not set; LC_ALL stands before LANG.
        assert_eq!(asked(&["mha"], &[("LC_ALL", ""), ("LANG", "zh_CN")]), Language::Zh);
        assert_eq!(asked(&["mha"], &[("LC_ALL", "C"), ("LANG", "zh_CN")]), Language::En);
        // What is no language is the parser's to refuse; what follows -- is no flag.
        assert_eq!(asked(&["mha", "--lang", "fr"], &chinese), Language::Zh);
        assert_eq!(asked(&["mha", "--", "--lang", "en"], &chinese), Language::Zh);
    }

    #[test]
    fn words_without_an_entry_stay_english_and_keep_their_values() {
        let english = "No entry: \"%{what}\" is 50% of it. Really.";
        let found = say_in(Language::Zh, english);
        assert_eq!(found, english);
        assert_eq!(
            replace_patterns(found, &["what"], &["%{what}".to_owned()]),
            "No entry: \"%{what}\" is 50% of it. Really."
        );
        assert_eq!(say_in(Language::Zh, "the input tokens"), "输入词元");
    }
}
