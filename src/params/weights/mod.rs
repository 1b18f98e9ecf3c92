//! What files of weights hold, told by their headers alone: names, shapes, types and bytes of every tensor.
//!
//! [`open`] reads one `.safetensors` file, a sharded checkpoint by its index, or a `.gguf` file (all parts of a
//! split one); [`in_folder`] finds the weights in a model's folder. No tensor is read, so 100 GB answer as fast as
//! 100 kB. Whatever a header says is compared with the file's size before memory is taken for it.

use std::path::{Path, PathBuf};

pub mod compare;
pub mod contents;
mod folder;
mod format;
mod ggml;
pub(crate) mod gguf;
#[cfg(test)]
mod hostile;
mod index;
mod packed;
mod safetensors;
#[cfg(test)]
mod witnesses;

pub use folder::in_folder;
pub use ggml::GgmlType;
pub use index::shards;

use crate::fault::{Fault, Outcome};
use crate::limits;
use format::Format;

/// A file of weights, or several that belong together, by their headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeightFile {
    /// How the weights are stored.
    pub kind: Kind,
    /// The file that was opened: the index of a sharded checkpoint, the part that was named of a split one.
    pub path: PathBuf,
    /// In the order of the file; of several files, one file after the other.
    pub tensors: Vec<StoredTensor>,
    /// What the file says of itself, long values clipped. For GGUF the metadata by key (`llama.block_count`): a
    /// list of numbers as `[8, 8, 1]`, other lists as what they hold (`262144 strings`).
    pub metadata: Vec<(String, String)>,
    /// The scheme (`GPTQ`) by which several weights share a stored number, or others stand beside them: then the
    /// stored count is not the parameter count. `None` for GGUF, whose counts are of weights.
    pub packed: Option<&'static str>,
    /// What a person should know about the count, a sentence each.
    pub notes: Vec<String>,
}

/// How weights are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One `.safetensors` file.
    Safetensors,
    /// Several `.safetensors` files and an index of their tensors.
    ShardedSafetensors,
    /// One `.gguf` file.
    Gguf,
    /// A `.gguf` file in several parts.
    SplitGguf,
}

/// A tensor as its header describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTensor {
    /// Its name in the file.
    pub name: String,
    /// Numbers along each axis, the slowest first, as PyTorch prints it; GGUF writes them the other way round.
    pub shape: Vec<u64>,
    /// Numbers in all: the product of the shape.
    pub count: u64,
    /// The type as the file names it (`BF16`, `Q4_K`).
    pub dtype: String,
    /// Bytes in the file, without padding.
    pub bytes: u64,
}

impl WeightFile {
    /// Whether it is ggml's format, whose tensors have names of their own.
    pub fn is_gguf(&self) -> bool {
        matches!(self.kind, Kind::Gguf | Kind::SplitGguf)
    }

    /// Numbers stored in all tensors; the parameter count where nothing is [`packed`](Self::packed).
    pub fn stored_count(&self) -> u64 {
        // No file is long enough to reach the end of a u64.
        self.tensors.iter().fold(0, |sum, tensor| sum.saturating_add(tensor.count))
    }

    /// Bytes of all tensors, without headers and padding.
    pub fn stored_bytes(&self) -> u64 {
        self.tensors.iter().fold(0, |sum, tensor| sum.saturating_add(tensor.bytes))
    }

    /// The metadata under this key (`general.architecture`).
    pub fn value(&self, key: &str) -> Option<&str> {
        self.metadata.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// The metadata that a GGUF file gives its own architecture: `block_count` is `llama.block_count` in a llama.
    pub fn architecture_value(&self, key: &str) -> Option<&str> {
        let architecture = self.value("general.architecture")?;
        self.value(&format!("{architecture}.{key}"))
    }

    /// Tokens that a GGUF file's vocabulary holds: as many as it lists, else as many as it says.
    pub fn vocab_size(&self) -> Option<u64> {
        let listed = self.value("tokenizer.ggml.tokens").and_then(|tokens| tokens.strip_suffix(" strings"));
        listed.or_else(|| self.architecture_value("vocab_size"))?.parse().ok()
    }
}

/// The tensors of a `.safetensors` file, of all shards of a `*.safetensors.index.json`, or of a `.gguf` file of
/// version 2 or 3 with all its parts. GGUF is also told by its first bytes, whatever the file's name.
///
/// # Errors
/// Where the file or one that belongs to it is missing, damaged, cut short, or contradicts itself; where it is of
/// another format. A pickle (`pytorch_model.bin`) is never opened.
pub fn open(path: &Path) -> Outcome<WeightFile> {
    match Format::of(path)? {
        Format::Safetensors => safetensors::open(path),
        Format::Index => index::open(path),
        Format::Gguf => gguf::open(path),
    }
}

/// At most [`limits::VALUE_CHARACTERS`] of a value, on one line.
fn clipped(value: &str) -> String {
    let mut kept: String = value.chars().take(limits::VALUE_CHARACTERS).collect();
    if kept.len() < value.len() {
        kept.push('…');
    }
    kept
}

/// The first few names, and how many more there are.
fn listed(names: &[&str]) -> String {
    const SHOWN: usize = 5;
    let shown = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The name of the file inside its folder.
fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// A tensor whose name stands twice: which of the two counts cannot be known.
fn doubled_tensor(name: &str) -> Fault {
    Fault::new(
        format!("two tensors are named {name}"),
        "which of them is meant cannot be known",
        "write the file again, each tensor once",
    )
}
