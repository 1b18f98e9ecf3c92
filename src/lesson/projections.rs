//! The projections W_Q, W_K, W_V, W_O and their biases: present, of the right shape, given once.

use std::sync::Arc;

use nalgebra::DMatrix;

use super::arrays_in::{Draw, Source, Typed, sizes as in_words};
use super::file::File;
use super::packing::Unpacked;
use super::random::Stream;
use super::reader::{Given, Reader};
use super::rules::Matrices;
use super::sizes::Sizes;
use crate::arrays::Array;
use crate::fault::counted;
use crate::plan::{Name, Projection, StepId};

/// What a projection must be, and how the formula that needs it is written.
struct Wanted {
    projection: Projection,
    rows: usize,
    columns: usize,
    /// `X · W_Q`
    formula: &'static str,
    /// What its rows are.
    rows_are: String,
    /// What its columns are.
    columns_are: String,
    /// Which key changes the wanted columns (for W_O: rows).
    knob: &'static str,
    /// Which layer of a stack it belongs to.
    layer: usize,
}

fn wanted(projection: Projection, sizes: &Sizes, cross: bool) -> Wanted {
    let Sizes { d_model, d_kv_model, num_heads: h, num_kv_heads: g, d_k, d_v, layer, .. } = *sizes;
    let source = if cross { "the width of x_kv" } else { "d_model" };
    let from_model = format!("d_model = {d_model}");
    let from_source = format!("{source} = {d_kv_model}");
    let side_by_side = |word: &str, heads: usize, width_word: &str, width: usize| {
        format!("{word} · {width_word} = {heads} · {width}")
    };
    match projection {
        Projection::Q => Wanted {
            projection,
            rows: d_model,
            columns: h * d_k,
            formula: "X · W_Q",
            rows_are: from_model,
            columns_are: side_by_side("num_heads", h, "d_k", d_k),
            knob: "attention.d_k",
            layer,
        },
        Projection::K => Wanted {
            projection,
            rows: d_kv_model,
            columns: g * d_k,
            formula: if cross { "X_kv · W_K" } else { "X · W_K" },
            rows_are: from_source,
            columns_are: side_by_side("num_kv_heads", g, "d_k", d_k),
            knob: "attention.d_k or attention.num_kv_heads",
            layer,
        },
        Projection::V => Wanted {
            projection,
            rows: d_kv_model,
            columns: g * d_v,
            formula: if cross { "X_kv · W_V" } else { "X · W_V" },
            rows_are: from_source,
            columns_are: side_by_side("num_kv_heads", g, "d_v", d_v),
            knob: "attention.d_v or attention.num_kv_heads",
            layer,
        },
        Projection::O => Wanted {
            projection,
            rows: h * d_v,
            columns: d_model,
            formula: "Concat · W_O",
            rows_are: side_by_side("num_heads", h, "d_v", d_v),
            columns_are: from_model,
            knob: "attention.d_v",
            layer,
        },
    }
}

/// Settles all four where the lesson starts from embeddings.
pub(super) fn settle(file: &File, sizes: &Sizes, inputs: &mut Matrices, reader: &mut Reader) {
    let given = &file.projections;
    let cross = !file.inputs.x_kv.is_absent();
    let unpacked = given.in_proj.good().map(|packed| packed.unpack(sizes, reader));
    let packed_w_o = given.in_proj.good().and_then(|packed| packed.w_o.clone());
    let packed_b_o = given.in_proj.good().and_then(|packed| packed.b_o.clone());
    missing(file, sizes, packed_w_o.is_some(), reader);

    for (index, projection) in Projection::ALL.into_iter().enumerate() {
        let wanted = wanted(projection, sizes, cross);
        let own = &given.w[index];
        let from_pack = if projection == Projection::O { None } else { unpacked.as_ref() };
        match (own, from_pack) {
            (Given::Yes(typed), Some(_)) => twice(typed, "w", projection, reader),
            (Given::Yes(typed), None) => weight(typed, &wanted, inputs, reader),
            (Given::Absent, Some(Some(Unpacked { weights, biases }))) => {
                insert(inputs, Name::W(projection), &weights[index]);
                if let Some(biases) = biases {
                    match given.b[index].good() {
                        Some(typed) => twice(typed, "b", projection, reader),
                        None => insert(inputs, Name::B(projection), &row(&biases[index])),
                    }
                }
            }
            _ => {}
        }
        if let Some(typed) = given.b[index].good().filter(|typed| typed.source != Source::None) {
            bias(typed, &wanted, inputs, reader);
        }
    }
    if let (Given::Absent, Some(typed)) = (&given.w[3], packed_w_o) {
        let wanted = wanted(Projection::O, sizes, cross);
        weight(&typed, &wanted, inputs, reader);
        if let (Given::Absent, Some(typed)) = (&given.b[3], packed_b_o) {
            bias(&typed, &wanted, inputs, reader);
        }
    }
    lonely_bias(file, inputs, reader);
}

/// Settles W_O where q, k and v are given, and refuses what would not be used.
pub(super) fn after_the_fact(file: &File, sizes: &Sizes, inputs: &mut Matrices, reader: &mut Reader) {
    let given = &file.projections;
    let mut unused: Vec<String> = Vec::new();
    for (index, projection) in Projection::ALL.into_iter().enumerate().take(3) {
        let letter = projection.letter();
        unused.extend((!given.w[index].is_absent()).then(|| format!("w_{letter}")));
        unused.extend((!given.b[index].is_absent()).then(|| format!("b_{letter}")));
    }
    unused.extend((!given.in_proj.is_absent()).then(|| "in_proj".to_owned()));
    if let Some(first) = unused.first() {
        let what =
            format!("projections give {}, but q, k and v are given already projected", unused.join(", "));
        let remedy = format!("remove {}, or give x instead of q, k and v", unused.join(", "));
        reader.fault::<()>(&given.spot.key(first), what, "they would not be used", remedy);
    }
    let wanted = wanted(Projection::O, sizes, false);
    if let Some(typed) = given.w[3].good() {
        weight(typed, &wanted, inputs, reader);
    }
    if let Some(typed) = given.b[3].good().filter(|typed| typed.source != Source::None) {
        bias(typed, &wanted, inputs, reader);
    }
    lonely_bias(file, inputs, reader);
}

/// Notes the projections that are not there, all in one fault.
fn missing(file: &File, sizes: &Sizes, packed_w_o: bool, reader: &mut Reader) {
    let given = &file.projections;
    let absent: Vec<String> = Projection::ALL
        .into_iter()
        .enumerate()
        .filter(|(index, projection)| {
            let packed = match projection {
                Projection::O => packed_w_o || matches!(given.in_proj, Given::Faulty),
                _ => !given.in_proj.is_absent(),
            };
            given.w[*index].is_absent() && !packed
        })
        .map(|(_, projection)| format!("w_{}", projection.letter()))
        .collect();
    let Some(first) = absent.first() else { return };
    let Sizes { d_model, num_heads: h, d_k, .. } = *sizes;
    let example = match (first.as_str(), d_model == h * d_k) {
        ("w_o", _) => "write w_o: identity, a matrix, or none to stop at concat".to_owned(),
        (_, true) => format!("write {first}: identity, or a matrix of {d_model} × {d_model}"),
        (_, false) => format!("write {first}: {{random: {{seed: 7}}}}, or a matrix"),
    };
    let verb = if absent.len() == 1 { "is" } else { "are" };
    let what = format!("{} {verb} missing from projections", absent.join(", "));
    let why = "x is given, so queries, keys, values and the output are computed with them";
    reader.fault::<()>(&given.spot, what, why, example);
}

fn twice(typed: &Typed, kind: &str, projection: Projection, reader: &mut Reader) {
    let what = format!("{kind}_{} is given twice: here and in in_proj", projection.letter());
    reader.fault::<()>(&typed.spot, what, "", "keep one of the two");
}

/// A bias of W_O without W_O would not be used.
fn lonely_bias(file: &File, inputs: &mut Matrices, reader: &mut Reader) {
    let stops_at_concat = match &file.projections.w[3] {
        Given::Absent => !inputs.contains_key(&StepId::from(Name::W(Projection::O))),
        Given::Faulty => false,
        Given::Yes(typed) => typed.source == Source::None,
    };
    let Some(b_o) = file.projections.b[3].good().filter(|typed| typed.source != Source::None) else { return };
    if stops_at_concat {
        let what = "b_o is given, but there is no w_o";
        reader.fault::<()>(&b_o.spot, what, "b_o is added to Concat · W_O", "give w_o, or remove b_o");
    }
}

fn weight(typed: &Typed, wanted: &Wanted, inputs: &mut Matrices, reader: &mut Reader) {
    let spot = &typed.spot;
    let Wanted { projection, rows, columns, formula, .. } = *wanted;
    let stream = Stream::W[projection as usize].in_layer(wanted.layer);
    let draw = Draw { stream, std: 1.0 / (rows as f64).sqrt() };
    if typed.source == Source::None && projection == Projection::O {
        return;
    }
    let Some(array) = typed.source.fill(&[rows, columns], draw) else {
        let word = if typed.source == Source::None { "none" } else { "identity" };
        let what = format!("{spot} is {word}, but {formula} needs {rows} × {columns}");
        let why = format!("{} rows, {} columns", wanted.rows_are, wanted.columns_are);
        let remedy = match word {
            "none" => "only w_o may be none: then the lesson stops at concat",
            _ => "an identity is square: give a matrix, or {random: {seed: 7}}",
        };
        reader.fault::<()>(spot, what, why, remedy);
        return;
    };
    let flat = flattened(&array, projection);
    match *flat.shape {
        [r, c] if r == rows && c == columns => insert(inputs, Name::W(projection), &flat),
        _ => wrong_shape(&array, &flat, typed, wanted, reader),
    }
}

/// Keras and Flax store (d_model, h, d_k), and (h, d_v, d_model) for W_O.
fn flattened(array: &Array, projection: Projection) -> Array {
    let shape = match *array.shape {
        [heads, width, d_model] if projection == Projection::O => vec![heads * width, d_model],
        [d_model, heads, width] => vec![d_model, heads * width],
        _ => array.shape.clone(),
    };
    Array { shape, data: array.data.clone(), kind: array.kind }
}

fn wrong_shape(array: &Array, flat: &Array, typed: &Typed, wanted: &Wanted, reader: &mut Reader) {
    let Wanted { projection, rows, columns, formula, .. } = *wanted;
    let spot = &typed.spot;
    let name = format!("w_{}", projection.letter());
    let what = format!("{spot} is {}, but {formula} needs {rows} × {columns}", in_words(&array.shape));
    let why = format!("{} rows, {} columns", wanted.rows_are, wanted.columns_are);
    let remedy = match *flat.shape {
        [r, c] if r == columns && c == rows => {
            "it may be transposed (nn.Linear stores out × in): swap rows and columns, or write transpose: true beside file"
                .to_owned()
        }
        [r, _] if r == rows && projection != Projection::O => {
            format!("give {name} {columns} columns, or set {}", wanted.knob)
        }
        [_, c] if c == columns && projection == Projection::O => {
            format!("give {name} {rows} rows, or set {}", wanted.knob)
        }
        [_, c] if c == columns => format!("give {name} {rows} rows, one for each column on its left"),
        _ => format!("give {name} {rows} rows of {columns} numbers"),
    };
    reader.fault::<()>(spot, what, why, remedy);
}

fn bias(typed: &Typed, wanted: &Wanted, inputs: &mut Matrices, reader: &mut Reader) {
    let Wanted { projection, rows, columns, .. } = *wanted;
    let spot = &typed.spot;
    // as wide as its projection's numbers usually are
    let stream = Stream::B[projection as usize].in_layer(wanted.layer);
    let draw = Draw { stream, std: 1.0 / (rows as f64).sqrt() };
    let letter = projection.letter();
    let remedy = format!("give b_{letter} {columns} numbers, zeros, or leave it out");
    match typed.source.fill(&[columns], draw) {
        Some(array) if array.data.len() == columns => insert(inputs, Name::B(projection), &row(&array)),
        Some(array) => {
            let what = format!(
                "{spot} has {}, but {} + b_{letter} needs {columns}",
                counted(array.data.len(), "number"),
                wanted.formula
            );
            reader.fault::<()>(spot, what, format!("{} columns", wanted.columns_are), remedy);
        }
        None => {
            reader.fault::<()>(spot, format!("{spot} is identity, but a bias is one row"), "", remedy);
        }
    }
}

/// A bias as the one row that it is.
fn row(array: &Array) -> Array {
    Array { shape: vec![1, array.data.len()], data: array.data.clone(), kind: array.kind }
}

fn insert(inputs: &mut Matrices, name: Name, array: &Array) {
    if let [rows, columns] = *array.shape {
        inputs.insert(StepId::from(name), Arc::new(DMatrix::from_row_slice(rows, columns, &array.data)));
    }
}
