//! The map of all heads: a cell a head, coloured by its type, with the type's letter in it.

use colored::{Color, Colorize};

use super::heads::Shown;
use super::heat::paint::Colours;
use super::heat::palette::{self, Ink, Rgb};
use super::page::width;
use crate::heads::{Measure, Role};
use crate::words::t;

/// Columns of a cell: a letter, a percentage, a sign for more types.
const CELL: usize = 5;

/// The colour of a type: Okabe and Ito's, which eyes that miss a kind of cone tell apart, and a few between them.
pub(super) fn ground(role: Role) -> Option<Rgb> {
    Some(match role {
        Role::Share(Measure::Previous) => (0x00, 0x72, 0xb2),
        Role::Share(Measure::Next) => (0x56, 0xb4, 0xe9),
        Role::Share(Measure::Itself) => (0xb5, 0xd9, 0xf0),
        Role::Share(Measure::First) => (0xd5, 0x5e, 0x00),
        Role::Share(Measure::Separator) => (0xe6, 0x9f, 0x00),
        Role::Share(Measure::Punctuation) => (0xf0, 0xe4, 0x42),
        Role::Share(Measure::Same) => (0xcc, 0x79, 0xa7),
        Role::Share(Measure::Induction) => (0x00, 0x9e, 0x73),
        Role::Broad => (0xbb, 0xbb, 0xbb),
        Role::Content => (0x5b, 0x3a, 0x8c),
        Role::Share(_) | Role::Mixed => return None,
    })
}

/// What stands in a cell: `P 93+`.
pub(super) fn cell(shown: &Shown<'_>, layer: usize, head: usize) -> (Role, String) {
    match shown.cell(layer, head) {
        Some((role, letter, value, more)) => {
            let more = if more { '+' } else { ' ' };
            (role, format!("{letter}{:>3}{more}", (value * 100.0).round()))
        }
        None => (Role::Mixed, format!("{:^CELL$}", "–")),
    }
}

/// The map as lines of text, as many heads side by side as the page is wide.
pub(super) fn text(shown: &Shown<'_>, colours: Colours) -> String {
    let page = &shown.page;
    let corner = t!("layer");
    let stub = width(&corner).max(4);
    let abreast = (page.width.saturating_sub(stub) / (CELL + 1)).max(1);
    let panels = shown.columns.len().div_ceil(abreast).max(1);
    let mut text = String::new();
    for (at, columns) in shown.columns.chunks(shown.columns.len().div_ceil(panels).max(1)).enumerate() {
        if at > 0 {
            text.push('\n');
        }
        text.push_str(&format!("{corner}{}", " ".repeat(stub - width(&corner))));
        for head in columns {
            text.push_str(&format!(" {:>4} ", format!("h{}", head + 1)));
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
        for layer in &shown.layers {
            let mut line = format!("{:>stub$}", layer + 1);
            for head in columns {
                let (role, cell) = cell(shown, *layer, *head);
                line.push(' ');
                line.push_str(&painted(&page.letters(&cell), role, colours));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text
}

fn painted(text: &str, role: Role, colours: Colours) -> String {
    let Some(ground) = ground(role) else { return text.to_owned() };
    match colours {
        Colours::True => {
            let ink = palette::ink(ground).rgb();
            text.truecolor(ink.0, ink.1, ink.2).on_truecolor(ground.0, ground.1, ground.2).to_string()
        }
        Colours::Many => {
            // Black and white of the cube: a theme may paint colours 0 and 15 as it likes.
            let ink = match palette::ink(ground) {
                Ink::Black => 16,
                Ink::White => 231,
            };
            text.color(Color::AnsiColor(ink)).on_color(Color::AnsiColor(of_256(ground))).to_string()
        }
        Colours::Sixteen | Colours::None => text.to_owned(),
    }
}

/// The nearest colour of xterm's cube, whose steps are 0, 95, 135, 175, 215, 255.
fn of_256((red, green, blue): Rgb) -> u8 {
    let step = |channel: u8| match channel {
        0..48 => 0,
        48..115 => 1,
        channel => (channel - 35) / 40,
    };
    16 + 36 * step(red) + 6 * step(green) + step(blue)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0, 114, 178 lies nearest to 0, 95, 175: steps 0, 1, 3. White is step 5 three times, 231.
    #[test]
    fn colours_of_the_cube_are_the_nearest() {
        assert_eq!(of_256((0x00, 0x72, 0xb2)), 16 + 6 + 3);
        assert_eq!(
            [of_256((0, 0, 0)), of_256((255, 255, 255)), of_256((96, 134, 216))],
            [16, 231, 16 + 36 + 12 + 4]
        );
    }

    #[test]
    fn every_type_but_mixed_has_a_colour_of_its_own_that_can_be_read() {
        let grounds: Vec<Rgb> = Role::ALL.into_iter().filter_map(ground).collect();
        assert_eq!(grounds.len(), Role::ALL.len() - 1);
        for (at, colour) in grounds.iter().enumerate() {
            assert!(!grounds[..at].contains(colour));
            assert!(palette::contrast(palette::ink(*colour).rgb(), *colour) >= 4.5);
        }
    }
}
