//! The numbers an engine computes with, and in which order it adds them.

use nalgebra::{DMatrix, DMatrixView, RealField};

use super::simd;

/// How products and exponentials are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    /// A fixed order without fused multiply–add, functions from the libm crate: the same bits on every machine.
    Ordered,
    /// nalgebra's product on the processor's widest units: faster, and the last bits may differ between machines.
    Fast {
        /// How many threads may work at once; at least one does.
        threads: usize,
    },
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
    /// e^(x − most) into `out`, and added to `sums`.
    fn add_exponentials(
        run: &[Self],
        most: &[Self],
        sums: &mut [Self],
        out: &mut [Self],
        arithmetic: Arithmetic,
    ) {
        for (((x, most), sum), out) in run.iter().zip(most).zip(sums).zip(out) {
            let power = match arithmetic {
                Arithmetic::Ordered => (*x - *most).exponential(),
                Arithmetic::Fast { .. } => (*x - *most).exp(),
            };
            *sum += power;
            *out = power;
        }
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

    fn raise(most: &mut [Self], run: &[Self]) {
        simd::raise(most, run);
    }

    fn add_exponentials(
        run: &[Self],
        most: &[Self],
        sums: &mut [Self],
        out: &mut [Self],
        arithmetic: Arithmetic,
    ) {
        match arithmetic {
            Arithmetic::Fast { .. } => simd::add_exponentials(run, most, sums, out),
            Arithmetic::Ordered => {
                for (((x, most), sum), out) in run.iter().zip(most).zip(sums).zip(out) {
                    *out = libm::expf(*x - *most);
                    *sum += *out;
                }
            }
        }
    }

    fn divide(run: &mut [Self], sums: &[Self], _: Arithmetic) {
        simd::divide(run, sums);
    }
}

/// Products of fewer multiplications than this are not worth a thread (starting two takes about 0.1 ms).
const WORTH_A_THREAD: usize = 4_000_000;

/// A · B (m × k · k × n → m × n).
///
/// `Ordered`: each cell is ((a₁b₁ + a₂b₂) + a₃b₃) + …, from left to right.
pub fn product<T: Real>(a: View<'_, T>, b: View<'_, T>, arithmetic: Arithmetic) -> DMatrix<T> {
    let (rows, inner, columns) = (a.nrows(), a.ncols(), b.ncols());
    let mut c = DMatrix::zeros(rows, columns);
    match arithmetic {
        Arithmetic::Ordered => add_in_order(a, b, &mut c),
        Arithmetic::Fast { threads } => {
            let parts =
                if rows * inner * columns < WORTH_A_THREAD { 1 } else { threads.clamp(1, columns.max(1)) };
            if parts == 1 || rows == 0 {
                c.gemm(T::one(), &a, &b, T::zero());
            } else {
                let width = columns.div_ceil(parts);
                std::thread::scope(|scope| {
                    for (part, slice) in c.as_mut_slice().chunks_mut(width * rows).enumerate() {
                        let b = b.columns(part * width, slice.len() / rows);
                        scope.spawn(move || {
                            let mut c = nalgebra::DMatrixViewMut::from_slice(slice, rows, b.ncols());
                            c.gemm(T::one(), &a, &b, T::zero());
                        });
                    }
                });
            }
        }
    }
    c
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

    #[test]
    fn sums_run_from_left_to_right() {
        // (1e16 + 1) + −1e16 is 0 in f64; any other order gives 1.
        let a = DMatrix::from_row_slice(1, 3, &[1e16, 1.0, -1e16]);
        let b = DMatrix::from_element(3, 1, 1.0);
        assert_eq!(product(a.as_view(), b.as_view(), Arithmetic::Ordered)[(0, 0)], 0.0);
    }
}
