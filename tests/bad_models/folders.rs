//! Folders and files that are no models, and all layouts that are.

use std::fs::{self, File};
use std::path::Path;

use serde_json::json;

use super::{change, opened, read, refused, right, tells};

type Spoil = fn(&Path);

/// A header that says so, and as many zero bytes as its tensors take.
fn safetensors(path: &Path, tensors: &[(&str, &str, [usize; 2], usize)]) {
    let mut end = 0;
    let mut header = serde_json::Map::new();
    for (name, dtype, shape, bytes) in tensors {
        header.insert(
            (*name).to_owned(),
            json!({"dtype": dtype, "shape": shape, "data_offsets": [end, end + bytes]}),
        );
        end += bytes;
    }
    let header = serde_json::Value::from(header).to_string();
    let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &vec![0; end]].concat();
    fs::write(path, bytes).unwrap();
}

/// Splits the right folder's weights into two shards and an index.
fn shard(folder: &Path) {
    let whole = folder.join("model.safetensors");
    let bytes = fs::read(&whole).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let mut map = serde_json::Map::new();
    for (number, wanted) in [(1, true), (2, false)] {
        let name = format!("model-0000{number}-of-00002.safetensors");
        let part: Vec<_> =
            tensors.tensors().into_iter().filter(|(name, _)| name.contains("layer.0") == wanted).collect();
        for (tensor, _) in &part {
            map.insert(tensor.clone(), name.clone().into());
        }
        fs::write(folder.join(name), safetensors::serialize(part, None).unwrap()).unwrap();
    }
    fs::write(folder.join("model.safetensors.index.json"), json!({"weight_map": map}).to_string()).unwrap();
    fs::remove_file(whole).unwrap();
}

#[test]
fn every_layout_is_the_same_model() {
    let room = right();
    let expected = opened(room.path()).read_of_animal();
    let same = |path: &Path| {
        let model = opened(path);
        assert_eq!(model.read_of_animal(), expected, "{}", path.display());
        model.name
    };
    let named = room.path().file_name().unwrap().to_str().unwrap();
    assert_eq!(same(&room.path().join("model.safetensors")), named);
    assert_eq!(same(&room.path().join("config.json")), named);

    shard(room.path());
    assert_eq!(same(room.path()), named);
    assert_eq!(same(&room.path().join("model-00002-of-00002.safetensors")), named, "a part is its whole");
    assert_eq!(same(&room.path().join("model.safetensors.index.json")), named);

    let only = right();
    fs::rename(only.path().join("model.safetensors"), only.path().join("tiny.safetensors")).unwrap();
    same(only.path());

    for (inside, name) in [("sentences/0_Transformer", "sentences"), ("models--a--b/snapshots/1f", "a/b")] {
        let outer = tempfile::tempdir().unwrap();
        let home = outer.path().join(inside);
        fs::create_dir_all(home.parent().unwrap()).unwrap();
        fs::rename(right().keep(), &home).unwrap();
        assert_eq!(same(&outer.path().join(inside.split('/').next().unwrap())), name);
        let itself = same(&home);
        assert!(itself == name || itself == "0_Transformer", "{itself}");
    }
}

/// What is read of the weights, and of a text.
trait Animal {
    fn read_of_animal(&self) -> (Vec<f32>, Vec<u32>);
}

impl Animal for mha::model::Model {
    fn read_of_animal(&self) -> (Vec<f32>, Vec<u32>) {
        let of_layers = ["bert.encoder.layer.0.output.dense.bias", "bert.encoder.layer.1.output.dense.bias"];
        let numbers = of_layers.map(|name| self.checkpoint.rows(name, 0..8).unwrap()).concat();
        (numbers, read(self, "the animal").unwrap().ids)
    }
}

#[test]
fn a_folder_that_is_no_model_says_what_is_missing() {
    let rows: [(&str, Spoil, &[&str]); 16] = [
        (
            "no config",
            |at| fs::remove_file(at.join("config.json")).unwrap(),
            &["the folder has no config.json"],
        ),
        (
            "a config in a folder inside",
            |at| {
                fs::create_dir(at.join("bert")).unwrap();
                fs::rename(at.join("config.json"), at.join("bert/config.json")).unwrap();
            },
            &["no config.json", "try: name the folder inside it that has one", "bert"],
        ),
        ("an empty config", |at| fs::write(at.join("config.json"), "").unwrap(), &["the file is empty"]),
        ("a broken config", |at| fs::write(at.join("config.json"), "{").unwrap(), &["this is not JSON"]),
        (
            "a family that is not read",
            |at| change(at, "config.json", |config| config["model_type"] = "t5".into()),
            &["t5", "config.json"],
        ),
        (
            "no weights",
            |at| fs::remove_file(at.join("model.safetensors")).unwrap(),
            &["the folder holds no weights", "download its model.safetensors"],
        ),
        (
            "only a pickle",
            |at| fs::rename(at.join("model.safetensors"), at.join("pytorch_model.bin")).unwrap(),
            &["a pickle: pytorch_model.bin", "save_pretrained"],
        ),
        (
            "a pointer to weights",
            |at| {
                fs::write(at.join("model.safetensors"), "version https://git-lfs.github.com/spec/v1\n")
                    .unwrap()
            },
            &["Git LFS pointer", "git lfs pull"],
        ),
        ("empty weights", |at| fs::write(at.join("model.safetensors"), "").unwrap(), &["the file is empty"]),
        (
            "weights cut short",
            |at| {
                let file = File::options().write(true).open(at.join("model.safetensors")).unwrap();
                file.set_len(file.metadata().unwrap().len() - 100).unwrap();
            },
            &["the tensors take", "cut short"],
        ),
        (
            "a header as long as the world",
            |at| {
                fs::write(at.join("model.safetensors"), [&u64::MAX.to_le_bytes()[..], b"{}"].concat())
                    .unwrap()
            },
            &["its header would be 18446744073709551615 bytes long"],
        ),
        (
            "a shape larger than any memory",
            |at| {
                let path = at.join("model.safetensors");
                safetensors(&path, &[("w", "F32", [usize::MAX >> 8, usize::MAX >> 8], 4)]);
            },
            &["a tensor's shape is larger than any memory"],
        ),
        (
            "none of the tensors",
            |at| safetensors(&at.join("model.safetensors"), &[("w", "F32", [1, 1], 4)]),
            &["there is no tensor", "model.safetensors"],
        ),
        (
            "quantised weights",
            |at| {
                let tensors = [("q.qweight", "I32", [1, 8], 32), ("q.scales", "F16", [1, 8], 16)];
                safetensors(&at.join("model.safetensors"), &tensors);
            },
            &["the weights are quantised (GPTQ)", "its .gguf file"],
        ),
        (
            "a shard that is missing",
            |at| {
                shard(at);
                fs::remove_file(at.join("model-00002-of-00002.safetensors")).unwrap();
            },
            &["model-00002-of-00002.safetensors is missing"],
        ),
        (
            "a tensor in two shards",
            |at| {
                shard(at);
                let both = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
                let [first, second] = both.map(|name| fs::read(at.join(name)).unwrap());
                let [first, second] =
                    [&first, &second].map(|bytes| safetensors::SafeTensors::deserialize(bytes).unwrap());
                let all: Vec<_> =
                    second.tensors().into_iter().chain(first.tensors().into_iter().take(1)).collect();
                fs::write(at.join(both[1]), safetensors::serialize(all, None).unwrap()).unwrap();
            },
            &["stands in two files", "of the same revision"],
        ),
    ];
    for (promise, spoil, words) in rows {
        let room = right();
        spoil(room.path());
        refused(promise, room.path(), words);
    }
}

#[test]
fn a_path_that_is_no_model_says_that_nothing_is_downloaded() {
    let nowhere = Path::new("sentence-transformers/all-MiniLM-L6-v2");
    refused(
        "a name on the net",
        nowhere,
        &["there is no model", "nothing is ever downloaded", "tokenizer.json"],
    );
    let room = tempfile::tempdir().unwrap();
    refused("an empty folder", room.path(), &["the folder has no config.json"]);
    let notes = room.path().join("notes.txt");
    fs::write(&notes, "hello").unwrap();
    refused("a text", &notes, &["weights are not read from .txt files"]);
    let lonely = room.path().join("model.safetensors");
    safetensors(&lonely, &[("w", "F32", [1, 1], 4)]);
    refused("weights alone", &lonely, &["the folder has no config.json"]);
}

/// The weights are of use without the words.
#[test]
fn without_a_tokenizer_ids_can_be_read_and_texts_not() {
    let room = right();
    fs::remove_file(room.path().join("tokenizer.json")).unwrap();
    let model = opened(room.path());
    let ids = model.read(&mha::model::Text::Ids(vec![2, 54, 3])).unwrap();
    assert_eq!(ids.labels, ["#2", "#54", "#3"]);
    let told = read(&model, "the").unwrap_err();
    tells("no tokenizer", &told, &["has no tokenizer", "--tokens 5,8,13", "--> --text"]);
}
