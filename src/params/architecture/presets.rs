//! Published models by name, each as the config that its authors published (keys that count; nothing else).

use serde_json::Value as Json;

use crate::fault::{self, Fault, Outcome};

/// One model a line, so that one is found without reading the others.
const PRESETS: &str = include_str!("presets.json");

/// A published model.
#[derive(Debug, Clone, PartialEq)]
pub struct Preset {
    /// As it is typed.
    pub name: &'static str,
    /// Other names that people type.
    pub aliases: Vec<String>,
    /// Its config.
    pub config: Json,
}

/// The preset of that name or alias, in capitals or not, with or without its hyphens.
pub fn find(name: &str) -> Option<Preset> {
    let typed = tidy(name);
    let by_name = lines().find(|(name, _)| tidy(name) == typed);
    if let Some((name, text)) = by_name {
        return read(name, text);
    }
    lines()
        .filter(|(_, text)| text.contains("\"aliases\":[\""))
        .filter_map(|(name, text)| read(name, text))
        .find(|preset| preset.aliases.iter().any(|alias| tidy(alias) == typed))
}

/// The presets whose name, alias, type or class holds the word; all of them for none.
pub fn search(word: &str) -> Vec<Preset> {
    let typed = tidy(word);
    let holds = |preset: &Preset| {
        let text =
            |key: &str| preset.config.pointer(key).and_then(Json::as_str).map(tidy).unwrap_or_default();
        let mut words = vec![tidy(preset.name), text("/model_type"), text("/architectures/0")];
        words.extend(preset.aliases.iter().map(|alias| tidy(alias)));
        words.iter().any(|one| one.contains(&typed))
    };
    lines().filter_map(|(name, text)| read(name, text)).filter(holds).collect()
}

/// The preset whose name is that of a model on a hub, or nearest to it (`Llama-2-7b-hf`).
pub fn nearest(name: &str) -> Option<&'static str> {
    let name = name.trim_end_matches("-hf");
    match find(name) {
        Some(preset) => Some(preset.name),
        None => fault::nearest(&name.to_lowercase(), lines().map(|(name, _)| name)),
    }
}

/// Why a name that is not in the list is not found anywhere else.
const WHY: &str = "presets are a list inside mha: nothing is looked up on a hub";

/// The fault of a name that nothing goes by; `others` are names that something else goes by.
///
/// # Errors
/// Always.
pub fn unknown<T>(name: &str, others: &[&'static str]) -> Outcome<T> {
    let shown: String = name.chars().take(60).collect();
    let known: Vec<&str> = lines().map(|(name, _)| name).chain(others.iter().copied()).collect();
    let remedy = match fault::nearest(&shown.to_lowercase().replace(['_', ' '], "-"), known) {
        Some(near) => format!("did you mean {near}? mha params --list shows them all"),
        None => "mha params --list shows them all; a config.json, a model's folder or its weights can be given too".into(),
    };
    Err(Fault::new(format!("no preset is called {shown}"), WHY, remedy).in_source("MODEL").into())
}

fn lines() -> impl Iterator<Item = (&'static str, &'static str)> {
    PRESETS.lines().filter_map(|line| line.strip_prefix(" \"")?.split_once("\": "))
}

fn read(name: &'static str, text: &str) -> Option<Preset> {
    let mut entry: Json = serde_json::from_str(text.trim_end_matches(',')).ok()?;
    let aliases = entry
        .get("aliases")?
        .as_array()?
        .iter()
        .filter_map(|alias| Some(alias.as_str()?.to_owned()))
        .collect();
    Some(Preset { name, aliases, config: entry.get_mut("config")?.take() })
}

fn tidy(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_aliases_find_their_preset_and_no_two_share_one() {
        let mut all: Vec<String> = Vec::new();
        for preset in search("") {
            for name in std::iter::once(preset.name.to_owned()).chain(preset.aliases) {
                assert!(!all.contains(&tidy(&name)), "{name}");
                assert_eq!(find(&name).unwrap().name, preset.name);
                all.push(tidy(&name));
            }
        }
        assert_eq!(find("LLaMA_2 70B").unwrap().name, "llama-2-70b");
        assert!(find("bert-bse").is_none());
        assert_eq!(nearest("Llama-2-7b-hf"), Some("llama-2-7b"));
        assert_eq!(nearest("gpt2-xl"), Some("gpt2-xl"));
        assert!(search("nothing-like-it").is_empty());
    }

    #[test]
    fn every_preset_is_built_and_a_typo_is_answered_with_the_nearest() {
        for preset in search("") {
            let model = super::super::build(&preset.config, &super::super::Asked::default());
            assert!(model.is_ok(), "{}: {}", preset.name, model.unwrap_err());
        }
        let fault = unknown::<()>("bert-bse-uncased", &[]).unwrap_err();
        assert!(fault.to_string().contains("bert-base-uncased"), "{fault}");
    }
}
