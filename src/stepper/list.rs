//! The steps at the side, those of a head under its name.

use ratatui::text::{Line, Span};

use super::state::State;
use super::theme::Theme;
use super::told::cut;
use crate::plan::{Head, Name, StepId};
use crate::views::page::width;
use crate::words::t;

/// A line of the list.
struct Entry {
    text: String,
    /// `None` for a heading.
    step: Option<StepId>,
}

/// The list, as wide and high as it may be, around the step under the cursor.
pub(super) fn lines(state: &State, theme: Theme, room: usize, height: usize) -> Vec<Line<'static>> {
    let entries = entries(state);
    let now = entries.iter().position(|entry| entry.step == Some(state.at.step)).unwrap_or(0);
    let from = now.saturating_sub(height / 2).min(entries.len().saturating_sub(height));
    let changed = state.bench.changed_steps();
    let line = |entry: &Entry| {
        let star = entry.step.is_some_and(|id| changed.is_some_and(|changed| changed.contains(&id)));
        let text = cut(&state.page, &entry.text, room.saturating_sub(2));
        let mark = if star { "*" } else { " " };
        let pad = " ".repeat(room.saturating_sub(width(&text) + 1));
        let style = match entry.step {
            Some(id) if id == state.at.step => theme.bar(),
            Some(_) if star => theme.changed(),
            Some(_) => ratatui::style::Style::new(),
            None => theme.bold(),
        };
        Line::from(Span::styled(format!("{text}{pad}{mark}"), style))
    };
    entries.iter().skip(from).take(height).map(line).collect()
}

/// Columns that the longest entry takes, with its mark.
pub(super) fn natural_width(state: &State) -> usize {
    entries(state).iter().map(|entry| width(&entry.text) + 2).max().unwrap_or(0)
}

fn entries(state: &State) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut before: (Option<usize>, Option<usize>, Option<Head>) = (None, None, None);
    for step in state.steps() {
        let now = (step.id.sequence, step.id.layer, step.id.head());
        if now != before {
            if now.0 != before.0
                && let Some(sequence) = now.0
            {
                entries.push(Entry { text: t!("sequence %{sequence}", sequence = sequence + 1), step: None });
            }
            if now.1 != before.1
                && let Some(layer) = now.1
            {
                entries.push(Entry { text: t!("layer %{layer}", layer = layer + 1), step: None });
            }
            if let Some(Head(head)) = now.2 {
                entries.push(Entry { text: t!("head %{head}", head = head + 1), step: None });
            }
            before = now;
        }
        let text = match step.id.name {
            Name::Head(_, word) => format!("  {}", word.word()),
            name => name.to_string(),
        };
        entries.push(Entry { text, step: Some(step.id) });
    }
    entries
}
