//! Files of numbers that a lesson names: broken, lying, hostile, or not there.

use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::{LESSON, lesson_refused, refused, room, run};

/// Two tokens, d_model = 2, one head; `w_q` is what a row says.
fn lesson(w_q: &str) -> String {
    format!(
        "attention: {{}}\ninputs: {{x: [[1, 2], [3, 4]]}}\n\
         projections: {{w_q: {w_q}, w_k: identity, w_v: identity, w_o: identity}}\n"
    )
}

/// What is wrong with `w_q`, read from a file of this name and these bytes.
#[track_caller]
fn case(promise: &str, name: &str, bytes: impl AsRef<[u8]>, first: &str) {
    let room = room();
    fs::write(room.path().join(name), bytes).unwrap();
    of(promise, room.path(), &format!("{{file: {name}}}"), first);
}

#[track_caller]
fn of(promise: &str, folder: &Path, w_q: &str, first: &str) {
    fs::write(folder.join(LESSON), lesson(w_q)).unwrap();
    lesson_refused(promise, folder, &format!("projections.w_q{first}"), "lesson.yaml:3:15 (projections.w_q)");
}

/// An .npy whose header says so.
fn npy(shape: &str, descr: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// 1, 2, 3, 4 in double precision.
fn four() -> Vec<u8> {
    [1.0_f64, 2.0, 3.0, 4.0].iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn npz(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, bytes) in entries {
        zip.start_file(*name, options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn safetensors(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

#[test]
fn a_file_that_is_empty_or_something_else_says_so() {
    for name in ["w.npy", "w.npz", "w.safetensors", "w.csv", "w.json"] {
        case(&format!("an empty {name}"), name, b"", ": the file is empty");
    }
    let binary = b"\x7fELF\x02\x01\x01\0\xff\xfe\0\0\0\0\0\0\0\0\0\0";
    case("a program named .npy", "w.npy", binary, ": this is not an .npy array");
    case("a program named .npz", "w.npz", binary, ": this is not an .npz archive, or only a part of one");
    case(
        "a program named .safetensors",
        "w.safetensors",
        binary,
        ": this is not a safetensors file, or only a part of one",
    );
    case("a program named .csv", "w.csv", binary, ": byte 9 is not text (UTF-8)");
    case("a program named .json", "w.json", binary, ": byte 9 is not text (UTF-8)");
    case("a checkpoint of PyTorch", "w.pt", binary, ": arrays are not read from .pt files");
}

#[test]
fn what_a_file_says_of_itself_is_compared_with_what_is_there() {
    let half = &four()[..16];
    case(
        "an .npy cut short",
        "w.npy",
        npy("(2, 2)", "<f8", half),
        ": an array of 2 × 2 takes 32 bytes here, but 16 follow",
    );
    case(
        "an .npy cut short in its header",
        "w.npy",
        &npy("(2, 2)", "<f8", half)[..40],
        ": the file ends too early",
    );
    case(
        "sizes whose product overflows",
        "w.npy",
        npy("(8589934592, 8589934592)", "<f8", half),
        ": an array of 8589934592 × 8589934592 is too large",
    );
    case(
        "an .npy of Python objects",
        "w.npy",
        npy("(1,)", "|O", half),
        ": this array holds Python objects, not numbers",
    );
    let whole = npz(&[("w.npy", &npy("(2, 2)", "<f8", &four()))]);
    case(
        "an .npz cut short",
        "w.npz",
        &whole[..whole.len() - 30],
        ": this is not an .npz archive, or only a part of one",
    );
    let header = r#"{"w":{"dtype":"F64","shape":[2,2],"data_offsets":[0,32]}}"#;
    case(
        "a .safetensors cut short",
        "w.safetensors",
        safetensors(header, half),
        ": the tensors take 32 bytes, but 16 follow the header",
    );
    let mut endless = safetensors("{}", &[]);
    endless[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    case(
        "a header as long as 2⁶⁴",
        "w.safetensors",
        endless,
        ": this is not a safetensors file, or only a part of one",
    );
    let overflow = r#"{"w":{"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,32]}}"#;
    case(
        "a shape that overflows",
        "w.safetensors",
        safetensors(overflow, &four()),
        ": a tensor's shape is larger than any memory",
    );
    let beyond = r#"{"w":{"dtype":"F64","shape":[2,2],"data_offsets":[32,64]}}"#;
    case(
        "a tensor that begins nowhere",
        "w.safetensors",
        safetensors(beyond, &four()),
        ": tensor w does not begin where the one before it ends",
    );
    let twice = r#"{"w":{"dtype":"F64","shape":[2],"data_offsets":[0,16]},"w":{"dtype":"F64","shape":[2],"data_offsets":[16,32]}}"#;
    case(
        "two tensors of one name",
        "w.safetensors",
        safetensors(twice, &four()),
        ": the file holds two arrays named w",
    );
    let deep = format!("{{\"w\":{}", "[".repeat(100_000));
    case(
        "a header without bottom",
        "w.safetensors",
        safetensors(&deep, &[]),
        ": this is not a safetensors file, or only a part of one",
    );
}

#[test]
fn the_numbers_of_a_file_keep_the_rules_of_typed_ones() {
    case("a ragged .csv", "w.csv", "1,2\n3\n", ": row 2 has 1 number, but row 1 has 2");
    case("a word in a .csv", "w.csv", "1,2\n3,x\n", ": row 2, column 2 is \"x\", not a number");
    case("NaN in a .csv", "w.csv", "1,nan\n3,4\n", " holds NaN in row 1, column 2");
    case("a ragged .json", "w.json", "[[1, 2], [3]]", ": row 2 has 1 number, but row 1 has 2");
    case(
        "an escape sequence in a .csv",
        "w.csv",
        "1,\x1b[2J\n3,4\n",
        ": row 1, column 2 is \"\\e[2J\", not a number",
    );
    case("a matrix of another shape", "w.csv", "1,2,3\n4,5,6\n", " is 2 × 3, but X · W_Q needs 2 × 2");
}

#[test]
fn an_array_is_chosen_by_its_name() {
    let room = room();
    let two = r#"{"w\u001b[2J": [[1, 2], [3, 4]], "w_query": [[1, 2], [3, 4]]}"#;
    fs::write(room.path().join("all.json"), two).unwrap();
    of(
        "two arrays, none named",
        room.path(),
        "{file: all.json}",
        ": the file holds 2 arrays, and none is named",
    );
    of("a mistyped name", room.path(), "{file: all.json, array: w_qury}", ": the file has no array w_qury");
    of(
        "a name with an escape sequence",
        room.path(),
        "{file: all.json, array: \"\\e[2J\\a\"}",
        ": the file has no array \\e[2J\\u{7}",
    );
    of(
        "an array and a tensor",
        room.path(),
        "{file: all.json, array: a, tensor: b}",
        " names both an array and a tensor",
    );
    of("no file at all", room.path(), "{array: w_query}", " names no file");
}

/// Under a limit of 256 MiB of addresses.
#[cfg(unix)]
#[test]
fn a_small_file_that_unpacks_to_a_large_one_costs_no_memory() {
    let zeros = vec![0; 48 << 20];
    let honest = npz(&[("w.npy", &npy("(50331648,)", "|u1", &zeros))]);
    let lying = npz(&[("w.npy", &npy("(2, 2)", "<f8", &zeros))]);
    let huge = npz(&[("w.npy", &npy("(1000000000000,)", "<f8", &zeros[..1024]))]);
    for (promise, bytes, first) in [
        (
            "it says so",
            honest,
            " would be a list of 50331648, more than the 4194304 numbers that a matrix may have",
        ),
        ("it says less", lying, ": an array of 2 × 2 takes 32 bytes here, but 50331648 follow"),
        ("it says more", huge, ": an array of 1000000000000 is too large"),
    ] {
        assert!(bytes.len() < 100_000, "{promise}: {} bytes are not small", bytes.len());
        let room = room();
        fs::write(room.path().join("w.npz"), bytes).unwrap();
        fs::write(room.path().join(LESSON), lesson("{file: w.npz}")).unwrap();
        let mut shell = run::shell("ulimit -v 262144 && exec \"$0\" trace lesson.yaml", room.path());
        let first = format!("projections.w_q{first}");
        refused(promise, &run::ended(&mut shell), &first, Some("lesson.yaml:3:15 (projections.w_q)"));
    }
}
