//! Shades of a terminal: colours where there are some, characters with more or less ink where there are none.

use colored::{Color, Colorize};

use super::palette::{self, Ink};

/// How many colours may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// None.
    None,
    /// The sixteen that every theme paints as it likes: shades are drawn with ink, in the text's own colour.
    Sixteen,
    /// xterm's 256.
    Many,
    /// Any mixture of red, green and blue.
    True,
}

impl Colours {
    /// Whether a shade can be a colour.
    pub fn shade(self) -> bool {
        matches!(self, Self::Many | Self::True)
    }
}

/// A line of a picture: texts on shades, and texts between them.
#[derive(Debug, Default)]
pub(super) struct Line {
    runs: Vec<(Option<u8>, String)>,
}

impl Line {
    /// Adds a text on the plain ground.
    pub(super) fn plain(&mut self, text: &str) {
        self.add(None, text);
    }

    /// Adds a text on the shade of `t`, from 0 to 1.
    pub(super) fn shaded(&mut self, t: f64, text: &str) {
        self.add(Some((t.clamp(0.0, 1.0) * 255.0).round() as u8), text);
    }

    /// Neighbours of one shade are painted together: an escape sequence is longer than what it colours.
    fn add(&mut self, shade: Option<u8>, text: &str) {
        match self.runs.last_mut() {
            Some((last, run)) if *last == shade => run.push_str(text),
            _ => self.runs.push((shade, text.to_owned())),
        }
    }

    /// The line as it is sent.
    pub(super) fn painted(&self, colours: Colours) -> String {
        let run = |(shade, text): &(Option<u8>, String)| match shade {
            Some(shade) => painted(text, f64::from(*shade) / 255.0, colours),
            None => text.clone(),
        };
        self.runs.iter().map(run).collect()
    }
}

fn painted(text: &str, t: f64, colours: Colours) -> String {
    match colours {
        Colours::True => {
            let ground = palette::rgb(t);
            let (ink, paper) = (palette::ink(ground).rgb(), ground);
            text.truecolor(ink.0, ink.1, ink.2).on_truecolor(paper.0, paper.1, paper.2).to_string()
        }
        Colours::Many => {
            let (number, ground) = palette::of_256(t);
            // Black and white of the cube: a theme may paint colours 0 and 15 as it likes.
            let ink = match palette::ink(ground) {
                Ink::Black => 16,
                Ink::White => 231,
            };
            text.color(Color::AnsiColor(ink)).on_color(Color::AnsiColor(number)).to_string()
        }
        Colours::Sixteen | Colours::None => text.to_owned(),
    }
}
