//! Each layout on tensors whose numbers say where they belong.

use super::layout::*;
use nalgebra::DMatrix;

use crate::arrays::{Array, Kind};

/// Two heads of 2 × 3 matrices, without and with a batch of two.
const HEADS: Expected = Expected { batch: None, sheets: Some(2), rows: 2, columns: 3 };
const BATCH: Expected = Expected { batch: Some(2), ..HEADS };
const MATRIX: Expected = Expected { sheets: None, ..HEADS };

/// The number at (b, h, r, c), all from 1, is bhrc: 1213 is sequence 1, head 2, row 1, column 3.
fn at(b: usize, h: usize, r: usize, c: usize) -> f64 {
    (1000 * (b + 1) + 100 * (h + 1) + 10 * (r + 1) + c + 1) as f64
}

fn sheets(expected: &Expected) -> Vec<DMatrix<f64>> {
    let (batch, heads) = (expected.batch.unwrap_or(1), expected.sheets.unwrap_or(1));
    (0..batch).flat_map(|b| (0..heads).map(move |h| DMatrix::from_fn(2, 3, |r, c| at(b, h, r, c)))).collect()
}

fn array(shape: &[usize], data: Vec<f64>) -> Array {
    Array::new(shape.to_vec(), data, Kind::F64).unwrap()
}

/// A tensor of this shape that holds, at each of its places, the number that `place` gives for its index.
fn tensor(shape: &[usize], place: impl Fn(&[usize]) -> f64) -> Array {
    let count = shape.iter().product();
    let data = (0..count).map(|flat| {
        let mut rest = flat;
        let mut index: Vec<usize> = shape
            .iter()
            .rev()
            .map(|size| {
                let i = rest % size;
                rest /= size;
                i
            })
            .collect();
        index.reverse();
        place(&index)
    });
    array(shape, data.collect())
}

/// Some reading of the tensor, and no plainer one, is what is expected.
#[track_caller]
fn case(tensor: &Array, expected: &Expected, how: &[Layout]) {
    let readings = readings(tensor, expected);
    let found = readings.iter().find(|reading| reading.sheets == sheets(expected));
    assert_eq!(found.map(|reading| reading.how.as_slice()), Some(how), "{readings:?}");
    assert!(readings.len() <= 7);
}

#[test]
fn a_tensor_as_it_stands_is_the_plainest_reading() {
    let heads = tensor(&[2, 2, 3], |i| at(0, i[0], i[1], i[2]));
    case(&heads, &HEADS, &[]);
    assert!(readings(&heads, &HEADS)[0].how.is_empty(), "the plainest is first");
    case(&tensor(&[2, 2, 2, 3], |i| at(i[0], i[1], i[2], i[3])), &BATCH, &[]);
    case(&tensor(&[2, 3], |i| at(0, 0, i[0], i[1])), &MATRIX, &[]);
}

#[test]
fn axes_of_length_one_come_and_go() {
    case(&tensor(&[1, 2, 2, 3], |i| at(0, i[1], i[2], i[3])), &HEADS, &[Layout::LeadingOnes]);
    case(&tensor(&[1, 1, 2, 3], |i| at(0, 0, i[2], i[3])), &MATRIX, &[Layout::LeadingOnes]);
    let one = Expected { batch: Some(1), sheets: Some(1), ..HEADS };
    case(&tensor(&[2, 3], |i| at(0, 0, i[0], i[1])), &one, &[Layout::LeadingOnes]);
    case(&tensor(&[2, 1, 3], |i| at(0, 0, i[0], i[2])), &MATRIX, &[Layout::Ones]);
    let cell = Expected { batch: None, sheets: None, rows: 1, columns: 1 };
    assert_eq!(readings(&array(&[], vec![7.0]), &cell)[0].sheets, [DMatrix::from_element(1, 1, 7.0)]);
    // three numbers in a row are 1 × 3 and 3 × 1 alike: one reading, not two
    let column = Expected { rows: 3, columns: 1, ..cell };
    assert_eq!(readings(&array(&[1, 3], vec![1.0, 2.0, 3.0]), &column).len(), 1);
}

#[test]
fn other_layouts_are_put_in_order() {
    case(&tensor(&[2, 2, 3], |i| at(0, i[1], i[0], i[2])), &HEADS, &[Layout::HeadsSecond]);
    case(&tensor(&[2, 3, 2], |i| at(0, i[0], i[2], i[1])), &HEADS, &[Layout::Transposed]);
    case(&tensor(&[2, 3, 2], |i| at(0, i[2], i[0], i[1])), &HEADS, &[Layout::HeadsLast]);
    case(&tensor(&[2, 6], |i| at(0, i[1] / 3, i[0], i[1] % 3)), &HEADS, &[Layout::SideBySide]);
    case(&tensor(&[4, 3], |i| at(0, i[0] / 2, i[0] % 2, i[1])), &HEADS, &[Layout::Tall]);
    case(&tensor(&[12], |i| at(0, i[0] / 6, i[0] % 6 / 3, i[0] % 3)), &HEADS, &[Layout::Flat]);
    case(&tensor(&[4, 2, 3], |i| at(i[0] / 2, i[0] % 2, i[1], i[2])), &BATCH, &[Layout::Merged]);
    case(&tensor(&[2, 2, 2, 3], |i| at(i[1], i[0], i[2], i[3])), &BATCH, &[Layout::BatchSecond]);
    case(&tensor(&[2, 2, 2, 3], |i| at(i[1], i[2], i[0], i[3])), &BATCH, &[Layout::BatchSecond]);
    let sequences = Expected { sheets: None, ..BATCH };
    case(&tensor(&[2, 2, 3], |i| at(i[1], 0, i[0], i[2])), &sequences, &[Layout::BatchSecond]);
    case(&tensor(&[1, 3, 2], |i| at(0, 0, i[2], i[1])), &MATRIX, &[Layout::Transposed, Layout::LeadingOnes]);
}

/// Two heads of width 3 side by side are 2 × 6: head 2 stands in columns 4 to 6.
#[test]
fn heads_that_are_still_apart_are_put_side_by_side() {
    let wide = Expected { columns: 6, ..MATRIX };
    let joined = DMatrix::from_fn(2, 6, |r, c| at(0, c / 3, r, c % 3));
    for given in [
        tensor(&[2, 2, 3], |i| at(0, i[0], i[1], i[2])),
        tensor(&[2, 2, 3], |i| at(0, i[1], i[0], i[2])),
        tensor(&[1, 2, 2, 3], |i| at(0, i[1], i[2], i[3])),
    ] {
        let readings = readings(&given, &wide);
        assert!(
            readings
                .iter()
                .any(|reading| reading.sheets == [joined.clone()] && reading.how == [Layout::HeadsApart])
        );
        assert_eq!(readings.len(), 2);
    }
    let batch = Expected { batch: Some(2), ..wide };
    let given = tensor(&[2, 2, 2, 3], |i| at(i[0], i[1], i[2], i[3]));
    let joined = [0, 1].map(|b| DMatrix::from_fn(2, 6, |r, c| at(b, c / 3, r, c % 3)));
    assert!(readings(&given, &batch).iter().any(|reading| reading.sheets == joined));
}

/// Keys repeated for two queries each: heads 1 1 2 2. Tiled (1 2 1 2) is another thing, and a mistake.
#[test]
fn repeated_heads_are_read_once() {
    case(&tensor(&[4, 2, 3], |i| at(0, i[0] / 2, i[1], i[2])), &HEADS, &[Layout::Repeated]);
    case(&tensor(&[2, 4, 2, 3], |i| at(i[0], i[1] / 2, i[2], i[3])), &BATCH, &[Layout::Repeated]);
    assert_eq!(readings(&tensor(&[4, 2, 3], |i| at(0, i[0] % 2, i[1], i[2])), &HEADS), []);
}

#[test]
fn a_shape_that_fits_nothing_has_no_readings() {
    for shape in [&[2, 2][..], &[0, 2, 3], &[7], &[], &[2, 2, 2, 2, 2], &[12, 2]] {
        let given = tensor(shape, |_| 1.0);
        assert_eq!(readings(&given, &HEADS), [], "{shape:?}");
    }
    let absurd = Expected { batch: Some(usize::MAX), ..HEADS };
    assert_eq!(readings(&tensor(&[2, 3], |_| 1.0), &absurd), []);
    let nothing = Expected { rows: 0, ..HEADS };
    assert_eq!(readings(&tensor(&[2, 3], |_| 1.0), &nothing), []);
}

#[test]
fn plainly_a_tensor_is_its_own_matrices() {
    let given = plain(&tensor(&[1, 2, 4, 3], |i| at(0, i[1], i[2], i[3]))).unwrap();
    assert_eq!((given.leading.as_slice(), given.sheets.len()), (&[2][..], 2));
    assert_eq!(given.sheets[1][(3, 2)], at(0, 1, 3, 2));
    assert_eq!(plain(&array(&[3], vec![1.0, 2.0, 3.0])).unwrap().sheets[0].shape(), (1, 3));
    assert_eq!(plain(&array(&[], vec![1.0])).unwrap().sheets[0].shape(), (1, 1));
    assert_eq!(plain(&array(&[1, 1, 5], vec![0.0; 5])).unwrap().sheets[0].shape(), (1, 5));
    assert_eq!(plain(&array(&[1 << 40, 0, 0], vec![])), None);
    assert_eq!(plain(&array(&[1 << 17, 1, 1], vec![0.0; 1 << 17])), None);
}
