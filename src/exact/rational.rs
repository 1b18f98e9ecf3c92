//! Fractions with room for everything that is done to them.

use num_rational::Ratio;

use super::Why;

/// A fraction in lowest terms. Every one that this file gives has at most [`MOST_DIGITS`] digits above and below, so
/// that sums and products of two stay far within an i128 before they are looked at.
pub type Rational = Ratio<i128>;

/// Digits of the longest numerator or denominator.
pub(super) const MOST_DIGITS: u32 = 18;
/// The largest numerator or denominator.
pub(super) const MOST: i128 = 10i128.pow(MOST_DIGITS);
/// Digits of the longest decimal that counts as typed: a number with more was computed or drawn at random.
pub(super) const MOST_TYPED_DIGITS: usize = 15;

/// A whole number.
pub(super) fn whole(number: i128) -> Rational {
    Rational::from_integer(number)
}

/// a + b
pub(super) fn add(a: Rational, b: Rational) -> Result<Rational, Why> {
    checked(a + b)
}

/// a · b
pub(super) fn times(a: Rational, b: Rational) -> Result<Rational, Why> {
    checked(a * b)
}

/// The fraction, unless it has grown too long.
pub(super) fn checked(fraction: Rational) -> Result<Rational, Why> {
    if fraction.numer().abs() <= MOST && *fraction.denom() <= MOST { Ok(fraction) } else { Err(Why::Grown) }
}

/// What a person who typed this number meant: 0.1 is 1/10, not the nearest number of the machine.
///
/// # Errors
/// Its shortest decimal has more than 15 digits, or lies so far from 1 that it would not be written out.
pub(super) fn typed(x: f64) -> Result<Rational, Why> {
    if !x.is_finite() {
        return Err(Why::NotANumber);
    }
    if x == 0.0 {
        return Ok(whole(0));
    }
    // The shortest decimal that is read back as this number: d.ddd…e±x.
    let shortest = format!("{x:e}");
    let (mantissa, exponent) = shortest.split_once('e').ok_or(Why::NotANumber)?;
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    let decimals = mantissa.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    if digits.trim_start_matches('-').len() > MOST_TYPED_DIGITS {
        return Err(Why::ManyDigits(x));
    }
    let digits: i128 = digits.parse().map_err(|_| Why::NotANumber)?;
    let exponent: i32 = exponent.parse().map_err(|_| Why::NotANumber)?;
    let shift = exponent - decimals as i32;
    if shift.unsigned_abs() > MOST_DIGITS {
        return Err(Why::Extreme(x));
    }
    let power = 10i128.pow(shift.unsigned_abs());
    let fraction = if shift < 0 { Rational::new(digits, power) } else { whole(digits * power) };
    checked(fraction).map_err(|_| Why::Extreme(x))
}

/// The fraction as a number of the machine.
pub(super) fn value(fraction: Rational) -> f64 {
    *fraction.numer() as f64 / *fraction.denom() as f64
}

/// The greatest common divisor, from 0.
pub(super) fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.abs(), b.abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_number_is_the_fraction_that_was_meant() {
        #[track_caller]
        fn case(x: f64, numerator: i128, denominator: i128) {
            assert_eq!(typed(x), Ok(Rational::new(numerator, denominator)));
        }
        case(0.1, 1, 10);
        case(-2.5, -5, 2);
        case(120.0, 120, 1);
        case(1e-6, 1, 1_000_000);
        case(0.00390625, 1, 256);
        case(123_456_789_012_345.0, 123_456_789_012_345, 1);
        case(-0.0, 0, 1);
    }

    #[test]
    fn what_nobody_types_is_refused() {
        assert_eq!(typed(1.0 / 3.0), Err(Why::ManyDigits(1.0 / 3.0)));
        assert_eq!(typed(1e300), Err(Why::Extreme(1e300)));
        assert_eq!(typed(5e-324), Err(Why::Extreme(5e-324)));
        assert_eq!(typed(f64::NAN), Err(Why::NotANumber));
        assert_eq!(typed(f64::MAX), Err(Why::ManyDigits(f64::MAX)));
    }

    #[test]
    fn a_fraction_that_grows_too_long_is_noticed() {
        let long = Rational::new(1, 1_000_000_007);
        assert_eq!(times(long, long), Err(Why::Grown)); // 1 / (10¹⁸ + …)
        assert_eq!(add(whole(MOST), whole(1)), Err(Why::Grown));
        assert_eq!(add(whole(MOST), whole(-1)), Ok(whole(MOST - 1)));
    }
}
