//! What can stand in a column of a comparison: a variant of attention, or a mistake.

use std::fmt;
use std::str::FromStr;

use super::{Mistake, catalogue};
use crate::fault::nearest;
use crate::plan::rewrites::{VARIANTS, Variant};
use crate::words::{say, t};

/// A way to compute a call, right or wrong.
#[derive(Debug, Clone, Copy)]
pub enum Side {
    /// Another right way.
    Variant(Variant),
    /// A wrong one.
    Mistake(&'static Mistake),
}

impl Side {
    /// What it means, in a line.
    pub fn meaning(self) -> String {
        match self {
            Self::Variant(variant) => variant.meaning(),
            Self::Mistake(mistake) => t!("wrong on purpose, %{summary}", summary = say(mistake.summary)),
        }
    }
}

impl PartialEq for Side {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Variant(one), Self::Variant(other)) => one == other,
            (Self::Mistake(one), Self::Mistake(other)) => one.name == other.name,
            _ => false,
        }
    }
}

impl Eq for Side {}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variant(variant) => variant.fmt(f),
            Self::Mistake(mistake) => f.write_str(mistake.name),
        }
    }
}

impl FromStr for Side {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let why = match text.parse() {
            Ok(variant) => return Ok(Self::Variant(variant)),
            Err(why) => why,
        };
        if let Ok(mistake) = Mistake::named(text) {
            return Ok(Self::Mistake(mistake));
        }
        let stem = |name: &'static str| name.split(':').next().unwrap_or(name);
        let variants = || VARIANTS.iter().map(|(name, _)| *name);
        if variants().any(|name| Some(stem(name)) == text.split(':').next()) {
            return Err(why);
        }
        let known = variants().chain(catalogue::all().map(|mistake| mistake.name));
        let hint = nearest(text, known).map(|near| format!("did you mean {near}? ")).unwrap_or_default();
        let names: Vec<&str> = variants().collect();
        Err(format!(
            "{hint}the variants are {}; mistakes are named as `mha mistakes` lists them",
            names.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_is_a_variant_or_a_mistake_and_is_written_as_it_was_typed() {
        for name in ["gqa:2", "multi-head", "scale-missing", "gqa-tiled"] {
            assert_eq!(name.parse::<Side>().map(|side| side.to_string()), Ok(name.to_owned()));
        }
        assert_ne!("no-scale".parse::<Side>(), "scale-missing".parse::<Side>());
    }

    #[test]
    fn a_typo_finds_the_nearest_of_both() {
        let said = |text: &str| text.parse::<Side>().err().unwrap_or_default();
        assert!(said("scale-mising").starts_with("did you mean scale-missing? "), "{}", said("scale-mising"));
        assert!(said("multi-heads").starts_with("did you mean multi-head? "));
        // What is wrong with a variant's number is said by the variant.
        assert!(said("gqa:0").starts_with("after gqa:") && said("gqa").starts_with("gqa needs"));
    }
}
