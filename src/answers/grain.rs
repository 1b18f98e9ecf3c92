//! How finely the numbers of a tensor are told: what rounding alone can explain.

use crate::words::t;

/// The grid that the numbers of a tensor lie on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Grain {
    /// IEEE double precision.
    Double,
    /// IEEE single precision.
    Single,
    /// IEEE half precision.
    Half,
    /// bfloat16: the upper half of a single.
    Brain,
    /// So many digits after the point.
    Decimals(u8),
    /// So many digits in all.
    Significant(u8),
}

/// A grid of binary numbers: digits of the significand, smallest and largest exponent.
struct Binary {
    digits: i32,
    lowest: i32,
    highest: i32,
}

impl Grain {
    fn binary(self) -> Option<Binary> {
        let (digits, lowest, highest) = match self {
            Self::Double => (53, -1022, 1023),
            Self::Single => (24, -126, 127),
            Self::Half => (11, -14, 15),
            Self::Brain => (8, -126, 127),
            Self::Decimals(_) | Self::Significant(_) => return None,
        };
        Some(Binary { digits, lowest, highest })
    }

    /// The largest difference that one rounding to this grain makes to `value`: half a unit in the last place.
    ///
    /// Zero for NaN and infinity. Beyond the largest number of the grain that of the largest, so that an overflow is
    /// never taken for a rounding.
    pub fn unit(self, value: f64) -> f64 {
        if !value.is_finite() {
            return 0.0;
        }
        match self {
            Self::Decimals(digits) => 0.5 * 10_f64.powi(-i32::from(digits)),
            Self::Significant(_) if value == 0.0 => 0.0,
            Self::Significant(digits) => 0.5 * 10_f64.powi(decimal_exponent(value) + 1 - i32::from(digits)),
            _ => self.binary().map_or(0.0, |grid| {
                let exponent = binary_exponent(value).clamp(grid.lowest, grid.highest);
                power_of_two((exponent - grid.digits).max(-1074)) // no double is smaller
            }),
        }
    }

    /// `value` rounded to this grain, halves to even; infinite beyond its largest number.
    pub fn round(self, value: f64) -> f64 {
        if !value.is_finite() || value == 0.0 {
            return value;
        }
        match self {
            Self::Double => value,
            Self::Decimals(digits) => {
                let scale = 10_f64.powi(i32::from(digits));
                let scaled = value * scale;
                if scaled.abs() < WHOLE { scaled.round_ties_even() / scale } else { value }
            }
            Self::Significant(digits) => {
                let after_the_first = usize::from(digits).saturating_sub(1);
                format!("{value:.after_the_first$e}").parse().unwrap_or(value)
            }
            Self::Single => f64::from(value as f32),
            Self::Half | Self::Brain => self.binary().map_or(value, |grid| {
                let step = 2.0 * self.unit(value);
                let rounded = (value / step).round_ties_even() * step;
                let beyond = 2_f64.powi(grid.highest) * 2.0;
                if rounded.abs() >= beyond { f64::INFINITY.copysign(value) } else { rounded }
            }),
        }
    }

    /// What it is called: `float16`, `4 decimals`.
    pub fn name(self) -> String {
        match self {
            Self::Double => "float64".to_owned(),
            Self::Single => "float32".to_owned(),
            Self::Half => "float16".to_owned(),
            Self::Brain => "bfloat16".to_owned(),
            Self::Decimals(1) => t!("1 decimal"),
            Self::Decimals(digits) => t!("%{digits} decimals", digits),
            Self::Significant(1) => t!("1 significant digit"),
            Self::Significant(digits) => t!("%{digits} significant digits", digits),
        }
    }
}

/// 2^exponent, also below the smallest normal number.
fn power_of_two(exponent: i32) -> f64 {
    match u64::try_from(exponent + 1023) {
        Ok(field) if field > 0 && field < 2047 => f64::from_bits(field << 52),
        _ => 2_f64.powi(exponent),
    }
}

/// From here on every double is a whole number.
const WHOLE: f64 = 9_007_199_254_740_992.0;

/// e where 2^e ≤ |value| < 2^(e + 1); that of the smallest normal number for anything smaller.
fn binary_exponent(value: f64) -> i32 {
    let field = (value.to_bits() >> 52 & 0x7ff) as i32;
    field.max(1) - 1023
}

/// e where 10^e ≤ |value| < 10^(e + 1).
fn decimal_exponent(value: f64) -> i32 {
    format!("{value:e}").rsplit_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Between 1 and 2 halves are 2^-10 apart, singles 2^-23; below 2^-14 halves are 2^-24 apart all the way to 0.
    #[test]
    fn a_unit_is_half_of_what_lies_between_neighbours() {
        assert_eq!(Grain::Half.unit(1.5), 2_f64.powi(-11));
        assert_eq!(Grain::Half.unit(-2.0), 2_f64.powi(-10));
        assert_eq!(Grain::Half.unit(1e-7), 2_f64.powi(-25));
        assert_eq!(Grain::Half.unit(0.0), 2_f64.powi(-25));
        assert_eq!(Grain::Half.unit(1e9), 16.0, "that of 65504, the largest");
        assert_eq!(Grain::Brain.unit(1.0), 2_f64.powi(-8));
        assert_eq!(Grain::Single.unit(1.0), 2_f64.powi(-24));
        assert_eq!(Grain::Double.unit(1.0), f64::EPSILON / 2.0);
        assert_eq!(Grain::Decimals(4).unit(123.0), 0.00005);
        assert_eq!(Grain::Significant(3).unit(123.0), 0.5);
        assert_eq!(Grain::Significant(3).unit(0.0123), 0.00005);
        assert_eq!(Grain::Single.unit(f64::NAN), 0.0);
        assert_eq!(Grain::Half.unit(f64::INFINITY), 0.0);
    }

    #[test]
    fn rounding_goes_to_the_nearest_neighbour() {
        assert_eq!(Grain::Decimals(2).round(0.617_106), 0.62);
        assert_eq!(Grain::Significant(3).round(0.001_234_5), 0.001_23);
        assert_eq!(Grain::Brain.round(1.0 + 2_f64.powi(-8)), 1.0, "halfway: to even");
        assert_eq!(Grain::Half.round(70_000.0), f64::INFINITY);
        assert_eq!(Grain::Half.round(65_519.0), 65_504.0);
        assert_eq!(Grain::Half.round(-1e-9), 0.0);
        assert_eq!(Grain::Double.round(0.1), 0.1);
        assert!(Grain::Half.round(f64::NAN).is_nan());
        assert_eq!(Grain::Decimals(7).round(1e300), 1e300);
    }

    /// The crate `half` and the processor round in their own ways.
    #[test]
    fn binary_grains_round_as_others_do() {
        for n in 1..2_000 {
            let value = (f64::from(n) / 50.0).sin() * 10_f64.powi(n % 9 - 6);
            assert_eq!(Grain::Single.round(value), f64::from(value as f32), "{value}");
            // through f32, where the numbers have no more digits than that
            let value = f64::from(value as f32);
            assert_eq!(Grain::Half.round(value), half::f16::from_f64(value).to_f64(), "{value}");
            assert_eq!(Grain::Brain.round(value), half::bf16::from_f64(value).to_f64(), "{value}");
            assert!((Grain::Half.round(value) - value).abs() <= Grain::Half.unit(value), "{value}");
        }
    }

    #[test]
    fn a_grain_is_called_by_the_name_that_people_know() {
        let names =
            [Grain::Half, Grain::Brain, Grain::Decimals(4), Grain::Decimals(1), Grain::Significant(3)]
                .map(Grain::name);
        assert_eq!(names, ["float16", "bfloat16", "4 decimals", "1 decimal", "3 significant digits"]);
    }
}
