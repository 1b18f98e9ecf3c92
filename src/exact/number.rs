//! Exact numbers: quotients of sums of powers of e, and −∞.

use super::Why;
use super::powers::Powers;
use super::rational::{self, Rational, whole};
use super::surd::Surd;

/// An exact number, or −∞.
///
/// Of a quotient the lower sum has whole numbers without a common divisor, its smallest exponent is 0 and its leading
/// term positive; a quotient of proportional sums is a plain number, and a plain number stands over 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Number {
    /// A hidden score.
    MinusInfinity,
    /// over / under
    Quotient {
        /// Above the line.
        over: Powers,
        /// Below it; never 0.
        under: Powers,
    },
}

use Number::{MinusInfinity, Quotient};

impl From<Surd> for Number {
    fn from(number: Surd) -> Self {
        Quotient { over: number.into(), under: Powers::one() }
    }
}

impl From<Rational> for Number {
    fn from(number: Rational) -> Self {
        Surd::from(number).into()
    }
}

impl Number {
    /// The sum; those over the same denominator are taken together first.
    ///
    /// # Errors
    /// It grows too long. −∞ with anything is −∞, as for hidden scores.
    pub fn sum(terms: impl IntoIterator<Item = Self>) -> Result<Self, Why> {
        let mut groups: Vec<(Powers, Powers)> = Vec::new();
        for term in terms {
            let Quotient { over, under } = term else { return Ok(MinusInfinity) };
            if over.is_zero() {
                continue;
            }
            match groups.iter_mut().find(|(_, known)| *known == under) {
                Some((sum, _)) => *sum = sum.plus(&over)?,
                None => groups.push((over, under)),
            }
        }
        let mut total = (Powers::default(), Powers::one());
        for (over, under) in groups {
            total = if total.0.is_zero() {
                (over, under)
            } else {
                (total.0.times(&under)?.plus(&over.times(&total.1)?)?, total.1.times(&under)?)
            };
        }
        normal(total.0, total.1)
    }

    /// self − other
    ///
    /// # Errors
    /// It grows too long; −∞ is taken away.
    pub fn minus(&self, other: &Self) -> Result<Self, Why> {
        match (self, other) {
            (_, MinusInfinity) => Err(Why::Infinite),
            (MinusInfinity, _) => Ok(MinusInfinity),
            (_, Quotient { over, under }) => {
                let other = Quotient { over: over.scaled(&whole(-1).into())?, under: under.clone() };
                Self::sum([self.clone(), other])
            }
        }
    }

    /// self · other
    ///
    /// # Errors
    /// It grows too long; one of them is −∞.
    pub fn times(&self, other: &Self) -> Result<Self, Why> {
        let (Quotient { over: a, under: b }, Quotient { over: c, under: d }) = (self, other) else {
            return Err(Why::Infinite);
        };
        normal(a.times(c)?, b.times(d)?)
    }

    /// self / other
    ///
    /// # Errors
    /// It grows too long; one of them is −∞; the other is 0.
    pub fn over(&self, other: &Self) -> Result<Self, Why> {
        match (self, other) {
            (Quotient { over: a, under: b }, Quotient { over: c, under: d }) if !c.is_zero() => {
                normal(a.times(d)?, b.times(c)?)
            }
            (Quotient { .. }, Quotient { .. }) => Err(Why::ByZero),
            _ => Err(Why::Infinite),
        }
    }

    /// e to this power; 0 for −∞.
    ///
    /// # Errors
    /// The power holds powers of e itself.
    pub fn exp(&self) -> Result<Self, Why> {
        match self {
            MinusInfinity => Ok(whole(0).into()),
            _ => {
                let exponent = self.as_surd().ok_or(Why::PowerOfPower)?;
                Ok(Quotient { over: Powers::of(exponent), under: Powers::one() })
            }
        }
    }

    /// tanh x = (e^2x − 1) / (e^2x + 1).
    ///
    /// # Errors
    /// As [`Number::exp`].
    pub fn tanh(&self) -> Result<Self, Why> {
        if *self == MinusInfinity {
            return Ok(whole(-1).into());
        }
        let power = Self::sum([self.clone(), self.clone()])?.exp()?;
        let one = Self::from(whole(1));
        power.minus(&one)?.over(&Self::sum([power, one])?)
    }

    /// The root of a fraction from 0.
    ///
    /// # Errors
    /// It is something else, or the root grows too long.
    pub fn sqrt(&self) -> Result<Self, Why> {
        let fraction = self.as_surd().and_then(|number| number.as_rational()).ok_or(Why::RootOfMore)?;
        Ok(Surd::root(fraction)?.into())
    }

    /// The number as the machine has it.
    pub fn value(&self) -> f64 {
        let Quotient { over, under } = self else { return f64::NEG_INFINITY };
        let ((a, x), (b, y)) = (over.value(), under.value());
        a / b * libm::exp(x - y)
    }

    /// Whether it is 0.
    pub fn is_zero(&self) -> bool {
        matches!(self, Quotient { over, .. } if over.is_zero())
    }

    /// The sum of roots that this is, if there are no powers of e in it.
    fn as_surd(&self) -> Option<Surd> {
        match self {
            Quotient { over, under } if under.is_one() => over.as_surd(),
            _ => None,
        }
    }

    /// How many roots are in it: what arithmetic with it costs.
    pub(super) fn size(&self) -> usize {
        match self {
            MinusInfinity => 1,
            Quotient { over, under } => over.size() + under.size(),
        }
    }
}

/// over / under in its normal form; `under` is not 0.
fn normal(over: Powers, under: Powers) -> Result<Number, Why> {
    if over.is_zero() {
        return Ok(whole(0).into());
    }
    if under.is_one() {
        return Ok(Quotient { over, under });
    }
    let terms = under.falling();
    let (Some((_, leading)), Some((least, _))) = (terms.first(), terms.last()) else {
        return Err(Why::ByZero);
    };
    let content = under.content()?.ok_or(Why::ByZero)?;
    let factor = Surd::from(if leading.value() < 0.0 { -content.recip() } else { content.recip() });
    let shift = least.negated();
    let (over, under) = (over.scaled(&factor)?.shifted(&shift)?, under.scaled(&factor)?.shifted(&shift)?);
    if let Some(inverse) = under.as_surd().and_then(|number| number.inverse()) {
        return Ok(Quotient { over: over.scaled(&inverse?)?, under: Powers::one() });
    }
    match proportion(&over, &under)? {
        Some(number) => Ok(number.into()),
        None => Ok(Quotient { over, under }),
    }
}

/// k where over = k · under, if there is such a number.
fn proportion(over: &Powers, under: &Powers) -> Result<Option<Surd>, Why> {
    let same = over.terms().len() == under.terms().len()
        && over.terms().iter().zip(under.terms()).all(|((a, _), (b, _))| a == b);
    let (Some((_, a)), Some((_, b)), true) = (over.terms().first(), under.terms().first(), same) else {
        return Ok(None);
    };
    let k = match b.inverse() {
        Some(inverse) => a.times(&inverse?)?,
        // Of several roots only a fraction can be told apart: compare their first.
        None => match (a.terms().first(), b.terms().first()) {
            (Some((n, q)), Some((m, r))) if n == m => rational::times(*q, r.recip())?.into(),
            _ => return Ok(None),
        },
    };
    Ok((under.scaled(&k)? == *over).then_some(k))
}
