//! A port of BERT in single precision, written from the paper and on its own, with mistakes that can be switched on.

use std::collections::HashMap;
use std::path::Path;

use mha::arrays::{self, Array, Kind};
use nalgebra::DMatrix;

type Matrix = DMatrix<f32>;

/// What a port gets wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slip {
    /// Nothing.
    Nothing,
    /// No 1/√d_k, in the second layer.
    NoScale,
    /// A plain reshape to (heads, tokens, d_k), in the second layer.
    HeadsNotSplit,
    /// The queries of head 2 of layer 2 are 1 % too large.
    OnePercent,
    /// GELU with tanh, in the second layer.
    Tanh,
    /// Attention is not added to what the layer was given, in the second layer.
    NoResidual,
    /// eps = 1e-3.
    Eps,
    /// Norms without gain and shift.
    NoGain,
    /// Variance over d − 1.
    Unbiased,
    /// Positions from 1 on.
    Positions,
}

/// A port of `bert-tiny`: 2 layers of 4 heads.
pub(crate) struct Port {
    weights: HashMap<String, Array>,
    slip: Slip,
    /// What every number is rounded to as soon as it is computed.
    pub(crate) round: fn(f32) -> f32,
}

const HEADS: usize = 4;
const LAYERS: usize = 2;

impl Port {
    pub(crate) fn new(folder: &Path, slip: Slip) -> Self {
        let weights = arrays::read_all(&folder.join("model.safetensors")).unwrap();
        let named = |(name, array): (String, Array)| (name.trim_start_matches("bert.").to_owned(), array);
        Self { weights: weights.into_iter().map(named).collect(), slip, round: |number| number }
    }

    /// A tensor as it stands in the file; one axis becomes a row.
    fn tensor(&self, name: &str) -> Matrix {
        let array = &self.weights[name];
        let [rows, columns] = match array.shape[..] {
            [columns] => [1, columns],
            [rows, columns] => [rows, columns],
            _ => panic!("{name}"),
        };
        let numbers: Vec<f32> = array.data.iter().map(|number| (self.round)(*number as f32)).collect();
        Matrix::from_row_slice(rows, columns, &numbers)
    }

    fn rounded(&self, matrix: Matrix) -> Matrix {
        matrix.map(self.round)
    }

    /// x · Wᵀ + b
    fn linear(&self, x: &Matrix, name: &str) -> Matrix {
        let bias = self.tensor(&format!("{name}.bias"));
        let mut y = x * self.tensor(&format!("{name}.weight")).transpose();
        for mut row in y.row_iter_mut() {
            row += &bias;
        }
        self.rounded(y)
    }

    /// (x − mean) / √(variance + eps) · gain + shift
    fn norm(&self, x: &Matrix, name: &str) -> Matrix {
        let (gain, shift) = (self.tensor(&format!("{name}.weight")), self.tensor(&format!("{name}.bias")));
        let eps = if self.slip == Slip::Eps { 1e-3 } else { 1e-12 };
        let mut y = x.clone();
        for mut row in y.row_iter_mut() {
            let d = row.len() as f32;
            let mean = row.sum() / d;
            let squares: f32 = row.iter().map(|x| (x - mean).powi(2)).sum();
            let variance = squares / if self.slip == Slip::Unbiased { d - 1.0 } else { d };
            for (column, x) in row.iter_mut().enumerate() {
                *x = (*x - mean) / (variance + eps).sqrt();
                if self.slip != Slip::NoGain {
                    *x = *x * gain[column] + shift[column];
                }
            }
        }
        self.rounded(y)
    }

    /// Every step, under the names of `mha`; layers counted from `first`.
    pub(crate) fn run(&self, ids: &[usize], first: usize) -> Vec<(String, Array)> {
        let mut steps: Vec<(String, Array)> = Vec::new();
        let [words, positions, segments] = ["word", "position", "token_type"]
            .map(|table| self.tensor(&format!("embeddings.{table}_embeddings.weight")));
        let shift = usize::from(self.slip == Slip::Positions);
        let sum = Matrix::from_fn(ids.len(), words.ncols(), |row, column| {
            words[(ids[row], column)] + segments[(0, column)] + positions[(row + shift, column)]
        });
        let mut x = self.norm(&self.rounded(sum), "embeddings.LayerNorm");
        steps.push(("embedding".to_owned(), one(&x)));
        let mut hidden_states = vec![x.clone()];
        let mut attentions = Vec::new();
        for layer in 0..LAYERS {
            let has = |slip: Slip| self.slip == slip && layer == 1;
            let at = format!("encoder.layer.{layer}");
            let own = |name: &str| format!("{at}.{name}");
            let mut say = |name: &str, array: Array| {
                steps.push((format!("layer.{}.{name}", layer + first), array));
            };
            say("x", one(&x));
            let [q, k, v] = ["query", "key", "value"]
                .map(|name| self.linear(&x, &own(&format!("attention.self.{name}"))));
            for (name, matrix) in [("q", &q), ("k", &k), ("v", &v)] {
                say(name, one(matrix));
            }
            let d_k = q.ncols() / HEADS;
            let head = |of: &Matrix, head: usize| match has(Slip::HeadsNotSplit) {
                false => of.columns(head * d_k, d_k).into_owned(),
                true => {
                    let flat: Vec<f32> = of.transpose().iter().copied().collect();
                    let each = ids.len() * d_k;
                    Matrix::from_row_slice(ids.len(), d_k, &flat[head * each..(head + 1) * each])
                }
            };
            let scale = if has(Slip::NoScale) { 1.0 } else { 1.0 / (d_k as f32).sqrt() };
            let (mut scores, mut weights, mut outputs) = (Vec::new(), Vec::new(), Vec::new());
            for number in 0..HEADS {
                let more = if has(Slip::OnePercent) && number == 1 { 1.01 } else { 1.0 };
                let products = head(&q, number) * more * head(&k, number).transpose() * scale;
                let products = self.rounded(products);
                let mut shares = products.clone();
                for mut row in shares.row_iter_mut() {
                    let largest = row.max();
                    row.apply(|score| *score = (*score - largest).exp());
                    let sum = row.sum();
                    row /= sum;
                }
                let shares = self.rounded(shares);
                outputs.push(self.rounded(&shares * head(&v, number)));
                scores.push(products);
                weights.push(shares);
            }
            say("scores", stack(&scores));
            say("weights", stack(&weights));
            say("heads", stack(&outputs));
            let concat = Matrix::from_fn(ids.len(), HEADS * d_k, |r, c| outputs[c / d_k][(r, c % d_k)]);
            let output = self.linear(&concat, &own("attention.output.dense"));
            let sum = if has(Slip::NoResidual) { output.clone() } else { self.rounded(&x + &output) };
            let normed = self.norm(&sum, &own("attention.output.LayerNorm"));
            let up = self.linear(&normed, &own("intermediate.dense"));
            let bent = self.rounded(up.map(|x| match has(Slip::Tanh) {
                true => 0.5 * x * (1.0 + (0.797_884_6 * (x + 0.044_715 * x.powi(3))).tanh()),
                false => 0.5 * x * (1.0 + libm::erff(x / std::f32::consts::SQRT_2)),
            }));
            let found = self.linear(&bent, &own("output.dense"));
            let hidden = self.norm(&self.rounded(&normed + &found), &own("output.LayerNorm"));
            let around = [
                ("concat", &concat),
                ("output", &output),
                ("attention_residual", &sum),
                ("attention_norm", &normed),
                ("ffn.up", &up),
                ("ffn.activation", &bent),
                ("ffn.output", &found),
                ("hidden", &hidden),
            ];
            for (name, matrix) in around {
                say(name, one(matrix));
            }
            x = hidden;
            hidden_states.push(x.clone());
            attentions.push(stack(&weights));
        }
        steps.push(("hidden_states".to_owned(), stack(&hidden_states)));
        let all: Vec<f64> = attentions.iter().flat_map(|layer| layer.data.clone()).collect();
        let shape = [vec![LAYERS, 1], attentions[0].shape.clone()].concat();
        steps.push(("attentions".to_owned(), Array::new(shape, all, Kind::F32).unwrap()));
        steps
    }
}

fn one(matrix: &Matrix) -> Array {
    Array { kind: Kind::F32, ..Array::from_matrix(&matrix.map(f64::from)) }
}

/// Matrices of one shape, one after the other.
fn stack(matrices: &[Matrix]) -> Array {
    let all: Vec<Array> = matrices.iter().map(one).collect();
    let shape = [vec![all.len()], all[0].shape.clone()].concat();
    Array::new(shape, all.into_iter().flat_map(|array| array.data).collect(), Kind::F32).unwrap()
}
