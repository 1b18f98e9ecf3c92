//! Kinds planted in random tensors are found again, however the numbers were rounded; noise is never a kind.

use nalgebra::DMatrix;
use proptest::prelude::*;

use super::{Kind, Pair, Region, compare};
use crate::plan::{Name, Stack};

/// How a person's numbers were written down.
#[derive(Debug, Clone, Copy)]
enum Written {
    Full,
    FourDecimals,
    Half,
}

impl Written {
    fn write(self, value: f64) -> f64 {
        match self {
            Self::Full => value,
            Self::FourDecimals => (value * 1e4).round() / 1e4,
            Self::Half => f64::from(half::f16::from_f64(value)),
        }
    }

    /// What a checker allows: for half precision, in proportion to the largest number.
    fn tolerance(self) -> f64 {
        match self {
            Self::Full => 1e-9,
            Self::FourDecimals => 1e-4,
            Self::Half => 1.5e-3 * LARGEST,
        }
    }
}

const LARGEST: f64 = 3.0;

#[derive(Debug, Clone)]
struct Tensor {
    sequences: usize,
    heads: usize,
    sheets: Vec<DMatrix<f64>>,
}

impl Tensor {
    fn each(&self, change: impl Fn(&DMatrix<f64>) -> DMatrix<f64>) -> Vec<DMatrix<f64>> {
        self.sheets.iter().map(change).collect()
    }

    fn rows(&self) -> usize {
        self.sheets[0].nrows()
    }
}

/// Two or three heads of 4 … 6 rows and columns in one or two sequences, each number up to [`LARGEST`].
fn tensor(square: bool) -> impl Strategy<Value = Tensor> {
    (1..=2_usize, 2..=3_usize, 4..=6_usize, 4..=6_usize).prop_flat_map(
        move |(sequences, heads, rows, columns)| {
            let columns = if square { rows } else { columns };
            let sheet = prop::collection::vec(-LARGEST..LARGEST, rows * columns)
                .prop_map(move |numbers| DMatrix::from_vec(rows, columns, numbers));
            prop::collection::vec(sheet, sequences * heads).prop_map(move |sheets| Tensor {
                sequences,
                heads,
                sheets,
            })
        },
    )
}

fn written() -> impl Strategy<Value = Written> {
    prop_oneof![Just(Written::Full), Just(Written::FourDecimals), Just(Written::Half)]
}

fn order(count: usize) -> impl Strategy<Value = Vec<usize>> {
    Just((0..count).collect::<Vec<_>>()).prop_shuffle()
}

fn found(theirs: &[DMatrix<f64>], right: &Tensor, written: Written) -> super::Difference {
    let theirs: Vec<_> = theirs.iter().map(|sheet| sheet.map(|value| written.write(value))).collect();
    let tolerance = written.tolerance();
    compare(&Pair {
        name: Name::Stack(Stack::Scores),
        theirs: &theirs,
        ours: &right.sheets,
        tolerance: &move |_| tolerance,
        sheets: Some(right.heads),
        d_k: Some(8),
        d_model: Some(24),
        num_heads: Some(3),
    })
}

/// A shift by which some order can be explained, as `RowsShifted` has it.
fn is_shift(order: &[usize], by: i64) -> bool {
    let source = |place: usize| place as i64 - by;
    order.iter().enumerate().all(|(place, from)| {
        !(0..order.len() as i64).contains(&source(place)) || source(place) == *from as i64
    })
}

proptest! {
    #[test]
    fn equal_tensors_agree(right in tensor(false), written in written()) {
        prop_assert_eq!(found(&right.sheets, &right, written).kind, Kind::None);
    }

    #[test]
    fn a_ratio_is_found(right in tensor(false), written in written(), factor in prop_oneof![-4.0..-0.2_f64, 0.1..0.8, 1.2..9.0]) {
        let difference = found(&right.each(|sheet| sheet * factor), &right, written);
        let Kind::Ratio { factor: told, uncertainty, .. } = difference.kind else {
            return Err(TestCaseError::fail(format!("{difference:?}")));
        };
        prop_assert!((told - factor).abs() <= (uncertainty + 1e-12) * 2.0 * factor.abs(), "{told} for {factor}");
        prop_assert_eq!(difference.region, Region::everything());
    }

    #[test]
    fn a_factor_with_a_meaning_gets_its_name(right in tensor(false), written in written(), at in 0..5_usize) {
        // d_k = 8, d_model = 24, num_heads = 3.
        let (factor, name) = [
            (8_f64.sqrt(), "√d_k = √8"),
            (1.0 / 8_f64.sqrt(), "1/√d_k = 1/√8"),
            (8.0, "d_k = 8"),
            (3_f64.sqrt(), "√(d_model/d_k) = √num_heads = √3"),
            (-1.0, "−1"),
        ][at];
        let kind = found(&right.each(|sheet| sheet * factor), &right, written).kind;
        let Kind::Ratio { named, .. } = kind else { return Err(TestCaseError::fail(format!("{kind:?}"))) };
        prop_assert_eq!(named.as_deref(), Some(name));
    }

    #[test]
    fn an_offset_is_found(right in tensor(false), written in written(), by in prop_oneof![-2.0..-0.1_f64, 0.1..2.0]) {
        let kind = found(&right.each(|sheet| sheet.add_scalar(by)), &right, written).kind;
        let Kind::Offset { by: told } = kind else { return Err(TestCaseError::fail(format!("{kind:?}"))) };
        prop_assert!((told - by).abs() <= 2.0 * written.tolerance());
    }

    #[test]
    fn a_bias_is_found(right in tensor(false), written in written(), bias in prop::collection::vec(0.1..2.0, 6)) {
        let added = right.each(|sheet| sheet.map_with_location(|_, column, value| value + bias[column]));
        prop_assert_eq!(found(&added, &right, written).kind, Kind::RowOffset);
    }

    #[test]
    fn a_factor_for_each_row_is_found(right in tensor(false), written in written(), factors in prop::collection::vec(1.2..3.0, 6)) {
        let scaled = right.each(|sheet| sheet.map_with_location(|row, _, value| value * factors[row]));
        let kind = found(&scaled, &right, written).kind;
        prop_assert!(matches!(kind, Kind::RowRatio { .. }), "{kind:?}");
    }

    #[test]
    fn a_transpose_is_found(right in tensor(true), written in written()) {
        prop_assert_eq!(found(&right.each(DMatrix::transpose), &right, written).kind, Kind::Transposed);
    }

    #[test]
    fn an_order_of_rows_or_columns_is_found(
        (right, order) in tensor(true).prop_flat_map(|right| { let n = right.rows(); (Just(right), order(n)) }),
        written in written(),
    ) {
        let identity = order.iter().enumerate().all(|(place, source)| place == *source);
        match found(&right.each(|sheet| sheet.select_rows(&order)), &right, written).kind {
            Kind::None => prop_assert!(identity),
            Kind::RowsShifted(by) => prop_assert!(by != 0 && is_shift(&order, by)),
            kind => prop_assert_eq!(kind, Kind::RowsPermuted(order.clone())),
        }
        match found(&right.each(|sheet| sheet.select_columns(&order)), &right, written).kind {
            Kind::None => prop_assert!(identity),
            Kind::ColumnsShifted(by) => prop_assert!(by != 0 && is_shift(&order, by)),
            kind => prop_assert_eq!(kind, Kind::ColumnsPermuted(order.clone())),
        }
    }

    #[test]
    fn rows_that_moved_down_are_shifted(right in tensor(false), written in written(), by in 1..=2_usize) {
        let moved = right.each(|sheet| sheet.map_with_location(|row, column, _| {
            if row < by { 0.0 } else { sheet[(row - by, column)] }
        }));
        prop_assert_eq!(found(&moved, &right, written).kind, Kind::RowsShifted(by as i64));
    }

    #[test]
    fn an_order_of_heads_is_found(
        (right, order) in tensor(false).prop_flat_map(|right| { let n = right.heads; (Just(right), order(n)) }),
        written in written(),
    ) {
        let heads = right.heads;
        let moved: Vec<_> = (0..right.sequences * heads)
            .map(|sheet| right.sheets[sheet / heads * heads + order[sheet % heads]].clone())
            .collect();
        match found(&moved, &right, written).kind {
            Kind::None => prop_assert!(order.is_sorted()),
            kind => prop_assert_eq!(kind, Kind::HeadsPermuted(order)),
        }
    }

    #[test]
    fn a_kind_in_one_head_is_found_there(right in tensor(true), written in written(), at in 0..3_usize) {
        let change = [|sheet: &DMatrix<f64>| -sheet, DMatrix::transpose, |sheet: &DMatrix<f64>| sheet.add_scalar(0.5)][at];
        let heads = right.heads;
        let moved: Vec<_> = right
            .sheets
            .iter()
            .enumerate()
            .map(|(sheet, numbers)| if sheet % heads == 1 { change(numbers) } else { numbers.clone() })
            .collect();
        let super::Difference { kind, region, .. } = found(&moved, &right, written);
        prop_assert_eq!(region, Region { heads: Some(vec![1]), ..Region::everything() });
        match at {
            0 => prop_assert!(matches!(&kind, Kind::Ratio { named: Some(name), .. } if name == "−1"), "{kind:?}"),
            1 => prop_assert_eq!(kind, Kind::Transposed),
            _ => prop_assert!(matches!(&kind, Kind::Offset { .. }), "{kind:?}"),
        }
    }

    #[test]
    fn the_same_numbers_elsewhere_are_found(
        (right, order) in tensor(false).prop_flat_map(|right| { let n = right.sheets[0].len(); (Just(right), order(n)) }),
    ) {
        // Every sheet's numbers dealt out anew. Full precision: in half precision, numbers as near together as
        // these prove nothing.
        let dealt = right.each(|sheet| {
            DMatrix::from_iterator(sheet.nrows(), sheet.ncols(), order.iter().map(|from| sheet.as_slice()[*from]))
        });
        let kind = found(&dealt, &right, Written::Full).kind;
        prop_assert_eq!(kind, Kind::Reshuffled);
    }

    #[test]
    fn noise_is_never_a_kind(
        right in tensor(true),
        written in written(),
        numbers in prop::collection::vec(-1.0..1.0, 6 * 36),
        size in 1.5..1000.0,
        share in 0.1..1.0,
    ) {
        let at = std::cell::Cell::new(0);
        let noisy = right.each(|sheet| sheet.map(|value| {
            let noise: f64 = numbers[at.replace(at.get() + 1)];
            let chosen = (noise * 1000.0).rem_euclid(1.0) < share;
            if chosen { value + noise * size * written.tolerance() } else { value }
        }));
        let kind = found(&noisy, &right, written).kind;
        prop_assert!(matches!(kind, Kind::None | Kind::OneCell { .. } | Kind::Noise { .. }), "{kind:?}");
    }

    #[test]
    fn unrelated_tensors_are_noise(right in tensor(true), written in written(), numbers in prop::collection::vec(-3.0..3.0, 6 * 36)) {
        let at = std::cell::Cell::new(0);
        let other = right.each(|sheet| sheet.map(|_| numbers[at.replace(at.get() + 1)]));
        let kind = found(&other, &right, written).kind;
        prop_assert!(matches!(kind, Kind::Noise { .. }), "{kind:?}");
    }
}
/// Small whole numbers agree by chance more often than others do. What is said of them is true of every cell all the
/// same; here it is seldom said.
#[test]
fn unrelated_small_whole_numbers_are_mostly_noise() {
    let mut state = 7_u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % 3) as f64 - 1.0
    };
    let mut sheets = || vec![DMatrix::from_fn(3, 4, |_, _| draw())];
    let patterns = (0..1000).filter(|_| {
        let (theirs, right) = (sheets(), Tensor { sequences: 1, heads: 1, sheets: sheets() });
        !matches!(found(&theirs, &right, Written::Full).kind, Kind::Noise { .. })
    });
    assert!(patterns.count() <= 10);
}
