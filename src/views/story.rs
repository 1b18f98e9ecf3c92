//! Sentences with computed numbers in them.

use crate::lesson::{Piece, Quantity, pieces};
use crate::number::Form;
use crate::plan::StepId;

/// The sentence with its numbers: cells as `cell` writes them, other expressions as `amount` does. What neither knows is
/// shown as it was written, with a question mark.
pub fn filled(
    sentence: &str,
    cell: impl Fn(StepId, usize, usize) -> Option<String>,
    amount: impl Fn(&Quantity, Form) -> Option<String>,
) -> String {
    let text = |piece| match piece {
        Piece::Text(words) => words.to_owned(),
        Piece::Cell(id, row, column) => {
            cell(id, row, column).unwrap_or_else(|| format!("{id}[{},{}]?", row + 1, column + 1))
        }
        Piece::Amount(quantity, form) => amount(&quantity, form).unwrap_or_else(|| format!("{quantity}?")),
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
        let amount = |quantity: &Quantity, form| {
            (quantity.text == "sum(head.2.weights[3])" && form == Form::Decimals(2))
                .then(|| "1.00".to_owned())
        };
        let filled = |sentence| filled(sentence, number, amount);
        assert_eq!(filled("{head.2.weights[3,1]} each, {really}"), "0.3333 each, {really}");
        assert_eq!(filled("{head.9.weights[1,1]}"), "head.9.weights[1,1]?");
        assert_eq!(filled("in all {sum(head.2.weights[3]):2}"), "in all 1.00");
        assert_eq!(filled("{parameters(@one)}"), "parameters(@one)?");
    }
}
