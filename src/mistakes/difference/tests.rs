//! Each kind once, with numbers that one can check by eye.

use nalgebra::DMatrix;

use super::{Cell, Difference, Kind, Pair, Part, Region, Sizes, Whose, compare};
use crate::plan::{Head, HeadStep, Name, Stack};

/// A matrix, row by row.
macro_rules! dmatrix {
    ($($($cell:expr),+);+) => {{
        let rows = [$(vec![$($cell),+]),+];
        DMatrix::from_row_slice(rows.len(), rows[0].len(), &rows.concat())
    }};
}

const SCORES: Name = Name::Stack(Stack::Scores);

/// Two heads of 3 × 3; no two numbers have the same size, and no pattern joins them.
fn right() -> Vec<DMatrix<f64>> {
    vec![
        dmatrix![0.50, -1.25, 2.75; 1.75, 0.25, -0.75; -2.50, 1.00, 3.25],
        dmatrix![1.50, 0.10, -2.25; -0.35, 2.00, 0.85; 0.65, -1.60, 3.70],
    ]
}

fn pair<'a>(theirs: &'a [DMatrix<f64>], ours: &'a [DMatrix<f64>]) -> Pair<'a> {
    Pair {
        name: SCORES,
        theirs,
        ours,
        tolerance: &|_| 1e-4,
        sheets: Some(2),
        d_k: Some(2),
        d_model: Some(4),
        num_heads: Some(2),
    }
}

fn against(theirs: &[DMatrix<f64>], ours: &[DMatrix<f64>]) -> Difference {
    compare(&pair(theirs, ours))
}

fn found(theirs: &[DMatrix<f64>]) -> Difference {
    against(theirs, &right())
}

fn said(difference: &Difference) -> String {
    difference.told(SCORES, &Whose::Right)
}

fn each(change: impl Fn(&DMatrix<f64>) -> DMatrix<f64>) -> Vec<DMatrix<f64>> {
    right().iter().map(change).collect()
}

fn in_head_2(change: impl Fn(&DMatrix<f64>) -> DMatrix<f64>) -> Vec<DMatrix<f64>> {
    let [first, second] = <[_; 2]>::try_from(right()).unwrap();
    let second = change(&second);
    vec![first, second]
}

fn head_2() -> Region {
    Region { heads: Some(vec![1]), ..Region::everything() }
}

fn rows(rows: &[usize]) -> Part {
    Part::Rows { rows: rows.to_vec(), of: 3 }
}

#[test]
fn what_agrees_within_the_tolerance_agrees() {
    // 0.00009 is below the tolerance of 0.0001.
    let difference = found(&each(|sheet| sheet.add_scalar(0.00009)));
    assert_eq!((difference.kind.clone(), difference.cells, difference.of), (Kind::None, 0, 18));
    assert_eq!(said(&difference), "your scores agree with the right ones");
    assert_eq!(against(&[], &[]).kind, Kind::None);
}

#[test]
fn nan_is_nan_and_infinity_is_infinity_of_the_same_sign() {
    let hidden = [dmatrix![f64::NEG_INFINITY, f64::NAN; f64::INFINITY, 1.0]];
    assert_eq!(against(&hidden, &hidden).kind, Kind::None);
    let other = [dmatrix![f64::NEG_INFINITY, f64::NAN; f64::NEG_INFINITY, 1.0]];
    let difference = against(&other, &hidden);
    assert_eq!((difference.cells, difference.largest), (1, f64::INFINITY));
}

#[test]
fn a_missing_scale_is_the_root_of_d_k() {
    // Two decimals times √2, rounded to four.
    let rounded = |value: f64| (value * std::f64::consts::SQRT_2 * 1e4).round() / 1e4;
    let difference = found(&each(|sheet| sheet.map(rounded)));
    // num_heads = 2 and d_model / d_k = 2 as well: two meanings are told, then the number.
    assert_eq!(said(&difference), "your scores are exactly √d_k = √(d_model/d_k) = √2 times the right ones");
    // The largest is 3.70 in head 2: it is off by 3.70 · 0.41421 = 1.5326.
    assert!((difference.largest - 1.5326).abs() < 1e-4);
    assert_eq!(difference.at, Cell { sequence: 0, head: 1, row: 2, column: 2 });
    assert_eq!((difference.first, difference.cells), (Cell::default(), 18));
}

#[test]
fn a_factor_without_a_meaning_is_told_with_the_digits_that_are_known() {
    let difference = found(&each(|sheet| sheet * 1.37));
    // Of 3.70 · 1.37 = 5.069, 0.000137 may be wrong: one part in 37,000.
    assert_eq!(said(&difference), "your scores are about 1.37 times the right ones");
    let difference = found(&each(|sheet| sheet * 3.0));
    assert_eq!(said(&difference), "your scores are exactly 3 times the right ones");
}

#[test]
fn one_head_with_the_wrong_sign() {
    let difference = found(&in_head_2(|sheet| -sheet));
    assert_eq!(difference.region, head_2());
    assert_eq!(said(&difference), "only in head 2, your scores are exactly −1 times the right ones");
    let files = Whose::Files { theirs: "A.npz", ours: "B.npz" };
    assert_eq!(
        difference.told(SCORES, &files),
        "only in head 2, the scores in A.npz are exactly −1 times those in B.npz"
    );
}

#[test]
fn an_offset_and_its_sign() {
    let difference = found(&each(|sheet| sheet.add_scalar(-0.125)));
    assert_eq!(said(&difference), "your scores are the right ones minus 0.125");
}

#[test]
fn a_bias_adds_the_same_row_to_every_row() {
    let bias = DMatrix::from_row_slice(1, 3, &[0.5, -1.0, 0.25]);
    let added = each(|sheet| DMatrix::from_fn(3, 3, |row, column| sheet[(row, column)] + bias[column]));
    let difference = found(&added);
    assert_eq!((difference.kind.clone(), difference.region.clone()), (Kind::RowOffset, Region::everything()));
    assert_eq!(
        difference.told(Name::Output, &Whose::Right),
        "your output differs from the right one by the same amounts in every row, as a bias would do"
    );
}

#[test]
fn a_number_for_each_row() {
    let numbers = [0.5, -1.0, 2.0];
    let by = |change: fn(f64, f64) -> f64| {
        found(&each(|sheet| DMatrix::from_fn(3, 3, |row, column| change(sheet[(row, column)], numbers[row]))))
    };
    let added = by(|value, number| value + number);
    assert_eq!(said(&added), "your scores are the right ones plus a number for each row");
    let scaled = by(|value, number| value * number);
    assert_eq!(said(&scaled), "your scores are the right ones times a factor for each row, from -1 to 2");
}

#[test]
fn a_gain_for_each_column() {
    let gains = [0.5, 1.25, 2.0];
    let gained = each(|sheet| DMatrix::from_fn(3, 3, |row, column| sheet[(row, column)] * gains[column]));
    let difference = found(&gained);
    assert_eq!(
        said(&difference),
        "your scores are the right ones times a factor for each column, from 0.5 to 2"
    );
}

#[test]
fn transposed_in_all_heads_or_in_one() {
    let difference = found(&each(DMatrix::transpose));
    assert_eq!(difference.kind, Kind::Transposed);
    // The diagonal is the same: 6 of 9 cells in each head.
    assert_eq!(difference.cells, 12);
    let difference = found(&in_head_2(DMatrix::transpose));
    assert_eq!(
        said(&difference),
        "only in head 2, your scores are the right ones with rows and columns exchanged (transposed)"
    );
}

#[test]
fn rows_exchanged_shifted_and_in_another_order() {
    let place = |order: [usize; 3]| found(&each(|sheet| sheet.select_rows(&order)));
    let exchanged = place([0, 2, 1]);
    assert_eq!(exchanged.kind, Kind::RowsPermuted(vec![0, 2, 1]));
    assert_eq!(said(&exchanged), "rows 2 and 3 of your scores are exchanged");
    let shifted = place([2, 0, 1]);
    assert_eq!(shifted.kind, Kind::RowsShifted(1));
    assert_eq!(
        said(&shifted),
        "the rows of your scores stand 1 place lower than they should: row 2 is the right row 1"
    );
    let up = place([1, 2, 2]);
    assert_eq!(up.kind, Kind::RowsShifted(-1));
    let copied = place([1, 1, 1]);
    assert_eq!(said(&copied), "every row of your scores is the right row 2");
}

#[test]
fn columns_exchanged_and_shifted() {
    let place = |order: [usize; 3]| found(&each(|sheet| sheet.select_columns(&order)));
    assert_eq!(place([2, 1, 0]).kind, Kind::ColumnsPermuted(vec![2, 1, 0]));
    let shifted = place([1, 2, 0]);
    assert_eq!(shifted.kind, Kind::ColumnsShifted(-1));
    assert_eq!(
        said(&shifted),
        "the columns of your scores stand 1 place further left than they should: column 1 is the right column 2"
    );
}

#[test]
fn heads_exchanged_and_one_head_used_for_all() {
    let [first, second] = <[_; 2]>::try_from(right()).unwrap();
    let exchanged = found(&[second, first.clone()]);
    assert_eq!(exchanged.kind, Kind::HeadsPermuted(vec![1, 0]));
    assert_eq!(said(&exchanged), "heads 1 and 2 of your scores are exchanged");
    let reused = found(&[first.clone(), first]);
    assert_eq!(said(&reused), "every head of your scores is the right head 1");
}

#[test]
fn sequences_exchanged() {
    let ours = right();
    let theirs: Vec<_> = ours.iter().rev().cloned().collect();
    let batch = Pair { sheets: None, ..pair(&theirs, &ours) };
    assert_eq!(compare(&batch).kind, Kind::SequencesPermuted(vec![1, 0]));
}

#[test]
fn one_cell_is_told_with_both_numbers() {
    let mut theirs = right();
    theirs[1][(0, 2)] = -2.25009;
    assert_eq!(found(&theirs).kind, Kind::None);
    theirs[1][(0, 2)] = 0.5;
    let difference = found(&theirs);
    assert_eq!(
        said(&difference),
        "only in row 1, column 3 of head 2, your scores hold 0.5 where the right ones hold -2.25"
    );
}

#[test]
fn only_some_rows_or_columns_or_the_future() {
    let only = |holds: fn(usize, usize) -> bool| {
        found(&each(|sheet| {
            let doubled = |row, column| if holds(row, column) { 2.0 } else { 1.0 } * sheet[(row, column)];
            DMatrix::from_fn(3, 3, doubled)
        }))
    };
    let last = only(|row, _| row == 2);
    assert_eq!(last.region.part, rows(&[2]));
    assert_eq!(
        said(&last),
        "only in row 3, your scores are exactly d_k = num_heads = 2 times the right ones"
    );
    let tail = only(|row, _| row > 0);
    assert!(said(&tail).starts_with("only in every row from 2 on, "), "{}", said(&tail));
    let columns = only(|_, column| column != 1);
    assert!(said(&columns).starts_with("only in columns 1 and 3, "), "{}", said(&columns));
    let future = only(|row, column| column > row);
    assert!(said(&future).starts_with("only above the diagonal, "), "{}", said(&future));
    let past = only(|row, column| column < row);
    assert_eq!(past.region.part, Part::BelowDiagonal);
    let own = only(|row, column| column == row);
    assert_eq!(own.region.part, Part::Diagonal);
}

#[test]
fn a_diagonal_means_nothing_for_queries() {
    let theirs =
        each(|sheet| sheet.map_with_location(|row, column, value| value + f64::from(u8::from(row < column))));
    let ours = right();
    let queries = Pair { name: Name::Stack(Stack::QHeads), ..pair(&theirs, &ours) };
    assert_eq!(compare(&queries).region.part, rows(&[0, 1]));
}

#[test]
fn nan_and_where() {
    let all = found(&each(|sheet| sheet.map(|_| f64::NAN)));
    assert_eq!(said(&all), "your scores are NaN (not a number) in every cell");
    let tail = found(&in_head_2(|sheet| {
        sheet.map_with_location(|row, _, value| if row > 0 { f64::NAN } else { value })
    }));
    assert_eq!(
        said(&tail),
        "in every row from 2 on of head 2, your scores hold NaN (not a number) in 6 cells where the right ones hold \
         numbers"
    );
    let ours = each(|sheet| sheet.map_with_location(|row, _, value| if row > 0 { f64::NAN } else { value }));
    let numbers = against(&right(), &ours);
    assert_eq!(numbers.kind, Kind::NumberForNaN { cells: 12 });
}

#[test]
fn infinity_where_a_mask_hides_too_much_or_too_little() {
    let causal = |past: fn(usize, usize) -> bool| {
        each(|sheet| {
            sheet.map_with_location(
                |row, column, value| if past(row, column) { value } else { f64::NEG_INFINITY },
            )
        })
    };
    let ours = causal(|row, column| column <= row);
    let open = against(&right(), &ours);
    assert_eq!(
        said(&open),
        "above the diagonal, your scores are finite in 6 cells where the right ones are infinite"
    );
    let strict = against(&causal(|row, column| column < row), &ours);
    assert_eq!(strict.kind, Kind::Infinite { more: 6, fewer: 0 });
    assert_eq!(strict.region.part, Part::Diagonal);
    let mirrored = against(&causal(|row, column| column >= row), &ours);
    assert_eq!(mirrored.kind, Kind::Infinite { more: 6, fewer: 6 });
    // A factor is found beside what is hidden.
    let scaled: Vec<_> = ours.iter().map(|sheet| sheet * 3.0).collect();
    assert_eq!(said(&against(&scaled, &ours)), "your scores are exactly 3 times the right ones");
}

#[test]
fn zeros_and_one_number_everywhere() {
    let zero = found(&in_head_2(|_| DMatrix::zeros(3, 3)));
    assert_eq!(said(&zero), "only in head 2, your scores are zero in every cell");
    let even = found(&each(|_| DMatrix::from_element(3, 3, 0.25)));
    assert_eq!(said(&even), "your scores are 0.25 in every cell");
}

#[test]
fn signs_turned_in_some_cells() {
    let size = found(&each(DMatrix::abs));
    // Negative: three in head 1, three in head 2. A cell with the sign turned differs, and no other one does.
    assert_eq!(size.kind, Kind::Sign { turned: 6, of: 18 });
    assert_eq!(said(&size), "your scores are the right ones with the sign turned in 6 of 18 cells");
}

#[test]
fn the_same_numbers_in_other_places() {
    // Column by column 0.5, 1.75, −1.25, 0.3, 2.75, −0.75; theirs 0.5, −1.25, 2.75, 1.75, 0.3, −0.75: what was written
    // row by row was read column by column.
    let ours = [dmatrix![0.5, -1.25, 2.75; 1.75, 0.3, -0.75]];
    let theirs = [dmatrix![0.5, 2.75, 0.3; -1.25, 1.75, -0.75]];
    let one = Pair { sheets: None, ..pair(&theirs, &ours) };
    assert_eq!(said(&compare(&one)), "your scores hold the same numbers as the right ones, in other places");
}

#[test]
fn noise_is_noise() {
    // Halves of the right numbers' sizes, with signs as they fell: √(Σd² / Σo²) = 1/2 exactly.
    let signs = [1.0, -1.0, -1.0, 1.0, 1.0, -1.0, 1.0, 1.0, -1.0];
    let noisy = each(|sheet| {
        sheet.map_with_location(|row, column, value| value + 0.5 * signs[row * 3 + column] * value)
    });
    let difference = found(&noisy);
    assert_eq!(
        said(&difference),
        "your scores differ from the right ones by 50 % of their size, in no simple pattern"
    );
}

#[test]
fn shapes_are_told_and_nothing_else_is_compared() {
    let ours = [dmatrix![1.0, 2.0, 3.0; 4.0, 5.0, 6.0]];
    let theirs = [ours[0].transpose()];
    let difference = against(&theirs, &ours);
    let sizes = |rows, columns| Sizes { sheets: 1, rows, columns };
    assert_eq!(difference.kind, Kind::Shape { theirs: sizes(3, 2), ours: sizes(2, 3) });
    assert_eq!(
        difference.told(Name::Head(Head(1), HeadStep::Output), &Whose::Right),
        "your output of head 2 is 3 × 2 where the right one is 2 × 3: rows and columns are exchanged"
    );
    // Sheets that do not agree among themselves are no tensor: told, not a panic.
    let ragged = [dmatrix![1.0], dmatrix![1.0, 2.0]];
    assert!(matches!(against(&ragged, &ragged).kind, Kind::Shape { .. }));
}

#[test]
fn few_or_coarse_numbers_prove_nothing() {
    // Two cells, each within one part in 40 of twice the right one: 2 · log₂ 20 bits is no proof.
    let ours = [dmatrix![1.0, 1.5]];
    let theirs = [dmatrix![2.0, 3.0]];
    let coarse = Pair { sheets: None, tolerance: &|_| 0.05, ..pair(&theirs, &ours) };
    assert!(matches!(compare(&coarse).kind, Kind::Noise { .. }));
}

#[test]
fn long_lists_are_shortened() {
    let sheet = DMatrix::from_fn(16, 4, |row, column| ((row * 7 + column * 5) % 31) as f64 / 8.0 + 0.1);
    let scattered = [0, 2, 3, 7, 9, 12];
    let theirs =
        [sheet.map_with_location(|row, _, value| if scattered.contains(&row) { -value } else { value })];
    let one = [sheet];
    let difference = compare(&Pair { sheets: None, ..pair(&theirs, &one) });
    assert_eq!(
        said(&difference),
        "only in rows 1, 3, 4 and 3 more, your scores are exactly −1 times the right ones"
    );
}
