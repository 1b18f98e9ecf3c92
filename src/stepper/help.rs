//! The help page, written from the table of keys.

use ratatui::text::{Line, Span};

use super::keys::BINDINGS;
use super::theme::Theme;
use crate::views::page::{Page, width};
use crate::words::{n, say, t};

/// What the marks mean.
const MARKS: &[(&str, &str)] = &[
    ("[ ]", n!("in the large table the cursor; in the small ones what its number was made from")),
    ("*", n!("changed by the last edit, or by taking a mask away")),
];

/// The page, set to `page`'s width.
pub(super) fn lines(page: &Page, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let keys = |names: &[super::keys::Key]| {
        names.iter().map(|key| key.name(page.ascii)).collect::<Vec<_>>().join("  ")
    };
    let stub = BINDINGS
        .iter()
        .flat_map(|(_, bindings)| bindings.iter().map(|binding| width(&keys(binding.keys))))
        .max()
        .unwrap_or(0)
        .min(page.width / 3);
    let entry = |left: &str, says: &str| {
        let narrow = Page { width: page.width.saturating_sub(stub + 4), ..*page };
        let says = narrow.paragraph(says, 0);
        let mut says = says.lines();
        let pad = " ".repeat(stub.saturating_sub(width(left)) + 2);
        let first = vec![
            Span::raw("  "),
            Span::styled(left.to_owned(), theme.bold()),
            Span::raw(pad),
            Span::raw(says.next().unwrap_or_default().to_owned()),
        ];
        let mut lines = vec![Line::from(first)];
        lines.extend(says.map(|line| Line::from(format!("{}{line}", " ".repeat(stub + 4)))));
        lines
    };
    for (heading, bindings) in BINDINGS {
        lines.push(Line::from(Span::styled(say(heading).to_owned(), theme.name())));
        lines.extend(bindings.iter().flat_map(|binding| entry(&keys(binding.keys), say(binding.says))));
    }
    lines.push(Line::from(Span::styled(t!("Marks"), theme.name())));
    lines.extend(MARKS.iter().flat_map(|(sign, says)| entry(sign, say(says))));
    lines
}
