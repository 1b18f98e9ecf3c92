//! How many there may be of what a lesson is made of: a small file can ask for a great deal.

use serde_yaml::Value;

use super::super::reader::{Reader, Spot};

/// Lists and sections by their paths (`*` is any item or name), and the most that they may hold. The largest lesson that
/// comes with mha has a tenth of it.
const MOST: &[(&str, usize)] = &[
    ("story", 1_000),
    ("claims", 2_000),
    ("quiz", 500),
    ("course", 500),
    ("runs", 100),
    ("runs.*.rewrites", 20),
    ("quiz.*.choices", 50),
    ("quiz.*.wrong", 50),
    ("course.*.choices", 50),
    ("course.*.wrong", 50),
    ("course.*.show", 20),
    ("course.*.watch", 20),
    ("course.*.change", 50),
    ("course.*.checks", 50),
    ("course.*.hints", 20),
    ("course.*.table.columns", 20),
    ("course.*.table.rows", 100),
    ("course.*.plot.lines", 20),
    ("course.*.time.runs", 20),
];

/// Parts that take time to compute, and how many of each a course may have.
const MOST_PARTS: &[(&str, usize)] =
    &[("table", 50), ("plot", 20), ("command", 20), ("time", 10), ("task", 20)];

/// Refuses a lesson that holds more of something than anybody could read, before any of it is read.
pub(in crate::lesson) fn keep(root: &Value, reader: &mut Reader) -> Option<()> {
    let mut kept = true;
    for (path, most) in MOST {
        for (spot, count) in sizes(root, path, Spot::root()) {
            kept &= count <= *most;
            if count > *most {
                too_many(&spot, &format!("{spot} has {count} entries"), *most, reader);
            }
        }
    }
    let parts = root.get("course").and_then(Value::as_sequence).map(Vec::as_slice).unwrap_or_default();
    for (kind, most) in MOST_PARTS {
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
