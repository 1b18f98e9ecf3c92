//! The innermost loops, on the widest vector units that the processor has.
//!
//! The loops are plain Rust; `pulp` compiles each for several generations of processors and picks one at run time.

use pulp::{Arch, Simd, WithSimd};

use super::{Activation, Real, View};

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

/// Each number of `run` is added to its sum.
pub(super) fn add_up<T: Real>(sums: &mut [T], run: &[T]) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for (sum, x) in sums.iter_mut().zip(run) {
                *sum += *x;
            }
        },
    );
}

/// The square of each number's distance from its mean is added to its sum.
pub(super) fn add_squares<T: Real>(sums: &mut [T], run: &[T], means: &[T]) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for ((sum, x), mean) in sums.iter_mut().zip(run).zip(means) {
                let distance = *x - *mean;
                *sum += distance * distance;
            }
        },
    );
}

/// (x − mean) · factor · gain + shift of each number of `run` into `out`.
pub(super) fn normalise<T: Real>(
    out: &mut [T],
    run: &[T],
    (means, factors): (&[T], &[T]),
    (gain, shift): (T, T),
) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for (((out, x), mean), factor) in out.iter_mut().zip(run).zip(means).zip(factors) {
                *out = (*x - *mean) * *factor * gain + shift;
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

/// e^(x − most) in the place of x, and added to `sums`.
pub(super) fn exponentials(run: &mut [f32], most: &[f32], sums: &mut [f32]) {
    Arch::new().dispatch(Exponentials { run, most, sums });
}

struct Exponentials<'a> {
    run: &'a mut [f32],
    most: &'a [f32],
    sums: &'a mut [f32],
}

impl WithSimd for Exponentials<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for ((x, most), sum) in self.run.iter_mut().zip(self.most).zip(self.sums) {
            let power = exponential::<S>(*x - *most);
            *sum += power;
            *x = power;
        }
    }
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

/// Each number bent by an activation, in its place.
pub(super) fn bend(run: &mut [f32], activation: Activation) {
    Arch::new().dispatch(Bend { run, activation });
}

struct Bend<'a> {
    run: &'a mut [f32],
    activation: Activation,
}

impl WithSimd for Bend<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        match self.activation {
            Activation::Gelu => self.run.iter_mut().for_each(|x| *x = gelu::<S>(*x)),
            Activation::GeluTanh => self.run.iter_mut().for_each(|x| *x = gelu_tanh::<S>(*x)),
            Activation::Silu => self.run.iter_mut().for_each(|x| *x *= logistic::<S>(*x)),
            Activation::Relu => self.run.iter_mut().for_each(|x| *x = if *x < 0.0 { 0.0 } else { *x }),
            Activation::Identity => {}
        }
    }
}

/// a · b + c, rounded once where the processor can; elsewhere that would be a call a number.
#[inline(always)]
fn fused<S: Simd>(a: f32, b: f32, c: f32) -> f32 {
    if S::IS_SCALAR { a * b + c } else { a.mul_add(b, c) }
}

/// c₀ + c₁ x + c₂ x² + …
#[inline(always)]
fn polynomial<S: Simd, const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let [first @ .., last] = &coefficients[..] else { return 0.0 };
    first.iter().rev().fold(*last, |sum, coefficient| fused::<S>(sum, x, *coefficient))
}

/// e^x for x ≤ 0 without a branch, so that several can be computed at once; within 2 units of the last place.
///
/// x = k · ln 2 + r with |r| ≤ ln 2 / 2; e^r by its Taylor polynomial, of which the first term left out is
/// 0.35⁷ / 7! = 1.3e-7, and 2^k put straight into the exponent. Below −87.3 (where single precision runs out of normal
/// numbers) and for −∞ the result is 0; NaN stays NaN.
#[inline(always)]
fn exponential<S: Simd>(x: f32) -> f32 {
    /// Adding this to a small number rounds it to a whole one: 1.5 · 2^23.
    const ROUNDER: f32 = 12_582_912.0;
    /// ln 2 in two parts, the first with zeros at its end, so that k times it is exact.
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    const LOWEST: f32 = -87.3;

    let held = if x < LOWEST { LOWEST } else { x };
    let rounded = fused::<S>(held, std::f32::consts::LOG2_E, ROUNDER);
    let k = rounded - ROUNDER;
    let r = fused::<S>(k, -LN_2_LOW, fused::<S>(k, -LN_2_HIGH, held));
    let series = polynomial::<S, 7>(r, [1.0, 1.0, 0.5, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0]);
    // The low bits of `rounded` hold k as a whole number; 127 is the exponent's zero.
    let power = f32::from_bits(rounded.to_bits().wrapping_add(127) << 23);
    if x < LOWEST { 0.0 } else { series * power }
}

/// 1 / (1 + e^(−x)), within 4 units of the last place.
#[inline(always)]
fn logistic<S: Simd>(x: f32) -> f32 {
    let power = exponential::<S>(-x.abs());
    let share = if x < 0.0 { power } else { 1.0 };
    // What is not a number is not below 0 and not above: the power carries it.
    share / (1.0 + power)
}

/// x/2 · (1 + erf(x/√2)).
#[inline(always)]
fn gelu<S: Simd>(x: f32) -> f32 {
    let half = 0.5 * x;
    fused::<S>(half, error_function::<S>(x * std::f32::consts::FRAC_1_SQRT_2), half)
}

/// x/2 · (1 + tanh(u)) = x / (1 + e^(−2u)) with u = √(2/π) · (x + 0.044715 · x³).
#[inline(always)]
fn gelu_tanh<S: Simd>(x: f32) -> f32 {
    /// 2 · √(2/π)
    const LINEAR: f32 = std::f32::consts::FRAC_2_SQRT_PI * std::f32::consts::SQRT_2;
    /// 2 · √(2/π) · 0.044715
    const CUBIC: f32 = 0.071_354_814;
    x * logistic::<S>(x * fused::<S>(CUBIC * x, x, LINEAR))
}

/// erf(x) within 4e-7 of its size: x · P(x²) / Q(x²) up to 3.95, and beyond 1, from which it is 2.3e-8 away.
///
/// P and Q were fitted to erf(x) / x for the smallest largest relative error, 2.1e-8; the rest is rounding.
#[inline(always)]
#[expect(
    clippy::approx_constant,
    reason = "fitted with the others: erf(x) / x at 0, and a unit of the last place off"
)]
fn error_function<S: Simd>(x: f32) -> f32 {
    const LARGEST: f32 = 3.95;
    let square = x * x;
    let above = polynomial::<S, 6>(
        square,
        [1.128_379_1, 0.191_540_61, 0.052_873_94, 3.807_685e-3, 2.846_672_7e-4, 2.025_857_2e-6],
    );
    let below = polynomial::<S, 6>(
        square,
        [1.0, 0.503_081_14, 0.114_555_42, 0.015_054_142, 1.170_592e-3, 3.783_02e-5],
    );
    let within = x * above / below;
    // What is not a number is neither larger nor smaller, and stays what it is.
    let positive = if x > LARGEST { 1.0 } else { within };
    if x < -LARGEST { -1.0 } else { positive }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One number on this processor's units.
    fn on_units(x: f32, activation: Option<Activation>) -> f32 {
        let mut run = [x; 11];
        match activation {
            Some(activation) => bend(&mut run, activation),
            None => exponentials(&mut run, &[0.0; 11], &mut [0.0; 11]),
        }
        assert!(run.iter().all(|each| each.to_bits() == run[0].to_bits()), "the same in every lane");
        run[0]
    }

    fn exponential(x: f32) -> f32 {
        on_units(x, None)
    }

    /// Beside libm's double precision, from −12 to 12: no further away than single precision is when it computes the formula
    /// as it is written (half a unit of the last place of x, a few times).
    #[test]
    fn activations_are_right_to_the_last_places() {
        for step in -12_000..=12_000 {
            let x = step as f32 / 1000.0;
            let wide = f64::from(x);
            let u = (2.0 / std::f64::consts::PI).sqrt() * (wide + 0.044715 * wide.powi(3));
            let right = [
                (Activation::Gelu, 0.5 * wide * (1.0 + libm::erf(wide / 2f64.sqrt()))),
                (Activation::GeluTanh, 0.5 * wide * (1.0 + libm::tanh(u))),
                (Activation::Silu, wide / (1.0 + libm::exp(-wide))),
                (Activation::Relu, wide.max(0.0)),
            ];
            for (activation, right) in right {
                let error = (f64::from(on_units(x, Some(activation))) - right).abs();
                assert!(error <= 2.5e-7 * wide.abs(), "{activation:?} of {x}: off by {error:e}");
            }
        }
    }

    #[test]
    fn activations_of_what_is_no_number_or_too_large_say_so() {
        use Activation::{Gelu, GeluTanh, Relu, Silu};
        for activation in [Gelu, GeluTanh, Silu, Relu] {
            assert!(on_units(f32::NAN, Some(activation)).is_nan(), "{activation:?}");
            assert_eq!(on_units(f32::INFINITY, Some(activation)), f32::INFINITY, "{activation:?}");
            assert_eq!(on_units(f32::MAX, Some(activation)), f32::MAX, "{activation:?}");
            assert_eq!(on_units(f32::MIN, Some(activation)).abs(), 0.0, "{activation:?}");
            assert_eq!(on_units(0.0, Some(activation)), 0.0, "{activation:?}");
        }
    }

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
