//! The words of the page's script in another language than English.

use serde_json::json;

use crate::words::{Language, language, t};

/// The script with its words translated: as it is in English.
pub(super) fn of_script(script: String) -> String {
    match language() {
        Language::En => script,
        Language::Zh => {
            translations().iter().fold(script, |script, (english, words)| script.replace(english, words))
        }
    }
}

/// What stands in the script, and what is put in its place.
fn translations() -> Vec<(String, String)> {
    let quoted = |english: &str, words: String| (json!(english).to_string(), json!(words).to_string());
    let template = |english: &str, words: String| (format!("`{english}`"), format!("`{words}`"));
    let (word, from, to) = ("${word}", "${from + 1}", "${to}");
    vec![
        (
            "[\"column\", \"row\"] : [\"row\", \"column\"]".to_owned(),
            format!("{} : {}", json!([t!("column"), t!("row")]), json!([t!("row"), t!("column")])),
        ),
        template("${word} ${to}", t!("%{line} number %{at}", line = word, at = to)),
        template(
            "${word}s ${from + 1} to ${to}",
            t!("%{line} numbers %{from} to %{to}", line = word, from, to),
        ),
        template("${parts.join(\", \")} of ", t!("%{parts} of ", parts = "${parts.join(\", \")}")),
        quoted("all of ", t!("all of ")),
        quoted("From ", t!("From ")),
        quoted(
            "Given by the lesson: nothing stands behind it.",
            t!("Given by the lesson: nothing stands behind it."),
        ),
        quoted(
            "The page has no room for this one. It is shown by ",
            t!("The page has no room for this one. It is shown by "),
        ),
        template(
            " = ${largest[1]}, the largest; subtracting it changes no weight",
            t!(" = %{number}, the largest; subtracting it changes no weight", number = "${largest[1]}"),
        ),
        quoted(
            "In names such as q[3,1] the first number is the row before turning: the token.",
            t!("In names such as q[3,1] the first number is the row before turning: the token."),
        ),
        quoted("Made from", t!("Made from")),
        quoted(
            "A rule of this step sets it, whatever the numbers before it are.",
            t!("A rule of this step sets it, whatever the numbers before it are."),
        ),
        template("${there.id} (not on this page)", t!("%{step} (not on this page)", step = "${there.id}")),
        quoted("Show in its table", t!("Show in its table")),
        quoted("Let go (Esc)", t!("Let go (Esc)")),
    ]
}

#[cfg(test)]
mod tests {
    use super::translations;

    #[test]
    fn every_sentence_that_is_translated_stands_in_the_script() {
        let script = include_str!("page.js");
        for (english, _) in translations() {
            assert_eq!(script.matches(&english).count(), 1, "{english}");
        }
    }
}
