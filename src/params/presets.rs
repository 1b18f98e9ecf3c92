//! Attention layers of well-known models, as rows of a table.

use crate::fault::{Fault, Outcome, nearest};
use crate::words::n;

/// The attention layers of a published model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// As it is typed.
    pub name: &'static str,
    /// Other names that people type.
    pub aliases: &'static [&'static str],
    /// The family it belongs to.
    pub family: &'static str,
    /// Where its sizes were published.
    pub source: &'static str,
    /// Width of the model.
    pub d_model: u64,
    /// Query heads.
    pub num_heads: u64,
    /// Key/value heads; `None` is as many as query heads.
    pub num_kv_heads: Option<u64>,
    /// Width of a head; `None` is d_model / num_heads.
    pub d_k: Option<u64>,
    /// Layers with self-attention that are counted.
    pub layers: u64,
    /// Whether the four projections have biases.
    pub bias: bool,
    /// Tokens that the model was made for, where its authors say.
    pub context: Option<u64>,
    /// What a reader should know about what is counted here; may be empty.
    pub remark: &'static str,
}

/// Every preset, in the order of publication.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "transformer-base",
        aliases: &["transformer", "base"],
        family: "transformer",
        source: "Vaswani et al. 2017",
        d_model: 512,
        num_heads: 8,
        num_kv_heads: None,
        d_k: None,
        layers: 6,
        bias: false,
        context: None,
        remark: n!(
            "These are the encoder's 6 layers; the decoder's 6 have self- and cross-attention of the same \
                 sizes."
        ),
    },
    Preset {
        name: "bert-base",
        aliases: &["bert"],
        family: "bert",
        source: "Devlin et al. 2019",
        d_model: 768,
        num_heads: 12,
        num_kv_heads: None,
        d_k: None,
        layers: 12,
        bias: true,
        context: Some(512),
        remark: n!(
            "An encoder reads its text once and keeps no KV cache; the cache is what a decoder of this size \
                 would keep."
        ),
    },
    Preset {
        name: "bert-large",
        aliases: &[],
        family: "bert",
        source: "Devlin et al. 2019",
        d_model: 1024,
        num_heads: 16,
        num_kv_heads: None,
        d_k: None,
        layers: 24,
        bias: true,
        context: Some(512),
        remark: n!(
            "An encoder reads its text once and keeps no KV cache; the cache is what a decoder of this size \
                 would keep."
        ),
    },
    Preset {
        name: "gpt3-175b",
        aliases: &["gpt3", "gpt-3", "gpt-3-175b"],
        family: "gpt3",
        source: "Brown et al. 2020",
        d_model: 12288,
        num_heads: 96,
        num_kv_heads: None,
        d_k: None,
        layers: 96,
        bias: true,
        context: Some(2048),
        remark: n!(
            "Every other layer of GPT-3 attends within bands only; the products are counted as if all attended \
                 to everything."
        ),
    },
    Preset {
        name: "llama-2-7b",
        aliases: &["llama2-7b", "llama-2", "llama2", "llama-7b"],
        family: "llama",
        source: "Touvron et al. 2023",
        d_model: 4096,
        num_heads: 32,
        num_kv_heads: None,
        d_k: None,
        layers: 32,
        bias: false,
        context: Some(4096),
        remark: "",
    },
    Preset {
        name: "llama-2-70b",
        aliases: &["llama2-70b", "llama-70b"],
        family: "llama",
        source: "Touvron et al. 2023",
        d_model: 8192,
        num_heads: 64,
        num_kv_heads: Some(8),
        d_k: None,
        layers: 80,
        bias: false,
        context: Some(4096),
        remark: "",
    },
];

/// What stands in for everything that nobody has given.
pub const BASE: &Preset = &PRESETS[0];

/// The preset of that name or alias, in capitals or not.
///
/// # Errors
/// There is none; the nearest name is suggested.
pub fn find(name: &str) -> Outcome<&'static Preset> {
    let typed = tidy(name);
    if let Some(preset) = PRESETS.iter().find(|preset| names(preset).any(|known| known == typed)) {
        return Ok(preset);
    }
    Err(unknown(name).into())
}

/// The presets whose name, alias, family or source holds the word.
///
/// # Errors
/// None does; the nearest name is suggested.
pub fn search(word: &str) -> Outcome<Vec<&'static Preset>> {
    let typed = tidy(word);
    let holds = |preset: &&Preset| {
        let holds = |text: &str| text.to_lowercase().contains(&typed);
        names(preset).any(holds) || holds(preset.family) || holds(preset.source)
    };
    let found: Vec<_> = PRESETS.iter().filter(holds).collect();
    if found.is_empty() { Err(unknown(word).into()) } else { Ok(found) }
}

fn names(preset: &Preset) -> impl Iterator<Item = &'static str> + use<> {
    std::iter::once(preset.name).chain(preset.aliases.iter().copied())
}

fn tidy(name: &str) -> String {
    name.trim().to_lowercase().replace(['_', ' '], "-")
}

/// Why a name that is not in the list is not found anywhere else.
const WHY: &str = "presets are a list inside mha: nothing is looked up on a hub";

fn unknown(name: &str) -> Fault {
    let shown: String = name.chars().take(60).collect();
    let suggestion = match nearest(&tidy(&shown), PRESETS.iter().flat_map(names)) {
        Some(near) => format!("did you mean {near}? mha params --list shows them all"),
        None => "mha params --list shows them all; flags such as --d-model 512 --num-heads 8 need no preset"
            .into(),
    };
    Fault::new(format!("no preset is called {shown}"), WHY, suggestion).in_source("PRESET")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_aliases_find_their_preset_and_no_two_share_one() {
        let all: Vec<_> = PRESETS.iter().flat_map(names).collect();
        for (index, name) in all.iter().enumerate() {
            assert!(!all[index + 1..].contains(name), "{name}");
            assert!(find(name).is_ok());
        }
        assert_eq!(find("LLaMA_2 70B").unwrap().num_kv_heads, Some(8));
        assert_eq!(find("gpt-3").unwrap().name, "gpt3-175b");
    }

    /// Course, §7: d_k = d_model / h is 64 or 128 in every one of them.
    #[test]
    fn real_models_keep_heads_of_64_or_128() {
        let widths: Vec<u64> = PRESETS.iter().map(|preset| preset.d_model / preset.num_heads).collect();
        assert_eq!(widths, [64, 64, 64, 128, 128, 128]);
    }

    #[test]
    fn a_typo_is_answered_with_the_nearest_name() {
        assert!(find("bert-bse").unwrap_err().to_string().contains("try: did you mean bert-base?"));
        assert!(find("zzz").unwrap_err().to_string().contains("--list"));
        assert!(search("nothing-like-it").is_err());
        let found: Vec<_> = search("BERT").unwrap().iter().map(|preset| preset.name).collect();
        assert_eq!(found, ["bert-base", "bert-large"]);
    }
}
