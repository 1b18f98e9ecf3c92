//! Files of numbers and of weights.

use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::room::{Room, lesson, words};
use super::{At, LITTLE, MUCH, Over, over};

const MIB: u64 = 1 << 20;

/// `mha check two-heads FILE`.
fn checked(file: &str) -> Vec<String> {
    words(&format!("check two-heads {file}"))
}

/// An .npy header of version 1.0.
fn npy(kind: &str, shape: &str) -> Vec<u8> {
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes
}

/// An .npy file of zeros.
fn zeros(room: &Room, kind: &str, shape: &str, bytes: u64) -> Vec<String> {
    let header = npy(kind, shape);
    room.sparse("a.npy", &header, header.len() as u64 + bytes);
    checked("a.npy")
}

/// A .safetensors file of zeros with this header.
fn safetensors(room: &Room, header: &str, bytes: u64) -> Vec<String> {
    let mut beginning = (header.len() as u64).to_le_bytes().to_vec();
    beginning.extend(header.as_bytes());
    room.sparse("a.safetensors", &beginning, beginning.len() as u64 + bytes);
    checked("a.safetensors")
}

fn tensors(count: usize) -> String {
    let one = |at| format!("\"t{at}\":{{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[{at},{}]}}", at + 1);
    format!("{{{}}}", (0..count).map(one).collect::<Vec<_>>().join(","))
}

/// `name.npy` with these zeros in it, packed a thousand to one.
fn bomb(kind: &str, shape: &str, mebibytes: u64) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let packed = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    zip.start_file("w.npy", packed).unwrap();
    zip.write_all(&npy(kind, shape)).unwrap();
    for _ in 0..mebibytes {
        zip.write_all(&[0; 1 << 20]).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Names that are as long as names in an archive may be.
fn npz_of_long_names(room: &Room, count: usize) -> Vec<String> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for at in 0..count {
        zip.start_file(format!("{at:065000}.npy"), stored).unwrap();
    }
    room.write("a.npz", zip.finish().unwrap().into_inner());
    checked("a.npz")
}

/// A GGUF file that says so of itself, and is so long.
fn gguf(room: &Room, tensors: u64, entries: u64, rest: &[u8], length: u64) -> Vec<String> {
    let counts = [tensors.to_le_bytes(), entries.to_le_bytes()].concat();
    let beginning = [b"GGUF".as_slice(), &3_u32.to_le_bytes(), &counts, rest].concat();
    room.sparse("m.gguf", &beginning, length.max(beginning.len() as u64 + 1));
    words("params m.gguf")
}

fn string(text: &[u8]) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text].concat()
}

fn entry(key: &[u8], kind: u32, value: &[u8]) -> Vec<u8> {
    [string(key), kind.to_le_bytes().to_vec(), value.to_vec()].concat()
}

/// A tensor of 32 numbers at the beginning of the data.
fn tensor(name: &[u8]) -> Vec<u8> {
    [string(name), 1_u32.to_le_bytes().to_vec(), 32_u64.to_le_bytes().to_vec(), vec![0; 4 + 8]].concat()
}

/// `general.architecture` is llama.
fn architecture() -> Vec<u8> {
    entry(b"general.architecture", 8, &string(b"llama"))
}

fn index(room: &Room, weight_map: &str) -> Vec<String> {
    room.write("m/model.safetensors.index.json", format!("{{\"weight_map\": {{{weight_map}}}}}"));
    words("params m")
}

fn sheet(room: &Room, lines: &str) -> Vec<String> {
    room.write("a.csv", format!("step,row,column,value\n{lines}"));
    checked("a.csv")
}

pub(crate) const OVER: &[Over] = &[
    over(
        "SHOWN",
        |room| {
            room.write("a.csv", format!("1\n{}", "x\n".repeat(50)));
            checked("a.csv")
        },
        "row 11, column 1 is \"x\", not a number",
    ),
    over(
        "TEXT_BYTES",
        |room| {
            room.sparse("a.csv", b"1,2\n", 64 * MIB + 1);
            checked("a.csv")
        },
        "the file is 65 MiB large",
    ),
    over(
        "CSV_CELLS",
        |room| {
            room.write("a.csv", "1,".repeat((1 << 22) + 1));
            checked("a.csv")
        },
        "the file has about 4194305 cells",
    ),
    // A thousand steps of 1024 × 1024 are eight gigabytes, in 22 kB.
    over(
        "CSV_CELLS",
        |room| {
            let lines: String = (0..1_000).map(|step| format!("s{step},1024,1024,1\n")).collect();
            sheet(room, &lines)
        },
        "the steps of the sheet have 1048576000 numbers in all",
    ),
    over("SHEET_SIDE", |room| sheet(room, "output,4097,1,1\n"), "not a number from 1 to 4096"),
    over(
        "SHEET_CELLS",
        |room| sheet(room, "output,4096,257,1\n"),
        "a step of 4096 × 257 numbers is too large for a sheet",
    ),
    over(
        "EXACT_INTEGER",
        |room| {
            room.write("a.csv", "9007199254740993\n");
            checked("a.csv")
        },
        "9007199254740993",
    ),
    over(
        "NPY_BYTES",
        |room| zeros(room, "<f8", "(5793, 5793)", 5793 * 5793 * 8),
        "an array of 5793 × 5793 takes 256 MiB",
    ),
    over(
        "NUMBERS",
        |room| zeros(room, "|b1", "(8192, 8193)", 8192 * 8193),
        "an array of 8192 × 8193 is too large",
    ),
    // As many as one file may hold, 64 MiB of truth values in 64 KiB: they are read, and are no step.
    over(
        "NUMBERS",
        |room| {
            room.write("a.npz", bomb("|b1", "(8192, 8192)", 64));
            checked("a.npz")
        },
        "no tensor is a step of this lesson",
    )
    .in_space(MUCH),
    over(
        "NPY_HEADER_BYTES",
        |room| {
            let beginning = [b"\x93NUMPY\x02\x00".as_slice(), &65_536_u32.to_le_bytes()].concat();
            room.sparse("a.npy", &beginning, 1 << 20);
            checked("a.npy")
        },
        "its header claims to be 65536 bytes long",
    ),
    over("AXES", |room| zeros(room, "<f8", "(1, 1, 1, 1, 1, 1, 1, 1, 1)", 8), "at most 8 axes are read"),
    over(
        "ARRAYS",
        |room| {
            let names: Vec<String> = (0..4_097).map(|at| format!("\"{at}\": [[1]]")).collect();
            room.write("a.json", format!("{{{}}}", names.join(", ")));
            checked("a.json")
        },
        "the file names more than 4096 arrays",
    ),
    over("NPZ_CONTENTS_BYTES", |room| npz_of_long_names(room, 270), "table of contents"),
    // 64 MiB of truth values in 64 KiB would be 512 MiB of numbers: refused by their shape.
    over(
        "MATRIX_NUMBERS",
        |room| {
            room.write("w.npz", bomb("|b1", "(8192, 8192)", 64));
            room.traced(lesson("[[1, 2]]", "").replace("w_q: identity", "w_q: {file: w.npz}"))
        },
        "would be 8192 × 8192, more than the 4194304 numbers that a matrix may have",
    ),
    over(
        "SAFETENSORS_HEADER_BYTES",
        |room| {
            room.sparse("a.safetensors", &(8 * MIB + 1).to_le_bytes(), 10 * MIB);
            checked("a.safetensors")
        },
        "the header is 9 MiB long",
    ),
    over(
        "TENSORS",
        |room| safetensors(room, &tensors(20_001), 20_001),
        "the header names more than 20000 tensors",
    ),
    over("TENSORS", |room| gguf(room, 20_001, 0, &[], 4 * MIB), "20001 tensors"),
    over(
        "ANSWER_MATRICES",
        |room| {
            let header = r#"{"weights":{"dtype":"U8","shape":[65537,1,1],"data_offsets":[0,65537]}}"#;
            safetensors(room, header, 65_537)
        },
        "is 65537 × 1 × 1",
    )
    .ends_with(1),
    over(
        "GGUF_HEADER_BYTES",
        |room| {
            let long = [8_u32.to_le_bytes().as_slice(), &(65 * MIB).to_le_bytes()].concat();
            gguf(room, 1, 2, &[architecture(), string(b"long"), long].concat(), 80 * MIB)
        },
        "the header is over 64 MiB long",
    ),
    over("GGUF_ENTRIES", |room| gguf(room, 1, 4_097, &architecture(), MIB), "4097 metadata entries"),
    over(
        "GGUF_KEY_BYTES",
        |room| gguf(room, 1, 1, &entry(&[b'k'; 1_025], 4, &[0; 4]), MIB),
        "1025 bytes long",
    ),
    over(
        "GGUF_NAME_BYTES",
        |room| gguf(room, 1, 1, &[architecture(), string(&[b'n'; 128])].concat(), MIB),
        "name is 128 bytes long",
    ),
    over(
        "GGUF_LIST",
        |room| {
            let list =
                [9_u32.to_le_bytes().as_slice(), &4_u32.to_le_bytes(), &((1_u64 << 21) + 1).to_le_bytes()]
                    .concat();
            gguf(room, 1, 2, &[architecture(), string(b"tokenizer.ggml.tokens"), list].concat(), 32 * MIB);
            words("trace --model m.gguf --text a")
        },
        "2097153",
    ),
    // A list of 256 of the largest numbers takes 5 kB as text, and 200 of them more than a mebibyte.
    over(
        "METADATA_BYTES",
        |room| {
            let list = [10_u32.to_le_bytes().as_slice(), &256_u64.to_le_bytes(), &[0xff; 8 * 256]].concat();
            let lists = (0..200).flat_map(|at| entry(format!("k{at}").as_bytes(), 9, &list));
            gguf(room, 1, 201, &[architecture(), lists.collect()].concat(), MIB)
        },
        "the metadata is too long",
    ),
    // One number more, and a list is only counted: where a size is looked for, there is none.
    over(
        "GGUF_ARRAY",
        |room| {
            let length = 257_u64.to_le_bytes();
            let list = [4_u32.to_le_bytes().as_slice(), &length, &[0; 4 * 257]].concat();
            let heads = entry(b"llama.attention.head_count", 9, &list);
            gguf(room, 1, 2, &[architecture(), heads, tensor(b"w")].concat(), MIB);
            words("params m.gguf --format json")
        },
        "257",
    )
    .ends_with(0),
    over(
        "VALUE_CHARACTERS",
        |room| {
            let name = entry(b"general.name", 8, &string(&[b'a'; 300]));
            gguf(room, 1, 2, &[architecture(), name, tensor(b"w")].concat(), MIB);
            words("params m.gguf --format json")
        },
        "a…",
    )
    .ends_with(0),
    over(
        "INDEX_BYTES",
        |room| {
            room.sparse("m/model.safetensors.index.json", b"{", 64 * MIB + 1);
            words("params m")
        },
        "the index is 65 MiB large",
    ),
    over(
        "INDEX_TENSORS",
        |room| {
            let names: Vec<String> = (0..=500_000).map(|at| format!("\"{at:x}\":\"a\"")).collect();
            index(room, &names.join(","))
        },
        "it names over 500000 tensors",
    ),
    over("INDEX_NAME_BYTES", |room| index(room, &format!("\"{}\":\"a\"", "n".repeat(1_025))), "1024"),
    over(
        "FOLDER_ENTRIES",
        |room| {
            for at in 0..=10_000 {
                room.write(&format!("m/{at}"), "");
            }
            words("params m")
        },
        "the folder holds more than 10000 files",
    ),
];

pub(crate) const AT: &[At] = &[
    ("64 MiB of truth values", |room| zeros(room, "|b1", "(8388608,)", 1 << 23), LITTLE),
    (
        "20,000 tensors",
        |room| {
            safetensors(room, &tensors(20_000), 20_000);
            words("params a.safetensors")
        },
        LITTLE,
    ),
];
