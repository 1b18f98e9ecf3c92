//! Sentences with computed numbers in them.

use crate::plan::StepId;

/// A part of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part<'a> {
    /// Words.
    Words(&'a str),
    /// `{step[r,c]}`: a cell, from 0.
    Cell(StepId, usize, usize),
}

/// Cuts a sentence at its `{step[r,c]}`; braces around anything else stay words.
pub fn parts(sentence: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = sentence;
    let mut from = 0;
    while let Some(open) = rest[from..].find('{').map(|at| at + from) {
        let Some(close) = rest[open..].find('}').map(|at| at + open) else { break };
        match cell(&rest[open + 1..close]) {
            Some((id, row, column)) => {
                parts.push(Part::Words(&rest[..open]));
                parts.push(Part::Cell(id, row, column));
                rest = &rest[close + 1..];
                from = 0;
            }
            None => from = open + 1,
        }
    }
    parts.push(Part::Words(rest));
    parts.retain(|part| *part != Part::Words(""));
    parts
}

/// Reads `step[r,c]`, counted from 1, as a step and a cell counted from 0.
pub fn cell(text: &str) -> Option<(StepId, usize, usize)> {
    let (id, rest) = text.trim().split_once('[')?;
    let (row, column) = rest.strip_suffix(']')?.split_once(',')?;
    let counted = |text: &str| text.trim().parse::<usize>().ok()?.checked_sub(1);
    Some((id.trim().parse().ok()?, counted(row)?, counted(column)?))
}

/// The sentence with its numbers; a cell that is not there is shown as it was written, with a question mark.
pub fn filled(sentence: &str, number: impl Fn(StepId, usize, usize) -> Option<String>) -> String {
    let part = |part| match part {
        Part::Words(words) => words.to_owned(),
        Part::Cell(id, row, column) => {
            number(id, row, column).unwrap_or_else(|| format!("{id}[{},{}]?", row + 1, column + 1))
        }
    };
    parts(sentence).into_iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Head, HeadStep};

    #[test]
    fn a_sentence_is_filled_with_computed_numbers() {
        let weights = Head(1).step(HeadStep::Weights);
        let number = |id, r, c| (id == weights && (r, c) == (2, 0)).then(|| "0.3333".to_owned());
        assert_eq!(filled("{head.2.weights[3,1]} each, {really}", number), "0.3333 each, {really}");
        assert_eq!(filled("{head.2.weights[0,1]}", number), "{head.2.weights[0,1]}");
        assert_eq!(filled("an open { brace", number), "an open { brace");
    }
}
