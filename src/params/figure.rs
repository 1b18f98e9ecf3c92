//! A number that shows how it came about: its formula, the same with numbers put in, and the result.

use super::Dtype;
use crate::fault::{Fault, Outcome};

/// A count with its formula (`d_model × h·d_k`) and its factors (`512 × 8·64`).
///
/// All arithmetic is checked: what does not fit in 64 bits is a fault, never a wrong number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// In the field's words.
    pub formula: String,
    /// The same formula with this layer's numbers.
    pub factors: String,
    /// What it comes to.
    pub value: u64,
}

impl Figure {
    /// A named size: the smallest formula.
    pub fn size(name: &str, value: u64) -> Self {
        Self { formula: name.to_owned(), factors: value.to_string(), value }
    }

    /// A number that needs no name, such as the 2 of `2·g·d_k`.
    pub fn constant(value: u64) -> Self {
        Self::size(&value.to_string(), value)
    }

    /// `name²`.
    ///
    /// # Errors
    /// Too large for 64 bits.
    pub fn square(name: &str, value: u64) -> Outcome<Self> {
        let product = value.checked_mul(value).ok_or_else(|| too_large(&format!("{name}² = {value}²")))?;
        Ok(Self { formula: format!("{name}²"), factors: format!("{value}²"), value: product })
    }

    /// `a·b`.
    ///
    /// # Errors
    /// Too large for 64 bits.
    pub fn times(&self, other: &Self) -> Outcome<Self> {
        self.joined(other, "·", u64::checked_mul)
    }

    /// `a × b`, rows and columns of a matrix.
    ///
    /// # Errors
    /// Too large for 64 bits.
    pub fn by(&self, other: &Self) -> Outcome<Self> {
        self.joined(other, " × ", u64::checked_mul)
    }

    /// `(a + b)`.
    ///
    /// # Errors
    /// Too large for 64 bits.
    pub fn plus(&self, other: &Self) -> Outcome<Self> {
        let sum = self.joined(other, " + ", u64::checked_add)?;
        let inside = |text: &str| format!("({text})");
        Ok(Self { formula: inside(&sum.formula), factors: inside(&sum.factors), value: sum.value })
    }

    /// Bytes that so many numbers take: `…·bytes`. A part of a byte is rounded up to a whole one.
    ///
    /// # Errors
    /// Too large for 64 bits.
    pub fn stored_as(&self, dtype: Dtype) -> Outcome<Self> {
        let formula = format!("{}·bytes", self.formula);
        let factors = format!("{}·{}", self.factors, dtype.bytes_each());
        let value = dtype.bytes(self.value).map_err(|_| too_large(&format!("{formula} = {factors}")))?;
        Ok(Self { formula, factors, value })
    }

    fn joined(&self, other: &Self, sign: &str, apply: fn(u64, u64) -> Option<u64>) -> Outcome<Self> {
        let formula = format!("{}{sign}{}", self.formula, other.formula);
        let factors = format!("{}{sign}{}", self.factors, other.factors);
        match apply(self.value, other.value) {
            Some(value) => Ok(Self { formula, factors, value }),
            None => Err(too_large(&format!("{formula} = {factors}")).into()),
        }
    }
}

/// The sum of several counts.
///
/// # Errors
/// Too large for 64 bits; `what` names the sum.
pub fn sum(counts: impl IntoIterator<Item = u64>, what: &str) -> Outcome<u64> {
    let mut total: u64 = 0;
    for count in counts {
        total = total.checked_add(count).ok_or_else(|| too_large(what))?;
    }
    Ok(total)
}

fn too_large(what: &str) -> Fault {
    Fault::new(
        format!("too large to count: {what}"),
        "the result is above 18,446,744,073,709,551,615, the largest number of 64 bits",
        "make one of the factors smaller",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 512 × (8·64) = 512 × 512 = 262,144.
    #[test]
    fn a_figure_carries_its_formula_and_its_factors() {
        let width = Figure::size("h", 8).times(&Figure::size("d_k", 64)).unwrap();
        let w_q = Figure::size("d_model", 512).by(&width).unwrap();
        assert_eq!(w_q.formula, "d_model × h·d_k");
        assert_eq!(w_q.factors, "512 × 8·64");
        assert_eq!(w_q.value, 262_144);
    }

    /// 3 numbers of 4 bits are 12 bits: one byte and a half, so two.
    #[test]
    fn half_a_byte_takes_a_whole_one() {
        let three = Figure::constant(3);
        let stored = three.stored_as(Dtype::Int4).unwrap();
        assert_eq!((stored.factors.as_str(), stored.value), ("3·½", 2));
        assert_eq!(three.stored_as(Dtype::Fp32).unwrap().value, 12);
    }

    /// 2³² · 2³² = 2⁶⁴ is one more than the largest.
    #[test]
    fn what_does_not_fit_is_a_fault_and_never_wraps() {
        let big = Figure::size("n", 1 << 32);
        for faults in [
            big.times(&big).unwrap_err(),
            big.by(&big).unwrap_err(),
            Figure::square("n", 1 << 32).unwrap_err(),
            Figure::size("n", u64::MAX).plus(&Figure::constant(1)).unwrap_err(),
            Figure::size("n", u64::MAX).stored_as(Dtype::Fp16).unwrap_err(),
        ] {
            assert!(faults.0[0].what.starts_with("too large to count: n"), "{faults}");
        }
        assert!(sum([u64::MAX, 1], "all layers").is_err());
    }
}
