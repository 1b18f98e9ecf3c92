//! Words of a lesson inside Python and Markdown: shown, never obeyed.

use crate::fault::visible;
use crate::views::markdown_text;
use crate::views::page::{Page, shorten};

/// Columns of prose in a script.
const PROSE: usize = 88;

/// A text as lines of a docstring.
///
/// A docstring and no comment: a comment in the first two lines can change the file's encoding.
pub(super) fn docstring(text: &str, page: &Page) -> String {
    let page = Page { width: PROSE, ..*page };
    inside_quotes(&page.paragraph(&visible(text), 0))
}

/// Lines that hold no control characters, as a string in three double quotes holds them.
pub(super) fn inside_quotes(lines: &str) -> String {
    lines.replace('\\', "\\\\").replace("\"\"", "\\\"\\\"")
}

/// A name as the end of a line of code; empty where it is empty.
pub(super) fn comment(text: &str, page: &Page) -> String {
    let text = page.letters(&shorten(&visible(text), 40));
    if text.is_empty() { text } else { format!("  # {text}") }
}

/// A text as Markdown that shows it, wherever a line begins with it.
pub(super) fn markdown(text: &str, page: &Page) -> String {
    markdown_text::line(&page.letters(&visible(text)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hostile::texts;

    #[test]
    fn a_docstring_cannot_be_closed_by_what_it_holds() {
        let text = docstring("\"\"\" + open('x') \\", &Page::default());
        assert_eq!(text, "\\\"\\\"\" + open('x') \\\\\n");
    }

    /// What stands in a string behind its opening quotes, and what follows it: Python ends it at the first three quotes
    /// that no backslash stands before.
    fn read(code: &str) -> (String, &str) {
        let mut words = String::new();
        let mut letters = code.char_indices();
        while let Some((at, c)) = letters.next() {
            match c {
                '\\' => words.extend(letters.next().map(|(_, c)| c)),
                '"' if code[at..].starts_with("\"\"\"") => return (words, &code[at + 3..]),
                c => words.push(c),
            }
        }
        panic!("the string never ends: {code}");
    }

    proptest! {
        #[test]
        fn any_text_stays_inside_its_string(text in texts()) {
            let code = docstring(&text, &Page::default()) + "\"\"\"\nprint()";
            let (words, rest) = read(&code);
            prop_assert_eq!(rest, "\nprint()");
            let words = words.split_whitespace().collect::<Vec<_>>().concat();
            prop_assert_eq!(words, visible(&text).split_whitespace().collect::<Vec<_>>().concat());
        }

        #[test]
        fn any_name_stays_inside_its_comment(name in texts()) {
            for page in [Page::default(), Page { ascii: true, ..Page::default() }] {
                let code = comment(&name, &page);
                prop_assert!(code.is_empty() || code.starts_with("  # "), "{}", code);
                prop_assert!(!code.chars().any(crate::fault::commands), "{:?}", code);
            }
        }
    }

    #[test]
    fn a_comment_stays_on_its_line() {
        assert_eq!(comment("a\nimport os", &Page::default()), "  # a\\nimport os");
    }
}
