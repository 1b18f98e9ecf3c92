//! How much of a file is read at most: one table, so that a hostile file meets a sentence and never the
//! machine's memory. All are far above what a lesson or a checkpoint's projection needs.

/// Bytes of a CSV or JSON file: about three million numbers as people and Python write them.
pub const TEXT_BYTES: u64 = 64 << 20;

/// Bytes of a `config.json` or another JSON document; the largest with 20,000 labels take one million.
pub const DOCUMENT_BYTES: u64 = 2 << 20;

/// Bytes of one `.npy` array, unpacked: GPT-2's embedding table in single precision takes 147 MiB.
pub const NPY_BYTES: u64 = 256 << 20;

/// Numbers held at once from one file (512 MiB as f64); GPT-2's embedding table has 39 million.
pub const NUMBERS: usize = 1 << 26;

/// Bytes of an `.npy` header: what version 1.0 of the format can say; real ones take 118.
pub const NPY_HEADER_BYTES: u64 = 65_535;

/// Arrays in an `.npz` or JSON file.
pub const ARRAYS: usize = 4_096;

/// Bytes read to find and understand the table of contents of an `.npz`.
pub const NPZ_CONTENTS_BYTES: u64 = 16 << 20;

/// Bytes of a safetensors header; that of a model with 20,000 tensors takes two million.
pub const SAFETENSORS_HEADER_BYTES: u64 = 8 << 20;

/// Tensors in a safetensors file.
pub const TENSORS: usize = 20_000;

/// Axes of an array: attention needs four (batch × head × query × key).
pub const AXES: usize = 8;

/// Whole numbers up to here are the same number as an f64 (2⁵³).
pub const EXACT_INTEGER: u64 = 1 << 53;

/// Names or faults of one kind that a message lists before it says how many more there are.
pub const SHOWN: usize = 10;
