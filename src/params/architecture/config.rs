//! A `config.json`: its keys, what other names they go by, and what the type means where it says nothing.

use serde_json::{Map as Json, Value as JsonValue};

use super::value::{Map, Value, Whole};
use crate::fault::{Fault, Faults, Outcome, nearest};

/// What 312 types of transformers 5.24 mean by keys that a config leaves out, and by which other names they know
/// them. One type a line, so that one is found without reading the others.
const DEFAULTS: &str = include_str!("defaults.json");

/// One config, with its type's defaults behind it.
#[derive(Debug, Clone)]
pub(super) struct Config {
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

    /// A key's value: stated, or the type's default; `None` where there is neither.
    pub(super) fn get(&self, key: &str) -> Outcome<Option<(Value, Source)>> {
        let names = self.names(key);
        let mut stated = names.iter().filter_map(|name| Some((*name, self.map.given.get(*name)?)));
        if let Some((name, value)) = stated.next() {
            if let Some((other, different)) = stated.find(|(_, other)| *other != value) {
                return Err(self.disagreement((name, value), (other, different)));
            }
            return Ok(Some((self.value(key, name, value), Source::Stated)));
        }
        if key == "num_labels" {
            return Ok(Some(self.labels()));
        }
        let default = names.iter().find_map(|name| self.defaults.get(*name));
        Ok(default.map(|value| (self.value(key, key, value), Source::Default)))
    }

    /// Whether the config itself has the key, null or not.
    pub(super) fn states(&self, key: &str) -> bool {
        self.names(key).iter().any(|name| self.map.given.contains_key(*name))
    }

    /// The name under which the config states a key.
    pub(super) fn stated_name(&self, key: &str) -> Option<String> {
        let name = self.names(key).into_iter().find(|name| self.map.given.contains_key(*name))?;
        Some(if self.map.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.map.path) })
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
                let path = if self.map.path.is_empty() {
                    key.to_owned()
                } else {
                    format!("{}.{key}", self.map.path)
                };
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
        let cut = |value: &JsonValue| value.to_string().chars().take(40).collect::<String>();
        let what = format!("{name} is {} and {other} is {}", cut(value), cut(different));
        let why = format!("in a config of type {} the two are names of one thing", self.model_type);
        Fault::new(what, why, "leave one of them out").into()
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
pub(super) fn not_understood<'a>(config: &'a Config, is_read: impl Fn(&str) -> bool) -> Option<&'a str> {
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
