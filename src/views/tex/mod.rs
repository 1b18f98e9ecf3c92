//! What TeX is told: formulas in [`formula`], numbers and words here; for Markdown's maths and for LaTeX.

mod formula;
mod letters;

pub use formula::formula;
pub use letters::{prose, text};

/// A number, as [`super::number::number`] writes it, in maths: `-\infty`, `4 \cdot 10^{-9}`.
pub fn number(written: &str) -> String {
    match written {
        "−∞" | "-inf" => r"-\infty".to_owned(),
        "∞" | "inf" => r"\infty".to_owned(),
        "NaN" => r"\text{NaN}".to_owned(),
        _ => match written.split_once('e') {
            Some((digits, power)) => format!(r"{digits} \cdot 10^{{{power}}}"),
            None => written.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_written_as_maths() {
        assert_eq!(number("-0.7071"), "-0.7071");
        assert_eq!(number("−∞"), r"-\infty");
        assert_eq!(number("4e-9"), r"4 \cdot 10^{-9}");
        assert_eq!(number("NaN"), r"\text{NaN}");
    }
}
