//! The innermost loops, on the widest vector units that the processor has.
//!
//! The loops are plain Rust; `pulp` compiles each for several generations of processors and picks one at run time.

use pulp::Arch;

use super::{Real, View};

/// Column `j` of A · B, added to what `sums` holds: term by term from left to right, each product rounded before it is
/// added (wider units do more rows at once, not other sums).
pub(super) fn add_one<T: Real>(a: View<'_, T>, b: View<'_, T>, j: usize, sums: &mut [T]) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for k in 0..a.ncols() {
                let factor = b[(k, j)];
                for (sum, x) in sums.iter_mut().zip(a.column(k).as_slice()) {
                    *sum += *x * factor;
                }
            }
        },
    );
}

/// Columns `j` to `j + 3` of A · B, like [`add_one`].
pub(super) fn add_four<T: Real>(a: View<'_, T>, b: View<'_, T>, j: usize, sums: [&mut [T]; 4]) {
    let [s0, s1, s2, s3] = sums;
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for k in 0..a.ncols() {
                let [f0, f1, f2, f3] = [0, 1, 2, 3].map(|next| b[(k, j + next)]);
                let sums = s0.iter_mut().zip(s1.iter_mut()).zip(s2.iter_mut().zip(s3.iter_mut()));
                for (((s0, s1), (s2, s3)), x) in sums.zip(a.column(k).as_slice()) {
                    *s0 += *x * f0;
                    *s1 += *x * f1;
                    *s2 += *x * f2;
                    *s3 += *x * f3;
                }
            }
        },
    );
}

/// Whether no number is infinite or not a number: those have all ones in the exponent.
pub(super) fn all_finite(run: &[f32]) -> bool {
    const ODD: u32 = 0x7f80_0000;
    Arch::new().dispatch(
        #[inline(always)]
        || run.iter().fold(0u32, |odd, x| odd | u32::from(x.to_bits() & ODD == ODD)) == 0,
    )
}

/// Each of `most` becomes the larger of itself and its neighbour in `run`.
pub(super) fn raise(most: &mut [f32], run: &[f32]) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for (most, x) in most.iter_mut().zip(run) {
                *most = if *x > *most { *x } else { *most };
            }
        },
    );
}

/// e^(x − most) into `out`, and added to `sums`.
pub(super) fn add_exponentials(run: &[f32], most: &[f32], sums: &mut [f32], out: &mut [f32]) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for (((x, most), sum), out) in run.iter().zip(most).zip(sums).zip(out) {
                let power = exponential(*x - *most);
                *sum += power;
                *out = power;
            }
        },
    );
}

/// Each number over its sum.
pub(super) fn divide(run: &mut [f32], sums: &[f32]) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for (x, sum) in run.iter_mut().zip(sums) {
                *x /= *sum;
            }
        },
    );
}

/// e^x for x ≤ 0 without a branch, so that several can be computed at once; within 2 units of the last place.
///
/// x = k · ln 2 + r with |r| ≤ ln 2 / 2; e^r by its Taylor polynomial, of which the first term left out is
/// 0.35⁷ / 7! = 1.3e-7, and 2^k put straight into the exponent. Below −87.3 (where single precision runs out of normal
/// numbers) and for −∞ the result is 0; NaN stays NaN.
#[inline(always)]
fn exponential(x: f32) -> f32 {
    /// Adding this to a small number rounds it to a whole one: 1.5 · 2^23.
    const ROUNDER: f32 = 12_582_912.0;
    /// ln 2 in two parts, the first with zeros at its end, so that k times it is exact.
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    const LOWEST: f32 = -87.3;

    let held = if x < LOWEST { LOWEST } else { x };
    let rounded = held * std::f32::consts::LOG2_E + ROUNDER;
    let k = rounded - ROUNDER;
    let r = (held - k * LN_2_HIGH) - k * LN_2_LOW;
    let series = 1.0
        + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0))))));
    // The low bits of `rounded` hold k as a whole number; 127 is the exponent's zero.
    let power = f32::from_bits(rounded.to_bits().wrapping_add(127) << 23);
    if x < LOWEST { 0.0 } else { series * power }
}

#[cfg(test)]
mod tests {
    use super::exponential;

    #[test]
    fn the_exponential_is_right_to_the_last_places() {
        for step in 0..=87_000 {
            let x = -(step as f32) / 1000.0;
            let right = libm::exp(f64::from(x));
            let error = (f64::from(exponential(x)) - right).abs() / right;
            assert!(error < 2.5e-7, "e^{x}: off by {error:e}");
        }
    }

    #[test]
    fn an_odd_number_is_found_wherever_it_stands() {
        for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for place in [0, 1, 7, 8, 9000] {
                let mut run = vec![f32::MAX; 9001];
                assert!(<f32 as super::super::Real>::all_finite(&run));
                run[place] = odd;
                assert!(!<f32 as super::super::Real>::all_finite(&run), "{odd} at {place}");
            }
        }
    }

    #[test]
    fn hidden_scores_become_exactly_zero() {
        assert_eq!(exponential(f32::NEG_INFINITY), 0.0);
        assert_eq!(exponential(-1000.0), 0.0);
        assert_eq!(exponential(0.0), 1.0);
        assert!(exponential(f32::NAN).is_nan());
    }
}
