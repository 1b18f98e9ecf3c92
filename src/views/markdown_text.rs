//! Text that Markdown shows and does not obey: no mark-up, no HTML, no formula, no link, no mention of a person.
//!
//! It is safe in GitHub's Markdown and in Jupyter's, which looks for formulas before it reads any Markdown: a backslash
//! before a bracket opens one there even where Markdown has it escaped, so `\` and `$` are written by their numbers.

use crate::fault::visible;

/// A text inside a line or a cell of a table.
///
/// An invisible blank of no width follows an `@` or a `#` that would call a person or an issue: GitHub looks for those
/// in what is shown, where nothing is escaped any more.
pub(crate) fn inline(text: &str) -> String {
    let text = visible(text);
    let mut safe = String::with_capacity(text.len());
    for (place, c) in text.char_indices() {
        let (before, after) = (&text.as_bytes()[..place], &text[place + c.len_utf8()..]);
        match c {
            '\\' | '$' => safe.push_str(&format!("&#{};", u32::from(c))),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '@' if after.starts_with(char::is_alphanumeric) => safe.push_str("@&#8203;"),
            '#' if after.starts_with(|c: char| c.is_ascii_digit()) => safe.push_str("\\#&#8203;"),
            '`' | '*' | '_' | '[' | ']' | '#' | '|' | '~' | '!' => safe.extend(['\\', c]),
            // What would become a link by itself.
            ':' if after.starts_with("//") => safe.push_str(":\\"),
            '.' if ends_in_www(before) => safe.push_str("\\."),
            c => safe.push(c),
        }
    }
    safe
}

/// The same at the beginning of a line: nor does it begin a list, a rule, an underlined heading or a block of code.
pub(crate) fn line(text: &str) -> String {
    let safe = inline(text.trim());
    let digits = safe.bytes().take_while(u8::is_ascii_digit).count();
    match safe.as_bytes().get(digits) {
        Some(b'-' | b'+' | b'=') if digits == 0 => format!("\\{safe}"),
        // A blank makes it a list; 1.5 is a number.
        Some(b'.' | b')') if digits > 0 && matches!(safe.as_bytes().get(digits + 1), None | Some(b' ')) => {
            format!("{}\\{}", &safe[..digits], &safe[digits..])
        }
        _ => safe,
    }
}

/// Looks at three letters only: whoever looks at all that was read so far, at every dot, takes its square in time.
fn ends_in_www(before: &[u8]) -> bool {
    before.last_chunk::<3>().is_some_and(|last| last.eq_ignore_ascii_case(b"www"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use pulldown_cmark::{Event, Options, Parser, Tag};

    use super::*;
    use crate::hostile::texts;

    /// What CommonMark and GitHub give a meaning to, and how either lets one write it without.
    #[test]
    fn marks_are_shown_as_they_are() {
        assert_eq!(inline("<b> & $x$ \\(y\\)"), "&lt;b&gt; &amp; &#36;x&#36; &#92;(y&#92;)");
        assert_eq!(
            inline("*a* _b_ `c` [d](e) ![f] ~g~ |"),
            "\\*a\\* \\_b\\_ \\`c\\` \\[d\\](e) \\!\\[f\\] \\~g\\~ \\|"
        );
        assert_eq!(inline("a\nb"), "a&#92;nb");
    }

    #[test]
    fn nothing_becomes_a_link() {
        assert_eq!(inline("http://b www.a wWw.b ww.c"), "http:\\//b www\\.a wWw\\.b ww.c");
        assert_eq!(inline("@octocat a@b.c a @ b"), "@&#8203;octocat a@&#8203;b.c a @ b");
        assert_eq!(inline("a/b#12 # 3"), "a/b\\#&#8203;12 \\# 3");
    }

    #[test]
    fn a_line_begins_no_block() {
        for (text, shown) in [
            ("- a", "\\- a"),
            ("+ a", "\\+ a"),
            ("===", "\\==="),
            ("1. a", "1\\. a"),
            ("23) a", "23\\) a"),
            ("    a", "a"),
            ("# a", "\\# a"),
            ("> a", "&gt; a"),
            ("1.", "1\\."),
            ("1.5 is one number", "1.5 is one number"),
            ("word - word", "word - word"),
        ] {
            assert_eq!(line(text), shown);
        }
    }

    /// The paragraphs of a page as another's parser reads them; anything but text in them is told.
    fn read(page: &str) -> Result<String, TestCaseError> {
        let extensions = Options::ENABLE_TABLES
            | Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_MATH
            | Options::ENABLE_FOOTNOTES
            | Options::ENABLE_TASKLISTS;
        let mut words = String::new();
        for event in Parser::new_ext(page, extensions) {
            match event {
                Event::Text(text) => words.push_str(&text),
                Event::Start(
                    Tag::Paragraph | Tag::Table(_) | Tag::TableHead | Tag::TableRow | Tag::TableCell,
                )
                | Event::End(_) => {}
                other => return Err(TestCaseError::fail(format!("{other:?} in {page:?}"))),
            }
        }
        Ok(words)
    }

    proptest! {
        /// But for the blanks of no width that keep people and issues from being called, the words are those of the text.
        #[test]
        fn any_text_is_words_and_nothing_else(text in texts()) {
            let words = |shown: &str| shown.split_whitespace().collect::<String>().replace('\u{200b}', "");
            prop_assert_eq!(words(&read(&line(&text))?), words(&visible(text.trim())));
            let expected = words(&visible(&text));
            prop_assert_eq!(words(&read(&format!("a {} z", inline(&text)))?), words(&format!("a {expected} z")));
            let table = format!("| a | b |\n| --- | --- |\n| {} | z |\n", inline(&text));
            prop_assert_eq!(words(&read(&table)?), words(&format!("ab{expected}z")));
        }
    }
}
