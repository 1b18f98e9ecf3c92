//! `ffn`: the feed-forward network of a layer.

use std::sync::Arc;

use nalgebra::DMatrix;

use super::arrays_in::{Draw, Source, Typed, sizes as in_words};
use super::file::array;
use super::norm::vector;
use super::random::Stream;
use super::reader::{Given, Node, Reader, Spot};
use super::rules::Matrices;
use super::sizes::Sizes;
use crate::limits::LESSON_SIZE;
use crate::ops::Activation;
use crate::plan::{FfnStep, Name, StepId};

/// A feed-forward network before the sizes are known.
#[derive(Debug, Clone)]
pub(super) struct TypedFfn {
    d_ff: Given<usize>,
    activation: Given<Activation>,
    /// `w_1`, `w_2`
    w: [Given<Typed>; 2],
    /// `b_1`, `b_2`
    b: [Given<Typed>; 2],
    spot: Spot,
}

/// Reads `ffn`; `none` is no network.
pub(super) fn read(node: &Node, reader: &mut Reader) -> Option<Option<TypedFfn>> {
    if node.value.as_str() == Some("none") {
        return Some(None);
    }
    let section = node.section(&["d_ff", "activation", "w_1", "b_1", "w_2", "b_2"], reader)?;
    let d_ff = section.given("d_ff", reader, |node, reader| node.whole(reader, 1, LESSON_SIZE));
    let activation = section.given("activation", reader, |node, reader| {
        let words =
            [("gelu", Activation::Gelu), ("relu", Activation::Relu), ("identity", Activation::Identity)];
        node.word(reader, &words)
    });
    let w = ["w_1", "w_2"].map(|key| array(&section, key, reader));
    let b = ["b_1", "b_2"].map(|key| array(&section, key, reader));
    Some(Some(TypedFfn { d_ff, activation, w, b, spot: section.spot.clone() }))
}

impl TypedFfn {
    /// Its own keys over those that all layers share.
    pub(super) fn over(&self, shared: &Self) -> Self {
        fn own<T: Clone>(own: &Given<T>, shared: &Given<T>) -> Given<T> {
            if own.is_absent() { shared.clone() } else { own.clone() }
        }
        Self {
            d_ff: own(&self.d_ff, &shared.d_ff),
            activation: own(&self.activation, &shared.activation),
            w: std::array::from_fn(|at| own(&self.w[at], &shared.w[at])),
            b: std::array::from_fn(|at| own(&self.b[at], &shared.b[at])),
            spot: self.spot.clone(),
        }
    }

    /// What stands between the two matrices; GELU unless given.
    pub(super) fn activation(&self) -> Activation {
        self.activation.good().copied().unwrap_or(Activation::Gelu)
    }

    /// d_ff: as given, or as a matrix that is written out implies it, or four times d_model (Vaswani et al. 2017, §3.3).
    pub(super) fn width(&self, d_model: usize) -> usize {
        let columns = |typed: &Typed| typed.source.ready().and_then(|array| array.shape.get(1)).copied();
        let rows = |typed: &Typed| typed.source.ready().and_then(|array| array.shape.first()).copied();
        let is_identity = |given: &Given<Typed>| given.good().is_some_and(|w| w.source == Source::Identity);
        let [w_1, w_2] = &self.w;
        self.d_ff
            .good()
            .copied()
            .or_else(|| w_1.good().and_then(columns))
            .or_else(|| w_2.good().and_then(rows))
            .unwrap_or(if is_identity(w_1) || is_identity(w_2) { d_model } else { d_model.saturating_mul(4) })
    }

    /// Puts its matrices among a layer's, now that the sizes are known.
    pub(super) fn settle(&self, d_ff: usize, sizes: &Sizes, inputs: &mut Matrices, reader: &mut Reader) {
        let d_model = sizes.d_model;
        let shapes = [(d_model, d_ff), (d_ff, d_model)];
        let names = [(FfnStep::W1, FfnStep::B1), (FfnStep::W2, FfnStep::B2)];
        for at in 0..2 {
            let (rows, columns) = shapes[at];
            let std = 1.0 / (rows as f64).sqrt();
            let stream = Stream::FFN_W[at].in_layer(sizes.layer);
            match &self.w[at] {
                Given::Yes(typed) => {
                    let words = if at == 0 { "X · W_1" } else { "… · W_2" };
                    let draw = Draw { stream, std };
                    let wanted =
                        Wanted { rows, columns, words, why: format!("d_model = {d_model}, d_ff = {d_ff}") };
                    insert(inputs, names[at].0, matrix(typed, &wanted, draw, reader));
                }
                Given::Absent => {
                    let key = format!("w_{}", at + 1);
                    let what = format!("{key} is missing from {}", self.spot);
                    let why = "a feed-forward network is activation(X · W_1 + b_1) · W_2 + b_2";
                    let remedy =
                        format!("write {key}: {{random: {{seed: 7}}}}, or a matrix of {rows} × {columns}");
                    reader.fault::<()>(&self.spot, what, why, remedy);
                }
                Given::Faulty => {}
            }
            if let Some(typed) = self.b[at].good().filter(|typed| typed.source != Source::None) {
                let what =
                    if at == 0 { "one a column of W_1 (d_ff)" } else { "one a column of W_2 (d_model)" };
                let draw = Draw { stream: Stream::FFN_B[at].in_layer(sizes.layer), std };
                let bias = vector(typed, columns, what, draw, reader);
                insert(inputs, names[at].1, bias.map(|bias| DMatrix::from_row_slice(1, columns, &bias)));
            }
        }
    }
}

/// What a matrix must be.
struct Wanted {
    rows: usize,
    columns: usize,
    /// The formula that needs it.
    words: &'static str,
    why: String,
}

fn matrix(typed: &Typed, wanted: &Wanted, draw: Draw, reader: &mut Reader) -> Option<DMatrix<f64>> {
    let Wanted { rows, columns, words, ref why } = *wanted;
    let spot = &typed.spot;
    let Some(array) = typed.source.fill(&[rows, columns], draw) else {
        let word = if typed.source == Source::None { "none" } else { "identity" };
        let what = format!("{spot} is {word}, but {words} needs {rows} × {columns}");
        return reader.fault(spot, what, why, "give a matrix, or {random: {seed: 7}}");
    };
    if *array.shape == [rows, columns] {
        return Some(DMatrix::from_row_slice(rows, columns, &array.data));
    }
    let what = format!("{spot} is {}, but {words} needs {rows} × {columns}", in_words(&array.shape));
    let remedy = match *array.shape {
        [r, c] if r == columns && c == rows => {
            "it may be transposed (nn.Linear stores out × in): swap rows and columns, or write transpose: true beside file"
                .to_owned()
        }
        _ => format!("give it {rows} rows of {columns} numbers, or set d_ff"),
    };
    reader.fault(spot, what, why, remedy)
}

fn insert(inputs: &mut Matrices, step: FfnStep, matrix: Option<DMatrix<f64>>) {
    if let Some(matrix) = matrix {
        inputs.insert(StepId::from(Name::Ffn(step)), Arc::new(matrix));
    }
}
