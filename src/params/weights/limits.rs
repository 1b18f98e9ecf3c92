//! How much of a file of weights is believed at most; all are far above what published models need.

/// Bytes of a GGUF header: that of a model with 262,144 tokens and their merges takes 14 million.
pub(super) const GGUF_HEADER_BYTES: u64 = 64 << 20;

/// Metadata entries of a GGUF file; real ones have 20 to 60.
pub(super) const GGUF_ENTRIES: u64 = 4_096;

/// Tensors of a GGUF file, over all its parts; a mixture with each expert apart has about a thousand.
pub(super) const GGUF_TENSORS: u64 = 20_000;

/// Bytes of a metadata key.
pub(super) const GGUF_KEY_BYTES: u64 = 1_024;

/// Bytes of a tensor's name; ggml itself stops at 63, builds of it for image models at 127.
pub(super) const GGUF_NAME_BYTES: u64 = 127;

/// Numbers of a metadata array that are held (one a layer is usual); longer arrays are only counted.
pub(super) const GGUF_ARRAY: u64 = 256;

/// Tokens or merges of a vocabulary that is held; the largest have 262,144 tokens and 515,000 merges.
pub(super) const GGUF_LIST: u64 = 1 << 21;

/// Bytes of metadata values held from one file, all together.
pub(super) const METADATA_BYTES: usize = 1 << 20;

/// Characters of one metadata value that are kept.
pub(super) const VALUE_CHARACTERS: usize = 200;

/// Bytes of an index of shards; one of 140,000 tensors takes 16 million.
pub(super) const INDEX_BYTES: u64 = 64 << 20;

/// Tensors that an index names.
pub(super) const INDEX_TENSORS: usize = 500_000;

/// Bytes of a name in an index.
pub(super) const INDEX_NAME_BYTES: usize = 1_024;

/// Entries of a folder that are looked at.
pub(super) const FOLDER_ENTRIES: usize = 100_000;
