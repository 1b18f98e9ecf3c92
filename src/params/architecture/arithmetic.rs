//! What signs between formulas do.

use super::formula::Sign;
use super::scope::Scope;
use super::value::{Joint, Value, Whole};
use crate::fault::{Fault, Faults, Outcome};
use crate::limits::{FORMULA_ITEMS, FORMULA_NUMBER};

impl Scope {
    pub(super) fn two(&self, sign: Sign, left: Value, right: Value) -> Outcome<Value> {
        let contains = |list: &Value, item: &Value| match (list, item) {
            (Value::List(items), item) => Ok(items.iter().any(|one| one.is_equal(item))),
            (Value::Text(text), Value::Text(part)) => Ok(text.contains(&**part)),
            (Value::Null, _) => Ok(false),
            _ => Err(Faults::from(Fault::new(format!("{list} stands where a list is needed"), "", ""))),
        };
        Ok(match sign {
            Sign::Equal => Value::Bool(left.is_equal(&right)),
            Sign::Unequal => Value::Bool(!left.is_equal(&right)),
            Sign::In => Value::Bool(contains(&right, &left)?),
            Sign::NotIn => Value::Bool(!contains(&right, &left)?),
            Sign::Less | Sign::LessOrEqual | Sign::More | Sign::MoreOrEqual => {
                let (left, right) = (self.number(&left)?, self.number(&right)?);
                Value::Bool(match sign {
                    Sign::Less => left < right,
                    Sign::LessOrEqual => left <= right,
                    Sign::More => left > right,
                    _ => left >= right,
                })
            }
            _ => match (&left, &right) {
                (Value::List(a), Value::List(b)) if sign == Sign::Plus => {
                    Value::List(a.iter().chain(b.iter()).cloned().collect())
                }
                (Value::List(a), Value::Whole(times)) if sign == Sign::Times => {
                    let count = times.value.clamp(0, FORMULA_ITEMS) as usize;
                    let length = a.len().saturating_mul(count);
                    if length as i128 > FORMULA_ITEMS || times.value > FORMULA_ITEMS {
                        return Err(too_large("a list"));
                    }
                    Value::List((0..count).flat_map(|_| a.iter().cloned()).collect())
                }
                (Value::Fraction(_), _) | (_, Value::Fraction(_)) => {
                    Value::Fraction(fractions(sign, self.number(&left)?, self.number(&right)?))
                }
                _ => Value::Whole(self.wholes(sign, &self.as_whole(left)?, &self.as_whole(right)?)?),
            },
        })
    }

    pub(super) fn number(&self, value: &Value) -> Outcome<f64> {
        match value {
            Value::Fraction(value) => Ok(*value),
            other => Ok(self.as_whole(other.clone())?.value as f64),
        }
    }

    pub(super) fn wholes(&self, sign: Sign, left: &Whole, right: &Whole) -> Outcome<Whole> {
        let (a, b) = (left.value, right.value);
        let divides = matches!(sign, Sign::Over | Sign::FloorOver | Sign::Modulo);
        if divides && b == 0 {
            let what = format!("{} is 0, and {} is divided by it", right.formula(), left.formula());
            return Err(Fault::new(what, "", "give at least 1").into());
        }
        if sign == Sign::Over && a % b != 0 {
            let what =
                format!("{} does not divide {}: {a} / {b} is not whole", right.formula(), left.formula());
            let near = u64::try_from(a)
                .ok()
                .zip(u64::try_from(b).ok())
                .map(|(a, b)| crate::params::neighbours(a, b));
            let remedy = near
                .filter(|near| !near.is_empty())
                .map_or_else(String::new, |near| format!("{} {near}", right.formula()));
            return Err(Fault::new(what, "a size must be whole", remedy).into());
        }
        let (joint, value) = match sign {
            Sign::Plus => (Joint::Plus, a.checked_add(b)),
            Sign::Minus => (Joint::Minus, a.checked_sub(b)),
            Sign::Times => (Joint::Times, a.checked_mul(b)),
            Sign::Over => (Joint::Over, a.checked_div(b)),
            Sign::FloorOver => {
                (Joint::FloorOver, Some(a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0)))
            }
            Sign::Modulo => (Joint::Modulo, Some(a.rem_euclid(b))),
            _ => (Joint::Power, u32::try_from(b).ok().and_then(|b| a.checked_pow(b))),
        };
        match value {
            Some(value) if value.abs() <= FORMULA_NUMBER => Ok(Whole::joined(joint, left, right, value)),
            _ => Err(too_large(&format!("{}{}{}", left.formula(), joint.text(), right.formula()))),
        }
    }
}

fn fractions(sign: Sign, a: f64, b: f64) -> f64 {
    match sign {
        Sign::Plus => a + b,
        Sign::Minus => a - b,
        Sign::Times => a * b,
        Sign::Over => a / b,
        Sign::FloorOver => (a / b).floor(),
        Sign::Modulo => a.rem_euclid(b),
        _ => a.powf(b),
    }
}

pub(super) fn too_large(what: &str) -> Faults {
    Fault::new(format!("{what} is too large to count"), "counts are kept in 64 bits", "give smaller sizes")
        .into()
}
