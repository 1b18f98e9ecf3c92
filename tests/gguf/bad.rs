//! Files that lie: each is a good one with a few bytes changed, and each is refused with words that say what is wrong.

use std::path::{Path, PathBuf};

use mha::model::Model;
use tempfile::TempDir;

use super::reference;

/// A good file, to be changed.
#[derive(Clone)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn of(file: &str) -> Self {
        Self(std::fs::read(reference(file)).unwrap())
    }

    fn find(&self, text: &str) -> usize {
        // With its length before it, so that `blk.0.attn_q` is not found in `blk.0.attn_q_norm`.
        let mut wanted = (text.len() as u64).to_le_bytes().to_vec();
        wanted.extend(text.as_bytes());
        let at = self.0.windows(wanted.len()).position(|window| window == wanted);
        at.unwrap_or_else(|| panic!("{text} is not in the file")) + 8
    }

    fn put(mut self, at: usize, bytes: &[u8]) -> Self {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }

    /// Other bytes so far behind the end of a text.
    fn behind(self, text: &str, skip: usize, bytes: &[u8]) -> Self {
        let at = self.find(text) + text.len() + skip;
        self.put(at, bytes)
    }

    /// Another text of the same length.
    fn instead(self, text: &str, other: &str) -> Self {
        assert_eq!(text.len(), other.len());
        let at = self.find(text);
        self.put(at, other.as_bytes())
    }
}

fn write(folder: &TempDir, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join("model.gguf");
    std::fs::write(&path, bytes).unwrap();
    path
}

fn opened(path: &Path) -> Result<Model, String> {
    Model::open(path.to_str().unwrap()).map_err(|faults| faults.to_string())
}

#[track_caller]
fn is_refused(bytes: Bytes, said: &[&str]) {
    let folder = TempDir::new().unwrap();
    let told = opened(&write(&folder, &bytes.0)).err().unwrap_or_else(|| panic!("opened: {said:?}"));
    for said in said.iter().chain(&["model.gguf"]) {
        assert!(told.contains(said), "{said}: {told}");
    }
}

fn llama() -> Bytes {
    Bytes::of("llama.gguf")
}

const HUGE: [u8; 8] = (1_u64 << 60).to_le_bytes();

#[test]
fn a_beginning_that_is_no_gguf_is_refused() {
    is_refused(llama().put(0, b"GGML"), &["not a GGUF file"]);
    is_refused(llama().put(4, &1_u32.to_le_bytes()), &["GGUF version 1", "given up"]);
    is_refused(llama().put(4, &99_u32.to_le_bytes()), &["GGUF version 99"]);
    is_refused(llama().put(8, &HUGE), &["1152921504606846976 tensors follow"]);
    is_refused(llama().put(16, &HUGE), &["1152921504606846976 metadata entries follow"]);
    // Version 3 with the most significant byte first, no tensors, and what architecture it is.
    let mut big = b"GGUF".to_vec();
    big.extend(3_u32.to_be_bytes());
    big.extend([0_u64.to_be_bytes(), 1_u64.to_be_bytes(), 20_u64.to_be_bytes()].concat());
    big.extend(b"general.architecture");
    big.extend(8_u32.to_be_bytes());
    big.extend(5_u64.to_be_bytes());
    big.extend(b"llama");
    is_refused(Bytes(big), &["big-endian"]);
}

#[test]
fn lengths_that_the_file_does_not_have_are_refused() {
    // What then belongs to the text is none.
    is_refused(llama().behind("general.architecture", 4, &HUGE), &["is not text", "general.architecture"]);
    let tokens = "tokenizer.ggml.tokens";
    is_refused(llama().behind(tokens, 8, &HUGE), &["a list of 1152921504606846976", tokens]);
    is_refused(llama().behind(tokens, 16, &HUGE), &["ends inside its header", tokens]);
    is_refused(llama().behind(tokens, 4, &9_u32.to_le_bytes()), &["array of arrays", tokens]);
    is_refused(llama().behind(tokens, 0, &4_u32.to_le_bytes()), &["is no list", tokens]);
    let good = llama();
    // Up to 31 bytes of padding follow the last tensor.
    for length in [0, 3, 4, 24, 1_000, 9_000, good.0.len() - 32] {
        let folder = TempDir::new().unwrap();
        assert!(opened(&write(&folder, &good.0[..length])).is_err(), "{length} bytes of it");
    }
}

/// Behind a tensor's name: the number of axes (4 bytes), two axes (8 each), the type (4) and the start (8).
#[test]
fn tensors_that_cannot_be_are_refused() {
    let name = "blk.0.attn_q.weight";
    is_refused(llama().behind(name, 24, &(1_u64 << 40).to_le_bytes()), &["only", "follow the header", name]);
    is_refused(llama().behind(name, 24, &7_u64.to_le_bytes()), &["multiple of the alignment", name]);
    is_refused(llama().behind(name, 4, &[HUGE, HUGE].concat()), &["more than any file can hold", name]);
    is_refused(llama().behind(name, 4, &33_u64.to_le_bytes()), &["blocks of 32", name]);
    is_refused(llama().behind(name, 20, &99_u32.to_le_bytes()), &["type 99", name]);
    is_refused(llama().behind(name, 0, &5_u32.to_le_bytes()), &["5 axes", name]);
    // One axis: no length of rows. I32 takes as many bytes as F32 does.
    is_refused(
        llama().behind("blk.0.attn_norm.weight", 12, &26_u32.to_le_bytes()),
        &["is stored as I32", "read are F32, F16, BF16", "Q4_K"],
    );
    is_refused(
        llama().instead("blk.0.ffn_up.weight", "blk.0.ffn_xp.weight"),
        &["no part of a llama", "ffn_xp"],
    );
    is_refused(llama().instead("blk.1.ffn_up.weight", "blk.9.ffn_up.weight"), &["layers.1.mlp.up_proj"]);
}

#[test]
fn metadata_that_describe_another_model_are_refused() {
    is_refused(
        llama().behind("general.architecture", 12, b"mamba"),
        &["architecture mamba", "supported are llama"],
    );
    is_refused(llama().instead("llama.block_count", "llama.block_xount"), &["no llama.block_count"]);
    let count = |key: &str, count: u32| llama().behind(key, 4, &count.to_le_bytes());
    is_refused(count("llama.attention.head_count", 5), &["32 rows", "5 heads"]);
    is_refused(count("llama.attention.head_count", 0), &["0 heads"]);
    is_refused(count("llama.attention.head_count_kv", 16), &["16 heads"]);
    is_refused(count("llama.block_count", u32::MAX), &["4294967295"]);
    is_refused(count("llama.embedding_length", 1 << 30), &["1073741824"]);
    is_refused(count("llama.attention.value_length", 4), &["values have 4 numbers", "keys 8"]);
}

#[test]
fn vocabularies_that_contradict_themselves_are_refused() {
    is_refused(llama().behind("tokenizer.ggml.model", 12, b"plamo"), &["kind plamo", "SentencePiece"]);
    is_refused(llama().behind("tokenizer.ggml.token_type", 16, &9_i32.to_le_bytes()), &["names a type 9"]);
    let qwen = || Bytes::of("qwen3.gguf");
    is_refused(qwen().behind("tokenizer.ggml.pre", 12, b"qwenX"), &["the rules of qwenX", "llama-bpe, "]);
    // The first merge is `h e`.
    is_refused(qwen().behind("tokenizer.ggml.merges", 24, b"Q"), &["makes no token"]);
    is_refused(qwen().behind("tokenizer.ggml.merges", 25, b"x"), &["has no blank"]);
}

#[test]
fn a_changed_byte_never_panics() {
    let good = Bytes::of("qwen3.gguf");
    let folder = TempDir::new().unwrap();
    let header = good.find("blk.1.ffn_up.weight");
    for at in (0..header).step_by(89) {
        for change in [0x01, 0x80, 0xff] {
            let byte = good.0[at] ^ change;
            let _ = opened(&write(&folder, &good.clone().put(at, &[byte]).0));
        }
    }
}
