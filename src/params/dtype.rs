//! Types that numbers are stored in, by their width.

use std::fmt;

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
}

impl Dtype {
    /// All of them, widest first.
    pub const ALL: [Self; 6] = [Self::Fp32, Self::Bf16, Self::Fp16, Self::Fp8, Self::Int8, Self::Int4];

    /// As it is typed and shown.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fp32 => "fp32",
            Self::Bf16 => "bf16",
            Self::Fp16 => "fp16",
            Self::Fp8 => "fp8",
            Self::Int8 => "int8",
            Self::Int4 => "int4",
        }
    }

    /// Bits of one number. The scales that quantised files hold beside their numbers are not counted.
    pub fn bits(self) -> u64 {
        match self {
            Self::Fp32 => 32,
            Self::Bf16 | Self::Fp16 => 16,
            Self::Fp8 | Self::Int8 => 8,
            Self::Int4 => 4,
        }
    }

    /// Bytes of one number, as a factor in a formula: `4`, `2`, `1`, `½`.
    pub fn bytes_each(self) -> &'static str {
        match self {
            Self::Fp32 => "4",
            Self::Bf16 | Self::Fp16 => "2",
            Self::Fp8 | Self::Int8 => "1",
            Self::Int4 => "½",
        }
    }

    /// What scores are computed in beside numbers of this type: softmax needs a floating-point type of 16 bits
    /// or more.
    pub fn for_scores(self) -> Self {
        if self.bits() < 16 { Self::Fp16 } else { self }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
