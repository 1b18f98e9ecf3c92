//! Telling what a file of weights is, by its name and its first bytes.

use std::io::Read;
use std::path::Path;

use super::file_name;
use crate::arrays::{self, Opened, failed_read};
use crate::fault::{Fault, Outcome};

/// A format that weights are counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// One file of named tensors.
    Safetensors,
    /// `model.safetensors.index.json`: which tensor stands in which file.
    Index,
    /// What llama.cpp reads.
    Gguf,
}

impl Format {
    /// The format of a file that is there.
    ///
    /// # Errors
    /// Where the file is missing or of a format that is not counted, each with what to do instead.
    pub(super) fn of(path: &Path) -> Outcome<Self> {
        let name = file_name(path).to_lowercase();
        if let Some(fault) = pickle_fault(&name) {
            return Err(fault.at(arrays::place(path)).into());
        }
        let Opened { file, .. } = arrays::open(path)?;
        let mut start = Vec::new();
        file.take(64).read_to_end(&mut start).map_err(|error| failed_read(&error).at(arrays::place(path)))?;
        Ok(Self::told_by(&name, &start).map_err(|fault| fault.at(arrays::place(path)))?)
    }

    fn told_by(name: &str, start: &[u8]) -> Result<Self, Fault> {
        if start.starts_with(b"version https://git-lfs") {
            return Err(Fault::new(
                "this is a Git LFS pointer, not the file that it stands for",
                "the repository was cloned without its large files",
                "fetch them with `git lfs pull`",
            ));
        }
        if start.starts_with(b"GGUF") || name.ends_with(".gguf") {
            return Ok(Self::Gguf);
        }
        if name.ends_with(".safetensors") {
            return Ok(Self::Safetensors);
        }
        if name.ends_with(".json") {
            return Ok(Self::Index);
        }
        let what = match name.rsplit_once('.') {
            Some((_, ending)) => format!("weights are not read from .{ending} files"),
            None => "the file's name has no ending that says what it holds".to_owned(),
        };
        Err(Fault::new(
            what,
            "known are .safetensors, its .safetensors.index.json, and .gguf; a config is a .json file",
            "save the weights in one of these, or name the config.json",
        ))
    }
}

/// Endings of files that PyTorch pickles.
const PICKLED: [&str; 6] = [".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"];

/// Whether a model's weights are usually pickled under this name; `training_args.bin` and `optimizer.pt` are not.
pub(super) fn is_pickled_model(name: &str) -> bool {
    let starts = ["pytorch_model", "adapter_model", "consolidated", "model"];
    PICKLED.iter().any(|ending| name.ends_with(ending)) && starts.iter().any(|start| name.starts_with(start))
}

fn pickle_fault(name: &str) -> Option<Fault> {
    let is_index = name.ends_with(".bin.index.json");
    (is_index || PICKLED.iter().any(|ending| name.ends_with(ending))).then(|| a_pickle("this is a pickle"))
}

/// The refusal of a pickle; it is never opened.
pub(super) fn a_pickle(what: &str) -> Fault {
    Fault::new(
        what,
        "unpickling runs whatever code the file's author put in it, so it is never opened",
        "convert it where you trust it: load it with transformers and call `model.save_pretrained(folder)`, which \
         writes .safetensors; or count from its config.json",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_speak_where_the_name_does_not() {
        assert_eq!(Format::told_by("sha256-6a0746a1ec1a", b"GGUF\x03\0\0\0"), Ok(Format::Gguf));
        assert_eq!(
            Format::told_by("model.safetensors", b"\x08\0\0\0\0\0\0\0{}      "),
            Ok(Format::Safetensors)
        );
        assert_eq!(Format::told_by("model.safetensors.index.json", b"{"), Ok(Format::Index));
        assert!(Format::told_by("weights", b"{}").is_err());
        assert!(Format::told_by("weights.h5", b"\x89HDF").unwrap_err().what.contains(".h5"));
    }

    #[test]
    fn a_pointer_of_git_lfs_is_no_model() {
        let fault = Format::told_by("model.safetensors", b"version https://git-lfs.github.com/spec/v1\n");
        assert!(fault.unwrap_err().remedy.contains("git lfs pull"));
    }

    #[test]
    fn a_pickle_is_known_by_its_name() {
        for name in ["pytorch_model.bin", "pytorch_model-00001-of-00002.bin", "consolidated.00.pth"] {
            assert!(is_pickled_model(name) && pickle_fault(name).is_some(), "{name}");
        }
        assert!(pickle_fault("pytorch_model.bin.index.json").is_some());
        assert!(!is_pickled_model("training_args.bin") && !is_pickled_model("optimizer.pt"));
        assert!(pickle_fault("model.safetensors").is_none());
    }
}
