//! How a page is set: width, digits, alphabet. Decided once at the edge and handed in.

pub use crate::ops::Layout;

/// The look of a page of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Columns that a line may take.
    pub width: usize,
    /// Digits after the decimal point.
    pub digits: usize,
    /// Letters and lines of ASCII only.
    pub ascii: bool,
    /// Whether tokens are rows or columns.
    pub layout: Layout,
    /// How much is said around the tables.
    pub detail: Detail,
}

/// How much is said around the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// Names and tables only (`--quiet`).
    Bare,
    /// Formulas and a line that says what happened.
    #[default]
    Told,
    /// What each step costs, too (`--verbose`).
    Counted,
}

impl Default for Page {
    fn default() -> Self {
        Self { width: 80, digits: 4, ascii: false, layout: Layout::Rows, detail: Detail::Told }
    }
}

impl Page {
    /// What stands between a formula and its sizes, and between a name and its title.
    pub fn between(&self) -> &'static str {
        // In ASCII a middle dot becomes the sign for a product, which this is not.
        if self.ascii { " ; " } else { " · " }
    }

    /// The text in this page's alphabet.
    pub fn letters(&self, text: &str) -> String {
        if self.ascii { ascii(text) } else { text.to_owned() }
    }

    /// The text in this page's alphabet, cut to `room` columns: `…` or `...` stands where something is missing.
    pub fn shortened(&self, text: &str, room: usize) -> String {
        cut(&self.letters(text), room, &self.letters("…"))
    }

    /// A paragraph broken at blanks to the page's width, each line indented by `indent` blanks.
    ///
    /// Ends with a line break, unless there is no text.
    pub fn paragraph(&self, text: &str, indent: usize) -> String {
        let spelled;
        let text = if self.ascii {
            spelled = ascii(text);
            spelled.as_str()
        } else {
            text
        };
        let room = self.width.saturating_sub(indent).max(12);
        let mut lines = String::new();
        let mut line = String::new();
        let mut taken = 0;
        for (blank, piece) in pieces(text) {
            let wide = width(piece);
            if !line.is_empty() && taken + usize::from(blank) + wide > room {
                push_line(&mut lines, indent, &line);
                line.clear();
                taken = 0;
            }
            if !line.is_empty() && blank {
                line.push(' ');
                taken += 1;
            }
            line.push_str(piece);
            taken += wide;
        }
        if !line.is_empty() {
            push_line(&mut lines, indent, &line);
        }
        lines
    }
}

/// What a text may be broken into, and whether a blank stands before each piece: words, and in Chinese single
/// characters with the punctuation that may not stand apart from them.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = (bool, &str)> {
    text.split_whitespace().flat_map(|word| {
        let mut blank = true;
        let mut rest = word;
        std::iter::from_fn(move || {
            let mut letters = rest.char_indices().peekable();
            let mut end = rest.len();
            while let (Some((_, letter)), Some((at, next))) = (letters.next(), letters.peek()) {
                if may_break_between(letter, *next) {
                    end = *at;
                    break;
                }
            }
            let (piece, after) = rest.split_at(end);
            rest = after;
            (!piece.is_empty()).then(|| (std::mem::take(&mut blank), piece))
        })
    })
}

/// Whether a line may end between two letters that no blank parts.
fn may_break_between(letter: char, next: char) -> bool {
    let is_chinese =
        |c: char| matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff01}'..='\u{ff60}');
    (is_chinese(letter) || is_chinese(next))
        && !"，。、；：？！）》」』】”’…％,.;:?!)%".contains(next)
        && !"（《「『【“‘(".contains(letter)
}

fn push_line(lines: &mut String, indent: usize, line: &str) {
    lines.push_str(&" ".repeat(indent));
    lines.push_str(line);
    lines.push('\n');
}

/// Columns that a text takes in a terminal: CJK and emoji are two wide, combining marks none.
pub fn width(text: &str) -> usize {
    // Most of a page is digits: looking them up one by one took a twentieth of a short trace.
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return text.len();
    }
    unicode_width::UnicodeWidthStr::width(text)
}

/// A label cut to `room` columns, between grapheme clusters, with `…` where something is missing.
pub fn shorten(label: &str, room: usize) -> String {
    cut(label, room, "…")
}

/// A label cut to `room` columns, with `gap` in place of what is missing.
fn cut(label: &str, room: usize, gap: &str) -> String {
    use unicode_segmentation::UnicodeSegmentation;
    if width(label) <= room {
        return label.to_owned();
    }
    let mut short = String::new();
    for cluster in label.graphemes(true) {
        if width(&short) + width(cluster) + width(gap) > room {
            break;
        }
        short.push_str(cluster);
    }
    short + gap
}

/// The text with every mathematical sign spelled in ASCII; other letters stay `?`-free by falling back to `\u{…}`.
pub fn ascii(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            c if c.is_ascii() => plain.push(c), // escape codes of colour among them
            '×' => plain.push('x'),
            '·' => plain.push('*'),
            '√' if letters.peek() == Some(&'(') => plain.push_str("sqrt"),
            '√' => {
                // √d_k and √12: what the root is taken of ends with the word.
                plain.push_str("sqrt(");
                while let Some(c) = letters.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
                    plain.push(c);
                }
                plain.push(')');
            }
            'ᵀ' => plain.push_str("^T"),
            '→' => plain.push_str("->"),
            '←' => plain.push_str("<-"),
            '≤' => plain.push_str("<="),
            '≥' => plain.push_str(">="),
            '≠' => plain.push_str("!="),
            '≈' => plain.push_str("~="),
            '=' => plain.push('='),
            '−' | '–' | '—' => plain.push('-'),
            '∞' => plain.push_str("inf"),
            '…' => plain.push_str("..."),
            '⋮' => plain.push(':'),
            'Σ' => plain.push_str("sum"),
            'Δ' => plain.push_str("delta "),
            'ℓ' => plain.push('l'),
            'α' => plain.push_str("alpha"),
            'θ' => plain.push_str("theta"),
            'ε' => plain.push_str("eps"),
            '±' => plain.push_str("+-"),
            '½' => plain.push_str("1/2"),
            '⌊' | '⌋' => plain.push('|'),
            '⊙' => plain.push('*'),
            '␣' => plain.push('_'),
            '“' | '”' => plain.push('"'),
            '‘' | '’' => plain.push('\''),
            '‖' => plain.push_str("||"),
            'ⁿ' => plain.push_str("^n"),
            'ʳ' => plain.push_str("^r"),
            'ᶜ' => plain.push_str("^c"),
            'ᵇ' => plain.push_str("^b"),
            'ᵐ' => plain.push_str("^m"),
            'ᵢ' => plain.push_str("_i"),
            '⁽' => {
                // S₁⁽²⁾ is S of head 1 in layer 2.
                plain.push_str("^(");
                while let Some(digit) = letters.next_if(|c| above(*c).is_some()) {
                    plain.extend(above(digit));
                }
                if letters.next_if_eq(&'⁾').is_some() {
                    plain.push(')');
                }
            }
            c if c == '⁻' || above(c).is_some() => {
                // 10⁻¹² is a power of one number.
                plain.push('^');
                plain.push(above(c).unwrap_or('-'));
                while let Some(digit) = letters.next_if(|c| above(*c).is_some()) {
                    plain.extend(above(digit));
                }
            }
            '✓' => plain.push_str("ok"),
            '✗' => plain.push_str("no"),
            '•' => plain.push('*'),
            '»' => plain.push_str(">>"),
            '›' => plain.push('>'),
            '█' | '▇' | '▆' | '▅' | '▄' | '▃' | '▂' | '▁' | '░' | '▒' | '▓' => {
                plain.push('#')
            }
            // The end of a bar: half a letter or more, or less.
            '▉' | '▊' | '▋' | '▌' => plain.push('#'),
            '▍' | '▎' | '▏' => plain.push('.'),
            '₀'..='₉' => plain.push(char::from(b'0' + (c as u32 - '₀' as u32) as u8)),
            '₊' => plain.push('+'),
            '₋' => plain.push('.'),
            '┆' | '│' => plain.push('|'),
            '─' => plain.push('-'),
            c => plain.push_str(&format!("\\u{{{:x}}}", c as u32)),
        }
    }
    plain
}

/// The digit that stands above the line.
fn above(c: char) -> Option<char> {
    let at = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'].iter().position(|digit| *digit == c)?;
    char::from_digit(u32::try_from(at).ok()?, 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_can_be_spelled_in_ascii() {
        assert_eq!(ascii("S₁ = Q₁K₁ᵀ / √d_k · 3×2 → 3×3"), "S1 = Q1K1^T / sqrt(d_k) * 3x2 -> 3x3");
        assert_eq!(ascii("e^(5/(2√2)) · √(mean)"), "e^(5/(2sqrt(2))) * sqrt(mean)");
        assert_eq!(ascii("e⁰ ≥ eⁿ"), "e^0 >= e^n");
        assert_eq!(ascii("n²·d_k, 1024³, 10⁻¹², 2⁻ⁿ"), "n^2*d_k, 1024^3, 10^-12, 2^-^n");
        assert_eq!(ascii("K₁⁽¹²⁾ᵀ"), "K1^(12)^T");
        assert_eq!(ascii("headᵢ = A Vᵢ"), "head_i = A V_i");
        assert_eq!(ascii("██▌ ██▎"), "### ##.");
    }

    #[test]
    fn a_label_is_cut_between_clusters_and_keeps_its_columns() {
        assert_eq!(shorten("注意力机制", 7), "注意力…");
        assert_eq!(shorten("👩‍🔬👩‍🔬👩‍🔬", 5), "👩‍🔬👩‍🔬…");
        assert_eq!(shorten("cat", 3), "cat");
        let page = Page { ascii: true, ..Page::default() };
        // "3×4 · attention" is "3x4 * attention" in ASCII: 15 columns, of which the dots take three of nine.
        assert_eq!(page.shortened("3×4 · attention", 9), "3x4 * ...");
    }

    #[test]
    fn chinese_breaks_between_characters_but_not_before_a_comma() {
        let page = Page { width: 16, ..Page::default() };
        // 16 columns are eight characters; the comma does not begin the second line.
        assert_eq!(
            page.paragraph("每一行的注意力权重，之和都是 1。", 0),
            "每一行的注意力权\n重，之和都是 1。\n"
        );
        assert_eq!(page.paragraph("每一行的权重之和，都是", 0), "每一行的权重之\n和，都是\n");
    }

    #[test]
    fn a_paragraph_breaks_at_blanks() {
        let page = Page { width: 24, ..Page::default() };
        assert_eq!(
            page.paragraph("each row of weights sums to one", 4),
            "    each row of weights\n    sums to one\n"
        );
    }
}
