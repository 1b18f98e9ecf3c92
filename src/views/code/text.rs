//! Words of a lesson inside Python and Markdown: shown, never obeyed.

use crate::fault::visible;
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

/// A text as Markdown that shows it: no mark-up, no HTML, no formula, no link.
pub(super) fn markdown(text: &str, page: &Page) -> String {
    let text = page.letters(&visible(text));
    let mut plain = String::with_capacity(text.len());
    for (place, c) in text.char_indices() {
        match c {
            '&' | '<' | '>' | '$' | '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '@' => {
                entity(&mut plain, c)
            }
            ':' if text[place..].starts_with("://") => entity(&mut plain, c),
            '.' if ends_in_www(&text.as_bytes()[..place]) => entity(&mut plain, c),
            // What opens a list, a rule or a heading does so at the start only.
            c if place == 0 && !c.is_alphabetic() => entity(&mut plain, c),
            c => plain.push(c),
        }
    }
    plain
}

/// Looks at three letters only: whoever looks at all that was read so far, at every dot, takes its square in time.
fn ends_in_www(before: &[u8]) -> bool {
    before.last_chunk::<3>().is_some_and(|last| last.eq_ignore_ascii_case(b"www"))
}

fn entity(plain: &mut String, c: char) {
    plain.push_str(&format!("&#{};", c as u32));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_docstring_cannot_be_closed_by_what_it_holds() {
        let text = docstring("\"\"\" + open('x') \\", &Page::default());
        assert_eq!(text, "\\\"\\\"\" + open('x') \\\\\n");
    }

    #[test]
    fn a_comment_stays_on_its_line() {
        assert_eq!(comment("a\nimport os", &Page::default()), "  # a\\nimport os");
    }

    #[test]
    fn markdown_shows_marks_as_they_are() {
        let page = Page::default();
        assert_eq!(markdown("<b> $x$", &page), "&#60;b&#62; &#36;x&#36;");
        assert_eq!(markdown("- www.a http://b", &page), "&#45; www&#46;a http&#58;//b");
        assert_eq!(markdown("a wWw.b ww.c", &page), "a wWw&#46;b ww.c");
    }
}
