//! `layers`: a stack of them, each with what it shares with the others and what is its own.

use std::sync::Arc;

use nalgebra::DMatrix;

use super::Problem;
use super::arrays_in::{Draw, Typed, flag};
use super::budget::StackBudget;
use super::ffn::{self, TypedFfn};
use super::file::{self, AttentionKeys, File, Projections, array};
use super::norm::vector;
use super::projections;
use super::random::Stream;
use super::reader::{Given, Node, Reader, Spot};
use super::rules::{self, Matrices};
use super::sizes::{self, Sequences, Sizes, Start};
use crate::limits::LESSON_LAYERS;
use crate::ops::LayerNorm;
use crate::plan::{Call, FeedForward, Layer, Layers, Name, Norm, NormPlace, Projection, StepId};

/// The section `layers`, before the sizes are known.
#[derive(Debug, Clone)]
pub(super) struct TypedLayers {
    /// What each layer has of its own, one a layer.
    entries: Vec<Entry>,
    norm: NormPlace,
    eps: f64,
    residual: bool,
    final_norm: bool,
    gain: Given<Typed>,
    shift: Given<Typed>,
    /// What all layers share; no feed-forward network where it is left out.
    ffn: Option<TypedFfn>,
    spot: Spot,
}

/// What one layer has of its own.
#[derive(Debug, Clone, Default)]
struct Entry {
    attention: Option<AttentionKeys>,
    projections: Option<Projections>,
    ffn: Option<Option<TypedFfn>>,
}

/// Reads `layers`.
pub(super) fn read(node: &Node, reader: &mut Reader) -> Option<TypedLayers> {
    let known = &["count", "stack", "norm", "eps", "residual", "final_norm", "gain", "shift", "ffn"];
    let section = node.section(known, reader)?;
    let count = section.given("count", reader, |node, reader| node.whole(reader, 1, LESSON_LAYERS));
    let stack = section.given("stack", reader, entries);
    let norm = section.given("norm", reader, |node, reader| {
        let words = [("pre", NormPlace::Pre), ("post", NormPlace::Post), ("none", NormPlace::None)];
        node.word(reader, &words)
    });
    let eps = section.given("eps", reader, |node, reader| match node.number(reader)? {
        eps if eps >= 0.0 => Some(eps),
        eps => {
            let what = format!("{} is {eps}, but it must not be negative", node.spot);
            reader.fault(&node.spot, what, "it is added to the variance", "usually 1.0e-5")
        }
    });
    let residual = section.given("residual", reader, flag);
    let final_norm = section.given("final_norm", reader, flag);
    let (gain, shift) = (array(&section, "gain", reader), array(&section, "shift", reader));
    let ffn = section.given("ffn", reader, ffn::read);
    let entries = match (count, stack) {
        (Given::Yes(count), Given::Absent) => Some(vec![Entry::default(); count]),
        (Given::Absent, Given::Yes(entries)) => Some(entries),
        (Given::Absent, Given::Absent) => reader.fault(
            &section.spot,
            "layers do not say how many there are",
            "a stack is so many alike, or a list with what each has of its own",
            "write count: 2, or stack: [{}, {}]",
        ),
        (Given::Yes(_), Given::Yes(_)) => reader.fault(
            &section.spot.key("count"),
            "layers have both count and stack",
            "stack has one entry a layer, so it says how many there are",
            "remove count",
        ),
        _ => None,
    };
    let norm = norm.or(NormPlace::Pre);
    let final_norm = final_norm.or(norm == Some(NormPlace::Pre));
    if norm == Some(NormPlace::None) && final_norm == Some(false) {
        for (key, given) in [("gain", &gain), ("shift", &shift)] {
            if !given.is_absent() {
                let what = format!("layers.{key} is given, but there is no norm");
                let remedy = format!("remove {key}, or write norm: pre");
                reader.fault::<()>(&section.spot.key(key), what, "it would not be used", remedy);
            }
        }
    }
    let ffn = ffn.or(None);
    Some(TypedLayers {
        entries: entries?,
        norm: norm?,
        eps: eps.or(1e-5)?,
        residual: residual.or(true)?,
        final_norm: final_norm?,
        gain,
        shift,
        ffn: ffn?,
        spot: section.spot.clone(),
    })
}

fn entries(node: &Node, reader: &mut Reader) -> Option<Vec<Entry>> {
    let remedy = "write stack: [{}, {projections: {w_o: zeros}}]";
    let items = node.items(reader, "a list with one entry a layer", remedy)?;
    if items.is_empty() || items.len() > LESSON_LAYERS {
        let what =
            format!("{} has {} layers, but there must be from 1 to {LESSON_LAYERS}", node.spot, items.len());
        return reader.fault(&node.spot, what, "", remedy);
    }
    let entries: Vec<Option<Entry>> = items.iter().map(|item| entry(item, reader)).collect();
    entries.into_iter().collect()
}

fn entry(node: &Node, reader: &mut Reader) -> Option<Entry> {
    let section = node.section(&["attention", "projections", "ffn"], reader)?;
    let attention = section.given("attention", reader, file::attention).optional();
    let projections = section.given("projections", reader, file::projections).optional();
    let ffn = section.given("ffn", reader, ffn::read).optional();
    Some(Entry { attention: attention?, projections: projections?, ffn: ffn? })
}

/// What a layer has of its own, or else what all share.
fn own<T: Clone>(own: &Given<T>, shared: &Given<T>) -> Given<T> {
    if own.is_absent() { shared.clone() } else { own.clone() }
}

impl Entry {
    /// The lesson as this layer sees it: its own keys over the shared ones.
    fn over(&self, file: &File) -> File {
        let mut file = file.clone();
        if let Some(keys) = &self.attention {
            let shared = file.attention;
            file.attention = AttentionKeys {
                d_model: own(&keys.d_model, &shared.d_model),
                num_heads: own(&keys.num_heads, &shared.num_heads),
                num_kv_heads: own(&keys.num_kv_heads, &shared.num_kv_heads),
                d_k: own(&keys.d_k, &shared.d_k),
                d_v: own(&keys.d_v, &shared.d_v),
                scale: own(&keys.scale, &shared.scale),
                mask: own(&keys.mask, &shared.mask),
                positions: own(&keys.positions, &shared.positions),
                softcap: own(&keys.softcap, &shared.softcap),
                qk_norm: own(&keys.qk_norm, &shared.qk_norm),
                sinks: own(&keys.sinks, &shared.sinks),
                fully_masked_rows: own(&keys.fully_masked_rows, &shared.fully_masked_rows),
                spot: keys.spot.clone(),
            };
        }
        if let Some(keys) = &self.projections {
            let shared = file.projections;
            let pairs = |own_ones: &[Given<Typed>; 4], shared: &[Given<Typed>; 4]| {
                std::array::from_fn(|at| own(&own_ones[at], &shared[at]))
            };
            file.projections = Projections {
                w: pairs(&keys.w, &shared.w),
                b: pairs(&keys.b, &shared.b),
                in_proj: own(&keys.in_proj, &shared.in_proj),
                spot: keys.spot.clone(),
            };
        }
        file
    }

    /// This layer's feed-forward network, where it has one.
    fn ffn(&self, shared: Option<&TypedFfn>) -> Option<TypedFfn> {
        match (&self.ffn, shared) {
            (None, shared) => shared.cloned(),
            (Some(None), _) => None,
            (Some(Some(own)), Some(shared)) => Some(own.over(shared)),
            (Some(Some(own)), None) => Some(own.clone()),
        }
    }
}

/// Applies every rule to a lesson that is a stack, and gives the problem if none was broken.
pub(super) fn apply(file: File, typed: &TypedLayers, reader: &mut Reader) -> Option<Problem> {
    refuse_what_a_stack_has_not(&file, reader)?;
    let (first, rest) = typed.entries.split_first()?;
    let x = sizes::embedding(&first.over(&file), reader)?;
    if x.batch.is_some() {
        let what = "inputs.x has a batch axis, and a stack of layers takes one sequence";
        let why = "its steps are named by layer, and every sequence would go through all of them";
        return reader.fault(&file.inputs.spot.key("x"), what, why, "give x one matrix, or leave layers out");
    }
    // Layer by layer, so that no more than one layer's keys are copied at a time.
    let mut budget = StackBudget::new(1 + rest.len());
    let mut settled: Vec<Option<(Sizes, usize)>> = Vec::with_capacity(typed.entries.len());
    for (layer, entry) in typed.entries.iter().enumerate() {
        let own = entry.over(&file);
        let sizes = sizes::of_layer(&own, &x, layer, reader);
        let network = entry.ffn(typed.ffn.as_ref());
        let d_ff = network.map_or(0, |network| network.width(x.columns));
        if let Some(sizes) = &sizes {
            budget.add(&own, sizes, d_ff, &typed.spot, reader)?;
        }
        settled.push(sizes.map(|sizes| (sizes, d_ff)));
    }
    let settled = settled.into_iter().collect::<Option<Vec<(Sizes, usize)>>>()?;

    let mut inputs = Matrices::new();
    put_embedding(&mut inputs, &x);
    let mut layers = Vec::with_capacity(settled.len());
    for (entry, (sizes, d_ff)) in typed.entries.iter().zip(&settled) {
        let file = entry.over(&file);
        let mut own = Matrices::new();
        projections::settle(&file, sizes, &mut own, reader);
        check_width(&file, sizes, &own, reader);
        let network = entry.ffn(typed.ffn.as_ref());
        if let Some(network) = &network {
            network.settle(*d_ff, sizes, &mut own, reader);
        }
        inputs.extend(own.into_iter().map(|(id, matrix)| (id.in_layer(Some(sizes.layer)), matrix)));
        let attention = rules::call(&file, sizes, reader);
        let norms = [0, 1].map(|which| norm(typed, sizes, which, reader));
        let feed_forward =
            network.map(|network| FeedForward { activation: network.activation(), is_gated: false });
        if let (Some(attention), [Some(before), Some(after)]) = (attention, norms) {
            layers.push(Layer { attention, norms: [before, after], found_norms: None, feed_forward });
        }
    }
    let (first, _) = settled.first()?;
    let beyond = Sizes { layer: settled.len(), ..first.clone() };
    let last = match typed.final_norm {
        true => Some(norm(typed, &beyond, 0, reader)?),
        false => None,
    };
    let labels = rules::labels(&file, &Start::Embeddings { x, x_kv: None }, first, reader);
    let attention = layers.first()?.attention.clone();
    let stack = Layers { first: 0, start: None, layers, norm: typed.norm, residual: typed.residual, last };
    rules::problem(
        file,
        labels?,
        Call { attention, layers: Some(stack), batch: None, inputs, elsewhere: crate::plan::Shapes::new() },
        reader,
    )
}

/// A stack attends to itself, from x on.
fn refuse_what_a_stack_has_not(file: &File, reader: &mut Reader) -> Option<()> {
    let inputs = &file.inputs;
    let mut fine = Some(());
    if !inputs.x_kv.is_absent() {
        let what = "inputs.x_kv is given, but a stack of layers has no cross-attention";
        let why = "each layer attends to what the one before hands on";
        fine = reader.fault(&inputs.spot.key("x_kv"), what, why, "remove x_kv, or leave layers out");
    }
    for (key, given) in [("q", &inputs.q), ("k", &inputs.k), ("v", &inputs.v)] {
        if !given.is_absent() {
            let what = format!("inputs.{key} is given, but a stack of layers starts from x");
            let why = "every layer projects queries, keys and values of its own";
            fine = reader.fault(&inputs.spot.key(key), what, why, "give x, or leave layers out");
        }
    }
    fine
}

fn put_embedding(inputs: &mut Matrices, x: &Sequences) {
    let matrix = DMatrix::from_row_slice(x.rows, x.columns, &x.data);
    inputs.insert(Name::Embedding.into(), Arc::new(matrix));
}

/// What attention gives goes on as the layers' stream, so it is as wide.
fn check_width(file: &File, sizes: &Sizes, own: &Matrices, reader: &mut Reader) {
    let Sizes { d_model, num_heads: h, d_v, .. } = *sizes;
    let stops_at_concat = !own.contains_key(&StepId::from(Name::W(Projection::O)));
    // Where w_o is missing or faulty, that has been said.
    let Some(typed) = file.projections.w[3].good().filter(|_| stops_at_concat && h * d_v != d_model) else {
        return;
    };
    if typed.source != super::arrays_in::Source::None {
        return;
    }
    let what = format!(
        "{} is none, so attention gives num_heads · d_v = {h} · {d_v} numbers a token, but the layers hand on d_model = \
         {d_model}",
        typed.spot
    );
    let why = "what attention finds is added to what it was given";
    reader.fault::<()>(&typed.spot, what, why, "give w_o, or set attention.d_v");
}

/// One of a layer's two norms.
fn norm(typed: &TypedLayers, sizes: &Sizes, which: usize, reader: &mut Reader) -> Option<Norm> {
    let mut numbers = |given: &Given<Typed>, stream: Stream| match given {
        Given::Absent => Some(None),
        Given::Faulty => None,
        Given::Yes(typed) => {
            let draw = Draw { stream: stream.in_layer(sizes.layer), std: 1.0 };
            vector(typed, sizes.d_model, "one a column of x (d_model)", draw, reader).map(Some)
        }
    };
    let gain = numbers(&typed.gain, Stream::NORM_GAIN[which]);
    let shift = numbers(&typed.shift, Stream::NORM_SHIFT[which]);
    Some(Norm::Layer(LayerNorm { eps: typed.eps, gain: gain?, shift: shift? }))
}
