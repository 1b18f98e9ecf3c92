//! How a token is written for people: what the vocabulary spells in its own way, told in plain characters.
//!
//! A blank is written `␣`. It is the sign that Unicode has for one, and one column wide on every terminal; `·` and
//! SentencePiece's own `▁` are two wide where Chinese is read, and `·` stands in names. A blank as it is would be lost at
//! the edge of a cell, and with it what tells the word *it* from the end of *rabbit*.

use std::fmt::Write;

use crate::fault::{commands, visible};

/// What a blank is written as.
pub const BLANK: char = '␣';

/// How a vocabulary spells its tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// As they are; `##ed` goes on with a word (WordPiece).
    Plain,
    /// A character for each byte of the text (GPT-2): `Ġ` is a blank.
    Bytes,
    /// As they are, with `▁` for a blank and `<0xE2>` for a byte (SentencePiece).
    Blanks,
}

impl Spelling {
    /// The token as people read it.
    pub(super) fn label(self, piece: &str) -> String {
        let label = match self {
            Self::Plain => shown(piece),
            Self::Bytes => match bytes(piece) {
                Some(bytes) => read(&bytes),
                None => shown(piece),
            },
            Self::Blanks => match byte(piece) {
                Some(byte) => read(&[byte]),
                None => shown(&piece.replace('▁', " ")),
            },
        };
        if label.is_empty() { "\"\"".to_owned() } else { label }
    }
}

/// The bytes that a piece of a byte-level vocabulary stands for; `None` where it is written otherwise.
fn bytes(piece: &str) -> Option<Vec<u8>> {
    // Printable characters of Latin-1 stand for themselves, the other bytes for the characters from U+0100 on, in order.
    let is_itself = |byte: u8| matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    let others = || (0..=u8::MAX).filter(|byte| !is_itself(*byte));
    piece
        .chars()
        .map(|c| match u8::try_from(c) {
            Ok(byte) => is_itself(byte).then_some(byte),
            Err(_) => others().nth((c as usize).checked_sub(0x100)?),
        })
        .collect()
}

/// The byte of a piece such as `<0xE2>`.
fn byte(piece: &str) -> Option<u8> {
    let digits = piece.strip_prefix("<0x")?.strip_suffix('>')?;
    (digits.len() == 2).then(|| u8::from_str_radix(digits, 16).ok()).flatten()
}

/// Bytes as text, and as `<E2>` where they are only a part of a character.
fn read(bytes: &[u8]) -> String {
    let mut label = String::new();
    for chunk in bytes.utf8_chunks() {
        label.push_str(&shown(chunk.valid()));
        for byte in chunk.invalid() {
            // A String takes whatever is written to it.
            let _ = write!(label, "<{byte:02X}>");
        }
    }
    label
}

/// Text with blanks as [`BLANK`], and with every other character shown that a person would not see.
fn shown(text: &str) -> String {
    let mut label = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ' ' => label.push(BLANK),
            '\t' => label.push_str("\\t"),
            c if (c.is_whitespace() && !commands(c)) || c == BLANK => {
                label.push_str(&format!("\\u{{{:x}}}", c as u32));
            }
            c => label.push(c),
        }
    }
    visible(&label)
}

#[cfg(test)]
mod tests {
    use super::Spelling::{self, Blanks, Bytes, Plain};

    /// By hand: é is C3 A9, 猫 is E7 8C AB. GPT-2 writes C3 as Ã and A9 as ©, 8C (which does not print) as U+012E: the bytes that do
    /// not print are 00–20, 7F–A0 and AD; 7F is the 34th of them (U+0121), so 8C is 13 further (U+012E, Į).
    #[test]
    fn every_spelling_is_read_as_people_write() {
        let rows: [(Spelling, &str, &str); 21] = [
            (Plain, "##ed", "##ed"),
            (Plain, "[CLS]", "[CLS]"),
            (Plain, "a\u{1b}[2J\n\t\u{a0}", "a\\e[2J\\n\\t\\u{a0}"),
            (Plain, "Ġ▁", "Ġ▁"),
            (Plain, "␣", "\\u{2423}"),
            (Plain, "", "\"\""),
            (Bytes, "Ġanimal", "␣animal"),
            (Bytes, "Ġ", "␣"),
            (Bytes, "ĊĊ", "\\n\\n"),
            (Bytes, "ĉ", "\\t"),
            (Bytes, "cafÃ©", "café"),
            (Bytes, "Ã", "<C3>"),
            (Bytes, "Ġç", "␣<E7>"),
            (Bytes, "Į«", "<8C><AB>"),
            (Bytes, "<|endoftext|>", "<|endoftext|>"),
            (Bytes, "<｜begin▁of▁sentence｜>", "<｜begin▁of▁sentence｜>"),
            (Blanks, "▁animal", "␣animal"),
            (Blanks, "d▁look", "d␣look"),
            (Blanks, "<0xE2>", "<E2>"),
            (Blanks, "<0x27>", "'"),
            (Blanks, "<0x0A>", "\\n"),
        ];
        for (spelling, piece, label) in rows {
            assert_eq!(spelling.label(piece), label, "{spelling:?} {piece:?}");
        }
    }
}
