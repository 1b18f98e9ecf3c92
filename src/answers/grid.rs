//! On which grid the numbers of a file lie.
//!
//! A grid is believed when every number lies on it and chance does not explain that. Chance is counted in bits: a
//! number that its storage could have put into 2^b places between two neighbours of the grid speaks with b bits for
//! it. Whole numbers lie on every decimal grid and say nothing; nor do NaN and infinities.

use super::Grain;
use crate::arrays::{Array, Kind};

/// So many bits of evidence make a grid: one chance in 65,536 that the numbers lie on it without rounding.
const ENOUGH: f64 = 16.0;

/// More digits than this are no rounding that a person asks for.
const MOST_DIGITS: u8 = 7;

/// So many numbers with one decimal at least: a few halves and fifths are a worked example, not a rounding.
const ENOUGH_TENTHS: usize = 8;

/// So many numbers at least before half precision is taken for the coarser bfloat16.
const ENOUGH_BRAINS: usize = 4;

/// So many numbers at least before short decimals are taken for what a program prints of a coarse binary type.
const ENOUGH_SHORTEST: usize = 12;

/// A number of half precision needs at most so many decimal digits to be told from its neighbours.
const SHORTEST_DIGITS: u8 = 5;

/// So many numbers that no short binary fraction is, before one tensor of a file is taken for decimals by itself.
const ENOUGH_ALONE: usize = 4;

/// So many more bits than decimals have are asked of significant digits: people round to decimals far more often, and
/// a few short numbers (12.5 beside 0.1234) are no sign of the other.
const RARELY: f64 = 8.0;

/// So many numbers are asked before all are.
const SOME: usize = 4096;

/// Numbers of at most so many decimals or digits are told no more finely than single precision computes.
const SHORT_DIGITS: u8 = 12;

/// The grain of each tensor of a file, in order; `arrays` are the tensors that are steps.
///
/// 1. What the file stores in half precision or bfloat16 is that.
/// 2. All other tensors together: do they lie on typed decimals (2 to 7; the most that any number needs; a single one
///    needs 8 numbers that are not whole), on significant digits (2 to 7), on half precision or bfloat16 kept in a
///    wider type? Whoever rounds does so throughout. Where several fit, the coarsest counts; significant digits only
///    where they are coarser by far.
/// 3. Otherwise each tensor alone: half precision or bfloat16, 3 to 7 decimals that are no short binary fractions, then
///    single precision (or at most 12 digits), then double.
/// 4. A tensor that says nothing (all zeros and ones, a few quarters) takes the coarsest grain of the others; where none
///    says anything, that of what the file stores: double for float64 in a binary file, else single.
pub(super) fn grains(arrays: &[&Array], text: bool) -> Vec<Grain> {
    let stored: Vec<Option<Grain>> = arrays.iter().map(|array| by_storage(array.kind)).collect();
    let open = || arrays.iter().zip(&stored).filter(|(_, grain)| grain.is_none()).map(|(array, _)| *array);
    if let Some(grain) = rounded(|| telling(open()), true) {
        return stored.into_iter().map(|stored| stored.unwrap_or(grain)).collect();
    }
    let alone: Vec<Option<Grain>> =
        arrays.iter().zip(&stored).map(|(array, stored)| stored.or_else(|| alone(array))).collect();
    let others = alone.iter().flatten().copied().max_by(|a, b| a.unit(1.0).total_cmp(&b.unit(1.0)));
    let otherwise = |array: &Array| match array.kind {
        Kind::F64 if !text => Grain::Double,
        _ => Grain::Single,
    };
    arrays.iter().zip(alone).map(|(array, grain)| grain.or(others).unwrap_or(otherwise(array))).collect()
}

/// The grains of a sheet that is being filled in by hand: a few numbers are too few to show that they are rounded, but
/// nobody who writes 0.4 beside blanks means 0.400000. They are two decimals where all numbers lie on those.
pub(super) fn at_hand(grains: Vec<Grain>, arrays: &[&Array]) -> Vec<Grain> {
    let two = Grain::Decimals(2);
    let mut numbers = telling(arrays.iter().copied());
    let typed = |grain: &Grain| matches!(grain, Grain::Single | Grain::Double | Grain::Decimals(1));
    match grains.iter().all(typed) && numbers.all(|number| two.round(number) == number) {
        true => vec![two; grains.len()],
        false => grains,
    }
}

fn by_storage(kind: Kind) -> Option<Grain> {
    match kind {
        Kind::F16 => Some(Grain::Half),
        Kind::Bf16 => Some(Grain::Brain),
        Kind::Bool | Kind::Integer | Kind::F32 | Kind::F64 => None,
    }
}

/// The numbers that say something of how they were rounded.
fn telling<'a>(arrays: impl Iterator<Item = &'a Array>) -> impl Iterator<Item = f64> {
    arrays
        .flat_map(|array| array.data.iter().copied())
        .filter(|number| number.is_finite() && number.fract() != 0.0)
}

/// The coarsest grid to which all numbers were rounded; `throughout` where they are those of a whole file.
///
/// Of many numbers some are asked first: what does not hold for them does not hold for all.
fn rounded<I: Iterator<Item = f64>>(numbers: impl Fn() -> I, throughout: bool) -> Option<Grain> {
    let count = numbers().count();
    if count <= 2 * SOME {
        return rounded_all(numbers, throughout);
    }
    let grain = rounded_all(|| numbers().step_by(count / SOME), throughout)?;
    match numbers().all(|number| grain.round(number) as f32 == number as f32) {
        true => Some(grain),
        false => rounded_all(numbers, throughout),
    }
}

fn rounded_all<I: Iterator<Item = f64>>(numbers: impl Fn() -> I, throughout: bool) -> Option<Grain> {
    let storage = if numbers().all(is_single) { Grain::Single } else { Grain::Double };
    let on = |grain: Grain, number: f64| {
        let near = grain.round(number);
        near == number || storage == Grain::Single && near as f32 == number as f32
    };
    // the grids of one kind lie in each other, so a number moves the search on, and never back
    let digits = |first: u8, grain: fn(u8) -> Grain| {
        let mut digits = first;
        for number in numbers() {
            while !on(grain(digits), number) {
                digits += 1;
                if digits > MOST_DIGITS {
                    return None;
                }
            }
        }
        Some(grain(digits))
    };
    let count = numbers().count();
    let decimals = digits(1, Grain::Decimals);
    if decimals == Some(Grain::Decimals(1)) && count < ENOUGH_TENTHS {
        return None;
    }
    let decimals = decimals.filter(|grain| {
        throughout
            || (3..=MOST_DIGITS).any(|digits| *grain == Grain::Decimals(digits))
                && numbers().filter(|number| (number * 1024.0).fract() != 0.0).count() >= ENOUGH_ALONE
    });
    let significant = if throughout { digits(2, Grain::Significant) } else { None };
    let binary = |grain: Grain, used: u32| {
        let is_held = |number: f64| {
            let near = grain.round(number);
            near == number || is_printed_single(number) && near as f32 == number as f32
        };
        let all = numbers().all(is_held);
        let using = numbers().filter(|number| binary_digits(*number) >= used).count();
        (all && 2 * using >= count).then_some(grain)
    };
    let shortest = |grain: Grain| {
        (throughout && count >= ENOUGH_SHORTEST && numbers().all(|number| is_shortest(number, grain)))
            .then_some(grain)
    };
    // Four decimals of a number below 1, and three digits of any, are also the shortest of some half: typed first.
    let is_typed = (1..=4).any(|digits| decimals == Some(Grain::Decimals(digits)))
        || (1..=3).any(|digits| significant == Some(Grain::Significant(digits)));
    if !is_typed && let Some(grain) = shortest(Grain::Half).or_else(|| shortest(Grain::Brain)) {
        return Some(grain);
    }
    let half = binary(Grain::Half, 8);
    let brain = if count < ENOUGH_BRAINS { None } else { binary(Grain::Brain, 6) };
    let evidence = |grain: Grain| -> f64 {
        let bits =
            numbers().map(|number| (grain.unit(number) / storage.unit(number)).log2().max(0.0)).sum::<f64>();
        if matches!(grain, Grain::Significant(_)) { bits - RARELY } else { bits }
    };
    let found =
        [decimals, significant, half, brain].into_iter().flatten().map(|grain| (evidence(grain), grain));
    let best = found.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.filter(|(bits, _)| *bits >= ENOUGH).map(|(_, grain)| grain)
}

/// What one tensor says by itself; nothing where its numbers use only a few digits.
fn alone(array: &Array) -> Option<Grain> {
    let numbers = || telling(std::iter::once(array));
    if let Some(grain) = rounded(numbers, false) {
        return Some(grain);
    }
    let (mut count, mut using, mut single) = (0, 0, true);
    for number in numbers() {
        count += 1;
        single = single && (is_single(number) || is_short(number));
        using += usize::from(binary_digits(number) >= 16);
    }
    match (single, count > 0 && 2 * using >= count) {
        (false, _) => Some(Grain::Double),
        (true, true) => Some(Grain::Single),
        (true, false) => None,
    }
}

/// Whether a number is what a program prints for a number of a coarse binary type: the shortest decimal that is nearest
/// to this one of its numbers and to no other (NumPy prints the half 0.09997558… as 0.1).
fn is_shortest(number: f64, grain: Grain) -> bool {
    let held = grain.round(number);
    let mut digits = 1..=SHORTEST_DIGITS;
    // Of two decimals of that length that are equally near, programs print one or the other.
    let shortest = digits.find(|digits| grain.round(Grain::Significant(*digits).round(held)) == held);
    shortest.is_some_and(|digits| Grain::Significant(digits).round(number) == number)
}

fn is_single(number: f64) -> bool {
    f64::from(number as f32) == number
}

/// Whether a number may be what is printed for a single: nine digits tell any of them from its neighbours. (Which of two
/// equally near decimals is printed differs from program to program.)
fn is_printed_single(number: f64) -> bool {
    Grain::Significant(9).round(number) == number
}

/// Whether a number has few digits, on a grid that is coarser than doubles are there anyway.
fn is_short(number: f64) -> bool {
    [Grain::Decimals(SHORT_DIGITS), Grain::Significant(SHORT_DIGITS)]
        .into_iter()
        .any(|grain| grain.unit(number) > Grain::Double.unit(number) && grain.round(number) == number)
}

/// Binary digits that a number needs: 1 for a power of two, 2 for 0.75; 53 for most doubles.
fn binary_digits(number: f64) -> u32 {
    let fraction = number.to_bits() & ((1 << 52) - 1);
    53 - fraction.trailing_zeros().min(52)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(kind: Kind, data: &[f64]) -> Array {
        Array::new(vec![data.len()], data.to_vec(), kind).unwrap()
    }

    #[track_caller]
    fn case(arrays: &[Array], text: bool, expected: &[Grain]) {
        let arrays: Vec<&Array> = arrays.iter().collect();
        assert_eq!(grains(&arrays, text), expected);
    }

    fn single(data: &[f64]) -> Vec<f64> {
        data.iter().map(|number| f64::from(*number as f32)).collect()
    }

    /// e^(−n/7) and the like: numbers that use every digit of a double.
    fn generic(count: usize) -> Vec<f64> {
        (1..=count).map(|n| (n as f64 / 7.0).exp() / 3.0 - 1.0).collect()
    }

    fn to(grain: Grain, data: &[f64]) -> Vec<f64> {
        data.iter().map(|number| grain.round(*number)).collect()
    }

    #[test]
    fn decimals_are_the_most_that_any_tensor_of_the_file_needs() {
        let (two, four) = ([0.25, -1.75], [0.1234, 12.5, -0.0021]);
        case(&[array(Kind::F64, &two), array(Kind::F64, &four)], true, &[Grain::Decimals(4); 2]);
        case(&[array(Kind::F64, &[0.125, 3.24])], true, &[Grain::Decimals(3)]);
        // 0.1234 is no float32: stored as one it is 0.12340000271797180
        case(&[array(Kind::F32, &single(&four))], false, &[Grain::Decimals(4)]);
        case(&[array(Kind::F64, &single(&four))], true, &[Grain::Decimals(4)]);
    }

    #[test]
    fn one_decimal_needs_eight_numbers_and_whole_numbers_prove_nothing() {
        let tenths = [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9];
        case(&[array(Kind::F64, &tenths)], true, &[Grain::Decimals(1)]);
        case(&[array(Kind::F64, &tenths[..7])], true, &[Grain::Single]);
        case(&[array(Kind::F64, &[1.0, 0.0, -7.0])], false, &[Grain::Double]);
        case(&[array(Kind::F64, &[1.0, 0.0, -7.0])], true, &[Grain::Single]);
        case(&[array(Kind::Integer, &[1.0, 0.0, -7.0])], false, &[Grain::Single]);
        case(&[array(Kind::F32, &[])], false, &[Grain::Single]);
    }

    /// `%.4g`: 12.34, 0.01234 and 0.00001234 have 2, 5 and 8 decimals, but four digits each.
    #[test]
    fn significant_digits_are_told_from_decimals_by_the_small_numbers() {
        case(&[array(Kind::F64, &[12.34, 0.01234, 1.234e-5])], true, &[Grain::Significant(4)]);
        case(&[array(Kind::F64, &[12.34, 0.01234, -0.5678])], true, &[Grain::Significant(4)]);
        case(&[array(Kind::F32, &single(&[12.34, 0.01234, 1.234e-5]))], false, &[Grain::Significant(4)]);
        // typed with four decimals: the small ones have fewer digits
        case(&[array(Kind::F64, &[12.3456, 0.0123, -0.5678])], true, &[Grain::Decimals(4)]);
    }

    #[test]
    fn half_precision_is_told_by_the_type_or_by_the_numbers() {
        let halves = to(Grain::Half, &generic(12));
        case(&[array(Kind::F16, &halves)], false, &[Grain::Half]);
        case(&[array(Kind::F32, &halves)], false, &[Grain::Half]);
        case(&[array(Kind::F64, &halves)], true, &[Grain::Half]);
        // halves in a text, printed as the singles that they are kept in: 0.8984375 stays, 0.42675781 loses its last digit
        let printed: Vec<f64> =
            halves.iter().map(|number| (*number as f32).to_string().parse().unwrap()).collect();
        case(&[array(Kind::F64, &printed)], true, &[Grain::Half]);
        // between 16 and 32 halves are multiples of 1/64: six decimals each, but rounded to 1/64
        let large: Vec<f64> = (0..12).map(|n| 16.0 + f64::from(37 * n + 1) / 64.0).collect();
        case(&[array(Kind::F64, &large)], true, &[Grain::Half]);
        // four decimals in float16 are first of all float16
        case(&[array(Kind::F16, &to(Grain::Half, &[0.1234, 2.5]))], false, &[Grain::Half]);
        let brains = to(Grain::Brain, &generic(12));
        case(&[array(Kind::F32, &brains)], false, &[Grain::Brain]);
        case(&[array(Kind::Bf16, &brains[..1])], false, &[Grain::Brain]);
    }

    /// As NumPy prints float16: the halves 0.0999755859375, 0.333251953125 and 2.140625 are 0.1, 0.3333 and 2.14.
    #[test]
    fn the_shortest_decimals_of_halves_are_halves() {
        assert!(is_shortest(0.1, Grain::Half));
        assert!(is_shortest(0.3333, Grain::Half));
        assert!(is_shortest(2.14, Grain::Half));
        assert!(!is_shortest(0.33325, Grain::Half), "0.3333 is shorter, and the same half");
        let typed = [
            0.1234, 0.5678, 0.9876, 0.4321, 0.2468, 0.1357, 0.8642, 0.7531, 0.1123, 0.5813, 0.2134, 0.5589,
            0.1447,
        ];
        case(&[array(Kind::F64, &typed)], true, &[Grain::Decimals(4)]);
        let printed =
            [0.1, 0.3333, 2.14, 0.7144, 0.01234, 1.143, 0.4287, 0.2727, 1.909, 0.0909, 0.2, 0.0769, 0.8457];
        case(&[array(Kind::F64, &printed)], true, &[Grain::Half]);
    }

    #[test]
    fn single_and_double() {
        let double = generic(6);
        case(&[array(Kind::F64, &double)], false, &[Grain::Double]);
        case(&[array(Kind::F32, &single(&double))], false, &[Grain::Single]);
        case(&[array(Kind::F64, &single(&double))], false, &[Grain::Single]);
        // as NumPy prints float32, and as `%.10f` prints a double
        case(&[array(Kind::F64, &[0.47733003, -2.795288, 2.456146])], true, &[Grain::Single]);
        case(&[array(Kind::F64, &[0.4773300312, -2.7952881234])], true, &[Grain::Single]);
    }

    #[test]
    fn a_tensor_that_says_nothing_takes_the_grain_of_the_others() {
        let (quarters, masks) = ([0.25, 0.5, 0.25], [0.0, 1.0, f64::NEG_INFINITY, f64::NAN]);
        let double = generic(6);
        let file = [array(Kind::F64, &quarters), array(Kind::F64, &double), array(Kind::F64, &masks)];
        case(&file, false, &[Grain::Double; 3]);
        let halves = array(Kind::F32, &to(Grain::Half, &double));
        let file = [array(Kind::F32, &single(&double)), halves, array(Kind::F32, &masks)];
        case(&file, false, &[Grain::Single, Grain::Half, Grain::Half]);
    }

    /// Somebody rounded the output by hand, and left the rest as it was.
    #[test]
    fn one_tensor_may_be_rounded_by_itself() {
        let rounded = [0.1234, -1.2346, 0.4321, 0.9876];
        let file = [array(Kind::F64, &generic(6)), array(Kind::F64, &rounded)];
        case(&file, true, &[Grain::Double, Grain::Decimals(4)]);
    }
}
