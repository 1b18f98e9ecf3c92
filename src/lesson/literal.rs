//! Arrays typed into the lesson: lists of numbers, rows of lists, lists of matrices.

use serde_yaml::Value;

use super::reader::{Node, Reader, Spot, describe};
use crate::arrays::{Array, Kind};
use crate::fault::counted;
use crate::limits::MATRIX_NUMBERS;

/// After so many faults in one array the rest is only counted.
const FAULTS_SHOWN: usize = 6;

/// Which numbers an array may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cells {
    /// Finite numbers.
    Finite,
    /// Finite numbers and −∞, which hides.
    Additive,
    /// true and false, or 1 and 0.
    Flags,
    /// Any number, also NaN and the infinities: what a claim may state.
    Any,
}

impl Cells {
    /// Whether a number may stand in the array.
    pub(super) fn allows(self, number: f64) -> bool {
        match self {
            Self::Finite => number.is_finite(),
            Self::Additive => number.is_finite() || number == f64::NEG_INFINITY,
            Self::Flags => number == 0.0 || number == 1.0,
            Self::Any => true,
        }
    }

    fn needs(self) -> &'static str {
        match self {
            Self::Finite => "a finite number",
            Self::Additive => "a finite number or -.inf",
            Self::Flags => "true or false",
            Self::Any => "a number",
        }
    }

    /// Why others are refused.
    pub(super) fn why(self) -> &'static str {
        match self {
            Self::Finite => "NaN and infinity spread into every number that depends on them",
            Self::Additive => "NaN and +∞ leave the softmax without an answer; −∞ hides a key",
            Self::Flags => "true (or 1) means: may attend",
            Self::Any => "",
        }
    }

    /// What to write instead of a value that is no number: where it is one with a comma, that number.
    fn remedy_for(self, value: &Value) -> String {
        let decimal = value.as_str().map(|text| text.trim().replacen(',', ".", 1));
        match decimal.filter(|text| text.parse::<f64>().is_ok_and(|number| self.allows(number))) {
            Some(number) => format!("write it with a point: {number}"),
            None => self.remedy().to_owned(),
        }
    }

    /// What to write instead.
    pub(super) fn remedy(self) -> &'static str {
        match self {
            Self::Finite => "write a finite number",
            Self::Additive => "write a finite number, or -.inf to hide",
            Self::Flags => "write true or false (or 1 or 0)",
            Self::Any => "write a number",
        }
    }

    /// The number that a cell holds, where it may hold it.
    fn number(self, value: &Value) -> Option<f64> {
        let number = match value {
            Value::Number(number) => number.as_f64(),
            Value::Bool(flag) if self == Self::Flags => Some(f64::from(u8::from(*flag))),
            Value::String(text) if matches!(self, Self::Additive | Self::Any) => special(text),
            _ => None,
        };
        number.filter(|number| self.allows(*number))
    }
}

/// The words by which JSON writers say what JSON cannot.
fn special(text: &str) -> Option<f64> {
    match text {
        "-Infinity" | "-inf" | "-∞" => Some(f64::NEG_INFINITY),
        "Infinity" | "+Infinity" | "inf" | "∞" => Some(f64::INFINITY),
        "NaN" | "nan" => Some(f64::NAN),
        _ => None,
    }
}

/// Reads nested lists, up to three deep: numbers, rows, matrices. The first item of each depth sets the size
/// that all others must have.
pub(super) fn literal(node: &Node, reader: &mut Reader, cells: Cells) -> Option<Array> {
    if !node.value.is_sequence() {
        let needs =
            if cells == Cells::Flags { "a list of true and false" } else { "a list of numbers or of rows" };
        let example =
            if cells == Cells::Flags { "write [true, false]" } else { "write its rows: [[1, 0], [0, 1]]" };
        return node.refuse(reader, needs, example);
    }
    let shape = outline(node.value);
    if shape.contains(&0) {
        return reader.fault(
            &node.spot,
            format!("{} holds no numbers", node.spot),
            "one of its lists is empty",
            "put a number into every row",
        );
    }
    if shape.len() > 3 {
        let what = format!("{} is nested {} lists deep, and an array has at most 3", node.spot, shape.len());
        return reader.fault(
            &node.spot,
            what,
            "a row is one list, a matrix a list of rows",
            "remove brackets",
        );
    }
    let (root, depth) = (&node.spot, shape.len());
    let mut filling = Filling { cells, root, depth, trail: Vec::new(), data: Vec::new(), wrong: 0, reader };
    filling.fill(node.value, &shape);
    let (data, wrong) = (filling.data, filling.wrong);
    if wrong > FAULTS_SHOWN {
        let what = format!("{} has {} more faults like these", node.spot, wrong - FAULTS_SHOWN);
        return reader.fault(&node.spot, what, "", "mend the first ones, and look again");
    }
    if wrong > 0 {
        return None;
    }
    if data.len() > MATRIX_NUMBERS {
        let what = format!("{} has more than the {MATRIX_NUMBERS} numbers that a matrix may have", node.spot);
        return reader.fault(&node.spot, what, "every number is kept, to be shown", "take smaller sizes");
    }
    let kind = if cells == Cells::Flags { Kind::Bool } else { Kind::F64 };
    Some(Array { shape, data, kind })
}

/// The sizes of the first items, depth by depth.
fn outline(value: &Value) -> Vec<usize> {
    let mut shape = Vec::new();
    let mut inner = Some(value);
    while let Some(Value::Sequence(items)) = inner {
        shape.push(items.len());
        inner = items.first();
    }
    shape
}

struct Filling<'f, 'r> {
    cells: Cells,
    root: &'f Spot,
    /// How many lists deep the numbers lie.
    depth: usize,
    trail: Vec<usize>,
    data: Vec<f64>,
    wrong: usize,
    reader: &'f mut Reader<'r>,
}

impl Filling<'_, '_> {
    fn fill(&mut self, value: &Value, shape: &[usize]) {
        match (value, shape) {
            (Value::Sequence(items), [length, inner @ ..]) if items.len() == *length => {
                for (index, item) in items.iter().enumerate() {
                    self.trail.push(index);
                    self.fill(item, inner);
                    self.trail.pop();
                }
            }
            (Value::Sequence(items), [length, ..]) => self.ragged(items.len(), *length),
            (value, []) => match self.cells.number(value) {
                Some(number) => self.data.push(number),
                None => self.bad_cell(value),
            },
            (value, [..]) => {
                let what =
                    format!("{} is {}, but the first of its kind is a list", self.spot(), describe(value));
                self.note(what, "all rows have the same length", "write it in brackets");
            }
        }
    }

    fn ragged(&mut self, length: usize, expected: usize) {
        let rows_inside = self.trail.len() + 1 < self.depth;
        let (outer, inner) = if rows_inside { ("matrix", "row") } else { ("row", "number") };
        let number = self.trail.last().map_or(1, |index| index + 1);
        let list = self.spot().parent().unwrap_or_default();
        let what = format!(
            "{outer} {number} of {list} has {}, but the first has {expected}",
            counted(length, inner)
        );
        let remedy = format!("give it {}, or change the others", counted(expected, inner));
        self.note(what, "all rows have the same length", &remedy);
    }

    fn bad_cell(&mut self, value: &Value) {
        let what = format!("{} is {}, but it needs {}", self.spot(), describe(value), self.cells.needs());
        let why = match value {
            Value::Number(_) => self.cells.why(),
            Value::String(text) if special(text).is_some() => self.cells.why(),
            Value::String(text) if text.parse::<f64>().is_ok_and(f64::is_infinite) => {
                "the largest number is about 1.8e308"
            }
            _ => "",
        };
        let quoted = matches!(value, Value::String(text) if text.parse::<f64>().is_ok_and(f64::is_finite));
        let remedy = if quoted { "remove the quotes".to_owned() } else { self.cells.remedy_for(value) };
        self.note(what, why, &remedy);
    }

    fn spot(&self) -> Spot {
        self.trail.iter().fold(self.root.clone(), |spot, index| spot.item(*index))
    }

    fn note(&mut self, what: String, why: &str, remedy: &str) {
        self.wrong += 1;
        if self.wrong <= FAULTS_SHOWN {
            let spot = self.spot();
            self.reader.fault::<()>(&spot, what, why, remedy);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson::Options;
    use std::path::Path;

    fn typed(yaml: &str, cells: Cells) -> Result<(Vec<usize>, Vec<f64>), Vec<String>> {
        let value = serde_yaml::from_str(yaml).unwrap();
        let options = Options::default();
        let mut reader = Reader::new(Path::new("."), &options);
        let array = literal(&Node { value: &value, spot: Spot::root().key("x") }, &mut reader, cells);
        match array {
            Some(array) => Ok((array.shape, array.data)),
            None => Err(reader.into_faults().0.into_iter().map(|(fault, _)| fault.what).collect()),
        }
    }

    #[test]
    fn lists_rows_and_matrices_are_read_row_by_row() {
        assert_eq!(typed("[1, 2.5]", Cells::Finite), Ok((vec![2], vec![1.0, 2.5])));
        assert_eq!(
            typed("[[1, 2], [3, 4], [5, 6]]", Cells::Finite),
            Ok((vec![3, 2], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
        );
        assert_eq!(
            typed("[[[1], [2]], [[3], [4]]]", Cells::Finite),
            Ok((vec![2, 2, 1], vec![1.0, 2.0, 3.0, 4.0]))
        );
    }

    #[test]
    fn a_hiding_infinity_is_welcome_in_a_mask_only() {
        let row = "[-.inf, \"-Infinity\", -Infinity, 0]";
        let hidden = f64::NEG_INFINITY;
        assert_eq!(typed(row, Cells::Additive), Ok((vec![4], vec![hidden, hidden, hidden, 0.0])));
        assert_eq!(typed(row, Cells::Finite).unwrap_err().len(), 3);
        assert_eq!(typed("[.inf, .nan]", Cells::Additive).unwrap_err().len(), 2);
    }

    #[test]
    fn flags_may_be_written_as_one_and_zero() {
        assert_eq!(typed("[true, false, 1, 0]", Cells::Flags), Ok((vec![4], vec![1.0, 0.0, 1.0, 0.0])));
        assert_eq!(typed("[2]", Cells::Flags).unwrap_err(), ["x[1] is 2, but it needs true or false"]);
        assert_eq!(
            typed("[true]", Cells::Finite).unwrap_err(),
            ["x[1] is true, but it needs a finite number"]
        );
    }

    #[test]
    fn a_ragged_row_is_named_with_both_lengths() {
        let faults = typed("[[1, 2, 3], [4, 5]]", Cells::Finite).unwrap_err();
        assert_eq!(faults, ["row 2 of x has 2 numbers, but the first has 3"]);
        let faults = typed("[[[1], [2]], [[3]]]", Cells::Finite).unwrap_err();
        assert_eq!(faults, ["matrix 2 of x has 1 row, but the first has 2"]);
        let faults = typed("[[1, 2], 3]", Cells::Finite).unwrap_err();
        assert_eq!(faults, ["x[2] is 3, but the first of its kind is a list"]);
        let faults = typed("[[1, 2], [3, [4]]]", Cells::Finite).unwrap_err();
        assert_eq!(faults, ["x[2][2] is a list of 1, but it needs a finite number"]);
    }

    #[test]
    fn many_faults_in_one_array_are_counted_rather_than_listed() {
        let faults = typed("[a, b, c, d, e, f, g, h, i]", Cells::Finite).unwrap_err();
        assert_eq!(faults.len(), FAULTS_SHOWN + 1);
        assert_eq!(faults[FAULTS_SHOWN], "x has 3 more faults like these");
    }

    #[test]
    fn an_empty_list_and_a_fourth_axis_are_refused() {
        assert_eq!(typed("[]", Cells::Finite).unwrap_err(), ["x holds no numbers"]);
        assert_eq!(typed("[[], []]", Cells::Finite).unwrap_err(), ["x holds no numbers"]);
        assert_eq!(
            typed("[[[[1]]]]", Cells::Finite).unwrap_err(),
            ["x is nested 4 lists deep, and an array has at most 3"]
        );
    }
}
