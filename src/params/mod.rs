//! Counting: parameters, multiplications, exponentials, memory. Knows no screen and no plan.
//!
//! [`Layer`] counts one attention layer; [`Report`] puts together everything that `mha params` shows. What is
//! counted is data: [`presets`] are rows of a table, and a [`Settings`] is whatever is known of a model so far,
//! with where each size came from.

pub mod architecture;
pub mod dtype;
pub mod figure;
pub mod layer;
pub mod presets;
pub mod report;
pub mod settings;
pub mod sweep;
pub mod weights;

pub use dtype::Dtype;
pub use figure::Figure;
pub use layer::{Biases, Kind, Layer, MatrixCount, ProductCount};
pub use presets::Preset;
pub use report::Report;
pub use settings::{Key, Origin, Settings};
pub use sweep::Sweep;

use crate::limits::DIVISORS_OF;

/// All divisors of a count in ascending order; none for 0.
///
/// Takes √count steps.
pub(crate) fn divisors(count: u64) -> Vec<u64> {
    let small: Vec<u64> =
        (1..).take_while(|d| *d <= count / d).filter(|d| count.is_multiple_of(*d)).collect();
    let mut all = small.clone();
    all.extend(small.iter().rev().map(|d| count / d).filter(|d| small.last() != Some(d)));
    all
}

/// The divisors of `count` on either side of `near`, as a person would be offered them: `4 or 8`.
pub(crate) fn neighbours(count: u64, near: u64) -> String {
    if count > DIVISORS_OF {
        return "that divides it".to_owned();
    }
    let all = divisors(count);
    let below = all.iter().rev().find(|d| **d < near);
    let above = all.iter().find(|d| **d > near);
    below.into_iter().chain(above).map(u64::to_string).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisors_come_in_order_and_once() {
        assert_eq!(divisors(12), [1, 2, 3, 4, 6, 12]);
        assert_eq!(divisors(16), [1, 2, 4, 8, 16]);
        assert_eq!(divisors(1), [1]);
        assert!(divisors(0).is_empty());
    }

    #[test]
    fn neighbours_stand_on_both_sides_where_there_are_two() {
        assert_eq!(neighbours(512, 7), "4 or 8");
        assert_eq!(neighbours(8, 9), "8");
    }
}
