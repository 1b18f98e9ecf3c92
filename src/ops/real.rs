//! The numbers an engine computes with, and in which order it adds them.

use nalgebra::{DMatrix, DMatrixView, DMatrixViewMut, RealField};

use super::{Activation, simd, team, tiles};

/// How products and exponentials are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    /// A fixed order without fused multiply–add, functions from the libm crate: the same bits on every machine.
    Ordered,
    /// Tiles on the processor's widest units, and multiplications fused with additions: faster, and the last bits may differ between machines.
    Fast {
        /// How many threads may work at once; at least one does.
        threads: usize,
    },
}

/// Numbers that are each looked at once or twice are not worth a second thread if there are fewer.
const NUMBERS_WORTH_A_THREAD: usize = 32 * 1024;

impl Arithmetic {
    /// How many threads may work at once.
    pub fn threads(self) -> usize {
        match self {
            Self::Ordered => 1,
            Self::Fast { threads } => threads.max(1),
        }
    }

    /// How many threads so many numbers are worth, if little is done to each.
    pub(super) fn threads_for(self, numbers: usize) -> usize {
        if numbers < NUMBERS_WORTH_A_THREAD { 1 } else { self.threads() }
    }
}

/// A matrix that someone else holds.
pub type View<'a, T> = DMatrixView<'a, T>;

/// f64 or f32.
pub trait Real: RealField + Copy {
    /// The nearest number of this type.
    fn of(value: f64) -> Self;
    /// The same number as an f64.
    fn value(self) -> f64;
    /// e^self, the same bits on every machine.
    fn exponential(self) -> Self;
    /// tanh, the same bits on every machine.
    fn hyperbolic_tangent(self) -> Self;
    /// The error function, the same bits on every machine.
    fn error_function(self) -> Self;
    /// Whether no number of a run is infinite or not a number.
    fn all_finite(run: &[Self]) -> bool;
    /// Each of `most` becomes the larger of itself and its neighbour in `run`.
    fn raise(most: &mut [Self], run: &[Self]) {
        for (most, x) in most.iter_mut().zip(run) {
            *most = if *x > *most { *x } else { *most };
        }
    }
    /// e^(x − most) in the place of x, and added to `sums`.
    fn exponentials(run: &mut [Self], most: &[Self], sums: &mut [Self], arithmetic: Arithmetic) {
        for ((x, most), sum) in run.iter_mut().zip(most).zip(sums) {
            let power = match arithmetic {
                Arithmetic::Ordered => (*x - *most).exponential(),
                Arithmetic::Fast { .. } => (*x - *most).exp(),
            };
            *sum += power;
            *x = power;
        }
    }
    /// Each number bent by an activation, in its place.
    fn bend(run: &mut [Self], activation: Activation, _: Arithmetic) {
        for x in run {
            *x = activation.of(*x);
        }
    }
    /// A · B, each column plus its number of `bias` where there is one, on the widest units; the last bits may differ between
    /// machines.
    fn multiply(
        a: View<'_, Self>,
        b: View<'_, Self>,
        bias: Option<&[Self]>,
        threads: usize,
    ) -> DMatrix<Self> {
        widest(a, b, bias, threads)
    }
    /// Each number over its sum.
    fn divide(run: &mut [Self], sums: &[Self], _: Arithmetic) {
        for (x, sum) in run.iter_mut().zip(sums) {
            *x /= *sum;
        }
    }
}

/// Numbers looked at together: enough for the vector units, few enough to stop soon.
const STRETCH: usize = 4096;

impl Real for f64 {
    fn of(value: f64) -> Self {
        value
    }

    fn value(self) -> f64 {
        self
    }

    fn exponential(self) -> Self {
        libm::exp(self)
    }

    fn hyperbolic_tangent(self) -> Self {
        libm::tanh(self)
    }

    fn error_function(self) -> Self {
        libm::erf(self)
    }

    fn all_finite(run: &[Self]) -> bool {
        // All ones in the exponent; joined without a branch, so that several are looked at at once.
        const ODD: u64 = 0x7ff0_0000_0000_0000;
        run.chunks(STRETCH)
            .all(|stretch| !stretch.iter().fold(false, |odd, x| odd | (x.to_bits() & ODD == ODD)))
    }
}

impl Real for f32 {
    #[expect(clippy::cast_possible_truncation, reason = "rounding to single precision is what is asked for")]
    fn of(value: f64) -> Self {
        value as f32
    }

    fn value(self) -> f64 {
        f64::from(self)
    }

    fn exponential(self) -> Self {
        libm::expf(self)
    }

    fn hyperbolic_tangent(self) -> Self {
        libm::tanhf(self)
    }

    fn error_function(self) -> Self {
        libm::erff(self)
    }

    fn all_finite(run: &[Self]) -> bool {
        run.chunks(STRETCH).all(simd::all_finite)
    }

    fn multiply(
        a: View<'_, Self>,
        b: View<'_, Self>,
        bias: Option<&[Self]>,
        threads: usize,
    ) -> DMatrix<Self> {
        let mut c = DMatrix::zeros(a.nrows(), b.ncols());
        let worth = worth(a.nrows() * a.ncols() * b.ncols(), threads);
        if a.ncols() > 0 && tiles::multiply(a, b, bias, c.as_mut_slice(), worth) {
            return c;
        }
        widest(a, b, bias, threads)
    }

    fn raise(most: &mut [Self], run: &[Self]) {
        simd::raise(most, run);
    }

    fn exponentials(run: &mut [Self], most: &[Self], sums: &mut [Self], arithmetic: Arithmetic) {
        match arithmetic {
            Arithmetic::Fast { .. } => simd::exponentials(run, most, sums),
            Arithmetic::Ordered => {
                for ((x, most), sum) in run.iter_mut().zip(most).zip(sums) {
                    *x = libm::expf(*x - *most);
                    *sum += *x;
                }
            }
        }
    }

    fn bend(run: &mut [Self], activation: Activation, arithmetic: Arithmetic) {
        match arithmetic {
            Arithmetic::Fast { .. } => simd::bend(run, activation),
            Arithmetic::Ordered => run.iter_mut().for_each(|x| *x = activation.of(*x)),
        }
    }

    fn divide(run: &mut [Self], sums: &[Self], _: Arithmetic) {
        simd::divide(run, sums);
    }
}

/// Products of fewer multiplications than this are not worth a second thread.
const WORTH_A_THREAD: usize = 400_000;

/// How many threads are worth so many multiplications.
fn worth(multiplications: usize, threads: usize) -> usize {
    if multiplications < WORTH_A_THREAD { 1 } else { threads.max(1) }
}

/// A · B + bias by nalgebra's product.
fn widest<T: Real>(a: View<'_, T>, b: View<'_, T>, bias: Option<&[T]>, threads: usize) -> DMatrix<T> {
    let (rows, columns) = (a.nrows(), b.ncols());
    let mut c = DMatrix::zeros(rows, columns);
    let threads = worth(rows * a.ncols() * columns, threads);
    team::each_part(c.as_mut_slice(), rows, threads, |first, slice| {
        let mut c = DMatrixViewMut::from_slice(slice, rows, slice.len() / rows.max(1));
        c.gemm(T::one(), &a, &b.columns(first, c.ncols()), T::zero());
    });
    add_to_columns(&mut c, bias);
    c
}

/// A · B (m × k · k × n → m × n).
///
/// `Ordered`: each cell is ((a₁b₁ + a₂b₂) + a₃b₃) + …, from left to right.
pub fn product<T: Real>(a: View<'_, T>, b: View<'_, T>, arithmetic: Arithmetic) -> DMatrix<T> {
    product_and_bias(a, b, None, arithmetic)
}

/// A · B like [`product`], and each column plus its number of `bias` (1 × n) where there is one.
pub(super) fn product_and_bias<T: Real>(
    a: View<'_, T>,
    b: View<'_, T>,
    bias: Option<&View<'_, T>>,
    arithmetic: Arithmetic,
) -> DMatrix<T> {
    let bias: Option<Vec<T>> = bias.map(|bias| bias.iter().copied().collect());
    match arithmetic {
        Arithmetic::Ordered => {
            let mut c = DMatrix::zeros(a.nrows(), b.ncols());
            add_in_order(a, b, &mut c);
            add_to_columns(&mut c, bias.as_deref());
            c
        }
        Arithmetic::Fast { threads } => T::multiply(a, b, bias.as_deref(), threads),
    }
}

/// Each column plus its number.
fn add_to_columns<T: Real>(c: &mut DMatrix<T>, bias: Option<&[T]>) {
    for (mut column, bias) in c.column_iter_mut().zip(bias.into_iter().flatten()) {
        column.add_scalar_mut(*bias);
    }
}

/// Columns of the result that are summed side by side: each number of A is then read once for all of them.
const ABREAST: usize = 4;

/// Adds column by column: the cells of a column are independent, so the processor may do several at once without
/// changing the order within any of them.
fn add_in_order<T: Real>(a: View<'_, T>, b: View<'_, T>, c: &mut DMatrix<T>) {
    let rows = a.nrows();
    if rows == 0 {
        return;
    }
    let mut columns = c.as_mut_slice().chunks_exact_mut(rows).enumerate();
    while let Some((j, first)) = columns.next() {
        let rest: Vec<&mut [T]> = columns.by_ref().take(ABREAST - 1).map(|(_, column)| column).collect();
        match <[&mut [T]; ABREAST - 1]>::try_from(rest) {
            Ok([second, third, fourth]) => simd::add_four(a, b, j, [first, second, third, fourth]),
            Err(rest) => {
                for (column, sums) in std::iter::once(first).chain(rest).enumerate() {
                    simd::add_one(a, b, j + column, sums);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_multiplying_agree_and_threads_change_nothing() {
        let a = DMatrix::from_fn(130, 70, |i, j| ((i * 7 + j * 13) % 11) as f64 - 5.0);
        let b = DMatrix::from_fn(70, 510, |i, j| ((i * 5 + j * 3) % 7) as f64 - 3.0);
        let ordered = product(a.as_view(), b.as_view(), Arithmetic::Ordered);
        // Small whole numbers: every sum is exact, so every order gives the same.
        for threads in [1, 2, 3] {
            assert_eq!(product(a.as_view(), b.as_view(), Arithmetic::Fast { threads }), ordered);
        }
    }

    /// Whole numbers up to 5 and sums below 2^24: exact in single precision in every order. Heights around a panel of 16,
    /// depths around the 384 terms that a tile adds at once, and widths that end in tiles of 6, 4, 2 and 1.
    #[test]
    fn tiles_of_every_size_give_the_product() {
        for (rows, depth, columns) in
            [(1, 1, 1), (15, 7, 5), (16, 384, 6), (17, 385, 13), (40, 800, 9), (300, 33, 25), (3, 0, 4)]
        {
            let a = DMatrix::from_fn(rows, depth, |i, j| ((i * 7 + j * 13) % 11) as f32 - 5.0);
            let b = DMatrix::from_fn(depth, columns, |i, j| ((i * 5 + j * 3) % 7) as f32 - 3.0);
            let bias = DMatrix::from_fn(1, columns, |_, j| j as f32 - 2.0);
            let bias = bias.as_view();
            for bias in [None, Some(&bias)] {
                let sums = |arithmetic| product_and_bias(a.as_view(), b.as_view(), bias, arithmetic);
                let ordered = sums(Arithmetic::Ordered);
                for threads in [1, 2, 3] {
                    let what = format!("{rows} × {depth} · {depth} × {columns}, {threads} threads");
                    assert_eq!(sums(Arithmetic::Fast { threads }), ordered, "{what}");
                }
            }
        }
    }

    /// Part of a larger matrix: its columns do not follow each other in memory.
    #[test]
    fn blocks_are_multiplied_where_they_stand() {
        let whole = DMatrix::from_fn(50, 40, |i, j| ((i * 3 + j * 7) % 9) as f32 - 4.0);
        let (a, b) = (whole.view((1, 2), (33, 20)), whole.view((20, 5), (20, 11)));
        let apart = product(a.into_owned().as_view(), b.into_owned().as_view(), Arithmetic::Ordered);
        assert_eq!(product(a, b, Arithmetic::Fast { threads: 2 }), apart);
    }

    #[test]
    fn sums_run_from_left_to_right() {
        // (1e16 + 1) + −1e16 is 0 in f64; any other order gives 1.
        let a = DMatrix::from_row_slice(1, 3, &[1e16, 1.0, -1e16]);
        let b = DMatrix::from_element(3, 1, 1.0);
        assert_eq!(product(a.as_view(), b.as_view(), Arithmetic::Ordered)[(0, 0)], 0.0);
    }
}
