//! What the course teaches, in its order.

use crate::words::t;

/// How many topics there are.
pub const COUNT: u8 = 16;

/// What a topic (from 1) is called; empty where there is no such topic.
pub fn title(topic: u8) -> String {
    match topic {
        1 => t!("One softmax is not enough"),
        2 => t!("The mechanism"),
        3 => t!("Why divide by √d_k"),
        4 => t!("Concat and W_O"),
        5 => t!("What it costs in parameters"),
        6 => t!("What it costs in compute"),
        7 => t!("How many heads"),
        8 => t!("Masks"),
        9 => t!("Self-attention and cross-attention"),
        10 => t!("How production code does it"),
        11 => t!("Sharing keys and values"),
        12 => t!("What heads learn"),
        13 => t!("Attention is a clue, not an explanation"),
        14 => t!("Pruning"),
        15 => t!("Stability"),
        16 => t!("Five myths"),
        _ => String::new(),
    }
}
