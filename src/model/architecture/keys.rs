//! What a config.json says, checked before anything is made of it.

use serde_json::Value;

use crate::fault::{Fault, Faults, Outcome, Place};
use crate::limits::COUNTED_SIZE;
use crate::ops::Activation;
use crate::params::architecture::config::{Config, not_understood};

/// A size, and the keys of the config that it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) value: usize,
    pub(super) keys: String,
}

impl Size {
    pub(super) fn new(value: usize, keys: impl Into<String>) -> Self {
        Self { value, keys: keys.into() }
    }

    /// The product of two sizes; one that is too large for the machine is too large for every tensor too.
    pub(super) fn times(&self, other: &Self) -> Self {
        Self::new(self.value.saturating_mul(other.value), format!("{} · {}", self.keys, other.keys))
    }

    /// So many times the size.
    pub(super) fn repeated(&self, count: usize) -> Self {
        Self::new(self.value.saturating_mul(count), format!("{count} · {}", self.keys))
    }

    /// The sum of two sizes.
    pub(super) fn plus(&self, other: &Self) -> Self {
        Self::new(self.value.saturating_add(other.value), format!("{} + {}", self.keys, other.keys))
    }
}

/// The keys of one config, with what its type means by those that are left out.
#[derive(Debug)]
pub(super) struct Keys {
    pub(super) model_type: String,
    config: Config,
}

/// Keys that change what is computed, and the only words or numbers for which they do not: any other is refused.
const HARMLESS: [(&str, &[&str]); 7] = [
    ("quantization_config", &[]),
    ("position_embedding_type", &["\"absolute\"", "\"rotary\"", "\"rope\""]),
    ("alibi", &["false"]),
    ("is_encoder_decoder", &["false"]),
    ("add_cross_attention", &["false"]),
    ("pruned_heads", &["{}"]),
    ("use_bidirectional_attention", &["false"]),
];

impl Keys {
    /// The keys of a config, or of the config of the text model inside it.
    ///
    /// # Errors
    /// It is no object, or it names no type.
    pub(super) fn new(config: &Value) -> Outcome<Self> {
        let Value::Object(given) = config else {
            let remedy = "take the config.json that belongs to the weights";
            return Err(Fault::new("config.json is no object of keys and values", "", remedy).into());
        };
        let model_type = |given: &serde_json::Map<String, Value>| {
            given.get("model_type").and_then(Value::as_str).map(str::to_owned)
        };
        let Some(outer) = model_type(given) else {
            let why = "it names the architecture, and what is not known is not guessed";
            return Err(Fault::new("config.json names no model_type", why, super::supported()).into());
        };
        // Only of these the text model stands by itself; of others pictures or sounds reach into it.
        let inner = match given.get("text_config") {
            Some(Value::Object(inner)) if outer == "gemma3" => Some(inner),
            _ => None,
        };
        Ok(match inner {
            None => Self { config: Config::of_model(given.clone(), &outer, ""), model_type: outer },
            Some(inner) => {
                let mut inner = inner.clone();
                for key in ["tie_word_embeddings", "quantization_config"] {
                    if let (None, Some(value)) = (inner.get(key), given.get(key)) {
                        inner.insert(key.to_owned(), value.clone());
                    }
                }
                let model_type = model_type(&inner).unwrap_or_else(|| format!("{outer}_text"));
                Self { config: Config::of_model(inner, &model_type, "text_config"), model_type }
            }
        })
    }

    /// Nothing is asked for that no family here computes.
    ///
    /// # Errors
    /// A key with a value that changes the numbers, or that belongs to another type.
    pub(super) fn refuse_what_is_not_computed(&self) -> Outcome<()> {
        for (key, harmless) in HARMLESS {
            let Some(value) = self.known(key)? else { continue };
            if !value.is_null() && !harmless.contains(&value.to_string().as_str()) {
                let what = format!("{key} is {}", shown(value));
                let why = "that is computed in another way than here, and the numbers would be wrong";
                return Err(self.at(key, what, why, "choose a model without it"));
            }
        }
        match not_understood(&self.config, |_| false) {
            None => Ok(()),
            Some(key) => {
                let what = format!("{key} is set, and a model of type {} has no such part", self.model_type);
                let why = "a part that is left out would make every number after it wrong";
                Err(self.at(key, what, why, "check that model_type is the model's own"))
            }
        }
    }

    /// A key's value, stated or meant.
    pub(super) fn known(&self, key: &str) -> Outcome<Option<&Value>> {
        self.config.known(key)
    }

    /// A fault about a key.
    pub(super) fn at(&self, key: &str, what: impl Into<String>, why: &str, remedy: &str) -> Faults {
        Fault::new(what, why, remedy).at(self.place(key)).into()
    }

    fn place(&self, key: &str) -> Place {
        Place { path: self.name(key), ..Place::default() }
    }

    /// The key as the config has it: types have names of their own.
    fn name(&self, key: &str) -> String {
        self.config.stated_name(key).unwrap_or_else(|| key.to_owned())
    }

    /// A size, at least 1; `None` where it is left out or null.
    pub(super) fn size_if_any(&self, key: &str) -> Outcome<Option<Size>> {
        let name = self.name(key);
        match self.known(key)? {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_u64() {
                Some(size @ 1..=COUNTED_SIZE) => Ok(Some(Size::new(size as usize, name))),
                Some(size) => {
                    let what = format!("{name} is {size}");
                    let why = format!("it is a size from 1 to {COUNTED_SIZE}");
                    Err(self.at(key, what, &why, "take the config.json that belongs to the weights"))
                }
                None => Err(self.config.no_whole_number(&name, value).into()),
            },
        }
    }

    /// A size, at least 1.
    pub(super) fn size(&self, key: &str) -> Outcome<Size> {
        self.size_if_any(key)?.ok_or_else(|| {
            let what = format!("config.json has no {key}");
            let why = format!("a model of type {} cannot be put together without it", self.model_type);
            self.at(key, what, &why, "take the config.json that belongs to the weights")
        })
    }

    /// A finite number; what is usual where it is left out.
    pub(super) fn number(&self, key: &str, usual: f64) -> Outcome<f64> {
        Ok(self.number_if_any(key)?.unwrap_or(usual))
    }

    /// A finite number; `None` where it is left out or null.
    pub(super) fn number_if_any(&self, key: &str) -> Outcome<Option<f64>> {
        match self.known(key)? {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_f64().filter(|number| number.is_finite()) {
                Some(number) => Ok(Some(number)),
                None => {
                    let what = format!("{} is {}", self.name(key), shown(value));
                    Err(self.at(
                        key,
                        what,
                        "it is a number",
                        "take the config.json that belongs to the weights",
                    ))
                }
            },
        }
    }

    /// A number above 0; what is usual where it is left out.
    pub(super) fn positive(&self, key: &str, usual: f64) -> Outcome<f64> {
        Ok(self.positive_if_any(key)?.unwrap_or(usual))
    }

    /// A number above 0; `None` where it is left out or null.
    pub(super) fn positive_if_any(&self, key: &str) -> Outcome<Option<f64>> {
        match self.number_if_any(key)? {
            Some(number) if number <= 0.0 => {
                let what = format!("{} is {number}", self.name(key));
                Err(self.at(key, what, "it is above 0", "take the config.json that belongs to the weights"))
            }
            number => Ok(number),
        }
    }

    /// A switch; off where it is left out.
    pub(super) fn is_on(&self, key: &str) -> Outcome<bool> {
        match self.known(key)? {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(on)) => Ok(*on),
            Some(value) => {
                let what = format!("{} is {}", self.name(key), shown(value));
                Err(self.at(
                    key,
                    what,
                    "it is true or false",
                    "take the config.json that belongs to the weights",
                ))
            }
        }
    }

    /// Width of a head where heads share d_model among themselves.
    pub(super) fn d_model_over(&self, d_model: &Size, heads: &Size) -> Outcome<Size> {
        if !d_model.value.is_multiple_of(heads.value) {
            let what =
                format!("{} {} do not divide {} {}", heads.keys, heads.value, d_model.keys, d_model.value);
            let why = "each head takes the same share of the columns";
            return Err(self.at(
                "num_attention_heads",
                what,
                why,
                "take the config.json that belongs to the weights",
            ));
        }
        Ok(Size::new(d_model.value / heads.value, format!("{} / {}", d_model.keys, heads.keys)))
    }

    /// What bends the line in a feed-forward network.
    pub(super) fn activation(&self, key: &str) -> Outcome<Activation> {
        let known: [(&str, Activation); 10] = [
            ("gelu", Activation::Gelu),
            ("gelu_python", Activation::Gelu),
            ("gelu_new", Activation::GeluTanh),
            ("gelu_fast", Activation::GeluTanh),
            ("gelu_accurate", Activation::GeluTanh),
            ("gelu_pytorch_tanh", Activation::GeluTanh),
            ("silu", Activation::Silu),
            ("swish", Activation::Silu),
            ("relu", Activation::Relu),
            ("linear", Activation::Identity),
        ];
        let named = self.known(key)?.unwrap_or(&Value::Null);
        match known.into_iter().find(|(name, _)| named.as_str() == Some(*name)) {
            Some((_, activation)) => Ok(activation),
            None => {
                let what = format!("{} is {}", self.name(key), shown(named));
                let why = format!("known are {}", known.map(|(name, _)| name).join(", "));
                Err(self.at(key, what, &why, "choose a model with one of these"))
            }
        }
    }
}

/// A value as the config has it, cut where it is long.
pub(super) fn shown(value: &Value) -> String {
    const COUNTED_SIZE: usize = 40;
    let text = value.to_string();
    let cut: String = text.chars().take(COUNTED_SIZE).collect();
    if cut.len() < text.len() { cut + "…" } else { cut }
}
