//! The types that GGUF files and llama.cpp's caches are stored in: numbers stand in blocks that share a scale.

/// A storage type of ggml: so many numbers in so many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GgmlType {
    /// As a GGUF file writes it.
    pub id: u32,
    /// As llama.cpp calls it.
    pub name: &'static str,
    /// Numbers in one block; 1 for types without blocks. A row is a whole number of blocks.
    pub elements: u64,
    /// Bytes of one block, its scales included.
    pub bytes: u64,
}

impl GgmlType {
    /// The type with this number in a file, where there is one.
    pub fn of_id(id: u32) -> Option<&'static Self> {
        GGML_TYPES.iter().find(|ggml| ggml.id == id)
    }

    /// The type of this name, in capitals or not (`q8_0`, `F16`).
    pub fn of_name(name: &str) -> Option<&'static Self> {
        GGML_TYPES.iter().find(|ggml| ggml.name.eq_ignore_ascii_case(name))
    }
}

const fn row(id: u32, name: &'static str, elements: u64, bytes: u64) -> GgmlType {
    GgmlType { id, name, elements, bytes }
}

/// All types of ggml, in the order of their numbers.
///
/// Each is the sum of its parts: `Q4_K` has 256 numbers of 4 bits (128 bytes), eight scales and minima of 6 bits
/// (12) and two halves (4), together 144. `Q8_1` holds two halves; it is the type of a product's other side and
/// stands in no file.
pub(super) const GGML_TYPES: [GgmlType; 38] = [
    row(0, "F32", 1, 4),
    row(1, "F16", 1, 2),
    row(2, "Q4_0", 32, 18),
    row(3, "Q4_1", 32, 20),
    row(6, "Q5_0", 32, 22),
    row(7, "Q5_1", 32, 24),
    row(8, "Q8_0", 32, 34),
    row(9, "Q8_1", 32, 36),
    row(10, "Q2_K", 256, 84),
    row(11, "Q3_K", 256, 110),
    row(12, "Q4_K", 256, 144),
    row(13, "Q5_K", 256, 176),
    row(14, "Q6_K", 256, 210),
    row(15, "Q8_K", 256, 292),
    row(16, "IQ2_XXS", 256, 66),
    row(17, "IQ2_XS", 256, 74),
    row(18, "IQ3_XXS", 256, 98),
    row(19, "IQ1_S", 256, 50),
    row(20, "IQ4_NL", 32, 18),
    row(21, "IQ3_S", 256, 110),
    row(22, "IQ2_S", 256, 82),
    row(23, "IQ4_XS", 256, 136),
    row(24, "I8", 1, 1),
    row(25, "I16", 1, 2),
    row(26, "I32", 1, 4),
    row(27, "I64", 1, 8),
    row(28, "F64", 1, 8),
    row(29, "IQ1_M", 256, 56),
    row(30, "BF16", 1, 2),
    // Q4_0 with rows interleaved for ARM. Written in 2024 only; llama.cpp now interleaves while it loads.
    row(31, "Q4_0_4_4", 32, 18),
    row(32, "Q4_0_4_8", 32, 18),
    row(33, "Q4_0_8_8", 32, 18),
    row(34, "TQ1_0", 256, 54),
    row(35, "TQ2_0", 256, 66),
    row(39, "MXFP4", 32, 17),
    row(40, "NVFP4", 64, 36),
    row(41, "Q1_0", 128, 18),
    row(42, "Q2_0", 64, 18),
];

/// What `general.file_type` says of a file: the type that most of its tensors have.
pub(super) fn file_type(number: u64) -> Option<&'static str> {
    FILE_TYPES.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}

const FILE_TYPES: [(u64, &str); 38] = [
    (0, "F32"),
    (1, "F16"),
    (2, "Q4_0"),
    (3, "Q4_1"),
    (7, "Q8_0"),
    (8, "Q5_0"),
    (9, "Q5_1"),
    (10, "Q2_K"),
    (11, "Q3_K_S"),
    (12, "Q3_K_M"),
    (13, "Q3_K_L"),
    (14, "Q4_K_S"),
    (15, "Q4_K_M"),
    (16, "Q5_K_S"),
    (17, "Q5_K_M"),
    (18, "Q6_K"),
    (19, "IQ2_XXS"),
    (20, "IQ2_XS"),
    (21, "Q2_K_S"),
    (22, "IQ3_XS"),
    (23, "IQ3_XXS"),
    (24, "IQ1_S"),
    (25, "IQ4_NL"),
    (26, "IQ3_S"),
    (27, "IQ3_M"),
    (28, "IQ2_S"),
    (29, "IQ2_M"),
    (30, "IQ4_XS"),
    (31, "IQ1_M"),
    (32, "BF16"),
    (33, "Q4_0_4_4"),
    (34, "Q4_0_4_8"),
    (35, "Q4_0_8_8"),
    (36, "TQ1_0"),
    (37, "TQ2_0"),
    (38, "MXFP4_MOE"),
    (39, "NVFP4"),
    (40, "Q1_0"),
];
