//! What each head adds to its layer's output: output = Σ head · W_O[its rows] + b_O.

use nalgebra::DMatrix;

use super::change::root_mean_square;
use super::{AttentionLayer, Study};
use crate::fault::Outcome;
use crate::ops::{Real, View, product};
use crate::plan::{HeadStep, Name, StepId};

/// How large each head's part of a layer's output is, and whether the parts add up to it. Sizes are root mean squares over
/// the tokens of the norms of rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Contributions {
    /// ‖head · W_O[its rows]‖, one a head.
    pub heads: Vec<f64>,
    /// ‖b_O‖, where there is one.
    pub bias: Option<f64>,
    /// ‖output‖
    pub output: f64,
    /// The largest difference between the sum of the parts and the output.
    pub difference: f64,
    /// How large rounding may make that difference: 16 ε √k · the largest number that is added, with k the width of
    /// concat and ε the distance from 1 to the next number of the type.
    pub tolerance: f64,
}

impl Contributions {
    /// Those of one layer; `None` where it has no W_O, and concat is the output.
    ///
    /// # Errors
    /// The layer's numbers cannot be computed.
    pub fn of<T: Real>(study: &mut Study<'_, T>, layer: &AttentionLayer) -> Outcome<Option<Self>> {
        let inputs = match study.plan().get(layer.output) {
            Some(step) if layer.output.name == Name::Output => step.inputs.clone(),
            _ => return Ok(None),
        };
        let [_, w_o, bias @ ..] = &inputs[..] else { return Ok(None) };
        let Some(w_o) = study.given(*w_o)? else { return Ok(None) };
        let bias = bias.first().map(|id| study.given(*id)).transpose()?.flatten();
        let output = study.value(layer.output)?;
        let mut sum: DMatrix<T> = DMatrix::zeros(output.nrows(), output.ncols());
        let mut largest = largest_of(&output.as_view());
        let mut heads = Vec::with_capacity(layer.num_heads);
        let mut from = 0;
        for place in layer.heads() {
            let name = Name::Head(place.head, HeadStep::Output);
            let head = study.value(StepId { name, ..layer.output })?;
            let rows = w_o.rows(from, head.ncols()); // d_v × d_model
            from += head.ncols();
            // A block of rows does not lie in one stretch, and products want it to.
            let part = product(head.as_view(), rows.into_owned().as_view(), study.arithmetic());
            heads.push(size(&part));
            largest = largest.max(largest_of(&part.as_view()));
            sum += part;
        }
        if let Some(bias) = &bias {
            for mut row in sum.row_iter_mut() {
                row += bias.row(0);
            }
        }
        let difference =
            sum.iter().zip(output.iter()).map(|(a, b)| (a.value() - b.value()).abs()).fold(0.0, f64::max);
        let bias = bias.map(|bias| size(&bias));
        let tolerance = 16.0 * epsilon::<T>() * (from as f64).sqrt() * largest;
        Ok(Some(Self { heads, bias, output: size(&output), difference, tolerance }))
    }

    /// Whether the parts add up to the output.
    pub fn add_up(&self) -> bool {
        self.difference <= self.tolerance
    }
}

fn size<T: Real>(matrix: &DMatrix<T>) -> f64 {
    let norm = |row: usize| matrix.row(row).iter().map(|x| x.value() * x.value()).sum::<f64>().sqrt();
    root_mean_square((0..matrix.nrows()).map(norm))
}

fn largest_of<T: Real>(matrix: &View<'_, T>) -> f64 {
    matrix.iter().map(|x| x.value().abs()).fold(0.0, f64::max)
}

/// From 1 to the next number of the type.
fn epsilon<T: Real>() -> f64 {
    let mut step = 1.0;
    while T::of(1.0 + step / 2.0).value() > 1.0 {
        step /= 2.0;
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_beyond_one_is_that_of_the_type() {
        assert_eq!(epsilon::<f32>(), f64::from(f32::EPSILON));
        assert_eq!(epsilon::<f64>(), f64::EPSILON);
    }
}
