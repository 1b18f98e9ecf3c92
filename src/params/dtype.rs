//! Types that numbers are stored in, by their width.

use std::fmt;

use super::weights::GgmlType;
use crate::fault::{Fault, Outcome};

/// The type a parameter or a cached number is stored in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dtype {
    /// IEEE single precision.
    Fp32,
    /// The upper half of an fp32.
    Bf16,
    /// IEEE half precision.
    Fp16,
    /// Eight-bit floating point, either layout.
    Fp8,
    /// Whole numbers of eight bits.
    Int8,
    /// Whole numbers of four bits, two in a byte.
    Int4,
    /// ggml: 32 whole numbers of 8 bits and a scale of 2 bytes.
    Q8_0,
    /// ggml: 256 of 6 bits with their scales.
    Q6K,
    /// ggml: 256 of 5 bits with their scales.
    Q5K,
    /// ggml: 32 of 5 bits, a scale and a minimum.
    Q5_1,
    /// ggml: 32 of 5 bits and a scale.
    Q5_0,
    /// ggml: 256 of 4 bits with their scales.
    Q4K,
    /// ggml: 32 of 4 bits, a scale and a minimum.
    Q4_1,
    /// ggml: 32 of 4 bits and a scale.
    Q4_0,
    /// ggml: 32 steps of an uneven scale and its factor.
    Iq4Nl,
    /// Open Compute Project: 32 floating-point numbers of 4 bits and a shared exponent of a byte.
    Mxfp4,
    /// ggml: 256 of 3 bits with their scales.
    Q3K,
    /// ggml: 256 of 2 bits with their scales.
    Q2K,
}

impl Dtype {
    /// All of them, plain types first, each kind widest first.
    pub const ALL: [Self; 18] = [
        Self::Fp32,
        Self::Bf16,
        Self::Fp16,
        Self::Fp8,
        Self::Int8,
        Self::Int4,
        Self::Q8_0,
        Self::Q6K,
        Self::Q5_1,
        Self::Q5_0,
        Self::Q5K,
        Self::Q4_1,
        Self::Q4_0,
        Self::Q4K,
        Self::Iq4Nl,
        Self::Mxfp4,
        Self::Q3K,
        Self::Q2K,
    ];

    /// The types that tables show: the plain ones, and the one that was chosen where it is none of those.
    pub fn shown_beside(chosen: Self) -> Vec<Self> {
        let mut shown = Self::ALL[..6].to_vec();
        if !shown.contains(&chosen) {
            shown.push(chosen);
        }
        shown
    }

    /// As it is typed and shown.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// Numbers of a block and the bytes that the whole block takes, its scales included.
    pub fn block(self) -> (u64, u64) {
        let (_, numbers, bytes) = self.row();
        (numbers, bytes)
    }

    /// Name, numbers of a block, bytes of a block.
    fn row(self) -> (&'static str, u64, u64) {
        match self {
            Self::Fp32 => ("fp32", 1, 4),
            Self::Bf16 => ("bf16", 1, 2),
            Self::Fp16 => ("fp16", 1, 2),
            Self::Fp8 => ("fp8", 1, 1),
            Self::Int8 => ("int8", 1, 1),
            Self::Int4 => ("int4", 2, 1),
            Self::Q8_0 => of_ggml("q8_0"),
            Self::Q6K => of_ggml("q6_k"),
            Self::Q5K => of_ggml("q5_k"),
            Self::Q5_1 => of_ggml("q5_1"),
            Self::Q5_0 => of_ggml("q5_0"),
            Self::Q4K => of_ggml("q4_k"),
            Self::Q4_1 => of_ggml("q4_1"),
            Self::Q4_0 => of_ggml("q4_0"),
            Self::Iq4Nl => of_ggml("iq4_nl"),
            Self::Mxfp4 => of_ggml("mxfp4"),
            Self::Q3K => of_ggml("q3_k"),
            Self::Q2K => of_ggml("q2_k"),
        }
    }

    /// Bytes that so many numbers take, rounded up to a whole one.
    ///
    /// # Errors
    /// They do not fit in 64 bits.
    pub fn bytes(self, numbers: u64) -> Outcome<u64> {
        let (of, bytes) = self.block();
        let all = u128::from(numbers) * u128::from(bytes);
        u64::try_from(all.div_ceil(u128::from(of))).map_err(|_| {
            let why = "the result is above 18,446,744,073,709,551,615, the largest number of 64 bits";
            Fault::new(
                format!("too large to count: the bytes of {numbers} numbers"),
                why,
                "give smaller sizes",
            )
            .into()
        })
    }

    /// Bits of one number; of a block-quantised type with its share of the scales.
    pub fn bits(self) -> f64 {
        let (numbers, bytes) = self.block();
        8.0 * bytes as f64 / numbers as f64
    }

    /// Bytes of one number, as a factor in a formula: `4`, `2`, `1`, `½`, `18/32`.
    pub fn bytes_each(self) -> String {
        match self.block() {
            (1, bytes) => bytes.to_string(),
            (2, 1) => "½".to_owned(),
            (numbers, bytes) => format!("{bytes}/{numbers}"),
        }
    }

    /// What scores are computed in beside numbers of this type: softmax needs a floating-point type of 16 bits
    /// or more.
    pub fn for_scores(self) -> Self {
        if self.bits() < 16.0 { Self::Fp16 } else { self }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A block-quantised type: its sizes stand in the table that weight files are read by.
fn of_ggml(name: &'static str) -> (&'static str, u64, u64) {
    GgmlType::of_name(name).map_or((name, 1, 1), |found| (name, found.elements, found.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 32 numbers of 4 bits are 16 bytes, their scale 2 more; 256 of 6 bits are 192, and 18 of scales.
    #[test]
    fn a_block_takes_its_numbers_and_their_scales() {
        assert_eq!(Dtype::Q4_0.block(), (32, 18));
        assert_eq!(Dtype::Q6K.block(), (256, 210));
        assert_eq!(Dtype::Q4_0.bytes(64).unwrap(), 36);
        assert_eq!(Dtype::Q4_0.bytes_each(), "18/32");
        for dtype in &Dtype::ALL[6..] {
            assert!(dtype.block().0 > 1, "{dtype} has no block");
        }
    }
}
