//! Reads arithmetic as it is printed and computes it: written from the grammar alone, knowing nothing of how
//! derivations are made.

use std::str::Chars;

/// Looks numbers up for what is printed as a name.
pub(crate) struct Names<'a> {
    /// The number at `step[row,column]`; rows and columns from 1.
    pub(crate) cell: &'a dyn Fn(&str, usize, usize) -> f64,
    /// The numbers of `step[row]`.
    pub(crate) row: &'a dyn Fn(&str, usize) -> Vec<f64>,
    /// What `m` stands for.
    pub(crate) m: Option<f64>,
    /// What `{n terms}` without a number stand for, in their order.
    pub(crate) rests: &'a [f64],
}

/// The number that an expression comes to.
pub(crate) fn value(text: &str, names: &Names<'_>) -> f64 {
    let mut reader = Reader { rest: text.chars(), names, rests_met: 0 };
    let value = reader.sum();
    assert_eq!(reader.rest.as_str(), "", "left over of {text}");
    value
}

struct Reader<'a> {
    rest: Chars<'a>,
    names: &'a Names<'a>,
    rests_met: usize,
}

impl<'a> Reader<'a> {
    fn took(&mut self, token: &str) -> bool {
        let after = self.rest.as_str().strip_prefix(token);
        if let Some(after) = after {
            self.rest = after.chars();
        }
        after.is_some()
    }

    fn need(&mut self, token: &str) {
        assert!(self.took(token), "{token:?} is missing before {:?}", self.rest.as_str());
    }

    fn word(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let text = self.rest.as_str();
        let end = text.find(|c| !belongs(c)).unwrap_or(text.len());
        self.rest = text[end..].chars();
        &text[..end]
    }

    fn count(&mut self) -> usize {
        self.word(|c| c.is_ascii_digit()).parse().unwrap()
    }

    fn sum(&mut self) -> f64 {
        let mut sum = self.product();
        loop {
            if self.took(" + ") {
                sum += self.product();
            } else if self.took(" − ") {
                sum -= self.product();
            } else {
                return sum;
            }
        }
    }

    fn product(&mut self) -> f64 {
        let mut product = self.factor();
        loop {
            if self.took(" · ") || self.took("·") {
                product *= self.factor();
            } else if self.took(" / ") || self.took("/") {
                product /= self.factor();
            } else {
                return product;
            }
        }
    }

    fn factor(&mut self) -> f64 {
        if self.took("(") {
            let inside = self.sum();
            self.need(")");
            return inside;
        }
        if self.took("{") {
            return self.others();
        }
        for (sign, function) in [
            ("e^", f64::exp as fn(f64) -> f64),
            ("√", f64::sqrt),
            ("cos ", f64::cos),
            ("sin ", f64::sin),
            ("tanh ", f64::tanh),
            // Their bracket is read as a factor in brackets.
            ("erf", libm::erf),
            ("float16", |x| half::f16::from_f32(x as f32).to_f64()),
        ] {
            if self.took(sign) {
                return function(self.factor());
            }
        }
        if self.took("max(") {
            return self.largest();
        }
        for figure in ["mean(", "variance("] {
            if self.took(figure) {
                let numbers = self.numbers_of_a_row();
                let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
                let middle = mean(&numbers);
                let squares: Vec<f64> = numbers.iter().map(|x| (x - middle).powi(2)).collect();
                return if figure == "mean(" { middle } else { mean(&squares) };
            }
        }
        for (sign, number) in [("−∞", f64::NEG_INFINITY), ("∞", f64::INFINITY), ("NaN", f64::NAN)] {
            if self.took(sign) {
                return number;
            }
        }
        match self.rest.as_str().chars().next() {
            Some(c) if c.is_ascii_digit() || c == '-' => self.number(),
            _ => self.name(),
        }
    }

    /// `12 terms}` or `12 terms: 0.5}`
    fn others(&mut self) -> f64 {
        self.count();
        self.need(" terms");
        let sum = match self.took(": ") {
            true => self.factor(),
            false => self.names.rests[self.rests_met],
        };
        self.rests_met += 1;
        self.need("}");
        sum
    }

    fn largest(&mut self) -> f64 {
        let mut largest = f64::NEG_INFINITY;
        loop {
            let before = self.rest.clone();
            let name = self.word(is_of_a_name);
            if !name.is_empty() && name.starts_with(char::is_alphabetic) && self.took("[") {
                let row = self.count();
                if self.took("]") {
                    largest = (self.names.row)(name, row).into_iter().fold(largest, f64::max);
                    if self.took(", ") {
                        continue;
                    }
                    self.need(")");
                    return largest;
                }
            }
            self.rest = before;
            largest = largest.max(self.sum());
            if !self.took(", ") {
                self.need(")");
                return largest;
            }
        }
    }

    /// `step[1])`, or `0.5, -1)`
    fn numbers_of_a_row(&mut self) -> Vec<f64> {
        let before = self.rest.clone();
        let name = self.word(is_of_a_name);
        if name.starts_with(char::is_alphabetic) && self.took("[") {
            let row = self.count();
            self.need("])");
            return (self.names.row)(name, row);
        }
        self.rest = before;
        let mut numbers = vec![self.sum()];
        while self.took(", ") {
            numbers.push(self.sum());
        }
        self.need(")");
        numbers
    }

    fn number(&mut self) -> f64 {
        let text = self.rest.as_str();
        let mut end = 0;
        let mut before = ' ';
        for (at, c) in text.char_indices() {
            let belongs = c.is_ascii_digit()
                || c == '.'
                || (c == '-' && (at == 0 || before == 'e'))
                || (c == 'e' && !text[at..].starts_with("e^"));
            if !belongs {
                break;
            }
            (end, before) = (at + c.len_utf8(), c);
        }
        self.rest = text[end..].chars();
        text[..end].parse().unwrap()
    }

    fn name(&mut self) -> f64 {
        let name = self.word(is_of_a_name);
        if name == "m" {
            return self.names.m.expect("m is explained");
        }
        self.need("[");
        let row = self.count();
        self.need(",");
        let column = self.count();
        self.need("]");
        (self.names.cell)(name, row, column)
    }
}

fn is_of_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '.'
}
