//! A model's folder as Hugging Face lays it out, and the files that can stand for one.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::checkpoint::gguf;
use super::checkpoint::safetensors::Safetensors;
use super::{Model, Tokens, architecture, builtin};
use crate::arrays;
use crate::arrays::document::Document;
use crate::fault::{Fault, Outcome, nearest, reason};
use crate::params::weights::{self, Kind, WeightFile};

/// How a model's folder must look.
const LAYOUT: &str =
    "a model's folder holds config.json, model.safetensors and tokenizer.json, as Hugging Face lays it out";

/// Opens a folder, a `.safetensors` file inside one, or a `.gguf` file.
pub(super) fn open(path: &Path) -> Outcome<Model> {
    let found = fs::metadata(path).map_err(|error| missing(path, &error))?;
    if found.is_dir() {
        return of_folder(path);
    }
    if is_gguf(path)? {
        return gguf::open(path);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.file_name().is_some_and(|name| name == CONFIG) {
        return of_folder(folder);
    }
    // A shard stands for the whole that it is a part of.
    let whole = weights::in_folder(folder).ok().flatten();
    if let Some(whole) = whole.filter(|whole| whole.kind == Kind::ShardedSafetensors)
        && weights::shards(&whole.path)?.iter().any(|shard| shard.file_name() == path.file_name())
    {
        return assembled(folder, &whole, name_of(folder));
    }
    assembled(folder, &weights::open(path)?, name_of(folder))
}

const CONFIG: &str = "config.json";

fn of_folder(folder: &Path) -> Outcome<Model> {
    let Some(home) = home(folder) else {
        // A folder with nothing but a .gguf file needs no config.
        if let Ok(Some(file)) = weights::in_folder(folder)
            && file.is_gguf()
        {
            return gguf::open(&file.path);
        }
        return Err(no_config(folder).into());
    };
    match weights::in_folder(&home)? {
        Some(file) if file.is_gguf() => gguf::open(&file.path),
        Some(file) => assembled(&home, &file, name_of(folder)),
        None => {
            let remedy =
                "download its model.safetensors, or the shards and their model.safetensors.index.json";
            Err(Fault::new("the folder holds no weights", LAYOUT, remedy).at(arrays::place(&home)).into())
        }
    }
}

/// Where the config stands: in the folder itself, in the part of a sentence-transformers model that holds the transformer, or
/// in the only snapshot of a download.
fn home(folder: &Path) -> Option<PathBuf> {
    let is_home = |folder: &PathBuf| folder.join(CONFIG).is_file();
    let nested = [folder.to_owned(), folder.join("0_Transformer")].into_iter().find(is_home);
    nested.or_else(|| {
        let snapshots = fs::read_dir(folder.join("snapshots")).ok()?;
        let mut snapshots = snapshots.flatten().map(|entry| entry.path()).filter(is_home);
        snapshots.next().filter(|_| snapshots.next().is_none())
    })
}

/// The model of a config, its weights and its tokenizer.
fn assembled(home: &Path, file: &WeightFile, name: String) -> Outcome<Model> {
    if let Some(scheme) = file.packed {
        let what = format!("the weights are quantised ({scheme})");
        let why = "of .safetensors, weights are read that are stored as F32, F16, BF16 or F64";
        let remedy = "take the model's own files in one of these, or its .gguf file";
        return Err(Fault::new(what, why, remedy).at(arrays::place(&file.path)).into());
    }
    let path = home.join(CONFIG);
    if !path.is_file() {
        return Err(no_config(home).into());
    }
    let config = Document::read(&path)?.value;
    let paths = match file.kind {
        Kind::ShardedSafetensors => weights::shards(&file.path)?,
        _ => vec![file.path.clone()],
    };
    let checkpoint = Arc::new(Safetensors::open(&paths)?);
    let blueprint = architecture::blueprint(&config, &*checkpoint)
        .map_err(|faults| faults.in_source(&path.display().to_string()))?;
    let model_type = config.get("model_type").and_then(Value::as_str).unwrap_or_default();
    let tokens = Tokens::in_folder(home, model_type)?;
    Ok(Model { name, blueprint, checkpoint, tokens })
}

/// Whether it is ggml's format, by the name or the first bytes.
fn is_gguf(path: &Path) -> Outcome<bool> {
    if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gguf")) {
        return Ok(true);
    }
    let mut start = Vec::new();
    let file = arrays::open(path)?.file;
    file.take(4)
        .read_to_end(&mut start)
        .map_err(|error| arrays::failed_read(&error).at(arrays::place(path)))?;
    Ok(start == b"GGUF")
}

/// What the folder is called, also where it was given as `.`; a download, `models--google--bert/snapshots/1f5a`, is google/bert.
fn name_of(folder: &Path) -> String {
    let whole = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let named = match (whole.parent(), whole.parent().and_then(Path::parent)) {
        (Some(snapshots), Some(download)) if snapshots.ends_with("snapshots") => download,
        _ => folder,
    };
    let named = named.file_name().or(whole.file_name());
    let name = named.unwrap_or_default().to_string_lossy().into_owned();
    match name.strip_prefix("models--") {
        Some(downloaded) => downloaded.replacen("--", "/", 1),
        None => name,
    }
}

fn no_config(folder: &Path) -> Fault {
    let inside = fs::read_dir(folder).into_iter().flatten().flatten();
    let inside = inside.map(|entry| entry.path()).find(|path| path.join(CONFIG).is_file());
    let remedy = match inside {
        Some(inside) => format!("name the folder inside it that has one: {}", inside.display()),
        None => "download the model's config.json into it".to_owned(),
    };
    Fault::new("the folder has no config.json", LAYOUT, remedy).at(arrays::place(folder))
}

/// Neither a model that ships with `mha` nor a place on this machine.
fn missing(path: &Path, error: &std::io::Error) -> Fault {
    let name = path.display();
    if error.kind() != std::io::ErrorKind::NotFound {
        return Fault::new(format!("{name} cannot be opened"), reason(error), "check the path")
            .in_source("--model");
    }
    let shipped = || builtin::all().iter().map(|model| model.name);
    let remedy = match nearest(&path.to_string_lossy(), shipped()) {
        Some(near) => format!("the nearest that ships with mha: --model {near}"),
        None => "give the path of a model's folder or of a .gguf file".to_owned(),
    };
    let why = format!("no model, folder or file has this name, and nothing is ever downloaded; {LAYOUT}");
    Fault::new(format!("there is no model {name}"), why, remedy).in_source("--model")
}
