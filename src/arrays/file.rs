//! Opening files: what is not a plain file with something in it is refused before a byte is read.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::string::FromUtf8Error;

use super::reads;
use crate::fault::{Fault, Faults, Outcome, Place, nearest, reason};

/// A regular file and its length in bytes.
pub(crate) struct Opened {
    pub(crate) file: File,
    pub(crate) bytes: u64,
}

/// Opens a regular file that is not empty. A pipe or a device is refused unopened: opening it could wait for ever.
pub(crate) fn open(path: &Path) -> Outcome<Opened> {
    let found = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if let Some(fault) = not_a_file(&found) {
        return Err(fault.at(place(path)).into());
    }
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    reads(path);
    Ok(Opened { file, bytes: found.len() })
}

/// The whole text of a file of at most `limit` bytes, without a byte order mark.
pub(crate) fn text(path: &Path, limit: u64) -> Outcome<String> {
    let Opened { file, bytes } = open(path)?;
    let mut read = Vec::new();
    file.take(limit + 1).read_to_end(&mut read).map_err(|error| unreadable(path, &error))?;
    if read.len() as u64 > limit {
        return Err(Fault::new(
            format!("the file is {} MiB large", (bytes.max(limit + 1)).div_ceil(1 << 20)),
            format!("numbers as text are read up to {} MiB", limit >> 20),
            "save large arrays as .npy or .safetensors",
        )
        .at(place(path))
        .into());
    }
    let text = String::from_utf8(read).map_err(|error| not_text(path, &error))?;
    Ok(text.strip_prefix('\u{feff}').map(ToOwned::to_owned).unwrap_or(text))
}

/// The whole text of standard input, of at most `limit` bytes.
pub(crate) fn text_of_stdin(limit: u64) -> Outcome<String> {
    let refused = |what: String, why: &str, remedy: &str| {
        Faults::from(Fault::new(what, why, remedy).in_source("standard input"))
    };
    let mut read = Vec::new();
    let failed = |error| Faults::from(failed_read(&error).in_source("standard input"));
    io::stdin().lock().take(limit + 1).read_to_end(&mut read).map_err(failed)?;
    if read.len() as u64 > limit {
        let what = format!("standard input is longer than {} MiB", limit >> 20);
        return Err(refused(
            what,
            "so much text is not read at once",
            "save large arrays as .npy or .safetensors",
        ));
    }
    let text = String::from_utf8(read).map_err(|_| {
        let why = "what is piped in is read as JSON or YAML";
        refused("standard input is no text".to_owned(), why, "name the file instead, with its ending")
    })?;
    Ok(text.strip_prefix('\u{feff}').map(ToOwned::to_owned).unwrap_or(text))
}

/// Whether reading could wait without end: a pipe that nobody writes to, a device. What the shell hands over is open already.
pub(crate) fn could_wait_for_ever(path: &Path, found: &Metadata) -> bool {
    let handed_over =
        path.starts_with("/dev/fd") || path.starts_with("/proc/self/fd") || path == Path::new("/dev/stdin");
    !found.is_file() && !found.is_dir() && !handed_over
}

/// The file as a whole, as the person named it.
pub(crate) fn place(path: &Path) -> Place {
    Place { source: path.display().to_string(), ..Place::default() }
}

/// One array of the file.
pub(super) fn array_place(path: &Path, name: &str) -> Place {
    Place { path: format!("array {name}"), ..place(path) }
}

/// The name of the one array of a file that names none: `w_q` of `weights/w_q.npy`.
pub(super) fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The fault of a read that failed: the file ended early, or the system said no.
pub(crate) fn failed_read(error: &io::Error) -> Fault {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        Fault::new("the file ends too early", "it was cut short on its way, or is still being written", AGAIN)
    } else {
        Fault::new("the file cannot be read", reason(error), AGAIN)
    }
}

/// What to try with a file that arrived damaged.
pub(crate) const AGAIN: &str = "save or copy the file again";

fn not_a_file(found: &Metadata) -> Option<Fault> {
    if found.is_dir() {
        Some(Fault::new("this is a directory", "numbers are read from a file", "name a file inside it"))
    } else if !found.is_file() {
        Some(Fault::new(
            "this is a pipe or a device, no regular file",
            "arrays are read out of order, and their size must be known beforehand",
            "save it to a file first",
        ))
    } else if found.len() == 0 {
        Some(Fault::new("the file is empty", "not even an array without numbers is 0 bytes long", AGAIN))
    } else {
        None
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Fault {
    let fault = match error.kind() {
        io::ErrorKind::NotFound => Fault::new("there is no such file", "", did_you_mean(path)),
        io::ErrorKind::PermissionDenied => Fault::new(
            "the file cannot be read",
            reason(error),
            "allow reading it, or copy it to a place of yours",
        ),
        _ => Fault::new("the file cannot be read", reason(error), "check the path"),
    };
    fault.at(place(path))
}

/// Endings of files that are taken for one another: of numbers, and of lessons.
const READ: &[&str] = &["npy", "npz", "safetensors", "csv", "json", "yaml", "yml", "gguf"];

/// What to try instead of a file that is not there: the name beside it that is most like it.
pub(crate) fn did_you_mean(path: &Path) -> String {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let neighbours: Vec<String> = fs::read_dir(folder)
        .map(|entries| {
            entries.take(1_000).flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect()
        })
        .unwrap_or_default();
    // An ending in common makes no two names alike, and a name alike is no help where the file is of another kind.
    let wanted = stem(path);
    let ending = |path: &Path| path.extension().map(|ending| ending.to_ascii_lowercase());
    let could_be_it = |name: &&String| match ending(path) {
        None => true,
        Some(asked) => ending(Path::new(name)).is_some_and(|other| {
            other == asked || [asked, other].iter().all(|one| READ.iter().any(|known| one == *known))
        }),
    };
    let neighbours: Vec<String> = neighbours.iter().filter(could_be_it).cloned().collect();
    let stems = neighbours.iter().map(|name| name.rsplit_once('.').map_or(name.as_str(), |(stem, _)| stem));
    let near = nearest(&wanted, stems);
    match near.and_then(|near| neighbours.iter().find(|name| name.starts_with(near))) {
        Some(near) => format!("did you mean {near}?"),
        None => "check the path".to_owned(),
    }
}

fn not_text(path: &Path, error: &FromUtf8Error) -> Fault {
    let what = format!("byte {} is not text (UTF-8)", error.utf8_error().valid_up_to() + 1);
    let (why, remedy) = match is_utf16(error.as_bytes()) {
        true => (UTF16, TO_UTF8),
        false => (
            "CSV and JSON are text; this looks like a binary file or another encoding",
            "save it as UTF-8, or give a binary file its own ending (.npy, .npz, .safetensors)",
        ),
    };
    Fault::new(what, why, remedy).at(place(path))
}

/// Whether bytes begin with the byte order mark of UTF-16.
pub(crate) fn is_utf16(bytes: &[u8]) -> bool {
    matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..])
}

/// What is said of a file that is.
pub(crate) const UTF16: &str = "it seems to be UTF-16, which > in Windows PowerShell writes";

/// What to do with it.
pub(crate) const TO_UTF8: &str = "save it as UTF-8: | Out-File -Encoding utf8 FILE in place of > FILE";
