//! Metadata values: small ones become text, large ones are passed over.

use std::io::{Read, Seek};

use super::bytes::{Bytes, not_text};
use crate::arrays::AGAIN;
use crate::fault::Fault;
use crate::limits;
use crate::params::weights::clipped;

/// The type of a metadata value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueType {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    Bool,
    String,
    Array,
    U64,
    I64,
    F64,
}

/// In the order of their numbers in a file.
const TYPES: [(ValueType, &str); 13] = [
    (ValueType::U8, "u8 numbers"),
    (ValueType::I8, "i8 numbers"),
    (ValueType::U16, "u16 numbers"),
    (ValueType::I16, "i16 numbers"),
    (ValueType::U32, "u32 numbers"),
    (ValueType::I32, "i32 numbers"),
    (ValueType::F32, "f32 numbers"),
    (ValueType::Bool, "truth values"),
    (ValueType::String, "strings"),
    (ValueType::Array, "arrays"),
    (ValueType::U64, "u64 numbers"),
    (ValueType::I64, "i64 numbers"),
    (ValueType::F64, "f64 numbers"),
];

fn value_type<R: Read + Seek>(bytes: &mut Bytes<R>) -> Result<(ValueType, &'static str), Fault> {
    let at = bytes.at();
    let number = bytes.u32()?;
    TYPES.get(number as usize).copied().ok_or_else(|| {
        let why = format!("at byte {at}; the types of metadata are 0 to 12");
        Fault::new(format!("a metadata value is of type {number}, which there is not"), why, AGAIN)
    })
}

/// The next value as text: numbers and truth values as they are, strings clipped, a list of up to
/// [`limits::GGUF_ARRAY`] numbers as `[8, 8, 1]`, any other list as its length and type.
pub(super) fn read<R: Read + Seek>(bytes: &mut Bytes<R>) -> Result<String, Fault> {
    match value_type(bytes)? {
        (ValueType::Array, _) => array(bytes),
        (ValueType::String, _) => long_string(bytes),
        (number, _) => scalar(bytes, number),
    }
}

/// A string of any length, of which only the beginning is held.
fn long_string<R: Read + Seek>(bytes: &mut Bytes<R>) -> Result<String, Fault> {
    let length = bytes.u64()?;
    // A character takes at most four bytes; one more character tells that there is more.
    let held = length.min(4 * (limits::VALUE_CHARACTERS as u64 + 1));
    let at = bytes.at();
    let read = bytes.take(held)?;
    let text = match std::str::from_utf8(&read) {
        Ok(text) => text,
        // Only the cut may fall inside a character.
        Err(error) if error.error_len().is_none() && held < length => read
            .get(..error.valid_up_to())
            .and_then(|whole| std::str::from_utf8(whole).ok())
            .unwrap_or_default(),
        Err(_) => return Err(not_text("a metadata value", at)),
    };
    let text = clipped(text);
    bytes.skip(length - held)?;
    Ok(text)
}

/// A list that is held whole.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum List {
    /// Of strings; bytes that are not UTF-8 stand as U+FFFD, which no text of a person matches.
    Texts(Vec<String>),
    /// Of numbers and truth values (0 and 1).
    Numbers(Vec<f64>),
}

impl List {
    /// What [`read`] makes of a list that long: the text that stands for it in the metadata.
    pub(super) fn described(&self) -> String {
        match self {
            Self::Texts(texts) => format!("{} strings", texts.len()),
            Self::Numbers(numbers) => format!("{} numbers", numbers.len()),
        }
    }
}

/// The next value, a list, whole: the tokens of a vocabulary, their scores and merges.
pub(super) fn held<R: Read + Seek>(bytes: &mut Bytes<R>) -> Result<List, Fault> {
    let (ValueType::Array, _) = value_type(bytes)? else {
        return Err(Fault::new("a metadata value is no list", "a vocabulary is a list of its tokens", AGAIN));
    };
    let (element, _) = value_type(bytes)?;
    let length = bytes.u64()?;
    // A string takes eight bytes at least, for its length; a list of lists is refused below.
    let least = width(element).unwrap_or(8);
    if length > limits::GGUF_LIST || length.saturating_mul(least) > bytes.left() {
        let why = format!(
            "{} bytes are left in the file, and at most {} are read",
            bytes.left(),
            limits::GGUF_LIST
        );
        return Err(Fault::new(format!("a list of {length} is announced"), why, AGAIN));
    }
    match element {
        ValueType::Array => Err(Fault::new("a metadata value is an array of arrays", "", AGAIN)),
        ValueType::String => {
            let text = |bytes: &mut Bytes<R>| {
                let length = bytes.u64()?;
                let read = bytes.take(length)?;
                Ok(String::from_utf8(read)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
            };
            (0..length).map(|_| text(bytes)).collect::<Result<_, _>>().map(List::Texts)
        }
        number => (0..length).map(|_| as_number(bytes, number)).collect::<Result<_, _>>().map(List::Numbers),
    }
}

fn as_number<R: Read + Seek>(bytes: &mut Bytes<R>, value: ValueType) -> Result<f64, Fault> {
    Ok(match value {
        ValueType::F32 => f64::from(f32::from_bits(bytes.u32()?)),
        ValueType::I32 => f64::from(bytes.u32()?.cast_signed()),
        ValueType::U32 => f64::from(bytes.u32()?),
        // Rare in vocabularies: by way of their text.
        other => match scalar(bytes, other)?.as_str() {
            "true" => 1.0,
            "false" => 0.0,
            text => text.parse().unwrap_or(f64::NAN),
        },
    })
}

fn array<R: Read + Seek>(bytes: &mut Bytes<R>) -> Result<String, Fault> {
    let (element, name) = value_type(bytes)?;
    let length = bytes.u64()?;
    match width(element) {
        Some(_) if length <= limits::GGUF_ARRAY => {
            let elements: Vec<String> =
                (0..length).map(|_| scalar(bytes, element)).collect::<Result<_, _>>()?;
            Ok(format!("[{}]", elements.join(", ")))
        }
        Some(width) => {
            bytes.skip(length.saturating_mul(width))?;
            Ok(format!("{length} {name}"))
        }
        None if element == ValueType::Array => Err(Fault::new(
            "a metadata value is an array of arrays",
            format!("at byte {}; llama.cpp reads none either", bytes.at()),
            "write the file without it",
        )),
        None => {
            // Each takes eight bytes at least, so the end of the file stops a length that lies.
            bytes.skip_strings(length)?;
            Ok(format!("{length} {name}"))
        }
    }
}

/// Bytes of one value of the type; none where that is not fixed.
fn width(value: ValueType) -> Option<u64> {
    match value {
        ValueType::U8 | ValueType::I8 | ValueType::Bool => Some(1),
        ValueType::U16 | ValueType::I16 => Some(2),
        ValueType::U32 | ValueType::I32 | ValueType::F32 => Some(4),
        ValueType::U64 | ValueType::I64 | ValueType::F64 => Some(8),
        ValueType::String | ValueType::Array => None,
    }
}

fn scalar<R: Read + Seek>(bytes: &mut Bytes<R>, value: ValueType) -> Result<String, Fault> {
    Ok(match value {
        ValueType::U8 => bytes.u8()?.to_string(),
        ValueType::I8 => bytes.u8()?.cast_signed().to_string(),
        ValueType::U16 => bytes.u16()?.to_string(),
        ValueType::I16 => bytes.u16()?.cast_signed().to_string(),
        ValueType::U32 => bytes.u32()?.to_string(),
        ValueType::I32 => bytes.u32()?.cast_signed().to_string(),
        ValueType::F32 => format!("{:?}", f32::from_bits(bytes.u32()?)),
        ValueType::U64 => bytes.u64()?.to_string(),
        ValueType::I64 => bytes.u64()?.cast_signed().to_string(),
        ValueType::F64 => format!("{:?}", f64::from_bits(bytes.u64()?)),
        ValueType::Bool => match bytes.u8()? {
            0 => "false".to_owned(),
            1 => "true".to_owned(),
            other => {
                let why = format!("at byte {}; 0 is false and 1 is true", bytes.at() - 1);
                return Err(Fault::new(format!("a truth value is {other}"), why, AGAIN));
            }
        },
        ValueType::String | ValueType::Array => return Err(Fault::new("a list inside a value", "", AGAIN)),
    })
}
