//! The reference as it is on disk: what each model came to, and its configs in every spelling.

use std::collections::BTreeMap;

use serde_json::Value;

const GOLDEN: &str = include_str!("../reference/params/golden.json");
const CONFIGS: &str = include_str!("../reference/params/configs.json");
const HUB_CONFIGS: &str = include_str!("../reference/params/hub_configs.json");

/// A model of the reference.
pub(crate) struct Entry {
    /// `llama-2-7b`
    pub(crate) name: String,
    /// What its class allocates.
    pub(crate) golden: Value,
    /// File names and configs: one spelling of the same model, or two.
    pub(crate) configs: Vec<(String, Value)>,
}

/// Every model of the reference.
pub(crate) fn entries() -> Vec<Entry> {
    let read = |text| serde_json::from_str::<serde_json::Map<String, Value>>(text).unwrap();
    let (golden, current, hub) = (read(GOLDEN), read(CONFIGS), read(HUB_CONFIGS));
    let config = |file: &Value| {
        let file = file.as_str().unwrap();
        let config = current.get(file).or_else(|| hub.get(file));
        (file.to_owned(), config.unwrap_or_else(|| panic!("there is no config {file}")).clone())
    };
    golden
        .into_iter()
        .map(|(name, golden)| {
            let configs = golden["config"].as_array().unwrap().iter().map(config).collect();
            Entry { name, golden, configs }
        })
        .collect()
}

/// Layers that `[[0, 4], [6, 6]]` stands for.
pub(crate) fn layers(ranges: &Value) -> Vec<u64> {
    let number = |value: &Value| value.as_u64().unwrap();
    ranges.as_array().unwrap().iter().flat_map(|pair| number(&pair[0])..=number(&pair[1])).collect()
}

/// Names and shapes.
pub(crate) fn tensors(map: &Value) -> BTreeMap<String, Vec<u64>> {
    let shape = |value: &Value| value.as_array().unwrap().iter().map(|size| size.as_u64().unwrap()).collect();
    map.as_object().unwrap().iter().map(|(name, value)| (name.clone(), shape(value))).collect()
}
