//! Sums over the queries of a map, from which measures are means.

use nalgebra::DMatrix;

use super::Measure;
use super::measure::COUNT;
use crate::model::Passage;
use crate::ops::View;

/// How many shares there are: as many as a byte has bits.
const SHARES: usize = Measure::SHARES.len();

/// For every measure the sum over the queries that counted for it, and how many those were.
///
/// Tallies of several texts add up: every query has one vote, so a long text has more say than a short one.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tally {
    sums: [f64; COUNT],
    counts: [usize; COUNT],
}

impl Tally {
    /// The mean over the queries that counted; `None` where none did.
    pub fn mean(&self, measure: Measure) -> Option<f64> {
        let count = self.counts[measure.place()];
        (count > 0).then(|| self.sums[measure.place()] / count as f64)
    }

    /// How many queries counted.
    pub fn queries(&self, measure: Measure) -> usize {
        self.counts[measure.place()]
    }

    /// Adds another text's or head's.
    pub fn add(&mut self, other: &Self) {
        for at in 0..COUNT {
            self.sums[at] += other.sums[at];
            self.counts[at] += other.counts[at];
        }
    }

    fn vote(&mut self, measure: Measure, value: f64) {
        self.sums[measure.place()] += value;
        self.counts[measure.place()] += 1;
    }
}

/// What each key is to each query of a text: a bit a share, in the order of [`Measure::SHARES`] (n × n).
#[derive(Debug, Clone, PartialEq)]
pub struct Marks(DMatrix<u8>);

impl Marks {
    /// Looks at the tokens of a text.
    pub fn of(passage: &Passage) -> Self {
        let ids = &passage.ids;
        let special = |j: usize| passage.is_special.get(j).copied().unwrap_or(false);
        let separator: Vec<bool> =
            (0..ids.len()).map(|j| j > 0 && (special(j) || passage.is_separator(j))).collect();
        let punctuation: Vec<bool> =
            (0..ids.len()).map(|j| !separator[j] && passage.is_punctuation(j)).collect();
        let is = |share: Measure, i: usize, j: usize| match share {
            Measure::Previous => i == j + 1,
            Measure::Next => j == i + 1,
            Measure::Itself => i == j,
            Measure::First => j == 0,
            Measure::Separator => separator[j],
            Measure::Punctuation => punctuation[j],
            Measure::Same => i != j && ids[i] == ids[j],
            Measure::Induction => j > 0 && j < i && ids[j - 1] == ids[i],
            _ => false,
        };
        let marks = |i: usize, j: usize| {
            let bit = |(at, share): (usize, &Measure)| u8::from(is(*share, i, j)) << at;
            Measure::SHARES.iter().enumerate().map(bit).fold(0, |marks, bit| marks | bit)
        };
        Self(DMatrix::from_fn(ids.len(), ids.len(), marks))
    }
}

/// What the queries of a layer may see of a text, and what even attention to all of it would give.
#[derive(Debug, Clone)]
pub struct Sight<'a> {
    marks: &'a Marks,
    /// How many keys each query sees (n).
    seen: Vec<usize>,
    /// Which shares each query has a key for (n).
    reach: Vec<u8>,
    /// The measures of even attention.
    pub even: Tally,
}

impl<'a> Sight<'a> {
    /// Looks through a mask (true = may attend); without one every key is seen.
    pub fn through(marks: &'a Marks, allowed: Option<&DMatrix<bool>>) -> Self {
        let n = marks.0.nrows();
        let sees =
            |i: usize, j: usize| allowed.is_none_or(|allowed| allowed.get((i, j)).copied().unwrap_or(false));
        let mut seen = vec![0; n];
        let mut reach = vec![0; n];
        for j in 0..n {
            for i in (0..n).filter(|i| sees(*i, j)) {
                seen[i] += 1;
                reach[i] |= marks.0[(i, j)];
            }
        }
        let mut sight = Self { marks, seen, reach, even: Tally::default() };
        let mut rows = Rows::new(n);
        for j in 0..n {
            for i in (0..n).filter(|i| sees(*i, j)) {
                rows.add(i, j, 1.0, marks.0[(i, j)]);
            }
        }
        sight.even = rows.tally(&sight);
        sight
    }

    /// The measures of a map of weights (n × n); with `norms` (n, one a key) those of weight · norm.
    pub fn measured(&self, map: View<'_, f32>, norms: Option<&[f64]>) -> Tally {
        let n = self.seen.len();
        let mut rows = Rows::new(n);
        // Down the columns, as matrices lie in memory.
        for (j, column) in map.column_iter().enumerate().take(n) {
            let norm = norms.map_or(1.0, |norms| norms.get(j).copied().unwrap_or(0.0));
            for (i, weight) in column.iter().enumerate().take(n) {
                rows.add(i, j, f64::from(*weight) * norm, self.marks.0[(i, j)]);
            }
        }
        rows.tally(self)
    }

    /// The largest weight of a query that has a choice: the weight, the query and the key (from 0).
    pub fn strongest(&self, map: View<'_, f32>) -> Option<(f64, usize, usize)> {
        let mut strongest: Option<(f64, usize, usize)> = None;
        for (j, column) in map.column_iter().enumerate() {
            for (i, weight) in column.iter().enumerate().filter(|(i, _)| self.has_choice(*i)) {
                let weight = f64::from(*weight);
                if strongest.is_none_or(|(most, ..)| weight > most) {
                    strongest = Some((weight, i, j));
                }
            }
        }
        strongest
    }

    fn has_choice(&self, query: usize) -> bool {
        self.seen.get(query).is_some_and(|seen| *seen >= 2)
    }
}

/// Sums along each row of a map.
struct Rows {
    rows: Vec<Row>,
}

#[derive(Clone, Default)]
struct Row {
    /// Σ w
    total: f64,
    /// Σ w · log2 w
    logarithms: f64,
    /// Σ w · |i − j|
    distance: f64,
    /// max w
    most: f64,
    /// Σ w over the keys of each share
    shares: [f64; SHARES],
}

impl Rows {
    fn new(n: usize) -> Self {
        Self { rows: vec![Row::default(); n] }
    }

    fn add(&mut self, i: usize, j: usize, weight: f64, marks: u8) {
        if weight <= 0.0 {
            return;
        }
        let row = &mut self.rows[i];
        row.total += weight;
        row.logarithms += weight * weight.log2();
        row.distance += weight * i.abs_diff(j) as f64;
        row.most = row.most.max(weight);
        if marks != 0 {
            for (at, share) in row.shares.iter_mut().enumerate() {
                if marks >> at & 1 == 1 {
                    *share += weight;
                }
            }
        }
    }

    fn tally(&self, sight: &Sight<'_>) -> Tally {
        let mut tally = Tally::default();
        for (i, row) in self.rows.iter().enumerate() {
            // A row of nothing (values that are all zero) says nothing.
            if !sight.has_choice(i) || row.total <= 0.0 {
                continue;
            }
            for (at, share) in Measure::SHARES.into_iter().enumerate() {
                if sight.reach[i] >> at & 1 == 1 {
                    tally.vote(share, row.shares[at] / row.total);
                }
            }
            // −Σ p log2 p with p = w / total.
            let entropy = (row.total.log2() - row.logarithms / row.total).max(0.0);
            tally.vote(Measure::Distance, row.distance / row.total);
            tally.vote(Measure::Entropy, entropy);
            tally.vote(Measure::Evenness, (entropy / (sight.seen[i] as f64).log2()).min(1.0));
            tally.vote(Measure::Largest, row.most / row.total);
        }
        tally
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;

    /// x , x . : the punctuation is tokens 2 and 4, and x occurs twice.
    fn passage() -> Passage {
        Passage {
            ids: vec![7, 1, 7, 2],
            segments: vec![0; 4],
            labels: ["x", ",", "x", "."].map(String::from).to_vec(),
            pieces: ["x", ",", "x", "."].map(String::from).to_vec(),
            is_special: vec![false; 4],
        }
    }

    #[rustfmt::skip]
    fn map() -> DMatrix<f32> {
        DMatrix::from_row_slice(4, 4, &[
            0.5,   0.5,   0.0,  0.0,
            0.25,  0.25,  0.25, 0.25,
            0.25,  0.75,  0.0,  0.0,
            0.125, 0.125, 0.25, 0.5,
        ])
    }

    #[track_caller]
    fn case(tally: &Tally, measure: Measure, mean: f64, queries: usize) {
        assert_eq!(tally.queries(measure), queries, "{measure:?}");
        assert_relative_eq!(tally.mean(measure).unwrap(), mean, epsilon = 1e-6);
    }

    /// Everything by hand from the four rows above; each query sees all four keys.
    #[test]
    fn every_measure_of_four_tokens() {
        let marks = Marks::of(&passage());
        let tally = Sight::through(&marks, None).measured(map().as_view(), None);
        // A[2,1], A[3,2], A[4,3]; the first query has nothing before it.
        case(&tally, Measure::Previous, (0.25 + 0.75 + 0.25) / 3.0, 3);
        // A[1,2], A[2,3], A[3,4].
        case(&tally, Measure::Next, (0.5 + 0.25 + 0.0) / 3.0, 3);
        case(&tally, Measure::Itself, (0.5 + 0.25 + 0.0 + 0.5) / 4.0, 4);
        case(&tally, Measure::First, (0.5 + 0.25 + 0.25 + 0.125) / 4.0, 4);
        // Columns 2 and 4.
        case(&tally, Measure::Punctuation, (0.5 + 0.5 + 0.75 + 0.625) / 4.0, 4);
        // A[1,3] and A[3,1]: only x is there twice.
        case(&tally, Measure::Same, (0.0 + 0.25) / 2.0, 2);
        // The second x looks at the comma, which followed the first.
        case(&tally, Measure::Induction, 0.75, 1);
        assert_eq!(tally.mean(Measure::Separator), None);
        // ½·1; ¼·(1 + 0 + 1 + 2); ¼·2 + ¾·1; ⅛·3 + ⅛·2 + ¼·1.
        case(&tally, Measure::Distance, (0.5 + 1.0 + 1.25 + 0.875) / 4.0, 4);
        // 1 and 2 bits; ¼·2 + ¾·log2(4/3) = 0.811278; ⅛·3 + ⅛·3 + ¼·2 + ½·1 = 1.75.
        let entropy = (1.0 + 2.0 + 0.811278 + 1.75) / 4.0;
        case(&tally, Measure::Entropy, entropy, 4);
        // Over four keys even attention has 2 bits.
        case(&tally, Measure::Evenness, entropy / 2.0, 4);
        case(&tally, Measure::Largest, (0.5 + 0.25 + 0.75 + 0.5) / 4.0, 4);
    }

    /// Norms 1, 2, 4, 0. Rows of weight · norm: ½, 1 | ¼, ½, 1, 0 | ¼, 3/2 | ⅛, ¼, 1, 0; their sums 3/2, 7/4, 7/4, 11/8.
    #[test]
    fn a_key_with_a_short_value_gets_less_by_norm() {
        let marks = Marks::of(&passage());
        let norms = [1.0, 2.0, 4.0, 0.0];
        let tally = Sight::through(&marks, None).measured(map().as_view(), Some(&norms));
        case(&tally, Measure::Previous, (1.0 / 7.0 + 6.0 / 7.0 + 8.0 / 11.0) / 3.0, 3);
        case(&tally, Measure::First, (1.0 / 3.0 + 1.0 / 7.0 + 1.0 / 7.0 + 1.0 / 11.0) / 4.0, 4);
        // The full stop, whose value is nothing, no longer counts beside the comma.
        case(&tally, Measure::Punctuation, (2.0 / 3.0 + 2.0 / 7.0 + 6.0 / 7.0 + 2.0 / 11.0) / 4.0, 4);
    }

    /// A causal mask: query 1 sees itself alone and has no say; nobody sees what follows.
    #[test]
    fn a_causal_query_counts_where_it_has_a_choice() {
        let marks = Marks::of(&passage());
        let allowed = DMatrix::from_fn(4, 4, |i, j| j <= i);
        #[rustfmt::skip]
        let map = DMatrix::from_row_slice(4, 4, &[
            1.0,  0.0,  0.0,  0.0f32,
            0.75, 0.25, 0.0,  0.0,
            0.0,  0.5,  0.5,  0.0,
            0.25, 0.25, 0.25, 0.25,
        ]);
        let sight = Sight::through(&marks, Some(&allowed));
        let tally = sight.measured(map.as_view(), None);
        assert_eq!(tally.mean(Measure::Next), None);
        case(&tally, Measure::Previous, (0.75 + 0.5 + 0.25) / 3.0, 3);
        case(&tally, Measure::Itself, (0.25 + 0.5 + 0.25) / 3.0, 3);
        case(&tally, Measure::Induction, 0.5, 1);
        // A[3,1]: the first x does not see the second.
        case(&tally, Measure::Same, 0.0, 1);
        // ½ bit·… over log2 2; 1 bit over log2 3; 2 bits over log2 4. −¾·log2 ¾ − ¼·log2 ¼ = 0.811278.
        case(&tally, Measure::Evenness, (0.811278 + 1.0 / 3f64.log2() + 1.0) / 3.0, 3);
        // Query 1 gives 1 to itself, which is no choice.
        assert_eq!(sight.strongest(map.as_view()), Some((0.75, 1, 0)));
        // Even: 1/2, 1/3, 1/4 to the token before; of the full stop's three others none is the same.
        case(&sight.even, Measure::Previous, (1.0 / 2.0 + 1.0 / 3.0 + 1.0 / 4.0) / 3.0, 3);
        case(&sight.even, Measure::Evenness, 1.0, 3);
    }

    #[test]
    fn separators_are_special_tokens_but_the_first_and_punctuation_has_no_letters() {
        let labels = ["[CLS]", "␣,", "##s", "␣—", "</s>", "␣I'm", "[SEP]"];
        let mut is_special = vec![false; 7];
        is_special[0] = true;
        is_special[6] = true;
        let passage = Passage {
            ids: (0..7).collect(),
            segments: vec![0; 7],
            labels: labels.map(String::from).to_vec(),
            pieces: labels.map(String::from).to_vec(),
            is_special,
        };
        let Marks(marks) = Marks::of(&passage);
        let bit = |share: Measure| 1u8 << share.place();
        let has = |share: Measure| (0..7).filter(|j| marks[(2, *j)] & bit(share) != 0).collect::<Vec<_>>();
        assert_eq!(has(Measure::Separator), [4, 6]);
        assert_eq!(has(Measure::Punctuation), [1, 3]);
        assert_eq!(has(Measure::First), [0]);
    }

    /// Two texts of 3 and 1 counted queries: (3 · ½ + 1 · 1) / 4.
    #[test]
    fn every_query_of_several_texts_has_one_vote() {
        let of = |values: &[f64]| {
            let mut tally = Tally::default();
            values.iter().for_each(|value| tally.vote(Measure::First, *value));
            tally
        };
        let mut both = of(&[0.5, 0.5, 0.5]);
        both.add(&of(&[1.0]));
        assert_eq!((both.mean(Measure::First), both.queries(Measure::First)), (Some(0.625), 4));
    }
}
