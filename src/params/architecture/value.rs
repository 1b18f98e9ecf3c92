//! What formulas come to: values that remember how they came about.

use std::fmt;
use std::rc::Rc;

use serde_json::Value as Json;

use crate::params::Figure;

/// What a formula comes to.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Whole(Whole),
    Fraction(f64),
    Text(Rc<str>),
    List(Rc<[Value]>),
    /// A config inside the config, and what its absent keys mean where the config around it says so.
    Map(Rc<Map>),
}

/// A config inside a config.
#[derive(Debug, Clone, Default)]
pub(super) struct Map {
    pub(super) given: serde_json::Map<String, Json>,
    pub(super) defaults: serde_json::Map<String, Json>,
    /// Where it stands: `text_config`.
    pub(super) path: String,
}

/// A whole number with the formula it came from.
#[derive(Debug, Clone)]
pub(super) struct Whole {
    pub(super) value: i128,
    pub(super) source: Rc<Source>,
}

/// How a whole number came about.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// It is itself: the 2 of `2·g`.
    Itself,
    /// A name stands for it.
    Name(Rc<str>),
    /// Two numbers joined by a sign.
    Two(Joint, Whole, Whole),
}

/// The signs that formulas on pages have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joint {
    Plus,
    Minus,
    Times,
    Over,
    FloorOver,
    Modulo,
    Power,
}

impl Joint {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Plus => " + ",
            Self::Minus => " − ",
            Self::Times => "·",
            Self::Over => "/",
            Self::FloorOver => "//",
            Self::Modulo => " mod ",
            Self::Power => "^",
        }
    }

    /// How closely it binds.
    fn rank(self) -> u8 {
        match self {
            Self::Plus | Self::Minus => 0,
            Self::Modulo => 1,
            Self::Times | Self::Over | Self::FloorOver => 2,
            Self::Power => 3,
        }
    }
}

impl Whole {
    pub(super) fn itself(value: i128) -> Self {
        Self { value, source: Rc::new(Source::Itself) }
    }

    pub(super) fn named(name: &str, value: i128) -> Self {
        Self { value, source: Rc::new(Source::Name(name.into())) }
    }

    /// `a·b` and the like, with the value that it comes to. What changes nothing (`1·a`, `a + 0`) is left out.
    pub(super) fn joined(joint: Joint, left: &Self, right: &Self, value: i128) -> Self {
        let plain =
            |whole: &Self, neutral: i128| whole.value == neutral && matches!(*whole.source, Source::Itself);
        match joint {
            Joint::Times if plain(left, 1) => return right.clone(),
            Joint::Times | Joint::Over | Joint::FloorOver | Joint::Power if plain(right, 1) => {
                return left.clone();
            }
            Joint::Plus | Joint::Minus if plain(right, 0) => return left.clone(),
            Joint::Plus if plain(left, 0) => return right.clone(),
            _ => {}
        }
        Self { value, source: Rc::new(Source::Two(joint, left.clone(), right.clone())) }
    }

    /// The formula in names.
    pub(super) fn formula(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, &|whole| match &*whole.source {
            Source::Name(name) => name.to_string(),
            _ => whole.value.to_string(),
        });
        text
    }

    /// The formula with numbers put in.
    pub(super) fn factors(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, &|whole| whole.value.to_string());
        text
    }

    /// Itself as a figure; negative numbers, which no count is, as 0.
    pub(super) fn figure(&self) -> Figure {
        Figure {
            formula: self.formula(),
            factors: self.factors(),
            value: u64::try_from(self.value).unwrap_or_default(),
        }
    }

    fn write(&self, text: &mut String, leaf: &dyn Fn(&Self) -> String) {
        let Source::Two(joint, left, right) = &*self.source else {
            text.push_str(&leaf(self));
            return;
        };
        left.inside(text, leaf, |inner| inner.rank() < joint.rank());
        text.push_str(joint.text());
        let keeps = matches!(joint, Joint::Plus | Joint::Times);
        right.inside(text, leaf, |inner| {
            inner.rank() < joint.rank() || (inner.rank() == joint.rank() && !(keeps && inner == *joint))
        });
    }

    fn inside(&self, text: &mut String, leaf: &dyn Fn(&Self) -> String, parted: impl Fn(Joint) -> bool) {
        let apart = matches!(&*self.source, Source::Two(joint, ..) if parted(*joint));
        if apart {
            text.push('(');
        }
        self.write(text, leaf);
        if apart {
            text.push(')');
        }
    }
}

impl Value {
    pub(super) fn whole(value: i128) -> Self {
        Self::Whole(Whole::itself(value))
    }

    /// As Python has it: null, 0, the empty text and the empty list are false.
    pub(super) fn is_true(&self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(value) => *value,
            Self::Whole(whole) => whole.value != 0,
            Self::Fraction(value) => *value != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::List(items) => !items.is_empty(),
            Self::Map(_) => true,
        }
    }

    pub(super) fn is_equal(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Whole(a), Self::Whole(b)) => a.value == b.value,
            (Self::Fraction(a), Self::Fraction(b)) => a == b,
            (Self::Whole(a), Self::Fraction(b)) | (Self::Fraction(b), Self::Whole(a)) => a.value as f64 == *b,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::List(a), Self::List(b)) => {
                a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| a.is_equal(b))
            }
            _ => false,
        }
    }

    /// The same value under a name of its own: formulas go on from there.
    pub(super) fn named(self, name: &str) -> Self {
        match self {
            Self::Whole(whole) => Self::Whole(Whole::named(name, whole.value)),
            other => other,
        }
    }
}

impl fmt::Display for Value {
    /// As a person would say what it is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Whole(whole) => write!(f, "{}", whole.value),
            Self::Fraction(value) => write!(f, "{value}"),
            Self::Text(text) => write!(f, "{:?}", text.chars().take(40).collect::<String>()),
            Self::List(items) => write!(f, "a list of {}", items.len()),
            Self::Map(_) => f.write_str("a map"),
        }
    }
}
