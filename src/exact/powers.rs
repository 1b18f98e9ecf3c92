//! Sums of powers of e: Σ cⱼ·e^αⱼ.

use std::collections::BTreeMap;

use super::Why;
use super::rational::{self, Rational, whole};
use super::surd::Surd;

/// Σ cⱼ·e^αⱼ, cⱼ and αⱼ sums of roots, no cⱼ 0 and each αⱼ once; a plain number stands at α = 0.
///
/// Powers of e with different algebraic exponents are independent over the algebraic numbers (Lindemann and
/// Weierstrass), so equal sums are written equal, and a sum is 0 only where it has no terms.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Powers(Vec<(Surd, Surd)>);

/// Different powers in one sum.
pub(super) const MOST_POWERS: usize = 32;

impl From<Surd> for Powers {
    fn from(number: Surd) -> Self {
        if number.is_zero() { Self::default() } else { Self(vec![(Surd::default(), number)]) }
    }
}

impl Powers {
    /// 1
    pub(super) fn one() -> Self {
        Surd::from(whole(1)).into()
    }

    /// e to the power of `exponent`.
    pub(super) fn of(exponent: Surd) -> Self {
        Self(vec![(exponent, whole(1).into())])
    }

    /// The terms: exponent and coefficient.
    pub(super) fn terms(&self) -> &[(Surd, Surd)] {
        &self.0
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn is_one(&self) -> bool {
        self.as_surd().and_then(|number| number.as_rational()) == Some(whole(1))
    }

    /// The sum of roots that this is, if there are no powers in it.
    pub(super) fn as_surd(&self) -> Option<Surd> {
        match self.0.as_slice() {
            [] => Some(Surd::default()),
            [(exponent, number)] if exponent.is_zero() => Some(number.clone()),
            _ => None,
        }
    }

    /// How many roots are in it: what arithmetic with it costs.
    pub(super) fn size(&self) -> usize {
        self.0.iter().map(|(_, number)| number.terms().len()).sum()
    }

    pub(super) fn plus(&self, other: &Self) -> Result<Self, Why> {
        collect(self.0.iter().chain(&other.0).cloned().map(Ok))
    }

    pub(super) fn times(&self, other: &Self) -> Result<Self, Why> {
        if self.is_one() {
            return Ok(other.clone());
        }
        if other.is_one() {
            return Ok(self.clone());
        }
        collect(self.0.iter().flat_map(|(a, c)| other.0.iter().map(|(b, d)| Ok((a.plus(b)?, c.times(d)?)))))
    }

    pub(super) fn scaled(&self, by: &Surd) -> Result<Self, Why> {
        collect(self.0.iter().map(|(exponent, number)| Ok((exponent.clone(), number.times(by)?))))
    }

    /// The same times e to the power of `exponent`.
    pub(super) fn shifted(&self, exponent: &Surd) -> Result<Self, Why> {
        collect(self.0.iter().map(|(own, number)| Ok((own.plus(exponent)?, number.clone()))))
    }

    /// The terms by exponent, the largest first; only the order is decided with the machine's numbers.
    pub(super) fn falling(&self) -> Vec<(&Surd, &Surd)> {
        let mut terms: Vec<_> =
            self.0.iter().map(|(exponent, number)| (exponent.value(), exponent, number)).collect();
        terms.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| b.1.cmp(a.1)));
        terms.into_iter().map(|(_, exponent, number)| (exponent, number)).collect()
    }

    /// What all the fractions in it have in common: the largest one that leaves whole numbers; nothing for 0.
    ///
    /// # Errors
    /// Their common denominator grows too long.
    pub(super) fn content(&self) -> Result<Option<Rational>, Why> {
        let (mut above, mut below) = (0, 1);
        for (_, q) in self.0.iter().flat_map(|(_, number)| number.terms()) {
            above = rational::gcd(above, *q.numer());
            below = below / rational::gcd(below, *q.denom()) * q.denom();
            rational::checked(Rational::new(1, below))?;
        }
        Ok((above != 0).then(|| Rational::new(above, below)))
    }

    /// The number as the machine has it, in two parts that it can hold: m and x of m·e^x.
    pub(super) fn value(&self) -> (f64, f64) {
        let most = self.0.iter().map(|(exponent, _)| exponent.value()).fold(f64::NEG_INFINITY, f64::max);
        if most == f64::NEG_INFINITY {
            return (0.0, 0.0);
        }
        let term = |(exponent, number): &(Surd, Surd)| number.value() * libm::exp(exponent.value() - most);
        (self.0.iter().map(term).sum(), most)
    }
}

fn collect(terms: impl Iterator<Item = Result<(Surd, Surd), Why>>) -> Result<Powers, Why> {
    let mut sum: BTreeMap<Surd, Surd> = BTreeMap::new();
    for term in terms {
        let (exponent, number) = term?;
        match sum.get_mut(&exponent) {
            Some(so_far) => *so_far = so_far.plus(&number)?,
            None => {
                sum.insert(exponent, number);
            }
        }
        // Also a sum that would shrink again: nothing may grow without end on the way.
        if sum.len() > 2 * MOST_POWERS {
            return Err(Why::ManyPowers);
        }
    }
    sum.retain(|_, number| !number.is_zero());
    if sum.len() > MOST_POWERS { Err(Why::ManyPowers) } else { Ok(Powers(sum.into_iter().collect())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_multiply_and_add_like_by_hand() {
        // With a = e^(1/2): (a + 1)(a − 1) = a² − 1 = e − 1
        let one = Powers::one();
        let minus_one = Powers::from(Surd::from(whole(-1)));
        let a = Powers::of(Rational::new(1, 2).into());
        let product = a.plus(&one).unwrap().times(&a.plus(&minus_one).unwrap()).unwrap();
        assert_eq!(product, Powers::of(whole(1).into()).plus(&minus_one).unwrap());
        assert_eq!(product.plus(&product.scaled(&whole(-1).into()).unwrap()), Ok(Powers::default()));
    }

    #[test]
    fn a_sum_of_huge_powers_has_a_value() {
        // e^1000 + e^999 = (1 + 1/e) · e^1000
        let (m, x) = Powers::of(whole(1000).into()).plus(&Powers::of(whole(999).into())).unwrap().value();
        assert_eq!((m, x), (1.0 + libm::exp(-1.0), 1000.0));
    }

    #[test]
    fn what_fractions_have_in_common() {
        // 4/3 and 2/5: 2/15 leaves 10 and 3.
        let four_thirds = Powers::of(whole(1).into()).scaled(&Rational::new(4, 3).into()).unwrap();
        let both = four_thirds.plus(&Surd::from(Rational::new(2, 5)).into()).unwrap();
        assert_eq!(both.content(), Ok(Some(Rational::new(2, 15))));
    }
}
