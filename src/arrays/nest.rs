//! Nested lists on their way to an array: lists of one level are equally long, and numbers stand equally deep.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::{Array, BLANK, Kind, numbers};
use crate::fault::{Fault, counted};
use crate::limits;

/// What stands for a bare `NaN` between the reader of JSON and this one; as long as the word when in quotes.
pub(super) const NAN: &str = "\u{7f}";
/// Likewise for `Infinity`.
pub(super) const INFINITY: &str = "\u{7f}Infi\u{7f}";
/// Likewise for `-Infinity`.
pub(super) const MINUS_INFINITY: &str = "-\u{7f}Infi\u{7f}";

/// One array while its nested lists are read.
#[derive(Default)]
pub(super) struct Nest {
    numbers: Vec<f64>,
    kind: Option<Kind>,
    /// Length of the lists of each level, outermost first, as soon as one of that level has ended.
    sizes: Vec<Option<usize>>,
    /// How deep the numbers stand.
    depth: Option<usize>,
    /// Where the reading is: an index a level, from 0.
    at: Vec<usize>,
    /// Whether a number may be left blank.
    blanks: bool,
    /// What went wrong, where serde's own error is empty.
    pub(super) trouble: Option<Fault>,
}

impl Nest {
    fn fail<E: Error>(&mut self, what: String, why: &str, remedy: &str) -> E {
        self.trouble.get_or_insert(Fault::new(what, why, remedy));
        E::custom("")
    }

    /// Takes a number that stands where the reading is.
    fn number<E: Error>(&mut self, number: f64, kind: Kind) -> Result<(), E> {
        self.settle()?;
        match (self.kind, kind) {
            (Some(before), now) if (before == Kind::Bool) != (now == Kind::Bool) => {
                let what = format!("{} mixes numbers with true and false", number_name(&self.at));
                return Err(self.fail(what, "an array is of one kind", "write 1 and 0 instead"));
            }
            (Some(Kind::F64), Kind::Integer) => {}
            _ => self.kind = Some(kind),
        }
        self.numbers.push(number);
        Ok(())
    }

    /// Takes a blank, which says nothing of what kind the numbers are.
    fn blank<E: Error>(&mut self) -> Result<(), E> {
        self.settle()?;
        self.numbers.push(BLANK);
        Ok(())
    }

    /// Sees to it that all numbers stand equally deep.
    fn settle<E: Error>(&mut self) -> Result<(), E> {
        let depth = self.at.len();
        match self.sizes.len() > depth || *self.depth.get_or_insert(depth) != depth {
            true => Err(self.uneven()),
            false => Ok(()),
        }
    }

    /// Compares a list that has ended with those before it on its level.
    fn close<E: Error>(&mut self, length: usize) -> Result<(), E> {
        let level = self.at.len();
        match self.sizes[level] {
            None => self.sizes[level] = Some(length),
            Some(before) if before == length => {}
            Some(before) => {
                let first = list_name(&vec![0; level]);
                let holds = if level + 1 == self.sizes.len() { "number" } else { "list" };
                let what = format!(
                    "{} has {}, but {first} has {before}",
                    list_name(&self.at),
                    counted(length, holds)
                );
                return Err(self.fail(
                    what,
                    "all rows of an array are equally long",
                    "fill up or shorten the row",
                ));
            }
        }
        Ok(())
    }

    fn uneven<E: Error>(&mut self) -> E {
        let what =
            format!("{} is nested deeper or less deep than the places before it", number_name(&self.at));
        self.fail(what, "an array holds lists of equal depth", "put every number at the same depth")
    }

    fn not_a_number<E: Error>(&mut self, found: &str, remedy: &str) -> E {
        let what = format!("{} is {found}, not a number", number_name(&self.at));
        self.fail(what, "an array holds numbers, or true and false", remedy)
    }

    /// The array, once all has been read.
    pub(super) fn into_array(self) -> Result<Array, Fault> {
        let shape = self.sizes.into_iter().map(|size| size.unwrap_or(0)).collect();
        Array::new(shape, self.numbers, self.kind.unwrap_or(Kind::F64))
    }
}

/// The array of nested lists that are held as values already, whatever they were read from; what is null, an empty text or
/// underscores (`_`) is a number left blank.
///
/// # Errors
/// Where they are ragged, unevenly nested, or hold something else than numbers.
pub(crate) fn nested_with_blanks<'de, D: Deserializer<'de>>(lists: D) -> Result<Array, Fault> {
    let mut nest = Nest { blanks: true, ..Nest::default() };
    match (&mut nest).deserialize(lists) {
        Ok(()) => nest.into_array(),
        Err(error) => Err(nest.trouble.unwrap_or_else(|| {
            Fault::new(
                error.to_string(),
                "an array holds numbers, or true and false",
                "write numbers in lists",
            )
        })),
    }
}

/// The place of a number, counted from 1: `row 2, column 3`, or `[1, 2, 3]` with more axes than two.
fn number_name(at: &[usize]) -> String {
    match at {
        [] => "the value".to_owned(),
        [place] => format!("number {}", place + 1),
        [row, column] => format!("row {}, column {}", row + 1, column + 1),
        _ => brackets(at),
    }
}

/// The place of a list, counted from 1: `row 2`, or `row [1, 2]` with more axes than two.
fn list_name(at: &[usize]) -> String {
    match at {
        [row] => format!("row {}", row + 1),
        _ => format!("row {}", brackets(at)),
    }
}

fn brackets(at: &[usize]) -> String {
    format!("[{}]", at.iter().map(|index| (index + 1).to_string()).collect::<Vec<_>>().join(", "))
}

impl<'de> DeserializeSeed<'de> for &mut Nest {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Nest {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let level = self.at.len();
        if level == limits::AXES {
            let what = format!("lists are nested more than {} deep", limits::AXES);
            return Err(self.fail(
                what,
                "attention needs four axes (batch, head, query, key)",
                "flatten the lists",
            ));
        }
        if self.depth.is_some_and(|depth| depth <= level) {
            return Err(self.uneven());
        }
        if self.sizes.len() == level {
            self.sizes.push(None);
        }
        self.at.push(0);
        while list.next_element_seed(&mut *self)?.is_some() {
            self.at[level] += 1;
        }
        let length = self.at.pop().unwrap_or_default();
        self.close(length)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        self.number(number, Kind::F64)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        if number > limits::EXACT_INTEGER {
            return Err(self.too_precise(number));
        }
        self.number(number as f64, Kind::Integer)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        if number.unsigned_abs() > limits::EXACT_INTEGER {
            return Err(self.too_precise(number));
        }
        self.number(number as f64, Kind::Integer)
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<(), E> {
        self.number(f64::from(u8::from(truth)), Kind::Bool)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        if let Some(number) = word(text) {
            return self.number(number, Kind::F64);
        }
        if self.blanks && stands_for_a_blank(text) {
            return self.blank();
        }
        let shown: String = text.chars().take(40).collect();
        let remedy = match text.trim().parse::<f64>() {
            Ok(_) => "write the number without quotes",
            Err(_) => "write a number; \"NaN\", \"Infinity\" and \"-Infinity\" count as numbers",
        };
        Err(self.not_a_number(&format!("the text \"{shown}\""), remedy))
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        if self.blanks {
            return self.blank();
        }
        Err(self.not_a_number("null", "write NaN where a number is missing"))
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<(), A::Error> {
        Err(self.not_a_number(
            "an object",
            "give each array as nested lists under a name of the outermost object",
        ))
    }
}

impl Nest {
    fn too_precise<E: Error>(&mut self, integer: impl fmt::Display) -> E {
        let fault = numbers::beyond_exact(&integer.to_string());
        self.trouble
            .get_or_insert(Fault { what: format!("{} {}", number_name(&self.at), fault.what), ..fault });
        E::custom("")
    }
}

/// Whether a text is what stands on a sheet where a number is to be written: nothing but underscores, if anything.
pub(crate) fn stands_for_a_blank(text: &str) -> bool {
    text.trim().chars().all(|c| c == '_')
}

fn word(text: &str) -> Option<f64> {
    Some(match text {
        NAN | "NaN" | "nan" => f64::NAN,
        INFINITY | "Infinity" | "inf" => f64::INFINITY,
        MINUS_INFINITY | "-Infinity" | "-inf" => f64::NEG_INFINITY,
        _ => return None,
    })
}
