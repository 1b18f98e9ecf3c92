//! The text of one cell: exact where that was asked for and its step allows it, decimals elsewhere.

use super::Scene;
use super::number::number;
use crate::plan::StepId;

/// Columns of the longest exact form that a sentence takes: 12/(5√2), but no powers of e over one another.
const IN_A_SENTENCE: usize = 9;

impl Scene<'_> {
    /// A cell of a step as text: `1/√2` where it is exact, else its decimals (`digits` behind the point).
    ///
    /// Row and column count from 0 and are those of the step, before any turning for the page's layout. Empty where
    /// there is no such cell. Holds no letters that came from a file; [`super::page::Page::letters`] spells it in
    /// ASCII.
    pub fn cell(&self, id: StepId, row: usize, column: usize, digits: usize) -> String {
        match self.exact.and_then(|exact| exact.form(id, row, column)) {
            Some(form) => form.to_string(),
            None => self.decimals(id, row, column, digits),
        }
    }

    /// Why a step shows decimals although exact forms were asked for, as a sentence without its full stop
    /// that begins with the step's name; nothing where it is exact, or where nobody asked.
    pub fn not_exact(&self, id: StepId) -> Option<&str> {
        self.exact?.why_not(id)
    }

    /// The exact text of a cell where it is short enough for a sentence; longer forms are for tables.
    pub(super) fn short(&self, id: StepId, row: usize, column: usize) -> Option<String> {
        let form = self.exact?.form(id, row, column)?;
        (form.width() <= IN_A_SENTENCE).then(|| form.to_string())
    }

    fn decimals(&self, id: StepId, row: usize, column: usize, digits: usize) -> String {
        let value = self.trace.get(id).and_then(|value| value.get((row, column)).copied());
        value.map(|value| number(value, digits)).unwrap_or_default()
    }
}

/// A number as [`number`] writes it, in LaTeX.
pub(super) fn latex(decimals: &str) -> String {
    let spelled = decimals.replace('−', "-").replace('∞', "\\infty").replace("NaN", "\\mathrm{NaN}");
    match spelled.split_once('e') {
        Some((mantissa, exponent)) => format!("{mantissa} \\cdot 10^{{{exponent}}}"),
        None => spelled,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_spelled_in_latex() {
        assert_eq!(latex("-0.7071"), "-0.7071");
        assert_eq!(latex("−∞"), "-\\infty");
        assert_eq!(latex("-4e-9"), "-4 \\cdot 10^{-9}");
        assert_eq!(latex("NaN"), "\\mathrm{NaN}");
    }
}
