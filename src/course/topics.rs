//! The topics of the course, in its order.

use crate::words::say;

/// What they are called, in English; their numbers count from 1.
const TITLES: [&str; 16] = [
    "One softmax is not enough",
    "The mechanism",
    "Why divide by √d_k",
    "Concat and W_O",
    "What it costs in parameters",
    "What it costs in compute",
    "How many heads",
    "Masks",
    "Self- and cross-attention",
    "How production code does it",
    "Sharing keys and values",
    "What heads learn",
    "Attention is a clue, not an explanation",
    "Pruning",
    "Stability",
    "Five myths",
];

/// What a topic is called in the language of this process; `None` where there is no topic of that number.
pub fn title(topic: u8) -> Option<&'static str> {
    let place = usize::from(topic).checked_sub(1)?;
    TITLES.get(place).map(|title| say(title))
}
