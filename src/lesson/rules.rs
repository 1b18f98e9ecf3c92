//! What must hold between the parts of a lesson; what holds becomes a problem.

use std::collections::BTreeMap;
use std::sync::Arc;

use nalgebra::DMatrix;

use super::arrays_in::Draw;
use super::file::File;
use super::layers;
use super::masks;
use super::norm;
use super::norm::vector;
use super::positions;
use super::projections;
use super::random::Stream;
use super::reader::{Given, Reader, Spot};
use super::sizes::{self, Sequences, Sizes, Start};
use super::{Labels, Problem};
use crate::fault::{Fault, counted};
use crate::plan::spec::{FullyMaskedRows, Positions, Scale};
use crate::plan::{Attention, Call, Name, StepId, attention};

/// Matrices under the names of their steps.
pub(super) type Matrices = BTreeMap<StepId, Arc<DMatrix<f64>>>;

/// Applies every rule, and gives the problem if none was broken.
pub(super) fn apply(file: File, reader: &mut Reader) -> Option<Problem> {
    if let Some(typed) = file.layers.clone().optional()? {
        return layers::apply(file, &typed, reader);
    }
    let (start, sizes) = sizes::settle(&file, reader)?;
    let mut inputs = Matrices::new();
    match &start {
        Start::Embeddings { x, x_kv } => {
            put(&mut inputs, Name::X, x);
            if let Some(x_kv) = x_kv {
                put(&mut inputs, Name::XKv, x_kv);
            }
            projections::settle(&file, &sizes, &mut inputs, reader);
        }
        Start::Projected { qkv } => {
            for (name, sequences) in [Name::Q, Name::K, Name::V].into_iter().zip(qkv.iter()) {
                put(&mut inputs, name, sequences);
            }
            projections::after_the_fact(&file, &sizes, &mut inputs, reader);
        }
    }
    let labels = labels(&file, &start, &sizes, reader);
    let attention = call(&file, &sizes, reader);
    problem(
        file,
        labels?,
        Call {
            attention: attention?,
            layers: None,
            batch: sizes.batch,
            inputs,
            elsewhere: crate::plan::Shapes::new(),
        },
        reader,
    )
}

/// A lesson's words around its call.
pub(super) fn problem(file: File, labels: Labels, call: Call, reader: &Reader) -> Option<Problem> {
    Some(Problem {
        title: file.title.or(String::new())?,
        summary: file.summary.or(String::new())?,
        source: file.source.or(String::new())?,
        attention: call.attention,
        layers: call.layers,
        batch: call.batch,
        inputs: call.inputs,
        labels,
        story: file.story.or(Vec::new())?,
        claims: file.claims.or(Vec::new())?,
        quiz: file.quiz.or(Vec::new())?,
        course: file.course.or(super::Course::default())?,
        origin: super::Origin::new(reader.folder, reader.options),
        text: "".into(),
    })
}

/// Whether the steps of a problem can be laid out; if not, that is noted. What is left to go wrong there is a query
/// that may attend to nothing, which only all masks together tell.
pub(super) fn can_be_planned(problem: &Problem, reader: &mut Reader) -> bool {
    let Err(Fault { what, why, remedy, .. }) = attention::plan(&problem.call()) else { return true };
    let section = Spot::root().key("attention");
    let spot = if problem.attention.masks.is_empty() { section } else { section.key("mask") };
    reader.fault::<()>(&spot, what, why, remedy);
    false
}

/// Files an input's sequences under its name.
fn put(inputs: &mut Matrices, name: Name, sequences: &Sequences) {
    let Sequences { batch, rows, columns, ref data } = *sequences;
    for (index, matrix) in data.chunks(rows * columns).enumerate() {
        let id = StepId::from(name).in_sequence(batch.map(|_| index));
        inputs.insert(id, Arc::new(DMatrix::from_row_slice(rows, columns, matrix)));
    }
}

/// The attention call; what was left out takes its default.
pub(super) fn call(file: &File, sizes: &Sizes, reader: &mut Reader) -> Option<Attention> {
    let keys = &file.attention;
    let masks = match &keys.mask {
        Given::Absent => Some(Vec::new()),
        Given::Faulty => None,
        Given::Yes(masks) => {
            let settled: Vec<_> = masks.iter().map(|mask| masks::settle(mask, sizes, reader)).collect();
            settled.into_iter().collect()
        }
    };
    let positions = match &keys.positions {
        Given::Absent => Some(Positions::None),
        Given::Faulty => None,
        Given::Yes(typed) => positions::settle(typed, sizes, reader),
    };
    let qk_norm = match &keys.qk_norm {
        Given::Absent => Some(None),
        Given::Faulty => None,
        Given::Yes(typed) => norm::settle(typed, sizes, reader).map(Some),
    };
    let sinks = match &keys.sinks {
        Given::Absent => Some(None),
        Given::Faulty => None,
        Given::Yes(typed) => {
            let draw = Draw { stream: Stream::SINKS.in_layer(sizes.layer), std: 1.0 };
            vector(typed, sizes.num_heads, "one a head (num_heads)", draw, reader).map(Some)
        }
    };
    Some(Attention {
        d_model: sizes.d_model,
        d_kv_model: sizes.d_kv_model,
        num_heads: sizes.num_heads,
        num_kv_heads: sizes.num_kv_heads,
        d_k: sizes.d_k,
        d_v: sizes.d_v,
        scale: keys.scale.clone().or(Scale::RootOfDk)?,
        masks: masks?,
        positions: positions?,
        softcap: keys.softcap.clone().optional()?,
        qk_norm: qk_norm?,
        sinks: sinks?,
        fully_masked_rows: keys.fully_masked_rows.clone().or(FullyMaskedRows::Error)?,
    })
}

/// Names of queries and keys; 1, 2, … where the lesson names none.
pub(super) fn labels(file: &File, start: &Start, sizes: &Sizes, reader: &mut Reader) -> Option<Labels> {
    let numbered = |count: usize| (1..=count).map(|number| number.to_string()).collect::<Vec<_>>();
    let (queries_from, keys_from, shared) = match start {
        Start::Embeddings { x_kv: None, .. } => ("x", "x", true),
        Start::Embeddings { .. } => ("x", "x_kv", false),
        Start::Projected { .. } => ("q", "k", sizes.n_q == sizes.n_kv),
    };
    let tokens = file.tokens.clone().optional()?;
    let kv_tokens = file.kv_tokens.clone().optional()?;
    if let (Start::Embeddings { x_kv: None, .. }, Some(_)) = (start, &kv_tokens) {
        let what = "kv_tokens are given, but keys and values come from x as well";
        let remedy = "remove kv_tokens, or give inputs.x_kv for cross-attention";
        return reader.fault(&Spot::root().key("kv_tokens"), what, "their names are tokens", remedy);
    }
    for (key, names, count, from) in
        [("tokens", &tokens, sizes.n_q, queries_from), ("kv_tokens", &kv_tokens, sizes.n_kv, keys_from)]
    {
        if let Some(names) = names.as_ref().filter(|names| names.len() != count) {
            let what = format!(
                "{key} has {}, but {from} has {}",
                counted(names.len(), "name"),
                counted(count, "row")
            );
            let spot = Spot::root().key(key);
            return reader.fault(
                &spot,
                what,
                "each row is a token",
                format!("give {}", counted(count, "name")),
            );
        }
    }
    let queries = tokens.unwrap_or_else(|| numbered(sizes.n_q));
    let keys = match kv_tokens {
        Some(names) => names,
        None if shared => queries.clone(),
        None => numbered(sizes.n_kv),
    };
    Some(Labels { queries, keys })
}
