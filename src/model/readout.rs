//! The language head: from a token's last hidden state to a score for every token of the vocabulary.

use nalgebra::DMatrix;

use super::{Checkpoint, Stored};
use crate::fault::{Fault, Faults, Outcome};
use crate::ops::{Activation, Arithmetic, Op, Operation, Project, Real, Shape, product};
use crate::plan::Norm;

/// logits = transform(hidden) · Wᵀ + bias, perhaps capped (vocabulary scores; no unit).
#[derive(Debug, Clone, PartialEq)]
pub struct Readout {
    /// What a masked model does first: a dense layer, an activation and a norm (Devlin et al. 2019).
    pub transform: Option<Transform>,
    /// The tensor of the vocabulary (vocabulary × d_model); the embedding's own where they are tied.
    pub tensor: String,
    /// The bias (vocabulary).
    pub bias: Option<String>,
    /// s ← c · tanh(s / c)
    pub softcap: Option<f64>,
}

/// A dense layer, an activation and a norm.
#[derive(Debug, Clone, PartialEq)]
pub struct Transform {
    /// The tensor of the dense layer (d_model × d_model, outputs in rows).
    pub weight: String,
    /// Its bias.
    pub bias: Option<String>,
    /// What follows it.
    pub activation: Activation,
    /// The norm at the end.
    pub norm: Norm,
}

/// What a language head says at one token.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// ln Σ e^logit over the vocabulary: what is taken from a logit to make it a log-probability (nats).
    pub log_sum: f64,
    /// The score of the token that was asked for; `None` where none was.
    pub target: Option<f64>,
    /// The largest scores, the largest first, each with its token's id.
    pub top: Vec<(u32, f64)>,
}

impl Reading {
    /// −ln p of the token that was asked for (nats).
    pub fn loss(&self) -> Option<f64> {
        self.target.map(|score| self.log_sum - score)
    }

    /// The probability that belongs to a score.
    pub fn probability(&self, score: f64) -> f64 {
        (score - self.log_sum).exp()
    }
}

/// Numbers of the vocabulary's matrix, or of scores, that are held at once: 16 MiB of f32.
const MOST_NUMBERS: usize = 1 << 22;

impl Readout {
    /// What the head says at each row of `hidden` (rows × d_model): the score of its target, where it has one, and the `top`
    /// largest. The vocabulary is read a stretch of rows at a time, and never held whole.
    ///
    /// # Errors
    /// Tensors that are missing, have other shapes than `hidden` needs, or cannot be read; a target beyond the vocabulary.
    pub fn read(
        &self,
        checkpoint: &dyn Checkpoint,
        hidden: &DMatrix<f32>,
        targets: &[Option<u32>],
        top: usize,
        arithmetic: Arithmetic,
    ) -> Outcome<Vec<Reading>> {
        let wrong = |what: String| {
            let why = "the language head does not belong to the rest of the model";
            let remedy = "download the weights that belong to this config.json";
            Faults::from(Fault::new(what, why, remedy).in_source(checkpoint.source()))
        };
        let (vocabulary, width) = match checkpoint.shape(&self.tensor)? {
            [vocabulary, width] if *width == hidden.ncols() => (*vocabulary, *width),
            shape => {
                let what = format!(
                    "tensor {} has the shape {shape:?}, and hidden states are {} wide",
                    self.tensor,
                    hidden.ncols()
                );
                return Err(wrong(what));
            }
        };
        if let Some(target) = targets.iter().flatten().find(|target| **target as usize >= vocabulary) {
            return Err(wrong(format!("there is no token {target} among {vocabulary}")));
        }
        let bias = match &self.bias {
            Some(name) if checkpoint.shape(name)? == [vocabulary] => checkpoint.rows(name, 0..vocabulary)?,
            Some(name) => {
                let shape = checkpoint.shape(name)?;
                let what =
                    format!("tensor {name} has the shape {shape:?}, and there are {vocabulary} tokens");
                return Err(wrong(what));
            }
            None => Vec::new(),
        };
        let transformed = self.transformed(checkpoint, hidden, arithmetic)?;
        let hidden = transformed.as_ref().unwrap_or(hidden);
        let mut found: Vec<Found> = (0..hidden.nrows()).map(|_| Found::default()).collect();
        let stretch = (MOST_NUMBERS / width.max(hidden.nrows()).max(1)).clamp(1, vocabulary.max(1));
        for from in (0..vocabulary).step_by(stretch) {
            let to = vocabulary.min(from + stretch);
            // Rows of the vocabulary read as columns: the transposed matrix without moving a number.
            let tokens = DMatrix::from_vec(width, to - from, checkpoint.rows(&self.tensor, from..to)?);
            let mut scores = product(hidden.as_view(), tokens.as_view(), arithmetic); // rows × stretch
            if let Some(bias) = bias.get(from..to) {
                for (mut column, bias) in scores.column_iter_mut().zip(bias) {
                    column.add_scalar_mut(*bias);
                }
            }
            if let Some(cap) = self.softcap {
                scores.apply(|score| *score = (cap * (f64::from(*score) / cap).tanh()) as f32);
            }
            for (row, found) in found.iter_mut().enumerate() {
                if let Some(target) = targets.get(row).copied().flatten().map(|target| target as usize)
                    && (from..to).contains(&target)
                {
                    found.target = Some(scores[(row, target - from)].into());
                }
                found.compare(scores.row(row).iter().copied(), from, top);
            }
            sum(&scores, &mut found, arithmetic);
        }
        Ok(found.into_iter().map(Found::reading).collect())
    }

    /// What a masked model makes of hidden states first (rows × d_model); `None` where there is nothing to make.
    fn transformed(
        &self,
        checkpoint: &dyn Checkpoint,
        hidden: &DMatrix<f32>,
        arithmetic: Arithmetic,
    ) -> Outcome<Option<DMatrix<f32>>> {
        let Some(transform) = &self.transform else { return Ok(None) };
        let refused = |why: String| {
            Fault::new(format!("tensor {} does not fit", transform.weight), why, "download the model again")
                .in_source(checkpoint.source())
        };
        let weight = Stored::linear(&transform.weight).read(checkpoint)?;
        let bias = transform.bias.as_ref().map(|name| Stored::bias(name).read(checkpoint)).transpose()?;
        let inputs: Vec<&DMatrix<f32>> = [hidden, &weight].into_iter().chain(&bias).collect();
        let shapes: Vec<Shape> = inputs.iter().map(|input| input.shape()).collect();
        let shape = Project.shape(&shapes).map_err(&refused)?;
        let views: Vec<_> = inputs.iter().map(|input| input.as_view()).collect();
        let dense = Project.compute(&views, arithmetic); // rows × d_model
        let bent = transform.activation.compute(&[dense.as_view()], arithmetic);
        let norm = Op::from(transform.norm.clone());
        norm.shape(&[shape]).map_err(&refused)?;
        Ok(Some(norm.compute(&[bent.as_view()], arithmetic)))
    }
}

/// Adds e^score of every row of a stretch of scores (rows × stretch) to what has been found, the largest taken out.
fn sum(scores: &DMatrix<f32>, found: &mut [Found], arithmetic: Arithmetic) {
    let rows = scores.nrows();
    let (mut most, mut sums) = (vec![f32::NEG_INFINITY; rows], vec![0.0; rows]);
    for column in scores.column_iter() {
        f32::raise(&mut most, column.as_slice());
    }
    let mut powers = vec![0.0; rows];
    for column in scores.column_iter() {
        powers.copy_from_slice(column.as_slice());
        f32::exponentials(&mut powers, &most, &mut sums, arithmetic);
    }
    for ((found, most), sum) in found.iter_mut().zip(most).zip(sums) {
        found.add(f64::from(most), f64::from(sum));
    }
}

/// What has been found on the way through the vocabulary.
#[derive(Debug, Default)]
struct Found {
    /// The largest score so far, and Σ e^(score − largest).
    sum: Option<(f64, f64)>,
    target: Option<f64>,
    top: Vec<(u32, f64)>,
}

impl Found {
    /// Adds `sum` · e^`most` to the sum.
    fn add(&mut self, most: f64, sum: f64) {
        self.sum = Some(match self.sum {
            None => (most, sum),
            Some((before, of_before)) if most <= before => (before, of_before + sum * (most - before).exp()),
            Some((before, of_before)) => (most, of_before * (before - most).exp() + sum),
        });
    }

    /// Keeps the `top` largest scores; of equal ones the first. Ids of these scores run from `from` on.
    fn compare(&mut self, scores: impl Iterator<Item = f32>, from: usize, top: usize) {
        for (place, score) in scores.enumerate() {
            let score = f64::from(score);
            if self.top.len() < top || self.top.last().is_some_and(|(_, least)| score > *least) {
                let at = self.top.partition_point(|(_, other)| *other >= score);
                self.top.insert(at, ((from + place) as u32, score));
                self.top.truncate(top);
            }
        }
    }

    fn reading(self) -> Reading {
        let log_sum = self.sum.map_or(f64::NEG_INFINITY, |(most, sum)| most + sum.ln());
        Reading { log_sum, target: self.target, top: self.top }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scores ln 1, ln 5 and ln 2, in two stretches, sum to 8: the second has 5/8, and a target of ln 2 costs ln 4.
    #[test]
    fn scores_become_probabilities_and_a_loss() {
        let mut found = vec![Found { target: Some(2f64.ln()), ..Found::default() }];
        for (from, scores) in [(0, vec![1f32.ln(), 5f32.ln()]), (2, vec![2f32.ln()])] {
            let scores = DMatrix::from_row_slice(1, scores.len(), &scores);
            found[0].compare(scores.iter().copied(), from, 2);
            sum(&scores, &mut found, Arithmetic::Ordered);
        }
        let reading = found.remove(0).reading();
        assert!((reading.loss().unwrap() - 4f64.ln()).abs() < 1e-6);
        assert_eq!(reading.top.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [1, 2]);
        assert!((reading.probability(reading.top[0].1) - 0.625).abs() < 1e-6);
    }
}
