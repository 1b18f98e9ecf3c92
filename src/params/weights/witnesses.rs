//! What Python's gguf and safetensors wrote must be counted as they count it (`tests/reference/weights/README.md`).

use std::path::PathBuf;

use serde_json::Value;

use super::{GgmlType, Kind, StoredTensor, WeightFile, ggml, in_folder, open};

fn witness(file: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests/reference/weights", file].iter().collect()
}

fn expected() -> Value {
    serde_json::from_str(&std::fs::read_to_string(witness("expected.json")).unwrap()).unwrap()
}

/// One line of `expected.json`: name, shape, count, type, bytes.
fn tensor(line: &Value) -> StoredTensor {
    StoredTensor {
        name: line[0].as_str().unwrap().to_owned(),
        shape: line[1].as_array().unwrap().iter().map(|axis| axis.as_u64().unwrap()).collect(),
        count: line[2].as_u64().unwrap(),
        dtype: line[3].as_str().unwrap().to_owned(),
        bytes: line[4].as_u64().unwrap(),
    }
}

/// Opens the file and compares every tensor.
#[track_caller]
fn agreed(file: &str, kind: Kind) -> WeightFile {
    let opened = open(&witness(file)).unwrap();
    let expected: Vec<StoredTensor> = expected()[file].as_array().unwrap().iter().map(tensor).collect();
    assert_eq!(opened.tensors, expected, "{file}");
    assert_eq!((opened.kind, opened.packed), (kind, None));
    opened
}

#[test]
fn a_gguf_file_holds_what_its_own_package_says() {
    let llama = agreed("llama.gguf", Kind::Gguf);
    // 3·256 + 2·256 + 256 + 2·3·32 + 16
    assert_eq!(llama.stored_count(), 1744);
    assert_eq!(llama.notes[0], "Most tensors are stored as Q4_K_M (general.file_type).");
    assert!(
        llama.notes[1].starts_with("1 tensor with 16 numbers holds factors of the rotary"),
        "{:?}",
        llama.notes
    );
    agreed("types.gguf", Kind::Gguf);
    agreed("big-endian.gguf", Kind::Gguf);
}

#[test]
fn metadata_is_text_and_long_lists_are_only_counted() {
    for file in ["llama.gguf", "big-endian.gguf", "split-00002-of-00003.gguf"] {
        let file = open(&witness(file)).unwrap();
        let architecture = |key| file.architecture_value(key).unwrap();
        assert_eq!(file.value("general.architecture"), Some("llama"));
        assert_eq!(file.value("general.name"), Some("A small llama — 小羊驼"));
        assert_eq!(file.value("general.description"), Some(format!("{}…", "羊".repeat(200)).as_str()));
        assert_eq!(architecture("block_count"), "2");
        assert_eq!(architecture("attention.head_count"), "8");
        assert_eq!(architecture("attention.head_count_kv"), "[2, 1]");
        assert_eq!(architecture("rope.freq_base"), "10000.0");
        assert_eq!(architecture("attention.layer_norm_rms_epsilon"), "1e-5");
        assert_eq!(architecture("use_parallel_residual"), "true");
        assert_eq!(file.value("example.negative"), Some("-7"));
        assert_eq!(file.value("example.large"), Some("9223372036854775809"));
        assert_eq!(file.value("example.double"), Some("0.1"));
        assert_eq!(file.value("no.such.key"), None);
    }
    let llama = open(&witness("llama.gguf")).unwrap();
    assert_eq!(llama.value("tokenizer.ggml.tokens"), Some("300 strings"));
    assert_eq!(llama.value("tokenizer.ggml.scores"), Some("300 f32 numbers"));
    assert_eq!(llama.vocab_size(), Some(300));
}

#[test]
fn all_parts_of_a_split_file_are_found_from_any() {
    let first = agreed("split-00001-of-00003.gguf", Kind::SplitGguf);
    let last = open(&witness("split-00003-of-00003.gguf")).unwrap();
    assert_eq!((&last.tensors, &last.metadata), (&first.tensors, &first.metadata));
}

#[test]
fn a_sharded_checkpoint_holds_what_the_whole_one_holds() {
    let whole = agreed("whole.safetensors", Kind::Safetensors);
    assert_eq!(whole.metadata, [("by".into(), "safetensors".into()), ("format".into(), "pt".into())]);
    let sharded = agreed("sharded/model.safetensors.index.json", Kind::ShardedSafetensors);
    assert_eq!(sharded.value("total_size"), Some("2941"));
    assert!(sharded.notes.is_empty(), "{:?}", sharded.notes);
    assert_eq!((sharded.stored_count(), sharded.stored_bytes()), (whole.stored_count(), 2941));
    let found = in_folder(&witness("sharded")).unwrap().unwrap();
    assert_eq!(found, sharded);
}

#[test]
fn a_block_is_as_large_as_ggml_says() {
    for (name, row) in expected()["ggml types"].as_object().unwrap() {
        let ours = GgmlType::of_name(&name.to_lowercase()).unwrap_or_else(|| panic!("{name}"));
        let theirs = [&row[0], &row[1], &row[2]].map(|number| number.as_u64().unwrap());
        if name != "Q8_1" {
            assert_eq!([ours.elements, ours.bytes, u64::from(ours.id)], theirs, "{name}");
        }
        assert_eq!(GgmlType::of_id(ours.id), Some(ours));
    }
}

#[test]
fn a_file_type_is_called_as_llama_cpp_calls_it() {
    for (number, name) in expected()["file types"].as_object().unwrap() {
        assert_eq!(ggml::file_type(number.parse().unwrap()), name.as_str(), "{number}");
    }
    assert_eq!(ggml::file_type(1024), None);
}
