//! How finely the numbers of a tensor are told: what rounding alone can explain.

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
            Self::Significant(digits) => {
                0.5 * 10_f64.powi(decimal_exponent(value) + 1 - i32::from(digits))
            }
            _ => self.binary().map_or(0.0, |grid| {
                let exponent = binary_exponent(value).clamp(grid.lowest, grid.highest);
                2_f64.powi(exponent - grid.digits)
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
            Self::Single | Self::Half | Self::Brain => self.binary().map_or(value, |grid| {
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
            Self::Decimals(1) => "1 decimal".to_owned(),
            Self::Decimals(digits) => format!("{digits} decimals"),
            Self::Significant(1) => "1 significant digit".to_owned(),
            Self::Significant(digits) => format!("{digits} significant digits"),
        }
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
