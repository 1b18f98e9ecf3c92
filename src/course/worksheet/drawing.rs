//! Exercises that are drawn: which one is meant, and the name by which every verb takes it.
//!
//! `random:seed=7,d-model=4,heads=2,tokens=3,mask=causal,exercise=2` is a lesson like any other: the same numbers on every
//! machine and in every release. What is left out has its default; the seed may stand alone (`random:7`), and the number
//! of the exercise after a slash (`random:7/2`).

use std::fmt;
use std::str::FromStr;

use crate::fault::{Fault, nearest, visible};
use crate::limits::{DRAWN_D_MODEL, DRAWN_TOKENS, EXERCISES};

/// What the name of a drawn exercise begins with.
pub const PREFIX: &str = "random:";

/// The mask of a drawn exercise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Masked {
    /// Every token sees every token.
    #[default]
    None,
    /// A token sees itself and those before it.
    Causal,
}

impl Masked {
    fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Causal => "causal",
        }
    }
}

/// Which exercise is drawn. Made by [`Drawing::checked`] or from its name, so that its sizes are known to be small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawing {
    pub(super) seed: u64,
    pub(super) d_model: usize,
    pub(super) heads: usize,
    pub(super) tokens: usize,
    pub(super) mask: Masked,
    pub(super) exercise: u32,
}

impl Default for Drawing {
    fn default() -> Self {
        Self { seed: 1, d_model: 4, heads: 2, tokens: 3, mask: Masked::None, exercise: 1 }
    }
}

impl Drawing {
    /// An exercise of these sizes.
    ///
    /// # Errors
    /// Sizes that no one computes by hand, or that leave the softmax nothing to do; heads that do not divide d_model; an
    /// exercise beyond [`EXERCISES`].
    pub fn checked(
        seed: u64,
        d_model: usize,
        heads: usize,
        tokens: usize,
        mask: Masked,
        exercise: u32,
    ) -> Result<Self, Fault> {
        if !(2..=DRAWN_TOKENS).contains(&tokens) {
            let why = match tokens {
                0 | 1 => "with one key the softmax has nothing to choose: its weight is always 1".to_owned(),
                _ => {
                    format!("every head has tokens × tokens scores, and {tokens} would fill a page with them")
                }
            };
            let remedy = format!("choose from 2 to {DRAWN_TOKENS}");
            return Err(Fault::new(format!("{tokens} tokens are not drawn"), why, remedy).in_source("tokens"));
        }
        if !(2..=DRAWN_D_MODEL).contains(&d_model) {
            let why = format!(
                "an exercise for paper is from 2 to {DRAWN_D_MODEL} wide: more does not fit the sheet"
            );
            let remedy = "choose 4 or 8";
            return Err(
                Fault::new(format!("d_model = {d_model} is not drawn"), why, remedy).in_source("d-model")
            );
        }
        let possible: Vec<usize> = (1..=d_model / 2).filter(|heads| d_model.is_multiple_of(*heads)).collect();
        if !possible.contains(&heads) {
            let why = match heads {
                heads if heads > 0 && d_model.is_multiple_of(heads) => {
                    "d_k = 1 makes every score a single product, and most rows of such scores are all alike"
                }
                _ => "the heads share d_model = num_heads · d_k equally",
            };
            let list: Vec<String> = possible.iter().map(ToString::to_string).collect();
            let what = format!("d_model = {d_model} is not drawn with {heads} heads");
            return Err(
                Fault::new(what, why, format!("choose heads from {}", list.join(", "))).in_source("heads")
            );
        }
        if !(1..=EXERCISES).contains(&exercise) {
            let why = format!("exercises count from 1, and a seed has {EXERCISES}");
            let what = format!("there is no exercise {exercise}");
            return Err(Fault::new(what, why, "take another seed").in_source("exercise"));
        }
        Ok(Self { seed, d_model, heads, tokens, mask, exercise })
    }

    /// The exercise of another number, of the same seed and sizes.
    ///
    /// # Errors
    /// As [`Drawing::checked`].
    pub fn numbered(self, exercise: u32) -> Result<Self, Fault> {
        Self::checked(self.seed, self.d_model, self.heads, self.tokens, self.mask, exercise)
    }

    /// Its short name: seed and number, `7-1`.
    pub fn label(&self) -> String {
        format!("{}-{}", self.seed, self.exercise)
    }
}

/// The name in full, as it is printed on a sheet.
impl fmt::Display for Drawing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, d_model, heads, tokens, mask, exercise } = self;
        write!(f, "{PREFIX}seed={seed},d-model={d_model},heads={heads},tokens={tokens},")?;
        write!(f, "mask={},exercise={exercise}", mask.word())
    }
}

const KEYS: [&str; 6] = ["seed", "d-model", "heads", "tokens", "mask", "exercise"];

impl FromStr for Drawing {
    type Err = Fault;

    fn from_str(name: &str) -> Result<Self, Fault> {
        let rest = name.strip_prefix(PREFIX).unwrap_or(name);
        let mut drawing = Self::default();
        let mut seen: Vec<&str> = Vec::new();
        for part in rest.split(',').map(str::trim) {
            let (key, value) = match part.split_once('=') {
                Some((key, value)) => (key.trim(), value.trim()),
                None => ("seed", part),
            };
            let key = KEYS.into_iter().find(|known| *known == key).ok_or_else(|| no_key(key))?;
            let (value, exercise) = match (key, value.split_once('/')) {
                ("seed", Some((seed, exercise))) => (seed, Some(exercise)),
                _ => (value, None),
            };
            for key in [Some(key), exercise.map(|_| "exercise")].into_iter().flatten() {
                if seen.contains(&key) {
                    let remedy = "leave one of the two out";
                    return Err(misread(format!("{key} is given twice"), "each is one number", remedy));
                }
                seen.push(key);
            }
            match key {
                "seed" => drawing.seed = number(key, value)?,
                "d-model" => drawing.d_model = number(key, value)?,
                "heads" => drawing.heads = number(key, value)?,
                "tokens" => drawing.tokens = number(key, value)?,
                "exercise" => drawing.exercise = number(key, value)?,
                _ => drawing.mask = mask(value)?,
            }
            if let Some(exercise) = exercise {
                drawing.exercise = number("exercise", exercise)?;
            }
        }
        let Self { seed, d_model, heads, tokens, mask, exercise } = drawing;
        Self::checked(seed, d_model, heads, tokens, mask, exercise)
    }
}

fn number<T: FromStr>(key: &str, value: &str) -> Result<T, Fault> {
    value.parse().map_err(|_| {
        let what = format!("{key} is {value:?}, not a whole number that mha can count to");
        misread(what, "an exercise is named by whole numbers", "random:seed=7,exercise=2")
    })
}

fn mask(value: &str) -> Result<Masked, Fault> {
    [Masked::None, Masked::Causal].into_iter().find(|mask| mask.word() == value).ok_or_else(|| {
        let what = format!("no drawn exercise has the mask {value:?}");
        misread(what, "masks of drawn exercises are none and causal", "mask=causal")
    })
}

fn no_key(key: &str) -> Fault {
    let remedy = match nearest(key, KEYS) {
        Some(near) => format!("did you mean {near}?"),
        None => "random:seed=7,d-model=4,heads=2,tokens=3,mask=causal,exercise=1".to_owned(),
    };
    let what = format!("a drawn exercise has no {:?}", visible(key));
    misread(what, &format!("it is named by {}", KEYS.join(", ")), remedy)
}

fn misread(what: impl Into<String>, why: &str, remedy: impl Into<String>) -> Fault {
    Fault::new(what, why, remedy).in_source("LESSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(name: &str, full: &str) {
        let drawing: Drawing = name.parse().unwrap();
        assert_eq!(drawing.to_string(), full);
        assert_eq!(full.parse::<Drawing>().unwrap(), drawing);
    }

    #[test]
    fn a_name_may_be_short_and_is_printed_in_full() {
        case("random:7", "random:seed=7,d-model=4,heads=2,tokens=3,mask=none,exercise=1");
        case("random:7/3", "random:seed=7,d-model=4,heads=2,tokens=3,mask=none,exercise=3");
        case("random:heads=1, seed=0", "random:seed=0,d-model=4,heads=1,tokens=3,mask=none,exercise=1");
        case(
            "random:18446744073709551615,mask=causal,tokens=8,d-model=16,heads=8,exercise=1000",
            "random:seed=18446744073709551615,d-model=16,heads=8,tokens=8,mask=causal,exercise=1000",
        );
    }

    #[test]
    fn what_cannot_be_drawn_is_refused_with_its_reason() {
        for (name, message) in [
            ("random:", "seed is \"\""),
            ("random:-1", "seed is \"-1\""),
            ("random:7/0", "no exercise 0"),
            ("random:7/1001", "a seed has 1000"),
            ("random:7/2,exercise=3", "exercise is given twice"),
            ("random:7,seed=8", "seed is given twice"),
            ("random:7,head=2", "did you mean heads?"),
            ("random:7,mask=padding", "none and causal"),
            ("random:7,tokens=1", "its weight is always 1"),
            ("random:7,tokens=9", "from 2 to 8"),
            ("random:7,tokens=99999999999999999999", "whole number"),
            ("random:7,d-model=1000000000000", "from 2 to 16 wide"),
            ("random:7,d-model=0", "from 2 to 16 wide"),
            ("random:7,heads=3", "choose heads from 1, 2"),
            ("random:7,heads=0", "equally"),
            ("random:7,heads=4", "d_k = 1"),
        ] {
            let told = name.parse::<Drawing>().unwrap_err().to_string();
            assert!(told.contains(message), "{name}: {told}");
        }
    }
}
