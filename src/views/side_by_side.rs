//! Two tables beside each other where the page is wide enough, one above the other where it is not.

use super::grid::bare_width;
use super::page::Page;

/// Blanks between two tables.
const GAP: usize = 3;

/// A table as text, with a line above it.
pub(super) struct Block {
    /// What the table shows.
    pub(super) caption: String,
    /// Its lines, each ending with a line break.
    pub(super) text: String,
}

impl Block {
    fn lines(&self) -> Vec<&str> {
        std::iter::once(self.caption.as_str()).chain(self.text.lines()).collect()
    }
}

/// Both tables as text: beside each other if they are equally high and fit the page.
pub(super) fn set([left, right]: [Block; 2], page: &Page) -> String {
    let (ours, theirs) = (left.lines(), right.lines());
    let widest = |lines: &[&str]| lines.iter().map(|line| bare_width(line)).max().unwrap_or(0);
    let room = widest(&ours) + GAP;
    if ours.len() != theirs.len() || room + widest(&theirs) > page.width {
        return ours.into_iter().chain(theirs).map(|line| format!("{line}\n")).collect();
    }
    ours.iter()
        .zip(theirs)
        .map(|(line, other)| format!("{line}{}{other}\n", " ".repeat(room - bare_width(line))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(caption: &str, text: &str) -> Block {
        Block { caption: caption.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn tables_stand_beside_each_other_where_there_is_room() {
        let blocks = || [block("right", "\u{1b}[32m0.5\u{1b}[0m 1\n2   3\n"), block("wrong", "4\n5\n")];
        let page = Page { width: 20, ..Page::default() };
        assert_eq!(
            set(blocks(), &page),
            "right   wrong\n\u{1b}[32m0.5\u{1b}[0m 1   4\n2   3   5\n",
            "colour takes no room"
        );
        // 5 + 3 + 5 columns do not fit 12.
        let narrow = set(blocks(), &Page { width: 12, ..page });
        assert_eq!(narrow, "right\n\u{1b}[32m0.5\u{1b}[0m 1\n2   3\nwrong\n4\n5\n");
    }
}
