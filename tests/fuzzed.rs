//! What a fuzzer once made up, handed to `mha` again: the files that it found new ways with, and those that broke
//! something. `CONTRIBUTING.md` says how to run the fuzzer itself.

#[expect(unreachable_pub, reason = "the fuzz targets reach it")]
#[path = "../fuzz/src/targets.rs"]
mod targets;

use std::fs;
use std::path::Path;

#[test]
fn every_file_of_the_corpus_is_answered() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for (name, target) in targets::ALL {
        let files =
            fs::read_dir(corpus.join(name)).unwrap_or_else(|error| panic!("fuzz/corpus/{name}: {error}"));
        let mut seen = 0;
        for file in files {
            let path = file.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            assert!(std::panic::catch_unwind(|| target(&bytes)).is_ok(), "{} breaks {name}", path.display());
            seen += 1;
        }
        assert!(seen > 0, "fuzz/corpus/{name} is empty");
    }
}

#[test]
fn every_target_has_a_corpus_and_a_program() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let named = |folder: &str| {
        let names = fs::read_dir(fuzz.join(folder)).unwrap();
        let mut names: Vec<_> =
            names.map(|entry| entry.unwrap().path().file_stem().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    let targets = targets::ALL.map(|(name, _)| std::ffi::OsString::from(name));
    assert_eq!(named("corpus"), targets);
    assert_eq!(named("targets"), targets);
}
