//! How many there may be of what a lesson is made of: a small file can ask for a great deal.

use serde_yaml::Value;

use super::super::reader::{Reader, Spot};
use crate::limits::{COURSE_PARTS, LESSON_ENTRIES};

/// Refuses a lesson that holds more of something than anybody could read, before any of it is read.
pub(in crate::lesson) fn keep(root: &Value, reader: &mut Reader) -> Option<()> {
    let mut kept = true;
    for (path, most) in LESSON_ENTRIES {
        for (spot, count) in sizes(root, path, Spot::root()) {
            kept &= count <= *most;
            if count > *most {
                too_many(&spot, &format!("{spot} has {count} entries"), *most, reader);
            }
        }
    }
    let parts = root.get("course").and_then(Value::as_sequence).map(Vec::as_slice).unwrap_or_default();
    for (kind, most) in COURSE_PARTS {
        let places = || parts.iter().enumerate().filter(|(_, part)| part.get(kind).is_some());
        let count = places().count();
        if let Some((index, _)) = places().nth(*most) {
            kept = false;
            let spot = Spot::root().key("course").item(index);
            too_many(&spot, &format!("the course has {count} parts of the kind {kind}"), *most, reader);
        }
    }
    kept.then_some(())
}

fn too_many(spot: &Spot, what: &str, most: usize, reader: &mut Reader) {
    let what = format!("{what}, more than the {most} that are read");
    reader.fault::<()>(spot, what, "a lesson is read in one sitting", "make several lessons of it");
}

/// How many entries stand at a path, wherever it leads.
fn sizes(value: &Value, path: &str, spot: Spot) -> Vec<(Spot, usize)> {
    let (key, rest) = path.split_once('.').unwrap_or((path, ""));
    let inside: Vec<(Spot, &Value)> = match (value, key) {
        (Value::Sequence(items), "*") => {
            items.iter().enumerate().map(|(index, item)| (spot.item(index), item)).collect()
        }
        (Value::Mapping(entries), "*") => {
            let named = entries.iter().filter_map(|(key, item)| Some((key.as_str()?, item)));
            named.map(|(key, item)| (spot.key(key), item)).collect()
        }
        (_, key) => value.get(key).map(|item| (spot.key(key), item)).into_iter().collect(),
    };
    let count = |value: &Value| match value {
        Value::Sequence(items) => items.len(),
        Value::Mapping(entries) => entries.len(),
        _ => 0,
    };
    match rest {
        "" => inside.into_iter().map(|(spot, item)| (spot, count(item))).collect(),
        rest => inside.into_iter().flat_map(|(spot, item)| sizes(item, rest, spot)).collect(),
    }
}
