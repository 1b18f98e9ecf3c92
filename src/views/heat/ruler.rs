//! How much room texts take, which of them have room, and which numbers stand beside a colour bar.

use super::panels::Scale;
use crate::views::markup::capital;
use crate::views::number::{digits_for, number};
use crate::views::page::{shorten, width};

/// Columns of a label that are drawn; the rest is in its tooltip.
const LABEL_ROOM: usize = 16;
/// Columns of a label that a tooltip tells: no token is worth a page.
pub(super) const TOLD_ROOM: usize = 200;

/// A label as it is drawn.
pub(super) fn label(name: &str) -> String {
    shorten(name, LABEL_ROOM)
}

/// Pixels that a text takes at a font size, at most: sans-serif fonts differ, and DejaVu Sans is among the widest.
pub(in crate::views) fn text_width(text: &str, font: usize) -> usize {
    let wide = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' | '(' | ')' | '/' => 40,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' | '−' => 98,
        'A'..='Z' | '&' => 76,
        c if c.is_ascii() => 64,
        c => match width(c.encode_utf8(&mut [0; 4])) {
            0 => 0,
            1 => 72,
            _ => 105,
        },
    };
    (text.chars().map(wide).sum::<usize>() * font).div_ceil(100)
}

/// The text in lines of at most so many pixels, broken at blanks; a word that is wider is cut.
pub(in crate::views) fn wrapped(text: &str, font: usize, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word =
            if text_width(word, font) > room { shorten(word, room / font.max(1)) } else { word.to_owned() };
        match lines.last_mut() {
            Some(line) if text_width(line, font) + text_width(&word, font) + font / 2 <= room => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// The words as a sentence.
pub(super) fn sentence(words: &str) -> String {
    format!("{}.", capital(words))
}

/// How many rows share a name: one where names of this size do not touch, else so many that there is air between.
pub(super) fn every(cell: usize, font: usize) -> usize {
    if cell > font {
        return 1;
    }
    [2, 5, 10, 20, 50, 100, 200].into_iter().find(|every| every * cell > 2 * font).unwrap_or(500)
}

/// The rows or columns that have a name.
pub(super) fn named(count: usize, every: usize) -> impl Iterator<Item = usize> {
    (every.saturating_sub(1)..count).step_by(every.max(1))
}

/// Numbers beside a colour bar: round ones, and both ends with a digit more than those, at least two.
pub(super) fn ticks(scale: Scale, height: usize) -> Vec<(f64, String)> {
    let Scale { least, most } = scale;
    let span = most - least;
    if !(span > 0.0 && span.is_finite()) {
        return vec![(0.5, number(least, digits_for([&least], 4)))];
    }
    // The round step, of 1, 2 or 5, that cuts the span into at most five.
    let size = libm::pow(10.0, libm::floor(libm::log10(span / 5.0)));
    let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * size).into_iter().find(|step| span / step <= 5.0);
    let step = step.unwrap_or(span);
    let digits = (-libm::floor(libm::log10(step))).clamp(0.0, 12.0) as usize;
    let end = |value: f64| number(value, digits_for([&value], (digits + 1).max(2)));
    let mut ticks = vec![(0.0, end(least))];
    let apart = 13.0 / height as f64;
    let first = libm::ceil(least / step) as i64;
    for at in first..first.saturating_add(6) {
        let value = at as f64 * step;
        let place = scale.place(value);
        if value < most && place > apart && place < 1.0 - apart {
            ticks.push((place, number(value + 0.0, digits)));
        }
    }
    ticks.push((1.0, end(most)));
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(least: f64, most: f64) -> Vec<String> {
        ticks(Scale { least, most }, 200).into_iter().map(|(_, text)| text).collect()
    }

    /// By hand: a fifth of the span is 0.1007, 0.2 and 160; the next round steps are 0.2, 0.2 and 200.
    /// One digit after the point for steps of 0.2, so two for an end: 0.5035 is 0.50.
    #[test]
    fn a_colour_bar_has_round_numbers_between_its_ends() {
        assert_eq!(written(0.0, 0.5035), ["0", "0.2", "0.4", "0.50"]);
        assert_eq!(written(0.0, 1.0), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(written(-800.0, 0.0), ["-800", "-600", "-400", "-200", "0"]);
        assert_eq!(written(2.0, 2.0), ["2"], "where all numbers are one");
    }

    /// From −1 to 3 it is 4; to 1 it is 2, which is halfway.
    #[test]
    fn a_tick_stands_where_its_number_is() {
        let ticks = ticks(Scale { least: -1.0, most: 3.0 }, 200);
        let one = ticks.iter().find(|(_, text)| text == "1").unwrap();
        assert_eq!(one.0, 0.5);
    }

    /// 10 pixels a row beside letters of 9: each has its name. Of 4: every fifth, 20 apart, the first being the fifth.
    /// Of 1: every twentieth.
    #[test]
    fn names_that_would_touch_are_left_out() {
        assert_eq!((every(10, 9), every(4, 9), every(1, 9)), (1, 5, 20));
        assert_eq!(named(12, 5).collect::<Vec<_>>(), [4, 9]);
        assert_eq!(named(3, 1).collect::<Vec<_>>(), [0, 1, 2]);
    }

    /// Each word is 3 · 0.64 · 10 = 19.2 pixels, a blank about 4: two fit into 50, three do not.
    #[test]
    fn a_long_title_is_broken_and_a_long_word_cut() {
        assert_eq!(wrapped("aaa bbb ccc", 10, 50), ["aaa bbb", "ccc"]);
        assert_eq!(wrapped("aaaaaaaaaaaaaaaa", 10, 50), ["aaaa…"]);
    }
}
