//! Why a number has no exact form here, as words that follow a step's name.

use std::fmt;

use super::{powers, rational, surd};
use crate::limits::EXACT_WORK;
use crate::words::t;

/// Why a number has no exact form here.
#[derive(Debug, Clone, PartialEq)]
pub enum Why {
    /// A given number with more digits than a person types.
    ManyDigits(f64),
    /// A given number too large or too near to 0 to be written out.
    Extreme(f64),
    /// A given number that is none, or +∞.
    NotANumber,
    /// A numerator, a denominator or a radicand that has grown too long.
    Grown,
    /// A sum of too many different roots.
    ManyRoots,
    /// A sum of too many different powers of e.
    ManyPowers,
    /// More arithmetic than exact forms are worth.
    MuchWork,
    /// A rotation by so many radians.
    Turn(&'static str, f64),
    /// A number rounded to half precision.
    Half,
    /// The error function of anything but 0.
    Erf,
    /// e to a power that holds powers of e itself.
    PowerOfPower,
    /// The root of something other than a fraction from 0.
    RootOfMore,
    /// A division by 0.
    ByZero,
    /// −∞ where only a number will do.
    Infinite,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ManyDigits(x) => {
                let far = x.abs() < 1e-6 || x.abs() >= 1e18;
                let x = if far { format!("{x:e}") } else { x.to_string() };
                f.write_str(&t!(
                    "holds %{number}, which has more than %{digits} digits",
                    number = x,
                    digits = rational::MOST_TYPED_DIGITS
                ))
            }
            Self::Extreme(x) if x.abs() > 1.0 => f.write_str(&t!(
                "holds %{number}, which is too large to be written out",
                number = format!("{x:e}")
            )),
            Self::Extreme(x) => f.write_str(&t!(
                "holds %{number}, which is too near to 0 to be written out",
                number = format!("{x:e}")
            )),
            Self::NotANumber => f.write_str(&t!("holds what is not a number")),
            Self::Grown => f.write_str(&t!(
                "would need fractions or roots of more than %{digits} digits",
                digits = rational::MOST_DIGITS
            )),
            Self::ManyRoots => {
                f.write_str(&t!("would need sums of more than %{roots} roots", roots = surd::MOST_ROOTS))
            }
            Self::ManyPowers => f.write_str(&t!(
                "would need sums of more than %{powers} powers of e",
                powers = powers::MOST_POWERS
            )),
            Self::MuchWork => f.write_str(&t!(
                "would take exact forms past %{work} sums and products, and they are for small problems",
                work = EXACT_WORK
            )),
            Self::Turn(function, angle) => {
                let angle = rounded(*angle);
                f.write_str(&match angle.as_str() {
                    "1" => t!("turns by 1 radian, and %{function} 1 has no exact form", function),
                    _ => t!(
                        "turns by %{angle} radians, and %{function} %{angle} has no exact form",
                        angle,
                        function
                    ),
                })
            }
            Self::Half => f.write_str(&t!("rounds to half precision, which has no exact form")),
            Self::Erf => f.write_str(&t!("takes the error function, which has no exact form")),
            Self::PowerOfPower => f.write_str(&t!("would need e to a power that itself holds powers of e")),
            Self::RootOfMore => f.write_str(&t!("would need the root of what is not a fraction")),
            Self::ByZero => f.write_str(&t!("would divide by 0")),
            Self::Infinite => f.write_str(&t!("would reckon with −∞ as with a number")),
        }
    }
}

/// An angle in at most six decimals, and without needless ones.
fn rounded(angle: f64) -> String {
    let text = format!("{angle:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
