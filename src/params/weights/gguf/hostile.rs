//! Headers that lie about themselves: each is refused with its place, and none takes memory for what it only claims.
//!
//! The smallest whole GGUF file, byte by byte, is [`whole`]; every case is that file with one thing changed.

use tempfile::TempDir;

use crate::params::weights::hostile::{refusal, write};
use crate::params::weights::{Kind, in_folder, open};

/// `GGUF`, version 3, one tensor, two metadata entries, then:
///
/// ```text
/// 20 0 0 0 0 0 0 0  "general.architecture"  8 0 0 0 (a string)  5 0 0 0 0 0 0 0  "llama"
/// 17 0 0 0 0 0 0 0  "llama.block_count"     4 0 0 0 (a u32)     2 0 0 0
///  1 0 0 0 0 0 0 0  "w"  2 0 0 0 (axes)  32, 3 (a row, rows; u64)  8 0 0 0 (Q8_0)  0 (its start; u64)
/// ```
///
/// padding to a multiple of 32, and 3 rows of one block of 34 bytes.
pub(in crate::params::weights) struct Gguf {
    magic: &'static [u8],
    version: u32,
    tensor_count: u64,
    entry_count: u64,
    entries: Vec<u8>,
    tensors: Vec<u8>,
    data: usize,
}

pub(in crate::params::weights) fn whole() -> Gguf {
    Gguf {
        magic: b"GGUF",
        version: 3,
        tensor_count: 1,
        entry_count: 2,
        entries: [
            entry(b"general.architecture", 8, &string(b"llama")),
            entry(b"llama.block_count", 4, &2_u32.to_le_bytes()),
        ]
        .concat(),
        tensors: tensor(b"w", &[32, 3], 8, 0),
        data: 102,
    }
}

pub(in crate::params::weights) fn string(text: &[u8]) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text].concat()
}

fn entry(key: &[u8], value_type: u32, value: &[u8]) -> Vec<u8> {
    [string(key), value_type.to_le_bytes().to_vec(), value.to_vec()].concat()
}

fn list(element: u32, length: u64, elements: &[u8]) -> Vec<u8> {
    [&element.to_le_bytes(), length.to_le_bytes().as_slice(), elements].concat()
}

fn tensor(name: &[u8], axes: &[u64], ggml_type: u32, start: u64) -> Vec<u8> {
    let mut bytes = string(name);
    bytes.extend((axes.len() as u32).to_le_bytes());
    bytes.extend(axes.iter().flat_map(|axis| axis.to_le_bytes()));
    bytes.extend(ggml_type.to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes
}

impl Gguf {
    pub(in crate::params::weights) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.magic.to_vec();
        bytes.extend(self.version.to_le_bytes());
        bytes.extend(self.tensor_count.to_le_bytes());
        bytes.extend(self.entry_count.to_le_bytes());
        bytes.extend(&self.entries);
        bytes.extend(&self.tensors);
        bytes.resize(bytes.len().next_multiple_of(32) + self.data, 0);
        bytes
    }

    /// The same with one more metadata entry.
    fn and(mut self, entry: &[u8]) -> Self {
        self.entry_count += 1;
        self.entries.extend(entry);
        self
    }

    /// The same with these tensors instead.
    fn of(mut self, tensors: &[Vec<u8>]) -> Self {
        self.tensor_count = tensors.len() as u64;
        self.tensors = tensors.concat();
        self
    }
}

#[track_caller]
fn case(gguf: &Gguf, said: &[&str]) {
    let folder = TempDir::new().unwrap();
    let shown = refusal(&write(&folder, "m.gguf", &gguf.bytes()));
    for said in said {
        assert!(shown.contains(said), "{said}: {shown}");
    }
}

#[test]
fn the_smallest_whole_file_is_counted() {
    let folder = TempDir::new().unwrap();
    for version in [2, 3] {
        let file = open(&write(&folder, "m.gguf", &Gguf { version, ..whole() }.bytes())).unwrap();
        assert_eq!((file.kind, file.stored_count(), file.stored_bytes()), (Kind::Gguf, 96, 102));
        assert_eq!(file.tensors[0].shape, [3, 32], "as PyTorch prints it: rows, then a row's length");
        assert_eq!(file.architecture_value("block_count"), Some("2"));
    }
}

/// 20,000 tokens of 0 to 99 bytes and one of 200,000 fill the reader's buffer many times over.
#[test]
fn a_long_vocabulary_is_passed_over() {
    let mut tokens: Vec<u8> = (0..20_000).flat_map(|token| string(&vec![b't'; token % 100])).collect();
    tokens.extend(string(&[b't'; 200_000]));
    let vocabulary = entry(b"tokenizer.ggml.tokens", 9, &list(8, 20_001, &tokens));
    let folder = TempDir::new().unwrap();
    let gguf = whole().and(&vocabulary).and(&entry(b"after", 4, &7_u32.to_le_bytes()));
    let file = open(&write(&folder, "m.gguf", &gguf.bytes())).unwrap();
    assert_eq!((file.vocab_size(), file.value("after"), file.stored_count()), (Some(20_001), Some("7"), 96));
}

#[test]
fn a_file_cut_short_at_any_length_is_refused() {
    let tokens = list(8, 2, &[string(b"a"), string(b"bc")].concat());
    let heads = list(4, 2, &[1, 0, 0, 0, 2, 0, 0, 0]);
    let gguf =
        whole().and(&entry(b"tokenizer.ggml.tokens", 9, &tokens)).and(&entry(b"llama.heads", 9, &heads));
    let bytes = gguf.bytes();
    let folder = TempDir::new().unwrap();
    assert!(open(&write(&folder, "m.gguf", &bytes)).is_ok());
    for length in 0..bytes.len() {
        refusal(&write(&folder, "m.gguf", &bytes[..length]));
    }
}

#[test]
fn a_changed_byte_never_panics() {
    let tokens = list(8, 2, &[string(b"a"), string(b"bc")].concat());
    let bytes = whole().and(&entry(b"tokenizer.ggml.tokens", 9, &tokens)).bytes();
    let folder = TempDir::new().unwrap();
    for at in 0..bytes.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] ^= change;
            let _ = open(&write(&folder, "m.gguf", &changed));
        }
    }
}

#[test]
fn what_is_no_gguf_of_version_2_or_3_is_refused() {
    case(&Gguf { magic: b"GGUX", ..whole() }, &["not a GGUF file"]);
    case(&Gguf { magic: b"tjgg", ..whole() }, &["older than GGUF"]);
    case(&Gguf { version: 1, ..whole() }, &["GGUF version 1", "given up"]);
    case(&Gguf { version: 4, ..whole() }, &["GGUF version 4"]);
    case(&Gguf { version: 0, ..whole() }, &["GGUF version 0"]);
    case(&Gguf { version: 0x0400_0000, ..whole() }, &["GGUF version 4"]);
}

#[test]
fn a_count_that_the_file_is_too_short_for_is_refused() {
    for count in [1 << 63, u64::MAX, 1 << 40, 1_000] {
        case(&Gguf { tensor_count: count, ..whole() }, &[&format!("{count} tensors follow")]);
        case(&Gguf { entry_count: count, ..whole() }, &[&format!("{count} metadata entries follow")]);
    }
    // The file is long enough here, but no model is so large.
    let padded = |gguf: Gguf| Gguf { data: 1 << 20, ..gguf };
    case(&padded(Gguf { tensor_count: 20_001, ..whole() }), &["up to 20000 are read"]);
    case(&padded(Gguf { entry_count: 4_097, ..whole() }), &["up to 4096 are read"]);
}

#[test]
fn a_metadata_entry_that_cannot_be_is_refused_with_its_place() {
    let long = u64::MAX.to_le_bytes();
    let at = |number: u32| format!("metadata entry {number} of 3");
    case(&whole().and(&long), &["ends inside its header", &at(3)]);
    case(&whole().and(&entry(b"", 4, &[0; 4])), &["a metadata key is empty", &at(3)]);
    case(&whole().and(&entry(b"\xff\xfe", 4, &[0; 4])), &["a metadata key is not text", &at(3)]);
    case(&whole().and(&entry(&[b'k'; 1_025], 4, &[0; 4])), &["key is 1025 bytes long", &at(3)]);
    case(&whole().and(&entry(b"llama.block_count", 4, &[0; 4])), &["llama.block_count twice"]);
    case(&whole().and(&entry(b"k", 13, &[0; 8])), &["of type 13, which there is not", "(metadata k)"]);
    case(&whole().and(&entry(b"k", u32::MAX, &[0; 8])), &["of type 4294967295"]);
    case(&whole().and(&entry(b"k", 7, &[2])), &["a truth value is 2", "(metadata k)"]);
    case(&whole().and(&entry(b"k", 8, &string(b"\xc3("))), &["not text", "(metadata k)"]);
    case(&whole().and(&entry(b"k", 8, &long)), &["ends inside its header", "(metadata k)"]);
    case(&whole().and(&entry(b"k\x1b[2J", 8, &long)), &[r"(metadata k\e[2J)"]);
}

#[test]
fn a_list_that_cannot_be_is_refused_with_its_place() {
    let listed =
        |element, length, elements: &[u8]| whole().and(&entry(b"k", 9, &list(element, length, elements)));
    // 2^61 · 8 and 2^63 · 8 bytes, and a million strings that are not there.
    for (element, length) in [(12, 1 << 61), (10, 1 << 63), (0, u64::MAX), (8, 1 << 20), (8, u64::MAX)] {
        case(&listed(element, length, &[]), &["(metadata k)"]);
    }
    case(&listed(8, 2, &string(&[b'x'; 9])[..8]), &["(metadata k)"]);
    case(&listed(9, 1, &list(4, 1, &[0; 4])), &["array of arrays", "(metadata k)"]);
    case(&listed(99, 1, &[0; 4]), &["of type 99", "(metadata k)"]);
    case(&listed(7, 1, &[9]), &["a truth value is 9", "(metadata k)"]);
}

#[test]
fn an_alignment_is_a_power_of_two() {
    for alignment in [0, 3, 33, u32::MAX] {
        let stated = entry(b"general.alignment", 4, &alignment.to_le_bytes());
        case(
            &whole().and(&stated),
            &[&format!("the alignment is {alignment}"), "(metadata general.alignment)"],
        );
    }
    let text = entry(b"general.alignment", 8, &string(b"wide"));
    case(&whole().and(&text), &["the alignment is wide"]);
    let huge = entry(b"general.alignment", 4, &(1_u32 << 31).to_le_bytes());
    case(&whole().and(&huge), &["(tensor w)", "only 0 follow the header"]);
}

#[test]
fn a_tensor_that_cannot_be_is_refused_with_its_place() {
    let one = |name: &[u8], axes: &[u64], ggml_type| whole().of(&[tensor(name, axes, ggml_type, 0)]);
    case(&one(b"", &[32], 0), &["name is empty", "(tensor 1)"]);
    case(&one(b"\xff", &[32], 0), &["name is not text", "(tensor 1)"]);
    case(&one(&[b'n'; 128], &[32], 0), &["name is 128 bytes long", "(tensor 1)"]);
    case(&one(b"w", &[], 0), &["has 0 axes", "(tensor w)"]);
    case(&one(b"w", &[1; 5], 0), &["has 5 axes", "(tensor w)"]);
    case(&one(b"w", &[0], 0), &["an axis is 0 long", "(tensor w)"]);
    case(&one(b"w", &[32, 0, 3], 8), &["an axis is 0 long", "(tensor w)"]);
    case(&one(b"w", &[1 << 63], 24), &["more than any file can hold", "(tensor w)"]);
    case(&one(b"w", &[1 << 62], 28), &["more than any file can hold", "(tensor w)"]);
    case(&one(b"w", &[1 << 32, 1 << 32], 24), &["more than any file can hold", "(tensor w)"]);
    case(&one(b"w", &[u64::MAX; 4], 0), &["more than any file can hold", "(tensor w)"]);
    case(&one(b"w", &[33], 8), &["Q8_0 stores blocks of 32", "(tensor w)"]);
    case(&one(b"w", &[32], 4), &["type 4", "given this type up", "(tensor w)"]);
    case(&one(b"w", &[32], 43), &["type 43", "no such type", "(tensor w)"]);
    case(&one(b"w", &[32], u32::MAX), &["type 4294967295", "(tensor w)"]);
}

#[test]
fn tensors_stand_one_after_the_other_inside_the_file() {
    let at = |start| tensor(b"w", &[32, 3], 8, start);
    case(&whole().of(&[at(16)]), &["no multiple of the alignment", "(tensor w)"]);
    case(&whole().of(&[at(32)]), &["102 bytes from byte 32", "only 102 follow", "(tensor w)"]);
    case(&whole().of(&[at(u64::MAX - 31)]), &["only 102 follow", "(tensor w)"]);
    let twice = [at(0), at(128)];
    case(&Gguf { data: 230, ..whole() }.of(&twice), &["two tensors are named w"]);
    let overlapping = [at(0), tensor(b"v", &[32, 3], 8, 96)];
    case(&Gguf { data: 230, ..whole() }.of(&overlapping), &["inside the one before it", "(tensor v)"]);
}

/// The largest u64 has 20 digits, so a list of 256 of them is 5.6 kB of text, and 200 lists are over a MiB.
#[test]
fn metadata_is_held_up_to_a_limit() {
    let largest = list(10, 256, &[0xff; 8 * 256]);
    let gguf = (0..200).fold(whole(), |gguf, k| gguf.and(&entry(format!("k{k}").as_bytes(), 9, &largest)));
    case(&gguf, &["the metadata is too long", "metadata entry"]);
}

fn part(number: u16, parts: u16, name: &[u8]) -> Vec<u8> {
    let count = entry(b"split.tensors.count", 5, &2_i32.to_le_bytes());
    whole()
        .and(&entry(b"split.no", 2, &(number - 1).to_le_bytes()))
        .and(&entry(b"split.count", 2, &parts.to_le_bytes()))
        .and(&count)
        .of(&[tensor(name, &[32, 3], 8, 0)])
        .bytes()
}

#[test]
fn the_parts_of_a_split_file_belong_together() {
    let folder = TempDir::new().unwrap();
    let first = write(&folder, "m-00001-of-00002.gguf", &part(1, 2, b"a"));
    assert!(refusal(&first).contains("part of the file is missing"));
    write(&folder, "m-00002-of-00002.gguf", &part(2, 2, b"a"));
    assert!(refusal(&first).contains("two tensors are named a"));
    write(&folder, "m-00002-of-00002.gguf", &part(1, 2, b"b"));
    assert!(refusal(&first).contains("does not say that this is part 2 of 2"));
    let second = write(&folder, "m-00002-of-00002.gguf", &part(2, 2, b"b"));
    let file = open(&second).unwrap();
    assert_eq!((file.kind, file.stored_count()), (Kind::SplitGguf, 192));
    assert_eq!(in_folder(folder.path()).unwrap().unwrap().tensors, file.tensors);
    assert!(refusal(&write(&folder, "renamed.gguf", &part(1, 2, b"a"))).contains("where the others are"));
    assert!(
        refusal(&write(&folder, "n-00001-of-00003.gguf", &part(1, 2, b"a"))).contains("where the others are")
    );
    let many = refusal(&write(&folder, "n-00001-of-65535.gguf", &part(1, 65_535, b"a")));
    assert_eq!(many.matches("part of the file is missing").count(), 10);
}
