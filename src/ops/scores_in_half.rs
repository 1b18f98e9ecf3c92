//! Q · Kᵀ in half precision, scaled only afterwards.

use nalgebra::DMatrix;

use super::told::constant;
use super::{
    Arithmetic, Cost, Expr, Formula, Function, Layout, Operation, Real, Scale, Scores, Shape, Signs, Told,
    View, dot, product, times,
};
use crate::words::t;

/// Scores whose products are held in half precision before they are scaled: inputs q (n_q × d_k), k (n_kv × d_k); gives
/// n_q × n_kv.
///
/// Half precision (IEEE 754 binary16) keeps 11 binary digits and ends at 65504: a product beyond is ±∞, and the softmax
/// makes NaN of it. Queries that are scaled first keep products small.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoresInHalf {
    /// What the rounded products are multiplied by.
    pub scale: Scale,
    /// Width of a query, for 1/√d_k.
    pub d_k: usize,
}

/// The largest finite number of half precision: (2 − 2^−10) · 2^15.
const LARGEST: f64 = 65504.0;

impl ScoresInHalf {
    /// The same scores in full precision.
    fn in_full(&self) -> Scores {
        Scores { scale: self.scale, d_k: self.d_k }
    }
}

impl Operation for ScoresInHalf {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        self.in_full().shape(inputs)
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], arithmetic: Arithmetic) -> DMatrix<T> {
        let factor = T::of(self.scale.value(self.d_k));
        let mut scores = product(inputs[0], inputs[1].transpose().as_view(), arithmetic);
        scores.apply(|score| *score = T::of(Function::Half.of(score.value())) * factor);
        scores
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let [q, k] = [&signs.inputs[0], &signs.inputs[1]];
        let products = match signs.layout {
            Layout::Rows => format!("{}ᵀ", times(q, k)),
            Layout::Columns => times(&format!("{k}ᵀ"), q),
        };
        let equation = format!("{} = float16({products}){}", signs.out, self.scale.sign());
        Formula { equation, ..self.in_full().formula(signs) }
    }

    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        let sum = dot(0, row, 1, column, inputs[0].ncols(), true);
        Expr::Product(vec![sum.apply(Function::Half), self.scale.explained(self.d_k)])
    }

    fn reason(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Option<String> {
        let sum = dot(0, row, 1, column, inputs[0].ncols(), true).value(inputs);
        let is_beyond = sum.is_finite() && Function::Half.of(sum).is_infinite();
        let end = constant(LARGEST.copysign(sum));
        is_beyond.then(|| match sum > 0.0 {
            true => t!(
                "q · k = %{sum} is beyond %{end}, the largest half-precision number",
                sum = constant(sum),
                end
            ),
            false => t!(
                "q · k = %{sum} is beyond %{end}, the lowest half-precision number",
                sum = constant(sum),
                end
            ),
        })
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        self.in_full().cost(inputs)
    }

    fn tell(&self, told: &Told<'_>) -> String {
        let infinite = told.value.iter().filter(|score| score.is_infinite()).count();
        match infinite {
            0 => t!("Products rounded to half precision before they are scaled; none passes 65504 here."),
            1 => t!("Products in half precision before they are scaled: 1 place passes 65504 and become ∞."),
            _ => t!(
                "Products in half precision before they are scaled: %{count} places pass 65504 and become ∞.",
                count = infinite
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The scores of one query (a) against keys, over √4 = 2.
    fn scores(q: f64, keys: &[f64]) -> (DMatrix<f64>, [Option<String>; 2]) {
        let (q, k) = (DMatrix::from_element(1, 1, q), DMatrix::from_column_slice(keys.len(), 1, keys));
        let half = ScoresInHalf { scale: Scale::RootOfDk, d_k: 4 };
        let inputs = [q.as_view(), k.as_view()];
        let scores = half.compute(&inputs, Arithmetic::Ordered);
        for column in 0..keys.len() {
            assert_eq!(half.explain(0, column, &inputs).value(&inputs), scores[(0, column)]);
        }
        (scores, [0, 1].map(|column| half.reason(0, column, &inputs)))
    }

    /// 256 · 512 = 131072 is beyond 65504, and −131072 beyond −65504.
    #[test]
    fn a_product_that_is_too_large_becomes_infinite() {
        let (is, reasons) = scores(256.0, &[512.0, -512.0]);
        assert_eq!(is, DMatrix::from_row_slice(1, 2, &[f64::INFINITY, f64::NEG_INFINITY]));
        let told = "q · k = 131072 is beyond 65504, the largest half-precision number";
        assert_eq!(reasons[0].as_deref(), Some(told));
        let told = "q · k = -131072 is beyond -65504, the lowest half-precision number";
        assert_eq!(reasons[1].as_deref(), Some(told));
    }

    /// From 2048 = 2^11 on half precision has even numbers only: 2049 lies between 2048 and 2050 and goes to 2048, whose
    /// last digit is even; over 2 that is 1024. 2051 lies between 2050 and 2052, and goes to 2052: 1026.
    #[test]
    fn products_are_rounded_before_they_are_scaled() {
        let (is, reasons) = scores(1.0, &[2049.0, 2051.0]);
        assert_eq!(is, DMatrix::from_row_slice(1, 2, &[1024.0, 1026.0]));
        assert_eq!(reasons, [None, None]);
    }

    /// 65504 is the largest number. The next step would be 65536, so what is nearer to 65504, up to but without 65520
    /// (which is half way, and 65504 is odd), is still finite.
    #[test]
    fn what_is_just_beyond_is_rounded_down() {
        let (is, reasons) = scores(1.0, &[65519.0, 65520.0]);
        assert_eq!(is, DMatrix::from_row_slice(1, 2, &[32752.0, f64::INFINITY]));
        assert!(reasons[0].is_none() && reasons[1].is_some());
    }

    #[test]
    fn single_precision_overflows_at_the_same_place() {
        let (q, k) = (DMatrix::from_element(1, 1, 256f32), DMatrix::from_column_slice(2, 1, &[512f32, 1.0]));
        let half = ScoresInHalf { scale: Scale::Given(0.5), d_k: 4 };
        let scores = half.compute(&[q.as_view(), k.as_view()], Arithmetic::Fast { threads: 1 });
        assert_eq!(scores, DMatrix::from_row_slice(1, 2, &[f32::INFINITY, 128.0]));
    }
}
