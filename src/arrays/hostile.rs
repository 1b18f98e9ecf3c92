//! Files that lie, break off or explode: each gets a sentence, none a panic and none the machine's memory.

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

use super::{Array, Kind, list, npy, npz, read, read_all};

fn write(folder: &TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    path
}

/// Reads it in all three ways; every refusal must say what to try and where.
#[track_caller]
fn refusal(path: &Path, name: Option<&str>) -> String {
    for faults in [list(path).err(), read_all(path).err()].into_iter().flatten() {
        assert!(faults.0.iter().all(|fault| fault.place.is_some()), "{faults}");
    }
    let faults = read(path, name).expect_err("must be refused");
    let shown = faults.to_string();
    assert!(shown.contains("-->") && shown.contains("try:"), "{shown}");
    assert!(!shown.contains('\u{1b}'), "control characters are shown, not sent");
    shown
}

#[track_caller]
fn case(name: &str, bytes: &[u8], message: &str) {
    let folder = TempDir::new().unwrap();
    let shown = refusal(&write(&folder, name, bytes), None);
    assert!(shown.contains(message), "{name}: {shown}");
}

fn small() -> Array {
    Array::new(vec![1, 2], vec![1.0, 2.0], Kind::F64).unwrap()
}

fn npy_bytes() -> Vec<u8> {
    let mut bytes = Vec::new();
    npy::write(&mut bytes, &small()).unwrap();
    bytes
}

fn npz_bytes(names: &[&str]) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    npz::write(&mut bytes, names.iter().map(|name| ((*name).to_owned(), small()))).unwrap();
    bytes.into_inner()
}

fn zipped(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        zip.start_file(*name, options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn tensors(header: &str, data: usize) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.resize(bytes.len() + data, 0);
    bytes
}

/// Every place where `old` stands in `bytes` gets `new`, of the same length.
fn patched(mut bytes: Vec<u8>, old: &[u8], new: &[u8]) -> Vec<u8> {
    assert_eq!(old.len(), new.len());
    let places: Vec<usize> =
        (0..=bytes.len() - old.len()).filter(|at| bytes[*at..].starts_with(old)).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + new.len()].copy_from_slice(new);
    }
    bytes
}

#[test]
fn what_is_no_file_of_its_own_is_named() {
    let folder = TempDir::new().unwrap();
    for ending in ["npy", "npz", "safetensors", "csv", "json"] {
        let directory = folder.path().join(format!("directory.{ending}"));
        fs::create_dir(&directory).unwrap();
        assert!(refusal(&directory, None).contains("this is a directory"));
        assert!(refusal(&write(&folder, &format!("w.{ending}"), b""), None).contains("the file is empty"));
        assert!(refusal(&folder.path().join(format!("v.{ending}")), None).contains("no such file"));
    }
    let typo = refusal(&folder.path().join("directory.npx.npy"), None);
    assert!(typo.contains("did you mean directory.np"), "{typo}");
}

/// Opening a pipe waits until someone writes into it: it must be refused unopened.
#[cfg(unix)]
#[test]
fn a_pipe_is_refused_without_waiting_for_it() {
    let folder = TempDir::new().unwrap();
    let pipe = folder.path().join("pipe.npy");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(refusal(&pipe, None).contains("pipe or a device"));
    let device = folder.path().join("device.npy");
    std::os::unix::fs::symlink("/dev/zero", &device).unwrap();
    assert!(refusal(&device, None).contains("pipe or a device"));
}

#[test]
fn a_file_cut_short_at_any_length_is_refused() {
    let header = r#"{"w":{"dtype":"F64","shape":[1,2],"data_offsets":[0,16]}}"#;
    let json = br#"{"w": [[1.5, NaN], [-Infinity, 4]]}"#.to_vec();
    for (name, whole) in [
        ("w.npy", npy_bytes()),
        ("w.npz", npz_bytes(&["w"])),
        ("packed.npz", zipped(&[("w.npy", &npy_bytes())])),
        ("w.safetensors", tensors(header, 16)),
        ("w.json", json),
    ] {
        let folder = TempDir::new().unwrap();
        assert!(read(&write(&folder, name, &whole), None).is_ok(), "{name}");
        for length in 0..whole.len() {
            refusal(&write(&folder, name, &whole[..length]), None);
        }
    }
}

#[test]
fn a_changed_byte_never_panics() {
    let header = r#"{"w":{"dtype":"F64","shape":[1,2],"data_offsets":[0,16]}}"#;
    for (name, whole) in [
        ("w.npy", npy_bytes()),
        ("w.npz", npz_bytes(&["w"])),
        ("packed.npz", zipped(&[("w.npy", &npy_bytes())])),
        ("w.safetensors", tensors(header, 16)),
    ] {
        let folder = TempDir::new().unwrap();
        for at in 0..whole.len() {
            for change in [0x01, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] ^= change;
                let path = write(&folder, name, &bytes);
                let _ = (read(&path, None), list(&path));
            }
        }
    }
}

#[test]
fn an_npz_cannot_explode() {
    let zeros = vec![0_u8; 1 << 20];
    let bomb = zipped(&[("w.npy", &zeros)]);
    case("bomb.npz", &bomb, "not an .npy array");
    // The same million zeros, declared as 1 GiB, and with a header that agrees.
    let gib = patched(bomb, &(1_u32 << 20).to_le_bytes(), &(1_u32 << 30).to_le_bytes());
    case("gib.npz", &gib, "unpacks to 1024 MiB");
    // Declared as 16 bytes, but unpacks to more: the rest is not read.
    let honest = zipped(&[("w.npy", &[npy_bytes(), vec![0; 100_000]].concat())]);
    case("longer.npz", &honest, "more than one array");
    let length = (npy_bytes().len() as u32 + 100_000).to_le_bytes();
    let shorter = patched(honest, &length, &(npy_bytes().len() as u32).to_le_bytes());
    case("shorter.npz", &shorter, "cannot be read");
    let damaged = patched(npz_bytes(&["w"]), &2_f64.to_le_bytes(), &3_f64.to_le_bytes());
    case("damaged.npz", &damaged, "cannot be read");
}

#[test]
fn an_npz_is_a_zip_of_arrays_with_names_of_their_own() {
    case("no-zip.npz", b"\x93NUMPY and so on", "not an .npz archive");
    case("text.npz", &zipped(&[("readme.txt", b"no arrays here")]), "holds no arrays");
    case("two.npz", &npz_bytes(&["q", "k"]), "it holds q, k");
    case("other.npz", &zipped(&[("w.npy", b"PK no array")]), "not an .npy array");
    let twice = patched(npz_bytes(&["a", "b"]), b"b.npy", b"a.npy");
    case("twice.npz", &twice, "two arrays named");
    let many: Vec<String> = (0..4_097).map(|i| format!("{i}.npy")).collect();
    let many: Vec<(&str, &[u8])> = many.iter().map(|name| (name.as_str(), b"".as_slice())).collect();
    case("many.npz", &zipped(&many), "4097 entries");
    let long = "x".repeat(60_000);
    let long: Vec<String> = (0..300).map(|i| format!("{long}{i}.npy")).collect();
    let long: Vec<(&str, &[u8])> = long.iter().map(|name| (name.as_str(), b"".as_slice())).collect();
    case("long.npz", &zipped(&long), "table of contents is too long");
    let two = npz::write(Cursor::new(Vec::new()), [("w".to_owned(), small()), ("w".to_owned(), small())]);
    assert!(two.is_err(), "nor is one written");
}

#[test]
fn a_safetensors_header_that_lies_is_found_out() {
    let one = |tensor: &str| format!(r#"{{"w":{{{tensor}}}}}"#);
    let f64s = |shape: &str, from: u64, to: u64| {
        one(&format!(r#""dtype":"F64","shape":{shape},"data_offsets":[{from},{to}]"#))
    };
    let file =
        |header: &str, data: usize, message: &str| case("w.safetensors", &tensors(header, data), message);
    file(&f64s("[2]", 0, 8), 8, "shape does not fit its bytes");
    file(&f64s("[8589934592,8589934592]", 0, 0), 0, "larger than any memory");
    file(&f64s("[0,4611686018427387904]", 0, 0), 0, "too large");
    file(&f64s("[1]", 8, 16), 16, "does not begin where the one before it ends");
    file(&f64s("[1]", 16, 8), 16, "does not begin where the one before it ends");
    file(&f64s("[1]", 0, 8), 4, "take 8 bytes, but 4 follow");
    file(&f64s("[1]", 0, 8), 12, "take 8 bytes, but 12 follow");
    file(&f64s("[1,1,1,1,1,1,1,1,1]", 0, 8), 8, "has 9 axes");
    file(&f64s("[-1]", 0, 8), 8, "header is broken");
    file(&one(r#""dtype":"F65","shape":[1],"data_offsets":[0,8]"#), 8, "header is broken");
    file(
        r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}"#,
        2,
        "two arrays named a",
    );
    file(r#"{"__metadata__":{"a":1}}"#, 0, "header is broken");
    file("{}", 0, "holds no arrays");
    file(&"[".repeat(100_000), 0, "header is broken");
    file(&format!("{}{}", r#"{"a":"#.repeat(50_000), "}".repeat(50_000)), 0, "header is broken");
    let empty: Vec<String> =
        (0..20_001).map(|i| format!(r#""{i}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}"#)).collect();
    file(&format!("{{{}}}", empty.join(",")), 0, "more than 20000 tensors");
    case("w.safetensors", &u64::MAX.to_le_bytes(), "header would be 18446744073709551615 bytes");
    case("w.safetensors", &tensors(&" ".repeat(9 << 20), 0), "header is 9 MiB long");
    let escape = r#"{"\u001b[2J":{"dtype":"C64","shape":[1],"data_offsets":[0,8]}}"#;
    case("w.safetensors", &tensors(escape, 8), r"(array \e[2J)");
}

#[test]
fn text_that_is_no_array_is_refused() {
    for (text, message) in [
        ("[".repeat(100_000), "nested more than 8 deep"),
        (r#"{"a":"#.repeat(100_000), "is an object"),
        ("[[1, 2], [3]]".to_owned(), "row 2 has 1 number"),
        ("nonsense".to_owned(), "not JSON"),
        ("{}".to_owned(), "holds no arrays"),
        ("\u{feff}".to_owned(), "not JSON"),
    ] {
        case("w.json", text.as_bytes(), message);
    }
    case("w.json", b"[1, \xff]", "byte 5 is not text");
    case("w.csv", b"\x00\x01\x02", "no number in it");
    case("w.csv", b"1,2\n3,\x1b[2J\n", "row 2, column 2 is \"\\e[2J\"");
    case("w.csv", "1,2\n".repeat((64 << 20) / 4 + 1).as_bytes(), "the file is 65 MiB large");
}

#[test]
fn an_npz_has_the_same_bytes_every_time_and_reads_back() {
    let folder = TempDir::new().unwrap();
    let bytes = npz_bytes(&["b", "a"]);
    assert_eq!(bytes, npz_bytes(&["b", "a"]));
    let back = read_all(&write(&folder, "w.npz", &bytes)).unwrap();
    assert_eq!(back, [("b".to_owned(), small()), ("a".to_owned(), small())]);
}
