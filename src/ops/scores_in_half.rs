//! Q · Kᵀ in half precision, scaled only afterwards.

use nalgebra::DMatrix;

use super::told::constant;
use super::{
    Arithmetic, Cost, Expr, Formula, Function, Layout, Operation, Real, Scale, Scores, Shape, Signs, Told,
    View, dot, product, times,
};

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
        let which = if sum > 0.0 { "largest" } else { "lowest" };
        is_beyond
            .then(|| format!("q · k = {} is beyond {end}, the {which} half-precision number", constant(sum)))
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        self.in_full().cost(inputs)
    }

    fn tell(&self, told: &Told<'_>) -> String {
        let infinite = told.value.iter().filter(|score| score.is_infinite()).count();
        let places = if infinite == 1 { "place passes" } else { "places pass" };
        match infinite {
            0 => "Products rounded to half precision before they are scaled; none passes 65504 here."
                .to_owned(),
            _ => format!(
                "Products in half precision before they are scaled: {infinite} {places} 65504 and become ∞."
            ),
        }
    }
}
