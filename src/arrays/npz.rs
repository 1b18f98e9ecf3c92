//! `.npz`: named arrays, as `numpy.savez` writes them. A zip whose entries are `.npy` files.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::rc::Rc;

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, System, ZipArchive, ZipWriter};

use super::file::{self, AGAIN};
use super::{Array, choose, doubled, doubled_name, npy, within_memory};
use crate::fault::{Fault, Outcome, Place};
use crate::limits;

/// Writes an `.npz` as NumPy reads it: little-endian double precision in C order, entries in the given order and
/// uncompressed, the same bytes every time and on every machine.
///
/// # Errors
/// Where two arrays have one name, numbers do not fill their shape, or writing fails.
pub fn write<W: Write + Seek>(out: W, arrays: impl IntoIterator<Item = (String, Array)>) -> io::Result<()> {
    let mut zip = ZipWriter::new(out);
    if let Err(error) = fill(&mut zip, arrays) {
        // Dropped, it would try to end the archive all the same, and say on standard error that it cannot.
        std::mem::forget(zip);
        return Err(error);
    }
    zip.finish()?.flush()
}

/// Writes the arrays, so that only the list of them is still to come.
fn fill<W: Write + Seek>(
    zip: &mut ZipWriter<W>,
    arrays: impl IntoIterator<Item = (String, Array)>,
) -> io::Result<()> {
    for (name, array) in arrays {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .last_modified_time(DateTime::default()) // 1980: the first day that a zip knows
            .system(System::Unix)
            .unix_permissions(0o644)
            .large_file(array.len() >= (u32::MAX / 8) as usize - 64);
        zip.start_file(format!("{name}.npy"), options)?;
        npy::write(&mut *zip, &array)?;
    }
    zip.flush()
}

pub(super) fn read(path: &Path, name: Option<&str>) -> Outcome<Array> {
    let mut archive = Archive::open(path)?;
    let names: Vec<&str> = archive.entries.iter().map(|(_, name)| name.as_str()).collect();
    let chosen = choose(&names, name, file::place(path))?;
    archive.array(chosen)
}

pub(super) fn shape(path: &Path, name: Option<&str>) -> Outcome<Vec<usize>> {
    let mut archive = Archive::open(path)?;
    let names: Vec<&str> = archive.entries.iter().map(|(_, name)| name.as_str()).collect();
    let chosen = choose(&names, name, file::place(path))?;
    let place = archive.place(chosen);
    Ok(npy::Header::read(archive.entry(chosen)?, &place)?.shape)
}

pub(super) fn read_all(path: &Path) -> Outcome<Vec<(String, Array)>> {
    let mut archive = Archive::open(path)?;
    let shapes: Vec<Vec<usize>> = archive.list()?.into_iter().map(|(_, shape)| shape).collect();
    within_memory(&shapes, || file::place(path))?;
    (0..archive.entries.len())
        .map(|chosen| Ok((archive.entries[chosen].1.clone(), archive.array(chosen)?)))
        .collect()
}

pub(super) fn list(path: &Path) -> Outcome<Vec<(String, Vec<usize>)>> {
    Archive::open(path)?.list()
}

struct Archive<'a> {
    path: &'a Path,
    zip: ZipArchive<BufReader<Rationed>>,
    /// Index in the zip and name of each array, in the order of the table of contents.
    entries: Vec<(usize, String)>,
}

impl<'a> Archive<'a> {
    fn open(path: &'a Path) -> Outcome<Self> {
        let left = Rc::new(Cell::new(limits::NPZ_CONTENTS_BYTES));
        let file = Rationed { file: file::open(path)?.file, left: Rc::clone(&left) };
        let zip = ZipArchive::new(BufReader::new(file)).map_err(|error| {
            let fault = if left.get() == 0 { too_many(None) } else { damaged(&error) };
            fault.at(file::place(path))
        })?;
        left.set(u64::MAX); // what follows has limits of its own
        if zip.len() > limits::ARRAYS {
            return Err(too_many(Some(zip.len())).at(file::place(path)).into());
        }
        let entries = arrays_of(&zip).map_err(|error| damaged(&error).at(file::place(path)))?;
        let names = || entries.iter().map(|(_, name)| name.as_str());
        if let Some(name) = doubled(names()) {
            return Err(doubled_name(name).at(file::place(path)).into());
        }
        if zip.has_duplicate_names() {
            return Err(doubled_name("alike").at(file::place(path)).into());
        }
        Ok(Self { path, zip, entries })
    }

    fn list(&mut self) -> Outcome<Vec<(String, Vec<usize>)>> {
        (0..self.entries.len())
            .map(|chosen| {
                let (place, name) = (self.place(chosen), self.entries[chosen].1.clone());
                let entry = self.entry(chosen)?;
                Ok((name, npy::Header::read(entry, &place)?.shape))
            })
            .collect()
    }

    fn array(&mut self, chosen: usize) -> Outcome<Array> {
        let place = self.place(chosen);
        let entry = self.entry(chosen)?;
        let limit = limits::NPY_BYTES + 2 * limits::NPY_HEADER_BYTES;
        let bytes = entry.size();
        if bytes > limit {
            return Err(Fault::new(
                format!("the array unpacks to {} MiB", bytes >> 20),
                format!("at most {} MiB are read from one array", limits::NPY_BYTES >> 20),
                "save the part that is needed (a slice, one layer, one head)",
            )
            .at(place)
            .into());
        }
        npy::parse(entry.take(limit), bytes, &place)
    }

    fn entry(&mut self, chosen: usize) -> Outcome<zip::read::ZipFile<'_, BufReader<Rationed>>> {
        let place = self.place(chosen);
        Ok(self.zip.by_index(self.entries[chosen].0).map_err(|error| damaged(&error).at(place))?)
    }

    fn place(&self, chosen: usize) -> Place {
        file::array_place(self.path, &self.entries[chosen].1)
    }
}

/// The entries that end in `.npy`; others (a note, a folder) are no arrays, and NumPy skips them too.
fn arrays_of<R: Read + Seek>(zip: &ZipArchive<R>) -> Result<Vec<(usize, String)>, ZipError> {
    let mut entries = Vec::new();
    for (index, name) in zip.file_names().enumerate() {
        if let Some(name) = name?.strip_suffix(".npy") {
            entries.push((index, name.to_owned()));
        }
    }
    Ok(entries)
}

/// A file that gives only so many bytes: a zip's table of contents may claim to be as long as it likes.
struct Rationed {
    file: File,
    left: Rc<Cell<u64>>,
}

impl Read for Rationed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let allowed = buffer.len().min(usize::try_from(self.left.get()).unwrap_or(usize::MAX));
        if allowed == 0 && !buffer.is_empty() {
            return Err(io::Error::other("the table of contents is too long"));
        }
        let read = self.file.read(&mut buffer[..allowed])?;
        self.left.set(self.left.get().saturating_sub(read as u64));
        Ok(read)
    }
}

impl Seek for Rationed {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

fn too_many(entries: Option<usize>) -> Fault {
    let what = match entries {
        Some(entries) => format!("the archive has {entries} entries"),
        None => "the archive's table of contents is too long".to_owned(),
    };
    Fault::new(
        what,
        format!("at most {} arrays are read from one file", limits::ARRAYS),
        "save fewer arrays in it",
    )
}

fn damaged(error: &ZipError) -> Fault {
    match error {
        ZipError::UnsupportedArchive(reason) if *reason == ZipError::PASSWORD_REQUIRED => Fault::new(
            "the array is locked with a password",
            "encrypted archives are not read",
            "unpack it, and save it with `numpy.savez`",
        ),
        ZipError::CompressionMethodNotSupported(method) => Fault::new(
            format!("the array is packed with method {method}"),
            "read is what NumPy writes: stored and deflated entries",
            "save it with `numpy.savez` or `numpy.savez_compressed`",
        ),
        ZipError::Io(error) if error.kind() != io::ErrorKind::UnexpectedEof => file::failed_read(error),
        _ => Fault::new(
            "this is not an .npz archive, or only a part of one",
            "an .npz is a zip file, and its table of contents at the end is damaged or not there",
            AGAIN,
        ),
    }
}
