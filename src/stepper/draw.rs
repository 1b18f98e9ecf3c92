//! From the state to a frame: a title, the steps at the side, the board, and what can be pressed.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout as Split, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::bench::Masks;
use super::state::{Purpose, State, Typing, View};
use super::theme::Theme;
use super::told::cut;
use super::{board, help, list};
use crate::fault::visible;
use crate::views::page::{Layout, Page, width};
use crate::words::{n, say, t};

/// From so many columns on the list of steps stands at the side.
const ROOM_FOR_LIST: u16 = 64;

/// Draws the state. Scrolling that went too far is taken back in it.
pub(super) fn frame(frame: &mut Frame<'_>, state: &mut State, theme: Theme) {
    let area = frame.area();
    let below = status(state, theme, area.width.into());
    let heights = [
        Constraint::Length(u16::from(area.height >= 8)),
        Constraint::Min(0),
        Constraint::Length(to_u16(below.len()).min(area.height / 2).max(1)),
    ];
    let [title, body, status] = Split::vertical(heights).areas(area);
    if let Some(typing) = &state.typing {
        let x = status.x.saturating_add(to_u16(width(&prompt(state)) + width(&typed(&state.page, typing))));
        if status.height > 0 && x < status.right() {
            frame.set_cursor_position((x, status.y));
        }
    }
    put(frame, title, vec![title_line(state, theme, title.width.into())]);
    put(frame, status, below);
    if let View::Help(_) = state.view {
        return draw_help(frame, body, state, theme);
    }
    let list_width = match area.width >= ROOM_FOR_LIST {
        true => to_u16(list::natural_width(state)).clamp(12, area.width / 4),
        false => 0,
    };
    let gap = if list_width > 0 { 2 } else { 0 };
    let [side, between, main] =
        Split::horizontal([Constraint::Length(list_width), Constraint::Length(gap), Constraint::Min(0)])
            .areas(body);
    put(frame, side, list::lines(state, theme, side.width.into(), side.height.into()));
    let bar = if state.page.ascii { "|" } else { "│" };
    put(frame, between, (0..between.height).map(|_| Line::from(Span::styled(bar, theme.dim()))).collect());
    let (lines, most) = board::lines(state, theme, main.width.into(), main.height.into());
    state.scroll_within(most);
    put(frame, main, lines);
}

fn draw_help(frame: &mut Frame<'_>, area: Rect, state: &mut State, theme: Theme) {
    let page = Page { width: area.width.into(), ..state.page };
    let lines = help::lines(&page, theme);
    state.scroll_within(lines.len().saturating_sub(area.height.into()));
    let from = if let View::Help(from) = state.view { from } else { 0 };
    put(frame, area, lines.into_iter().skip(from).collect());
}

fn put(frame: &mut Frame<'_>, area: Rect, lines: Vec<Line<'static>>) {
    frame.render_widget(Paragraph::new(lines), area);
}

fn to_u16(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

/// The lesson's title, and how it is looked at.
fn title_line(state: &State, theme: Theme, room: usize) -> Line<'static> {
    let page = &state.page;
    let steps: Vec<_> = state.steps().map(|step| step.id).collect();
    let place = steps.iter().position(|id| *id == state.at.step).map_or(0, |place| place + 1);
    let mut modes = vec![t!("step %{place} of %{all}", place, all = steps.len())];
    match state.bench.mask() {
        Masks::None => {}
        Masks::On => modes.push(t!("mask on")),
        Masks::Off => modes.push(t!("mask off")),
    }
    if state.bench.exact().is_some() {
        modes.push(t!("exact"));
    }
    if page.layout == Layout::Columns {
        modes.push(t!("tokens in columns"));
    }
    match state.bench.edits() {
        0 => {}
        1 => modes.push(t!("1 edit")),
        many => modes.push(t!("%{many} edits", many)),
    }
    let modes = format!(" {} ", modes.join(page.between()));
    let title = cut(page, &visible(&state.bench.problem.title), room.saturating_sub(width(&modes) + 2));
    let pad = " ".repeat(room.saturating_sub(width(&title) + width(&modes) + 1));
    let text = format!(" {title}{pad}{modes}");
    Line::from(Span::styled(text, theme.bar()))
}

/// What stands before what is typed.
fn prompt(state: &State) -> String {
    match state.typing.as_ref().map(|typing| typing.purpose) {
        Some(Purpose::Edit) => format!(" {} = ", state.at),
        Some(Purpose::GoTo) => t!(" go to "),
        None => String::new(),
    }
}

/// What is typed, in the letters it is shown in.
fn typed(page: &Page, typing: &Typing) -> String {
    page.letters(&visible(&typing.text))
}

/// What is typed, or what is to be said, or what can be pressed.
fn status(state: &State, theme: Theme, room: usize) -> Vec<Line<'static>> {
    let page = &state.page;
    if let Some(typing) = &state.typing {
        let hint = match typing.purpose {
            Purpose::Edit => t!("   Enter accepts, Esc cancels"),
            Purpose::GoTo => t!("   a head: 2; a step: q; a number: q[3,1]"),
        };
        return vec![Line::from(vec![
            Span::styled(prompt(state), theme.bold()),
            Span::raw(typed(page, typing)),
            Span::styled(hint, theme.dim()),
        ])];
    }
    if let (Some(message), View::Step) = (&state.message, state.view) {
        let narrow = Page { width: room, ..*page };
        let message = narrow.paragraph(&visible(message), 1);
        return message.lines().map(|line| Line::from(Span::styled(line.to_owned(), theme.bold()))).collect();
    }
    let hints: &[(&str, &str)] = match state.view {
        View::Help(_) => &[("↓ ↑", n!("scroll")), ("q", n!("back"))],
        View::Step if state.bench.is_given(state.at.step) => &[
            ("n", n!("next")),
            ("p", n!("back")),
            ("←↓↑→", n!("move")),
            ("e", n!("edit")),
            ("Bksp", n!("return")),
            ("1-9", n!("head")),
            ("x", n!("exact")),
            ("t", n!("turn")),
            ("?", n!("help")),
            ("q", n!("quit")),
        ],
        View::Step => &[
            ("n", n!("next")),
            ("p", n!("back")),
            ("←↓↑→", n!("move")),
            ("Tab", n!("where from")),
            ("Bksp", n!("return")),
            ("1-9", n!("head")),
            ("x", n!("exact")),
            ("t", n!("turn")),
            ("?", n!("help")),
            ("q", n!("quit")),
        ],
    };
    let spelled = |key: &str| match (page.ascii, key) {
        (true, "←↓↑→" | "↓ ↑") => t!("arrows"),
        _ => key.to_owned(),
    };
    let hint = |(key, word): &(&str, &str)| (spelled(key), say(word).to_owned());
    let can_return = state.has_walked();
    let hints: Vec<(String, String)> =
        hints.iter().filter(|(_, word)| *word != "return" || can_return).map(hint).collect();
    let wide = |(key, word): &(String, String)| width(key) + width(word) + 3;
    // The last two say how to get on and how to get out: they stay longest.
    let mut left = room;
    let mut kept = vec![false; hints.len()];
    let order = (hints.len().saturating_sub(2)..hints.len()).chain(0..hints.len().saturating_sub(2));
    for at in order {
        if wide(&hints[at]) > left {
            break;
        }
        left -= wide(&hints[at]);
        kept[at] = true;
    }
    let mut spans = Vec::new();
    for ((key, word), _) in hints.into_iter().zip(kept).filter(|(_, kept)| *kept) {
        spans.push(Span::raw(" "));
        spans.push(Span::styled(key, theme.bold()));
        spans.push(Span::raw(format!(" {word} ")));
    }
    vec![Line::from(spans)]
}
