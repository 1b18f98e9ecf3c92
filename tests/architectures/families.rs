//! The family files themselves.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use mha::params::architecture::{kinds_of, known_types};
use serde_yaml::Mapping;

/// Every family file by its name without the ending.
fn files() -> BTreeMap<String, Mapping> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/params/families");
    let read = |path: &Path| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let yaml = serde_yaml::from_str(&fs::read_to_string(path).unwrap());
        (name.clone(), yaml.unwrap_or_else(|error| panic!("{name}: {error}")))
    };
    fs::read_dir(folder).unwrap().map(|entry| read(&entry.unwrap().path())).collect()
}

fn types(file: &Mapping) -> Vec<&str> {
    let types = file.get("types").and_then(|types| types.as_sequence());
    types.into_iter().flatten().map(|known| known.as_str().unwrap()).collect()
}

#[test]
fn a_family_file_is_named_after_its_first_type_or_has_none() {
    for (name, file) in files() {
        assert!(file.contains_key("types"), "{name} does not say which types it builds");
        let types = types(&file);
        assert!(types.first().is_none_or(|first| *first == name), "{name}.yaml begins with {types:?}");
    }
}

#[test]
fn every_parent_is_there_and_no_file_is_its_own_ancestor() {
    let files = files();
    for name in files.keys() {
        let (mut at, mut seen) = (name.as_str(), vec![]);
        while let Some(parent) = files[at].get("like").and_then(|parent| parent.as_str()) {
            assert!(files.contains_key(parent), "{at} is like {parent}, which is not there");
            assert!(!seen.contains(&parent), "{name}: {seen:?} is a circle");
            seen.push(parent);
            at = parent;
        }
    }
}

#[test]
fn every_type_is_built_by_one_file_and_has_classes() {
    let files = files();
    let mut homes: HashMap<&str, &str> = HashMap::new();
    for (name, file) in &files {
        for known in types(file) {
            let other = homes.insert(known, name);
            assert_eq!(other, None, "{known} is in {name} too");
            assert!(!kinds_of(known).is_empty(), "{known} of {name} cannot be read, or has no classes");
        }
    }
    let mut listed = known_types();
    let mut written: Vec<&str> = homes.into_keys().collect();
    listed.sort_unstable();
    written.sort_unstable();
    assert_eq!(listed, written);
}

/// A file without types is there for others to be like it.
#[test]
fn a_file_without_types_has_children() {
    let files = files();
    let parents: Vec<&str> = files.values().filter_map(|file| file.get("like")?.as_str()).collect();
    for (name, _) in files.iter().filter(|(_, file)| types(file).is_empty()) {
        assert!(parents.contains(&name.as_str()), "no file is like {name}");
    }
}
