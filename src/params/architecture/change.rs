//! The same config with a size changed: what a flag or a sweep asks for.

use serde_json::{Map, Value as Json};

use super::config::Config;
use super::family::Family;
use super::value::Map as ConfigMap;
use super::{Asked, unknown_type};
use crate::fault::{Fault, Outcome};
use crate::params::Key;

/// The config with one size changed, under the name that its type has for it.
///
/// Where heads are counted anew and the config states a width for each that only spells out d_model / h, that is left out,
/// so that it follows.
///
/// # Errors
/// The type has no key for this size.
pub fn changed(config: &Json, asked: &Asked, key: Key, value: u64) -> Outcome<Json> {
    let Json::Object(given) = config else { return Ok(config.clone()) };
    let mut given = given.clone();
    // of a model with a text part, that part is meant
    for part in ["text_config", "llm_config"] {
        if let Some(inner @ Json::Object(_)) = given.get(part) {
            let changed = changed(inner, &Asked::default(), key, value)?;
            given.insert(part.to_owned(), changed);
            return Ok(Json::Object(given));
        }
    }
    let model_type = asked
        .family
        .as_deref()
        .or_else(|| given.get("model_type").and_then(Json::as_str))
        .unwrap_or_default();
    let family = Family::of_type(model_type).unwrap_or_else(|| Err(unknown_type(model_type)))?;
    let map = ConfigMap { given: given.clone(), ..ConfigMap::default() };
    let config = Config::new(map, model_type, &family.defaults);
    let names = names(key);
    // Whisper knows num_key_value_heads as another name of its query heads: that is no key for g
    let is_another = |name: &str| {
        key == Key::NumKvHeads
            && config.names(name).iter().any(|alias| self::names(Key::NumHeads).contains(alias))
    };
    let known = |name: &&&str| config.get(name).is_ok_and(|found| found.is_some()) && !is_another(name);
    let Some(name) = names.iter().find(known) else {
        return Err(Fault::new(
            format!("{} cannot be changed in a config of type {model_type}", key.name()),
            format!("it has none of the keys {}", names.join(", ")),
            "edit a copy of the config",
        )
        .into());
    };
    let old = |names: &[&str]| {
        names.iter().find_map(|name| match config.get(name) {
            Ok(Some((super::value::Value::Whole(whole), _))) => u64::try_from(whole.value).ok(),
            _ => None,
        })
    };
    if matches!(key, Key::NumHeads | Key::DModel) {
        let (d_model, h) = (old(self::names(Key::DModel)), old(self::names(Key::NumHeads)));
        let follows = d_model.zip(h).zip(old(self::names(Key::DK))).is_some_and(|((d, h), d_k)| h.checked_mul(d_k) == Some(d));
        if follows {
            drop_key(&mut given, &config, "head_dim");
        }
        let same = h.is_some() && old(self::names(Key::NumKvHeads)) == h;
        if key == Key::NumHeads && same {
            for name in self::names(Key::NumKvHeads) {
                if config.states(name) {
                    put(&mut given, &config, name, value);
                }
            }
        }
    }
    put(&mut given, &config, name, value);
    if key == Key::Layers {
        // lists of one entry a layer are derived anew
        for list in ["layer_types", "mlp_layer_types"] {
            given.remove(list);
        }
    }
    Ok(Json::Object(given))
}

fn put(given: &mut Map<String, Json>, config: &Config, name: &str, value: u64) {
    drop_key(given, config, name);
    given.insert(name.to_owned(), value.into());
}

fn drop_key(given: &mut Map<String, Json>, config: &Config, name: &str) {
    for name in config.names(name) {
        given.remove(name);
    }
}

/// What types call a size, the usual name first.
fn names(key: Key) -> &'static [&'static str] {
    match key {
        Key::DModel => &["hidden_size", "d_model", "n_embd"],
        Key::NumHeads => {
            &["num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads"]
        }
        Key::NumKvHeads => &["num_key_value_heads", "num_kv_heads", "n_head_kv"],
        Key::DK => &["head_dim", "d_kv"],
        Key::Layers => &["num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers"],
        Key::DV => &["v_head_dim"],
        Key::DKvModel | Key::SeqLen | Key::Batch => &[],
    }
}
