//! Text on its way into HTML and XML.

/// The text between tags or quotes of XML and HTML. What XML has no place for becomes the replacement character.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// The words with a capital letter first.
pub(super) fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tag_no_quote_and_no_control_gets_through() {
        assert_eq!(escaped("<b a=\"1\" c='2'>&"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;");
        assert_eq!(escaped("a\u{7}b\u{ffff}"), "a\u{fffd}b\u{fffd}");
    }

    #[test]
    fn only_the_first_letter_grows() {
        assert_eq!(
            (capital("each cell"), capital("écart"), capital("")),
            ("Each cell".into(), "Écart".into(), String::new())
        );
    }
}
