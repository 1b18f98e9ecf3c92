//! A `config.json`: its keys, what other names they go by, and what the type means where it says nothing.

use serde_json::{Map as Json, Value as JsonValue};

use super::value::{Map, Value, Whole};
use crate::fault::{Fault, Faults, Outcome, Place, nearest};

/// What 312 types of transformers 5.24 mean by keys that a config leaves out, and by which other names they know
/// them. One type a line, so that one is found without reading the others.
const DEFAULTS: &str = include_str!("defaults.json");

/// Keys that name the kind of every layer.
const KINDS_OF_LAYERS: [&str; 2] = ["layer_types", "mlp_layer_types"];

/// The kinds of layers that transformers 5.24 knows, with the older names of some.
const LAYER_WORDS: [&str; 20] = [
    "full_attention",
    "sliding_attention",
    "linear_attention",
    "chunked_attention",
    "window_attention",
    "indexed_attention",
    "compressed_sparse_attention",
    "heavily_compressed_attention",
    "minimax_m3_sparse",
    "reference_sliding_attention",
    "conv",
    "hybrid",
    "hybrid_sliding",
    "attention",
    "mamba",
    "deepseek_sparse_attention",
    "sparse",
    "dense",
    "moe",
    "hash_moe",
];

/// One config, with its type's defaults behind it.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(super) map: Map,
    pub(super) model_type: String,
    defaults: Json<String, JsonValue>,
    aliases: Vec<(String, String)>,
}

/// Where a value came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The config states it.
    Stated,
    /// The config does not; this is what its type means by that.
    Default,
}

impl Config {
    /// A config of a type; the family's own defaults stand behind the type's.
    pub(super) fn new(map: Map, model_type: &str, family: &Json<String, JsonValue>) -> Self {
        let mut defaults = family.clone();
        let (own, aliases) = of_type(model_type).unwrap_or_default();
        for (key, value) in own.into_iter().chain(map.defaults.clone()) {
            defaults.insert(key, value);
        }
        Self { map, model_type: model_type.to_owned(), defaults, aliases }
    }

    /// A config of a type as it stands in a file, at a path inside it (`text_config`), with what the type means behind it.
    pub(crate) fn of_model(given: Json<String, JsonValue>, model_type: &str, path: &str) -> Self {
        let map = Map { given, path: path.to_owned(), ..Map::default() };
        Self::new(map, model_type, &Json::new())
    }

    /// A key's value as it was written, under whatever name of it, or what the type means by its absence; `None` where
    /// nothing is known.
    ///
    /// # Errors
    /// It is stated under two names with two values, or is of a kind that the key cannot have.
    pub(crate) fn known(&self, key: &str) -> Outcome<Option<&JsonValue>> {
        let names = self.names(key);
        let mut stated = names.iter().filter_map(|name| Some((*name, self.map.given.get(*name)?)));
        if let Some((name, value)) = stated.next() {
            if let Some((other, different)) = stated.find(|(_, other)| *other != value) {
                return Err(self.disagreement((name, value), (other, different)));
            }
            self.fits(name, value, &names)?;
            return Ok(Some(value));
        }
        Ok(names.iter().find_map(|name| self.defaults.get(*name)))
    }

    /// A key's value: stated, or the type's default; `None` where there is neither.
    pub(super) fn get(&self, key: &str) -> Outcome<Option<(Value, Source)>> {
        if let Some(name) = self.bare_name(key) {
            let value = self.known(key)?;
            return Ok(value.map(|value| (self.value(key, name, value), Source::Stated)));
        }
        if key == "num_labels" {
            return Ok(Some(self.labels()));
        }
        Ok(self.known(key)?.map(|value| (self.value(key, key, value), Source::Default)))
    }

    /// A text or a switch where the type has a number, a text where it has a switch: that is a slip, and no count comes of it.
    fn fits(&self, name: &str, value: &JsonValue, names: &[&str]) -> Outcome<()> {
        let default = names.iter().find_map(|name| self.defaults.get(*name));
        match (default, value) {
            (_, value) if KINDS_OF_LAYERS.contains(&name) && !value.is_null() => {
                self.names_layers(name, value)
            }
            (Some(JsonValue::Number(usual)), JsonValue::String(_) | JsonValue::Bool(_)) if usual.is_i64() => {
                Err(self.no_whole_number(name, value).into())
            }
            (
                Some(JsonValue::Bool(usual)),
                JsonValue::String(_) | JsonValue::Array(_) | JsonValue::Object(_),
            ) => {
                let what = format!("{name} is {}, but it is either true or false", shown(value));
                let remedy = format!("write true or false, without quotation marks; left out it is {usual}");
                Err(Fault::new(what, "it decides what is allocated", remedy).at(self.place(name)).into())
            }
            _ => Ok(()),
        }
    }

    /// A list of kinds of layers has one word a layer, and each is a kind that some type has.
    fn names_layers(&self, name: &str, value: &JsonValue) -> Outcome<()> {
        let at_key = |what: String, why: &str, remedy: String| {
            Err(Fault::new(what, why, remedy).at(self.place(name)).into())
        };
        let words: Option<Vec<&str>> =
            value.as_array().and_then(|items| items.iter().map(JsonValue::as_str).collect());
        let Some(words) = words else {
            let what = format!("{name} is {}, but it is a list of words", shown(value));
            return at_key(what, "it names the kind of every layer", format!("[\"{}\", …]", LAYER_WORDS[0]));
        };
        if let Some(unknown) = words.iter().find(|word| !LAYER_WORDS.contains(word)) {
            let what = format!("{name} has a layer of kind {}", shown(&JsonValue::from(*unknown)));
            let near = nearest(unknown, LAYER_WORDS).map_or_else(|| LAYER_WORDS.join(", "), str::to_owned);
            return at_key(what, "what is not known is not guessed", near);
        }
        match self.get("num_hidden_layers") {
            Ok(Some((Value::Whole(layers), _))) if layers.value != words.len() as i128 => at_key(
                format!("{name} names {} layers, and num_hidden_layers is {}", words.len(), layers.value),
                "it has one word a layer",
                "change one of the two".to_owned(),
            ),
            _ => Ok(()),
        }
    }

    /// The fault of a key whose value is no whole number.
    pub(crate) fn no_whole_number(&self, name: &str, value: &JsonValue) -> Fault {
        let (value, remedy) = match value {
            JsonValue::String(text) if text.contains('\u{7f}') => ("not a number".to_owned(), plain()),
            JsonValue::String(text) if text.parse::<u64>().is_ok() => {
                (shown(value), format!("{text}, without quotation marks"))
            }
            JsonValue::Number(number) => {
                let whole = number.as_f64().filter(|n| n.fract() == 0.0 && (1.0..1e15).contains(n));
                (
                    shown(value),
                    whole.map_or_else(plain, |whole| format!("{whole}, without a point or exponent")),
                )
            }
            JsonValue::Null => {
                (shown(value), "a number, or leave the key out: the type has a default for it".to_owned())
            }
            _ => (shown(value), plain()),
        };
        let what = format!("{name} is {value}, but it needs a whole number");
        Fault::new(what, "sizes are counted", remedy).at(self.place(name))
    }

    fn place(&self, name: &str) -> Place {
        Place { path: self.path_of(name), ..Place::default() }
    }

    /// Whether the config itself has the key, null or not.
    pub(super) fn states(&self, key: &str) -> bool {
        self.names(key).iter().any(|name| self.map.given.contains_key(*name))
    }

    /// The name under which the config states a key, without the config that it stands in.
    pub(super) fn bare_name<'a>(&'a self, key: &'a str) -> Option<&'a str> {
        self.names(key).into_iter().find(|name| self.map.given.contains_key(*name))
    }

    /// The name under which the config states a key.
    pub(crate) fn stated_name(&self, key: &str) -> Option<String> {
        self.bare_name(key).map(|name| self.path_of(name))
    }

    fn path_of(&self, name: &str) -> String {
        if self.map.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.map.path) }
    }

    /// The raw value that is stated.
    pub(super) fn stated(&self, key: &str) -> Option<&JsonValue> {
        self.names(key).into_iter().find_map(|name| self.map.given.get(name))
    }

    /// The key itself, then every other name of it.
    pub(super) fn names<'a>(&'a self, key: &'a str) -> Vec<&'a str> {
        let canonical = self
            .aliases
            .iter()
            .find(|(alias, _)| alias == key)
            .map_or(key, |(_, canonical)| canonical.as_str());
        let mut all = vec![key];
        let others = self.aliases.iter().filter(|(_, of)| of == canonical).map(|(alias, _)| alias.as_str());
        for name in std::iter::once(canonical).chain(others) {
            if !all.contains(&name) {
                all.push(name);
            }
        }
        all
    }

    fn value(&self, shown: &str, key: &str, value: &JsonValue) -> Value {
        match value {
            JsonValue::Null => Value::Null,
            JsonValue::Bool(value) => Value::Bool(*value),
            JsonValue::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(whole), _) => Value::Whole(Whole::named(shown, whole.into())),
                (_, Some(whole)) => Value::Whole(Whole::named(shown, whole.into())),
                _ => Value::Fraction(number.as_f64().unwrap_or(f64::NAN)),
            },
            JsonValue::String(text) => Value::Text(text.as_str().into()),
            JsonValue::Array(items) => Value::List(items.iter().map(|item| self.item(shown, item)).collect()),
            JsonValue::Object(given) => {
                let defaults = match self.defaults.get(key) {
                    Some(JsonValue::Object(defaults)) => defaults.clone(),
                    _ => Json::new(),
                };
                let path = self.path_of(key);
                Value::Map(Map { given: given.clone(), defaults, path }.into())
            }
        }
    }

    /// An item of a list: its numbers stand for themselves.
    fn item(&self, shown: &str, item: &JsonValue) -> Value {
        match self.value(shown, shown, item) {
            Value::Whole(whole) => Value::whole(whole.value),
            other => other,
        }
    }

    /// Labels of a classification head: `id2label` lists them, and there are two where nothing is said.
    fn labels(&self) -> (Value, Source) {
        let listed = match self.map.given.get("id2label") {
            Some(JsonValue::Object(labels)) => Some(labels.len()),
            Some(JsonValue::Array(labels)) => Some(labels.len()),
            _ => None,
        };
        let default = match self.defaults.get("num_labels").and_then(JsonValue::as_i64) {
            Some(count) => i128::from(count),
            None => 2,
        };
        let count = listed.map_or(default, |count| count as i128);
        let source = if listed.is_some() { Source::Stated } else { Source::Default };
        (Value::Whole(Whole::named("num_labels", count)), source)
    }

    fn disagreement(
        &self,
        (name, value): (&str, &JsonValue),
        (other, different): (&str, &JsonValue),
    ) -> Faults {
        let what = format!("{name} is {} and {other} is {}", shown(value), shown(different));
        let why = format!("in a config of type {} the two are names of one thing", self.model_type);
        Fault::new(what, why, "leave one of them out").at(self.place(other)).into()
    }
}

fn plain() -> String {
    "give a whole number of at least 1".to_owned()
}

/// A value as the config has it, cut where it is long.
fn shown(value: &JsonValue) -> String {
    const MOST: usize = 40;
    match value {
        JsonValue::Array(items) => format!("a list of {}", items.len()),
        JsonValue::Object(_) => "a map".to_owned(),
        value => {
            let text = value.to_string();
            let cut: String = text.chars().take(MOST).collect();
            if cut.len() < text.len() { cut + "…" } else { cut }
        }
    }
}

type Known = (Json<String, JsonValue>, Vec<(String, String)>);

/// What is known of a type; `None` where nothing is.
fn of_type(model_type: &str) -> Option<Known> {
    let head = format!(" {model_type:?}: ");
    let line = DEFAULTS.lines().find_map(|line| line.strip_prefix(&head))?;
    let JsonValue::Object(mut entry) = serde_json::from_str(line.trim_end_matches(',')).ok()? else {
        return None;
    };
    let map = |value: Option<JsonValue>| match value {
        Some(JsonValue::Object(map)) => map,
        _ => Json::new(),
    };
    let aliases = map(entry.remove("aliases"))
        .into_iter()
        .filter_map(|(alias, canonical)| Some((alias, canonical.as_str()?.to_owned())))
        .collect();
    Some((map(entry.remove("defaults")), aliases))
}

/// Keys that give a model parts which others have not. One of these in a config whose class does not know it means that the
/// config is of another architecture than it says, so its count would be wrong.
const STRUCTURAL: [&str; 28] = [
    "num_experts",
    "num_local_experts",
    "n_routed_experts",
    "moe_num_experts",
    "n_shared_experts",
    "num_shared_experts",
    "moe_intermediate_size",
    "shared_expert_intermediate_size",
    "kv_lora_rank",
    "q_lora_rank",
    "index_n_heads",
    "mamba_d_state",
    "ssm_state_size",
    "mamba_n_heads",
    "mamba_num_heads",
    "linear_num_key_heads",
    "linear_num_value_heads",
    "linear_conv_kernel_dim",
    "altup_num_inputs",
    "laurel_rank",
    "num_kv_shared_layers",
    "vision_config",
    "audio_config",
    "text_config",
    "hc_mult",
    "o_lora_rank",
    "attn_layer_period",
    "cross_attention_layers",
];

/// A key that the class would have to know, and does not: its name.
pub(crate) fn not_understood(config: &Config, is_read: impl Fn(&str) -> bool) -> Option<&str> {
    let says_something = |value: &JsonValue| match value {
        JsonValue::Null | JsonValue::Bool(false) => false,
        JsonValue::Number(number) => number.as_f64() != Some(0.0),
        JsonValue::Array(items) => !items.is_empty(),
        JsonValue::Object(map) => !map.is_empty(),
        _ => true,
    };
    let known = |key: &str| {
        is_read(key)
            || config.names(key).iter().any(|name| config.defaults.contains_key(*name) || is_read(name))
            || config.aliases.iter().any(|(alias, _)| alias == key)
    };
    let given = config
        .map
        .given
        .iter()
        .find(|(key, value)| STRUCTURAL.contains(&key.as_str()) && says_something(value) && !known(key));
    given.map(|(key, _)| key.as_str())
}

/// A stated key that nobody knows and that is nearly one which was read and is not stated: `num_key_value_head`.
pub(super) fn misspelt<'a>(
    config: &'a Config,
    read: impl Iterator<Item = &'a str> + Clone,
) -> Option<(&'a str, &'a str)> {
    const SHORTEST: usize = 6;
    let unknown = config.map.given.keys().filter(|key| {
        let names = config.names(key);
        key.len() >= SHORTEST
            && names.len() == 1
            && !config.defaults.contains_key(*key)
            && !read.clone().any(|read| read == key.as_str())
            && !counts_somewhere(key)
    });
    for typed in unknown {
        let near = read.clone().filter(|key| key.len() >= SHORTEST && !config.states(key));
        for key in near {
            if strsim::damerau_levenshtein(typed, key) <= 2 && !typed.starts_with('_') {
                return Some((typed, key));
            }
        }
    }
    None
}

/// Whether any type has a key of this name: then it is no slip of the pen.
fn counts_somewhere(key: &str) -> bool {
    DEFAULTS.contains(&format!("{key:?}:"))
}

/// The type that has a key of this name and whose own name is nearest.
pub(super) fn type_with(key: &str, model_type: &str) -> Option<String> {
    let has = format!("\"{key}\":");
    let types = DEFAULTS.lines().filter(|line| line.contains(&has));
    let names = types.filter_map(|line| Some(line.strip_prefix(" \"")?.split_once('"')?.0));
    names.max_by(|a, b| likeness(a, model_type).total_cmp(&likeness(b, model_type))).map(str::to_owned)
}

fn likeness(a: &str, b: &str) -> f64 {
    strsim::jaro_winkler(a, b)
}

/// The known type nearest to one that is not.
pub(super) fn nearest_type<'a>(
    model_type: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    nearest(model_type, known)
}
