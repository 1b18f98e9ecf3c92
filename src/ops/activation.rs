//! What bends the line between the two matrices of a feed-forward network.

use nalgebra::DMatrix;

use super::{Arithmetic, Cost, Expr, Formula, Function, Operation, Real, Shape, Signs, Told, View, team};
use crate::words::t;

/// A function of each number by itself; n × d_ff in, the same out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// x/2 · (1 + erf(x/√2)): x times the chance that a standard normal number is below x (Hendrycks & Gimpel 2016), exact
    /// as PyTorch computes it unless told otherwise, not the approximation with tanh.
    Gelu,
    /// x/2 · (1 + tanh(√(2/π) · (x + 0.044715 · x³))): the approximation that GPT-2 and Gemma use (Hendrycks & Gimpel 2016).
    GeluTanh,
    /// x / (1 + e^(−x)): x times the logistic function of itself (Elfwing et al. 2017).
    Silu,
    /// max(0, x)
    Relu,
    /// x
    Identity,
}

impl Activation {
    /// What it makes of one number.
    pub(super) fn of<T: Real>(self, x: T) -> T {
        match self {
            Self::Gelu => {
                let above = (x / T::of(std::f64::consts::SQRT_2)).error_function();
                T::of(0.5) * x * (T::one() + above)
            }
            Self::GeluTanh => {
                let cubed = x + T::of(CUBIC) * x * x * x;
                let above = (T::of(ROOT_2_OVER_PI) * cubed).hyperbolic_tangent();
                T::of(0.5) * x * (T::one() + above)
            }
            Self::Silu => x / (T::one() + (-x).exponential()),
            // Not a number stays what it is.
            Self::Relu if x < T::zero() => T::zero(),
            Self::Relu | Self::Identity => x,
        }
    }
}

/// The weight of the cube in the approximation of GELU.
const CUBIC: f64 = 0.044_715;
/// √(2/π)
const ROOT_2_OVER_PI: f64 = std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2;

impl Operation for Activation {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        match inputs {
            [shape] => Ok(*shape),
            _ => Err("an activation has one input".to_owned()),
        }
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], arithmetic: Arithmetic) -> DMatrix<T> {
        let mut bent = inputs[0].into_owned();
        self.compute_over(&mut bent, arithmetic);
        bent
    }

    fn compute_over<T: Real>(&self, x: &mut DMatrix<T>, arithmetic: Arithmetic) -> bool {
        let threads = arithmetic.threads_for(x.len());
        team::each_part(x.as_mut_slice(), 1, threads, |_, run| T::bend(run, *self, arithmetic));
        true
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let x = &signs.inputs[0];
        let right = match self {
            Self::Gelu => format!("0.5 · {x} · (1 + erf({x} / √2))"),
            Self::GeluTanh => format!("0.5 · {x} · (1 + tanh(√(2/π) · ({x} + {CUBIC} · {x}³)))"),
            Self::Silu => format!("{x} / (1 + e^(−{x}))"),
            Self::Relu => format!("max(0, {x})"),
            Self::Identity => x.clone(),
        };
        signs.formula(right, "", &signs.facing_inputs())
    }

    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        let x = || Expr::cell(0, row, column);
        let is_a_number = inputs.first().is_some_and(|input| !input[(row, column)].is_nan());
        match self {
            Self::Gelu => {
                let root = Expr::Number(2.0).apply(Function::Sqrt);
                let above = Expr::Sum(vec![Expr::Number(1.0), x().over(root).apply(Function::Erf)]);
                Expr::Product(vec![Expr::Number(0.5), x(), above])
            }
            Self::GeluTanh => {
                let cube = Expr::Product(vec![Expr::Number(CUBIC), x(), x(), x()]);
                let inside = Expr::Product(vec![Expr::Number(ROOT_2_OVER_PI), Expr::Sum(vec![x(), cube])]);
                let above = Expr::Sum(vec![Expr::Number(1.0), inside.apply(Function::Tanh)]);
                Expr::Product(vec![Expr::Number(0.5), x(), above])
            }
            Self::Silu => {
                let power = Expr::Number(0.0).minus(x()).apply(Function::Exp);
                x().over(Expr::Sum(vec![Expr::Number(1.0), power]))
            }
            Self::Relu if is_a_number => Expr::Max(vec![Expr::Number(0.0), x()]),
            Self::Relu | Self::Identity => x(),
        }
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        let cells = inputs.first().map_or(0, |(r, c)| *r as u128 * *c as u128);
        match self {
            Self::Gelu => Cost {
                other_multiplications: 2 * cells,
                additions: cells,
                divisions: cells,
                other_functions: cells,
                ..Cost::default()
            },
            Self::GeluTanh => Cost {
                other_multiplications: 6 * cells,
                additions: 2 * cells,
                other_functions: cells,
                ..Cost::default()
            },
            Self::Silu => Cost { additions: cells, exponentials: cells, divisions: cells, ..Cost::default() },
            Self::Relu | Self::Identity => Cost::default(),
        }
    }

    fn tell(&self, told: &Told<'_>) -> String {
        let numbers = || told.inputs.first().into_iter().flat_map(|x| x.iter());
        let below = numbers().filter(|x| **x < 0.0).count();
        let all = numbers().count();
        match self {
            Self::Gelu | Self::GeluTanh if below == 1 => {
                t!("GELU keeps what is large and fades out what is below 0: 1 of %{all} is.", all)
            }
            Self::Gelu | Self::GeluTanh => {
                t!(
                    "GELU keeps what is large and fades out what is below 0: %{below} of %{all} are.",
                    below,
                    all
                )
            }
            Self::Silu if below == 1 => {
                t!("SiLU keeps what is large and fades out what is below 0: 1 of %{all} is.", all)
            }
            Self::Silu => {
                t!(
                    "SiLU keeps what is large and fades out what is below 0: %{below} of %{all} are.",
                    below,
                    all
                )
            }
            Self::Relu if below == 0 => t!("ReLU sets what is below 0 to 0; nothing is."),
            Self::Relu if below == 1 => t!("ReLU sets what is below 0 to 0: 1 of %{all} is.", all),
            Self::Relu => t!("ReLU sets what is below 0 to 0: %{below} of %{all} are.", below, all),
            Self::Identity => t!("There is no activation: the numbers pass as they are."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;

    fn row(activation: Activation, numbers: &[f64]) -> Vec<f64> {
        let x = DMatrix::from_row_slice(1, numbers.len(), numbers);
        let explained = |column| activation.explain(0, column, &[x.as_view()]).value(&[x.as_view()]);
        let computed = activation.compute(&[x.as_view()], Arithmetic::Ordered);
        for (column, is) in computed.iter().enumerate() {
            assert!(*is == explained(column) || is.is_nan() && explained(column).is_nan());
        }
        computed.iter().copied().collect()
    }

    /// A standard normal number is below 1 with a chance of 0.841344746068543, below −1 with the rest; Φ(0) = ½ of 0.
    #[test]
    fn gelu_is_a_number_times_the_chance_to_be_below_it() {
        let gelu = row(Activation::Gelu, &[1.0, -1.0, 0.0, 2.0]);
        // Φ(2) = 0.977249868051821, from a printed table of the normal distribution.
        for (is, expected) in gelu.iter().zip([0.841344746068543, -0.158655253931457, 0.0, 1.954499736103642])
        {
            assert_abs_diff_eq!(*is, expected, epsilon = 1e-14);
        }
    }

    /// silu(1) = 1 / (1 + e⁻¹) = 0.7310585786300049, silu(−1) = that − 1; the tanh form is within 0.0005 of GELU, and of 1
    /// it is 0.5 · (1 + tanh(0.7978845608028654 · 1.044715)) = 0.8411919906082768.
    #[test]
    fn gates_of_real_models_bend_as_written() {
        let silu = row(Activation::Silu, &[1.0, -1.0, 0.0]);
        for (is, expected) in silu.iter().zip([0.731_058_578_630_004_9, -0.268_941_421_369_995_1, 0.0]) {
            assert_abs_diff_eq!(*is, expected, epsilon = 1e-15);
        }
        assert_abs_diff_eq!(row(Activation::GeluTanh, &[1.0])[0], 0.841_191_990_608_276_8, epsilon = 1e-14);
    }

    #[test]
    fn relu_takes_what_is_below_zero_and_identity_nothing() {
        assert_eq!(row(Activation::Relu, &[-2.0, 0.0, 3.0]), [0.0, 0.0, 3.0]);
        assert!(row(Activation::Relu, &[f64::NAN])[0].is_nan());
        assert_eq!(row(Activation::Identity, &[-2.0, 3.0]), [-2.0, 3.0]);
    }
}
