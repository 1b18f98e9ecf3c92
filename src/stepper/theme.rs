//! What marks what: always a sign or a weight of the letters, and colour where it is wanted.

use ratatui::style::{Color, Modifier, Style};

/// Whether to colour; colour never says anything alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// The sixteen colours that every terminal has, on its own background.
    Coloured,
    /// Bold, dim, underlined and reversed letters only.
    Plain,
}

impl Theme {
    fn pick(self, coloured: Style, plain: Style) -> Style {
        match self {
            Self::Coloured => coloured,
            Self::Plain => plain,
        }
    }

    /// The number under the cursor.
    pub(super) fn cursor(self) -> Style {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        self.pick(bold.fg(Color::Black).bg(Color::Yellow), bold.add_modifier(Modifier::REVERSED))
    }

    /// A number that the one under the cursor was made from.
    pub(super) fn lit(self) -> Style {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        self.pick(bold.fg(Color::Black).bg(Color::Cyan), bold.add_modifier(Modifier::UNDERLINED))
    }

    /// A number that the last change changed.
    pub(super) fn changed(self) -> Style {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        self.pick(bold.fg(Color::Magenta), bold)
    }

    /// A hidden score, a weight of zero, and whatever only accompanies.
    pub(super) fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// The name of a step.
    pub(super) fn name(self) -> Style {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        self.pick(bold.fg(Color::Cyan), bold)
    }

    /// A heading, a key.
    pub(super) fn bold(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// The title, and the step in the list that is being looked at.
    pub(super) fn bar(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}
