//! Indexes that lie, folders in disorder, and files that are no weights: each is refused with its place.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::gguf::hostile::{string, whole};
use super::{Kind, in_folder, open};

pub(super) fn write(folder: &TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    path
}

/// The refusal as it is shown; it says what, where and what to try.
#[track_caller]
pub(super) fn refusal(path: &Path) -> String {
    let faults = open(path).expect_err("must be refused");
    assert!(faults.0.iter().all(|fault| fault.place.is_some()), "{faults}");
    let shown = faults.to_string();
    assert!(shown.contains("-->") && shown.contains("try:"), "{shown}");
    assert!(!shown.contains('\u{1b}'), "control characters are shown, not sent");
    shown
}

fn safetensors(names: &[&str]) -> Vec<u8> {
    let tensors: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(i, name)| {
            format!(r#""{name}":{{"dtype":"U8","shape":[4],"data_offsets":[{},{}]}}"#, 4 * i, 4 * i + 4)
        })
        .collect();
    let header = format!("{{{}}}", tensors.join(","));
    let mut bytes = string(header.as_bytes());
    bytes.resize(bytes.len() + 4 * names.len(), 0);
    bytes
}

#[test]
fn an_index_that_lies_is_found_out() {
    let folder = TempDir::new().unwrap();
    write(&folder, "1.safetensors", &safetensors(&["a", "b"]));
    write(&folder, "2.safetensors", &safetensors(&["c"]));
    let said = |index: &str| refusal(&write(&folder, "model.safetensors.index.json", index.as_bytes()));
    let map = |map: &str| said(&format!(r#"{{"metadata": {{}}, "weight_map": {{{map}}}}}"#));

    assert!(map(r#""a": "3.safetensors""#).contains("3.safetensors is missing"));
    assert!(map(r#""a": "2.safetensors""#).contains("the file lacks 1 tensor: a"));
    assert!(map(r#""a": "1.safetensors", "a": "2.safetensors""#).contains("two tensors are named a"));
    for outside in ["../1.safetensors", "/etc/passwd", "", "x/../../1.safetensors", "./1.safetensors"] {
        let shown = map(&format!(r#""a": "{outside}""#));
        assert!(shown.contains("inside its own folder") && shown.contains("(weight_map)"), "{shown}");
    }
    assert!(map(r#""a": "pytorch_model-00001-of-00002.bin""#).contains("names a pickle"));
    assert!(map(r#""a": "config.json""#).contains("are .safetensors files"));
    assert!(map(r#""a": 1"#).contains("invalid type"));
    assert!(map(&format!(r#""{}": "1.safetensors""#, "n".repeat(1_025))).contains("over 1024 bytes"));
    assert!(map("").contains("no index of weights"));
    assert!(said(r#"{"hidden_size": 768}"#).contains("no index of weights"));
    assert!(said(r#"{"weight_map": {"a": "1.safetensors"}, "weight_map": {}}"#).contains("stands twice"));
    assert!(said(&"[".repeat(100_000)).contains("no index of weights"));
    assert!(said(&r#"{"weight_map":"#.repeat(100_000)).contains("no index of weights"));
    assert!(said(&format!(r#"{{"x": {}"#, r#"{"a":"#.repeat(100_000))).contains("no index of weights"));
    let many: Vec<String> = (0..12).map(|i| format!(r#""{i}": "{i}0.safetensors""#)).collect();
    assert!(map(&many.join(",")).contains("and 2 files more are missing or misnamed"));
    write(&folder, "2.safetensors", &safetensors(&["c"])[..20]);
    assert!(map(r#""c": "2.safetensors""#).contains("2.safetensors"));
}

/// Five tensors of 4 numbers: three are named by the index, so 12 numbers of one byte.
#[test]
fn an_index_that_disagrees_with_its_files_is_noted() {
    let folder = TempDir::new().unwrap();
    write(&folder, "1.safetensors", &safetensors(&["a", "b", "x"]));
    write(&folder, "2.safetensors", &safetensors(&["c", "y"]));
    let index = |size: &str| {
        let map = r#"{"a": "1.safetensors", "b": "1.safetensors", "c": "2.safetensors"}"#;
        let text =
            format!(r#"{{"metadata": {{"total_size": {size}, "by": [1, {{}}]}}, "weight_map": {map}}}"#);
        let file = open(&write(&folder, "model.safetensors.index.json", text.as_bytes())).unwrap();
        assert_eq!((file.kind, file.stored_count()), (Kind::ShardedSafetensors, 12));
        file.notes
    };
    let left_out = "The files hold 2 tensors that the index does not name; not counted.".to_owned();
    for size in ["12", "12.0", "null"] {
        assert_eq!(index(size), std::slice::from_ref(&left_out), "{size}");
    }
    let differs = "The index states a total_size of 13; the headers add up to 12.".to_owned();
    assert_eq!(index("13"), [left_out, differs]);
}

#[test]
fn a_folder_is_searched_for_the_one_file_that_is_meant() {
    let folder = TempDir::new().unwrap();
    let found = || in_folder(folder.path());
    assert_eq!(found(), Ok(None));
    write(&folder, "config.json", b"{}");
    write(&folder, "training_args.bin", b"\x80\x02");
    assert_eq!(found(), Ok(None));
    write(&folder, "pytorch_model.bin", b"\x80\x02");
    let pickle = found().unwrap_err().to_string();
    assert!(pickle.contains("pickle: pytorch_model.bin") && pickle.contains("save_pretrained"), "{pickle}");
    write(&folder, "m.gguf", &whole().bytes());
    assert_eq!(found().unwrap().unwrap().kind, Kind::Gguf);
    write(&folder, "adapter.safetensors", &safetensors(&["a"]));
    let several = found().unwrap_err().to_string();
    assert!(
        several.contains("2 files of weights") && several.contains("adapter.safetensors, m.gguf"),
        "{several}"
    );
    write(&folder, "model.safetensors", &safetensors(&["a", "b"]));
    assert_eq!(found().unwrap().unwrap().stored_count(), 8);
    assert!(in_folder(&folder.path().join("none")).unwrap_err().to_string().contains("cannot be listed"));
}

#[test]
fn parts_without_their_index_are_no_model() {
    let folder = TempDir::new().unwrap();
    write(&folder, "model-00001-of-00002.safetensors", &safetensors(&["a"]));
    write(&folder, "model-00002-of-00002.safetensors", &safetensors(&["b"]));
    let shown = in_folder(folder.path()).unwrap_err().to_string();
    assert!(shown.contains("there is no index") && shown.contains("model.safetensors.index.json"), "{shown}");
}

#[test]
fn what_is_no_file_of_weights_is_refused() {
    let folder = TempDir::new().unwrap();
    for (name, bytes, said) in [
        ("m.bin", b"\x80\x02".as_slice(), "never opened"),
        ("m.pt", b"PK", "never opened"),
        ("pytorch_model.bin.index.json", b"{}", "never opened"),
        ("m.h5", b"\x89HDF", "not read from .h5 files"),
        ("m", b"text", "no ending"),
        ("m.gguf", b"", "the file is empty"),
        ("m.safetensors", b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
        ("m.safetensors", b"\x02\0\0\0\0\0\0\0{}", "holds no tensors"),
        ("m.safetensors", b"\xff\xff\xff\xff\xff\xff\xff\xff{}", "not a safetensors file"),
    ] {
        let shown = refusal(&write(&folder, name, bytes));
        assert!(shown.contains(said), "{name}: {shown}");
    }
    assert!(refusal(folder.path()).contains("this is a directory"));
    assert!(refusal(&folder.path().join("none.gguf")).contains("no such file"));
}

/// GGUF is told by its first bytes: some tools name files by their hash.
#[test]
fn a_gguf_file_may_have_any_name() {
    let folder = TempDir::new().unwrap();
    assert!(open(&write(&folder, "sha256-6a0746a1ec1aef3e", &whole().bytes())).is_ok());
}
