//! JSON: every number in full, never rounded. What JSON has no number for is "NaN", "Infinity", "-Infinity".

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::Scene;
use super::json_text::quiet;
use super::page::Layout;
use super::sheet::Sheet;
use crate::plan::spec::{Alignment, FullyMaskedRows, Mask, NormScope, Positions, RopeLayout, Scale};
use crate::plan::{Attention, Plan, Step, names};

/// Writes `{"mha": 1, "title", "config", "steps": […]}`, a step a line.
///
/// # Errors
/// Those of the writer.
pub fn write(scene: &Scene<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut config = config(scene.attention);
    let mut shown: Vec<usize> =
        scene.steps.iter().filter_map(|id| id.sequence).map(|sequence| sequence + 1).collect();
    shown.dedup();
    if let (Some(count), Some(config)) = (scene.batch, config.as_object_mut()) {
        config.insert("batch".to_owned(), json!(count));
        config.insert("sequences_shown".to_owned(), json!(shown));
    }
    let layers = scene.trace.plan().steps().iter().filter_map(|step| step.id.layer).max();
    if let (Some(last), Some(config)) = (layers, config.as_object_mut()) {
        config.insert("num_layers".to_owned(), json!(last + 1));
    }
    let layout = match scene.page.layout {
        Layout::Rows => "rows",
        Layout::Columns => "columns",
    };
    write!(
        out,
        "{{\"mha\": 1, \"title\": {}, \"layout\": \"{layout}\", \"config\": {config}, \"steps\": [",
        quiet(&json!(scene.title)),
    )?;
    let mut first = true;
    for (step, value) in
        scene.steps.iter().filter_map(|id| Some((scene.trace.plan().get(*id)?, scene.trace.get(*id)?)))
    {
        write!(out, "{}\n  ", if first { "" } else { "," })?;
        first = false;
        let sheet = Sheet::new(step, value, scene.labels, scene.page.layout).with_exact(scene.exact, step.id);
        write_step(scene.trace.plan(), step, &sheet, scene.page.layout, out)?;
    }
    writeln!(out, "\n]}}")
}

/// One step: id, title, formula, inputs, shape, names and numbers.
///
/// # Errors
/// Those of the writer.
pub fn write_step(
    plan: &Plan,
    step: &Step,
    sheet: &Sheet<'_>,
    layout: Layout,
    out: &mut dyn Write,
) -> io::Result<()> {
    let formula = plan.formula(step, layout);
    let formula = if formula.sizes.is_empty() {
        formula.equation
    } else {
        format!("{} · {}", formula.equation, formula.sizes)
    };
    let inputs: Vec<String> = step.inputs.iter().map(ToString::to_string).collect();
    let (rows, columns) = sheet.shape();
    write!(
        out,
        "{{\"id\": {}, \"title\": {}, \"formula\": {}, \"inputs\": {}, \"shape\": [{rows}, {columns}], \
         \"rows\": {}, \"columns\": {}, \"value\": ",
        json!(step.id.to_string()),
        json!(names::title(step.id)),
        json!(formula),
        json!(inputs),
        quiet(&json!(sheet.rows)),
        quiet(&json!(sheet.columns)),
    )?;
    write_numbers(rows, columns, |r, c| sheet.at(r, c), out)?;
    write_exact(sheet, out)?;
    write!(out, "}}")
}

/// The exact forms as text, or `null` and why there are none; nothing where they were not asked for.
fn write_exact(sheet: &Sheet<'_>, out: &mut dyn Write) -> io::Result<()> {
    if !sheet.wants_exact() {
        return Ok(());
    }
    if let Some(why) = sheet.why_not_exact() {
        return write!(out, ", \"exact\": null, \"not_exact\": {}", json!(why));
    }
    let (rows, columns) = sheet.shape();
    let text = |r, c| sheet.form(r, c).map_or(Value::Null, |form| json!(form.to_string()));
    let lines: Vec<Vec<Value>> = (0..rows).map(|r| (0..columns).map(|c| text(r, c)).collect()).collect();
    write!(out, ", \"exact\": {}", json!(lines))
}

/// A matrix as nested lists.
///
/// # Errors
/// Those of the writer.
pub fn write_numbers(
    rows: usize,
    columns: usize,
    at: impl Fn(usize, usize) -> f64,
    out: &mut dyn Write,
) -> io::Result<()> {
    write!(out, "[")?;
    for r in 0..rows {
        write!(out, "{}[", if r == 0 { "" } else { ", " })?;
        for c in 0..columns {
            write!(out, "{}{}", if c == 0 { "" } else { ", " }, figure(at(r, c)))?;
        }
        write!(out, "]")?;
    }
    write!(out, "]")
}

/// One number as JSON: in full, or the word for what JSON cannot write.
pub fn figure(value: f64) -> Value {
    if value.is_nan() {
        json!("NaN")
    } else if value == f64::INFINITY {
        json!("Infinity")
    } else if value == f64::NEG_INFINITY {
        json!("-Infinity")
    } else if value == 0.0 {
        json!(0.0)
    } else {
        json!(value)
    }
}

/// The attention call, with the keys of a lesson file where it has them.
pub fn config(attention: &Attention) -> Value {
    let mut config = Map::new();
    let mut put = |key: &str, value: Value| config.insert(key.to_owned(), value);
    put("d_model", json!(attention.d_model));
    if attention.d_kv_model != attention.d_model {
        put("d_kv_model", json!(attention.d_kv_model));
    }
    put("num_heads", json!(attention.num_heads));
    put("num_kv_heads", json!(attention.num_kv_heads));
    put("d_k", json!(attention.d_k));
    put("d_v", json!(attention.d_v));
    put("scale", json!(attention.scale_value()));
    put("scale_is_default", json!(attention.scale == Scale::RootOfDk));
    if !attention.masks.is_empty() {
        put("mask", attention.masks.iter().map(mask).collect());
    }
    match &attention.positions {
        Positions::None => {}
        Positions::Alibi { slopes, alignment } => {
            put("positions", json!({"alibi": {"slopes": slopes, "alignment": aligned(*alignment)}}));
        }
        Positions::Rope(rope) => {
            let layout = match rope.layout {
                RopeLayout::HalfSplit => "half-split",
                RopeLayout::Interleaved => "interleaved",
            };
            let mut told = json!({"theta": rope.theta, "layout": layout, "dims": rope.dims,
                "q_positions": rope.q_positions, "k_positions": rope.k_positions});
            if let Some(scaling) = &rope.scaling {
                told["frequencies"] = json!(*scaling.frequencies);
                told["factor"] = json!(scaling.factor);
            }
            put("positions", json!({ "rope": told }));
        }
    }
    if let Some(cap) = attention.softcap {
        put("softcap", json!(cap));
    }
    if let Some(norm) = &attention.qk_norm {
        let scope = match norm.scope {
            NormScope::Head => "head",
            NormScope::Full => "full",
        };
        put("qk_norm", json!({"eps": norm.eps, "q": norm.q_gain, "k": norm.k_gain, "scope": scope}));
    }
    if let Some(sinks) = &attention.sinks {
        put("sinks", json!(sinks));
    }
    let empty = match attention.fully_masked_rows {
        FullyMaskedRows::Error => "error",
        FullyMaskedRows::Zeros => "zeros",
        FullyMaskedRows::Nan => "nan",
        FullyMaskedRows::Uniform => "uniform",
    };
    put("fully_masked_rows", json!(empty));
    Value::Object(config)
}

/// A mask; of matrices only how many there are, since the steps show what they do.
fn mask(mask: &Mask) -> Value {
    match mask {
        Mask::Causal(alignment) => json!({"causal": aligned(*alignment)}),
        Mask::Window { left, right, alignment } => {
            json!({"window": {"left": left, "right": right, "alignment": aligned(*alignment)}})
        }
        Mask::KeyPadding(rows) => json!({"key_padding": rows}),
        Mask::Allow(matrices) => json!({"allow": {"matrices": matrices.len()}}),
        Mask::Add(matrices) => json!({"add": {"matrices": matrices.len()}}),
    }
}

fn aligned(alignment: Alignment) -> Value {
    match alignment {
        Alignment::BottomRight => json!("bottom-right"),
        Alignment::TopLeft => json!("top-left"),
        Alignment::Offset(offset) => json!({"offset": offset}),
    }
}
