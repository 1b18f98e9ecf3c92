//! Names for what heads do, and from where on a head carries one.

use super::Measure;
use super::tally::Tally;
use crate::words::n;

/// What a head does on a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Most goes where this share says: positional (previous, next, self), an anchor (first, separators, punctuation), the
    /// same token, induction.
    Share(Measure),
    /// Nearly as even as attention can be.
    Broad,
    /// On few keys, which none of the shares explains: what the tokens say decides.
    Content,
    /// None of these.
    Mixed,
}

/// A share names a head from here on …
pub const SHARE: f64 = 0.4;
/// … if it is so many times what even attention would give, too: in a short text every key has a large share.
pub const TIMES_EVEN: f64 = 2.0;
/// A measure that fewer queries counted for names nothing.
pub const QUERIES: usize = 3;
/// Entropy over that of even attention from which on attention is broad.
pub const EVENNESS: f64 = 0.9;
/// The mean largest weight from which on attention without another name is on content.
pub const LARGEST: f64 = 0.5;

impl Role {
    /// All of them, in the order of legends.
    pub const ALL: [Self; 11] = [
        Self::Share(Measure::Previous),
        Self::Share(Measure::Next),
        Self::Share(Measure::Itself),
        Self::Share(Measure::First),
        Self::Share(Measure::Separator),
        Self::Share(Measure::Punctuation),
        Self::Share(Measure::Same),
        Self::Share(Measure::Induction),
        Self::Broad,
        Self::Content,
        Self::Mixed,
    ];

    /// As pages and JSON name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Share(measure) => measure.name(),
            Self::Broad => "broad",
            Self::Content => "content",
            Self::Mixed => "mixed",
        }
    }

    /// The letter that stands for it in a map.
    pub fn letter(self) -> char {
        match self {
            Self::Share(Measure::Previous) => 'P',
            Self::Share(Measure::Next) => 'N',
            Self::Share(Measure::Itself) => 'S',
            Self::Share(Measure::First) => 'F',
            Self::Share(Measure::Separator) => 'E',
            Self::Share(Measure::Punctuation) => 'U',
            Self::Share(Measure::Same) => 'D',
            Self::Share(Measure::Induction) => 'I',
            Self::Broad => 'B',
            Self::Content => 'C',
            Self::Share(_) | Self::Mixed => '·',
        }
    }

    /// What it means, in English: a key of [`crate::words::say`].
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Share(Measure::Previous) => n!("positional: the token before"),
            Self::Share(Measure::Next) => n!("positional: the token after"),
            Self::Share(Measure::Itself) => n!("positional: the query itself"),
            Self::Share(Measure::First) => n!("anchor: the first token"),
            Self::Share(Measure::Separator) => n!("anchor: separators"),
            Self::Share(Measure::Punctuation) => n!("anchor: punctuation"),
            Self::Share(Measure::Same) => n!("duplicates: the same token elsewhere"),
            Self::Share(_) => n!("induction: what followed the same token before"),
            Self::Broad => n!("broad: nearly even"),
            Self::Content => n!("sharp, and none of the above: content decides"),
            Self::Mixed => n!("mixed: none of the above"),
        }
    }

    /// The measure that it is named by.
    pub fn measure(self) -> Option<Measure> {
        match self {
            Self::Share(measure) => Some(measure),
            Self::Broad => Some(Measure::Evenness),
            Self::Content => Some(Measure::Largest),
            Self::Mixed => None,
        }
    }
}

/// The share that is largest in a head, whether it names it or not.
pub fn largest_share(tally: &Tally) -> Option<(Measure, f64)> {
    let shares = Measure::SHARES.into_iter().filter(|measure| tally.queries(*measure) >= QUERIES);
    let shares = shares.filter_map(|measure| Some((measure, tally.mean(measure)?)));
    shares.reduce(|most, share| if share.1 > most.1 { share } else { most })
}

/// The types of a head, the clearest first: shares by their size, then broad; content or mixed where there is no other.
pub(super) fn roles(tally: &Tally, even: &Tally) -> Vec<Role> {
    let mean = |measure: Measure| tally.mean(measure).filter(|_| tally.queries(measure) >= QUERIES);
    let mut shares: Vec<(Measure, f64)> = Measure::SHARES
        .into_iter()
        .filter_map(|measure| Some((measure, mean(measure)?)))
        .filter(|(measure, share)| {
            *share >= SHARE && even.mean(*measure).is_some_and(|even| *share >= TIMES_EVEN * even)
        })
        .collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut roles: Vec<Role> = shares.into_iter().map(|(measure, _)| Role::Share(measure)).collect();
    if mean(Measure::Evenness).is_some_and(|evenness| evenness >= EVENNESS) {
        roles.push(Role::Broad);
    }
    if roles.is_empty() {
        let is_sharp = mean(Measure::Largest).is_some_and(|largest| largest >= LARGEST);
        roles.push(if is_sharp { Role::Content } else { Role::Mixed });
    }
    roles
}

#[cfg(test)]
mod tests {
    use nalgebra::DMatrix;

    use super::super::tally::{Marks, Sight};
    use super::*;
    use crate::model::Passage;

    /// Six tokens, all different, the last a separator.
    fn roles_of(map: impl Fn(usize, usize) -> f32) -> Vec<Role> {
        let passage = Passage {
            ids: (0..6).collect(),
            segments: vec![0; 6],
            labels: ["[CLS]", "a", "b", "c", "d", "[SEP]"].map(String::from).to_vec(),
            pieces: ["[CLS]", "a", "b", "c", "d", "[SEP]"].map(String::from).to_vec(),
            is_special: vec![true, false, false, false, false, true],
        };
        let marks = Marks::of(&passage);
        let sight = Sight::through(&marks, None);
        let tally = sight.measured(DMatrix::from_fn(6, 6, map).as_view(), None);
        roles(&tally, &sight.even)
    }

    /// Every row gives 0.45 to the first token and 0.55 to the last: both at least 0.4, and even attention gives 1/6 to each.
    #[test]
    fn a_head_may_carry_two_types_and_the_larger_share_comes_first() {
        let roles = roles_of(|_, j| match j {
            0 => 0.45,
            5 => 0.55,
            _ => 0.0,
        });
        assert_eq!(roles, [Role::Share(Measure::Separator), Role::Share(Measure::First)]);
    }

    #[test]
    fn even_attention_is_broad_and_nothing_else() {
        assert_eq!(roles_of(|_, _| 1.0 / 6.0), [Role::Broad]);
    }

    /// The largest weight of each row is 0.8, on token c for everyone: neither a position nor an anchor.
    #[test]
    fn sharp_attention_without_another_name_is_on_content() {
        assert_eq!(roles_of(|_, j| if j == 3 { 0.8 } else { 0.04 }), [Role::Content]);
    }

    /// 0.35 before and after, the rest even: below every threshold.
    #[test]
    fn what_reaches_no_threshold_is_mixed() {
        let roles = roles_of(|i, j| if i.abs_diff(j) == 1 { 0.35 } else { 0.075 });
        assert_eq!(roles, [Role::Mixed]);
    }

    #[test]
    fn every_type_has_a_letter_of_its_own() {
        let letters: std::collections::BTreeSet<char> = Role::ALL.into_iter().map(Role::letter).collect();
        assert_eq!(letters.len(), Role::ALL.len());
    }
}
