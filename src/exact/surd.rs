//! Sums of roots: Σ qᵢ·√nᵢ.

use std::collections::BTreeMap;

use super::Why;
use super::rational::{self, Rational, whole};

/// Σ qᵢ·√nᵢ with qᵢ a fraction other than 0 and nᵢ whole, squarefree, and each once: 1/√2 is ½·√2.
///
/// Roots of different squarefree numbers are independent over the fractions, so equal sums are written equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Surd(Vec<(u64, Rational)>);

/// Different roots in one sum.
pub(super) const MOST_ROOTS: usize = 8;
/// The largest n of √n.
const MOST_RADICAND: u64 = rational::MOST as u64;

impl From<Rational> for Surd {
    fn from(fraction: Rational) -> Self {
        if *fraction.numer() == 0 { Self::default() } else { Self(vec![(1, fraction)]) }
    }
}

impl Surd {
    /// √x for a fraction x from 0.
    ///
    /// # Errors
    /// x is negative; the number under the root grows too long.
    pub(super) fn root(x: Rational) -> Result<Self, Why> {
        let above = u64::try_from(*x.numer()).map_err(|_| Why::RootOfMore)?;
        let below = u64::try_from(*x.denom()).map_err(|_| Why::Grown)?;
        if above == 0 {
            return Ok(Self::default());
        }
        // √(s²f / t²g) = s/(t·g) · √(f·g), and f·g is squarefree since x is in lowest terms.
        let ((s, f), (t, g)) = (without_squares(above), without_squares(below));
        let radicand = f.checked_mul(g).filter(|n| *n <= MOST_RADICAND).ok_or(Why::Grown)?;
        let below = i128::from(t) * i128::from(g);
        Ok(Self(vec![(radicand, rational::checked(Rational::new(i128::from(s), below))?)]))
    }

    /// The terms: n of √n and what it is multiplied by, n rising.
    pub(super) fn terms(&self) -> &[(u64, Rational)] {
        &self.0
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// The fraction that this is, if it is one.
    pub(super) fn as_rational(&self) -> Option<Rational> {
        match self.0.as_slice() {
            [] => Some(whole(0)),
            [(1, fraction)] => Some(*fraction),
            _ => None,
        }
    }

    pub(super) fn plus(&self, other: &Self) -> Result<Self, Why> {
        collect(self.0.iter().chain(&other.0).map(|term| Ok(*term)))
    }

    pub(super) fn times(&self, other: &Self) -> Result<Self, Why> {
        collect(self.0.iter().flat_map(|a| other.0.iter().map(|b| product(*a, *b))))
    }

    pub(super) fn negated(&self) -> Self {
        Self(self.0.iter().map(|(n, q)| (*n, -q)).collect())
    }

    /// 1 over this where it is one root, q√n: 1/(q·n)·√n.
    pub(super) fn inverse(&self) -> Option<Result<Self, Why>> {
        let [(n, q)] = self.0.as_slice() else { return None };
        let inverse = rational::times(q.recip(), Rational::new(1, i128::from(*n)));
        Some(inverse.map(|q| Self(vec![(*n, q)])))
    }

    /// The number as the machine has it.
    pub(super) fn value(&self) -> f64 {
        self.0.iter().map(|(n, q)| rational::value(*q) * (*n as f64).sqrt()).sum()
    }
}

/// q√n · r√m = q·r·g · √(n/g · m/g), g what n and m have in common.
fn product((n, q): (u64, Rational), (m, r): (u64, Rational)) -> Result<(u64, Rational), Why> {
    let common = rational::gcd(i128::from(n), i128::from(m));
    let g = common as u64; // a divisor of n
    let radicand = (n / g).checked_mul(m / g).filter(|n| *n <= MOST_RADICAND).ok_or(Why::Grown)?;
    Ok((radicand, rational::times(rational::times(q, r)?, whole(common))?))
}

fn collect(terms: impl Iterator<Item = Result<(u64, Rational), Why>>) -> Result<Surd, Why> {
    let mut sum: BTreeMap<u64, Rational> = BTreeMap::new();
    for term in terms {
        let (n, q) = term?;
        let so_far = sum.entry(n).or_insert_with(|| whole(0));
        *so_far = rational::add(*so_far, q)?;
    }
    sum.retain(|_, q| *q.numer() != 0);
    if sum.len() > MOST_ROOTS { Err(Why::ManyRoots) } else { Ok(Surd(sum.into_iter().collect())) }
}

/// Takes n apart into s² · f with f squarefree; gives s and f. n is from 1 to 10¹⁸.
///
/// Once every prime up to the cube root of what is left is taken out, what is left is a prime, a square of one, or a
/// product of two: only its square root has to be looked at. At most 10⁶ divisions.
fn without_squares(n: u64) -> (u64, u64) {
    let (mut rest, mut s, mut f) = (n, 1, 1);
    let mut p = 2;
    while p * p * p <= rest {
        let mut times = 0;
        while rest.is_multiple_of(p) {
            rest /= p;
            times += 1;
        }
        s *= p.pow(times / 2);
        f *= p.pow(times % 2);
        p += if p == 2 { 1 } else { 2 };
    }
    // A prime above the cube root may still stand squared, or a smaller one once more.
    let root = rest.isqrt();
    if root * root == rest { (s * root, f) } else { (s, f * rest) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(above: i128, below: i128) -> Surd {
        Surd::root(Rational::new(above, below)).unwrap()
    }

    #[test]
    fn squares_come_out_of_a_root() {
        assert_eq!(
            [1, 2, 4, 8, 12, 49, 50, 72].map(without_squares),
            [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (7, 1), (5, 2), (6, 2)]
        );
        // 999 983 is a prime below 10⁶.
        assert_eq!(without_squares(999_983 * 999_983), (999_983, 1));
        assert_eq!(without_squares(999_983 * 2 * 2), (2, 999_983));
        assert_eq!(without_squares(1_000_000_000_000_000_000), (1_000_000_000, 1));
    }

    #[test]
    fn every_small_number_is_its_square_times_what_has_none() {
        for n in 1..=3000 {
            let (s, f) = without_squares(n);
            assert_eq!(s * s * f, n);
            assert!((2..=f.isqrt()).all(|p| !f.is_multiple_of(p * p)), "{n} = {s}² · {f}");
        }
    }

    #[test]
    fn roots_multiply_and_add_like_by_hand() {
        // √2 · √6 = √12 = 2√3; 1/√2 = ½·√2; 1/√2 + 1/√2 = √2; (1 + √2)(1 − √2) = −1
        assert_eq!(root(2, 1).times(&root(6, 1)), Ok(root(12, 1)));
        let half = root(1, 2);
        assert_eq!(half.terms(), [(2, Rational::new(1, 2))]);
        assert_eq!(half.plus(&half), Ok(root(2, 1)));
        let one = Surd::from(whole(1));
        let product = one.plus(&root(2, 1)).unwrap().times(&one.plus(&root(2, 1).negated()).unwrap());
        assert_eq!(product, Ok(Surd::from(whole(-1))));
        assert_eq!(root(8, 1).inverse(), Some(Ok(root(1, 8))));
    }

    #[test]
    fn a_root_has_its_value() {
        assert!((root(500_001, 1_000_000).value() - 0.500001f64.sqrt()).abs() < 1e-15);
    }
}
