//! Numbers as npy and safetensors files store them, made into f64.

use std::io::Read;

use half::{bf16, f16};

use super::Kind;
use super::file::failed_read;
use crate::fault::Fault;
use crate::limits;

/// How one number is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stored {
    Bool,
    /// Two's complement of so many bytes.
    Signed(usize),
    /// Of so many bytes.
    Unsigned(usize),
    F16,
    Bf16,
    F32,
    F64,
}

/// Which byte of a number comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstByte {
    Lowest,
    Highest,
}

impl Stored {
    /// Bytes a number takes: 1, 2, 4 or 8.
    pub(super) fn width(self) -> usize {
        match self {
            Self::Bool => 1,
            Self::Signed(bytes) | Self::Unsigned(bytes) => bytes,
            Self::F16 | Self::Bf16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    pub(super) fn kind(self) -> Kind {
        match self {
            Self::Bool => Kind::Bool,
            Self::Signed(_) | Self::Unsigned(_) => Kind::Integer,
            Self::F16 => Kind::F16,
            Self::Bf16 => Kind::Bf16,
            Self::F32 => Kind::F32,
            Self::F64 => Kind::F64,
        }
    }

    /// The number whose bits stand in the lowest bytes of `bits`.
    fn number(self, bits: u64) -> Result<f64, Fault> {
        Ok(match self {
            Self::Bool if bits > 1 => return Err(neither_true_nor_false(bits)),
            Self::Bool => bits as f64,
            Self::Signed(bytes) => {
                let unused = 64 - 8 * bytes as u32;
                let integer = ((bits << unused) as i64) >> unused; // the sign moves to its place and back
                exact_integer(integer, integer.unsigned_abs(), integer as f64)?
            }
            Self::Unsigned(_) => exact_integer(bits, bits, bits as f64)?,
            Self::F16 => f16::from_bits(bits as u16).to_f64(),
            Self::Bf16 => bf16::from_bits(bits as u16).to_f64(),
            Self::F32 => f64::from(f32::from_bits(bits as u32)),
            Self::F64 => f64::from_bits(bits),
        })
    }
}

/// Reads `count` numbers. Memory grows with what has arrived, not with what a header promises.
pub(super) fn read(
    mut reader: impl Read,
    count: usize,
    stored: Stored,
    first_byte: FirstByte,
) -> Result<Vec<f64>, Fault> {
    let width = stored.width();
    let mut numbers = Vec::with_capacity(count.min(1 << 20));
    let mut buffer = [0_u8; 1 << 15];
    while numbers.len() < count {
        let wanted = ((count - numbers.len()).saturating_mul(width)).min(buffer.len());
        let chunk = &mut buffer[..wanted];
        reader.read_exact(chunk).map_err(|error| failed_read(&error))?;
        for bytes in chunk.chunks_exact(width) {
            let number = stored.number(bits(bytes, first_byte)).map_err(|fault| Fault {
                what: format!("number {} (in the order of the file) {}", numbers.len() + 1, fault.what),
                ..fault
            })?;
            numbers.push(number);
        }
    }
    Ok(numbers)
}

fn bits(bytes: &[u8], first_byte: FirstByte) -> u64 {
    let add = |bits: u64, byte: &u8| bits << 8 | u64::from(*byte);
    match first_byte {
        FirstByte::Lowest => bytes.iter().rev().fold(0, add),
        FirstByte::Highest => bytes.iter().fold(0, add),
    }
}

fn exact_integer(shown: impl std::fmt::Display, size: u64, number: f64) -> Result<f64, Fault> {
    if size <= limits::EXACT_INTEGER { Ok(number) } else { Err(beyond_exact(&shown.to_string())) }
}

/// `what` continues a sentence that begins with where the number stands.
pub(super) fn beyond_exact(integer: &str) -> Fault {
    Fault::new(
        format!("is {integer}, beyond ±2^53"),
        "mha computes in double precision, where whole numbers beyond 2^53 = 9007199254740992 are no longer exact",
        "save it as a floating-point number if rounding does no harm",
    )
}

fn neither_true_nor_false(byte: u64) -> Fault {
    Fault::new(
        format!("is {byte}, but the array holds true (1) and false (0)"),
        "the bytes were not written as booleans",
        "save the array again, with `.astype(bool)` in NumPy",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(stored: Stored, bytes: &[u8], expected: f64) {
        assert_eq!(bytes.len(), stored.width());
        let mut reversed = bytes.to_vec();
        reversed.reverse();
        for (bytes, first_byte) in [(bytes, FirstByte::Lowest), (&reversed, FirstByte::Highest)] {
            let numbers = read(bytes, 1, stored, first_byte).unwrap();
            assert_eq!(numbers[0].to_bits(), expected.to_bits(), "{stored:?} {first_byte:?} {numbers:?}");
        }
    }

    /// Bit patterns from the formats' definitions: 1.5 is sign 0, exponent 0 (biased), fraction .1 in binary.
    #[test]
    fn every_kind_reads_from_both_ends() {
        case(Stored::Bool, &[1], 1.0);
        case(Stored::Signed(1), &[0xff], -1.0);
        case(Stored::Signed(2), &[0xfe, 0xff], -2.0);
        case(Stored::Signed(4), &[0, 0, 0, 0x80], -2_147_483_648.0);
        case(Stored::Signed(8), &[0xff; 8], -1.0);
        case(Stored::Unsigned(1), &[0xff], 255.0);
        case(Stored::Unsigned(2), &[0x00, 0x01], 256.0);
        case(Stored::Unsigned(4), &[0xff; 4], 4_294_967_295.0);
        case(Stored::Unsigned(8), &[0, 0, 0, 0, 0, 0, 0x20, 0], 9_007_199_254_740_992.0);
        case(Stored::F16, &[0x00, 0x3e], 1.5);
        case(Stored::F16, &[0x01, 0x00], 2_f64.powi(-24)); // the smallest half
        case(Stored::F16, &[0x00, 0xfc], f64::NEG_INFINITY);
        case(Stored::Bf16, &[0xc0, 0x3f], 1.5);
        case(Stored::F32, &[0, 0, 0xc0, 0x3f], 1.5);
        case(Stored::F64, &[0, 0, 0, 0, 0, 0, 0xf8, 0x3f], 1.5);
    }

    #[test]
    fn what_an_f64_cannot_hold_is_refused_and_counted_from_one() {
        let two = [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0x20, 0]; // 0 and 2^53 + 1
        let fault = read(two.as_slice(), 2, Stored::Signed(8), FirstByte::Lowest).unwrap_err();
        assert!(fault.what.starts_with("number 2 ") && fault.what.contains("9007199254740993"), "{fault}");
        assert!(
            read([0x80, 0, 0, 0, 0, 0, 0, 0].as_slice(), 1, Stored::Signed(8), FirstByte::Highest).is_err()
        );
        assert!(read([2].as_slice(), 1, Stored::Bool, FirstByte::Lowest).is_err());
    }

    #[test]
    fn a_promise_of_more_numbers_than_there_are_bytes_costs_nothing() {
        let fault = read([0; 9].as_slice(), usize::MAX, Stored::F64, FirstByte::Lowest).unwrap_err();
        assert_eq!(fault.what, "the file ends too early");
    }
}
