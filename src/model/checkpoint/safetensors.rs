//! One `.safetensors` file, or the shards of one checkpoint: only the bytes that are asked for are read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::PathBuf;

use half::{bf16, f16};

use super::Checkpoint;
use crate::arrays::safetensors::{Described, contents};
use crate::arrays::{self, AGAIN};
use crate::fault::{Fault, Outcome, Place, reason};
use crate::limits;

/// Tensors in files that stay open.
pub struct Safetensors {
    files: Vec<(PathBuf, File)>,
    shapes: BTreeMap<String, Vec<usize>>,
    places: BTreeMap<String, (usize, Described)>,
}

/// Bytes of a file that are read before they are turned into numbers: what stays in a processor's cache.
const CHUNK_BYTES: usize = 256 << 10;

impl Safetensors {
    /// Opens the files of one checkpoint; of each only its header is read.
    ///
    /// # Errors
    /// A file that is missing or damaged; a tensor that stands in two of them.
    pub fn open(paths: &[PathBuf]) -> Outcome<Self> {
        let mut this = Self { files: Vec::new(), shapes: BTreeMap::new(), places: BTreeMap::new() };
        for path in paths {
            let opened = arrays::open(path)?;
            for tensor in contents(path)?.tensors {
                if let Some((first, _)) = this.places.get(&tensor.name) {
                    let what = format!("tensor {} stands in two files", tensor.name);
                    let why =
                        format!("it is in {} too, and the two may differ", this.files[*first].0.display());
                    let remedy = "download the index and all files of the same revision";
                    return Err(Fault::new(what, why, remedy).at(arrays::place(path)).into());
                }
                this.shapes.insert(tensor.name.clone(), tensor.shape.clone());
                this.places.insert(tensor.name.clone(), (this.files.len(), tensor));
            }
            this.files.push((path.clone(), opened.file));
        }
        Ok(this)
    }

    /// A tensor's rows, of so many bytes a number.
    fn read<const SIZE: usize>(
        &self,
        name: &str,
        rows: Range<usize>,
        number: impl Fn([u8; SIZE]) -> f32,
    ) -> Outcome<Vec<f32>> {
        let (file, tensor) = &self.places[name];
        let (path, file) = &self.files[*file];
        let at = || Place { path: format!("tensor {name}"), ..arrays::place(path) };
        let (first, count) = numbers(tensor, rows).map_err(|fault| fault.at(at()))?;
        let mut read = Vec::with_capacity(count);
        // A part that stays in the processor's cache, turned into numbers before the next one is read.
        let mut bytes = vec![0; (count * SIZE).min(CHUNK_BYTES)];
        let mut start = tensor.start + (first * SIZE) as u64;
        while read.len() < count {
            let part = ((count - read.len()) * SIZE).min(bytes.len());
            let part = &mut bytes[..part];
            read_at(file, part, start).map_err(|error| torn(&error).at(at()))?;
            read.extend(part.as_chunks().0.iter().map(|bytes| number(*bytes)));
            start += part.len() as u64;
        }
        Ok(read)
    }
}

impl Checkpoint for Safetensors {
    fn tensors(&self) -> &BTreeMap<String, Vec<usize>> {
        &self.shapes
    }

    fn stored_as(&self, name: &str) -> Option<String> {
        self.places.get(name).map(|(_, tensor)| tensor.dtype.clone())
    }

    fn rows(&self, name: &str, rows: Range<usize>) -> Outcome<Vec<f32>> {
        self.shape(name)?;
        let (file, tensor) = &self.places[name];
        match tensor.dtype.as_str() {
            "F32" => self.read(name, rows, f32::from_le_bytes),
            "F16" => self.read(name, rows, |number| f16::from_le_bytes(number).to_f32()),
            "BF16" => self.read(name, rows, |number| bf16::from_le_bytes(number).to_f32()),
            "F64" => self.read(name, rows, |number| f64::from_le_bytes(number) as f32),
            other => Err(packed(name, other).at(arrays::place(&self.files[*file].0)).into()),
        }
    }

    fn source(&self) -> String {
        self.files.first().map_or_else(String::new, |(path, _)| path.display().to_string())
    }
}

/// The first number of these rows, and how many they are. The header's product of the whole shape has been checked, so that of
/// a part cannot overflow.
fn numbers(tensor: &Described, rows: Range<usize>) -> Result<(usize, usize), Fault> {
    let all = tensor.shape.first().copied().unwrap_or(1);
    if rows.start > rows.end || rows.end > all {
        let what = format!("{} has {all} rows, and {} are needed", tensor.name, rows.end.max(rows.start));
        let why = "its config.json describes a larger model";
        return Err(Fault::new(what, why, "download the weights that belong to this config.json"));
    }
    let width: usize = tensor.shape.iter().skip(1).product();
    let count = rows.len() * width;
    if count > limits::READ_NUMBERS {
        let what = format!("tensor {} has {count} numbers", tensor.name);
        let why = format!("at most {} are held at once", limits::READ_NUMBERS);
        return Err(Fault::new(what, why, "choose a smaller model"));
    }
    Ok((rows.start * width, count))
}

/// Fills `bytes` from a place in the file; where another thread reads does not matter.
#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], start: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, start)
}

/// Fills `bytes` from a place in the file; where another thread reads does not matter.
#[cfg(windows)]
fn read_at(file: &File, bytes: &mut [u8], start: u64) -> io::Result<()> {
    let mut read = 0;
    while read < bytes.len() {
        match std::os::windows::fs::FileExt::seek_read(file, &mut bytes[read..], start + read as u64) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A read that failed of a file whose length was right when it was opened.
fn torn(error: &io::Error) -> Fault {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        let why = "it was cut short since it was opened";
        return Fault::new("the file ends too early", why, "see what writes to it, and start again");
    }
    Fault::new("the file cannot be read", reason(error), AGAIN)
}

/// A tensor of a type that is not read: the usual ones are quantised weights whose scales stand elsewhere.
fn packed(name: &str, dtype: &str) -> Fault {
    let is = match dtype {
        "I8" => "whole numbers of 8 bits, as quantisation by rows leaves them",
        "U8" => "bytes, which may pack two weights of 4 bits each",
        "I32" | "U32" => "whole numbers, which may pack eight weights of 4 bits each",
        kind if kind.starts_with("F8") => "numbers of 8 bits, which mean something only by their scales",
        kind if kind.starts_with("F4") || kind.starts_with("F6") => "numbers that blocks share a scale for",
        _ => "no numbers that weights are stored in",
    };
    Fault::new(
        format!("tensor {name} is stored as {dtype}"),
        format!("{dtype}: {is}; read are F32, F16, BF16 and F64"),
        "take the model's own files in one of these, or its .gguf file",
    )
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};

    use super::*;

    /// A file of one tensor, so many numbers a row.
    fn file(folder: &tempfile::TempDir, name: &str, dtype: &str, shape: [usize; 2], bytes: &[u8]) -> PathBuf {
        let [r, c] = shape;
        let header = format!(
            r#"{{"{name}":{{"dtype":"{dtype}","shape":[{r},{c}],"data_offsets":[0,{}]}}}}"#,
            bytes.len()
        );
        let path = folder.path().join(format!("{name}.{dtype}.safetensors"));
        fs::write(&path, [&(header.len() as u64).to_le_bytes(), header.as_bytes(), bytes].concat()).unwrap();
        path
    }

    /// 1.5 and −2 are 0x3FC00000 and 0xC0000000 in F32; F16 has 5 bits of exponent (0x3E00, 0xC000), BF16 the upper half of F32 (0x3FC0,
    /// 0xC000), F64 11 bits (0x3FF8…, 0xC000…).
    #[test]
    fn every_type_is_read_as_the_same_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let rows: [(&str, &[u8]); 4] = [
            ("F32", &[0, 0, 0xC0, 0x3F, 0, 0, 0, 0xC0]),
            ("F16", &[0, 0x3E, 0, 0xC0]),
            ("BF16", &[0xC0, 0x3F, 0, 0xC0]),
            ("F64", &[0, 0, 0, 0, 0, 0, 0xF8, 0x3F, 0, 0, 0, 0, 0, 0, 0, 0xC0]),
        ];
        for (dtype, bytes) in rows {
            let opened = Safetensors::open(&[file(&folder, "w", dtype, [2, 1], bytes)]).unwrap();
            assert_eq!(opened.rows("w", 0..2).unwrap(), [1.5, -2.0], "{dtype}");
            assert_eq!(opened.rows("w", 1..2).unwrap(), [-2.0], "{dtype}");
            assert_eq!(opened.rows("w", 1..1).unwrap(), [0.0; 0], "{dtype}");
            assert_eq!(opened.stored_as("w").as_deref(), Some(dtype));
        }
    }

    /// Rows of 3 numbers do not end where a part of the file does: 262,144 bytes are 65,536 numbers.
    #[test]
    fn long_reads_go_on_where_the_part_before_ended() {
        let folder = tempfile::tempdir().unwrap();
        let numbers: Vec<f32> = (0..3 * 50_000).map(|i| i as f32).collect();
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let opened = Safetensors::open(&[file(&folder, "w", "F32", [50_000, 3], &bytes)]).unwrap();
        assert_eq!(opened.rows("w", 7..49_999).unwrap(), numbers[21..149_997]);
        // From several threads at once, each at its own place.
        std::thread::scope(|scope| {
            for first in [0, 20_000, 40_000] {
                let (opened, numbers) = (&opened, &numbers);
                scope.spawn(move || {
                    let rows = opened.rows("w", first..first + 10_000).unwrap();
                    assert_eq!(rows, numbers[3 * first..3 * first + 30_000]);
                });
            }
        });
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_tensor() {
        let folder = tempfile::tempdir().unwrap();
        let said = |path: PathBuf, rows: Range<usize>| {
            Safetensors::open(&[path]).unwrap().rows("w", rows).unwrap_err().to_string()
        };
        let whole = file(&folder, "w", "F32", [2, 1], &[0; 8]);
        assert!(said(whole.clone(), 1..3).contains("w has 2 rows, and 3 are needed"));
        for (dtype, bytes, word) in [("I8", 2, "quantisation"), ("F8_E4M3", 2, "scales"), ("U8", 2, "pack")] {
            let told = said(file(&folder, "w", dtype, [2, 1], &vec![0; bytes]), 0..2);
            assert!(
                told.contains(&format!("tensor w is stored as {dtype}")) && told.contains(word),
                "{told}"
            );
        }
        // Empty rows in any number take no bytes, and no memory.
        let empty = file(&folder, "w", "F64", [usize::MAX >> 8, 0], &[]);
        let opened = Safetensors::open(&[empty]).unwrap();
        assert_eq!(opened.rows("w", 0..1 << 40).unwrap(), [0.0; 0]);

        let opened = Safetensors::open(std::slice::from_ref(&whole)).unwrap();
        let length = fs::metadata(&whole).unwrap().len();
        OpenOptions::new().write(true).open(&whole).unwrap().set_len(length - 1).unwrap();
        let told = opened.rows("w", 1..2).unwrap_err().to_string();
        assert!(told.contains("since it was opened") && told.contains("(tensor w)"), "{told}");
    }

    /// 2^29 numbers in 2 GiB of a file without contents: refused before memory is taken.
    #[test]
    fn a_read_has_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparse.safetensors");
        let header = r#"{"w":{"dtype":"F32","shape":[1024,524288],"data_offsets":[0,2147483648]}}"#;
        fs::write(&path, [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat()).unwrap();
        let length = 8 + header.len() as u64 + (1 << 31);
        OpenOptions::new().write(true).open(&path).unwrap().set_len(length).unwrap();
        let opened = Safetensors::open(&[path]).unwrap();
        let told = opened.rows("w", 0..1024).unwrap_err().to_string();
        assert!(told.contains("536870912 numbers"), "{told}");
        assert_eq!(opened.rows("w", 1023..1024).unwrap().len(), 524_288);
    }

    #[test]
    fn a_tensor_that_stands_in_two_files_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["F32", "F64"]
            .map(|dtype| file(&folder, "w", dtype, [1, 1], &vec![0; if dtype == "F32" { 4 } else { 8 }]));
        let told = Safetensors::open(&paths).err().unwrap().to_string();
        assert!(told.contains("tensor w stands in two files"), "{told}");
    }
}
