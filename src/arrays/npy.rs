//! `.npy`: one array, as `numpy.save` writes it. A line of Python says type, order and shape; then the numbers.

use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use npyz::{DType, Endianness, NpyHeader, Order, TypeChar, TypeStr, WriterBuilder};

use super::file::{self, AGAIN, failed_read};
use super::numbers::{self, FirstByte, Stored};
use super::{Array, array};
use crate::fault::{Fault, Outcome, Place};
use crate::limits;

/// The array of an `.npy` file.
///
/// # Errors
/// Where the file is missing, damaged, too large, or holds something else than numbers.
pub fn read(path: &Path) -> Outcome<Array> {
    let opened = file::open(path)?;
    parse(BufReader::new(opened.file), opened.bytes, &file::place(path))
}

/// The shape alone, from the header.
pub(super) fn shape(path: &Path) -> Outcome<Vec<usize>> {
    let opened = file::open(path)?;
    Ok(Header::read(BufReader::new(opened.file), &file::place(path))?.shape)
}

/// Reads an array from the `bytes` bytes that `reader` has to give; faults point at `place`.
///
/// # Errors
/// Where these bytes are not exactly one array of numbers.
pub fn parse(mut reader: impl Read, bytes: u64, place: &Place) -> Outcome<Array> {
    let header = Header::read(&mut reader, place)?;
    Ok(header.numbers(reader, bytes).map_err(|fault| fault.at(place.clone()))?)
}

/// Writes an array as little-endian double precision in C order.
///
/// # Errors
/// Where the numbers do not fill the shape, or writing fails.
pub fn write(out: impl Write, array: &Array) -> io::Result<()> {
    if array::count(&array.shape) != Some(array.len()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the numbers do not fill the shape"));
    }
    let double: TypeStr = "<f8".parse().map_err(io::Error::other)?;
    let shape: Vec<u64> = array.shape.iter().map(|size| *size as u64).collect();
    let mut writer =
        npyz::WriteOptions::new().dtype(DType::Plain(double)).shape(&shape).writer(out).begin_nd()?;
    writer.extend(array.data.iter().copied())?;
    writer.finish()
}

/// What an `.npy` says of itself before the numbers.
pub(super) struct Header {
    pub(super) shape: Vec<usize>,
    order: Order,
    /// How a number is stored, or why such an array cannot be read.
    stored: Result<(Stored, FirstByte), Fault>,
    /// Bytes before the first number.
    length: u64,
}

impl Header {
    /// Reads the header and leaves the reader at the first number.
    pub(super) fn read(reader: impl Read, place: &Place) -> Outcome<Self> {
        Ok(Self::from_reader(reader).map_err(|fault| fault.at(place.clone()))?)
    }

    fn from_reader(mut reader: impl Read) -> Result<Self, Fault> {
        let bytes = header_bytes(&mut reader)?;
        let text = String::from_utf8_lossy(&bytes);
        let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let length = bytes.len() as u64;
        // A type that is a list of fields goes no further: its fields have shapes and names of their own.
        if compact.contains("'descr':[") {
            let shape = compact.rsplit_once("'shape':").and_then(|(_, rest)| tuple(rest)).unwrap_or_default();
            return Ok(Self { shape, order: Order::C, stored: Err(structured()), length });
        }
        // npyz multiplies the sizes unchecked, so they are counted before it sees them.
        let shape =
            declared_shape(&compact).ok_or_else(|| not_understood("its shape is no list of sizes"))?;
        array::checked_count(&shape)?;
        let header =
            NpyHeader::from_reader(bytes.as_slice()).map_err(|error| not_understood(&error.to_string()))?;
        if !header.shape().iter().eq(shape.iter().map(|size| *size as u64).collect::<Vec<_>>().iter()) {
            return Err(not_understood("its shape can be read in two ways"));
        }
        Ok(Self { shape, order: header.order(), stored: stored(&header.dtype()), length })
    }

    /// The numbers that follow, where `total` bytes hold the header and nothing but them.
    fn numbers(self, mut reader: impl Read, total: u64) -> Result<Array, Fault> {
        let (stored, first_byte) = self.stored?;
        let count = array::checked_count(&self.shape)?;
        let promised = (count as u64).saturating_mul(stored.width() as u64);
        if promised > limits::NPY_BYTES {
            return Err(Fault::new(
                format!("an array of {} takes {} MiB", array::sizes(&self.shape), promised >> 20),
                format!("at most {} MiB are read from one array", limits::NPY_BYTES >> 20),
                "save the part that is needed (a slice, one layer, one head)",
            ));
        }
        let there = total.saturating_sub(self.length);
        if there != promised {
            return Err(wrong_length(&self.shape, promised, there));
        }
        let data = numbers::read(&mut reader, count, stored, first_byte)?;
        at_the_end(reader)?;
        let data = if self.order == Order::Fortran { rows_first(&data, &self.shape) } else { data };
        Array::new(self.shape, data, stored.kind())
    }
}

/// Magic, version, length and header text, as they stand in the file.
fn header_bytes(reader: &mut impl Read) -> Result<Vec<u8>, Fault> {
    let mut bytes = vec![0; 8];
    let not_npy = || {
        Fault::new(
            "this is not an .npy array",
            "such a file begins with the byte 0x93 and the letters NUMPY",
            "write it with `numpy.save`, or give the file the ending of what it is",
        )
    };
    let damaged = |error: &io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => not_npy(),
        _ => failed_read(error),
    };
    reader.read_exact(&mut bytes).map_err(|error| damaged(&error))?;
    if !bytes.starts_with(b"\x93NUMPY") {
        return Err(not_npy());
    }
    let size_bytes = if bytes[6] == 1 { 2 } else { 4 };
    let mut size = [0_u8; 4];
    reader.read_exact(&mut size[..size_bytes]).map_err(|error| failed_read(&error))?;
    bytes.extend_from_slice(&size[..size_bytes]);
    let size = u64::from(u32::from_le_bytes(size));
    if size > limits::NPY_HEADER_BYTES {
        return Err(Fault::new(
            format!("its header claims to be {size} bytes long"),
            format!("headers are read up to {} bytes; a usual one takes 118", limits::NPY_HEADER_BYTES),
            AGAIN,
        ));
    }
    let read = reader.take(size).read_to_end(&mut bytes).map_err(|error| failed_read(&error))?;
    if (read as u64) < size {
        return Err(failed_read(&io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(bytes)
}

/// The sizes after `'shape':`, where they can be read in one way only. `compact` is the header without blanks.
fn declared_shape(compact: &str) -> Option<Vec<usize>> {
    let brackets = compact.chars().filter(|c| matches!(c, '(' | '[' | '{')).count();
    // Deep nesting would exhaust the parser's stack; an escape could spell the word in another way.
    if brackets > 4 || compact.contains('\\') || compact.matches("shape").count() != 1 {
        return None;
    }
    let (_, rest) = compact.split_once("'shape':").or_else(|| compact.split_once("\"shape\":"))?;
    tuple(rest)
}

fn tuple(text: &str) -> Option<Vec<usize>> {
    let (inside, _) = text.strip_prefix('(')?.split_once(')')?;
    let sizes = inside.strip_suffix(',').unwrap_or(inside);
    if sizes.is_empty() {
        return Some(Vec::new());
    }
    let size = |digits: &str| {
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        // A size beyond usize is refused as too large, with its shape, like any other.
        plain.then(|| digits.parse().unwrap_or(usize::MAX))
    };
    sizes.split(',').map(size).collect()
}

fn stored(dtype: &DType) -> Result<(Stored, FirstByte), Fault> {
    let DType::Plain(kind) = dtype else { return Err(structured()) };
    let first_byte = match kind.endianness() {
        Endianness::Big => FirstByte::Highest,
        Endianness::Little | Endianness::Irrelevant => FirstByte::Lowest,
    };
    let bytes = kind.size_field();
    let stored = match (kind.type_char(), bytes) {
        (TypeChar::Bool, 1) => Stored::Bool,
        (TypeChar::Int, 1 | 2 | 4 | 8) => Stored::Signed(bytes as usize),
        (TypeChar::Uint, 1 | 2 | 4 | 8) => Stored::Unsigned(bytes as usize),
        (TypeChar::Float, 2) => Stored::F16,
        (TypeChar::Float, 4) => Stored::F32,
        (TypeChar::Float, 8) => Stored::F64,
        (TypeChar::Object, _) => return Err(pickled()),
        (other, _) => return Err(unusable(other, kind)),
    };
    Ok((stored, first_byte))
}

/// Numbers that stand first axis fastest, put last axis fastest.
fn rows_first(data: &[f64], shape: &[usize]) -> Vec<f64> {
    let mut ordered = Vec::with_capacity(data.len());
    let mut index = vec![0; shape.len()];
    for _ in 0..data.len() {
        let from = index.iter().zip(shape).rev().fold(0, |offset, (i, size)| offset * size + i);
        ordered.push(data[from]);
        for (i, size) in index.iter_mut().zip(shape).rev() {
            *i += 1;
            if *i < *size {
                break;
            }
            *i = 0;
        }
    }
    ordered
}

/// Reads past the last number: nothing may follow, and only here does a zip compare its checksum.
fn at_the_end(mut reader: impl Read) -> Result<(), Fault> {
    match reader.read(&mut [0]) {
        Ok(0) => Ok(()),
        Ok(_) => Err(Fault::new("bytes follow the last number", "", AGAIN)),
        Err(error) => Err(failed_read(&error)),
    }
}

fn wrong_length(shape: &[usize], promised: u64, there: u64) -> Fault {
    let what = format!("an array of {} takes {promised} bytes here, but {there} follow", array::sizes(shape));
    if there < promised {
        Fault::new(what, "the file was cut short on its way, or is still being written", AGAIN)
    } else {
        Fault::new(
            what,
            "more than one array was saved into the file, or something was appended to it",
            "save one array a file, or several with `numpy.savez`",
        )
    }
}

fn not_understood(reason: &str) -> Fault {
    // npyz repeats the header in its messages, and that may be long.
    let reason: String = reason.lines().next().unwrap_or_default().chars().take(120).collect();
    Fault::new(
        format!("the header of the .npy array cannot be read: {reason}"),
        "it should say 'descr', 'fortran_order' and 'shape'",
        "write it with `numpy.save`",
    )
}

fn structured() -> Fault {
    Fault::new(
        "this is a structured array (records with named fields)",
        "only plain arrays of numbers are read",
        "save each field as an array of its own: `numpy.savez(\"all.npz\", a=array[\"a\"], …)`",
    )
}

fn pickled() -> Fault {
    Fault::new(
        "this array holds Python objects, not numbers",
        "it was pickled, and reading a pickle can run any program; rows of unequal length are a frequent cause",
        "give all rows one length and convert it: `numpy.save(\"a.npy\", numpy.array(rows, dtype=float))`",
    )
}

fn unusable(character: TypeChar, kind: &TypeStr) -> Fault {
    let (holds, remedy) = match character {
        TypeChar::Complex => ("complex numbers", "save its real part: `array.real`"),
        TypeChar::UnicodeStr | TypeChar::ByteStr => ("text", "convert it: `array.astype(float)`"),
        TypeChar::DateTime | TypeChar::TimeDelta => {
            ("dates or durations", "convert it: `array.astype(float)`")
        }
        TypeChar::RawData => {
            ("raw bytes, as NumPy saves bfloat16", "convert it before saving: `array.astype(\"float32\")`")
        }
        _ => ("numbers of an unusual width", "convert it: `array.astype(\"float64\")`"),
    };
    Fault::new(
        format!("the array is of type {kind}: {holds}"),
        "read are bool, int8 to int64, uint8 to uint64, float16, float32 and float64",
        remedy,
    )
}

#[cfg(test)]
mod tests {
    use super::super::Kind;
    use super::*;

    fn whole(bytes: &[u8]) -> Outcome<Array> {
        parse(bytes, bytes.len() as u64, &Place::default())
    }

    /// An .npy of version 1.0 with this header text.
    fn npy(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn f8(shape: &str, data: &[u8]) -> Vec<u8> {
        npy(&format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n"), data)
    }

    #[test]
    fn what_is_written_reads_back_the_same() {
        for (shape, data) in [
            (vec![2, 3], vec![1.5, -0.0, f64::INFINITY, f64::MIN_POSITIVE, 1e300, -7.0]),
            (vec![], vec![0.1]),
            (vec![0, 4], vec![]),
            (vec![1, 1, 2], vec![f64::NEG_INFINITY, 2.0]),
        ] {
            let array = Array::new(shape, data, Kind::F64).unwrap();
            let mut bytes = Vec::new();
            write(&mut bytes, &array).unwrap();
            assert_eq!(whole(&bytes), Ok(array));
        }
    }

    /// 2 × 3, first axis fastest: the file holds the columns (1 4), (2 5), (3 6).
    #[test]
    fn fortran_order_is_turned_into_rows() {
        let header = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n";
        let array = whole(&npy(header, &[1, 4, 2, 5, 3, 6])).unwrap();
        assert_eq!((array.data, array.kind), (vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], Kind::Integer));
    }

    #[track_caller]
    fn refused(bytes: &[u8], message: &str) {
        let faults = whole(bytes).unwrap_err().to_string();
        assert!(faults.contains(message), "{faults}");
        assert!(faults.contains("try:"), "{faults}");
    }

    #[test]
    fn sizes_are_believed_only_when_the_bytes_agree() {
        refused(&f8("(8589934592, 8589934592)", &[]), "too large");
        refused(&f8("(9223372036854775808,)", &[0; 8]), "too large");
        refused(&f8("(99999999999999999999999999,)", &[0; 8]), "too large");
        refused(&f8("(0, 8589934592, 8589934592)", &[]), "too large");
        refused(&f8("(1000000, 60)", &[0; 8]), "takes 457 MiB");
        refused(&f8("(2,)", &[0; 8]), "takes 16 bytes here, but 8 follow");
        refused(&f8("(1,)", &[0; 24]), "more than one array");
        refused(&f8("(1, 1, 1, 1, 1, 1, 1, 1, 1)", &[0; 8]), "9 axes");
        refused(&f8("(-1,)", &[0; 8]), "shape is no list of sizes");
        refused(&f8("(0xffffffff, 2)", &[]), "shape is no list of sizes");
        refused(&f8("(2,), 'shape': (1,)", &[0; 8]), "shape is no list of sizes");
    }

    #[test]
    fn what_is_no_number_says_so() {
        let of = |descr: &str| {
            npy(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (1,), }}\n"), &[0; 8])
        };
        refused(&of("'|O'"), "pickle");
        refused(&of("[('a', '<f4'), ('shape', '<f4')]"), "structured array");
        refused(&of("'<c8'"), "complex");
        refused(&of("'<U2'"), "text");
        refused(&of("'<M8[s]'"), "dates");
        refused(&of("'|V2'"), "bfloat16");
        refused(&of("'<f16'"), "unusual width");
        refused(&of("'nonsense'"), "cannot be read");
        refused(&npy(&"(".repeat(60_000), &[]), "cannot be read");
        refused(&npy("{'descr': '<f8', 'shape': (1,), }\n", &[0; 8]), "cannot be read");
        refused(b"PK\x03\x04 something else", "not an .npy array");
        refused(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}", "claims to be 4294967295 bytes");
        refused(b"\x93NUMPY\x09\x00\x02\x00\x00\x00{}", "cannot be read");
    }
}
