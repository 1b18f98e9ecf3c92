//! Arrays as a lesson may give them: typed out, by a word, from a file, or from a seed.

use std::path::{Path, PathBuf};

use serde_yaml::Value;

use super::literal::{Cells, literal};
use super::random::{Stream, normals};
use super::reader::{Node, Reader, Spot, describe, near};
use crate::arrays::{self, Array, Kind};
use crate::fault::{Fault, Faults, reason};
use crate::limits::{LESSON_SIZE, MATRIX_NUMBERS};

/// Where an array comes from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    /// Numbers, typed or read from a file.
    Ready(Array),
    /// Ones on the diagonal.
    Identity,
    /// The same number everywhere.
    All(f64),
    /// Drawn once the shape is known.
    Random(Random),
    /// `none`: deliberately not there.
    None,
}

/// A random array that has no shape yet.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Random {
    seed: u64,
    std: Option<f64>,
    /// Where the lesson gives it.
    pub(super) shape: Option<Vec<usize>>,
}

/// An array of the lesson, and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Typed {
    /// Where it comes from.
    pub(super) source: Source,
    /// Where it stands in the lesson.
    pub(super) spot: Spot,
}

/// What an array of random numbers is made with when the lesson leaves it open.
#[derive(Debug, Clone, Copy)]
pub(super) struct Draw {
    /// Which stream of the seed.
    pub(super) stream: Stream,
    /// The standard deviation.
    pub(super) std: f64,
}

/// Reads an array in any of its forms.
pub(super) fn read(node: &Node, reader: &mut Reader, cells: Cells) -> Option<Typed> {
    let source = match node.value {
        Value::String(word) => by_word(node, word, reader)?,
        Value::Mapping(entries) if entries.contains_key("random") => Source::Random(random(node, reader)?),
        Value::Mapping(_) => Source::Ready(from_file(node, reader, cells)?),
        _ => Source::Ready(literal(node, reader, cells)?),
    };
    Some(Typed { source, spot: node.spot.clone() })
}

const FORMS: &str = "identity, zeros, ones, none, a list of rows, {random: {seed: 7}} or {file: w.npy}";

fn by_word(node: &Node, word: &str, reader: &mut Reader) -> Option<Source> {
    let words = [
        ("identity", Source::Identity),
        ("zeros", Source::All(0.0)),
        ("ones", Source::All(1.0)),
        ("none", Source::None),
    ];
    if let Some((_, source)) = words.iter().find(|(known, _)| *known == word) {
        return Some(source.clone());
    }
    let remedy = match near(word, words.iter().map(|(known, _)| *known)) {
        Some(near) => format!("did you mean {near}? An array is {FORMS}"),
        None if word.contains('.') => format!("to read it from a file, write {{file: {word}}}"),
        None => format!("an array is {FORMS}"),
    };
    let what = format!("{} is {}, which is not an array", node.spot, describe(node.value));
    reader.fault(&node.spot, what, "", remedy)
}

fn random(node: &Node, reader: &mut Reader) -> Option<Random> {
    let outer = node.section(&["random"], reader)?;
    let section = outer.get("random")?.section(&["seed", "std", "shape"], reader)?;
    let seed = section.given("seed", reader, |node, reader| match node.value.as_u64() {
        Some(seed) => Some(seed),
        None => node.refuse(reader, "a whole number from 0 on", "write seed: 7"),
    });
    let std = section.given("std", reader, |node, reader| match node.number(reader)? {
        std if std >= 0.0 => Some(std),
        _ => node.refuse(reader, "a number that is not negative", "write std: 1, or leave it out"),
    });
    let shape = section.given("shape", reader, |node, reader| {
        let items = node.items(reader, "a list of sizes", "write shape: [rows, columns]")?;
        let sizes: Vec<_> = items.iter().map(|size| size.whole(reader, 1, LESSON_SIZE)).collect();
        let shape = sizes.into_iter().collect::<Option<Vec<usize>>>()?;
        if shape.len() > 3 || shape.is_empty() {
            return node.refuse(reader, "two sizes, or three with a batch", "write shape: [rows, columns]");
        }
        few_enough(&shape, &node.spot, reader).then_some(shape)
    });
    if seed.is_absent() {
        let what = format!("{} has no seed", node.spot);
        return reader.fault(
            &section.spot,
            what,
            "the same lesson must give the same numbers",
            "write {random: {seed: 7}}",
        );
    }
    Some(Random { seed: seed.good().copied()?, std: std.optional()?, shape: shape.optional()? })
}

/// Whether an array of this shape may be made or read; if not, that is noted.
pub(super) fn few_enough(shape: &[usize], spot: &Spot, reader: &mut Reader) -> bool {
    let count = shape.iter().try_fold(1usize, |product, size| product.checked_mul(*size));
    if count.is_some_and(|count| count <= MATRIX_NUMBERS) {
        return true;
    }
    let what = format!(
        "{spot} would be {}, more than the {MATRIX_NUMBERS} numbers that a matrix may have",
        sizes(shape)
    );
    reader.fault::<()>(spot, what, "every number is kept, to be shown", "take smaller sizes");
    false
}

/// `3 × 4`.
pub(super) fn sizes(shape: &[usize]) -> String {
    match shape {
        [] => "a single number".into(),
        [one] => format!("a list of {one}"),
        _ => shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" × "),
    }
}

impl Source {
    /// The numbers, where they do not wait for a shape.
    pub(super) fn ready(&self) -> Option<&Array> {
        match self {
            Self::Ready(array) => Some(array),
            _ => None,
        }
    }

    /// The numbers in rows × columns; a ready array is handed on whatever its shape is.
    ///
    /// `None` for `none`, and for an identity that is not square.
    pub(super) fn fill(&self, shape: &[usize], draw: Draw) -> Option<Array> {
        let count = shape.iter().product();
        let data = match self {
            Self::Ready(array) => return Some(array.clone()),
            Self::None => return None,
            Self::All(number) => vec![*number; count],
            Self::Random(random) => normals(random.seed, draw.stream, random.std.unwrap_or(draw.std), count),
            Self::Identity => {
                let [rows, columns] = *shape else { return None };
                if rows != columns {
                    return None;
                }
                let mut data = vec![0.0; count];
                for diagonal in 0..rows {
                    data[diagonal * (columns + 1)] = 1.0;
                }
                data
            }
        };
        Some(Array { shape: shape.to_vec(), data, kind: Kind::F64 })
    }
}

/// Rows become columns.
pub(super) fn transposed(array: &Array) -> Option<Array> {
    let [rows, columns] = *array.shape else { return None };
    let data = (0..columns).flat_map(|c| (0..rows).map(move |r| array.data[r * columns + c])).collect();
    Some(Array { shape: vec![columns, rows], data, kind: array.kind })
}

fn from_file(node: &Node, reader: &mut Reader, cells: Cells) -> Option<Array> {
    let section = node.section(&["file", "array", "tensor", "transpose", "rows"], reader)?;
    let path = file_path(&section, reader);
    let names = ["array", "tensor"].map(|key| section.given(key, reader, plain_text));
    let transpose = section.given("transpose", reader, flag);
    let rows = section.given("rows", reader, row_range);
    if let [Some(_), Some(_)] = names.each_ref().map(|name| name.good()) {
        let what = format!("{} names both an array and a tensor", node.spot);
        return reader.fault(&node.spot, what, "the two keys mean the same", "keep one of the two");
    }
    let name = names.iter().find_map(|name| name.good());
    let mut array = open(&path?, name.map(String::as_str), &node.spot, reader)?;
    if let Some((from, to)) = rows.or((0, 0)).filter(|(from, _)| *from > 0) {
        array = slice_rows(array, from, to, &node.spot, reader)?;
    }
    if transpose.or(false)? {
        let Some(turned) = transposed(&array) else {
            let what =
                format!("{} is {}, and only a matrix can be transposed", node.spot, sizes(&array.shape));
            return reader.fault(&node.spot, what, "", "remove transpose");
        };
        array = turned;
    }
    check_cells(&array, cells, &node.spot, reader)?;
    Some(array)
}

/// Reads an array of a file that the lesson names; faults of the file are noted at the place that names it.
pub(super) fn open(path: &Path, name: Option<&str>, spot: &Spot, reader: &mut Reader) -> Option<Array> {
    // What the headers say is compared with the limit before any number is read.
    match arrays::shape(path, name) {
        Ok(Some(shape)) if !few_enough(&shape, spot, reader) => return None,
        Ok(_) => {}
        Err(faults) => return file_faults(faults, spot, reader),
    }
    match arrays::read(path, name) {
        Ok(array) => few_enough(&array.shape, spot, reader).then_some(array),
        Err(faults) => file_faults(faults, spot, reader),
    }
}

/// Notes what is wrong with a file at the place that names it.
pub(super) fn file_faults<T>(faults: Faults, spot: &Spot, reader: &mut Reader) -> Option<T> {
    for Fault { what, place, why, remedy } in faults.0 {
        let where_inside = place.map(|place| {
            let line = place.line_column.map_or(String::new(), |(line, column)| format!(":{line}:{column}"));
            let path = if place.path.is_empty() { String::new() } else { format!(" ({})", place.path) };
            format!("{}{line}{path}", place.source)
        });
        let why = match where_inside {
            Some(place) if why.is_empty() => format!("in {place}"),
            Some(place) => format!("{why}; in {place}"),
            None => why,
        };
        reader.fault::<()>(spot, format!("{spot}: {what}"), why, remedy);
    }
    None
}

/// The path of `file`, inside the lesson's folder unless the caller allows more.
pub(super) fn file_path(section: &super::reader::Section, reader: &mut Reader) -> Option<PathBuf> {
    let Some(node) = section.get("file") else {
        let what = format!("{} names no file", section.spot);
        let remedy = "write {file: w.npy}, or {file: all.npz, array: w_q}";
        return reader.fault(&section.spot, what, format!("an array is {FORMS}"), remedy);
    };
    let named = plain_text(&node, reader)?;
    let path = reader.folder.join(&named);
    let found = match path.canonicalize() {
        Ok(found) if found.is_file() => found,
        Ok(_) => {
            let what = format!("{} names {named}, which is not a file", node.spot);
            return reader.fault(&node.spot, what, "", "name a .npy, .npz, .safetensors, .csv or .json file");
        }
        Err(error) => {
            let what = format!("{} names {named}, which cannot be opened", node.spot);
            return reader.fault(
                &node.spot,
                what,
                reason(&error),
                format!("{} (paths start from the lesson's folder)", arrays::did_you_mean(&path)),
            );
        }
    };
    let home = if reader.folder.as_os_str().is_empty() { Path::new(".") } else { reader.folder };
    let inside = home.canonicalize().is_ok_and(|home| found.starts_with(home));
    if inside || reader.options.allow_outside {
        return Some(path);
    }
    let what = format!("{} names {named}, which lies outside the lesson's folder", node.spot);
    let why = "a lesson from someone else could read any file otherwise";
    reader.fault(&node.spot, what, why, "move the file beside the lesson, or give --allow-outside")
}

/// A text that is not translated: a file's or an array's name.
pub(super) fn plain_text(node: &Node, reader: &mut Reader) -> Option<String> {
    match node.value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        _ => node.refuse(reader, "a name", "write a name, in quotes if need be"),
    }
}

/// `true` or `false`.
pub(super) fn flag(node: &Node, reader: &mut Reader) -> Option<bool> {
    match node.value {
        Value::Bool(flag) => Some(*flag),
        _ => node.refuse(reader, "true or false", "write true or false"),
    }
}

/// `rows: [from, to]`, both included and from 1: a part of a fused bias.
fn row_range(node: &Node, reader: &mut Reader) -> Option<(usize, usize)> {
    let remedy = "write rows: [1, 4] for the first four";
    let items = node.items(reader, "the first and the last row", remedy)?;
    let [from, to] = items.as_slice() else {
        return node.refuse(reader, "the first and the last row", remedy);
    };
    let (from, to) = (from.whole(reader, 1, usize::MAX)?, to.whole(reader, 1, usize::MAX)?);
    if from > to {
        return reader.fault(&node.spot, format!("{} ends before it starts", node.spot), "", remedy);
    }
    Some((from, to))
}

fn slice_rows(array: Array, from: usize, to: usize, spot: &Spot, reader: &mut Reader) -> Option<Array> {
    let height = array.shape.first().copied().unwrap_or(0);
    if to > height {
        let what = format!("{spot} asks for rows {from} to {to}, but the array has {height}");
        return reader.fault(spot, what, "", "rows count from 1, and the last is included");
    }
    let width = array.data.len() / height.max(1);
    let mut shape = array.shape;
    shape[0] = to - from + 1;
    Some(Array { shape, data: array.data[(from - 1) * width..to * width].to_vec(), kind: array.kind })
}

/// Numbers from a file are held to the same rules as typed ones.
fn check_cells(array: &Array, cells: Cells, spot: &Spot, reader: &mut Reader) -> Option<()> {
    if array.data.is_empty() {
        return reader.fault(
            spot,
            format!("{spot} holds no numbers ({})", sizes(&array.shape)),
            "",
            "save an array with numbers in it",
        );
    }
    let Some(index) = array.data.iter().position(|number| !cells.allows(*number)) else { return Some(()) };
    let count = array.data.iter().filter(|number| !cells.allows(**number)).count();
    let width = array.shape.last().copied().unwrap_or(1).max(1);
    let others = if count > 1 { format!(", and {} more like it", count - 1) } else { String::new() };
    let (row, column) = (index / width + 1, index % width + 1);
    let what = format!("{spot} holds {} in row {row}, column {column}{others}", array.data[index]);
    reader.fault(spot, what, cells.why(), cells.remedy())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson::Options;

    fn read_one(yaml: &str, folder: &Path, options: Options) -> Result<Typed, Vec<String>> {
        let value = serde_yaml::from_str(yaml).unwrap();
        let mut reader = Reader::new(folder, &options);
        let typed = read(&Node { value: &value, spot: Spot::root().key("w_q") }, &mut reader, Cells::Finite);
        let faults: Vec<_> = reader.into_faults().0.into_iter().map(|(fault, _)| fault.what).collect();
        if faults.is_empty() { Ok(typed.unwrap()) } else { Err(faults) }
    }

    fn simple(yaml: &str) -> Result<Typed, Vec<String>> {
        read_one(yaml, Path::new("."), Options::default())
    }

    const DRAW: Draw = Draw { stream: Stream::X, std: 1.0 };

    #[test]
    fn words_stand_for_arrays_of_any_shape() {
        let filled = |yaml: &str, shape: &[usize]| simple(yaml).unwrap().source.fill(shape, DRAW);
        assert_eq!(filled("identity", &[2, 2]).unwrap().data, [1.0, 0.0, 0.0, 1.0]);
        assert_eq!(filled("ones", &[1, 3]).unwrap().data, [1.0, 1.0, 1.0]);
        assert_eq!(filled("zeros", &[3, 1]).unwrap().data, [0.0, 0.0, 0.0]);
        assert_eq!(filled("identity", &[2, 3]), None);
        assert_eq!(filled("none", &[2, 2]), None);
    }

    #[test]
    fn a_random_array_takes_the_shape_it_is_given() {
        let typed = simple("{random: {seed: 7, std: 0}}").unwrap();
        assert_eq!(typed.source.fill(&[2, 3], DRAW).unwrap().data, [0.0; 6]);
        assert_eq!(simple("{random: {std: 1}}").unwrap_err(), ["w_q has no seed"]);
        let absurd = simple("{random: {seed: 1, shape: [1000000, 1000000]}}").unwrap_err();
        assert_eq!(
            absurd,
            [
                "w_q.random.shape would be 1000000 × 1000000, more than the 4194304 numbers that a matrix may have"
            ]
        );
        let beyond = simple("{random: {seed: 1, shape: [1000000000, 2]}}").unwrap_err();
        assert_eq!(beyond, ["w_q.random.shape[1] is 1000000000, but it must be between 1 and 1000000"]);
    }

    #[test]
    fn transposing_turns_rows_into_columns() {
        let array = Array { shape: vec![2, 3], data: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], kind: Kind::F64 };
        let turned = transposed(&array).unwrap();
        assert_eq!((turned.shape, turned.data), (vec![3, 2], vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0]));
    }

    #[test]
    fn files_stay_inside_the_lessons_folder() {
        let room = tempfile::tempdir().unwrap();
        let home = room.path().join("lessons");
        std::fs::create_dir(&home).unwrap();
        std::fs::write(room.path().join("outside.csv"), "1,2\n3,4\n").unwrap();
        std::fs::write(home.join("inside.csv"), "1,2\n3,4\n").unwrap();
        let locked = Options::default();
        let open = Options { allow_outside: true, ..Options::default() };

        let inside = read_one("{file: inside.csv}", &home, locked).unwrap();
        assert_eq!(inside.source.ready().unwrap().data, [1.0, 2.0, 3.0, 4.0]);
        let turned = read_one("{file: inside.csv, transpose: true}", &home, locked).unwrap();
        assert_eq!(turned.source.ready().unwrap().data, [1.0, 3.0, 2.0, 4.0]);
        let second_row = read_one("{file: inside.csv, rows: [2, 2]}", &home, locked).unwrap();
        assert_eq!(second_row.source.ready().unwrap().data, [3.0, 4.0]);

        let refused = read_one("{file: ../outside.csv}", &home, locked).unwrap_err();
        assert_eq!(refused, ["w_q.file names ../outside.csv, which lies outside the lesson's folder"]);
        assert!(read_one("{file: ../outside.csv}", &home, open).is_ok());
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("../outside.csv", home.join("link.csv")).unwrap();
            let refused = read_one("{file: link.csv}", &home, locked).unwrap_err();
            assert_eq!(refused, ["w_q.file names link.csv, which lies outside the lesson's folder"]);
        }
        let folder = read_one("{file: .}", &home, locked).unwrap_err();
        assert_eq!(folder, ["w_q.file names ., which is not a file"]);
        let missing = read_one("{file: no.npy}", &home, locked).unwrap_err();
        assert_eq!(missing, ["w_q.file names no.npy, which cannot be opened"]);
    }
}
