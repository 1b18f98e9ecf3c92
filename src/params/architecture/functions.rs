//! The functions that formulas may call.

use super::arithmetic::too_large;
use super::formula::Sign;
use super::scope::{Scope, as_map, misplaced};
use super::value::{Value, Whole};
use crate::fault::{Fault, Faults, Outcome};
use crate::limits::FORMULA_ITEMS;

impl Scope {
    pub(super) fn function(&mut self, name: &str, values: Vec<Value>) -> Outcome<Value> {
        let wrong = || Faults::from(Fault::new(format!("{name} is not given what it needs"), "", ""));
        let list = |value: Option<&Value>| match value {
            Some(Value::List(items)) => Ok(items.clone()),
            Some(other) => Err(misplaced(other, "a list", "[…], as the type's own configs have it")),
            None => Err(wrong()),
        };
        let whole = |at: usize| self.as_whole(values.get(at).cloned().ok_or_else(wrong)?);
        Ok(match name {
            "len" => match values.first() {
                Some(Value::Text(text)) => Value::whole(text.chars().count() as i128),
                Some(Value::Map(map)) => Value::whole(map.given.len() as i128),
                first => Value::whole(list(first)?.len() as i128),
            },
            "sum" => {
                let mut sum = Whole::itself(0);
                for item in list(values.first())?.iter() {
                    sum = self.wholes(Sign::Plus, &sum, &self.as_whole(item.clone())?)?;
                }
                Value::whole(sum.value)
            }
            "min" | "max" => {
                let items = if values.len() == 1 { list(values.first())?.to_vec() } else { values.clone() };
                let mut best: Option<(f64, Value)> = None;
                for item in items {
                    let number = self.number(&item)?;
                    let better = best
                        .as_ref()
                        .is_none_or(|(b, _)| if name == "min" { number < *b } else { number > *b });
                    best = if better { Some((number, item)) } else { best };
                }
                best.ok_or_else(wrong)?.1
            }
            "round_up" | "ceil_div" => {
                let (a, b) = (whole(0)?, whole(1)?);
                if b.value <= 0 {
                    return Err(Fault::new(
                        format!("{} is {}", b.formula(), b.value),
                        "something is divided by it",
                        "give at least 1",
                    )
                    .into());
                }
                let parts = a.value.div_euclid(b.value) + i128::from(a.value.rem_euclid(b.value) != 0);
                if name == "ceil_div" { Value::whole(parts) } else { Value::whole(parts * b.value) }
            }
            "int" | "round" => match values.first() {
                Some(Value::Fraction(value)) => {
                    let value = if name == "int" { value.trunc() } else { value.round_ties_even() };
                    if value.is_nan() || value.abs() > 9e15 {
                        return Err(too_large(&value.to_string()));
                    }
                    Value::whole(value as i128)
                }
                _ => Value::Whole(whole(0)?),
            },
            "range" => {
                let (from, to) =
                    if values.len() > 1 { (whole(0)?.value, whole(1)?.value) } else { (0, whole(0)?.value) };
                if to - from > FORMULA_ITEMS {
                    return Err(too_large("a list"));
                }
                Value::List((from..to).map(Value::whole).collect())
            }
            "given" => match values.first() {
                Some(Value::Text(key)) => Value::Bool(self.config.states(key)),
                _ => return Err(wrong()),
            },
            "list" => match values.first() {
                Some(Value::List(_)) => values[0].clone(),
                Some(one) => self.two(
                    Sign::Times,
                    Value::List(vec![one.clone()].into()),
                    values.get(1).cloned().unwrap_or(Value::whole(1)),
                )?,
                None => return Err(wrong()),
            },
            "count" => {
                let item = values.get(1).ok_or_else(wrong)?;
                Value::whole(list(values.first())?.iter().filter(|one| one.is_equal(item)).count() as i128)
            }
            "starts_with" | "contains" => match (values.first(), values.get(1)) {
                (Some(Value::Text(text)), Some(Value::Text(part))) => Value::Bool(match name {
                    "starts_with" => text.starts_with(&**part),
                    _ => text.contains(&**part),
                }),
                (Some(Value::Null), _) => Value::Bool(false),
                (Some(other), _) => return Err(misplaced(other, "a text", "a word in quotation marks")),
                _ => return Err(wrong()),
            },
            "at" => match (values.first(), values.get(1)) {
                (None | Some(Value::Null), _) => Value::Null,
                (Some(map @ Value::Map(inside)), Some(Value::Whole(key))) => {
                    let keys = [key.value.to_string(), format!("{:02}", key.value)];
                    match keys.iter().find(|key| inside.given.contains_key(*key)) {
                        Some(key) => self.member(map, key)?,
                        None => Value::Null,
                    }
                }
                (Some(map @ Value::Map(_)), Some(Value::Text(key))) => self.member(map, key)?,
                _ => return Err(wrong()),
            },
            "part" => match (values.first().map(as_map).transpose()?, values.get(1), values.get(2)) {
                (Some(map), Some(Value::Text(model_type)), Some(Value::Text(name))) => {
                    let mut inner = self.inner(map, model_type, "base")?;
                    inner.named(name)?.unwrap_or(Value::Null)
                }
                _ => return Err(wrong()),
            },
            "fault" => {
                let text = values.first().map(|value| match value {
                    Value::Text(text) => text.to_string(),
                    other => other.to_string(),
                });
                return Err(
                    Fault::new(text.unwrap_or_default(), "what is not known is not guessed", "").into()
                );
            }
            _ => return Err(Fault::new(format!("there is no function {name}"), "", "").into()),
        })
    }
}
