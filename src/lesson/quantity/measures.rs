//! What the functions of an expression measure.

use nalgebra::DMatrix;

use super::evaluate::ROUNDING;
use super::functions::Function;
use crate::limits::RANK_SIDE;
use crate::number;
use crate::trace::measure::{entropy_bits, largest_difference};

type Measured = Result<f64, String>;

/// Which position (from 0) a row of weights belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Positions {
    /// That of the first row.
    pub(super) from: usize,
    /// After so many rows the next head begins, where heads stand one above the other.
    pub(super) every: Option<usize>,
}

impl Positions {
    fn of(self, row: usize) -> usize {
        let place = self.from + row;
        self.every.map_or(place, |every| place % every.max(1))
    }
}

/// A function of a single number.
pub(super) fn of_a_number(function: Function, x: f64) -> Measured {
    let none = || Err(format!("{} of {} is not a number", function.word(), number::plain(x, 4)));
    match function {
        Function::Sqrt if x < 0.0 => none(),
        Function::Sqrt => Ok(x.sqrt()),
        Function::Exp => Ok(libm::exp(x)),
        Function::Ln | Function::Log2 if x <= 0.0 => none(),
        Function::Ln => Ok(libm::log(x)),
        Function::Log2 => Ok(libm::log2(x)),
        Function::Abs => Ok(x.abs()),
        Function::Round => Ok(x.round()),
        Function::Floor => Ok(x.floor()),
        _ => none(),
    }
}

/// About how many operations a function of a value of this shape takes.
pub(super) fn work(function: Function, (rows, columns): (usize, usize)) -> u128 {
    let cells = rows as u128 * columns as u128;
    match function {
        Function::Rank => 256 * cells * rows.min(columns) as u128,
        _ => cells,
    }
}

/// A function of one value, which a number is with one cell.
pub(super) fn of_one(function: Function, m: &DMatrix<f64>) -> Measured {
    let (rows, columns) = m.shape();
    match function {
        Function::Rows => return Ok(rows as f64),
        Function::Columns => return Ok(columns as f64),
        _ if m.is_empty() => return Err("it holds no numbers".to_owned()),
        _ => {}
    }
    match function {
        Function::Min => extreme(m, f64::min),
        Function::Max => extreme(m, f64::max),
        Function::Argmin => place(m, f64::min),
        Function::Argmax => place(m, f64::max),
        Function::Hidden => Ok(m.iter().filter(|cell| **cell == f64::NEG_INFINITY).count() as f64),
        Function::Distinct => Ok(distinct(m) as f64),
        Function::Entropy => entropy(m),
        _ => of_finite(function, finite(m)?),
    }
}

/// A function that makes sense of finite numbers only.
fn of_finite(function: Function, m: &DMatrix<f64>) -> Measured {
    match function {
        Function::Sum => Ok(sum(m.iter().copied())),
        Function::Mean => Ok(mean(m)),
        Function::Variance => Ok(variance(m)),
        Function::Std => Ok(variance(m).sqrt()),
        Function::Norm => Ok(norm(m)),
        Function::Rms => Ok(norm(m) / (m.len() as f64).sqrt()),
        Function::Rank => rank(m),
        _ => Err(format!("{} is no function of one value", function.word())),
    }
}

/// A function of two values.
pub(super) fn of_two(function: Function, a: &DMatrix<f64>, b: &DMatrix<f64>) -> Measured {
    let shapes = || format!("{} × {} and {} × {}", a.nrows(), a.ncols(), b.nrows(), b.ncols());
    if function == Function::Difference {
        let largest = largest_difference(&a.as_view(), &b.as_view());
        return largest
            .map(|(difference, ..)| difference)
            .ok_or_else(|| format!("{} do not compare", shapes()));
    }
    let is_line = |m: &DMatrix<f64>| m.nrows() == 1 || m.ncols() == 1;
    // A row may meet a column; cells of matrices have to stand in the same places.
    if a.len() != b.len() || !(a.shape() == b.shape() || (is_line(a) && is_line(b))) {
        return Err(format!("{} do not pair up", shapes()));
    }
    let (a, b) = (finite(a)?, finite(b)?);
    let dot = sum(a.iter().zip(b.iter()).map(|(x, y)| x * y));
    if function == Function::Dot {
        return Ok(dot);
    }
    let sizes = norm(a) * norm(b);
    if sizes == 0.0 { Err("zeros point nowhere".to_owned()) } else { Ok(dot / sizes) }
}

/// Where attention goes, as a mean over rows.
pub(super) fn of_weights(function: Function, weights: &DMatrix<f64>, positions: Positions) -> Measured {
    let weights = shares(weights)?;
    let columns = weights.ncols();
    let row = |row: usize| -> Option<f64> {
        let own = positions.of(row);
        let at = |column: Option<usize>| {
            column.filter(|column| *column < columns).map(|column| weights[(row, column)])
        };
        match function {
            Function::Own => at(Some(own)),
            Function::Previous => at(own.checked_sub(1)),
            Function::Next => at(own.checked_add(1)),
            Function::First => at(Some(0)),
            _ => Some(sum((0..columns).map(|column| own.abs_diff(column) as f64 * weights[(row, column)]))),
        }
    };
    let rows: Vec<f64> = (0..weights.nrows()).filter_map(row).collect();
    if rows.is_empty() {
        return Err(format!("no row has a position that {} means", function.word()));
    }
    Ok(sum(rows.iter().copied()) / rows.len() as f64)
}

/// The numbers, where all of them are finite.
fn finite(m: &DMatrix<f64>) -> Result<&DMatrix<f64>, String> {
    match m.iter().position(|cell| !cell.is_finite()) {
        None => Ok(m),
        Some(index) => {
            let (row, column) = (index % m.nrows(), index / m.nrows()); // column after column
            let cell = number::plain(m[(row, column)], 0);
            Err(format!("it holds {cell} in row {}, column {}", row + 1, column + 1))
        }
    }
}

/// The numbers, where each is a share and no row is more than a whole.
fn shares(m: &DMatrix<f64>) -> Result<&DMatrix<f64>, String> {
    let m = finite(m)?;
    for (index, row) in m.row_iter().enumerate() {
        let wrong = row.iter().find(|cell| !(-ROUNDING..=1.0 + ROUNDING).contains(*cell));
        if let Some(cell) = wrong {
            let cell = number::plain(*cell, 4);
            return Err(format!("row {} holds {cell}, and weights are from 0 to 1", index + 1));
        }
        let total = sum(row.iter().copied());
        if total > 1.0 + 1e-6 {
            let total = number::plain(total, 4);
            return Err(format!("row {} adds up to {total}, and weights to no more than 1", index + 1));
        }
    }
    Ok(m)
}

/// From left to right, so that it is the same on every machine; from 0, so that it is never −0.
fn sum(cells: impl IntoIterator<Item = f64>) -> f64 {
    cells.into_iter().fold(0.0, |sum, cell| sum + cell)
}

fn mean(m: &DMatrix<f64>) -> f64 {
    sum(m.iter().copied()) / m.len() as f64
}

fn variance(m: &DMatrix<f64>) -> f64 {
    let mean = mean(m);
    sum(m.iter().map(|cell| (cell - mean) * (cell - mean))) / m.len() as f64
}

/// The root of the sum of squares; the cells are scaled first, so that no square is too large or too small.
fn norm(m: &DMatrix<f64>) -> f64 {
    let largest = m.iter().fold(0.0, |most: f64, cell| most.max(cell.abs()));
    if largest == 0.0 {
        return 0.0;
    }
    let (least, most) = (1e-150, 1e150);
    let scale = if (least..most).contains(&largest) { 1.0 } else { largest };
    scale * sum(m.iter().map(|cell| (cell / scale) * (cell / scale))).sqrt()
}

fn entropy(m: &DMatrix<f64>) -> Measured {
    let rows = shares(m)?.row_iter();
    // A weight that rounding took below 0 is 0.
    let bits = rows.map(|row| entropy_bits(row.iter().map(|cell| cell.max(0.0))));
    Ok(sum(bits) / m.nrows() as f64)
}

/// The least or the greatest cell; −∞ is the least of all.
fn extreme(m: &DMatrix<f64>, chosen: fn(f64, f64) -> f64) -> Measured {
    if m.iter().any(|cell| cell.is_nan()) {
        return Err("it holds NaN".to_owned());
    }
    m.iter().copied().reduce(chosen).ok_or_else(|| "it holds no numbers".to_owned())
}

/// Where the extreme cell of a row or column is, from 1: the first, where rounding alone tells several apart.
fn place(m: &DMatrix<f64>, chosen: fn(f64, f64) -> f64) -> Measured {
    let (rows, columns) = m.shape();
    if rows != 1 && columns != 1 {
        return Err(format!("it is {rows} × {columns}, and a place is asked for in one row or column"));
    }
    let extreme = extreme(m, chosen)?;
    let place = m.iter().position(|cell| is_same(*cell, extreme)).unwrap_or(0);
    Ok((place + 1) as f64)
}

/// Whether two cells differ by no more than rounding.
fn is_same(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= ROUNDING * a.abs().max(b.abs()).max(1.0) && a.is_finite() && b.is_finite()
}

/// How many different values there are; what lies within rounding of a smaller one is the same.
fn distinct(m: &DMatrix<f64>) -> usize {
    let mut cells: Vec<f64> = m.iter().map(|cell| cell + 0.0).collect();
    cells.sort_by(f64::total_cmp);
    let mut count = 0;
    let mut last = None;
    for cell in cells {
        if !last.is_some_and(|last: f64| is_same(last, cell) || (last.is_nan() && cell.is_nan())) {
            count += 1;
            last = Some(cell);
        }
    }
    count
}

/// Singular values above 1e-9 of the largest.
fn rank(m: &DMatrix<f64>) -> Measured {
    let (rows, columns) = m.shape();
    if rows.max(columns) > RANK_SIDE {
        return Err(format!(
            "it is {rows} × {columns}, and ranks are computed up to {RANK_SIDE} × {RANK_SIDE}"
        ));
    }
    let largest = m.iter().fold(0.0, |most: f64, cell| most.max(cell.abs()));
    if largest == 0.0 {
        return Ok(0.0);
    }
    let steps = 100 * RANK_SIDE; // an iteration a singular value is usual
    let values = nalgebra::SVD::try_new(m / largest, false, false, f64::EPSILON, steps)
        .ok_or("its singular values cannot be computed")?
        .singular_values;
    let greatest = values.iter().copied().fold(0.0, f64::max);
    Ok(values.iter().filter(|value| **value > ROUNDING * greatest).count() as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The rank of a matrix of whole numbers, by elimination without fractions: exact.
    fn exact_rank(mut m: Vec<Vec<i128>>) -> usize {
        let (mut rank, columns) = (0, m[0].len());
        for column in 0..columns {
            let Some(pivot) = (rank..m.len()).find(|row| m[*row][column] != 0) else { continue };
            m.swap(rank, pivot);
            for row in rank + 1..m.len() {
                let (above, below) = (m[rank][column], m[row][column]);
                for place in 0..columns {
                    m[row][place] = m[row][place] * above - m[rank][place] * below;
                }
            }
            rank += 1;
            if rank == m.len() {
                break;
            }
        }
        rank
    }

    fn factors() -> impl Strategy<Value = (Vec<Vec<i128>>, Vec<Vec<i128>>)> {
        let matrix = |rows, columns| prop::collection::vec(prop::collection::vec(-3_i128..=3, columns), rows);
        (1_usize..7, 1_usize..5, 1_usize..7).prop_flat_map(move |(n, k, m)| (matrix(n, k), matrix(k, m)))
    }

    proptest! {
        #[test]
        fn the_rank_of_a_product_is_that_of_exact_elimination((a, b) in factors()) {
            let product: Vec<Vec<i128>> = a
                .iter()
                .map(|row| (0..b[0].len()).map(|c| row.iter().zip(&b).map(|(x, other)| x * other[c]).sum()).collect())
                .collect();
            let m = DMatrix::from_fn(product.len(), product[0].len(), |r, c| product[r][c] as f64);
            let expected = exact_rank(product) as f64;
            prop_assert_eq!(of_one(Function::Rank, &m), Ok(expected));
            prop_assert_eq!(of_one(Function::Rank, &m.transpose()), Ok(expected));
            prop_assert_eq!(of_one(Function::Rank, &(m / 7.0)), Ok(expected));
        }
    }
}
