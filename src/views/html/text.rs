//! The letters of a page: in which language they are, and the same page in ASCII.

use std::fmt::Write;

/// The attribute that names the language of a lesson's words where it is not the page's English: most letters are Han
/// and none is kana.
pub(crate) fn lang(text: &str) -> &'static str {
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

/// The same page in ASCII: character references in HTML.
pub(crate) fn html_in_ascii(html: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_chinese_say_so() {
        assert_eq!(lang("注意力机制：3 × 2"), " lang=\"zh\"");
        assert_eq!([lang("Scores of 猫"), lang("猫が好き"), lang("3 × 2")], ["", "", ""]);
    }

    #[test]
    fn ascii_pages_say_the_same() {
        assert_eq!(html_in_ascii("√2"), "&#x221a;2");
    }
}
