//! Weight files whose headers are cut short, or lie. More of them are met inside, in `src/params/weights`.

use std::fs;

use super::{limited, refused};

#[track_caller]
fn case(promise: &str, name: &str, bytes: &[u8], first: &str, place: &str) {
    let room = tempfile::tempdir().unwrap();
    fs::write(room.path().join(name), bytes).unwrap();
    refused(promise, &limited(room.path(), &[name]), first, &format!("{name}{place}"));
}

/// A safetensors file: the header's length, the header, the tensors' bytes.
fn safetensors(header: &str, data: usize) -> Vec<u8> {
    let length = (header.len() as u64).to_le_bytes();
    [&length, header.as_bytes(), &vec![0; data]].concat()
}

fn tensor(name: &str, shape: &str, from: u64, to: u64) -> String {
    format!("\"{name}\": {{\"dtype\": \"F32\", \"shape\": {shape}, \"data_offsets\": [{from}, {to}]}}")
}

#[test]
fn safetensors_headers_that_are_cut_short_or_lie() {
    let case =
        |promise: &str, bytes: Vec<u8>, first: &str| case(promise, "model.safetensors", &bytes, first, "");
    let broken = "this is not a safetensors file, or only a part of one";
    case("nothing", vec![], "the file is empty");
    case("three bytes", vec![5, 0, 0], broken);
    case("a header of 2^64 − 1 bytes", [&u64::MAX.to_le_bytes(), &b"{}"[..]].concat(), broken);
    case("a header longer than the file", [&1000u64.to_le_bytes(), &b"{}"[..]].concat(), broken);
    case("a header that is no JSON", safetensors("hello world", 0), broken);
    case("a header of 100,000 lists", safetensors(&"[".repeat(100_000), 0), broken);
    case("no tensors", safetensors("{}", 0), "the file holds no tensors");
    let one =
        |shape: &str, to: u64, data: usize| safetensors(&format!("{{{}}}", tensor("a", shape, 0, to)), data);
    case("bytes that are not there", one("[2]", 8, 4), "the tensors take 8 bytes, but 4 follow the header");
    case("a shape that needs more", one("[3]", 8, 8), "a tensor's shape does not fit its bytes");
    case(
        "a shape of 2^66 numbers",
        one("[8589934592, 8589934592]", 8, 8),
        "a tensor's shape is larger than any memory",
    );
    case("fewer than no rows", one("[-2]", 8, 8), broken);
    let two = |a: String, b: String, data: usize| safetensors(&format!("{{{a}, {b}}}"), data);
    case(
        "tensors that overlap",
        two(tensor("a", "[2]", 0, 8), tensor("b", "[2]", 4, 12), 12),
        "tensor b does not begin where the one before it ends",
    );
    case(
        "a name twice",
        two(tensor("a", "[1]", 0, 4), tensor("a", "[1]", 0, 4), 4),
        "the file holds two arrays named a",
    );
    case(
        "a name that would clear the screen",
        two(tensor("\\u001b[2J", "[1]", 0, 4), tensor("b", "[1]", 0, 4), 4),
        "tensor b does not begin where the one before it ends",
    );
}

/// GGUF: a magic word, version, number of tensors and of metadata entries.
fn gguf(version: u32, tensors: u64, entries: u64, rest: &[u8]) -> Vec<u8> {
    let counts = [tensors.to_le_bytes(), entries.to_le_bytes()].concat();
    [b"GGUF", &version.to_le_bytes()[..], &counts, rest].concat()
}

/// The entry of a tensor called `a`.
fn entry(sizes: &[u64], kind: u32) -> Vec<u8> {
    let sizes: Vec<u8> = (sizes.len() as u32)
        .to_le_bytes()
        .into_iter()
        .chain(sizes.iter().flat_map(|n| n.to_le_bytes()))
        .collect();
    [&1u64.to_le_bytes()[..], b"a", &sizes, &kind.to_le_bytes(), &0u64.to_le_bytes()].concat()
}

#[test]
fn gguf_headers_that_are_cut_short_or_lie() {
    let case = |promise: &str, bytes: &[u8], first: &str, place: &str| {
        case(promise, "model.gguf", bytes, first, place);
    };
    case("nothing", b"", "the file is empty", "");
    case("another file", b"PK\x03\x04 and much more of it", "this is not a GGUF file", "");
    case("a later version", &gguf(99, 0, 0, b""), "the file is of GGUF version 99", "");
    case("half a header", b"GGUF\x03\0\0\0", "the file ends inside its header", "");
    case(
        "2^63 tensors",
        &gguf(3, 1 << 63, 0, b""),
        "the header says that 9223372036854775808 tensors follow",
        "",
    );
    case(
        "2^63 entries",
        &gguf(3, 0, 1 << 63, b""),
        "the header says that 9223372036854775808 metadata entries follow",
        "",
    );
    let long_key = [&(1u64 << 62).to_le_bytes()[..], &[b'k'; 40]].concat();
    case(
        "a key of 2^62 bytes",
        &gguf(3, 0, 1, &long_key),
        "the file ends inside its header",
        " (metadata entry 1 of 1)",
    );
    case(
        "a tensor of 2^66 numbers",
        &gguf(3, 1, 0, &entry(&[1 << 33, 1 << 33], 0)),
        "the tensor is 8589934592 × 8589934592 numbers of F32",
        " (tensor a)",
    );
    case("200 axes", &gguf(3, 1, 0, &entry(&[1; 200], 0)), "the tensor has 200 axes", " (tensor a)");
    case(
        "an unknown type",
        &gguf(3, 1, 0, &entry(&[4], 999)),
        "the tensor is of ggml's type 999",
        " (tensor a)",
    );
}

#[test]
fn an_index_names_files_beside_itself() {
    let case = |promise: &str, text: &str, first: &str, place: &str| {
        case(promise, "model.safetensors.index.json", text.as_bytes(), first, place);
    };
    case(
        "a file that is not there",
        r#"{"weight_map": {"a": "nosuch.safetensors"}}"#,
        "nosuch.safetensors is missing",
        " (weight_map)",
    );
    case(
        "a file elsewhere",
        r#"{"weight_map": {"a": "../../etc/passwd"}}"#,
        "the index names the file ../../etc/passwd",
        " (weight_map)",
    );
    case("no map", "{}", "this JSON file is no index of weights", "");
}

#[test]
fn a_pickle_is_never_opened() {
    for name in ["pytorch_model.bin", "model.pt", "model.pth", "model.ckpt"] {
        case(name, name, b"PK\x03\x04 and whatever it would run", "this is a pickle", "");
    }
}
