//! Sentences with computed numbers in them.

use crate::lesson::{Piece, pieces};
use crate::plan::StepId;

/// The sentence with its numbers; a cell that is not there is shown as it was written, with a question mark.
pub fn filled(sentence: &str, number: impl Fn(StepId, usize, usize) -> Option<String>) -> String {
    let text = |piece| match piece {
        Piece::Text(words) => words.to_owned(),
        Piece::Cell(id, row, column) => {
            number(id, row, column).unwrap_or_else(|| format!("{id}[{},{}]?", row + 1, column + 1))
        }
    };
    pieces(sentence).into_iter().map(text).collect()
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
        assert_eq!(filled("{head.9.weights[1,1]}", number), "head.9.weights[1,1]?");
    }
}
