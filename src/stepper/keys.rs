//! Which key does what: one table, from which the help page is written too.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::state::Action;
use crate::words::{n, t};

/// A key as the table names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// A letter or sign, as it is typed.
    Char(char),
    /// A letter with the control key.
    Ctrl(char),
    /// A key with a name.
    Named(KeyCode),
    /// 1 to 9.
    Digit,
}

/// Keys, what they do, and how the help page says it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Binding {
    /// Any of these.
    pub(super) keys: &'static [Key],
    /// What they do; a digit's number is put in.
    pub(super) action: Action,
    /// In the words of the help page.
    pub(super) says: &'static str,
}

const fn bind(keys: &'static [Key], action: Action, says: &'static str) -> Binding {
    Binding { keys, action, says }
}

use Key::{Char, Ctrl, Digit, Named};

/// Every key, in the order of the help page: a heading and what stands under it.
pub(super) const BINDINGS: &[(&str, &[Binding])] = &[
    (
        n!("Steps"),
        &[
            bind(&[Char('n'), Char(' '), Named(KeyCode::PageDown)], Action::NextStep, n!("the next step")),
            bind(&[Char('p'), Named(KeyCode::PageUp)], Action::PreviousStep, n!("the step before")),
            bind(&[Char('g'), Named(KeyCode::Home)], Action::FirstStep, n!("the first step")),
            bind(&[Char('G'), Named(KeyCode::End)], Action::LastStep, n!("the last step")),
            bind(&[Digit], Action::Head(0), n!("the same step in that head")),
            bind(
                &[Char(':')],
                Action::GoTo,
                n!("go to a head (12), a step (q) or a number (head.1.scores[3,1])"),
            ),
        ],
    ),
    (
        n!("Numbers"),
        &[
            bind(&[Named(KeyCode::Left), Char('h')], Action::Left, n!("one to the left")),
            bind(&[Named(KeyCode::Down), Char('j')], Action::Down, n!("one down")),
            bind(&[Named(KeyCode::Up), Char('k')], Action::Up, n!("one up")),
            bind(&[Named(KeyCode::Right), Char('l')], Action::Right, n!("one to the right")),
            bind(
                &[Named(KeyCode::Tab), Named(KeyCode::Enter)],
                Action::FirstSource,
                n!("walk to the first number that this one was made from"),
            ),
            bind(
                &[Named(KeyCode::BackTab)],
                Action::LastSource,
                n!("walk to the last of them: the key, the value"),
            ),
            bind(&[Named(KeyCode::Backspace)], Action::Back, n!("walk back")),
            bind(&[Char('J')], Action::ScrollDown, n!("scroll what is written below the table")),
            bind(&[Char('K')], Action::ScrollUp, n!("scroll it back")),
        ],
    ),
    (
        n!("What if"),
        &[
            bind(
                &[Char('e')],
                Action::Edit,
                n!("give this number another value, and see what follows (marked *)"),
            ),
            bind(&[Char('u')], Action::Undo, n!("take the last edit back")),
            bind(&[Char('r')], Action::Reset, n!("give the lesson's own numbers again")),
            bind(&[Char('m')], Action::Mask, n!("take the masks away, or put them back")),
            bind(&[Named(KeyCode::Esc)], Action::Forget, n!("stop marking what changed")),
        ],
    ),
    (
        n!("Look"),
        &[
            bind(&[Char('t')], Action::Turn, n!("tokens in columns, or in rows again")),
            bind(
                &[Char('x')],
                Action::Exact,
                n!("1/√2 in place of 0.7071 where the numbers allow it, or decimals again"),
            ),
            bind(&[Char('+'), Char('=')], Action::MoreDigits, n!("one more digit after the point")),
            bind(&[Char('-')], Action::FewerDigits, n!("one digit fewer")),
            bind(&[Char('?'), Named(KeyCode::F(1))], Action::Help, n!("this page")),
            bind(&[Ctrl('l')], Action::Redraw, n!("draw the screen again")),
            bind(&[Ctrl('z')], Action::Suspend, n!("back to the shell for a while; fg returns")),
            bind(&[Char('q')], Action::Quit, n!("leave; from this page, back to the numbers")),
            bind(&[Ctrl('c')], Action::Leave, n!("leave, whatever is going on")),
        ],
    ),
];

/// What a key does while nothing is being typed.
pub(super) fn action(event: KeyEvent) -> Option<Action> {
    let bindings = BINDINGS.iter().flat_map(|(_, bindings)| bindings.iter());
    bindings.into_iter().find_map(|binding| {
        let key = binding.keys.iter().find(|key| key.is(event))?;
        Some(match (key, event.code) {
            (Digit, KeyCode::Char(digit)) => Action::Head(digit.to_digit(10)? as usize),
            _ => binding.action,
        })
    })
}

/// What a key does while something is being typed.
pub(super) fn typing(event: KeyEvent) -> Option<Action> {
    let is_command = event.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    match event.code {
        KeyCode::Enter => Some(Action::Accept),
        KeyCode::Esc => Some(Action::Cancel),
        KeyCode::Backspace => Some(Action::Erase),
        KeyCode::Char('c') if event.modifiers.contains(KeyModifiers::CONTROL) => Some(Action::Leave),
        KeyCode::Char('u') if event.modifiers.contains(KeyModifiers::CONTROL) => Some(Action::EraseAll),
        KeyCode::Char(c) if !is_command => Some(Action::Type(c)),
        _ => None,
    }
}

impl Key {
    fn is(self, event: KeyEvent) -> bool {
        let control = event.modifiers.contains(KeyModifiers::CONTROL);
        let alt = event.modifiers.contains(KeyModifiers::ALT);
        match (self, event.code) {
            (_, _) if alt => false,
            (Self::Ctrl(letter), KeyCode::Char(c)) => control && c == letter,
            (Self::Char(letter), KeyCode::Char(c)) => !control && c == letter,
            (Self::Digit, KeyCode::Char(c)) => !control && ('1'..='9').contains(&c),
            // Some terminals send shift and tab as a tab that is shifted.
            (Self::Named(KeyCode::Tab), KeyCode::Tab) => !event.modifiers.contains(KeyModifiers::SHIFT),
            (Self::Named(KeyCode::BackTab), KeyCode::Tab) => event.modifiers.contains(KeyModifiers::SHIFT),
            (Self::Named(named), code) => !control && code == named,
            _ => false,
        }
    }

    /// How it is called on a keyboard; without arrows where there is only ASCII.
    pub(super) fn name(self, ascii: bool) -> String {
        match self {
            Self::Char(' ') => t!("space"),
            Self::Char(letter) => letter.to_string(),
            Self::Ctrl(letter) => format!("ctrl-{}", letter.to_ascii_uppercase()),
            Self::Digit => t!("1 to 9"),
            Self::Named(code @ (KeyCode::Left | KeyCode::Down | KeyCode::Up | KeyCode::Right)) if ascii => {
                code.to_string().to_lowercase()
            }
            Self::Named(code) => match code {
                KeyCode::Left => "←".to_owned(),
                KeyCode::Down => "↓".to_owned(),
                KeyCode::Up => "↑".to_owned(),
                KeyCode::Right => "→".to_owned(),
                KeyCode::PageDown => "PgDn".to_owned(),
                KeyCode::PageUp => "PgUp".to_owned(),
                KeyCode::BackTab => "shift-Tab".to_owned(),
                KeyCode::F(number) => format!("F{number}"),
                code => code.to_string(),
            },
        }
    }
}
