//! Text on its way into HTML and SVG.

use crate::fault::visible;

/// A text as HTML and SVG show it, between tags and inside quoted attributes. What commands a reader is made visible: XML
/// has no place for most of it.
pub(crate) fn html(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
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
    use proptest::prelude::*;

    use super::*;
    use crate::hostile::texts;

    #[test]
    fn no_tag_no_quote_and_no_hidden_direction_gets_through() {
        assert_eq!(html("<b a=\"1\" c='2'>&"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;");
        assert_eq!(html("a\u{202e}b\u{7}c\u{ffff}"), "a\\u{202e}b\\u{7}c\\u{ffff}");
    }

    proptest! {
        /// What another's parser of XML reads between tags and in quotes of either kind is the text, made visible.
        #[test]
        fn any_text_is_a_text_and_nothing_else(text in texts()) {
            let safe = html(&text);
            let page = format!("<p a=\"{safe}\" b='{safe}'>{safe}</p>");
            let page = roxmltree::Document::parse(&page).unwrap();
            let root = page.root_element();
            prop_assert_eq!(root.children().filter(|node| !node.is_text()).count(), 0);
            for read in [root.text(), root.attribute("a"), root.attribute("b")] {
                prop_assert_eq!(read.unwrap_or_default(), visible(&text));
            }
        }
    }

    #[test]
    fn only_the_first_letter_grows() {
        assert_eq!(
            (capital("each cell"), capital("écart"), capital("")),
            ("Each cell".into(), "Écart".into(), String::new())
        );
    }
}
