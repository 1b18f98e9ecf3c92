//! What a GGUF file says of its model, by the keys of its architecture.

use crate::fault::{Fault, Outcome};
use crate::params::weights::WeightFile;

/// The metadata of a file.
pub(super) struct Metadata<'a> {
    file: &'a WeightFile,
    architecture: &'a str,
}

impl<'a> Metadata<'a> {
    /// The metadata of this file.
    ///
    /// # Errors
    /// The file does not say what its architecture is.
    pub(super) fn of(file: &'a WeightFile) -> Outcome<Self> {
        match file.value("general.architecture") {
            Some(architecture) => Ok(Self { file, architecture }),
            None => Err(absent("general.architecture").into()),
        }
    }

    /// `general.architecture`.
    pub(super) fn architecture(&self) -> &'a str {
        self.architecture
    }

    /// What stands under a key, as it is (`tokenizer.ggml.model`).
    pub(super) fn plain(&self, key: &str) -> Option<&'a str> {
        self.file.value(key)
    }

    /// What stands under a key of the architecture (`block_count`).
    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        self.file.architecture_value(key)
    }

    /// A number under a key of the architecture, where there is one.
    pub(super) fn number(&self, key: &str) -> Outcome<Option<f64>> {
        let Some(text) = self.text(key) else { return Ok(None) };
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Some(number)),
            _ => Err(self.odd(key, text, "a number").into()),
        }
    }

    /// A count under a key of the architecture, where there is one; of a list with a number a layer the one that all
    /// layers have.
    pub(super) fn count(&self, key: &str) -> Outcome<Option<u64>> {
        let Some(text) = self.text(key) else { return Ok(None) };
        let list = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let mut counts = list.unwrap_or(text).split(", ").map(str::parse::<u64>);
        match counts.next() {
            Some(Ok(first)) if counts.all(|count| count == Ok(first)) => Ok(Some(first)),
            _ => Err(self.odd(key, text, "a count, the same in every layer").into()),
        }
    }

    /// A count that every file has.
    pub(super) fn needed(&self, key: &str) -> Outcome<u64> {
        self.count(key)?.ok_or_else(|| absent(&format!("{}.{key}", self.architecture)).into())
    }

    /// Query heads of a layer.
    pub(super) fn heads(&self) -> Outcome<u64> {
        self.needed("attention.head_count")
    }

    /// Key and value heads of a layer.
    pub(super) fn kv_heads(&self) -> Outcome<u64> {
        match self.count("attention.head_count_kv")? {
            Some(heads) => Ok(heads),
            None => self.heads(),
        }
    }

    /// A token's id under a key of the tokenizer.
    pub(super) fn token(&self, key: &str) -> Option<u32> {
        self.plain(&format!("tokenizer.ggml.{key}"))?.parse().ok()
    }

    /// A truth value under a key of the tokenizer.
    pub(super) fn tokenizer_flag(&self, key: &str) -> Option<bool> {
        self.plain(&format!("tokenizer.ggml.{key}"))?.parse().ok()
    }

    fn odd(&self, key: &str, text: &str, what: &str) -> Fault {
        let key = format!("{}.{key}", self.architecture);
        Fault::new(format!("the metadata {key} is {text}"), format!("here is {what}"), "choose another model")
    }
}

/// A key that is not there.
fn absent(key: &str) -> Fault {
    let why = "a GGUF file of a model says so in its metadata";
    Fault::new(
        format!("the metadata has no {key}"),
        why,
        "download the file again, or convert the model again",
    )
}
