//! JSON as text: what it says is read back as it was, and no terminal or page on the way obeys any of it.

use std::fmt::Write;

use serde_json::Value;

use crate::fault::commands;

/// JSON on one line; characters that command a terminal are written as `\u009b`.
pub(crate) fn quiet(value: &Value) -> String {
    numbered(&value.to_string(), commands)
}

/// The same on a line a value, for people to read; the last line has no end.
pub(crate) fn pretty(value: &Value) -> String {
    // Line breaks stand between values here: those inside a text are escaped already.
    numbered(&format!("{value:#}"), |c| c != '\n' && commands(c))
}

/// The same inside a script element of a page: a parser of HTML must find no tag in it, and one of JavaScript no line
/// break.
pub(super) fn in_script(value: &Value) -> String {
    numbered(&value.to_string(), |c| matches!(c, '<' | '>' | '&') || commands(c))
}

/// JSON with every letter beyond ASCII by its number.
pub(super) fn in_ascii(json: &str) -> String {
    numbered(json, |c| !c.is_ascii())
}

/// The JSON with some characters by their numbers: beyond 16 bits as a pair.
///
/// Such characters stand in texts only: what JSON itself is made of is ASCII, and none of these signs.
fn numbered(json: &str, is_meant: impl Fn(char) -> bool) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        if !is_meant(c) {
            safe.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a String does not fail.
            let _ = write!(safe, "\\u{unit:04x}");
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::hostile::texts;

    /// U+009B starts an escape sequence on terminals that know eight-bit codes; a reader of JSON gets it back. U+E0041 is
    /// 0xDB40 0xDC41 in UTF-16.
    #[test]
    fn what_commands_a_terminal_is_escaped_and_reads_back() {
        let name = json!("a\u{9b}31m\u{202e}b\u{1b}\u{e0041}");
        assert_eq!(quiet(&name), r#""a\u009b31m\u202eb\u001b\udb40\udc41""#);
        assert_eq!(serde_json::from_str::<Value>(&quiet(&name)).ok(), Some(name));
    }

    #[test]
    fn a_script_cannot_be_ended_from_within_its_data() {
        let value = json!(["</script><!--&\u{2028}"]);
        let safe = in_script(&value);
        assert_eq!(safe, r#"["\u003c/script\u003e\u003c!--\u0026\u2028"]"#);
        assert_eq!(serde_json::from_str::<Value>(&safe).ok(), Some(value));
    }

    /// U+1D400 is 0xD835 0xDC00 in UTF-16.
    #[test]
    fn ascii_json_says_the_same() {
        assert_eq!(in_ascii("\"√𝐀\""), r#""\u221a\ud835\udc00""#);
    }

    proptest! {
        #[test]
        fn any_text_reads_back_and_commands_nothing(text in texts()) {
            let value = json!({text.clone(): [text]});
            for written in [quiet(&value), pretty(&value), in_script(&value), in_ascii(&quiet(&value))] {
                prop_assert!(!written.chars().any(|c| c != '\n' && commands(c)), "{written:?}");
                prop_assert_eq!(&serde_json::from_str::<Value>(&written).unwrap(), &value);
            }
            prop_assert!(!in_script(&value).contains(['<', '>', '&']));
        }
    }
}
