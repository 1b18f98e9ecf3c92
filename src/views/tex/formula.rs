//! A formula in Unicode, as operations write it, into TeX's maths.
//!
//! Only what every renderer knows is used (amsmath; MathJax as GitHub allows it, which refuses `\operatorname`).

use unicode_width::UnicodeWidthChar;

use super::letters::text;

/// The formula in TeX: `S₁ = Q₁K₁ᵀ / √d_k` is `S_1 = \frac{Q_1K_1^{\top}}{\sqrt{d_k}}`.
///
/// Words go into `\text{…}`. It never fails: what it does not know is shown as text.
pub fn formula(equation: &str) -> String {
    let mut reader = Reader { letters: equation.chars().collect(), at: 0, depth: 0 };
    written(&fractions(reader.pieces(None)))
}

/// A part of a formula.
#[derive(Debug, Clone, PartialEq)]
enum Piece {
    /// What can be multiplied and divided; the second form is without the brackets around it.
    Factor(String, String),
    /// `=`, `+`, a comma.
    Sign(&'static str),
    /// ` / `
    Over,
    /// Words.
    Words(String),
    /// A blank.
    Blank,
}

impl Piece {
    fn factor(tex: impl Into<String>) -> Self {
        let tex = tex.into();
        Self::Factor(tex.clone(), tex)
    }
}

/// Signs that are words, or more than one letter.
const WORDS_THAT_ARE_SIGNS: [&str; 10] =
    ["concat", "output", "average", "heads", "gain", "shift", "bias", "state", "final", "QKV"];
/// Brackets nested deeper than this are no formula of ours: they are shown as text.
const DEEPEST: usize = 16;

struct Reader {
    letters: Vec<char>,
    at: usize,
    depth: usize,
}

impl Reader {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.letters.get(self.at + ahead).copied()
    }

    /// The letters from here on that satisfy a condition.
    fn run(&mut self, is_part: impl Fn(char) -> bool) -> String {
        let run: String = self.letters[self.at..].iter().copied().take_while(|c| is_part(*c)).collect();
        self.at += run.chars().count();
        run
    }

    /// Everything up to a closing bracket, which is passed over; or to the end.
    fn pieces(&mut self, until: Option<char>) -> Vec<Piece> {
        let mut pieces = Vec::new();
        while let Some(c) = self.peek(0) {
            if Some(c) == until {
                self.at += 1;
                break;
            }
            pieces.push(self.piece(c, until, pieces.is_empty()));
        }
        pieces
    }

    fn piece(&mut self, c: char, until: Option<char>, first: bool) -> Piece {
        if c.is_ascii_alphabetic() && self.starts_words() {
            return Piece::Words(self.words());
        }
        if c.width() == Some(2) {
            return Piece::Words(self.run(|c| c.width() == Some(2)));
        }
        if c.is_ascii_alphanumeric() || matches!(c, '√' | 'ε' | 'ℓ' | 'θ' | '∞' | '…') {
            return self.factor();
        }
        if c == '(' && self.depth < DEEPEST {
            return self.bracket();
        }
        self.at += 1;
        match c {
            ' ' if self.peek(0) == Some('/') && self.peek(1) == Some(' ') => {
                self.at += 2;
                Piece::Over
            }
            ' ' => Piece::Blank,
            '=' => Piece::Sign("="),
            '+' => Piece::Sign("+"),
            '−' | '-' if first || self.peek(0) == Some(' ') => Piece::Sign("-"),
            // Braces around it: a minus before one number, not between two.
            '−' | '-' => Piece::Sign("{-}"),
            '·' => Piece::Sign(r"\cdot"),
            '×' => Piece::Sign(r"\times"),
            '⊙' => Piece::Sign(r"\odot"),
            '→' => Piece::Sign(r"\to"),
            '←' => Piece::Sign(r"\leftarrow"),
            'Σ' => Piece::Sign(r"\sum"),
            ',' => Piece::Sign(","),
            ';' => Piece::Sign(";"),
            '.' => Piece::Sign("."),
            ':' => Piece::Sign("{:}"),
            '/' => Piece::Sign("/"),
            '|' if until == Some(']') => Piece::Sign(r"\mid"),
            '|' if self.depth < DEEPEST => Piece::factor(format!(r"\lvert {} \rvert", self.inside('|'))),
            '[' if self.depth < DEEPEST => Piece::factor(format!("[{}]", self.inside(']'))),
            c => Piece::Words(c.to_string()),
        }
    }

    /// What stands inside brackets, whose opening one is passed already.
    fn inside(&mut self, closing: char) -> String {
        self.depth += 1;
        let inside = written(&fractions(self.pieces(Some(closing))));
        self.depth -= 1;
        inside
    }

    /// `(…)`: a remark in words, or a part of the formula.
    fn bracket(&mut self) -> Piece {
        self.at += 1;
        if self.starts_words() {
            let words = self.run(|c| c != ')');
            self.at += 1;
            return Piece::Words(format!("({words})"));
        }
        let inside = self.inside(')');
        Piece::Factor(bracketed(&inside), inside)
    }

    /// Whether plain words begin here: at least two letters that are neither a sign nor a function.
    fn starts_words(&self) -> bool {
        let word: String = self.letters[self.at..].iter().take_while(|c| c.is_ascii_alphabetic()).collect();
        let next = self.peek(word.len());
        word.len() > 1
            && !self.starts_numbered_function()
            && !WORDS_THAT_ARE_SIGNS.contains(&word.as_str())
            && !next.is_some_and(|c| matches!(c, '(' | '_' | '^') || is_below(c) || above(c).is_some())
            && !word.chars().all(|c| c.is_ascii_uppercase())
    }

    /// Whether a function whose name ends in digits begins here: `float16(`.
    fn starts_numbered_function(&self) -> bool {
        let rest = &self.letters[self.at..];
        let letters = rest.iter().take_while(|c| c.is_ascii_alphabetic()).count();
        let digits = rest.iter().skip(letters).take_while(|c| c.is_ascii_digit()).count();
        letters > 1 && digits > 0 && rest.get(letters + digits) == Some(&'(')
    }

    /// Words up to the next sign: `where allowed, else`.
    fn words(&mut self) -> String {
        let in_a_word = |c: char| c.is_ascii_alphabetic() || matches!(c, '-' | '\'');
        let mut words = self.run(in_a_word);
        loop {
            let gap: String = self.letters[self.at..].iter().take_while(|c| matches!(c, ' ' | ',')).collect();
            let before = self.at;
            self.at += gap.len();
            let an_article = self.peek(0) == Some('a') && self.peek(1) == Some(' ');
            if gap.is_empty() || !(self.starts_words() || an_article) {
                self.at = before;
                return words;
            }
            words.push_str(&gap);
            words.push_str(&self.run(in_a_word));
        }
    }

    /// A sign, a number, a root, a function of something; with all that stands above and below it.
    fn factor(&mut self) -> Piece {
        let Some(first) = self.peek(0) else { return Piece::factor("") };
        if first.is_ascii_digit() {
            let number = self.run(|c| c.is_ascii_digit() || c == '.');
            return Piece::factor(format!("{number}{}", self.scripts()));
        }
        if first == '√' {
            self.at += 1;
            return Piece::factor(format!(r"\sqrt{{{}}}", self.operand()));
        }
        if !first.is_ascii_alphabetic() {
            self.at += 1;
            let sign = match first {
                'ε' => r"\varepsilon",
                'ℓ' => r"\ell",
                'θ' => r"\theta",
                '∞' => r"\infty",
                _ => r"\ldots",
            };
            return Piece::factor(format!("{sign}{}", self.scripts()));
        }
        let word = self.word();
        let name = upright(&word);
        if self.peek(0) == Some('(') && word.len() > 1 && self.depth < DEEPEST {
            self.at += 1;
            let function = match word.as_str() {
                "tanh" => r"\tanh",
                "max" => r"\max",
                _ => name.as_str(),
            };
            return Piece::factor(format!("{function}{}", bracketed(&self.inside(')'))));
        }
        Piece::factor(format!("{name}{}", self.scripts()))
    }

    /// The letters of one sign: signs of one letter stand side by side (`QK`), a word that is a sign stands alone.
    fn word(&mut self) -> String {
        if self.starts_numbered_function() {
            return self.run(|c| c.is_ascii_alphanumeric());
        }
        let run: String = self.letters[self.at..].iter().take_while(|c| c.is_ascii_alphabetic()).collect();
        let is_product = run.chars().all(|c| c.is_ascii_uppercase()) && run != "QKV";
        let length = if is_product { 1 } else { run.len() };
        self.at += length;
        run.chars().take(length).collect()
    }

    /// What a root or a power is taken of: a bracket without its brackets, or one factor.
    fn operand(&mut self) -> String {
        if self.peek(0) == Some('(') && self.depth < DEEPEST {
            self.at += 1;
            return self.inside(')');
        }
        let minus = self.run(|c| matches!(c, '-' | '−'));
        let minus = if minus.is_empty() { "" } else { "-" };
        match self.peek(0).filter(|c| c.is_ascii_alphanumeric()).map(|_| self.factor()) {
            Some(Piece::Factor(tex, _)) => format!("{minus}{tex}"),
            _ => minus.to_owned(),
        }
    }

    /// Subscripts and superscripts, each gathered into one: `K₁ʳᵀ` is `K_1^{\mathrm{r}\top}`.
    fn scripts(&mut self) -> String {
        let (mut below, mut over) = (String::new(), String::new());
        while let Some(c) = self.peek(0) {
            let names_what = self.peek(1).is_some_and(|c| c.is_ascii_alphanumeric());
            if c == '_' && names_what {
                self.at += 1;
                let name = self.run(|c| c.is_ascii_alphanumeric());
                below.push_str(&upright(&name));
            } else if is_below(c) {
                self.at += 1;
                match c {
                    '₋' => below.push(','),
                    c => below.push_str(&(c as u32 - '₀' as u32).to_string()),
                }
            } else if let Some(sign) = above(c) {
                self.at += 1;
                over.push_str(sign);
            } else if c == '^' && self.depth < DEEPEST {
                self.at += 1;
                self.depth += 1;
                over.push_str(&self.operand());
                self.depth -= 1;
            } else {
                break;
            }
        }
        let braced = |mark: &str, script: String| match script.chars().count() {
            0 => String::new(),
            1 => format!("{mark}{script}"),
            _ => format!("{mark}{{{script}}}"),
        };
        format!("{}{}", braced("_", below), braced("^", over))
    }
}

/// One letter is a sign in italics; a word stands upright.
fn upright(word: &str) -> String {
    if word.chars().count() == 1 { word.to_owned() } else { format!(r"\mathrm{{{word}}}") }
}

fn is_below(c: char) -> bool {
    matches!(c, '₀'..='₉' | '₋')
}

fn above(c: char) -> Option<&'static str> {
    Some(match c {
        'ᵀ' => r"\top",
        'ⁿ' => r"\mathrm{n}",
        'ʳ' => r"\mathrm{r}",
        'ᶜ' => r"\mathrm{c}",
        'ᵇ' => r"\mathrm{b}",
        'ᵐ' => r"\mathrm{m}",
        '⁽' => "(",
        '⁾' => ")",
        '⁰' => "0",
        '¹' => "1",
        '²' => "2",
        '³' => "3",
        '⁴' => "4",
        '⁵' => "5",
        '⁶' => "6",
        '⁷' => "7",
        '⁸' => "8",
        '⁹' => "9",
        _ => return None,
    })
}

/// Brackets that grow with what is tall.
fn bracketed(inside: &str) -> String {
    if inside.contains(r"\frac") { format!(r"\left({inside}\right)") } else { format!("({inside})") }
}

/// Every ` / ` with the product before it and the factor after it made into a fraction.
fn fractions(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut done: Vec<Piece> = Vec::new();
    let mut rest = pieces.into_iter();
    while let Some(piece) = rest.next() {
        if piece != Piece::Over {
            done.push(piece);
            continue;
        }
        let product = |piece: &Piece| matches!(piece, Piece::Factor(..) | Piece::Blank);
        let mut from = done.iter().rposition(|piece| !product(piece)).map_or(0, |last| last + 1);
        // The blank after the sign before belongs to the sign.
        while done.get(from) == Some(&Piece::Blank) {
            from += 1;
        }
        let above = done.split_off(from);
        let above = match above.as_slice() {
            [Piece::Factor(_, bare)] => bare.clone(),
            several => written(several),
        };
        let below = match rest.next() {
            Some(Piece::Factor(_, bare)) => bare,
            Some(other) => written(&[other]),
            None => String::new(),
        };
        done.push(Piece::factor(format!(r"\frac{{{above}}}{{{below}}}")));
    }
    done
}

/// The pieces one after the other, with the blanks that TeX needs and the ones that a reader does.
fn written(pieces: &[Piece]) -> String {
    let mut tex = String::new();
    for (at, piece) in pieces.iter().enumerate() {
        let beside = |distance: isize| at.checked_add_signed(distance).and_then(|at| pieces.get(at));
        let (before, after) = (beside(-1), beside(1));
        match piece {
            Piece::Factor(factor, _) => push(&mut tex, factor),
            Piece::Sign(sign) => push(&mut tex, sign),
            Piece::Over => push(&mut tex, "/"),
            Piece::Words(words) => {
                // Blanks in maths count for nothing, so those beside words go inside; around an operator TeX sets its own.
                let blank = |next: Option<&Piece>, beyond: Option<&Piece>| {
                    if next == Some(&Piece::Blank) && !beyond.is_some_and(is_operator) { " " } else { "" }
                };
                let (left, right) = (blank(before, beside(-2)), blank(after, beside(2)));
                // One blank between two runs of words is enough.
                let left = if matches!(beside(-2), Some(Piece::Words(_))) { "" } else { left };
                push(&mut tex, &format!(r"\text{{{left}{}{right}}}", text(words)));
            }
            Piece::Blank => match (before, after) {
                (Some(Piece::Words(_)), Some(next)) | (Some(next), Some(Piece::Words(_)))
                    if !is_operator(next) => {}
                (Some(Piece::Factor(a, _)), Some(Piece::Factor(b, _)))
                    if [a, b].iter().any(|factor| factor.starts_with(r"\mathrm")) =>
                {
                    tex.push_str(r"\,");
                }
                _ if tex.ends_with(' ') => {}
                _ => tex.push(' '),
            },
        }
    }
    tex.trim_end().to_owned()
}

/// Whether TeX sets blanks on both sides of it by itself.
fn is_operator(piece: &Piece) -> bool {
    matches!(piece, Piece::Sign(sign) if !matches!(*sign, "," | "{-}"))
}

/// Adds a piece; a command that ends in a letter is kept apart from a letter that follows.
fn push(tex: &mut String, piece: &str) {
    let command = tex.rsplit(|c: char| !c.is_ascii_alphabetic()).next().map_or(0, str::len);
    let ends_a_command = command > 0 && tex[..tex.len() - command].ends_with('\\');
    if ends_a_command && piece.starts_with(|c: char| c.is_ascii_alphabetic()) {
        tex.push(' ');
    }
    tex.push_str(piece);
}

#[cfg(test)]
#[path = "formula_tests.rs"]
mod tests;
