//! Text for a page: what came from a file is text there, and nothing else.

use std::fmt::Write;

use crate::fault::visible;
use crate::views::markup;

/// Text as HTML shows it, between tags and inside quoted attributes; control characters are made visible.
pub(crate) fn html(text: &str) -> String {
    markup::escaped(&visible(text))
}

/// The attribute that names the language of a lesson's words where it is not the page's English: most letters are Han
/// and none is kana.
pub(super) fn lang(text: &str) -> &'static str {
    let (mut han, mut letters) = (0, 0);
    for c in text.chars().filter(|c| c.is_alphabetic()) {
        letters += 1;
        match c {
            '\u{3040}'..='\u{30ff}' => return "",
            '\u{3400}'..='\u{9fff}' => han += 1,
            _ => {}
        }
    }
    if 2 * han > letters { " lang=\"zh\"" } else { "" }
}

/// JSON inside a script element: a parser of HTML must find no tag in it, and one of JavaScript no line break.
pub(super) fn in_script(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => escaped(&mut safe, c),
            c => safe.push(c),
        }
    }
    safe
}

/// The same page in ASCII: character references in HTML.
pub(super) fn html_in_ascii(html: &str) -> String {
    let mut plain = String::with_capacity(html.len());
    for c in html.chars() {
        match c.is_ascii() {
            true => plain.push(c),
            false => {
                // Writing to a String does not fail.
                let _ = write!(plain, "&#x{:x};", c as u32);
            }
        }
    }
    plain
}

/// The same JSON in ASCII.
pub(super) fn json_in_ascii(json: &str) -> String {
    let mut plain = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() { plain.push(c) } else { escaped(&mut plain, c) }
    }
    plain
}

/// A character as JSON writes it by its number; beyond 16 bits as a pair.
fn escaped(json: &mut String, c: char) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        let _ = write!(json, "\\u{unit:04x}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tag_no_quote_and_no_hidden_direction_gets_through() {
        assert_eq!(html("<b a=\"1\" c='2'>&"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;");
        assert_eq!(html("a\u{202e}b\u{7}"), "a\\u{202e}b\\u{7}");
    }

    #[test]
    fn a_script_cannot_be_ended_from_within_its_data() {
        let json = serde_json::json!(["</script><!--&\u{2028}"]).to_string();
        let safe = in_script(&json);
        assert_eq!(safe, r#"["\u003c/script\u003e\u003c!--\u0026\u2028"]"#);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap()[0], "</script><!--&\u{2028}");
    }

    #[test]
    fn words_in_chinese_say_so() {
        assert_eq!(lang("注意力机制：3 × 2"), " lang=\"zh\"");
        assert_eq!([lang("Scores of 猫"), lang("猫が好き"), lang("3 × 2")], ["", "", ""]);
    }

    /// U+1D400 is 0xD835 0xDC00 in UTF-16.
    #[test]
    fn ascii_pages_say_the_same() {
        assert_eq!(html_in_ascii("√2"), "&#x221a;2");
        assert_eq!(json_in_ascii("\"√𝐀\""), r#""\u221a\ud835\udc00""#);
    }
}
