//! `model.safetensors.index.json`: a checkpoint in several files, and an index of which tensor stands in which.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Component, Path, PathBuf};

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use super::safetensors::stored;
use super::{Kind, StoredTensor, WeightFile, clipped, doubled_tensor, format, listed, packed};
use crate::arrays::safetensors::contents;
use crate::arrays::{self, AGAIN, Opened};
use crate::fault::{Fault, Faults, Outcome, Place, counted, no_json};
use crate::limits;

/// All tensors that an index names, in the order of the files' names.
pub(super) fn open(path: &Path) -> Outcome<WeightFile> {
    let index = read(path)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    all_there(&index, folder, path)?;

    let mut tensors = Vec::with_capacity(index.tensors.len());
    let mut left_out = 0;
    let mut faults = Vec::new();
    for (shard, wanted) in index.by_shard() {
        match tensors_of(&folder.join(shard), &wanted) {
            Ok((found, others)) => {
                tensors.extend(found);
                left_out += others;
            }
            Err(Faults(more)) => faults.extend(more),
        }
    }
    if !faults.is_empty() {
        faults.truncate(limits::SHOWN);
        return Err(Faults(faults));
    }

    let (packed, mut notes) = packed::found_in(&tensors);
    if left_out > 0 {
        notes.push(format!(
            "The files hold {} that the index does not name; not counted.",
            counted(left_out, "tensor")
        ));
    }
    let mut file = WeightFile {
        kind: Kind::ShardedSafetensors,
        path: path.to_owned(),
        tensors,
        metadata: index.metadata,
        packed,
        notes,
    };
    let disagreements = [("total_size", file.stored_bytes()), ("total_parameters", file.stored_count())];
    for (key, counted) in disagreements {
        if let Some(stated) = file.value(key).filter(|stated| !equals(stated, counted)) {
            file.notes
                .push(format!("The index states a {key} of {stated}; the headers add up to {counted}."));
        }
    }
    Ok(file)
}

/// The files that an index names, in the order of their names; every one is there.
///
/// # Errors
/// What [`super::open`] says of the index.
pub fn shards(path: &Path) -> Outcome<Vec<PathBuf>> {
    let index = read(path)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    all_there(&index, folder, path)?;
    Ok(index.by_shard().into_iter().map(|(shard, _)| folder.join(shard)).collect())
}

/// Some writers state sizes as floating-point numbers.
fn equals(stated: &str, counted: u64) -> bool {
    stated.parse() == Ok(counted) || stated.parse() == Ok(counted as f64)
}

/// The tensors of one file that the index places there, and how many others it holds.
fn tensors_of(shard: &Path, wanted: &[&str]) -> Outcome<(Vec<StoredTensor>, usize)> {
    let mut missing: HashSet<&str> = wanted.iter().copied().collect();
    let described = contents(shard)?.tensors;
    let all = described.len();
    let mut found = Vec::with_capacity(wanted.len());
    for tensor in described {
        if missing.remove(tensor.name.as_str()) {
            found.push(stored(tensor, shard)?);
        }
    }
    if missing.is_empty() {
        let others = all - found.len();
        return Ok((found, others));
    }
    let mut missing: Vec<&str> = missing.into_iter().collect();
    missing.sort_unstable();
    Err(Fault::new(
        format!("the file lacks {}: {}", counted(missing.len(), "tensor"), listed(&missing)),
        "the index says that it holds them",
        "download the index and all files of the same revision",
    )
    .at(arrays::place(shard))
    .into())
}

/// Every file that the index names is a `.safetensors` file inside its folder.
fn all_there(index: &Index, folder: &Path, path: &Path) -> Outcome<()> {
    let mut faults: Vec<Fault> = index.shards.iter().filter_map(|shard| misnamed(shard)).collect();
    if faults.is_empty() {
        let missing = index.by_shard().into_iter().filter(|(shard, _)| !folder.join(shard).is_file());
        faults.extend(missing.map(|(shard, tensors)| {
            Fault::new(
                format!("{shard} is missing"),
                format!("{} of the index stand in it", counted(tensors.len(), "tensor")),
                "download it into the folder of the index",
            )
        }));
    }
    let more = faults.len().saturating_sub(limits::SHOWN);
    faults.truncate(limits::SHOWN);
    if let Some(last) = faults.last_mut().filter(|_| more > 0) {
        last.why = format!("and {} more are missing or misnamed", counted(more, "file"));
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(Faults(faults.into_iter().map(|f| f.at(in_map(path))).collect()))
    }
}

fn misnamed(shard: &str) -> Option<Fault> {
    let stays_inside = Path::new(shard).components().all(|part| matches!(part, Component::Normal(_)));
    if !stays_inside || shard.is_empty() {
        return Some(Fault::new(
            format!("the index names the file {}", clipped(shard)),
            "an index names files inside its own folder",
            "trust no index that points elsewhere; download the model again from a place you trust",
        ));
    }
    if format::is_pickled_model(shard) {
        return Some(format::a_pickle(&format!("the index names a pickle: {}", clipped(shard))));
    }
    (!shard.ends_with(".safetensors")).then(|| {
        Fault::new(
            format!("the index names the file {}", clipped(shard)),
            "the files of an index are .safetensors files",
            "name the index of such files (model.safetensors.index.json)",
        )
    })
}

fn in_map(path: &Path) -> Place {
    Place { path: "weight_map".to_owned(), ..arrays::place(path) }
}

/// An index as it stands.
#[derive(Default)]
struct Index {
    /// The files' names, each once.
    shards: Vec<String>,
    /// Each tensor's name and its file's place in `shards`.
    tensors: Vec<(String, usize)>,
    metadata: Vec<(String, String)>,
}

impl Index {
    /// The files in the order of their names, each with its tensors.
    fn by_shard(&self) -> Vec<(&str, Vec<&str>)> {
        let mut shards: Vec<(&str, Vec<&str>)> =
            self.shards.iter().map(|shard| (shard.as_str(), Vec::new())).collect();
        for (tensor, shard) in &self.tensors {
            shards[*shard].1.push(tensor);
        }
        shards.sort_unstable();
        shards
    }
}

fn read(path: &Path) -> Outcome<Index> {
    let Opened { bytes, .. } = arrays::open(path)?;
    if bytes > limits::INDEX_BYTES {
        return Err(Fault::new(
            format!("the index is {} MiB large", bytes.div_ceil(1 << 20)),
            format!("an index is read up to {} MiB", limits::INDEX_BYTES >> 20),
            "name one of the .safetensors files",
        )
        .at(arrays::place(path))
        .into());
    }
    let text = arrays::text(path, limits::INDEX_BYTES)?;
    let mut index: Index = serde_json::from_str(&text).map_err(|error| no_index(&error, path))?;
    if index.tensors.is_empty() {
        let why = "an index has a weight_map, which gives the file of each tensor";
        let fault =
            Fault::new("this JSON file is no index of weights", why, "name a model.safetensors.index.json");
        return Err(fault.at(arrays::place(path)).into());
    }
    index.tensors.sort_unstable();
    match index.tensors.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => Err(doubled_tensor(&pair[0].0).at(in_map(path)).into()),
        None => Ok(index),
    }
}

fn no_index(error: &serde_json::Error, path: &Path) -> Fault {
    let message = no_json(error);
    let why = "an index is an object whose weight_map gives the file of each tensor";
    let place =
        Place { line_column: Some((error.line().max(1), error.column().max(1))), ..arrays::place(path) };
    Fault::new(format!("this is no index of weights: {message}"), why, AGAIN).at(place)
}

impl<'de> Deserialize<'de> for Index {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(IndexVisitor)
    }
}

struct IndexVisitor;

impl<'de> Visitor<'de> for IndexVisitor {
    type Value = Index;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a weight_map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Index, A::Error> {
        let mut index = Index::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "weight_map" if index.tensors.is_empty() => map.next_value_seed(WeightMap(&mut index))?,
                "weight_map" => return Err(A::Error::custom("weight_map stands twice")),
                "metadata" => index.metadata = map.next_value::<Facts>()?.0,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(index)
    }
}

/// Reads the `weight_map` into an index; a map type would silently keep the last of two tensors with one name.
struct WeightMap<'a>(&'a mut Index);

impl<'de> DeserializeSeed<'de> for WeightMap<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for WeightMap<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object that gives the file of each tensor")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut places: HashMap<String, usize> = HashMap::new();
        while let Some((tensor, shard)) = map.next_entry::<String, String>()? {
            if tensor.len().max(shard.len()) > limits::INDEX_NAME_BYTES {
                return Err(A::Error::custom(format!(
                    "a name is over {} bytes long",
                    limits::INDEX_NAME_BYTES
                )));
            }
            if self.0.tensors.len() == limits::INDEX_TENSORS {
                return Err(A::Error::custom(format!("it names over {} tensors", limits::INDEX_TENSORS)));
            }
            let next = self.0.shards.len();
            let place = *places.entry(shard).or_insert_with_key(|shard| {
                self.0.shards.push(shard.clone());
                next
            });
            self.0.tensors.push((tensor, place));
        }
        Ok(())
    }
}

/// The metadata of an index: what is a number, a text or a truth value; the rest is passed over.
struct Facts(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Facts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FactsVisitor)
    }
}

struct FactsVisitor;

impl<'de> Visitor<'de> for FactsVisitor {
    type Value = Facts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of facts about the checkpoint")
    }

    fn visit_unit<E: Error>(self) -> Result<Facts, E> {
        Ok(Facts(Vec::new()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Facts, A::Error> {
        let mut facts = Vec::new();
        let mut held = 0;
        while let Some((key, Fact(fact))) = map.next_entry::<String, Fact>()? {
            let Some(fact) = fact else { continue };
            let key = clipped(&key);
            held += key.len() + fact.len();
            if held <= limits::METADATA_BYTES {
                facts.push((key, fact));
            }
        }
        Ok(Facts(facts))
    }
}

/// One value of the metadata as text; none where it is a list or an object.
struct Fact(Option<String>);

impl<'de> Deserialize<'de> for Fact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FactVisitor)
    }
}

struct FactVisitor;

impl<'de> Visitor<'de> for FactVisitor {
    type Value = Fact;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_bool<E: Error>(self, fact: bool) -> Result<Fact, E> {
        Ok(Fact(Some(fact.to_string())))
    }

    fn visit_i64<E: Error>(self, fact: i64) -> Result<Fact, E> {
        Ok(Fact(Some(fact.to_string())))
    }

    fn visit_u64<E: Error>(self, fact: u64) -> Result<Fact, E> {
        Ok(Fact(Some(fact.to_string())))
    }

    fn visit_f64<E: Error>(self, fact: f64) -> Result<Fact, E> {
        Ok(Fact(Some(fact.to_string())))
    }

    fn visit_str<E: Error>(self, fact: &str) -> Result<Fact, E> {
        Ok(Fact(Some(clipped(fact))))
    }

    fn visit_unit<E: Error>(self) -> Result<Fact, E> {
        Ok(Fact(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Fact, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Fact(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fact, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Fact(None))
    }
}
