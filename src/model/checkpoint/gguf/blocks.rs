//! Numbers as ggml stores them: plain, or in blocks that share their scales.

use std::borrow::Cow;

use candle_core::CpuStorage;
use candle_core::quantized::GgmlDType;
use half::{bf16, f16};

/// How a tensor of a known type is turned into f32.
#[derive(Debug, Clone, Copy)]
pub(super) enum Storage {
    F64,
    F32,
    F16,
    BF16,
    /// Blocks of weights of a few bits and their scales, as candle unpacks them.
    Blocks(GgmlDType),
}

/// Every type that is read, as the file names it.
const READ: [(&str, Storage); 15] = [
    ("F32", Storage::F32),
    ("F16", Storage::F16),
    ("BF16", Storage::BF16),
    ("F64", Storage::F64),
    ("Q4_0", Storage::Blocks(GgmlDType::Q4_0)),
    ("Q4_1", Storage::Blocks(GgmlDType::Q4_1)),
    ("Q5_0", Storage::Blocks(GgmlDType::Q5_0)),
    ("Q5_1", Storage::Blocks(GgmlDType::Q5_1)),
    ("Q8_0", Storage::Blocks(GgmlDType::Q8_0)),
    ("Q2_K", Storage::Blocks(GgmlDType::Q2K)),
    ("Q3_K", Storage::Blocks(GgmlDType::Q3K)),
    ("Q4_K", Storage::Blocks(GgmlDType::Q4K)),
    ("Q5_K", Storage::Blocks(GgmlDType::Q5K)),
    ("Q6_K", Storage::Blocks(GgmlDType::Q6K)),
    ("Q8_K", Storage::Blocks(GgmlDType::Q8K)),
];

impl Storage {
    /// The type of this name, where it is read.
    pub(super) fn named(name: &str) -> Option<Self> {
        READ.iter().find(|(known, _)| *known == name).map(|(_, storage)| *storage)
    }

    /// The names of all types that are read.
    pub(super) fn names() -> String {
        READ.map(|(name, _)| name).join(", ")
    }

    /// Puts the numbers of whole blocks, little-endian, behind those in `numbers`; `count` is how many they are.
    ///
    /// `None` where the bytes are not so many numbers.
    pub(super) fn unpack(self, bytes: &[u8], count: usize, numbers: &mut Vec<f32>) -> Option<()> {
        let before = numbers.len();
        match self {
            Self::F64 => {
                numbers.extend(bytes.as_chunks().0.iter().map(|number| f64::from_le_bytes(*number) as f32))
            }
            Self::F32 => numbers.extend(bytes.as_chunks().0.iter().map(|number| f32::from_le_bytes(*number))),
            Self::F16 => {
                numbers.extend(bytes.as_chunks().0.iter().map(|number| f16::from_le_bytes(*number).to_f32()))
            }
            Self::BF16 => {
                numbers
                    .extend(bytes.as_chunks().0.iter().map(|number| bf16::from_le_bytes(*number).to_f32()));
            }
            Self::Blocks(dtype) => {
                let (size, block) = (dtype.type_size(), dtype.block_size());
                // candle takes the bytes for its blocks as they stand, and stops the program where they are not whole
                // ones or not aligned.
                let is_whole = bytes.len().is_multiple_of(size) && bytes.len() / size * block == count;
                if !is_whole || bytes.as_ptr().align_offset(ALIGNMENT) != 0 {
                    return None;
                }
                let CpuStorage::F32(unpacked) =
                    dtype.from_data(Cow::Borrowed(bytes)).dequantize(count).ok()?
                else {
                    return None;
                };
                numbers.extend_from_slice(&unpacked);
            }
        }
        (numbers.len() - before == count).then_some(())
    }
}

/// The strictest alignment of a block (`Q8_K` begins with an f32).
const ALIGNMENT: usize = 4;

/// A buffer of bytes that blocks may be read into.
pub(super) struct Buffer(Vec<u8>);

impl Buffer {
    /// One of at most so many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        Self(vec![0; bytes + ALIGNMENT])
    }

    /// The first so many bytes of it, aligned for every block.
    pub(super) fn first(&mut self, bytes: usize) -> &mut [u8] {
        let skip = self.0.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        let end = (skip + bytes).min(self.0.len());
        &mut self.0[skip..end]
    }
}
