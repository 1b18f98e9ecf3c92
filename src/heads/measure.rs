//! What is measured of a head: each definition once, with its formula.

use crate::words::n;

/// A number that says what a head does with its attention; the mean over the queries that count for it.
///
/// `A[i,j]` is the weight that query i gives to key j, over the sum of its row (1, but where a learned sink takes a part).
/// A query has a choice where it may see at least two keys; no other counts for anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Measure {
    /// Share to the token before.
    Previous,
    /// Share to the token after.
    Next,
    /// Share to the query's own token.
    Itself,
    /// Share to the first token.
    First,
    /// Share to separators.
    Separator,
    /// Share to punctuation.
    Punctuation,
    /// Share to the same token elsewhere.
    Same,
    /// Share to the token after an earlier occurrence.
    Induction,
    /// Mean distance, in tokens.
    Distance,
    /// Entropy, in bits.
    Entropy,
    /// Entropy over that of even attention, from 0 to 1.
    Evenness,
    /// The largest weight of a query.
    Largest,
}

/// How many measures there are.
pub const COUNT: usize = Measure::ALL.len();

impl Measure {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 12] = [
        Self::Previous,
        Self::Next,
        Self::Itself,
        Self::First,
        Self::Separator,
        Self::Punctuation,
        Self::Same,
        Self::Induction,
        Self::Distance,
        Self::Entropy,
        Self::Evenness,
        Self::Largest,
    ];

    /// Those that are shares: how much of a query's attention goes to certain keys.
    pub const SHARES: [Self; 8] = [
        Self::Previous,
        Self::Next,
        Self::Itself,
        Self::First,
        Self::Separator,
        Self::Punctuation,
        Self::Same,
        Self::Induction,
    ];

    /// Its place in [`Measure::ALL`].
    pub fn place(self) -> usize {
        self as usize
    }

    /// As flags, columns and JSON have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Previous => "previous",
            Self::Next => "next",
            Self::Itself => "self",
            Self::First => "first",
            Self::Separator => "separator",
            Self::Punctuation => "punctuation",
            Self::Same => "same",
            Self::Induction => "induction",
            Self::Distance => "distance",
            Self::Entropy => "entropy",
            Self::Evenness => "evenness",
            Self::Largest => "largest",
        }
    }

    /// The measure of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|measure| measure.name() == name)
    }

    /// What it says, in English: a key of [`crate::words::say`].
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Previous => n!("share of attention to the token before"),
            Self::Next => n!("share of attention to the token after; a causal model has none"),
            Self::Itself => n!("share of attention to the query's own token"),
            Self::First => n!("share of attention to the first token of the text"),
            Self::Separator => n!(
                "share of attention to separators: special tokens such as [SEP] and </s>, but for one that stands first"
            ),
            Self::Punctuation => {
                n!("share of attention to punctuation: tokens written with neither letters nor digits")
            }
            Self::Same => n!("share of attention to the same token elsewhere in the text"),
            Self::Induction => n!("share of attention to what followed an earlier occurrence of the token"),
            Self::Distance => n!("mean distance to what is attended to, in tokens"),
            Self::Entropy => n!("entropy in bits: 0 where all goes to one key"),
            Self::Evenness => {
                n!("entropy over that of even attention to all keys that the query sees: 0 to 1")
            }
            Self::Largest => n!("the largest weight of a query"),
        }
    }

    /// The formula of one query i; tables of definitions show it.
    pub fn formula(self) -> &'static str {
        match self {
            Self::Previous => "A[i, i−1]",
            Self::Next => "A[i, i+1]",
            Self::Itself => "A[i, i]",
            Self::First => "A[i, 1]",
            Self::Separator => "Σ A[i, j], j > 1 a separator",
            Self::Punctuation => "Σ A[i, j], j punctuation",
            Self::Same => "Σ A[i, j], j ≠ i, token j = token i",
            Self::Induction => "Σ A[i, j], j < i, token j−1 = token i",
            Self::Distance => "Σ A[i, j] · |i − j|",
            Self::Entropy => "−Σ A[i, j] · log2 A[i, j]",
            Self::Evenness => "entropy / log2(keys that i sees)",
            Self::Largest => "max A[i, j]",
        }
    }

    /// Which queries have a say, in English: a key of [`crate::words::say`].
    pub fn counted(self) -> &'static str {
        match self {
            Self::Itself | Self::Distance | Self::Entropy | Self::Evenness | Self::Largest => {
                n!("queries that see 2 keys or more")
            }
            _ => n!("queries that see 2 keys or more, such a key among them"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measure_is_found_by_its_name_and_stands_where_it_says() {
        for (place, measure) in Measure::ALL.into_iter().enumerate() {
            assert_eq!((measure.place(), Measure::named(measure.name())), (place, Some(measure)));
        }
        assert!(Measure::SHARES.into_iter().eq(Measure::ALL.into_iter().take(8)));
    }
}
